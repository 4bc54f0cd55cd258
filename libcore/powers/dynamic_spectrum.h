// SPDX-License-Identifier: GPL-3.0-or-later
// Powers against time and frequency, averaged until they fit a picture.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "libcore/base/density.h"
#include "libcore/base/time.h"

namespace apsyn {

struct DynamicSpectrum {
  std::string source;
  UtcTime start;
  double sample_s = 0;
  std::uint64_t n_time = 0;      ///< samples so far
  GrowingAxis time{0, 1, 512};   ///< in samples
  std::vector<double> band_hz;   ///< centres, rising
  Buffer<double, 2> sum, count;  ///< [band][time bin]

  /// Channels in any regular order become at most n_band bands.
  void start_with(const std::vector<double>& channel_hz, std::size_t n_band) {
    n_chan_ = channel_hz.size();
    falling_ = n_chan_ > 1 && channel_hz[1] < channel_hz[0];
    n_band = std::min(n_band, n_chan_);
    band_hz.assign(n_band, 0);
    std::vector<double> n(n_band, 0);
    for (std::size_t chan = 0; chan < n_chan_; ++chan)
      band_hz[band_of(chan)] += channel_hz[chan], n[band_of(chan)] += 1;
    for (std::size_t band = 0; band < n_band; ++band) band_hz[band] /= n[band];
    sum.resize({n_band, time.n});
    count.resize(sum.shape());
  }
  /// samples [time][channel], the next ones; what is not finite is left out.
  void add(View<const float, 2> samples) {
    for (std::size_t t = 0; t < samples.extent(0); ++t, ++n_time) {
      while (!time.holds(static_cast<double>(n_time))) grow();
      const std::size_t bin = time.bin(static_cast<double>(n_time));
      for (std::size_t chan = 0; chan < n_chan_; ++chan) {
        const float x = samples(t, chan);
        if (!std::isfinite(x)) continue;
        sum(band_of(chan), bin) += static_cast<double>(x);
        count(band_of(chan), bin) += 1;
      }
    }
  }

 private:
  std::size_t band_of(std::size_t chan) const {
    const std::size_t rising = falling_ ? n_chan_ - 1 - chan : chan;
    return rising * band_hz.size() / n_chan_;
  }
  void grow() {
    for (Buffer<double, 2>* values : {&sum, &count})
      for (std::size_t band = 0; band < band_hz.size(); ++band)
        for (std::size_t i = 0; i < time.n; ++i)
          (*values)(band, i) = 2 * i < time.n ? (*values)(band, 2 * i) + (*values)(band, 2 * i + 1) : 0;
    time.width *= 2;
  }
  std::size_t n_chan_ = 0;
  bool falling_ = false;
};

}  // namespace apsyn
