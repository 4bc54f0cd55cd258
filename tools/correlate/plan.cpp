// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/correlate/plan.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernels/channelise/requantise.h"
#include "kernels/common/spectra/multiply_codes.h"
#include "kernels/correlate/mean.h"
#include "kernels/correlate/van_vleck.h"
#include "libcore/array/gains.h"
#include "libcore/base/error.h"
#include "libcore/base/log.h"
#include "libcore/base/time.h"
#include "libcore/base/units.h"
#include "libcore/base/view.h"
#include "libcore/cli/filterbank_options.h"
#include "libcore/cli/tool.h"
#include "libcore/measures/coordinates.h"
#include "libcore/streams/open_voltages.h"
#include "libcore/system/device.h"
#include "libcore/system/program_memory.h"
#include "libcore/visibility/visibility.h"
#include "libcore/voltage/array_delays.h"
#include "libcore/voltage/voltage.h"
#include "libcore/voltage/voltage_pipeline.h"
#include "tools/correlate/options.h"

namespace apsyn {
namespace {

/// What the visibilities are phased to: --phase-centre, or what the stream has been tracked to.
DelayTarget delay_target(const std::string& text, const CorrelatePlan& plan, const UtcTime& first_middle) {
  DelayTarget target;
  target.applied = plan.header.phase_centre;
  if (text == "none" || (text.empty() && target.applied)) return target;
  if (text.empty() || text == "zenith")
    target.centre = SkyFrame(*plan.header.layout.site).zenith(first_middle);
  else
    target.centre = parse_sky_direction(text);
  return target;
}

std::vector<Product> products_of(const VoltageHeader& header, const std::string& name) {
  const bool circular = header.pol_basis == "RL" || header.pol_basis == "LR";
  if (header.n_pol == 1) return {circular ? Product::RR : Product::XX};
  if (header.n_pol != 2)
    throw DataError("{}: NPOL {}: only 1 or 2 polarisations can be correlated", name, header.n_pol);
  if (circular) return {Product::RR, Product::RL, Product::LR, Product::LL};
  return {Product::XX, Product::XY, Product::YX, Product::YY};
}

/// A whole number of spectra near the wanted length; the whole recording when that is shorter.
std::int64_t spectra_per_integration(double wanted_s, double spectrum_s, std::int64_t n_available) {
  if (!(wanted_s > 0)) throw UsageError("--integration {}: must be positive", format_duration(wanted_s));
  const double exact = wanted_s / spectrum_s;
  if (!(exact < 0x1p38)) throw UsageError("--integration {}: too long", format_duration(wanted_s));
  std::int64_t n = std::max<std::int64_t>(1, std::llround(exact));
  if (n_available > 0 && n > n_available) {
    n = n_available;
    log_info("--integration {}: the stream has {} only: one integration of all of it",
             format_duration(wanted_s), format_duration(static_cast<double>(n) * spectrum_s));
  } else if (std::abs(static_cast<double>(n) - exact) > 1e-6 * exact) {
    log_info("--integration {}: taking {} spectra of {}, {}", format_duration(wanted_s), n,
             format_duration(spectrum_s), format_duration(static_cast<double>(n) * spectrum_s));
  }
  return n;
}

VisibilityHeader visibility_header(const Tool& tool, const CorrelatePlan& plan, const std::string& name) {
  VisibilityHeader header;
  header.telescope =
      plan.header.layout.telescope.empty() ? plan.header.telescope : plan.header.layout.telescope;
  header.source = plan.header.source;
  header.start = sample_time(plan.header.start, plan.f.first_sample, plan.header.sample_s);
  header.integration_s = static_cast<double>(plan.integration.n_spectra) * plan.spectrum_s;
  header.sample_s = plan.header.sample_s;
  const std::vector<double> fine_hz = plan.f.channel_hz();
  const std::size_t n_average = plan.mean.n_average;
  for (std::size_t first = 0; first < fine_hz.size(); first += n_average)
    header.channel_hz.push_back((fine_hz[first] + fine_hz[first + n_average - 1]) / 2);
  header.channel_width_hz = plan.f.channel_step_hz() * static_cast<double>(n_average);
  header.products = products_of(plan.header, name);
  header.baselines = plan.mean.baselines;
  header.layout = plan.header.layout;
  header.phase_centre = plan.target.centre ? plan.target.centre : plan.target.applied;
  header.flux_unit = plan.header.flux_unit;
  header.history = plan.header.history;
  for (const std::string& line : tool.provenance()) header.history.push_back(line);
  return header;
}

/// What the process takes by itself.
constexpr std::uint64_t kCorrelateBytes = 40'000'000;
/// Of a gulp at most: of a slow stream an integration must not wait for much of the next.
constexpr double kMaxGulp_s = 0.05;

/// Of a block, for each time sample.
std::uint64_t sample_bytes_of(const VoltageHeader& header) {
  return std::uint64_t{2} * header.n_chan * header.n_ant * header.n_pol *
         (header.n_bit <= 8 ? sizeof(std::int8_t) : sizeof(float));
}

/// Block, gulp and memory. Only what --max-memory forces departs from the best block, and gains that are
/// followed: these are looked at for every gulp.
void plan_memory(CorrelatePlan& plan, bool live, std::uint64_t max_memory_bytes) {
  const VoltageHeader& header = plan.header;
  const std::uint64_t sample_bytes = sample_bytes_of(header);
  const std::uint64_t record_bytes = std::uint64_t{12} * plan.mean.baselines.size() *
                                     (header.n_chan * plan.x.n_fine / plan.mean.n_average) * header.n_pol *
                                     header.n_pol;
  const std::uint64_t unit = std::max<std::uint64_t>(1, header.missing_samples);
  const auto reach = static_cast<std::uint64_t>(delay_reach(header, header.layout)) + plan.f.n_span();
  for (std::uint64_t cache = 16u << 20;; cache /= 2) {
    plan.integration = plan_integration(plan.x, plan.integration.n_spectra, cache);
    const std::uint64_t block_samples = plan.integration.block_spectra * plan.f.n_sample;
    std::uint64_t gulp = std::max<std::uint64_t>(
        1, std::min((cache / 4) / sample_bytes, static_cast<std::uint64_t>(kMaxGulp_s / header.sample_s)));
    const std::uint64_t integration_samples =
        static_cast<std::uint64_t>(plan.integration.n_spectra) * plan.f.n_sample;
    // as many integrations per gulp as fit into the same space
    gulp =
        std::min(gulp, integration_samples * (live ? 1 : std::max<std::uint64_t>(1, cache / record_bytes)));
    gulp = std::max(unit, gulp / unit * unit);
    plan.gulp_samples = static_cast<std::size_t>(gulp);
    const std::uint64_t records = gulp / integration_samples + 1;
    const std::int64_t n = plan.n_samples;
    const auto per_integration = static_cast<std::int64_t>(integration_samples);
    const std::int64_t n_records = n < 0 ? -1 : (n + per_integration - 1) / per_integration;
    plan.memory_bytes =
        correlator_bytes(plan.x) + spectra_bytes(plan.x, plan.integration) +
        (filled(kStreamItems * gulp, n) + 2 * filled(gulp, n) + 2 * filled(gulp + block_samples + reach, n)) *
            sample_bytes +
        filled(kStreamItems * records, n_records) * record_bytes + channeliser_bytes(plan.f) +
        quantiser_bytes(plan.x, plan.mean.quantisers) + kCorrelateBytes + cuda_program_bytes();
    if (plan.memory_bytes <= max_memory_bytes) return;
    if (cache <= 64u << 10)
      throw UsageError("{}",
                       memory_shortage(max_memory_bytes, static_cast<double>(plan.memory_bytes),
                                       "these correlations need", "allow more, or make fewer channels"));
  }
}

/// What a GPU takes of the host's memory, besides: gulps in pinned memory, and the integrations that arrive.
void plan_gpu(CorrelatePlan& plan, bool four_bit, bool live, std::uint64_t max_memory_bytes) {
  plan.cuda.f = plan.f;
  if (plan.f.requantise.n_bit == 4)
    throw UsageError("--requantise 4: a GPU multiplies 8-bit integers: give --requantise 8, or --device cpu");
  plan.cuda.requantisation = {8, plan.f.requantise.dither};
  plan.cuda.n_spectra = plan.integration.n_spectra;
  plan.cuda.integer = plan.header.n_bit <= 8;
  plan.cuda.four_bit = four_bit;
  const std::uint64_t record_bytes = std::uint64_t{12} * plan.mean.baselines.size() *
                                     (plan.header.n_chan * plan.x.n_fine / plan.mean.n_average) *
                                     plan.header.n_pol * plan.header.n_pol;
  const std::uint64_t sample_bytes = sample_bytes_of(plan.header);
  const std::size_t small_gulp = plan.gulp_samples;
  std::uint64_t needed = 0;
  for (std::uint64_t bytes = 64u << 20; bytes >= 64u << 10; bytes /= 2) {
    plan.cuda.gulp_samples = cuda_gulp_samples(plan.cuda, bytes, plan.n_samples);
    // Half of the device's gulp at a time, and no more integrations than fit into the same space.
    const std::uint64_t unit = std::max<std::size_t>(1, plan.header.missing_samples);
    const std::uint64_t integration_samples =
        static_cast<std::uint64_t>(plan.integration.n_spectra) * plan.f.n_sample;
    const std::uint64_t gulp =
        std::min(plan.cuda.gulp_samples / 2,
                 integration_samples * (live ? 1 : std::max<std::uint64_t>(1, bytes / record_bytes)));
    plan.gulp_samples = std::max<std::size_t>(small_gulp, gulp / unit * unit);
    const std::uint64_t more = plan.gulp_samples - small_gulp;
    needed = plan.memory_bytes + cuda_channeliser_host_bytes(plan.cuda) +
             cuda_fx_host_bytes(plan.x, plan.mean) +
             kStreamItems * more * (sample_bytes + record_bytes / integration_samples);
    if (needed <= max_memory_bytes) break;
  }
  if (needed > max_memory_bytes)
    throw UsageError("{}", memory_shortage(max_memory_bytes, static_cast<double>(needed),
                                           "these correlations need", "allow more, or make fewer channels"));
  plan.memory_bytes = needed;
}

}  // namespace

CorrelatePlan make_plan(Tool& tool, const CorrelateOptions& options, OpenedVoltages& voltages,
                        const Device& device) {
  const std::string& name = voltages.reader.name();
  CorrelatePlan plan;
  plan.header = voltages.reader.header();
  plan.header.layout = voltages.layout;
  if (!voltages.has_positions)
    throw UsageError("{}: the stream does not say where its antennas stand: give --antennas or --metafits",
                     name);
  if (!plan.header.layout.site)
    throw UsageError("{}: the stream does not say where the array is: give --site LAT,LON,ALT", name);
  plan.f = plan_channelise(plan.header, options.n_fine, tool.common().threads, filterbank_of(options));
  plan.f.first_sample = options.voltage.first_sample;
  plan.f.requantise = requantisation_of(options);
  if (options.dither && plan.f.requantise.n_bit == 0)
    throw UsageError("--dither: nothing is rounded: give --requantise 8 or 4");
  plan.f.codes = plan.f.requantise.n_bit > 0 && options.algorithm != "register" && multiplies_codes();
  plan.x = {plan.header.n_chan, options.n_fine,        plan.header.n_ant,
            plan.header.n_pol,  tool.common().threads, plan.f.codes};
  voltages.divide_channels(plan.f.channel_hz());
  plan.spectrum_s = static_cast<double>(plan.f.n_sample) * plan.header.sample_s;
  check_average(options, plan.header.n_chan);
  check_real_samples(plan.header.n_dim, options.n_fine, name);
  plan.n_samples = voltages.n_samples;
  if (options.voltage.n_samples >= 0)
    plan.f.n_spectra = options.voltage.n_samples / static_cast<std::int64_t>(plan.f.n_sample);
  plan.integration.n_spectra = spectra_per_integration(
      options.integration_s, plan.spectrum_s,
      plan.n_samples < 0 ? -1 : plan.n_samples / static_cast<std::int64_t>(plan.f.n_sample));
  if (!options.bandpass.empty())
    plan.bandpass = read_gains_csv(options.bandpass, plan.header.layout, plan.header.n_pol,
                                   plan.header.n_chan * plan.x.n_fine);
  plan.mean.baselines = all_baselines(plan.header.n_ant, !options.no_autos);
  if (plan.mean.baselines.empty())
    throw UsageError("{}: one antenna has no cross-correlations: leave --no-autos out", name);
  plan.mean.n_average = options.n_average;
  plan.mean.scale = plan.header.scale;
  plan.mean.n_spectra = plan.integration.n_spectra;
  plan.f.integration_spectra = plan.integration.n_spectra;
  if (const unsigned n_bit = plan.f.requantise.n_bit)
    plan.mean.quantisers.requantiser = std::make_shared<QuantiserCurve>(
        Quantiser{requantise_low(n_bit), requantise_high(n_bit), plan.f.requantise.dither});
  if (options.van_vleck) {
    if (plan.header.n_bit > 8)
      throw UsageError("{}: --van-vleck: samples of {} bits are not coarse enough to correct", name,
                       plan.header.n_bit);
    plan.mean.scale *= plan.header.scale_gain;  // which the correction makes up for
    plan.mean.quantisers.recorder = std::make_shared<QuantiserCurve>(twos_complement(plan.header.n_bit));
    plan.mean.quantisers.real_samples = plan.f.real_input;
  }
  const double half_s = 0.5 * static_cast<double>(plan.integration.n_spectra) * plan.spectrum_s;
  const UtcTime first = sample_time(plan.header.start, plan.f.first_sample, plan.header.sample_s);
  plan.target = delay_target(options.phase_centre, plan,
                             add_picoseconds(first, static_cast<__int128>(std::llround(half_s * 1e12))));
  plan.visibilities = visibility_header(tool, plan, name);
  plan_memory(plan, options.voltage.gains_follow, tool.common().max_memory_bytes);
  plan.on_gpu = device.kind == Device::Kind::cuda;
  if (plan.on_gpu)
    plan_gpu(plan, voltages.reader.keeps_4bit(), options.voltage.gains_follow,
             tool.common().max_memory_bytes);
  return plan;
}

Buffer<std::complex<double>, 3> gains_of(const CorrelatePlan& plan, const OpenedVoltages& voltages) {
  const bool has_bandpass = plan.bandpass.size() > 0;
  Buffer<std::complex<double>, 3> gains;
  if (!has_bandpass && !voltages.has_gains) return gains;
  gains.resize_for_overwrite(has_bandpass ? plan.bandpass.shape() : voltages.gains.shape());  // the finer
  const std::size_t per_gain = gains.extent(2) / voltages.gains.extent(2);
  for (std::size_t ant = 0; ant < plan.header.n_ant; ++ant)
    for (std::size_t pol = 0; pol < plan.header.n_pol; ++pol)
      for (std::size_t channel = 0; channel < gains.extent(2); ++channel) {
        gains(ant, pol, channel) = voltages.gains(ant, pol, channel / per_gain);
        if (has_bandpass) gains(ant, pol, channel) *= plan.bandpass(ant, pol, channel);
      }
  return gains;
}

}  // namespace apsyn
