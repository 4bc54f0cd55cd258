// SPDX-License-Identifier: GPL-3.0-or-later
// A file of another format as a source of rows: which of its rows, windows and channels are wanted is decided
// here, as MeasurementSetReader does it for a set.
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <utility>

#include "libcore/base/error.h"
#include "libcore/formats/interval_choice.h"
#include "tools/transform/row_source.h"

namespace apsyn::transform {
namespace {

class FileSource final : public RowSource {
 public:
  FileSource(const std::string& path, std::unique_ptr<VisibilityFile> file, const Options& options)
      : RowSource(path), file_(std::move(file)), selection_(selection_of(options)) {
    if (options.column_given)
      throw UsageError("{}: --column: only Measurement Sets have several columns: leave it out", path);
    const MsDescription& set = file_->description();
    description_.telescope = set.telescope;
    description_.observer = set.observer;
    description_.layout = set.layout;
    description_.products = set.products;
    description_.flux_unit = set.flux_unit;
    description_.history = set.history;
    description_.fields = {{set.source, set.phase_centre}};
    description_.fields.insert(description_.fields.end(), set.more_fields.begin(), set.more_fields.end());
    select_fields();
    select_windows();
    if (!options.antennas.empty() || !options.baselines.empty() || options.no_autos)
      pairs_ = wanted_pairs(options, set.layout);
  }

  std::vector<std::string> plan() const override {
    if (survey_) return {file_->summary(), "the times of its rows have been looked at beforehand"};
    return {file_->summary()};
  }
  std::int64_t n_rows() override { return count_rows(); }
  std::int64_t count_rows() override {
    if (selects_rows() || n_windows_ < window_of_.size()) return survey().n_rows;
    return file_->n_rows();
  }
  double begin_mjd_s() override { return survey().begin_mjd_s; }
  std::size_t block_rows() const override { return file_->block_rows(); }
  bool has_fixed_blocks() const override { return file_->has_fixed_blocks(); }
  std::uint64_t memory_bytes(std::size_t block_rows, unsigned n_threads) const override {
    return file_->memory_bytes(std::min(block_rows, file_->block_rows()), n_threads);
  }

  void begin(RowPass pass) override {
    if (selection_.first_interval != 0 || selection_.n_intervals >= 0) find_interval();
    pass_ = pass;
    restart();
  }

  bool next(MsRows& rows, std::size_t max_rows) override {
    while (window_ == end_window_) {
      if (!file_->next(block_, std::min(max_rows, file_->block_rows()))) return false;
      select_rows();
      window_ = block_.first_window;
      end_window_ = chosen_.empty() ? window_ : window_ + block_.n_windows;
      skip_windows();
    }
    given_window_ = window_++;
    skip_windows();
    give(rows);
    return true;
  }

  void read_cells(MsRows&, unsigned n_threads, const UseMsCells& use) override {
    const std::size_t n_chan = description_.windows[0].channel_hz.size();
    const FileCells wanted{given_window_, selection_.first_channel, n_chan, chosen_};
    if (without_place_.empty()) return file_->read_cells(wanted, n_threads, use);
    // Rows whose coordinates are no numbers are flagged, as those of sets are.
    file_->read_cells(
        wanted, n_threads,
        [&](std::size_t first, View<const std::complex<float>, 3> data, View<const float, 3> weight) {
          thread_local Buffer<float, 3> flagged;
          flagged.resize_for_overwrite(weight.shape());
          std::copy(weight.begin(), weight.end(), flagged.begin());
          for (std::size_t row = 0; row < data.extent(0); ++row)
            if (without_place_[first + row] != 0)
              for (float& value : flagged.view()[row]) value = 0;
          use(first, data, std::as_const(flagged));
        });
  }
  void check_use() const override { file_->check_use(); }

 private:
  /// What the times of all rows tell.
  struct Survey {
    std::int64_t n_rows = 0;
    double begin_mjd_s = std::numeric_limits<double>::infinity();
  };

  void select_fields() {
    const std::vector<MsField>& fields = description_.fields;
    for (const std::string& wanted : selection_.field_names) {
      bool found = false;
      for (std::size_t i = 0; i < fields.size(); ++i)
        if (fields[i].name == wanted) {
          selection_.fields.push_back(static_cast<int>(i));
          found = true;
        }
      if (found) continue;
      std::vector<std::string> known;
      constexpr std::size_t kMax = 8;
      for (std::size_t i = 0; i < std::min(fields.size(), kMax); ++i) known.push_back(fields[i].name);
      throw UsageError("{}: no field is called '{}': give a number or one of {}{}", name_, wanted,
                       fmt::join(known, ", "), fields.size() > kMax ? " ..." : "");
    }
    for (const int field : selection_.fields)
      if (field < 0 || static_cast<std::size_t>(field) >= fields.size())
        throw UsageError("{}: field {}: the file has {}", name_, field, fields.size());
    for (std::size_t i = 0; i < fields.size(); ++i)
      if (wants(selection_.fields, static_cast<int>(i)))
        description_.used_fields.push_back(static_cast<int>(i));
    if (!selection_.fields.empty()) description_.used_fields = selection_.fields;
  }

  void select_windows() {
    const MsDescription& set = file_->description();
    std::vector<MsSpectralWindow> windows{
        {set.channel_hz, set.channel_widths_hz, set.window_name, set.frame}};
    if (windows[0].width_hz.empty()) windows[0].width_hz.assign(set.channel_hz.size(), set.channel_width_hz);
    windows.insert(windows.end(), set.more_windows.begin(), set.more_windows.end());
    const std::size_t n_chan = set.channel_hz.size(), first = selection_.first_channel,
                      n = selection_.n_channels != 0 ? selection_.n_channels
                                                     : n_chan - std::min(n_chan, first);
    if (first >= n_chan || n > n_chan - first)
      throw UsageError("{}: channels {} to {}: its spectral windows have {}", name_, first, first + n,
                       n_chan);
    for (const int window : selection_.spws)
      if (window < 0 || static_cast<std::size_t>(window) >= windows.size())
        throw UsageError("{}: spectral window {}: the file has {}", name_, window, windows.size());
    for (std::size_t i = 0; i < windows.size(); ++i) {
      const bool wanted = wants(selection_.spws, static_cast<int>(i));
      window_of_.push_back(wanted ? static_cast<int>(n_windows_++) : -1);
      if (!wanted) continue;
      for (std::vector<double>* values : {&windows[i].channel_hz, &windows[i].width_hz})
        *values = {values->begin() + static_cast<std::ptrdiff_t>(first),
                   values->begin() + static_cast<std::ptrdiff_t>(first + n)};
      description_.windows.push_back(std::move(windows[i]));
    }
  }

  static bool wants(const std::vector<int>& list, int number) {
    return list.empty() || std::find(list.begin(), list.end(), number) != list.end();
  }
  bool wants_row(std::size_t row) const {
    const double time_s = block_.time_mjd_s[row];
    if (time_s < min_time_s_ || time_s > max_time_s_ || time_s < selection_.min_time_mjd_s ||
        time_s > selection_.max_time_mjd_s || !wants(selection_.fields, block_.field[row]))
      return false;
    const Baseline& pair = block_.baselines[row];
    return pairs_.empty() || pairs_[static_cast<std::size_t>(pair.ant1)][static_cast<std::size_t>(pair.ant2)];
  }
  bool selects_rows() const {
    return !selection_.fields.empty() || !pairs_.empty() || selection_.first_interval != 0 ||
           selection_.n_intervals >= 0 || std::isfinite(selection_.min_time_mjd_s) ||
           std::isfinite(selection_.max_time_mjd_s);
  }

  void restart() {
    file_->rewind();
    window_ = end_window_ = 0;
    chosen_.clear();
  }
  /// The rows of the block that are wanted, and which of them have no coordinates.
  void select_rows() {
    chosen_.clear();
    for (std::size_t row = 0; row < block_.n_rows(); ++row)
      if (wants_row(row)) chosen_.push_back(row);
    without_place_.clear();
    if (pass_ != RowPass::cells) return;
    for (std::size_t i = 0; i < chosen_.size(); ++i) {
      double* uvw_m = &block_.uvw_m(chosen_[i], 0);
      if (std::isfinite(uvw_m[0] + uvw_m[1] + uvw_m[2])) continue;
      without_place_.resize(chosen_.size(), 0);
      without_place_[i] = 1;
      std::fill_n(uvw_m, 3, 0.0);
    }
  }
  void skip_windows() {
    while (window_ < end_window_ && window_of_[window_] < 0) ++window_;
  }

  /// The chosen rows as those of their window.
  void give(MsRows& rows) const {
    const std::size_t n = chosen_.size(), n_chan = description_.windows[0].channel_hz.size();
    rows.data_description = static_cast<int>(given_window_);
    rows.spw = window_of_[given_window_];
    rows.data.resize({n, n_chan, 0});
    rows.weight.resize({n, n_chan, 0});
    rows.uvw_m.resize_for_overwrite({n, 3});
    rows.time_mjd_s.resize(n);
    rows.interval_s.resize(n);
    rows.ant1.resize(n);
    rows.ant2.resize(n);
    rows.field.resize(n);
    rows.scan.assign(n, 1);
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t row = chosen_[i];
      rows.time_mjd_s[i] = block_.time_mjd_s[row];
      rows.interval_s[i] = block_.interval_s[row];
      rows.ant1[i] = block_.baselines[row].ant1;
      rows.ant2[i] = block_.baselines[row].ant2;
      rows.field[i] = block_.field[row];
      for (std::size_t axis = 0; axis < 3; ++axis) rows.uvw_m(i, axis) = block_.uvw_m(row, axis);
    }
    rows.exposure_s = rows.interval_s;
  }

  /// The numbers of --interval as times.
  void find_interval() {
    if (std::isfinite(min_time_s_)) return;
    std::set<double> distinct;
    file_->rewind();
    while (file_->next(block_, file_->block_rows()))
      distinct.insert(block_.time_mjd_s.begin(), block_.time_mjd_s.end());
    const IntervalTimes chosen = choose_interval(distinct, selection_, name_, "file");
    min_time_s_ = chosen.first_mjd_s;
    max_time_s_ = chosen.last_mjd_s;
  }

  const Survey& survey() {
    if (survey_) return *survey_;
    Survey found;
    MsRows rows;
    begin(RowPass::scalars);
    while (next(rows, file_->block_rows())) {
      found.n_rows += static_cast<std::int64_t>(rows.ant1.size());
      for (std::size_t row = 0; row < rows.ant1.size(); ++row)
        found.begin_mjd_s = std::min(found.begin_mjd_s, rows.time_mjd_s[row] - rows.interval_s[row] / 2);
    }
    return survey_.emplace(found);
  }

  std::unique_ptr<VisibilityFile> file_;
  MsSelection selection_;                 ///< fields by their numbers alone
  std::vector<std::vector<bool>> pairs_;  ///< [ant1][ant2] that are wanted; empty: all
  double min_time_s_ = -std::numeric_limits<double>::infinity();  ///< of --interval
  double max_time_s_ = std::numeric_limits<double>::infinity();
  std::vector<int> window_of_;  ///< [window of the file] among the selected ones, -1: not selected
  std::size_t n_windows_ = 0;   ///< selected
  std::optional<Survey> survey_;

  RowPass pass_ = RowPass::scalars;
  FileRows block_;
  std::vector<std::size_t> chosen_;          ///< rows of the block
  std::vector<char> without_place_;          ///< [chosen] whose coordinates are no numbers; empty: none
  std::size_t window_ = 0, end_window_ = 0;  ///< of the block, those that next() gives next
  std::size_t given_window_ = 0;
};

}  // namespace

std::unique_ptr<RowSource> make_file_source(const std::string& path, std::unique_ptr<VisibilityFile> file,
                                            const Options& options) {
  return std::make_unique<FileSource>(path, std::move(file), options);
}

}  // namespace apsyn::transform
