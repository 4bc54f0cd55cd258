// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <cmath>
#include <filesystem>

#include "libcore/base/constants.h"
#include "libcore/base/csv.h"
#include "libcore/base/median.h"
#include "libcore/base/time.h"
#include "libcore/formats/h5parm/h5parm.h"
#include "libcore/plot/figures/solution_figure.h"
#include "tools/quicklook/quicklook.h"

namespace apsyn {
namespace {

Json utc(double mjd_s) {
  return format_fits_utc(from_mjd_seconds(mjd_s));
}

Json table_stats(const SolutionTable& table) {
  Json stats;
  stats["term"] = table.term;
  stats["type"] = solution_type_name(table.type);
  stats["times"] = table.n_time();
  stats["channels"] = table.n_chan();
  stats["directions"] = table.n_direction();
  stats["polarisations"] = table.values.extent(4);
  const bool dated = table.interval_s[0] > 0;
  stats["start_utc"] = dated ? utc(table.time_mjd_s.front() - 0.5 * table.interval_s.front()) : Json(NAN);
  stats["end_utc"] = dated ? utc(table.time_mjd_s.back() + 0.5 * table.interval_s.back()) : Json(NAN);
  std::vector<double> lengths_s = table.interval_s;
  stats["interval_s"] = dated ? Json(median_of(lengths_s)) : Json(NAN);
  const bool banded = table.width_hz[0] > 0;
  stats["first_hz"] = banded ? Json(table.freq_hz.front()) : Json(NAN);
  stats["last_hz"] = banded ? Json(table.freq_hz.back()) : Json(NAN);
  double n_flagged = 0;
  for (const float weight : table.weight) n_flagged += weight == 0;
  stats["flagged_fraction"] = n_flagged / static_cast<double>(table.weight.size());
  return stats;
}

/// Of the good solutions of an antenna in one table, on the diagonal: the median of amplitudes, delays or
/// TEC, and the mean phase with its length, 1 where all phases are the same.
Json antenna_stats(const Solutions& solutions, const SolutionTable& table, std::size_t ant) {
  std::vector<double> sizes;
  std::complex<double> sum = 0;
  double n_flagged = 0, n = 0;
  const std::size_t n_pol = table.values.extent(4);
  for (std::size_t time = 0; time < table.n_time(); ++time)
    for (std::size_t dir = 0; dir < table.n_direction(); ++dir)
      for (std::size_t chan = 0; chan < table.n_chan(); ++chan)
        for (std::size_t pol = 0; pol < n_pol; ++pol) {
          ++n;
          const std::complex<double> value = table.values(time, dir, ant, chan, pol);
          if (!(table.weight(time, dir, ant, chan, pol) > 0) || !std::isfinite(std::abs(value))) {
            ++n_flagged;
            continue;
          }
          if (n_pol == 4 && pol % 3 != 0) continue;
          sizes.push_back(is_dispersive(table.type) ? value.real() : std::abs(value));
          if (std::abs(value) > 0) sum += value / std::abs(value);
        }
  Json stats;
  const std::string& name = solutions.antennas[ant].name;
  stats["antenna"] = name.empty() ? std::to_string(ant) : name;
  stats["flagged_fraction"] = n_flagged / n;
  const std::size_t n_good = sizes.size();
  const double middle = n_good > 0 ? median_of(sizes) : NAN;
  if (is_dispersive(table.type)) {
    stats[table.type == SolutionType::delay_s ? "median_delay_s" : "median_tec_tecu"] = middle;
    return stats;
  }
  stats["median_amplitude"] = middle;
  stats["phase_of_mean_deg"] = n_good > 0 ? std::arg(sum) / kRadPerDeg : NAN;
  stats["phase_coherence"] = n_good > 0 ? std::abs(sum) / static_cast<double>(n_good) : NAN;
  return stats;
}

Json stats_of(const Solutions& solutions, const SolutionTable& shown) {
  Json stats;
  stats["kind"] = "solutions";
  stats["antennas"] = solutions.antennas.size();
  stats["receptors"] = solutions.basis == ReceptorBasis::circular ? "circular" : "linear";
  for (const SolutionDirection& direction : solutions.directions) {
    Json one;
    one["direction"] = direction.name;
    one["ra_deg"] = direction.direction.ra_rad / kRadPerDeg;
    one["dec_deg"] = direction.direction.dec_rad / kRadPerDeg;
    stats["directions"].push_back(one);
  }
  for (const SolutionTable& table : solutions.tables) stats["tables"].push_back(table_stats(table));
  stats["shown_term"] = shown.term;
  for (std::size_t ant = 0; ant < solutions.antennas.size(); ++ant)
    stats["gains"].push_back(antenna_stats(solutions, shown, ant));
  return stats;
}

/// Of several tables the one with the most values.
std::size_t largest_table(const Solutions& solutions) {
  const auto& tables = solutions.tables;
  const auto largest = std::max_element(tables.begin(), tables.end(), [](const auto& a, const auto& b) {
    return a.values.size() < b.values.size();
  });
  return static_cast<std::size_t>(largest - tables.begin());
}

}  // namespace

Look look_at_solutions(Tool& tool, const QuicklookOptions& o) {
  tool.stage("read");
  H5ParmSelection selection;
  if (!o.soltabs.empty())
    for (const std::string_view name : split(o.soltabs, ',')) selection.soltabs.emplace_back(name);
  const Solutions solutions = read_h5parm(o.inputs[0], selection);
  SolutionFigureOptions options;
  options.table = largest_table(solutions);
  const SolutionTable& table = solutions.tables[options.table];
  if (solutions.tables.size() > 1)
    log_info("{}: {} of {} tables is shown: choose others with --soltabs", o.inputs[0], table.term,
             solutions.tables.size());
  Look look{stats_of(solutions, table), {}};
  if (!o.picture) return look;
  tool.stage("draw");
  options.against = o.against.empty()     ? longer_axis(table)
                    : o.against == "time" ? SolutionAxis::time
                                          : SolutionAxis::frequency;
  if (!o.direction.empty()) {
    const auto wanted = solutions.find_direction(o.direction);
    const auto at =
        wanted ? std::find(table.direction.begin(), table.direction.end(), *wanted) : table.direction.end();
    if (at == table.direction.end())
      throw UsageError("--direction {}: {} has no solutions of it", o.direction, o.inputs[0]);
    options.direction = static_cast<std::size_t>(at - table.direction.begin());
  }
  options.title = o.title.empty() ? std::filesystem::path(o.inputs[0]).filename().string() : o.title;
  options.size = o.size;
  look.picture = draw_solutions(solutions, options);
  return look;
}

}  // namespace apsyn
