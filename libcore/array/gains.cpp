// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/array/gains.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <unordered_map>

#include "libcore/base/csv.h"
#include "libcore/base/error.h"
#include "libcore/files/input.h"

namespace apsyn {
namespace {

// The indices of one axis that a row covers.
struct Range {
  std::size_t first = 0, end = 0;
};

Range channel_range(const CsvTable& table, const CsvRow& row, std::size_t n_chan) {
  const auto at = table.find("channel");
  if (!at || row.fields[*at].empty()) return {0, n_chan};
  const std::size_t index = table.index(row, *at, n_chan);
  return {index, index + 1};
}

// X and R name the first polarisation, Y and L the second.
Range pol_range(const CsvTable& table, const CsvRow& row, std::size_t n_pol) {
  const auto at = table.find("pol");
  const std::string_view name = at ? std::string_view(row.fields[*at]) : "";
  if (name.empty()) return {0, n_pol};
  if (name == "0" || name == "X" || name == "R") return {0, 1};
  if (n_pol > 1 && (name == "1" || name == "Y" || name == "L")) return {1, 2};
  throw DataError("{}: line {}: pol '{}': give {}", table.source, row.line, name,
                  n_pol > 1 ? "0 or 1, or X or Y (R or L)" : "0, or X (R): the data have one polarisation");
}

/// Of amplitudes: products of two gains, and of their inverses, are numbers of 32 bits.
constexpr double kSmallestGain = 1e-15, kLargestGain = 1e15;

/// Of amplitudes: gains may be missing (nan), weights may be zero.
enum class Kind { gains, weights };

constexpr double kNoGain = std::numeric_limits<double>::quiet_NaN();

Buffer<std::complex<double>, 3> parse_table(std::string_view text, const std::string& source,
                                            const ArrayLayout& layout, std::size_t n_pol, std::size_t n_chan,
                                            Kind kind) {
  const CsvTable table = parse_csv(text, source);
  for (std::string_view column : table.columns)
    if (column != "antenna" && column != "pol" && column != "channel" && column != "gain_amplitude" &&
        column != "phase_rad")
      throw DataError(
          "{}: unknown column '{}': the columns are antenna[,pol][,channel],gain_amplitude,phase_rad", source,
          column);
  const auto antenna_column = table.find("antenna"), amplitude_column = table.find("gain_amplitude"),
             phase_column = table.find("phase_rad");
  if (!antenna_column || !amplitude_column || !phase_column)
    throw DataError("{}: incomplete columns: antenna, gain_amplitude and phase_rad are required", source);

  const std::size_t n_ant = layout.antennas.size();
  std::unordered_map<std::string_view, std::size_t> index_of_name;
  for (std::size_t ant = 0; ant < n_ant; ++ant) index_of_name.emplace(layout.antennas[ant].name, ant);

  Buffer<std::complex<double>, 3> gains({n_ant, n_pol, n_chan});
  gains.fill(1.0);
  std::map<std::array<std::size_t, 5>, std::size_t> line_of;
  for (const CsvRow& row : table.rows) {
    const auto named = index_of_name.find(row.fields[*antenna_column]);
    const std::size_t ant =
        named != index_of_name.end() ? named->second : table.index(row, *antenna_column, n_ant);
    const bool missing = kind == Kind::gains && lower(row.fields[*amplitude_column]) == "nan";
    const double amplitude = missing ? kNoGain : table.number(row, *amplitude_column);
    if (amplitude == 0 && kind == Kind::gains)
      throw DataError(
          "{}: line {}: gain_amplitude 0: data are divided by the gain; write nan where there is none",
          source, row.line);
    if (const double size = std::abs(amplitude); size != 0 && (size < kSmallestGain || size > kLargestGain))
      throw DataError(
          "{}: line {}: gain_amplitude {:g}: samples of 32 bits cannot be scaled by it: it must lie between "
          "{:g} "
          "and {:g}",
          source, row.line, amplitude, kSmallestGain, kLargestGain);
    const double phase = missing ? kNoGain : table.number(row, *phase_column);
    const std::complex<double> gain{amplitude * std::cos(phase), amplitude * std::sin(phase)};
    const Range pols = pol_range(table, row, n_pol), chans = channel_range(table, row, n_chan);
    const auto [above, first] =
        line_of.emplace(std::array{ant, pols.first, pols.end, chans.first, chans.end}, row.line);
    if (!first)
      throw DataError("{}: line {}: antenna '{}': what this row says stands in line {} already: remove one",
                      source, row.line, row.fields[*antenna_column], above->second);
    for (std::size_t pol = pols.first; pol < pols.end; ++pol)
      for (std::size_t chan = chans.first; chan < chans.end; ++chan) gains(ant, pol, chan) = gain;
  }
  if (gains.size() > 0 &&
      std::all_of(gains.begin(), gains.end(), [](const auto& gain) { return std::isnan(gain.real()); }))
    throw DataError("{}: no antenna has a gain: all amplitudes are nan", source);
  return gains;
}

}  // namespace

std::vector<std::uint8_t> antennas_without_gains(const View<const std::complex<double>, 3>& gains) {
  std::vector<std::uint8_t> without(gains.extent(0), 0);
  for (std::size_t ant = 0; ant < gains.extent(0); ++ant)
    for (std::size_t pol = 0; pol < gains.extent(1); ++pol)
      for (std::size_t chan = 0; chan < gains.extent(2); ++chan)
        if (std::isnan(gains(ant, pol, chan).real())) without[ant] = 1;
  return without;
}

Buffer<std::complex<double>, 3> parse_gains_csv(std::string_view text, const std::string& source,
                                                const ArrayLayout& layout, std::size_t n_pol,
                                                std::size_t n_chan) {
  return parse_table(text, source, layout, n_pol, n_chan, Kind::gains);
}

Buffer<std::complex<double>, 3> parse_weights_csv(std::string_view text, const std::string& source,
                                                  const ArrayLayout& layout, std::size_t n_pol,
                                                  std::size_t n_chan) {
  return parse_table(text, source, layout, n_pol, n_chan, Kind::weights);
}

Buffer<std::complex<double>, 3> read_gains_csv(const std::string& path, const ArrayLayout& layout,
                                               std::size_t n_pol, std::size_t n_chan) {
  return parse_gains_csv(read_text_file(path), path, layout, n_pol, n_chan);
}

Buffer<std::complex<double>, 3> read_weights_csv(const std::string& path, const ArrayLayout& layout,
                                                 std::size_t n_pol, std::size_t n_chan) {
  return parse_weights_csv(read_text_file(path), path, layout, n_pol, n_chan);
}

}  // namespace apsyn
