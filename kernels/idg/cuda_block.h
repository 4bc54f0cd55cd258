// SPDX-License-Identifier: GPL-3.0-or-later
// A block of rows on the device. For host code with CUDA only.
#pragma once

#include "kernels/idg/cuda_tasks.h"
#include "kernels/idg/cuda_upload.cuh"
#include "kernels/idg/idg.h"

namespace apsyn::idg_cuda {

/// The arrays of one block on the device.
struct DeviceRows {
  Upload<double> uvw, path, wavenumber;
  Upload<float> weight;
  Upload<float2> data, jones;

  void copy(Uploader& uploader, const GridBlock& block) {
    uploader.copy(uvw, block.uvw_m.data(), block.uvw_m.size());
    uploader.copy(path, block.path_m.data(), block.path_m.size());
    uploader.copy(wavenumber, block.wavenumber.data(), block.wavenumber.size());
    uploader.copy(data, block.data.data(), block.data.size());
    uploader.copy(weight, block.weight.data(), block.weight.size());
    uploader.copy(jones, block.aterms.jones.data(), block.aterms.jones.size());
  }
};

/// What a pass makes of a block, on the device; and the block, unless the gridder keeps it.
struct DeviceBlock {
  DeviceRows rows;
  Upload<double> screen_lambda;
  Upload<Run> runs;
  Upload<SlotTask> tasks;
  Upload<AtermKey> keys;
  Upload<Placement> placements;
  Upload<std::uint32_t> entries, selected;
  Upload<GridTile> tiles;
  Event done;
};

}  // namespace apsyn::idg_cuda
