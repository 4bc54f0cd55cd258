// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/flag/set_flagging.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <set>
#include <utility>

#include "libcore/base/error.h"
#include "libcore/base/log.h"
#include "libcore/formats/ms/columns.h"
#include "libcore/formats/ms/flags.h"
#include "libcore/formats/ms/lock.h"
#include "libcore/rfi/flag_file.h"
#include "libcore/rfi/strategy.h"
#include "libcore/system/parallel.h"
#include "libcore/system/program_memory.h"
#include "tools/flag/rules.h"

namespace apsyn::flag {
namespace {

constexpr std::size_t kMaxRows = 1 << 14;         ///< of a block
constexpr std::uint64_t kBlockBytes = 32u << 20;  ///< of its cells
constexpr std::uint64_t kRowBytes = 64;           ///< of a row beside its cells
constexpr std::uint64_t kDataBytes = 8, kFlagBytes = 2;
/// What a strategy takes for each cell of the baseline that it works on: images of re and im, copies and
/// intermediate ones. Measured with the generic strategy: 93 bytes.
constexpr std::uint64_t kStrategyBytes = 100;
constexpr std::uint64_t kTimeBytes = 24;          ///< of a time of a baseline that a strategy looks at
constexpr std::uint64_t kEngineBytes = 20 << 20;  ///< of AOFlagger, its Lua and its libraries

MsSelection selection_of(const Options& options) {
  const ImagingOptions& wanted = options.selection;
  MsSelection selection;
  selection.column.clear();  // data and flags are read as they are stored
  selection.fields = wanted.fields;
  selection.field_names = wanted.field_names;
  selection.spws = wanted.spws;
  selection.first_interval = wanted.first_interval;
  selection.n_intervals = wanted.n_intervals;
  selection.first_channel = wanted.first_channel;
  selection.n_channels = wanted.n_channels;
  selection.autos = true;
  selection.row_details = true;
  return selection;
}

/// What is known of the rows before any cell is read.
struct Survey {
  std::map<int, double> scan_begin_mjd_s;
  std::vector<std::vector<double>> times_mjd_s;            ///< [sequence], rising
  std::map<std::pair<double, int>, std::size_t> sequence;  ///< of time and field
  std::vector<std::pair<int, int>> baselines;              ///< rising
  std::int64_t n_rows = 0;
  std::size_t max_rows = 0;  ///< of a baseline
};

/// Runs of one field, cut into pieces of `chunk` times.
void find_sequences(Survey& survey, std::size_t chunk) {
  int field = -1;
  for (auto& [key, number] : survey.sequence) {
    if (key.second != field || (chunk > 0 && survey.times_mjd_s.back().size() == chunk))
      survey.times_mjd_s.emplace_back();
    field = key.second;
    survey.times_mjd_s.back().push_back(key.first);
    number = survey.times_mjd_s.size() - 1;
  }
}

Survey survey_rows(MeasurementSetReader& reader, const Options& options) {
  Survey survey;
  std::map<std::pair<int, int>, std::size_t> baselines;
  MsRows rows;
  while (reader.next(rows, kMaxRows)) {
    for (std::size_t row = 0; row < rows.ant1.size(); ++row) {
      const double begin_s = rows.time_mjd_s[row] - rows.interval_s[row] / 2;
      const auto [scan, is_new] = survey.scan_begin_mjd_s.emplace(rows.scan[row], begin_s);
      if (!is_new) scan->second = std::min(scan->second, begin_s);
      survey.sequence.emplace(std::pair(rows.time_mjd_s[row], rows.field[row]), 0);
      ++baselines[{rows.ant1[row], rows.ant2[row]}];
    }
    survey.n_rows += static_cast<std::int64_t>(rows.ant1.size());
  }
  reader.rewind();
  for (const auto& [pair, n] : baselines) {
    survey.baselines.push_back(pair);
    survey.max_rows = std::max(survey.max_rows, n);
  }
  find_sequences(survey, options.chunk);
  return survey;
}

/// Rows with their cells.
struct Block {
  MsRows rows;
  Buffer<std::complex<float>, 3> data;  ///< [row][chan][product]; without rows where nobody looks at them
  Buffer<std::uint8_t, 3> before, flags;
};

/// All times of one baseline, window and sequence.
struct Series {
  RfiBaseline baseline;
  std::vector<RfiTime> times;
  std::vector<std::uint8_t*> flags;  ///< [time] of the row, [chan][product]; null: none
};

class SetFlagger {
 public:
  SetFlagger(Tool& tool, const Options& options, const std::string& path)
      : tool_(tool),
        options_(options),
        path_(path),
        selection_(selection_of(options)),
        n_threads_(tool.common().threads) {
    // Before the set is opened: another run may be changing it.
    if (!tool.common().dry_run && !options.no_write) lock_ = lock_measurement_set(path);
    reader_ = std::make_unique<MeasurementSetReader>(path, selection_);
    if (reader_->n_rows() == 0) throw UsageError("{}: the selection fits no row", path);
    survey_ = survey_rows(*reader_, options);
    for (const MsSpectralWindow& window : reader_->spectral_windows())
      max_channels_ = std::max(max_channels_, window.channel_hz.size());
    n_product_ = reader_->products().size();
    if (!options.strategy.empty()) {
      if (n_product_ == 3) throw UsageError("{}: three correlations: strategies know one, two or four", path);
      strategy_file_ = find_strategy(options.strategy, reader_->telescope());
    }
    rules_ = std::make_unique<Rules>(
        options, RuleFacts{reader_->layout(), reader_->fields(), survey_.scan_begin_mjd_s});
    plan();
  }

  std::vector<std::string> describe() const {
    std::vector<std::string> lines{fmt::format(
        "{}: {} rows of {} baselines, {} channels, {} products, {} sequences", path_, survey_.n_rows,
        survey_.baselines.size(), max_channels_, n_product_, survey_.times_mjd_s.size())};
    if (!strategy_file_.empty())
      lines.push_back(fmt::format("strategy {}, {} baselines at once", strategy_file_,
                                  std::min(at_once_, survey_.baselines.size())));
    lines.push_back(fmt::format("memory: {}", format_bytes(static_cast<double>(memory_bytes_))));
    return lines;
  }

  double run(Report& report) {
    const bool writes = !options_.no_write;
    if (!options_.save.empty()) save();
    FlagColumn column(path_, selection_, writes ? FlagColumn::Access::write : FlagColumn::Access::read);
    Progress progress(tool_, "flagging", static_cast<double>(survey_.n_rows), "rows");
    double n_rows = 0;
    const auto done = [&](const Block& block) {
      report.add(block.rows, std::as_const(block.before).view(), std::as_const(block.flags).view());
      if (writes && !std::equal(block.flags.begin(), block.flags.end(), block.before.begin()))
        column.write(block.rows, std::as_const(block.flags).view(), n_threads_);
      n_rows += static_cast<double>(block.rows.ant1.size());
      progress.update(n_rows);
    };
    strategy_file_.empty() ? by_rows(column, done) : by_baselines(column, done);
    if (writes) column.commit(tool_.provenance());
    return static_cast<double>(report.after().n);
  }

 private:
  std::size_t block_rows(std::uint64_t cell_bytes) const {
    return std::clamp<std::size_t>(
        kBlockBytes / std::max<std::uint64_t>(1, max_channels_ * n_product_ * cell_bytes), 16, kMaxRows);
  }

  void plan() {
    const std::uint64_t cells = max_channels_ * n_product_, most = tool_.common().max_memory_bytes;
    const auto n_rows = static_cast<std::uint64_t>(survey_.n_rows);
    const std::uint64_t fixed = cpu_program_bytes(1);
    if (strategy_file_.empty()) {
      const std::size_t rows = std::min<std::uint64_t>(block_rows(kDataBytes + kFlagBytes), n_rows);
      memory_bytes_ =
          fixed + rows * (kRowBytes + cells * (kFlagBytes + (options_.non_finite ? kDataBytes : 0)));
      if (memory_bytes_ > most)
        throw UsageError(
            "{}", memory_shortage(most, static_cast<double>(memory_bytes_), "this needs", "allow more"));
      return;
    }
    std::size_t max_times = 1;
    for (const auto& times : survey_.times_mjd_s) max_times = std::max(max_times, times.size());
    const std::uint64_t of_baseline =
        survey_.max_rows * (kRowBytes + cells * (kDataBytes + kFlagBytes) + kTimeBytes);
    const std::uint64_t of_threads = n_threads_ * max_times * max_channels_ * n_product_ * kStrategyBytes;
    const std::uint64_t least = fixed + kEngineBytes + of_threads + of_baseline;
    if (least > most)
      throw UsageError("{}", memory_shortage(most, static_cast<double>(least), "this needs",
                                             "allow more, use fewer --threads or a smaller --chunk-size"));
    // What fits, but no more than makes the parts of the work even.
    constexpr std::uint64_t kEnough = std::uint64_t{1} << 30;
    const std::uint64_t room = std::min(kEnough, most - fixed - kEngineBytes - of_threads);
    at_once_ = std::max<std::uint64_t>(1, room / of_baseline);
    memory_bytes_ =
        fixed + of_threads + std::min<std::uint64_t>(at_once_, survey_.baselines.size()) * of_baseline;
  }

  /// FLAG of the whole set as it is now.
  void save() {
    MsSelection all;
    all.column.clear();
    all.autos = true;
    MeasurementSetReader reader(path_, all);
    FlagColumn column(path_, all, FlagColumn::Access::read);
    FlagFileWriter writer(options_.save, static_cast<std::uint64_t>(reader.n_rows()),
                          tool_.common().overwrite);
    MsRows rows;
    Buffer<std::uint8_t, 3> flags;
    while (reader.next(rows, block_rows(kFlagBytes))) {
      flags.resize_for_overwrite({rows.ant1.size(), rows.data.extent(1), reader.products().size()});
      column.read(rows, flags, n_threads_);
      const std::size_t n_cells = flags.extent(1) * flags.extent(2);
      for (std::size_t row = 0; row < rows.ant1.size(); ++row)
        writer.write(static_cast<std::uint64_t>(rows.row_number[row]),
                     {flags.data() + row * n_cells, n_cells});
    }
    writer.commit();
  }

  /// Reads the cells of the block's rows and applies the rules.
  void load(Block& block, FlagColumn& column, VisibilityColumnReader* data) {
    const std::size_t n = block.rows.ant1.size(), n_chan = block.rows.data.extent(1),
                      n_cells = n_chan * n_product_;
    block.before.resize_for_overwrite({n, n_chan, n_product_});
    block.flags.resize_for_overwrite(block.before.shape());
    column.read(block.rows, block.before, n_threads_);
    std::copy(block.before.begin(), block.before.end(), block.flags.begin());
    if (data != nullptr) {
      std::vector<std::size_t> channels(n_chan);
      for (std::size_t chan = 0; chan < n_chan; ++chan) channels[chan] = chan;
      block.data.resize_for_overwrite(block.before.shape());
      data->read(block.rows, channels, block.data, n_threads_);
    }
    rules_->prepare(block.rows);
    for (std::size_t row = 0; row < n; ++row)
      rules_->flag(block.rows, row, data == nullptr ? nullptr : block.data.data() + row * n_cells, n_chan,
                   n_product_, block.flags.data() + row * n_cells);
  }

  MsSelection data_selection() const {
    MsSelection selection = selection_;
    selection.column = options_.selection.column;
    return selection;
  }

  template <class Done>
  void by_rows(FlagColumn& column, Done done) {
    std::unique_ptr<VisibilityColumnReader> data;
    if (options_.non_finite) data = std::make_unique<VisibilityColumnReader>(path_, data_selection());
    Block block;
    reader_->rewind();
    while (reader_->next(block.rows, block_rows(kDataBytes + kFlagBytes))) {
      load(block, column, data.get());
      done(block);
    }
  }

  template <class Done>
  void by_baselines(FlagColumn& column, Done done) {
    VisibilityColumnReader data(path_, data_selection());
    RfiContext context;
    context.layout = reader_->layout();
    for (const MsSpectralWindow& window : reader_->spectral_windows()) {
      context.channel_hz.push_back(window.channel_hz);
      context.width_hz.push_back(window.width_hz);
    }
    context.times_mjd_s = survey_.times_mjd_s;
    strategies_.resize(n_threads_);
    for (std::size_t first = 0; first < survey_.baselines.size(); first += at_once_) {
      const std::size_t end = std::min(survey_.baselines.size(), first + at_once_);
      const std::set<std::pair<int, int>> wanted(
          survey_.baselines.begin() + static_cast<std::ptrdiff_t>(first),
          survey_.baselines.begin() + static_cast<std::ptrdiff_t>(end));
      MsSelection selection = selection_;
      if (at_once_ < survey_.baselines.size())
        selection.wants_baseline = [&wanted](int i, int j) { return wanted.count({i, j}) > 0; };
      MeasurementSetReader part(path_, selection);
      std::deque<Block> blocks;
      for (;;) {
        Block block;
        if (!part.next(block.rows, kMaxRows)) break;
        load(block, column, &data);
        blocks.push_back(std::move(block));
      }
      find_interference(blocks, context);
      for (const Block& block : blocks) done(block);
    }
  }

  void find_interference(std::deque<Block>& blocks, const RfiContext& context) {
    std::map<std::array<std::size_t, 4>, Series> all;
    for (Block& block : blocks) {
      const std::size_t n_cells = block.flags.extent(1) * n_product_;
      for (std::size_t row = 0; row < block.rows.ant1.size(); ++row) {
        if (block.rows.ant1[row] == block.rows.ant2[row]) continue;
        const double time_s = block.rows.time_mjd_s[row];
        const std::size_t sequence = survey_.sequence.at({time_s, block.rows.field[row]}),
                          window = static_cast<std::size_t>(block.rows.spw);
        const std::vector<double>& times = survey_.times_mjd_s[sequence];
        Series& series = all[{static_cast<std::size_t>(block.rows.ant1[row]),
                              static_cast<std::size_t>(block.rows.ant2[row]), window, sequence}];
        if (series.times.empty()) {
          series.baseline = {block.rows.ant1[row], block.rows.ant2[row], window, sequence};
          series.times.resize(times.size());
          series.flags.resize(times.size(), nullptr);
        }
        const auto at =
            static_cast<std::size_t>(std::lower_bound(times.begin(), times.end(), time_s) - times.begin());
        series.times[at] = {block.data.data() + row * n_cells, block.flags.data() + row * n_cells};
        series.flags[at] = block.flags.data() + row * n_cells;
      }
    }
    std::vector<Series*> items;
    for (auto& [key, series] : all) items.push_back(&series);
    parallel_for(n_threads_, items.size(), [&](std::size_t item, unsigned thread) {
      Series& series = *items[item];
      std::unique_ptr<RfiStrategy>& strategy = strategies_[thread];
      if (!strategy) strategy = std::make_unique<RfiStrategy>(strategy_file_, context);
      const std::size_t n_chan = context.channel_hz[series.baseline.band].size();
      thread_local Buffer<std::uint8_t, 2> found;
      found.resize_for_overwrite({series.times.size(), n_chan});
      strategy->run(series.times, n_product_, series.baseline, found);
      for (std::size_t time = 0; time < series.times.size(); ++time) {
        if (series.flags[time] == nullptr) continue;
        for (std::size_t chan = 0; chan < n_chan; ++chan)
          if (found(time, chan) != 0)
            std::fill_n(series.flags[time] + chan * n_product_, n_product_, std::uint8_t{1});
      }
    });
  }

  Tool& tool_;
  const Options& options_;
  std::string path_;
  MsSelection selection_;
  unsigned n_threads_;
  std::shared_ptr<const MeasurementSetLock> lock_;
  std::unique_ptr<MeasurementSetReader> reader_;
  Survey survey_;
  std::unique_ptr<Rules> rules_;
  std::string strategy_file_;
  std::size_t max_channels_ = 0, n_product_ = 0;
  std::size_t at_once_ = 1;  ///< baselines
  std::uint64_t memory_bytes_ = 0;
  std::vector<std::unique_ptr<RfiStrategy>> strategies_;  ///< [thread]

 public:
  const MeasurementSetReader& reader() const { return *reader_; }
};

}  // namespace

double flag_set(Tool& tool, const Options& options, const std::string& path, std::string& json) {
  tool.stage("open");
  SetFlagger flagger(tool, options, path);
  tool.report_plan(flagger.describe());
  if (tool.common().dry_run) return 0;
  tool.stage("flag");
  Report report(flagger.reader().layout(), flagger.reader().spectral_windows());
  const double n_vis = flagger.run(report);
  for (const std::string& line : report.lines()) log_info("{}: {}", path, line);
  json = report.json(path);
  return n_vis;
}

double undo_flags(Tool& tool, const Options& options) {
  const std::string& path = options.inputs[0];
  std::shared_ptr<const MeasurementSetLock> lock;
  if (!tool.common().dry_run) lock = lock_measurement_set(path);
  MsSelection all;
  all.column.clear();
  all.autos = true;
  MeasurementSetReader reader(path, all);
  tool.report_plan(
      {fmt::format("{}: FLAG of {} rows becomes what {} has", path, reader.n_rows(), options.undo),
       fmt::format("memory: {}",
                   format_bytes(static_cast<double>(cpu_program_bytes(1) + kMaxRows * kRowBytes)))});
  // All of the file is looked at before anything is changed.
  MsRows rows;
  Buffer<std::uint8_t, 3> flags;
  const auto for_blocks = [&](auto use) {
    FlagFileReader file(options.undo);
    if (file.n_set_rows() != static_cast<std::uint64_t>(reader.n_rows()))
      throw DataError("{}: is of a set of {} rows, {} has {}", options.undo, file.n_set_rows(), path,
                      reader.n_rows());
    reader.rewind();
    while (reader.next(rows, kMaxRows / 16)) {
      flags.resize_for_overwrite({rows.ant1.size(), rows.data.extent(1), reader.products().size()});
      const std::size_t n_cells = flags.extent(1) * flags.extent(2);
      for (std::size_t row = 0; row < rows.ant1.size(); ++row)
        file.read(static_cast<std::uint64_t>(rows.row_number[row]), {flags.data() + row * n_cells, n_cells});
      use();
    }
    file.finish();
  };
  for_blocks([] {});
  if (tool.common().dry_run) return 0;
  double n_vis = 0;
  FlagColumn column(path, all, FlagColumn::Access::write);
  for_blocks([&] {
    column.write(rows, std::as_const(flags).view(), tool.common().threads);
    n_vis += static_cast<double>(flags.size());
  });
  column.commit(tool.provenance());
  return n_vis;
}

}  // namespace apsyn::flag
