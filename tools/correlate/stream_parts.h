// SPDX-License-Identifier: GPL-3.0-or-later
// How processes share a recording: in parts of whole integrations that they take in turns. Each reads its own
// parts, with what filters and delays reach for on either side, so that an integration is the same as in one
// process; the first receives the integrations in order and writes them.
#pragma once

#include <complex>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "kernels/correlate/fx_engine.h"
#include "kernels/voltage_summary/sample_counts.h"
#include "libcore/cli/voltage_options.h"
#include "libcore/system/ranks.h"
#include "libcore/visibility/visibility.h"
#include "tools/correlate/options.h"
#include "tools/correlate/plan.h"

namespace apsyn {

struct StreamPart {
  std::int64_t first_record = 0;  ///< integrations before it
  std::int64_t first_sample = 0;
  std::int64_t n_samples = -1;  ///< -1 = to the end
  std::int64_t n_spectra = -1;  ///< to be made at most; -1 = all that samples are there for

  std::int64_t end_sample() const {
    return n_samples < 0 ? std::numeric_limits<std::int64_t>::max() : first_sample + n_samples;
  }
  VoltageOptions of(VoltageOptions options) const;
};

/// Whether several processes can read the input by themselves: it is no pipe, and gains are not followed,
/// which would be others in each process.
bool can_be_shared(const CorrelateOptions& options);

/// One part for one process. Otherwise about four for each, as far as `max_bytes` holds a part's
/// integrations.
std::vector<StreamPart> parts_of(const CorrelatePlan& plan, const VoltageOptions& options, int n_ranks,
                                 std::uint64_t max_bytes);

/// Makes the plan that of a part.
void plan_part(const StreamPart& part, CorrelatePlan& plan);

/// Integrations on their way to the first process.
void send_results(const std::vector<FxResult>& results);
/// Calls use(result) for each that the rank sends.
template <class Use>
void receive_results(int rank, const VisibilityHeader& header, Use use) {
  std::uint64_t n = 0;
  receive<std::uint64_t>(rank, {&n, 1});
  FxResult result;
  result.record.data.resize({header.baselines.size(), header.channel_hz.size(), header.products.size()});
  result.record.weight.resize(result.record.data.shape());
  for (std::uint64_t i = 0; i < n; ++i) {
    std::int64_t numbers[3];
    receive<std::int64_t>(rank, numbers);
    result.record.index = numbers[0];
    result.n_spectra = numbers[1];
    result.any_data = numbers[2] != 0;
    receive<std::complex<float>>(rank, {result.record.data.data(), result.record.data.size()});
    receive<float>(rank, {result.record.weight.data(), result.record.weight.size()});
    use(result);
  }
}

void add_counts(const SampleCounts& of_part, SampleCounts& sum);

/// What the others counted joins what the first process did.
void add_to_first(const Ranks& ranks, SampleCounts& counts, double& clipped_s);

}  // namespace apsyn
