// SPDX-License-Identifier: GPL-3.0-or-later
// JSON texts, by hand against RFC 8259.
#include <boost/test/unit_test.hpp>
#include <limits>

#include "libcore/base/json.h"

using namespace apsyn;

BOOST_AUTO_TEST_SUITE(json)

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

// What is well formed: the table of RFC 3629, section 4.
BOOST_AUTO_TEST_CASE(bytes_that_are_no_utf8) {
  const auto inside = [](std::string_view text) {
    const std::string quoted = Json(text).text();
    return quoted.substr(1, quoted.size() - 2);
  };
  for (const char* good : {"\x7f", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xee\x80\x80",
                           "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"})
    BOOST_TEST(inside(good) == good);
  const std::string one = "\\ufffd", two = one + one, three = two + one, four = three + one;
  BOOST_TEST(inside("\x80") == one);
  BOOST_TEST(inside("caf\xe9 5") == "caf" + one + " 5");
  BOOST_TEST(inside("\xc1\xbf") == two);
  BOOST_TEST(inside("\xe0\x9f\xbf") == three);
  BOOST_TEST(inside("\xed\xa0\x80") == three);
  BOOST_TEST(inside("\xe2\x82") == two);
  BOOST_TEST(inside("\xe2\x82x") == two + "x");
  BOOST_TEST(inside("\xc3\xc3\xa9") == one + "\xc3\xa9");
  BOOST_TEST(inside("\xf0\x8f\xbf\xbf") == four);
  BOOST_TEST(inside("\xf4\x90\x80\x80") == four);
  BOOST_TEST(inside("\xf5\x80\x80\x80") == four);
  BOOST_TEST(inside("\xff\"") == one + "\\\"");
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

BOOST_AUTO_TEST_SUITE_END()
