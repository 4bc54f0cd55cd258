// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/imaging/field.h"

#include <algorithm>

#include "kernels/idg/settings.h"
#include "libcore/base/constants.h"
#include "libcore/base/log.h"
#include "libcore/cli/imaging_options.h"
#include "libcore/sky/projection.h"
#include "libcore/voltage/array_delays.h"

namespace apsyn::imaging {

IdgSetup Imager::setup(GridMemory where) const {
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

double longest_baseline_m(const ImagingInfo& info) {
  double longest_m = 0;
  for (const ArrayLayout& layout : info.layouts)
    longest_m = std::max(longest_m, apsyn::longest_baseline_m(layout));
  return longest_m;
}

namespace {

/// Whether w needs no layers even if the longest baseline pointed away from the field.
bool has_one_layer(const Imager& imager) {
  const ImagingInfo& info = imager.source.info();
  const double longest_m = longest_baseline_m(info);
  if (!(longest_m > 0) || info.channel_hz.empty()) return false;
  const double lambda = longest_m * info.channel_hz.back() / kSpeedOfLight_m_s;
  const ImagingOptions& wanted = imager.options.imaging;
  constexpr double kMany = 1e9;  // visibilities, for which layers would pay
  return make_idg_plan({gridded_n_x(imager.options), gridded_n_y(imager.options), wanted.cell_rad},
                       idg_settings(wanted),
                       {.max_w_lambda = lambda,
                        .max_u_lambda = lambda,
                        .max_v_lambda = lambda,
                        .n_visibilities = kMany,
                        .n_planes = imager.n_planes()})
             .n_layers == 1;
}

}  // namespace

bool takes_own_rows(const Imager& imager) {
  if (imager.ranks.size == 1 || imager.tool.common().dry_run || imager.aterms() || imager.calibrates ||
      (!imager.cleans && imager.options.imaging.intervals_out > 1))
    return false;
  return (imager.device.kind == Device::Kind::cuda || has_one_layer(imager)) &&
         imager.source.take_part(static_cast<std::size_t>(imager.ranks.rank),
                                 static_cast<std::size_t>(imager.ranks.size));
}

std::vector<Field> fields_of(const Options& options, const ImagingInfo& info) {
  std::vector<Field> fields{{info.centre, options.imaging.more_centres.empty() ? "" : "-f0", {}}};
  for (const SkyDirection& centre : options.imaging.more_centres)
    fields.push_back({centre, fmt::format("-f{}", fields.size()), make_rephasing(info.centre, centre)});
  return fields;
}

void warn_of_far_fields(const Options& options, const ImagingInfo& info) {
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

GridBlock BlockMover::operator()(const ImagingBlock& block, View<const float, 3> weight, const Field& field) {
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

}  // namespace apsyn::imaging
