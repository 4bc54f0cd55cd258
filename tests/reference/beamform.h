// SPDX-License-Identifier: GPL-3.0-or-later
// Tied-array and incoherent beams from their definition, one spectrum of one channel at a time, float64.
#pragma once

#include <array>
#include <complex>
#include <cstddef>
#include <vector>

namespace apsyn::reference {

/// One antenna of a beam at one spectrum and channel.
struct BeamInput {
  bool valid = true;  ///< in the beam, and with data
  double turns = 0;   ///< nu tau
  std::array<std::complex<double>, 2> voltage{}, weight{1.0, 1.0}, calibration{1.0, 1.0};
};

struct BeamSample {
  bool x_valid = false, y_valid = false;
  std::array<std::complex<double>, 2> voltage{};
  /// XX, YY, XY
  double xx = 0, yy = 0;
  std::complex<double> xy;
};

BeamSample coherent_beam(const std::vector<BeamInput>& inputs, std::size_t n_pol, double scale);
BeamSample incoherent_beam(const std::vector<BeamInput>& inputs, std::size_t n_pol, double scale);

/// I, Q, U, V of linear or circular feeds.
std::array<double, 4> stokes(const BeamSample& sample, bool circular);

/// The response of an array steered to s0 to a wave from s (Magro, Zarb Adami & Hickish 2014, equation 1 with
/// A = 1), over its value at s = s0: sum over antennas of exp(2 pi i nu r.(s - s0) / c) / N.
std::complex<double> array_response(const std::vector<std::array<double, 3>>& positions_m,
                                    const std::array<double, 3>& s, const std::array<double, 3>& s0,
                                    double freq_hz);

}  // namespace apsyn::reference
