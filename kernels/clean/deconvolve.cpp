// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/clean/deconvolve.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "kernels/clean/cpu/multiscale.h"
#include "kernels/clean/set_cleaner.h"
#include "libcore/system/parallel.h"

namespace apsyn {
namespace {

void check(const DeconvolutionSettings& settings) {
  auto refuse = [](bool wrong, const char* what) {
    if (wrong) throw std::invalid_argument(fmt::format("Deconvolver: {}", what));
  };
  refuse(!(settings.gain > 0 && settings.gain <= 1), "the gain lies in (0, 1]");
  refuse(!(settings.cycle_gain > 0 && settings.cycle_gain <= 1), "the cycle gain lies in (0, 1]");
  refuse(!(settings.sub_minor_gain > 0 && settings.sub_minor_gain < 1), "the sub-minor gain lies in (0, 1)");
  refuse(!(settings.scale_bias > 0 && settings.scale_bias <= 1), "the scale bias lies in (0, 1]");
  refuse(!(settings.threshold_jy >= 0) || !(settings.auto_threshold_sigma >= 0) ||
             !(settings.auto_mask_sigma >= 0) || !(settings.local_rms_beams >= 0),
         "thresholds are not negative");
  refuse(!(settings.border_percent >= 0 && settings.border_percent < 50), "the border lies in [0, 50) %");
  refuse(settings.auto_mask_sigma > 0 && settings.auto_mask_sigma < settings.auto_threshold_sigma,
         "the automatic mask's threshold is the higher one");
  refuse(settings.spectral_fit != SpectralFit::none && settings.n_spectral_terms == 0,
         "a spectral fit has at least one term");
  refuse(settings.n_deconvolution_channels != 0 && !settings.join_channels,
         "only joined channels can be averaged");
}

}  // namespace

class Deconvolver::Impl {
 public:
  Impl(const DeconvolutionSettings& settings, View<const float, 4> psf,
       const std::vector<DeconvolutionGroup>& groups, const PlaneShape& shape, double beam_pixels)
      : shape_(shape), n_group_(groups.size()) {
    std::vector<std::vector<std::size_t>> together(settings.join_channels ? 1 : groups.size());
    for (std::size_t g = 0; g < groups.size(); ++g)
      if (groups[g].weight > 0) together[settings.join_channels ? 0 : g].push_back(g);
    const std::size_t n_pol = settings.join_polarizations ? shape.n_pol : 1;
    for (const auto& members : together)
      for (std::size_t p = 0; p < shape.n_pol && !members.empty(); p += n_pol)
        sets_.emplace_back(settings, psf, groups, SetPlanes{members, p, n_pol}, beam_pixels);
  }

  void set_mask(View<const std::uint8_t, 2> allowed) {
    mask_.resize(allowed.shape());
    std::copy(allowed.begin(), allowed.end(), mask_.begin());
  }

  CycleReport minor_cycle(View<float, 4> residual, View<float, 4> model) {
    CycleReport report;
    for (SetCleaner& set : sets_) {
      if (set.done()) continue;
      report.sets.push_back(set.cycle(residual, model, mask_));
      set.release(sets_.size() == 1 && !set.done());
      report.n_components += report.sets.back().n_components;
      report.unfinished |= !set.done();
      report.diverged |= report.sets.back().stop == CleanStop::divergence;
    }
    return report;
  }

  void begin_again() {
    for (SetCleaner& set : sets_) set.begin_again();
  }

  std::vector<SetReport> remains(View<float, 4> residual) {
    std::vector<SetReport> reports;
    for (SetCleaner& set : sets_) reports.push_back(set.remains(residual, mask_));
    return reports;
  }

  std::vector<ModelComponent> components() const {
    std::vector<ModelComponent> all;
    for (const SetCleaner& set : sets_) set.append_components(all, n_group_, shape_.n_pol);
    auto place = [](const ModelComponent& c) { return std::tuple(c.scale_pixels, c.y, c.x); };
    std::stable_sort(all.begin(), all.end(),
                     [&](const ModelComponent& a, const ModelComponent& b) { return place(a) < place(b); });
    std::vector<ModelComponent> merged;
    for (ModelComponent& component : all) {
      if (merged.empty() || place(merged.back()) != place(component)) {
        merged.push_back(std::move(component));
        continue;
      }
      for (std::size_t i = 0; i < component.flux_jy.size(); ++i)
        merged.back().flux_jy[i] += component.flux_jy[i];
    }
    return merged;
  }

  const PlaneShape& shape() const { return shape_; }
  std::size_t n_group() const { return n_group_; }

 private:
  PlaneShape shape_;
  std::size_t n_group_;
  Buffer<std::uint8_t, 2> mask_;
  std::vector<SetCleaner> sets_;
};

Deconvolver::Deconvolver(const DeconvolutionSettings& settings, View<const float, 4> psf,
                         const std::vector<DeconvolutionGroup>& groups, const PlaneShape& shape,
                         double beam_pixels) {
  check(settings);
  if (shape.n_pol == 0 || shape.ny == 0 || shape.nx == 0 || psf.size() == 0 || groups.empty())
    throw std::invalid_argument("Deconvolver: images, PSFs and groups must not be empty");
  if (psf.extent(0) != groups.size() || (psf.extent(1) != 1 && psf.extent(1) != shape.n_pol))
    throw std::invalid_argument("Deconvolver: a PSF per group, and per polarisation or for all, is needed");
  std::vector<std::uint8_t> finite(psf.size() / psf.extent(3));
  parallel_for(settings.n_threads, finite.size(), [&](std::size_t row, unsigned) {
    const float* pixels = psf.data() + row * psf.extent(3);
    finite[row] =
        std::all_of(pixels, pixels + psf.extent(3), [](float value) { return std::isfinite(value); });
  });
  if (std::find(finite.begin(), finite.end(), 0) != finite.end())
    throw std::invalid_argument("Deconvolver: the PSF must be finite");
  for (const DeconvolutionGroup& group : groups)
    if (!(group.weight >= 0) || (settings.spectral_fit != SpectralFit::none && !(group.freq_hz > 0)))
      throw std::invalid_argument("Deconvolver: weights are not negative, frequencies of fits positive");
  const bool scales = settings.algorithm == CleanAlgorithm::multiscale;
  if ((scales || settings.local_rms_beams > 0) && !(beam_pixels > 0))
    throw std::invalid_argument("Deconvolver: scales and local noise need the beam's width");
  impl_ = std::make_unique<Impl>(settings, psf, groups, shape, beam_pixels);
}

Deconvolver::Deconvolver(Deconvolver&&) noexcept = default;
Deconvolver::~Deconvolver() = default;

void Deconvolver::set_mask(View<const std::uint8_t, 2> allowed) {
  if (allowed.extent(0) != impl_->shape().ny || allowed.extent(1) != impl_->shape().nx)
    throw std::invalid_argument("Deconvolver: the mask must have the images' size");
  impl_->set_mask(allowed);
}

CycleReport Deconvolver::minor_cycle(View<float, 4> residual, View<float, 4> model) {
  const PlaneShape& shape = impl_->shape();
  const View<float, 4>::Shape wanted{impl_->n_group(), shape.n_pol, shape.ny, shape.nx};
  if (residual.shape() != wanted || model.shape() != wanted)
    throw std::invalid_argument("Deconvolver: residual and model must have the shape that was announced");
  return impl_->minor_cycle(residual, model);
}

void Deconvolver::begin_again() {
  impl_->begin_again();
}

std::vector<SetReport> Deconvolver::remains(View<float, 4> residual) {
  const PlaneShape& shape = impl_->shape();
  if (residual.shape() != View<float, 4>::Shape{impl_->n_group(), shape.n_pol, shape.ny, shape.nx})
    throw std::invalid_argument("Deconvolver: the residual must have the shape that was announced");
  return impl_->remains(residual);
}

std::vector<ModelComponent> Deconvolver::components() const {
  return impl_->components();
}

DeconvolverMemory Deconvolver::memory(const DeconvolutionSettings& settings, std::size_t n_groups,
                                      const PlaneShape& shape, std::size_t psf_ny, std::size_t psf_nx,
                                      double beam_pixels) {
  const std::uint64_t image = sizeof(float) * shape.ny * shape.nx;
  const bool averages =
      settings.n_deconvolution_channels != 0 && settings.n_deconvolution_channels < n_groups;
  const std::uint64_t joined = settings.join_channels ? n_groups : 1;
  const std::uint64_t searched = averages && joined > 1 ? settings.n_deconvolution_channels : joined;
  const std::uint64_t n_pol = settings.join_polarizations ? shape.n_pol : 1;
  const std::uint64_t planes = searched * n_pol, own_planes = joined * n_pol;
  const bool multiscale = settings.algorithm == CleanAlgorithm::multiscale;
  const bool one_set = joined == n_groups && n_pol == shape.n_pol;
  std::uint64_t reach_y = psf_ny / 2, reach_x = psf_nx / 2, n_scales = 1;
  std::vector<double> widths;
  if (multiscale) {
    widths = settings.scales_pixels;
    if (widths.empty()) {
      // If the beam is not known, assume the narrowest possible one, which gives the most automatic scales.
      widths = automatic_scales(beam_pixels > 0 ? beam_pixels : 1, std::min(shape.ny, shape.nx),
                                settings.max_scales);
      widths.erase(widths.begin());  // the point
    }
    n_scales = widths.size() + 1;
    for (const double width : widths) {
      reach_y = std::max(reach_y, psf_ny / 2 + static_cast<std::uint64_t>(width / 2) + 1);
      reach_x = std::max(reach_x, psf_nx / 2 + static_cast<std::uint64_t>(width / 2) + 1);
    }
  }
  const std::uint64_t spectrum = ImageConvolver::spectrum_bytes(shape.ny, shape.nx, reach_y, reach_x);
  // A few components are subtracted pixel by pixel.
  const double by_pixels = static_cast<double>(settings.max_iterations) * static_cast<double>(image);
  const bool transforms = multiscale || averages || by_pixels > 24 * static_cast<double>(spectrum);
  DeconvolverMemory memory;
  // Kept from cycle to cycle: masks, averaged PSFs, and the transforms of scales.
  if (settings.auto_mask_sigma > 0) memory.kept_bytes += n_scales * shape.ny * shape.nx;
  if (averages) memory.kept_bytes += searched * sizeof(float) * psf_ny * psf_nx;
  std::uint64_t of_scales = 0;
  if (multiscale) {
    // Spectra of PSFs, a real quarter of one for each scale's component and its smoothing, and the PSFs
    // smoothed once and twice.
    of_scales = spectrum * searched + spectrum * n_scales / 2;
    const std::uint64_t n_kept = keeps_all_scales(searched, shape.ny, shape.nx) ? n_scales : 1;
    std::sort(widths.rbegin(), widths.rend());
    for (std::size_t i = 0; i < std::min<std::size_t>(widths.size(), n_kept); ++i) {
      auto extent = [&](std::size_t n, std::size_t psf, std::uint64_t times) {
        return std::min<std::uint64_t>(2 * n, psf + times * (static_cast<std::uint64_t>(widths[i]) + 3));
      };
      for (const std::uint64_t times : {1, 2})
        of_scales +=
            sizeof(float) * searched * extent(shape.ny, psf_ny, times) * extent(shape.nx, psf_nx, times);
    }
  } else if (transforms) {
    of_scales = spectrum * searched;
  }
  memory.cycle_bytes = memory.kept_bytes + of_scales;
  if (multiscale && one_set) memory.kept_bytes += of_scales;
  // Weights, what is blank, the planes as they were when the loop began; or the image that noise is measured
  // in, and its pixels in order.
  memory.cycle_bytes += image * std::max<std::uint64_t>(planes + 2, 4);
  // Two spectra at work, and a model.
  if (transforms) memory.cycle_bytes += 2 * spectrum + image;
  // Masks of scales as weights; the planes, and their search image, smoothed, once more for a trial.
  if (multiscale) memory.cycle_bytes += image * (planes + 2 + (settings.auto_mask_sigma > 0 ? n_scales : 0));
  if (settings.local_rms_beams > 0) memory.cycle_bytes += image;
  // Averages of the residuals, what is found for each plane of its own, and the spectra of all PSFs.
  if (averages) memory.cycle_bytes += (planes + own_planes) * image + spectrum * joined;
  return memory;
}

std::string describe_excess(const SetReport& report, FluxUnit unit) {
  const double peak_jy = std::abs(report.peak_jy);
  constexpr double kMade = 1.5;  // recomputed residuals differ by what the PSF alone does not predict
  const bool reached = report.stop == CleanStop::threshold || report.stop == CleanStop::noise;
  if (!(report.threshold_jy > 0) || !(peak_jy > (reached ? kMade : 1) * report.threshold_jy)) return {};
  return fmt::format(
      "a peak of {:.4g} {unit} is left, {:.3g} times the threshold of {:.4g} {unit} (noise {:.4g} {unit})",
      report.peak_jy, peak_jy / report.threshold_jy, report.threshold_jy, report.noise_jy,
      fmt::arg("unit", name_of(unit)));
}

std::string describe_stop(const SetReport& report, FluxUnit unit) {
  switch (report.stop) {
    case CleanStop::iterations:
      return "number of iterations reached";
    case CleanStop::threshold:
      return fmt::format("threshold of {:.4g} {} reached", report.threshold_jy, name_of(unit));
    case CleanStop::noise:
      return fmt::format("noise threshold of {:.4g} {} reached", report.threshold_jy, name_of(unit));
    case CleanStop::negative:
      return "the peak is negative";
    case CleanStop::divergence:
      return fmt::format("diverging: the peak has grown from {:.4g} to {:.4g} {} within {} components",
                         report.start_peak_jy, report.peak_jy, name_of(unit), report.n_components);
    case CleanStop::cycle:
      return "time for a major cycle";
    case CleanStop::auto_mask:
      return fmt::format("threshold of the automatic mask, {:.4g} {}, reached", report.threshold_jy,
                         name_of(unit));
    case CleanStop::unexplained:
      return "no spectrum of the fit explains what is highest: take more terms or a higher threshold";
    case CleanStop::nothing_left:
      break;
  }
  return "nothing left to clean";
}

}  // namespace apsyn
