// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>

#include "libcore/base/error.h"
#include "libcore/formats/capture/capture.h"
#include "libcore/streams/open_voltages.h"

namespace apsyn {
namespace {

/// The option's value, or what the capture told (0: nothing).
void settle(double& fact, double given, const char* option, const char* what) {
  if (!std::isnan(given)) fact = given;
  if (fact == 0) throw UsageError("{0}: missing: the capture does not tell {1}: give {0}", option, what);
}

}  // namespace

std::vector<std::size_t> input_places(const std::vector<std::size_t>& order, std::size_t n_inputs) {
  std::vector<std::size_t> places(n_inputs);
  for (std::size_t place = 0; place < n_inputs; ++place) places[place] = place;
  if (order.empty()) return places;
  std::vector<bool> seen(n_inputs);
  for (std::size_t input : order)
    if (input < n_inputs) seen[input] = true;
  if (order.size() != n_inputs || std::count(seen.begin(), seen.end(), true) != static_cast<long>(n_inputs))
    throw UsageError("--input-order: give each of the {} captured inputs, 0 to {}, once", n_inputs,
                     n_inputs - 1);
  for (std::size_t place = 0; place < n_inputs; ++place) places[order[place]] = place;
  return places;
}

void apply_facts(VoltageHeader& header, const CaptureFacts& facts) {
  settle(header.freq_hz, facts.freq_hz, "--freq", "the centre of its band");
  settle(header.bandwidth_hz, facts.bandwidth_hz, "--bandwidth", "the width of its band");
  settle(header.sample_s, facts.sample_s, "--sample-rate", "how fast it was sampled");
  if (!(header.sample_s > 0)) throw UsageError("--tsamp: {} s: must be positive", header.sample_s);
  if (facts.start) header.start = *facts.start;
  if (header.start == UtcTime{})
    throw UsageError("--start: missing: the capture does not tell when it began: give --start UTC");
  if (!std::isnan(facts.scale)) header.scale = facts.scale;
  if (!(header.scale > 0)) throw UsageError("--scale: {}: must be positive", header.scale);
  if (!facts.telescope.empty()) header.telescope = facts.telescope;
  if (!facts.source.empty()) header.source = facts.source;
  if (!facts.pol_basis.empty()) header.pol_basis = facts.pol_basis;
  if (facts.conjugate) {
    if (header.n_dim == 1)
      throw UsageError("--conjugate: the samples are real: give a negative --bandwidth instead");
    header.sideband_conj = true;
  }
  if (facts.no_conjugate) header.sideband_conj = false;
  bool has_positions = false;
  ArrayLayout layout = effective_layout(header, facts.layout, has_positions);
  if (!has_positions && !facts.layout.flag_antennas.empty())
    throw UsageError("--flag-antennas {}: there is no table of antennas to flag them in: give --antennas",
                     facts.layout.flag_antennas);
  if (!has_positions) layout.antennas.clear();
  header.layout = std::move(layout);
  if (!header.layout.telescope.empty() && facts.telescope.empty()) header.telescope = header.layout.telescope;
}

}  // namespace apsyn
