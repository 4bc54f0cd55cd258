// SPDX-License-Identifier: GPL-3.0-or-later
// Elements whose pattern is tabulated in angles.
#include <algorithm>
#include <cmath>
#include <utility>

#include "libcore/base/constants.h"
#include "libcore/beams/elements/element.h"

namespace apsyn {
namespace {

/// The point of an axis below a value, and how far beyond it, in steps, the value lies.
struct Place {
  std::size_t at;
  double beyond;
};
Place place_on(const std::vector<double>& axis, double value) {
  const double inside = std::clamp(value, axis.front(), axis.back());
  const auto above = std::upper_bound(axis.begin() + 1, axis.end() - 1, inside);
  const std::size_t at = static_cast<std::size_t>(above - axis.begin()) - 1;
  return {at, (inside - axis[at]) / (axis[at + 1] - axis[at])};
}

class GridResponse final : public ElementResponse {
 public:
  explicit GridResponse(ElementPattern pattern) : pattern_(std::move(pattern)) {}

  Jones at(std::size_t, const ElementDirection& d) const override {
    const double theta_rad = d.cos_theta < 0 ? kPi / 2 : std::atan2(d.sin_theta, d.cos_theta);
    double phi_rad = std::atan2(d.sin_phi, d.cos_phi);
    if (phi_rad < 0) phi_rad += kTwoPi;
    const Place phi = place_on(pattern_.phi_rad, phi_rad), theta = place_on(pattern_.theta_rad, theta_rad);
    const auto& e = pattern_.e;
    Jones found;
    for (std::size_t j = 0; j < 4; ++j) {
      const auto along_theta = [&](std::size_t i) {
        return e(i, theta.at, j) * (1 - theta.beyond) + e(i, theta.at + 1, j) * theta.beyond;
      };
      found[j] = along_theta(phi.at) * (1 - phi.beyond) + along_theta(phi.at + 1) * phi.beyond;
    }
    return found;
  }

  void many(View<const float, 2> local, View<float, 3> e) const override {
    for (std::size_t i = 0; i < local.extent(1); ++i) {
      const Jones exact = at(0, element_direction({local(0, i), local(1, i), local(2, i)}));
      for (std::size_t j = 0; j < 4; ++j) {
        e(j, 0, i) = static_cast<float>(exact[j].real());
        e(j, 1, i) = static_cast<float>(exact[j].imag());
      }
    }
  }

 private:
  ElementPattern pattern_;
};

class Grid final : public Element {
 public:
  explicit Grid(std::shared_ptr<const PatternSource> source) : source_(std::move(source)) {}
  std::shared_ptr<const ElementResponse> at_frequency(double freq_hz) const override {
    return std::make_shared<GridResponse>(source_->at(freq_hz));
  }

 private:
  std::shared_ptr<const PatternSource> source_;
};

}  // namespace

std::shared_ptr<const Element> make_grid_element(std::shared_ptr<const PatternSource> source) {
  return std::make_shared<Grid>(std::move(source));
}

}  // namespace apsyn
