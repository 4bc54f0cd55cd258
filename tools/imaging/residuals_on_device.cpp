// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/imaging/residuals_on_device.h"

#include <utility>

#include "kernels/idg/grid_memory.h"
#include "kernels/idg/residual_imager.h"
#include "libcore/base/error.h"
#include "libcore/base/log.h"
#include "libcore/base/units.h"

namespace apsyn::imaging {
namespace {

void keep_group(Imager& imager, PreparedGroup& own, const Field& field, ImagingSource& data) {
  auto residuals =
      make_residual_imager(imager.device, own.fields[0].plan, imager.n_data_planes(), imager.threads());
  BlockMover move;
  data.rewind(own.group);
  while (const ImagingBlock* block = data.next(imager.block_bytes)) {
    own.weights->apply(*block, imager.threads(), imager.weighted);
    residuals->add(move(*block, imager.weighted, field));
  }
  residuals->reserve();
  own.residuals = std::move(residuals);
}

}  // namespace

std::uint64_t bytes_on_device(const Imager& imager, const PreparedGroup& own) {
  if (imager.device.kind != Device::Kind::cuda || imager.ranks.size > 1 || imager.aterms() ||
      own.fields.size() != 1 || imager.n_data_planes() == 0 || own.n_passes() > 1 ||
      own.passes.where() != GridMemory::gpu)
    return 0;
  return residual_imager_bytes(own.fields[0].plan, imager.n_data_planes(), own.found.load(),
                               own.passes.on_gpu->room_bytes);
}

bool fits_on_device(const Imager& imager, const PreparedGroup& own, std::uint64_t others_bytes) {
  const std::uint64_t bytes = bytes_on_device(imager, own);
  return bytes > 0 && bytes + others_bytes + imager.beside_on_device <= own.passes.on_gpu->free_bytes;
}

std::string describe_cycles(const Imager& imager, const std::vector<PreparedGroup>& groups) {
  if (imager.device.kind != Device::Kind::cuda) return {};
  std::uint64_t bytes = 0;
  std::size_t n_kept = 0;
  for (const PreparedGroup& own : groups)
    if (fits_on_device(imager, own, bytes)) {
      bytes += bytes_on_device(imager, own);
      ++n_kept;
    }
  const std::string beside =
      fmt::format("minor cycles {}", format_bytes(static_cast<double>(imager.beside_on_device)));
  if (n_kept == 0)
    return fmt::format("major cycles: visibilities travel to {} each time; {}", imager.device.description,
                       beside);
  const std::string which =
      n_kept == groups.size() ? "" : fmt::format(" of {} of {} groups", n_kept, groups.size());
  return fmt::format("major cycles: visibilities{} stay on {}, with all that images them {}; {}", which,
                     imager.device.description, format_bytes(static_cast<double>(bytes)), beside);
}

void keep_on_device(Imager& imager, std::vector<PreparedGroup>& groups, const std::vector<Field>& fields,
                    ImagingSource& data) {
  std::uint64_t others_bytes = 0;
  for (PreparedGroup& own : groups) {
    if (!fits_on_device(imager, own, others_bytes)) continue;
    imager.tool.stage("keep");
    try {
      keep_group(imager, own, fields[0], data);
      others_bytes += bytes_on_device(imager, own);
    } catch (const DeviceError& error) {
      // Others may use the device, too. What does not fit travels.
      log_verbose("{}: visibilities travel to the GPU in every major cycle", error.what());
    }
  }
}

void make_residuals_on_device(Imager& imager, PreparedGroup& own, std::size_t g, FieldImages& images) {
  imager.tool.stage("residual");
  std::vector<double> weight_sum;
  for (std::size_t plane = 0; plane < images.n_planes(); ++plane)
    weight_sum.push_back(images.weight(g, plane));
  own.residuals->make(std::as_const(images.model).view()[g], weight_sum, images.residual.view()[g]);
  imager.n_gridded += own.found.n_visibilities * static_cast<double>(imager.n_planes());
}

}  // namespace apsyn::imaging
