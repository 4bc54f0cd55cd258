// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>

#include "kernels/common/cuda/attribute.h"
#include "kernels/common/free_memory.h"
#include "kernels/epic/corr/corr_cuda.h"
#include "kernels/epic/corr/cuda/engine.cuh"
#include "kernels/epic/corr/cuda/half.cuh"

namespace apsyn::epic_cuda {

namespace {

/// Weights of one geometry stay on the device if they fit into half of its memory; otherwise they are
/// recomputed for as many pixels of a channel as fit.
class HalfPairEngine final : public DevicePairEngine {
 public:
  HalfPairEngine(const EpicPlan& plan, DeviceSky& sky, bool exact, int device_index)
      : n_ant_(static_cast<int>(plan.n_ant)),
        n_channel_(static_cast<int>(plan.n_channel())),
        exact_(exact),
        sky_(sky) {
    n_sm_ = device_attribute(cudaDevAttrMultiProcessorCount, device_index);
    max_bytes_ = cuda_free_memory_bytes(device_index) / 2;
    units_.reserve(plan.n_channel());
    matrices_.reserve(layout(n_channel_, 0).channel_bytes() * plan.n_channel());
  }
  void move(const EpicGeometry&, cudaStream_t) override { weighed_ = false; }
  void image(const PairsOf& pairs, cudaStream_t stream) override;

 private:
  HalfLayout layout(int n_channel, int n_pixel) const {
    return {.n_channel = n_channel, .n_ant = n_ant_, .n_pixel = n_pixel, .exact = exact_};
  }
  /// Weights and sums of n_channel channels from `channel` on, and pixels.
  void image_part(int channel, int first_pixel, const HalfLayout& part, cudaStream_t stream);

  int n_ant_, n_channel_, n_sm_ = 0;
  bool exact_, weighed_ = false;
  DeviceSky& sky_;
  std::size_t max_bytes_ = 0;
  Upload<double> units_;
  Upload<char> matrices_;
  DeviceArray<char> weights_;
};

void HalfPairEngine::image(const PairsOf& pairs, cudaStream_t stream) {
  const int n_pixel = sky_.n_pixel();
  if (n_pixel == 0) return;
  const HalfLayout all = layout(n_channel_, n_pixel);
  const PairTask task = pairs(0, n_channel_);
  launch_half_units(task, units_.data(), stream);
  launch_half_matrices(task, units_.data(), all, matrices_.data(), stream);
  const bool resident = all.weight_bytes() <= max_bytes_;
  constexpr std::size_t kStep = 2 * kFormPixels;
  const std::size_t step_bytes = layout(1, kStep).weight_bytes();
  const int max_pixels = resident ? n_pixel
                                  : static_cast<int>(std::min<std::size_t>(
                                        n_pixel, std::max<std::size_t>(1, max_bytes_ / step_bytes) * kStep));
  const HalfLayout part = layout(resident ? n_channel_ : 1, max_pixels);
  if (weights_.size() < part.weight_bytes()) {
    weights_ = DeviceArray<char>();  // give back before asking for more
    weights_ = DeviceArray<char>(part.weight_bytes());
  }
  for (int channel = 0; channel < n_channel_; channel += part.n_channel)
    for (int pixel = 0; pixel < n_pixel; pixel += max_pixels) {
      const HalfLayout here = layout(part.n_channel, std::min(max_pixels, n_pixel - pixel));
      if (!weighed_ || !resident)
        launch_half_weights(sky_.weights(channel, here.n_channel), pixel, here, weights_.data(), stream);
      weighed_ = true;
      image_part(channel, pixel, here, stream);
    }
}

void HalfPairEngine::image_part(int channel, int first_pixel, const HalfLayout& part, cudaStream_t stream) {
  HalfFormTask task;
  task.layout = part;
  task.matrices = matrices_.data() + channel * part.channel_bytes();
  task.weights = weights_.data();
  task.unit = units_.data() + channel;
  task.sums = sky_.sums(channel) + std::size_t(first_pixel) * 4;
  task.n_stride = sky_.n_stride();
  launch_half_forms(task, n_sm_, stream);
}

}  // namespace

std::unique_ptr<DevicePairEngine> make_half_pair_engine(const EpicPlan& plan, DeviceSky& sky, bool exact,
                                                        int device_index) {
  return std::make_unique<HalfPairEngine>(plan, sky, exact, device_index);
}

bool serves_half_pairs(const EpicPlan& plan, int device_index) {
  static_assert(kMaxFormed == kMaxHalfAnts);
  return fits_half_pairs(plan) && has_half_forms(device_index);
}

}  // namespace apsyn::epic_cuda
