// SPDX-License-Identifier: GPL-3.0-or-later

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "kernels/common/cuda/transfer.h"
#include "kernels/dedisperse/cuda/kernels.cuh"
#include "kernels/dedisperse/dedisperse_cuda.h"
#include "libcore/base/error.h"
#include "libcore/system/device.h"

namespace apsyn {

using namespace dedispersion;

namespace {

class Dedisperser final : public CudaDedisperser {
 public:
  Dedisperser(const DedispersionPlan& plan, std::size_t capacity, std::size_t n_time, unsigned n_lane,
              int device)
      : plan_(plan), device_(device) {
    if (device < 0 || device >= cuda_device_count())
      throw DeviceError("cuda:{}: there is no such device", device);
    cuda_check(cudaSetDevice(device_), "choosing the device");
    for (const TrialLevel& level : plan.levels) {
      const std::size_t n = ring_samples(capacity, level.factor);
      memory_.emplace_back(plan.band.n_chan * n);
      rings_.push_back({memory_.back().data(), n - 1});
      cuda_check(cudaMemset(memory_.back().data(), 0, memory_.back().size()), "clearing device memory");
    }
    for (unsigned lane = 0; lane < n_lane; ++lane) {
      sums_.emplace_back(sums_of(plan, n_time) + kReadBeyond);
      cuda_check(cudaMemset(sums_.back().data(), 0, sums_.back().size() * sizeof(std::int16_t)),
                 "clearing device memory");
    }
    for (const DedispersionBatch& batch : plan.batches) upload(batch);
    cuda_check(cudaDeviceSynchronize(), "waiting for the device");
  }

  void append(const std::int8_t* samples, std::size_t stride, std::size_t n_time) override {
    cuda_check(cudaSetDevice(device_), "choosing the device");
    std::int8_t* arrived = arrived_.reserve(plan_.band.n_chan * n_time);
    cuda_check(cudaMemcpy2DAsync(arrived, n_time, samples, stride, n_time, plan_.band.n_chan,
                                 cudaMemcpyHostToDevice, stream_.get()),
               "copying samples to the device");
    append_arrived(arrived, n_time);
  }

  void append_from_device(const std::int8_t* samples, std::size_t n_time) override {
    cuda_check(cudaSetDevice(device_), "choosing the device");
    append_arrived(samples, n_time);
  }

  void append_missing(std::size_t n_time) override {
    cuda_check(cudaSetDevice(device_), "choosing the device");
    const auto end = static_cast<std::uint64_t>(end_) + n_time;
    for (std::size_t level = 0; level < rings_.size(); ++level) {
      const std::size_t factor = plan_.levels[level].factor;
      const std::uint64_t from = (static_cast<std::uint64_t>(end_) + factor - 1) / factor,
                          to = (end + factor - 1) / factor;
      if (to > from)
        launch_append({nullptr, plan_.band.n_chan, to - from, rings_[level], from, 1, 1}, stream_.get());
    }
    end_ = static_cast<std::int64_t>(end);
    cuda_check(cudaStreamSynchronize(stream_.get()), "waiting for the device");
  }

  void dedisperse(std::size_t index, std::int64_t first, const DeviceSeries& out) override {
    const DedispersionBatch& batch = plan_.batches[index];
    const DeviceBatch& on_device = batches_[index];
    const std::size_t stride = row_samples(batch, out.n_time);
    if (out.n_series != batch.dm.size() || out.lane >= sums_.size() ||
        stride * batch.sums.size() + kReadBeyond > sums_[out.lane].size())
      throw std::length_error("CudaDedisperser: other series than were announced");
    cuda_check(cudaSetDevice(device_), "choosing the device");
    const auto at = static_cast<std::uint64_t>(first) / plan_.levels[batch.level].factor;
    std::int16_t* sums = sums_[out.lane].data();
    launch_partial_sums({rings_[batch.level], at, on_device.rows.data(), on_device.offsets.data(),
                         batch.sums.size(), stride, sums, stride},
                        out.stream);
    launch_trials({sums, stride, on_device.uses.data(), batch.dm.size(), plan_.n_subband(), out.n_time,
                   out.first, out.stride},
                  out.stream);
  }

 private:
  void append_arrived(const std::int8_t* arrived, std::size_t n_time) {
    for (std::size_t level = 0; level < rings_.size(); ++level) {
      const std::size_t factor = plan_.levels[level].factor;
      const double scale = 65536 / std::sqrt(static_cast<double>(factor));
      launch_append(
          {arrived, plan_.band.n_chan, n_time, rings_[level], static_cast<std::uint64_t>(end_) / factor,
           static_cast<int>(factor), static_cast<int>(std::lround(scale))},
          stream_.get());
    }
    end_ += static_cast<std::int64_t>(n_time);
    cuda_check(cudaStreamSynchronize(stream_.get()), "waiting for the device");
  }

  struct DeviceBatch {
    Upload<PartialRow> rows;
    Upload<std::uint32_t> offsets;
    Upload<RowUse> uses;
  };
  void upload(const DedispersionBatch& batch) {
    std::vector<PartialRow> rows;
    std::vector<std::uint32_t> offsets;
    std::vector<RowUse> uses;
    for (const PartialSum& sum : batch.sums) {
      rows.push_back({static_cast<std::uint32_t>(plan_.first_chan[sum.subband]),
                      static_cast<std::uint32_t>(sum.offset.size()),
                      static_cast<std::uint32_t>(offsets.size()), sum.first_shift});
      offsets.insert(offsets.end(), sum.offset.begin(), sum.offset.end());
    }
    for (const PartialUse& use : batch.uses)
      uses.push_back({use.row, use.shift - batch.sums[use.row].first_shift});
    DeviceBatch& to = batches_.emplace_back();
    to.rows.copy(rows.data(), rows.size());
    to.offsets.copy(offsets.data(), offsets.size());
    to.uses.copy(uses.data(), uses.size());
  }

  const DedispersionPlan& plan_;
  int device_;
  std::int64_t end_ = 0;  ///< input samples that arrived
  CopyStream stream_;
  Upload<std::int8_t> arrived_;
  std::vector<DeviceArray<std::uint8_t>> memory_;
  std::vector<SampleRing> rings_;                ///< of each level
  std::vector<DeviceArray<std::int16_t>> sums_;  ///< of each lane
  std::vector<DeviceBatch> batches_;
};

}  // namespace

std::unique_ptr<CudaDedisperser> make_cuda_dedisperser(const DedispersionPlan& plan, std::size_t capacity,
                                                       std::size_t n_time, unsigned n_lane,
                                                       int device_index) {
  cuda_check(cudaSetDevice(device_index), "choosing the device");  // before there are streams
  return std::make_unique<Dedisperser>(plan, capacity, n_time, n_lane, device_index);
}

}  // namespace apsyn
