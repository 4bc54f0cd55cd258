// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/imaging/major_cycles.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "kernels/clean/clean.h"
#include "libcore/base/log.h"
#include "libcore/system/parallel.h"
#include "tools/imaging/residual_source.h"
#include "tools/imaging/residuals_on_device.h"

namespace apsyn::imaging {
namespace {

/// Components are not allowed where the beam is too weak in any group.
Buffer<std::uint8_t, 2> allowed_pixels(const FieldImages& field, const Buffer<std::uint8_t, 2>& mask) {
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

/// Makes the residual images of one group: data minus model. The first process has the model and gets the
/// images. With `calibration` the group's gains are solved before.
void make_residuals(Imager& imager, Sky& sky, std::size_t g, ImagingSource& data, const std::string& folder,
                    calibrate::SelfCalibration* calibration = nullptr) {
  if (sky.groups[g].residuals)
    return make_residuals_on_device(imager, sky.groups[g], sky.slot(g),
                                    imager.ranks.root() ? &sky.images[0] : nullptr);
  std::vector<Buffer<double, 3>> models;
  for (std::size_t f = 0; f < sky.fields.size(); ++f) {
    if (imager.ranks.root())
      models.push_back(true_model(sky.images[f], sky.slot(g), imager.threads()));
    else
      models.emplace_back(
          std::array{imager.planes.size(), imager.options.imaging.n_y, imager.options.imaging.n_x});
    if (imager.ranks.size > 1) broadcast(std::span(models[f].data(), models[f].size()));
  }
  imager.tool.stage("predict");
  std::optional<ResidualSource> residuals;
  if (calibration != nullptr)
    residuals.emplace(imager, sky.groups[g], sky.fields, *calibration, models, folder);
  else
    residuals.emplace(imager, sky.groups[g], sky.fields, data, models, folder);
  models.clear();
  const auto sums = make_images(imager, sky.groups[g], sky.fields, *residuals);
  if (!imager.ranks.root()) return;
  for (std::size_t f = 0; f < sky.fields.size(); ++f) take_sums(sums[f], imager, sky.slot(g), sky.images[f]);
}

/// The same of all groups that have changed.
void make_residuals(Imager& imager, Sky& sky, const CycleOrder& order, ImagingSource& data,
                    const std::string& folder, calibrate::SelfCalibration* calibration) {
  for (const GroupRound& round : rounds_of(sky)) {
    const auto for_changed = [&](auto use) {
      for (std::size_t g = round.first; g < round.end; ++g)
        if (order.changed[g]) use(g);
    };
    for_changed([&](std::size_t g) { hand_out_model(sky, g); });
    for_changed([&](std::size_t g) {
      if (sky.makes(g)) make_residuals(imager, sky, g, data, folder, order.solves ? calibration : nullptr);
    });
    for_changed([&](std::size_t g) { hand_in_residual(sky, g); });
  }
}

}  // namespace

std::size_t Sky::slot(std::size_t g) const {
  if (share.ranks.root()) return g;
  std::size_t n = 0;
  for (std::size_t before = 0; before < g; ++before) n += makes(before) ? 1 : 0;
  return n;
}

void CycleOrder::share() {
  broadcast(ended);
  broadcast(solves);
  broadcast(std::span(changed));
}

double highest(View<const float, 4> image, unsigned n_threads) {
  std::vector<float> peaks(image.size() / image.extent(3));
  parallel_for(n_threads, peaks.size(), [&](std::size_t row, unsigned) {
    const float* pixels = image.data() + row * image.extent(3);
    for (std::size_t x = 0; x < image.extent(3); ++x)
      peaks[row] = std::max(peaks[row], std::abs(pixels[x]));  // NaN compares false and is passed over
  });
  return static_cast<double>(*std::max_element(peaks.begin(), peaks.end()));
}

MajorCycles::MajorCycles(Imager& imager, Sky& sky, ImagingSource& data, const DeconvolutionSettings& settings,
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

LoopReport MajorCycles::run(std::size_t max_cycles, calibrate::SelfCalibration* calibration) {
  LoopReport report;
  for (bool unfinished = true; unfinished && report.n_cycles < max_cycles;) {
    ++report.n_cycles;
    unfinished = minor_cycles(report);
    const bool solves = calibration != nullptr && !diverged_, entry = solves && calibration->has_entry();
    if (entry) std::fill(order_.changed.begin(), order_.changed.end(), std::uint8_t{1});
    order_.solves = solves;
    order_.share();
    make_residuals(imager_, sky_, order_, data_, folder_, calibration);
    if (solves) {
      std::fill(lowest_.begin(), lowest_.end(), 0.0);
      const bool moved = calibration->end_entry();
      if (entry || (!unfinished && moved)) {
        begin_again();
        unfinished = true;
      }
    }
    if (unfinished && report.n_cycles == max_cycles)
      log_info("stopped after {} major cycles (--nmiter)", max_cycles);
  }
  order_.ended = true;
  order_.share();
  warn_of_excess(report.n_cycles >= max_cycles);
  return report;
}

void MajorCycles::begin_again() {
  std::fill(unfinished_.begin(), unfinished_.end(), true);
  for (Deconvolver& deconvolver : deconvolvers_) deconvolver.begin_again();
}

bool MajorCycles::minor_cycles(LoopReport& loop) {
  imager_.tool.stage("clean");
  progress_.emplace(imager_.tool, fmt::format("cycle {}", loop.n_cycles), 0, "components");
  std::fill(order_.changed.begin(), order_.changed.end(), std::uint8_t{0});
  bool unfinished = false;
  // A field with a low peak, which may be a sidelobe of other fields, waits until those have been cleaned as
  // deeply.
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

std::string MajorCycles::name_of(std::size_t f, const SetReport& set) const {
  std::string which = sky_.fields[f].suffix;
  if (!which.empty()) which = " field " + which.substr(2);
  if (sky_.groups.size() > 1 && set.n_groups < sky_.groups.size())
    which += fmt::format(" group {}", sky_.group_numbers[set.first_group]);
  if (imager_.planes.size() > 1 && set.n_pols < imager_.planes.size())
    which += " " + imager_.planes[set.first_pol].name;
  return which;
}

void MajorCycles::warn_of_excess(bool all_cycles) {
  for (std::size_t f = 0; f < deconvolvers_.size(); ++f)
    for (const SetReport& set : deconvolvers_[f].remains(sky_.images[f].residual)) {
      const std::string excess = describe_excess(set, unit());
      if (excess.empty()) continue;
      const bool cut = set.stop == CleanStop::cycle || set.stop == CleanStop::auto_mask;
      log_warning("cleaning{} ended above its threshold: {}: {}", name_of(f, set), excess,
                  !cut         ? describe_stop(set, unit())
                  : diverged_  ? "it diverged"
                  : all_cycles ? "all major cycles are done (--nmiter)"
                               : "nothing more was found");
    }
}

void MajorCycles::tell(std::size_t cycle, std::size_t f, const SetReport& set) const {
  const std::string which = name_of(f, set);
  log_info(
      "cycle {}{}: {} components, peak {:.4g} -> {:.4g} {unit}, noise {:.4g} {unit}, flux in model {:.6g} "
      "{unit}; {}",
      cycle, which, set.n_components, set.start_peak_jy, set.peak_jy, set.noise_jy, set.model_flux_jy,
      describe_stop(set, unit()), fmt::arg("unit", apsyn::name_of(unit())));
}

void MajorCycles::show(std::size_t n_components, double peak_jy) {
  if (progress_ && progress_->on())
    progress_->update(
        static_cast<double>(n_components),
        fmt::format("{} components, peak {:.4g} {}", n_components, peak_jy, apsyn::name_of(unit())));
}

void follow_major_cycles(Imager& imager, Sky& sky, ImagingSource& data, const std::string& folder,
                         calibrate::SelfCalibration* calibration) {
  for (CycleOrder order(sky.groups.size());;) {
    order.share();
    if (order.ended) return;
    make_residuals(imager, sky, order, data, folder, calibration);
    if (order.solves) calibration->end_entry();
  }
}

}  // namespace apsyn::imaging
