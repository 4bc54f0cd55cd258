// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/imaging/residuals_on_device.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "kernels/idg/residual_imager.h"
#include "libcore/base/error.h"
#include "libcore/base/log.h"
#include "libcore/base/units.h"

namespace apsyn::imaging {
namespace {

void keep_group(Imager& imager, PreparedGroup& own, const Field& field, ImagingSource& data) {
  auto residuals =
      make_residual_imager(imager.device, own.fields[0].plan, imager.n_data_planes(), imager.threads());
  own.weight_sum.assign(imager.n_data_planes(), 0);
  BlockMover move;
  data.rewind(own.group);
  while (const ImagingBlock* block = data.next(imager.block_bytes)) {
    own.weights->apply(*block, imager.threads(), imager.weighted);
    add_weights(imager, imager.weighted, own.weight_sum);
    residuals->add(move(*block, imager.weighted, field));
  }
  residuals->reserve();
  own.residuals = std::move(residuals);
}

std::uint64_t bytes_on_device(const Imager& imager, const std::vector<PreparedGroup>& groups) {
  std::uint64_t sum = 0;
  for (const PreparedGroup& own : groups) sum += bytes_on_device(imager, own);
  return sum;
}

}  // namespace

std::uint64_t bytes_on_device(const Imager& imager, const PreparedGroup& own) {
  if (imager.device.kind != Device::Kind::cuda || imager.ranks.size > 1 || imager.aterms() ||
      imager.calibrates || own.fields.size() != 1 || imager.n_data_planes() == 0 || own.n_passes() > 1 ||
      own.passes.where() != GridMemory::gpu)
    return 0;
  return residual_imager_bytes(own.fields[0].plan, imager.n_data_planes(), own.found.load(),
                               own.passes.on_gpu->room_bytes);
}

bool fit_on_device(const Imager& imager, const std::vector<PreparedGroup>& groups) {
  // If the groups do not all fit, none is kept on the device: otherwise some would have to be copied beside
  // the others.
  return std::all_of(groups.begin(), groups.end(), [&](const PreparedGroup& own) {
    return bytes_on_device(imager, own) > 0 &&
           bytes_on_device(imager, groups) + imager.beside_on_device <= own.passes.on_gpu->free_bytes;
  });
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
  try {
    for (PreparedGroup& own : groups) keep_group(imager, own, fields[0], data);
  } catch (const DeviceError& error) {
    // Another program may have taken the free memory meanwhile.
    log_verbose("{}: visibilities travel to the GPU in every major cycle", error.what());
    for (PreparedGroup& own : groups) own.residuals.reset();
  }
}

void make_first_images_on_device(Imager& imager, PreparedGroup& own, std::size_t g, bool with_model,
                                 FieldImages& images) {
  imager.tool.stage("grid");
  for (std::size_t plane = 0; plane < images.n_planes(); ++plane)
    images.weight(g, plane) = own.weight_sum[plane];
  own.residuals->make_psf(images.psf.view()[g][0]);
  const View<const float, 3> model = std::as_const(images.model).view()[g];
  own.residuals->make(with_model ? model : View<const float, 3>(), own.weight_sum, images.residual.view()[g]);
  imager.n_gridded += own.found.n_visibilities * static_cast<double>(imager.n_planes());
}

void make_residuals_on_device(Imager& imager, PreparedGroup& own, std::size_t g, FieldImages& images) {
  imager.tool.stage("residual");
  own.residuals->make(std::as_const(images.model).view()[g], own.weight_sum, images.residual.view()[g]);
  imager.n_gridded += own.found.n_visibilities * static_cast<double>(imager.n_planes());
}

}  // namespace apsyn::imaging
