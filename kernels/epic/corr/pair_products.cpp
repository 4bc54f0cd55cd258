// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/epic/corr/pair_products.h"

#include "kernels/epic/factors.h"

namespace apsyn {

PairProducts::PairProducts(const EpicPlan& plan, const PairSums& sums, std::size_t channel,
                           const float* factors)
    : plan_(plan), sums_(sums), channel_(channel), factors_(factors) {
  for (std::size_t ant = 0; ant < plan.n_ant; ++ant)
    for (std::size_t pol = 0; pol < plan.n_pol; ++pol)
      factor_.push_back(epic_factor(plan, ant, pol, channel));
}

void PairProducts::of(std::size_t a, std::size_t b, std::complex<float>* matrices) const {
  const double by = factor(a, b);
  if (plan_.total) {
    *matrices = std::complex<float>(by * (value(a, 0, b, 0) + value(a, 1, b, 1)));
    return;
  }
  if (plan_.first) *matrices++ = std::complex<float>(2 * by * value(a, 0, b, 0));
  if (plan_.second) *matrices++ = std::complex<float>(2 * by * value(a, 1, b, 1));
  if (!plan_.cross) return;
  const std::complex<double> xy = by * value(a, 0, b, 1), yx = by * value(a, 1, b, 0), difference = xy - yx;
  matrices[0] = std::complex<float>(xy + yx);
  matrices[1] = std::complex<float>(std::complex<double>(difference.imag(), -difference.real()));
}

EpicValues PairProducts::autos() const {
  EpicValues autos{};
  for (std::size_t ant = 0; ant < plan_.n_ant; ++ant) {
    autos[0] += value(ant, 0, ant, 0).real();
    if (plan_.n_pol == 1) continue;
    autos[1] += value(ant, 1, ant, 1).real();
    if (plan_.total) continue;
    const std::complex<double> xy = value(ant, 0, ant, 1);
    autos[2] += xy.real();
    autos[3] += xy.imag();
  }
  if (plan_.total) autos[0] = (autos[0] + autos[1]) / 2;
  return autos;
}

}  // namespace apsyn
