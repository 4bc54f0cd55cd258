// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/beamform/plan.h"

#include <algorithm>
#include <complex>
#include <cstddef>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "kernels/beamform/beamform.h"
#include "kernels/channelise/channelise.h"
#include "kernels/common/spectra/spectra.h"
#include "libcore/array/gains.h"
#include "libcore/base/error.h"
#include "libcore/cli/filterbank_options.h"
#include "libcore/formats/fits/image.h"
#include "libcore/measures/beam_tracker.h"
#include "libcore/measures/coordinates.h"
#include "libcore/system/program_memory.h"
#include "libcore/voltage/array_delays.h"
#include "libcore/voltage/voltage_pipeline.h"
#include "tools/beamform/beams.h"
#include "tools/beamform/gpu_plan.h"

namespace apsyn {
namespace {

void check_options(const BeamformOptions& options, const VoltageHeader& header) {
  const bool voltages = options.product() == BeamProduct::voltage;
  if (!options.pattern.empty() && options.incoherent)
    throw UsageError("--pattern: an incoherent beam has the pattern of its antennas: leave --incoherent out");
  if (!(options.field_rad > 0)) throw UsageError("--field: must be positive");
  if (!options.format.empty() && voltages != (options.format == "dada"))
    throw UsageError("--format {}: {}", options.format,
                     voltages ? "voltages are written as dada"
                              : "detected products are written as sigproc; dada takes --product voltage");
  if (voltages && (options.n_integrate > 1 || options.n_average > 1))
    throw UsageError("--product voltage: nothing can be averaged: leave --integrate and --average-channels");
  if (voltages && options.incoherent)
    throw UsageError("--product voltage: an incoherent beam has powers only: give another product");
  if (header.n_pol == 1 &&
      (options.product() == BeamProduct::iquv || options.product() == BeamProduct::coherence))
    throw UsageError("--product {}: the stream has one polarisation only: give power or voltage",
                     options.product_name);
  check_average(options, header.n_chan);
}

/// What the table of beams says of one.
std::vector<std::uint8_t> antennas_of_beam(const BeamformOptions& options, const BeamformSetup& setup,
                                           std::size_t beam) {
  try {
    return antennas_of(setup.header.layout, setup.beams[beam].antennas);
  } catch (const UsageError& error) {
    throw DataError("{}: beam '{}': {}", options.beams, setup.beams[beam].id, error.what());
  }
}

/// Members of each beam, and weights that leave each of them something.
void plan_antennas(const BeamformOptions& options, const OpenedVoltages& voltages, BeamformSetup& setup) {
  BeamformPlan& b = setup.b;
  const std::vector<std::uint8_t> all = antennas_of(setup.header.layout, options.subarray);
  setup.chosen.resize({b.n_beam, b.n_ant});
  for (std::size_t beam = 0; beam < b.n_beam; ++beam) {
    const auto of_beam = antennas_of_beam(options, setup, beam);
    std::size_t n = 0;
    for (std::size_t ant = 0; ant < b.n_ant; ++ant) n += setup.chosen(beam, ant) = all[ant] && of_beam[ant];
    if (n == 0) throw UsageError("beam '{}': no antennas are left in it", setup.beams[beam].id);
  }
  BeamGains gains = beam_gains(setup, voltages);
  b.member = std::move(gains.member);
  if (voltages.has_gains) b.calibration = std::move(gains.calibration);
  if (options.weights.empty()) return;
  b.weights = read_weights_csv(options.weights, setup.header.layout, b.n_pol, b.n_chan);
  for (std::size_t beam = 0; beam < b.n_beam; ++beam)
    for (std::size_t pol = 0; pol < b.n_pol; ++pol) {
      bool any = false;
      for (std::size_t ant = 0; ant < b.n_ant; ++ant)
        for (std::size_t chan = 0; chan < b.n_chan; ++chan)
          any |= setup.chosen(beam, ant) != 0 && b.weights(ant, pol, chan) != 0.0;
      if (!any)
        throw UsageError("--weights {}: beam '{}' has no antenna with weight in polarisation {}",
                         options.weights, setup.beams[beam].id, pol);
    }
}

/// What the process takes by itself.
constexpr std::uint64_t kBeamformBytes = 30'000'000;

/// Blocks, batches and memory. Nothing here changes a result.
void plan_memory(BeamformSetup& setup, std::uint64_t max_memory_bytes) {
  const VoltageHeader& header = setup.header;
  const BeamformPlan& b = setup.b;
  const std::uint64_t sample_bytes = std::uint64_t{2} * header.n_chan * header.n_ant * header.n_pol *
                                     (header.n_bit <= 8 ? sizeof(std::int8_t) : sizeof(float));
  const std::uint64_t time_bytes = std::uint64_t{4} * b.n_beam * b.n_out_channel() * b.n_value();
  const std::uint64_t chan_bytes =
      std::uint64_t{b.n_fine} * panel_count(b.n_input()) * 2 * kPanelInputs * sizeof(float);
  const std::size_t whole = b.n_average / std::gcd(b.n_average, b.n_fine);  // input channels of an average
  const std::int64_t delays = setup.align() ? delay_reach(header, header.layout) : 4;
  const auto reach = static_cast<std::uint64_t>(delays) + setup.f.n_span();
  const std::uint64_t unit = std::max<std::uint64_t>(1, header.missing_samples);
  for (std::uint64_t cache = 8u << 20;; cache /= 2) {
    const std::uint64_t out_times_bytes = time_bytes / std::min<std::uint64_t>(b.n_integrate, 1024) + 1;
    const std::uint64_t spectra = std::min(cache / chan_bytes / whole, 4 * cache / out_times_bytes);
    setup.block_spectra = static_cast<std::size_t>(
        std::clamp<std::uint64_t>(spectra / kTileSpectra * kTileSpectra, kTileSpectra, 512));
    setup.batch_chan = static_cast<std::size_t>(std::clamp<std::uint64_t>(
        cache / (chan_bytes * setup.block_spectra) / whole * whole, whole, b.n_chan));
    const std::uint64_t block_samples = setup.block_spectra * setup.f.n_sample;
    const std::uint64_t gulp = std::max(unit, (block_samples + unit - 1) / unit * unit);
    setup.gulp_samples = static_cast<std::size_t>(gulp);
    // Of each gulp, and two at the ends of the stream.
    const std::uint64_t out_bytes = (kStreamItems * ((gulp + block_samples - 1) / block_samples) + 2) *
                                    (setup.block_spectra / b.n_integrate + 1) * time_bytes;
    const std::int64_t n = setup.n_samples;
    // Outputs of the whole stream, where its length is known: an upper limit.
    const std::int64_t all_out = n < 0
                                     ? -1
                                     : (n / static_cast<std::int64_t>(setup.f.n_sample * b.n_integrate) + 1) *
                                           static_cast<std::int64_t>(time_bytes);
    const std::uint64_t outs = filled(out_bytes, all_out);
    const std::uint64_t spectra_bytes = chan_bytes * (setup.block_spectra + 1) * setup.batch_chan;
    setup.memory_bytes =
        beamformer_bytes(b) + channeliser_bytes(setup.f) + spectra_bytes +
        (filled(kStreamItems * gulp, n) + 2 * filled(gulp, n) + 2 * filled(gulp + block_samples + reach, n)) *
            sample_bytes +
        outs + kBeamformBytes + cuda_program_bytes();
    if (setup.n_bit == 8) setup.memory_bytes += outs / 4 + 256 * time_bytes;
    if (setup.memory_bytes <= max_memory_bytes) return;
    if (cache <= 64u << 10)
      throw UsageError(
          "{}", memory_shortage(max_memory_bytes, static_cast<double>(setup.memory_bytes), "these beams need",
                                "allow more, or make fewer beams or channels"));
  }
}

/// A pattern is made and written as a whole.
void plan_pattern_memory(const BeamformOptions& options, BeamformSetup& setup,
                         std::uint64_t max_memory_bytes) {
  const std::uint64_t n_pixels = std::uint64_t{options.size} * options.size;
  setup.memory_bytes = n_pixels * sizeof(double) +
                       fits_writing_bytes(n_pixels, sizeof(float), setup.b.n_threads) + kBeamformBytes +
                       cuda_program_bytes();
  if (setup.memory_bytes > max_memory_bytes)
    throw UsageError("--size {}: {}", options.size,
                     memory_shortage(max_memory_bytes, static_cast<double>(setup.memory_bytes),
                                     "this pattern needs", "allow more, or make it smaller"));
}

}  // namespace

std::int64_t margin_of(const BeamformOptions& options, const VoltageHeader& header,
                       const ArrayLayout& layout) {
  if (options.n_fine == 1 || options.incoherent)
    return range_margin(header, {}, options.n_fine, options.n_taps);
  return range_margin(header, layout, options.n_fine, options.n_taps);
}

BeamGains beam_gains(const BeamformSetup& setup, const OpenedVoltages& voltages) {
  const std::vector<std::uint8_t> without = antennas_without_gains(voltages.gains);
  BeamGains gains;
  gains.member.resize(setup.chosen.shape());
  for (std::size_t beam = 0; beam < setup.chosen.extent(0); ++beam)
    for (std::size_t ant = 0; ant < without.size(); ++ant)
      gains.member(beam, ant) = setup.chosen(beam, ant) != 0 && without[ant] == 0;
  gains.calibration = inverse_gains(voltages.gains);
  return gains;
}

BeamformSetup make_setup(Tool& tool, const BeamformOptions& options, OpenedVoltages& voltages,
                         const Device& device) {
  const std::string& name = voltages.reader.name();
  BeamformSetup setup;
  setup.header = voltages.reader.header();
  setup.header.layout = voltages.layout;
  const VoltageHeader& header = setup.header;
  check_options(options, header);
  check_real_samples(header.n_dim, options.n_fine, name);
  if (!options.incoherent && !voltages.has_positions)
    throw UsageError("{}: the stream does not say where its antennas stand: give --antennas or --metafits",
                     name);
  if (!options.incoherent && !header.layout.site)
    throw UsageError("{}: the stream does not say where the array is: give --site LAT,LON,ALT", name);
  setup.beams = beams_of(options, header);
  if (header.layout.site) setup.sky = std::make_shared<const SkyFrame>(*header.layout.site);
  if (!options.incoherent) warn_of_horizon(setup.beams, setup.sky.get(), header.start);
  setup.f = plan_channelise(header, options.n_fine, tool.common().threads, filterbank_of(options));
  setup.f.first_sample = options.voltage.first_sample;
  setup.f.codes = true;
  voltages.divide_channels(setup.f.channel_hz());
  setup.spectrum_s = static_cast<double>(setup.f.n_sample) * header.sample_s;
  setup.n_samples = voltages.n_samples;
  if (options.voltage.n_samples >= 0)
    setup.f.n_spectra = options.voltage.n_samples / static_cast<std::int64_t>(setup.f.n_sample);
  BeamformPlan& b = setup.b;
  b.n_chan = header.n_chan;
  b.n_fine = options.n_fine;
  b.n_ant = header.n_ant;
  b.n_pol = header.n_pol;
  b.n_beam = setup.beams.size();
  b.channel_hz = setup.f.channel_hz();
  b.circular = header.pol_basis == "RL";
  b.spectrum_s = setup.spectrum_s;
  // steering counts from the stream's first sample, so that a range is steered as the whole is
  const auto length = static_cast<std::int64_t>(setup.f.n_sample);
  b.first_spectrum = setup.f.first_sample / length;
  b.first_middle_s =
      (static_cast<double>(setup.f.first_sample % length) + (static_cast<double>(length) - 1) / 2) *
      header.sample_s;
  b.product = options.product();
  b.incoherent = options.incoherent;
  b.n_integrate = options.n_integrate;
  b.n_average = options.n_average;
  b.scale = header.scale;
  b.n_threads = tool.common().threads;
  plan_antennas(options, voltages, setup);
  if (!options.incoherent) {
    const BeamTracker tracker(header.layout, header.start, setup.beams, header.phase_centre, setup.align());
    setup.max_rate = tracker.max_rate();
    const double highest_hz = *std::max_element(b.channel_hz.begin(), b.channel_hz.end());
    b.update_spectra = steering_interval(setup.max_rate, highest_hz, setup.spectrum_s, kPhaseError_rad);
  }
  setup.n_bit = options.n_bit != 0 ? options.n_bit : b.product == BeamProduct::voltage ? 8 : 32;
  setup.on_gpu = device.kind == Device::Kind::cuda;
  if (!setup.on_gpu && (options.precision == "half" || options.precision == "int16"))
    throw UsageError("--precision {}: integer weights are of a GPU: give --device cuda, or leave it out",
                     options.precision);
  if (setup.on_gpu)
    plan_gpu(options, device, voltages.reader.keeps_4bit(), setup, tool.common().max_memory_bytes);
  else if (options.pattern.empty())
    plan_memory(setup, tool.common().max_memory_bytes);
  else
    plan_pattern_memory(options, setup, tool.common().max_memory_bytes);
  return setup;
}

}  // namespace apsyn
