// SPDX-License-Identifier: GPL-3.0-or-later
// Straight lines through delays, and how far they are off in between.
#include <algorithm>
#include <atomic>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <vector>

#include "kernels/beamform/beam_weights.h"
#include "tests/kernels/beamform/beamform_setup.h"

using namespace apsyn;
using namespace apsyn::test;

BOOST_AUTO_TEST_SUITE(delay_lines)

namespace {

/// Delays of an east-west array: cosines of the hour angle, all turning over at once.
class Rotation final : public BeamDelaySource {
 public:
  explicit Rotation(double middle_s) : middle_s_(middle_s) {}
  double at(std::size_t beam, std::size_t ant, double t_s) const {
    return 1e-6 * (1.0 + double(ant)) * std::sin(1e-3 * (t_s - middle_s_)) * (1.0 + 0.1 * double(beam));
  }
  /// Whether all delays were asked for within the time that they were prepared for.
  bool prepared() const { return prepared_; }
  void prepare(double begin_s, double end_s) override { begin_s_ = begin_s, end_s_ = end_s; }
  void delays_s(std::size_t beam, double t_s, std::span<double> delay_s) const override {
    if (t_s < begin_s_ || t_s > end_s_) prepared_ = false;
    for (std::size_t ant = 0; ant < delay_s.size(); ++ant) delay_s[ant] = at(beam, ant, t_s);
  }

 private:
  double middle_s_, begin_s_ = 0, end_s_ = -1;
  mutable std::atomic<bool> prepared_{true};  // threads ask
};

BeamformPlan moving_plan() {
  BeamformPlan plan;
  plan.n_chan = 1;
  plan.n_ant = 5;
  plan.n_pol = 1;
  plan.n_beam = 3;
  plan.spectrum_s = 0.125;
  plan.update_spectra = 8;
  plan.n_threads = 2;
  return plan;
}

constexpr std::int64_t kFirst = 3, kSpan = 64;

/// The largest difference of all intervals' delays from their lines.
double largest(const BeamformPlan& plan, const Rotation& delays, const std::vector<double>& begin,
               const std::vector<double>& slope) {
  double off = 0;
  for (std::size_t beam = 0; beam < plan.n_beam; ++beam)
    for (std::size_t ant = 0; ant < plan.n_ant; ++ant)
      for (std::int64_t step = 0; step <= kSpan; ++step) {
        const std::size_t i = beam * plan.n_ant + ant;
        const double truth = delays.at(beam, ant, steering_middle_s(plan, kFirst + step));
        off = std::max(off, std::abs(begin[i] + double(step) * slope[i] - truth));
      }
  return off;
}

}  // namespace

BOOST_AUTO_TEST_CASE(errors_are_no_larger_than_told) {
  const BeamformPlan plan = moving_plan();
  const double middle_s = steering_middle_s(plan, kFirst + kSpan / 2);
  // turning over in the middle, beside it, and far from there
  for (const double from_s : {0.0, 2.0, -5.0, 20.0, 400.0, 1500.0}) {
    Rotation delays(middle_s + from_s);
    std::vector<double> begin(plan.n_beam * plan.n_ant), slope(begin.size());
    const double told = fit_delay_lines(plan, delays, kFirst, kSpan, begin.data(), slope.data());
    BOOST_TEST(delays.prepared());
    const double truth = largest(plan, delays, begin, slope);
    BOOST_TEST(truth > 1e-12);
    // measured: 1.00 to 1.33 of the truth; the fourth power of 0.032 rad is 1e-6 of a delay's swing
    BOOST_TEST(told >= 0.99 * truth, from_s << " s: told " << told << ", truth " << truth);
    BOOST_TEST(told <= 1.4 * truth, from_s << " s: told " << told << ", truth " << truth);
  }
}

BOOST_AUTO_TEST_SUITE_END()
