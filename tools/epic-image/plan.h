// SPDX-License-Identifier: GPL-3.0-or-later
// From options and a stream's header to what each stage does, and what it costs.
#pragma once

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <optional>

#include "kernels/channelise/channelise_cuda.h"
#include "kernels/common/free_memory.h"
#include "kernels/epic/epic_cuda.h"
#include "kernels/epic/fft_cuda.h"
#include "kernels/epic/fft_grid.h"
#include "kernels/epic/fft_setup.h"
#include "libcore/core/device.h"
#include "libcore/core/log.h"
#include "libcore/core/regions.h"
#include "libcore/io/aperture_fits.h"
#include "libcore/io/open_voltages.h"
#include "tools/epic-image/checks.h"
#include "tools/epic-image/frame.h"
#include "tools/epic-image/options.h"
#include "tools/epic-image/products.h"

namespace apsyn {

struct EpicSetup {
  VoltageHeader header;  ///< with the effective layout
  ChannelisePlan f;
  EpicPlan epic;
  std::vector<OutputPlane> planes;
  std::vector<BeamDirection> directions;  ///< of light curves; empty: images
  std::vector<Region> regions;            ///< of light curves of images
  std::string regions_path;
  ApertureTable apertures;  ///< none: all antennas hear alike
  EpicMethod method = EpicMethod::dft;
  std::optional<FftGrid> grid;        ///< of fft
  std::optional<FftOutlier> outlier;  ///< that makes it large
  Device device;
  /// On a GPU, of dft and of fft.
  EpicPrecision precision = EpicPrecision::single, fft_precision = EpicPrecision::single;
  CudaChannelisePlan cuda;         ///< f on a GPU
  std::uint64_t device_bytes = 0;  ///< of its memory, to image by fft; 0 = not counted
  double spectrum_s = 0;
  std::int64_t accumulate_spectra = 1;
  std::int64_t n_samples = -1;  ///< to be read; -1 = to the end
  std::int64_t n_spectra = -1;  ///< of them; -1 = as many as come
  std::size_t gulp_samples = 0, block_spectra = 0, batch_chan = 1;
  std::uint64_t memory_bytes = 0;

  /// Whether the F stage aligns the antennas: spectra of many samples need it.
  bool aligned() const { return f.n_sample > 1; }
  bool on_gpu() const { return device.kind == Device::Kind::cuda; }
  double image_s() const { return spectrum_s * static_cast<double>(accumulate_spectra); }
};

/// A whole number of spectra near the wanted time; all of them when there are fewer.
inline std::int64_t spectra_per_image(double wanted_s, double spectrum_s, std::int64_t n_available) {
  if (!(wanted_s > 0)) throw UsageError("--accumulate {}: must be positive", format_duration(wanted_s));
  const double exact = wanted_s / spectrum_s;
  if (!(exact < 0x1p31)) throw UsageError("--accumulate {}: too long", format_duration(wanted_s));
  std::int64_t n = std::max<std::int64_t>(1, std::llround(exact));
  if (n_available > 0 && n > n_available) {
    n = n_available;
    log_info("--accumulate {}: the stream has {} only: one image of all of it", format_duration(wanted_s),
             format_duration(static_cast<double>(n) * spectrum_s));
  } else if (std::abs(static_cast<double>(n) - exact) > 1e-6 * exact) {
    log_info("--accumulate {}: taking {} spectra of {}, {}", format_duration(wanted_s), n,
             format_duration(spectrum_s), format_duration(static_cast<double>(n) * spectrum_s));
  }
  return n;
}

/// The field that is transformed reaches beyond the sky that is shown by so much that kernels of these cells
/// repeat it elsewhere at no more than about 1e-3. Where the image's corners are sky, both axes' responses
/// fall together, and dividing by them would raise float32's rounding to percents without a wider margin.
inline double default_padding(const EpicPlan& plan) {
  const double half = std::min(1.0, plan.cell * static_cast<double>(plan.nx) / 2);
  const bool corners = half * std::numbers::sqrt2 < 1;
  const double margin = corners || plan.kernel_cells < 5 ? 1.5 : plan.kernel_cells < 7 ? 1.25 : 1.115;
  return std::max(1.0, margin * 2 * half / (plan.cell * static_cast<double>(plan.nx)));
}

/// What E is multiplied by: one over the gains, and the unit of the samples.
inline Buffer<std::complex<double>, 3> factors_of(const OpenedVoltages& voltages, double scale) {
  Buffer<std::complex<double>, 3> factor;
  if (!voltages.has_gains && scale == 1) return factor;
  factor.resize(voltages.gains.shape());
  std::transform(voltages.gains.begin(), voltages.gains.end(), factor.begin(),
                 [&](const std::complex<double>& gain) { return scale / gain; });
  return factor;
}

inline EpicPlan epic_plan(const Tool& tool, const EpicOptions& options, const EpicSetup& setup,
                          const OpenedVoltages& voltages) {
  EpicPlan plan;
  plan.n_chan = setup.header.n_chan;
  plan.n_fine = options.n_fine;
  plan.n_ant = setup.header.n_ant;
  plan.n_pol = setup.header.n_pol;
  plan.channel_hz = setup.f.channel_hz();
  plan.n_average = options.n_average;
  plan.field = options.electric_field;
  plan.first = needs(setup.planes, 0);
  plan.second = needs(setup.planes, plan.field ? 2 : 1);
  plan.cross = !plan.field && (needs(setup.planes, 2) || needs(setup.planes, 3));
  plan.autos = !options.no_autos;
  for (const Antenna& antenna : setup.header.layout.antennas) plan.flagged.push_back(antenna.flagged ? 1 : 0);
  plan.nx = plan.ny = options.size;
  plan.n_direction = setup.directions.size();
  plan.cell = std::isnan(options.scale_rad)
                  ? 2 * std::sin(options.field_rad / 2) / static_cast<double>(options.size)
                  : options.scale_rad;
  plan.apertures = setup.apertures.kinds;
  plan.aperture = setup.apertures.of_antenna;
  plan.n_threads = tool.common().threads;
  plan.float64 = options.precision == "double";
  plan.kernel = options.shape == "pswf" ? EpicKernel::prolate : EpicKernel::kaiser_bessel;
  plan.kernel_cells = options.kernel_cells;
  plan.padding = options.padding > 0 ? options.padding : default_padding(plan);
  plan.w = parse_w(options.w);
  plan.factor = factors_of(voltages, setup.header.scale);
  return plan;
}

inline EpicCost cost_of(const EpicSetup& setup, const EpicGeometry& geometry) {
  const EpicMethod method = setup.method;
  const EpicPlan& plan = setup.epic;
  if (setup.on_gpu())
    return cuda_epic_cost(method, plan, geometry,
                          method == EpicMethod::fft ? setup.fft_precision : setup.precision);
  if (method == EpicMethod::fft) return fft_cost(plan, geometry);
  return method == EpicMethod::dft ? dft_cost(plan, geometry) : corr_cost(plan, geometry);
}

[[noreturn]] inline void refuse_memory(double bytes, std::uint64_t max_memory_bytes) {
  throw UsageError("{} of memory needed, {} allowed: raise --max-memory, or make fewer or smaller images",
                   format_bytes(bytes), format_bytes(static_cast<double>(max_memory_bytes)));
}

/// What the F stage of the CPU holds, and the spectra that it makes at a time; a GPU's: plan_gpu.
inline std::uint64_t host_feed_bytes(const EpicSetup& setup, std::uint64_t chan_bytes,
                                     std::uint64_t sample_bytes) {
  if (setup.on_gpu()) return 0;
  const std::uint64_t block_samples = setup.block_spectra * setup.f.n_sample;
  return channeliser_bytes(setup.f) + chan_bytes * (setup.block_spectra + 1) * setup.batch_chan +
         2 * (2 * setup.gulp_samples + block_samples + setup.f.n_span()) * sample_bytes;
}

/// Blocks, batches and memory. Only what --max-memory forces departs from the best block.
inline void plan_memory(EpicSetup& setup, std::uint64_t imager_bytes, std::uint64_t max_memory_bytes) {
  const VoltageHeader& header = setup.header;
  const EpicPlan& epic = setup.epic;
  const std::uint64_t sample_bytes = std::uint64_t{2} * header.n_chan * header.n_ant * header.n_pol *
                                     (header.n_bit <= 8 ? sizeof(std::int8_t) : sizeof(float));
  const std::uint64_t chan_bytes =
      std::uint64_t{epic.n_fine} * panel_count(epic.n_ant * epic.n_pol) * 2 * kPanelInputs * sizeof(float);
  const std::uint64_t plane_bytes = sizeof(float) * epic.n_image_channel() * epic.width() * epic.height();
  const std::uint64_t image_bytes = plane_bytes * epic.n_plane();
  // as outputs hold them, and as they are written
  const std::uint64_t record_bytes =
      2 * plane_bytes * setup.planes.size() * (is_complex(setup.planes) ? 2 : 1);
  const std::size_t whole = epic.n_average / std::gcd(epic.n_average, epic.n_fine);
  for (std::uint64_t cache = 32u << 20;; cache /= 2) {
    const auto image_spectra = static_cast<std::uint64_t>(setup.accumulate_spectra);
    setup.block_spectra = static_cast<std::size_t>(
        std::clamp<std::uint64_t>(cache / chan_bytes / whole, std::min<std::uint64_t>(16, image_spectra),
                                  std::min<std::uint64_t>(512, image_spectra)));
    setup.batch_chan = static_cast<std::size_t>(std::clamp<std::uint64_t>(
        cache / (chan_bytes * setup.block_spectra) / whole * whole, whole, epic.n_chan));
    // Small images of few spectra are read and written several at a time.
    const std::uint64_t together = std::clamp<std::uint64_t>(cache / image_bytes, 1, 16);
    const std::uint64_t read_samples =
        std::max<std::uint64_t>(setup.block_spectra, std::min<std::uint64_t>(16, together * image_spectra)) *
        setup.f.n_sample;
    // Whole spans of missing samples are read fastest, but not many large images of theirs held at once.
    const std::uint64_t span = std::max<std::uint64_t>(1, header.missing_samples);
    const std::uint64_t unit = span * image_bytes > image_spectra * setup.f.n_sample * cache ? 1 : span;
    const std::uint64_t gulp = std::max(unit, (read_samples + unit - 1) / unit * unit);
    setup.gulp_samples = static_cast<std::size_t>(gulp);
    const std::uint64_t image_samples = image_spectra * setup.f.n_sample;
    const std::uint64_t images = (gulp + image_samples - 1) / image_samples;
    constexpr std::uint64_t kItems = 5;     // of run_pipeline with a depth of 1
    constexpr std::uint64_t kOnTheWay = 2;  // images between the imager and an item
    setup.memory_bytes = imager_bytes + host_feed_bytes(setup, chan_bytes, sample_bytes) +
                         kItems * gulp * sample_bytes + (kItems * images + kOnTheWay) * image_bytes +
                         record_bytes + (std::uint64_t{32} << 20);
    if (setup.memory_bytes <= max_memory_bytes) return;
    if (cache <= 64u << 10) refuse_memory(static_cast<double>(setup.memory_bytes), max_memory_bytes);
  }
}

/// Before every pixel is looked at: images alone, and their pixels.
inline void check_size(const EpicSetup& setup, std::uint64_t max_memory_bytes) {
  const EpicPlan& epic = setup.epic;
  const double bytes =
      static_cast<double>(epic.width()) * static_cast<double>(epic.height()) *
      static_cast<double>(epic.n_image_channel() * epic.n_plane() * sizeof(float) + sizeof(Vec3));
  if (bytes > static_cast<double>(max_memory_bytes)) refuse_memory(bytes, max_memory_bytes);
}

/// What a GPU takes of the host's memory, besides: gulps in pinned memory.
inline void plan_gpu(EpicSetup& setup, std::uint64_t max_memory_bytes) {
  constexpr std::size_t kMostChannels = 65535;  // along an axis of a launch
  if (setup.epic.n_channel() > kMostChannels)
    throw UsageError("--channels {}: {} channels in all: a GPU images {} at most: give --device cpu",
                     setup.epic.n_fine, setup.epic.n_channel(), kMostChannels);
  setup.cuda.f = setup.f;
  setup.cuda.n_spectra = setup.accumulate_spectra;
  setup.cuda.integer = setup.header.n_bit <= 8;
  const std::uint64_t others = setup.memory_bytes;
  for (std::uint64_t bytes = 64u << 20; bytes >= 64u << 10; bytes /= 2) {
    setup.cuda.gulp_samples = cuda_gulp_samples(setup.cuda, bytes);
    setup.memory_bytes = others + cuda_channeliser_host_bytes(setup.cuda);
    if (setup.memory_bytes <= max_memory_bytes) return;
  }
  refuse_memory(static_cast<double>(setup.memory_bytes), max_memory_bytes);
}

/// Of a GPU's own memory; only what images by fft take is known before.
inline void plan_device_memory(EpicSetup& setup, const EpicGeometry& geometry) {
  if (setup.method != EpicMethod::fft || setup.epic.field) return;
  const auto n_spectra =
      std::min(static_cast<std::uint64_t>(setup.accumulate_spectra), cuda_max_spectra(setup.cuda));
  setup.device_bytes =
      fft_device_bytes(setup.epic, geometry, n_spectra, setup.fft_precision, setup.device.index);
  const std::uint64_t free_bytes = cuda_free_memory_bytes(setup.device.index);
  if (setup.device_bytes > free_bytes)
    throw DeviceError(
        "--method fft needs {} of the GPU's memory, {} are free: make fewer or smaller images, average "
        "channels, or give --device cpu",
        format_bytes(static_cast<double>(setup.device_bytes)), format_bytes(static_cast<double>(free_bytes)));
}

inline EpicMethod choose_method(const Tool& tool, const EpicOptions& options, const EpicSetup& setup,
                                const EpicGeometry& geometry) {
  if (options.method != "auto") return parse_epic_method(options.method);
  if (setup.epic.float64) return EpicMethod::dft;
  const auto n_spectra = static_cast<double>(setup.accumulate_spectra);
  if (setup.on_gpu())
    return choose_cuda_epic_method(setup.epic, geometry, n_spectra, setup.precision, setup.fft_precision);
  return choose_epic_method(setup.epic, geometry, n_spectra, tool.common().max_memory_bytes);
}

inline EpicSetup make_setup(Tool& tool, const EpicOptions& options, const OpenedVoltages& voltages,
                            const Device& device) {
  check_options(options, voltages);
  check_field(options);
  EpicSetup setup;
  setup.device = device;
  setup.precision = parse_precision(options.precision, device);
  // only when it is asked for: without padding half precision fails near the horizon
  if (options.precision == "half") setup.fft_precision = setup.precision;
  setup.header = voltages.reader.header();
  setup.header.layout = voltages.layout;
  const VoltageHeader& header = setup.header;
  // spectra that are no integers are not rounded, whether dft sums antennas or pairs
  if (header.n_bit > 8 || options.n_fine > 1) setup.precision = EpicPrecision::single;
  setup.planes = (options.electric_field ? field_planes : parse_output_planes)(options.products, header.n_pol,
                                                                               header.pol_basis == "RL");
  if (!options.pixels.empty()) setup.directions = read_beams_csv(options.pixels);
  setup.regions_path = options.regions;
  if (!options.regions.empty()) setup.regions = read_regions(options.regions);
  for (const BeamDirection& direction : setup.directions)
    if (!direction.antennas.empty())
      throw UsageError("--pixels {}: '{}' names antennas: all are used: leave the column out", options.pixels,
                       direction.id);
  if (!options.apertures.empty()) setup.apertures = read_apertures(options.apertures, setup.header.layout);
  setup.f = plan_channelise(header, options.n_fine, tool.common().threads, {options.n_taps, Window::hann});
  setup.f.first_sample = options.voltage.first_sample;
  setup.spectrum_s = static_cast<double>(setup.f.n_sample) * header.sample_s;
  setup.n_samples = options.voltage.n_samples;
  if (const auto all = voltages.reader.n_samples()) {
    const std::int64_t left = *all - options.voltage.first_sample;
    setup.n_samples = setup.n_samples < 0 ? left : std::min(setup.n_samples, left);
  }
  if (setup.n_samples >= 0) setup.n_spectra = setup.n_samples / static_cast<std::int64_t>(setup.f.n_sample);
  const double accumulate_s = std::isnan(options.accumulate_s) ? kAccumulate_s : options.accumulate_s;
  setup.accumulate_spectra =
      options.electric_field ? 1 : spectra_per_image(accumulate_s, setup.spectrum_s, setup.n_spectra);
  setup.epic = epic_plan(tool, options, setup, voltages);
  check_size(setup, tool.common().max_memory_bytes);
  AccumulationFrame frame(header, setup.aligned(), false, setup.directions);
  const EpicGeometry geometry = frame.at(header.start);
  setup.method = choose_method(tool, options, setup, geometry);
  if (setup.method == EpicMethod::fft) {
    check_fft_plan(setup.epic);
    check_apertures(setup.epic, geometry);
    setup.grid = plan_fft_grid(setup.epic, geometry);
    setup.outlier = fft_outlier(setup.epic, geometry);
  }
  plan_memory(setup, cost_of(setup, geometry).bytes, tool.common().max_memory_bytes);
  if (!setup.on_gpu()) return setup;
  plan_gpu(setup, tool.common().max_memory_bytes);
  plan_device_memory(setup, geometry);
  return setup;
}

}  // namespace apsyn
