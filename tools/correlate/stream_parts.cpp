// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/correlate/stream_parts.h"

#include <algorithm>
#include <complex>
#include <filesystem>
#include <functional>

#include "kernels/channelise/channelise.h"
#include "kernels/correlate/fx_engine.h"
#include "libcore/cli/voltage_options.h"
#include "libcore/visibility/visibility.h"
#include "tools/correlate/plan.h"

namespace apsyn {

VoltageOptions StreamPart::of(VoltageOptions options) const {
  options.first_sample = first_sample;
  options.n_samples = n_samples;
  return options;
}

bool can_be_shared(const CorrelateOptions& options) {
  if (options.voltage.gains_follow) return false;
  std::error_code error;
  const auto status = std::filesystem::status(options.inputs.at(0), error);
  return !std::filesystem::exists(status) || std::filesystem::is_regular_file(status);
}

std::vector<StreamPart> parts_of(const CorrelatePlan& plan, const VoltageOptions& options, int n_ranks,
                                 std::uint64_t max_bytes) {
  const StreamPart whole{0, options.first_sample, options.n_samples, plan.f.n_spectra};
  if (n_ranks == 1 || plan.n_samples < 0) return {whole};
  const auto n_sample = static_cast<std::int64_t>(plan.f.n_sample);
  const std::int64_t per_record = plan.integration.n_spectra, n_spectra = plan.n_samples / n_sample;
  const std::int64_t n_records = (n_spectra + per_record - 1) / per_record;
  const VisibilityHeader& out = plan.visibilities;
  const std::uint64_t record_bytes =
      std::uint64_t{12} * out.baselines.size() * out.channel_hz.size() * out.products.size();
  const auto most = static_cast<std::int64_t>(std::max<std::uint64_t>(1, max_bytes / record_bytes));
  const std::int64_t at_once = std::clamp<std::int64_t>(n_records / (4 * n_ranks), 1, most);
  std::vector<StreamPart> parts;
  for (std::int64_t first = 0; first < std::max<std::int64_t>(1, n_records); first += at_once) {
    const std::int64_t skipped = first * per_record;
    StreamPart part = whole;
    part.first_record = first;
    part.first_sample += skipped * n_sample;
    if (first + at_once < n_records) {
      part.n_spectra = at_once * per_record;
      part.n_samples = part.n_spectra * n_sample;
    } else {
      if (whole.n_spectra >= 0) part.n_spectra -= skipped;
      if (whole.n_samples >= 0) part.n_samples -= skipped * n_sample;
    }
    parts.push_back(part);
  }
  return parts;
}

void plan_part(const StreamPart& part, CorrelatePlan& plan) {
  for (ChannelisePlan* f : {&plan.f, &plan.cuda.f}) {
    f->first_sample = part.first_sample;
    f->n_spectra = part.n_spectra;
  }
}

void send_results(const std::vector<FxResult>& results) {
  const std::uint64_t n = results.size();
  send_to_root<std::uint64_t>({&n, 1});
  for (const FxResult& result : results) {
    const std::int64_t numbers[] = {result.record.index, result.n_spectra, result.any_data ? 1 : 0};
    send_to_root<std::int64_t>(numbers);
    send_to_root<std::complex<float>>({result.record.data.data(), result.record.data.size()});
    send_to_root<float>({result.record.weight.data(), result.record.weight.size()});
  }
}

void add_counts(const SampleCounts& of_part, SampleCounts& sum) {
  const auto add = [](const std::vector<std::int64_t>& from, std::vector<std::int64_t>& to) {
    std::transform(to.begin(), to.end(), from.begin(), to.begin(), std::plus<>());
  };
  sum.n_time += of_part.n_time;
  add(of_part.saturated, sum.saturated);
  add(of_part.missing, sum.missing);
  add(of_part.not_finite, sum.not_finite);
}

void add_to_first(const Ranks& ranks, SampleCounts& counts, double& clipped_s) {
  const auto lists = {&counts.saturated, &counts.missing, &counts.not_finite};
  if (!ranks.root()) {
    send_to_root<std::int64_t>({&counts.n_time, 1});
    for (const auto* list : lists) send_to_root<std::int64_t>(*list);
    send_to_root<double>({&clipped_s, 1});
    return;
  }
  for (int rank = 1; rank < ranks.size; ++rank) {
    SampleCounts received = counts;
    double clipped = 0;
    receive<std::int64_t>(rank, {&received.n_time, 1});
    for (auto* list : {&received.saturated, &received.missing, &received.not_finite})
      receive<std::int64_t>(rank, *list);
    receive<double>(rank, {&clipped, 1});
    add_counts(received, counts);
    clipped_s += clipped;
  }
}

}  // namespace apsyn
