// SPDX-License-Identifier: GPL-3.0-or-later
// simulate: sky model + array -> voltage stream, or visibilities into a Measurement Set; random ionospheres.
#include <algorithm>
#include <memory>
#include <optional>

#include "libcore/aterms/aterms.h"
#include "libcore/files/output.h"
#include "libcore/formats/beam_files/beam_files.h"
#include "libcore/formats/fits/ionosphere.h"
#include "libcore/system/parallel.h"
#include "libcore/visibility/stokes.h"
#include "libcore/voltage/array_delays.h"
#include "tools/imaging/components/component_sums.h"
#include "tools/simulate/emitter_sight.h"
#include "tools/simulate/live_clock.h"
#include "tools/simulate/options.h"
#include "tools/simulate/setup.h"
#include "tools/simulate/sky_over_site.h"
#include "tools/simulate/visibility_sums.h"

namespace apsyn {
namespace {

/// Of --live: longer than busy processors delay a recorder's packets.
constexpr double kLate_s = 0.5;

struct Block {
  std::int64_t index = 0;
  std::size_t n_time = 0;
  simulate::BlockDirections directions;
  std::vector<std::uint8_t> stream;  ///< [time][chan][ant][pol], encoded
};

/// Of --aterms; null without.
std::unique_ptr<AtermModel> open_aterms_of(const SimulateOptions& options, const Scene& scene,
                                           bool are_circular) {
  if (options.aterms.empty()) return nullptr;
  set_beam_data_folder(options.beam_data);
  ArrayTables tables;
  if (!options.like.empty()) tables.sets = {options.like};
  return open_aterms(options.aterms, scene.layout, are_circular, tables);
}

void run_voltages(Tool& tool, const SimulateOptions& options, const Scene& scene) {
  const unsigned n_threads = tool.common().threads;
  const SkyFrame frame(*scene.layout.site);
  simulate::VoltageSetup setup = voltage_setup(options, scene);
  if (scene.ionosphere)
    setup.ionosphere_rate_rad_s = ionosphere_rate_rad_s(frame, scene, setup.emitters, options.duration_s,
                                                        options.freq_hz - 0.5 * options.bandwidth_hz);
  std::optional<EmitterSight> sight;
  const std::unique_ptr<AtermModel> aterms = open_aterms_of(options, scene, false);
  if (aterms) {
    const UtcTime half = sample_time(scene.start, 1, 0.5 * options.duration_s);
    sight.emplace(*aterms, setup, scene.field ? scene.field->phase_centre : frame.zenith(half), n_threads);
    setup.received = sight->received(half.mjd_seconds());
  }
  const simulate::VoltagePlan plan = plan_voltages(setup, n_threads);
  const double sample_s = 1 / plan.sample_rate_hz;
  const std::int64_t n_samples = std::llround(options.duration_s / sample_s);
  if (n_samples < 1)
    throw UsageError("--duration: {}: shorter than a sample", format_duration(options.duration_s));
  const UtcTime middle = sample_time(scene.start, n_samples / 2, sample_s);
  check_horizon(frame, middle, scene, options.sefd_jy);
  if (tool.common().dry_run) {
    for (const std::string& line : describe_sky(frame, middle, scene.sky, options.freq_hz)) tool.print(line);
    print_plan(tool, options, scene, plan, n_samples);
  }
  check_memory(tool, double(plan.memory_bytes) + (sight ? sight->bytes() : 0),
               "simulate fewer channels or antennas");
  if (tool.common().dry_run) return;

  VoltageWriter writer(tool.common().output, voltage_header(tool, options, scene, plan),
                       tool.common().overwrite);
  const std::vector<simulate::Emitter> emitters = setup.emitters;
  simulate::VoltageSimulator simulator(std::move(setup), plan, n_threads);
  const std::int64_t hop = static_cast<std::int64_t>(plan.hop), n_blocks = (n_samples + hop - 1) / hop;
  std::vector<Vec3> at_edge = emitter_directions(frame, scene.start, emitters);
  const auto see_through = [&](simulate::BlockDirections& directions, std::int64_t block) {
    const double middle_mjd_s = middle_of_block(scene.start, sample_s, block, hop, n_samples).mjd_seconds();
    if (sight) directions.jones = sight->at(middle_mjd_s);
    if (!scene.ionosphere) return;
    const std::size_t step = scene.ionosphere->step_of(middle_mjd_s);
    const auto& antennas = scene.layout.antennas;
    directions.start_tec_tecu = tec_along_rays(*scene.ionosphere, step, antennas, directions.start);
    directions.end_tec_tecu = tec_along_rays(*scene.ionosphere, step, antennas, directions.end);
  };
  std::int64_t next = 0;
  LiveClock clock;
  Progress progress(tool, "simulating", static_cast<double>(n_samples) * sample_s, "s of data");
  run_pipeline<Block>(
      1, [] { return Block(); },
      [&](Block& block) {
        if (next == n_blocks) return false;
        block.index = next++;
        block.n_time = static_cast<std::size_t>(std::min(hop, n_samples - block.index * hop));
        block.directions.start = at_edge;
        at_edge = emitter_directions(frame, sample_time(scene.start, next * hop, sample_s), emitters);
        block.directions.end = at_edge;
        see_through(block.directions, block.index);
        return true;
      },
      [&](Block& block) {
        block.stream.resize(block.n_time * plan.time_bytes);
        simulator.simulate(block.index, block.directions, block.n_time, block.stream);
      },
      [&](const Block& block) {
        const std::size_t piece =
            options.live ? std::max<std::size_t>(1, static_cast<std::size_t>(LiveClock::kPiece_s / sample_s))
                         : block.n_time;
        for (std::size_t first = 0; first < block.n_time; first += piece) {
          const std::size_t n = std::min(piece, block.n_time - first);
          const double end_s =
              static_cast<double>(block.index * hop + static_cast<std::int64_t>(first + n)) * sample_s;
          if (options.live) clock.wait_until(end_s);
          writer.write(block.stream.data() + first * plan.time_bytes, n * plan.time_bytes);
          progress.update(end_s);
        }
      });
  writer.commit();
  if (clock.late_s() > kLate_s)
    log_warning("--live: samples came up to {} late: simulate fewer channels or antennas",
                format_duration(clock.late_s()));
  tool.report_rate(static_cast<double>(n_samples) * sample_s, "s of data");
}

void run_visibilities(Tool& tool, const SimulateOptions& options, const Scene& scene) {
  const SkyFrame frame(*scene.layout.site);
  const simulate::VisibilitySetup setup = visibility_setup(options, scene);
  const std::int64_t n_integrations =
      static_cast<std::int64_t>(options.duration_s / options.integration_s + 1e-6);
  if (n_integrations < 1)
    throw UsageError("--integration: {}: longer than --duration", format_duration(options.integration_s));
  const UtcTime middle = sample_time(scene.start, n_integrations, 0.5 * options.integration_s);
  check_horizon(frame, middle, scene, options.sefd_jy);
  const SkyDirection phase_centre =
      scene.field && !options.given("--phase-centre") ? scene.field->phase_centre
      : options.phase_centre == "zenith"              ? frame.zenith(middle)
                                                      : parse_sky_direction(options.phase_centre);
  const std::unique_ptr<AtermModel> aterms = open_aterms_of(options, scene, are_circular(setup.products));
  const auto time_of = [&](std::int64_t index) {
    return sample_time(scene.start, 2 * index + 1, 0.5 * options.integration_s);
  };
  if (scene.ionosphere)  // whether it covers the observation is known at its ends
    for (const std::int64_t index : {std::int64_t{0}, n_integrations - 1})
      sky_rotations(frame, time_of(index), scene, phase_centre);
  // Terms a second and core, measured with 1000 components and MWA-128T: through matrices, and without.
  const double rate = aterms || scene.ionosphere ? 2.6e6 : 1.1e7;
  const double n_terms =
      double(setup.baselines.size() * options.n_chan * scene.sky.components.size()) * double(n_integrations);
  const VisibilitySumsSetup sums_setup{phase_centre, aterms.get(), scene.ionosphere.has_value(),
                                       imaging::component_device(tool, n_terms, rate), tool.common().threads};
  if (tool.common().dry_run) {
    for (const std::string& line : describe_sky(frame, middle, scene.sky, options.freq_hz)) tool.print(line);
    tool.print(fmt::format("{} baselines, {} channels, {} products, {} integrations", setup.baselines.size(),
                           options.n_chan, setup.products.size(), n_integrations));
  }
  // An integration, and its rows on their way into the set.
  constexpr double kValueBytes = 2 * (sizeof(std::complex<float>) + sizeof(float)) + 2;
  check_memory(
      tool,
      double(setup.baselines.size()) * (double(options.n_chan * setup.products.size()) * kValueBytes + 200) +
          visibility_sums_bytes(setup, sums_setup),
      "simulate fewer channels or antennas");
  if (tool.common().dry_run) return;

  MeasurementSetWriter writer(tool.common().output, ms_description(tool, scene, setup, phase_centre),
                              tool.common().overwrite);
  if (!options.like.empty()) writer.add_subtables_of(options.like);
  VisibilitySums sums(setup, sums_setup);
  Buffer<std::complex<float>, 3> data({setup.baselines.size(), options.n_chan, setup.products.size()});
  Buffer<float, 3> weight(data.shape());
  Buffer<double, 2> uvw_m({setup.baselines.size(), 3});
  weight.fill(1);
  Progress progress(tool, "simulating", static_cast<double>(n_integrations), "integrations");
  for (std::int64_t index = 0; index < n_integrations; ++index) {
    const UtcTime time = time_of(index);
    sums.simulate(index, time.mjd_seconds(), sky_rotations(frame, time, scene, phase_centre), data, uvw_m);
    if (!std::all_of(data.begin(), data.end(), [](const std::complex<float>& v) {
          return std::isfinite(v.real()) && std::isfinite(v.imag());
        }))
      throw FailureError(
          "integration {}: a visibility is not finite: look for fluxes that are too large for numbers of 32 "
          "bits",
          index);
    writer.write({.time_mjd_s = time.mjd_seconds(),
                  .interval_s = options.integration_s,
                  .exposure_s = options.integration_s,
                  .uvw_m = uvw_m,
                  .baselines = &setup.baselines,
                  .data = data,
                  .weight = weight});
    progress.update(static_cast<double>(index + 1));
  }
  writer.commit();
  tool.report_rate(static_cast<double>(n_integrations) * static_cast<double>(data.size()), "visibilities");
}

void run_ionosphere(Tool& tool, const SimulateOptions& options) {
  const unsigned n_threads = tool.common().threads;
  const simulate::RandomIonosphere setup = ionosphere_setup(options);
  const simulate::RandomIonospherePlan plan = plan_random_ionosphere(setup, n_threads);
  if (tool.common().dry_run) {
    tool.print(fmt::format("{} screens of {} x {} points, cut from {} x {}", setup.n_steps, plan.n_side,
                           plan.n_side, plan.n_lattice, plan.n_lattice));
  }
  check_memory(tool, double(plan.memory_bytes), "raise --screen-spacing, or make fewer screens");
  if (tool.common().dry_run) return;
  const IonosphereGrid grid = random_ionosphere(setup, plan, n_threads);
  write_ionosphere(tool.common().output, grid, tool.provenance(), tool.common().overwrite);
  tool.report_rate(static_cast<double>(setup.n_steps), "screens");
}

}  // namespace
}  // namespace apsyn

int main(int argc, char** argv) {
  using namespace apsyn;
  Tool tool("simulate", "voltages of a sky through an array, its visibilities, or random ionospheres");
  SimulateOptions options;
  declare(tool, options);
  return tool.run(argc, argv, [&] {
    if (tool.common().output.empty()) tool.common().output = "-";
    check(options, tool.common().output);
    if (!tool.common().dry_run) check_output(tool.common().output, tool.common().overwrite);
    const OutputKind kind = kind_of(tool.common().output);
    if (kind != OutputKind::visibilities) tool.device(CudaSupport::none);
    tool.stage("simulate");
    if (kind == OutputKind::ionosphere) return run_ionosphere(tool, options);
    const Scene scene = load_scene(options);
    set_finest_fringe(finest_fringe_rad(scene.layout, options.freq_hz));
    (kind == OutputKind::visibilities ? run_visibilities : run_voltages)(tool, options, scene);
  });
}
