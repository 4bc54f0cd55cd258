// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/solutions/solutions.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <stdexcept>

#include "libcore/base/error.h"
#include "libcore/sky/projection.h"

namespace apsyn {
namespace {

[[noreturn]] void fail(const Solutions& solutions, const std::string& what) {
  throw DataError("{}: {}", solutions.source.empty() ? "solutions" : solutions.source, what);
}

/// Centres rise and are finite, and each has a length; only a single one may have the length 0.
void check_axis(const Solutions& solutions, const std::string& table, const char* axis,
                const std::vector<double>& centres, const std::vector<double>& lengths) {
  if (centres.empty() || centres.size() != lengths.size())
    fail(solutions, fmt::format("{}: {} centres on the axis {} and {} lengths", table, centres.size(), axis,
                                lengths.size()));
  for (std::size_t i = 0; i < centres.size(); ++i) {
    if (!std::isfinite(centres[i]) || (i > 0 && centres[i] <= centres[i - 1]))
      fail(solutions, fmt::format("{}: the axis {} does not rise at its element {}", table, axis, i));
    if (!std::isfinite(lengths[i]) || lengths[i] < 0 || (lengths[i] == 0 && centres.size() > 1))
      fail(solutions,
           fmt::format("{}: element {} of the axis {} has the length {}", table, i, axis, lengths[i]));
  }
}

}  // namespace

std::string_view solution_type_name(SolutionType type) {
  switch (type) {
    case SolutionType::gain:
      return "gain";
    case SolutionType::phase:
      return "phase";
    case SolutionType::amplitude:
      return "amplitude";
    case SolutionType::leakage:
      return "leakage";
    case SolutionType::delay_s:
      return "delay";
    case SolutionType::tec_tecu:
      return "tec";
  }
  throw std::invalid_argument("solution_type_name: no such type");
}

std::string_view solution_flag_reason(SolutionFlag flag) {
  switch (flag) {
    case SolutionFlag::good:
      return "good";
    case SolutionFlag::no_data:
      return "no data";
    case SolutionFlag::few_baselines:
      return "too few baselines";
    case SolutionFlag::low_snr:
      return "too little signal for the noise";
    case SolutionFlag::outlier:
      return "an outlier among the antenna's solutions";
    case SolutionFlag::not_converged:
      return "not converged";
    case SolutionFlag::not_connected:
      return "not connected to the reference antenna";
    case SolutionFlag::swapped_receptors:
      return "swapped polarisations";
    case SolutionFlag::unknown:
      break;
  }
  return "flagged in the file";
}

void SolutionTable::resize(std::size_t n_antennas, std::size_t n_pol) {
  const std::array<std::size_t, 5> shape{n_time(), n_direction(), n_antennas, n_chan(), n_pol};
  values.resize(shape);
  weight.resize(shape);
  flag.resize(shape);
  weight.fill(1);
  if (is_dispersive(type)) return;
  for (std::size_t i = 0; i < values.size(); ++i)
    if (n_pol < 4 || i % 4 == 0 || i % 4 == 3) values.data()[i] = 1;
}

std::vector<SolutionAntenna> solution_antennas(const ArrayLayout& layout) {
  std::vector<SolutionAntenna> antennas;
  for (const Antenna& antenna : layout.antennas) {
    SolutionAntenna& to = antennas.emplace_back();
    to.name = antenna.name;
    if (layout.site) to.position_m = geocentric_from_enu(*layout.site, antenna.enu_m);
  }
  return antennas;
}

bool Solutions::is_diagonal() const {
  return std::none_of(tables.begin(), tables.end(),
                      [](const SolutionTable& table) { return table.values.extent(4) == 4; });
}

std::optional<std::size_t> Solutions::find_direction(std::string_view name) const {
  for (std::size_t i = 0; i < directions.size(); ++i)
    if (directions[i].name == name) return i;
  return std::nullopt;
}

std::size_t Solutions::nearest_direction(const SkyDirection& direction) const {
  if (directions.empty()) throw std::invalid_argument("Solutions::nearest_direction: no directions");
  std::size_t nearest = 0;
  for (std::size_t i = 1; i < directions.size(); ++i)
    if (separation_rad(directions[i].direction, direction) <
        separation_rad(directions[nearest].direction, direction))
      nearest = i;
  return nearest;
}

void check_solutions(const Solutions& solutions) {
  if (solutions.tables.empty()) fail(solutions, "no solutions");
  if (solutions.antennas.empty()) fail(solutions, "no antennas");
  std::set<std::string_view> names;
  for (const SolutionAntenna& antenna : solutions.antennas) {
    const bool named = !antenna.name.empty();
    if (named != !solutions.antennas.front().name.empty())
      fail(solutions, "some of the antennas have no name");
    if (named && !names.insert(antenna.name).second)
      fail(solutions, fmt::format("antenna '{}' is there twice", antenna.name));
  }
  names.clear();
  for (const SolutionDirection& direction : solutions.directions) {
    if (!std::isfinite(direction.direction.ra_rad) || !std::isfinite(direction.direction.dec_rad))
      fail(solutions, fmt::format("the position of direction '{}' is not finite", direction.name));
    if (!names.insert(direction.name).second)
      fail(solutions, fmt::format("direction '{}' is there twice", direction.name));
  }
  for (std::size_t i = 0; i < solutions.tables.size(); ++i) {
    const SolutionTable& table = solutions.tables[i];
    const std::string name = fmt::format("table {} ({})", i, solution_type_name(table.type));
    check_axis(solutions, name, "time", table.time_mjd_s, table.interval_s);
    check_axis(solutions, name, "freq", table.freq_hz, table.width_hz);
    if (!(table.freq_hz.front() > 0)) fail(solutions, name + ": a frequency is not positive");
    for (std::size_t d = 0; d < table.direction.size(); ++d) {
      if (table.direction[d] >= solutions.directions.size())
        fail(solutions, name + ": a direction that is not in the list");
      if (std::count(table.direction.begin(), table.direction.end(), table.direction[d]) > 1)
        fail(solutions, name + ": a direction is there twice");
    }
    const std::size_t n_pol = table.values.extent(4);
    if (n_pol != 1 && n_pol != 2 && n_pol != 4)
      fail(solutions, fmt::format("{}: {} polarisations: 1, 2 or 4 are possible", name, n_pol));
    if (n_pol == 4 && (is_dispersive(table.type) || table.type == SolutionType::phase ||
                       table.type == SolutionType::amplitude))
      fail(solutions, name + ": 4 polarisations of a term that is diagonal");
    if (n_pol != 4 && table.type == SolutionType::leakage)
      fail(solutions, name + ": leakages are matrices of 4 polarisations");
    const std::array<std::size_t, 5> shape{table.n_time(), table.n_direction(), solutions.antennas.size(),
                                           table.n_chan(), n_pol};
    if (table.values.shape() != shape || table.weight.shape() != shape ||
        (table.flag.size() > 0 && table.flag.shape() != shape))
      fail(solutions, name + ": arrays and axes have different lengths");
    for (const float weight : table.weight.view())
      if (!(weight >= 0) || !std::isfinite(weight))
        fail(solutions, name + ": a weight is negative or not finite");
  }
}

std::vector<double> flagged_fraction(const Solutions& solutions) {
  std::vector<double> flagged(solutions.antennas.size()), all(solutions.antennas.size());
  for (const SolutionTable& table : solutions.tables) {
    const auto shape = table.weight.shape();
    const std::size_t per_antenna = shape[3] * shape[4];
    for (std::size_t i = 0; i < table.weight.size(); ++i) {
      const std::size_t antenna = i / per_antenna % shape[2];
      flagged[antenna] += table.weight.data()[i] == 0;
      ++all[antenna];
    }
  }
  for (std::size_t i = 0; i < flagged.size(); ++i) flagged[i] /= std::max(all[i], 1.0);
  return flagged;
}

}  // namespace apsyn
