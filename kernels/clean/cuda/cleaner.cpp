// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/clean/cleaner_cuda.h"

#include <algorithm>
#include <optional>

#include "kernels/clean/clark_loop.h"
#include "kernels/clean/cuda/plane_search.cuh"
#include "kernels/clean/cuda/psf_convolver.cuh"
#include "kernels/clean/cuda/stream_copies.cuh"
#include "libcore/base/error.h"
#include "libcore/system/device.h"

namespace apsyn {

using namespace clean_cuda;

namespace {

class Cleaner final : public CudaCleaner {
 public:
  Cleaner(const PlaneSet& set, const CudaCleanSetup& setup, const ScaleMasks& masks)
      : set_(set),
        setup_(setup),
        n_plane_(set.n_plane()),
        n_pixel_(set.ny() * set.nx()),
        search_(set, stream_.get()),
        psf_(set, setup_.scales, stream_.get()),
        loop_(set, *setup.fitter, setup.device_index, stream_.get()) {
    upload_images(masks);
    if (!setup_.scales.empty()) prepare_scales();
  }

  double start_height() override { return biased(choose()); }

  LoopStop run(const CleanTask& task) override {
    task_ = &task;
    const LoopStop stop = setup_.algorithm == CleanAlgorithm::multiscale ? run_scales()
                          : setup_.algorithm == CleanAlgorithm::clark    ? run_clark()
                                                                         : run_hogbom();
    for (std::size_t plane = 0; plane < n_plane_; ++plane)
      download(set_.residual[plane].data(), residual_.data() + plane * n_pixel_, n_pixel_, stream_.get());
    return stop;
  }

 private:
  struct Scale {
    const CleanScale& shape;
    CudaConvolver::Spectrum spectrum;  ///< empty for a point
    double psf_peak = 1;
    const float* weight = nullptr;  ///< the search weight within the mask
  };
  using Choice = ScaleChoice;

  void upload_images(const ScaleMasks& masks) {
    residual_ = DeviceArray<float>(n_plane_ * n_pixel_);
    for (std::size_t plane = 0; plane < n_plane_; ++plane)
      upload(residual_.data() + plane * n_pixel_, set_.residual[plane].data(), n_pixel_, stream_.get());
    weights_.emplace_back(n_pixel_);
    upload(weights_[0].data(), set_.search_weight.data(), n_pixel_, stream_.get());
    Buffer<float, 2> masked;
    for (const Buffer<std::uint8_t, 2>& mask : masks) {
      if (setup_.scales.empty()) break;  // then it is in the search weight
      masked.resize_for_overwrite({set_.ny(), set_.nx()});
      for (std::size_t i = 0; i < n_pixel_; ++i)
        masked.data()[i] = mask.data()[i] != 0 ? set_.search_weight.data()[i] : 0;
      weights_.emplace_back(n_pixel_);
      upload(weights_.back().data(), masked.data(), n_pixel_, stream_.get());
    }
  }

  /// Prepares kernels, PSFs and biases of the scales, like Multiscale's constructor.
  void prepare_scales() {
    for (std::size_t s = 0; s < setup_.scales.size(); ++s) {
      const CleanScale& shape = setup_.scales[s];
      Scale& scale =
          scales_.emplace_back(Scale{shape, {}, 1, weights_[weights_.size() > 1 ? s + 1 : 0].data()});
      if (shape.width_pixels <= 0) continue;
      psf_.kernel_spectrum(shape, scale.spectrum);
      psf_.kernel_spectrum(shape, squared_);
      psf_.fft().multiply(squared_, scale.spectrum);
      scale.psf_peak = 0;
      DeviceArray<float> center(1);
      for (std::size_t g = 0; g < set_.n_group; ++g) {
        float value = 0;
        psf_.fft().invert_kernel_product(psf_.spectrum(g * set_.n_pol), squared_, center.data(), 1, 1);
        download(&value, center.data(), 1, stream_.get());
        scale.psf_peak += static_cast<double>(set_.weight[g]) * static_cast<double>(value);
      }
    }
  }

  LoopStop run_hogbom() {
    // every pixel is read for every component: a weight of 1 need not be
    const bool all_one =
        std::all_of(set_.search_weight.begin(), set_.search_weight.end(), [](float w) { return w == 1; });
    std::vector<SetComponent> components;
    return loop_.run(
        {search_.planes_of(residual_.data(), all_one ? nullptr : weights_[0].data()), nullptr, psf_.psfs()},
        task_->limits, *task_, {}, components);
  }

  LoopStop run_clark() {
    const SearchPlanes planes = search_.planes_of(residual_.data(), weights_[0].data());
    return run_clark_loop(
        task_->limits, [&] { return search_.heights(planes); },
        [&](float cutoff, const LoopLimits& limits, std::size_t& n_found) {
          std::vector<SetComponent> components;
          const LoopStop stop =
              loop_.run(search_.select(planes, cutoff, psf_.psfs()), limits, *task_, {}, components);
          psf_.subtract(components, nullptr, residual_.data());
          n_found = components.size();
          return stop;
        });
  }

  double biased(const Choice& choice) const {
    return static_cast<double>(choice.height) * scales_[choice.scale].shape.bias;
  }

  /// Chooses a scale like Multiscale::choose(). Leaves its smoothed image in smoothed_.
  Choice choose() {
    float* search = search_image_.reserve(n_pixel_);
    launch_search_image(search_.planes_of(residual_.data(), nullptr), search, stream_.get());
    if (scales_.size() > 1 || scales_[0].shape.width_pixels > 0)
      psf_.fft().transform(search, psf_.image_spectrum());
    const bool exact = set_.n_pol == 1;  // a mean of planes can be smoothed as well as the planes
    Choice best;
    std::vector<Choice> bounds;
    for (std::size_t s = 0; s < scales_.size(); ++s) {
      const Scale& scale = scales_[s];
      if (!(scale.psf_peak > 0)) continue;
      float* smoothed = trial_.reserve(n_pixel_);
      if (scale.shape.width_pixels > 0)
        psf_.fft().invert_product(psf_.image_spectrum(), scale.spectrum, smoothed);
      else
        cuda_check(cudaMemcpyAsync(smoothed, search, n_pixel_ * sizeof(float), cudaMemcpyDeviceToDevice,
                                   stream_.get()),
                   "copying on the device");
      const Choice choice{s, search_.highest(search_.single(smoothed, scale.weight))};
      bounds.push_back(choice);
      if (!exact || !(biased(choice) > biased(best))) continue;
      best = choice;
      std::swap(trial_, smoothed_);
    }
    if (exact) return best;
    planes_of_.reset();
    return highest_scale(
        bounds, [&](const Choice& choice) { return biased(choice); },
        [&](std::size_t s) {
          return search_.highest(search_.planes_of(smoothed_planes(s), scales_[s].weight));
        });
  }

  /// The smoothed planes; for a point, the planes themselves.
  float* smoothed_planes(std::size_t index) {
    if (scales_[index].shape.width_pixels <= 0) return residual_.data();
    if (n_plane_ == 1) return smoothed_.data();
    float* planes = smoothed_planes_.reserve(n_plane_ * n_pixel_);
    if (planes_of_ == index) return planes;
    for (std::size_t plane = 0; plane < n_plane_; ++plane) {
      psf_.fft().transform(residual_.data() + plane * n_pixel_, psf_.image_spectrum());
      psf_.fft().invert_product(psf_.image_spectrum(), scales_[index].spectrum, planes + plane * n_pixel_);
    }
    planes_of_ = index;
    return planes;
  }

  LoopStop run_scales() {
    return run_scale_loop(
        task_->limits, [&] { return choose(); }, [&](const Choice& choice) { return biased(choice); },
        [&](const Choice& choice, const LoopLimits& limits, std::size_t& n_found) {
          return clean_scale(choice, limits, n_found);
        });
  }

  /// The PSFs smoothed twice with a scale, like Multiscale::smoothed_psfs().
  const DevicePsfs& smoothed_psfs(std::size_t index) {
    if (!smoothed_psfs_.plane.empty() && smoothed_scale_ == index) return smoothed_psfs_;
    smoothed_scale_ = index;
    smoothed_psfs_.ny = 2 * set_.ny() - 1, smoothed_psfs_.nx = 2 * set_.nx() - 1;
    psf_.kernel_spectrum(scales_[index].shape, squared_);
    psf_.fft().multiply(squared_, scales_[index].spectrum);
    smoothed_psfs_.plane.clear();
    std::size_t n = 0;
    for (std::size_t plane = 0; plane < n_plane_; ++plane) {
      if (!psf_.psfs().same_as_before(plane)) {
        if (smoothed_psfs_.memory.size() == n)
          smoothed_psfs_.memory.emplace_back(smoothed_psfs_.ny * smoothed_psfs_.nx);
        psf_.fft().invert_kernel_product(psf_.spectrum(plane), squared_, smoothed_psfs_.memory[n++].data(),
                                         smoothed_psfs_.ny, smoothed_psfs_.nx);
      }
      smoothed_psfs_.plane.push_back(smoothed_psfs_.memory[n - 1].data());
    }
    upload(smoothed_psfs_.table.reserve(n_plane_), smoothed_psfs_.plane.data(), n_plane_, stream_.get());
    return smoothed_psfs_;
  }

  /// One round at one scale, like Multiscale::clean_scale().
  LoopStop clean_scale(const Choice& choice, LoopLimits limits, std::size_t& n_found) {
    const Scale& scale = scales_[choice.scale];
    const bool point = scale.shape.width_pixels <= 0;
    const DevicePsfs& psfs = point ? psf_.psfs() : smoothed_psfs(choice.scale);
    float* values = smoothed_planes(choice.scale);
    planes_of_.reset();  // they are cleaned in place
    const SearchPlanes planes = search_.planes_of(values, scale.weight);
    const auto peak = static_cast<double>(search_.highest(planes));
    limits.level_jy = std::max(limits.level_jy / scale.shape.bias, (1 - setup_.sub_minor_gain) * peak);
    limits.divergence_jy /= scale.shape.bias;
    std::vector<SetComponent> components;
    const LoopStop stop = loop_.run(search_.select(planes, static_cast<float>(limits.level_jy), psfs), limits,
                                    *task_, {choice.scale, scale.psf_peak, scale.shape.bias}, components);
    n_found = components.size();
    psf_.subtract(components, point ? nullptr : &scale.spectrum, residual_.data());
    return stop;
  }

  const PlaneSet& set_;
  CudaCleanSetup setup_;
  std::size_t n_plane_, n_pixel_;
  const CleanTask* task_ = nullptr;
  CopyStream stream_;
  PlaneSearch search_;
  PsfConvolver psf_;
  DeviceComponentLoop loop_;
  DeviceArray<float> residual_;              ///< [plane][pixel]
  std::vector<DeviceArray<float>> weights_;  ///< the search weight, then those of each scale
  std::vector<Scale> scales_;
  DevicePsfs smoothed_psfs_;
  std::size_t smoothed_scale_ = 0;
  std::optional<std::size_t> planes_of_;  ///< the scale that smoothed_planes_ are smoothed by
  CudaConvolver::Spectrum squared_;       ///< of a scale's kernel
  Upload<float> search_image_, trial_, smoothed_, smoothed_planes_;
};

}  // namespace

std::unique_ptr<CudaCleaner> make_cuda_cleaner(const PlaneSet& set, const CudaCleanSetup& setup,
                                               const ScaleMasks& masks) {
  if (setup.device_index < 0 || setup.device_index >= cuda_device_count())
    throw DeviceError("cuda:{}: there is no such device", setup.device_index);
  cuda_check(cudaSetDevice(setup.device_index), "choosing the device");
  return std::make_unique<Cleaner>(set, setup, masks);
}

}  // namespace apsyn
