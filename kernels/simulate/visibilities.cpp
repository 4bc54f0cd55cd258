// SPDX-License-Identifier: GPL-3.0-or-later
#include <array>
#include <cmath>
#include <stdexcept>

#include "kernels/simulate/component_path.h"
#include "kernels/simulate/noise.h"
#include "kernels/simulate/visibilities.h"
#include "libcore/base/constants.h"
#include "libcore/sky/ionosphere_screen.h"
#include "libcore/system/parallel.h"
#include "libcore/visibility/stokes.h"

namespace apsyn::simulate {
using Complex = std::complex<double>;

namespace {

/// J_i B J_j^H as a product of feeds.
Complex seen_coherency(const std::complex<float>* first, const std::array<double, 4>& stokes,
                       const std::complex<float>* second, Product product) {
  const Complex b[2][2] = {{stokes[0] + stokes[1], {stokes[2], stokes[3]}},
                           {{stokes[2], -stokes[3]}, stokes[0] - stokes[1]}};
  Complex v[2][2] = {};
  for (std::size_t i = 0; i < 2; ++i)
    for (std::size_t k = 0; k < 2; ++k)
      for (std::size_t m = 0; m < 2; ++m)
        for (std::size_t n = 0; n < 2; ++n)
          v[i][k] += Complex(first[2 * i + m]) * b[m][n] * std::conj(Complex(second[2 * k + n]));
  const Complex i(0, 1), total = (v[0][0] + v[1][1]) / 2.0, q = (v[0][0] - v[1][1]) / 2.0,
                         u = (v[0][1] + v[1][0]) / 2.0, circular = (v[0][1] - v[1][0]) / (2.0 * i);
  switch (product) {
    case Product::XX:
      return v[0][0];
    case Product::XY:
      return v[0][1];
    case Product::YX:
      return v[1][0];
    case Product::YY:
      return v[1][1];
    case Product::RR:
      return total + circular;
    case Product::RL:
      return q + i * u;
    case Product::LR:
      return q - i * u;
    default:
      return total - circular;
  }
}

}  // namespace

void check_visibilities(const VisibilitySetup& setup, const SkyRotations& rotations,
                        View<const std::complex<float>, 3> data, View<const double, 2> uvw_m) {
  const std::size_t n_baselines = setup.baselines.size(), n_chan = setup.channel_hz.size();
  const std::size_t n_components = setup.sky.components.size(), n_ant = setup.antenna_enu_m.size();
  using Shape2 = std::array<std::size_t, 2>;
  if (data.shape() != std::array<std::size_t, 3>{n_baselines, n_chan, setup.products.size()} ||
      uvw_m.shape() != Shape2{n_baselines, 3} || rotations.component.size() != n_components ||
      (rotations.tec_tecu.size() > 0 && rotations.tec_tecu.shape() != Shape2{n_components, n_ant}))
    throw std::invalid_argument("simulate_visibilities: shapes disagree");
  if (rotations.jones.size() > 0 &&
      rotations.jones.shape() != std::array<std::size_t, 4>{n_chan, n_ant, n_components, 4})
    throw std::invalid_argument("simulate_visibilities: the shape of the A-terms is wrong");
  for (Product product : setup.products)
    if (product < Product::RR)
      throw std::invalid_argument("simulate_visibilities: products are XX .. YY or RR .. LL");
}

std::vector<Complex> visibility_noise(const VisibilitySetup& setup, std::int64_t index,
                                      std::size_t baseline) {
  const std::size_t n_values = setup.channel_hz.size() * setup.products.size();
  if (!(setup.sefd_jy > 0)) return std::vector<Complex>(n_values);
  std::vector<std::complex<float>> noise(n_values);
  const std::int64_t per_integration = static_cast<std::int64_t>(n_values + n_values % 2);
  gaussian_noise(setup.seed, {NoiseKind::visibility, static_cast<std::uint32_t>(baseline), 0, 0},
                 index * per_integration, noise);
  const double sigma =
      setup.sefd_jy / std::sqrt(setup.channel_width_hz * setup.integration_s);  // of both parts
  std::vector<Complex> noise_jy;
  for (const std::complex<float>& value : noise) noise_jy.push_back(sigma * Complex(value));
  return noise_jy;
}

void simulate_visibilities(const VisibilitySetup& setup, std::int64_t index, const SkyRotations& rotations,
                           unsigned n_threads, View<std::complex<float>, 3> data, View<double, 2> uvw_m) {
  check_visibilities(setup, rotations, data, uvw_m);
  const std::size_t n_baselines = setup.baselines.size(), n_chan = setup.channel_hz.size();
  const std::size_t n_products = setup.products.size(), n_components = setup.sky.components.size();
  const bool has_ionosphere = rotations.tec_tecu.size() > 0, has_aterms = rotations.jones.size() > 0;
  Buffer<Complex, 3> brightness({n_components, n_chan, n_products});
  std::vector<std::array<double, 4>> stokes_jy;  // [component][chan]
  for (std::size_t s = 0; s < n_components; ++s)
    for (std::size_t chan = 0; chan < n_chan; ++chan) {
      stokes_jy.push_back(flux_at(setup.sky.components[s], setup.channel_hz[chan]));
      for (std::size_t p = 0; p < n_products; ++p)
        brightness(s, chan, p) = coherency(stokes_jy.back(), setup.products[p]);
    }

  parallel_for(n_threads, n_baselines, [&](std::size_t b, unsigned) {
    const Vec3 baseline_m =
        setup.antenna_enu_m[setup.baselines[b].ant1] - setup.antenna_enu_m[setup.baselines[b].ant2];
    const Vec3 uvw = multiply(rotations.phase_centre, baseline_m);
    for (std::size_t axis = 0; axis < 3; ++axis) uvw_m(b, axis) = uvw[axis];
    std::vector<Path> paths(n_components);
    for (std::size_t s = 0; s < n_components; ++s) {
      paths[s] =
          path_of(setup.sky.components[s], rotations.component[s], rotations.phase_centre[2], baseline_m);
      if (has_ionosphere)
        paths[s].tec_tecu =
            rotations.tec_tecu(s, setup.baselines[b].ant1) - rotations.tec_tecu(s, setup.baselines[b].ant2);
    }

    const std::vector<Complex> noise_jy = visibility_noise(setup, index, b);
    std::vector<Complex> sum(n_products);
    for (std::size_t chan = 0; chan < n_chan; ++chan) {
      const double wavenumber = setup.channel_hz[chan] / kSpeedOfLight_m_s;  // turns per metre
      sum.assign(n_products, 0);
      for (std::size_t s = 0; s < n_components; ++s) {
        if (rotations.component[s][2][2] <= 0) continue;
        const double turns = wavenumber * paths[s].length_m +
                             ionosphere_phase_rad(paths[s].tec_tecu, setup.channel_hz[chan]) / kTwoPi;
        const Complex phase = std::polar(std::exp(-paths[s].gaussian_m2 * wavenumber * wavenumber),
                                         kTwoPi * (turns - std::round(turns)));
        if (has_aterms) {
          const auto* first = &rotations.jones(chan, setup.baselines[b].ant1, s, 0);
          const auto* second = &rotations.jones(chan, setup.baselines[b].ant2, s, 0);
          for (std::size_t p = 0; p < n_products; ++p)
            sum[p] += seen_coherency(first, stokes_jy[s * n_chan + chan], second, setup.products[p]) * phase;
          continue;
        }
        for (std::size_t p = 0; p < n_products; ++p) sum[p] += brightness(s, chan, p) * phase;
      }
      for (std::size_t p = 0; p < n_products; ++p)
        data(b, chan, p) = std::complex<float>(sum[p] + noise_jy[chan * n_products + p]);
    }
  });
}

}  // namespace apsyn::simulate
