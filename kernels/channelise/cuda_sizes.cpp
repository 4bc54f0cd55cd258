// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/channelise/cuda_sizes.h"

#include <algorithm>

#include "kernels/channelise/input_scales.h"
#include "kernels/channelise/placement.h"

namespace apsyn {

namespace f_stage {

std::size_t good_spectra(const ChannelisePlan& plan) {
  return std::clamp<std::size_t>((std::size_t{1} << 18) / plan.n_sample, 1, 64);
}

std::size_t rest_samples(const CudaChannelisePlan& plan, std::int64_t max_shift) {
  const auto length = static_cast<std::int64_t>(plan.f.n_sample);
  const std::int64_t window =
      plan.requantisation.n_bit == 0 ? 0 : requantise_window_spectra(length, plan.n_spectra);
  const auto good = static_cast<std::int64_t>(good_spectra(plan.f));
  return static_cast<std::size_t>((good + window + 2) * length + 2 * max_shift) + plan.f.n_span();
}

std::size_t placement_bytes(const CudaChannelisePlan& plan) {
  return plan.f.n_ant * (sizeof(Placement) + (plan.integer ? 0 : plan.f.n_chan));
}

}  // namespace f_stage

using namespace f_stage;

namespace {

constexpr std::size_t kMaxSpectra = 65536 - 64;

std::size_t row_bytes(const CudaChannelisePlan& plan) {
  const std::size_t values = plan.f.n_chan * plan.f.n_ant * plan.f.n_pol;
  if (!plan.integer) return values * plan.f.values_per_sample() * sizeof(float);
  return plan.four_bit ? values : values * plan.f.values_per_sample();
}

}  // namespace

std::size_t cuda_max_spectra(const CudaChannelisePlan& plan) {
  const std::size_t per_gulp = plan.gulp_samples / plan.f.n_sample + 2 * good_spectra(plan.f);
  return std::min(kMaxSpectra, (per_gulp + 63) / 64 * 64);
}

std::size_t cuda_gulp_samples(const CudaChannelisePlan& plan, std::uint64_t bytes, std::int64_t n_samples) {
  const std::size_t least = good_spectra(plan.f) * plan.f.n_sample;
  std::uint64_t samples = bytes / row_bytes(plan);
  if (n_samples >= 0) samples = std::min(samples, static_cast<std::uint64_t>(n_samples));
  return std::max<std::size_t>(least, static_cast<std::size_t>(samples));
}

std::uint64_t cuda_channeliser_host_bytes(const CudaChannelisePlan& plan) {
  return 2 * plan.gulp_samples * row_bytes(plan) + 2 * cuda_max_spectra(plan) * placement_bytes(plan) +
         InputScales::bytes(plan.f);
}

std::uint64_t cuda_channeliser_device_bytes(const CudaChannelisePlan& plan) {
  return 2 * (plan.gulp_samples + rest_samples(plan, static_cast<std::int64_t>(plan.f.n_span()))) *
             row_bytes(plan) +
         2 * cuda_max_spectra(plan) * placement_bytes(plan) + kStepBytes;
}

}  // namespace apsyn
