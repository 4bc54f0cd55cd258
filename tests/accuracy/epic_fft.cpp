// SPDX-License-Identifier: GPL-3.0-or-later
// Images by gridding and transforming voltages against the sums of their definition in float64. The error is
// the RMS over the pixels above the horizon, over the RMS of the image with autocorrelations: what a source
// leaves where nothing is, next to what is there.
#include <boost/test/unit_test.hpp>

#include "libcore/core/array_layout.h"
#include "tests/support/epic_recording.h"

using namespace apsyn;
using namespace apsyn::test;

namespace {

struct Error {
  double rms = 0, worst = 0;  ///< over the RMS power
};

Error error_of(const EpicRecording& recording, const EpicPlan& plan, const EpicImages& images,
               std::size_t stride) {
  double squares = 0, power = 0, worst = 0, n = 0;
  for (std::size_t i = 0; i < plan.nx * plan.ny; ++i) {
    const std::size_t x = i % plan.nx, y = i / plan.nx;
    const Vec3 unit = epic_direction(plan, recording.geometry, x, y);
    for (std::size_t plane = 0; plane < plan.n_plane(); ++plane)
      BOOST_TEST_REQUIRE(std::isnan(images.planes(0, plane, y, x)) == std::isnan(unit[0]));
    if (std::isnan(unit[0]) || i % stride != 0) continue;
    const auto truth = recording.truth(unit, 0, plan.n_average, plan.autos);
    const auto whole = recording.truth(unit, 0, plan.n_average, true);
    const double wanted[4] = {truth.mean[0][0].real(), truth.mean[1][1].real(), truth.mean[0][1].real(),
                              truth.mean[0][1].imag()};
    for (std::size_t plane = 0; plane < plan.n_plane(); ++plane) {
      const double off = static_cast<double>(images.planes(0, plane, y, x)) - wanted[plane];
      squares += off * off;
      worst = std::max(worst, std::abs(off));
      if (plane >= 2) continue;
      power += std::norm(whole.mean[plane][plane]);
      ++n;
    }
  }
  const double rms_power = std::sqrt(power / n);
  return {std::sqrt(squares / (2 * n)) / rms_power, worst / rms_power};
}

struct Fft {
  std::size_t size = 64;
  double cell = kRadPerDeg * 2;
  std::size_t cells = 7;
  double padding = 1;
  EpicW w = EpicW::kernel;
  EpicKernel kernel = EpicKernel::kaiser_bessel;
  bool autos = false;

  EpicPlan plan(const EpicRecording& recording) const {
    EpicPlan plan = recording.plan();
    plan.nx = plan.ny = size;
    plan.cell = cell;
    plan.kernel_cells = cells;
    plan.padding = padding;
    plan.w = w;
    plan.kernel = kernel;
    plan.autos = autos;
    plan.n_average = plan.n_chan;
    plan.n_threads = 2;
    return plan;
  }
};

Error fft_error(const EpicRecording& recording, const Fft& fft, const std::string& what) {
  const auto imager = make_fft_imager(fft.plan(recording));
  const EpicImages images = recording.image(*imager, 50, 64);
  const Error error = error_of(recording, fft.plan(recording), images, 23);
  BOOST_TEST_MESSAGE(what << ": " << fft.cells << " cells, padding " << fft.padding << ": " << error.rms
                          << ", worst " << error.worst);
  return error;
}

EpicCase flat_array() {
  EpicCase c;
  c.enu_m = random_array(30, 45, 0, 0, 5);
  c.n_spectra = 70;
  c.gains = c.delays = true;
  return c;
}

}  // namespace

BOOST_AUTO_TEST_CASE(flat_array_by_kernel_size) {
  const EpicRecording recording(flat_array());
  struct Wanted {
    std::size_t cells;
    double padding, error;
  };
  for (const Wanted& wanted :
       {Wanted{5, 1, 1e-2}, Wanted{7, 1, 1e-3}, Wanted{7, 1.25, 2e-5}, Wanted{9, 1.25, 1e-5}})
    for (const bool autos : {false, true}) {
      Fft fft;
      fft.cells = wanted.cells;
      fft.padding = wanted.padding;
      fft.autos = autos;
      BOOST_TEST(fft_error(recording, fft, autos ? "flat, autos" : "flat").rms <= wanted.error);
    }
}

BOOST_AUTO_TEST_CASE(prolate_kernels) {
  const EpicRecording recording(flat_array());
  Fft fft;
  fft.kernel = EpicKernel::prolate;
  BOOST_TEST(fft_error(recording, fft, "prolate").rms <= 1e-3);
}

BOOST_AUTO_TEST_CASE(arrays_on_slopes) {
  EpicCase c = flat_array();
  c.enu_m = random_array(30, 45, 0, 0.03, 5);
  const EpicRecording slope(c);
  Fft fft;
  fft.padding = 1.25;
  BOOST_TEST(fft_error(slope, fft, "slope").rms <= 2e-5);
  c.enu_m = random_array(30, 45, 0.4, 0.03, 5);
  const EpicRecording uneven(c);
  fft.padding = 1;
  BOOST_TEST(fft_error(uneven, fft, "uneven slope").rms <= 1e-3);
  fft.w = EpicW::plane;
  BOOST_TEST(fft_error(uneven, fft, "uneven slope, plane").rms <= 0.1);
  fft.w = EpicW::zenith;
  BOOST_TEST(fft_error(uneven, fft, "uneven slope, zenith").rms > 0.01);
}
