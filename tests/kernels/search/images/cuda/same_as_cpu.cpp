// SPDX-License-Identifier: GPL-3.0-or-later
// Light curves on a GPU against those of the CPU, which have been compared with float64: all that comes back
// is the same to the last bit, and so are the candidates.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "kernels/search/images/image_search.h"
#include "tests/reference/image_pulses.h"

using namespace apsyn;
using reference::PulsedImages;

BOOST_AUTO_TEST_SUITE(same_as_cpu)

namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
const Device kGpu{Device::Kind::cuda, 0, "cuda:0"};

/// Noise with sources that vary, and without some pixels, channels and whole images.
std::vector<std::vector<float>> damaged_frames(std::size_t nx, std::size_t ny, std::size_t n_chan,
                                               std::size_t n_frame, float brightest) {
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  std::vector<std::vector<float>> frames(n_frame);
  const std::size_t n = nx * ny;
  for (std::size_t t = 0; t < n_frame; ++t) {
    if (t == 33) continue;
    frames[t].resize(n * n_chan);
    for (std::size_t chan = 0; chan < n_chan; ++chan)
      for (std::size_t i = 0; i < n; ++i) {
        float& value = frames[t][chan * n + i];
        value = 1e-3f * (normal(random) + static_cast<float>(i % 50) * (1 + 1e-3f * static_cast<float>(t)));
        if (i == n / 2) value += 1e-3f * brightest * std::sin(static_cast<float>(t * t));
        if (i == n / 2 + 1 && t > n_frame / 2 && t < n_frame / 2 + 4) value += 1e-3f * brightest;
        if (i % nx == 3) value = kNan;
        if (i == 5 && t % 5 == 0) value = std::numeric_limits<float>::infinity();
        if ((t + chan) % 23 == 7 || (chan == 2 && t < n_frame / 3)) value = kNan;
        if (chan == 1 && t == 50) value += 0.02f;
      }
  }
  return frames;
}

ImageSearchPlan plan_of(std::size_t nx, std::size_t ny, std::size_t n_chan) {
  ImageSearchPlan plan;
  plan.nx = nx, plan.ny = ny, plan.n_chan = n_chan;
  constexpr std::size_t kTrials = 16;
  plan.delay.resize({kTrials, n_chan});
  for (std::size_t trial = 0; trial < kTrials; ++trial) {
    for (std::size_t chan = 0; chan < n_chan; ++chan)
      plan.delay(trial, chan) = static_cast<std::uint32_t>(3 * trial * (n_chan - 1 - chan) / n_chan);
    plan.band_delay.push_back(3 * static_cast<double>(trial));
  }
  plan.widths = {1, 2, 3, 4, 6, 8};
  plan.program = plan_boxcars(plan.widths);
  plan.threshold = 6;
  plan.n_threads = 2;
  return plan;
}

std::vector<ImageCandidate> search(ImageSearchPlan& plan, const Device& device,
                                   const std::vector<std::vector<float>>& frames, std::uint64_t& n_dropped) {
  plan.device = device;
  ImageSearch engine(plan);
  std::vector<ImageCandidate> all;
  for (const std::vector<float>& frame : frames) {
    engine.push(frame);
    for (ImageCandidate& candidate : engine.take()) all.push_back(std::move(candidate));
  }
  engine.end();
  for (ImageCandidate& candidate : engine.take()) all.push_back(std::move(candidate));
  n_dropped = engine.n_dropped();
  return all;
}

/// The same bits, NaN and all.
template <class T, std::size_t Rank>
bool same(const Buffer<T, Rank>& a, const Buffer<T, Rank>& b) {
  return a.shape() == b.shape() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

void expect_same(ImageSearchPlan& plan, const std::vector<std::vector<float>>& frames,
                 std::size_t min_candidates) {
  std::uint64_t dropped_cpu = 0, dropped_gpu = 0;
  const auto cpu = search(plan, {}, frames, dropped_cpu), gpu = search(plan, kGpu, frames, dropped_gpu);
  BOOST_TEST(cpu.size() >= min_candidates);
  BOOST_TEST(dropped_cpu == dropped_gpu);
  BOOST_TEST_REQUIRE(cpu.size() == gpu.size());
  for (std::size_t i = 0; i < cpu.size(); ++i) {
    const PulseHit &a = cpu[i].hit, &b = gpu[i].hit;
    BOOST_TEST((a.trial == b.trial && a.begin == b.begin && a.width == b.width && a.x == b.x && a.y == b.y));
    BOOST_TEST(a.sn == b.sn);
    BOOST_TEST((a.n_hits == b.n_hits && a.n_pixels == b.n_pixels && a.first == b.first && a.last == b.last));
    BOOST_TEST((a.first_trial == b.first_trial && a.last_trial == b.last_trial));
    BOOST_TEST((cpu[i].x == gpu[i].x && cpu[i].y == gpu[i].y && cpu[i].flux == gpu[i].flux));
    BOOST_TEST((cpu[i].trial_sn == gpu[i].trial_sn));
    BOOST_TEST_REQUIRE(cpu[i].cutout.has_value() == gpu[i].cutout.has_value());
    if (!cpu[i].cutout) continue;
    BOOST_TEST(same(cpu[i].cutout->images, gpu[i].cutout->images));
    BOOST_TEST(same(cpu[i].cutout->significance, gpu[i].cutout->significance));
    BOOST_TEST(same(cpu[i].cutout->spectrum, gpu[i].cutout->spectrum));
  }
}

/// All that a store gives back, from poisoned memory.
struct Returned {
  Buffer<float, 2> references;
  Buffer<std::int16_t, 2> peaks;
  Buffer<float, 3> deviations;
  Buffer<float, 1> variance;
  Buffer<std::int16_t, 2> planes;  ///< [frame][pixel] of a channel
};

Returned returned(LightCurvePlan plan, const Device& device, const std::vector<std::vector<float>>& frames) {
  plan.device = device;
  const auto store =
      device.kind == Device::Kind::cuda ? make_cuda_curve_store(plan) : make_cpu_curve_store(plan);
  const std::size_t n_chan = plan.n_chan, n = plan.piece;
  std::vector<std::size_t> pixels;
  for (std::size_t pixel = 0; pixel < plan.n_pixel(); pixel += 3) pixels.push_back(pixel);
  Buffer<std::uint8_t, 2> usable({n_chan, plan.n_frame});
  std::vector<float> step(n_chan), factor(n_chan);
  for (std::size_t chan = 0; chan < n_chan; ++chan)
    step[chan] = 1e-3f / static_cast<float>(chan + 4), factor[chan] = chan == 1 ? 0 : 0.1f;
  Returned r;
  r.references.resize({n_chan, pixels.size()});
  r.peaks.resize({n, n_chan});
  r.deviations.resize({n_chan, (plan.n_tile() + 1) / 2, kTilePixels});
  r.variance.resize({plan.n_lane()});
  r.planes.resize({n, plan.n_pixel()});
  r.references.fill(-7), r.peaks.fill(-7), r.deviations.fill(-7), r.variance.fill(-7), r.planes.fill(-7);
  store->start_piece(0, 5);
  for (std::size_t t = 0; t < n; ++t) {
    std::vector<ChannelUse> use(n_chan);
    for (std::size_t chan = 0; chan < n_chan; ++chan) {
      const bool there = !frames[t].empty() && (t + chan) % 11 != 5;
      use[chan] = {!there, t == 0, step[chan]};
      usable(chan, t) = there && (t + 2 * chan) % 9 != 4 ? 1 : 0;
    }
    store->receive(frames[t]);
    store->store(frames[t], static_cast<std::int64_t>(t), t, 0, use);
  }
  store->copy_peaks(r.peaks);
  for (std::size_t t = 0; t < n; ++t)
    for (std::size_t chan = 0; chan < n_chan; ++chan)
      if ((t + chan) % 11 == 5 || frames[t].empty()) r.peaks(t, chan) = 0;
  PieceFrames piece{{0, n}, 0, step, {usable.data(), plan.n_frame}};
  store->measure_channels(piece, 2, r.deviations);
  store->measure_band(piece, factor, r.variance.view().span());
  store->start_piece(1, 0);
  store->copy_references(1, pixels, r.references);
  store->forget_means(2);
  std::vector<float> channel(n_chan, 1e-3f), pixel(plan.n_lane());
  for (std::size_t i = 0; i < pixel.size(); ++i)
    pixel[i] = i % 37 == 0 ? 0 : 1 + 0.01f * static_cast<float>(i % 13);
  Normalisation task{piece, channel, pixel, {{-1, 2, 0, 0, 2}, {2, -1, 0, 0, 2}, true}, 0.1f, 0.7f / 32};
  store->normalise(task);
  store->clear({3, 2});
  for (std::size_t t = 0; t < n; ++t)
    store->copy_plane(static_cast<std::int64_t>(t), n_chan - 1, r.planes.view()[t].span());
  const auto reader = store->reader();
  for (std::size_t t = 0; t < n; ++t)
    for (std::size_t i = 0; i < plan.n_pixel(); ++i)
      BOOST_TEST_REQUIRE(reader->at(i).steps(static_cast<std::int64_t>(t), n_chan - 1) ==
                         double(r.planes(t, i)));
  return r;
}

void expect_same_store(std::size_t nx, std::size_t ny, std::size_t n_chan, std::size_t piece) {
  LightCurvePlan plan;
  plan.nx = nx, plan.ny = ny, plan.n_chan = n_chan, plan.piece = piece, plan.n_frame = 4 * piece + 3;
  plan.n_threads = 2;
  const auto frames = damaged_frames(nx, ny, n_chan, piece, 300);
  const Returned cpu = returned(plan, {}, frames), gpu = returned(plan, kGpu, frames);
  BOOST_TEST(same(cpu.references, gpu.references));
  BOOST_TEST(same(cpu.peaks, gpu.peaks));
  BOOST_TEST(same(cpu.variance, gpu.variance));
  BOOST_TEST(same(cpu.planes, gpu.planes));
  std::size_t n_other = 0;
  for (std::size_t i = 0; i < cpu.deviations.size(); ++i) {
    const float a = cpu.deviations.data()[i], b = gpu.deviations.data()[i];
    n_other += a == b || (std::isnan(a) && std::isnan(b)) ? 0 : 1;
  }
  BOOST_TEST(n_other == 0u);
}

}  // namespace

BOOST_AUTO_TEST_CASE(all_that_a_store_gives_back) {
  expect_same_store(33, 17, 5, 32);
  expect_same_store(40, 31, 3, 75);
  expect_same_store(7, 3, 2, 16);
}

BOOST_AUTO_TEST_CASE(candidates_in_damaged_images) {
  ImageSearchPlan plan = plan_of(45, 37, 11);
  plan.cutout_pixels = 9;
  expect_same(plan, damaged_frames(45, 37, 11, 250, 30), 1);
  plan.threshold = 3.4;
  expect_same(plan, damaged_frames(45, 37, 11, 133, 3), 15);
}

BOOST_AUTO_TEST_CASE(sums_that_saturate) {
  // 1e5 times the noise in one pixel; and so many channels that no sum of theirs is known to fit
  ImageSearchPlan plan = plan_of(30, 20, 7);
  expect_same(plan, damaged_frames(30, 20, 7, 150, 1e5f), 1);
  ImageSearchPlan wide = plan_of(17, 16, 1100);
  expect_same(wide, damaged_frames(17, 16, 1100, 100, 4), 0);
}

BOOST_AUTO_TEST_CASE(more_hits_than_there_is_room_for) {
  ImageSearchPlan plan = plan_of(200, 181, 2);
  plan.threshold = 0.01, plan.rfi_sigma = 0;
  BOOST_TEST(plan.nx * plan.ny * plan.delay.extent(0) * 4 > device_hit_capacity(plan.delay.extent(0), 4));
  expect_same(plan, damaged_frames(200, 181, 2, 48, 30), 1);
}

BOOST_AUTO_TEST_CASE(small_for_sanitizers) {
  ImageSearchPlan plan = plan_of(13, 11, 3);
  plan.threshold = 4.5, plan.cutout_pixels = 5;
  expect_same(plan, damaged_frames(13, 11, 3, 70, 30), 1);
  expect_same_store(9, 5, 2, 16);
}

BOOST_AUTO_TEST_SUITE_END()
