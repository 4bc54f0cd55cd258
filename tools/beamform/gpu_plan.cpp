// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/beamform/gpu_plan.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

#include "kernels/beamform/beam_engine.h"
#include "kernels/beamform/beamform.h"
#include "kernels/channelise/channelise_cuda.h"
#include "libcore/base/error.h"
#include "libcore/system/program_memory.h"
#include "libcore/voltage/voltage.h"

namespace apsyn {
namespace {

/// Weights of 8 bits by default where samples are integers already; spectra are made integers on request.
BeamPrecision precision_of(const BeamformOptions& options, const Device& device, const BeamformSetup& setup) {
  const bool half = options.precision == "half", int16 = options.precision == "int16";
  if ((half || int16) && options.incoherent)
    throw UsageError("--precision {}: incoherent beams take no integer weights: leave it out",
                     options.precision);
  if (int16) return BeamPrecision::int16;
  if (half || (options.precision == "auto" && setup.cuda.untouched(setup.align()) && !options.incoherent &&
               cuda_beams_of_int8(device.index)))
    return BeamPrecision::half;
  return BeamPrecision::single;
}

}  // namespace

void plan_gpu(const BeamformOptions& options, const Device& device, bool four_bit, BeamformSetup& setup,
              std::uint64_t max_memory_bytes) {
  const VoltageHeader& header = setup.header;
  const BeamformPlan& b = setup.b;
  setup.cuda.f = setup.f;
  setup.cuda.integer = header.n_bit <= 8;
  setup.cuda.four_bit = four_bit;
  setup.beams_on_gpu.precision = precision_of(options, device, setup);
  if (setup.beams_on_gpu.precision != BeamPrecision::single && !setup.cuda.untouched(setup.align())) {
    constexpr double kScales_s = 1;  // new ones so often, counted in whole tiles of the sums
    const auto tiles = static_cast<std::int64_t>(kScales_s / setup.spectrum_s / 128);
    setup.cuda.requantisation.n_bit = 8;
    setup.cuda.n_spectra = setup.beams_on_gpu.scale_spectra = 128 * std::max<std::int64_t>(1, tiles);
  }
  setup.batch_chan = b.n_chan;
  const std::uint64_t sample_bytes = std::uint64_t{2} * header.n_chan * header.n_ant * header.n_pol *
                                     (header.n_bit <= 8 ? sizeof(std::int8_t) : sizeof(float));
  const std::uint64_t time_bytes = std::uint64_t{4} * b.n_beam * b.n_out_channel() * b.n_value();
  const std::size_t unit = std::max<std::size_t>(1, header.missing_samples);
  const std::size_t whole = std::lcm(unit, 128 * setup.f.n_sample);  // fills the tiles of the sums
  for (std::uint64_t bytes = 64u << 20;; bytes /= 2) {
    const std::size_t gulp = cuda_gulp_samples(setup.cuda, bytes, setup.n_samples);
    setup.gulp_samples = gulp >= whole ? gulp / whole * whole : (gulp + unit - 1) / unit * unit;
    setup.cuda.gulp_samples = setup.gulp_samples;
    setup.block_spectra = cuda_beam_batch(b, cuda_max_spectra(setup.cuda), bytes);
    setup.beams_on_gpu.batch_spectra = setup.block_spectra;
    const std::uint64_t out_bytes = (setup.gulp_samples / setup.f.n_sample / b.n_integrate + 2) * time_bytes;
    constexpr std::uint64_t kItems = 5;  // of run_pipeline with a depth of 1
    setup.memory_bytes = kItems * (setup.gulp_samples * sample_bytes + out_bytes) + 2 * out_bytes +
                         cuda_channeliser_host_bytes(setup.cuda) +
                         cuda_beam_host_bytes(b, setup.block_spectra) + (std::uint64_t{32} << 20);
    if (setup.n_bit == 8) setup.memory_bytes += kItems * out_bytes / 4 + 256 * time_bytes;
    if (setup.memory_bytes <= max_memory_bytes) return;
    if (bytes <= 64u << 10)
      throw UsageError(
          "{}", memory_shortage(max_memory_bytes, static_cast<double>(setup.memory_bytes), "these beams need",
                                "allow more, or make fewer beams or channels"));
  }
}

}  // namespace apsyn
