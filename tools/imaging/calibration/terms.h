// SPDX-License-Identifier: GPL-3.0-or-later
// Terms of a calibration as command lines name them, and what was found for one: tables of solutions, and a
// line for people.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "kernels/calibrate/calibrate.h"
#include "libcore/solutions/solutions.h"
#include "tools/imaging/calibration/slots.h"

namespace apsyn::calibrate {

/// One term of a chain.
struct TermOptions {
  std::string name = "gain";  ///< as given by the user: "bandpass" is a gain, too
  CalibrationTerm term = CalibrationTerm::gain;
  double interval_s = 0;          ///< 0: the whole time
  std::size_t channels = 1;       ///< of a solution; 0: all
  double robust_nu = 0;           ///< degrees of freedom of Student's t; 0: weights as they are
  bool start_from_former = true;  ///< a slot begins with the solution of the one before
};

/// A term with its usual number of channels, for the whole time. UsageError, beginning with `option`, for a
/// name that is none.
TermOptions term_named(const std::string& name, const std::string& option);

/// Seconds, 0 for "all". UsageError, beginning with `option`.
double parse_interval(const std::string& option, const std::string& text);

struct TermResult {
  TermOptions options;
  std::vector<TimeSlot> slots;
  std::vector<ChannelBlocks> blocks;                  ///< [window]
  std::vector<std::vector<SlotSolutions>> solutions;  ///< [window][slot]
};

/// A table for a term; tec+delay gives two tables, each of the values from `first_value` on.
struct TableKind {
  SolutionType type;
  std::string name;
  std::size_t first_value, n_values;
};
std::vector<TableKind> tables_of(const TermOptions& options, std::size_t n_values);

/// Windows follow each other by rising frequency.
SolutionTable make_table(const TermResult& term, const TableKind& kind, std::size_t n_antennas,
                         unsigned n_threads = 1);

SolutionFlag flag_of(FlagReason reason);

/// Scales the amplitudes of gains to a mean log|g| of 0 over all that is not flagged, and returns the factor:
/// 1 for a table without amplitudes.
double normalise(SolutionTable& table);
/// The same of each channel by itself, [chan].
std::vector<double> normalise_channels(SolutionTable& table);

/// One of the counts or sums of a solution, over all windows and slots of a term.
double total(const TermResult& term, Buffer<double, 2> SlotSolutions::*of);

/// How many solutions, why some are flagged, chi^2 before and after.
std::string summarise(const TermResult& term);

}  // namespace apsyn::calibrate
