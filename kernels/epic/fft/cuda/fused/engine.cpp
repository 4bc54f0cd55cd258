// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>

#include "kernels/common/cuda/attribute.h"
#include "kernels/common/cuda/transfer.h"
#include "kernels/epic/fft/cuda/engine.cuh"
#include "kernels/epic/fft/cuda/fused/plan.h"
#include "kernels/epic/fft/cuda/sums.cuh"
#include "libcore/system/parallel.h"

namespace apsyn::epic_fft {
namespace {

constexpr double kLargestHalf = 60000;

void launch(const FusedTask& task, int last_radix, int n_value, cudaStream_t stream) {
  switch (last_radix) {
    case 3:
      return launch_last_3(task, n_value, stream);
    case 4:
      return launch_last_4(task, n_value, stream);
    case 5:
      return launch_last_5(task, n_value, stream);
    default:
      return launch_last_8(task, n_value, stream);
  }
}

class FusedEngine final : public PreparedEngine {
 public:
  FusedEngine(const EpicPlan& plan, const FftGridded& gridded, FusedPlan fused);
  void start(cudaStream_t stream) override { sums_.clear(stream); }
  const double* collect(cudaStream_t stream) override { return sums_.collect(stream); }

 private:
  void add_prepared(const PreparedSpectra& spectra, cudaStream_t stream) override;
  bool half() const { return fused_.shape.n_layer < fused_.shape.n_pol; }
  void upload_lists(const EpicPlan& plan, const FftGridded& gridded);

  FusedPlan fused_;
  Upload<float2> turns_;
  Upload<std::uint16_t> columns_, positions_, antennas_;
  Upload<std::uint32_t> slices_;
  Upload<float4> weights_;
  Upload<HalfWeights> half_weights_;
  FftImageSums sums_;
};

FftImageSums sums_of(const EpicPlan& plan, const FftFinish& finish, const FusedPlan& fused) {
  const auto place = [&](std::size_t column, std::size_t row, std::size_t value) {
    const std::size_t bin_x = finish.bins_x()[column];
    return bin_x % static_cast<std::size_t>(fused.shape.n_class) * fused.class_sums() +
           fused.place_of(bin_x, finish.bins_y()[row], static_cast<int>(value));
  };
  return {plan, finish, {fused.shape.n_class, fused.shape.n_part, fused.class_sums()}, place};
}

FusedEngine::FusedEngine(const EpicPlan& plan, const FftGridded& gridded, FusedPlan fused)
    : fused_(std::move(fused)), sums_(sums_of(plan, gridded.finish, fused_)) {
  turns_.copy(fused_.turns.data(), fused_.turns.size());
  columns_.copy(fused_.columns.data(), fused_.columns.size());
  upload_lists(plan, gridded);
}

void FusedEngine::upload_lists(const EpicPlan& plan, const FftGridded& gridded) {
  const auto n_class = static_cast<std::size_t>(fused_.shape.n_class);
  std::vector<FusedLists> lists(plan.n_channel() * n_class);
  parallel_for(plan.n_threads, lists.size(), [&](std::size_t i, unsigned) {
    lists[i] = make_fused_lists(gridded.lists[i / n_class], fused_.shape, static_cast<int>(i % n_class));
  });
  std::vector<std::uint32_t> slices;
  std::vector<std::uint16_t> positions, antennas;
  std::vector<float4> weights;
  for (const FusedLists& list : lists) {
    const auto before = static_cast<std::uint32_t>(weights.size() / 32);
    for (const std::uint32_t begin : list.slices) slices.push_back(before + begin);
    positions.insert(positions.end(), list.positions.begin(), list.positions.end());
    antennas.insert(antennas.end(), list.antennas.begin(), list.antennas.end());
    weights.insert(weights.end(), list.weights.begin(), list.weights.end());
  }
  slices_.copy(slices.data(), slices.size());
  positions_.copy(positions.data(), positions.size());
  antennas_.copy(antennas.data(), antennas.size());
  if (!half()) {
    weights_.copy(weights.data(), weights.size());
    return;
  }
  std::vector<HalfWeights> rounded;
  for (const float4& w : weights)
    rounded.push_back({__floats2half2_rn(w.x, w.y), __floats2half2_rn(w.z, w.w)});
  half_weights_.copy(rounded.data(), rounded.size());
}

void FusedEngine::add_prepared(const PreparedSpectra& spectra, cudaStream_t stream) {
  FusedTask task;
  if (half()) task.scale = static_cast<float>(kLargestHalf / (spectra.largest * fused_.gain));
  task.shape = fused_.shape;
  task.n_spectra = spectra.n_spectra;
  task.first_channel = spectra.first_channel;
  task.n_channel = spectra.n_channel;
  task.samples = spectra.samples;
  task.channel_stride = static_cast<std::size_t>(spectra.n_spectra) *
                        static_cast<std::size_t>(task.shape.n_ant * task.shape.n_pol);
  task.turns = turns_.data();
  task.columns = columns_.data();
  task.slices = slices_.data();
  task.positions = positions_.data();
  task.weights = weights_.data();
  if (half()) task.weights = half_weights_.data();
  task.antennas = antennas_.data();
  task.sums = sums_.data();
  launch(task, fused_.last_radix, fused_.n_value, stream);
}

}  // namespace

std::unique_ptr<FftEngine> make_fused_engine(const EpicPlan& plan, const FftGridded& gridded,
                                             EpicPrecision precision, int device_index) {
  FusedLimits limits;
  limits.shared_bytes =
      static_cast<std::size_t>(device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, device_index));
  limits.precision = precision;
  auto fused = plan_fused(plan, gridded, limits);
  if (!fused) return nullptr;
  // Few channels: blocks share the spectra, as many for any number of them that come.
  const int n_sm = device_attribute(cudaDevAttrMultiProcessorCount, device_index);
  const int n_list = static_cast<int>(plan.n_channel()) * fused->shape.n_class;
  fused->shape.n_part = std::max(1, n_sm / n_list);
  return std::make_unique<FusedEngine>(plan, gridded, std::move(*fused));
}

}  // namespace apsyn::epic_fft
