// SPDX-License-Identifier: GPL-3.0-or-later
// What inputs say cannot write to a terminal as it likes.
#include "libcore/cli/printable.h"

#include <boost/test/unit_test.hpp>

using namespace apsyn;

BOOST_AUTO_TEST_SUITE(printable)

BOOST_AUTO_TEST_CASE(text_passes_and_controls_do_not) {
  BOOST_TEST(escape_controls("obs.ms: 3.5 \u03c3, \u00b0, \U0001F52D") ==
             "obs.ms: 3.5 \u03c3, \u00b0, \U0001F52D");
  BOOST_TEST(escape_controls("\x1b[31mred\x07") == "\\x1B[31mred\\x07");
  BOOST_TEST(escape_controls("two\nlines\t") == "two\\x0Alines\\x09");
  BOOST_TEST(escape_controls("two\nlines\x1b", "\n\t") == "two\nlines\\x1B");
  BOOST_TEST(escape_controls(std::string_view("a\0b", 3)) == "a\\x00b");
  BOOST_TEST(escape_controls("\xc2\x9b"
                             "31m") == "\\xC2\\x9B31m");  // CSI of eight bits
  BOOST_TEST(escape_controls("\xe2\x80\xae"
                             "txt") == "\\xE2\\x80\\xAEtxt");  // right to left from here
}

BOOST_AUTO_TEST_CASE(what_is_no_utf8_is_escaped_byte_by_byte) {
  BOOST_TEST(escape_controls("\xff\xfe"
                             "a") == "\\xFF\\xFEa");
  BOOST_TEST(escape_controls("\xc3") == "\\xC3");                             // cut
  BOOST_TEST(escape_controls("\xc3(") == "\\xC3(");                           // not continued
  BOOST_TEST(escape_controls("\xc0\xaf") == "\\xC0\\xAF");                    // longer than needed
  BOOST_TEST(escape_controls("\xe0\x80\xaf") == "\\xE0\\x80\\xAF");           // the same
  BOOST_TEST(escape_controls("\xed\xa0\x80") == "\\xED\\xA0\\x80");           // a surrogate
  BOOST_TEST(escape_controls("\xf4\x90\x80\x80") == "\\xF4\\x90\\x80\\x80");  // beyond Unicode
}

BOOST_AUTO_TEST_CASE(long_texts_lose_their_middle_or_end) {
  BOOST_TEST(shorten("a short one") == "a short one");
  const std::string path(300, 'p');
  BOOST_TEST(shorten(path) == path);
  const std::string token = std::string(200, 'a') + std::string(99750, 'b') + std::string(50, 'c');
  BOOST_TEST(shorten("x: '" + token + " is wrong") ==
             "x: '" + token.substr(0, 199) + "...(99751 characters)..." + std::string(50, 'c') + " is wrong");
  std::string words;
  for (int i = 0; i < 30000; ++i) words += "ab ";
  const std::string cut = shorten(words);
  BOOST_TEST(cut.size() < 4050u);
  BOOST_TEST(cut.ends_with("... (86000 more characters)"));
  // Never within a character.
  std::string greek;
  for (int i = 0; i < 400; ++i) greek += "\u03c3";
  BOOST_TEST(escape_controls(shorten("x" + greek)) == shorten("x" + greek));
}

BOOST_AUTO_TEST_SUITE_END()
