// SPDX-License-Identifier: GPL-3.0-or-later
// The hits of all trials and windows against sums that are made one by one in float64.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <mutex>
#include <random>
#include <tuple>

#include "kernels/search/images/light_curves.h"
#include "tests/reference/test_device.h"

using namespace apsyn;

BOOST_AUTO_TEST_SUITE(scan)

namespace {

struct Case {
  std::size_t nx, ny, n_chan, n_trial;
  std::vector<std::size_t> widths;
  std::size_t n_begin, max_delay;
  double threshold;
};

/// Noise, of which a third of a row of pixels and some channels of images are missing.
std::unique_ptr<LightCurves> curves_of(const Case& c, std::size_t n_frame) {
  LightCurvePlan plan;
  plan.nx = c.nx, plan.ny = c.ny, plan.n_chan = c.n_chan;
  plan.n_frame = n_frame + 4 * plan.piece;
  plan.n_threads = 2;
  plan.device = reference::test_device();
  auto curves = std::make_unique<LightCurves>(plan);
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  std::vector<float> frame(c.nx * c.ny * c.n_chan);
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  for (std::size_t t = 0; t < n_frame; ++t) {
    for (float& value : frame) value = normal(random);
    for (std::size_t chan = 0; chan < c.n_chan; ++chan) {
      const auto plane = frame.begin() + static_cast<std::ptrdiff_t>(chan * c.nx * c.ny);
      std::fill_n(plane, c.nx / 3, kNan);
      if ((t + chan) % 29 == 3) std::fill_n(plane, c.nx * c.ny, kNan);
    }
    curves->push(t == 40 ? std::span<const float>() : frame);
  }
  curves->end();
  return curves;
}

using Hit = std::tuple<std::size_t, std::uint32_t, std::uint32_t, std::int64_t, float>;  // pixel, trial, ...

void check(const Case& c) {
  const std::size_t n_pixel = c.nx * c.ny, longest = c.widths.back(), first = 7,
                    n_frame = first + c.n_begin + c.max_delay + longest + 5;
  const std::unique_ptr<LightCurves> curves = curves_of(c, n_frame);
  const BoxcarProgram program = plan_boxcars(c.widths);
  Buffer<std::uint32_t, 2> delay({c.n_trial, c.n_chan});
  for (std::size_t trial = 0; trial < c.n_trial; ++trial)
    for (std::size_t chan = 0; chan < c.n_chan; ++chan)
      delay(trial, chan) =
          static_cast<std::uint32_t>(c.max_delay * trial * chan / (c.n_trial * c.n_chan - c.n_chan + 1));
  ScanTable table;
  table.first = first, table.n_begin = c.n_begin, table.delay = delay.view();
  table.program = &program, table.threshold = c.threshold;
  table.below.resize({c.n_trial, c.widths.size(), c.n_begin});
  table.to_sn.resize({c.n_trial, c.widths.size(), c.n_begin});
  for (std::size_t trial = 0; trial < c.n_trial; ++trial)
    for (std::size_t w = 0; w < c.widths.size(); ++w)
      for (std::size_t t = 0; t < c.n_begin; ++t) {
        const double steps = 8 * std::sqrt(static_cast<double>(c.widths[w] * c.n_chan));
        // some windows do not count
        const bool counts = (t + trial) % 17 != 4;
        table.to_sn(trial, w, t) = counts ? static_cast<float>(1 / steps) : 0;
        table.below(trial, w, t) =
            static_cast<std::int16_t>(counts ? std::ceil(c.threshold * steps) - 1 : 32767);
      }

  std::vector<Hit> found, expected;
  std::mutex mutex;
  curves->store().scan(table, [&](std::size_t tile, std::span<const TileHit> hits) {
    const std::lock_guard lock(mutex);
    for (const TileHit& hit : hits)
      found.emplace_back(tile * kTilePixels + hit.pixel, hit.trial, hit.width, hit.begin, hit.sn);
  });

  const std::unique_ptr<CurveReader> reader = curves->store().reader();
  for (std::size_t pixel = 0; pixel < n_pixel; ++pixel) {
    const PixelCurve curve = reader->at(pixel);
    for (std::uint32_t trial = 0; trial < c.n_trial; ++trial) {
      std::vector<double> before{0};
      for (std::size_t t = 0; t < c.n_begin + longest; ++t) {
        double sum = 0;
        for (std::size_t chan = 0; chan < c.n_chan; ++chan)
          sum += curve.steps(static_cast<std::int64_t>(first + t + delay(trial, chan)), chan);
        before.push_back(before.back() + sum);
      }
      for (std::size_t begin = 0; begin < c.n_begin; begin += longest) {
        Hit best{pixel, trial, 0, 0, 0.0f};
        for (std::uint32_t w = 0; w < c.widths.size(); ++w)
          for (std::size_t t = begin; t < std::min(c.n_begin, begin + longest); ++t) {
            const double sum = before[t + c.widths[w]] - before[t];
            const float sn = static_cast<float>(sum) * table.to_sn(trial, w, t);
            if (sum > table.below(trial, w, t) && static_cast<double>(sn) >= c.threshold &&
                sn > std::get<4>(best))
              best = {pixel, trial, w, static_cast<std::int64_t>(first + t), sn};
          }
        if (std::get<4>(best) > 0) expected.push_back(best);
      }
    }
  }
  std::sort(found.begin(), found.end());
  std::sort(expected.begin(), expected.end());
  BOOST_TEST(expected.size() > n_pixel / 20);
  BOOST_TEST(found.size() == expected.size());
  BOOST_TEST((found == expected), "the hits are others");
}

}  // namespace

BOOST_AUTO_TEST_CASE(hits_are_those_of_sums_one_by_one) {
  check({37, 21, 13, 12, {1, 2, 3, 4, 6, 8}, 32, 70, 3});
  check({37, 21, 13, 12, {1, 2, 3, 4, 6, 8}, 27, 70, 3});  // the last frames of a stream
  check({64, 2, 1, 1, {1}, 32, 0, 2.5});
  check({19, 5, 5, 7, {2, 5}, 45, 11, 2.5});
  check({21, 9, 40, 9, {1, 3, 64}, 256, 100, 3});
}

BOOST_AUTO_TEST_CASE(windows_longer_than_what_threads_share) {
  check({11, 9, 3, 3, {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 700}, 1400, 30, 3});
}

BOOST_AUTO_TEST_CASE(small_for_sanitizers) {
  check({11, 7, 5, 3, {1, 2, 3}, 19, 12, 2});
}

BOOST_AUTO_TEST_SUITE_END()
