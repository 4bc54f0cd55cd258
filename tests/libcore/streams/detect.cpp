// SPDX-License-Identifier: GPL-3.0-or-later
// Kinds of input from their first bytes.
#include <boost/test/unit_test.hpp>

#include "libcore/base/error.h"
#include "libcore/streams/detect.h"

using namespace apsyn;

BOOST_AUTO_TEST_SUITE(detect)

BOOST_AUTO_TEST_CASE(kinds_are_told_as_soon_as_they_can_be) {
  const std::string dada = "HDR_VERSION 1.0\nHDR_SIZE 4096\nTELESCOPE MWA\nINSTRUMENT apsyn\n";
  const std::string vis = "HDR_VERSION 1.0\nHDR_SIZE 4096\nINSTRUMENT   apsyn-vis # note\n";
  BOOST_CHECK(kind_of_bytes("SIMPLE  =                    T", false, "x") == InputKind::image);
  BOOST_CHECK(kind_of_bytes(dada, false, "x") == InputKind::voltage);
  BOOST_CHECK(kind_of_bytes(vis, false, "x") == InputKind::visibility);
  // every prefix either waits or says the same
  for (std::size_t n = 0; n < vis.size(); ++n) {
    const auto kind = kind_of_bytes(vis.substr(0, n), false, "x");
    BOOST_CHECK(!kind || kind == InputKind::visibility);
  }
  BOOST_CHECK(kind_of_bytes("HDR_SIZE 4096\nFREQ 150\n", true, "x") == InputKind::voltage);
  BOOST_CHECK(!kind_of_bytes("HDR_SIZE 4096\nFREQ 150\n", false, "x"));
  const std::string filterbank("\x0c\0\0\0HEADER_START\x0b\0\0\0source_name", 31);
  BOOST_CHECK(kind_of_bytes(filterbank, false, "x") == InputKind::filterbank);
  BOOST_CHECK(kind_of_bytes("# snr 9\nphase,power,samples\n0.5,1,9\n", true, "x") == InputKind::profile);
  BOOST_CHECK(kind_of_bytes("\x89HDF\r\n\x1a\n rest", false, "x") == InputKind::solutions);
  BOOST_CHECK(!kind_of_bytes(filterbank.substr(0, 10), false, "x"));
  BOOST_CHECK_THROW(kind_of_bytes(filterbank.substr(0, 10), true, "x"), DataError);
  for (const char* name : {"image", "ms", "visibility", "voltage", "filterbank", "profile", "solutions"})
    BOOST_CHECK(input_kind_name(parse_input_kind(name)) == name);
  BOOST_CHECK_THROW(kind_of_bytes("", true, "x"), DataError);
  BOOST_CHECK_THROW(kind_of_bytes("MY_HDR_SIZE 4096\n", true, "x"), DataError);
  BOOST_CHECK_THROW(kind_of_bytes(std::string(5000, '\0'), false, "x"), DataError);
  BOOST_CHECK_THROW(detect_input("/no/such/file"), FailureError);
  BOOST_CHECK_THROW(detect_input("/tmp"), DataError);
  BOOST_CHECK_THROW(parse_input_kind("movie"), UsageError);
}

BOOST_AUTO_TEST_SUITE_END()
