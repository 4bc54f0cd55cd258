// SPDX-License-Identifier: GPL-3.0-or-later
// The Cotton-Schwab loop against its definition: whatever it has found, the residual image is the dirty image
// of the visibilities less those of the model, both by direct sums in float64.
// tests/tools/imaging/cuda/major_cycles.cpp runs the same tests on a GPU.
#include "tools/imaging/major_cycles.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <functional>
#include <random>

#include "libcore/base/constants.h"
#include "tests/reference/dft_image.h"
#include "tests/reference/test_device.h"
#include "tools/imaging/images.h"
#include "tools/imaging/residuals_on_device.h"

using namespace apsyn;
using namespace apsyn::imaging;

BOOST_AUTO_TEST_SUITE(major_cycles)

namespace {

constexpr std::size_t kSide = 64, kRows = 1500, kChannels = 4;
constexpr double kCell = 2e-3;  // so that w matters: 64 pixels are 7 degrees

struct Pixel {
  std::size_t x, y;
  double flux_jy;
};

double l_of(double x) {
  return (static_cast<double>(kSide) / 2 - x) * kCell;
}
double m_of(double y) {
  return (y - static_cast<double>(kSide) / 2) * kCell;
}

/// Visibilities of point sources in memory: random baselines of up to 0.3 cycles per pixel and as much of w.
class PointSources final : public ImagingSource {
 public:
  /// `flux_factor` [chan] of all sources.
  PointSources(const std::vector<Pixel>& sources, const std::vector<double>& flux_factor) {
    info_.planes = {"I"};
    for (std::size_t c = 0; c < kChannels; ++c) {
      info_.channel_hz.push_back(140e6 + 5e6 * static_cast<double>(c));
      info_.channel_width_hz.push_back(5e6);
    }
    std::vector<reference::DftSource> all;
    for (const Pixel& at : sources)
      all.push_back({l_of(static_cast<double>(at.x)), m_of(static_cast<double>(at.y)), at.flux_jy});
    std::mt19937 random(5);
    std::normal_distribution<double> length(0, 0.1 / kCell * kSpeedOfLight_m_s / 155e6);
    block_.uvw_m.resize({kRows, 3});
    block_.station.resize({kRows, 2});
    block_.data.resize({kRows, kChannels, 1});
    block_.weight.resize({kRows, kChannels, 1});
    block_.channel_hz.resize({kChannels});
    std::copy(info_.channel_hz.begin(), info_.channel_hz.end(), block_.channel_hz.begin());
    block_.time_mjd_s.assign(kRows, 5e9);
    for (std::size_t row = 0; row < kRows; ++row) {
      block_.station(row, 1) = static_cast<std::uint32_t>(row + 1);
      for (std::size_t i = 0; i < 3; ++i) block_.uvw_m(row, i) = length(random);
      for (std::size_t c = 0; c < kChannels; ++c) {
        const double k = block_.channel_hz(c) / kSpeedOfLight_m_s;
        const std::complex<double> value = reference::dft_visibility(
            all, block_.uvw_m(row, 0) * k, block_.uvw_m(row, 1) * k, block_.uvw_m(row, 2) * k);
        block_.data(row, c, 0) = std::complex<float>(value * flux_factor[c]);
        block_.weight(row, c, 0) = row % 7 == 0 ? 0.0f : 1.0f + static_cast<float>(c);
      }
    }
  }

  const ImagingInfo& info() const override { return info_; }
  void rewind(const ChannelGroup& group) override { group_ = group, given_ = false; }
  bool read(ImagingBlock& block, std::uint64_t) override {
    if (given_) return false;
    given_ = true;
    std::vector<std::size_t> chosen;
    for (std::size_t c = 0; c < kChannels; ++c)
      if (info_.channel_hz[c] >= group_.low_hz && info_.channel_hz[c] <= group_.high_hz) chosen.push_back(c);
    block.uvw_m.resize(block_.uvw_m.shape());
    std::copy(block_.uvw_m.begin(), block_.uvw_m.end(), block.uvw_m.begin());
    block.station.resize(block_.station.shape());
    std::copy(block_.station.begin(), block_.station.end(), block.station.begin());
    block.time_mjd_s = block_.time_mjd_s;
    block.channel_hz.resize({chosen.size()});
    block.data.resize({kRows, chosen.size(), 1});
    block.weight.resize({kRows, chosen.size(), 1});
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      block.channel_hz(i) = block_.channel_hz(chosen[i]);
      for (std::size_t row = 0; row < kRows; ++row) {
        block.data(row, i, 0) = block_.data(row, chosen[i], 0);
        block.weight(row, i, 0) = block_.weight(row, chosen[i], 0);
      }
    }
    return true;
  }
  const ImagingBlock& all() const { return block_; }

 private:
  ImagingInfo info_;
  ImagingBlock block_;
  ChannelGroup group_;
  bool given_ = false;
};

/// The dirty image [y][x] of a group's visibilities less those of `model`, over the sum of their weights.
std::vector<double> true_residual(const PointSources& source, const ChannelGroup& group,
                                  View<const float, 2> model) {
  std::vector<reference::DftSource> found;
  for (std::size_t y = 0; y < kSide; ++y)
    for (std::size_t x = 0; x < kSide; ++x)
      if (model(y, x) != 0)
        found.push_back({l_of(static_cast<double>(x)), m_of(static_cast<double>(y)), model(y, x)});
  const ImagingBlock& block = source.all();
  std::vector<reference::DftVisibility> left;
  double weights = 0;
  for (std::size_t row = 0; row < kRows; ++row)
    for (std::size_t c = 0; c < kChannels; ++c) {
      const double hz = block.channel_hz(c), k = hz / kSpeedOfLight_m_s, weight = block.weight(row, c, 0);
      if (hz < group.low_hz || hz > group.high_hz || weight == 0) continue;
      const double u = block.uvw_m(row, 0) * k, v = block.uvw_m(row, 1) * k, w = block.uvw_m(row, 2) * k;
      const std::complex<double> data(block.data(row, c, 0));
      left.push_back({u, v, w, weight * (data - reference::dft_visibility(found, u, v, w))});
      weights += weight;
    }
  std::vector<reference::DftPixel> pixels;
  for (std::size_t y = 0; y < kSide; ++y)
    for (std::size_t x = 0; x < kSide; ++x)
      pixels.push_back({l_of(static_cast<double>(x)), m_of(static_cast<double>(y))});
  std::vector<double> image = reference::dft_image(left, pixels);
  for (double& pixel : image) pixel /= weights;
  return image;
}

/// A run of clean up to its major cycles.
struct Run {
  Tool tool{"test", "major cycles"};
  Options options;
  PointSources source;
  Imager first, later;
  Sky sky;
  DeconvolutionSettings settings;
  LoopReport report;
  std::function<void()> before_cycles = [] {};

  Run(const std::vector<Pixel>& sources, std::size_t n_groups, const std::vector<double>& flux_factor)
      : options(options_of(n_groups)),
        source(sources, flux_factor),
        first{tool, options, source, {{"I", {}, {}}}, reference::test_device(), {}, 1 << 24},
        later{tool, without_psf_, source, {{"I", {}, {}}}, reference::test_device(), {}, 1 << 24} {
    without_psf_ = options;
    without_psf_.no_psf = true;
    first.cleans = later.cleans = true;
    tool.common().threads = 2;
    tool.common().max_memory_bytes = 4'000'000'000;
    settings.cycle_gain = 0.8;
    settings.max_iterations = 10000;
    settings.threshold_jy = 1e-3;
    settings.n_threads = 2;
    settings.device = reference::test_device();
  }

  bool on_gpu() const { return first.device.kind == Device::Kind::cuda; }

  void clean(std::size_t max_cycles, const Buffer<std::uint8_t, 2>& mask = {}) {
    sky.fields = fields_of(options, source.info());
    for (const ChannelGroup& group : split_channels(source.info(), options.imaging.channels_out)) {
      sky.group_numbers.push_back(sky.groups.size());
      sky.groups.push_back(prepare_group(first, group, sky.fields, nullptr));
    }
    sky.images.emplace_back(first, sky.groups.size());
    keep_on_device(first, sky.groups, sky.fields, source);
    for (std::size_t g = 0; g < sky.groups.size(); ++g)
      if (sky.groups[g].residuals)
        make_first_images_on_device(first, sky.groups[g], g, false, &sky.images[0]);
      else
        take_sums(make_images(first, sky.groups[g], sky.fields, source)[0], first, g, sky.images[0]);
    before_cycles();
    MajorCycles cycles(later, sky, source, settings, {0}, mask, ".");
    report = cycles.run(max_cycles);
  }

  /// The largest difference from the definition, as a share of the brightest source.
  double error(double brightest_jy) const {
    double worst = 0;
    for (std::size_t g = 0; g < sky.groups.size(); ++g) {
      const auto wanted =
          true_residual(source, sky.groups[g].group, std::as_const(sky.images[0].model).view()[g][0]);
      for (std::size_t i = 0; i < wanted.size(); ++i)
        worst = std::max(worst,
                         std::abs(static_cast<double>((&sky.images[0].residual(g, 0, 0, 0))[i]) - wanted[i]));
    }
    return worst / brightest_jy;
  }
  float model(std::size_t g, std::size_t x, std::size_t y) const { return sky.images[0].model(g, 0, y, x); }

 private:
  static Options options_of(std::size_t n_groups) {
    Options made;
    made.inputs = {"test"};
    made.imaging.n_x = made.imaging.n_y = kSide;
    made.imaging.cell_rad = kCell;
    made.imaging.weight = "natural";
    made.imaging.channels_out = n_groups;
    made.imaging.accuracy = 1e-5;
    return made;
  }
  Options without_psf_;
};

const std::vector<Pixel> kSources{{20, 40, 5}, {45, 17, 2}, {33, 30, 1}};
constexpr double kAccuracy = 2e-6;  // measured 6e-8 to 6e-7; asked for is 1e-5

}  // namespace

BOOST_AUTO_TEST_CASE(residuals_are_of_the_data_less_the_model_once_the_threshold_is_reached) {
  Run run(kSources, 1, {1, 1, 1, 1});
  run.clean(20);
  BOOST_TEST(run.report.n_cycles > 1);
  BOOST_TEST(run.report.n_cycles < 20);
  BOOST_TEST(run.error(5) < kAccuracy);
  double peak = 0;
  for (const float pixel : run.sky.images[0].residual) peak = std::max(peak, std::abs(double(pixel)));
  BOOST_TEST(peak <= run.settings.threshold_jy);
  // What is left of a source is below the threshold, and so is what its sidelobes were taken for.
  for (const Pixel& at : kSources)
    BOOST_TEST(std::abs(run.model(0, at.x, at.y) - at.flux_jy) < 10 * run.settings.threshold_jy);
}

BOOST_AUTO_TEST_CASE(a_loop_that_is_cut_short_leaves_true_residuals_too) {
  Run run(kSources, 1, {1, 1, 1, 1});
  run.clean(1);
  BOOST_TEST(run.report.n_cycles == 1u);
  BOOST_TEST(run.error(5) < kAccuracy);
  // The cycle ended when the peak had fallen by --mgain: the source of 1 Jy, the same share of 5, is there.
  double peak = 0;
  for (const float pixel : run.sky.images[0].residual) peak = std::max(peak, std::abs(double(pixel)));
  BOOST_TEST(peak > 0.5);
  BOOST_TEST(peak < 1.5);
}

BOOST_AUTO_TEST_CASE(a_lower_mgain_takes_more_cycles_to_the_same_residual) {
  Run deep(kSources, 1, {1, 1, 1, 1}), shallow(kSources, 1, {1, 1, 1, 1});
  shallow.settings.cycle_gain = 0.4;
  deep.clean(50);
  shallow.clean(50);
  BOOST_TEST(shallow.report.n_cycles > deep.report.n_cycles);
  BOOST_TEST(shallow.error(5) < kAccuracy);
}

BOOST_AUTO_TEST_CASE(groups_have_models_and_residuals_of_their_own) {
  Run run({{20, 40, 1}}, 2, {1, 1, 3, 3});
  run.clean(20);
  BOOST_TEST(run.error(3) < kAccuracy);
  BOOST_TEST(std::abs(run.model(0, 20, 40) - 1) < 0.01);
  BOOST_TEST(std::abs(run.model(1, 20, 40) - 3) < 0.01);
}

// A group without components keeps the images that it began with: it is not predicted and gridded again.
BOOST_AUTO_TEST_CASE(groups_below_the_threshold_are_left_as_they_are) {
  Run run({{20, 40, 1}}, 2, {0, 0, 3, 3});
  run.clean(20);
  for (const float pixel : std::as_const(run.sky.images[0].model).view()[0]) BOOST_TEST_REQUIRE(pixel == 0);
  for (const float pixel : std::as_const(run.sky.images[0].residual).view()[0])
    BOOST_TEST_REQUIRE(pixel == 0);
}

BOOST_AUTO_TEST_CASE(nothing_is_found_outside_of_the_mask) {
  Run run(kSources, 1, {1, 1, 1, 1});
  Buffer<std::uint8_t, 2> mask({kSide, kSide});
  mask(40, 20) = 1;
  run.clean(20, mask);
  for (std::size_t y = 0; y < kSide; ++y)
    for (std::size_t x = 0; x < kSide; ++x)
      if (mask(y, x) == 0) BOOST_TEST_REQUIRE(run.model(0, x, y) == 0);
  BOOST_TEST(run.error(5) < kAccuracy);
  BOOST_TEST(std::abs(run.sky.images[0].residual(0, 0, 17, 45) - 2) < 0.5);
}

// Residuals that are not predicted while they are gridded go through a store, and are the same.
BOOST_AUTO_TEST_CASE(less_memory_changes_nothing_but_the_way) {
  Run run(kSources, 1, {1, 1, 1, 1});
  if (run.on_gpu()) return;  // which never does both at once
  run.before_cycles = [&] {
    std::uint64_t& most = run.tool.common().max_memory_bytes;
    BOOST_TEST(predicts_while_gridding(run.later, run.sky.groups[0]));
    for (std::uint64_t step = most / 2; step > 0; step /= 2)
      if (most -= step; !predicts_while_gridding(run.later, run.sky.groups[0])) most += step;
    --most;  // one byte less than it takes
    BOOST_TEST(!predicts_while_gridding(run.later, run.sky.groups[0]));
  };
  run.clean(3);
  BOOST_TEST(run.error(5) < kAccuracy);
}

// A GPU keeps the visibilities of all groups, or none where those and the minor cycles do not fit together.
BOOST_AUTO_TEST_CASE(visibilities_that_travel_in_every_cycle_make_the_same_residuals) {
  for (const bool fits : {true, false}) {
    Run run(kSources, 2, {1, 1, 1.5, 1.5});
    if (!fits) run.first.beside_on_device = run.later.beside_on_device = std::uint64_t{1} << 60;
    run.before_cycles = [&] {
      for (const PreparedGroup& group : run.sky.groups)
        BOOST_TEST((group.residuals != nullptr) == (fits && run.on_gpu()));
      const std::string said = describe_cycles(run.later, run.sky.groups);
      BOOST_TEST((said.find("stay on") != said.npos) == (fits && run.on_gpu()));
      BOOST_TEST((said.find("travel") != said.npos) == (!fits && run.on_gpu()));
    };
    run.clean(20);
    BOOST_TEST(run.error(7.5) < kAccuracy);
  }
}

BOOST_AUTO_TEST_SUITE_END()
