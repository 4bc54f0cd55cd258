// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/simulate/phased_tables.h"

#include <cstring>

#include "libcore/base/constants.h"

namespace apsyn::simulate {
namespace {

std::size_t aligned(std::size_t bytes) {
  return (bytes + 15) / 16 * 16;
}

}  // namespace

PhasedTables make_phased_tables(const PhasedBeams& beams) {
  PhasedTables tables;
  const auto add = [&](const std::vector<Vec3>& from, std::uint32_t& first, std::uint32_t& n) {
    first = static_cast<std::uint32_t>(tables.positions_m.size() / 3);
    n = static_cast<std::uint32_t>(from.size());
    for (const Vec3& r_m : from) tables.positions_m.insert(tables.positions_m.end(), r_m.begin(), r_m.end());
  };
  for (const auto& fields : beams.stations) {
    tables.first_field.push_back(static_cast<std::uint32_t>(tables.fields.size()));
    for (const PhasedBeams::Field& from : fields) {
      PhasedFieldTerms& to = tables.fields.emplace_back();
      to.frame = static_cast<std::uint32_t>(from.frame);
      add(from.elements_m[0], to.first_x, to.n_x);
      if (from.elements_m[1] == from.elements_m[0]) {
        to.first_y = to.first_x;
        to.n_y = kSameElements;
      } else {
        add(from.elements_m[1], to.first_y, to.n_y);
      }
      add(from.tile_m, to.first_tile, to.n_tile);
    }
  }
  tables.first_field.push_back(static_cast<std::uint32_t>(tables.fields.size()));
  return tables;
}

PhasedLayout::PhasedLayout(std::size_t n_components, std::size_t n_frames, std::size_t n_stations) {
  elements = aligned(3 * sizeof(double) * n_components);
  left = elements + sizeof(TermMatrix) * n_frames * n_components;
  look = left + sizeof(TermMatrix) * n_stations;
  size = look + aligned(sizeof(PhasedLook));
}

void pack_phased(const PhasedChannel& channel, const PhasedLayout& layout, std::byte* to) {
  PhasedLook look;
  look.per_m = channel.freq_hz / kSpeedOfLight_m_s;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    look.delay_per_m[axis] = channel.delay_hz[axis] / kSpeedOfLight_m_s;
    look.tile_per_m[axis] = channel.tile_hz[axis] / kSpeedOfLight_m_s;
  }
  std::memcpy(to + layout.look, &look, sizeof(look));
  for (std::size_t station = 0; station < channel.left.size(); ++station) {
    TermMatrix left;
    for (std::size_t i = 0; i < 4; ++i)
      left.of[i] = {static_cast<float>(channel.left[station][i].real()),
                    static_cast<float>(channel.left[station][i].imag())};
    std::memcpy(to + layout.left + station * sizeof(left), &left, sizeof(left));
  }
}

PhasedTerms phased_terms_at(const std::byte* at, const PhasedLayout& layout, std::size_t n_components) {
  return {reinterpret_cast<const PhasedLook*>(at + layout.look), reinterpret_cast<const double*>(at),
          reinterpret_cast<const TermMatrix*>(at + layout.left),
          reinterpret_cast<const TermMatrix*>(at + layout.elements),
          static_cast<std::uint32_t>(n_components)};
}

}  // namespace apsyn::simulate
