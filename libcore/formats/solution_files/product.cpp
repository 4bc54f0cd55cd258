// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>

#include "libcore/base/error.h"
#include "libcore/formats/solution_files/formats.h"
#include "libcore/system/parallel.h"

namespace apsyn {

SolutionSteps choose_steps(const Solutions& solutions, std::optional<std::size_t> n_chan,
                           const std::string& path) {
  SolutionSteps steps;
  for (const SolutionTable& table : solutions.tables) {
    if (table.n_time() > steps.time_mjd_s.size()) {
      steps.time_mjd_s = table.time_mjd_s;
      steps.interval_s = table.interval_s;
    }
    // Among tables of one channel the one that knows how wide its band is.
    if (table.n_chan() > steps.freq_hz.size() ||
        (table.n_chan() == 1 && steps.freq_hz.size() == 1 && table.width_hz[0] > steps.width_hz[0])) {
      steps.freq_hz = table.freq_hz;
      steps.width_hz = table.width_hz;
    }
    steps.has_channels |= table.n_chan() > 1 || is_dispersive(table.type);
  }
  if (!n_chan) return steps;
  if (*n_chan == 0) throw UsageError("{}: 0 channels: at least 1 is needed", path);
  if (*n_chan == steps.freq_hz.size()) return steps;
  if (steps.width_hz[0] == 0)
    throw UsageError(
        "{}: the solutions do not tell which band they are of, so it cannot be cut into {} channels", path,
        *n_chan);
  const double begin_hz = steps.freq_hz.front() - 0.5 * steps.width_hz.front();
  const double end_hz = steps.freq_hz.back() + 0.5 * steps.width_hz.back();
  const double width_hz = (end_hz - begin_hz) / static_cast<double>(*n_chan);
  steps.width_hz.assign(*n_chan, width_hz);
  steps.freq_hz.clear();
  for (std::size_t chan = 0; chan < *n_chan; ++chan)
    steps.freq_hz.push_back(begin_hz + (static_cast<double>(chan) + 0.5) * width_hz);
  return steps;
}

SolutionProduct evaluate_product(const Solutions& solutions, const SolutionSteps& steps,
                                 std::optional<std::size_t> direction, unsigned n_threads) {
  std::vector<std::string> names;
  for (const SolutionAntenna& antenna : solutions.antennas) names.push_back(antenna.name);
  const SolutionEvaluator evaluator(solutions, names, Interpolation::nearest);
  SolutionProduct product;
  product.steps = steps;
  product.jones.resize_for_overwrite({steps.time_mjd_s.size(), names.size(), steps.freq_hz.size(), 4});
  product.flagged.resize({steps.time_mjd_s.size(), names.size(), steps.freq_hz.size()});
  parallel_for(n_threads, steps.time_mjd_s.size(), [&](std::size_t time, unsigned) {
    evaluator.evaluate(steps.time_mjd_s[time], steps.freq_hz, direction, product.jones.view()[time],
                       product.flagged.view()[time]);
  });
  return product;
}

void require_channels(const SolutionSteps& steps, std::optional<std::size_t> n_chan,
                      const std::string& path) {
  if (steps.has_channels && steps.freq_hz.size() == 1 && !n_chan)
    throw UsageError(
        "{}: delays and TEC are different gains in every channel: say for how many with "
        "--export-channels",
        path);
}

void require_direction(const Solutions& solutions, std::optional<std::size_t> direction,
                       const std::string& path) {
  if (!solutions.is_directional() || direction) return;
  throw UsageError(
      "{}: the solutions are of {} directions, and this format holds one: choose it with --direction, or "
      "write .h5",
      path, solutions.directions.size());
}

}  // namespace apsyn
