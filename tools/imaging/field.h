// SPDX-License-Identifier: GPL-3.0-or-later
// One output field (--shift): its own centre, gridder and A-terms; visibilities are rephased to its centre.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernels/idg/idg.h"
#include "kernels/weighting/image_weights.h"
#include "libcore/array/array_layout.h"
#include "libcore/base/units.h"
#include "libcore/base/view.h"
#include "libcore/cli/tool.h"
#include "libcore/imaging/intervals.h"
#include "libcore/imaging/plane_source.h"
#include "libcore/sky/rephase.h"
#include "libcore/system/device.h"
#include "libcore/system/ranks.h"
#include "libcore/visibility/imaging.h"
#include "libcore/visibility/stokes.h"
#include "tools/imaging/options.h"

namespace apsyn::imaging {

/// Settings and buffers that all channel groups share.
struct Imager {
  Tool& tool;
  const Options& options;
  ImagingSource& source;
  std::vector<PlaneRecipe> planes;  ///< of the images, without the PSF's
  Device device;
  std::optional<GridMemory> grid_memory;  ///< absent: to be chosen
  std::uint64_t block_bytes;
  std::uint64_t whole_band_bytes = 0;  ///< memory of images that are kept while gridding
  std::uint64_t filed_bytes = 0;       ///< size of all visibilities if some are kept in a file; 0: none are
  std::uint64_t between_bytes = 0;     ///< further memory between griddings
  /// Whether a GPU may keep the visibilities of intervals of time.
  bool keeps_intervals = true;
  double n_gridded = 0;
  BeyondGrid beyond{};                  ///< counts for the groups prepared so far that have their own weights
  ImagingBlock block{};                 ///< residuals on their way to the gridders; its memory is reused
  Buffer<float, 3> weighted{};          ///< weights of the block that is being gridded; reused, too
  PlaneSource* plane_source = nullptr;  ///< of `source`, where it gives its planes away
  Ranks ranks{};                        ///< that share the gridding
  /// Each of them reads rows of its own, which it grids into all layers, and images are added up. Otherwise
  /// all read all rows and share the layers, or the rows of each block.
  bool own_rows = false;
  /// For clean: the models of all fields are subtracted from the same visibilities, so that every process
  /// must have the same visibilities in every field.
  bool cleans = false;
  bool calibrates = false;             ///< for clean: predictions are kept while gains are solved
  std::uint64_t beside_on_device = 0;  ///< GPU memory that minor cycles take

  bool aterms() const { return !options.imaging.aterms.empty() && !options.psf_only; }
  std::size_t n_data_planes() const { return options.psf_only ? 0 : planes.size(); }
  std::size_t n_planes() const { return n_data_planes() + (options.no_psf ? 0 : 1); }
  unsigned threads() const { return tool.common().threads; }
  /// Rows of all processes for each that this one reads, about.
  double rows_for_each() const { return own_rows ? ranks.size : 1; }
  IdgSetup setup(GridMemory where = GridMemory::gpu) const;
};

/// One channel group's images of one field: sums that are not yet divided by their weights.
struct GroupImages {
  Buffer<double, 3> pixels;           ///< [plane, then the PSF unless --no-psf][y][x]
  std::vector<double> weight_sum;     ///< of each
  Buffer<double, 2> beam;             ///< with A-terms, times the weight of plane 0
  std::optional<ImageTimes> times{};  ///< of an interval; absent for images of all times
};

struct Field {
  SkyDirection centre;
  std::string suffix;                  ///< of its outputs' names
  std::optional<Rephasing> rephasing;  ///< from the source's centre; absent for the field at that centre

  Vec3 moved(const Vec3& uvw) const { return rephasing ? multiply(rephasing->rotation, uvw) : uvw; }
};

/// The fields of --shift, the source's own centre first.
std::vector<Field> fields_of(const Options& options, const ImagingInfo& info);

/// The longest of all inputs' arrays; 0 without any.
double longest_baseline_m(const ImagingInfo& info);

/// Whether processes grid rows of their own (Imager::own_rows): the source then gives no others. They do on
/// GPUs, where reading takes longer than all layers, and where there is but one layer. Not with A-terms,
/// whose average beam is that of all rows, and with intervals, which are cut out of all.
bool takes_own_rows(const Imager& imager);

/// Warns when the selected fields of the set lie farther apart than the image is wide.
void warn_of_far_fields(const Options& options, const ImagingInfo& info);

/// Converts a block into what the gridder takes, moved to a field's centre; its arrays are reused from block
/// to block.
class BlockMover {
 public:
  GridBlock operator()(const ImagingBlock& block, View<const float, 3> weight, const Field& field);

 private:
  Buffer<double, 1> wavenumber_, path_m_;
  Buffer<double, 2> uvw_m_;
};

}  // namespace apsyn::imaging
