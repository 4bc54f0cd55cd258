// SPDX-License-Identifier: GPL-3.0-or-later
// Where a GPU searches images.
#include <boost/test/unit_test.hpp>

#include "tools/search-transients/images/plan.h"

using namespace apsyn;

BOOST_AUTO_TEST_SUITE(image_plans)

BOOST_AUTO_TEST_CASE(a_gpu_pays_for_large_images_of_which_there_are_many) {
  ImagesPlan plan;
  plan.dm.resize(50);
  ImageSeriesInfo info;
  info.nx = info.ny = 512, info.n_chan = 32;
  BOOST_TEST(pays_on_gpu(plan, info, 16));  // a pipe
  info.n_images = 20;
  BOOST_TEST(!pays_on_gpu(plan, info, 16));
  info.n_images = 4000;
  BOOST_TEST(pays_on_gpu(plan, info, 16));
  // more threads finish earlier, more trials later
  info.n_images = 100;
  BOOST_TEST(pays_on_gpu(plan, info, 1));
  BOOST_TEST(!pays_on_gpu(plan, info, 200));
  info.n_images = 20;
  plan.dm.resize(2000);
  BOOST_TEST(pays_on_gpu(plan, info, 16));
  info.nx = info.ny = 64, info.n_chan = 4, info.n_images.reset();
  BOOST_TEST(!pays_on_gpu(plan, info, 1));
}

BOOST_AUTO_TEST_SUITE_END()
