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

  bool give_all(std::uint64_t max_bytes, PlaneReceiver& to) override {
    for (; current_ < readers_.size(); ++current_)
      if (!give_set(max_bytes, to)) return false;
    return true;
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
      const std::size_t max_rows = rows_at_once(max_bytes);
      while (reader.next(rows_, max_rows)) {
        const Channels channels = choose_channels(rows_, block);
        if (channels.empty()) continue;
        if (!read_cells(channels, planes_[current_])) return false;
        name_stations(rows_, block);
        without_place = move_to_centre(rows_, reader.fields(), info_.centre, block, n_threads_);
        return true;
      }
    }
    return false;
  }

  /// Rows of the current set in a block of so many bytes at most.
  std::size_t rows_at_once(std::uint64_t max_bytes) const {
    const MeasurementSetReader& reader = *readers_[current_];
    std::size_t bytes_per_row = 0;
    for (const MsSpectralWindow& spw : reader.spectral_windows())
      bytes_per_row = std::max(bytes_per_row, spw.channel_hz.size() *
                                                  (reader.products().size() + 2 * planes_[current_].size()) *
                                                  ImagingBlock::kValueBytes);
    return std::clamp<std::uint64_t>(max_bytes / std::max<std::size_t>(1, bytes_per_row), 1,
                                     std::uint64_t{1} << 24);
  }
  /// Channels of these rows that are wanted, whose frequencies the block gets.
  Channels choose_channels(const MsRows& rows, ImagingBlock& block) const {
    const auto& channel_hz =
        readers_[current_]->spectral_windows()[static_cast<std::size_t>(rows.spw)].channel_hz;
    Channels channels = channels_in(channel_hz, group_);
    block.channel_hz.resize({channels.size()});
    for (std::size_t i = 0; i < channels.size(); ++i) block.channel_hz(i) = channel_hz[channels[i]];
    return channels;
  }

  /// All rows of the current set.
  bool give_set(std::uint64_t max_bytes, PlaneReceiver& to) {
    MeasurementSetReader& reader = *readers_[current_];
    const std::vector<PlaneRecipe>& recipes = planes_[current_];
    struct Given {
      ImagingBlock block;
      Channels channels;
      std::unique_ptr<PlaneBlock> planes;
    };
    std::vector<Given> given(MeasurementSetReader::kOpenBlocks);
    const auto at = [&](std::size_t block) -> Given& { return given[block % given.size()]; };
    bool has_room = true;
    MsBlockUse use;
    use.begin = [&](std::size_t block, const MsRows& rows) {
      Given& own = at(block);
      own.channels = choose_channels(rows, own.block);
      if (own.channels.empty()) return MsWanted::no;
      const bool with_path = moves_to_centre(rows, reader.fields(), info_.centre);
      own.planes = to.begin(rows.ant1.size(), own.block.channel_hz, with_path);
      has_room = own.planes != nullptr;
      return has_room ? MsWanted::yes : MsWanted::no_more;
    };
    use.cells = [&](std::size_t block, std::size_t first, const auto& data, const auto& weight) {
      const Given& own = at(block);
      own.planes->take(first, data.extent(0),
                       [&](std::size_t row, std::size_t n, std::complex<float>* values, float* weights) {
                         make_planes(rows_of(data, row - first, n), rows_of(weight, row - first, n),
                                     own.channels, recipes, values, weights);
                       });
    };
    use.then.push_back({false, [&](std::size_t block, const MsRows& rows) {
                          Given& own = at(block);
                          name_stations(rows, own.block);
                          for (const std::size_t row :
                               move_to_centre(rows, reader.fields(), info_.centre, own.block, n_threads_))
                            own.planes->drop(row);
                        }});
    for (const PlaneReceiver::Step& step : to.then())
      use.then.push_back({step.in_order, [&at, run = step.run](std::size_t block, const MsRows&) {
                            run(*at(block).planes, at(block).block);
                          }});
    reader.read_blocks(rows_at_once(max_bytes), n_threads_, use);
    return has_room;
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

  void name_stations(const MsRows& rows, ImagingBlock& block) const {
    const std::size_t n_row = rows.uvw_m.extent(0);
    block.station.resize_for_overwrite({n_row, 2});
    for (std::size_t row = 0; row < n_row; ++row) {
      block.station(row, 0) = first_station_[current_] + static_cast<std::uint32_t>(rows.ant1[row]);
      block.station(row, 1) = first_station_[current_] + static_cast<std::uint32_t>(rows.ant2[row]);
    }
    block.time_mjd_s = rows.time_mjd_s;
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
