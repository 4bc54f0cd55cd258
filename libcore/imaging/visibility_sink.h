// SPDX-License-Identifier: GPL-3.0-or-later
// Where a correlator's integrations go: a Measurement Set or a visibility stream, by the output's name.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "libcore/visibility/visibility.h"

namespace apsyn {

class VisibilitySink {
 public:
  virtual ~VisibilitySink() = default;
  /// `covered_s`: how much of the integration the stream reached, less than a whole one at its end only.
  virtual void write(const VisibilityRecord& record, double covered_s) = 0;
  /// Adds HISTORY rows to a Measurement Set. A stream's header is written already: it drops them.
  virtual void add_history(const std::vector<std::string>& lines) = 0;
  virtual void commit() = 0;
};

/// A name that ends in .ms makes a Measurement Set, any other and "-" a stream.
///
/// A Measurement Set needs the site and gets r_1 - r_2 towards the phase centre as UVW, the middle of what
/// was covered as TIME. Without a phase centre (the data are then phased to the zenith of each integration's
/// middle) every integration is turned to the zenith at the middle of the first.
std::unique_ptr<VisibilitySink> make_visibility_sink(const std::string& path, const VisibilityHeader& header,
                                                     bool overwrite);

}  // namespace apsyn
