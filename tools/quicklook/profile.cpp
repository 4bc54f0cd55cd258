// SPDX-License-Identifier: GPL-3.0-or-later
#include <cmath>

#include "libcore/base/csv.h"
#include "libcore/files/input.h"
#include "libcore/plot/figures/fold_figure.h"
#include "tools/quicklook/quicklook.h"

namespace apsyn {
namespace {

/// "key value" among the comments; NaN without it.
double noted(const CsvTable& table, const std::string& key) {
  for (const std::string_view comment : table.comments) {
    const std::string_view text = trim(comment);
    if (text.starts_with(key + " ")) return finite_number(trim(text.substr(key.size()))).value_or(NAN);
  }
  return NAN;
}

/// "source NAME, LENGTH from TIME on".
void read_source(const CsvTable& table, FoldedPulses& folded) {
  for (const std::string_view comment : table.comments) {
    const std::string_view text = trim(comment);
    const std::size_t comma = text.rfind(", "), from = text.rfind(" from "), on = text.rfind(" on");
    if (!text.starts_with("source ") || comma == text.npos || from == text.npos || on < from + 6) continue;
    folded.source = text.substr(7, comma - 7);
    folded.start = parse_utc(text.substr(from + 6, on - from - 6));
  }
}

/// One sub-integration of one band: the file has no more, and a figure of it shows the profile alone.
FoldedPulses read_profile(const std::string& path) {
  const std::string text = read_text_file(path);
  const CsvTable table = parse_csv(text, path);
  const auto power = table.find("power");
  if (!power || !table.find("samples") || table.rows.empty())
    throw DataError("{}: no columns power and samples with rows: is it a profile of fold-pulsar?", path);
  FoldedPulses folded;
  read_source(table, folded);
  folded.period_s = noted(table, "period_s");
  folded.dm_pc_cm3 = noted(table, "dm_pc_cm3");
  folded.length_s = noted(table, "turns") * folded.period_s;
  folded.pulse = {noted(table, "snr"), noted(table, "peak_phase_turns"), noted(table, "width_turns"),
                  noted(table, "peak_power"), 1};
  folded.sum.resize({1, 1, table.rows.size()});
  for (const auto& row : table.rows) folded.profile.push_back(table.number(row, *power));
  return folded;
}

Json stats_of(const FoldedPulses& folded) {
  Json stats;
  stats["kind"] = "profile";
  stats["object"] = folded.source;
  stats["start_utc"] = folded.start ? Json(format_fits_utc(*folded.start)) : Json(NAN);
  stats["length_s"] = folded.length_s;
  stats["bins"] = folded.n_bin();
  stats["period_s"] = folded.period_s;
  stats["dm_pc_cm3"] = folded.dm_pc_cm3;
  stats["snr"] = folded.pulse.snr;
  stats["peak_phase_turns"] = folded.pulse.phase_turns;
  stats["width_turns"] = folded.pulse.width_turns;
  stats["peak_power"] = folded.pulse.height;
  stats["profile"] = folded.profile;
  return stats;
}

}  // namespace

Look look_at_profile(Tool& tool, const QuicklookOptions& o) {
  tool.stage("read");
  const FoldedPulses folded = read_profile(o.inputs[0]);
  Look look{stats_of(folded), {}};
  if (!o.picture) return look;
  tool.stage("draw");
  look.picture = draw_fold_figure(folded, {o.title, o.colour_map, o.size});
  return look;
}

}  // namespace apsyn
