// SPDX-License-Identifier: GPL-3.0-or-later
// Planes that are given away piece by piece, as they are made, to whoever keeps them: no block of them is
// ever in memory, and each goes from a core's cache to where it stays.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "libcore/visibility/imaging.h"

namespace apsyn {

class PlaneReceiver {
 public:
  virtual ~PlaneReceiver() = default;
  /// A block of n_rows rows follows; `with_path`: it will have ImagingBlock::path_m. False: there is no room
  /// for it, and nothing more is wanted.
  virtual bool begin(std::size_t n_rows, View<const double, 1> channel_hz, bool with_path) = 0;
  /// Writes data and weight, [row][chan][plane], of n rows from row `first` of the block on.
  using Fill =
      std::function<void(std::size_t first, std::size_t n, std::complex<float>* data, float* weight)>;
  /// Calls fill() for these rows, a few at a time. Any number of threads, each with rows of its own.
  virtual void take(std::size_t first, std::size_t n, const Fill& fill) = 0;
  /// A row that was taken turns out to have no coordinates: its weights become 0.
  virtual void drop(std::size_t row) = 0;
};

/// What a source of visibilities is that can give them away.
class PlaneSource {
 public:
  virtual ~PlaneSource() = default;
  /// The next rows, as many as ImagingSource::read() would read. Their data and weight go to the receiver,
  /// everything else into `block`. False at the end, or when the receiver wants no more.
  virtual bool give(ImagingBlock& block, std::uint64_t max_bytes, PlaneReceiver& to) = 0;
};

}  // namespace apsyn
