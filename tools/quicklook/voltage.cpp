// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <numeric>

#include "kernels/voltage_summary/voltage_summary.h"
#include "libcore/plot/figures/voltage_figure.h"
#include "libcore/streams/open_voltages.h"
#include "tools/quicklook/quicklook.h"
#include "tools/quicklook/stats.h"

namespace apsyn {
namespace {

constexpr std::size_t kSamplesBytes = 16u << 20;  // of decoded samples

/// A multiple of the spectra's segments, of the blocks of missing data and of the file's own blocks.
std::size_t samples_per_block(const VoltageHeader& header, std::size_t segment) {
  const std::size_t bytes = header.n_chan * header.n_ant * header.n_pol * (header.n_bit <= 8 ? 2 : 8);
  const std::size_t unit = std::lcm(std::lcm(segment, header.missing_samples), header.block_samples);
  return std::max<std::size_t>(1, kSamplesBytes / std::max<std::size_t>(1, bytes * unit)) * unit;
}

}  // namespace

Look look_at_voltages(Tool& tool, const QuicklookOptions& o) {
  tool.stage("read");
  VoltageSelection selection = o.voltage;
  selection.n_threads = tool.common().threads;
  OpenedVoltages voltages = open_voltages(o.inputs[0], selection);
  const VoltageHeader& header = voltages.reader.header();
  VoltageSummariser summariser(header, tool.common().threads);
  const std::size_t n_time = samples_per_block(header, summariser.segment());
  Progress progress(tool, "reading", static_cast<double>(voltages.reader.n_samples().value_or(0)), "samples");
  VoltageBlock block;
  while (voltages.read(block, n_time)) {
    summariser.add(block);
    progress.update(static_cast<double>(summariser.summary().n_time));
  }
  tool.report_rate(static_cast<double>(summariser.summary().n_time), "samples");
  Look look{stats_of(summariser.summary()), {}};
  if (!o.picture) return look;
  tool.stage("draw");
  look.picture = draw_voltage_figure(summariser.summary(), {o.title, o.colour_map, o.size});
  return look;
}

}  // namespace apsyn
