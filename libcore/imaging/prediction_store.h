// SPDX-License-Identifier: GPL-3.0-or-later
// Blocks of visibilities that several passes over the same blocks add to, in memory or in a temporary file.
#pragma once

#include <complex>
#include <optional>
#include <string>
#include <vector>

#include "libcore/base/view.h"
#include "libcore/files/temporary_file.h"

namespace apsyn {

/// Every pass is: rewind(); then for each block, always in the same order, load() and save() or skip().
class PredictionStore {
 public:
  using Data = Buffer<std::complex<float>, 3>;
  /// A temporary file is in `folder`; empty = in TMPDIR.
  explicit PredictionStore(bool in_memory, const std::string& folder = "");
  void rewind();
  /// What was saved of the next block; what is in `data`, which has its shape already, when nothing was.
  /// save() or skip() has to follow.
  void load(Data& data);
  /// Keeps the block for the next pass; `data` holds nothing of use afterwards.
  void save(Data& data);
  /// Instead of load() and save(): copies the next block, which was saved, into `data`.
  void copy(Data& data);
  /// For the last pass: the block is done with.
  void skip(const Data& data);

 private:
  std::optional<TemporaryFile> file_;
  std::vector<Data> blocks_;
  std::size_t next_ = 0, n_saved_ = 0;
  std::uint64_t offset_ = 0;  ///< of the next block in the file
};

}  // namespace apsyn
