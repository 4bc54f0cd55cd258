// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>

#include "libcore/base/constants.h"
#include "libcore/base/error.h"
#include "libcore/files/temporary_file.h"
#include "libcore/imaging/blocks.h"
#include "libcore/imaging/source.h"
#include "libcore/measures/coordinates.h"
#include "libcore/sky/rephase.h"
#include "libcore/streams/visibility_stream.h"
#include "libcore/visibility/stokes.h"
#include "libcore/voltage/array_delays.h"

namespace apsyn {
namespace {

/// Records of a stream that cannot be read twice.
class RecordStore {
 public:
  void append(const VisibilityRecord& record) {
    file_.write(&record.index, sizeof record.index);
    file_.write(record.data.data(), record.data.size() * sizeof(std::complex<float>));
    file_.write(record.weight.data(), record.weight.size() * sizeof(float));
    ++n_records_;
  }
  void rewind() {
    file_.seek(0);
    next_ = 0;
  }
  /// `record` has its shapes already.
  bool read(VisibilityRecord& record) {
    if (next_ == n_records_) return false;
    file_.read(&record.index, sizeof record.index);
    file_.read(record.data.data(), record.data.size() * sizeof(std::complex<float>));
    file_.read(record.weight.data(), record.weight.size() * sizeof(float));
    ++next_;
    return true;
  }
  std::size_t n_records() const { return n_records_; }

 private:
  TemporaryFile file_;
  std::size_t n_records_ = 0, next_ = 0;
};

class StreamSource final : public ImagingSource {
 public:
  StreamSource(const std::string& path, const ImagingSelection& selection) {
    VisibilityStreamReader reader(path);
    header_ = reader.header();
    if (!header_.layout.site)
      throw DataError("{}: the stream does not tell its site: SITE_LAT, SITE_LON and SITE_ALT are needed",
                      path);
    set_finest_fringe(finest_fringe_rad(header_.layout, header_.channel_hz[header_.channel_hz.size() / 2]));
    frame_ = std::make_unique<SkyFrame>(*header_.layout.site);
    planes_ = selection.products       ? product_planes(header_.products)
              : selection.correlations ? correlation_planes(header_.products)
                                       : parse_planes(selection.planes, header_.products);
    select_channels(path, selection);
    for (std::size_t i = 0; i < header_.baselines.size(); ++i)
      if (header_.baselines[i].ant1 != header_.baselines[i].ant2) baselines_.push_back(i);
    shape_ = {header_.baselines.size(), header_.channel_hz.size(), header_.products.size()};
    VisibilityRecord record;
    for (std::int64_t n = 0; reader.read(record); ++n) {
      const bool wanted = n >= selection.first_interval &&
                          (selection.n_intervals < 0 || n - selection.first_interval < selection.n_intervals);
      if (!wanted) continue;
      if (store_.n_records() == 0) first_index_ = record.index;
      last_index_ = record.index;
      info_.exposure_s += valid_part(record) * header_.integration_s;
      store_.append(record);
    }
    if (store_.n_records() == 0) throw FailureError("{}: no usable data: no integration is selected", path);
    describe(selection);
  }

  const ImagingInfo& info() const override { return info_; }

  void rewind(const ChannelGroup& group) override {
    channels_ = channels_in(header_.channel_hz, group);
    std::erase_if(channels_, [&](std::size_t c) { return c < first_channel_ || c >= end_channel_; });
    store_.rewind();
  }

  bool read(ImagingBlock& block, std::uint64_t max_bytes) override {
    const std::size_t row_bytes = shape_[1] * (shape_[2] + 2 * planes_.size()) * ImagingBlock::kValueBytes;
    const std::size_t n_records = std::clamp<std::size_t>(max_bytes / (row_bytes * shape_[0] + 1), 1, 4096);
    record_.data.resize(shape_);
    record_.weight.resize(shape_);
    std::vector<Vec3> uvw;
    std::vector<double> path;
    block.time_mjd_s.clear();
    std::size_t n_read = 0;
    const std::size_t n_bl = baselines_.size();
    data_.resize({n_records * n_bl, shape_[1], shape_[2]});
    weight_.resize({n_records * n_bl, shape_[1], shape_[2]});
    const std::size_t row_values = shape_[1] * shape_[2];
    while (n_read < n_records && store_.read(record_)) {
      for (std::size_t b = 0; b < n_bl; ++b) {
        std::copy_n(record_.data.data() + baselines_[b] * row_values, row_values,
                    data_.data() + (n_read * n_bl + b) * row_values);
        std::copy_n(record_.weight.data() + baselines_[b] * row_values, row_values,
                    weight_.data() + (n_read * n_bl + b) * row_values);
      }
      add_coordinates(record_.index, uvw, path);
      const double time_mjd_s = middle(record_.index).mjd_seconds();
      block.time_mjd_s.insert(block.time_mjd_s.end(), n_bl, time_mjd_s);
      ++n_read;
    }
    if (n_read == 0) return false;
    const std::array<std::size_t, 3> shape{n_read * n_bl, shape_[1], shape_[2]};
    drop_invalid(shape);
    resize_planes(block, shape[0], channels_.size(), planes_.size());
    make_planes({data_.data(), shape}, {weight_.data(), shape}, channels_, planes_, block);
    block.channel_hz.resize({channels_.size()});
    for (std::size_t i = 0; i < channels_.size(); ++i) block.channel_hz(i) = header_.channel_hz[channels_[i]];
    block.station.resize({uvw.size(), 2});
    for (std::size_t row = 0; row < uvw.size(); ++row) {
      const Baseline& pair = header_.baselines[baselines_[row % n_bl]];
      block.station(row, 0) = static_cast<std::uint32_t>(pair.ant1);
      block.station(row, 1) = static_cast<std::uint32_t>(pair.ant2);
    }
    block.uvw_m.resize({uvw.size(), 3});
    block.path_m.resize({moved_ ? uvw.size() : 0});
    for (std::size_t row = 0; row < uvw.size(); ++row) {
      for (std::size_t i = 0; i < 3; ++i) block.uvw_m(row, i) = uvw[row][i];
      if (moved_) block.path_m(row) = path[row];
    }
    return true;
  }

 private:
  /// Of the integration, for which there are data: that of the baseline that has most, as correlate gives it
  /// to the rows of a Measurement Set.
  static double valid_part(const VisibilityRecord& record) {
    const std::size_t n = record.weight.extent(1) * record.weight.extent(2);
    double most = 0;
    for (std::size_t b = 0; b < record.weight.extent(0); ++b) {
      const float* weights = &record.weight(b, 0, 0);
      most = std::max(most, std::accumulate(weights, weights + n, 0.0) / static_cast<double>(n));
    }
    return std::min(most, 1.0);
  }

  void select_channels(const std::string& path, const ImagingSelection& selection) {
    const std::size_t n = header_.channel_hz.size();
    first_channel_ = selection.first_channel;
    end_channel_ = selection.n_channels == 0 ? n : first_channel_ + selection.n_channels;
    if (first_channel_ >= n || end_channel_ > n)
      throw UsageError("{}: channels {} to {}: the stream has {}", path, first_channel_, end_channel_, n);
    if (!selection.fields.empty() || !selection.field_names.empty() || !selection.spws.empty())
      throw UsageError("{}: a visibility stream has no fields or spectral windows to choose", path);
    if (selection.column != ImagingSelection{}.column)
      throw UsageError("{}: a visibility stream has no columns: leave out --column {}", path,
                       selection.column);
    MsSpectralWindow window;
    for (std::size_t c = first_channel_; c < end_channel_; ++c) {
      window.channel_hz.push_back(header_.channel_hz[c]);
      window.width_hz.push_back(std::abs(header_.channel_width_hz));
    }
    MergedChannels merged = merge_channels({window});
    info_.channel_hz = std::move(merged.channel_hz);
    info_.channel_width_hz = std::move(merged.width_hz);
  }

  UtcTime middle(std::int64_t index) const {
    return add_picoseconds(sample_time(header_.start, index, header_.integration_s),
                           std::llround(header_.integration_s * 0.5e12));
  }

  void describe(const ImagingSelection& selection) {
    for (const PlaneRecipe& plane : planes_) info_.planes.push_back(plane.name);
    info_.telescope = header_.telescope;
    info_.object = header_.source;
    info_.flux_unit = header_.flux_unit;
    for (std::size_t i = 0; i < header_.layout.antennas.size(); ++i) info_.stations.push_back({0, i});
    info_.layouts.push_back(header_.layout);
    info_.circular.push_back(are_circular(header_.products));
    info_.start = sample_time(header_.start, first_index_, header_.integration_s);
    info_.end = sample_time(header_.start, last_index_ + 1, header_.integration_s);
    const UtcTime half_way = add_picoseconds(
        middle(first_index_),
        std::llround(static_cast<double>(last_index_ - first_index_) * header_.integration_s * 0.5e12));
    const SkyDirection own = header_.phase_centre ? *header_.phase_centre : frame_->zenith(half_way);
    info_.centre = selection.centre.value_or(own);
    moved_ = !header_.phase_centre || selection.centre.has_value();
    if (header_.phase_centre) shift_ = make_rephasing(*header_.phase_centre, info_.centre);
  }

  /// Baselines towards the image's centre at one integration, and what V still has to be turned by.
  void add_coordinates(std::int64_t index, std::vector<Vec3>& uvw, std::vector<double>& path) const {
    const UtcTime time = middle(index);
    const Mat3 rotation =
        frame_->uvw_rotation(time, header_.phase_centre ? *header_.phase_centre : info_.centre);
    const Vec3 centre_enu = frame_->enu_from_direction(time, info_.centre);
    const Vec3 from_zenith = centre_enu - Vec3{0, 0, 1};
    for (std::size_t i : baselines_) {
      const Baseline& pair = header_.baselines[i];
      const Vec3 enu = header_.layout.antennas[static_cast<std::size_t>(pair.ant1)].enu_m -
                       header_.layout.antennas[static_cast<std::size_t>(pair.ant2)].enu_m;
      Vec3 here = multiply(rotation, enu);
      if (!header_.phase_centre) {
        path.push_back(dot(enu, from_zenith));
      } else {
        path.push_back(dot(shift_.path, here));
        if (moved_) here = multiply(shift_.rotation, here);
      }
      uvw.push_back(here);
    }
  }

  void drop_invalid(const std::array<std::size_t, 3>& shape) {
    const std::size_t n = shape[0] * shape[1] * shape[2];
    for (std::size_t i = 0; i < n; ++i) {
      const std::complex<float> value = data_.data()[i];
      const float weight = weight_.data()[i];
      if (!(std::isfinite(value.real()) && std::isfinite(value.imag()) && std::isfinite(weight) &&
            weight > 0)) {
        data_.data()[i] = 0;
        weight_.data()[i] = 0;
      }
    }
  }

  VisibilityHeader header_;
  std::unique_ptr<SkyFrame> frame_;
  ImagingInfo info_;
  std::vector<PlaneRecipe> planes_;
  std::vector<std::size_t> baselines_;  ///< without autocorrelations
  std::array<std::size_t, 3> shape_{};  ///< [baseline][chan][product] of a record
  RecordStore store_;
  std::int64_t first_index_ = 0, last_index_ = 0;
  std::size_t first_channel_ = 0, end_channel_ = 0;
  std::vector<std::size_t> channels_;
  bool moved_ = false;
  Rephasing shift_{};
  VisibilityRecord record_;
  Buffer<std::complex<float>, 3> data_;  ///< [row][chan][product]
  Buffer<float, 3> weight_;
};

}  // namespace

std::unique_ptr<ImagingSource> open_stream_source(const std::string& path,
                                                  const ImagingSelection& selection) {
  return std::make_unique<StreamSource>(path, selection);
}

std::unique_ptr<ImagingSource> open_imaging_source(const std::vector<std::string>& inputs,
                                                   const ImagingSelection& selection) {
  std::size_t n_sets = 0;
  for (const std::string& input : inputs) {
    std::error_code error;
    const auto status = std::filesystem::status(input, error);
    if (input != "-" && !std::filesystem::exists(status))
      throw FailureError("{}: does not exist: give a Measurement Set or a visibility stream", input);
    if (input != "-" && std::filesystem::is_directory(status)) ++n_sets;
  }
  if (n_sets == inputs.size()) return open_ms_source(inputs, selection);
  if (inputs.size() > 1)
    throw UsageError("{}: several inputs must all be Measurement Sets: give one visibility stream alone",
                     inputs[0]);
  return open_stream_source(inputs[0], selection);
}

}  // namespace apsyn
