// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/transform/row_sink.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <map>
#include <utility>

#include "libcore/base/error.h"
#include "libcore/base/time.h"
#include "libcore/formats/uvfits/writer.h"
#include "libcore/formats/uvh5/uvh5.h"
#include "libcore/streams/visibility_stream.h"

namespace apsyn::transform {
namespace {

/// casacore writes what rows have beside their cells, value by value and one thread at a time. So these wait
/// until cells of later rows come, from several threads, one of which then writes them.
class SetSink final : public RowSink {
 public:
  SetSink(const std::string& path, const MsDescription& description, bool overwrite, std::int64_t n_rows,
          const std::vector<std::string>& from, const std::string& column)
      : writer_(path, description, overwrite, n_rows) {
    for (const std::string& other : from) writer_.add_subtables_of(other, column);
  }
  void place(std::int64_t, const MsWriteRows&) override {}
  void put_cells(std::int64_t first_row, View<const std::complex<float>, 3> data,
                 View<const float, 3> weight) override {
    write_waiting();
    writer_.write_cells(first_row, data, weight);
  }
  void put_rows(std::int64_t first_row, const MsWriteRows& rows) override {
    write_waiting();
    first_row_ = first_row;
    rows_ = rows;
    baselines_ = *rows.baselines;
    uvw_m_.assign(rows.uvw_m.begin(), rows.uvw_m.end());
    rows_.baselines = &baselines_;
    rows_.uvw_m = View<const double, 2>(uvw_m_.data(), rows.uvw_m.shape());
    waits_ = true;
  }
  void commit() override {
    write_waiting();
    writer_.commit();
  }

 private:
  void write_waiting() {
    if (waits_.exchange(false)) writer_.write_scalars(first_row_, rows_);
  }

  MeasurementSetWriter writer_;
  std::atomic<bool> waits_{false};
  std::int64_t first_row_ = 0;
  MsWriteRows rows_;  ///< waiting, with the baselines and coordinates below
  std::vector<Baseline> baselines_;
  std::vector<double> uvw_m_;  ///< [row][3]
};

/// Uvh5Writer or UvfitsWriter.
template <class Writer>
class FileSink final : public RowSink {
 public:
  FileSink(const std::string& path, const MsDescription& description, bool overwrite, std::int64_t n_rows,
           bool conjugated)
      : writer_(path, description, overwrite, n_rows, conjugated) {}
  void place(std::int64_t, const MsWriteRows&) override {}
  void put_cells(std::int64_t first_row, View<const std::complex<float>, 3> data,
                 View<const float, 3> weight) override {
    writer_.write_cells(first_row, data, weight);
  }
  void put_rows(std::int64_t first_row, const MsWriteRows& rows) override {
    writer_.write_rows(first_row, rows);
  }
  void commit() override { writer_.commit(); }

 private:
  Writer writer_;
};

VisibilityHeader header_of(const MsDescription& set, const StreamShape& shape, const std::string& path) {
  if (!set.more_windows.empty())
    throw UsageError("{}: a stream has one spectral window, the selection {}: choose one with --spw", path,
                     1 + set.more_windows.size());
  if (!set.more_fields.empty())
    throw UsageError(
        "{}: a stream has one phase centre, the selection {} fields: choose one with --field, or move all "
        "with --phase-centre",
        path, 1 + set.more_fields.size());
  const std::size_t n_chan = set.channel_hz.size();
  VisibilityHeader header;
  header.telescope = set.telescope;
  header.source = set.source;
  header.start = from_mjd_seconds(shape.begin_mjd_s);
  header.integration_s = shape.integration_s;
  header.channel_hz = set.channel_hz;
  header.channel_width_hz =
      n_chan > 1 ? (set.channel_hz.back() - set.channel_hz.front()) / static_cast<double>(n_chan - 1)
                 : set.channel_width_hz;
  header.products = set.products;
  header.layout = set.layout;
  header.layout.antennas.clear();
  for (const int antenna : shape.antennas)
    header.layout.antennas.push_back(set.layout.antennas[static_cast<std::size_t>(antenna)]);
  header.baselines = all_baselines(shape.antennas.size(), shape.autos);
  header.phase_centre = set.phase_centre;
  header.flux_unit = set.flux_unit;
  header.history = set.history;
  return header;
}

class StreamSink final : public RowSink {
 public:
  StreamSink(const std::string& path, const MsDescription& description, bool overwrite,
             const StreamShape& shape)
      : path_(path),
        shape_(shape),
        header_(header_of(description, shape, path)),
        writer_(path, header_, overwrite) {
    const std::size_t n_ant = description.layout.antennas.size();
    std::vector<int> place(n_ant, -1);
    for (std::size_t i = 0; i < shape.antennas.size(); ++i)
      place[static_cast<std::size_t>(shape.antennas[i])] = static_cast<int>(i);
    baseline_.assign(n_ant * n_ant, -1);
    std::vector<std::int64_t> number(shape.antennas.size() * shape.antennas.size(), -1);
    for (std::size_t b = 0; b < header_.baselines.size(); ++b)
      number[static_cast<std::size_t>(header_.baselines[b].ant1) * shape.antennas.size() +
             static_cast<std::size_t>(header_.baselines[b].ant2)] = static_cast<std::int64_t>(b);
    for (std::size_t i = 0; i < n_ant; ++i)
      for (std::size_t j = 0; j < n_ant; ++j)
        if (place[i] >= 0 && place[j] >= 0)
          baseline_[i * n_ant + j] = number[static_cast<std::size_t>(place[i]) * shape.antennas.size() +
                                            static_cast<std::size_t>(place[j])];
    n_ant_ = n_ant;
  }

  void place(std::int64_t first_row, const MsWriteRows& rows) override {
    first_row_ = first_row;
    places_.clear();
    for (std::size_t row = 0; row < rows.baselines->size(); ++row) {
      const double begin_s = rows.row_time_mjd_s[row] - rows.row_interval_s[row] / 2;
      const double at = (begin_s - shape_.begin_mjd_s) / shape_.integration_s;
      const auto index = static_cast<std::int64_t>(std::floor(at + 0.01));
      if (index < next_)
        throw DataError("{}: rows of former times follow later ones: a stream needs rows in rising time",
                        path_);
      if (rows.row_interval_s[row] > 1.01 * shape_.integration_s ||
          std::abs(at - std::floor(at + 0.01)) > 0.02)
        throw DataError(
            "{}: an integration of {:.6g} s that begins {:.6g} s after the first: a stream has integrations "
            "of {:.6g} s without offsets: average with --average-time, or write a Measurement Set",
            path_, rows.row_interval_s[row], begin_s - shape_.begin_mjd_s, shape_.integration_s);
      const Baseline& pair = (*rows.baselines)[row];
      const std::int64_t baseline =
          baseline_[static_cast<std::size_t>(pair.ant1) * n_ant_ + static_cast<std::size_t>(pair.ant2)];
      if (baseline < 0)
        throw DataError("{}: antennas {} and {}: a stream has baselines of a lower and a higher number",
                        path_, pair.ant1, pair.ant2);
      places_.push_back({&record_of(index), static_cast<std::size_t>(baseline)});
    }
  }

  void put_cells(std::int64_t first_row, View<const std::complex<float>, 3> data,
                 View<const float, 3> weight) override {
    const std::size_t n_cell = data.extent(1) * data.extent(2);
    for (std::size_t row = 0; row < data.extent(0); ++row) {
      const auto& [record, baseline] = places_[static_cast<std::size_t>(first_row - first_row_) + row];
      std::complex<float>* to = record->data.data() + baseline * n_cell;
      const std::complex<float>* from = data.data() + row * n_cell;
      if (shape_.conjugate)
        for (std::size_t i = 0; i < n_cell; ++i) to[i] = std::conj(from[i]);
      else
        std::copy_n(from, n_cell, to);
      std::copy_n(weight.data() + row * n_cell, n_cell, record->weight.data() + baseline * n_cell);
    }
  }

  void put_rows(std::int64_t, const MsWriteRows&) override {
    // The newest integration may go on in the next rows.
    while (open_.size() > 1) write_first();
  }

  void commit() override {
    while (!open_.empty()) write_first();
    writer_.commit();
  }

 private:
  struct Place {
    VisibilityRecord* record = nullptr;
    std::size_t baseline = 0;
  };

  VisibilityRecord& record_of(std::int64_t index) {
    const auto [at, is_new] = open_.try_emplace(index);
    VisibilityRecord& record = at->second;
    if (is_new) {
      record.index = index;
      record.data.resize({header_.baselines.size(), header_.channel_hz.size(), header_.products.size()});
      record.weight.resize(record.data.shape());
    }
    return record;
  }

  void write_first() {
    auto first = open_.begin();
    constexpr std::int64_t kMaxPause = 100000;
    if (first->first - next_ > kMaxPause)
      throw DataError("{}: a pause of {} integrations: write a Measurement Set, or parts with --time-range",
                      path_, first->first - next_);
    if (next_ < first->first) {
      VisibilityRecord nothing;
      nothing.data.resize(first->second.data.shape());
      nothing.weight.resize(first->second.data.shape());
      for (; next_ < first->first; ++next_) {
        nothing.index = next_;
        writer_.write(nothing);
      }
    }
    writer_.write(first->second);
    next_ = first->first + 1;
    open_.erase(first);
  }

  std::string path_;
  StreamShape shape_;
  VisibilityHeader header_;
  VisibilityStreamWriter writer_;
  std::size_t n_ant_ = 0;
  std::vector<std::int64_t> baseline_;             ///< [ant1][ant2] of the set, -1: none
  std::map<std::int64_t, VisibilityRecord> open_;  ///< not yet written, by their index
  std::int64_t next_ = 0;                          ///< to be written
  std::int64_t first_row_ = 0;
  std::vector<Place> places_;
};

}  // namespace

std::unique_ptr<RowSink> make_set_sink(const std::string& path, const MsDescription& description,
                                       bool overwrite, std::int64_t n_rows,
                                       const std::vector<std::string>& from, const std::string& column) {
  return std::make_unique<SetSink>(path, description, overwrite, n_rows, from, column);
}

std::unique_ptr<RowSink> make_uvh5_sink(const std::string& path, const MsDescription& description,
                                        bool overwrite, std::int64_t n_rows, bool conjugated) {
  return std::make_unique<FileSink<Uvh5Writer>>(path, description, overwrite, n_rows, conjugated);
}

std::unique_ptr<RowSink> make_uvfits_sink(const std::string& path, const MsDescription& description,
                                          bool overwrite, std::int64_t n_rows, bool conjugated) {
  return std::make_unique<FileSink<UvfitsWriter>>(path, description, overwrite, n_rows, conjugated);
}

std::unique_ptr<RowSink> make_stream_sink(const std::string& path, const MsDescription& description,
                                          bool overwrite, const StreamShape& shape) {
  return std::make_unique<StreamSink>(path, description, overwrite, shape);
}

}  // namespace apsyn::transform
