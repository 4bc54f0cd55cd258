// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/sky/source_table.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "libcore/base/constants.h"
#include "libcore/sky/projection.h"

namespace apsyn {
namespace {

/// Offsets are told in units of the narrower width: the stricter measure.
double offset_beams(const SourceTable& table, const SourceRow& row) {
  return separation_rad(row.true_direction, row.found_direction) / table.beam_minor_rad;
}
double flux_error_sigmas(const SourceTable& table, const SourceRow& row) {
  return (row.found_jy - row.true_jy) / table.noise_jy;
}

}  // namespace

std::vector<std::string> format_source_table(const SourceTable& table) {
  std::size_t width = 6;
  for (const SourceRow& row : table.rows) width = std::max(width, row.name.size());
  std::vector<std::string> lines;
  lines.push_back(fmt::format("{:{}} {:>10} {:>10} {:>8} {:>7} {:>11} {:>11} {:>13} {:>13}", "# name", width,
                              "true_jy", table.flux_unit == FluxUnit::jansky ? "found_jy" : "found_adu",
                              "ratio", "sigmas", "offset_asec", "offset_beam", "found_ra", "found_dec"));
  for (const SourceRow& row : table.rows) {
    if (row.found)
      lines.push_back(fmt::format(
          "{:{}} {:>10.4f} {:>10.4f} {:>8.4f} {:>+7.2f} {:>11.2f} {:>11.4f} {:>13} {:>13}", row.name, width,
          row.true_jy, row.found_jy, row.found_jy / row.true_jy, flux_error_sigmas(table, row),
          separation_rad(row.true_direction, row.found_direction) / kRadPerArcsec, offset_beams(table, row),
          format_right_ascension(row.found_direction.ra_rad, 2),
          format_declination(row.found_direction.dec_rad, 1)));
    else
      lines.push_back(fmt::format("{:{}} {:>10.4f} {:>10} {:>8} {:>7} {:>11} {:>11} {:>13} {:>13}", row.name,
                                  width, row.true_jy, row.why_not, "-", "-", "-", "-", "-", "-"));
  }
  return lines;
}

std::string summarise(const SourceTable& table) {
  std::size_t n_found = 0;
  double offset = 0, sigmas = 0, deviation = 0;
  for (const SourceRow& row : table.rows) {
    if (!row.found) continue;
    ++n_found;
    offset = std::max(offset, offset_beams(table, row));
    sigmas = std::max(sigmas, std::abs(flux_error_sigmas(table, row)));
    deviation = std::max(deviation, std::abs(row.found_jy / row.true_jy - 1));
  }
  const std::string beam = format_angle(table.beam_major_rad) + " x " + format_angle(table.beam_minor_rad);
  if (n_found == 0) return fmt::format("none of {} sources found, beam {}", table.rows.size(), beam);
  return fmt::format(
      "{} of {} sources found; largest offset {:.4f} of the beam's width ({}), largest flux error {:.2f} % "
      "or {:.2f} "
      "times the noise of {:.4g} {}/beam",
      n_found, table.rows.size(), offset, beam, 100 * deviation, sigmas, table.noise_jy,
      name_of(table.flux_unit));
}

}  // namespace apsyn
