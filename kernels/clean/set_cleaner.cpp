// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/clean/set_cleaner.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "kernels/clean/noise.h"
#include "kernels/clean/own_planes.h"
#include "libcore/system/parallel.h"

namespace apsyn {
namespace {

constexpr double kDivergence = 2;  // times the cycle's first peak
// Measuring the noise again must lower a noise threshold by this much to be worth another cycle.
constexpr double kWorthwhile = 0.95;
// A component that removes less than this share of what it should belongs to a spectrum that the fit cannot
// follow.
constexpr double kMinShare = 1e-3;
constexpr std::size_t kProgressStep = 256;

/// Number of pixels at either end of an axis where components are not allowed.
std::size_t border_pixels(std::size_t n, double percent) {
  return static_cast<std::size_t>(std::llround(static_cast<double>(n) * percent / 100));
}

}  // namespace

void SetCleaner::make_search_weight(const PlaneSet& set, View<const std::uint8_t, 2> allowed) {
  const std::size_t ny = set.ny(), nx = set.nx();
  search_weight_.resize_for_overwrite({ny, nx});
  const bool automatic = mask_in_force_ && scales_.empty();
  const std::size_t border_y = border_pixels(ny, settings_.border_percent),
                    border_x = border_pixels(nx, settings_.border_percent);
  parallel_for(settings_.n_threads, ny, [&](std::size_t y, unsigned) {
    const bool inside = y >= border_y && y < ny - border_y;
    for (std::size_t x = 0; x < nx; ++x) {
      const bool searched = inside && x >= border_x && x < nx - border_x && blank_(y, x) == 0 &&
                            (allowed.size() == 0 || allowed(y, x) != 0) &&
                            (!automatic || auto_mask_[0](y, x) != 0);
      search_weight_(y, x) = searched ? 1 : 0;
    }
  });
}

double SetCleaner::measure_noise(const PlaneSet& set) {
  // The noise is that of the first polarisation's mean over groups, because the root of summed squares has
  // another distribution.
  PlaneSet first = set;
  first.n_pol = 1;
  first.residual.clear();
  for (std::size_t g = 0; g < set.n_group; ++g) first.residual.push_back(set.residual[g * set.n_pol]);
  Buffer<float, 2> mean;
  mean.resize_for_overwrite({set.ny(), set.nx()});
  parallel_for(settings_.n_threads, set.ny(), [&](std::size_t y, unsigned) {
    search_row(first, y, {&mean(y, 0), set.nx()});
    for (std::size_t x = 0; x < set.nx(); ++x)
      if (blank_(y, x) != 0) mean(y, x) = NAN;
  });
  if (settings_.local_rms_beams == 0) return robust_sigma(View<const float, 2>(mean), settings_.n_threads);
  const double width = std::max(3.0, settings_.local_rms_beams * beam_pixels_);
  noise_map_ = local_noise(mean, static_cast<std::size_t>(width), settings_.n_threads);
  float lowest = INFINITY;
  for (const float value : noise_map_)
    if (value > 0) lowest = std::min(lowest, value);
  return std::isfinite(lowest) ? static_cast<double>(lowest) : 0;
}

void SetCleaner::weight_by_noise(double lowest_jy) {
  if (settings_.local_rms_beams == 0) return;
  const auto lowest = static_cast<float>(lowest_jy);
  for (std::size_t i = 0; i < noise_map_.size(); ++i)
    if (noise_map_.data()[i] > lowest) search_weight_.data()[i] *= lowest / noise_map_.data()[i];
}

double SetCleaner::threshold(double noise_jy) const {
  const bool before_mask = settings_.auto_mask_sigma > 0 && !mask_in_force_;
  const double sigma = before_mask ? settings_.auto_mask_sigma : settings_.auto_threshold_sigma;
  return std::max(settings_.threshold_jy, sigma * noise_jy);
}

bool SetCleaner::mask_is_empty() const {
  return std::all_of(auto_mask_.begin(), auto_mask_.end(), [](const Buffer<std::uint8_t, 2>& mask) {
    return std::all_of(mask.begin(), mask.end(), [](std::uint8_t set) { return set == 0; });
  });
}

const ScaleMasks& SetCleaner::masks() const {
  static const ScaleMasks none;
  return mask_in_force_ ? auto_mask_ : none;
}

LoopStop SetCleaner::clean(const PlaneSet& set, const CleanTask& task) {
  if (multiscale_) return multiscale_->run(set, task);
  return settings_.algorithm == CleanAlgorithm::clark ? run_clark(set, *subtraction_, *sub_images_, task)
                                                      : run_hogbom(set, *subtraction_, task);
}

/// Made for each cycle, so that only the set at work takes the device's memory.
std::unique_ptr<CudaCleaner> SetCleaner::cuda_cleaner(const PlaneSet& set) const {
  if (!on_device()) return nullptr;
  CudaCleanSetup setup{settings_.algorithm, scales_, settings_.sub_minor_gain, &fitter_,
                       settings_.device.index};
  return make_cuda_cleaner(set, setup, masks());
}

PlaneSet SetCleaner::search_set(const OwnPlanes& own) {
  PlaneSet set;
  set.n_group = search_groups_.size();
  set.n_pol = planes_.n_pol;
  set.residual = averages() ? average(own.residual) : own.residual;
  set.psf = search_psf_;
  double weight = 0;
  for (const DeconvolutionGroup& group : search_groups_) weight += group.weight;
  for (const DeconvolutionGroup& group : search_groups_)
    set.weight.push_back(static_cast<float>(group.weight / weight));
  set.sign = settings_.negative == NegativeComponents::skip ? PeakSign::positive : PeakSign::any;
  return set;
}

void SetCleaner::prepare(const PlaneSet& set) {
  const std::size_t ny = set.ny(), nx = set.nx();
  if (!std::exchange(prepared_, true)) {
    if (settings_.algorithm == CleanAlgorithm::multiscale)
      scales_ = make_scales(settings_, beam_pixels_, std::min(ny, nx));
    auto_mask_.resize(std::max<std::size_t>(1, scales_.size()));
  }
  if (averages())
    output_subtraction_ = std::make_unique<PsfSubtraction>(psf_, ny, nx, 0, settings_.n_threads);
  if (on_device() || subtraction_) return;
  subtraction_ =
      std::make_unique<PsfSubtraction>(search_psf_, ny, nx, scale_reach(scales_), settings_.n_threads);
  sub_images_ = std::make_unique<SubImages>(scales_.empty() ? settings_.sub_image_pixels : 0, search_psf_,
                                            settings_.n_threads);
  if (!scales_.empty()) multiscale_ = std::make_unique<Multiscale>(scales_, settings_, set, *subtraction_);
}

void SetCleaner::release(bool keep_transforms) {
  for (auto* image : {&search_weight_, &noise_map_}) *image = {};
  blank_ = {};
  averaged_.clear();
  output_subtraction_.reset();
  if (keep_transforms && multiscale_) {
    subtraction_->release();
    return;
  }
  multiscale_.reset();
  sub_images_.reset();
  subtraction_.reset();
}

SetComponent SetCleaner::component_of(const PlaneSet& set, const SetPeak& peak, double gain) const {
  SetComponent component{peak.x, peak.y, std::vector<float>(peak.residual.size())};
  std::vector<double> spectrum(set.n_group);
  for (std::size_t p = 0; p < set.n_pol; ++p) {
    for (std::size_t g = 0; g < set.n_group; ++g)
      spectrum[g] = static_cast<double>(peak.residual[g * set.n_pol + p]);
    spectrum = fitter_.smooth(spectrum);
    for (std::size_t g = 0; g < set.n_group; ++g)
      component.flux_jy[g * set.n_pol + p] = static_cast<float>(gain * spectrum[g]);
  }
  return component;
}

CleanStop SetCleaner::stop_of(LoopStop stop, const SetReport& report, bool at_cycle_level) const {
  switch (stop) {
    case LoopStop::iterations:
      return CleanStop::iterations;
    case LoopStop::negative:
      return CleanStop::negative;
    case LoopStop::divergence:
      return CleanStop::divergence;
    case LoopStop::nothing_left:
      return CleanStop::nothing_left;
    case LoopStop::unexplained:
      return CleanStop::unexplained;
    case LoopStop::level:
      break;
  }
  if (at_cycle_level) return CleanStop::cycle;
  return report.threshold_jy > settings_.threshold_jy ? CleanStop::noise : CleanStop::threshold;
}

SetReport SetCleaner::report_of_planes() const {
  SetReport report;
  report.first_group = planes_.groups.front();
  report.n_groups = planes_.groups.back() + 1 - report.first_group;
  report.first_pol = planes_.first_pol;
  report.n_pols = planes_.n_pol;
  report.masked = mask_in_force_;
  report.stop = CleanStop::cycle;
  return report;
}

SetReport SetCleaner::remains(View<float, 4> residual, View<const std::uint8_t, 2> allowed) {
  SetReport report = last_ ? *last_ : report_of_planes();
  const OwnPlanes own(planes_, residual, residual, blank_, settings_.n_threads);
  PlaneSet set = search_set(own);
  make_search_weight(set, allowed);
  // With several scales, where a component of any scale may lie.
  for (std::size_t i = 0; mask_in_force_ && i < search_weight_.size(); ++i)
    if (std::none_of(auto_mask_.begin(), auto_mask_.end(),
                     [i](const Buffer<std::uint8_t, 2>& mask) { return mask.data()[i] != 0; }))
      search_weight_.data()[i] = 0;
  set.search_weight = search_weight_;
  report.noise_jy = measure_noise(set);
  weight_by_noise(report.noise_jy);
  report.threshold_jy = std::max(settings_.threshold_jy, settings_.auto_threshold_sigma * report.noise_jy);
  report.peak_jy = static_cast<double>(highest_pixel(set, settings_.n_threads));
  release(true);
  return report;
}

SetReport SetCleaner::cycle(View<float, 4> residual, View<float, 4> model,
                            View<const std::uint8_t, 2> allowed) {
  SetReport report = report_of_planes();
  const OwnPlanes own(planes_, residual, model, blank_, settings_.n_threads);
  PlaneSet set = search_set(own);
  prepare(set);
  begin_masks(own.model);
  make_search_weight(set, allowed);
  set.search_weight = search_weight_;
  const double start_noise_jy = measure_noise(set);
  weight_by_noise(start_noise_jy);
  report.threshold_jy = threshold(start_noise_jy);
  const SetPeak start = find_set_peak(set, settings_.n_threads);
  report.start_peak_jy = static_cast<double>(start.value);
  Found found;
  CleanTask task{{}, {}, {}, settings_.gain, settings_.n_threads};
  const std::unique_ptr<CudaCleaner> device = cuda_cleaner(set);
  auto height = static_cast<double>(start.height);
  if (!scales_.empty()) height = device ? device->start_height() : multiscale_->start_height(set, masks());
  const double cycle_level = (1 - settings_.cycle_gain) * height;
  task.limits = {std::max(report.threshold_jy, cycle_level), kDivergence * height,
                 settings_.max_iterations - n_total_, settings_.negative == NegativeComponents::stop,
                 kMinShare * settings_.gain};
  task.component_of = [&](const SetPeak& peak, double gain) { return component_of(set, peak, gain); };
  task.found = [&](std::size_t scale, const SetComponent& component, double height_jy) {
    std::vector<double>& flux = found[{scale, component.y, component.x}];
    flux.resize(component.flux_jy.size());
    for (std::size_t i = 0; i < flux.size(); ++i) flux[i] += static_cast<double>(component.flux_jy[i]);
    if (settings_.progress && (n_total_ + report.n_components) % kProgressStep == 0)
      settings_.progress(n_total_ + report.n_components, height_jy);
    ++report.n_components;
  };
  report.stop =
      stop_of(device ? device->run(task) : clean(set, task), report, cycle_level > report.threshold_jy);
  report.n_total = n_total_ += report.n_components;
  const SetPeak end = find_set_peak(set, settings_.n_threads);
  report.peak_jy = static_cast<double>(end.value);
  // Sidelobes count as noise, so removing some may lower the threshold and reveal more.
  report.noise_jy = settings_.local_rms_beams > 0 ? start_noise_jy : measure_noise(set);
  const double now = threshold(report.noise_jy);
  if (report.stop == CleanStop::noise &&
      now<kWorthwhile * report.threshold_jy&& static_cast<double>(end.height)> now)
    report.stop = CleanStop::cycle;
  // Nothing would be different in the next cycle.
  if (report.stop == CleanStop::cycle && report.n_components == 0) report.stop = CleanStop::nothing_left;
  const bool low = report.stop == CleanStop::noise || report.stop == CleanStop::threshold;
  apply(found, own);
  extend_masks(found);
  report.model_flux_jy = mean_flux(own.model);
  // An empty mask would forbid all further components, so the mask is not used: what is left is noise.
  if (low && settings_.auto_mask_sigma > 0 && !mask_in_force_ && !mask_is_empty()) {
    mask_in_force_ = true;
    report.stop = CleanStop::auto_mask;
  }
  last_ = report;
  done_ = report.stop != CleanStop::cycle && report.stop != CleanStop::auto_mask;
  return report;
}

}  // namespace apsyn
