// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/epic-image/products.h"

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "libcore/base/csv.h"
#include "libcore/base/error.h"

namespace apsyn {
namespace {

/// All planes that a stream can give.
std::vector<OutputPlane> known_planes(bool circular) {
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

}  // namespace

bool needs(const std::vector<OutputPlane>& planes, std::size_t product) {
  return std::any_of(planes.begin(), planes.end(), [&](const OutputPlane& plane) {
    return plane.real[product] != 0 || plane.imaginary[product] != 0;
  });
}

bool is_complex(const std::vector<OutputPlane>& planes) {
  return std::any_of(planes.begin(), planes.end(),
                     [](const OutputPlane& plane) { return plane.imaginary != ProductMix{}; });
}

std::vector<OutputPlane> field_planes(const std::string& text, std::size_t n_pol, bool circular) {
  const std::vector<OutputPlane> known = {{circular ? "R" : "X", {1, 0, 0, 0}, {0, 1, 0, 0}},
                                          {circular ? "L" : "Y", {0, 0, 1, 0}, {0, 0, 0, 1}}};
  const std::string both = known[0].name + "," + known[1].name;
  const std::string wanted = !text.empty() ? text : n_pol == 2 ? both : known[0].name;
  if (n_pol == 2 && wanted == both) return known;
  if (wanted == known[0].name) return {known[0]};
  if (n_pol == 2 && wanted == known[1].name) return {known[1]};
  throw UsageError("--pol {}: --electric-field has the planes {}", text, n_pol == 2 ? both : known[0].name);
}

std::vector<OutputPlane> parse_output_planes(const std::string& text, std::size_t n_pol, bool circular) {
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
