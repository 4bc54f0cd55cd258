// SPDX-License-Identifier: GPL-3.0-or-later
// Candidates on their way out: lines of CSV as they are found, and what the picture needs at the end.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "libcore/files/output.h"
#include "libcore/plot/figures/transient_figure.h"
#include "tools/search-transients/engine.h"

namespace apsyn {

/// How candidates are listed: our own table (CSV), or as another program writes them, so that what reads its
/// lists reads ours. `presto`: the .singlepulse files of PRESTO's single_pulse_search.py, a heading and DM,
/// S/N, time in seconds, sample, and samples of the filter. `heimdall`: the .cand files of heimdall, without
/// heading and separated by tabs, S/N, sample, time in seconds, base 2 logarithm of the filter's samples,
/// trial, DM, members, first and last sample (its Pipeline/pipeline.cu; newer ones add a beam).
enum class TableFormat { csv, presto, heimdall };
/// The format of that name; UsageError for another.
TableFormat parse_table_format(const std::string& name);

/// Lines of a table, into a file that appears when it is complete, or to standard output ("-").
class TableLines {
 public:
  TableLines(Tool& tool, const std::string& path);
  void write(const std::string& line);
  /// Makes lines visible that a pipe's reader waits for.
  void flush();
  void commit();

 private:
  Tool& tool_;
  std::unique_ptr<OutputFile> file_;  ///< absent for standard output
};

/// Days with 12 decimals, 0.1 us, which a double does not hold.
std::string format_mjd(const UtcTime& time);

class CandidateTable {
 public:
  /// A path or "-", which gets each line at once.
  CandidateTable(Tool& tool, const std::string& path, TableFormat format);
  void write(const SearchPlan& plan, const FilterbankHeader& header, const Candidate& candidate);
  void flush() { lines_.flush(); }
  void commit() { lines_.commit(); }

 private:
  TableLines lines_;
  TableFormat format_;
};

/// What a figure shows of all candidates: the strongest 50000, and the best three closely.
class StrongestCandidates {
 public:
  std::size_t n_all() const { return n_all_; }
  /// Whether keep() is to follow, as it is one of the best so far.
  bool add(const TransientPoint& point);
  void keep(TransientDetail detail);
  void show(TransientFigure& figure) const;

 private:
  std::vector<TransientPoint> points_;
  std::vector<TransientDetail> best_;
  std::size_t n_all_ = 0;
};

/// Candidates in samples for the picture.
class CandidateGallery {
 public:
  void add(const SearchPlan& plan, double sample_s, FoundCandidate found);
  TransientFigure figure(const SearchPlan& plan, const SampleReader& reader, double duration_s) const;

 private:
  StrongestCandidates strongest_;
};

}  // namespace apsyn
