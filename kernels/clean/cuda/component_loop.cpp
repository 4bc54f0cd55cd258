// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <limits>

#include "kernels/clean/cuda/component_loop.cuh"
#include "kernels/clean/cuda/stream_copies.cuh"
#include "libcore/base/error.h"

namespace apsyn::clean_cuda {
namespace {

constexpr std::uint32_t kCapacity = 16384;  ///< components that a launch finds at most
constexpr std::size_t kMaxPlanes = 512;     ///< that the kernel keeps a component of

}  // namespace

DeviceComponentLoop::DeviceComponentLoop(const PlaneSet& set, const SpectralFitter& fitter, int device_index,
                                         cudaStream_t stream)
    : n_plane_(set.n_plane()),
      ny_(set.ny()),
      nx_(set.nx()),
      linear_(fitter.is_linear()),
      device_index_(device_index),
      stream_(stream) {
  if (n_plane_ > kMaxPlanes || ny_ * nx_ >= std::numeric_limits<std::uint32_t>::max())
    throw DeviceError("cuda:{}: at most {} planes of fewer than 2^32 pixels can be cleaned together",
                      device_index, kMaxPlanes);
  if (!linear_ || fitter.projection().empty()) return;
  std::vector<double> projection;
  for (const auto& row : fitter.projection()) projection.insert(projection.end(), row.begin(), row.end());
  projection_ = DeviceArray<double>(projection.size());
  upload(projection_.data(), projection.data(), projection.size(), stream_);
}

LoopTask DeviceComponentLoop::task_of(const Pixels& pixels, const LoopLimits& limits, double gain) {
  LoopTask loop;
  loop.planes = pixels.planes, loop.index = pixels.index;
  loop.ny = static_cast<int>(ny_), loop.nx = static_cast<int>(nx_);
  loop.psf = pixels.psfs.table.data();
  loop.psf_ny = static_cast<int>(pixels.psfs.ny), loop.psf_nx = static_cast<int>(pixels.psfs.nx);
  loop.projection = projection_.size() > 0 ? projection_.data() : nullptr;
  loop.gain = gain;
  loop.pauses = !linear_;
  loop.level_jy = limits.level_jy, loop.divergence_jy = limits.divergence_jy;
  loop.stop_at_negative = limits.stop_at_negative;
  loop.capacity = kCapacity;
  loop.state = state_.reserve(1);
  loop.pending_flux = pending_flux_.reserve(n_plane_), loop.peak_values = peak_values_.reserve(n_plane_);
  loop.found = found_.reserve(kCapacity), loop.found_flux = found_flux_.reserve(kCapacity * n_plane_);
  loop.block_peaks = block_peaks_.reserve(2 * kMaxLoopBlocks);
  loop.block_values = block_values_.reserve(2 * kMaxLoopBlocks * n_plane_);
  return loop;
}

LoopStop DeviceComponentLoop::run(const Pixels& pixels, const LoopLimits& limits, const CleanTask& task,
                                  const Scale& scale, std::vector<SetComponent>& components) {
  LoopTask loop = task_of(pixels, limits, task.gain / scale.psf_peak);
  LoopState state;
  std::size_t left = limits.max_components;
  while (true) {
    loop.max_components =
        static_cast<std::uint32_t>(std::min<std::size_t>(left, std::numeric_limits<std::uint32_t>::max()));
    upload(loop.state, &state, 1, stream_);
    launch_loop(loop, device_index_, stream_);
    download(&state, loop.state, 1, stream_);
    state.has_pending = 0;
    left -= take(loop, state.n_found, task, scale, components);
    if (static_cast<LoopExit>(state.exit) != LoopExit::pause) return static_cast<LoopStop>(state.exit);
    if (!loop.pauses) continue;
    SetPeak peak{state.peak_index % nx_, state.peak_index / nx_, state.peak_height, state.peak_value,
                 std::vector<float>(n_plane_)};
    download(peak.residual.data(), loop.peak_values, n_plane_, stream_);
    const SetComponent component = task.component_of(peak, loop.gain);
    upload(loop.pending_flux, component.flux_jy.data(), n_plane_, stream_);
    state.has_pending = 1, state.pending_index = state.peak_index;
    task.found(scale.index, component, static_cast<double>(peak.height) * scale.bias);
    components.push_back(component);
    --left;
  }
}

/// Appends the components that a launch found to the list, and reports them to task.found.
std::size_t DeviceComponentLoop::take(const LoopTask& loop, std::size_t n, const CleanTask& task,
                                      const Scale& scale, std::vector<SetComponent>& components) {
  host_found_.resize(n), host_flux_.resize(n * n_plane_);
  download(host_found_.data(), loop.found, n, stream_);
  download(host_flux_.data(), loop.found_flux, n * n_plane_, stream_);
  for (std::size_t i = 0; i < n; ++i) {
    const auto flux = host_flux_.begin() + static_cast<std::ptrdiff_t>(i * n_plane_);
    components.push_back({host_found_[i].index % nx_, host_found_[i].index / nx_,
                          std::vector<float>(flux, flux + static_cast<std::ptrdiff_t>(n_plane_))});
    task.found(scale.index, components.back(), static_cast<double>(host_found_[i].height) * scale.bias);
  }
  return n;
}

}  // namespace apsyn::clean_cuda
