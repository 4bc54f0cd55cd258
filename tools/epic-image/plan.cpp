// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/epic-image/plan.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>

#include "kernels/channelise/channelise.h"
#include "kernels/epic/epic.h"
#include "kernels/epic/epic_cuda.h"
#include "kernels/epic/fft/grid.h"
#include "kernels/epic/fft/off_grid.h"
#include "kernels/epic/fft/setup.h"
#include "libcore/array/array_layout.h"
#include "libcore/array/beam_table.h"
#include "libcore/array/gains.h"
#include "libcore/base/error.h"
#include "libcore/base/log.h"
#include "libcore/base/units.h"
#include "libcore/base/view.h"
#include "libcore/cli/tool.h"
#include "libcore/formats/fits/aperture.h"
#include "libcore/system/device.h"
#include "libcore/voltage/filterbank.h"
#include "libcore/voltage/voltage.h"
#include "tools/epic-image/checks.h"
#include "tools/epic-image/frame.h"
#include "tools/epic-image/memory_plan.h"
#include "tools/epic-image/setup.h"
#include "tools/epic-image/weighting.h"

namespace apsyn {
namespace {

/// A whole number of spectra near the wanted time; all of them when there are fewer.
std::int64_t spectra_per_image(double wanted_s, double spectrum_s, std::int64_t n_available) {
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
double default_padding(const EpicPlan& plan) {
  const double half = std::min(1.0, plan.cell * static_cast<double>(plan.nx) / 2);
  const bool corners = half * std::numbers::sqrt2 < 1;
  const double margin = corners || plan.kernel_cells < 5 ? 1.5 : plan.kernel_cells < 7 ? 1.25 : 1.115;
  return std::max(1.0, margin * 2 * half / (plan.cell * static_cast<double>(plan.nx)));
}

/// What E is multiplied by: one over the gains, and the unit of the samples. Antennas without gains are
/// flagged.
Buffer<std::complex<double>, 3> factors_of(const OpenedVoltages& voltages, double scale) {
  if (!voltages.has_gains && scale == 1) return {};
  return inverse_gains(voltages.gains, scale);
}

EpicCost cost_of(const EpicSetup& setup, EpicMethod method, const EpicPlan& plan,
                 const EpicGeometry& geometry) {
  if (setup.on_gpu())
    return cuda_epic_cost(method, plan, geometry,
                          method == EpicMethod::fft ? setup.fft_precision : setup.precision);
  if (method == EpicMethod::fft) return fft_cost(plan, geometry);
  return method == EpicMethod::dft ? dft_cost(plan, geometry) : corr_cost(plan, geometry);
}

EpicMethod choose_method(const Tool& tool, const EpicOptions& options, const EpicSetup& setup,
                         const EpicGeometry& geometry) {
  if (options.method != "auto") return parse_epic_method(options.method);
  if (setup.epic.weighting) return EpicMethod::corr;
  if (setup.epic.float64) return EpicMethod::dft;
  const auto n_spectra = static_cast<double>(setup.accumulate_spectra);
  if (setup.on_gpu())
    return choose_cuda_epic_method(setup.epic, geometry, n_spectra, setup.precision, setup.fft_precision);
  return choose_epic_method(setup.epic, geometry, n_spectra, tool.common().max_memory_bytes);
}

/// Antennas that fft leaves out of its grid. A field needs all of them on one.
void plan_off_grid(const EpicOptions& options, EpicSetup& setup, const EpicGeometry& geometry) {
  const EpicPlan& epic = setup.epic;
  if (options.method != "auto" && options.method != "fft") return;
  if (epic.field || epic.float64 || epic.n_direction > 0 || epic.w == EpicW::exact || epic.weighting) return;
  choose_off_grid(setup.epic, geometry, [&] {
    return cost_of(setup, EpicMethod::fft, epic, geometry).of(static_cast<double>(setup.accumulate_spectra));
  });
}

/// Where corr makes nothing but Stokes I, pairs are added up before they are imaged: half of the images.
void image_total(EpicSetup& setup) {
  EpicPlan& epic = setup.epic;
  const ProductMix half_of_both{0.5f, 0.5f, 0, 0};
  if (setup.method != EpicMethod::corr || setup.planes.size() != 1 || epic.n_pol != 2 ||
      !epic.apertures.empty() || setup.planes[0].real != half_of_both ||
      setup.planes[0].imaginary != ProductMix{})
    return;
  epic.total = true;
  epic.second = false;
  setup.planes[0].real = {1, 0, 0, 0};
}

}  // namespace

EpicPlan epic_plan(const Tool& tool, const EpicOptions& options, const EpicSetup& setup,
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
  plan.flagged = antennas_without_gains(voltages.gains);
  for (std::size_t ant = 0; ant < plan.n_ant; ++ant)
    if (setup.header.layout.antennas[ant].flagged) plan.flagged[ant] = 1;
  const std::vector<std::uint8_t> without = channels_without_gains(voltages.gains);
  if (std::find(without.begin(), without.end(), 1) != without.end())
    for (std::size_t channel = 0; channel < plan.n_channel(); ++channel)
      plan.left_out.push_back(without[channel * without.size() / plan.n_channel()]);
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
  plan.off_grid = setup.epic.off_grid;
  if (setup.epic.total) {
    plan.total = true;
    plan.second = false;
  }
  if (options.weight.name != "natural") plan.weighting = pair_weighting(options, plan);
  plan.factor = factors_of(voltages, setup.header.scale);
  return plan;
}

EpicSetup make_setup(Tool& tool, const EpicOptions& options, OpenedVoltages& voltages, const Device& device) {
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
  setup.weighting = describe_weight(options);
  if (options.centre != "zenith") setup.centre = parse_sky_direction(options.centre);
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
  voltages.divide_channels(setup.f.channel_hz());
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
  // What is planned has room for antennas and channels that lack gains now and may have some later.
  setup.epic.left_out.clear();
  for (std::size_t ant = 0; ant < setup.epic.n_ant; ++ant)
    setup.epic.flagged[ant] = header.layout.antennas[ant].flagged ? 1 : 0;
  check_size(setup, tool.common().max_memory_bytes);
  AccumulationFrame frame(header, setup.aligned(), setup.centre, false, setup.directions);
  const EpicGeometry geometry = frame.at(header.start);
  setup.centre_elevation_rad = std::asin(std::clamp(geometry.axes[2][2], -1.0, 1.0));
  plan_off_grid(options, setup, geometry);
  setup.method = choose_method(tool, options, setup, geometry);
  if (setup.method != EpicMethod::fft) setup.epic.off_grid.clear();
  image_total(setup);
  if (setup.method == EpicMethod::fft) {
    check_fft_plan(setup.epic);
    check_apertures(setup.epic, geometry);
    setup.grid = plan_fft_grid(setup.epic, geometry);
    setup.outlier = fft_outlier(setup.epic, geometry);
  }
  plan_memory(setup, cost_of(setup, setup.method, setup.epic, geometry), tool.common().max_memory_bytes);
  if (!setup.on_gpu()) return setup;
  plan_gpu(setup, voltages.reader.keeps_4bit(), options.voltage.gains_follow, tool.common().max_memory_bytes);
  plan_device_memory(setup, geometry);
  return setup;
}

}  // namespace apsyn
