// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <cmath>
#include <limits>

#include "libcore/base/error.h"
#include "libcore/base/log.h"
#include "libcore/formats/ms/measurement_set.h"
#include "libcore/imaging/blocks.h"
#include "libcore/imaging/plane_source.h"
#include "libcore/imaging/source.h"
#include "libcore/visibility/stokes.h"

namespace apsyn {
namespace {

template <class T>
View<const T, 3> rows_of(View<const T, 3> all, std::size_t first, std::size_t n) {
  return {all.data() + first * all.extent(1) * all.extent(2), {n, all.extent(1), all.extent(2)}};
}

class MsSource final : public ImagingSource, public PlaneSource {
 public:
  MsSource(const std::vector<std::string>& paths, const ImagingSelection& selection)
      : n_threads_(selection.n_threads) {
    MsSelection wanted;
    wanted.column = selection.column;
    wanted.fields = selection.fields;
    wanted.field_names = selection.field_names;
    wanted.spws = selection.spws;
    wanted.first_interval = selection.first_interval;
    wanted.n_intervals = selection.n_intervals;
    wanted.first_channel = selection.first_channel;
    wanted.n_channels = selection.n_channels;
    std::vector<MsSpectralWindow> windows;
    for (const std::string& path : paths) {
      readers_.push_back(std::make_unique<MeasurementSetReader>(path, wanted));
      const MeasurementSetReader& reader = *readers_.back();
      planes_.push_back(selection.products       ? product_planes(reader.products())
                        : selection.correlations ? correlation_planes(reader.products())
                                                 : parse_planes(selection.planes, reader.products()));
      first_station_.push_back(static_cast<std::uint32_t>(info_.stations.size()));
      for (std::size_t i = 0; i < reader.layout().antennas.size(); ++i)
        info_.stations.push_back({readers_.size() - 1, i});
      info_.layouts.push_back(reader.layout());
      info_.circular.push_back(are_circular(reader.products()));
      info_.tables.push_back({{path}, selection.column, reader.fields_with_rows()});
      windows.insert(windows.end(), reader.spectral_windows().begin(), reader.spectral_windows().end());
    }
    if (!windows.empty()) info_.frequency_frame = windows[0].frame;
    MergedChannels merged = merge_channels(windows);
    info_.channel_hz = std::move(merged.channel_hz);
    info_.channel_width_hz = std::move(merged.width_hz);
    describe(paths, selection);
    find_unit(paths, selection);
    for (std::size_t i = 0; selection.name_other_columns && i < paths.size(); ++i)
      if (readers_[i]->has_column("CORRECTED_DATA")) {
        log_warning("{}: column {} is imaged, although there is CORRECTED_DATA: choose with --column",
                    paths[i], selection.column);
        break;
      }
  }

  const ImagingInfo& info() const override { return info_; }

  bool take_part(std::size_t part, std::size_t n_parts) override {
    for (auto& reader : readers_) reader->take_part(part, n_parts);
    return true;
  }

  void rewind(const ChannelGroup& group) override {
    group_ = group;
    current_ = 0;
    for (auto& reader : readers_) reader->rewind();
  }

  bool read(ImagingBlock& block, std::uint64_t max_bytes) override {
    std::vector<std::size_t> without_place;
    const bool any =
        next_rows(block, max_bytes, without_place, [&](const Channels& channels, const auto& planes) {
          resize_planes(block, rows_.ant1.size(), channels.size(), planes.size(), n_threads_);
          readers_[current_]->read_cells(rows_, n_threads_,
                                         [&](std::size_t first, const auto& data, const auto& weight) {
                                           make_planes(data, weight, channels, planes, block, first);
                                         });
          return true;
        });
    for (const std::size_t row : without_place)
      for (float& weight : block.weight.view()[row]) weight = 0;
    return any;
  }

  bool give(ImagingBlock& block, std::uint64_t max_bytes, PlaneReceiver& to) override {
    std::vector<std::size_t> without_place;
    const bool any =
        next_rows(block, max_bytes, without_place, [&](const Channels& channels, const auto& planes) {
          MeasurementSetReader& reader = *readers_[current_];
          const bool with_path = moves_to_centre(rows_, reader.fields(), info_.centre);
          if (!to.begin(rows_.ant1.size(), block.channel_hz, with_path)) return false;
          reader.read_cells(rows_, n_threads_, [&](std::size_t first, const auto& data, const auto& weight) {
            to.take(first, data.extent(0),
                    [&](std::size_t own, std::size_t n, std::complex<float>* values, float* weights) {
                      make_planes(rows_of(data, own - first, n), rows_of(weight, own - first, n), channels,
                                  planes, values, weights);
                    });
          });
          return true;
        });
    for (const std::size_t row : without_place) to.drop(row);
    return any;
  }

 private:
  using Channels = std::vector<std::size_t>;

  /// The next rows, whose cells read_cells(channels, planes) reads unless it returns false, which ends all;
  /// everything else of `block`. without_place: rows whose coordinates are no numbers.
  template <class ReadCells>
  bool next_rows(ImagingBlock& block, std::uint64_t max_bytes, std::vector<std::size_t>& without_place,
                 ReadCells read_cells) {
    for (; current_ < readers_.size(); ++current_) {
      MeasurementSetReader& reader = *readers_[current_];
      std::size_t bytes_per_row = 0;
      for (const MsSpectralWindow& spw : reader.spectral_windows())
        bytes_per_row = std::max(
            bytes_per_row, spw.channel_hz.size() * (reader.products().size() + 2 * planes_[current_].size()) *
                               ImagingBlock::kValueBytes);
      const auto max_rows = std::clamp<std::uint64_t>(max_bytes / std::max<std::size_t>(1, bytes_per_row), 1,
                                                      std::uint64_t{1} << 24);
      while (reader.next(rows_, max_rows)) {
        const auto& channel_hz = reader.spectral_windows()[static_cast<std::size_t>(rows_.spw)].channel_hz;
        const auto channels = channels_in(channel_hz, group_);
        if (channels.empty()) continue;
        block.channel_hz.resize({channels.size()});
        for (std::size_t i = 0; i < channels.size(); ++i) block.channel_hz(i) = channel_hz[channels[i]];
        if (!read_cells(channels, planes_[current_])) return false;
        name_stations(block);
        without_place = move_to_centre(rows_, reader.fields(), info_.centre, block, n_threads_);
        return true;
      }
    }
    return false;
  }

  void describe(const std::vector<std::string>& paths, const ImagingSelection& selection) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    double begin_s = infinity, end_s = -infinity;
    Exposures exposures;
    const MsField* object = nullptr;
    for (std::size_t i = 0; i < readers_.size(); ++i) {
      const MeasurementSetReader& reader = *readers_[i];
      if (i > 0 && names(planes_[i]) != names(planes_[0]))
        throw UsageError("{}: has other polarisations than {}: name them with --pol", paths[i], paths[0]);
      if (reader.n_rows() > 0) {
        begin_s = std::min(begin_s, reader.begin_mjd_s());
        end_s = std::max(end_s, reader.end_mjd_s());
      }
      for (const auto& [time_s, length_s] : reader.exposures()) add_exposure(exposures, time_s, length_s);
      if (info_.observer.empty()) info_.observer = reader.observer();
      for (const int number : reader.fields_with_rows()) {
        const MsField& field = reader.fields()[static_cast<std::size_t>(number)];
        if (object == nullptr) object = &field;
        info_.fields.emplace_back(fmt::format("{}: field {} ({})", paths[i], number, field.name),
                                  field.phase_centre);
      }
    }
    if (object == nullptr) object = first_described(selection);
    if (object == nullptr) throw DataError("{}: no such field, or an empty FIELD table", paths[0]);
    info_.planes = names(planes_[0]);
    info_.telescope = readers_[0]->telescope();
    info_.object = object->name;
    info_.centre = selection.centre.value_or(object->phase_centre);
    info_.start = from_mjd_seconds(std::isfinite(begin_s) ? begin_s : 0);
    if (std::isfinite(end_s)) info_.end = from_mjd_seconds(end_s);
    info_.exposure_s = covered_s(exposures);
  }

  /// What is not all in Jy is not in Jy.
  void find_unit(const std::vector<std::string>& paths, const ImagingSelection& selection) {
    std::vector<FluxUnit> units;
    for (const auto& reader : readers_) units.push_back(reader->flux_unit());
    const auto in_adu = std::find(units.begin(), units.end(), FluxUnit::adu);
    if (in_adu == units.end()) return;
    info_.flux_unit = FluxUnit::adu;
    const auto in_jy = std::find(units.begin(), units.end(), FluxUnit::jansky);
    if (in_jy != units.end())
      log_warning(
          "{}: column {} is in adu, and that of {} is in Jy: images of both are labelled adu and have no "
          "scale: "
          "calibrate all sets, or image each by itself",
          paths[static_cast<std::size_t>(in_adu - units.begin())], selection.column,
          paths[static_cast<std::size_t>(in_jy - units.begin())]);
  }

  /// Of sets without rows.
  const MsField* first_described(const ImagingSelection& selection) const {
    const auto field = static_cast<std::size_t>(selection.fields.empty() ? 0 : selection.fields[0]);
    for (const auto& reader : readers_)
      if (field < reader->fields().size()) return &reader->fields()[field];
    return nullptr;
  }

  void name_stations(ImagingBlock& block) const {
    const std::size_t n_row = rows_.uvw_m.extent(0);
    block.station.resize_for_overwrite({n_row, 2});
    for (std::size_t row = 0; row < n_row; ++row) {
      block.station(row, 0) = first_station_[current_] + static_cast<std::uint32_t>(rows_.ant1[row]);
      block.station(row, 1) = first_station_[current_] + static_cast<std::uint32_t>(rows_.ant2[row]);
    }
    block.time_mjd_s = rows_.time_mjd_s;
  }

  static std::vector<std::string> names(const std::vector<PlaneRecipe>& planes) {
    std::vector<std::string> result;
    for (const PlaneRecipe& plane : planes) result.push_back(plane.name);
    return result;
  }

  ImagingInfo info_;
  std::vector<std::unique_ptr<MeasurementSetReader>> readers_;
  std::vector<std::vector<PlaneRecipe>> planes_;  ///< [reader][plane]
  std::vector<std::uint32_t> first_station_;      ///< [reader] in info_.stations
  ChannelGroup group_;
  std::size_t current_ = 0;
  unsigned n_threads_;
  MsRows rows_;
};

}  // namespace

std::unique_ptr<ImagingSource> open_ms_source(const std::vector<std::string>& paths,
                                              const ImagingSelection& selection) {
  return std::make_unique<MsSource>(paths, selection);
}

}  // namespace apsyn
