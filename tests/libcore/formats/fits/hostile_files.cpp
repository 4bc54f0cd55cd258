// SPDX-License-Identifier: GPL-3.0-or-later
// Damaged and hostile FITS files end in DataError, quickly and in bounded memory, whatever they promise.
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>
#include <random>

#include "libcore/base/constants.h"
#include "libcore/base/error.h"
#include "libcore/formats/fits/image.h"
#include "libcore/system/device.h"

using namespace apsyn;
namespace fs = std::filesystem;

BOOST_AUTO_TEST_SUITE(hostile_files)

namespace {

struct Fixture {
  Fixture() {
    folder = fs::temp_directory_path() / fmt::format("apsyn-hostile-{}", ::getpid());
    fs::create_directories(folder);
    path = folder / "x.fits";
    Image image;
    image.pixels.resize({2, 1, 40, 50});
    image.info.stokes = {"I", "Q"};
    image.info.cell_rad = kRadPerArcsec;
    image.info.freq_hz = 1e9;
    image.info.history.assign(40, "a header of more than one block");
    write_fits_image(path, image, FitsPixel::float32, true);
    std::ifstream file(path, std::ios::binary);
    good.assign(std::istreambuf_iterator<char>(file), {});
  }
  ~Fixture() { fs::remove_all(folder); }

  void put(const std::string& bytes) const { std::ofstream(path, std::ios::binary) << bytes; }
  /// Replaces the value of a card; the keyword must exist.
  std::string with(std::string keyword, const std::string& value) const {
    keyword.resize(8, ' ');
    const std::size_t at = good.find(keyword + "= ");
    BOOST_REQUIRE(at != std::string::npos);
    std::string bytes = good, card = keyword + "= " + value;
    card.resize(80, ' ');
    return bytes.replace(at, 80, card);
  }
  std::string message(const std::string& bytes) const {
    put(bytes);
    return message();
  }
  std::string message() const {
    try {
      read_fits_image(path);
    } catch (const DataError& error) {
      return error.what();
    }
    return "";
  }

  fs::path folder, path;
  std::string good;
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(the_undamaged_file_reads, Fixture) {
  put(good);
  BOOST_CHECK_NO_THROW(read_fits_image(path));
  put(good + "anything may follow the primary HDU");
  BOOST_CHECK_NO_THROW(read_fits_image(path));
}

BOOST_FIXTURE_TEST_CASE(truncation_tells_the_offset, Fixture) {
  std::mt19937 random(2);
  std::vector<std::size_t> cuts;
  for (std::size_t at = 0; at < 2 * 2880; ++at) cuts.push_back(at);
  for (int i = 0; i < 500; ++i) cuts.push_back(random() % good.size());
  cuts.push_back(good.size() - 1);
  // Shortened step by step: writing thousands of files takes long on a busy disk.
  std::sort(cuts.rbegin(), cuts.rend());
  put(good);
  for (const std::size_t cut : cuts) {
    fs::resize_file(path, cut);
    const std::string text = message();
    BOOST_TEST(text.find(std::to_string(cut)) != std::string::npos, "cut at " << cut << ": " << text);
  }
}

BOOST_FIXTURE_TEST_CASE(promises_are_checked, Fixture) {
  for (const auto& [keyword, value] :
       std::vector<std::pair<std::string, std::string>>{{"NAXIS1", "2147483647"},
                                                        {"NAXIS1", "9223372036854775807"},
                                                        {"NAXIS1", "99999999999999999999999999"},
                                                        {"NAXIS2", "-1"},
                                                        {"NAXIS2", "0"},
                                                        {"NAXIS2", "1E3"},
                                                        {"NAXIS2", "''"},
                                                        {"NAXIS2", "/ nothing"},
                                                        {"NAXIS3", "100000"},
                                                        {"NAXIS4", "3"},
                                                        {"NAXIS", "0"},
                                                        {"NAXIS", "1"},
                                                        {"NAXIS", "5"},
                                                        {"NAXIS", "999"},
                                                        {"NAXIS", "-4"},
                                                        {"BITPIX", "-64"},
                                                        {"BITPIX", "7"},
                                                        {"BITPIX", "0"},
                                                        {"SIMPLE", "F"},
                                                        {"CTYPE1", "'GLON-CAR'"},
                                                        {"CTYPE3", "'STOKES'"},
                                                        {"CRVAL4", "77"},
                                                        {"CRVAL2", "91"},
                                                        {"CRVAL1", "NaN"},
                                                        {"CRVAL1", "1E999"},
                                                        {"CRVAL1", "720.5"},
                                                        {"CRVAL1", "-720.5"},
                                                        {"CDELT1", "0"},
                                                        {"CRPIX1", "'x'"}})
    BOOST_TEST(message(with(keyword, value)) != "", keyword << " = " << value);
  for (const char* degrees : {"719.5", "-719.5"})  // whole turns aside a right ascension
    BOOST_TEST(message(with("CRVAL1", degrees)) == "");
  std::string swapped = good;
  std::swap_ranges(swapped.begin() + 80, swapped.begin() + 160, swapped.begin() + 160);
  BOOST_TEST(message(swapped) != "");
  for (const char byte : {'\0', '\n', '\t', '\x7f', '\xff'}) {
    std::string bytes = good;
    bytes[1000] = byte;
    BOOST_TEST(message(bytes).find("byte 1000") != std::string::npos);
  }
  std::string endless = good.substr(0, 2880);
  while (endless.size() < 14u << 20) endless += endless.substr(0, 2880);
  BOOST_TEST(message(endless) != "");
  BOOST_TEST(message("\x1f\x8b" + good) != "");
}

BOOST_FIXTURE_TEST_CASE(random_damage_never_crashes, Fixture) {
  std::mt19937 random(3);
  for (int i = 0; i < 1000; ++i) {
    std::string bytes = good;
    const int n = 1 + static_cast<int>(random() % 8);
    for (int k = 0; k < n; ++k) bytes[random() % (2 * 2880)] = static_cast<char>(0x20 + random() % 95);
    put(bytes);
    try {
      read_fits_image(path);
    } catch (const DataError&) {
    }
  }
  BOOST_TEST(peak_memory_bytes() < 512u << 20);
}

// A pipe does not tell its size: memory must follow what arrives, not what is promised.
BOOST_FIXTURE_TEST_CASE(pipes_are_read_like_files, Fixture) {
  const int keep = ::dup(0);
  auto through_stdin = [&](const std::string& bytes) {
    const std::string name = folder / "in.fits";
    std::ofstream(name, std::ios::binary) << bytes;
    std::FILE* pipe = ::popen(("cat '" + name + "'").c_str(), "r");
    BOOST_REQUIRE(pipe != nullptr);
    ::dup2(::fileno(pipe), 0);
    std::string result;
    try {
      const Image image = read_fits_image("-");
      result = fmt::format("ok {}", image.pixels.size());
    } catch (const DataError& error) {
      result = error.what();
    }
    ::dup2(keep, 0);
    ::pclose(pipe);
    return result;
  };
  BOOST_TEST(through_stdin(good) == "ok 4000");
  BOOST_TEST(through_stdin(good + std::string(1 << 20, 'x')) == "ok 4000");
  BOOST_TEST(through_stdin(good.substr(0, 9000)).find("9000") != std::string::npos);
  BOOST_TEST(through_stdin(with("NAXIS3", "1000000000")).find("truncated") != std::string::npos);
  BOOST_TEST(peak_memory_bytes() < 512u << 20);
  ::close(keep);
}

BOOST_AUTO_TEST_SUITE_END()
