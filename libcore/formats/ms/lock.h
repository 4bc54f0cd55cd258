// SPDX-License-Identifier: GPL-3.0-or-later
// A lock that makes runs which change the same Measurement Set in place take turns.
#pragma once

#include <memory>
#include <string>

namespace apsyn {

/// While it exists, other runs cannot change or replace the set. Take it before the set is opened: casacore
/// reads the description of a table once, and would write what it has read over a column that another run has
/// added since.
class MeasurementSetLock {
 public:
  /// FailureError when another run holds it.
  explicit MeasurementSetLock(const std::string& path);
  ~MeasurementSetLock();
  MeasurementSetLock(const MeasurementSetLock&) = delete;
  /// FailureError when a program that does not use this lock has changed the set's description meanwhile.
  /// Call it when casacore's own lock is held.
  void check_description() const;
  /// Call it after this process has changed the description.
  void accept_description() const;

 private:
  std::string path_;
  mutable std::string description_;
  int fd_ = -1;
};

/// The lock of this process on the set; callers share one as long as any of them holds it.
std::shared_ptr<const MeasurementSetLock> lock_measurement_set(const std::string& path);

}  // namespace apsyn
