// SPDX-License-Identifier: GPL-3.0-or-later
// The error of a subgrid for visibilities at given places and with given w phases, for any taper
// (taper_fit.h).
#pragma once

#include <complex>
#include <cstddef>
#include <vector>

#include "kernels/common/math/gauss_legendre.h"
#include "kernels/idg/plan/taper_fit.h"

namespace apsyn {

struct VisibilityPlace {
  double from_edge = 0;  ///< cells from the edge of the square that visibilities lie in
  double weight = 0;     ///< of a mean over places
};

/// The part of a case's misfit that does not depend on visibilities: how its pixels interpolate the image.
struct MisfitTables {
  explicit MisfitTables(const TaperCase& wanted);

  GaussLegendre nodes;         ///< over the image, weights of a mean
  std::vector<double> pixels;  ///< eta_i
  /// [node][pixel], without its half turn exp(-i pi x / 2); 0 behind the last node.
  std::vector<double> kernel;
};

/// Everything of a case that does not depend on the taper.
class Misfit {
 public:
  using Complex = std::complex<double>;

  /// `tables` belong to the same case and must outlive this object.
  Misfit(const TaperCase& wanted, const MisfitTables& tables, std::vector<VisibilityPlace> places);

  const GaussLegendre& nodes() const { return tables_.nodes; }
  const std::vector<double>& pixels() const { return tables_.pixels; }
  std::size_t n_phases() const { return phases_.size(); }
  std::size_t n_places() const { return places_.size(); }
  const std::vector<VisibilityPlace>& places() const { return places_; }

  /// e of taper_fit.h for `n` functions, [phase][place][node][function]. The functions' values are given at
  /// the nodes, [node][function], and at the pixels, [pixel][function].
  std::vector<Complex> of(const std::vector<double>& at_nodes, const std::vector<double>& at_pixels,
                          std::size_t n) const;

 private:
  std::vector<Complex> waves(const std::vector<double>& points) const;

  const MisfitTables& tables_;
  std::vector<VisibilityPlace> places_;
  double edge_ = 0;  // of the square, cells from the middle of the subgrid
  std::vector<ResidualPhase> phases_;
  std::vector<Complex> node_wave_, pixel_wave_;
};

}  // namespace apsyn
