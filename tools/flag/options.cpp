// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/flag/options.h"

#include <CLI/CLI.hpp>

#include "libcore/base/error.h"
#include "libcore/files/output.h"

namespace apsyn::flag {

void declare(Tool& tool, Options& options) {
  CLI::App& app = tool.app();
  tool.add_inputs(options.inputs, "Measurement Sets, whose FLAG is changed, or a visibility stream", 0);
  app.add_flag("--no-write", options.no_write, "find and report, but leave the sets as they are");
  app.add_option("--report", options.report,
                 "write what is flagged by antenna, baseline, channel and time, JSON")
      ->type_name("PATH|-");
  app.add_option("--save", options.save, "keep FLAG as it was before, for --undo")->type_name("PATH");
  tool.add_file("--undo", options.undo, "give FLAG back what this file of --save has, and do nothing else");
  tool.heading("Interference");
  app.add_option("--strategy", options.strategy,
                 "AOFlagger's: auto (by telescope), a name such as lofar or generic, or a file of Lua")
      ->type_name("NAME|FILE");
  app.add_option("--chunk-size", options.chunk,
                 "integrations that the strategy sees at once (default: all of a set, 256 of a stream)")
      ->type_name("N")
      ->check(CLI::Range(1, 1 << 30));
  tool.heading("Known to be bad");
  app.add_option("--antennas", options.antennas, "all baselines of these antennas: names or numbers")
      ->type_name("LIST");
  app.add_flag("--autos", options.autos, "autocorrelations");
  tool.add_duration("--quack", options.quack_s, "this time at the beginning of every scan");
  app.add_option("--edges", options.edges, "so many channels at each end of every spectral window")
      ->type_name("N");
  tool.add_angle("--elevation", options.elevation_rad, "what is observed at lower elevations");
  app.add_flag("--shadow", options.shadow, "antennas that stand in the shadow of others, by their diameters");
  app.add_flag("--non-finite", options.non_finite, "values that are no numbers");
  add_selection_options(tool, options.selection);
  app.add_option("--column", options.selection.column, "column of data that is looked at (default DATA)")
      ->type_name("NAME");
}

void check_options(const Tool& tool, Options& options) {
  const CommonOptions& common = tool.common();
  if (options.quack_s < 0) throw UsageError("--quack: must be above 0");
  if (!options.undo.empty() && (!options.strategy.empty() || options.has_rules() || !options.save.empty()))
    throw UsageError("--undo {}: give it alone: it restores FLAG, and nothing is looked for", options.undo);
  if (options.undo.empty() && options.strategy.empty() && !options.has_rules())
    throw UsageError(
        "nothing to look for: give --strategy auto, or what is known to be bad (--antennas, --quack ...)");
  if ((!options.save.empty() || !options.undo.empty()) && options.inputs.size() != 1)
    throw UsageError("--{}: goes with one Measurement Set", options.save.empty() ? "undo" : "save");
  if (options.no_write && !options.save.empty())
    throw UsageError("--save {}: nothing changes with --no-write", options.save);
  if (!common.dry_run) {
    if (!options.save.empty()) check_output(options.save, common.overwrite);
    if (!options.report.empty() && options.report != "-") check_output(options.report, common.overwrite);
  }
}

}  // namespace apsyn::flag
