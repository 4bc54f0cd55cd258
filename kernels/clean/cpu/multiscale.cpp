// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/clean/cpu/multiscale.h"

#include <algorithm>
#include <utility>

#include "kernels/clean/clark_loop.h"
#include "libcore/system/parallel.h"

namespace apsyn {

Multiscale::Multiscale(const std::vector<CleanScale>& scales, const DeconvolutionSettings& settings,
                       const PlaneSet& set, PsfSubtraction& subtraction)
    : subtraction_(subtraction),
      smoother_(set.ny(), set.nx(), scale_reach(scales), scale_reach(scales), settings.n_threads),
      n_threads_(settings.n_threads),
      sub_minor_gain_(settings.sub_minor_gain),
      sub_image_pixels_(settings.sub_image_pixels),
      sub_images_(scales.size()),
      psf_(set.psf),
      smoothed_once_(scales.size()),
      smoothed_twice_(scales.size()) {
  for (const CleanScale& shape : scales) {
    Scale scale{shape, {}, {}, 1};
    if (shape.width_pixels > 0) {
      scale.smoothing = smoother_.transform_even_kernel(shape.kernel);
      scale.component = subtraction.convolver().transform_even_kernel(shape.kernel);
      scale.psf_peak = 0;
      for (std::size_t g = 0; g < set.n_group; ++g)
        scale.psf_peak +=
            static_cast<double>(set.weight[g]) *
            subtraction.convolver().peak_smoothed_twice(subtraction.spectrum(g * set.n_pol), scale.component);
    }
    scales_.push_back(std::move(scale));
  }
  n_psf_ = 1;
  for (std::size_t plane = 1; plane < psf_.size(); ++plane)
    n_psf_ += psf_[plane].data() != psf_[plane - 1].data();
}

double Multiscale::biased(const Choice& choice) const {
  return static_cast<double>(choice.height) * scales_[choice.scale].shape.bias;
}

Multiscale::Choice Multiscale::choose(const PlaneSet& set) {
  Work& work = *work_;
  View<float, 2> search = set.residual[0];
  if (!set.single()) {
    work.search.resize_for_overwrite({set.ny(), set.nx()});
    parallel_for(n_threads_, set.ny(), [&](std::size_t y, unsigned) {
      search_row(set, y, {&work.search(y, 0), set.nx()});
    });
    search = work.search;
  }
  const bool exact = set.n_pol == 1;  // a mean of planes can be smoothed as well as the planes
  bool transformed = false;
  Choice best;
  std::vector<Choice> bounds;
  for (std::size_t s = 0; s < scales_.size(); ++s) {
    // A scale whose PSF has no response left cannot be cleaned.
    if (!(scales_[s].psf_peak > 0)) continue;
    const bool point = scales_[s].shape.width_pixels <= 0;
    Choice choice{s, 0};
    if (point) {
      choice.height = highest_pixel({1, 1, {search}, {}, {1.0f}, work.weight[s], set.sign}, n_threads_);
    } else {
      if (!std::exchange(transformed, true))
        smoother_.transform(search, work.spectrum, subtraction_.scratch());
      work.trial.resize_for_overwrite(search.shape());
      choice.height = smoother_.convolve(work.spectrum, scales_[s].smoothing, work.trial, work.weight[s],
                                         set.sign, subtraction_.scratch());
    }
    bounds.push_back(choice);
    if (!exact || !(biased(choice) > biased(best))) continue;
    best = choice;
    if (!point) std::swap(work.trial, work.smoothed);
  }
  if (exact) return best;
  work.planes_of.reset();
  return highest_scale(
      bounds, [&](const Choice& choice) { return biased(choice); },
      [&](std::size_t s) { return highest_pixel(smoothed_planes(set, s), n_threads_); });
}

const Multiscale::Psfs& Multiscale::smoothed_psfs(Smoothed& of, unsigned times, std::size_t index,
                                                  const PlaneSet& set) {
  Smoothed::value_type& own = of[index];
  if (!own.view.empty()) return own.view;
  if (!keeps_all_scales(n_psf_, set.ny(), set.nx()))
    for (auto& other : of) other = {};
  const CleanScale& shape = scales_[index].shape;
  auto extent = [&](std::size_t n, std::size_t n_psf) {
    return std::min(2 * n - 1, n_psf + times * (shape.kernel.extent(0) - 1));
  };
  for (std::size_t plane = 0; plane < psf_.size(); ++plane) {
    if (plane > 0 && psf_[plane].data() == psf_[plane - 1].data()) {
      own.view.push_back(own.view.back());
      continue;
    }
    Buffer<float, 2>& psf = own.memory.emplace_back();
    psf.resize_for_overwrite(
        {extent(set.ny(), psf_[plane].extent(0)), extent(set.nx(), psf_[plane].extent(1))});
    subtraction_.convolver().smooth_kernel(subtraction_.spectrum(plane), scales_[index].component, times, psf,
                                           subtraction_.scratch());
    own.view.push_back(psf);
  }
  return own.view;
}

/// The smoothed planes; for a point, the planes themselves.
PlaneSet Multiscale::smoothed_planes(const PlaneSet& set, std::size_t index) {
  Work& work = *work_;
  PlaneSet smoothed = set;
  smoothed.search_weight = work.weight[index];
  if (scales_[index].shape.width_pixels <= 0) return smoothed;
  if (set.n_plane() == 1) {
    smoothed.residual[0] = work.smoothed;
    return smoothed;
  }
  const bool there = work.planes_of == index;
  work.planes.resize(set.n_plane());
  for (std::size_t plane = 0; plane < set.n_plane(); ++plane) {
    if (!there) {
      work.planes[plane].resize_for_overwrite({set.ny(), set.nx()});
      smoother_.transform(set.residual[plane], work.spectrum, subtraction_.scratch());
      smoother_.convolve(work.spectrum, scales_[index].smoothing, work.planes[plane], work.weight[index],
                         set.sign, subtraction_.scratch());
    }
    smoothed.residual[plane] = work.planes[plane];
  }
  work.planes_of = index;
  return smoothed;
}

LoopStop Multiscale::clean_scale(const PlaneSet& set, const CleanTask& task, const Choice& choice,
                                 LoopLimits limits, std::size_t& n_found) {
  const Scale& scale = scales_[choice.scale];
  PlaneSet smoothed = smoothed_planes(set, choice.scale);
  if (scale.shape.width_pixels > 0) smoothed.psf = smoothed_psfs(smoothed_twice_, 2, choice.scale, set);
  // The planes are cleaned in place.
  work_->planes_of.reset();
  // Within a scale limits apply to its peaks without the bias. The smoothed mean differs from the mean of
  // smoothed planes by rounding.
  const double highest =
      static_cast<double>(set.single() ? choice.height : highest_pixel(smoothed, n_threads_));
  const double level = std::max(limits.level_jy / scale.shape.bias, (1 - sub_minor_gain_) * highest);
  limits.divergence_jy /= scale.shape.bias;
  limits.level_jy = level;
  const SubImages* sub_images = nullptr;
  if (sub_image_pixels_ > 0) {
    std::optional<SubImages>& of_scale = sub_images_[choice.scale];
    if (!of_scale) of_scale.emplace(sub_image_pixels_, smoothed.psf, n_threads_);
    const auto apart =
        of_scale->lowest_cutoff(smoothed, measure_heights(smoothed, kHeightLevels, n_threads_), level);
    // The cutoff is a float: where it equals the level, the level's rounding must not matter.
    if (apart && *apart <= static_cast<float>(level)) sub_images = &*of_scale;
  }
  const PartsEnd end = clean_high_pixels(
      smoothed, limits,
      [&](const SetPeak& peak) { return task.component_of(peak, task.gain / scale.psf_peak); }, sub_images,
      level / highest, n_threads_);
  std::vector<SetComponent> components;
  for (const FoundComponent& found : end.found) {
    components.push_back(found.component);
    task.found(choice.scale, found.component, found.height_jy * scale.shape.bias);
  }
  n_found = components.size();
  subtract(set, choice.scale, components);
  return end.stop;
}

void Multiscale::subtract(const PlaneSet& set, std::size_t index,
                          const std::vector<SetComponent>& components) {
  const Scale& scale = scales_[index];
  if (scale.shape.width_pixels <= 0) return subtraction_.subtract(set.residual, components);
  const std::vector<SetComponent> merged = merge_components(components);
  // A large scale has few components, so they are subtracted pixel by pixel if that is cheaper. With several
  // PSFs the memory for smoothed PSFs is better used otherwise.
  const double n_pixels = static_cast<double>(set.ny() * set.nx()) * static_cast<double>(merged.size());
  if (n_psf_ == 1 && n_pixels < subtraction_.break_even())
    return subtract_directly(set.residual, smoothed_psfs(smoothed_once_, 1, index, set), merged, n_threads_);
  Buffer<float, 2>& model = work_->search;
  model.resize({set.ny(), set.nx()});
  for (std::size_t plane = 0; plane < set.n_plane(); ++plane) {
    for (const SetComponent& component : merged) model(component.y, component.x) = component.flux_jy[plane];
    subtraction_.subtract(plane, set.residual[plane], model, &scale.component);
  }
}

double Multiscale::start_height(const PlaneSet& set, const ScaleMasks& masks) {
  Work& work = work_.emplace();
  work.weight.assign(scales_.size(), set.search_weight);
  work.masked.resize(masks.size());
  for (std::size_t s = 0; s < masks.size(); ++s) {
    Buffer<float, 2>& masked = work.masked[s];
    masked.resize_for_overwrite({set.ny(), set.nx()});
    for (std::size_t i = 0; i < masked.size(); ++i)
      masked.data()[i] = masks[s].data()[i] != 0 ? set.search_weight.data()[i] : 0;
    work.weight[s] = masked;
  }
  work.first = choose(set);
  return biased(*work.first);
}

LoopStop Multiscale::run(const PlaneSet& set, const CleanTask& task) {
  const LoopStop stop = run_scale_loop(
      task.limits,
      [&] {
        const std::optional<Choice> first = std::exchange(work_->first, std::nullopt);
        return first ? *first : choose(set);
      },
      [&](const Choice& choice) { return biased(choice); },
      [&](const Choice& choice, const LoopLimits& limits, std::size_t& n_found) {
        return clean_scale(set, task, choice, limits, n_found);
      });
  work_.reset();
  return stop;
}

}  // namespace apsyn
