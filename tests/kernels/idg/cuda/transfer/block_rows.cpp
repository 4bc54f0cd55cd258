// SPDX-License-Identifier: GPL-3.0-or-later
// Chosen rows of a block on the device are those of the block, also where its values travel in two parts, and
// where the device fetches them from pinned memory.
#include <array>
#include <boost/test/unit_test.hpp>
#include <cstring>

#include "tests/support/device_rows.h"

using namespace apsyn;
using namespace apsyn::idg_cuda;
using namespace apsyn::support;

BOOST_AUTO_TEST_SUITE(block_rows)

namespace {

/// Rows of the array that are not what the device has of the chosen ones.
template <class T, std::size_t Rank>
std::size_t count_wrong(const T* device, const Buffer<T, Rank>& array,
                        const std::vector<std::uint32_t>& rows) {
  const std::size_t size = array.size() / array.extent(0);
  const std::vector<T> got = download(device, rows.size() * size);
  std::size_t n_wrong = 0;
  for (std::size_t i = 0; i < rows.size(); ++i)
    n_wrong += std::memcmp(got.data() + i * size, array.data() + rows[i] * size, size * sizeof(T)) != 0;
  return n_wrong;
}

/// How a block's weights travel: as a value and bits of each row, as those of one plane, or all.
enum class Weights { of_rows, alike, all };

struct Case {
  std::size_t n_rows, n_chan = 64, n_planes = 4;
  bool choose = true, pinned = false;
  Weights weights = Weights::of_rows;
};

/// Every third row is left out, and the first 1000. Whether the device has fetched the values.
bool check(const Case& c) {
  const auto [n_rows, n_chan, n_planes, choose, pinned, weights] = c;
  Buffer<double, 2> uvw_m({n_rows, 3});
  Buffer<double, 1> path_m({n_rows}), wavenumber({n_chan});
  Buffer<std::uint32_t, 2> station({n_rows, 2});
  Buffer<float, 3> weight({n_rows, n_chan, n_planes});
  Buffer<std::complex<float>, 3> data({n_rows, n_chan, n_planes});
  for (std::size_t i = 0; i < weight.size(); ++i) {
    const std::size_t chan = i / n_planes % n_chan, row = i / n_planes / n_chan;
    const std::size_t other = weights == Weights::of_rows ? 0 : weights == Weights::alike ? chan : i;
    weight.data()[i] = (row + chan) % 7 == 0 ? 0 : static_cast<float>(1 + row % 1021 + other % 16 * 2048);
  }
  for (std::size_t i = 0; i < uvw_m.size(); ++i) uvw_m.data()[i] = static_cast<double>(i);
  for (std::size_t i = 0; i < n_rows; ++i) path_m(i) = -static_cast<double>(i);
  for (std::size_t i = 0; i < station.size(); ++i) station.data()[i] = static_cast<std::uint32_t>(i % 77);
  for (std::size_t i = 0; i < data.size(); ++i)
    data.data()[i] = {static_cast<float>(i % 8191), static_cast<float>(i % 65537)};
  GridBlock block;
  block.uvw_m = uvw_m;
  block.path_m = path_m;
  block.wavenumber = wavenumber;
  block.station = station;
  block.weight = weight;
  block.data = data;
  std::vector<std::uint32_t> rows;
  for (std::uint32_t row = 0; row < n_rows; ++row)
    if (!choose || (row >= 1000 && row % 3 != 0)) rows.push_back(row);
  ChosenRows chosen;
  if (choose) chosen = rows;
  const auto pin = [&](auto& array) {
    return pinned ? pin_memory(array.data(), array.size() * sizeof(*array.data())) : nullptr;
  };
  const std::array held{pin(data), pin(uvw_m), pin(weight)};
  BOOST_REQUIRE_EQUAL(held[0] != nullptr, pinned);
  CutBlock device;
  const std::size_t n_values = rows.size() * n_chan * n_planes;
  fill_bytes(device.rows.data.reserve(n_values), 0xff, n_values);
  fill_bytes(device.rows.weight.reserve(n_values), 0xff, n_values);
  cuda_check(cudaDeviceSynchronize(), "poisoning");
  device.rows.copy_geometry(device.uploader, block, device.stream.get(), chosen);
  device.rows.copy_values(device.uploader, block, chosen);
  device.uploader.hold(device.stream.get());
  device.uploader.settle();
  cuda_check(cudaStreamSynchronize(device.stream.get()), "copying rows");
  BOOST_CHECK_EQUAL(device.rows.n_row, rows.size());
  BOOST_CHECK_EQUAL(count_wrong(device.rows.uvw.data(), uvw_m, rows), 0u);
  BOOST_CHECK_EQUAL(count_wrong(device.rows.path.data(), path_m, rows), 0u);
  BOOST_CHECK_EQUAL(count_wrong(device.rows.station.data(), station, rows), 0u);
  BOOST_REQUIRE_EQUAL(device.rows.weight_planes, weights == Weights::all ? n_planes : 1);
  Buffer<float, 2> one_plane({n_rows, n_chan});
  for (std::size_t i = 0; i < one_plane.size(); ++i) one_plane.data()[i] = weight.data()[i * n_planes];
  BOOST_CHECK_EQUAL(weights == Weights::all ? count_wrong(device.rows.weight.data(), weight, rows)
                                            : count_wrong(device.rows.weight.data(), one_plane, rows),
                    0u);
  const auto* values = reinterpret_cast<const std::complex<float>*>(device.rows.data.data());
  BOOST_CHECK_EQUAL(count_wrong(values, data, rows), 0u);
  return device.rows.fetches_data;
}

}  // namespace

BOOST_AUTO_TEST_CASE(rows_arrive) {
  constexpr std::size_t row_bytes = 64 * 4 * sizeof(std::complex<float>);
  for (const bool choose : {false, true})
    for (const bool pinned : {false, true}) {
      for (const Weights weights : {Weights::alike, Weights::all})
        check({.n_rows = 1500, .choose = choose, .pinned = pinned, .weights = weights});
      for (const std::size_t n_rows : {std::size_t{1500},
                                       DeviceRows::kAheadBytes / row_bytes,  // all of it ahead, or less
                                       2 * DeviceRows::kAheadBytes / row_bytes + 7})
        BOOST_CHECK_EQUAL(check({.n_rows = n_rows, .choose = choose, .pinned = pinned}), choose && pinned);
    }
}

BOOST_AUTO_TEST_CASE(rows_of_any_length_arrive) {
  for (const std::size_t n_rows : {1003, 1010, 20000}) {  // two chosen rows and more
    for (const std::size_t n_chan : {4, 5, 11, 33})       // 128 bytes, 160, more than a warp reads at once
      BOOST_CHECK(check({.n_rows = n_rows, .n_chan = n_chan, .pinned = true}));
    // Too short, or of no whole words: 96 and 136 bytes.
    BOOST_CHECK(!check({.n_rows = n_rows, .n_chan = 3, .pinned = true}));
    BOOST_CHECK(!check({.n_rows = n_rows, .n_chan = 17, .n_planes = 1, .pinned = true}));
  }
}

BOOST_AUTO_TEST_SUITE_END()
