// SPDX-License-Identifier: GPL-3.0-or-later
// Cotton-Schwab CLEAN (Schwab 1984, AJ 89, 1076): components are found in the residual images with the PSF
// alone until the peak has fallen by --mgain; then the whole model is predicted, subtracted from the
// visibilities, and what is left becomes the next residual images. Where processes share the work, the first
// one finds the components, and all predict and grid.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernels/clean/deconvolve.h"
#include "tools/imaging/field_images.h"
#include "tools/imaging/residual_source.h"

namespace apsyn::imaging {

/// Everything of one run: groups that have data, and each field's images of them.
struct Sky {
  std::vector<PreparedGroup> groups;
  std::vector<std::size_t> group_numbers;  ///< of those, among all of --channels-out
  std::vector<Field> fields;
  std::vector<FieldImages> images;  ///< [field]
};

/// Where the beam is too weak in any group there are no components.
inline Buffer<std::uint8_t, 2> allowed_pixels(const FieldImages& field, const Buffer<std::uint8_t, 2>& mask) {
  Buffer<std::uint8_t, 2> allowed({field.n_y(), field.n_x()});
  for (std::size_t i = 0; i < allowed.size(); ++i)
    allowed.data()[i] = mask.size() == 0 || mask.data()[i] != 0 ? 1 : 0;
  for (std::size_t g = 0; field.beam.size() > 0 && g < field.n_groups(); ++g) {
    const View<const double, 2> beam = field.beam.view()[g];
    const double least = field.min_beam(g);
    for (std::size_t i = 0; i < allowed.size(); ++i)
      if (!(beam.data()[i] > least)) allowed.data()[i] = 0;
  }
  return allowed;
}

/// Residual images of one group: data less the model that the first process has, and where it has them.
inline void make_residuals(Imager& imager, Sky& sky, std::size_t g, ImagingSource& data,
                           const std::string& folder) {
  std::vector<Buffer<double, 3>> models;
  for (std::size_t f = 0; f < sky.fields.size(); ++f) {
    if (imager.ranks.root())
      models.push_back(true_model(sky.images[f], g, imager.threads()));
    else
      models.emplace_back(
          std::array{imager.planes.size(), imager.options.imaging.n_y, imager.options.imaging.n_x});
    broadcast(std::span(models[f].data(), models[f].size()));
  }
  imager.tool.stage("predict");
  ResidualSource residuals(imager, sky.groups[g], sky.fields, data, models, folder);
  models.clear();
  const auto sums = make_images(imager, sky.groups[g], sky.fields, residuals);
  if (!imager.ranks.root()) return;
  for (std::size_t f = 0; f < sky.fields.size(); ++f) take_sums(sums[f], imager, g, sky.images[f]);
}

/// What the first process tells the others to do next.
struct CycleOrder {
  std::vector<std::uint8_t> changed;  ///< [group] whether its residuals are to be made
  bool ended = false;

  explicit CycleOrder(std::size_t n_groups) : changed(n_groups, 0) {}
  void share() {
    broadcast(ended);
    broadcast(std::span(changed));
  }
};

inline double highest(View<const float, 4> image, unsigned n_threads) {
  std::vector<float> peaks(image.size() / image.extent(3));
  parallel_for(n_threads, peaks.size(), [&](std::size_t row, unsigned) {
    const float* pixels = image.data() + row * image.extent(3);
    for (std::size_t x = 0; x < image.extent(3); ++x)
      peaks[row] = std::max(peaks[row], std::abs(pixels[x]));  // NaN compares false and is passed over
  });
  return static_cast<double>(*std::max_element(peaks.begin(), peaks.end()));
}

/// How the loop ended.
struct LoopReport {
  std::size_t n_cycles = 0, n_components = 0;
};

/// `mask` [y][x] of the first field, or empty.
class MajorCycles {
 public:
  MajorCycles(Imager& imager, Sky& sky, ImagingSource& data, const DeconvolutionSettings& settings,
              const std::vector<double>& beam_pixels, const Buffer<std::uint8_t, 2>& mask,
              const std::string& folder)
      : imager_(imager),
        sky_(sky),
        data_(data),
        settings_(settings),
        folder_(folder),
        order_(sky.groups.size()) {
    unfinished_.assign(sky.fields.size(), true);
    lowest_.assign(sky.fields.size(), 0);
    settings_.progress = [this](std::size_t n, double peak_jy) { show(n, peak_jy); };
    for (std::size_t f = 0; f < sky.fields.size(); ++f) {
      const FieldImages& field = sky.images[f];
      std::vector<DeconvolutionGroup>& groups = groups_.emplace_back();
      for (std::size_t g = 0; g < sky.groups.size(); ++g)
        groups.push_back({sky.groups[g].group.centre_hz(), field.weight(g, 0)});
      deconvolvers_.emplace_back(settings_, field.psf, groups,
                                 PlaneShape{field.n_planes(), field.n_y(), field.n_x()}, beam_pixels[f]);
      static const Buffer<std::uint8_t, 2> no_mask;  // `mask` is of the first field
      deconvolvers_[f].set_mask(allowed_pixels(field, f == 0 ? mask : no_mask));
    }
  }

  LoopReport run(std::size_t max_cycles) {
    LoopReport report;
    for (bool unfinished = true; unfinished && report.n_cycles < max_cycles;) {
      ++report.n_cycles;
      unfinished = minor_cycles(report);
      order_.share();
      for (std::size_t g = 0; g < sky_.groups.size(); ++g)
        if (order_.changed[g]) make_residuals(imager_, sky_, g, data_, folder_);
      if (unfinished && report.n_cycles == max_cycles)
        log_info("stopped after {} major cycles (--nmiter)", max_cycles);
    }
    order_.ended = true;
    order_.share();
    warn_of_excess(report.n_cycles >= max_cycles);
    return report;
  }

  /// What was found in a field.
  std::vector<ModelComponent> components(std::size_t f) const { return deconvolvers_[f].components(); }
  const std::vector<DeconvolutionGroup>& groups(std::size_t f) const { return groups_[f]; }

 private:
  /// Whether there is more to do.
  bool minor_cycles(LoopReport& loop) {
    imager_.tool.stage("clean");
    progress_.emplace(imager_.tool, fmt::format("cycle {}", loop.n_cycles), 0, "components");
    std::fill(order_.changed.begin(), order_.changed.end(), std::uint8_t{0});
    bool unfinished = false;
    // A field whose peak others' sidelobes may reach waits until those are cleaned as deep.
    double peak = 0;
    for (std::size_t f = 0; f < sky_.fields.size(); ++f)
      if (unfinished_[f]) peak = std::max(peak, highest(sky_.images[f].residual, imager_.threads()));
    for (std::size_t f = 0; f < sky_.fields.size(); ++f) {
      FieldImages& field = sky_.images[f];
      if (!unfinished_[f]) continue;
      const double start = highest(field.residual, imager_.threads());
      if (lowest_[f] > 0 && start > 2 * lowest_[f]) {
        diverged_ = true;
        continue;
      }
      lowest_[f] = lowest_[f] > 0 ? std::min(lowest_[f], start) : start;
      if (start < (1 - settings_.cycle_gain) * peak) {
        unfinished = true;
        continue;
      }
      const CycleReport report = deconvolvers_[f].minor_cycle(field.residual, field.model);
      for (const SetReport& set : report.sets) {
        if (set.n_components == 0) continue;
        for (std::size_t g = set.first_group; g < set.first_group + set.n_groups; ++g) order_.changed[g] = 1;
        tell(loop.n_cycles, f, set);
      }
      loop.n_components += report.n_components;
      unfinished_[f] = report.unfinished;
      unfinished = unfinished || report.unfinished;
      diverged_ = diverged_ || report.diverged;
    }
    progress_.reset();
    if (diverged_) log_warning("CLEAN diverged: use a mask, a lower --gain or --mgain, or fewer iterations");
    return unfinished && !diverged_;
  }

  /// " field 1 group 0 Q", as far as there are others.
  std::string name_of(std::size_t f, const SetReport& set) const {
    std::string which = sky_.fields[f].suffix;
    if (!which.empty()) which = " field " + which.substr(2);
    if (sky_.groups.size() > 1 && set.n_groups < sky_.groups.size())
      which += fmt::format(" group {}", sky_.group_numbers[set.first_group]);
    if (imager_.planes.size() > 1 && set.n_pols < imager_.planes.size())
      which += " " + imager_.planes[set.first_pol].name;
    return which;
  }

  /// Says how far above its threshold each set has ended.
  void warn_of_excess(bool all_cycles) {
    for (std::size_t f = 0; f < deconvolvers_.size(); ++f)
      for (const SetReport& set : deconvolvers_[f].remains(sky_.images[f].residual)) {
        const std::string excess = describe_excess(set);
        if (excess.empty()) continue;
        const bool cut = set.stop == CleanStop::cycle || set.stop == CleanStop::auto_mask;
        log_warning("cleaning{} ended above its threshold: {}: {}", name_of(f, set), excess,
                    !cut         ? describe_stop(set)
                    : diverged_  ? "it diverged"
                    : all_cycles ? "all major cycles are done (--nmiter)"
                                 : "nothing more was found");
      }
  }

  void tell(std::size_t cycle, std::size_t f, const SetReport& set) const {
    const std::string which = name_of(f, set);
    log_info(
        "cycle {}{}: {} components, peak {:.4g} -> {:.4g} Jy, noise {:.4g} Jy, flux in model {:.6g} Jy; {}",
        cycle, which, set.n_components, set.start_peak_jy, set.peak_jy, set.noise_jy, set.model_flux_jy,
        describe_stop(set));
  }

  void show(std::size_t n_components, double peak_jy) {
    if (progress_ && progress_->on())
      progress_->update(static_cast<double>(n_components),
                        fmt::format("{} components, peak {:.4g} Jy", n_components, peak_jy));
  }

  Imager& imager_;
  Sky& sky_;
  ImagingSource& data_;
  DeconvolutionSettings settings_;
  std::string folder_;
  std::vector<Deconvolver> deconvolvers_;                ///< [field]
  std::vector<std::vector<DeconvolutionGroup>> groups_;  ///< [field][group]
  std::optional<Progress> progress_;                     ///< of a minor cycle
  std::vector<double> lowest_;                           ///< [field] peak that a cycle began with; 0 = none
  std::vector<bool> unfinished_;                         ///< [field]
  bool diverged_ = false;
  CycleOrder order_;  ///< of this cycle
};

/// The other processes' part of the loop: they predict and grid their shares as the first one asks for them.
inline void follow_major_cycles(Imager& imager, Sky& sky, ImagingSource& data, const std::string& folder) {
  for (CycleOrder order(sky.groups.size());;) {
    order.share();
    if (order.ended) return;
    for (std::size_t g = 0; g < sky.groups.size(); ++g)
      if (order.changed[g]) make_residuals(imager, sky, g, data, folder);
  }
}

}  // namespace apsyn::imaging
