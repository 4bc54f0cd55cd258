// SPDX-License-Identifier: GPL-3.0-or-later
// A pass that is given up before its layers are transformed leaves nothing in those of a later one, and a
// pass without layers adds nothing.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstring>

#include "libcore/system/device.h"
#include "tests/support/array_rows.h"

using namespace apsyn;
using namespace apsyn::support;

BOOST_AUTO_TEST_SUITE(layers_given_up)

namespace {

struct Observed {
  ArrayRows d = observe_array(12, 40, 8);
  Buffer<std::complex<float>, 3> data = noise_for(d);
  IdgPlan plan;

  explicit Observed(std::size_t n_pixels) {
    plan = make_idg_plan({n_pixels, n_pixels, 0.08 / double(n_pixels)}, {.kernel_padding = 12}, longest_w(d),
                         1e5);
    BOOST_REQUIRE_GT(plan.n_layers, 1u);
  }
  std::unique_ptr<Gridder> gridder() const {
    return make_gridder({Device::Kind::cuda, 0, "cuda:0"}, plan, {.n_threads = 2});
  }
  GridCounts grid(Gridder& gridder, const LayerRange& layers) const {
    gridder.begin_pass(layers);
    GridBlock block = d.block(false);
    block.data = data;
    return gridder.grid(block);
  }
};

void check_same(const Buffer<double, 3>& got, const Buffer<double, 3>& want) {
  double power = 0;
  for (const double pixel : want) power += pixel * pixel;
  BOOST_CHECK_GT(power, 0);
  BOOST_REQUIRE_EQUAL(got.size(), want.size());
  BOOST_CHECK_EQUAL(std::memcmp(got.data(), want.data(), want.size() * sizeof(double)), 0);
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_pass_given_up_leaves_nothing) {
  for (const std::size_t n_pixels : {400, 1360}) {
    const Observed o(n_pixels);
    // Of layers of 2048 rows those that hold something are cleared, of 600 all.
    BOOST_REQUIRE_EQUAL(o.plan.n_v, n_pixels == 400 ? 600u : 2048u);
    const LayerRange all{0, o.plan.n_layers};
    const auto want = o.gridder();
    o.grid(*want, all);
    want->end_pass();
    const auto got = o.gridder();
    got->begin_pass(all);
    got->end_pass();
    o.grid(*got, all);        // given up
    got->begin_pass({0, 1});  // has fewer layers
    got->end_pass();
    o.grid(*got, all);
    got->end_pass();
    check_same(got->take_images(), want->take_images());
  }
}

BOOST_AUTO_TEST_CASE(a_pass_without_layers_adds_nothing) {
  const Observed o(400);
  const auto want = o.gridder(), got = o.gridder();
  o.grid(*want, {0, o.plan.n_layers});
  want->end_pass();
  BOOST_CHECK_EQUAL(o.grid(*got, {1, 0}).n_subgrids, 0u);
  got->end_pass();
  o.grid(*got, {0, o.plan.n_layers});
  got->end_pass();
  BOOST_CHECK_EQUAL(o.grid(*got, {o.plan.n_layers, 0}).n_subgrids, 0u);
  got->end_pass();
  check_same(got->take_images(), want->take_images());
}

BOOST_AUTO_TEST_SUITE_END()
