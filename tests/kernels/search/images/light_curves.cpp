// SPDX-License-Identifier: GPL-3.0-or-later
// Levels, noise, and what does not count, against a sky that is known.
#include "kernels/search/images/light_curves.h"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "tests/reference/image_pulses.h"
#include "tests/reference/test_device.h"

using namespace apsyn;
using reference::PulsedImages;

BOOST_AUTO_TEST_SUITE(light_curves)

namespace {

constexpr std::size_t kPiece = 32;

/// All frames are kept.
LightCurvePlan plan_of(const PulsedImages& images) {
  LightCurvePlan plan;
  plan.nx = images.nx, plan.ny = images.ny, plan.n_chan = images.n_chan;
  plan.piece = kPiece, plan.n_frame = images.n_frame + 4 * kPiece, plan.n_threads = 2;
  plan.device = reference::test_device();
  return plan;
}

PulsedImages some_images() {
  PulsedImages images;
  images.nx = 50, images.ny = 30, images.n_chan = 4, images.n_frame = 200;
  return images;
}

/// Light curves that have ended, in units of their noise.
class Values {
 public:
  explicit Values(const LightCurves& curves) : reader_(curves.store().reader()) {}
  double operator()(std::size_t t, std::size_t chan, std::size_t pixel) {
    return reader_->at(pixel).steps(static_cast<std::int64_t>(t), chan) / 8;
  }

 private:
  std::unique_ptr<CurveReader> reader_;
};

struct Moments {
  double n = 0, sum = 0, square = 0;
  void add(double x) { n += 1, sum += x, square += x * x; }
  double mean() const { return sum / n; }
  double rms() const { return std::sqrt(square / n); }
};

}  // namespace

BOOST_AUTO_TEST_CASE(levels_and_noise_are_those_of_the_sky) {
  // steady sources; some that fade by a fifth meanwhile; other units; a rest of a third of a piece at the end
  for (const double noise : {1.0, 4e-3})
    for (const double drift : {0.0, -1e-3}) {
      PulsedImages images = some_images();
      images.noise = noise, images.drift = drift;
      LightCurves curves(plan_of(images));
      for (std::size_t t = 0; t < images.n_frame; ++t) curves.push(images.frame(t));
      curves.end();
      Values value(curves);
      BOOST_TEST(curves.finished() == static_cast<std::int64_t>(images.n_frame));
      Moments all, error, ends;
      for (std::size_t t = 0; t < images.n_frame; ++t) {
        const std::vector<float> frame = images.frame(t);
        for (std::size_t chan = 0; chan < images.n_chan; ++chan)
          for (std::size_t pixel = 0; pixel < images.nx * images.ny; ++pixel) {
            const double expected = static_cast<double>(frame[chan * images.nx * images.ny + pixel]) / noise -
                                    images.steady(pixel % images.nx, pixel / images.nx, t);
            const double found = value(t, chan, pixel);
            all.add(found);
            (t < 2 * kPiece || t + 2 * kPiece >= images.n_frame ? ends : error).add(found - expected);
          }
      }
      // 0.6 and 0.9 % measured, which is what levels add to the noise: those from pieces around have 0.3 / 32
      // of a frame's variance at most, those at the ends 0.83 / 32, to which rounding to 1/8 twice adds
      // 2 / (12 64); roots of 0.105 to 0.107, and of 0.144 to 0.161, measured
      BOOST_TEST(std::abs(all.rms() - 1) < 0.02);
      BOOST_TEST(std::abs(error.mean()) < 0.01);
      BOOST_TEST(error.rms() < std::sqrt(0.3 / kPiece + 2.0 / (12 * 64)) + 0.01);
      BOOST_TEST(ends.rms() < std::sqrt(0.83 / kPiece + 2.0 / (12 * 64)) + 0.02);
      BOOST_TEST(curves.unit(100, 2, 77) == noise / 8, boost::test_tools::tolerance(0.02));
      BOOST_TEST(curves.report().n_missing + curves.report().n_bright == 0u);
    }
}

BOOST_AUTO_TEST_CASE(missing_bright_and_constant_images_do_not_count) {
  PulsedImages images = some_images();
  images.pulses.push_back({150, 0, 1, 25, 15, 100});  // bright, but in one place
  const std::size_t n_pixel = images.nx * images.ny;
  LightCurves curves(plan_of(images));
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (std::size_t t = 0; t < images.n_frame; ++t) {
    std::vector<float> frame = images.frame(t);
    float* const plane = frame.data() + 2 * n_pixel;
    if (t == 40) std::fill_n(plane, n_pixel, nan);
    if (t == 41) std::fill_n(plane, n_pixel, 0.0f);
    if (t == 90)
      for (std::size_t i = 0; i < n_pixel; ++i) plane[i] += 3;  // a pedestal
    if (t == 91)
      for (std::size_t i = 0; i < n_pixel; ++i) plane[i] += i % 2 == 0 ? 4.0f : -4.0f;
    std::fill_n(frame.data() + 3 * n_pixel, n_pixel, 7.0f);  // a channel that is stuck
    if (t == 120) frame.clear();
    curves.push(frame);
  }
  curves.end();
  Values value(curves);
  for (std::size_t t = 0; t < images.n_frame; ++t)
    for (std::size_t chan = 0; chan < images.n_chan; ++chan) {
      const bool missing = t == 120 || (chan == 2 && (t == 40 || t == 41)),
                 bright = chan == 2 && (t == 90 || t == 91);
      const bool counts = curves.flags().usable(chan, static_cast<std::int64_t>(t));
      BOOST_TEST(counts == !(missing || bright || chan == 3), "frame " << t << ", channel " << chan);
      for (std::size_t pixel = 0; pixel < n_pixel && !counts; ++pixel)
        BOOST_TEST_REQUIRE(value(t, chan, pixel) == 0);
    }
  BOOST_TEST(curves.report().n_missing == images.n_frame + 2 + 3);
  BOOST_TEST(curves.report().n_bright == 2u);
  BOOST_TEST(std::abs(value(150, 1, 15 * images.nx + 25) - 100) < 5);
}

BOOST_AUTO_TEST_CASE(blank_pixels_are_zero_and_harm_no_others) {
  const PulsedImages images = some_images();
  const std::size_t n_pixel = images.nx * images.ny, never = 31, late = 44, infinite = 63;
  LightCurves curves(plan_of(images));
  for (std::size_t t = 0; t < images.n_frame; ++t) {
    std::vector<float> frame = images.frame(t);
    for (std::size_t chan = 0; chan < images.n_chan; ++chan) {
      frame[chan * n_pixel + never] = std::numeric_limits<float>::quiet_NaN();
      if (t < 70) frame[chan * n_pixel + late] = std::numeric_limits<float>::quiet_NaN();
      if (t == 100) frame[chan * n_pixel + infinite] = std::numeric_limits<float>::infinity();
    }
    curves.push(frame);
  }
  curves.end();
  Values value(curves);
  Moments seen_late, others;
  for (std::size_t t = 0; t < images.n_frame; ++t)
    for (std::size_t chan = 0; chan < images.n_chan; ++chan) {
      BOOST_TEST_REQUIRE(value(t, chan, never) == 0);
      if (t < 70) BOOST_TEST_REQUIRE(value(t, chan, late) == 0);
      if (t == 100) BOOST_TEST(value(t, chan, infinite) == 0);
      if (t >= 128) seen_late.add(value(t, chan, late));
      others.add(value(t, chan, infinite));
    }
  BOOST_TEST(std::abs(seen_late.rms() - 1) < 0.15);  // of 288 values
  BOOST_TEST(std::abs(others.rms() - 1) < 0.1);
}

BOOST_AUTO_TEST_CASE(pixels_that_vary_have_their_own_noise) {
  const PulsedImages images = some_images();
  const std::size_t n_pixel = images.nx * images.ny, varies = 15 * images.nx + 20;
  LightCurves curves(plan_of(images));
  for (std::size_t t = 0; t < images.n_frame; ++t) {
    std::vector<float> frame = images.frame(t);
    // together in all channels, as scintillation is
    for (std::size_t chan = 0; chan < images.n_chan; ++chan)
      frame[chan * n_pixel + varies] += 2 * static_cast<float>(std::sin(2.4 * static_cast<double>(t * t)));
    curves.push(frame);
  }
  curves.end();
  Values value(curves);
  Moments band;
  for (std::size_t t = 0; t < images.n_frame; ++t) {
    double sum = 0;
    for (std::size_t chan = 0; chan < images.n_chan; ++chan) sum += value(t, chan, varies);
    band.add(sum / std::sqrt(static_cast<double>(images.n_chan)));
  }
  // with the noise of its neighbours it were sqrt(1 + 4 2) = 3
  BOOST_TEST(std::abs(band.rms() - 1) < 0.15);
}

BOOST_AUTO_TEST_SUITE_END()
