// SPDX-License-Identifier: GPL-3.0-or-later
// Gains of voltages from solutions of a calibration (H5Parm and the other files of apsyn-solutions(5)), which
// change with time and frequency.
//
// At a time they are those of SolutionEvaluator, between two solutions interpolated; before the first and
// after the last solution, that one is held, however long ago. Gains are evaluated anew once time has moved
// by a 64th of the shortest interval of solutions.
#pragma once

#include <complex>
#include <cstddef>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "libcore/array/array_layout.h"
#include "libcore/array/followed_gains.h"
#include "libcore/base/time.h"
#include "libcore/base/view.h"
#include "libcore/solutions/evaluator.h"
#include "libcore/solutions/solutions.h"

namespace apsyn {

/// Whether the file is one of solutions, by its content; one that is not there, by its name.
bool holds_solutions(const std::string& path);

class TimedGains {
 public:
  /// For the antennas of a layout at channels; t = 0 is `start`. With `follow` the file may be replaced, or
  /// not be there yet: all gains are 1 until it is. DataError as read_solutions(); UsageError for solutions
  /// of patches of the sky alone, or with leakages.
  TimedGains(std::string path, const ArrayLayout& layout, std::size_t n_pol, std::vector<double> freq_hz,
             const UtcTime& start, bool follow);

  /// For other channels from now on.
  void set_channels(std::vector<double> freq_hz);
  /// Whether there are other gains at t_s than at the last look.
  bool look(double t_s);
  /// [antenna][pol][channel], NaN where there is none.
  const Buffer<std::complex<double>, 3>& gains() const { return gains_; }

 private:
  struct Chain {
    Solutions solutions;
    std::optional<SolutionEvaluator> evaluator;
    double begin_mjd_s = -std::numeric_limits<double>::infinity();  ///< of the solutions
    double end_mjd_s = std::numeric_limits<double>::infinity();
    double step_s = std::numeric_limits<double>::infinity();
  };
  std::unique_ptr<Chain> read() const;
  Buffer<std::complex<double>, 3> evaluate(double t_s);
  void warn_of_distance(double t_s);

  FollowedFile file_;
  bool follow_;
  ArrayLayout layout_;
  std::size_t n_pol_;
  std::vector<double> freq_hz_;
  UtcTime start_;
  std::unique_ptr<Chain> chain_;  ///< none: there is no file yet
  std::optional<double> looked_s_;
  bool warned_of_distance_ = false;
  Buffer<std::complex<double>, 3> gains_;
};

}  // namespace apsyn
