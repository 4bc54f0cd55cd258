// SPDX-License-Identifier: GPL-3.0-or-later
// JSON texts, by hand against RFC 8259.
#include <boost/test/unit_test.hpp>
#include <limits>

#include "libcore/core/json.h"

using namespace apsyn;

BOOST_AUTO_TEST_CASE(values) {
  BOOST_TEST(Json(0.1).text() == "0.1");
  BOOST_TEST(Json(-1.25e-30).text() == "-1.25e-30");
  BOOST_TEST(std::stod(Json(1.0 / 3).text()) == 1.0 / 3);
  BOOST_TEST(Json(std::numeric_limits<double>::quiet_NaN()).text() == "null");
  BOOST_TEST(Json(-std::numeric_limits<double>::infinity()).text() == "null");
  BOOST_TEST(Json(true).text() == "true");
  BOOST_TEST(Json(std::uint64_t{18446744073709551615u}).text() == "18446744073709551615");
  BOOST_TEST(Json(-7).text() == "-7");
  BOOST_TEST(Json("a\"b\\c\n\u00b5").text() == "\"a\\\"b\\\\c\\u000a\u00b5\"");
  BOOST_TEST(Json(std::vector<double>{1.5, 2.5}).text() == "[1.5, 2.5]");
  BOOST_TEST(Json(std::vector<std::string>{}).text() == "[]");
}

BOOST_AUTO_TEST_CASE(objects) {
  JsonObject inner, outer;
  inner.add("x", 1).add("name", "a");
  BOOST_TEST(JsonObject().text() == "{}");
  BOOST_TEST(inner.text() == "{\"x\": 1, \"name\": \"a\"}");
  outer.add("one", inner).add("list", std::vector<JsonObject>{inner, inner}).add("n", std::vector<int>{1, 2});
  BOOST_TEST(outer.document() ==
             "{\n  \"one\": {\"x\": 1, \"name\": \"a\"},\n  \"list\": [\n    {\"x\": 1, \"name\": \"a\"},\n"
             "    {\"x\": 1, \"name\": \"a\"}\n  ],\n  \"n\": [1, 2]\n}");
}
