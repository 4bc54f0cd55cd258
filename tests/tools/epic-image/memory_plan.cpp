// SPDX-License-Identifier: GPL-3.0-or-later
// How many images a gulp of a GPU ends, all of which come to the host together.
#include "tools/epic-image/memory_plan.h"

#include <boost/test/unit_test.hpp>

#include "libcore/voltage/voltage_pipeline.h"

using namespace apsyn;

BOOST_AUTO_TEST_SUITE(memory_plan)

namespace {

/// MWA-128T, 32 channels of 4 bits, images of 20 ms and so many pixels a side.
EpicSetup setup_of(std::size_t side) {
  EpicSetup setup;
  setup.header.n_chan = setup.epic.n_chan = setup.f.n_chan = 32;
  setup.header.n_ant = setup.epic.n_ant = setup.f.n_ant = 128;
  setup.header.n_pol = setup.epic.n_pol = setup.f.n_pol = 2;
  setup.header.n_bit = 4;
  setup.epic.nx = setup.epic.ny = side;
  setup.epic.second = setup.epic.cross = false;
  setup.epic.channel_hz.assign(32, 150e6);
  setup.accumulate_spectra = 800;
  setup.gulp_samples = 768;
  return setup;
}

constexpr std::uint64_t kPlenty = std::uint64_t{1} << 40;

}  // namespace

// 184 MB of images each 800 samples: gulps of 64 MB, 8192 samples, would end ten of them at once.
BOOST_AUTO_TEST_CASE(a_gulp_ends_one_large_image_and_many_small_ones) {
  EpicSetup large = setup_of(1200), small = setup_of(64);
  plan_gpu(large, true, false, kPlenty);
  plan_gpu(small, true, false, kPlenty);
  BOOST_TEST(large.cuda.gulp_samples == 800u);
  BOOST_TEST(large.gulp_samples == 768u);
  BOOST_TEST(small.cuda.gulp_samples == 8192u);
  // Of a live stream one at a time, however small.
  EpicSetup live = setup_of(64);
  plan_gpu(live, true, true, kPlenty);
  BOOST_TEST(live.cuda.gulp_samples == 800u);
}

// A gulp of 8192 samples ends ten images; one of them is planned with the samples that are read at a time.
BOOST_AUTO_TEST_CASE(images_that_a_gulp_ends_are_planned) {
  const auto image_bytes = [](std::uint64_t side) { return side * side * 32 * sizeof(float); };
  EpicSetup small = setup_of(64), wide = setup_of(128);
  plan_gpu(small, true, false, kPlenty);
  plan_gpu(wide, true, false, kPlenty);
  BOOST_TEST_REQUIRE(small.cuda.gulp_samples == wide.cuda.gulp_samples);
  BOOST_TEST(wide.memory_bytes - small.memory_bytes ==
             kStreamItems * 9 * (image_bytes(128) - image_bytes(64)));
}

BOOST_AUTO_TEST_SUITE_END()
