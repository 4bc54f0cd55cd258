// SPDX-License-Identifier: GPL-3.0-or-later
// Powers against time and frequency, from whatever kind of file holds them.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "libcore/base/time.h"
#include "libcore/base/view.h"

namespace apsyn {

class PowerSource {
 public:
  virtual ~PowerSource() = default;
  /// Replaces `samples` [time][channel] by the next n_time at most; NaN is missing. False at the end.
  virtual bool read(std::size_t n_time, Buffer<float, 2>& samples) = 0;

  std::string name, source;
  UtcTime start;
  double sample_s = 0;
  std::size_t values_per_sample = 1;  ///< that reading a time takes: channels, times products or components
  std::vector<double> channel_hz;
  std::optional<std::uint64_t> n_samples;
  std::string telescope;                                  ///< its name, where the input tells
  std::optional<std::array<double, 3>> telescope_itrf_m;  ///< where it stands, likewise
  bool barycentric = false;                               ///< times are no observatory's
};

/// A SIGPROC filterbank or PSRFITS file, of which the products in `ifs` are added ("0,1"; empty: what makes
/// the intensity, see usual_intensity()), or a voltage stream of one antenna, whose polarisations' powers are
/// averaged. Missing are samples that are not finite, zeros of floating values of filterbanks, and times that
/// are 0 throughout.
std::unique_ptr<PowerSource> open_powers(const std::string& path, const std::string& ifs, unsigned n_threads);
/// The same without looking what it is.
std::unique_ptr<PowerSource> open_filterbank_powers(const std::string& path, const std::string& ifs,
                                                    unsigned n_threads);

}  // namespace apsyn
