// SPDX-License-Identifier: GPL-3.0-or-later
// The weights of a block on the device are the block's, however they travelled: as a value and bits for each
// row, as those of one plane, or all of them.
#include <algorithm>
#include <bit>
#include <boost/test/unit_test.hpp>
#include <random>

#include "tests/support/device_rows.h"

using namespace apsyn;
using namespace apsyn::support;

BOOST_AUTO_TEST_SUITE(row_weights)

namespace {

constexpr std::uint32_t kPoison = 0xffffffff;

template <class T>
void poison(Upload<T>& array, std::size_t n) {
  fill_bytes(array.reserve(n), 0xff, n);
  cuda_check(cudaDeviceSynchronize(), "poisoning");
}

/// `by_rows`: whether a value and bits of each row travel. Returns the planes on the device.
std::size_t check(CutBlock& device, const Buffer<float, 3>& weight, bool by_rows) {
  const std::size_t n_rows = weight.extent(0), n_chan = weight.extent(1), n_planes = weight.extent(2);
  const Buffer<double, 2> uvw_m({n_rows, 3});
  const Buffer<double, 1> wavenumber({n_chan});
  GridBlock block;
  block.uvw_m = uvw_m;
  block.wavenumber = wavenumber;
  block.weight = weight;
  const std::size_t n_words = idg::row_weight_words(n_chan);
  poison(device.rows.weight, weight.size());
  poison(device.rows.row_weight, n_rows * n_words);
  device.rows.copy_geometry(device.uploader, block, device.stream.get());
  cuda_check(cudaStreamSynchronize(device.stream.get()), "unpacking");
  const std::size_t n_sent = device.rows.weight_planes;
  const auto got = download(device.rows.weight.data(), n_rows * n_chan * n_sent);
  std::size_t n_wrong = 0;
  for (std::size_t i = 0; i < weight.size(); ++i)
    n_wrong += std::bit_cast<std::uint32_t>(weight.data()[i]) !=
               std::bit_cast<std::uint32_t>(got[n_sent == n_planes ? i : i / n_planes]);
  BOOST_CHECK_EQUAL(n_wrong, 0u);
  const auto packed = download(device.rows.row_weight.data(), n_rows * n_words);
  std::size_t n_packed = 0;
  for (std::size_t row = 0; row < n_rows; ++row) n_packed += packed[row * n_words] != kPoison;
  if (by_rows) BOOST_CHECK_EQUAL(n_packed, n_rows);
  if (!idg::can_pack_rows(n_chan, n_planes)) BOOST_CHECK_EQUAL(n_packed, 0u);
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
        for (std::size_t i = 0; i < n_rows * n_chan; ++i)
          std::fill_n(weight.data() + i * n_planes, n_planes,
                      random() % 8 == 0 ? 0 : 1 + static_cast<float>(i / n_chan % 100));
        BOOST_CHECK_EQUAL(check(device, weight, n_chan > 1 && n_planes != 3), n_planes == 3 ? 3u : 1u);
        if (n_chan == 1) continue;
        // Of the last row one channel has a weight of its own, and then one plane of it.
        std::fill_n(&weight(n_rows - 1, 0, 0), n_planes, 1.5f);
        float* last = &weight(n_rows - 1, n_chan - 1, 0);
        std::fill_n(last, n_planes, 7.5f);
        BOOST_CHECK_EQUAL(check(device, weight, false), n_planes == 3 ? 3u : 1u);
        last[n_planes - 1] = 8.5f;
        BOOST_CHECK_EQUAL(check(device, weight, false), n_planes);
      }
}

BOOST_AUTO_TEST_SUITE_END()
