// SPDX-License-Identifier: GPL-3.0-or-later
// The flags of a Measurement Set as they were: HDF5, datasets "bits" (uint8, deflated: the flags of one row
// after the other, [chan][product], eight to a byte, the first one the lowest bit, rows beginning at bytes)
// and "rows" (uint64: number of the row in the set, and of its cells).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace apsyn {

class FlagFileWriter {
 public:
  /// `n_set_rows`: of the set, to know it again. Appears at commit().
  FlagFileWriter(const std::string& path, std::uint64_t n_set_rows, bool overwrite);
  ~FlagFileWriter();
  /// Flags of 0 or 1.
  void write(std::uint64_t row, std::span<const std::uint8_t> flags);
  void commit();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

class FlagFileReader {
 public:
  /// DataError when it is no such file.
  explicit FlagFileReader(const std::string& path);
  ~FlagFileReader();
  std::uint64_t n_set_rows() const;
  /// The next row. DataError when it is another one, or has other cells, than the set has now.
  void read(std::uint64_t row, std::span<std::uint8_t> flags);
  /// DataError where rows are left.
  void finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace apsyn
