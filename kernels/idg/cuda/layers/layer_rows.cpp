// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/idg/cuda/layers/layer_rows.cuh"

#include <algorithm>
#include <iterator>

#include "kernels/common/cuda/check.h"

namespace apsyn::idg_cuda {
namespace {

/// Rows that one plan transforms: any number of strips takes few launches.
constexpr std::size_t kBatches[] = {2048, 512, 128, kGridTile};

}  // namespace

LayerRows::LayerRows(const GridShape& shape, std::size_t n_planes, cudaStream_t stream)
    : shape_(shape), n_planes_(n_planes), n_strips_(grid_tiles(shape.n_v)), stream_(stream) {}

void LayerRows::clear(float2* grids, std::size_t n_layers, bool fresh) {
  const std::size_t plane_bytes = shape_.cells() * sizeof(float2);
  if (fresh || passing_ || n_layers > runs_.size()) {
    // A pass that was given up may have left something in more layers than this one has.
    const std::size_t n_left = passing_ ? std::max(n_layers, n_layers_) : n_layers;
    cuda_check(cudaMemsetAsync(grids, 0, n_left * n_planes_ * plane_bytes, stream_), "clearing the layers");
  } else {
    for (std::size_t layer = 0; layer < n_layers; ++layer)
      for (const auto& [first, end] : runs_[layer])
        cuda_check(
            cudaMemset2DAsync(grids + layer * n_planes_ * shape_.cells() + first * shape_.n_u, plane_bytes, 0,
                              (end - first) * shape_.n_u * sizeof(float2), n_planes_, stream_),
            "clearing the layers");
  }
  const std::size_t n_flags = n_layers * n_strips_;
  cuda_check(cudaMemsetAsync(strip_used_.reserve(n_flags), 0, n_flags, stream_), "clearing the layers");
  if (runs_.size() < n_layers) runs_.resize(n_layers);
  n_layers_ = n_layers;
  passing_ = true;
}

void LayerRows::read_runs() {
  std::vector<std::uint8_t> used(n_layers_ * n_strips_);
  cuda_check(cudaMemcpyAsync(used.data(), strip_used_.data(), used.size(), cudaMemcpyDeviceToHost, stream_),
             "reading which rows are used");
  cuda_check(cudaStreamSynchronize(stream_), "reading which rows are used");
  for (std::size_t layer = 0; layer < n_layers_; ++layer) {
    auto& runs = runs_[layer];
    runs.clear();
    for (std::size_t strip = 0; strip < n_strips_; ++strip) {
      if (used[layer * n_strips_ + strip] == 0) continue;
      const std::size_t first = strip * kGridTile;
      if (runs.empty() || runs.back().second != first) runs.emplace_back(first, first);
      runs.back().second = first + kGridTile;
    }
  }
}

void LayerRows::transform(float2* grids) {
  read_runs();
  passing_ = false;
  if (plans_.empty())
    for (const std::size_t batch : kBatches) {
      plans_.emplace_back(shape_.n_u, static_cast<int>(batch));
      plans_.back().use(stream_);
    }
  for (std::size_t layer = 0; layer < n_layers_; ++layer)
    for (std::size_t plane = 0; plane < n_planes_; ++plane)
      for (const auto& [first, end] : runs_[layer]) {
        float2* rows = grids + (layer * n_planes_ + plane) * shape_.cells();
        std::size_t at = first;
        for (std::size_t i = 0; i < std::size(kBatches); ++i)
          for (; at + kBatches[i] <= end; at += kBatches[i]) plans_[i].execute(rows + at * shape_.n_u);
      }
}

}  // namespace apsyn::idg_cuda
