// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/calibrate/input.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "libcore/base/constants.h"
#include "libcore/base/csv.h"
#include "libcore/base/error.h"
#include "libcore/base/log.h"
#include "libcore/files/temporary_file.h"
#include "libcore/measures/coordinates.h"
#include "libcore/streams/detect.h"
#include "libcore/streams/visibility_stream.h"
#include "libcore/voltage/array_delays.h"

namespace apsyn::calibrate {
namespace {

/// Refuses windows whose frequencies overlap, since they would have two solutions at one frequency.
void check_windows(const InputInfo& info) {
  std::vector<std::pair<double, double>> bands;
  for (const MsSpectralWindow& window : info.windows) {
    const auto [low, high] = std::minmax_element(window.channel_hz.begin(), window.channel_hz.end());
    if (low != window.channel_hz.end()) bands.emplace_back(*low, *high);
  }
  std::sort(bands.begin(), bands.end());
  for (std::size_t i = 1; i < bands.size(); ++i)
    if (bands[i].first <= bands[i - 1].second)
      throw UsageError("{}: spectral windows overlap in frequency: solve one after the other with --spw",
                       info.path);
}

class SetInput final : public VisibilityInput {
 public:
  SetInput(const Options& options, const std::string& path)
      : reader_(path, selection_of(options, options.selection.column)) {
    info_.path = path;
    info_.telescope = reader_.telescope();
    info_.layout = reader_.layout();
    info_.antennas = solution_antennas(info_.layout);
    info_.products = reader_.products();
    info_.windows = reader_.spectral_windows();
    info_.fields = reader_.fields();
    info_.fields_with_rows = reader_.fields_with_rows();
    info_.integrations = reader_.integrations();
    if (info_.integrations.empty()) throw FailureError("{}: no usable data: no row is selected", path);
    check_windows(info_);
    find_conjugation();
  }
  void rewind() override { reader_.rewind(); }
  bool next(InputBlock& block, std::size_t max_rows) override {
    block.path_m.resize({0});
    return reader_.next(block.rows, max_rows);
  }
  void read_cells(InputBlock& block, unsigned n_threads) override {
    reader_.read_cells(block.rows, n_threads);
  }
  bool has_column(const std::string& name) const override { return reader_.has_column(name); }

 private:
  void find_conjugation() {
    MsRows rows;
    constexpr std::size_t kRows = 2000;
    if (!reader_.read(rows, kRows)) return;
    info_.conjugated = is_conjugated(info_.layout, rows, info_.fields);
    reader_.rewind();
  }

  MeasurementSetReader reader_;
};

/// Integrations of a stream, in a temporary file: a pipe cannot be read twice.
class StreamInput final : public VisibilityInput {
 public:
  StreamInput(const Options& options, const std::string& path) : reader_(path) {
    header_ = reader_.header();
    if (!header_.layout.site)
      throw DataError("{}: the stream does not tell its site: SITE_LAT, SITE_LON and SITE_ALT are needed",
                      path);
    if (!options.selection.fields.empty() || !options.selection.field_names.empty() ||
        !options.selection.spws.empty())
      throw UsageError("{}: a stream has one field and one window: leave --field and --spw out", path);
    set_finest_fringe(finest_fringe_rad(header_.layout, header_.channel_hz[header_.channel_hz.size() / 2]));
    frame_ = std::make_unique<SkyFrame>(*header_.layout.site);
    info_.path = path;
    info_.is_stream = true;
    info_.telescope = header_.telescope;
    info_.layout = header_.layout;
    info_.antennas = solution_antennas(info_.layout);
    find_products();
    select_channels(options, path);
    for (std::size_t i = 0; i < header_.baselines.size(); ++i)
      if (header_.baselines[i].ant1 != header_.baselines[i].ant2) baselines_.push_back(i);
    if (baselines_.empty()) throw FailureError("{}: no usable data: no integration of a baseline", path);
    if (options.follow_s > 0) {
      // To the nearest integration; an interval of a live stream is at least one.
      per_interval_ = std::max<std::int64_t>(1, std::llround(options.follow_s / header_.integration_s));
      return;
    }
    VisibilityRecord record;
    while (reader_.read(record)) keep(record);
    if (records_.empty()) throw FailureError("{}: no usable data: no integration of a baseline", path);
    find_field();
  }

  bool next_interval() override {
    records_.clear();
    info_.integrations.clear();
    store_.seek(0);
    next_ = 0;
    if (!pending_) {
      if (!reader_.read(waiting_)) return false;
      pending_ = true;
    }
    // Intervals are counted from the stream's start, so that missing records do not shift them.
    const std::int64_t interval = waiting_.index / per_interval_;
    while (pending_ && waiting_.index / per_interval_ == interval) {
      keep(waiting_);
      const bool is_last = waiting_.index % per_interval_ == per_interval_ - 1;
      // The last record of an interval is not followed by a wait for the next.
      pending_ = !is_last && reader_.read(waiting_);
    }
    find_field();
    return true;
  }

  void rewind() override { next_ = 0; }

  bool next(InputBlock& block, std::size_t max_rows) override {
    if (next_ == records_.size()) return false;
    first_ = next_;
    const std::size_t n = std::clamp<std::size_t>(max_rows / baselines_.size(), 1, records_.size() - next_);
    next_ += n;
    MsRows& rows = block.rows;
    const std::size_t n_row = n * baselines_.size();
    rows.spw = rows.data_description = 0;
    rows.field.assign(n_row, 0);
    rows.time_mjd_s.resize(n_row);
    rows.interval_s.assign(n_row, header_.integration_s);
    rows.ant1.resize(n_row);
    rows.ant2.resize(n_row);
    rows.row_number.resize(n_row);
    for (std::size_t i = 0, row = 0; i < n; ++i)
      for (const std::size_t b : baselines_) {
        rows.time_mjd_s[row] = info_.integrations[first_ + i].time_mjd_s;
        rows.ant1[row] = header_.baselines[b].ant1;
        rows.ant2[row] = header_.baselines[b].ant2;
        rows.row_number[row] = static_cast<std::int64_t>(first_ * baselines_.size() + row);
        ++row;
      }
    rows.uvw_m.resize_for_overwrite({n_row, 3});
    return true;
  }

  void read_cells(InputBlock& block, unsigned) override {
    MsRows& rows = block.rows;
    const std::size_t n_row = rows.ant1.size(), n_bl = baselines_.size(), n_chan = n_channels_,
                      n_own = header_.channel_hz.size(), n_product = header_.products.size();
    rows.data.resize_for_overwrite({n_row, n_chan, info_.products.size()});
    rows.weight.resize_for_overwrite(rows.data.shape());
    block.path_m.resize({header_.phase_centre ? 0 : n_row});
    data_.resize_for_overwrite({header_.baselines.size(), n_own, n_product});
    weight_.resize_for_overwrite(data_.shape());
    for (std::size_t i = 0; i < n_row / n_bl; ++i) {
      store_.seek((first_ + i) * data_.size() * (sizeof(std::complex<float>) + sizeof(float)));
      store_.read(data_.data(), data_.size() * sizeof(std::complex<float>));
      store_.read(weight_.data(), weight_.size() * sizeof(float));
      place(block, i);
      for (std::size_t b = 0; b < n_bl; ++b)
        for (std::size_t chan = 0; chan < n_chan; ++chan)
          for (std::size_t p = 0; p < info_.products.size(); ++p) {
            const std::complex<float> value = data_(baselines_[b], first_channel_ + chan, order_[p]);
            const float weight = weight_(baselines_[b], first_channel_ + chan, order_[p]);
            const bool valid = std::isfinite(value.real()) && std::isfinite(value.imag()) &&
                               std::isfinite(weight) && weight > 0;
            rows.data(i * n_bl + b, chan, p) = valid ? value : std::complex<float>{};
            rows.weight(i * n_bl + b, chan, p) = valid ? weight : 0.0f;
          }
    }
  }

 private:
  UtcTime middle(std::int64_t index) const {
    return sample_time(header_.start, 2 * index + 1, 0.5 * header_.integration_s);
  }

  void keep(const VisibilityRecord& record) {
    const auto row = static_cast<std::int64_t>(records_.size() * baselines_.size());
    const auto n = static_cast<std::int64_t>(baselines_.size());
    info_.integrations.push_back(
        {middle(record.index).mjd_seconds(), header_.integration_s, 0, n, row, row + n - 1});
    records_.push_back(record.index);
    store_.write(record.data.data(), record.data.size() * sizeof(std::complex<float>));
    store_.write(record.weight.data(), record.weight.size() * sizeof(float));
  }

  void find_field() {
    const UtcTime half_way =
        sample_time(middle(records_.front()), 1,
                    0.5 * static_cast<double>(records_.back() - records_.front()) * header_.integration_s);
    info_.fields = {
        {header_.source, header_.phase_centre ? *header_.phase_centre : frame_->zenith(half_way)}};
    info_.fields_with_rows = {0};
  }

  /// Puts products into the order of Measurement Sets.
  void find_products() {
    info_.products = header_.products;
    std::sort(info_.products.begin(), info_.products.end());
    for (const Product product : info_.products)
      order_.push_back(static_cast<std::size_t>(
          std::find(header_.products.begin(), header_.products.end(), product) - header_.products.begin()));
  }

  void select_channels(const Options& options, const std::string& path) {
    first_channel_ = options.selection.first_channel;
    n_channels_ = options.selection.n_channels;
    const std::size_t n_all = header_.channel_hz.size();
    if (n_channels_ == 0) n_channels_ = n_all - std::min(n_all, first_channel_);
    if (n_channels_ == 0 || first_channel_ + n_channels_ > n_all)
      throw UsageError("--channel-range {} {}: {} has {} channels", first_channel_,
                       first_channel_ + n_channels_, path, n_all);
    MsSpectralWindow& window = info_.windows.emplace_back();
    for (std::size_t i = 0; i < n_channels_; ++i) {
      window.channel_hz.push_back(header_.channel_hz[first_channel_ + i]);
      window.width_hz.push_back(std::abs(header_.channel_width_hz));
    }
  }

  /// Coordinates of integration `i` of a block. Without a phase centre the data are phased to the zenith of
  /// each integration.
  void place(InputBlock& block, std::size_t i) const {
    const UtcTime time = middle(records_[first_ + i]);
    const SkyDirection& centre = info_.fields[0].phase_centre;
    const Mat3 rotation = frame_->uvw_rotation(time, centre);
    const Vec3 from_zenith =
        header_.phase_centre ? Vec3{} : frame_->enu_from_direction(time, centre) - Vec3{0, 0, 1};
    for (std::size_t b = 0; b < baselines_.size(); ++b) {
      const Baseline& pair = header_.baselines[baselines_[b]];
      const Vec3 enu = header_.layout.antennas[static_cast<std::size_t>(pair.ant1)].enu_m -
                       header_.layout.antennas[static_cast<std::size_t>(pair.ant2)].enu_m;
      const Vec3 uvw = multiply(rotation, enu);
      const std::size_t row = i * baselines_.size() + b;
      for (std::size_t axis = 0; axis < 3; ++axis) block.rows.uvw_m(row, axis) = uvw[axis];
      if (!header_.phase_centre) block.path_m(row) = dot(enu, from_zenith);
    }
  }

  VisibilityStreamReader reader_;
  VisibilityHeader header_;
  std::int64_t per_interval_ = 0;  ///< integrations, of a stream that is followed
  VisibilityRecord waiting_;       ///< the first of the next interval, where `pending_`
  bool pending_ = false;
  std::unique_ptr<SkyFrame> frame_;
  std::vector<std::size_t> order_;      ///< [product of the info] index in the stream
  std::vector<std::size_t> baselines_;  ///< without autocorrelations
  std::size_t first_channel_ = 0, n_channels_ = 0;
  std::vector<std::int64_t> records_;  ///< their indices
  TemporaryFile store_;
  std::size_t first_ = 0, next_ = 0;     ///< of the records
  Buffer<std::complex<float>, 3> data_;  ///< [baseline][chan][product] of a record
  Buffer<float, 3> weight_;
};

}  // namespace

bool is_conjugated(const ArrayLayout& layout, const MsRows& rows, const std::vector<MsField>& fields) {
  if (!layout.site) return false;
  set_finest_fringe(1);  // a sign needs no Earth-orientation tables
  const SkyFrame frame(*layout.site);
  double with = 0, against = 0;
  std::map<std::pair<double, int>, Mat3> rotations;
  for (std::size_t row = 0; row < rows.ant1.size(); ++row) {
    if (rows.ant1[row] == rows.ant2[row]) continue;
    const Vec3 stored{rows.uvw_m(row, 0), rows.uvw_m(row, 1), rows.uvw_m(row, 2)};
    if (!std::isfinite(stored[0] + stored[1] + stored[2])) continue;
    const auto key = std::pair(rows.time_mjd_s[row], rows.field[row]);
    auto at = rotations.find(key);
    if (at == rotations.end()) {
      constexpr std::size_t kMaxTimes = 4;
      if (rotations.size() == kMaxTimes) break;
      at = rotations
               .emplace(key, frame.uvw_rotation(from_mjd_seconds(key.first),
                                                fields[static_cast<std::size_t>(key.second)].phase_centre))
               .first;
    }
    const Vec3 enu = layout.antennas[static_cast<std::size_t>(rows.ant1[row])].enu_m -
                     layout.antennas[static_cast<std::size_t>(rows.ant2[row])].enu_m;
    const Vec3 expected = multiply(at->second, enu);
    const Vec3 difference = stored - expected, sum = stored + expected;
    with += dot(difference, difference);
    against += dot(sum, sum);
  }
  return against < with;
}

std::unique_ptr<VisibilityInput> open_input(const Options& options) {
  const std::string& path = options.input();
  const InputKind kind = detect_input(path);
  if (kind == InputKind::measurement_set) return std::make_unique<SetInput>(options, path);
  if (kind == InputKind::visibility) return std::make_unique<StreamInput>(options, path);
  throw UsageError("{}: {}: give a Measurement Set or a visibility stream", path, input_kind_name(kind));
}

std::optional<std::size_t> named_reference(const std::string& wanted, const InputInfo& info) {
  if (wanted == "auto") return std::nullopt;
  for (std::size_t i = 0; i < info.antennas.size(); ++i)
    if (info.antennas[i].name == wanted) return i;
  const std::optional<double> number = finite_number(wanted);
  if (!number || *number < 0 || *number >= static_cast<double>(info.antennas.size()) ||
      *number != std::floor(*number))
    throw UsageError(
        "--reference-antenna {}: {} has no such antenna: give a name, a number below {}, or auto", wanted,
        info.path, info.antennas.size());
  return static_cast<std::size_t>(*number);
}

void drop_short_and_long(const ImagingOptions& selection, const InputInfo& info, MsRows& rows) {
  const double least = selection.min_uv_lambda, most = selection.max_uv_lambda;
  if (least <= 0 && most <= 0) return;
  const std::vector<double>& channel_hz = info.windows[static_cast<std::size_t>(rows.spw)].channel_hz;
  for (std::size_t row = 0; row < rows.ant1.size(); ++row) {
    const double length_m = std::hypot(rows.uvw_m(row, 0), rows.uvw_m(row, 1));
    for (std::size_t chan = 0; chan < channel_hz.size(); ++chan) {
      const double lambda = length_m * channel_hz[chan] / kSpeedOfLight_m_s;
      if (lambda >= least && (most <= 0 || lambda <= most)) continue;
      for (std::size_t p = 0; p < rows.weight.extent(2); ++p) rows.weight(row, chan, p) = 0;
    }
  }
}

}  // namespace apsyn::calibrate
