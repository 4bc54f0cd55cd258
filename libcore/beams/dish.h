// SPDX-License-Identifier: GPL-3.0-or-later
// Measured and modelled voltage patterns of dishes: 1 (nearly) where they point, scalars of each receptor.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>

namespace apsyn {

/// Offset of a direction from where the dish points: direction cosines towards rising azimuth and elevation.
struct DishOffset {
  double azimuth = 0, elevation = 0;
};

class DishVoltage {
 public:
  virtual ~DishVoltage() = default;
  /// Of X and Y, in front of the dish.
  virtual std::array<double, 2> at(const DishOffset& offset, double freq_hz) const = 0;
  /// Whether more than the distance matters, so that the sky turns in the pattern.
  virtual bool is_round() const { return true; }
};

/// A power pattern p = c0 + c1 x + c2 x^2 ..., x = r^2 f^2 reference with r the sine of the distance in
/// minutes of arc (sine * 10800 / pi) and f in GHz; v = sqrt(max(p, 0)), 0 beyond r f = limit, and 1e-4 (1 -
/// v) added, a floor that keeps inverses finite. `csv`: rows telescope, freq_mhz, c0 .. c5; `telescope` is
/// VLA (the row nearest in frequency), GMRT (v is interpolated between rows), ATCA (the same with v = 1 /
/// sqrt(p)) or MeerKAT (one row). DataError when the table is malformed or has none of them.
std::unique_ptr<DishVoltage> make_polynomial_dish(std::string_view csv, const std::string& source,
                                                  const std::string& telescope);

/// MeerKAT's cosine taper with the squint s and the width w of H (X) and V (Y): with
/// r' = 1.18896478 hypot((x - sx) / wx, (y - sy) / wy), v = cos(pi r') / (1 - 4 r'^2); x and y are degrees
/// along azimuth and elevation. Tables by band (UHF, L, S), linear in frequency between the rows, held at the
/// ends.
std::unique_ptr<DishVoltage> make_jimbeam_dish(std::string_view csv, const std::string& source,
                                               const std::string& band);

/// An aperture lit evenly between the diameters b and D: (D^2 A(D) - b^2 A(b)) / (D^2 - b^2),
/// A(D) = 2 J1(z) / z with z = pi D sin(theta) f / c. 0 beyond `limit` minutes of arc times GHz; 0: no limit.
std::unique_ptr<DishVoltage> make_blocked_dish(double diameter_m, double blockage_m, double limit);

}  // namespace apsyn
