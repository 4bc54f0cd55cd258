// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/correlate/options.h"

#include <CLI/CLI.hpp>

#include "kernels/channelise/requantise.h"

namespace apsyn {

Requantisation requantisation_of(const CorrelateOptions& options) {
  if (options.requantise == "none") return {};
  return {options.requantise == "4" ? 4u : 8u, options.dither};
}

void declare(Tool& tool, CorrelateOptions& options) {
  tool.add_inputs(options.inputs, "voltage stream, a file or - (default: standard input)");
  CLI::App& app = tool.app();
  add_filterbank_options(tool, options);
  tool.add_duration("--integration", options.integration_s,
                    "length of an integration, for example 500ms (default 1s)");
  app.add_flag("--drop-incomplete", options.drop_incomplete,
               "leave the last integration out when the recording ends within it");
  tool.heading("Correlation");
  app.add_option("--phase-centre", options.phase_centre,
                 "'RA DEC' or zenith: track it; none: drift scan (default: the stream's, or zenith)")
      ->type_name("WHERE");
  app.add_flag("--no-autos", options.no_autos, "leave the autocorrelations out");
  tool.heading(headings::kAccuracy);
  app.add_flag("--van-vleck", options.van_vleck, "take out what quantising the samples did to correlations");
  app.add_option("--requantise", options.requantise,
                 "none, 8 or 4: round spectra to so many bits before they are multiplied (default none)")
      ->type_name("BITS")
      ->check(CLI::IsMember({"none", "8", "4"}));
  app.add_flag("--dither", options.dither, "add uniform noise of one step before rounding them");
  tool.heading(headings::kCompute);
  app.add_option(
         "--algorithm", options.algorithm,
         "auto, tensor (integers), register (float32), or a published GPU design to compare with: pair, "
         "group2, group4, hybrid2, hybrid4 (default auto)")
      ->type_name("NAME")
      ->check(
          CLI::IsMember({"auto", "tensor", "register", "pair", "group2", "group4", "hybrid2", "hybrid4"}));
  add_realtime_options(tool, options.realtime);
  add_voltage_options(tool, options.voltage);
  add_gains_follow(tool, options.voltage);
  tool.add_file("--bandpass", options.bandpass,
                "gains as of --gains, their channels counting fine ones; data are divided by both");
}

}  // namespace apsyn
