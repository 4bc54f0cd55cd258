// SPDX-License-Identifier: GPL-3.0-or-later
// Images by gridding and transforming voltages against the sums of their definition in float64. The error is
// the RMS over the pixels above the horizon, over the RMS of the image with autocorrelations: what a source
// leaves where nothing is, next to what is there. tests/kernels/epic/cuda/fft_images.cpp runs the same tests
// on a GPU.
#include <boost/test/unit_test.hpp>

#include <algorithm>

#include "kernels/epic/fft/fft_cuda.h"
#include "kernels/epic/fft/off_grid.h"
#include "libcore/array/array_layout.h"
#include "tests/reference/test_device.h"
#include "tests/support/epic/fft_case.h"

using namespace apsyn;
using namespace apsyn::test;

BOOST_AUTO_TEST_SUITE(fft_images)

namespace {

std::unique_ptr<DirectImager> make_fft(EpicPlan plan) {
  const Device device = reference::test_device();
  if (device.kind == Device::Kind::cuda) return make_fft_imager_cuda(std::move(plan), device.index);
  return make_fft_imager(std::move(plan));
}

FftError fft_error(const EpicRecording& recording, const Fft& fft, const std::string& what,
                   std::size_t stride = 23) {
  const auto imager = make_fft(fft.plan(recording));
  const EpicImages images = recording.image(*imager, 50, 64);
  const FftError error = error_of(recording, fft.plan(recording), images, stride);
  BOOST_TEST_MESSAGE(what << ": " << fft.cells << " cells, padding " << fft.padding << ": " << error.rms
                          << ", worst " << error.worst);
  return error;
}

}  // namespace

BOOST_AUTO_TEST_CASE(errors_of_a_level_array_fall_with_kernel_and_padding) {
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

// The sky fills the whole field: wider kernels have a zero of their response near its edge.
BOOST_AUTO_TEST_CASE(wide_kernels_stay_accurate_without_padding) {
  EpicCase c = flat_array();
  c.enu_m = random_array(30, 45, 0, 0.03, 5);
  const EpicRecording recording(c);
  for (const EpicKernel kernel : {EpicKernel::kaiser_bessel, EpicKernel::prolate}) {
    double rms[10] = {};
    for (const std::size_t cells : {5, 6, 7, 8, 9}) {
      Fft fft;
      fft.size = 60;
      fft.cell = 2.0 / 60;
      fft.kernel = kernel;
      fft.cells = cells;
      fft.autos = true;
      rms[cells] = fft_error(recording, fft, kernel == EpicKernel::prolate ? "full, prolate" : "full", 5).rms;
    }
    BOOST_TEST(rms[7] <= 0.01);  // 5.6e-3, prolate 2.8e-3
    BOOST_TEST(rms[8] <= 0.01);  // 3.0e-3, prolate 4.8e-3
    // What is left is float32's rounding over a response of 1e-5.
    BOOST_TEST(rms[9] <= (kernel == EpicKernel::prolate ? 0.08 : 0.01));  // 5.5e-3, prolate 0.039
  }
}

// Twice as wide as high, and the other way round: either axis has a grid of its own length.
BOOST_AUTO_TEST_CASE(images_need_not_be_square) {
  const EpicRecording recording(flat_array());
  for (const auto& [nx, ny] : {std::pair{72, 36}, {36, 72}})
    for (const bool autos : {false, true}) {
      Fft fft;
      fft.padding = 1.25;
      fft.autos = autos;
      const auto planned = [&] {
        EpicPlan plan = fft.plan(recording);
        plan.nx = static_cast<std::size_t>(nx);
        plan.ny = static_cast<std::size_t>(ny);
        return plan;
      };
      const auto imager = make_fft(planned());
      const FftError error = error_of(recording, planned(), recording.image(*imager, 70, 1), 7);
      BOOST_TEST_MESSAGE(nx << " x " << ny << ", autos " << autos << ": " << error.rms);
      BOOST_TEST(error.rms <= 1e-4);  // 2.8e-5
    }
}

BOOST_AUTO_TEST_CASE(prolate_kernels_err_by_less_than_a_thousandth) {
  const EpicRecording recording(flat_array());
  Fft fft;
  fft.kernel = EpicKernel::prolate;
  BOOST_TEST(fft_error(recording, fft, "prolate").rms <= 1e-3);
}

BOOST_AUTO_TEST_CASE(arrays_on_slopes_are_imaged_on_their_plane) {
  EpicCase c = flat_array();
  c.enu_m = random_array(30, 45, 0, 0.03, 5);
  const EpicRecording slope(c);
  Fft fft;
  fft.padding = 1.25;
  BOOST_TEST(fft_error(slope, fft, "slope").rms <= 2e-5);
  c.enu_m = random_array(30, 45, 0.4, 0.03, 5);
  const EpicRecording uneven(c);
  fft.padding = 1;
  BOOST_TEST(fft_error(uneven, fft, "uneven slope").rms <= 2e-3);  // 1.1e-3
  fft.w = EpicW::plane;
  BOOST_TEST(fft_error(uneven, fft, "uneven slope, plane").rms <= 0.1);  // 0.06
  fft.w = EpicW::zenith;
  BOOST_TEST(fft_error(uneven, fft, "uneven slope, zenith").rms > 0.1);  // 0.13: what the others are for
}

BOOST_AUTO_TEST_CASE(lwa_sv_without_its_outrigger_is_imaged) {
  EpicCase c;
  for (const Antenna& antenna : builtin_array("lwa-sv").antennas) c.enu_m.push_back(antenna.enu_m);
  c.enu_m.pop_back();  // the outrigger
  c.freq_hz = 70e6;
  c.n_spectra = 16;
  c.noise = 10;
  const EpicRecording recording(c);
  Fft fft;
  fft.size = 128;
  fft.cell = kRadPerDeg;
  BOOST_TEST(fft_error(recording, fft, "LWA-SV", 997).rms <= 1e-3);
  fft.cells = 5;
  BOOST_TEST(fft_error(recording, fft, "LWA-SV", 997).rms <= 5e-3);
}

// Antennas far from the others are left out of the grid, which stays that of the others; with gains, delays,
// missing samples, several channels, and where they are the first, the last and in between.
BOOST_AUTO_TEST_CASE(antennas_off_the_grid_are_imaged_exactly) {
  const Vec3 far[] = {{240, -170, 12}, {-310, 40, -7}, {25, 290, 3}};
  for (const std::size_t n_far : {1, 2, 3})
    for (const std::size_t n_pol : {1, 2}) {
      EpicCase c = flat_array();
      c.enu_m = random_array(30, 45, 0, 0.03, 5);
      c.enu_m.insert(c.enu_m.begin(), far[0]);
      if (n_far > 1) c.enu_m.insert(c.enu_m.begin() + 11, far[1]);
      if (n_far > 2) c.enu_m.push_back(far[2]);
      c.n_pol = n_pol;
      c.n_chan = 2;
      c.step_hz = 3e6;
      c.missing = 0.2;
      EpicRecording recording(c);
      for (const bool autos : {false, true}) {
        Fft fft;
        fft.padding = 1.25;
        fft.autos = autos;
        const auto planned = [&] {
          EpicPlan plan = fft.plan(recording);
          choose_off_grid(plan, recording.geometry,
                          [&] { return fft_cost(plan, recording.geometry).of(1000); });
          return plan;
        };
        const EpicPlan plan = planned();
        BOOST_TEST_REQUIRE(!plan.off_grid.empty());
        BOOST_TEST(off_grid_order(plan).n_off == n_far);
        const FftGrid all = plan_fft_grid(fft.plan(recording), recording.geometry),
                      some = plan_fft_grid(plan, recording.geometry);
        BOOST_TEST(all.x.n * all.y.n > 2 * some.x.n * some.y.n);
        const auto imager = make_fft(planned());
        recording.image(*imager, 70, 2);  // what was before leaves no trace
        const FftError error = error_of(recording, plan, recording.image(*imager, 33, 2), 97);
        BOOST_TEST_MESSAGE(n_far << " off the grid, " << n_pol << " polarisations, autos " << autos << ": "
                                 << error.rms << ", worst " << error.worst);
        BOOST_TEST(error.rms <= 2e-5);  // 5e-6
      }
    }
}

// Delays that follow the sky turn the antennas, and axes that follow it turn the image.
BOOST_AUTO_TEST_CASE(antennas_off_the_grid_follow_the_sky) {
  EpicCase c = flat_array();
  c.enu_m = random_array(30, 45, 0, 0.03, 5);
  c.enu_m.push_back({240, -170, 12});
  EpicRecording recording(c);
  Fft fft;
  fft.padding = 1.25;
  const auto planned = [&] {
    EpicPlan plan = fft.plan(recording);
    plan.off_grid.assign(31, 0);
    plan.off_grid[30] = 1;
    return plan;
  };
  const auto imager = make_fft(planned());
  recording.image(*imager, 70, 1);
  for (std::size_t ant = 0; ant < 31; ++ant)
    recording.antennas[ant].delay_s = recording.geometry.delay_s[ant] += 1e-9 * static_cast<double>(ant % 5);
  const double angle = 0.02;  // about the normal
  recording.geometry.axes = {
      {{std::cos(angle), std::sin(angle), 0}, {-std::sin(angle), std::cos(angle), 0}, {0, 0, 1}}};
  const FftError error = error_of(recording, planned(), recording.image(*imager, 70, 1), 23);
  BOOST_TEST_MESSAGE("off the grid, another geometry: " << error.rms);
  BOOST_TEST(error.rms <= 2e-5);
}

BOOST_AUTO_TEST_CASE(lwa_sv_with_its_outrigger_takes_the_grid_of_the_others) {
  EpicCase c;
  for (const Antenna& antenna : builtin_array("lwa-sv").antennas) c.enu_m.push_back(antenna.enu_m);
  c.freq_hz = 70e6;
  c.n_spectra = 16;
  c.noise = 10;
  c.gains = true;
  const EpicRecording recording(c);
  Fft fft;
  fft.size = 128;
  fft.cell = kRadPerDeg;
  const auto planned = [&] {
    EpicPlan plan = fft.plan(recording);
    choose_off_grid(plan, recording.geometry, [&] { return fft_cost(plan, recording.geometry).of(1000); });
    return plan;
  };
  const EpicPlan plan = planned();
  BOOST_TEST_REQUIRE(plan.off_grid.size() == 256u);
  BOOST_TEST(std::count(plan.off_grid.begin(), plan.off_grid.end(), 1) == 1);
  BOOST_TEST(static_cast<int>(plan.off_grid[255]) == 1);
  const FftGrid grid = plan_fft_grid(plan, recording.geometry);
  BOOST_TEST(grid.x.n * grid.y.n <= 144u * 150u);  // 360 x 144 of all
  const auto imager = make_fft(planned());
  const FftError error = error_of(recording, plan, recording.image(*imager, 16, 1), 997);
  BOOST_TEST_MESSAGE("LWA-SV, its outrigger off the grid: " << error.rms << ", worst " << error.worst);
  BOOST_TEST(error.rms <= 1e-3);
}

// A source at elevation e, azimuth a: where the image has its peak, and how much of its power.
BOOST_AUTO_TEST_CASE(lwa_sv_images_sources_down_to_20_degrees) {
  for (const auto& [elevation_deg, azimuth_deg] : {std::pair(20.0, 20.0), std::pair(40.0, 110.0)}) {
    const double e = elevation_deg * kRadPerDeg, a = azimuth_deg * kRadPerDeg;
    EpicCase c;
    for (const Antenna& antenna : builtin_array("lwa-sv").antennas) c.enu_m.push_back(antenna.enu_m);
    c.freq_hz = 70e6;
    c.n_spectra = 2;
    c.n_pol = 1;
    c.noise = 0;
    c.sources = {{std::cos(e) * std::sin(a), std::cos(e) * std::cos(a), std::sin(e)}};
    const EpicRecording recording(c);
    Fft fft;
    fft.size = 512;
    fft.cell = kRadPerDeg / 4;
    const auto imager = make_fft(fft.plan(recording));
    const EpicImages images = recording.image(*imager, 16, 1);
    const double x = 256 - c.sources[0][0] / fft.cell, y = 256 + c.sources[0][1] / fft.cell;
    const auto px = static_cast<std::size_t>(std::lround(x)), py = static_cast<std::size_t>(std::lround(y));
    // Both images, the truth's and ours, have the same offset from the nearest pixel.
    const auto peak = [&](const auto& at) {
      const auto vertex = [](double low, double middle, double high) {
        return (std::log(low) - std::log(high)) / 2 / (std::log(low) - 2 * std::log(middle) + std::log(high));
      };
      return std::array{vertex(at(px - 1, py), at(px, py), at(px + 1, py)),
                        vertex(at(px, py - 1), at(px, py), at(px, py + 1)), at(px, py)};
    };
    const auto got = peak(
        [&](std::size_t col, std::size_t row) { return static_cast<double>(images.planes(0, 0, row, col)); });
    const EpicPlan plan = fft.plan(recording);
    const auto wanted = peak([&](std::size_t col, std::size_t row) {
      return recording.truth(epic_direction(plan, recording.geometry, col, row), 0, 1, false)
          .mean[0][0]
          .real();
    });
    const double off_pixels = std::hypot(got[0] - wanted[0], got[1] - wanted[1]) / 4;  // of a degree
    BOOST_TEST_MESSAGE("elevation " << elevation_deg << ", azimuth " << azimuth_deg << ": off by "
                                    << off_pixels << " pixels of a degree, power " << got[2] / wanted[2]);
    BOOST_TEST(off_pixels <= 0.02);                        // 3e-4
    BOOST_TEST(std::abs(got[2] / wanted[2] - 1) <= 0.01);  // 1.1e-3
  }
}

// With autocorrelations removed an antenna that hears something alone leaves nothing, whatever its kernel is.
BOOST_AUTO_TEST_CASE(a_lone_antenna_images_to_zero) {
  for (const double slope : {0.0, 0.03}) {
    EpicCase c = flat_array();
    c.enu_m = random_array(30, 45, slope > 0 ? 0.4 : 0, slope, 5);
    EpicRecording recording(c);
    for (auto& spectrum : recording.voltages[0])
      for (std::size_t ant = 0; ant < spectrum.size(); ++ant)
        for (auto& voltage : spectrum[ant].voltage) voltage = ant == 17 ? 10.0 * voltage : 0.0;
    double worst[2] = {};
    for (const bool autos : {false, true}) {
      Fft fft;
      fft.autos = autos;
      const auto imager = make_fft(fft.plan(recording));
      const EpicImages images = recording.image(*imager, 50, 64);
      for (const float value : images.planes)
        if (!std::isnan(value)) worst[autos] = std::max(worst[autos], std::abs(static_cast<double>(value)));
    }
    BOOST_TEST_MESSAGE("a lone antenna leaves " << worst[0] << " of " << worst[1]);
    // Rounding of float32, over the square of the response: 2e-6 on the level, 5e-5 by the horizon of the
    // slope.
    BOOST_TEST(worst[0] <= 1e-4 * worst[1]);
  }
}

BOOST_AUTO_TEST_SUITE_END()
