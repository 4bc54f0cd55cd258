// SPDX-License-Identifier: GPL-3.0-or-later
// The weights of a block on the device are the block's, however they travelled: as a value and bits for each
// row, as those of one plane, or all of them.
#include <boost/test/unit_test.hpp>

#include "tests/reference/test_device.h"

using apsyn::reference::NeedsGpu;
BOOST_TEST_GLOBAL_FIXTURE(NeedsGpu);

#ifdef APSYN_CUDA
#include <bit>
#include <random>

#include "tests/support/device_rows.h"

using namespace apsyn;
using namespace apsyn::support;

namespace {

/// Returns the planes that travelled.
std::size_t check(CutBlock& device, const Buffer<float, 3>& weight) {
  const std::size_t n_rows = weight.extent(0), n_chan = weight.extent(1), n_planes = weight.extent(2);
  const Buffer<double, 2> uvw_m({n_rows, 3});
  const Buffer<double, 1> wavenumber({n_chan});
  GridBlock block;
  block.uvw_m = uvw_m;
  block.wavenumber = wavenumber;
  block.weight = weight;
  device.rows.copy_geometry(device.uploader, block, device.stream.get());
  cuda_check(cudaStreamSynchronize(device.stream.get()), "unpacking");
  const std::size_t n_sent = device.rows.weight_planes;
  const auto got = download(device.rows.weight.data(), n_rows * n_chan * n_sent);
  std::size_t n_wrong = 0;
  for (std::size_t i = 0; i < weight.size(); ++i)
    n_wrong += std::bit_cast<std::uint32_t>(weight.data()[i]) !=
               std::bit_cast<std::uint32_t>(got[n_sent == n_planes ? i : i / n_planes]);
  BOOST_CHECK_EQUAL(n_wrong, 0u);
  return n_sent;
}

}  // namespace

BOOST_AUTO_TEST_CASE(weights_arrive) {
  CutBlock device;
  std::mt19937 random(5);
  for (std::size_t n_rows : {1, 3000, 50000})
    for (std::size_t n_chan : {1, 16, 33})
      for (std::size_t n_planes : {1, 2, 3, 4}) {
        Buffer<float, 3> weight({n_rows, n_chan, n_planes});
        for (std::size_t i = 0; i < weight.size(); ++i)
          weight.data()[i] =
              random() % 8 == 0 && n_planes == 1 ? 0 : 1 + float(i / (n_chan * n_planes) % 100);
        BOOST_CHECK_EQUAL(check(device, weight), n_planes == 3 ? 3u : 1u);
        if (n_chan == 1) continue;
        // Of a late row one channel has a weight of its own, and then one plane of it.
        float* last = &weight(n_rows - 1, n_chan - 1, 0);
        for (std::size_t plane = 0; plane < n_planes; ++plane) last[plane] = 7.5f;
        BOOST_CHECK_EQUAL(check(device, weight), n_planes == 3 ? 3u : 1u);
        last[n_planes - 1] = 8.5f;
        BOOST_CHECK_EQUAL(check(device, weight), n_planes);
      }
}
#else
BOOST_AUTO_TEST_CASE(built_without_cuda) {}
#endif
