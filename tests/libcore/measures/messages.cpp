// SPDX-License-Identifier: GPL-3.0-or-later
// What casacore has to say comes through our log, and a missing Earth-orientation table is told once.
#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "libcore/base/log.h"
#include "libcore/measures/coordinates.h"

using namespace apsyn;

BOOST_AUTO_TEST_SUITE(messages)

BOOST_AUTO_TEST_CASE(messages_go_through_the_log) {
  const std::string file =
      std::filesystem::temp_directory_path() / fmt::format("apsyn-stderr-{}", ::getpid());
  const int saved = ::dup(STDERR_FILENO), captured = ::open(file.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600);
  BOOST_REQUIRE(captured >= 0);
  ::dup2(captured, STDERR_FILENO);
  std::vector<std::string> warnings;
  set_log_sink([&](LogLevel level, const std::string& text) {
    if (level == LogLevel::warning) warnings.push_back(text);
  });
  for (int i = 0; i < 5; ++i) {
    const SkyFrame frame(Site{0.5, 0.1 * i, 100});
    frame.zenith({57000 + i, 0});
    frame.uvw_rotation({57000 + i, 0}, {1, 0.5});
  }
  set_log_sink({});
  ::dup2(saved, STDERR_FILENO);
  ::close(saved);
  ::close(captured);
  BOOST_TEST(std::filesystem::file_size(file) == 0u);
  std::filesystem::remove(file);
  // None where casacore's tables are installed.
  BOOST_TEST(warnings.size() <= 1u);
  for (const std::string& warning : warnings)
    BOOST_TEST(warning.find("Earth-orientation") != std::string::npos, warning);
}

BOOST_AUTO_TEST_SUITE_END()
