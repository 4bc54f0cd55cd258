// SPDX-License-Identifier: GPL-3.0-or-later
// A block of rows on the device. For host code with CUDA only.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/idg/cuda/partition/tasks.cuh"
#include "kernels/idg/cuda/transfer/fetch_rows.cuh"
#include "kernels/idg/cuda/transfer/upload.cuh"
#include "kernels/idg/idg.h"
#include "kernels/idg/partition/partition.h"
#include "kernels/idg/partition/row_weights.h"

namespace apsyn::idg_cuda {

/// Indices of the rows of a block that are used; no value: all rows.
using ChosenRows = std::optional<std::vector<std::uint32_t>>;
template <class T, std::size_t Rank>
idg::RowBytes rows_of(const View<T, Rank>& array, const ChosenRows& chosen) {
  return array.size() == 0 ? idg::RowBytes(nullptr, 0, 0, nullptr, 0)
                           : idg::RowBytes(array.data(), array.size() * sizeof(T), array.extent(0),
                                           chosen ? chosen->data() : nullptr, chosen ? chosen->size() : 0);
}

/// What a gridder reads of rows on the device.
struct RowView {
  idg::DeviceCutInput cut;       ///< places, weights and slots
  const double* path = nullptr;  ///< [row]; or null
  const float2* data = nullptr;  ///< [row][chan][plane]
  const float2* jones = nullptr;

  bool with_aterms() const { return cut.n_responses != 0; }
  /// n rows from `first` on, with n_planes planes of data and the A-terms of other arrays, whose rows these
  /// are.
  RowView piece(std::size_t first, std::size_t n, std::size_t n_planes, const RowView& aterms) const {
    RowView own = *this;
    const std::size_t first_cell = first * cut.n_chan;
    own.cut.uvw_m += 3 * first;
    if (cut.weight != nullptr) own.cut.weight += first_cell * cut.n_planes;
    if (cut.station != nullptr) own.cut.station += 2 * first;
    if (path != nullptr) own.path += first;
    own.data += first_cell * n_planes;
    own.cut.n_row = static_cast<std::uint32_t>(n);
    own.cut.row_slot = aterms.cut.row_slot;
    own.cut.chan_slot = aterms.cut.chan_slot;
    own.cut.response = aterms.cut.response;
    own.cut.n_row_slots = aterms.cut.n_row_slots;
    own.cut.n_chan_slots = aterms.cut.n_chan_slots;
    own.cut.n_stations = aterms.cut.n_stations;
    own.cut.n_responses = aterms.cut.n_responses;
    own.jones = aterms.jones;
    return own;
  }
};

/// The arrays of one block on the device.
struct DeviceRows {
  Upload<double> uvw, path, wavenumber;
  Upload<float> weight;
  std::size_t n_row = 0, n_chan = 0;
  std::size_t weight_planes = 0;  ///< 1 if the weights of a visibility are the same in all planes
  std::size_t n_row_slots = 0, n_chan_slots = 0, n_responses = 0;  ///< of the A-terms; 0 without
  std::size_t n_stations = 0;  ///< of `response`; 0: a station's response is that of its own number
  bool with_path = false, with_weight = false, with_station = false;
  Upload<std::uint32_t> row_weight, station, row_slot, chan_slot, response, chosen_row;
  Upload<float2> data, jones;
  bool fetches_data = false;  ///< whether the device reads the data from pinned memory itself

  /// Bytes of the values that are copied while threads inspect the weights, most of which need not be copied.
  static constexpr std::size_t kAheadBytes = std::size_t{64} << 20;

  /// Copies what cutting needs, and the first of the values, for the chosen rows or, without a choice, for
  /// all. Work enqueued in the stream from now on sees it.
  void copy_geometry(Uploader& uploader, const GridBlock& block, cudaStream_t stream,
                     const ChosenRows& chosen = {}) {
    const std::size_t n_weight_chan = block.weight.extent(1), n_planes = block.weight.extent(2);
    n_row = chosen ? chosen->size() : block.uvw_m.extent(0);
    n_chan = block.wavenumber.size();
    count_aterms(block.aterms);
    with_path = block.path_m.size() != 0;
    with_weight = block.weight.size() != 0;
    with_station = block.station.size() != 0;
    fetches_data = chosen && fetch_data(uploader, rows_of(block.data, chosen), *chosen);
    std::vector<Transfer> all{
        transfer(uvw, rows_of(block.uvw_m, chosen)),
        transfer(wavenumber, block.wavenumber.data(), block.wavenumber.size()),
        transfer(station, rows_of(block.station, chosen)),
        transfer(row_slot, rows_of(block.aterms.row_slot, chosen)),
        transfer(chan_slot, block.aterms.chan_slot.data(), block.aterms.chan_slot.size()),
        transfer(response, block.aterms.response.data(), block.aterms.response.size())};
    if (!fetches_data) all.push_back(transfer(data, rows_of(block.data, chosen)).until(kAheadBytes));
    const idg::RowBytes from = rows_of(block.weight, chosen);
    const bool try_rows = from.size() > 0 && idg::can_pack_rows(n_weight_chan, n_planes);
    if (try_rows) all.push_back(transfer_row_weights(row_weight, from, n_weight_chan, n_planes));
    const bool by_rows = uploader.send(all) && try_rows;
    weight_planes = by_rows ? 1 : n_planes;
    if (!by_rows) copy_weight(uploader, from);
    uploader.hold_copies(stream);
    if (by_rows)
      idg::launch_unpack_weights(row_weight.data(), static_cast<std::uint32_t>(n_row),
                                 static_cast<std::uint32_t>(n_weight_chan),
                                 weight.reserve(n_row * n_weight_chan), stream);
  }
  /// Starts fetching the values by the device itself, if possible; the list of their rows is sent before
  /// everything else. Returns whether it does.
  bool fetch_data(Uploader& uploader, const idg::RowBytes& from, const std::vector<std::uint32_t>& chosen) {
    if (!can_fetch(from)) return false;
    Transfer list = transfer(chosen_row, chosen.data(), chosen.size());
    list.part_bytes = kPartBytes / 16;
    uploader.send({&list, 1});
    uploader.fetch(data.reserve(from.size() / sizeof(float2)), from, chosen_row.data());
    return true;
  }
  /// A visibility's polarisations mostly have the same weight: then a quarter of the bytes suffices.
  void copy_weight(Uploader& uploader, const idg::RowBytes& from) {
    if (weight_planes == 2 || weight_planes == 4) {
      float* to = weight.reserve(from.size() / sizeof(float) / weight_planes);
      const Transfer alike = transfer_alike(to, from, weight_planes);
      if (uploader.send({&alike, 1})) {
        weight_planes = 1;
        return;
      }
    }
    const Transfer all = transfer(weight, from);
    uploader.send({&all, 1});
  }
  /// Copies the rest, after copy_geometry(). The caller's memory is read until Uploader::settle() has
  /// returned.
  void copy_values(Uploader& uploader, const GridBlock& block, const ChosenRows& chosen = {}) {
    std::vector<Transfer> all{transfer(path, rows_of(block.path_m, chosen)),
                              transfer(jones, block.aterms.jones.data(), block.aterms.jones.size())};
    if (!fetches_data) all.push_back(transfer(data, rows_of(block.data, chosen)).from(kAheadBytes));
    uploader.send(all);
  }
  void count_aterms(const AtermBlock& aterms) {
    n_row_slots = aterms.jones.extent(0);
    n_chan_slots = aterms.jones.extent(1);
    n_responses = aterms.jones.extent(2);
    n_stations = aterms.response.extent(2);
  }
  /// A-terms alone, for rows that are on the device already.
  void copy_aterms(Uploader& uploader, const AtermBlock& aterms) {
    count_aterms(aterms);
    const std::array all{transfer(row_slot, aterms.row_slot.data(), aterms.row_slot.size()),
                         transfer(chan_slot, aterms.chan_slot.data(), aterms.chan_slot.size()),
                         transfer(response, aterms.response.data(), aterms.response.size()),
                         transfer(jones, aterms.jones.data(), aterms.jones.size())};
    uploader.send(all);
  }
  bool with_aterms() const { return n_responses != 0; }
  std::size_t n_cells() const { return n_row * n_chan; }
  idg::DeviceCutInput cut_input() const {
    return {uvw.data(),
            wavenumber.data(),
            with_weight ? weight.data() : nullptr,
            with_station ? station.data() : nullptr,
            with_aterms() ? row_slot.data() : nullptr,
            with_aterms() ? chan_slot.data() : nullptr,
            static_cast<std::uint32_t>(n_row),
            static_cast<std::uint32_t>(n_chan),
            static_cast<std::uint32_t>(weight_planes),
            n_stations != 0 ? response.data() : nullptr,
            static_cast<std::uint32_t>(n_row_slots),
            static_cast<std::uint32_t>(n_chan_slots),
            static_cast<std::uint32_t>(n_stations),
            static_cast<std::uint32_t>(n_responses)};
  }
  RowView view() const { return {cut_input(), with_path ? path.data() : nullptr, data.data(), jones.data()}; }
};

/// The work of a pass over `layers` for a block's rows.
struct BlockWork {
  LayerRange layers{};
  idg::DeviceTables tables;
  DeviceTracks tracks;
  DeviceTasks tasks;
  std::vector<RangeWork> ranges;
};

}  // namespace apsyn::idg_cuda
