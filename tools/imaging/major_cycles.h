// SPDX-License-Identifier: GPL-3.0-or-later
// Cotton-Schwab CLEAN (Schwab 1984, AJ 89, 1076): components are found in the residual images with the PSF
// alone until the peak has fallen by --mgain; then the whole model is predicted and subtracted from the
// visibilities, and the difference is gridded into the next residual images. If processes share the work, the
// first one finds the components, and all of them predict and grid.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernels/clean/deconvolve.h"
#include "libcore/base/view.h"
#include "libcore/cli/tool.h"
#include "libcore/visibility/imaging.h"
#include "tools/imaging/calibration/self_calibration.h"
#include "tools/imaging/field.h"
#include "tools/imaging/field_images.h"
#include "tools/imaging/group_share.h"
#include "tools/imaging/imager.h"

namespace apsyn::imaging {

/// The state of one run: groups that have data, and each field's images of them: of all groups in the first
/// process; in another, where each makes groups of its own, of those.
struct Sky {
  GroupShare share;
  std::vector<PreparedGroup> groups;       ///< of other processes' groups the channels alone
  std::vector<std::size_t> group_numbers;  ///< their numbers among all of --channels-out
  std::vector<Field> fields;
  std::vector<FieldImages> images;  ///< [field]

  bool makes(std::size_t g) const { return share.makes(group_numbers[g]); }
  /// Where the images of group g are in this process's.
  std::size_t slot(std::size_t g) const;
  std::size_t n_slots() const { return slot(groups.size()); }
};

/// What the first process tells the others to do next.
struct CycleOrder {
  std::vector<std::uint8_t> changed;  ///< [group] whether its residuals are to be made
  bool solves = false;                ///< the groups' gains before
  bool ended = false;

  explicit CycleOrder(std::size_t n_groups) : changed(n_groups, 0) {}
  void share();
};

/// The largest absolute pixel value; NaN is ignored.
double highest(View<const float, 4> image, unsigned n_threads);

/// How the loop ended.
struct LoopReport {
  std::size_t n_cycles = 0, n_components = 0;
};

/// `mask` [y][x] of the first field, or empty.
class MajorCycles {
 public:
  MajorCycles(Imager& imager, Sky& sky, ImagingSource& data, const DeconvolutionSettings& settings,
              const std::vector<double>& beam_pixels, const Buffer<std::uint8_t, 2>& mask,
              const std::string& folder);

  /// `calibration`, which may be null, gives the data that are gridded, and is asked for new gains in each
  /// cycle. After one of its entries was used for the first time, and where cleaning ends but the gains have
  /// moved, there is a next cycle, which begins to clean anew: what was too faint or an artefact before need
  /// not be so any more.
  LoopReport run(std::size_t max_cycles, calibrate::SelfCalibration* calibration = nullptr);

  /// The components found in a field.
  std::vector<ModelComponent> components(std::size_t f) const { return deconvolvers_[f].components(); }
  const std::vector<DeconvolutionGroup>& groups(std::size_t f) const { return groups_[f]; }

 private:
  /// Runs a minor cycle of each field. Returns whether another major cycle is needed.
  bool minor_cycles(LoopReport& loop);

  /// After the data have been calibrated.
  void begin_again();

  FluxUnit unit() const { return imager_.source.info().flux_unit; }

  /// For messages, such as " field 1 group 0 Q"; fields, groups or polarisations are left out if there is
  /// only one.
  std::string name_of(std::size_t f, const SetReport& set) const;

  /// Says how far above its threshold each set has ended.
  void warn_of_excess(bool all_cycles);

  void tell(std::size_t cycle, std::size_t f, const SetReport& set) const;

  void show(std::size_t n_components, double peak_jy);

  Imager& imager_;
  Sky& sky_;
  ImagingSource& data_;
  DeconvolutionSettings settings_;
  std::string folder_;
  std::vector<Deconvolver> deconvolvers_;                ///< [field]
  std::vector<std::vector<DeconvolutionGroup>> groups_;  ///< [field][group]
  std::optional<Progress> progress_;                     ///< of a minor cycle
  std::vector<double> lowest_;    ///< [field] lowest peak that a cycle began with so far; 0 = none
  std::vector<bool> unfinished_;  ///< [field]
  bool diverged_ = false;
  CycleOrder order_;  ///< what the other processes do in this cycle
};

/// The loop of the other processes: they predict and grid their shares whenever the first one asks.
void follow_major_cycles(Imager& imager, Sky& sky, ImagingSource& data, const std::string& folder,
                         calibrate::SelfCalibration* calibration = nullptr);

}  // namespace apsyn::imaging
