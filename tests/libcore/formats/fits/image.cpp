// SPDX-License-Identifier: GPL-3.0-or-later
// What write_fits_image writes, read_fits_image reads back to the last bit; the header says what the contract
// lists; names are literal.
#include "libcore/formats/fits/image.h"

#include <fmt/core.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <random>
#include <utility>

#include "libcore/base/constants.h"
#include "libcore/base/error.h"

using namespace apsyn;
namespace fs = std::filesystem;

BOOST_AUTO_TEST_SUITE(image)

namespace {

/// An empty folder that is the working folder while it lives.
struct Scratch {
  Scratch() : before(fs::current_path()) {
    folder = fs::temp_directory_path() / fmt::format("apsyn-fits-{}", ::getpid());
    fs::create_directories(folder);
    fs::current_path(folder);
  }
  ~Scratch() {
    fs::current_path(before);
    fs::remove_all(folder);
  }
  fs::path before, folder;
};

Image make_image(std::vector<std::string> stokes, std::size_t n_freq, std::size_t ny, std::size_t nx) {
  Image image;
  image.pixels.resize({stokes.size(), n_freq, ny, nx});
  image.info.stokes = std::move(stokes);
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal;
  for (double& pixel : image.pixels) pixel = static_cast<float>(normal(random));
  ImageInfo& info = image.info;
  info.centre = {1.25, -0.7};
  info.cell_rad = 15 * kRadPerArcsec;
  info.freq_hz = 150.123456e6;
  info.bandwidth_hz = 40e3;
  info.object = "it's a 'test'";
  info.telescope = "MWA";
  info.time = UtcTime{57000, 43200'123456789012};
  info.beam = RestoringBeam{1e-3, 5e-4, -0.4};
  info.history = {"first line", std::string(100, 'x') + "end"};
  info.keywords = {{"WSCNORMF", 1234.5678901234567}, {"WSUM", 1e300}};
  return image;
}

std::string read_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_bytes(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

/// The value part of a card, trimmed, or "" when the keyword is missing.
std::string card_value(const std::string& bytes, std::string keyword) {
  keyword.resize(8, ' ');
  for (std::size_t at = 0; at + 80 <= bytes.size(); at += 80) {
    const std::string card = bytes.substr(at, 80);
    if (card.starts_with("END     ")) break;
    if (!card.starts_with(keyword + "= ")) continue;
    std::string value = card.substr(10, card.find(" / ") - 10);
    value.erase(0, value.find_first_not_of(' '));
    value.erase(value.find_last_not_of(' ') + 1);
    return value;
  }
  return "";
}

bool same_bits(const Image& a, const Image& b) {
  return a.pixels.shape() == b.pixels.shape() &&
         std::memcmp(a.pixels.data(), b.pixels.data(), a.pixels.size() * sizeof(double)) == 0;
}

/// Angles pass through degrees: two roundings.
bool near(double a, double b) {
  return std::abs(a - b) <= 4e-16 * std::max(std::abs(a), std::abs(b));
}

}  // namespace

BOOST_AUTO_TEST_CASE(round_trip_is_exact) {
  Scratch scratch;
  for (const FitsPixel pixel : {FitsPixel::float32, FitsPixel::float64}) {
    Image image = make_image({"XX", "YY", "XY", "YX"}, 3, 17, 22);
    image.pixels(1, 2, 3, 4) = std::numeric_limits<double>::quiet_NaN();
    image.pixels(0, 0, 0, 0) = std::numeric_limits<double>::infinity();
    if (pixel == FitsPixel::float64) image.pixels(3, 2, 16, 21) = 0.1;
    image.info.frequency_frame = pixel == FitsPixel::float64 ? "LSRK" : "TOPOCENT";
    write_fits_image("a.fits", image, pixel, true);
    const Image back = read_fits_image("a.fits");
    BOOST_TEST(same_bits(image, back));
    const ImageInfo &in = image.info, &out = back.info;
    BOOST_TEST(near(in.centre.ra_rad, out.centre.ra_rad));
    BOOST_TEST(near(in.centre.dec_rad, out.centre.dec_rad));
    BOOST_TEST(near(in.cell_rad, out.cell_rad));
    BOOST_TEST(out.cell_y_rad == 0);
    BOOST_TEST(!out.reference_pixel.has_value());
    BOOST_TEST(in.freq_hz == out.freq_hz);
    BOOST_TEST(in.bandwidth_hz == out.bandwidth_hz);
    BOOST_TEST(in.stokes == out.stokes);
    BOOST_TEST(in.unit == out.unit);
    BOOST_TEST(in.frequency_frame == out.frequency_frame);
    BOOST_TEST(in.object == out.object);
    BOOST_TEST(in.telescope == out.telescope);
    BOOST_TEST(bool(in.time == out.time));
    BOOST_TEST(near(in.beam->major_rad, out.beam->major_rad));
    BOOST_TEST(near(in.beam->minor_rad, out.beam->minor_rad));
    BOOST_TEST(near(in.beam->position_angle_rad, out.beam->position_angle_rad));
    const std::vector<std::string> history{"first line", std::string(72, 'x'), std::string(28, 'x') + "end"};
    BOOST_TEST(out.history == history);
    BOOST_TEST(bool(in.keywords == out.keywords));
  }
}

BOOST_AUTO_TEST_CASE(header_says_what_the_contract_lists) {
  Scratch scratch;
  Image image = make_image({"I"}, 1, 15, 20);
  image.info.centre.ra_rad = -1 * kRadPerDeg;
  write_fits_image("a.fits", image, FitsPixel::float32, false);
  const std::string bytes = read_bytes("a.fits");
  BOOST_TEST(bytes.size() % 2880 == 0);
  BOOST_TEST(bytes.size() == 2880 * 3u);  // two blocks of header, one of data
  const std::vector<std::pair<std::string, std::string>> expected{
      {"SIMPLE", "T"},           {"BITPIX", "-32"},          {"NAXIS", "4"},
      {"NAXIS1", "20"},          {"NAXIS2", "15"},           {"NAXIS3", "1"},
      {"NAXIS4", "1"},           {"CTYPE1", "'RA---SIN'"},   {"CTYPE2", "'DEC--SIN'"},
      {"CTYPE3", "'FREQ    '"},  {"CTYPE4", "'STOKES  '"},   {"CRPIX1", "11.0"},
      {"CRPIX2", "8.0"},         {"CRVAL1", "359.0"},        {"CRVAL4", "1.0"},
      {"CDELT4", "1.0"},         {"BUNIT", "'JY/BEAM '"},    {"RADESYS", "'ICRS    '"},
      {"EQUINOX", "2000.0"},     {"LONPOLE", "180.0"},       {"SPECSYS", "'TOPOCENT'"},
      {"TIMESYS", "'UTC     '"}, {"RESTFRQ", "150123456.0"}, {"CUNIT1", "'deg     '"}};
  for (const auto& [keyword, value] : expected) BOOST_TEST(card_value(bytes, keyword) == value, keyword);
  BOOST_TEST(card_value(bytes, "DATE-OBS") == "'2014-12-09T12:00:00.123456789012'");
  BOOST_TEST(std::stod(card_value(bytes, "CDELT1")) < 0);
  BOOST_TEST(std::stod(card_value(bytes, "CDELT1")) == -std::stod(card_value(bytes, "CDELT2")));
  BOOST_TEST(card_value(bytes, "LATPOLE") == card_value(bytes, "CRVAL2"));
  for (const char* keyword : {"BMAJ", "BMIN", "BPA", "CHECKSUM", "DATASUM"})
    BOOST_TEST(card_value(bytes, keyword) != "", keyword);
}

BOOST_AUTO_TEST_CASE(right_ascension_stays_below_a_turn) {
  Scratch scratch;
  for (const double ra_rad : {-1e-18, 0.0, kTwoPi, -kTwoPi, 12.0, std::nextafter(kTwoPi, 0.0)}) {
    Image image = make_image({"I"}, 1, 4, 4);
    image.info.centre.ra_rad = ra_rad;
    write_fits_image("a.fits", image, FitsPixel::float32, true);
    const double value = std::stod(card_value(read_bytes("a.fits"), "CRVAL1"));
    BOOST_TEST((value >= 0 && value < 360), ra_rad << " became " << value);
  }
}

BOOST_AUTO_TEST_CASE(same_image_same_bytes) {
  Scratch scratch;
  const Image image = make_image({"I", "Q", "U", "V"}, 2, 9, 8);
  write_fits_image("a.fits", image, FitsPixel::float32, false);
  ::usleep(1100000);  // the second that a date would show
  write_fits_image("b.fits", image, FitsPixel::float32, false);
  BOOST_TEST(bool(read_bytes("a.fits") == read_bytes("b.fits")));
}

BOOST_AUTO_TEST_CASE(stokes_planes_are_labelled_truly) {
  Scratch scratch;
  using Case = std::pair<std::vector<std::string>, std::array<std::string, 2>>;
  for (const auto& [stokes, axis] :
       {Case{{"I"}, {"1.0", "1.0"}}, Case{{"XX"}, {"-5.0", "-1.0"}}, Case{{"XX", "YY"}, {"-5.0", "-1.0"}},
        Case{{"XX", "XY"}, {"-5.0", "-2.0"}}, Case{{"V", "U", "Q", "I"}, {"4.0", "-1.0"}},
        Case{{"RR", "LL", "RL", "LR"}, {"-1.0", "-1.0"}}, Case{{"I", "V"}, {"1.0", "3.0"}}}) {
    write_fits_image("a.fits", make_image(stokes, 1, 4, 4), FitsPixel::float32, true);
    const std::string bytes = read_bytes("a.fits");
    BOOST_TEST(card_value(bytes, "CRVAL4") == axis[0]);
    BOOST_TEST(card_value(bytes, "CDELT4") == axis[1]);
    BOOST_TEST(read_fits_image("a.fits").info.stokes == stokes);
  }
  for (const auto& stokes : std::vector<std::vector<std::string>>{
           {"XX", "XY", "YX", "YY"}, {"I", "I"}, {"I", "Q", "V"}, {"I", "XX", "V"}, {"banana"}}) {
    BOOST_CHECK_THROW(write_fits_image("bad.fits", make_image(stokes, 1, 4, 4), FitsPixel::float32, true),
                      UsageError);
    BOOST_TEST(!fs::exists("bad.fits"));
  }
}

BOOST_AUTO_TEST_CASE(names_are_literal) {
  Scratch scratch;
  const Image image = make_image({"I"}, 1, 6, 6);
  fs::create_directories("http:/x");
  for (const std::string name : {"a(b).fits", "x[1]", "obs+1", "http://x/y.fits", "!force.fits", "gz.fits.gz",
                                 "mem:", "stdin", "~tilde.fits", " leading", "c.fits[100:110,100:110]"}) {
    write_fits_image(name, image, FitsPixel::float32, false);
    BOOST_TEST(fs::exists(name), name);
    BOOST_TEST(same_bits(read_fits_image(name), image), name);
    BOOST_CHECK_THROW(write_fits_image(name, image, FitsPixel::float32, false), UsageError);
    write_fits_image(name, image, FitsPixel::float32, true);
    BOOST_TEST(fs::remove(name), name);
  }
  fs::remove_all("http:");
  BOOST_TEST(fs::is_empty("."));
  BOOST_CHECK_THROW(read_fits_image("missing.fits"), FailureError);
  BOOST_CHECK_THROW(read_fits_image("."), FailureError);
}

BOOST_AUTO_TEST_CASE(reads_what_others_write) {
  Scratch scratch;
  auto card = [](const std::string& text) { return text + std::string(80 - text.size(), ' '); };
  auto file = [&](const std::vector<std::string>& cards, const std::string& data) {
    std::string bytes;
    for (const std::string& text : cards) bytes += card(text);
    bytes += card("END");
    bytes.resize((bytes.size() + 2879) / 2880 * 2880, ' ');
    bytes += data;
    bytes.resize((bytes.size() + 2879) / 2880 * 2880, '\0');
    return bytes;
  };
  const std::vector<std::string> sky{"CTYPE1  = 'RA---SIN'", "CTYPE2  = 'DEC--SIN'", "CRVAL1  = -90",
                                     "CRVAL2  = 4.5D1",      "CRPIX1  = 1",          "CRPIX2  = 2",
                                     "CDELT1  = -1E-2",      "CDELT2  = 2E-2"};
  auto with = [&](std::vector<std::string> cards, std::vector<std::string> more = {}) {
    cards.insert(cards.end(), sky.begin(), sky.end());
    cards.insert(cards.end(), more.begin(), more.end());
    return cards;
  };

  // Scaled 16-bit integers with a blank, two axes, no frequency.
  write_bytes("i16.fits",
              file(with({"SIMPLE  = T", "BITPIX  = 16", "NAXIS   = 2", "NAXIS1  = 2", "NAXIS2  = 2"},
                        {"BSCALE  = 0.5", "BZERO   = 10", "BLANK   = -1", "BMAJ    = 0.5"}),
                   std::string("\x00\x01\x00\x02\xff\xff\x80\x00", 8)));
  Image image = read_fits_image("i16.fits");
  BOOST_TEST(image.pixels(0, 0, 0, 0) == 10.5);
  BOOST_TEST(image.pixels(0, 0, 0, 1) == 11.0);
  BOOST_TEST(std::isnan(image.pixels(0, 0, 1, 0)));
  BOOST_TEST(image.pixels(0, 0, 1, 1) == 10 - 16384.0);
  BOOST_TEST(image.info.centre.ra_rad == 1.5 * kPi);
  BOOST_TEST(image.info.centre.dec_rad == kPi / 4);
  BOOST_TEST(near(image.info.cell_y_rad, 2e-2 * kRadPerDeg));
  BOOST_REQUIRE(image.info.reference_pixel.has_value());
  BOOST_TEST((*image.info.reference_pixel)[0] == 0);
  BOOST_TEST(image.info.beam->minor_rad == image.info.beam->major_rad);
  BOOST_TEST(image.info.freq_hz == 0);

  // STOKES before FREQ, as CASA orders them, descending frequencies.
  write_bytes("casa.fits", file(with({"SIMPLE  = T", "BITPIX  = 8", "NAXIS   = 4", "NAXIS1  = 1",
                                      "NAXIS2  = 1", "NAXIS3  = 2", "NAXIS4  = 3"},
                                     {"CTYPE3  = 'STOKES'", "CRVAL3  = 1", "CDELT3  = 3", "CRPIX3  = 1",
                                      "CTYPE4  = 'FREQ'", "CRVAL4  = 1E9", "CDELT4  = -1E6", "CRPIX4  = 3"}),
                                std::string("\x01\x02\x03\x04\x05\x06", 6)));
  image = read_fits_image("casa.fits");
  BOOST_TEST((image.info.stokes == std::vector<std::string>{"I", "V"}));
  BOOST_TEST(image.info.freq_hz == 1.002e9);
  BOOST_TEST(image.info.bandwidth_hz == -1e6);
  const std::vector<double> expected{1, 3, 5, 2, 4, 6};
  BOOST_TEST(std::vector<double>(image.pixels.begin(), image.pixels.end()) == expected,
             boost::test_tools::per_element());

  // East to larger x, north to smaller y: mirrored on reading.
  auto mirrored = with({"SIMPLE  = T", "BITPIX  = 32", "NAXIS   = 2", "NAXIS1  = 2", "NAXIS2  = 2"});
  mirrored[11] = "CDELT1  = 1E-2";
  mirrored[12] = "CDELT2  = -1E-2";
  write_bytes("mirror.fits", file(mirrored, std::string("\0\0\0\x01\0\0\0\x02\0\0\0\x03\0\0\0\x04", 16)));
  image = read_fits_image("mirror.fits");
  const std::vector<double> turned{4, 3, 2, 1};
  BOOST_TEST(std::vector<double>(image.pixels.begin(), image.pixels.end()) == turned,
             boost::test_tools::per_element());
  BOOST_TEST((*image.info.reference_pixel)[0] == 1);
  BOOST_TEST((*image.info.reference_pixel)[1] == 0);

  const std::vector<std::string> plain{"SIMPLE  = T", "BITPIX  = 8", "NAXIS   = 2", "NAXIS1  = 1",
                                       "NAXIS2  = 1"};
  write_bytes("ok.fits", file(with(plain), "\x01"));
  BOOST_CHECK_NO_THROW(read_fits_image("ok.fits"));
  for (const char* bad :
       {"PC1_2   = 0.5", "CD2_1   = 1E-3", "CROTA2  = 10", "PV2_1   = 0.1", "LONPOLE = 90", "CUNIT1  = 'm'",
        "BMAJ    = 'wide'", "BMAJ    = 1E400", "GROUPS  = T", "PCOUNT  = 8", "NAXIS   = 2",
        "EQUINOX = 1950.0", "EPOCH   = 1950", "EQUINOX = '1950.0'", "EQUINOX = 'B1950'", "EQUINOX = '2000 1'",
        "RADESYS = 'FK4'", "RADECSYS= 'FK4-NO-E'"}) {
    write_bytes("bad.fits", file(with(plain, {bad}), "\x01"));
    BOOST_CHECK_THROW(read_fits_image("bad.fits"), DataError);
  }
  for (const char* good : {"EQUINOX = 2000.0", "EPOCH   = 2000", "EQUINOX = '2000.0'", "EQUINOX = 'J2000'",
                           "EQUINOX = 2.0D3", "EQUINOX = ''", "RADESYS = 'FK5'", "RADECSYS= 'ICRS'"}) {
    write_bytes("good.fits", file(with(plain, {good}), "\x01"));
    BOOST_CHECK_NO_THROW(read_fits_image("good.fits"));
  }
  // Units of the axes, and dates as programs write them.
  for (const auto& [unit, rad] : {std::pair{"deg", kRadPerDeg},
                                  {"degrees", kRadPerDeg},
                                  {"ARCMIN", 60 * kRadPerArcsec},
                                  {"arcsec", kRadPerArcsec},
                                  {"rad", 1.0}}) {
    auto cards = with(plain, {fmt::format("CUNIT1  = '{}'", unit), fmt::format("CUNIT2  = '{}'", unit)});
    cards[7] = "CRVAL1  = 0.5";
    cards[8] = "CRVAL2  = 0.25";
    write_bytes("unit.fits", file(cards, "\x01"));
    const ImageInfo info = read_fits_image("unit.fits").info;
    BOOST_TEST(near(info.cell_rad, 1e-2 * rad), unit);
    BOOST_TEST(near(info.centre.dec_rad, 0.25 * rad), unit);
  }
  const auto time_of = [&](std::vector<std::string> cards) {
    write_bytes("date.fits", file(with(plain, std::move(cards)), "\x01"));
    return read_fits_image("date.fits").info.time;
  };
  BOOST_TEST((time_of({"DATE-OBS= '2024-02-29T12:00:00.5'"}) == parse_utc("2024-02-29T12:00:00.5")));
  BOOST_TEST((time_of({"DATE-OBS= '2024-02-29'"}) == parse_utc("2024-02-29T00:00:00")));
  BOOST_TEST((time_of({"DATE-OBS= '2024-02-29'", "TIMESYS = 'UTC'"}) == parse_utc("2024-02-29T00:00:00")));
  // What is not understood is left out, rather than taken for another time.
  BOOST_TEST(!time_of({"DATE-OBS= '2024-02-29'", "TIMESYS = 'TAI'"}).has_value());
  BOOST_TEST(!time_of({"DATE-OBS= '29/02/99'"}).has_value());
  BOOST_TEST(!time_of({}).has_value());
  write_bytes("nosky.fits", file(plain, "\x01"));
  BOOST_CHECK_THROW(read_fits_image("nosky.fits"), DataError);
}

BOOST_AUTO_TEST_SUITE_END()
