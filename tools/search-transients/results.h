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

class CandidateTable {
 public:
  /// A path or "-", which gets each line at once.
  CandidateTable(Tool& tool, const std::string& path);
  void write(const SearchPlan& plan, const FilterbankHeader& header, const Candidate& candidate);
  /// Makes lines visible that a pipe's reader waits for.
  void flush();
  void commit();

 private:
  void line(const std::string& text);
  Tool& tool_;
  std::unique_ptr<OutputFile> file_;  ///< absent for standard output
};

/// Candidates for the picture: the strongest 50000, and the best three with their surroundings.
class CandidateGallery {
 public:
  void add(const SearchPlan& plan, double sample_s, FoundCandidate found);
  TransientFigure figure(const SearchPlan& plan, const FilterbankReader& reader, double duration_s) const;

 private:
  std::vector<TransientPoint> points_;
  std::vector<TransientDetail> best_;
  std::size_t n_all_ = 0;
};

}  // namespace apsyn
