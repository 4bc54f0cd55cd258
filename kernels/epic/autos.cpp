// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/epic/autos.h"

#include <algorithm>
#include <complex>
#include <stdexcept>

#include "kernels/epic/factors.h"
#include "libcore/system/parallel.h"

namespace apsyn {

namespace {

/// Sums for the inputs of one panel: |E|^2, and E_i E_j* with j = i + 1 at even i.
struct PanelPowers {
  double power[kPanelInputs] = {}, re[kPanelInputs] = {}, im[kPanelInputs] = {};
};

/// spectra [spectrum][re 16 | im 16]
PanelPowers panel_powers(const float* spectra, std::size_t n_spectra, bool cross) {
  constexpr std::size_t kPiece = 32;  // float32 holds sums of so many
  PanelPowers sums;
  for (std::size_t first = 0; first < n_spectra; first += kPiece) {
    float power[kPanelInputs] = {}, re[kPanelInputs] = {}, im[kPanelInputs] = {};
    for (std::size_t t = first; t < std::min(first + kPiece, n_spectra); ++t) {
      const float* x = spectra + t * 2 * kPanelInputs;
      const float* y = x + kPanelInputs;
      for (std::size_t i = 0; i < kPanelInputs; ++i) power[i] += x[i] * x[i] + y[i] * y[i];
      for (std::size_t i = 0; cross && i < kPanelInputs; i += 2) {
        re[i] += x[i] * x[i + 1] + y[i] * y[i + 1];
        im[i] += y[i] * x[i + 1] - x[i] * y[i + 1];
      }
    }
    for (std::size_t i = 0; i < kPanelInputs; ++i) {
      sums.power[i] += static_cast<double>(power[i]);
      sums.re[i] += static_cast<double>(re[i]);
      sums.im[i] += static_cast<double>(im[i]);
    }
  }
  return sums;
}

/// codes [pair of spectra][input][re, im, re, im]
PanelPowers panel_powers(const std::int8_t* codes, std::size_t n_spectra, bool cross) {
  std::int32_t power[kPanelInputs] = {}, re[kPanelInputs] = {}, im[kPanelInputs] = {};
  for (std::size_t pair = 0; pair < (n_spectra + 1) / 2; ++pair)
    for (std::size_t k = 0; k < 4; k += 2) {
      const std::int8_t* x = codes + pair * kCodeBytes + k;
      for (std::size_t i = 0; i < kPanelInputs; ++i)
        power[i] += x[4 * i] * x[4 * i] + x[4 * i + 1] * x[4 * i + 1];
      for (std::size_t i = 0; cross && i < kPanelInputs; i += 2) {
        const std::int8_t *a = x + 4 * i, *b = a + 4;
        re[i] += a[0] * b[0] + a[1] * b[1];
        im[i] += a[1] * b[0] - a[0] * b[1];
      }
    }
  PanelPowers sums;
  std::copy_n(power, kPanelInputs, sums.power);
  std::copy_n(re, kPanelInputs, sums.re);
  std::copy_n(im, kPanelInputs, sums.im);
  return sums;
}

/// autos += g_p conj(g_q) P_pq of an antenna.
void add_autos(const EpicPlan& plan, std::size_t channel, std::size_t ant, const double* powers,
               EpicValues& autos) {
  const std::complex<double> x = epic_factor(plan, ant, 0, channel);
  autos[0] += std::norm(x) * powers[0];
  if (plan.n_pol == 1) return;
  const std::complex<double> y = epic_factor(plan, ant, 1, channel);
  autos[1] += std::norm(y) * powers[1];
  const std::complex<double> xy = x * std::conj(y) * std::complex<double>(powers[2], powers[3]);
  autos[2] += xy.real();
  autos[3] += xy.imag();
}

}  // namespace

void EpicAutos::add(const SpectraBlock& block) {
  const std::size_t first = block.first_chan * plan_.n_fine / plan_.n_average;
  parallel_for(plan_.n_threads, block.n_chan * block.n_fine / plan_.n_average,
               [&](std::size_t item, unsigned) {
                 for (std::size_t i = 0; i < plan_.n_average; ++i) {
                   const EpicValues autos = of_channel(block, item * plan_.n_average + i);
                   for (std::size_t value = 0; value < autos.size(); ++value)
                     sums_[first + item][value] += autos[value];
                 }
               });
}

EpicValues EpicAutos::of_channel(const SpectraBlock& block, std::size_t row) const {
  const std::size_t channel = block.first_chan * plan_.n_fine + row, n_pol = plan_.n_pol;
  EpicValues autos{};
  for (std::size_t panel = 0; panel < panel_count(plan_.n_ant * n_pol); ++panel) {
    const PanelPowers powers =
        block.coded ? panel_powers(&block.codes(row, panel, 0, 0), block.n_spectra, plan_.cross)
                    : panel_powers(&block.planes(row, panel, 0, 0), block.n_spectra, plan_.cross);
    const std::size_t n_input = std::min(kPanelInputs, plan_.n_ant * n_pol - panel * kPanelInputs);
    for (std::size_t i = 0; i < n_input; i += n_pol) {
      const double own[4] = {powers.power[i], n_pol == 2 ? powers.power[i + 1] : 0, powers.re[i],
                             powers.im[i]};
      add_autos(plan_, channel, (panel * kPanelInputs + i) / n_pol, own, autos);
    }
  }
  return autos;
}

void check_epic_block(const EpicPlan& plan, const SpectraBlock& block) {
  const std::size_t n_row = block.n_chan * block.n_fine;
  const auto holds = [&](const auto& array, std::size_t n) {
    return array.extent(0) >= n_row && array.extent(1) == panel_count(plan.n_ant * plan.n_pol) &&
           array.extent(2) >= n;
  };
  if (block.n_fine != plan.n_fine || block.first_chan + block.n_chan > plan.n_chan || block.n_spectra == 0 ||
      n_row % plan.n_average != 0 || block.first_chan * block.n_fine % plan.n_average != 0 ||
      !(block.coded ? holds(block.codes, (block.n_spectra + 1) / 2) : holds(block.planes, block.n_spectra)) ||
      block.steps.size() != 0 || block.valid.extent(1) != plan.n_ant ||
      block.valid.extent(2) != block.n_spectra ||
      (block.valid.extent(0) != 1 && block.valid.extent(0) < block.n_chan))
    throw std::logic_error("DirectImager: spectra of another shape than planned");
}

}  // namespace apsyn
