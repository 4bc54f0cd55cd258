// SPDX-License-Identifier: GPL-3.0-or-later
// Transforms of planes in shared memory against their definition in float64.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <complex>
#include <cstdio>
#include <numbers>
#include <random>
#include <vector>

#include "kernels/common/cuda/array.h"
#include "kernels/idg/cuda/fft/plane_fft.cuh"
#include "tests/kernels/idg/cuda/hopper.h"

using namespace apsyn;

BOOST_AUTO_TEST_SUITE(plane_fft)

namespace {

using Value = std::complex<double>;

/// Larger planes than those of 96 find no room in the shared memory of some devices, where a block has 99 KB.
bool must_fit(int side) {
  return side <= 96 || support::is_hopper();
}

void check(int side, bool inverse) {
  constexpr int n_planes = 3;
  if (!has_plane_fft(side)) {
    BOOST_CHECK(!must_fit(side));
    return;
  }
  std::mt19937 random(side);
  std::uniform_real_distribution<float> flat(-1, 1);
  std::vector<std::complex<float>> in(n_planes * side * side), got(in.size());
  for (auto& value : in) value = {flat(random), flat(random)};
  DeviceArray<float2> planes(in.size());
  cuda_check(cudaMemcpy(planes.data(), in.data(), in.size() * 8, cudaMemcpyHostToDevice), "copying");
  launch_plane_fft(planes.data(), n_planes, side, inverse, nullptr);
  cuda_check(cudaMemcpy(got.data(), planes.data(), got.size() * 8, cudaMemcpyDeviceToHost), "copying back");
  std::vector<Value> turn;  // [frequency][value]
  for (int k = 0; k < side; ++k)
    for (int i = 0; i < side; ++i)
      turn.push_back(std::polar(1.0, (inverse ? 2 : -2) * std::numbers::pi * (k * i % side) / side));
  double error = 0, power = 0;
  for (int plane = 0; plane < n_planes; ++plane) {
    const std::complex<float>*from = &in[plane * side * side], *to = &got[plane * side * side];
    std::vector<Value> rows;  // [y][u]
    for (int y = 0; y < side; ++y)
      for (int u = 0; u < side; ++u) {
        Value sum = 0;
        for (int x = 0; x < side; ++x) sum += Value(from[y * side + x]) * turn[u * side + x];
        rows.push_back(sum);
      }
    for (int v = 0; v < side; ++v)
      for (int u = 0; u < side; ++u) {
        Value want = 0;
        for (int y = 0; y < side; ++y) want += rows[y * side + u] * turn[v * side + y];
        error += std::norm(Value(to[v * side + u]) - want);
        power += std::norm(want);
      }
  }
  std::printf("side %d%s: %.2e\n", side, inverse ? ", inverse" : "", std::sqrt(error / power));
  BOOST_CHECK_LE(std::sqrt(error / power), 3e-7);  // on an H200: 0.9e-7 to 1.4e-7
}

}  // namespace

/// For compute-sanitizer.
BOOST_AUTO_TEST_CASE(small_for_sanitizers) {
  check(24, false);
  check(56, true);
}

BOOST_AUTO_TEST_CASE(every_side_is_transformed_or_not_offered) {
  for (int side : {16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160})
    for (bool inverse : {false, true}) check(side, inverse);
  BOOST_CHECK(!has_plane_fft(36));
  BOOST_CHECK(!has_plane_fft(8));
  BOOST_CHECK(!has_plane_fft(192));
}

BOOST_AUTO_TEST_SUITE_END()
