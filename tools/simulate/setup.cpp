// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/simulate/setup.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/simulate/emitters.h"
#include "kernels/simulate/pulsar.h"
#include "libcore/array/array_layout.h"
#include "libcore/base/constants.h"
#include "libcore/base/csv.h"
#include "libcore/base/error.h"
#include "libcore/base/units.h"
#include "libcore/cli/tool.h"
#include "libcore/sky/sky_model.h"
#include "libcore/system/program_memory.h"
#include "libcore/visibility/visibility.h"
#include "libcore/voltage/array_delays.h"
#include "libcore/voltage/voltage.h"
#include "libcore/voltage/voltage_pipeline.h"
#include "tools/simulate/gain_tracks.h"

namespace apsyn {
namespace {

/// --pulsar P,DM,DUTY[,NAME]. A plain P is in seconds, as pulsar tables give it.
simulate::PulsarSignal parse_pulsar(const std::string& text, const SkyModel& sky) {
  const std::vector<std::string_view> pieces = split(text, ',');
  const auto refuse = [&](const std::string& why) {
    throw UsageError("--pulsar {}: {}: write for example 714.52ms,26.76,0.02", text, why);
  };
  if (pieces.size() != 3 && pieces.size() != 4) refuse("give period, dispersion measure and duty cycle");
  simulate::PulsarSignal pulsar;
  const auto number = [&](std::string_view piece) {
    const std::optional<double> value = finite_number(piece);
    if (!value) refuse(fmt::format("'{}' is no number", piece));
    return *value;
  };
  pulsar.period_s = finite_number(pieces[0]) ? number(pieces[0]) : parse_duration(pieces[0]);
  pulsar.dm_pc_cm3 = number(pieces[1]);
  pulsar.duty = number(pieces[2]);
  if (!(pulsar.period_s > 0)) refuse("the period must be positive");
  if (!(std::abs(pulsar.dm_pc_cm3) <= 1e5)) refuse("a dispersion measure is at most 100000");
  if (!(pulsar.duty > 0 && pulsar.duty <= 0.5)) refuse("a duty cycle is above 0 and at most 0.5");
  if (sky.components.empty()) refuse("there is no sky model with a source that could pulse");
  if (pieces.size() == 3) return pulsar;
  const auto named = std::find_if(sky.components.begin(), sky.components.end(),
                                  [&](const SkyComponent& component) { return component.name == pieces[3]; });
  if (named == sky.components.end()) refuse(fmt::format("the sky model has no component '{}'", pieces[3]));
  pulsar.component = static_cast<std::size_t>(named - sky.components.begin());
  return pulsar;
}

/// What the process takes by itself.
constexpr double kSimulateBytes = 40e6;

}  // namespace

simulate::VoltageSetup voltage_setup(const SimulateOptions& options, const Scene& scene) {
  simulate::VoltageSetup setup;
  setup.freq_hz = options.freq_hz;
  setup.bandwidth_hz = options.bandwidth_hz;
  setup.n_chan = options.n_chan;
  setup.antenna_enu_m = scene.antenna_enu_m();
  for (const Antenna& antenna : scene.layout.antennas) setup.cable_delay_s.push_back(antenna.cable_delay_s);
  setup.sky = scene.sky;
  const double highest_hz = options.freq_hz + 0.5 * options.bandwidth_hz;
  setup.emitters =
      simulate::make_emitters(scene.sky, longest_baseline_m(scene.layout) * highest_hz / kSpeedOfLight_m_s,
                              options.freq_hz, options.sky);
  if (!options.pulsar.empty()) setup.pulsar = parse_pulsar(options.pulsar, scene.sky);
  setup.sefd_jy = options.sefd_jy;
  if (!options.gains.empty()) setup.gains = read_gain_tracks(options.gains, scene.layout);
  setup.seed = options.seed;
  setup.n_bit = options.n_bit;
  setup.dropped_fraction = options.drop;
  setup.blocks_in_flight = kStreamItems;
  setup.n_samples =
      std::llround(options.duration_s * options.bandwidth_hz / static_cast<double>(options.n_chan));
  return setup;
}

VoltageHeader voltage_header(const Tool& tool, const SimulateOptions& options, const Scene& scene,
                             const simulate::VoltagePlan& plan) {
  VoltageHeader header;
  header.telescope = scene.layout.telescope;
  header.source = scene.source;
  header.start = scene.start;
  header.freq_hz = options.freq_hz;
  header.bandwidth_hz = options.bandwidth_hz;
  header.sample_s = 1 / plan.sample_rate_hz;
  header.n_bit = options.n_bit;
  header.n_chan = options.n_chan;
  header.n_ant = scene.layout.antennas.size();
  header.n_pol = 2;
  header.encoding = options.n_bit == 32 ? SampleEncoding::floating : SampleEncoding::twos_complement;
  header.scale = plan.scale;
  header.flux_unit = FluxUnit::jansky;
  header.scale_gain = plan.step / plan.scale;
  header.layout = scene.layout;
  header.history = tool.provenance();
  return header;
}

void print_plan(Tool& tool, const SimulateOptions& options, const Scene& scene,
                const simulate::VoltagePlan& plan, std::int64_t n_samples) {
  tool.print(fmt::format("{} antennas, {} channels of {}, {} samples of {} bits, {} in all",
                         scene.layout.antennas.size(), options.n_chan, format_frequency(plan.sample_rate_hz),
                         n_samples, options.n_bit,
                         format_bytes(double(n_samples) * double(plan.time_bytes))));
  tool.print(fmt::format("blocks of {} samples from transforms of {}, {} terms", plan.hop, plan.n_fft,
                         plan.order + 1));
}

void check_memory(Tool& tool, double bytes, const std::string& cure) {
  bytes += kSimulateBytes;
  const std::uint64_t most = tool.common().max_memory_bytes;
  if (bytes > static_cast<double>(most))
    throw UsageError("{}", memory_shortage(most, bytes, "this needs", "allow more, or " + cure));
  if (tool.common().dry_run) tool.print(fmt::format("memory: {}", format_bytes(bytes)));
}

simulate::VisibilitySetup visibility_setup(const SimulateOptions& options, const Scene& scene) {
  simulate::VisibilitySetup setup;
  setup.channel_width_hz = options.bandwidth_hz / static_cast<double>(options.n_chan);
  for (std::size_t chan = 0; chan < options.n_chan; ++chan)
    setup.channel_hz.push_back(options.freq_hz - 0.5 * options.bandwidth_hz +
                               (static_cast<double>(chan) + 0.5) * setup.channel_width_hz);
  setup.integration_s = options.integration_s;
  setup.antenna_enu_m = scene.antenna_enu_m();
  setup.baselines = all_baselines(setup.antenna_enu_m.size(), false);
  setup.products = parse_products(options.products);
  setup.sky = scene.sky;
  setup.sefd_jy = options.sefd_jy;
  setup.seed = options.seed;
  if (setup.baselines.empty()) throw UsageError("--array: {}: one antenna has no baselines", options.array);
  return setup;
}

MsDescription ms_description(const Tool& tool, const Scene& scene, const simulate::VisibilitySetup& setup,
                             const SkyDirection& phase_centre) {
  MsDescription description;
  description.telescope = scene.layout.telescope;
  description.source = scene.source;
  description.layout = scene.layout;
  description.phase_centre = phase_centre;
  if (scene.field) description.pointing = scene.field->pointing;
  description.channel_hz = setup.channel_hz;
  description.channel_width_hz = setup.channel_width_hz;
  description.products = setup.products;
  description.history = tool.provenance();
  return description;
}

simulate::RandomIonosphere ionosphere_setup(const SimulateOptions& options) {
  simulate::RandomIonosphere setup;
  setup.rms_tecu = options.tec_rms_tecu;
  setup.outer_scale_m = options.outer_scale_m;
  setup.height_m = options.screen_height_m;
  setup.size_m = options.screen_size_m;
  setup.spacing_m = options.screen_spacing_m;
  setup.step_s = options.screen_interval_s;
  setup.first_mjd_s = parse_start(options).mjd_seconds() + 0.5 * setup.step_s;
  const double n_steps = std::ceil(options.duration_s / setup.step_s * (1 - 1e-12));
  constexpr double kMaxSteps = 1e6;
  if (!(n_steps <= kMaxSteps))
    throw UsageError("--screen-interval: {}: more than {:.0f} screens in {}", format_duration(setup.step_s),
                     kMaxSteps, format_duration(options.duration_s));
  setup.n_steps = static_cast<std::size_t>(n_steps);
  setup.seed = options.seed;
  return setup;
}

}  // namespace apsyn
