// SPDX-License-Identifier: GPL-3.0-or-later
// The tables of phased_terms.h, on the host.
#pragma once

#include <cstddef>
#include <vector>

#include "kernels/simulate/phased_terms.h"
#include "libcore/beams/phased_beams.h"

namespace apsyn::simulate {

struct PhasedTables {
  std::vector<double> positions_m;         ///< [position][3]
  std::vector<PhasedFieldTerms> fields;    ///< by station
  std::vector<std::uint32_t> first_field;  ///< [station], and one more for the end
};
PhasedTables make_phased_tables(const PhasedBeams& beams);

/// Where the parts of a channel lie in memory that travels to the device, in bytes: directions, elements,
/// matrices from the left, and where it looks. All begin at multiples of 16.
struct PhasedLayout {
  std::size_t elements = 0, left = 0, look = 0, size = 0;
  PhasedLayout(std::size_t n_components, std::size_t n_frames, std::size_t n_stations);
};
/// Puts what is not there yet, matrices and look, behind directions and elements.
void pack_phased(const PhasedChannel& channel, const PhasedLayout& layout, std::byte* to);
/// The parts of a channel, on the device that `at` is an address of.
PhasedTerms phased_terms_at(const std::byte* at, const PhasedLayout& layout, std::size_t n_components);

}  // namespace apsyn::simulate
