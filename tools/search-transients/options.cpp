// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/search-transients/options.h"

#include <CLI/CLI.hpp>

namespace apsyn {

void declare(Tool& tool, SearchOptions& o) {
  CLI::App& app = tool.app();
  tool.add_inputs(o.inputs, "a SIGPROC filterbank, a PSRFITS file, or images in time (-: stdin)", 0);
  tool.heading("Search");
  app.add_option("--dm-range", o.dm_range, "dispersion measures to search, pc cm^-3 (default: 0:1000)")
      ->type_name("LOW:HIGH");
  app.add_option("--dm-step", o.dm_step, "from trial to trial (default auto: at most 5 % of S/N are lost)")
      ->type_name("auto|STEP");
  app.add_option("--threshold", o.threshold, "signal-to-noise ratio of candidates (default: 8)")
      ->type_name("SN")
      ->check(CLI::Range(3.0, 1e6));
  app.add_option("--widths", o.widths,
                 "of the filters, samples or with a unit: FROM:TO or a list (default: 1:256, of images 1:8)")
      ->type_name("WIDTHS");
  app.add_option(
         "--baseline", o.baseline,
         "length of what levels are taken from (default auto: 4096 samples or more, 32 images or more)")
      ->type_name("auto|TIME");
  tool.heading("Interference");
  app.add_option("--rfi-sigma", o.rfi_sigma,
                 "take out channels and times that deviate by more; 0: none (default: 5)")
      ->type_name("SIGMAS")
      ->check(CLI::Range(0.0, 1e6));
  app.add_flag("--zero-dm", o.zero_dm, "take the mean over channels away at each time");
  tool.heading(headings::kInputOutput);
  app.add_option("--intensity", o.intensity,
                 "which IFs or planes make it: auto, first or sum (default: auto)")
      ->type_name("HOW")
      ->check(CLI::IsMember({"auto", "first", "sum"}));
  app.add_option("--format", o.format, "of the list of candidates: csv, presto or heimdall (default: csv)")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"csv", "presto", "heimdall"}));
  app.add_option("--plot", o.plot, "figure of the candidates and of the best three (PNG, PDF, SVG)")
      ->type_name("PATH|-");
  app.add_option("--cutouts", o.cutouts,
                 "of images: surroundings of candidates, NAME%d makes NAME0.fits, NAME0.png ...")
      ->type_name("PATTERN");
}

}  // namespace apsyn
