// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/beamform/describe.h"

#include <cmath>
#include <cstddef>

#include "kernels/beamform/beam_engine.h"
#include "kernels/beamform/beamform.h"
#include "kernels/channelise/channelise_cuda.h"
#include "libcore/base/constants.h"
#include "libcore/base/units.h"
#include "libcore/cli/voltage_options.h"
#include "libcore/voltage/array_delays.h"
#include "libcore/voltage/voltage.h"

namespace apsyn {

std::string describe(const BeamDirection& beam) {
  if (beam.sky)
    return fmt::format("{} {}, tracked", format_right_ascension(beam.sky->ra_rad, 2),
                       format_declination(beam.sky->dec_rad, 1));
  return fmt::format("azimuth {} deg, elevation {:.4f} deg, fixed", format_azimuth(beam.enu, 4),
                     elevation_of(beam.enu) / kRadPerDeg);
}

std::vector<std::string> describe(const BeamformSetup& setup) {
  const VoltageHeader& header = setup.header;
  const BeamformPlan& b = setup.b;
  std::vector<std::string> lines;
  lines.push_back(describe(setup.header));
  lines.push_back(describe(setup.f));
  lines.push_back(
      fmt::format("output: {} {} beams, {} channels of {}, {} values each, one every {}, {} bits", b.n_beam,
                  b.incoherent ? "incoherent" : "coherent", b.n_out_channel(),
                  format_frequency(std::abs(setup.f.channel_step_hz()) * static_cast<double>(b.n_average)),
                  b.n_value(), format_duration(setup.output_s()), setup.n_bit));
  for (std::size_t beam = 0; beam < b.n_beam; ++beam) {
    if (b.n_beam > 12 && beam == 10) {
      lines.push_back(fmt::format("... and {} more beams", b.n_beam - beam));
      break;
    }
    std::size_t n = 0;
    for (std::size_t ant = 0; ant < b.n_ant; ++ant) n += b.member(beam, ant);
    lines.push_back(fmt::format("beam {}: {}, {} antennas", setup.beams[beam].id,
                                b.incoherent ? std::string("powers added") : describe(setup.beams[beam]), n));
  }
  if (!b.incoherent) {
    const double farthest_s = longest_baseline_m(header.layout) / 2 / kSpeedOfLight_m_s;
    lines.push_back(
        fmt::format("delays: {}; a beam near the horizon loses up to {:.2g} of its voltage over a channel",
                    setup.align() ? "true towards the middle of the beams, phases from there" : "phases",
                    winding_loss(farthest_s * std::abs(setup.f.channel_step_hz()))));
    lines.push_back(
        b.update_spectra == kNeverSteered
            ? std::string("weights: constant")
            : fmt::format("weights: new every {}, phases within {:.1g} rad",
                          format_duration(static_cast<double>(b.update_spectra) * setup.spectrum_s),
                          kPhaseError_rad));
  }
  if (setup.gulp_samples == 0)
    lines.push_back(
        fmt::format("memory: {} for a pattern", format_bytes(static_cast<double>(setup.memory_bytes))));
  else
    lines.push_back(describe_blocks(setup.memory_bytes, setup.gulp_samples, setup.block_spectra,
                                    setup.batch_chan * b.n_fine));
  if (setup.on_gpu)
    lines.push_back(
        fmt::format("on the GPU: {}, weights of {}",
                    format_bytes(static_cast<double>(cuda_channeliser_device_bytes(setup.cuda) +
                                                     cuda_beam_device_bytes(b, setup.beams_on_gpu))),
                    setup.beams_on_gpu.precision == BeamPrecision::half    ? "8 bits"
                    : setup.beams_on_gpu.precision == BeamPrecision::int16 ? "16 bits"
                                                                           : "32 bits"));
  return lines;
}

}  // namespace apsyn
