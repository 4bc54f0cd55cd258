// SPDX-License-Identifier: GPL-3.0-or-later
// Files that are cut, damaged or of another observation: an error that names the file and the value.
#include <boost/test/unit_test.hpp>

#include "libcore/base/error.h"
#include "tests/libcore/formats/mwa_fits/observed.h"

using namespace apsyn;
using namespace apsyn::test;

BOOST_AUTO_TEST_SUITE(malformed)

namespace {

void read_files(const std::string& metafits, const std::vector<std::string>& files) {
  MwaFitsReader reader(metafits, files, {});
  read_all(reader);
}

/// The message of the DataError that reading ends with.
std::string complaint(const std::string& metafits, const std::vector<std::string>& files) {
  try {
    read_files(metafits, files);
  } catch (const DataError& error) {
    return error.what();
  }
  return "none";
}

bool says(const std::string& message, const std::string& part) {
  const bool found = message.find(part) != std::string::npos;
  BOOST_TEST_INFO(message);
  return found;
}

std::string replaced(std::string bytes, const std::string& card, const std::string& by, int which = 1) {
  std::size_t at = 0;
  for (int i = 0; i < which; ++i) {
    at = bytes.find(card, at + (i > 0));
    if (at == std::string::npos) throw std::logic_error("no card " + card);
  }
  return bytes.replace(at, by.size(), by);
}

std::string card(const std::string& keyword, const std::string& value) {
  return fmt::format("{:<8}= {:>20}", keyword, value);
}

}  // namespace

BOOST_AUTO_TEST_CASE(files_must_be_of_one_observation) {
  Observed observed(4, {120, 121});
  const std::string metafits = observed.write_metafits(), good = observed.write_mwax(120);
  BOOST_TEST(complaint(metafits, {good}) == "none");
  const std::string bytes = observed.folder.read(observed.mwax_name(120));
  const auto changed = [&](const std::string& name, const std::string& old, const std::string& by,
                           int which = 1) {
    return complaint(metafits, {observed.folder.file(name, replaced(bytes, old, by, which))});
  };
  const std::string name = "x_ch120_000.fits";
  BOOST_TEST(says(changed(name, "OBSID   = '1196175296'", "OBSID   = '1196175297'"), "1196175297"));
  BOOST_TEST(says(changed(name, card("FINECHAN", "320"), card("FINECHAN", "160")), "FINECHAN = 160"));
  BOOST_TEST(says(changed(name, card("INTTIME", "0.5"), card("INTTIME", "2")), "INTTIME = 2"));
  BOOST_TEST(says(changed(name, card("NINPUTS", "8"), card("NINPUTS", "9")), "NINPUTS = 9"));
  BOOST_TEST(says(changed(name, "CORR_VER=", "COMMENT  "), "CORR_VER"));
  BOOST_TEST(says(changed("x_ch119_000.fits", "x", ""), "119"));
  BOOST_TEST(says(changed("x_gpubox01_00.fits", "x", ""), "legacy"));
  BOOST_TEST(says(changed("x.fits", "x", ""), "name"));
  // Of the first HDU of visibilities, and the one of weights.
  BOOST_TEST(says(changed(name, card("NAXIS1", "32"), card("NAXIS1", "16")), "HDU 2"));
  BOOST_TEST(says(changed(name, card("NAXIS2", "10"), card("NAXIS2", "9"), 2), "HDU 3"));
  BOOST_TEST(says(changed(name, card("TIME", "1512140080"), card("TIME", "1512140081"), 3),
                  "weights of another time"));
  BOOST_TEST(says(changed(name, card("TIME", "1512140080"), card("TIEM", "1512140080"), 2), "TIME"));
  BOOST_TEST(says(changed(name, card("MILLITIM", "0"), card("MILLITIM", "1000"), 2), "MILLITIM = '1000'"));
  BOOST_TEST(says(changed(name, card("BITPIX", "-32"), card("BITPIX", "-33")), "BITPIX"));
  BOOST_TEST(says(changed(name, "XTENSION= 'IMAGE   '", "XTENSION= 'FOREIGN '"), "HDU 2"));
}

BOOST_AUTO_TEST_CASE(files_that_are_cut_or_empty_are_refused) {
  Observed observed(4, {120});
  const std::string metafits = observed.write_metafits();
  observed.write_mwax(120, kBegin_ms, 2);
  const std::string bytes = observed.folder.read(observed.mwax_name(120));
  const auto cut = [&](std::size_t size) {
    return complaint(metafits, {observed.folder.file("x_ch120_000.fits", bytes.substr(0, size))});
  };
  BOOST_TEST(says(cut(0), "x_ch120_000.fits"));
  BOOST_TEST(says(cut(2880), "no visibilities"));
  BOOST_TEST(says(cut(3 * 2880), "HDU 2: visibilities without the weights"));
  BOOST_TEST(says(cut(bytes.size() - 2880), "truncated"));
}

BOOST_AUTO_TEST_CASE(times_and_channels_must_fit_together) {
  Observed observed(4, {120, 121});
  const std::string metafits = observed.write_metafits(), first = observed.write_mwax(120);
  const std::string twice = observed.write_mwax(120, kBegin_ms, 1, 1),
                    between = observed.write_mwax(121, kBegin_ms + 250);
  BOOST_TEST(says(complaint(metafits, {first, twice}), "give each file once"));
  BOOST_TEST(says(complaint(metafits, {first, between}), "1512140080.250"));
  Observed legacy(128, {120});
  const std::string other = legacy.write_gpubox(1, 120);
  BOOST_TEST(says(complaint(legacy.write_metafits(), {other, other}), "give each file once"));
  BOOST_TEST(says(complaint(legacy.write_metafits(), {first}), "NINPUTS = 8"));
}

BOOST_AUTO_TEST_CASE(metafits_must_describe_an_observation) {
  Observed observed(4, {120, 121});
  const std::string file = observed.write_mwax(120);
  const auto with = [&](const std::string& keyword, const std::string& value) {
    Observed other(4, {120, 121});
    other.metafits.cards = {{keyword, value}};
    return complaint(other.write_metafits(), {file});
  };
  BOOST_TEST(with("X", "1") == "none");
  BOOST_TEST(says(with("GPSTIME", "'soon'"), "GPSTIME 'soon'"));
  BOOST_TEST(says(with("CHANNELS", "'120,x'"), "CHANNELS '120,x'"));
  BOOST_TEST(says(with("CHANNELS", "'120,120'"), "twice"));
  BOOST_TEST(says(with("CHANNELS", "'120,121,122'"), "NCHANS = 8"));
  BOOST_TEST(says(with("CHANNELS", "'120,999'"), "999"));
  BOOST_TEST(says(with("NCHANS", "9"), "NCHANS = 9"));
  BOOST_TEST(says(with("FINECHAN", "0"), "FINECHAN = 0"));
  BOOST_TEST(says(with("INTTIME", "0.1234567"), "milliseconds"));
  BOOST_TEST(says(with("DEC", "95"), "DEC = 95"));
  BOOST_TEST(says(with("RA", "''"), "no RA and DEC"));
  BOOST_TEST(says(with("GEODEL", "7"), "GEODEL = 7"));
  BOOST_TEST(says(complaint(file, {file}), "GPSTIME"));
}

BOOST_AUTO_TEST_CASE(damaged_tiles_end_with_an_error) {
  Observed observed(4, {120});
  observed.packing = MwaPacking::gzip;
  const std::string metafits = observed.write_metafits();
  observed.write_mwax(120);
  const std::string bytes = observed.folder.read(observed.mwax_name(120));
  std::string bad = bytes;
  // The heap follows ten descriptors of 8 bytes: the first stream loses its checksum.
  const std::size_t heap = 2 * 2880 + 2880 * 0 + 80;
  const std::size_t at = bytes.find("\x1f\x8b\x08", heap);
  BOOST_REQUIRE(at != std::string::npos);
  for (std::size_t i = 0; i < 12; ++i) bad[at + i] = '\x55';
  BOOST_TEST(says(complaint(metafits, {observed.folder.file("x_ch120_000.fits", bad)}), "damaged"));
}

BOOST_AUTO_TEST_CASE(random_damage_gives_data_or_an_error) {
  for (const bool packed : {false, true}) {
    Observed observed(4, {120, 121});
    observed.packing = packed ? MwaPacking::gzip : MwaPacking::floats;
    const std::string metafits = observed.write_metafits(), file = observed.write_mwax(120);
    const std::string good_metafits = observed.folder.read("1196175296.metafits"),
                      good = observed.folder.read(observed.mwax_name(120));
    std::mt19937 random(3);
    const auto damaged = [&](std::string bytes) {
      // Headers are where the harm lies.
      for (int k = 0; k < 3; ++k)
        bytes[random() % (k == 0 ? bytes.size() : 6000)] = static_cast<char>(random());
      if (random() % 4 == 0) bytes.resize(random() % bytes.size());
      return bytes;
    };
    for (int i = 0; i < 150; ++i) try {
        if (i % 2 == 0)
          read_files(metafits, {observed.folder.file("x_ch120_000.fits", damaged(good))});
        else
          read_files(observed.folder.file("x.metafits", damaged(good_metafits)), {file});
      } catch (const Error&) {
      }
  }
}

BOOST_AUTO_TEST_SUITE_END()
