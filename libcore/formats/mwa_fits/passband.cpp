// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/formats/mwa_fits/passband.h"

#include <optional>

#include "libcore/base/csv.h"
#include "libcore/base/error.h"
#include "libcore/files/input.h"

namespace apsyn::mwa_fits {

std::vector<double> read_passband(const std::string& path, std::size_t n_fine) {
  const std::string text = read_text_file(path);
  const CsvTable table = parse_csv(text, path);
  const auto channel = table.find("channel"), gain = table.find("gain");
  if (!channel || !gain || table.columns.size() != 2)
    throw DataError("{}: the columns of a passband are channel,gain", path);
  if (table.rows.size() != n_fine)
    throw DataError(
        "{}: {} gains, but a coarse channel of these files has {} fine channels: give one for each", path,
        table.rows.size(), n_fine);
  // Their squares, with which weights are multiplied, stay within what single precision holds.
  constexpr double kLeast = 1e-6, kGreatest = 1e6;
  std::vector<std::optional<double>> found(n_fine);
  for (const CsvRow& row : table.rows) {
    const std::size_t at = table.index(row, *channel, n_fine);
    const double value = table.number(row, *gain);
    if (found[at])
      throw DataError("{}: line {}: channel {} comes twice: give each of the {} once", path, row.line, at,
                      n_fine);
    if (value != 0 && !(value >= kLeast && value <= kGreatest))
      throw DataError("{}: line {}: gain {}: give a number from {:g} to {:g}, or 0 to flag the channel", path,
                      row.line, value, kLeast, kGreatest);
    found[at] = value;
  }
  std::vector<double> gains;
  for (const std::optional<double>& value : found) gains.push_back(*value);
  return gains;
}

}  // namespace apsyn::mwa_fits
