// SPDX-License-Identifier: GPL-3.0-or-later
// Raw samples of a voltage stream -> canonical order [time][chan][ant][pol][re, im], with sideband
// conjugation undone. Real samples get im = 0. SCALE is not applied.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "libcore/voltage/voltage.h"

namespace apsyn {

class SampleDecoder {
 public:
  /// `header` has passed parse_voltage_header.
  explicit SampleDecoder(const VoltageHeader& header);

  /// Whether samples decode to int8 (NBIT <= 8) or to float. Conjugating -128 gives 127.
  bool integer() const { return integer_; }
  /// Whether complex samples of 4 bits may stay packed: re in bits 7..4, im in bits 3..0, two's complement.
  /// The conjugate of -8 would not fit.
  bool can_stay_4bit() const;
  /// Whether decoding changes no byte, so that samples can be read into their place.
  bool copies(bool stay_4bit) const;
  std::size_t components_per_time() const { return 2 * n_chan_ * n_ant_ * n_pol_; }

  /// `units` starts with a whole unit (VoltageHeader::unit_samples); decodes n_time samples from sample
  /// `first` counted from there. `out` holds n_time * components_per_time() values.
  void decode(const std::uint8_t* units, std::size_t first, std::size_t n_time, std::int8_t* out) const;
  void decode(const std::uint8_t* units, std::size_t first, std::size_t n_time, float* out) const;
  /// Only where they can_stay_4bit(): half as many values.
  void decode(const std::uint8_t* units, std::size_t first, std::size_t n_time, std::uint8_t* out) const;

 private:
  template <class Out, class Load>
  void run(const Load& load, const std::uint8_t* units, std::size_t first, std::size_t n_time,
           Out* out) const;

  VoltageHeader header_;
  bool integer_ = true;
  bool whole_lines_ = true;  ///< [ant][pol] of one time and channel lie together
  bool canonical_ = true;    ///< ... and so does all of a time sample
  std::size_t n_chan_ = 1, n_ant_ = 1, n_pol_ = 1;
  std::size_t unit_samples_ = 1, unit_bytes_ = 1;
  bool heaps_ = false;  ///< T is not the slowest axis: samples of different units do not follow each other
  std::size_t time_stride_ = 1, chan_stride_ = 1, ant_stride_ = 1, pol_stride_ = 1;  ///< in samples
};

/// Whether all n values are finite.
bool all_finite(const float* values, std::size_t n);

/// Clears what is not finite: both components become 0 and mask [time][chan][ant] gets a 1. Returns false,
/// and leaves `mask` alone, when everything is finite; otherwise `mask` takes its shape.
bool clear_not_finite(View<float, 5> samples, Buffer<std::uint8_t, 3>& mask);

}  // namespace apsyn
