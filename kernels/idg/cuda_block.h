// SPDX-License-Identifier: GPL-3.0-or-later
// A block of rows on the device. For host code with CUDA only.
#pragma once

#include <vector>

#include "kernels/idg/cuda_upload.cuh"
#include "kernels/idg/device_tasks.cuh"
#include "kernels/idg/idg.h"
#include "kernels/idg/partition.h"
#include "kernels/idg/row_weights.h"
#include "kernels/idg/unpack_weights.cuh"

namespace apsyn::idg_cuda {

/// The arrays of one block on the device.
struct DeviceRows {
  Upload<double> uvw, path, wavenumber;
  Upload<float> weight;
  std::size_t weight_planes = 0;  ///< 1 where those of the block are all alike
  Upload<std::uint32_t> row_weight, station, row_slot, chan_slot;
  Upload<float2> data, jones;

  /// What cutting needs; work given to the stream from now on sees it.
  void copy_geometry(Uploader& uploader, const GridBlock& block, cudaStream_t stream) {
    const View<const float, 3>& from = block.weight;
    std::vector<Transfer> all{
        transfer(uvw, block.uvw_m.data(), block.uvw_m.size()),
        transfer(wavenumber, block.wavenumber.data(), block.wavenumber.size()),
        transfer(station, block.station.data(), block.station.size()),
        transfer(row_slot, block.aterms.row_slot.data(), block.aterms.row_slot.size()),
        transfer(chan_slot, block.aterms.chan_slot.data(), block.aterms.chan_slot.size())};
    const bool try_rows = from.size() > 0 && idg::can_pack_rows(from.extent(1), from.extent(2));
    if (try_rows) all.push_back(transfer_row_weights(row_weight, from));
    const bool by_rows = uploader.send(all) && try_rows;
    weight_planes = by_rows ? 1 : from.extent(2);
    if (!by_rows) copy_weight(uploader, from);
    uploader.hold(stream);
    if (by_rows)
      idg::launch_unpack_weights(row_weight.data(), static_cast<std::uint32_t>(from.extent(0)),
                                 static_cast<std::uint32_t>(from.extent(1)),
                                 weight.reserve(from.extent(0) * from.extent(1)), stream);
  }
  /// Weights of a visibility mostly hold for all of its polarisations: a quarter of the bytes then.
  void copy_weight(Uploader& uploader, const View<const float, 3>& from) {
    if (weight_planes == 2 || weight_planes == 4) {
      const Transfer alike = transfer_alike(weight, from.data(), from.size(), weight_planes);
      if (uploader.send({&alike, 1})) {
        weight_planes = 1;
        return;
      }
    }
    const Transfer all = transfer(weight, from.data(), from.size());
    uploader.send({&all, 1});
  }
  void copy_values(Uploader& uploader, const GridBlock& block) {
    const Transfer all[] = {transfer(path, block.path_m.data(), block.path_m.size()),
                            transfer(data, block.data.data(), block.data.size()),
                            transfer(jones, block.aterms.jones.data(), block.aterms.jones.size())};
    uploader.send(all);
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
            static_cast<std::uint32_t>(weight_planes)};
  }
};

/// A block on the device, and what a pass over `layers` makes of it.
struct DeviceBlock {
  DeviceRows rows;
  LayerRange layers{};
  idg::DeviceTables tables;
  DeviceTracks tracks;
  DeviceTasks tasks;
  std::vector<RangeWork> ranges;
  Event done;  ///< the stream no longer reads it
};

}  // namespace apsyn::idg_cuda
