// SPDX-License-Identifier: GPL-3.0-or-later
// Antennas of measured apertures (EpicPlan::apertures): what each kind hears from each pixel, and the weights
// that keep a source of flux 1 at 1.
#pragma once

#include <complex>
#include <vector>

#include "kernels/epic/autos.h"
#include "kernels/epic/sky_pixels.h"
#include "kernels/epic/weights.h"

namespace apsyn {

/// a (libcore/array/aperture.h) towards east and north, direction cosines.
std::complex<double> aperture_response(const Aperture& aperture, double freq_hz, double east, double north);

/// Without apertures it does nothing at all.
class ApertureWeights {
 public:
  /// `plan` must outlive it. `autos`: add() keeps what the antennas of each kind have with themselves.
  ApertureWeights(const EpicPlan& plan, bool autos);
  bool any() const { return !plan_.apertures.empty(); }
  std::size_t n_kind() const { return plan_.apertures.size(); }
  void start();
  void add(const SpectraBlock& block);
  /// Makes the responses at these pixels anew, and says so, where the last ones are off by more than 1e-5.
  bool look(const SkyPixels& pixels);
  /// [channel][kind][pixel] a
  const Buffer<std::complex<float>, 3>& heard() const { return heard_; }
  /// [channel][kind k][kind l] sum_t n_k n_l of so many antennas of each kind, and [channel][kind] sum_t n_k.
  const Buffer<std::int64_t, 3>& pairs() const { return pairs_; }
  const Buffer<std::int64_t, 2>& antennas() const { return antennas_; }
  /// weights [pixel][ant][re, im] *= conj(a) of pixels first ..; `stride` numbers from pixel to pixel.
  template <class T>
  void weigh(std::size_t channel, std::size_t first, std::size_t n_pixel, T* weights,
             std::size_t stride) const;
  /// sums [image channel][pixel][XX, YY, Re XY, Im XY] += factor A.
  void add_autos(double factor, View<double, 3> sums) const;
  /// Images that were divided by pairs are divided by W.
  void scale(const EpicWeights& weights, const SkyPixels& pixels, EpicImages& images) const;
  static std::uint64_t bytes(const EpicPlan& plan, std::size_t n_pixel);

 private:
  /// Antennas of each kind that are there.
  void count(const SpectraBlock& block);
  /// W of a channel at a pixel: sum_t [ (sum_k n_k b_k)^2 - sum_k n_k b_k^2 ].
  double weight(std::size_t channel, std::size_t pixel) const;

  const EpicPlan& plan_;
  std::vector<EpicPlan> of_kind_;  // of autos: single channels in which only one kind's antennas are there
  std::vector<EpicAutos> autos_;   // [kind]
  Buffer<std::int64_t, 3> pairs_;
  Buffer<std::int64_t, 2> antennas_;
  double reach_m_ = 0;      // of the widest aperture
  Buffer<double, 2> unit_;  // [pixel][east, north, up] of the responses
  Buffer<std::complex<float>, 3> heard_;
};

}  // namespace apsyn
