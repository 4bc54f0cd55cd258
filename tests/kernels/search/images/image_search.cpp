// SPDX-License-Identifier: GPL-3.0-or-later
// Pulses in simulated images: all are found, where and as bright as the best filter in float64 finds them,
// and nothing else.
#include "kernels/search/images/image_search.h"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/reference/image_pulses.h"
#include "tests/reference/test_device.h"

using namespace apsyn;
using reference::ImagePulse;
using reference::PulsedImages;

BOOST_AUTO_TEST_SUITE(image_search)

namespace {

constexpr double kDmStep = 10;

ImageSearchPlan plan_of(const PulsedImages& images, unsigned n_threads = 2) {
  ImageSearchPlan plan;
  plan.nx = images.nx, plan.ny = images.ny, plan.n_chan = images.n_chan;
  const std::size_t n_trial = images.n_chan > 1 ? 31 : 1;
  plan.delay.resize({n_trial, images.n_chan});
  for (std::size_t trial = 0; trial < n_trial; ++trial) {
    const double dm = kDmStep * static_cast<double>(trial);
    for (std::size_t chan = 0; chan < images.n_chan; ++chan)
      plan.delay(trial, chan) = static_cast<std::uint32_t>(std::llround(images.delay_frames(chan, dm)));
    plan.band_delay.push_back(
        std::max(images.delay_frames(0, dm), images.delay_frames(images.n_chan - 1, dm)));
  }
  plan.widths = {1, 2, 3, 4, 6, 8};
  plan.program = plan_boxcars(plan.widths);
  plan.n_threads = n_threads;
  plan.device = reference::test_device();
  return plan;
}

/// `frames` empty: none.
std::vector<ImageCandidate> search(const ImageSearchPlan& plan, const std::vector<std::vector<float>>& frames,
                                   FrameReport* report = nullptr) {
  ImageSearch engine(plan);
  std::vector<ImageCandidate> all;
  const auto take = [&] {
    for (ImageCandidate& candidate : engine.take()) all.push_back(std::move(candidate));
  };
  for (const std::vector<float>& frame : frames) {
    engine.push(frame);
    take();
  }
  engine.end();
  take();
  BOOST_TEST(engine.searched() == static_cast<std::int64_t>(frames.size()));
  if (report != nullptr) *report = engine.frames();
  return all;
}

std::vector<std::vector<float>> frames_of(const PulsedImages& images) {
  std::vector<std::vector<float>> frames;
  for (std::size_t t = 0; t < images.n_frame; ++t) frames.push_back(images.frame(t));
  return frames;
}

const ImageCandidate* find(const std::vector<ImageCandidate>& all, const ImagePulse& pulse) {
  for (const ImageCandidate& c : all) {
    const double middle = static_cast<double>(c.hit.begin) + static_cast<double>(c.hit.width) / 2;
    if (std::abs(middle - pulse.begin - pulse.width / 2) <= 2 && std::hypot(c.x - pulse.x, c.y - pulse.y) < 2)
      return &c;
  }
  return nullptr;
}

/// Position, dispersion measure, time and S/N.
void expect_found(const PulsedImages& images, const std::vector<std::vector<float>>& frames,
                  const std::vector<ImageCandidate>& all) {
  BOOST_TEST(all.size() == images.pulses.size());
  for (const ImagePulse& pulse : images.pulses) {
    const ImageCandidate* c = find(all, pulse);
    BOOST_TEST_REQUIRE((c != nullptr),
                       "the pulse of DM " << pulse.dm << " at " << pulse.x << ", " << pulse.y);
    const double best = reference::best_signal_to_noise(images, frames, pulse, kDmStep),
                 sn = static_cast<double>(c->hit.sn);
    // 24 pulses of S/N 16 to 570 measured at 0.955 to 1.016 of the best that noise, too, makes of all
    // windows, pixels and dispersion measures around
    BOOST_TEST(sn > 0.95 * best);
    BOOST_TEST(sn < 1.05 * best);
    BOOST_TEST(std::abs(kDmStep * c->hit.trial - pulse.dm) <= kDmStep);
    // noise moves a peak by about 0.42 of the beam's width over S/N
    const double reach = images.beam_pixels * std::max(0.1, 2.5 * 0.42 / sn);
    BOOST_TEST(std::hypot(c->x - pulse.x, c->y - pulse.y) < reach);
    BOOST_TEST(c->hit.width >= std::floor(pulse.width / 2));
    BOOST_TEST(c->hit.width <= 2 * std::ceil(pulse.width));
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(pulses_are_found_where_and_as_bright_as_they_are) {
  for (const bool ascending : {true, false}) {
    PulsedImages images;
    if (!ascending) images.first_hz = 150.6e6, images.step_hz = -80e3;
    images.pulses = {{40, 70, 3, 20.3, 30.6, 4},   {61.5, 0, 1, 50.2, 11.4, 6},
                     {130, 200, 4, 12.2, 40.7, 3}, {140, 34, 2, 45.4, 36.1, 4.5},
                     {230, 155, 8, 33, 20, 2},     {300, 10, 1, 60.7, 44.5, 200}};
    images.n_frame = 400;
    const auto frames = frames_of(images);
    const ImageSearchPlan plan = plan_of(images);
    expect_found(images, frames, search(plan, frames));
  }
}

BOOST_AUTO_TEST_CASE(pulses_at_any_phase_of_a_piece_are_one_candidate) {
  for (int shift = 0; shift < 36; shift += 5) {
    PulsedImages images;
    images.n_chan = 8, images.step_hz = 160e3, images.nx = 32, images.ny = 24, images.n_frame = 260;
    images.seed = static_cast<std::uint64_t>(shift) + 10;
    images.pulses = {{64.0 + shift, 120, 3, 15.3, 12.6, 6}};
    const auto frames = frames_of(images);
    const ImageSearchPlan plan = plan_of(images);
    expect_found(images, frames, search(plan, frames));
  }
}

BOOST_AUTO_TEST_CASE(pulses_that_last_for_several_pieces_keep_their_strength) {
  // over the band they take 4 and 6 pieces, and are weak in each image
  PulsedImages images;
  images.frame_s = 0.005, images.n_frame = 560, images.nx = 40, images.ny = 32;
  images.pulses = {{90, 210, 8, 12.3, 10.6, 2.2}, {150, 300, 6, 30.1, 22.2, 2.6}};
  const auto frames = frames_of(images);
  const ImageSearchPlan plan = plan_of(images);
  expect_found(images, frames, search(plan, frames));
}

BOOST_AUTO_TEST_CASE(noise_gives_no_candidates) {
  // 800 images of 16 channels and 190 beams each, 31 dispersion measures
  PulsedImages images;
  images.n_frame = 800, images.seed = 99, images.drift = 2e-4;
  const ImageSearchPlan plan = plan_of(images);
  ImageSearch engine(plan);
  std::size_t n = 0;
  for (std::size_t t = 0; t < images.n_frame; ++t) {
    engine.push(images.frame(t));
    n += engine.take().size();
  }
  engine.end();
  BOOST_TEST(n + engine.take().size() == 0u);
  BOOST_TEST(std::abs(engine.beam_pixels() - images.beam_pixels) < 0.4);
}

BOOST_AUTO_TEST_CASE(sidelobes_are_the_same_candidate) {
  PulsedImages images;
  images.pulses = {{100, 90, 2, 20.3, 30.6, 40}};
  PulsedImages lobes = images;
  lobes.pulses.push_back({100, 90, 2, 50, 10, 24});  // a grating lobe
  lobes.pulses.push_back({100, 90, 2, 45, 40, 12});
  const ImageSearchPlan plan = plan_of(lobes);
  const auto all = search(plan, frames_of(lobes));
  BOOST_TEST_REQUIRE(all.size() == 1u);
  BOOST_TEST(std::hypot(all[0].x - 20.3, all[0].y - 30.6) < 0.1);
  BOOST_TEST(all[0].hit.n_pixels > 10u);
}

BOOST_AUTO_TEST_CASE(a_bright_pulsar_in_every_piece_is_where_it_is) {
  // 44 images apart, 1.3 images wide, with sidelobes of 2 % in the whole image: not lost in the noise that
  // its own wings would make of its pixel.
  PulsedImages images;
  images.n_chan = 1, images.nx = 40, images.ny = 32, images.n_frame = 320, images.sky = 0;
  auto frames = frames_of(images);
  const double x0 = 21.4, y0 = 14.3;
  for (std::size_t t = 0; t < images.n_frame; ++t) {
    double profile = 0;
    for (int k = 0; k < 7; ++k)  // not in the first piece, which ends at 256 times the noise
      profile += std::exp2(-4 * std::pow((static_cast<double>(t) - 44 * k - 37.3) / 1.3, 2));
    for (std::size_t y = 0; y < images.ny; ++y)
      for (std::size_t x = 0; x < images.nx; ++x) {
        const auto px = static_cast<double>(x), py = static_cast<double>(y);
        frames[t][y * images.nx + x] += static_cast<float>(
            2000 * profile * (images.beam(px - x0, py - y0) + 0.02 * std::cos(0.9 * px + 0.7 * py)));
      }
  }
  const auto all = search(plan_of(images), frames);
  BOOST_TEST(all.size() == 7u);
  for (const ImageCandidate& c : all) {
    // measured 0.055 to 0.058 pixels, and S/N 533 to 576
    BOOST_TEST(std::hypot(c.x - x0, c.y - y0) < 0.1);
    BOOST_TEST(c.hit.sn > 500);
  }
}

BOOST_AUTO_TEST_CASE(two_pulses_at_once_are_two_candidates) {
  PulsedImages images;
  images.pulses = {{100, 20, 2, 15.3, 30.6, 6}, {100, 250, 2, 50, 12, 6}};
  const auto frames = frames_of(images);
  const ImageSearchPlan plan = plan_of(images);
  expect_found(images, frames, search(plan, frames));
}

BOOST_AUTO_TEST_CASE(the_same_whatever_the_threads) {
  PulsedImages images;
  images.pulses = {{40, 70, 3, 20.3, 30.6, 4}, {61.5, 0, 1, 50.2, 11.4, 6}};
  images.n_frame = 200;
  const auto frames = frames_of(images);
  ImageSearchPlan plan = plan_of(images, 1), other = plan_of(images, 3);
  plan.threshold = other.threshold = 4.5;
  const auto one = search(plan, frames), three = search(other, frames);
  BOOST_TEST(one.size() > 20u);
  BOOST_TEST_REQUIRE(one.size() == three.size());
  for (std::size_t i = 0; i < one.size(); ++i) {
    BOOST_TEST(one[i].hit.sn == three[i].hit.sn);
    BOOST_TEST(one[i].hit.begin == three[i].hit.begin);
    BOOST_TEST(one[i].hit.n_hits == three[i].hit.n_hits);
    BOOST_TEST(one[i].x == three[i].x);
    BOOST_TEST(one[i].flux == three[i].flux);
  }
}

BOOST_AUTO_TEST_CASE(what_is_missing_costs_only_its_share) {
  PulsedImages images;
  images.n_frame = 260;
  images.pulses = {{100, 120, 4, 30.3, 22.6, 5}};
  auto frames = frames_of(images);
  const double whole = reference::best_signal_to_noise(images, frames, images.pulses[0], kDmStep);
  const std::size_t n_pixel = images.nx * images.ny;
  frames[110].clear();
  for (std::size_t t = 0; t < images.n_frame; ++t) {
    if (frames[t].empty()) continue;
    for (const std::size_t chan : {1, 5, 9, 13})
      std::fill_n(frames[t].begin() + static_cast<std::ptrdiff_t>(chan * n_pixel), n_pixel,
                  std::numeric_limits<float>::quiet_NaN());
  }
  const ImageSearchPlan plan = plan_of(images);
  FrameReport report;
  const auto all = search(plan, frames, &report);
  BOOST_TEST(report.n_missing == 4 * images.n_frame + 12);
  BOOST_TEST_REQUIRE(all.size() == 1u);
  // a quarter of the channels; the frame has up to a tenth of what is left
  BOOST_TEST(static_cast<double>(all[0].hit.sn) == std::sqrt(0.75) * whole,
             boost::test_tools::tolerance(0.12));
  BOOST_TEST(all[0].flux == 5 * 1.0, boost::test_tools::tolerance(0.25));
}

BOOST_AUTO_TEST_CASE(bright_images_are_no_candidates) {
  PulsedImages images;
  images.n_frame = 200;
  auto frames = frames_of(images);
  for (std::size_t i = 0; i < frames[100].size(); ++i) {
    frames[100][i] += 5;                          // everywhere
    frames[140][i] += i % 2 == 0 ? 5.0f : -5.0f;  // as fringes
  }
  const ImageSearchPlan plan = plan_of(images);
  FrameReport report;
  BOOST_TEST(search(plan, frames, &report).empty());
  BOOST_TEST(report.n_bright == 2 * images.n_chan);
  ImageSearchPlan trusting = plan_of(images);
  trusting.rfi_sigma = 0;
  BOOST_TEST(!search(trusting, frames).empty());
}

BOOST_AUTO_TEST_CASE(one_channel_and_few_images) {
  PulsedImages images;
  images.n_chan = 1, images.nx = 21, images.ny = 17;
  images.pulses = {{9, 0, 1, 10.3, 8.2, 14}};
  for (const std::size_t n_frame : {16, 17, 40, 100}) {
    images.n_frame = n_frame;
    const auto frames = frames_of(images);
    const ImageSearchPlan plan = plan_of(images);
    const auto all = search(plan, frames);
    BOOST_TEST_REQUIRE(all.size() == 1u);
    BOOST_TEST(std::hypot(all[0].x - 10.3, all[0].y - 8.2) < 0.4);
    BOOST_TEST(all[0].hit.begin == 9);
  }
  const ImageSearchPlan plan = plan_of(images);
  ImageSearch none(plan);
  none.end();
  BOOST_TEST(none.take().empty());
}

BOOST_AUTO_TEST_CASE(cutouts_show_the_pulse) {
  PulsedImages images;
  images.n_frame = 300;
  images.pulses = {{100, 90, 2, 20.3, 30.6, 10}, {200, 40, 1, 1.2, 46.4, 20}};
  ImageSearchPlan plan = plan_of(images);
  plan.cutout_pixels = 15;
  const auto all = search(plan, frames_of(images));
  BOOST_TEST_REQUIRE(all.size() == 2u);
  const ImageCutout& first = all[0].cutout.value();
  BOOST_TEST(first.x0 == 13);
  BOOST_TEST(first.y0 == 24);
  const std::size_t begin = kCutoutFrames, width = static_cast<std::size_t>(all[0].hit.width);
  BOOST_TEST(first.images.extent(0) == 2 * kCutoutFrames + width);
  double inside = 0, before = 0;
  for (std::size_t t = 0; t < width; ++t) inside += static_cast<double>(first.images(begin + t, 7, 7));
  for (std::size_t t = 0; t < begin; ++t) before += static_cast<double>(first.images(t, 7, 7));
  BOOST_TEST(inside / static_cast<double>(width) == all[0].flux, boost::test_tools::tolerance(0.01));
  BOOST_TEST(std::abs(before / static_cast<double>(begin)) < 0.3);
  BOOST_TEST(static_cast<double>(first.significance(7, 7)) == static_cast<double>(all[0].hit.sn),
             boost::test_tools::tolerance(1e-6));
  // beyond the corner there is nothing
  const ImageCutout& corner = all[1].cutout.value();
  BOOST_TEST(corner.x0 == -6);
  BOOST_TEST(std::isnan(corner.images(0, 0, 0)));
  BOOST_TEST(std::isnan(corner.significance(14, 14)));
  BOOST_TEST(static_cast<double>(corner.significance(7, 7)) == static_cast<double>(all[1].hit.sn),
             boost::test_tools::tolerance(1e-6));
}

BOOST_AUTO_TEST_SUITE_END()
