// SPDX-License-Identifier: GPL-3.0-or-later
// Images of a recording against the truth in float64.
#pragma once

#include <boost/test/unit_test.hpp>
#include <functional>
#include <ostream>

#include "kernels/common/spectra/multiply_codes.h"
#include "kernels/epic/epic_cuda.h"
#include "tests/reference/briggs_weights.h"
#include "tests/support/epic/recording.h"

namespace apsyn::test {

struct Method {
  const char* name;
  std::function<std::unique_ptr<DirectImager>(EpicPlan)> make;
  bool codes = multiplies_codes();  ///< takes them
  bool images_only = false;         ///< no lists of directions
  bool weighs = false;              ///< pairs of antennas
};
inline std::ostream& operator<<(std::ostream& out, const Method& method) {
  return out << method.name;
}

struct DeviceMethod {
  const char* name;
  std::function<std::unique_ptr<DeviceImager>(EpicPlan)> make;
  double wanted = 0;  ///< error over the peak
};
inline std::ostream& operator<<(std::ostream& out, const DeviceMethod& method) {
  return out << method.name;
}

inline EpicPlan all_sky(const EpicRecording& recording, std::size_t size) {
  EpicPlan plan = recording.plan();
  plan.nx = plan.ny = size;
  plan.cell = 2.0 / static_cast<double>(size);
  plan.n_threads = 2;
  return plan;
}

struct Comparison {
  double error = 0;  ///< the largest over the peak of |XX| and |YY|
  std::size_t n = 0;
};

/// Every `stride`-th pixel of all image channels. Pixels without sky must be NaN, and no other.
inline Comparison compare(const EpicRecording& recording, const EpicPlan& plan, const EpicImages& images,
                          std::size_t stride) {
  Comparison result;
  double peak = 0, worst = 0;
  BOOST_TEST_REQUIRE(images.planes.extent(0) == plan.n_image_channel());
  BOOST_TEST_REQUIRE(images.planes.extent(1) == plan.n_plane());
  for (std::size_t channel = 0; channel < plan.n_image_channel(); ++channel)
    for (std::size_t i = 0; i < plan.width() * plan.height(); ++i) {
      const std::size_t x = i % plan.width(), y = i / plan.width();
      const Vec3 unit = recording.direction(plan, x, y);
      const bool sky = unit[2] > 0;
      // the peak is one of all pixels, not of those that are compared
      for (std::size_t plane = 0; sky && plane < (plan.first ? 1u : 0u) + (plan.second ? 1u : 0u); ++plane)
        peak = std::max(peak, std::abs(double(images.planes(channel, plane, y, x))));
      for (std::size_t plane = 0; plane < plan.n_plane(); ++plane)
        BOOST_TEST_REQUIRE(std::isnan(images.planes(channel, plane, y, x)) == !sky);
      if (!sky || i % stride != 0) continue;
      const auto truth = recording.truth(unit, channel * plan.n_average, plan.n_average, plan.autos);
      const double wanted[4] = {truth.mean[0][0].real(), truth.mean[1][1].real(), truth.mean[0][1].real(),
                                truth.mean[0][1].imag()};
      // YX = conj(XY), so that two planes are all of both
      BOOST_TEST_REQUIRE(std::abs(truth.mean[1][0] - std::conj(truth.mean[0][1])) < 1e-12);
      const bool made[4] = {plan.first, plan.second, plan.cross, plan.cross};
      std::size_t plane = 0;
      for (std::size_t value = 0; value < 4; ++value) {
        if (!made[value]) continue;
        const double got = static_cast<double>(images.planes(channel, plane++, y, x));
        worst = std::max(worst, std::abs(got - wanted[value]));
      }
      ++result.n;
    }
  result.error = worst / peak;
  return result;
}

}  // namespace apsyn::test
