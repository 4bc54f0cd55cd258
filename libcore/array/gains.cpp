// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/array/gains.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>

#include "libcore/array/gain_rows.h"
#include "libcore/base/csv.h"
#include "libcore/base/error.h"
#include "libcore/files/input.h"

namespace apsyn {
namespace {

IndexRange channel_range(const CsvTable& table, const CsvRow& row, std::size_t n_chan) {
  const auto at = table.find("channel");
  if (!at || row.fields[*at].empty()) return {0, n_chan};
  const std::size_t index = table.index(row, *at, n_chan);
  return {index, index + 1};
}

/// Of amplitudes: products of two gains, and of their inverses, are numbers of 32 bits.
constexpr double kSmallestGain = 1e-15, kLargestGain = 1e15;

/// Of amplitudes: gains may be missing (nan), weights may be zero.
enum class Kind { gains, weights };

constexpr double kNoGain = std::numeric_limits<double>::quiet_NaN();

Buffer<std::complex<double>, 3> parse_table(std::string_view text, const std::string& source,
                                            const ArrayLayout& layout, std::size_t n_pol, std::size_t n_chan,
                                            Kind kind) {
  const GainRows rows(text, source, layout, "channel");
  const CsvTable& table = rows.table();
  const std::size_t n_ant = layout.antennas.size();
  Buffer<std::complex<double>, 3> gains({n_ant, n_pol, n_chan});
  gains.fill(1.0);
  std::map<std::array<std::size_t, 5>, std::size_t> line_of;
  for (const CsvRow& row : table.rows) {
    const std::size_t ant = rows.antenna(row);
    const bool missing = kind == Kind::gains && lower(row.fields[rows.amplitude_column()]) == "nan";
    const double amplitude = missing ? kNoGain : table.number(row, rows.amplitude_column());
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
    const double phase = missing ? kNoGain : table.number(row, rows.phase_column());
    const std::complex<double> gain{amplitude * std::cos(phase), amplitude * std::sin(phase)};
    const IndexRange pols = rows.pols(row, n_pol), chans = channel_range(table, row, n_chan);
    const auto [above, first] =
        line_of.emplace(std::array{ant, pols.first, pols.end, chans.first, chans.end}, row.line);
    if (!first)
      throw DataError("{}: line {}: antenna '{}': what this row says stands in line {} already: remove one",
                      source, row.line, rows.antenna_name(row), above->second);
    for (std::size_t pol = pols.first; pol < pols.end; ++pol)
      for (std::size_t chan = chans.first; chan < chans.end; ++chan) gains(ant, pol, chan) = gain;
  }
  if (gains.size() > 0 &&
      std::all_of(gains.begin(), gains.end(), [](const auto& gain) { return std::isnan(gain.real()); }))
    throw DataError("{}: no antenna has a gain: all amplitudes are nan", source);
  return gains;
}

}  // namespace

std::vector<std::uint8_t> channels_without_gains(const View<const std::complex<double>, 3>& gains) {
  std::vector<std::uint8_t> without(gains.extent(2), 1);
  for (std::size_t ant = 0; ant < gains.extent(0); ++ant)
    for (std::size_t pol = 0; pol < gains.extent(1); ++pol)
      for (std::size_t chan = 0; chan < gains.extent(2); ++chan)
        if (!std::isnan(gains(ant, pol, chan).real())) without[chan] = 0;
  return without;
}

Buffer<std::complex<double>, 3> inverse_gains(const View<const std::complex<double>, 3>& gains,
                                              double scale) {
  const std::vector<std::uint8_t> without = channels_without_gains(gains);
  Buffer<std::complex<double>, 3> inverse(gains.shape());
  for (std::size_t ant = 0; ant < gains.extent(0); ++ant)
    for (std::size_t pol = 0; pol < gains.extent(1); ++pol)
      for (std::size_t chan = 0; chan < gains.extent(2); ++chan) {
        const std::complex<double> gain = gains(ant, pol, chan);
        inverse(ant, pol, chan) = without[chan] != 0        ? 0.0
                                  : std::isnan(gain.real()) ? std::complex<double>(1)
                                                            : scale / gain;
      }
  return inverse;
}

std::vector<std::uint8_t> antennas_without_gains(const View<const std::complex<double>, 3>& gains) {
  const std::vector<std::uint8_t> none = channels_without_gains(gains);
  std::vector<std::uint8_t> without(gains.extent(0), 0);
  for (std::size_t ant = 0; ant < gains.extent(0); ++ant)
    for (std::size_t pol = 0; pol < gains.extent(1); ++pol)
      for (std::size_t chan = 0; chan < gains.extent(2); ++chan)
        if (none[chan] == 0 && std::isnan(gains(ant, pol, chan).real())) without[ant] = 1;
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
