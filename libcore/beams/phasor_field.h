// SPDX-License-Identifier: GPL-3.0-or-later
// Sums of phasors over the elements of a field for the pixels of a grid, in single precision:
//   a[y][x] = sum over k of exp(2 pi i (r_k . (f s[y][x] - f0 s0)) / c).
//
// Within a block of pixels the direction s is s_b + g_x dx + g_y dy + e rho(y, x) + e' sigma'(y, x) + e"
// sigma"(y, x). e is the direction of the middle of the grid, along which the sphere curves away; aberration
// bends the field across it by some 1e-4 of that. The first three terms make a product of one phasor per
// element and row and one per element and column, and so a product of matrices over the elements. rho is left
// to a short Taylor series in 2 pi f / c (r_k . e) rho, of which each term is one more product, sigma to
// first order. For libcore/beams only.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "libcore/array/array_layout.h"
#include "libcore/base/view.h"
#include "libcore/beams/complex_product.h"

namespace apsyn {

/// Pixels that share an expansion.
struct PhasorBlock {
  std::size_t x = 0, y = 0, n_x = 0, n_y = 0;
  Vec3 middle{}, along_x{}, along_y{};  ///< s_b, g_x and g_y; dx and dy count from the block's middle
  double max_rho = 0;                   ///< rho lies about 0: its middle is in s_b
  bool bent = false;                    ///< sigma counts
  bool expanded = true;                 ///< otherwise each pixel is computed by itself
};

/// How the pixels of a grid are divided, for elements up to a distance from the middle of their field.
class PhasorPlan {
 public:
  /// Directions [y][x], unit vectors; `reach` is 2 pi f / c times the largest distance, in radians.
  PhasorPlan(View<const Vec3, 2> directions, double reach);

  View<const Vec3, 2> directions() const { return directions_; }
  const std::vector<PhasorBlock>& blocks() const { return blocks_; }
  /// e, e' and e", at right angles.
  const std::array<Vec3, 3>& axes() const { return axes_; }
  /// [rho, sigma', sigma"][y][x]
  View<const float, 3> rest() const { return rest_; }

 private:
  void add(PhasorBlock block, double reach);
  /// Fits a block; returns the largest sigma.
  double fit(PhasorBlock& block);

  View<const Vec3, 2> directions_;
  std::array<Vec3, 3> axes_{};
  Buffer<float, 3> rest_;
  std::vector<PhasorBlock> blocks_;
};

/// Keeps its memory from call to call; one for each thread.
class PhasorSum {
 public:
  /// The sum for the elements `r_m` in a block, into rows n_y and columns n_x rounded up to kLanes;
  /// `looked_hz` is f0 s0.
  void evaluate(const PhasorPlan& plan, const PhasorBlock& block, const std::vector<Vec3>& r_m,
                double freq_hz, const Vec3& looked_hz, ComplexPlanes& sum);
  /// The phasors themselves, [element][pixel], for pixels i of `directions` (a multiple of kLanes).
  void phasors(View<const Vec3, 1> directions, const std::vector<Vec3>& r_m, double freq_hz,
               const Vec3& looked_hz, ComplexPlanes& g);

 private:
  void expand(const PhasorPlan& plan, const PhasorBlock& block, const std::vector<Vec3>& r_m, double freq_hz,
              const Vec3& looked_hz, ComplexPlanes& sum);
  /// term_ := factor columns_, or i times that, of an element.
  void turn_columns(std::size_t k, float factor, bool by_i);
  void sum_pixels(const PhasorPlan& plan, const PhasorBlock& block, const std::vector<Vec3>& r_m,
                  double freq_hz, const Vec3& looked_hz, ComplexPlanes& sum);

  ComplexPlanes rows_, columns_, term_, bent_;
  Buffer<float, 2> rho_;
  Buffer<float, 2> along_;  ///< 2 pi f / c times r . e, r . e' and r . e", [element]
  std::vector<double> turns_, coordinates_;
  std::vector<Vec3> pixels_;
  ComplexPlanes g_;
};

}  // namespace apsyn
