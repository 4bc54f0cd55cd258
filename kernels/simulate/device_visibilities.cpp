// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/simulate/device_visibilities.h"

#include <algorithm>
#include <array>
#include <stdexcept>

#include "libcore/sky/ionosphere_screen.h"
#include "libcore/system/parallel.h"
#include "libcore/visibility/stokes.h"

namespace apsyn::simulate {
namespace {

using Complex = std::complex<double>;

/// rotations.jones, or unit matrices, times what the ionosphere does to each antenna's phase.
StationMatrices kept_matrices(const VisibilitySetup& setup, std::int64_t index, const SkyRotations& rotations,
                              unsigned n_threads) {
  const std::size_t n_ant = setup.antenna_enu_m.size();
  return {index, n_ant,
          [&setup, &rotations, n_threads, n_ant](std::size_t chan, std::size_t first,
                                                 View<std::complex<float>, 3> jones) {
            const std::size_t n = jones.extent(1);
            parallel_for(n_threads, n_ant, [&](std::size_t ant, unsigned) {
              for (std::size_t c = 0; c < n; ++c) {
                std::array<Complex, 4> own{1, 0, 0, 1};
                if (rotations.jones.size() > 0)
                  std::copy_n(&rotations.jones(chan, ant, first + c, 0), 4, own.begin());
                if (rotations.tec_tecu.size() > 0) {
                  const Complex turned = std::polar(
                      1.0, ionosphere_phase_rad(rotations.tec_tecu(first + c, ant), setup.channel_hz[chan]));
                  for (Complex& element : own) element *= turned;
                }
                std::copy(own.begin(), own.end(), &jones(ant, c, 0));
              }
            });
          }};
}

}  // namespace

DeviceComponentsSetup device_setup(const VisibilitySetup& setup, bool through, unsigned n_threads,
                                   int device_index) {
  DeviceComponentsSetup own;
  own.channel_hz = setup.channel_hz;
  own.through = through;
  own.n_threads = n_threads;
  own.device_index = device_index;
  return own;
}

DeviceVisibilities::DeviceVisibilities(const VisibilitySetup& setup, bool through,
                                       std::unique_ptr<DeviceComponents> sums)
    : setup_(setup),
      through_(through),
      sums_(std::move(sums)),
      baseline_m_({setup.baselines.size(), 3}),
      station_({setup.baselines.size(), 2}),
      planes_jy_({setup.baselines.size(), setup.channel_hz.size(), sums_->n_planes()}) {
  for (const Product product : setup.products)
    if (product < Product::RR)
      throw std::invalid_argument("DeviceVisibilities: products are XX .. YY or RR .. LL");
  for (std::size_t b = 0; b < setup.baselines.size(); ++b) {
    const auto& [i, j] = setup.baselines[b];
    const Vec3 baseline_m = setup.antenna_enu_m[i] - setup.antenna_enu_m[j];
    for (std::size_t axis = 0; axis < 3; ++axis) baseline_m_(b, axis) = baseline_m[axis];
    station_(b, 0) = static_cast<std::uint32_t>(i);
    station_(b, 1) = static_cast<std::uint32_t>(j);
  }
  if (through) {
    mix_ = products_of_correlations(setup.products);
  } else {
    mix_.resize({setup.products.size(), sums_->n_planes()});
    for (std::size_t product = 0; product < setup.products.size(); ++product)
      for (std::size_t plane = 0; plane < sums_->n_planes(); ++plane) {
        std::array<double, 4> stokes{};
        stokes[plane] = 1;
        mix_(product, plane) = coherency(stokes, setup.products[product]);
      }
  }
}

void DeviceVisibilities::place_components(const SkyRotations& rotations) {
  places_.clear();
  for (std::size_t s = 0; s < setup_.sky.components.size(); ++s) {
    const Mat3& towards = rotations.component[s];
    places_.push_back(
        {component_geometry(setup_.sky.components[s], towards[2] - rotations.phase_centre[2], towards),
         towards[2][2] > 0});
  }
  sums_->place(places_);
}

void DeviceVisibilities::simulate(std::int64_t index, const SkyRotations& rotations,
                                  const StationMatrices* aterms, unsigned n_threads,
                                  View<std::complex<float>, 3> data, View<double, 2> uvw_m) {
  check_visibilities(setup_, rotations, data, uvw_m);
  const bool has_ionosphere = rotations.tec_tecu.size() > 0;
  if (aterms != nullptr && has_ionosphere)
    throw std::invalid_argument("DeviceVisibilities: with an ionosphere A-terms are those of the rotations");
  if (through_ != (aterms != nullptr || has_ionosphere || rotations.jones.size() > 0))
    throw std::invalid_argument("DeviceVisibilities: A-terms or an ionosphere that were not foreseen");
  place_components(rotations);
  if (through_)
    sums_->predict_through(baseline_m_, {}, station_,
                           aterms != nullptr ? *aterms : kept_matrices(setup_, index, rotations, n_threads),
                           planes_jy_);
  else
    sums_->predict(baseline_m_, {}, planes_jy_);
  const std::size_t n_chan = setup_.channel_hz.size(), n_products = setup_.products.size(),
                    n_planes = planes_jy_.extent(2);
  parallel_for(n_threads, setup_.baselines.size(), [&](std::size_t b, unsigned) {
    const Vec3 uvw =
        multiply(rotations.phase_centre, {baseline_m_(b, 0), baseline_m_(b, 1), baseline_m_(b, 2)});
    for (std::size_t axis = 0; axis < 3; ++axis) uvw_m(b, axis) = uvw[axis];
    const std::vector<Complex> noise_jy = visibility_noise(setup_, index, b);
    for (std::size_t chan = 0; chan < n_chan; ++chan)
      for (std::size_t p = 0; p < n_products; ++p) {
        Complex sum = 0;
        for (std::size_t plane = 0; plane < n_planes; ++plane)
          sum += mix_(p, plane) * Complex(planes_jy_(b, chan, plane));
        data(b, chan, p) = std::complex<float>(sum + noise_jy[chan * n_products + p]);
      }
  });
}

}  // namespace apsyn::simulate
