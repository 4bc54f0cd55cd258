// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <exception>
#include <mutex>

namespace apsyn {

/// The first exception of several threads. Any thread.
class FirstError {
 public:
  /// The one that is being handled, unless there is one already.
  void keep() {
    std::lock_guard lock(mutex_);
    if (!first_) first_ = std::current_exception();
  }
  bool any() const {
    std::lock_guard lock(mutex_);
    return first_ != nullptr;
  }
  /// Throws it, if there is one; once all threads have ended.
  void rethrow() const {
    if (first_) std::rethrow_exception(first_);
  }

 private:
  mutable std::mutex mutex_;
  std::exception_ptr first_;
};

}  // namespace apsyn
