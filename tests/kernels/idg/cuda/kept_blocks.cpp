// SPDX-License-Identifier: GPL-3.0-or-later
// Blocks that the device keeps from pass to pass, and how they are cut, make the images of blocks that are
// sent every time, whatever layers the passes have; and so do those that the device fetches from pinned
// memory, all of their rows or those that a layer needs.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstring>

#include "libcore/system/device.h"
#include "tests/support/array_rows.h"

using namespace apsyn;
using namespace apsyn::support;

BOOST_AUTO_TEST_SUITE(kept_blocks)

BOOST_AUTO_TEST_CASE(kept_blocks_make_the_same_images) {
  const ArrayRows d = observe_array(12, 40, 16);  // rows are long enough for the device to fetch some of them
  const std::size_t n_row = d.uvw_m.extent(0);
  auto data = noise_for(d);
  const IdgPlan plan = make_idg_plan({400, 400, 2e-4}, {.kernel_padding = 12}, longest_w(d), 1e5);
  BOOST_REQUIRE_GT(plan.n_layers, 1u);
  auto image = [&](bool keep, bool pin) {
    auto gridder = make_gridder({Device::Kind::cuda, 0, "cuda:0"}, plan, {.n_threads = 2});
    const auto pinned = pin ? gridder->pin(data.data(), data.size() * sizeof(data(0, 0, 0))) : nullptr;
    BOOST_REQUIRE_EQUAL(pin, pinned != nullptr);
    auto pass = [&](std::size_t first, std::size_t n) {
      gridder->begin_pass({first, n});
      for (std::size_t part = 0; part < 3; ++part) {
        GridBlock block = d.block(false);
        block.data = data;
        block = rows_of(block, n_row * part / 3, n_row * (part + 1) / 3 - n_row * part / 3);
        if (keep) block.id = part + 1;
        gridder->grid(block);
      }
      gridder->end_pass();
    };
    pass(0, plan.n_layers);
    pass(0, plan.n_layers);
    for (std::size_t layer = 0; layer < plan.n_layers; ++layer) pass(layer, 1);
    pass(0, plan.n_layers);
    return gridder->take_images();
  };
  const auto sent = image(false, false), kept = image(true, false), fetched = image(false, true);
  double power = 0;
  for (const double pixel : sent) power += pixel * pixel;
  BOOST_CHECK_GT(power, 0);
  BOOST_CHECK_EQUAL(std::memcmp(sent.data(), kept.data(), sent.size() * sizeof(double)), 0);
  BOOST_CHECK_EQUAL(std::memcmp(sent.data(), fetched.data(), sent.size() * sizeof(double)), 0);
}

BOOST_AUTO_TEST_SUITE_END()
