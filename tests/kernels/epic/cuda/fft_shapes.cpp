// SPDX-License-Identifier: GPL-3.0-or-later
// Images by gridding and transforming on a GPU, of all products, shapes and pieces, against the CPU's, which
// tests/kernels/epic/fft/fft_images.cpp holds against float64.
#include <fmt/core.h>

#include <boost/test/unit_test.hpp>
#include <cmath>

#include "tests/support/epic/fft_case.h"

using namespace apsyn;
using namespace apsyn::test;

BOOST_AUTO_TEST_SUITE(fft_shapes)

namespace {

struct Deviation {
  double worst = 0;  ///< over the peak
  std::size_t at = 0;
  float got = 0, wanted = 0;
};

Deviation deviation(const EpicImages& got, const EpicImages& wanted) {
  BOOST_TEST_REQUIRE(got.planes.size() == wanted.planes.size());
  BOOST_TEST(got.weight == wanted.weight);
  BOOST_TEST(got.n_spectra == wanted.n_spectra);
  Deviation result;
  double peak = 0;
  for (std::size_t i = 0; i < got.planes.size(); ++i) {
    const float a = got.planes.data()[i], b = wanted.planes.data()[i];
    BOOST_TEST_REQUIRE(std::isnan(a) == std::isnan(b), "pixel " << i << ": " << a << ", wanted " << b);
    if (std::isnan(a)) continue;
    peak = std::max(peak, std::abs(double(b)));
    if (std::abs(double(a) - double(b)) <= result.worst) continue;
    result = {std::abs(double(a) - double(b)), i, a, b};
  }
  result.worst /= peak;
  return result;
}

/// The largest of a plane of the first channel, over the plane's peak.
double plane_error(const EpicImages& got, const EpicImages& wanted, std::size_t plane) {
  double worst = 0, peak = 0;
  for (std::size_t y = 0; y < wanted.planes.extent(2); ++y)
    for (std::size_t x = 0; x < wanted.planes.extent(3); ++x) {
      const double a = got.planes(0, plane, y, x), b = wanted.planes(0, plane, y, x);
      BOOST_TEST_REQUIRE(std::isnan(a) == std::isnan(b));
      if (std::isnan(b)) continue;
      worst = std::max(worst, std::abs(a - b));
      peak = std::max(peak, std::abs(b));
    }
  return worst / peak;
}

constexpr FftVariant kForms[] = {FftVariant::automatic, FftVariant::fused, FftVariant::staged};
const char* name_of(FftVariant form) {
  return form == FftVariant::staged ? "staged" : form == FftVariant::fused ? "fused" : "automatic";
}

void check_against_cpu(const EpicRecording& recording, const EpicPlan& shape, const char* what,
                       std::size_t piece, std::size_t batch, bool coded = false) {
  const auto plan = [&] {
    EpicPlan copy = recording.plan();
    copy.nx = shape.nx, copy.ny = shape.ny, copy.cell = shape.cell;
    copy.kernel_cells = shape.kernel_cells, copy.padding = shape.padding;
    copy.first = shape.first, copy.second = shape.second, copy.cross = shape.cross, copy.autos = shape.autos;
    copy.n_average = shape.n_average, copy.flagged = shape.flagged, copy.w = shape.w;
    for (std::size_t ant = 0; ant < shape.flagged.size(); ++ant)
      for (std::size_t pol = 0; pol < copy.n_pol && shape.flagged[ant] != 0; ++pol)
        for (std::size_t chan = 0; chan < copy.n_chan; ++chan)
          copy.factor(ant, pol, chan) = 1e20;  // no matter
    return copy;
  };
  const auto cpu = make_fft_imager(plan());
  const EpicImages wanted = recording.image(*cpu, 64, recording.shape.n_chan);
  for (const FftVariant form : kForms) {
    const auto imager = make_fft_imager_cuda(plan(), 0, EpicPrecision::single, form);
    recording.image(*imager, 31, recording.shape.n_chan);  // what was before leaves no trace
    const Deviation off = deviation(recording.image(*imager, piece, batch, coded), wanted);
    BOOST_TEST_MESSAGE(what << ", " << name_of(form) << ": " << off.worst << " of the peak at " << off.at
                            << ": " << off.got << ", wanted " << off.wanted);
    BOOST_TEST(off.worst <= 1e-5);  // measured: 1.2e-6
  }
}

EpicPlan field(std::size_t nx, std::size_t ny, double cell) {
  EpicPlan plan;
  plan.nx = nx, plan.ny = ny, plan.cell = cell;
  plan.second = plan.cross = true;
  plan.padding = nx % 25 == 0 ? 1.28 : 1.25;  // without, float32's rounding over the response is all there is
  return plan;
}

}  // namespace

// Every kernel, small enough for compute-sanitizer (racecheck is the slowest).
BOOST_AUTO_TEST_CASE(small_for_sanitizers) {
  EpicCase c;
  c.enu_m = random_array(5, 15, 0, 0.03, 5);
  c.n_spectra = 3;
  c.integers = true;
  const EpicRecording recording(c);
  for (const EpicW w : {EpicW::kernel, EpicW::plane})
    for (const bool coded : {false, true}) {
      EpicPlan plan = field(25, 25, 0.06);
      plan.kernel_cells = 5;
      plan.w = w;
      check_against_cpu(recording, plan, coded ? "small, codes" : "small", 2, 1, coded);
    }
  Fft fft;
  fft.size = 25;
  fft.cell = 0.06;
  fft.padding = 1.28;
  const auto half = make_fft_imager_cuda(fft.plan(recording), 0, EpicPrecision::half);
  const auto cpu = make_fft_imager(fft.plan(recording));
  const Deviation off = deviation(recording.image(*half, 3, 1, true), recording.image(*cpu, 3, 1));
  BOOST_TEST_MESSAGE("small, half: " << off.worst << " of the peak");
  BOOST_TEST(off.worst <= 1e-2);  // 3.2e-3: the worst pixel of five antennas and three spectra
}

BOOST_AUTO_TEST_CASE(every_size_and_kernel_agrees_with_the_cpu) {
  EpicCase c = flat_array();
  c.n_spectra = 33;
  c.integers = true;
  const EpicRecording recording(c);
  // transforms of 32, 64, 128, 256; 40, 60, 80, 90, 100, 150, 160
  for (const std::size_t size : {25, 50, 100, 200, 32, 48, 64, 72, 80, 120, 128}) {
    EpicPlan plan = field(size, size, 1.6 / static_cast<double>(size));
    plan.kernel_cells = 1 + size / 8 % 9;
    for (const bool coded : {false, true})
      check_against_cpu(recording, plan, ("size " + std::to_string(size)).c_str(), 33, 1, coded);
  }
  for (const bool coded : {false, true})
    check_against_cpu(recording, field(50, 72, 0.02), "50 x 72", 33, 1, coded);
}

// Every kernel of products of matrices: arrays that reach up to 32, 64 and 96 cells along each axis, pixels
// of one and two operands for a warp.
BOOST_AUTO_TEST_CASE(arrays_of_any_extent_agree_with_the_cpu) {
  for (const double wide_m : {25, 50, 95})
    for (const double high_m : {22, 55, 100})
      for (const std::size_t size : {48, 128, 160}) {
        EpicCase c;
        c.enu_m = random_array(20, 1, 0, 0, 5);
        for (Vec3& place : c.enu_m) place = {wide_m * place[0], high_m * place[1], 0};
        c.n_spectra = 5;
        c.integers = true;
        const EpicRecording recording(c);
        const auto what = fmt::format("{} m by {} m, {}", wide_m, high_m, size);
        EpicPlan shape = field(size, size, 1.6 / static_cast<double>(size));
        shape.kernel_cells = 7;
        check_against_cpu(recording, shape, what.c_str(), 5, 1, true);
        EpicPlan plan = recording.plan(), same = recording.plan();
        for (EpicPlan* one : {&plan, &same}) {
          one->nx = one->ny = size, one->cell = shape.cell, one->padding = shape.padding;
          one->kernel_cells = 7, one->second = one->cross = true;
        }
        const auto half = make_fft_imager_cuda(std::move(plan), 0, EpicPrecision::half);
        const auto cpu = make_fft_imager(std::move(same));
        const Deviation off = deviation(recording.image(*half, 5, 1, true), recording.image(*cpu, 5, 1));
        BOOST_TEST_MESSAGE(what << ", half: " << off.worst << " of the peak at " << off.at << ": " << off.got
                                << ", wanted " << off.wanted);
        BOOST_TEST(off.worst <= 1e-2);  // 2.6e-3: five spectra
      }
}

BOOST_AUTO_TEST_CASE(any_choice_of_products_agrees_with_the_cpu) {
  for (const std::size_t n_pol : {1, 2}) {
    EpicCase c = flat_array();
    c.n_pol = n_pol;
    c.n_spectra = 35;
    c.n_chan = 3;
    c.integers = true;
    const EpicRecording recording(c);
    for (const unsigned wanted : {1u, 2u, 3u, 5u, 7u}) {
      if (n_pol == 1 && wanted != 1) continue;
      EpicPlan plan = field(64, 64, 0.025);
      plan.first = wanted & 1;
      plan.second = wanted & 2;
      plan.cross = wanted & 4;
      for (const bool coded : {false, true})
        check_against_cpu(recording, plan, ("products " + std::to_string(wanted)).c_str(), 35, 3, coded);
    }
  }
}

BOOST_AUTO_TEST_CASE(missing_samples_in_pieces_agree_with_the_cpu) {
  EpicCase c = flat_array();
  c.enu_m = random_array(40, 45, 0.3, 0.02, 5);
  c.n_chan = 6;
  c.n_spectra = 90;
  c.missing = 0.3;
  c.integers = true;
  EpicRecording recording(c);
  for (const bool autos : {false, true}) {
    EpicPlan plan = field(64, 64, 0.03);
    plan.n_average = 3;
    plan.autos = autos;
    plan.flagged.assign(40, 0);
    plan.flagged[7] = 1;
    check_against_cpu(recording, plan, "missing", 90, 6);
    check_against_cpu(recording, plan, "missing, pieces", 13, 3);
    check_against_cpu(recording, plan, "missing, codes", 40, 3, true);
  }
}

// More spectra than sums of float32 hold, and enough channels that each block takes all of one.
BOOST_AUTO_TEST_CASE(long_accumulations_agree_with_the_cpu) {
  EpicCase c = flat_array();
  c.enu_m = random_array(12, 30, 0, 0, 5);
  c.n_spectra = 1100;
  c.integers = true;
  const EpicRecording one(c);
  c.n_spectra = 9;
  c.n_chan = 140;
  const EpicRecording many(c);
  for (const bool coded : {false, true}) {
    check_against_cpu(one, field(64, 64, 0.025), "1100 spectra", 1100, 1, coded);
    check_against_cpu(many, field(100, 100, 0.016), "140 channels", 9, 140, coded);
  }
}

// A channel at the edge of the band that is divided by hardly anything costs the others no bits.
BOOST_AUTO_TEST_CASE(a_channel_of_high_gain_costs_the_others_no_bits) {
  EpicCase c = flat_array();
  c.n_chan = 3;
  c.n_spectra = 20;
  c.integers = true;
  const EpicRecording recording(c);
  const auto plan = [&] {
    EpicPlan plan = recording.plan();
    plan.nx = plan.ny = 48;
    plan.cell = 1.6 / 48;
    plan.padding = 1.25;
    for (std::size_t ant = 0; ant < plan.n_ant; ++ant)
      for (std::size_t pol = 0; pol < plan.n_pol; ++pol)
        plan.factor(ant, pol, 1) *= 1e-5, plan.factor(ant, pol, 2) *= 1e4;
    return plan;
  };
  const auto cpu = make_fft_imager(plan());
  const auto gpu = make_fft_imager_cuda(plan(), 0);
  const EpicImages wanted = recording.image(*cpu, 20, 3), got = recording.image(*gpu, 20, 3, true);
  BOOST_TEST_REQUIRE(got.planes.size() == wanted.planes.size());
  const std::size_t n = wanted.planes.size() / 3;
  for (std::size_t chan = 0; chan < 3; ++chan) {
    double peak = 0, worst = 0;
    for (std::size_t i = chan * n; i < (chan + 1) * n; ++i) {
      const double a = got.planes.data()[i], b = wanted.planes.data()[i];
      BOOST_TEST_REQUIRE(std::isnan(a) == std::isnan(b));
      if (std::isnan(b)) continue;
      peak = std::max(peak, std::abs(b));
      worst = std::max(worst, std::abs(a - b));
    }
    BOOST_TEST_MESSAGE("channel " << chan << ": " << worst / peak << " of its peak");
    BOOST_TEST(worst <= 1e-5 * peak);
  }
}

// Halves of both polarisations have one scale: what their exponents lack is lost to the fainter one.
BOOST_AUTO_TEST_CASE(a_faint_polarisation_loses_what_its_exponent_lacks) {
  EpicCase c = flat_array();
  c.n_spectra = 40;
  c.integers = true;
  c.gains = false;
  const EpicRecording recording(c);
  for (const double gain : {1.0, 0.1, 0.01, 1e-3}) {
    const auto plan = [&] {
      EpicPlan plan = recording.plan();
      plan.nx = plan.ny = 48;
      plan.cell = 1.6 / 48;
      plan.padding = 1.25;
      for (std::size_t ant = 0; ant < plan.n_ant; ++ant) plan.factor(ant, 1, 0) *= gain;
      return plan;
    };
    const auto cpu = make_fft_imager(plan());
    const EpicImages wanted = recording.image(*cpu, 40, 1);
    for (const EpicPrecision precision : {EpicPrecision::single, EpicPrecision::half}) {
      const auto gpu = make_fft_imager_cuda(plan(), 0, precision);
      const EpicImages got = recording.image(*gpu, 40, 1, true);
      const double of_x = plane_error(got, wanted, 0), of_y = plane_error(got, wanted, 1);
      const bool half = precision == EpicPrecision::half;
      BOOST_TEST_MESSAGE("Y times " << gain << ", " << (half ? "half" : "single") << ": XX " << of_x
                                    << ", YY " << of_y << " of the plane's peak");
      // 9.5e-4 and 1.2e-6; YY 1.2e-3 and 1.3e-6, of a thousandth 1.6e-5
      BOOST_TEST(of_x <= (half ? 2e-3 : 1e-5));
      BOOST_TEST(of_y <= (half ? 2e-3 : gain < 0.01 ? 3e-5 : 1e-5));
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
