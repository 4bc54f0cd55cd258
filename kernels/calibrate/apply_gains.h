// SPDX-License-Identifier: GPL-3.0-or-later
// Gains onto visibilities: V' = J_p^-1 V J_q^-H, or J_p V J_q^H where data are to be corrupted. Weights are
// inverse variances: of diagonal gains w' = w |g_p|^2 |g_q|^2, of matrices P = J_p^-1, Q = J_q^-1
//   1 / w'_ab = sum over c, d of |P_ac|^2 |Q_bd|^2 / w_cd.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <span>

#include "libcore/base/view.h"

namespace apsyn {

/// Receptors of the two antennas in a product: XY is {0, 1}.
struct ProductHands {
  std::uint8_t first = 0, second = 0;
};

/// Gains of all antennas at one time and in the channels of one window.
class AppliedGains {
 public:
  /// gains [antenna][chan][2: diagonal, or 4: row by row]; flagged [antenna][chan], where gains are unity.
  AppliedGains(View<const std::complex<double>, 3> gains, View<const std::uint8_t, 2> flagged, bool corrupt);
  /// One row, [chan][product]; data of antennas that are flagged stay, and are flagged (unless corrupted). A
  /// product that matrices mix with a flagged one is flagged, too. `weight` may be empty. Any thread.
  void apply(std::size_t ant1, std::size_t ant2, std::span<const ProductHands> hands,
             View<std::complex<float>, 2> data, View<float, 2> weight, View<std::uint8_t, 2> flag) const;

 private:
  void apply_diagonal(std::size_t ant1, std::size_t ant2, std::span<const ProductHands> hands,
                      View<std::complex<float>, 2> data, View<float, 2> weight) const;
  void apply_matrices(std::size_t ant1, std::size_t ant2, std::span<const ProductHands> hands,
                      View<std::complex<float>, 2> data, View<float, 2> weight,
                      View<std::uint8_t, 2> flag) const;

  bool corrupt_;
  Buffer<std::complex<float>, 3> factor_;  ///< what data are multiplied by, from the left: inverses or gains
  Buffer<float, 3> size2_;                 ///< [antenna][chan][...] |g|^2, of diagonal gains
  Buffer<std::uint8_t, 2> flagged_;        ///< [antenna][chan]
  Buffer<std::uint8_t, 1> any_flagged_;    ///< [antenna]
};

}  // namespace apsyn
