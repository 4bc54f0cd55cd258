// SPDX-License-Identifier: GPL-3.0-or-later
// From folded sums to the cells of subgrids in one kernel, against their definition in float64: the sum of a
// few visibilities at every pixel, its coefficients and w screen, and the transform to cells pixel by pixel.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <complex>
#include <cstdio>
#include <limits>
#include <numbers>
#include <random>
#include <vector>

#include "kernels/common/cuda/array.h"
#include "kernels/idg/cuda/grid/image.cuh"
#include "kernels/idg/cuda/grid/tensor/task.cuh"
#include "tests/kernels/idg/cuda/hopper.h"

using namespace apsyn;
using namespace apsyn::idg_cuda;

BOOST_AUTO_TEST_SUITE(subgrid_cells)

namespace {

using Value = std::complex<double>;
constexpr double two_pi = 2 * std::numbers::pi;
constexpr int kTasks = 3, kVisibilities = 4;

/// Visibilities of every task, plane and term.
struct Case {
  TaskSumsShape shape;
  int side;
  std::vector<Value> value;                           ///< [task][term][plane][visibility]
  std::vector<double> du, dv;                         ///< [task][visibility] turns a pixel
  std::vector<double> coefficient, n, screen_lambda;  ///< [term][y][x], [y][x] of half the side, [task]
  std::vector<float> sums;

  int half() const { return side / 2; }
  const Value* values(int task, int term, int plane) const {
    return &value[((std::size_t(task) * shape.n_terms + term) * shape.n_planes + plane) * kVisibilities];
  }

  Case(int which_side, const TaskSumsShape& which) : shape(which), side(which_side) {
    std::mt19937_64 random(side * 10 + shape.n_planes);
    std::uniform_real_distribution<double> flat(-1, 1);
    value.resize(kTasks * shape.n_terms * shape.n_planes * kVisibilities);
    for (Value& v : value) v = {flat(random), flat(random)};
    for (auto* turns : {&du, &dv})
      for (int i = 0; i < kTasks * kVisibilities; ++i) turns->push_back(0.4 * flat(random));
    for (int i = 0; i < shape.n_terms * half() * half(); ++i) coefficient.push_back(1 + flat(random) / 2);
    for (int i = 0; i < half() * half(); ++i) n.push_back(0.01 * flat(random));
    for (int i = 0; i < kTasks; ++i) screen_lambda.push_back(30 * flat(random));
    sums.assign(kTasks * shape.task_values, std::numeric_limits<float>::quiet_NaN());
    for (int task = 0; task < kTasks; ++task)
      for (int term = 0; term < shape.n_terms; ++term)
        for (int plane = 0; plane < shape.n_planes; ++plane)
          for (int part = 0; part < 8; ++part) fold(task, term, plane, part >> 2, part >> 1 & 1, part & 1);
  }
  void fold(int task, int term, int plane, int imaginary, int sin_y, int sin_x) {
    float* to = sums.data() + task * shape.task_values +
                ((std::size_t(term) * shape.n_planes + plane) * 4 + imaginary * 2 + sin_y) * shape.n_rows *
                    shape.row_values +
                sin_x * shape.sine_values;
    for (int y = 0; y < half(); ++y)
      for (int x = 0; x < half(); ++x) {
        double sum = 0;
        for (int k = 0; k < kVisibilities; ++k) {
          const Value v = values(task, term, plane)[k];
          const double of_y = two_pi * dv[task * kVisibilities + k] * (y + 0.5),
                       of_x = two_pi * du[task * kVisibilities + k] * (x + 0.5);
          sum += (imaginary ? v.imag() : v.real()) * (sin_y ? std::sin(of_y) : std::cos(of_y)) *
                 (sin_x ? std::sin(of_x) : std::cos(of_x));
        }
        to[std::size_t(y) * shape.row_values + x] = static_cast<float>(sum);
      }
  }
  /// Pixel at (y, x) from the middle, halves of odd numbers.
  Value pixel(int task, int plane, double y, double x) const {
    const std::size_t at = std::size_t(std::abs(y)) * half() + std::size_t(std::abs(x));
    Value sum = 0;
    for (int term = 0; term < shape.n_terms; ++term)
      for (int k = 0; k < kVisibilities; ++k)
        sum +=
            values(task, term, plane)[k] * std::pow(Value(0, -1), term) *
            coefficient[std::size_t(term) * half() * half() + at] *
            std::polar(1.0, -two_pi * (y * dv[task * kVisibilities + k] + x * du[task * kVisibilities + k]));
    return sum * std::polar(1.0, -two_pi * screen_lambda[task] * n[at]);
  }
};

template <class T, class From>
DeviceArray<T> on_device(const std::vector<From>& host) {
  static_assert(sizeof(T) == sizeof(From));
  DeviceArray<T> array(host.size());
  cuda_check(cudaMemcpy(array.data(), host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice),
             "copying");
  return array;
}

/// Relative RMS of all cells. With A-terms, which are 1.
double error_of(const Case& c, bool aterms) {
  const int side = c.side, n_planes = c.shape.n_planes;
  const auto sums = on_device<float>(c.sums);
  const auto coefficient = on_device<double>(c.coefficient), n = on_device<double>(c.n),
             screen = on_device<double>(c.screen_lambda);
  std::vector<std::complex<float>> phases;
  for (int k = -side / 2; k < side / 2; ++k)
    phases.emplace_back(std::polar(1.0 / side, -std::numbers::pi * k * (side - 1) / side));
  const auto uv_phase = on_device<float2>(phases);
  std::vector<std::complex<float>> cells(std::size_t(kTasks) * n_planes * side * side,
                                         std::numeric_limits<float>::quiet_NaN());
  const auto images = on_device<float2>(cells);
  ImageTask<float> task{};
  task.n_tasks = kTasks;
  task.side = side;
  task.n_outputs = 1;
  task.shape = c.shape;
  task.sums = sums.data();
  task.coefficient = coefficient.data();
  task.n_from_middle = n.data();
  task.screen_lambda = screen.data();
  task.aterms = DeviceAterms::none;
  task.images = images.data();
  const std::vector<AtermKey> ones(kTasks);
  const auto keys = uploaded(ones);
  std::vector<std::complex<float>> unity;
  for (int i = 0; i < side * side; ++i) unity.insert(unity.end(), {1, 0, 0, 1});
  const auto jones = on_device<float2>(unity);
  if (aterms) {
    task.aterms = DeviceAterms::adjoint;
    task.keys = keys.data();
    task.jones = jones.data();
    task.n_chan_slots = task.n_responses = 1;
    task.n_image_planes = 4;
    for (int i = 0; i < 4; ++i) task.mix[i][i] = {1, 0};
  }
  BOOST_REQUIRE(has_cells<float>(side, n_planes, 1));
  launch_cells(task, uv_phase.data(), nullptr);
  cuda_check(cudaMemcpy(cells.data(), images.data(), cells.size() * sizeof(cells[0]), cudaMemcpyDeviceToHost),
             "copying back");
  std::vector<Value> turn;  // [cell][pixel]
  for (int k = -side / 2; k < side / 2; ++k)
    for (int i = 0; i < side; ++i)
      turn.push_back(std::polar(1.0 / side, two_pi / side * k * (i - side / 2 + 0.5)));
  double error = 0, power = 0;
  const std::complex<float>* got = cells.data();
  for (int own = 0; own < kTasks; ++own)
    for (int plane = 0; plane < n_planes; ++plane) {
      std::vector<Value> pixels;
      for (int y = 0; y < side; ++y)
        for (int x = 0; x < side; ++x)
          pixels.push_back(c.pixel(own, plane, y - side / 2 + 0.5, x - side / 2 + 0.5));
      // Rows, then columns: [y][u] on the way.
      std::vector<Value> rows;
      for (int y = 0; y < side; ++y)
        for (int u = 0; u < side; ++u) {
          Value sum = 0;
          for (int x = 0; x < side; ++x) sum += pixels[y * side + x] * turn[u * side + x];
          rows.push_back(sum);
        }
      for (int v = 0; v < side; ++v)
        for (int u = 0; u < side; ++u, ++got) {
          Value want = 0;
          for (int y = 0; y < side; ++y) want += rows[y * side + u] * turn[v * side + y];
          error += std::norm(Value(*got) - want);
          power += std::norm(want);
        }
    }
  return std::sqrt(error / power);
}

/// Shapes of sums as tensor cores leave them, and, below, as CUDA cores do.
TaskSumsShape tensor_shape(int n_planes, int side) {
  const int half = tensor_half(side);
  return {1, n_planes, half, 2 * half, half, std::size_t(n_planes) * 8 * half * half};
}
TaskSumsShape direct_shape(int n_terms, int n_planes, int side) {
  const int rows = (side / 2 + 7) / 8 * 8;
  return {n_terms, n_planes, rows, side, side / 2, std::size_t(n_terms) * n_planes * 4 * rows * side + 96};
}

void check(int side, const TaskSumsShape& shape, bool aterms = false) {
  const double error = error_of(Case(side, shape), aterms);
  std::printf("side %d, %d planes, %d terms%s: %.2e\n", side, shape.n_planes, shape.n_terms,
              aterms ? ", A-terms" : "", error);
  BOOST_CHECK_LE(error, 5e-7);  // 1.3e-7 to 1.8e-7
}

}  // namespace

/// For compute-sanitizer.
BOOST_AUTO_TEST_CASE(small_for_sanitizers) {
  check(16, tensor_shape(2, 16));
  check(24, direct_shape(2, 1, 24));
  check(64, tensor_shape(1, 64));
}

BOOST_AUTO_TEST_CASE(cells_of_all_sides_agree_with_float64) {
  for (int side : {16, 24, 32, 40, 48}) {
    check(side, tensor_shape(side == 48 ? 2 : 4, side));
    check(side, direct_shape(3, side == 48 ? 1 : 3, side));
  }
  check(32, tensor_shape(5, 32));
}

BOOST_AUTO_TEST_CASE(cells_of_large_sides_agree_with_float64) {
  for (int side : {56, 64, 80, 96, 112, 128, 160}) {
    // Not all devices have shared memory for the largest, from which plans keep away there; Hopper's have.
    if (side > 96 && !has_plane_cells(side) && !support::is_hopper()) continue;
    check(side, tensor_shape(2, side));
    check(side, direct_shape(3, 1, side));
  }
}

BOOST_AUTO_TEST_CASE(cells_with_aterms_agree_with_float64) {
  for (int side : {32, 56, 64}) check(side, tensor_shape(5, side), true);
}

BOOST_AUTO_TEST_SUITE_END()
