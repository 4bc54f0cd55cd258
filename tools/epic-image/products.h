// SPDX-License-Identifier: GPL-3.0-or-later
// --pol: planes of an output out of XX, YY, Re XY and Im XY (apsyn-conventions(7)).
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

namespace apsyn {

/// Of XX, YY, Re XY and Im XY (or RR, LL, Re RL, Im RL).
using ProductMix = std::array<float, 4>;

struct OutputPlane {
  std::string name;
  ProductMix real{}, imaginary{};
};

bool needs(const std::vector<OutputPlane>& planes, std::size_t product);

bool is_complex(const std::vector<OutputPlane>& planes);

/// Of Re X, Im X, Re Y and Im Y, or R and L: --electric-field.
std::vector<OutputPlane> field_planes(const std::string& text, std::size_t n_pol, bool circular);

/// `text` as "I,V", "IQUV" or "XX,YY,XY,YX"; empty = I, or the only product of one polarisation. UsageError.
std::vector<OutputPlane> parse_output_planes(const std::string& text, std::size_t n_pol, bool circular);

}  // namespace apsyn
