// SPDX-License-Identifier: GPL-3.0-or-later
// Sources of rows as one set: their antennas, fields and windows in common tables, their rows one source
// after the other, in the order of their beginnings.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "libcore/formats/ms/measurement_set.h"
#include "tools/transform/options.h"
#include "tools/transform/row_bins.h"
#include "tools/transform/row_source.h"

namespace apsyn::transform {

/// One of the sources: what its numbers are in the whole.
struct JoinedSet {
  std::unique_ptr<RowSource> source;
  std::vector<int> window_of, field_of, antenna_of;  ///< [its own number]
};

/// How the stored UVW differ from those computed from the antenna positions.
struct UvwCheck {
  bool conjugated = false;  ///< stored are r_2 - r_1
  double misfit = 0;        ///< RMS of what is left over RMS of UVW, with the better sign
  /// An unknown orientation of the Earth is good for 1e-4, other definitions of the frame for 1e-3.
  bool of_antennas() const { return misfit < 0.01; }
};

class JoinedSets {
 public:
  /// UsageError where they do not fit together, or the selection fits no row of any.
  JoinedSets(const Options& options, std::vector<std::unique_ptr<RowSource>> sources);
  std::vector<JoinedSet>& sets() { return sets_; }
  /// Windows as they come in, and fields and antennas; channels as they are before averaging.
  const std::vector<MsSpectralWindow>& windows() const { return windows_; }
  const std::vector<MsField>& fields() const { return fields_; }
  const ArrayLayout& layout() const { return layout_; }
  const std::vector<Product>& products() const { return sets_[0].source->description().products; }
  double begin_mjd_s() const { return sets_[0].source->begin_mjd_s(); }
  /// INTERVAL of the first row, s.
  double interval_s() const { return interval_s_; }
  std::int64_t n_rows() const;
  /// Whether there are autocorrelations among the first rows.
  bool has_autos() const { return has_autos_; }
  std::size_t n_channels() const { return windows_[0].channel_hz.size(); }
  double max_freq_hz() const;
  std::uint64_t value_bytes() const;
  /// The inputs that are Measurement Sets.
  std::vector<std::string> paths_of_sets() const;

  /// Of the rows at the beginning of the first set.
  UvwCheck check_uvw() const;
  /// The set that comes out: windows averaged, fields at the centre that is asked for.
  MsDescription describe(const Options& options) const;
  /// Length of a row's UVW, as used by the selection and for intervals; and what RowBins needs to know of a
  /// row.
  static double length_m(const MsRows& rows, std::size_t row);
  BinRow bin_row(const JoinedSet& set, const MsRows& rows, std::size_t row, const Options& options) const;

 private:
  void join(JoinedSet& set);

  std::vector<JoinedSet> sets_;
  std::vector<MsSpectralWindow> windows_;
  std::vector<MsField> fields_;
  ArrayLayout layout_;
  bool has_autos_ = false;
  double interval_s_ = 0, max_freq_hz_ = 0;
};

/// Groups of `n` adjacent channels as one each.
MsSpectralWindow averaged_window(const MsSpectralWindow& window, std::size_t n);

}  // namespace apsyn::transform
