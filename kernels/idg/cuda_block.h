// SPDX-License-Identifier: GPL-3.0-or-later
// A block of rows on the device. For host code with CUDA only.
#pragma once

#include <vector>

#include "kernels/idg/cuda_upload.cuh"
#include "kernels/idg/device_tasks.cuh"
#include "kernels/idg/idg.h"
#include "kernels/idg/partition.h"

namespace apsyn::idg_cuda {

/// The arrays of one block on the device.
struct DeviceRows {
  Upload<double> uvw, path, wavenumber;
  Upload<float> weight;
  Upload<std::uint32_t> station, row_slot, chan_slot;
  Upload<float2> data, jones;

  /// What cutting needs.
  void copy_geometry(Uploader& uploader, const GridBlock& block) {
    uploader.copy(uvw, block.uvw_m.data(), block.uvw_m.size());
    uploader.copy(wavenumber, block.wavenumber.data(), block.wavenumber.size());
    uploader.copy(station, block.station.data(), block.station.size());
    uploader.copy(weight, block.weight.data(), block.weight.size());
    uploader.copy(row_slot, block.aterms.row_slot.data(), block.aterms.row_slot.size());
    uploader.copy(chan_slot, block.aterms.chan_slot.data(), block.aterms.chan_slot.size());
  }
  void copy_values(Uploader& uploader, const GridBlock& block) {
    uploader.copy(path, block.path_m.data(), block.path_m.size());
    uploader.copy(data, block.data.data(), block.data.size());
    uploader.copy(jones, block.aterms.jones.data(), block.aterms.jones.size());
  }
  idg::DeviceCutInput cut_input(const GridBlock& block) const {
    const bool aterms = block.aterms.jones.size() != 0;
    return {uvw.data(),
            wavenumber.data(),
            block.weight.size() == 0 ? nullptr : weight.data(),
            block.station.size() == 0 ? nullptr : station.data(),
            aterms ? row_slot.data() : nullptr,
            aterms ? chan_slot.data() : nullptr,
            static_cast<std::uint32_t>(block.uvw_m.extent(0)),
            static_cast<std::uint32_t>(block.wavenumber.size()),
            static_cast<std::uint32_t>(block.weight.extent(2))};
  }
};

/// A block on the device, and what a pass over `layers` makes of it.
struct DeviceBlock {
  DeviceRows rows;
  LayerRange layers{};
  idg::DeviceTables tables;
  DeviceTasks tasks;
  std::vector<RangeWork> ranges;
  Event done;  ///< the stream no longer reads it
};

}  // namespace apsyn::idg_cuda
