// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/clean/cleaner_cuda.h"

#include "libcore/core/error.h"

#ifdef APSYN_CUDA
#include <algorithm>
#include <optional>

#include "kernels/clean/clark_loop.h"
#include "kernels/clean/component_loop.cuh"
#include "kernels/clean/image_convolver.cuh"
#include "kernels/clean/stream_copies.cuh"
#include "libcore/core/device.h"
#endif

namespace apsyn {

#ifdef APSYN_CUDA

using namespace clean_cuda;

namespace {

class Cleaner final : public CudaCleaner {
 public:
  Cleaner(const PlaneSet& set, const CudaCleanSetup& setup, const ScaleMasks& masks)
      : set_(set),
        setup_(setup),
        n_plane_(set.n_plane()),
        n_pixel_(set.ny() * set.nx()),
        loop_(set, *setup.fitter, setup.device_index, stream_.get()) {
    upload_images(masks);
    upload_psfs();
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
  struct Choice {
    std::size_t scale = 0;
    float height = 0;  ///< of the smoothed residual, not biased
  };
  void upload_images(const ScaleMasks& masks) {
    residual_ = DeviceArray<float>(n_plane_ * n_pixel_);
    for (std::size_t plane = 0; plane < n_plane_; ++plane)
      upload(residual_.data() + plane * n_pixel_, set_.residual[plane].data(), n_pixel_, stream_.get());
    group_weight_ = DeviceArray<float>(set_.weight.size());
    upload(group_weight_.data(), set_.weight.data(), set_.weight.size(), stream_.get());
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

  void upload_psfs() {
    psfs_.ny = set_.psf[0].extent(0), psfs_.nx = set_.psf[0].extent(1);
    for (std::size_t plane = 0; plane < n_plane_; ++plane) {
      if (plane > 0 && set_.psf[plane].data() == set_.psf[plane - 1].data()) {
        psfs_.plane.push_back(psfs_.plane.back());
        continue;
      }
      psfs_.memory.emplace_back(psfs_.ny * psfs_.nx);
      upload(psfs_.memory.back().data(), set_.psf[plane].data(), psfs_.ny * psfs_.nx, stream_.get());
      psfs_.plane.push_back(psfs_.memory.back().data());
    }
    upload(psfs_.table.reserve(n_plane_), psfs_.plane.data(), n_plane_, stream_.get());
  }

  CudaConvolver& convolver() {
    if (!convolver_) {
      const std::size_t reach = scale_reach(setup_.scales);
      convolver_.emplace(set_.ny(), set_.nx(), psfs_.ny / 2 + reach, psfs_.nx / 2 + reach, stream_.get());
      psf_spectra_.resize(n_plane_);
    }
    return *convolver_;
  }

  const CudaConvolver::Spectrum& psf_spectrum(std::size_t plane) {
    CudaConvolver& fft = convolver();
    while (psfs_.same_as_before(plane)) --plane;
    if (psf_spectra_[plane].size() == 0)
      fft.transform_kernel(psfs_.plane[plane], psfs_.ny, psfs_.nx, psf_spectra_[plane]);
    return psf_spectra_[plane];
  }

  void kernel_spectrum(const CleanScale& scale, CudaConvolver::Spectrum& out) {
    const std::size_t n = scale.kernel.extent(0);
    upload(kernel_.reserve(n * n), scale.kernel.data(), n * n, stream_.get());
    convolver().transform_kernel(kernel_.data(), n, n, out);
  }

  /// As Multiscale's constructor.
  void prepare_scales() {
    for (std::size_t s = 0; s < setup_.scales.size(); ++s) {
      const CleanScale& shape = setup_.scales[s];
      Scale& scale =
          scales_.emplace_back(Scale{shape, {}, 1, weights_[weights_.size() > 1 ? s + 1 : 0].data()});
      if (shape.width_pixels <= 0) continue;
      kernel_spectrum(shape, scale.spectrum);
      kernel_spectrum(shape, squared_);
      convolver().multiply(squared_, scale.spectrum);
      scale.psf_peak = 0;
      DeviceArray<float> center(1);
      for (std::size_t g = 0; g < set_.n_group; ++g) {
        float value = 0;
        convolver().invert_kernel_product(psf_spectrum(g * set_.n_pol), squared_, center.data(), 1, 1);
        download(&value, center.data(), 1, stream_.get());
        scale.psf_peak += static_cast<double>(set_.weight[g]) * static_cast<double>(value);
      }
    }
  }

  SearchPlanes planes_of(float* values, const float* weight) const {
    return {values,
            n_pixel_,
            static_cast<std::uint32_t>(n_pixel_),
            static_cast<int>(set_.n_group),
            static_cast<int>(set_.n_pol),
            group_weight_.data(),
            weight,
            set_.sign == PeakSign::positive};
  }
  /// One plane that is searched as it is.
  SearchPlanes single(float* values, const float* weight) {
    if (one_.size() == 0) {
      const float one = 1;
      one_ = DeviceArray<float>(1);
      upload(one_.data(), &one, 1, stream_.get());
    }
    SearchPlanes planes = planes_of(values, weight);
    planes.n_group = planes.n_pol = 1, planes.group_weight = one_.data();
    return planes;
  }

  float highest(const SearchPlanes& planes) {
    PeakKey key = 0;
    clear(peak_.reserve(1), 1, stream_.get());
    launch_peak(planes, peak_.data(), stream_.get());
    download(&key, peak_.data(), 1, stream_.get());
    return height_of(key);
  }

  LoopStop run_hogbom() {
    // every pixel is read for every component: a weight of 1 need not be
    const bool all_one =
        std::all_of(set_.search_weight.begin(), set_.search_weight.end(), [](float w) { return w == 1; });
    std::vector<SetComponent> components;
    return loop_.run({planes_of(residual_.data(), all_one ? nullptr : weights_[0].data()), nullptr, psfs_},
                     task_->limits, *task_, {}, components);
  }

  Heights heights(const SearchPlanes& planes) {
    Heights heights{highest(planes), std::vector<std::size_t>(kHeightLevels)};
    if (heights.highest == 0) return heights;
    std::vector<std::uint32_t> counts(kHeightLevels);
    clear(counts_.reserve(kHeightLevels), kHeightLevels, stream_.get());
    launch_levels(planes, heights.highest, kHeightLevels, counts_.data(), stream_.get());
    download(counts.data(), counts_.data(), counts.size(), stream_.get());
    std::size_t sum = 0;
    for (std::size_t level = 0; level < kHeightLevels; ++level) heights.n_above[level] = sum += counts[level];
    return heights;
  }

  LoopStop run_clark() {
    const SearchPlanes planes = planes_of(residual_.data(), weights_[0].data());
    return run_clark_loop(
        task_->limits, [&] { return heights(planes); },
        [&](float cutoff, const LoopLimits& limits, std::size_t& n_found) {
          std::vector<SetComponent> components;
          const LoopStop stop = loop_.run(select(planes, cutoff, psfs_), limits, *task_, {}, components);
          subtract(components, nullptr);
          n_found = components.size();
          return stop;
        });
  }

  DeviceComponentLoop::Pixels select(const SearchPlanes& planes, float cutoff, const DevicePsfs& psfs) {
    Selection to;
    to.cutoff = cutoff;
    to.count = counts_.reserve(kHeightLevels);
    clear(to.count, 1, stream_.get());
    launch_select(planes, to, stream_.get());
    download(&to.capacity, to.count, 1, stream_.get());
    const std::size_t n = std::max(to.capacity, 1u);
    to.index = active_index_.reserve(n);
    to.values = active_values_.reserve(n * n_plane_);
    to.search_weight = active_weight_.reserve(n);
    clear(to.count, 1, stream_.get());
    launch_select(planes, to, stream_.get());
    SearchPlanes active = planes;
    active.values = to.values, active.stride = to.capacity, active.n_pixel = to.capacity;
    active.search_weight = to.search_weight;
    return {active, to.index, psfs};
  }

  /// residual -= components (*) kernel (*) PSF, null: without a kernel.
  void subtract(const std::vector<SetComponent>& components, const CudaConvolver::Spectrum* kernel) {
    if (components.empty()) return;
    const std::vector<SetComponent> merged = merge_components(components);
    std::vector<std::uint32_t> index;
    std::vector<float> flux;
    for (const SetComponent& component : merged) {
      index.push_back(static_cast<std::uint32_t>(component.y * set_.nx() + component.x));
      flux.insert(flux.end(), component.flux_jy.begin(), component.flux_jy.end());
    }
    upload(merged_index_.reserve(index.size()), index.data(), index.size(), stream_.get());
    upload(merged_flux_.reserve(flux.size()), flux.data(), flux.size(), stream_.get());
    CudaConvolver& fft = convolver();
    float* model = model_.reserve(n_pixel_);
    clear(model, n_pixel_, stream_.get());
    for (std::size_t plane = 0; plane < n_plane_; ++plane) {
      launch_scatter(merged_index_.data(), merged_flux_.data() + plane, n_plane_,
                     static_cast<std::uint32_t>(index.size()), model, stream_.get());
      fft.transform(model, spectrum_);
      if (kernel != nullptr) fft.multiply(spectrum_, *kernel);
      fft.subtract_product(spectrum_, psf_spectrum(plane), residual_.data() + plane * n_pixel_);
    }
  }

  double biased(const Choice& choice) const {
    return static_cast<double>(choice.height) * scales_[choice.scale].shape.bias;
  }

  /// As Multiscale::choose(); the smoothed image of the choice is smoothed_.
  Choice choose() {
    float* search = search_.reserve(n_pixel_);
    launch_search_image(planes_of(residual_.data(), nullptr), search, stream_.get());
    if (scales_.size() > 1 || scales_[0].shape.width_pixels > 0) convolver().transform(search, spectrum_);
    Choice best;
    for (std::size_t s = 0; s < scales_.size(); ++s) {
      const Scale& scale = scales_[s];
      if (!(scale.psf_peak > 0)) continue;
      float* smoothed = trial_.reserve(n_pixel_);
      if (scale.shape.width_pixels > 0)
        convolver().invert_product(spectrum_, scale.spectrum, smoothed);
      else
        cuda_check(cudaMemcpyAsync(smoothed, search, n_pixel_ * sizeof(float), cudaMemcpyDeviceToDevice,
                                   stream_.get()),
                   "copying on the device");
      const Choice choice{s, highest(single(smoothed, scale.weight))};
      if (!(biased(choice) > biased(best))) continue;
      best = choice;
      std::swap(trial_, smoothed_);
    }
    return best;
  }

  LoopStop run_scales() {
    return run_scale_loop(
        task_->limits, [&] { return choose(); }, [&](const Choice& choice) { return biased(choice); },
        [&](const Choice& choice, const LoopLimits& limits, std::size_t& n_found) {
          return clean_scale(choice, limits, n_found);
        });
  }

  /// As Multiscale::smoothed_psfs().
  const DevicePsfs& smoothed_psfs(std::size_t index) {
    if (!smoothed_psfs_.plane.empty() && smoothed_scale_ == index) return smoothed_psfs_;
    smoothed_scale_ = index;
    smoothed_psfs_.ny = 2 * set_.ny() - 1, smoothed_psfs_.nx = 2 * set_.nx() - 1;
    kernel_spectrum(scales_[index].shape, squared_);
    convolver().multiply(squared_, scales_[index].spectrum);
    smoothed_psfs_.plane.clear();
    std::size_t n = 0;
    for (std::size_t plane = 0; plane < n_plane_; ++plane) {
      if (!psfs_.same_as_before(plane)) {
        if (smoothed_psfs_.memory.size() == n)
          smoothed_psfs_.memory.emplace_back(smoothed_psfs_.ny * smoothed_psfs_.nx);
        convolver().invert_kernel_product(psf_spectrum(plane), squared_, smoothed_psfs_.memory[n++].data(),
                                          smoothed_psfs_.ny, smoothed_psfs_.nx);
      }
      smoothed_psfs_.plane.push_back(smoothed_psfs_.memory[n - 1].data());
    }
    upload(smoothed_psfs_.table.reserve(n_plane_), smoothed_psfs_.plane.data(), n_plane_, stream_.get());
    return smoothed_psfs_;
  }

  /// As Multiscale::clean_scale().
  LoopStop clean_scale(const Choice& choice, LoopLimits limits, std::size_t& n_found) {
    const Scale& scale = scales_[choice.scale];
    const bool point = scale.shape.width_pixels <= 0;
    const DevicePsfs& psfs = point ? psfs_ : smoothed_psfs(choice.scale);
    float* values = residual_.data();
    if (!point && n_plane_ == 1) values = smoothed_.data();
    if (!point && n_plane_ > 1) {
      values = smoothed_planes_.reserve(n_plane_ * n_pixel_);
      for (std::size_t plane = 0; plane < n_plane_; ++plane) {
        convolver().transform(residual_.data() + plane * n_pixel_, spectrum_);
        convolver().invert_product(spectrum_, scale.spectrum, values + plane * n_pixel_);
      }
    }
    const SearchPlanes planes = planes_of(values, scale.weight);
    const auto peak = static_cast<double>(highest(planes));
    limits.level_jy = std::max(limits.level_jy / scale.shape.bias, (1 - setup_.sub_minor_gain) * peak);
    limits.divergence_jy /= scale.shape.bias;
    std::vector<SetComponent> components;
    const LoopStop stop = loop_.run(select(planes, static_cast<float>(limits.level_jy), psfs), limits, *task_,
                                    {choice.scale, scale.psf_peak, scale.shape.bias}, components);
    n_found = components.size();
    subtract(components, point ? nullptr : &scale.spectrum);
    return stop;
  }

  const PlaneSet& set_;
  CudaCleanSetup setup_;
  std::size_t n_plane_, n_pixel_;
  const CleanTask* task_ = nullptr;
  CopyStream stream_;
  DeviceComponentLoop loop_;
  DeviceArray<float> residual_, group_weight_, one_;  ///< residual_ [plane][pixel]
  std::vector<DeviceArray<float>> weights_;           ///< the search weight, then those of each scale
  DevicePsfs psfs_, smoothed_psfs_;
  std::size_t smoothed_scale_ = 0;
  std::optional<CudaConvolver> convolver_;
  std::vector<CudaConvolver::Spectrum> psf_spectra_;  ///< [plane], where it differs from the one before
  std::vector<Scale> scales_;
  CudaConvolver::Spectrum spectrum_, squared_;
  Upload<float> kernel_, model_, search_, trial_, smoothed_, smoothed_planes_;
  Upload<PeakKey> peak_;
  Upload<std::uint32_t> counts_, active_index_, merged_index_;
  Upload<float> active_values_, active_weight_, merged_flux_;
};

}  // namespace

std::unique_ptr<CudaCleaner> make_cuda_cleaner(const PlaneSet& set, const CudaCleanSetup& setup,
                                               const ScaleMasks& masks) {
  if (setup.device_index < 0 || setup.device_index >= cuda_device_count())
    throw DeviceError("cuda:{}: there is no such device", setup.device_index);
  cuda_check(cudaSetDevice(setup.device_index), "choosing the device");
  return std::make_unique<Cleaner>(set, setup, masks);
}

#else

std::unique_ptr<CudaCleaner> make_cuda_cleaner(const PlaneSet&, const CudaCleanSetup& setup,
                                               const ScaleMasks&) {
  throw DeviceError("cuda:{}: this build has no CUDA: use --device cpu, or build with -DAPSYN_CUDA=ON",
                    setup.device_index);
}

#endif

}  // namespace apsyn
