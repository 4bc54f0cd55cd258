// SPDX-License-Identifier: GPL-3.0-or-later
// A CPU holds only the uv cells that the visibilities reach: the same bits as with whole grids, whose images
// and predictions idg_gridding.cpp and idg_degridding.cpp compare with their definition.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstring>

#include "libcore/base/error.h"
#include "tests/kernels/idg/degridding.h"

using namespace apsyn;
using namespace apsyn::reference;

BOOST_AUTO_TEST_SUITE(stored_cells)

namespace {

struct Case {
  const char* name;
  ImageGeometry geometry;
  double radius_m;
  Precision precision;
  WHandling w_handling;
};

const Case kCases[] = {
    {"several layers, odd sizes", {301, 255, 60 * asec}, 1200, Precision::single, WHandling::chebyshev},
    {"double precision", {256, 300, 60 * asec}, 900, Precision::double_, WHandling::chebyshev},
    {"whole sky", {180, 180, 2.0 / 170}, 20, Precision::single, WHandling::kernel},
};

Buffer<double, 3> grid(const Coverage& c, const IdgPlan& plan) {
  Buffer<std::complex<float>, 3> data({c.n_row(), c.n_chan(), 2});
  Buffer<float, 3> weight({c.n_row(), c.n_chan(), 2});
  for (std::size_t i = 0; i < data.size(); ++i) {
    data.data()[i] = {static_cast<float>(i % 7) - 3, static_cast<float>(i % 5) - 2};
    weight.data()[i] = static_cast<float>(i % 3);
  }
  GridBlock block = c.block();
  block.data = data;
  block.weight = weight;
  const auto gridder = make_gridder({}, plan, {.n_data_planes = 2, .psf = PsfPlane::last, .n_threads = 2});
  gridder->begin_pass({0, plan.n_layers});
  gridder->grid(block);
  gridder->end_pass();
  return gridder->take_images();
}

Buffer<std::complex<float>, 3> degrid(const Coverage& c, const IdgPlan& plan) {
  const Buffer<double, 3> model = model_image(plan.image, 2, 50, 3);
  Buffer<std::complex<float>, 3> data({c.n_row(), c.n_chan(), 2});
  const auto degridder = make_degridder({}, plan, {.n_data_planes = 2, .n_threads = 2});
  degridder->set_model(model);
  degridder->begin_pass({0, plan.n_layers});
  degridder->degrid(c.block(), data);
  return data;
}

bool same_bytes(const auto& a, const auto& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(*a.data())) == 0;
}

}  // namespace

BOOST_AUTO_TEST_CASE(cells_out_of_reach_are_not_missed) {
  for (const Case& of : kCases) {
    BOOST_TEST_CONTEXT(of.name) {
      const Coverage c = cover(400, 3, of.radius_m, 8);
      IdgWorkload work{.max_w_lambda = c.max_w_lambda,
                       .max_u_lambda = 0,
                       .max_v_lambda = 0,
                       .n_visibilities = 1200,
                       .n_planes = 2};
      for (std::size_t r = 0; r < c.n_row(); ++r) {
        const double k = *std::max_element(c.wavenumber.begin(), c.wavenumber.end());
        work.max_u_lambda = std::max(work.max_u_lambda, std::abs(c.uvw_m(r, 0)) * k);
        work.max_v_lambda = std::max(work.max_v_lambda, std::abs(c.uvw_m(r, 1)) * k);
      }
      const IdgPlan plan = make_idg_plan(of.geometry, {.precision = of.precision}, work),
                    whole = plan.with_whole_grids();
      BOOST_TEST(bool(plan.w_handling == of.w_handling));
      BOOST_TEST(plan.n_u_stored() < plan.n_u);
      BOOST_TEST(plan.n_v_stored() < plan.n_v);
      BOOST_TEST(whole.n_u_stored() == plan.n_u);
      BOOST_TEST(gridder_memory(plan, {}).layer_bytes < gridder_memory(whole, {}).layer_bytes);
      BOOST_TEST(same_bytes(grid(c, plan), grid(c, whole)));
      BOOST_TEST(same_bytes(degrid(c, plan), degrid(c, whole)));

      // Farther than was said, by more than the subgrids' border.
      IdgPlan less = plan;
      less.max_u_lambda = 0;
      BOOST_CHECK_THROW(grid(c, less), DataError);
      less = plan;
      less.max_v_lambda = 0;
      BOOST_CHECK_THROW(degrid(c, less), DataError);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
