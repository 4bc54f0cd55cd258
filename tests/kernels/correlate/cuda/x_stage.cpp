// SPDX-License-Identifier: GPL-3.0-or-later
// The CUDA X stage against an int64 loop, exactly.
#include <boost/test/unit_test.hpp>

#include "libcore/base/error.h"
#include "tests/reference/input_products.h"
#include "tests/support/x_stages_on_host_samples.h"

using namespace apsyn;
using namespace apsyn::reference;
using support::HostXStage;

BOOST_AUTO_TEST_SUITE(x_stage)

namespace {

void check_exact(const XStageShape& shape, std::size_t n_time, Values values, XStageKernel kernel,
                 int repeats = 0) {
  BOOST_TEST_CONTEXT(shape.n_chan << " channels, " << shape.n_input << " inputs, " << n_time << " samples of "
                                  << shape.n_bit << " bits, kernel " << static_cast<int>(kernel)) {
    HostXStage stage(shape, n_time, 0, kernel);
    const std::size_t n_pairs = shape.n_input * (shape.n_input + 1) / 2;
    for (unsigned round = 0; round < 2; ++round) {  // the second round shows that finish() starts anew
      Buffer<std::int64_t, 3> expected({shape.n_chan, n_pairs, 2}), sums({shape.n_chan, n_pairs, 2});
      sums.fill(0x7777777777777777);
      for (unsigned part = 0; part < 2; ++part) {
        const Buffer<std::int8_t, 4> samples =
            random_samples(n_time, shape.n_chan, shape.n_input, values, 10 * round + part);
        stage.add(samples);
        for (int k = 0; k < repeats; ++k) stage.repeat();
        add_products(samples, 1 + repeats, expected);
      }
      stage.finish(sums);
      BOOST_TEST(std::equal(sums.begin(), sums.end(), expected.begin()));
    }
  }
}

}  // namespace

/// Every kernel once, for compute-sanitizer.
BOOST_AUTO_TEST_CASE(small_for_sanitizers) {
  for (XStageKernel kernel : {XStageKernel::wgmma, XStageKernel::mma}) {
    check_exact({1, 70}, 70, Values::full_range, kernel);
    check_exact({1, 70, 4}, 70, Values::four_bit, kernel);
    check_exact({1, 3}, 70, Values::full_range, kernel);
    check_exact({1, 130}, 70, Values::full_range, kernel);
  }
}

BOOST_AUTO_TEST_CASE(sums_equal_int64_for_any_number_of_inputs) {
  for (XStageKernel kernel : {XStageKernel::wgmma, XStageKernel::mma})
    for (std::size_t n_input : {1, 2, 31, 64, 65, 128, 129, 200, 300})
      for (std::size_t n_time : {1, 63, 64, 100, 640})
        check_exact({3, n_input}, n_time, Values::full_range, kernel);
}

BOOST_AUTO_TEST_CASE(sums_are_exact_with_more_work_than_processors) {
  for (XStageKernel kernel : {XStageKernel::wgmma, XStageKernel::mma}) {
    check_exact({300, 64}, 70, Values::four_bit, kernel);
    check_exact({64, 260}, 130, Values::full_range, kernel);
  }
}

BOOST_AUTO_TEST_CASE(four_bits_are_as_exact) {
  for (XStageKernel kernel : {XStageKernel::wgmma, XStageKernel::mma}) {
    for (std::size_t n_input : {1, 7, 64, 65, 129, 300})
      for (std::size_t n_time : {1, 64, 100, 640})
        check_exact({3, n_input, 4}, n_time, Values::four_bit, kernel);
    check_exact({64, 260, 4}, 130, Values::four_bit, kernel);
    check_exact({1, 66, 4}, 65535, Values::all_lowest_four_bit, kernel);
    check_exact({2, 70, 4}, 4096, Values::four_bit, kernel, 40);
  }
}

BOOST_AUTO_TEST_CASE(nothing_overflows_at_the_boundary) {
  // 65535 samples of -128 - 128i fill the int32 sums to the brim; one more must spill.
  for (XStageKernel kernel : {XStageKernel::wgmma, XStageKernel::mma}) {
    check_exact({1, 65}, 65535, Values::all_lowest, kernel);
    check_exact({1, 2}, 4096, Values::all_lowest, kernel, 40);
  }
}

BOOST_AUTO_TEST_CASE(wrong_shapes_throw) {
  BOOST_CHECK_THROW(DeviceXStage({0, 4}, 0), UsageError);
  BOOST_CHECK_THROW(DeviceXStage({1, 4, 5}, 0), UsageError);
  BOOST_CHECK_THROW(DeviceXStage({1, 4}, 1000), DeviceError);
}

BOOST_AUTO_TEST_CASE(nothing_added_is_zero) {
  HostXStage stage({1, 4}, 4, 0);
  stage.repeat();
  Buffer<std::int64_t, 3> sums({1, 10, 2});
  sums.fill(-1);
  stage.finish(sums);
  BOOST_TEST(std::count(sums.begin(), sums.end(), 0) == 20);
}

BOOST_AUTO_TEST_SUITE_END()
