// SPDX-License-Identifier: GPL-3.0-or-later
// Antennas with measured apertures (EpicPlan::apertures): the response of each kind at each pixel, and the
// weights with which a source of flux 1 still appears as 1.
#pragma once

#include <complex>
#include <vector>

#include "kernels/epic/autos.h"
#include "kernels/epic/sky_pixels.h"
#include "kernels/epic/weights.h"

namespace apsyn {

/// a (libcore/array/aperture.h) towards east and north, direction cosines.
std::complex<double> aperture_response(const Aperture& aperture, double freq_hz, double east, double north);

/// Does nothing if the plan has no apertures.
class ApertureWeights {
 public:
  /// `plan` must outlive it. `autos`: add() also sums the autocorrelations of each kind of antenna.
  ApertureWeights(const EpicPlan& plan, bool autos);
  bool any() const { return !plan_.apertures.empty(); }
  std::size_t n_kind() const { return plan_.apertures.size(); }
  void start();
  void add(const SpectraBlock& block);
  /// Recomputes the responses at these pixels if the present ones are off by more than 1e-5. Returns whether
  /// it did.
  bool look(const SkyPixels& pixels);
  /// [channel][kind][pixel] a
  const Buffer<std::complex<float>, 3>& heard() const { return heard_; }
  /// pairs(): [channel][kind k][kind l] sum_t n_k n_l, with n_k the number of valid antennas of kind k;
  /// antennas(): [channel][kind] sum_t n_k.
  const Buffer<std::int64_t, 3>& pairs() const { return pairs_; }
  const Buffer<std::int64_t, 2>& antennas() const { return antennas_; }
  /// weights [pixel][ant][re, im] *= conj(a) for n_pixel pixels from `first` on; `stride` numbers from pixel
  /// to pixel.
  template <class T>
  void weigh(std::size_t channel, std::size_t first, std::size_t n_pixel, T* weights,
             std::size_t stride) const;
  /// sums [image channel][pixel][XX, YY, Re XY, Im XY] += factor A.
  void add_autos(double factor, View<double, 3> sums) const;
  /// Renormalises images: from division by the number of pairs to division by W.
  void scale(const EpicWeights& weights, const SkyPixels& pixels, EpicImages& images) const;
  static std::uint64_t bytes(const EpicPlan& plan, std::size_t n_pixel);

 private:
  /// Counts the valid antennas of each kind.
  void count(const SpectraBlock& block);
  /// W of a channel at a pixel: sum_t [ (sum_k n_k b_k)^2 - sum_k n_k b_k^2 ].
  double weight(std::size_t channel, std::size_t pixel) const;

  const EpicPlan& plan_;
  std::vector<EpicPlan>
      of_kind_;  // for autocorrelations: plans of single channels in which only one kind's antennas are used
  std::vector<EpicAutos> autos_;  // [kind]
  Buffer<std::int64_t, 3> pairs_;
  Buffer<std::int64_t, 2> antennas_;
  double reach_m_ = 0;      // of the widest aperture
  Buffer<double, 2> unit_;  // [pixel][east, north, up] of the responses
  Buffer<std::complex<float>, 3> heard_;
};

}  // namespace apsyn
