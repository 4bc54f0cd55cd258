// SPDX-License-Identifier: GPL-3.0-or-later
// FFTW plans are made one at a time: whoever plans (or destroys a plan) holds this lock.
#pragma once

#include <mutex>

namespace apsyn {

inline std::mutex& fftw_planner_mutex() {
  static std::mutex mutex;
  return mutex;
}

}  // namespace apsyn
