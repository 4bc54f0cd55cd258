// SPDX-License-Identifier: GPL-3.0-or-later
// A recording through the processes that share it, and its integrations in order into the output.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kernels/correlate/fx_engine.h"
#include "libcore/cli/tool.h"
#include "libcore/imaging/visibility_sink.h"
#include "libcore/streams/open_voltages.h"
#include "libcore/system/ranks.h"
#include "tools/correlate/options.h"
#include "tools/correlate/plan.h"
#include "tools/correlate/stream.h"
#include "tools/correlate/stream_parts.h"

namespace apsyn {

/// Integrations on their way to the output; with --drop-incomplete a last one that is cut short is left out.
class IntegrationWriter {
 public:
  /// Both must outlive it.
  IntegrationWriter(VisibilitySink& sink, const CorrelatePlan& plan, bool drop_incomplete)
      : sink_(sink), plan_(plan), drop_incomplete_(drop_incomplete) {}

  void write(const FxResult& result);
  /// FailureError when nothing was written that is worth a file.
  void require_data(const std::string& input) const;

 private:
  VisibilitySink& sink_;
  const CorrelatePlan& plan_;
  bool drop_incomplete_, any_data_ = false, dropped_ = false;
};

/// The processes that read the recording: the first alone when it cannot be shared or is of unknown length.
/// Nothing for a process that has no part in it.
std::optional<Ranks> readers_of(Tool& tool, const CorrelateOptions& options, const CorrelatePlan& plan);

/// All parts, which the processes take in turns. The first, which alone has a writer, writes its own
/// integrations and those that it is sent, in order; the others send theirs when a part is done.
void correlate_parts(const std::vector<StreamPart>& parts, const Ranks& ranks,
                     const CorrelateOptions& options, const CorrelatePlan& plan, OpenedVoltages& voltages,
                     StreamCorrelator& correlator, IntegrationWriter* writer);

}  // namespace apsyn
