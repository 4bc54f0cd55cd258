// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/transform/options.h"

#include <CLI/CLI.hpp>

#include <charconv>
#include <cmath>
#include <string_view>
#include <utility>

#include "kernels/visibility_summary/visibility_summary.h"
#include "libcore/base/csv.h"
#include "libcore/base/error.h"
#include "libcore/base/time.h"

namespace apsyn::transform {
namespace {

double parse_time(const std::string& text) {
  try {
    return parse_utc(text).mjd_seconds();
  } catch (const DataError&) {
    throw UsageError("--time-range {}: no time: give UTC, for example 2024-01-01T12:00:00", text);
  }
}

void declare_selection(Tool& tool, Options& options) {
  CLI::App& app = tool.app();
  add_selection_options(tool, options.selection);
  app.add_option_function<std::string>(
         "--column",
         [&](const std::string& name) {
           options.selection.column = name;
           options.column_given = true;
         },
         "column of the Measurement Sets that becomes DATA (default DATA)")
      ->type_name("NAME");
  app.add_option_function<std::vector<std::string>>(
         "--time-range",
         [&](const std::vector<std::string>& texts) {
           options.min_time_mjd_s = parse_time(texts[0]);
           options.max_time_mjd_s = parse_time(texts[1]);
           if (!(options.max_time_mjd_s > options.min_time_mjd_s))
             throw UsageError("--time-range {} {}: the end must be after the start", texts[0], texts[1]);
         },
         "integrations whose middle lies between START and END, UTC")
      ->type_name("START END")
      ->expected(2)
      ->allow_extra_args(false);
  app.add_option("--antennas", options.antennas,
                 "baselines between these antennas alone: names or numbers, for example 0,5,Tile07")
      ->type_name("LIST");
  app.add_option("--baselines", options.baselines, "these baselines alone, for example 0:5,Tile01:Tile09")
      ->type_name("LIST");
  app.add_flag("--no-autos", options.no_autos, "leave autocorrelations out");
  tool.add_length("--min-uvw", options.min_uvw_m, "leave out rows with shorter coordinates u, v, w");
  tool.add_length("--max-uvw", options.max_uvw_m, "leave out rows with longer coordinates u, v, w");
}

void declare_changes(Tool& tool, Options& options) {
  CLI::App& app = tool.app();
  tool.heading("Averaging");
  tool.add_duration("--average-time", options.average_time_s,
                    "average over intervals of this length, or with --bda up to it");
  app.add_option("--average-channels", options.average_channels, "average so many adjacent channels")
      ->type_name("N")
      ->check(CLI::Range(1, 1 << 24));
  app.add_option("--bda", options.bda_loss,
                 "average each baseline in time until sources at --bda-radius lose this share, for example "
                 "0.01")
      ->type_name("LOSS");
  tool.add_angle("--bda-radius", options.bda_radius_rad,
                 "of --bda: the distance from the phase centre at which it holds");
  tool.heading("Phase centre");
  app.add_option_function<std::string>(
         "--phase-centre", [&](const std::string& text) { options.centre = parse_sky_direction(text); },
         "move phases and coordinates there")
      ->type_name("'RA DEC'");
}

void declare_mwa(Tool& tool, Options& options) {
  CLI::App& app = tool.app();
  tool.heading("Files of the MWA's correlators");
  MwaFitsOptions& mwa = options.mwa;
  const auto add_switch = [&](const char* name, bool& value, const char* help) {
    const bool when_given = std::string_view(name).substr(0, 5) != "--no-";
    app.add_flag_callback(
        name, [&value, when_given] { value = when_given; }, help);
  };
  tool.add_file("--metafits", options.metafits, "of the observation, if it is not among the inputs");
  add_switch("--pointing-centre", mwa.pointing_centre,
             "track RA and DEC of the metafits, not RAPHASE and DECPHASE");
  add_switch("--no-cable-delay", mwa.cable_delays, "leave the delays of cables in the phases");
  add_switch("--no-geometric-delay", mwa.geometric_delays, "do not track the phase centre");
  add_switch("--no-digital-gains", mwa.digital_gains, "do not divide by the receivers' digital gains");
  tool.add_file("--passband", mwa.passband,
                "gains of a coarse channel's fine channels to divide by, as CSV: channel,gain");
  add_switch("--no-flag-metafits", mwa.flag_tiles, "keep the tiles that the metafits flags");
  tool.add_frequency("--flag-edge-width", mwa.flag_edge_hz,
                     "flag this much at both ends of each coarse channel (default 80kHz)");
  app.add_flag_callback(
      "--flag-dc", [&mwa] { mwa.flag_centre = true; },
      "flag the middle of each coarse channel; otherwise of the legacy correlator alone");
  app.add_flag_callback(
      "--no-flag-dc", [&mwa] { mwa.flag_centre = false; }, "do not flag it");
  tool.add_duration(
      "--flag-init", mwa.flag_begin_s,
      "flag integrations that begin earlier than this after the first; otherwise until GOODTIME");
}

}  // namespace

void declare(Tool& tool, Options& options) {
  tool.add_inputs(
      options.inputs,
      "Measurement Sets, UVH5, UVFITS and FITS-IDI files, which are joined; those of an MWA correlator with "
      "their metafits; or a visibility stream",
      0);
  tool.app()
      .add_option("--to", options.to,
                  "ms, vis, uvh5 or uvfits; otherwise by the name, vis where it tells none of these")
      ->type_name("KIND")
      ->check(CLI::IsMember({"ms", "vis", "uvh5", "uvfits"}));
  declare_selection(tool, options);
  declare_changes(tool, options);
  declare_mwa(tool, options);
}

void check_options(const Tool& tool, Options& options) {
  if (options.average_time_s < 0) throw UsageError("--average-time: must be above 0");
  if (options.min_uvw_m < 0 || !(options.max_uvw_m > options.min_uvw_m))
    throw UsageError("--max-uvw: {} m: must be above --min-uvw, {} m", options.max_uvw_m, options.min_uvw_m);
  if (options.bda_loss != 0) {
    if (!(options.bda_loss > 0 && options.bda_loss < 0.5))
      throw UsageError("--bda {:g}: a share of the amplitude above 0 and below 0.5, for example 0.01",
                       options.bda_loss);
    if (!(options.bda_radius_rad > 0))
      throw UsageError(
          "--bda-radius: missing: the distance from the phase centre at which --bda {:g} holds, for example "
          "2deg",
          options.bda_loss);
    if (options.bda_radius_rad > 1.5707963267948966)
      throw UsageError("--bda-radius {}: no more than 90 deg", format_angle(options.bda_radius_rad));
    if (options.average_time_s == 0) options.average_time_s = kLongestBda_s;
  } else if (options.bda_radius_rad != 0) {
    throw UsageError("--bda-radius: goes with --bda");
  }
  if (options.mwa.flag_edge_hz < 0) throw UsageError("--flag-edge-width: must not be below 0");
  if (tool.common().output.empty())
    throw UsageError("--output: missing: a Measurement Set, -o NAME.ms, or a visibility stream");
}

OutputKind output_kind(const Tool& tool, const Options& options) {
  std::string path = tool.common().output;
  if (path == "-" && !options.to.empty() && options.to != "vis")
    throw UsageError("-o -: --to {} cannot be written to a pipe: give -o NAME, or --to vis", options.to);
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  const auto is = [&](const char* kind) {
    return options.to.empty() ? lower(path).ends_with(std::string(".") + kind) : options.to == kind;
  };
  if (is("ms")) return OutputKind::measurement_set;
  if (is("uvh5")) return OutputKind::uvh5;
  return is("uvfits") ? OutputKind::uvfits : OutputKind::stream;
}

std::vector<int> wanted_antennas(const Options& options, const ArrayLayout& layout) {
  const std::size_t n_ant = layout.antennas.size();
  std::vector<bool> wanted(n_ant, options.antennas.empty());
  if (!options.antennas.empty()) {
    ArrayLayout marked = layout;
    for (Antenna& antenna : marked.antennas) antenna.flagged = false;
    try {
      flag_antennas(marked, options.antennas);
    } catch (const UsageError& error) {
      throw UsageError("--antennas {}: {}", options.antennas, error.what());
    }
    for (std::size_t i = 0; i < n_ant; ++i) wanted[i] = marked.antennas[i].flagged;
  }
  std::vector<int> list;
  for (std::size_t i = 0; i < n_ant; ++i)
    if (wanted[i]) list.push_back(static_cast<int>(i));
  return list;
}

std::vector<std::vector<bool>> wanted_pairs(const Options& options, const ArrayLayout& layout) {
  const std::size_t n_ant = layout.antennas.size();
  std::vector<std::vector<bool>> wanted(n_ant, std::vector<bool>(n_ant, false));
  const std::vector<int> antennas = wanted_antennas(options, layout);
  for (const int i : antennas)
    for (const int j : antennas)
      wanted[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)] = i != j || !options.no_autos;
  if (options.baselines.empty()) return wanted;
  std::vector<std::vector<bool>> listed(n_ant, std::vector<bool>(n_ant, false));
  for (const Fringe& fringe : parse_baselines(options.baselines, layout)) {
    const auto i = static_cast<std::size_t>(fringe.ant1), j = static_cast<std::size_t>(fringe.ant2);
    listed[i][j] = listed[j][i] = wanted[i][j];
  }
  return listed;
}

}  // namespace apsyn::transform
