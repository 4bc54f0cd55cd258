// SPDX-License-Identifier: GPL-3.0-or-later
// A band-limited signal at times between its samples, float64, straight from the sampling theorem.
#pragma once

#include <complex>
#include <cstddef>
#include <functional>
#include <span>
#include <vector>

namespace apsyn::reference {

/// What an antenna receives: element n is s(t_n + tau_n) exp(2 pi i nu tau_n), tau_n = delay_s(n), where s is
/// the complex baseband signal with samples `signal` every 1 / rate_hz about the frequency nu = centre_hz.
/// The interpolating sinc is tapered to zero over `half_length` samples: exact but for 1 / half_length of the
/// band at its edges. Samples nearer than half_length + |tau| to an end of the signal are not to be used.
std::vector<std::complex<double>> delayed_signal(std::span<const std::complex<float>> signal, double rate_hz,
                                                 double centre_hz,
                                                 const std::function<double(std::size_t)>& delay_s,
                                                 std::size_t half_length);

/// Sum over windows (Hann, length n_chan, half overlapping) of A_k B_k*, k = the channel from -n_chan/2 on.
std::vector<std::complex<double>> cross_spectrum(std::span<const std::complex<double>> a,
                                                 std::span<const std::complex<double>> b, std::size_t n_chan);

}  // namespace apsyn::reference
