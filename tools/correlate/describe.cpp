// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/correlate/describe.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/channelise/channelise_cuda.h"
#include "kernels/correlate/fx_engine.h"
#include "libcore/base/constants.h"
#include "libcore/base/units.h"
#include "libcore/cli/voltage_options.h"
#include "libcore/visibility/visibility.h"
#include "libcore/voltage/array_delays.h"
#include "libcore/voltage/voltage.h"

namespace apsyn {

std::vector<std::string> describe(const CorrelatePlan& plan) {
  const VoltageHeader& header = plan.header;
  const VisibilityHeader& out = plan.visibilities;
  const double longest_m = longest_baseline_m(header.layout);
  const double width_hz = std::abs(out.channel_width_hz);
  const double centre_hz = out.channel_hz[out.channel_hz.size() / 2];
  std::vector<std::string> lines;
  lines.push_back(describe(header));
  lines.push_back(describe(plan.f));
  lines.push_back(
      fmt::format("output: {} baselines, {} channels of {}, {} products, integrations of {} ({} spectra)",
                  out.baselines.size(), out.channel_hz.size(), format_frequency(width_hz),
                  out.products.size(), format_duration(out.integration_s), plan.integration.n_spectra));
  if (out.phase_centre)
    lines.push_back(fmt::format("phase centre: {} {}{}", format_right_ascension(out.phase_centre->ra_rad, 2),
                                format_declination(out.phase_centre->dec_rad, 1),
                                plan.target.centre ? "" : ", as the stream was tracked"));
  else
    lines.push_back("phase centre: none, drift scan phased to the zenith");
  lines.push_back(
      fmt::format("longest baseline {:.1f} m: a source 90 deg from the phase centre loses up to {:.2g} over "
                  "a channel; one 1 deg "
                  "from it {:.2g} over an integration",
                  longest_m, winding_loss(width_hz * longest_m / kSpeedOfLight_m_s),
                  winding_loss(centre_hz * longest_m / kSpeedOfLight_m_s * kEarthRotation_rad_s * kRadPerDeg *
                               out.integration_s)));
  lines.push_back(describe_blocks(plan.memory_bytes, plan.gulp_samples, plan.integration.block_spectra,
                                  plan.integration.batch_chan * plan.f.n_fine));
  if (plan.on_gpu) {
    const std::size_t n_spectra = cuda_max_spectra(plan.cuda);
    const std::uint64_t bytes =
        cuda_channeliser_device_bytes(plan.cuda) + cuda_fx_device_bytes(plan.x, plan.mean, n_spectra);
    lines.push_back(fmt::format("on the GPU: {}, {} samples and up to {} spectra at a time",
                                format_bytes(static_cast<double>(bytes)), plan.cuda.gulp_samples, n_spectra));
  }
  return lines;
}

}  // namespace apsyn
