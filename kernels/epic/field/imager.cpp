// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/epic/field/imager.h"

#include <cmath>
#include <limits>
#include <stdexcept>

#include "libcore/base/error.h"
#include "libcore/system/parallel.h"

namespace apsyn {

EpicPlan checked_field_plan(EpicPlan plan) {
  check_epic_plan(plan);
  if (!plan.field) throw std::logic_error("FieldImager: a plan of products");
  plan.autos = true;
  return plan;
}

EpicWeights counting_antennas(const EpicPlan& plan) {
  EpicPlan counts;
  counts.n_chan = plan.n_chan;
  counts.n_fine = plan.n_fine;
  counts.n_ant = plan.n_ant;
  counts.flagged = plan.flagged;
  counts.autos = true;
  return EpicWeights(counts);
}

void refuse_field_by(EpicMethod method) {
  if (method == EpicMethod::corr)
    throw UsageError("--electric-field: --method corr knows products only: give fft or dft");
}

FieldImager::FieldImager(EpicPlan plan)
    : plan_(checked_field_plan(std::move(plan))), antennas_(counting_antennas(plan_)) {
  if (plan_.first) pols_.push_back(0);
  if (plan_.second) pols_.push_back(1);
}

void FieldImager::start(const EpicGeometry& geometry) {
  check_epic_geometry(plan_, geometry);
  antennas_.start();
  fields_.resize_for_overwrite({0, 0, 0});
  if (aimed_ && same_geometry(geometry, geometry_)) return;
  geometry_ = geometry;
  pixels_ = sky_pixels(plan_, geometry_);
  aim(geometry_);
  aimed_ = true;
}

void FieldImager::add(const SpectraBlock& block) {
  check_epic_block(plan_, block);
  if (block.n_spectra != 1 || block.coded) throw std::logic_error("FieldImager: one spectrum, no codes");
  antennas_.add(block);
  if (fields_.size() == 0) fields_.resize({plan_.n_channel(), pols_.size(), pixels_.size()});
  const std::size_t n_row = block.n_chan * block.n_fine;
  parallel_for(plan_.n_threads, n_row * pols_.size(), [&](std::size_t item, unsigned) {
    const std::size_t row = item / pols_.size(), pol = pols_[item % pols_.size()];
    const std::size_t channel = block.first_chan * plan_.n_fine + row;
    std::vector<std::complex<double>> voltages;
    for (std::size_t ant = 0; ant < plan_.n_ant; ++ant) {
      const std::size_t input = ant * plan_.n_pol + pol;
      const float* from = &block.planes(row, input / kPanelInputs, 0, input % kPanelInputs);
      voltages.push_back(epic_factor(plan_, ant, pol, channel) *
                         std::complex<double>(from[0], from[kPanelInputs]));
    }
    image(channel, pol, voltages, fields_.view()[channel][item % pols_.size()]);
  });
}

void FieldImager::take(EpicImages& images) {
  const std::size_t n_channel = plan_.n_channel();
  images.planes.resize_for_overwrite({n_channel, plan_.n_plane(), plan_.height(), plan_.width()});
  images.planes.fill(std::numeric_limits<float>::quiet_NaN());
  images.weight.resize(n_channel);
  images.n_spectra = antennas_.n_spectra();
  for (std::size_t channel = 0; channel < n_channel; ++channel) {
    images.weight[channel] = std::sqrt(antennas_.share(channel));
    const double n = std::sqrt(static_cast<double>(antennas_.pairs(channel)));
    for (std::size_t pol = 0; pol < pols_.size() && n > 0; ++pol)
      for (std::size_t pixel = 0; pixel < pixels_.size(); ++pixel) {
        const std::complex<double> field = std::complex<double>(fields_(channel, pol, pixel)) / n;
        (&images.planes(channel, 2 * pol, 0, 0))[pixels_.index[pixel]] = static_cast<float>(field.real());
        (&images.planes(channel, 2 * pol + 1, 0, 0))[pixels_.index[pixel]] = static_cast<float>(field.imag());
      }
  }
}

}  // namespace apsyn
