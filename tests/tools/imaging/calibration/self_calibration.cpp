// SPDX-License-Identifier: GPL-3.0-or-later
// Self-calibration within major cycles: an array whose antennas have errors of a radian and of 15 % sees a
// few sources, by direct sums in float64, and is compared with the same array without errors, noise included.
// tests/tools/imaging/calibration/cuda/self_calibration.cpp runs the same tests on a GPU.
#include "tools/imaging/calibration/self_calibration.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <random>

#include "libcore/base/constants.h"
#include "libcore/base/error.h"
#include "tests/reference/dft_image.h"
#include "tests/reference/test_device.h"
#include "tools/imaging/images.h"
#include "tools/imaging/major_cycles.h"

using namespace apsyn;
using namespace apsyn::calibrate;

BOOST_AUTO_TEST_SUITE(self_calibration)

namespace {

constexpr std::size_t kSide = 64, kChannels = 2, kIntegrations = 24;
constexpr double kCell = 2e-3, kStep_s = 10, kStart_s = 5e9;

struct Source {
  std::size_t x, y;
  double flux_jy;
};

struct Errors {
  double phase_rad = 0, amplitude = 0, noise_jy = 0;
  double drift_rad = 0;  ///< of the phases, from one integration to the next
};

/// All that one array sees, in blocks of three integrations.
class Observation final : public ImagingSource {
 public:
  Observation(std::size_t n_antennas, const std::vector<Source>& sources, const Errors& errors)
      : n_antennas_(n_antennas) {
    info_.planes = {"XX", "YY"};
    for (std::size_t c = 0; c < kChannels; ++c) {
      info_.channel_hz.push_back(150e6 + 1e6 * static_cast<double>(c));
      info_.channel_width_hz.push_back(1e6);
    }
    std::vector<reference::DftSource> sky;
    for (const Source& at : sources)
      sky.push_back({(static_cast<double>(kSide) / 2 - static_cast<double>(at.x)) * kCell,
                     (static_cast<double>(at.y) - static_cast<double>(kSide) / 2) * kCell, at.flux_jy});
    // One sequence of random numbers for each kind, so that an array without errors has the same noise.
    std::mt19937 place(3), error(4), noise(5);
    std::normal_distribution<double> normal;
    const double size_m = 0.09 / kCell * kSpeedOfLight_m_s / 150e6;
    std::vector<std::array<double, 3>> at(n_antennas);
    for (auto& xyz : at)
      for (double& value : xyz) value = size_m * normal(place);
    gain.resize({kIntegrations, n_antennas, 2});
    double sum_log = 0;
    std::vector<double> amplitude(2 * n_antennas), phase(2 * n_antennas);
    for (std::size_t i = 0; i < 2 * n_antennas; ++i) {
      amplitude[i] = errors.amplitude * normal(error);
      phase[i] = errors.phase_rad * normal(error);
      sum_log += amplitude[i] / static_cast<double>(2 * n_antennas);
    }
    for (std::size_t t = 0; t < kIntegrations; ++t)
      for (std::size_t i = 0; i < 2 * n_antennas; ++i) {
        gain.data()[t * 2 * n_antennas + i] = std::polar(std::exp(amplitude[i] - sum_log), phase[i]);
        phase[i] += errors.drift_rad * normal(error);
      }
    for (std::size_t t = 0; t < kIntegrations; ++t) {
      integrations.push_back({kStart_s + kStep_s * (static_cast<double>(t) + 0.5), kStep_s, 1, 1, 0, 0});
      if (t % 3 == 0) blocks_.emplace_back();
      ImagingBlock& block = blocks_.back();
      const std::size_t n_baselines = n_antennas * (n_antennas - 1) / 2;
      if (t % 3 == 0) {
        const std::size_t n_row = 3 * n_baselines;
        block.uvw_m.resize({n_row, 3});
        block.station.resize({n_row, 2});
        block.channel_hz.resize({kChannels});
        std::copy(info_.channel_hz.begin(), info_.channel_hz.end(), block.channel_hz.begin());
        block.data.resize({n_row, kChannels, 2});
        block.weight.resize({n_row, kChannels, 2});
        block.weight.fill(1);
      }
      // The array turns by a degree in each integration.
      const double angle = kPi / 180 * static_cast<double>(t), c = std::cos(angle), s = std::sin(angle);
      for (std::uint32_t p = 0, row = static_cast<std::uint32_t>(t % 3 * n_baselines); p < n_antennas; ++p)
        for (std::uint32_t q = p + 1; q < n_antennas; ++q, ++row) {
          const double x = at[p][0] - at[q][0], y = at[p][1] - at[q][1], z = at[p][2] - at[q][2];
          block.uvw_m(row, 0) = c * x - s * y;
          block.uvw_m(row, 1) = s * x + c * y;
          block.uvw_m(row, 2) = 0.1 * z;
          block.station(row, 0) = p;
          block.station(row, 1) = q;
          block.time_mjd_s.push_back(integrations.back().time_mjd_s);
          for (std::size_t chan = 0; chan < kChannels; ++chan) {
            const double k = block.channel_hz(chan) / kSpeedOfLight_m_s;
            const std::complex<double> value = reference::dft_visibility(
                sky, block.uvw_m(row, 0) * k, block.uvw_m(row, 1) * k, block.uvw_m(row, 2) * k);
            for (std::size_t hand = 0; hand < 2; ++hand) {
              const double re = errors.noise_jy * normal(noise), im = errors.noise_jy * normal(noise);
              block.data(row, chan, hand) = std::complex<float>(
                  gain(t, p, hand) * value * std::conj(gain(t, q, hand)) + std::complex<double>(re, im));
            }
          }
        }
    }
  }

  const ImagingInfo& info() const override { return info_; }
  void rewind(const ChannelGroup&) override { next_ = 0; }
  bool read(ImagingBlock& block, std::uint64_t max_bytes) override {
    const ImagingBlock* from = next(max_bytes);
    if (from == nullptr) return false;
    const auto copy = [](const auto& a, auto& b) {
      b.resize(a.shape());
      std::copy(a.begin(), a.end(), b.begin());
    };
    copy(from->uvw_m, block.uvw_m);
    copy(from->station, block.station);
    copy(from->channel_hz, block.channel_hz);
    copy(from->data, block.data);
    copy(from->weight, block.weight);
    block.time_mjd_s = from->time_mjd_s;
    return true;
  }
  const ImagingBlock* next(std::uint64_t) override {
    return next_ < blocks_.size() ? &blocks_[next_++] : nullptr;
  }

  /// Without weight: baselines with an antenna from `n` on, in integrations [first, end).
  void flag_from(std::size_t n, std::size_t first, std::size_t end) {
    for (ImagingBlock& block : blocks_)
      for (std::size_t row = 0; row < block.time_mjd_s.size(); ++row) {
        const auto t = static_cast<std::size_t>((block.time_mjd_s[row] - kStart_s) / kStep_s);
        if (t < first || t >= end || block.station(row, 1) < n) continue;
        for (float& weight : block.weight.view()[row]) weight = 0;
      }
  }

  CalibratedSet set() const {
    CalibratedSet own;
    own.path = "test.ms";
    own.products = {Product::XX, Product::YY};
    for (std::size_t antenna = 0; antenna < n_antennas_; ++antenna)
      own.antennas.push_back({std::to_string(antenna), {}});
    own.integrations = integrations;
    own.windows = {{info_.channel_hz, info_.channel_width_hz, "", "TOPOCENT"}};
    return own;
  }

  std::vector<MsIntegration> integrations;
  Buffer<std::complex<double>, 3> gain;  ///< [integration][antenna][hand]

 private:
  std::size_t n_antennas_;
  ImagingInfo info_;
  std::vector<ImagingBlock> blocks_;
  std::size_t next_ = 0;
};

SelfCalibrationSettings settings_of(const std::string& entries) {
  SelfCalibrationSettings settings;
  if (!entries.empty()) settings.entries = parse_entries(entries);
  settings.n_threads = 2;
  return settings;
}

std::vector<PlaneRecipe> stokes_i() {
  return parse_planes("I", {Product::XX, Product::YY});
}

/// A run of clean up to its major cycles.
struct Run {
  Tool tool{"test", "self-calibration"};
  imaging::Options options, without_psf;
  Observation data;
  SelfCalibration calibration;
  imaging::Imager first, later;
  imaging::Sky sky;
  DeconvolutionSettings settings;

  Run(std::size_t n_antennas, const std::vector<Source>& sources, const Errors& errors,
      const std::string& entries)
      : options(image_options()),
        without_psf(options),
        data(n_antennas, sources, errors),
        calibration(data, data.set(), settings_of(entries), stokes_i(), split_channels(data.info(), 1)),
        first{tool, options, calibration.corrected(), {{"I", {}, {}}}, reference::test_device(), {}, 1 << 24},
        later{tool, without_psf, calibration.corrected(), {{"I", {}, {}}}, reference::test_device(),
              {},   1 << 24} {
    without_psf.no_psf = true;
    first.cleans = later.cleans = first.calibrates = later.calibrates = true;
    tool.common().threads = 2;
    tool.common().max_memory_bytes = 4'000'000'000;
    settings.cycle_gain = 0.8;
    settings.max_iterations = 10000;
    settings.auto_threshold_sigma = 5;
    settings.n_threads = 2;
    settings.device = reference::test_device();
  }

  /// Returns the number of major cycles. `mask` may be empty.
  std::size_t clean(const Buffer<std::uint8_t, 2>& mask = {}) {
    ImagingSource& source = calibration.corrected();
    sky.fields = imaging::fields_of(options, source.info());
    sky.group_numbers.push_back(0);
    sky.groups.push_back(prepare_group(first, split_channels(source.info(), 1)[0], sky.fields, nullptr));
    sky.images.emplace_back(first, 1);
    take_sums(make_images(first, sky.groups[0], sky.fields, source)[0], first, 0, sky.images[0]);
    imaging::MajorCycles cycles(later, sky, source, settings, {0}, mask, ".");
    return cycles.run(20, calibration.has_entry() ? &calibration : nullptr).n_cycles;
  }

  double residual(std::size_t x, std::size_t y) {
    return static_cast<double>(sky.images[0].residual(0, 0, y, x));
  }
  double residual_rms() {
    double sum = 0;
    for (const float pixel : sky.images[0].residual)
      sum += static_cast<double>(pixel) * static_cast<double>(pixel);
    return std::sqrt(sum / static_cast<double>(sky.images[0].residual.size()));
  }
  /// Of the model within three pixels of a source, whose place phases do not tell to a fraction of a pixel.
  double flux(const Source& at) {
    double sum = 0;
    for (std::size_t y = at.y - 3; y <= at.y + 3; ++y)
      for (std::size_t x = at.x - 3; x <= at.x + 3; ++x)
        sum += static_cast<double>(sky.images[0].model(0, 0, y, x));
    return sum;
  }
  const GainChain& chain() { return calibration.chain(sky.groups[0].group); }

 private:
  static imaging::Options image_options() {
    imaging::Options options;
    options.imaging.n_x = options.imaging.n_y = kSide;
    options.imaging.cell_rad = kCell;
    options.imaging.weight = "natural";
    options.imaging.accuracy = 1e-4;
    return options;
  }
};

const std::vector<Source> kSources = {{20, 40, 10}, {45, 30, 6}, {30, 15, 3}, {52, 52, 1.5}};

/// Predictions of a sky as SelfCalibration takes them, by direct sums.
void predict(PredictionStore& store, Observation& model, double scale = 1) {
  store.rewind();
  model.rewind({});
  while (const ImagingBlock* block = model.next(0)) {
    PredictionStore::Data planes({block->data.extent(0), block->data.extent(1), 1});
    for (std::size_t i = 0; i < planes.size(); ++i)
      planes.data()[i] = -static_cast<float>(scale) * block->data.data()[2 * i];
    store.save(planes);
  }
}

/// The samples of weight > 0 in integrations [first, end), corrected or as they are.
std::size_t n_weighted(CalibratedSource& source, const ChannelGroup& group, std::size_t first,
                       std::size_t end) {
  std::size_t n = 0;
  ImagingBlock block;
  source.rewind(group);
  while (source.read(block, 1 << 24))
    for (std::size_t row = 0; row < block.time_mjd_s.size(); ++row) {
      const auto t = static_cast<std::size_t>((block.time_mjd_s[row] - kStart_s) / kStep_s);
      if (t < first || t >= end) continue;
      for (const float weight : block.weight.view()[row]) n += weight > 0 ? 1 : 0;
    }
  return n;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_radian_of_phase_error_ends_at_the_residual_of_the_true_gains) {
  const Errors errors{1, 0.15, 3, 0.02}, none{0, 0, 3, 0};
  Run found(24, kSources, errors, "phase:30s,phase:10s,gain:60s"), truth(24, kSources, none, "");
  found.clean();
  truth.clean();
  const double ratio = found.residual_rms() / truth.residual_rms();
  BOOST_TEST_MESSAGE("residual over that of the true gains: " << ratio);
  BOOST_TEST(ratio < 1.1);
  // Gains stay in force after the last entry: phases of 10 s beside amplitudes of 60 s.
  BOOST_TEST(found.chain().links().size() == 2u);
}

BOOST_AUTO_TEST_CASE(without_entries_nothing_is_found_and_the_residual_is_large) {
  Run wrong(24, kSources, {1, 0.15, 3, 0.02}, ""), truth(24, kSources, {0, 0, 3, 0}, "");
  wrong.clean();
  truth.clean();
  BOOST_TEST(wrong.residual_rms() > 2 * truth.residual_rms());
  BOOST_TEST(wrong.chain().empty());
}

BOOST_AUTO_TEST_CASE(a_source_that_the_model_lacks_keeps_its_flux) {
  // Noise of an image: 3 Jy / sqrt(2 hands x 276 baselines x 24 integrations x 2 channels) = 0.018 Jy.
  const Source faint{12, 20, 5 * 0.0184};
  std::vector<Source> sources = kSources;
  sources.push_back(faint);
  Buffer<std::uint8_t, 2> mask({kSide, kSide});
  for (const Source& at : kSources)
    for (std::size_t y = at.y - 1; y <= at.y + 1; ++y)
      for (std::size_t x = at.x - 1; x <= at.x + 1; ++x) mask(y, x) = 1;
  Run found(24, sources, {1, 0.15, 3, 0}, "phase:30s,phase:all,gain:all"),
      truth(24, sources, {0, 0, 3, 0}, "");
  found.clean(mask);
  truth.clean(mask);
  const double share = found.residual(faint.x, faint.y) / truth.residual(faint.x, faint.y);
  BOOST_TEST_MESSAGE("flux of a 5-sigma source that the model lacks: " << share << " of "
                                                                       << truth.residual(faint.x, faint.y));
  BOOST_TEST(share > 0.95);
  BOOST_TEST(share < 1.05);
}

BOOST_AUTO_TEST_CASE(the_flux_scale_stays) {
  Run found(24, kSources, {1, 0.15, 0.3, 0}, "phase:30s,gain:all,gain:60s");
  found.clean();
  double total = 0, wanted = 0;
  for (const Source& at : kSources) {
    BOOST_TEST_MESSAGE("flux of " << at.flux_jy << " Jy: " << found.flux(at));
    total += found.flux(at);
    wanted += at.flux_jy;
    // Faint sources lose part of what the model lacked when the gains were found: measured up to 2.3 %.
    BOOST_TEST(std::abs(found.flux(at) / at.flux_jy - 1) < 0.05);
  }
  BOOST_TEST(std::abs(found.flux(kSources[0]) / kSources[0].flux_jy - 1) < 0.005);  // measured: 0.0007
  BOOST_TEST(std::abs(total / wanted - 1) < 0.01);                                  // measured: 0.0046
  double sum_log = 0;
  for (const auto& link : found.chain().links())
    for (const std::complex<double> gain : link->table.values) sum_log += std::log(std::abs(gain));
  BOOST_TEST(std::abs(sum_log) < 1e-9);
}

BOOST_AUTO_TEST_CASE(former_gains_return_when_the_residual_grows) {
  const Errors errors{0.5, 0.3, 0.1, 0};
  Observation data(12, kSources, errors), model(12, kSources, {});
  const auto groups = split_channels(data.info(), 1);
  // Amplitudes of the right shape, scaled to a mean log of 0, add to the power of a model that has three
  // times the flux of the data more than to its agreement with them.
  for (const double scale : {1.0, 3.0}) {
    SelfCalibration calibration(data, data.set(), settings_of("phase:all,gain:all"), stokes_i(), groups);
    PredictionStore predictions(true);
    predict(predictions, model, scale);
    calibration.solve(groups[0], predictions, 1 << 24);
    calibration.end_entry();
    BOOST_TEST_REQUIRE(calibration.chain(groups[0]).links().size() == 1u);
    BOOST_TEST(calibration.chain(groups[0]).links()[0]->entry == 0u);
    calibration.solve(groups[0], predictions, 1 << 24);
    BOOST_TEST_REQUIRE(calibration.chain(groups[0]).links().size() == 1u);
    BOOST_TEST(calibration.chain(groups[0]).links()[0]->entry == (scale == 1 ? 1u : 0u));
  }
}

BOOST_AUTO_TEST_CASE(gains_are_those_of_the_antennas_whatever_memory_there_is) {
  Observation data(12, kSources, {1, 0.2, 0.01, 0}), model(12, kSources, {});
  const auto groups = split_channels(data.info(), 1);
  PredictionStore predictions(true);
  predict(predictions, model);
  for (const std::uint64_t sums_bytes : {std::uint64_t{1}, std::uint64_t{256'000'000}}) {
    SelfCalibrationSettings settings = settings_of("gain:20s");
    settings.sums_bytes = sums_bytes;
    SelfCalibration calibration(data, data.set(), settings, stokes_i(), groups);
    calibration.solve(groups[0], predictions, 1 << 24);
    double worst = 0;
    for (std::size_t t = 0; t < kIntegrations; ++t) {
      const KnownGains known = calibration.chain(groups[0]).gains(0, t);
      for (std::size_t hand = 0; hand < 2; ++hand) {
        // Up to the common phase of a hand.
        const std::complex<double> common =
            data.gain(t, 0, hand) / std::complex<double>(known.value(0, 0, hand));
        for (std::size_t antenna = 0; antenna < 12; ++antenna)
          worst = std::max(worst, std::abs(std::complex<double>(known.value(0, antenna, hand)) * common /
                                               std::abs(common) -
                                           data.gain(t, antenna, hand)));
      }
    }
    // 0.01 Jy of noise against 10 Jy, 11 baselines, 2 channels and 2 integrations. Measured: see the message.
    BOOST_TEST_MESSAGE("largest error of a gain: " << worst);
    BOOST_TEST(worst < 5e-3);
  }
}

BOOST_AUTO_TEST_CASE(slots_with_fewer_data_than_unknowns_are_refused) {
  Observation data(8, kSources, {1, 0, 0.1, 0}), model(8, kSources, {});
  const auto groups = split_channels(data.info(), 1);
  PredictionStore predictions(true);
  predict(predictions, model);
  data.flag_from(2, 6, 12);  // one baseline is left in the second minute: two numbers for three unknowns
  SelfCalibration calibration(data, data.set(), settings_of("gain:60s"), stokes_i(), groups);
  const std::size_t before = n_weighted(calibration.corrected(), groups[0], 6, 12),
                    others = n_weighted(calibration.corrected(), groups[0], 0, 6);
  calibration.solve(groups[0], predictions, 1 << 24);
  BOOST_TEST(before == 6 * kChannels);
  BOOST_TEST(n_weighted(calibration.corrected(), groups[0], 6, 12) == 0u);
  BOOST_TEST(n_weighted(calibration.uncorrected(), groups[0], 6, 12) == before);
  BOOST_TEST(n_weighted(calibration.corrected(), groups[0], 0, 6) == others);
}

BOOST_AUTO_TEST_CASE(two_antennas_have_phases_but_no_gains) {
  Observation data(2, kSources, {1, 0.2, 0.01, 0}), model(2, kSources, {});
  const auto groups = split_channels(data.info(), 1);
  PredictionStore predictions(true);
  predict(predictions, model);
  SelfCalibration gains(data, data.set(), settings_of("gain:all"), stokes_i(), groups),
      phases(data, data.set(), settings_of("phase:all"), stokes_i(), groups);
  gains.solve(groups[0], predictions, 1 << 24);
  phases.solve(groups[0], predictions, 1 << 24);
  BOOST_TEST(gains.chain(groups[0]).empty());
  BOOST_TEST(!phases.chain(groups[0]).empty());
}

BOOST_AUTO_TEST_CASE(a_term_replaces_what_it_can_describe_at_least_as_often) {
  const auto of = [](const char* text) { return parse_entries(text)[0]; };
  BOOST_TEST(replaces(of("phase:10s"), of("phase:30s")));
  BOOST_TEST(replaces(of("gain:10s"), of("phase:10s")));
  BOOST_TEST(replaces(of("phase:10s"), of("scalar-phase")));
  BOOST_TEST(!replaces(of("phase:30s"), of("phase:10s")));
  BOOST_TEST(!replaces(of("gain:60s"), of("phase:10s")));
  BOOST_TEST(!replaces(of("phase:10s"), of("gain:60s")));
  BOOST_TEST(!replaces(of("scalar-gain:10s"), of("phase:10s")));
  BOOST_TEST(!replaces(of("amplitude:10s"), of("phase:10s")));
}

// What a plan adds for planes, groups and data that a block has room for: a value of a prediction beside each
// plane's visibility and weight, and in all groups the solutions of each slot, antenna and hand.
BOOST_AUTO_TEST_CASE(memory_grows_with_planes_groups_and_blocks) {
  constexpr std::size_t kAntennas = 8, kHands = 2, kProducts = 2;
  const Observation data(kAntennas, kSources, {});
  const CalibratedSet set = data.set();
  const SelfCalibrationSettings settings = settings_of("phase:40s,gain:all");
  const auto bytes = [&](std::size_t n_groups, std::size_t n_planes, std::uint64_t n_block_cells) {
    return SelfCalibration::bytes(set, settings, n_groups, n_planes,
                                  n_block_cells * ImagingBlock::kValueBytes * kProducts);
  };
  std::uint64_t n_cells = 0;
  for (const MsIntegration& integration : set.integrations)
    n_cells += static_cast<std::uint64_t>(integration.n_rows) * kChannels;
  BOOST_TEST_REQUIRE(n_cells > 40u);
  constexpr std::uint64_t kPlaneBytes = 8 + 4 + 8, kCellBytes = kProducts * 4 + kHands * 8;
  BOOST_TEST(bytes(1, 3, 40) - bytes(1, 1, 40) == 2 * 40 * kPlaneBytes);
  BOOST_TEST(bytes(1, 1, 40) - bytes(1, 1, 30) == 10 * (kPlaneBytes + kCellBytes));
  // A block has no more than all data.
  BOOST_TEST(bytes(1, 2, 10 * n_cells) - bytes(1, 2, 40) == (n_cells - 40) * (2 * kPlaneBytes + kCellBytes));
  constexpr std::uint64_t kSlots = kIntegrations * 10 / 40 + 1, kSolutionBytes = 100;
  BOOST_TEST(bytes(4, 1, 40) - bytes(1, 1, 40) == 3 * kSlots * kAntennas * kHands * kSolutionBytes);
}

BOOST_AUTO_TEST_CASE(entries_are_parsed_or_refused_by_name) {
  const auto entries = parse_entries("phase:30s,gain:2min,amplitude,scalar-phase:all");
  BOOST_TEST_REQUIRE(entries.size() == 4u);
  BOOST_TEST(entries[0].interval_s == 30);
  BOOST_TEST(entries[1].interval_s == 120);
  BOOST_TEST(entries[2].interval_s == 0);
  BOOST_TEST(entries[3].interval_s == 0);
  BOOST_TEST(entries[1].channels == 0u);
  for (const char* wrong : {"", "phase:", "phase:30", "phase:-1s", "phase:30s,", "gian:30s", "jones:30s",
                            "tec", "delay:10s", "bandpass", "phase:30s;gain:60s"})
    BOOST_CHECK_THROW(parse_entries(wrong), UsageError);
}

BOOST_AUTO_TEST_SUITE_END()
