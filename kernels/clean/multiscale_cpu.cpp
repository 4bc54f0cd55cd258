// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/clean/multiscale.h"

#include <algorithm>
#include <cmath>

#include "kernels/clean/clark_loop.h"
#include "libcore/core/constants.h"
#include "libcore/core/parallel.h"

namespace apsyn {

Buffer<float, 2> scale_kernel(double width_pixels) {
  if (width_pixels <= 0) {
    Buffer<float, 2> point({1, 1});
    point(0, 0) = 1;
    return point;
  }
  const auto half = static_cast<std::size_t>(std::ceil(width_pixels / 2));
  const std::size_t n = 2 * half + 1;
  Buffer<double, 2> shape({n, n});
  double sum = 0;
  for (std::size_t y = 0; y < n; ++y)
    for (std::size_t x = 0; x < n; ++x) {
      const double r = std::hypot(static_cast<double>(y) - static_cast<double>(half),
                                  static_cast<double>(x) - static_cast<double>(half));
      if (2 * r > static_cast<double>(n) + 1) continue;
      const double window = 0.5 + 0.5 * std::cos(2 * kPi * r / (static_cast<double>(n) + 1));
      shape(y, x) = window * (1 - r * r / (width_pixels * width_pixels));
      sum += shape(y, x);
    }
  Buffer<float, 2> kernel({n, n});
  for (std::size_t i = 0; i < kernel.size(); ++i)
    kernel.data()[i] = static_cast<float>(shape.data()[i] / sum);
  return kernel;
}

void add_kernel(View<float, 2> image, View<const float, 2> kernel, std::size_t x, std::size_t y, float flux) {
  const auto half_y = static_cast<std::ptrdiff_t>(kernel.extent(0) / 2),
             half_x = static_cast<std::ptrdiff_t>(kernel.extent(1) / 2);
  for (std::size_t j = 0; j < kernel.extent(0); ++j) {
    const auto row = static_cast<std::ptrdiff_t>(y + j) - half_y;
    if (row < 0 || row >= static_cast<std::ptrdiff_t>(image.extent(0))) continue;
    for (std::size_t i = 0; i < kernel.extent(1); ++i) {
      const auto column = static_cast<std::ptrdiff_t>(x + i) - half_x;
      if (column >= 0 && column < static_cast<std::ptrdiff_t>(image.extent(1)))
        image(row, column) += flux * kernel(j, i);
    }
  }
}

std::vector<double> automatic_scales(double beam_pixels, std::size_t shorter_side, std::size_t max_scales) {
  std::vector<double> widths{0};
  for (double width = 4 * beam_pixels; width > 0 && width < 0.5 * static_cast<double>(shorter_side);
       width *= 2) {
    if (max_scales != 0 && widths.size() == max_scales) break;
    widths.push_back(width);
  }
  return widths;
}

double scale_bias(double width_pixels, double bias, double beam_pixels) {
  return width_pixels <= 0 ? 1 : std::pow(bias, -1 - std::log2(width_pixels / (4 * beam_pixels)));
}

std::vector<CleanScale> make_scales(const DeconvolutionSettings& settings, double beam_pixels,
                                    std::size_t shorter_side) {
  std::vector<double> widths = settings.scales_pixels;
  if (widths.empty()) widths = automatic_scales(beam_pixels, shorter_side, settings.max_scales);
  std::vector<CleanScale> scales;
  for (const double width : widths)
    scales.push_back({width, scale_bias(width, settings.scale_bias, beam_pixels), scale_kernel(width)});
  return scales;
}

std::size_t scale_reach(const std::vector<CleanScale>& scales) {
  std::size_t reach = 0;
  for (const CleanScale& scale : scales)
    reach = std::max(reach, static_cast<std::size_t>(scale.width_pixels / 2) + 1);
  return reach;
}

Multiscale::Multiscale(const std::vector<CleanScale>& scales, const DeconvolutionSettings& settings,
                       const PlaneSet& set, PsfSubtraction& subtraction)
    : subtraction_(subtraction),
      sub_minor_gain_(settings.sub_minor_gain),
      sub_image_pixels_(settings.sub_image_pixels),
      sub_images_(scales.size()),
      psf_(set.psf) {
  const ImageConvolver& convolver = subtraction.convolver();
  for (const CleanScale& shape : scales) {
    Scale scale{shape, {}, 1};
    if (shape.width_pixels > 0) {
      scale.spectrum = convolver.transform_kernel(shape.kernel);
      Buffer<float, 2> center({1, 1});
      scale.psf_peak = 0;
      ImageConvolver::Spectrum squared = convolver.transform_kernel(shape.kernel);
      multiply(squared, scale.spectrum, settings.n_threads);
      for (std::size_t g = 0; g < set.n_group; ++g) {
        convolver.invert_kernel_product(subtraction.spectrum(g * set.n_pol), squared, center);
        scale.psf_peak += static_cast<double>(set.weight[g]) * static_cast<double>(center(0, 0));
      }
    }
    scales_.push_back(std::move(scale));
  }
}

Multiscale::Choice Multiscale::choose(const PlaneSet& set, const CleanTask& task,
                                      const Weights& weights) const {
  Buffer<float, 2> search;
  search.resize_for_overwrite({set.ny(), set.nx()});
  parallel_for(task.n_threads, set.ny(), [&](std::size_t y, unsigned) {
    search_row(set, y, {&search(y, 0), set.nx()});
  });
  ImageConvolver::Spectrum spectrum;
  if (scales_.size() > 1 || scales_[0].shape.width_pixels > 0)
    spectrum = subtraction_.convolver().transform(search);
  Choice best;
  for (std::size_t s = 0; s < scales_.size(); ++s) {
    // A scale whose PSF has no response left cannot be cleaned.
    if (!(scales_[s].psf_peak > 0)) continue;
    Buffer<float, 2> smoothed;
    smoothed.resize_for_overwrite(search.shape());
    if (scales_[s].shape.width_pixels > 0)
      subtraction_.convolver().invert_product(spectrum, scales_[s].spectrum, smoothed);
    else
      std::copy(search.begin(), search.end(), smoothed.begin());
    PlaneSet one{1, 1, {smoothed}, {}, {1.0f}, weights.of_scale[s], set.sign};
    Choice choice{s, find_set_peak(one, task.n_threads), std::move(smoothed)};
    if (biased(choice) > biased(best)) best = std::move(choice);
  }
  return best;
}

double Multiscale::biased(const Choice& choice) const {
  return static_cast<double>(choice.peak.height) * scales_[choice.scale].shape.bias;
}

const std::vector<Buffer<float, 2>>& Multiscale::smoothed_psfs(std::size_t scale, const PlaneSet& set,
                                                               const CleanTask& task) {
  if (!smoothed_psf_.empty() && psf_scale_ == scale) return smoothed_psf_;
  const Scale& own = scales_[scale];
  psf_scale_ = scale;
  smoothed_psf_.resize(psf_.size());
  ImageConvolver::Spectrum squared = subtraction_.convolver().transform_kernel(own.shape.kernel);
  multiply(squared, own.spectrum, task.n_threads);
  for (std::size_t plane = 0; plane < psf_.size(); ++plane) {
    if (plane > 0 && psf_[plane].data() == psf_[plane - 1].data()) continue;
    smoothed_psf_[plane].resize_for_overwrite({2 * set.ny() - 1, 2 * set.nx() - 1});
    subtraction_.convolver().invert_kernel_product(subtraction_.spectrum(plane), squared,
                                                   smoothed_psf_[plane]);
  }
  return smoothed_psf_;
}

LoopStop Multiscale::clean_scale(const PlaneSet& set, const CleanTask& task, const Choice& choice,
                                 View<const float, 2> weight, LoopLimits limits, std::size_t& n_found) {
  const Scale& scale = scales_[choice.scale];
  const bool point = scale.shape.width_pixels <= 0;
  const ImageConvolver& convolver = subtraction_.convolver();
  PlaneSet smoothed = set;
  smoothed.search_weight = weight;
  std::vector<Buffer<float, 2>> planes;
  if (!point) {
    const auto& psfs = smoothed_psfs(choice.scale, set, task);
    std::size_t first = 0;
    for (std::size_t plane = 0; plane < set.n_plane(); ++plane) {
      if (psfs[plane].size() > 0) first = plane;
      smoothed.psf[plane] = psfs[first];
      planes.emplace_back();
      planes.back().resize_for_overwrite({set.ny(), set.nx()});
      if (set.n_plane() == 1)
        std::copy(choice.smoothed.begin(), choice.smoothed.end(), planes.back().begin());
      else
        convolver.invert_product(convolver.transform(set.residual[plane]), scale.spectrum, planes.back());
      smoothed.residual[plane] = planes.back();
    }
  }
  // The limits of a scale are those of its peaks without the bias. Planes smoothed one by one can have a
  // lower norm than the smoothed norm that the scale was chosen by.
  const double highest = static_cast<double>(find_set_peak(smoothed, task.n_threads).height);
  const double level = std::max(limits.level_jy / scale.shape.bias, (1 - sub_minor_gain_) * highest);
  limits.divergence_jy /= scale.shape.bias;
  limits.level_jy = level;
  const SubImages* sub_images = nullptr;
  if (sub_image_pixels_ > 0) {
    std::optional<SubImages>& of_scale = sub_images_[choice.scale];
    if (!of_scale) of_scale.emplace(sub_image_pixels_, smoothed.psf, task.n_threads);
    const auto apart =
        of_scale->lowest_cutoff(smoothed, measure_heights(smoothed, kHeightLevels, task.n_threads), level);
    // The cutoff is a float: when it is the level, that one's rounding must not count.
    if (apart && *apart <= static_cast<float>(level)) sub_images = &*of_scale;
  }
  const PartsEnd end = clean_high_pixels(
      smoothed, limits,
      [&](const SetPeak& peak) { return task.component_of(peak, task.gain / scale.psf_peak); }, sub_images,
      level / highest, task.n_threads);
  std::vector<SetComponent> components;
  for (const FoundComponent& found : end.found) {
    components.push_back(found.component);
    task.found(choice.scale, found.component, found.height_jy * scale.shape.bias);
  }
  n_found = components.size();
  if (point) {
    subtraction_.subtract(set.residual, components);
    return end.stop;
  }
  Buffer<float, 2> model({set.ny(), set.nx()});
  const std::vector<SetComponent> merged = merge_components(components);
  for (std::size_t plane = 0; plane < set.n_plane(); ++plane) {
    for (const SetComponent& component : merged) model(component.y, component.x) = component.flux_jy[plane];
    ImageConvolver::Spectrum spectrum = convolver.transform(model);
    multiply(spectrum, scale.spectrum, task.n_threads);
    subtraction_.subtract(plane, set.residual[plane], spectrum);
  }
  return end.stop;
}

Multiscale::Weights Multiscale::weights_of(const PlaneSet& set, const ScaleMasks& masks) const {
  Weights weights{std::vector<Buffer<float, 2>>(masks.size()), {scales_.size(), set.search_weight}};
  for (std::size_t s = 0; s < masks.size(); ++s) {
    Buffer<float, 2>& masked = weights.masked[s];
    masked.resize({set.ny(), set.nx()});
    for (std::size_t i = 0; i < masked.size(); ++i)
      masked.data()[i] = masks[s].data()[i] != 0 ? set.search_weight.data()[i] : 0;
    weights.of_scale[s] = masked;
  }
  return weights;
}

double Multiscale::start_height(const PlaneSet& set, const CleanTask& task, const ScaleMasks& masks) const {
  return biased(choose(set, task, weights_of(set, masks)));
}

LoopStop Multiscale::run(const PlaneSet& set, const CleanTask& task, const ScaleMasks& masks) {
  const Weights weights = weights_of(set, masks);
  return run_scale_loop(
      task.limits, [&] { return choose(set, task, weights); },
      [&](const Choice& choice) { return biased(choice); },
      [&](const Choice& choice, const LoopLimits& limits, std::size_t& n_found) {
        return clean_scale(set, task, choice, weights.of_scale[choice.scale], limits, n_found);
      });
}

}  // namespace apsyn
