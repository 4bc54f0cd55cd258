// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/flag/stream_flagging.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "libcore/base/error.h"
#include "libcore/base/log.h"
#include "libcore/base/time.h"
#include "libcore/rfi/strategy.h"
#include "libcore/streams/visibility_stream.h"
#include "libcore/system/parallel.h"
#include "libcore/system/program_memory.h"
#include "tools/flag/report.h"
#include "tools/flag/rules.h"

namespace apsyn::flag {
namespace {

/// The rows of an integration, for what sets and streams share.
MsRows rows_of(const VisibilityHeader& header, std::int64_t index) {
  MsRows rows;
  const double middle_s = sample_time(header.start, 2 * index + 1, header.integration_s / 2).mjd_seconds();
  const std::size_t n = header.baselines.size();
  rows.time_mjd_s.assign(n, middle_s);
  rows.interval_s.assign(n, header.integration_s);
  rows.scan.assign(n, 1);
  rows.field.assign(n, 0);
  for (const Baseline& pair : header.baselines) {
    rows.ant1.push_back(pair.ant1);
    rows.ant2.push_back(pair.ant2);
  }
  return rows;
}

}  // namespace

double flag_stream(Tool& tool, const Options& options, const std::string& path, std::string& json) {
  const CommonOptions& common = tool.common();
  if (!options.save.empty() || !options.undo.empty() || options.no_write)
    throw UsageError("{}: --save, --undo and --no-write are for Measurement Sets", path);
  VisibilityStreamReader reader(path);
  VisibilityHeader header = reader.header();
  const std::size_t n_baselines = header.baselines.size(), n_chan = header.channel_hz.size(),
                    n_product = header.products.size(), n_cells = n_chan * n_product;
  std::string strategy_file;
  if (!options.strategy.empty()) strategy_file = find_strategy(options.strategy, header.telescope);
  const std::size_t chunk = strategy_file.empty() ? 1 : options.chunk > 0 ? options.chunk : kStreamChunk;
  // Without a set less of casacore is used: 27 MB were measured.
  constexpr std::uint64_t kValueBytes = 14, kStrategyBytes = 100, kStreamProgramBytes = 29u << 20;
  const std::uint64_t memory_bytes =
      kStreamProgramBytes + (chunk + 1) * n_baselines * n_cells * kValueBytes +
      (strategy_file.empty() ? 0 : common.threads * chunk * n_cells * kStrategyBytes);
  if (memory_bytes > common.max_memory_bytes)
    throw UsageError("{}", memory_shortage(common.max_memory_bytes, static_cast<double>(memory_bytes),
                                           "this needs", "allow more, or a smaller --chunk-size"));
  tool.report_plan({fmt::format("{} baselines, {} channels, {} products", n_baselines, n_chan, n_product),
                    strategy_file.empty()
                        ? "no strategy"
                        : fmt::format("strategy {}, {} integrations at once", strategy_file, chunk),
                    fmt::format("memory: {}", format_bytes(static_cast<double>(memory_bytes)))});
  if (common.dry_run) return 0;

  SkyDirection direction = header.phase_centre.value_or(SkyDirection{});
  if (!header.phase_centre && (options.elevation_rad > -10 || options.shadow))
    throw UsageError("{}: --elevation and --shadow need a phase centre: the stream is phased to the zenith",
                     path);
  MsSpectralWindow window;
  window.channel_hz = header.channel_hz;
  window.width_hz.assign(n_chan, std::abs(header.channel_width_hz));
  Rules rules(options, {header.layout, {{header.source, direction}}, {{1, header.start.mjd_seconds()}}});
  Report report(header.layout, {window});
  RfiContext context{header.layout, {window.channel_hz}, {window.width_hz}, {{}}};
  for (const std::string& line : tool.provenance()) header.history.push_back(line);
  VisibilityStreamWriter writer(common.output, header, common.overwrite);

  std::vector<VisibilityRecord> records(chunk);
  std::vector<Buffer<std::uint8_t, 3>> before(chunk), flags(chunk);
  tool.stage("flag");
  Progress progress(tool, "flagging", 0, "vis");
  double n_vis = 0;
  for (bool more = true; more;) {
    std::size_t n = 0;
    while (n < chunk && (more = reader.read(records[n]))) ++n;
    if (n == 0) break;
    std::vector<double> times_s;
    for (std::size_t t = 0; t < n; ++t) {
      const MsRows rows = rows_of(header, records[t].index);
      times_s.push_back(rows.time_mjd_s[0]);
      before[t].resize_for_overwrite(records[t].data.shape());
      flags[t].resize_for_overwrite(records[t].data.shape());
      for (std::size_t i = 0; i < before[t].size(); ++i)
        before[t].data()[i] = !(records[t].weight.data()[i] > 0);
      std::copy(before[t].begin(), before[t].end(), flags[t].begin());
      rules.prepare(rows);
      for (std::size_t b = 0; b < n_baselines; ++b)
        rules.flag(rows, b, records[t].data.data() + b * n_cells, n_chan, n_product,
                   flags[t].data() + b * n_cells);
    }
    if (!strategy_file.empty()) {
      context.times_mjd_s = {times_s};
      std::vector<std::unique_ptr<RfiStrategy>> strategies(common.threads);
      parallel_for(common.threads, n_baselines, [&](std::size_t b, unsigned thread) {
        const Baseline& pair = header.baselines[b];
        if (pair.ant1 == pair.ant2) return;
        if (!strategies[thread]) strategies[thread] = std::make_unique<RfiStrategy>(strategy_file, context);
        std::vector<RfiTime> times(n);
        for (std::size_t t = 0; t < n; ++t)
          times[t] = {records[t].data.data() + b * n_cells, flags[t].data() + b * n_cells};
        Buffer<std::uint8_t, 2> found({n, n_chan});
        strategies[thread]->run(times, n_product, {pair.ant1, pair.ant2, 0, 0}, found);
        for (std::size_t t = 0; t < n; ++t)
          for (std::size_t chan = 0; chan < n_chan; ++chan)
            if (found(t, chan) != 0)
              std::fill_n(flags[t].data() + b * n_cells + chan * n_product, n_product, std::uint8_t{1});
      });
    }
    for (std::size_t t = 0; t < n; ++t) {
      report.add(rows_of(header, records[t].index), std::as_const(before[t]).view(),
                 std::as_const(flags[t]).view());
      for (std::size_t i = 0; i < flags[t].size(); ++i)
        if (flags[t].data()[i] != 0) records[t].weight.data()[i] = 0;
      writer.write(records[t]);
      n_vis += static_cast<double>(flags[t].size());
    }
    progress.update(n_vis);
  }
  writer.commit();
  for (const std::string& line : report.lines()) log_info("{}: {}", path, line);
  json = report.json(path);
  return n_vis;
}

}  // namespace apsyn::flag
