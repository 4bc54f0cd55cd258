// SPDX-License-Identifier: GPL-3.0-or-later
// Foreign files by their first bytes, and nothing by chance.
#include <boost/test/unit_test.hpp>

#include <fstream>
#include <random>
#include <string>

#include "libcore/streams/recognise.h"

using namespace apsyn;
using namespace std::string_literals;

BOOST_AUTO_TEST_SUITE(recognised_formats)

namespace {

std::string head_of(const std::string& name) {
  std::ifstream file(APSYN_TEST_DATA "/" + name, std::ios::binary);
  std::string bytes(kRecogniseBytes, '\0');
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  bytes.resize(static_cast<std::size_t>(file.gcount()));
  return bytes;
}

}  // namespace

BOOST_AUTO_TEST_CASE(real_recordings_are_named) {
  for (const auto& [file, format] : {std::pair{"baseband-head.vdif", "vdif"},
                                     {"baseband-arochime-head.vdif", "vdif"},
                                     {"baseband-mwa.vdif", "vdif"},
                                     {"baseband-drao-head.vdif", "vdif"},
                                     {"baseband-puppi-head.raw", "guppi"},
                                     {"baseband-blc-head.raw", "guppi"},
                                     {"baseband-head.m5b", "mark5b"},
                                     {"LWA-tbf-test.dat", "tbf"},
                                     {"LWA-tbx-test.dat", "tbf"},
                                     {"LWA-tbn-test.dat", "tbn"},
                                     {"LWA-drx-head.dat", "drx"},
                                     {"VLBA-M87-mojave.uvfits", "uvfits"},
                                     {"1090008640.metafits", "fits"},
                                     {"baseband-effelsberg.dada", "dada"},
                                     {"TART-mgtana-16ms.dada.zst", "zstd"}}) {
    const Recognised what = recognise(head_of(file));
    BOOST_TEST(what.format == format, file);
    BOOST_TEST(what.certain == (format != "vdif"s), file);
    BOOST_TEST(foreign_hint(head_of(file), format).empty());
    BOOST_TEST(foreign_hint(head_of(file), "raw") == ": " + std::string(what.hint));
  }
  // its GROUPS stands behind the bytes that readers of streams have
  BOOST_TEST(recognise(head_of("VLBA-M87-mojave.uvfits").substr(0, 4096)).format == "uvfits");
}

BOOST_AUTO_TEST_CASE(beginnings_tell_the_format) {
  const std::string dada = "HDR_VERSION 1.0\nHDR_SIZE 4096\nINSTRUMENT apsyn\n";
  BOOST_TEST(recognise(dada).format == "dada");
  BOOST_TEST(recognise("HDR_SIZE 4096\nINSTRUMENT apsyn-vis\n").format == "visibility");
  BOOST_TEST(recognise("HDR_SIZE 4096\nINSTRUMENT\t apsyn-vis # of apsyn\n").format == "visibility");
  BOOST_TEST(recognise(dada + "HISTORY_0 apsyn-vis\nMY_INSTRUMENT apsyn-vis\n").format == "dada");
  BOOST_TEST(recognise("HDR_SIZE 4096\nINSTRUMENT apsyn-visual\n").format == "dada");
  BOOST_TEST(recognise("HDR_SIZE 4096\nINSTRUMENT ").format == "dada");
  BOOST_TEST(recognise("HDR_SIZE 4096\nSUBOBS_ID 1342177288\nNTIMESAMPLES 64000\n").format == "mwax");
  BOOST_TEST(recognise("MY_HDR_SIZE 4096\n").format == "");
  BOOST_TEST(recognise("\x0c\0\0\0HEADER_START"s).format == "filterbank");
  BOOST_TEST(recognise("\x1f\x8b\x08\x08"s).format == "gzip");
  BOOST_TEST(recognise("\x1f\x8b\x08\0"s).format == "gzip");
  BOOST_TEST(recognise("\x1f\x8b\x08\x20"s).format == "");
  BOOST_TEST(recognise("BZh91AY&SY"s).format == "bzip2");
  BOOST_TEST(recognise("BZh9\x17\x72\x45\x38\x50\x90"s).format == "bzip2");  // of nothing
  BOOST_TEST(recognise("BZh9 samples"s).format == "");
  BOOST_TEST(recognise(std::string(257, ' ') + "ustar").format == "tar");
  // A sync word alone is some frame of an LWA station.
  BOOST_TEST(recognise("\xde\xc0\xde\x5c").format == "lwa");
}

BOOST_AUTO_TEST_CASE(noise_is_nothing_and_no_length_hurts) {
  std::mt19937 random(1);
  std::string noise(kRecogniseBytes, '\0');
  for (char& c : noise) c = static_cast<char>(random());
  BOOST_TEST(recognise(noise).format == "");
  BOOST_TEST(recognise(std::string(kRecogniseBytes, '\0')).format == "");
  for (const char* file : {"baseband-head.vdif", "baseband-puppi-head.raw", "LWA-drx-head.dat"})
    for (const std::string head = head_of(file);
         std::size_t n : {0, 1, 3, 4, 5, 31, 32, 79, 80, 81, 5031, 5064})
      BOOST_TEST(recognise(std::string_view(head).substr(0, n)).hint.size() < 100u);
}

BOOST_AUTO_TEST_SUITE_END()
