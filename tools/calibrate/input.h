// SPDX-License-Identifier: GPL-3.0-or-later
// Visibilities to be calibrated: a Measurement Set or a visibility stream.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "libcore/array/array_layout.h"
#include "libcore/cli/imaging_options.h"
#include "libcore/formats/ms/measurement_set.h"
#include "libcore/solutions/solutions.h"
#include "libcore/visibility/imaging.h"
#include "tools/calibrate/options.h"

namespace apsyn::calibrate {

struct InputInfo {
  std::string path, telescope;
  ArrayLayout layout;
  std::vector<SolutionAntenna> antennas;
  std::vector<Product> products;
  std::vector<MsSpectralWindow> windows;  ///< selected
  std::vector<MsField> fields;            ///< all, by MsRows::field
  std::vector<int> fields_with_rows;
  std::vector<MsIntegration> integrations;  ///< of the selection, without autocorrelations, by rising time
  /// The stored UVW are r_2 - r_1, and so the data are the conjugate of <E_1 conj(E_2)>.
  bool conjugated = false;
  bool is_stream = false;
};

/// Rows of one window. `path_m` [row] or empty: the data still contain a factor exp(2 pi i path / wavelength)
/// beyond phasing to the field's centre.
struct InputBlock {
  MsRows rows;
  Buffer<double, 1> path_m;
};

class VisibilityInput {
 public:
  virtual ~VisibilityInput() = default;
  const InputInfo& info() const { return info_; }
  virtual void rewind() = 0;
  /// Reads everything but the data of the next rows; false at the end.
  virtual bool next(InputBlock& block, std::size_t max_rows) = 0;
  /// Then reads the data, weights (0 = no data) and coordinates of these rows.
  virtual void read_cells(InputBlock& block, unsigned n_threads) = 0;
  virtual bool has_column(const std::string&) const { return false; }
  /// Memory held at present for data that cannot be read twice.
  virtual std::uint64_t bytes() const { return 0; }
  /// For a stream that is followed: moves to the next interval, which replaces the previous one, also in
  /// info(); false at the end of the stream.
  virtual bool next_interval() { return false; }

 protected:
  InputInfo info_;
};

/// DataError, FailureError and UsageError as the readers; FailureError "no usable data" if no row is
/// selected.
std::unique_ptr<VisibilityInput> open_input(const Options& options);

/// Whether UVW is r_2 - r_1, by the lengths of r_1 - r_2 -+ UVW over some rows: `uvw_m` in the frame of the
/// centre at each time. `layout` has a site.
bool is_conjugated(const ArrayLayout& layout, const MsRows& rows, const std::vector<MsField>& fields);

/// The index of the antenna that --reference-antenna names; no value for "auto". UsageError for an antenna
/// that is not in the data.
std::optional<std::size_t> named_reference(const std::string& wanted, const InputInfo& info);

/// Sets the weight to 0 for samples whose uv distance --minuv-l and --maxuv-l exclude.
void drop_short_and_long(const ImagingOptions& selection, const InputInfo& info, MsRows& rows);

}  // namespace apsyn::calibrate
