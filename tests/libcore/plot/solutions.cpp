// SPDX-License-Identifier: GPL-3.0-or-later
// The figure of solutions: what is written beside its panels, and grey for what is flagged.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <string>

#include "libcore/base/error.h"
#include "libcore/plot/figures/solution_figure.h"
#include "tests/support/some_solutions.h"

using namespace apsyn;
using some_solutions::table;

BOOST_AUTO_TEST_SUITE(solutions)

namespace {

std::size_t count_labels(const Canvas& canvas, const std::string& text) {
  return static_cast<std::size_t>(std::count_if(canvas.labels().begin(), canvas.labels().end(),
                                                [&](const Label& label) { return label.text == text; }));
}

/// Pixels of the grey of flagged solutions.
std::size_t count_grey(const Canvas& canvas) {
  const Buffer<std::uint8_t, 3> pixels = canvas.to_rgb8();
  std::size_t n = 0;
  for (std::size_t i = 0; i < pixels.size(); i += 3)
    n += pixels.data()[i] == 204 && pixels.data()[i + 1] == 204 && pixels.data()[i + 2] == 204;
  return n;
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_antenna_has_a_panel) {
  const Solutions gains = some_solutions::solutions(table(SolutionType::gain, {3, 5, 2, 2, {}}, 1));
  const Canvas canvas = draw_solutions(gains, {"title", 0, 0, SolutionAxis::time, 400});
  for (const SolutionAntenna& antenna : gains.antennas) BOOST_TEST(count_labels(canvas, antenna.name) == 1u);
  BOOST_TEST(count_labels(canvas, "X") == 1u);
  BOOST_TEST(count_labels(canvas, "Time (s)") == 1u);
  BOOST_TEST(count_labels(canvas, "Amp.") >= 1u);
  BOOST_TEST(count_labels(canvas, "Phase") >= 1u);
  const Canvas delays =
      draw_solutions(some_solutions::solutions(table(SolutionType::delay_s, {3, 5, 1, 1, {}}, 1)),
                     {"", 0, 0, SolutionAxis::time, 400});
  BOOST_TEST(count_labels(delays, "ns") >= 1u);
  BOOST_TEST(count_labels(delays, "Phase") == 0u);
}

BOOST_AUTO_TEST_CASE(flagged_solutions_are_grey) {
  Solutions gains = some_solutions::solutions(table(SolutionType::gain, {4, 4, 1, 2, {}}, 1));
  const SolutionFigureOptions options{"", 0, 0, SolutionAxis::time, 400};
  const std::size_t none = count_grey(draw_solutions(gains, options));
  some_solutions::flag(gains.tables[0], 1, 2, 0, 0, SolutionFlag::low_snr);
  const std::size_t one = count_grey(draw_solutions(gains, options)) - none;
  some_solutions::flag(gains.tables[0], 2, 2, 0, 0, SolutionFlag::low_snr);
  const std::size_t two = count_grey(draw_solutions(gains, options)) - none;
  BOOST_TEST(one > 200u);
  BOOST_TEST(two > one * 17 / 10);
  BOOST_TEST(two < one * 25 / 10);
  for (float& weight : gains.tables[0].weight) weight = 0;
  BOOST_CHECK_THROW(draw_solutions(gains, options), FailureError);
}

BOOST_AUTO_TEST_CASE(the_longer_axis_is_drawn_against) {
  BOOST_TEST((longer_axis(table(SolutionType::gain, {3, 2, 4, 1, {}}, 1)) == SolutionAxis::frequency));
  BOOST_TEST((longer_axis(table(SolutionType::gain, {3, 2, 3, 1, {}}, 1)) == SolutionAxis::time));
}

BOOST_AUTO_TEST_SUITE_END()
