// SPDX-License-Identifier: GPL-3.0-or-later
// Visibilities on their way into an image: what every imager reads, wherever it comes from.
#pragma once

#include <complex>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "libcore/array/array_layout.h"
#include "libcore/array/array_tables.h"
#include "libcore/base/time.h"
#include "libcore/base/units.h"
#include "libcore/base/view.h"

namespace apsyn {

/// Channels of one output image, by frequency, both ends included.
struct ChannelGroup {
  double low_hz = 0, high_hz = 0;  ///< centres of the lowest and the highest channel
  double width_hz = 0;             ///< from edge to edge
  std::size_t n_channels = 0;      ///< distinct frequencies
  double skew_hz = 0;              ///< how much wider the highest channel is than the lowest
  /// Half-way between the edges.
  double centre_hz() const { return (low_hz + high_hz) / 2 + skew_hz / 4; }
  /// Whether both take the same channels of the same data.
  bool takes_same(const ChannelGroup& other) const {
    return low_hz == other.low_hz && high_hz == other.high_hz;
  }
};

/// Rows of one set of channels. Weight 0 = no data.
struct ImagingBlock {
  Buffer<double, 2> uvw_m;       ///< [row][u, v, w] towards the image's centre
  Buffer<double, 1> path_m;      ///< [row] V is still to be multiplied by exp(-2 pi i path / wavelength)
  Buffer<double, 1> channel_hz;  ///< [chan]
  Buffer<std::complex<float>, 3> data;  ///< [row][chan][plane]
  Buffer<float, 3> weight;              ///< [row][chan][plane]
  Buffer<std::uint32_t, 2> station;     ///< [row][p, q] of V_pq, indices of ImagingInfo::stations
  std::vector<double> time_mjd_s;       ///< [row] middle of the integration

  /// Of a visibility, and of what a row has besides: coordinates, path, stations and time.
  static constexpr std::uint64_t kValueBytes = sizeof(std::complex<float>) + sizeof(float);
  static constexpr std::uint64_t kRowBytes = 5 * sizeof(double) + 2 * sizeof(std::uint32_t);
  /// Of a block of so many rows and visibilities, as all plans of memory count it; its channels are nothing
  /// beside these.
  static constexpr std::uint64_t bytes_of(std::uint64_t n_rows, std::uint64_t n_values) {
    return n_values * kValueBytes + n_rows * kRowBytes;
  }
  std::uint64_t bytes() const { return bytes_of(uvw_m.extent(0), data.size()); }
};

/// A station of one of the inputs; sets are joined end to end, so that equal names may occur.
struct ImagingStation {
  std::size_t input = 0;  ///< which input
  std::size_t index = 0;  ///< in its array layout
};

struct ImagingInfo {
  SkyDirection centre;              ///< of the image
  std::vector<std::string> planes;  ///< "I", "XX", ... in the order of the planes
  std::string telescope = "unknown", object = "unknown";
  std::string observer{};                    ///< empty = unknown
  UtcTime start;                             ///< of the first integration
  std::optional<UtcTime> end{};              ///< of the last one
  double exposure_s = 0;                     ///< for which there are data; 0 = unknown
  FluxUnit flux_unit = FluxUnit::jansky;     ///< adu where any input is in adu
  std::vector<double> channel_hz;            ///< distinct, rising
  std::vector<double> channel_width_hz;      ///< of each, the widest of its frequency
  std::string frequency_frame = "TOPOCENT";  ///< as FITS' SPECSYS; of the first window, if they differ
  /// Phase centres of all fields with data, where the data have fields, as "obs.ms: field 2 (3C 48)".
  std::vector<std::pair<std::string, SkyDirection>> fields;
  std::vector<ImagingStation> stations;
  std::vector<ArrayLayout> layouts;  ///< of each input
  std::vector<bool> circular;        ///< of each input: its receptors are R and L
  std::vector<ArrayTables> tables;   ///< of each input; or empty
};

class ImagingSource {
 public:
  virtual ~ImagingSource() = default;
  virtual const ImagingInfo& info() const = 0;
  /// Back to the first row, now for the channels of `group`.
  virtual void rewind(const ChannelGroup& group) = 0;
  /// The next rows, block.data and block.weight together at most about max_bytes; false at the end.
  virtual bool read(ImagingBlock& block, std::uint64_t max_bytes) = 0;
  /// The same, lent until the next call; null at the end. What a source keeps anyway is not copied.
  virtual const ImagingBlock* next(std::uint64_t max_bytes) {
    return read(read_, max_bytes) ? &read_ : nullptr;
  }
  /// From the next rewind() on gives only part `part` of the rows, cut into n_parts of as equal a number as
  /// can be, so that processes need not read each other's; info() stays that of all. False, and all rows are
  /// given, where rows cannot be passed over.
  virtual bool take_part(std::size_t /*part*/, std::size_t /*n_parts*/) { return false; }
  /// Bytes of visibilities kept in memory now.
  virtual std::uint64_t bytes() const { return 0; }
  /// Gives these back, as far as they can be read again from elsewhere, and keeps none from now on.
  virtual void keep_none() {}

 private:
  ImagingBlock read_;
};

/// `n_groups` groups of rising frequency, as equal in number of channels as can be. UsageError when there are
/// fewer channels than groups.
std::vector<ChannelGroup> split_channels(const ImagingInfo& info, std::size_t n_groups);

}  // namespace apsyn
