// SPDX-License-Identifier: GPL-3.0-or-later
// Images of intervals of time: which intervals are open at the same time, and that every image is the direct
// sum, in float64, of the visibilities of its interval alone, in whatever order and blocks they come, by any
// number of threads and with any memory.
#include <boost/test/unit_test.hpp>

#include <cmath>
#include <map>
#include <mutex>
#include <random>

#include "libcore/base/constants.h"
#include "libcore/imaging/plane_source.h"
#include "tests/reference/dft_image.h"
#include "tests/reference/test_device.h"
#include "tools/imaging/intervals/images.h"
#include "tools/imaging/intervals/kept_images.h"
#include "tools/imaging/intervals/plan.h"

using namespace apsyn;
using namespace apsyn::imaging;
using apsyn::reference::test_device;

BOOST_AUTO_TEST_SUITE(intervals)

namespace {

constexpr std::size_t kSide = 32, kBaselines = 60, kIntegrations = 12;
constexpr double kCell = 4e-3, kFirst_mjd_s = 5e9, kStep_s = 2;
const bool on_cpu = test_device().kind == Device::Kind::cpu;
constexpr double kAccuracy = 2e-6;  ///< that single precision plans by, of the image's RMS

/// Rows of random baselines and values in memory; those of integration t are a thousand times as strong as
/// those of t - 1 where t is odd, so that what leaks from one interval into the next shows.
class Series final : public ImagingSource, public PlaneSource {
 public:
  /// The integration of each group of kBaselines rows, and the number of rows in a block.
  Series(const std::vector<std::size_t>& order, std::size_t block_rows) : block_rows_(block_rows) {
    info_.planes = {"I"};
    info_.channel_hz = {140e6, 160e6};
    info_.channel_width_hz = {20e6, 20e6};
    info_.start = from_mjd_seconds(kFirst_mjd_s - kStep_s / 2);
    info_.stations.resize(kBaselines + 1);
    std::mt19937 random(5);
    std::normal_distribution<double> length(0, 0.1 / kCell * kSpeedOfLight_m_s / 150e6);
    std::normal_distribution<float> value;
    const std::size_t n = order.size() * kBaselines;
    all_.uvw_m.resize({n, 3});
    all_.station.resize({n, 2});
    all_.data.resize({n, 2, 1});
    all_.weight.resize({n, 2, 1});
    all_.channel_hz.resize({2});
    std::copy(info_.channel_hz.begin(), info_.channel_hz.end(), all_.channel_hz.begin());
    for (std::size_t row = 0; row < n; ++row) {
      const std::size_t t = order[row / kBaselines];
      all_.time_mjd_s.push_back(kFirst_mjd_s + kStep_s * static_cast<double>(t));
      all_.station(row, 1) = static_cast<std::uint32_t>(row % kBaselines + 1);
      for (std::size_t axis = 0; axis < 3; ++axis) all_.uvw_m(row, axis) = length(random);
      for (std::size_t c = 0; c < 2; ++c) {
        all_.data(row, c, 0) =
            std::complex<float>(value(random), value(random)) * (t % 2 == 1 ? 1000.0f : 1.0f);
        all_.weight(row, c, 0) = row % 7 == 0 ? 0.0f : 1.0f + static_cast<float>(c);
      }
    }
  }
  const ImagingInfo& info() const override { return info_; }
  void rewind(const ChannelGroup&) override { next_ = 0, ++n_readings; }
  bool read(ImagingBlock& block, std::uint64_t) override {
    const std::size_t n_all = all_.time_mjd_s.size(), n = std::min(block_rows_, n_all - next_);
    if (n == 0) return false;
    std::vector<std::size_t> row(n);
    for (std::size_t i = 0; i < n; ++i) row[i] = next_ + i;
    copy_rows(all_, row, block);
    next_ += n;
    return true;
  }
  bool give_all(std::uint64_t max_bytes, PlaneReceiver& to) override {
    const std::vector<PlaneReceiver::Step> steps = to.then();
    for (ImagingBlock block; read(block, max_bytes);) {
      const std::size_t n = block.time_mjd_s.size();
      const std::unique_ptr<PlaneBlock> planes = to.begin(n, block.channel_hz, false);
      if (planes == nullptr) return false;
      planes->take(0, n,
                   [&](std::size_t first, std::size_t n_rows, std::complex<float>* data, float* weight) {
                     std::copy_n(&block.data(first, 0, 0), 2 * n_rows, data);
                     std::copy_n(&block.weight(first, 0, 0), 2 * n_rows, weight);
                   });
      block.data.resize({0, 2, 1});
      block.weight.resize({0, 2, 1});
      for (const PlaneReceiver::Step& step : steps) step.run(*planes, block);
    }
    return true;
  }
  const ImagingBlock& all() const { return all_; }

  std::size_t n_readings = 0;

 private:
  std::size_t block_rows_, next_ = 0;
  ImagingInfo info_;
  ImagingBlock all_;
};

/// The sum over visibilities of integrations [first, end), [y][x].
std::vector<double> true_sums(const Series& source, std::size_t first, std::size_t end, bool psf) {
  const ImagingBlock& rows = source.all();
  std::vector<reference::DftVisibility> of_interval;
  for (std::size_t row = 0; row < rows.time_mjd_s.size(); ++row) {
    const auto t = static_cast<std::size_t>(std::lround((rows.time_mjd_s[row] - kFirst_mjd_s) / kStep_s));
    if (t < first || t >= end) continue;
    for (std::size_t c = 0; c < 2; ++c) {
      const double k = rows.channel_hz(c) / kSpeedOfLight_m_s, weight = rows.weight(row, c, 0);
      const std::complex<double> data = psf ? 1.0 : std::complex<double>(rows.data(row, c, 0));
      of_interval.push_back(
          {rows.uvw_m(row, 0) * k, rows.uvw_m(row, 1) * k, rows.uvw_m(row, 2) * k, weight * data});
    }
  }
  std::vector<reference::DftPixel> pixels;
  for (std::size_t y = 0; y < kSide; ++y)
    for (std::size_t x = 0; x < kSide; ++x)
      pixels.push_back(
          {(kSide / 2.0 - static_cast<double>(x)) * kCell, (static_cast<double>(y) - kSide / 2.0) * kCell});
  return reference::dft_image(of_interval, pixels);
}

struct Run {
  Tool tool{"test", "intervals"};
  Options options;
  Series source;
  Imager imager;
  IntervalPlan plan;
  std::uint64_t other_bytes = 0;  ///< beside the plan's
  std::size_t n_readings = 0;
  bool kept = false;                          ///< by a GPU
  std::map<std::size_t, GroupImages> images;  ///< by interval

  Run(const std::vector<std::size_t>& order, std::size_t block_rows, std::size_t n_intervals,
      unsigned n_threads, std::uint64_t max_memory_bytes)
      : options(options_of(n_intervals)), source(order, block_rows), imager{tool,          options,
                                                                            source,        {{"I", {}, {}}},
                                                                            test_device(), {},
                                                                            1 << 24} {
    tool.common().threads = n_threads;
    tool.common().max_memory_bytes = max_memory_bytes;
    const ChannelGroup group = split_channels(source.info(), 1)[0];
    const std::vector<double> times_mjd_s = integration_times(source, group, 1 << 24);
    const auto intervals = split_times(times_mjd_s, n_intervals);
    imager.plane_source = &source;
    const std::vector<Field> fields = fields_of(options, source.info());
    PreparedGroup prepared = prepare_group(imager, group, fields, nullptr);
    kept = prepared.kept != nullptr;
    if (kept) BOOST_TEST(times_of_runs(prepared.noted.runs) == times_mjd_s);
    plan_intervals(imager, prepared, intervals);
    plan = prepared.intervals;
    other_bytes = prepared.other_bytes;
    n_readings = source.n_readings;
    std::mutex mutex;
    make_interval_images(imager, prepared, fields, source, intervals,
                         [&](std::size_t k, std::vector<GroupImages>& made) {
                           GroupImages copy;
                           copy.pixels.resize(made[0].pixels.shape());
                           std::copy(made[0].pixels.begin(), made[0].pixels.end(), copy.pixels.begin());
                           copy.weight_sum = made[0].weight_sum;
                           made[0].pixels.fill(NAN);  // the next interval gets this memory
                           std::lock_guard lock(mutex);
                           BOOST_TEST(images.emplace(k, std::move(copy)).second);
                         });
    n_readings = source.n_readings - n_readings;
  }

  static Options options_of(std::size_t n_intervals) {
    Options options;
    options.inputs = {"series"};
    options.imaging.n_x = options.imaging.n_y = kSide;
    options.imaging.cell_rad = kCell;
    options.imaging.weight = "natural";
    options.imaging.intervals_out = n_intervals;
    return options;
  }

  /// What plans promise: the RMS of differences from the direct sums, over that of the interval's image.
  double error(std::size_t k, std::size_t n_intervals) const {
    double worst = 0;
    for (std::size_t plane = 0; plane < 2; ++plane) {
      const std::vector<double> wanted = true_sums(source, k * kIntegrations / n_intervals,
                                                   (k + 1) * kIntegrations / n_intervals, plane == 1);
      double image = 0, difference = 0;
      for (std::size_t i = 0; i < wanted.size(); ++i) {
        const double off = images.at(k).pixels.data()[plane * wanted.size() + i] - wanted[i];
        image += wanted[i] * wanted[i];
        difference += std::isnan(off) ? INFINITY : off * off;
      }
      worst = std::fmax(worst, std::sqrt(difference / image));
    }
    return worst;
  }
};

std::vector<std::size_t> sorted_by_time() {
  std::vector<std::size_t> order;
  for (std::size_t t = 0; t < kIntegrations; ++t) order.push_back(t);
  return order;
}

/// Two sets of the same times, one after the other.
std::vector<std::size_t> two_sets() {
  std::vector<std::size_t> order = sorted_by_time(), twice = order;
  twice.insert(twice.end(), order.begin(), order.end());
  return twice;
}

}  // namespace

BOOST_AUTO_TEST_CASE(intervals_are_open_from_their_first_block_to_their_last) {
  const std::vector<TimeInterval> thirds{{0, 1, -INFINITY, 1}, {1, 1, 1, 2}, {2, 1, 2, INFINITY}};
  // Each block holds one interval, or two that meet in it; the third is in the last block alone.
  const std::vector<BlockTimes> sorted{{0, 0.5, true}, {0.6, 1.5, true}, {1.6, 1.9, true}, {2, 3, true}};
  const auto ranges = block_ranges(thirds, sorted);
  BOOST_TEST(ranges[0].first == 0u);
  BOOST_TEST(ranges[0].last == 1u);
  BOOST_TEST(ranges[1].first == 1u);
  BOOST_TEST(ranges[1].last == 2u);
  BOOST_TEST(ranges[2].first == 3u);
  // The first ends before the second begins, unless both are worked on at the same time.
  BOOST_TEST(max_open(ranges, 1) == 1u);
  BOOST_TEST(max_open(ranges, 2) == 2u);
  // A set that follows another leaves all of them open.
  std::vector<BlockTimes> twice = sorted;
  twice.insert(twice.end(), sorted.begin(), sorted.end());
  const auto of_both = block_ranges(thirds, twice);
  BOOST_TEST(max_open(of_both, 1) == 3u);
  BOOST_TEST(max_open(std::span(of_both).first(2), 8) == 2u);
  // All in one block: as many as there are workers.
  const std::vector<BlockTimes> one{{0, 3, true}};
  BOOST_TEST(max_open(block_ranges(thirds, one), 1) == 1u);
  BOOST_TEST(max_open(block_ranges(thirds, one), 2) == 2u);
  BOOST_TEST(max_open(block_ranges(thirds, one), 8) == 3u);
  // Nobody has rows of the middle.
  const std::vector<BlockTimes> gap{{0, 0.5, true}, {2, 3, true}};
  BOOST_TEST(block_ranges(thirds, gap)[1].first > block_ranges(thirds, gap)[1].last);
  BOOST_TEST(max_open({}, 1) == 0u);
}

BOOST_AUTO_TEST_CASE(each_image_is_of_its_interval_alone) {
  for (const auto& order : {sorted_by_time(), two_sets()})
    for (const std::size_t block_rows : {std::size_t{100000}, 2 * kBaselines, kBaselines / 2 + 3})
      for (const std::size_t n_intervals : {std::size_t{2}, std::size_t{5}, kIntegrations}) {
        const Run one(order, block_rows, n_intervals, 1, 4'000'000'000);
        BOOST_TEST(one.n_readings == (one.kept ? 0u : 1u));
        BOOST_TEST_REQUIRE(one.images.size() == n_intervals);
        // Measured: at most 8.5e-7, without AVX-512.
        for (std::size_t k = 0; k < n_intervals; ++k) BOOST_TEST(one.error(k, n_intervals) < kAccuracy);
        for (const unsigned n_threads : {2u, 5u}) {
          const Run more(order, block_rows, n_intervals, n_threads, 4'000'000'000);
          if (on_cpu) BOOST_TEST((more.plan.n_workers > 1) == (n_intervals >= 2 * n_threads));
          BOOST_TEST_REQUIRE(more.images.size() == n_intervals);
          for (std::size_t k = 0; k < n_intervals; ++k) {
            const Buffer<double, 3>&a = one.images.at(k).pixels, &b = more.images.at(k).pixels;
            BOOST_TEST(std::equal(a.begin(), a.end(), b.begin(), b.end()));
            BOOST_TEST(one.images.at(k).weight_sum == more.images.at(k).weight_sum);
          }
        }
      }
}

BOOST_AUTO_TEST_CASE(runs_are_divided_among_intervals) {
  const std::vector<TimeInterval> thirds{{0, 1, -INFINITY, 1}, {1, 1, 1, 2}, {2, 1, 2, INFINITY}};
  // The second and third follow each other on the device; the fourth has no time, the last is elsewhere.
  const std::vector<KeptRun> runs{{0.5, 0, 0, 20},  {1, 0, 20, 20},  {1.5, 0, 40, 20},
                                  {NAN, 0, 60, 20}, {2.5, 0, 80, 9}, {1.5, 1, 0, 20}};
  const auto of_interval = runs_of_intervals(runs, thirds);
  BOOST_TEST(of_interval[0].size() == 1u);
  BOOST_TEST_REQUIRE(of_interval[1].size() == 2u);
  BOOST_TEST(of_interval[1][0].first == 20u);
  BOOST_TEST(of_interval[1][0].n == 40u);
  BOOST_TEST(of_interval[1][1].part == 1u);
  BOOST_TEST_REQUIRE(of_interval[2].size() == 1u);
  BOOST_TEST(of_interval[2][0].n == 9u);
  BOOST_TEST(times_of_runs(runs) == (std::vector<double>{0.5, 1, 1.5, 2.5}));
}

BOOST_AUTO_TEST_CASE(with_little_memory_the_visibilities_are_read_several_times) {
  if (!on_cpu) return;  // which keeps the visibilities
  const Run all(two_sets(), kBaselines, kIntegrations, 1, 4'000'000'000);
  BOOST_TEST(all.plan.n_open == kIntegrations);
  // Between what one gridder needs and what all need.
  const std::uint64_t most = all.other_bytes + all.plan.bytes / 2;
  const Run few(two_sets(), kBaselines, kIntegrations, 2, most);
  BOOST_TEST(few.plan.n_open < kIntegrations);
  BOOST_TEST(few.plan.bytes < most);
  BOOST_TEST(few.n_readings == (kIntegrations + few.plan.batch - 1) / few.plan.batch);
  BOOST_TEST(few.n_readings > 1u);
  for (std::size_t k = 0; k < kIntegrations; ++k) BOOST_TEST(few.error(k, kIntegrations) < kAccuracy);
}

BOOST_AUTO_TEST_SUITE_END()
