// SPDX-License-Identifier: GPL-3.0-or-later
// One output field (--shift): its own centre, gridder and A-terms; blocks are moved to it.
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kernels/idg/grid_memory.h"
#include "kernels/weighting/image_weights.h"
#include "libcore/aterms/screens.h"
#include "libcore/base/constants.h"
#include "libcore/base/log.h"
#include "libcore/sky/projection.h"
#include "libcore/sky/rephase.h"
#include "tools/imaging/options.h"

namespace apsyn::imaging {

/// Everything that stays the same from group to group.
struct Imager {
  Tool& tool;
  const Options& options;
  ImagingSource& source;
  std::vector<PlaneRecipe> planes;  ///< of the images, without the PSF's
  Device device;
  std::optional<GridMemory> grid_memory;  ///< absent: to be chosen
  std::uint64_t block_bytes;
  std::uint64_t whole_band_bytes = 0;  ///< of images that are kept while gridding
  std::uint64_t filed_bytes = 0;       ///< of all visibilities, when a file has some of them: 0 = none
  std::uint64_t between_bytes = 0;     ///< of what comes when nothing is gridded, beside these
  double n_gridded = 0;
  BeyondGrid beyond{};          ///< of the groups that were prepared so far, with weights of their own
  ImagingBlock block{};         ///< residuals on their way to the gridders, and
  Buffer<float, 3> weighted{};  ///< weights of what is being gridded, so that their memory serves again
  Ranks ranks{};                ///< that share the gridding
  /// Whether models of all fields will be taken out of the visibilities that each field is made of, so that
  /// processes must have the same visibilities in every field.
  bool cleans = false;

  bool aterms() const { return !options.imaging.aterms.empty() && !options.psf_only; }
  std::size_t n_data_planes() const { return options.psf_only ? 0 : planes.size(); }
  std::size_t n_planes() const { return n_data_planes() + (options.no_psf ? 0 : 1); }
  unsigned threads() const { return tool.common().threads; }
  IdgSetup setup(GridMemory where = GridMemory::gpu) const {
    IdgSetup setup;
    setup.grid_memory = where;
    setup.n_data_planes = n_data_planes();
    setup.psf = options.no_psf ? PsfPlane::none : PsfPlane::last;
    setup.n_threads = threads();
    if (!aterms()) return setup;
    setup.aterms = options.imaging.adjoint_aterms ? AtermMode::adjoint : AtermMode::normalised;
    setup.n_data_planes = 4;
    for (const PlaneRecipe& plane : planes) setup.mix.push_back(correlation_mix(plane));
    return setup;
  }
};

/// One channel group's images of one field: sums that are not yet divided by their weights.
struct GroupImages {
  Buffer<double, 3> pixels;        ///< [plane, then the PSF unless --no-psf][y][x]
  std::vector<double> weight_sum;  ///< of each
  Buffer<double, 2> beam;          ///< with A-terms, times the weight of plane 0
};

struct Field {
  SkyDirection centre;
  std::string suffix;                  ///< of its outputs' names
  std::optional<Rephasing> rephasing;  ///< from the source's centre; absent for that itself

  Vec3 moved(const Vec3& uvw) const { return rephasing ? multiply(rephasing->rotation, uvw) : uvw; }
};

/// The fields of --shift, the source's own centre first.
inline std::vector<Field> fields_of(const Options& options, const ImagingInfo& info) {
  std::vector<Field> fields{{info.centre, options.imaging.more_centres.empty() ? "" : "-f0", {}}};
  for (const SkyDirection& centre : options.imaging.more_centres)
    fields.push_back({centre, fmt::format("-f{}", fields.size()), make_rephasing(info.centre, centre)});
  return fields;
}

/// Says when fields that have no sky in common come into one image, as all fields do that --field leaves.
inline void warn_of_far_fields(const Options& options, const ImagingInfo& info) {
  const auto& fields = info.fields;
  if (fields.empty()) return;
  const ImagingOptions& imaging = options.imaging;
  const double width_rad = imaging.cell_rad * static_cast<double>(std::max(imaging.n_x, imaging.n_y));
  const auto farthest = std::max_element(fields.begin(), fields.end(), [&](const auto& a, const auto& b) {
    return separation_rad(a.second, fields[0].second) < separation_rad(b.second, fields[0].second);
  });
  const double apart_rad = separation_rad(farthest->second, fields[0].second);
  if (apart_rad > width_rad)
    log_warning(
        "{} is {} from {}, and the image {} wide: data of {} fields come into it together: choose some "
        "with --field",
        farthest->first, format_angle(apart_rad), fields[0].first, format_angle(width_rad), fields.size());
}

/// A block as the gridder takes it; the arrays keep their memory from block to block.
class BlockMover {
 public:
  GridBlock operator()(const ImagingBlock& block, View<const float, 3> weight, const Field& field) {
    wavenumber_.resize({block.channel_hz.size()});
    for (std::size_t c = 0; c < wavenumber_.size(); ++c)
      wavenumber_(c) = block.channel_hz(c) / kSpeedOfLight_m_s;
    GridBlock result{block.uvw_m, block.path_m, wavenumber_, block.data, weight, block.station, {}};
    if (!field.rephasing) return result;
    const std::size_t n_row = block.uvw_m.extent(0);
    uvw_m_.resize({n_row, 3});
    path_m_.resize({n_row});
    for (std::size_t row = 0; row < n_row; ++row) {
      const Vec3 uvw{block.uvw_m(row, 0), block.uvw_m(row, 1), block.uvw_m(row, 2)};
      path_m_(row) = dot(field.rephasing->path, uvw) + (block.path_m.size() == 0 ? 0 : block.path_m(row));
      const Vec3 there = field.moved(uvw);
      std::copy(there.begin(), there.end(), &uvw_m_(row, 0));
    }
    result.uvw_m = uvw_m_;
    result.path_m = path_m_;
    return result;
  }

 private:
  Buffer<double, 1> wavenumber_, path_m_;
  Buffer<double, 2> uvw_m_;
};

}  // namespace apsyn::imaging
