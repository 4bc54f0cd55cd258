// SPDX-License-Identifier: GPL-3.0-or-later
// Layers with transformed rows into the image, against sums over all cells in float64.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <complex>
#include <cstdio>
#include <numbers>
#include <random>
#include <vector>

#include "kernels/common/cuda/array.h"
#include "kernels/idg/cuda/layers/layer_columns.cuh"

using namespace apsyn;
using namespace apsyn::idg_cuda;

BOOST_AUTO_TEST_SUITE(columns)

namespace {

using Value = std::complex<double>;
constexpr double two_pi = 2 * std::numbers::pi;

std::vector<float2> random_cells(std::size_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<float2> cells(n);
  for (float2& cell : cells) {
    cell.x = static_cast<float>(static_cast<std::int32_t>(random())) * 0x1p-31f;
    cell.y = static_cast<float>(static_cast<std::int32_t>(random())) * 0x1p-31f;
  }
  return cells;
}

struct Image {
  int n_x, n_y;
  double cell_rad;
};

/// Relative RMS error of some columns of two planes of the image, which held something before.
void check(int n_u, int n_v, const Image& image, const std::vector<double>& w_lambda, double n_shift) {
  constexpr int n_planes = 2;
  constexpr double before = 0.25;
  const std::size_t plane_cells = std::size_t(n_u) * n_v, pixels = std::size_t(image.n_x) * image.n_y;
  BOOST_TEST_REQUIRE(has_columns(n_u, n_v, image.n_y));
  const DeviceArray<double> out = uploaded(std::vector<double>(n_planes * pixels, before));
  std::vector<std::vector<float2>> layers;
  std::vector<DeviceArray<float2>> device;
  ColumnsTask columns{};
  ScreenTask<float>& task = columns.screen;
  // Some strips are empty, though something stands there.
  std::vector<std::uint8_t> strip_used(grid_tiles(n_v), 1);
  for (std::size_t strip = 1; strip < strip_used.size(); strip += 3) strip_used[strip] = 0;
  const DeviceArray<std::uint8_t> device_strips = uploaded(strip_used);
  const DeviceArray<float2> column_table = uploaded(column_turns(n_u, n_v, image.n_y));
  columns.turns = column_table.data();
  for (std::size_t layer = 0; layer < w_lambda.size(); ++layer) {
    layers.push_back(random_cells(n_planes * plane_cells, static_cast<unsigned>(layer + 1)));
    device.push_back(uploaded(layers.back()));
    columns.strip_used[task.n_layers] = device_strips.data();
    task.layers[task.n_layers++] = {device.back().data(), w_lambda[layer]};
  }
  task.image = out.data();
  task.n_planes = n_planes;
  task.n_x = image.n_x;
  task.n_y = image.n_y;
  task.n_u = n_u;
  task.n_v = n_v;
  task.cell_rad = image.cell_rad;
  task.n_shift = n_shift;
  launch_columns(columns, nullptr);
  std::vector<double> got(n_planes * pixels);
  cuda_check(cudaMemcpy(got.data(), out.data(), got.size() * sizeof(double), cudaMemcpyDeviceToHost),
             "reading the image");

  std::vector<Value> turns(n_v);
  for (int n = 0; n < n_v; ++n) turns[n] = std::polar(1.0, -two_pi * n / n_v);
  double error = 0, power = 0;
  for (int plane = 0; plane < n_planes; ++plane)
    for (const int x : {0, 1, image.n_x / 2, image.n_x / 2 + 1, image.n_x - 2, image.n_x - 1})
      for (int y = plane; y < image.n_y; y += std::max(1, image.n_y / 61)) {
        const int u = (image.n_x / 2 - x + n_u) % n_u, k = (y - image.n_y / 2 + n_v) % n_v;
        const double l = (image.n_x / 2 - x) * image.cell_rad, m = (y - image.n_y / 2) * image.cell_rad;
        double want = 0;
        if (l * l + m * m < 1)
          for (std::size_t layer = 0; layer < layers.size(); ++layer) {
            const float2* column = layers[layer].data() + plane * plane_cells + u;
            Value sum = 0;
            for (int v = 0; v < n_v; ++v) {
              if (strip_used[v / kGridTile] == 0) continue;
              const float2 cell = column[std::size_t(v) * n_u];
              sum += Value(cell.x, cell.y) * turns[std::size_t(v) * k % n_v];
            }
            const double phase = -w_lambda[layer] * (std::sqrt(1 - l * l - m * m) - 1 + n_shift);
            want += (sum * std::polar(1.0, two_pi * phase)).real();
          }
        else
          continue;  // NaN in the end
        const double is = got[plane * pixels + std::size_t(y) * image.n_x + x] - before, off = is - want;
        if (!(std::abs(off) < 1e-4 * std::sqrt(double(n_v)))) {
          std::printf("plane %d x %d y %d: got %g want %g\n", plane, x, y, is, want);
          BOOST_REQUIRE(false);
        }
        error += off * off;
        power += want * want;
      }
  error = std::sqrt(error / power);
  std::printf("%d x %d cells, %d x %d pixels, %zu layers: error %.2e\n", n_u, n_v, image.n_x, image.n_y,
              w_lambda.size(), error);
  BOOST_TEST(error < 5e-7);  // measured on an H200: 1.8e-7 to 2.4e-7
}

}  // namespace

/// For compute-sanitizer.
BOOST_AUTO_TEST_SUITE(small_for_sanitizers)

BOOST_AUTO_TEST_CASE(an_odd_image_agrees_with_float64) {
  check(44, 2048, {29, 1365, 1e-3}, {0, 250.5, -1000}, 0);
}

BOOST_AUTO_TEST_CASE(an_image_of_all_columns_agrees_with_float64) {
  check(32, 4096, {32, 4096, 1e-5}, {1e5}, 0.5);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_CASE(the_whole_sky_agrees_with_float64) {
  check(32, 2048, {30, 2048, 1.1 / 1024}, {3, 17}, 0.4);
}

BOOST_AUTO_TEST_CASE(columns_of_every_length_agree_with_float64) {
  check(64, 6144, {40, 4096, 1e-4}, {1000, 1010}, 0);
  check(64, 8192, {43, 5461, 3e-5}, {80, 240, 400, 560, 720, 880, 1040, 1200}, 0);
  check(64, 10240, {42, 4095, 3e-5}, {500}, 0);
  check(64, 16384, {42, 10922, 2e-5}, {500, 1500}, 0);
}

BOOST_AUTO_TEST_CASE(lengths_without_a_kernel_are_not_offered) {
  BOOST_TEST(!has_columns(64, 8190, 5460));
  BOOST_TEST(!has_columns(65, 8192, 5460));
  BOOST_TEST(!has_columns(64, 10240, 4097));
}

BOOST_AUTO_TEST_SUITE_END()
