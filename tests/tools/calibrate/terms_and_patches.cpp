// SPDX-License-Identifier: GPL-3.0-or-later
// Terms as the command line gives them, the patches of a sky, and the memory that directions take.
#include <boost/test/unit_test.hpp>

#include <cmath>
#include <string>
#include <vector>

#include "libcore/base/constants.h"
#include "libcore/base/error.h"
#include "tests/reference/scratch.h"
#include "tools/calibrate/directions.h"
#include "tools/calibrate/options.h"

using namespace apsyn;
using namespace apsyn::calibrate;

BOOST_AUTO_TEST_SUITE(terms_and_patches)

BOOST_AUTO_TEST_CASE(a_term_has_the_defaults_unless_it_says_otherwise) {
  Options options;
  BOOST_TEST(parse_term("gain", options).interval_s == 0);
  BOOST_TEST(parse_term("gain", options).channels == 1u);
  BOOST_TEST(parse_term("gain", options).start_from_former);
  options.interval = "10s";
  options.channels_per_solution = "4";
  options.robust_nu = 3;
  TermOptions term = parse_term("phase", options);
  BOOST_TEST(term.interval_s == 10);
  BOOST_TEST(term.channels == 4u);
  BOOST_TEST(term.robust_nu == 3);
  term = parse_term("phase:interval=2min,channels=all,robust=5,start=none", options);
  BOOST_TEST(term.interval_s == 120);
  BOOST_TEST(term.channels == 0u);
  BOOST_TEST(term.robust_nu == 5);
  BOOST_TEST(!term.start_from_former);
  BOOST_TEST(parse_term("gain:robust", options).robust_nu == 2);
  BOOST_TEST(parse_term("gain:start=former", options).start_from_former);
  // A bandpass is one of the whole time in every channel, a slope over all of them.
  term = parse_term("bandpass", options);
  BOOST_TEST(term.interval_s == 0);
  BOOST_TEST(term.channels == 1u);
  BOOST_TEST(parse_term("bandpass:interval=1h", options).interval_s == 3600);
  BOOST_TEST(parse_term("tec", options).channels == 0u);
  BOOST_TEST(parse_term("tec", options).interval_s == 10);
  for (const char* bad : {"gains", "gain:speed=3", "gain:interval=ten", "gain:channels=-1",
                          "delay:channels=2", "gain:start=later", "gain:channels=0.5"})
    BOOST_CHECK_THROW(parse_term(bad, options), UsageError);
}

BOOST_AUTO_TEST_CASE(patches_that_are_not_named_are_one_more) {
  const reference::Scratch scratch;
  Options options;
  options.sky = scratch.file("sky.txt",
                             "Format = Name, Type, Patch, Ra, Dec, I\n"
                             "a, POINT, p, 10deg, -30deg, 3\nb, POINT, q, 11deg, -30deg, 2\n"
                             "c, POINT, p, 12deg, -30deg, 1\nd, POINT, r, 13deg, -30deg, 1\n");
  options.directions = "patches";
  BOOST_TEST_REQUIRE(choose_patches(options).size() == 3u);
  BOOST_TEST(choose_patches(options)[0].sky.components.size() == 2u);
  options.directions = "r,p";
  const std::vector<SkyPatch> chosen = choose_patches(options);
  BOOST_TEST_REQUIRE(chosen.size() == 3u);
  BOOST_TEST(chosen[0].name == "r");
  BOOST_TEST(chosen[1].name == "p");
  BOOST_TEST(std::abs(chosen[1].direction.ra_rad / kRadPerDeg - 10.5) < 1e-3);  // a has three times c's flux
  BOOST_TEST(chosen[2].name == "others");
  BOOST_TEST_REQUIRE(chosen[2].sky.components.size() == 1u);
  BOOST_TEST(chosen[2].sky.components[0].name == "b");
  options.directions = "q";
  BOOST_TEST(choose_patches(options)[1].sky.components.size() == 3u);
  options.directions = "p,q,r";
  BOOST_TEST(choose_patches(options).size() == 3u);  // nothing is left
  for (const char* bad : {"s", "p,p"}) {
    options.directions = bad;
    BOOST_CHECK_THROW(choose_patches(options), UsageError);
  }
}

// Twenty integrations in ten slots: of a set in the order of time no more than two are open at once.
BOOST_AUTO_TEST_CASE(directions_keep_the_sums_of_the_slots_that_may_be_open) {
  Tool tool("calibrate", "");
  tool.common().max_memory_bytes = 1'000'000'000'000;
  Options options;
  options.terms = {parse_term("scalar-phase:interval=4s", {})};
  InputInfo info;
  info.path = "obs.ms";
  info.antennas.resize(64);
  info.products = {Product::XX, Product::YY};
  info.windows.resize(1);
  info.windows[0].channel_hz = {150e6, 151e6};
  info.windows[0].width_hz = {1e6, 1e6};
  for (int i = 0; i < 20; ++i)
    info.integrations.push_back({2.0 * i + 1, 2, 1, 2016, 2016 * i, 2016 * i + 2015});
  const auto plan_of = [&](std::size_t n_directions) {
    return DirectionPlan(tool, options, info, n_directions);
  };
  const DirectionPlan sorted = plan_of(5);
  BOOST_TEST_REQUIRE(sorted.slots.size() == 10u);
  BOOST_TEST(sorted.slot_of[1] == 0u);
  BOOST_TEST(sorted.slot_of[2] == 1u);
  BOOST_TEST(sorted.slot_of[19] == 9u);
  BOOST_TEST_REQUIRE(sorted.layouts.size() == 1u);
  const std::uint64_t of_slot = sorted.layouts[0].bytes();
  BOOST_TEST(sorted.bytes() > 3 * of_slot);
  for (std::size_t i = 0; i < 20; ++i) {  // the last integration is stored first
    info.integrations[i].first_row = static_cast<std::int64_t>(2016 * (19 - i));
    info.integrations[i].last_row = info.integrations[i].first_row + 2015;
  }
  BOOST_TEST(plan_of(5).bytes() - sorted.bytes() == 8 * of_slot);
  tool.common().max_memory_bytes = sorted.bytes();
  BOOST_CHECK_THROW(plan_of(5), UsageError);
  options.terms = {parse_term("delay", {})};
  BOOST_CHECK_THROW(plan_of(1), UsageError);  // two channels make no slope with an offset
}

BOOST_AUTO_TEST_SUITE_END()
