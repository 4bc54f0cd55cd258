// SPDX-License-Identifier: GPL-3.0-or-later
// fold-pulsar: powers of a beam -> a pulsar's mean profile, how strong it is, and a picture of it.
#include "kernels/fold/fold.h"
#include "kernels/fold/pulse_fit.h"
#include "libcore/files/output.h"
#include "libcore/plot/figure_file.h"
#include "libcore/plot/figures/fold_figure.h"
#include "libcore/streams/power_source.h"
#include "libcore/system/program_memory.h"
#include "libcore/voltage/voltage_pipeline.h"
#include "tools/fold-pulsar/ephemeris.h"
#include "tools/fold-pulsar/options.h"

using namespace apsyn;

namespace {

constexpr std::size_t kBlockBytes = std::size_t{8} << 20;
/// What the process takes by itself.
constexpr std::uint64_t kFoldBytes = 31'000'000;

FoldPlan make_plan(const Tool& tool, const FoldOptions& options, const PowerSource& powers) {
  FoldPlan plan;
  plan.sample_s = powers.sample_s;
  plan.channel_hz = powers.channel_hz;
  std::string given = "--period " + options.period;
  if (!options.par.empty()) {
    follow_par(plan, options, powers);
    given = options.par;
  } else {
    const std::size_t comma = options.period.find(',');
    plan.period_s = parse_period(options.period.substr(0, comma));
    if (comma != std::string::npos) plan.period_dot = parse_number(options.period.substr(comma + 1));
    plan.dm_pc_cm3 = options.dm_pc_cm3.value_or(0);
  }
  for (double hz : plan.channel_hz)
    if (!(hz > 0) && plan.dm_pc_cm3 != 0)
      throw DataError("{}: a channel at {}: its dispersion is not defined", powers.name,
                      format_frequency(hz));
  plan.n_bin = options.n_bin;
  plan.n_subint = (options.n_subint + 1) / 2 * 2;
  plan.n_band = options.n_band;
  // a turn each or more: as many as asked for when the length is known, otherwise growing
  const double length_s = static_cast<double>(powers.n_samples.value_or(0)) * plan.sample_s;
  plan.subint_s = std::max(plan.period_s, length_s / static_cast<double>(plan.n_subint));
  plan.n_threads = tool.common().threads;
  if (plan.period_s < 2 * plan.sample_s)
    throw UsageError("{}: the samples of {} are {} long: too long to see a period of {}", given, powers.name,
                     format_duration(plan.sample_s), format_duration(plan.period_s));
  if (plan.period_s / static_cast<double>(plan.n_bin) < plan.sample_s)
    log_warning("--bins {}: a bin is shorter than a sample of {}: {} would do", plan.n_bin,
                format_duration(plan.sample_s), static_cast<std::size_t>(plan.period_s / plan.sample_s));
  return plan;
}

std::vector<std::string> describe(const FoldedPulses& folded) {
  return {fmt::format("period_s {:.12f}", folded.period_s),
          fmt::format("dm_pc_cm3 {}", folded.dm_pc_cm3),
          fmt::format("snr {:.2f}", folded.pulse.snr),
          fmt::format("peak_phase_turns {:.5f}", folded.pulse.phase_turns),
          fmt::format("width_turns {:.5f}", folded.pulse.width_turns),
          fmt::format("peak_power {:.6g}", folded.pulse.height),
          fmt::format("turns {:.1f}", folded.length_s / folded.period_s)};
}

void write_profile(const Tool& tool, const std::string& path, const FoldedPulses& folded) {
  OutputFile file(path, tool.common().overwrite);
  std::string text;
  for (const std::string& line : tool.provenance()) text += "# " + line + "\n";
  text += fmt::format("# source {}, {} from {} on\n", folded.source, format_duration(folded.length_s),
                      format_fits_utc(*folded.start));
  for (const std::string& line : describe(folded)) text += "# " + line + "\n";
  text += "phase,power,samples\n";
  for (std::size_t bin = 0; bin < folded.n_bin(); ++bin)
    text += fmt::format("{:.7g},{:.9g},{:.0f}\n",
                        (static_cast<double>(bin) + 0.5) / static_cast<double>(folded.n_bin()),
                        folded.profile[bin] * folded.unit, folded.samples(bin));
  file.write(text.data(), text.size());
  file.commit();
}

void run(Tool& tool, const FoldOptions& options) {
  if (options.period.empty() == options.par.empty())
    throw UsageError("{}: give --period or --par, one of them",
                     options.par.empty() ? "no period" : "--period " + options.period);
  if (!options.site.empty() && options.par.empty())
    throw UsageError("--site {}: only --par needs it", options.site);
  const std::string& output = tool.common().output;
  tool.stage("open");
  const std::unique_ptr<PowerSource> powers =
      open_powers(options.inputs.at(0), options.ifs, tool.common().threads);
  const FoldPlan plan = make_plan(tool, options, *powers);
  const std::size_t time_bytes = powers->values_per_sample * sizeof(float);
  const std::size_t n_block = std::max<std::size_t>(16, kBlockBytes / time_bytes);
  const std::uint64_t n_held =
      filled(n_block, powers->n_samples ? static_cast<std::int64_t>(*powers->n_samples) : -1);
  const auto memory = static_cast<double>(folder_bytes(plan) + 4 * n_held * time_bytes + kFoldBytes +
                                          (options.plot.empty() ? 0 : picture_bytes(options.size)));
  if (memory > static_cast<double>(tool.common().max_memory_bytes))
    throw UsageError("{}", memory_shortage(tool.common().max_memory_bytes, memory, "this needs",
                                           "allow more, or take fewer bins, sub-integrations or bands"));
  if (tool.common().dry_run) {
    tool.print(fmt::format(
        "input: {}: {} channels around {}, samples of {}", powers->name, plan.channel_hz.size(),
        format_frequency(plan.channel_hz[plan.channel_hz.size() / 2]), format_duration(plan.sample_s)));
    if (!options.par.empty())
      tool.print(fmt::format("par: {}: period {} at the telescope, DM {}", options.par,
                             format_duration(plan.period_s), plan.dm_pc_cm3));
    tool.print(fmt::format("fold: {} bins of {}, up to {} sub-integrations and {} bands", plan.n_bin,
                           format_duration(plan.period_s / static_cast<double>(plan.n_bin)), plan.n_subint,
                           std::min(plan.n_band, plan.channel_hz.size())));
    tool.print(fmt::format("memory: {}", format_bytes(memory)));
    return;
  }
  if (output == "-" && options.plot == "-")
    throw UsageError("--plot -: standard output has the profile: give one of them a file");
  if (!output.empty()) check_output(output, tool.common().overwrite);
  if (!options.plot.empty()) check_figure_output(options.plot, tool.common().overwrite);
  tool.device(CudaSupport::none);

  tool.stage("fold");
  Folder folder(plan);
  Buffer<float, 2> samples;
  double done_s = 0;
  Progress progress(tool, "folding", static_cast<double>(powers->n_samples.value_or(0)) * plan.sample_s,
                    "s of data");
  while (powers->read(n_block, samples)) {
    folder.add(samples);
    done_s += static_cast<double>(samples.extent(0)) * plan.sample_s;
    progress.update(done_s);
  }
  tool.report_rate(done_s, "s of data");

  tool.stage("measure");
  FoldedPulses folded = folder.finish();
  folded.source = powers->source;
  folded.start = powers->start;
  if (std::all_of(folded.count.begin(), folded.count.end(), [](double n) { return n == 0; }))
    throw FailureError("{}: no usable data: every sample is missing, or the same", powers->name);
  if (folded.length_s < folded.period_s)
    log_warning("{}: {} of data are less than a turn of {}: parts of the profile are empty", powers->name,
                format_duration(folded.length_s), format_duration(folded.period_s));
  if (options.search) search_period(folded);
  fit_pulse(folded);
  if (folded.pulse.excess_noise > 1.3)
    log_warning(
        "the profile scatters {:.1f} times as much as white noise: interference, or more than one pulse",
        folded.pulse.excess_noise);

  tool.stage("write");
  if (!output.empty()) write_profile(tool, output, folded);
  if (!options.plot.empty())
    write_figure(options.plot, draw_fold_figure(folded, {options.title, options.colour_map, options.size}),
                 {"apsyn " + tool.provenance()[0], tool.provenance()[1]}, tool.common().overwrite);
  for (const std::string& line : describe(folded))
    if (output == "-" || options.plot == "-")
      log_info("{}", line);
    else
      tool.print(line);
}

}  // namespace

int main(int argc, char** argv) {
  Tool tool("fold-pulsar", "average a beam's powers at the period of a pulsar");
  FoldOptions options;
  declare(tool, options);
  return tool.run(argc, argv, [&] { run(tool, options); });
}
