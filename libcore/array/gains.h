// SPDX-License-Identifier: GPL-3.0-or-later
// Gain tables: `antenna[,pol][,channel],gain_amplitude,phase_rad`, the measured gain g = a exp(i phase).
// Data are divided by it. pol is 0 or 1, or X or R for 0, Y or L for 1. A row without pol or channel holds
// for all of them, but where a later row names one; antennas without a row keep 1. An amplitude of nan says
// that there is no gain, whatever stands for its phase: what would be divided by it is flagged.
#pragma once

#include <complex>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "libcore/array/array_layout.h"
#include "libcore/base/view.h"

namespace apsyn {

/// [antenna][pol][channel] complex gains, NaN where there is none; `antenna` in the file is an index or a
/// name of the layout. DataError when malformed, two rows are for the same, an amplitude is zero, a value is
/// not finite (but amplitudes of nan), or no antenna has a gain.
Buffer<std::complex<double>, 3> parse_gains_csv(std::string_view text, const std::string& source,
                                                const ArrayLayout& layout, std::size_t n_pol,
                                                std::size_t n_chan);
Buffer<std::complex<double>, 3> read_gains_csv(const std::string& path, const ArrayLayout& layout,
                                               std::size_t n_pol, std::size_t n_chan);

/// [channel] 1 = no antenna has a gain in it, as where solutions are flagged at the edges of a band.
std::vector<std::uint8_t> channels_without_gains(const View<const std::complex<double>, 3>& gains);

/// scale / g of each gain. Where there is none 1, so that nothing that is left out becomes NaN, and 0 in
/// channels without gains, which then hold nothing.
Buffer<std::complex<double>, 3> inverse_gains(const View<const std::complex<double>, 3>& gains,
                                              double scale = 1);

/// [antenna] 1 = some polarisation or channel has no gain, but for channels without any: whoever weights
/// antennas as a whole leaves it out.
std::vector<std::uint8_t> antennas_without_gains(const View<const std::complex<double>, 3>& gains);

/// Weights that data are multiplied by: the same columns and shape, an amplitude of 0 leaves an input out.
Buffer<std::complex<double>, 3> parse_weights_csv(std::string_view text, const std::string& source,
                                                  const ArrayLayout& layout, std::size_t n_pol,
                                                  std::size_t n_chan);
Buffer<std::complex<double>, 3> read_weights_csv(const std::string& path, const ArrayLayout& layout,
                                                 std::size_t n_pol, std::size_t n_chan);

}  // namespace apsyn
