// SPDX-License-Identifier: GPL-3.0-or-later
// How a set's planes are made, and where its components go.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/clean/own_planes.h"
#include "kernels/clean/set_cleaner.h"
#include "libcore/system/parallel.h"

namespace apsyn {
namespace {

/// Splits groups into ranges of neighbours in frequency, of nearly equal size.
std::vector<std::vector<std::size_t>> split(std::size_t n_group, std::size_t n_range) {
  std::vector<std::vector<std::size_t>> ranges(n_range);
  for (std::size_t g = 0; g < n_group; ++g) ranges[g * n_range / n_group].push_back(g);
  return ranges;
}

void add_scaled(View<float, 2> to, View<const float, 2> from, float scale) {
  for (std::size_t i = 0; i < to.size(); ++i) to.data()[i] += scale * from.data()[i];
}

}  // namespace

SetCleaner::SetCleaner(const DeconvolutionSettings& settings, View<const float, 4> psf,
                       const std::vector<DeconvolutionGroup>& groups, const SetPlanes& planes,
                       double beam_pixels)
    : settings_(settings),
      groups_(groups),
      planes_(planes),
      beam_pixels_(beam_pixels),
      fitter_(SpectralFit::none, 1, {{1, 1}}) {
  const std::size_t n_own = planes_.groups.size();
  const std::size_t wanted = settings_.n_deconvolution_channels;
  ranges_ = split(n_own, wanted == 0 ? n_own : std::min(wanted, n_own));
  for (const auto& range : ranges_) {
    DeconvolutionGroup mean{0, 0};
    for (const std::size_t own : range) {
      const DeconvolutionGroup& group = groups_[planes_.groups[own]];
      mean.freq_hz += group.weight * group.freq_hz;
      mean.weight += group.weight;
    }
    mean.freq_hz /= mean.weight;
    search_groups_.push_back(mean);
  }
  const bool smooth = settings_.spectral_fit != SpectralFit::none && search_groups_.size() > 1;
  fitter_ = SpectralFitter(smooth ? settings_.spectral_fit : SpectralFit::none,
                           std::min(settings_.n_spectral_terms, search_groups_.size()), search_groups_);
  for (const std::size_t g : planes_.groups)
    for (std::size_t p = 0; p < planes_.n_pol; ++p)
      psf_.push_back(psf[g][std::min(planes_.first_pol + p, psf.extent(1) - 1)]);
  search_psf_ = psf_;
  if (averages()) average_psfs(psf);
}

void SetCleaner::average_psfs(View<const float, 4> psf) {
  search_psf_.clear();
  for (std::size_t range = 0; range < ranges_.size(); ++range)
    for (std::size_t p = 0; p < planes_.n_pol; ++p) {
      if (psf.extent(1) == 1 && p > 0) {
        search_psf_.push_back(search_psf_.back());
        continue;
      }
      Buffer<float, 2> mean({psf.extent(2), psf.extent(3)});
      for (const std::size_t own : ranges_[range])
        add_scaled(mean, psf_[own * planes_.n_pol + p],
                   static_cast<float>(groups_[planes_.groups[own]].weight / search_groups_[range].weight));
      averaged_psf_.push_back(std::move(mean));
      search_psf_.push_back(averaged_psf_.back());
    }
}

std::vector<View<float, 2>> SetCleaner::average(const std::vector<View<float, 2>>& planes) {
  averaged_.resize(ranges_.size() * planes_.n_pol);
  std::vector<View<float, 2>> result;
  for (std::size_t range = 0; range < ranges_.size(); ++range)
    for (std::size_t p = 0; p < planes_.n_pol; ++p) {
      Buffer<float, 2>& mean = averaged_[range * planes_.n_pol + p];
      mean.resize(planes[0].shape());
      for (const std::size_t own : ranges_[range])
        add_scaled(mean, planes[own * planes_.n_pol + p],
                   static_cast<float>(groups_[planes_.groups[own]].weight / search_groups_[range].weight));
      result.push_back(mean);
    }
  return result;
}

void SetCleaner::apply(const Found& found, const OwnPlanes& own) {
  std::vector<Buffer<float, 2>> increments;
  if (averages())
    for (std::size_t i = 0; i < own.residual.size(); ++i) increments.emplace_back(own.residual[i].shape());
  for (const auto& [key, flux] : found) {
    const auto& [scale, y, x] = key;
    const std::vector<double> own_flux = own_group_fluxes(flux);
    std::vector<double>& total = all_found_[key];
    total.resize(own_flux.size());
    for (std::size_t i = 0; i < own_flux.size(); ++i) {
      total[i] += own_flux[i];
      const float jy = static_cast<float>(own_flux[i]);
      if (!scales_.empty()) {
        add_kernel(own.model[i], scales_[scale].kernel, x, y, jy);
        if (averages()) add_kernel(increments[i], scales_[scale].kernel, x, y, jy);
      } else {
        own.model[i](y, x) += jy;
        if (averages()) increments[i](y, x) += jy;
      }
    }
  }
  for (std::size_t i = 0; i < increments.size(); ++i)
    output_subtraction_->subtract(i, own.residual[i], increments[i]);
}

double SetCleaner::mean_flux(const std::vector<View<float, 2>>& model) const {
  double sum = 0, weight = 0;
  for (std::size_t g = 0; g < planes_.groups.size(); ++g) {
    const View<float, 2> plane = model[g * planes_.n_pol];
    std::vector<double> rows(plane.extent(0));
    parallel_for(settings_.n_threads, rows.size(), [&](std::size_t y, unsigned) {
      for (const float value : plane[y])
        if (std::isfinite(value)) rows[y] += static_cast<double>(value);
    });
    sum += groups_[planes_.groups[g]].weight * std::accumulate(rows.begin(), rows.end(), 0.0);
    weight += groups_[planes_.groups[g]].weight;
  }
  return sum / weight;
}

void SetCleaner::begin_masks(const std::vector<View<float, 2>>& model) {
  if (settings_.auto_mask_sigma == 0 || auto_mask_[0].size() > 0) return;
  Buffer<std::uint8_t, 2> used(model[0].shape());
  bool any = false;
  for (const View<float, 2>& plane : model)
    for (std::size_t i = 0; i < plane.size(); ++i)
      if (std::isfinite(plane.data()[i]) && plane.data()[i] != 0) {
        used.data()[i] = 1;
        any = true;
      }
  if (any && !scales_.empty()) {
    auto_mask_ = masks_within(scales_, used, settings_.n_threads);
  } else if (any) {
    auto_mask_[0] = std::move(used);
  } else {
    for (Buffer<std::uint8_t, 2>& mask : auto_mask_) mask.resize(model[0].shape());
  }
}

void SetCleaner::extend_masks(const Found& found) {
  if (settings_.auto_mask_sigma == 0) return;
  for (const auto& [key, flux] : found) auto_mask_[std::get<0>(key)](std::get<1>(key), std::get<2>(key)) = 1;
}

std::vector<double> SetCleaner::own_group_fluxes(const std::vector<double>& flux) const {
  const std::size_t n_own = planes_.groups.size(), n_pol = planes_.n_pol;
  std::vector<double> result(n_own * n_pol), spectrum(search_groups_.size());
  for (std::size_t p = 0; p < n_pol; ++p) {
    for (std::size_t g = 0; g < spectrum.size(); ++g) spectrum[g] = flux[g * n_pol + p];
    const std::vector<double> terms = averages() ? fitter_.fit(spectrum) : spectrum;
    for (std::size_t g = 0; g < n_own; ++g)
      result[g * n_pol + p] =
          averages() ? fitter_.evaluate(terms, groups_[planes_.groups[g]].freq_hz) : spectrum[g];
  }
  return result;
}

void SetCleaner::append_components(std::vector<ModelComponent>& to, std::size_t n_group,
                                   std::size_t n_pol) const {
  for (const auto& [key, flux] : all_found_) {
    const auto& [scale, y, x] = key;
    ModelComponent component{x, y, scales_.empty() ? 0 : scales_[scale].width_pixels,
                             std::vector<double>(n_group * n_pol)};
    for (std::size_t own = 0; own < planes_.groups.size(); ++own)
      for (std::size_t p = 0; p < planes_.n_pol; ++p)
        component.flux_jy[planes_.groups[own] * n_pol + planes_.first_pol + p] =
            flux[own * planes_.n_pol + p];
    to.push_back(std::move(component));
  }
}

}  // namespace apsyn
