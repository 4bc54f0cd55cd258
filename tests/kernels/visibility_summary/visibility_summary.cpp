// SPDX-License-Identifier: GPL-3.0-or-later
// Sums and counts over visibilities against literal counting, and their figures.
#include "kernels/visibility_summary/visibility_summary.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <random>

#include "libcore/base/constants.h"
#include "libcore/base/error.h"
#include "libcore/plot/colour_map.h"
#include "libcore/plot/figures/visibility_figure.h"
#include "tests/support/picture.h"

using namespace apsyn;

BOOST_AUTO_TEST_SUITE(visibility_summary)

namespace {

struct Data {
  std::vector<double> channel_hz;
  Buffer<double, 2> uvw_m;
  std::vector<double> time;
  std::vector<int> ant1, ant2;
  Buffer<std::complex<float>, 3> data;
  Buffer<float, 3> weight;
  VisibilityRows rows() const {
    return {uvw_m, time.data(), ant1.data(), ant2.data(), &channel_hz, data, weight};
  }
};

/// All pairs of n_ant antennas with autos at n_time times; a third of the samples flagged, some not finite.
Data random_rows(int n_ant, int n_time, std::vector<double> channel_hz, unsigned seed) {
  Data d;
  d.channel_hz = std::move(channel_hz);
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform(-1, 1);
  for (int t = 0; t < n_time; ++t)
    for (int i = 0; i < n_ant; ++i)
      for (int j = i; j < n_ant; ++j) d.ant1.push_back(i), d.ant2.push_back(j), d.time.push_back(5e9 + 2 * t);
  const std::size_t n = d.time.size();
  d.uvw_m.resize({n, 3});
  d.data.resize({n, d.channel_hz.size(), 4});
  d.weight.resize({n, d.channel_hz.size(), 4});
  for (std::size_t i = 0; i < n; ++i)
    if (d.ant1[i] != d.ant2[i])
      for (std::size_t axis = 0; axis < 3; ++axis) d.uvw_m(i, axis) = 300 * uniform(random);
  for (auto& value : d.data)
    value = {static_cast<float>(uniform(random)), static_cast<float>(uniform(random))};
  for (float& w : d.weight) w = uniform(random) > -0.33 ? 1.0f : 0.0f;
  d.data.data()[7] = {NAN, 1};
  if (d.data.size() > 99) d.data.data()[99] = {1, INFINITY};
  return d;
}

VisibilitySummary about(const Data& d, std::size_t n_ant) {
  VisibilitySummary s;
  s.channel_hz = d.channel_hz;
  s.channel_width_hz = 1e6;
  s.products = {Product::XX, Product::XY, Product::YX, Product::YY};
  s.antennas.assign(n_ant, "a");
  s.first_time_mjd_s = 5e9;
  s.interval_s = 2;
  return s;
}

std::uint64_t total(const Density& density) {
  std::uint64_t sum = 0;
  for (std::uint64_t count : density.counts()) sum += count;
  return sum;
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_good_sample_is_counted_once) {
  // 3000 integrations make the time axis fold; descending channels are put in rising order
  const Data d = random_rows(4, 3000, {152e6, 151e6, 150e6}, 1);
  VisibilitySummariser summariser(about(d, 4));
  summariser.add(d.rows());
  const VisibilitySummary& s = summariser.summary();
  std::uint64_t flagged = 0, cross_parallel = 0, uv = 0;
  Buffer<double, 2> amplitude({4, 3});
  Buffer<double, 3> autos({4, 4, 3});
  for (std::size_t i = 0; i < d.time.size(); ++i)
    for (std::size_t c = 0; c < 3; ++c) {
      bool any = false;
      for (std::size_t p = 0; p < 4; ++p) {
        const std::complex<double> v = d.data(i, c, p);
        if (d.weight(i, c, p) == 0 || !std::isfinite(v.real()) || !std::isfinite(v.imag())) {
          ++flagged;
          continue;
        }
        any = true;
        if (d.ant1[i] == d.ant2[i]) {
          autos(static_cast<std::size_t>(d.ant1[i]), p, 2 - c) += v.real();
        } else {
          amplitude(p, 2 - c) += std::abs(v);
          if (p == 0 || p == 3) ++cross_parallel;
        }
      }
      if (any && d.ant1[i] != d.ant2[i]) uv += 2;
    }
  BOOST_CHECK_EQUAL(s.n_rows, d.time.size());
  BOOST_CHECK_EQUAL(s.n_auto_rows, 4u * 3000);
  BOOST_CHECK_EQUAL(s.n_samples, d.data.size());
  BOOST_CHECK_EQUAL(s.n_flagged, flagged);
  for (const AmplitudePhase* one : {&s.against_time, &s.against_freq, &s.against_baseline}) {
    BOOST_CHECK_EQUAL(total(one->log_amplitude), cross_parallel);
    BOOST_CHECK_EQUAL(total(one->phase_deg), cross_parallel);
  }
  std::uint64_t uv_counted = 0;
  for (std::uint32_t count : s.uv.counts) uv_counted += count;
  BOOST_CHECK_EQUAL(uv_counted, uv);
  BOOST_CHECK_GE(s.against_time.log_amplitude.x().high(), 6000);
  BOOST_CHECK_EQUAL(s.last_time_mjd_s, 5e9 + 2 * 2999);
  BOOST_CHECK_EQUAL(s.channel_hz.front(), 150e6);
  for (std::size_t p = 0; p < 4; ++p)
    for (std::size_t c = 0; c < 3; ++c) {
      BOOST_CHECK_CLOSE(s.sum_amplitude(p, c), amplitude(p, c), 1e-9);
      for (std::size_t a = 0; a < 4; ++a) BOOST_CHECK_SMALL(s.sum_auto(a, p, c) - autos(a, p, c), 1e-9);
    }
}

BOOST_AUTO_TEST_CASE(a_waterfall_adds_its_baselines_by_time_and_channel) {
  // 3000 integrations of 2 s: 512 bins fold three times, to 16 s
  const Data d = random_rows(4, 3000, {152e6, 151e6, 150e6}, 5);
  for (const bool one : {false, true}) {
    VisibilitySummary start = about(d, 4);
    start.waterfall.wanted = true;
    if (one) start.waterfall.baselines = {{1, 3}};
    VisibilitySummariser summariser(std::move(start));
    summariser.add(d.rows());
    const Waterfall& w = summariser.summary().waterfall;
    BOOST_REQUIRE_EQUAL(w.bin_s, 16);
    BOOST_REQUIRE_EQUAL(w.bins.size(), 375u);
    for (const auto& [bin, index] : w.bins) BOOST_REQUIRE_EQUAL(static_cast<std::size_t>(bin), index);
    BOOST_REQUIRE_EQUAL(w.n_band, 3u);
    Buffer<double, 3> amplitude({4, 3, 512});
    Buffer<std::complex<double>, 3> sum({4, 3, 512});
    Buffer<std::uint64_t, 3> n({4, 3, 512});
    for (std::size_t i = 0; i < d.time.size(); ++i) {
      if (d.ant1[i] == d.ant2[i] || (one && !(d.ant1[i] == 1 && d.ant2[i] == 3))) continue;
      const auto bin = static_cast<std::size_t>((d.time[i] - 5e9 + 1) / 16);
      for (std::size_t c = 0; c < 3; ++c)
        for (std::size_t p = 0; p < 4; ++p) {
          const std::complex<double> v = d.data(i, c, p);
          if (d.weight(i, c, p) == 0 || !std::isfinite(v.real()) || !std::isfinite(v.imag())) continue;
          amplitude(p, 2 - c, bin) += std::abs(v), sum(p, 2 - c, bin) += v, ++n(p, 2 - c, bin);
        }
    }
    BOOST_CHECK_EQUAL_COLLECTIONS(w.n.begin(), w.n.end(), n.begin(), n.end());
    for (std::size_t i = 0; i < n.size(); ++i) {
      // at most 48 terms of at most 1.5 in another order
      BOOST_REQUIRE_SMALL(w.sum_amplitude.data()[i] - amplitude.data()[i], 1e-12);
      BOOST_REQUIRE_SMALL(std::abs(w.sum_visibility.data()[i] - sum.data()[i]), 1e-12);
    }
  }
}

BOOST_AUTO_TEST_CASE(uv_points_fall_into_their_cell_and_its_mirror) {
  Data d = random_rows(2, 1, {300e6}, 2);
  d.weight.fill(0);
  const std::size_t row = 1;  // 0-0, 0-1, 1-1
  d.weight(row, 0, 0) = 1;
  d.data(row, 0, 0) = {3, 4};
  d.uvw_m(row, 0) = 400, d.uvw_m(row, 1) = -100, d.uvw_m(row, 2) = 30;
  VisibilitySummariser summariser(about(d, 2));
  summariser.add(d.rows());
  const VisibilitySummary& s = summariser.summary();
  const double per_m = 300e6 / kSpeedOfLight_m_s, cell = 2 * s.uv.half_width / 2048;
  BOOST_CHECK_EQUAL(s.uv.half_width, 512);  // the power of two over 400.3
  for (double sign : {1.0, -1.0}) {
    const auto x = static_cast<std::size_t>((sign * 400 * per_m + 512) / cell);
    const auto y = static_cast<std::size_t>((sign * -100 * per_m + 512) / cell);
    BOOST_CHECK_EQUAL(s.uv.counts(y, x), 1u);
  }
  BOOST_CHECK_CLOSE(s.longest_m, std::sqrt(400. * 400 + 100 * 100 + 30 * 30), 1e-9);
  // amplitude 5 and its phase stand at their bins
  const Density& amplitude = s.against_baseline.log_amplitude;
  const auto bin_y = static_cast<std::size_t>((std::log10(5.0) - amplitude.y_low()) / amplitude.y_step());
  BOOST_CHECK_EQUAL(amplitude.counts()(amplitude.x().bin(s.longest_wavelengths), bin_y), 1u);
  const Density& phase = s.against_baseline.phase_deg;
  const auto bin_p = static_cast<std::size_t>((std::atan2(4, 3) / kRadPerDeg + 180) / phase.y_step());
  BOOST_CHECK_EQUAL(phase.counts()(phase.x().bin(s.longest_wavelengths), bin_p), 1u);
}

BOOST_AUTO_TEST_CASE(blocks_do_not_matter) {
  const Data d = random_rows(3, 40, {100e6, 101e6}, 3);
  VisibilitySummariser whole(about(d, 3)), split(about(d, 3));
  whole.add(d.rows());
  for (std::size_t begin = 0; begin < d.time.size(); begin += 7) {
    const std::size_t n = std::min<std::size_t>(7, d.time.size() - begin);
    VisibilityRows rows = d.rows();
    rows.uvw_m = {d.uvw_m.data() + begin * 3, {n, 3}};
    rows.time_mjd_s += begin, rows.ant1 += begin, rows.ant2 += begin;
    rows.data = {d.data.data() + begin * 8, {n, 2, 4}};
    rows.weight = {d.weight.data() + begin * 8, {n, 2, 4}};
    split.add(rows);
  }
  const Canvas a = draw_visibility_figure(whole.summary(), {.title = "", .size = 200});
  const Canvas b = draw_visibility_figure(split.summary(), {.title = "", .size = 200});
  const auto rgb_a = a.to_rgb8(), rgb_b = b.to_rgb8();
  BOOST_CHECK(std::equal(rgb_a.begin(), rgb_a.end(), rgb_b.begin(), rgb_b.end()));
}

BOOST_AUTO_TEST_CASE(every_figure_is_drawn_and_empty_data_is_refused) {
  const Data d = random_rows(5, 10, {100e6, 101e6, 105e6}, 4);
  const auto with_waterfall = [&] {
    VisibilitySummary start = about(d, 5);
    start.waterfall.wanted = true;
    return start;
  };
  VisibilitySummariser some(with_waterfall()), none(with_waterfall());
  some.add(d.rows());
  Data blank = random_rows(5, 10, d.channel_hz, 4);
  blank.weight.fill(0);
  none.add(blank.rows());
  for (const char* name : {"overview", "uv", "amplitude", "spectrum", "waterfall", "autos"}) {
    const VisibilityFigureOptions options{"", parse_visibility_plot(name), 150};
    BOOST_CHECK_NO_THROW(draw_visibility_figure(some.summary(), options));
    if (options.plot != VisibilityPlot::autos)
      BOOST_CHECK_THROW(draw_visibility_figure(none.summary(), options), FailureError);
  }
  BOOST_CHECK_THROW(parse_visibility_plot("pie"), UsageError);
  VisibilityRows wrong = d.rows();
  const std::vector<double> other = {100e6, 101e6, 106e6};
  wrong.channel_hz = &other;
  BOOST_CHECK_THROW(some.add(wrong), std::invalid_argument);
  BOOST_CHECK_THROW(VisibilitySummariser(VisibilitySummary{}), std::invalid_argument);
}

namespace {

/// The part of the coloured area of a picture that is of the colour of missing data.
double missing_part(const Picture& canvas) {
  const Colour missing = ColourMap("ember").missing();
  double n_missing = 0, n_colour = 0;
  for (std::size_t y = 0; y < canvas.height(); ++y)
    for (std::size_t x = 0; x < canvas.width(); ++x) {
      const Colour c = canvas.pixel(x, y);
      const bool grey = std::abs(c.red - c.green) < 0.1f && std::abs(c.green - c.blue) < 0.1f;
      if (std::abs(c.red - missing.red) + std::abs(c.green - missing.green) +
              std::abs(c.blue - missing.blue) <
          1e-3f)
        n_missing += 1;
      else if (!grey)
        n_colour += 1;
    }
  return n_missing / (n_missing + n_colour);
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_waterfall_leaves_long_gaps_out_and_keeps_its_bins) {
  // ten scans of 5 integrations of 2 s every half an hour
  Data d = random_rows(5, 50, {150e6, 151e6}, 6);
  for (std::size_t i = 0; i < d.time.size(); ++i) {
    const double since = d.time[i] - 5e9, scan = std::floor(since / 10);
    d.time[i] = 5e9 + 1800 * scan + (since - 10 * scan);
  }
  VisibilitySummary start = about(d, 5);
  start.waterfall.wanted = true;
  VisibilitySummariser summariser(std::move(start));
  summariser.add(d.rows());
  const Waterfall& w = summariser.summary().waterfall;
  BOOST_TEST(w.bin_s == 2);  // as short as the integrations
  BOOST_REQUIRE_EQUAL(w.bins.size(), 50u);
  BOOST_TEST(w.bins.count(900) == 1u);  // the second scan begins after 1800 s
  BOOST_TEST(w.bins.count(905) == 0u);
  const Canvas canvas = draw_visibility_figure(summariser.summary(), {"", VisibilityPlot::waterfall, 400});
  BOOST_TEST(missing_part(canvas) < 0.05);  // 0.99 of it lay between the scans

  // Rows in another order give the same bins.
  VisibilitySummary again = about(d, 5);
  again.waterfall.wanted = true;
  VisibilitySummariser backwards(std::move(again));
  std::reverse(d.time.begin(), d.time.end());
  backwards.add(d.rows());
  const Waterfall& b = backwards.summary().waterfall;
  BOOST_TEST(b.bin_s == w.bin_s);
  BOOST_REQUIRE_EQUAL(b.bins.size(), w.bins.size());
  for (const auto& [bin, index] : w.bins) BOOST_TEST(b.bins.count(bin) == 1u);
}

BOOST_AUTO_TEST_CASE(widened_bins_keep_every_sum) {
  // 700 integrations that are far apart: more than there are bins, so that some share one
  Data d = random_rows(2, 700, {150e6}, 7);
  double total = 0;
  for (std::size_t i = 0; i < d.time.size(); ++i) {
    d.time[i] = 5e9 + (d.time[i] - 5e9) * 7;
    if (d.ant1[i] == d.ant2[i] || d.weight(i, 0, 0) == 0) continue;
    const std::complex<double> v = d.data(i, 0, 0);
    if (std::isfinite(v.real()) && std::isfinite(v.imag())) total += std::abs(v);
  }
  VisibilitySummary start = about(d, 2);
  start.waterfall.wanted = true;
  VisibilitySummariser summariser(std::move(start));
  summariser.add(d.rows());
  const Waterfall& w = summariser.summary().waterfall;
  BOOST_TEST(w.bin_s > 2);
  BOOST_TEST(w.bins.size() <= 512u);
  double sum = 0;
  for (const auto& [bin, index] : w.bins) sum += w.sum_amplitude(0, 0, index);
  BOOST_TEST(std::abs(sum - total) < 1e-9 * total);  // 700 terms in another order
}

BOOST_AUTO_TEST_SUITE_END()
