// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/fold-pulsar/options.h"

#include <CLI/CLI.hpp>

#include <cstddef>
#include <optional>

#include "libcore/base/csv.h"
#include "libcore/base/error.h"
#include "libcore/base/units.h"

namespace apsyn {

void declare(Tool& tool, FoldOptions& options) {
  tool.add_inputs(
      options.inputs,
      "SIGPROC filterbank, PSRFITS of search mode, or voltage stream of one beam (default: standard input)");
  CLI::App& app = tool.app();
  tool.heading("Folding");
  app.add_option("--period", options.period,
                 "pulse period at the telescope, for example 714.52ms; its derivative")
      ->type_name("P[,PDOT]");
  tool.add_file("--par", options.par, "par file of TEMPO2 that the phase follows, instead of a period");
  app.add_option(
         "--site", options.site,
         "where the telescope stands, for --par: a name, or degrees, degrees, metres (default: as the "
         "input says)")
      ->type_name("NAME|LAT,LON,ALT");
  app.add_option("--dm", options.dm_pc_cm3, "dispersion measure in pc/cm^3 (default 0, or that of --par)")
      ->type_name("DM")
      ->check(CLI::Range(-1e5, 1e5));
  app.add_option("--bins", options.n_bin, "phase bins (default 256)")
      ->type_name("N")
      ->check(CLI::Range(std::size_t{8}, std::size_t{16384}));
  app.add_option("--subints", options.n_subint, "sub-integrations at most (default 64)")
      ->type_name("N")
      ->check(CLI::Range(std::size_t{2}, std::size_t{4096}));
  app.add_option("--bands", options.n_band, "bands of neighbouring channels at most (default 64)")
      ->type_name("N")
      ->check(CLI::Range(std::size_t{1}, std::size_t{65536}));
  app.add_option("--ifs", options.ifs,
                 "products to add, from 0, for example 0,1 (default: all of one or two, otherwise the first)")
      ->type_name("LIST");
  app.add_flag("--search", options.search, "look for a better period, within a turn of drift over the data");
  tool.heading("Picture");
  app.add_option("--plot", options.plot, "draw profile, time and frequency against phase (PNG, PDF, SVG)")
      ->type_name("PATH");
  app.add_option("--title", options.title, "heading of the plot, instead of the source's name")
      ->type_name("TEXT");
  app.add_option("--size", options.size, "pixels of the plot's width, about (default 1000)")
      ->type_name("N")
      ->check(CLI::Range(std::size_t{100}, std::size_t{8000}));
}

double parse_period(const std::string& text) {
  const std::optional<double> plain = finite_number(text);
  const double period_s = plain ? *plain : parse_duration(text);
  if (!(period_s > 0)) throw UsageError("--period {}: must be positive", text);
  return period_s;
}

}  // namespace apsyn
