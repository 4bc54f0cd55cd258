// SPDX-License-Identifier: GPL-3.0-or-later
// Planes that are given away piece by piece, as they are made, to whoever keeps them: no block of them is
// ever in memory, and each goes from a core's cache to where it stays.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "libcore/visibility/imaging.h"

namespace apsyn {

/// The planes of one block, on their way.
class PlaneBlock {
 public:
  virtual ~PlaneBlock() = default;
  /// Writes data and weight, [row][chan][plane], of n rows from row `first` of the block on.
  using Fill =
      std::function<void(std::size_t first, std::size_t n, std::complex<float>* data, float* weight)>;
  /// Calls fill() for these rows, a few at a time. Any number of threads, each with rows of its own.
  virtual void take(std::size_t first, std::size_t n, const Fill& fill) = 0;
  /// A row that was taken turns out to have no coordinates: its weights become 0. One thread, after the last
  /// take().
  virtual void drop(std::size_t row) = 0;
};

class PlaneReceiver {
 public:
  virtual ~PlaneReceiver() = default;
  /// A block of n_rows rows follows; `with_path`: it will have ImagingBlock::path_m. Null: there is no room
  /// for it, and nothing more is wanted. One block after the other.
  virtual std::unique_ptr<PlaneBlock> begin(std::size_t n_rows, View<const double, 1> channel_hz,
                                            bool with_path) = 0;
  /// What is done with each block once its planes have been taken: step after step, of one block after the
  /// other or of several at the same time. The ImagingBlock has everything but data and weight.
  struct Step {
    bool in_order = false;
    std::function<void(PlaneBlock& planes, const ImagingBlock& block)> run;
  };
  virtual std::vector<Step> then() = 0;
};

/// What a source of visibilities is that can give them away.
class PlaneSource {
 public:
  virtual ~PlaneSource() = default;
  /// Gives all rows since ImagingSource::rewind() away, in blocks of as many as ImagingSource::read() would
  /// read, several of which are on their way at the same time. False: the receiver wanted no more.
  virtual bool give_all(std::uint64_t max_bytes, PlaneReceiver& to) = 0;
};

}  // namespace apsyn
