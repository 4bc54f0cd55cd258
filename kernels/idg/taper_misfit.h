// SPDX-License-Identifier: GPL-3.0-or-later
// What a subgrid loses of visibilities at some places and under some w phases, for any taper (taper_fit.h).
#pragma once

#include <complex>
#include <cstddef>
#include <vector>

#include "kernels/common/gauss_legendre.h"
#include "kernels/idg/taper_fit.h"

namespace apsyn {

struct VisibilityPlace {
  double from_edge = 0;  ///< cells from the edge of the square that visibilities lie in
  double weight = 0;     ///< of a mean over places
};

/// Everything of a case that does not depend on the taper.
class Misfit {
 public:
  using Complex = std::complex<double>;

  Misfit(const TaperCase& wanted, std::vector<VisibilityPlace> places);

  const GaussLegendre& nodes() const { return nodes_; }  ///< over the image, weights of a mean
  const std::vector<double>& pixels() const { return pixels_; }
  std::size_t n_phases() const { return phases_.size(); }
  std::size_t n_places() const { return places_.size(); }
  const std::vector<VisibilityPlace>& places() const { return places_; }

  /// e at the nodes for `n` functions at once: [phase][place][node][function]; the functions' values are
  /// [node][function] and [pixel][function].
  std::vector<Complex> of(const std::vector<double>& at_nodes, const std::vector<double>& at_pixels,
                          std::size_t n) const;

 private:
  std::vector<Complex> waves(const std::vector<double>& points) const;

  std::size_t subgrid_;
  GaussLegendre nodes_;
  std::vector<double> pixels_;  // eta_i
  std::vector<double>
      kernel_;  // [node][pixel], without its half turn exp(-i pi x / 2); 0 behind the last node
  std::vector<VisibilityPlace> places_;
  double edge_ = 0;  // of the square, cells from the middle of the subgrid
  std::vector<ResidualPhase> phases_;
  std::vector<Complex> node_wave_, pixel_wave_;
};

}  // namespace apsyn
