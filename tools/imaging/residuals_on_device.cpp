// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/imaging/residuals_on_device.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "kernels/idg/residual_imager.h"
#include "libcore/base/error.h"
#include "libcore/base/log.h"
#include "libcore/base/units.h"
#include "libcore/system/ranks.h"

namespace apsyn::imaging {
namespace {

void keep_group(Imager& imager, PreparedGroup& own, const Field& field, ImagingSource& data) {
  auto residuals =
      make_residual_imager(imager.device, own.fields[0].plan, imager.n_data_planes(), imager.threads());
  own.weight_sum.assign(imager.n_data_planes(), 0);
  own.own_weight_sum.assign(imager.n_data_planes(), 0);
  // Where all processes read all rows each keeps a part of them.
  const std::size_t n_layers = own.fields[0].plan.n_layers;
  const RankShare share = imager.own_rows ? RankShare{{0, n_layers}} : share_rows(imager.ranks, n_layers);
  BlockMover move;
  data.rewind(own.group);
  while (const ImagingBlock* block = data.next(imager.block_bytes)) {
    own.weights->apply(*block, imager.threads(), imager.weighted);
    add_weights(imager, imager.weighted, imager.threads(), own.weight_sum);
    const std::size_t n_rows = imager.weighted.extent(0);
    if (share.n_rows(n_rows) == 0) continue;
    const GridBlock part =
        rows_of(move(*block, imager.weighted, field), share.first_row(n_rows), share.n_rows(n_rows));
    if (imager.ranks.size > 1) add_weights(imager, part.weight, imager.threads(), own.own_weight_sum);
    residuals->add(part);
  }
  residuals->reserve();
  own.residuals = std::move(residuals);
}

/// ResidualImager::make() of all processes' visibilities. Of several, the first has the model, if there is
/// one, and gets the residual: a residual is linear in the visibilities where the weight sum is that of all.
void make_residual(const Imager& imager, PreparedGroup& own, View<float, 3> model, View<float, 3> residual) {
  own.residuals->make(model, own.weight_sum, residual);
  for (std::size_t plane = 0; imager.ranks.size > 1 && plane < residual.extent(0); ++plane)
    add_to_root(residual[plane].span());
}

/// ResidualImager::make_psf() of all processes' visibilities, which the first gets. A process's own is over
/// its centre, which is the sum of its weights.
void make_psf(const Imager& imager, PreparedGroup& own, View<float, 2> psf) {
  if (imager.ranks.size == 1) return own.residuals->make_psf(psf);
  const double share = own.own_weight_sum[0] / own.weight_sum[0];
  if (share > 0)
    own.residuals->make_psf(psf);
  else
    std::fill(psf.begin(), psf.end(), 0.0f);
  for_pixels(imager.threads(), psf.size(), [&](std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) psf.data()[i] *= static_cast<float>(share);
  });
  add_to_root(psf.span());
}

/// The images of a group [plane][y][x] and its PSF: those of the first process, or memory of another's own.
struct OwnImages {
  View<float, 3> model, residual;
  View<float, 2> psf;
  Buffer<float, 3> own_model, own_residual;
  Buffer<float, 2> own_psf;

  OwnImages(const Imager& imager, FieldImages* images, std::size_t g, bool with_model, bool with_psf) {
    if (images != nullptr) {
      if (with_model) model = images->model.view()[g];
      residual = images->residual.view()[g];
      psf = images->psf.view()[g][0];
    } else {
      const std::size_t n_y = imager.options.imaging.n_y, n_x = imager.options.imaging.n_x;
      own_residual.resize({imager.planes.size(), n_y, n_x});
      if (with_model) own_model.resize(own_residual.shape());
      if (with_psf) own_psf.resize({n_y, n_x});
      model = own_model, residual = own_residual, psf = own_psf;
    }
    if (with_model && imager.ranks.size > 1) broadcast(model.span());
  }
};

/// Groups without fields belong to other processes.
std::uint64_t bytes_on_device(const Imager& imager, const std::vector<PreparedGroup>& groups) {
  std::uint64_t sum = 0;
  for (const PreparedGroup& own : groups)
    if (!own.fields.empty()) sum += bytes_on_device(imager, own);
  return sum;
}

}  // namespace

std::uint64_t bytes_on_device(const Imager& imager, const PreparedGroup& own) {
  if (imager.device.kind != Device::Kind::cuda || imager.aterms() || imager.calibrates ||
      own.fields.size() != 1 || imager.n_data_planes() == 0 || own.n_passes() > 1 ||
      own.passes.where() != GridMemory::gpu)
    return 0;
  ResidualLoad load = own.found.load();
  const double n_ranks = imager.own_rows ? 1 : imager.ranks.size;
  if (load.n_block_rows < n_ranks) return 0;
  for (double* n : {&load.n_rows, &load.n_visibilities, &load.n_block_rows, &load.n_block_visibilities})
    *n = std::ceil(*n / n_ranks);
  return residual_imager_bytes(own.fields[0].plan, imager.n_data_planes(), load,
                               own.passes.on_gpu->room_bytes);
}

bool fit_on_device(const Imager& imager, const std::vector<PreparedGroup>& groups) {
  // If the groups do not all fit, none is kept on the device: otherwise some would have to be copied beside
  // the others.
  const bool fit = std::all_of(groups.begin(), groups.end(), [&](const PreparedGroup& own) {
    return own.fields.empty() ||
           (bytes_on_device(imager, own) > 0 &&
            bytes_on_device(imager, groups) + imager.beside_on_device <= own.passes.on_gpu->free_bytes);
  });
  return min_of_ranks(fit ? 1 : 0) == 1;
}

std::string describe_cycles(const Imager& imager, const std::vector<PreparedGroup>& groups) {
  if (imager.device.kind != Device::Kind::cuda || groups.empty()) return {};
  const std::string minor = format_bytes(static_cast<double>(imager.beside_on_device));
  if (!fit_on_device(imager, groups))
    return fmt::format("major cycles: visibilities travel to {} in each; minor cycles: {}",
                       imager.device.description, minor);
  return fmt::format("major cycles: visibilities and all that images them stay on {}: {}; minor cycles: {}",
                     imager.device.description,
                     format_bytes(static_cast<double>(bytes_on_device(imager, groups))), minor);
}

void keep_on_device(Imager& imager, std::vector<PreparedGroup>& groups, const std::vector<Field>& fields,
                    ImagingSource& data) {
  if (!fit_on_device(imager, groups)) return;
  imager.tool.stage("keep");
  bool kept = true;
  try {
    for (PreparedGroup& own : groups)
      if (!own.fields.empty()) keep_group(imager, own, fields[0], data);
  } catch (const DeviceError& error) {
    // Another program may have taken the free memory meanwhile.
    log_verbose("{}: visibilities travel to the GPU in every major cycle", error.what());
    kept = false;
  }
  kept = min_of_ranks(kept ? 1 : 0) == 1;
  for (PreparedGroup& own : groups)
    if (!kept)
      own.residuals.reset();
    else if (imager.own_rows)
      add_for_all(own.weight_sum);
}

void make_first_images_on_device(Imager& imager, PreparedGroup& own, std::size_t g, bool with_model,
                                 FieldImages* images) {
  imager.tool.stage("grid");
  for (std::size_t plane = 0; images != nullptr && plane < images->n_planes(); ++plane)
    images->weight(g, plane) = own.weight_sum[plane];
  const OwnImages of(imager, images, g, with_model, true);
  make_psf(imager, own, of.psf);
  make_residual(imager, own, of.model, of.residual);
  imager.n_gridded += own.found.n_visibilities * static_cast<double>(imager.n_planes());
}

void make_residuals_on_device(Imager& imager, PreparedGroup& own, std::size_t g, FieldImages* images) {
  imager.tool.stage("residual");
  const OwnImages of(imager, images, g, true, false);
  make_residual(imager, own, of.model, of.residual);
  imager.n_gridded += own.found.n_visibilities * static_cast<double>(imager.n_planes());
}

}  // namespace apsyn::imaging
