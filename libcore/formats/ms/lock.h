// SPDX-License-Identifier: GPL-3.0-or-later
// Runs that change the same Measurement Set in place, one after the other.
#pragma once

#include <memory>
#include <string>

namespace apsyn {

/// Keeps other runs from changing, or replacing, a set while it lives. Take it before the set is opened:
/// casacore reads the description of a table once, and would write what it has read over a column that
/// another run has added since.
class MeasurementSetLock {
 public:
  /// FailureError when another run holds it.
  explicit MeasurementSetLock(const std::string& path);
  ~MeasurementSetLock();
  MeasurementSetLock(const MeasurementSetLock&) = delete;
  /// FailureError when a program that knows nothing of this lock has changed the set's description meanwhile.
  /// Call it when casacore's own lock is held.
  void check_description() const;
  /// The description has been changed by this process.
  void accept_description() const;

 private:
  std::string path_;
  mutable std::string description_;
  int fd_ = -1;
};

/// The lock of this process on the set; the same one as long as somebody has it.
std::shared_ptr<const MeasurementSetLock> lock_measurement_set(const std::string& path);

}  // namespace apsyn
