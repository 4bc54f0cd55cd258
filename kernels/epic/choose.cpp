// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/epic/epic.h"
#include "kernels/epic/fft/setup.h"
#include "kernels/epic/field/imager.h"

namespace apsyn {

std::unique_ptr<DirectImager> make_imager(EpicMethod method, EpicPlan plan) {
  if (plan.field) {
    refuse_field_by(method);
    return method == EpicMethod::fft ? make_field_fft_imager(std::move(plan))
                                     : make_field_dft_imager(std::move(plan));
  }
  switch (method) {
    case EpicMethod::fft:
      return make_fft_imager(std::move(plan));
    case EpicMethod::dft:
      return make_dft_imager(std::move(plan));
    case EpicMethod::corr:
      break;
  }
  return make_corr_imager(std::move(plan));
}

EpicMethod choose_epic_method(const EpicPlan& plan, const EpicGeometry& geometry, double n_spectra,
                              std::uint64_t max_bytes) {
  EpicMethod best = EpicMethod::dft;
  EpicCost least = dft_cost(plan, geometry);
  const auto consider = [&](EpicMethod method, const EpicCost& cost) {
    const bool fits = cost.bytes <= max_bytes, min_fits = least.bytes <= max_bytes;
    if (fits != min_fits ? min_fits : cost.of(n_spectra) >= least.of(n_spectra)) return;
    least = cost;
    best = method;
  };
  if (!plan.field) consider(EpicMethod::corr, corr_cost(plan, geometry));
  if (plan.w != EpicW::exact && plan.n_direction == 0 && fits_fft_grid(plan, geometry) &&
      aperture_misfit(plan, geometry) <= kMaxMisfit)
    consider(EpicMethod::fft, fft_cost(plan, geometry));
  return best;
}

}  // namespace apsyn
