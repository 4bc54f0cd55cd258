// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/correlate/sample_report.h"

#include <cstddef>
#include <utility>

#include "libcore/base/log.h"
#include "libcore/voltage/voltage.h"

namespace apsyn {
namespace {

void warn_of_samples(const SampleCounts& counts, const VoltageHeader& header) {
  const auto& antennas = header.layout.antennas;
  std::string text;
  std::size_t worst = 0;
  const double usual = usual_saturated_share(header.n_bit);
  const auto saturated = [&](std::size_t i) {
    return antennas[i / counts.n_pol].flagged ? 0 : counts.saturated_share(i);
  };
  if (const std::size_t n = inputs_above(counts.saturated.size(), usual, saturated, worst))
    text += fmt::format(
        "; {} of {} inputs have more than {:g} % of their samples at the extremes of {} bits, "
        "{} polarisation {} {:.3g} %",
        n, counts.saturated.size(), 100 * usual, header.n_bit, antennas[worst / counts.n_pol].name,
        worst % counts.n_pol, 100 * saturated(worst));
  const auto missing = [&](std::size_t i) { return antennas[i].flagged ? 0 : counts.missing_share(i); };
  if (const std::size_t n = inputs_above(counts.missing.size(), 0, missing, worst))
    text += fmt::format("; {} of {} antennas miss samples, {} {:.3g} %", n, counts.missing.size(),
                        antennas[worst].name, 100 * missing(worst));
  const auto not_finite = [&](std::size_t i) {
    return antennas[i].flagged ? 0 : static_cast<double>(counts.not_finite[i]);
  };
  if (const std::size_t n = inputs_above(counts.not_finite.size(), 0, not_finite, worst))
    text += fmt::format("; {} of {} antennas have samples that are not finite, {} {:.0f}", n,
                        counts.not_finite.size(), antennas[worst].name, not_finite(worst));
  if (!text.empty()) log_warning("{}: -v lists all", text.substr(2));
}

}  // namespace

void report_clipped(double share, unsigned n_bit, bool on_gpu) {
  if (n_bit > 0)
    log_verbose("requantised spectra: {:.2g} % of an input's are clipped, in its worst channel", 100 * share);
  constexpr double kUsual8 = 1e-4, kUsual4 = 0.03;
  if (share > (n_bit == 4 ? kUsual4 : kUsual8))
    log_warning("{:.2g} % of an input's spectra in a channel did not fit {} bits: {} keeps them", 100 * share,
                n_bit == 4 ? 4 : 8, on_gpu ? "--device cpu" : "--requantise none");
}

std::vector<std::string> report_samples(const SampleCounts& counts, const VoltageHeader& header) {
  std::vector<std::string> lines;
  for (std::size_t ant = 0; ant < counts.missing.size(); ++ant) {
    std::string line = fmt::format("samples of {}: saturated", header.layout.antennas[ant].name);
    for (std::size_t pol = 0; pol < counts.n_pol; ++pol)
      line += fmt::format(" {:.3g} %", 100 * counts.saturated_share(ant * counts.n_pol + pol));
    line += fmt::format(", missing {:.3g} %, not finite {}", 100 * counts.missing_share(ant),
                        counts.not_finite[ant]);
    log_verbose("{}", line);
    lines.push_back(std::move(line));
  }
  warn_of_samples(counts, header);
  return lines;
}

}  // namespace apsyn
