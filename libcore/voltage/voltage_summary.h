// SPDX-License-Identifier: GPL-3.0-or-later
// What a look at a voltage stream shows: powers, levels, bandpasses and gaps of its inputs. Input = antenna
// times NPOL plus polarisation. Missing and non-finite samples take part in nothing but the count of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "libcore/base/density.h"
#include "libcore/base/time.h"
#include "libcore/base/units.h"

namespace apsyn {

struct VoltageSummary {
  std::string telescope, source;
  FluxUnit flux_unit = FluxUnit::adu;  ///< of powers
  UtcTime start;
  double sample_s = 0;
  std::size_t n_ant = 0, n_pol = 0, n_chan = 0;
  unsigned n_bit = 0, n_dim = 2;
  bool integer = true;
  std::int64_t n_time = 0;  ///< samples read
  std::size_t n_inputs() const { return n_ant * n_pol; }

  GrowingAxis time{0, 1, 256};  ///< in samples
  Buffer<double, 2> power_sum;  ///< [input][time bin] of |E|^2 over channels
  Buffer<std::uint64_t, 2> n_power;
  /// Counts of real and imaginary parts [input][256]: bin b holds values that round to (b - 128) level_step.
  Buffer<std::uint64_t, 2> levels;
  double level_step = 1;
  std::vector<std::uint64_t> n_values, n_saturated;  ///< [input], of components; saturated: integers at the
                                                     ///< ends of their range
  std::vector<std::uint64_t> n_missing;              ///< [antenna], samples of all channels and polarisations
  std::vector<double> freq_hz;                       ///< rising
  Buffer<double, 2> spectrum;                        ///< [input][freq] sums of power
  Buffer<std::uint64_t, 2> n_spectrum;
};

}  // namespace apsyn
