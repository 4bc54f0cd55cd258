// SPDX-License-Identifier: GPL-3.0-or-later
// --pol: planes of an output out of XX, YY, Re XY and Im XY (apsyn-conventions(7)).
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "libcore/base/csv.h"
#include "libcore/base/error.h"

namespace apsyn {

/// Of XX, YY, Re XY and Im XY (or RR, LL, Re RL, Im RL).
using ProductMix = std::array<float, 4>;

struct OutputPlane {
  std::string name;
  ProductMix real{}, imaginary{};
};

inline bool needs(const std::vector<OutputPlane>& planes, std::size_t product) {
  return std::any_of(planes.begin(), planes.end(), [&](const OutputPlane& plane) {
    return plane.real[product] != 0 || plane.imaginary[product] != 0;
  });
}

inline bool is_complex(const std::vector<OutputPlane>& planes) {
  return std::any_of(planes.begin(), planes.end(),
                     [](const OutputPlane& plane) { return plane.imaginary != ProductMix{}; });
}

/// All planes that a stream can give.
inline std::vector<OutputPlane> known_planes(bool circular) {
  if (circular)
    return {{"RR", {1, 0, 0, 0}},
            {"LL", {0, 1, 0, 0}},
            {"RL", {0, 0, 1, 0}, {0, 0, 0, 1}},
            {"LR", {0, 0, 1, 0}, {0, 0, 0, -1}},
            {"I", {0.5f, 0.5f, 0, 0}},
            {"Q", {0, 0, 1, 0}},
            {"U", {0, 0, 0, 1}},
            {"V", {0.5f, -0.5f, 0, 0}}};
  return {{"XX", {1, 0, 0, 0}},
          {"YY", {0, 1, 0, 0}},
          {"XY", {0, 0, 1, 0}, {0, 0, 0, 1}},
          {"YX", {0, 0, 1, 0}, {0, 0, 0, -1}},
          {"I", {0.5f, 0.5f, 0, 0}},
          {"Q", {0.5f, -0.5f, 0, 0}},
          {"U", {0, 0, 1, 0}},
          {"V", {0, 0, 0, 1}}};
}

/// Of Re X, Im X, Re Y and Im Y, or R and L: --electric-field.
inline std::vector<OutputPlane> field_planes(const std::string& text, std::size_t n_pol, bool circular) {
  const std::vector<OutputPlane> known = {{circular ? "R" : "X", {1, 0, 0, 0}, {0, 1, 0, 0}},
                                          {circular ? "L" : "Y", {0, 0, 1, 0}, {0, 0, 0, 1}}};
  const std::string both = known[0].name + "," + known[1].name;
  const std::string wanted = !text.empty() ? text : n_pol == 2 ? both : known[0].name;
  if (n_pol == 2 && wanted == both) return known;
  if (wanted == known[0].name) return {known[0]};
  if (n_pol == 2 && wanted == known[1].name) return {known[1]};
  throw UsageError("--pol {}: --electric-field has the planes {}", text, n_pol == 2 ? both : known[0].name);
}

/// `text` as "I,V", "IQUV" or "XX,YY,XY,YX"; empty = I, or the only product of one polarisation. UsageError.
inline std::vector<OutputPlane> parse_output_planes(const std::string& text, std::size_t n_pol,
                                                    bool circular) {
  const std::vector<OutputPlane> known = known_planes(circular);
  std::vector<std::string> names;
  if (text.empty()) {
    names.push_back(n_pol == 2 ? "I" : known[0].name);
  } else {
    for (std::string_view part : split(text, ',')) {
      if (part.empty()) throw UsageError("--pol {}: an empty name", text);
      const bool letters = part.find_first_not_of("IQUV") == std::string_view::npos;
      if (letters)
        for (char letter : part) names.emplace_back(1, letter);
      else
        names.emplace_back(part);
    }
  }
  std::vector<OutputPlane> planes;
  for (const std::string& name : names) {
    const auto found = std::find_if(known.begin(), known.end(),
                                    [&](const OutputPlane& plane) { return plane.name == name; });
    if (found == known.end())
      throw UsageError("--pol {}: '{}': give some of I, Q, U, V, {}, {}, {}, {}", text, name, known[0].name,
                       known[1].name, known[2].name, known[3].name);
    if (n_pol == 1 && found != known.begin())
      throw UsageError("--pol {}: the stream has one polarisation only: leave --pol out", text);
    if (std::any_of(planes.begin(), planes.end(), [&](const auto& plane) { return plane.name == name; }))
      throw UsageError("--pol {}: {} appears twice", text, name);
    planes.push_back(*found);
  }
  return planes;
}

}  // namespace apsyn
