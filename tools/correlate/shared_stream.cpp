// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/correlate/shared_stream.h"

#include <cstddef>
#include <utility>

#include "libcore/base/error.h"
#include "libcore/base/log.h"
#include "libcore/base/units.h"

namespace apsyn {
namespace {

/// One part of the recording through F and X by this process.
void correlate_part(const StreamPart& part, const CorrelateOptions& options, bool only_part,
                    OpenedVoltages& voltages, StreamCorrelator& correlator, IntegrationWriter* writer) {
  std::optional<OpenedVoltages> own;
  if (!only_part) own.emplace(open_voltages(options.inputs.at(0), part.of(options.voltage)));
  std::vector<FxResult> results;
  correlator.correlate(part, own ? *own : voltages, [&](FxResult& result) {
    if (writer != nullptr)
      writer->write(result);
    else
      results.push_back(std::exchange(result, {}));
  });
  if (writer == nullptr) send_results(results);
}

}  // namespace

void IntegrationWriter::write(const FxResult& result) {
  const double length_s = static_cast<double>(result.n_spectra) * plan_.spectrum_s;
  if (drop_incomplete_ && result.n_spectra < plan_.mean.n_spectra) {
    log_info("the last integration has {} of {} and is left out (--drop-incomplete)",
             format_duration(length_s),
             format_duration(static_cast<double>(plan_.mean.n_spectra) * plan_.spectrum_s));
    dropped_ = true;
    return;
  }
  any_data_ |= result.any_data;
  sink_.write(result.record, length_s);
}

void IntegrationWriter::require_data(const std::string& input) const {
  if (any_data_) return;
  throw FailureError("{}: no usable data: every sample is missing or flagged, or there is less than one {}",
                     input, dropped_ ? "integration" : "spectrum");
}

std::optional<Ranks> readers_of(Tool& tool, const CorrelateOptions& options, const CorrelatePlan& plan) {
  if (!can_be_shared(options)) return Ranks{};
  if (plan.n_samples >= 0) return tool.ranks();
  if (!tool.works_alone()) return {};
  return Ranks{};
}

void correlate_parts(const std::vector<StreamPart>& parts, const Ranks& ranks,
                     const CorrelateOptions& options, const CorrelatePlan& plan, OpenedVoltages& voltages,
                     StreamCorrelator& correlator, IntegrationWriter* writer) {
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const int rank = static_cast<int>(i % static_cast<std::size_t>(ranks.size));
    if (rank == ranks.rank)
      correlate_part(parts[i], options, parts.size() == 1, voltages, correlator, writer);
    else if (ranks.root())
      receive_results(rank, plan.visibilities, [&](const FxResult& result) {
        correlator.note(result);
        writer->write(result);
      });
  }
}

}  // namespace apsyn
