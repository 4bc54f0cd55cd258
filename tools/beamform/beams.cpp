// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/beamform/beams.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>

#include "kernels/beamform/tiling.h"
#include "kernels/idg/partition/sub_table.h"
#include "libcore/base/constants.h"
#include "libcore/base/error.h"
#include "libcore/base/log.h"
#include "libcore/base/units.h"
#include "libcore/files/output.h"
#include "libcore/sky/projection.h"

namespace apsyn {
namespace {

constexpr std::size_t kMaxBeams = 16384;

/// What --centre says: absent = the zenith.
std::optional<SkyDirection> centre_of(const BeamformOptions& options, const VoltageHeader& header) {
  if (options.centre.empty()) return header.phase_centre;
  if (options.centre == "zenith") return std::nullopt;
  return parse_sky_direction(options.centre);
}

}  // namespace

std::vector<std::uint8_t> antennas_of(const ArrayLayout& layout, const std::string& list) {
  ArrayLayout named = layout;
  for (Antenna& antenna : named.antennas) antenna.flagged = false;
  flag_antennas(named, list);
  std::vector<std::uint8_t> member;
  for (std::size_t ant = 0; ant < layout.antennas.size(); ++ant)
    member.push_back((list.empty() || named.antennas[ant].flagged) && !layout.antennas[ant].flagged);
  return member;
}

std::vector<BeamDirection> tile(const BeamformOptions& options, const VoltageHeader& header) {
  if (!(options.tile_rad > 0 && options.tile_rad <= kPi))
    throw UsageError("--tile {}: give more than 0 and at most 180 degrees", format_angle(options.tile_rad));
  const std::optional<SkyDirection> centre = centre_of(options, header);
  // rows of the field's axes in the local frame; about the zenith l is east and m north
  Mat3 axes{{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
  if (centre) axes = SkyFrame(*header.layout.site).uvw_rotation(header.start, *centre);
  const std::vector<std::uint8_t> member = antennas_of(header.layout, options.subarray);
  std::vector<Vec2> positions;
  for (std::size_t ant = 0; ant < member.size(); ++ant) {
    if (member[ant] == 0) continue;
    const Vec3 uvw = multiply(axes, header.layout.antennas[ant].enu_m);
    const double per_m = header.freq_hz / kSpeedOfLight_m_s;
    positions.push_back({uvw[0] * per_m, uvw[1] * per_m});
  }
  if (positions.empty()) throw UsageError("--tile: no antennas are left to make beams of");
  std::vector<BeamDirection> beams;
  for (const Vec2& x : tile_field(positions, std::sin(options.tile_rad / 2), options.overlap, kMaxBeams)) {
    BeamDirection beam;
    beam.id = fmt::format("b{:03}", beams.size());
    if (centre)
      beam.sky = unproject(*centre, x[0], x[1]);
    else
      beam.enu = {x[0], x[1], std::sqrt(std::max(0.0, 1 - x[0] * x[0] - x[1] * x[1]))};
    beams.push_back(beam);
  }
  return beams;
}

std::vector<BeamDirection> beams_of(const BeamformOptions& options, const VoltageHeader& header) {
  if (!options.beams.empty()) {
    std::vector<BeamDirection> beams = read_beams_csv(options.beams);
    if (beams.size() > kMaxBeams)
      throw UsageError("{}: {} beams: at most {} at a time", options.beams, beams.size(), kMaxBeams);
    return beams;
  }
  if (options.tile_rad != -1) return tile(options, header);
  if (options.centre.empty() && !options.incoherent)
    throw UsageError("which beams? Give --beams, --tile, --centre or --incoherent");
  BeamDirection beam;
  beam.id = options.incoherent ? "incoherent" : "b000";
  beam.sky = centre_of(options, header);
  return {beam};
}

void warn_of_horizon(const std::vector<BeamDirection>& beams, const SkyFrame* sky, const UtcTime& start) {
  std::size_t n_below = 0;
  std::string first;
  for (const BeamDirection& beam : beams) {
    if (beam.sky && sky == nullptr) continue;
    const Vec3 enu = beam.sky ? sky->enu_from_direction(start, *beam.sky) : beam.enu;
    if (enu[2] >= 0) continue;
    if (n_below++ == 0) first = beam.id;
  }
  if (n_below > 0)
    log_warning("{} of {} beams look below the horizon as the recording starts, the first is '{}'", n_below,
                beams.size(), first);
}

void write_beams(Tool& tool, const BeamformOptions& options, const ArrayLayout& layout,
                 std::vector<BeamDirection> beams, const View<const std::uint8_t, 2>& member) {
  for (std::size_t beam = 0; beam < beams.size() && !options.subarray.empty(); ++beam) {
    beams[beam].antennas.clear();
    for (std::size_t ant = 0; ant < layout.antennas.size(); ++ant)
      if (member(beam, ant) != 0)
        beams[beam].antennas += (beams[beam].antennas.empty() ? "" : ",") + layout.antennas[ant].name;
  }
  const std::string text = format_beams_csv(beams);
  if (tool.common().dry_run) return;
  OutputFile out(options.write_beams, tool.common().overwrite);
  out.write(text.data(), text.size());
  out.commit();
}

}  // namespace apsyn
