// SPDX-License-Identifier: GPL-3.0-or-later
// Gains as text, which correlate, beamform and epic-image take: libcore/array/gains.h.
#include <algorithm>
#include <cmath>
#include <optional>

#include "libcore/array/gains.h"
#include "libcore/base/csv.h"
#include "libcore/base/error.h"
#include "libcore/files/input.h"
#include "libcore/files/output.h"
#include "libcore/formats/solution_files/formats.h"

namespace apsyn {

Solutions read_gains_table(const std::string& path, const SolutionContext& context) {
  const std::string text = read_text_file(path);
  const bool has_channels = parse_csv(text, path).find("channel").has_value();
  ArrayLayout layout;
  Solutions solutions;
  solutions.source = path;
  for (const std::string& name : context.antenna_names) {
    layout.antennas.emplace_back().name = name;
    solutions.antennas.push_back({name, {}});
  }
  if (has_channels && context.freq_hz.empty())
    throw UsageError("{}: gains of channels: give their data", path);
  const std::size_t n_chan = has_channels ? context.freq_hz.size() : 1;
  const Buffer<std::complex<double>, 3> gains = parse_gains_csv(text, path, layout, 2, n_chan);
  SolutionTable& table = solutions.tables.emplace_back();
  table.term = "gain";
  table.time_mjd_s = {0.5 * (context.begin_mjd_s + context.end_mjd_s)};
  table.interval_s = {0};
  table.freq_hz = has_channels ? context.freq_hz : std::vector<double>{1e9};
  table.width_hz = {0};
  if (n_chan > 1) {
    double narrowest_hz = HUGE_VAL;
    for (std::size_t i = 1; i < n_chan; ++i)
      narrowest_hz = std::min(narrowest_hz, table.freq_hz[i] - table.freq_hz[i - 1]);
    table.width_hz.assign(n_chan, narrowest_hz);
  }
  table.resize(layout.antennas.size(), 2);
  for (std::size_t ant = 0; ant < layout.antennas.size(); ++ant)
    for (std::size_t chan = 0; chan < n_chan; ++chan)
      for (std::size_t pol = 0; pol < 2; ++pol) {
        const bool missing = std::isnan(gains(ant, pol, chan).real());
        table.values(0, 0, ant, chan, pol) = missing ? 1.0 : gains(ant, pol, chan);
        if (!missing) continue;
        table.weight(0, 0, ant, chan, pol) = 0;
        table.flag(0, 0, ant, chan, pol) = SolutionFlag::unknown;
      }
  check_solutions(solutions);
  return solutions;
}

SolutionWriteReport write_gains_table(const std::string& path, const Solutions& solutions,
                                      const SolutionWriteOptions& options) {
  require_direction(solutions, options.direction, path);
  if (!solutions.is_diagonal())
    throw UsageError(
        "{}: gains in CSV are diagonal, and these solutions have 4 polarisations: write .h5 or .bin", path);
  const SolutionSteps steps = choose_steps(solutions, options.n_chan, path);
  if (steps.time_mjd_s.size() > 1)
    throw UsageError(
        "{}: gains in CSV are of one time, and these solutions of {} intervals: solve with --interval all, "
        "or write .h5",
        path, steps.time_mjd_s.size());
  require_channels(steps, options.n_chan, path);
  const bool with_channels = steps.freq_hz.size() > 1 || options.n_chan.value_or(1) > 1;
  const bool with_pols = std::any_of(solutions.tables.begin(), solutions.tables.end(),
                                     [](const SolutionTable& table) { return table.values.extent(4) > 1; });
  const SolutionProduct product = evaluate_product(solutions, steps, options.direction, options.n_threads);
  const std::size_t n_ant = solutions.antennas.size(), n_chan = steps.freq_hz.size();
  const auto good = [&](std::size_t ant, std::size_t chan) { return product.flagged(0, ant, chan) == 0; };

  SolutionWriteReport report;
  std::string text = "# gains that data are divided by\n";
  for (const std::string& line : solutions.history) text += "# " + line + "\n";
  text += fmt::format("antenna{}{},gain_amplitude,phase_rad\n", with_pols ? ",pol" : "",
                      with_channels ? ",channel" : "");
  std::size_t n_borrowed = 0;
  for (std::size_t ant = 0; ant < n_ant; ++ant) {
    const std::string& given = solutions.antennas[ant].name;
    // A name that the text cannot hold, or none, is a number.
    const bool fits =
        !given.empty() && given.find_first_of(",#\n\r") == std::string::npos && trim(given) == given;
    const std::string name = fits ? given : std::to_string(ant);
    // Of a flagged channel the nearest good one: whoever weights antennas as a whole would leave it out
    // altogether.
    const auto source = [&](std::size_t chan) -> std::optional<std::size_t> {
      for (std::size_t step = 0; step < n_chan; ++step) {
        if (chan >= step && good(ant, chan - step)) return chan - step;
        if (chan + step < n_chan && good(ant, chan + step)) return chan + step;
      }
      return std::nullopt;
    };
    if (!source(0)) {  // one row for all its polarisations and channels
      report.flagged_antennas.push_back(name);
      text += fmt::format("{}{}{},nan,nan\n", name, with_pols ? "," : "", with_channels ? "," : "");
      continue;
    }
    for (std::size_t pol = 0; pol < (with_pols ? 2u : 1u); ++pol)
      for (std::size_t chan = 0; chan < n_chan; ++chan) {
        const std::complex<double> gain = product.jones(0, ant, *source(chan), 3 * pol);
        n_borrowed += pol == 0 && !good(ant, chan);
        text += name;
        if (with_pols) text += fmt::format(",{}", pol);
        if (with_channels) text += fmt::format(",{}", chan);
        text += fmt::format(",{},{}\n", std::abs(gain), std::arg(gain));
      }
  }
  if (n_borrowed > 0)
    report.warnings.push_back(fmt::format(
        "{}: {} flagged solutions of single channels have the gain of the antenna's nearest good channel",
        path, n_borrowed));
  OutputFile output(path, options.overwrite);
  output.write(text.data(), text.size());
  output.commit();
  return report;
}

}  // namespace apsyn
