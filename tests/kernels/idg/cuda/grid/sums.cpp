// SPDX-License-Identifier: GPL-3.0-or-later
// The gridder's sums on tensor cores against their definition in float64: sides that tiles of 16, 24 and 32
// pixels fill, any number of planes, tasks of one group of slots and of several bins of w and chunks.
#include <algorithm>
#include <bit>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <complex>
#include <cstdio>
#include <numbers>
#include <random>
#include <vector>

#include "kernels/common/cuda/array.h"
#include "kernels/idg/cuda/grid/tensor/task.cuh"
#include "tests/kernels/idg/cuda/hopper.h"

using namespace apsyn;
using namespace apsyn::idg_cuda;

BOOST_AUTO_TEST_SUITE(sums)

namespace {

using Value = std::complex<double>;
constexpr double two_pi = 2 * std::numbers::pi;
constexpr int kBlocks = 2;  ///< fewer than there are tasks and tiles: blocks take one after the other

struct Case {
  int side, n_planes;
  TensorTerms terms;
  double w_unit_lambda, n_half_range = 1e-3;
  std::vector<SlotTask> tasks;
  std::vector<Chunk> chunks;
  std::vector<float> du, dv, t;
  std::vector<std::complex<float>> value;  ///< [slot][plane]
  std::vector<double> n;                   ///< [y][x] n - n_middle
  std::vector<std::uint32_t> largest;      ///< [task]

  /// `alike`: all products have one sign, as those of a bright source in the middle of the field. Sums that
  /// are truncated then shrink, which random ones do not.
  Case(int which_side, int planes, TensorTerms which, bool alike = false)
      : side(which_side), n_planes(planes), terms(which) {
    std::mt19937_64 random(side * 10 + planes);
    std::uniform_real_distribution<double> flat(-1, 1);
    w_unit_lambda = max_phi(terms) / (two_pi * n_half_range);
    for (int i = 0; i < half() * half(); ++i) n.push_back(n_half_range * flat(random));
    // Slots of the chunks of every bin of w.
    const std::vector<std::vector<std::vector<int>>> all{{{512, 48}, {112}, {16}}, {{16}}, {{512, 336}}};
    for (const auto& bins : all) {
      SlotTask task{};
      task.first_chunk = static_cast<std::uint32_t>(chunks.size());
      const double scale = std::pow(10.0, 3 * flat(random));
      double most = 0;
      for (std::size_t bin = 0; bin < bins.size(); ++bin) {
        const double offset = (2 * double(bin) - double(bins.size() - 1)) * w_unit_lambda;
        for (const int slots : bins[bin]) {
          chunks.push_back({static_cast<std::uint32_t>(tasks.size()), static_cast<std::uint32_t>(du.size()),
                            static_cast<std::uint32_t>(slots), static_cast<float>(offset), 0});
          for (int i = 0; i < slots; ++i) {
            const double far = alike ? 0.16 / side : 0.45;
            du.push_back(static_cast<float>(far * flat(random)));
            dv.push_back(static_cast<float>(far * flat(random)));
            t.push_back(static_cast<float>(flat(random)));
            for (int plane = 0; plane < n_planes; ++plane) {
              value.emplace_back(scale * (alike ? 1 : flat(random)), scale * (alike ? 1 : flat(random)));
              most = std::max<double>({most, std::abs(value.back().real()), std::abs(value.back().imag())});
            }
          }
        }
      }
      chunks.push_back({static_cast<std::uint32_t>(tasks.size()), task.first_slot, 0, 0, 0});
      tasks.push_back(task);
      largest.push_back(std::bit_cast<std::uint32_t>(static_cast<float>(most)));
    }
  }
  int half() const { return tensor_half(side); }
  std::size_t task_values() const { return std::size_t(n_planes) * 8 * half() * half(); }
  std::vector<float4> coefficients() const {
    std::vector<float4> all;
    for (const double dn : n) {
      const double z = two_pi * w_unit_lambda * std::abs(dn), sign = dn < 0 ? -1 : 1;
      auto bessel = [&](int order) {
        return 2 * std::pow(sign, order) * std::cyl_bessel_j(double(order), z);
      };
      all.push_back({float(bessel(1)), float(bessel(2)), float(bessel(3)), float(dn)});
    }
    return all;
  }
  /// [plane][re, im][cos_y, sin_y][y][cos_x, sin_x][x]
  std::vector<double> expected(std::uint32_t task) const {
    const std::size_t n_half = half();
    std::vector<double> sums(task_values());
    for (const Chunk* chunk = &chunks[tasks[task].first_chunk]; chunk->n_slots > 0; ++chunk)
      for (std::size_t slot = chunk->first_slot; slot < chunk->first_slot + chunk->n_slots; ++slot)
        for (std::size_t y = 0; y < n_half; ++y) {
          const double of_y = two_pi * dv[slot] * (double(y) + 0.5),
                       in_y[2] = {std::cos(of_y), std::sin(of_y)};
          for (std::size_t x = 0; x < n_half; ++x) {
            const double of_x = two_pi * du[slot] * (double(x) + 0.5),
                         in_x[2] = {std::cos(of_x), std::sin(of_x)};
            const double w = double(chunk->w_offset_lambda) + double(t[slot]) * w_unit_lambda;
            const Value turn = std::polar(1.0, -two_pi * w * n[y * n_half + x]);
            for (int plane = 0; plane < n_planes; ++plane) {
              const Value v = Value(value[slot * n_planes + plane]) * turn;
              for (std::size_t part = 0; part < 8; ++part)
                sums[((plane * 4 + part / 2) * n_half + y) * 2 * n_half + part % 2 * n_half + x] +=
                    (part & 4 ? v.imag() : v.real()) * in_y[part / 2 % 2] * in_x[part % 2];
            }
          }
        }
    return sums;
  }
};

/// The largest relative RMS of a task's planes.
double error_of(const Case& c) {
  const auto tasks = uploaded(c.tasks);
  const auto chunks = uploaded(c.chunks);
  const auto du = uploaded(c.du), dv = uploaded(c.dv), t = uploaded(c.t);
  const auto largest = uploaded(c.largest), selected = uploaded(std::vector<std::uint32_t>{2, 0, 1});
  const auto coefficient = uploaded(c.coefficients());
  DeviceArray<float2> value(c.value.size());
  cuda_check(cudaMemcpy(value.data(), c.value.data(), c.value.size() * 8, cudaMemcpyHostToDevice), "copying");
  DeviceArray<TaskStart> starts(c.tasks.size() + kBlocks);
  std::vector<float> got(c.tasks.size() * c.task_values());
  DeviceArray<float> sums(got.size());
  fill_bytes(sums.data(), 0xff, got.size());
  const Slots<float> slots{const_cast<float*>(du.data()), const_cast<float*>(dv.data()),
                           const_cast<float*>(t.data()), value.data()};
  launch_tensor_grid({tasks.data(), selected.data(), chunks.data(), largest.data(), starts.data(), slots,
                      static_cast<int>(c.tasks.size()), c.n_planes, c.side, coefficient.data(),
                      static_cast<float>(two_pi * c.w_unit_lambda), sums.data()},
                     c.terms, kBlocks, nullptr);
  cuda_check(cudaMemcpy(got.data(), sums.data(), got.size() * 4, cudaMemcpyDeviceToHost), "copying back");
  double most = 0;
  const std::size_t plane_values = c.task_values() / c.n_planes;
  for (std::uint32_t task = 0; task < c.tasks.size(); ++task) {
    const std::vector<double> want = c.expected(task);
    for (int plane = 0; plane < c.n_planes; ++plane) {
      double error = 0, power = 0;
      for (std::size_t i = plane * plane_values; i < (plane + 1) * plane_values; ++i) {
        error += std::pow(got[task * c.task_values() + i] - want[i], 2);
        power += want[i] * want[i];
      }
      most = std::isnan(most) ? most : std::sqrt(error / power) <= most ? most : std::sqrt(error / power);
    }
  }
  return most;
}

void check(int side, int n_planes, bool alike = false) {
  if (!support::is_hopper()) {
    std::printf("side %d, %d planes: no GPU with these tensor cores\n", side, n_planes);
    return;
  }
  for (const TensorTerms terms : {TensorTerms::three, TensorTerms::four}) {
    const double error = error_of(Case(side, n_planes, terms, alike));
    std::printf("side %d, %d planes, %d terms%s: %.2e\n", side, n_planes, terms == TensorTerms::three ? 3 : 4,
                alike ? ", alike" : "", error);
    BOOST_CHECK_LE(error, 6e-6);  // 2.5e-6 to 4.7e-6; alike: 0.7e-6 to 2.7e-6
  }
}

}  // namespace

/// For compute-sanitizer.
BOOST_AUTO_TEST_CASE(small_for_sanitizers) {
  check(24, 4);
  check(48, 1);
}

BOOST_AUTO_TEST_CASE(sums_of_all_sides_agree_with_float64) {
  for (int side : {16, 32, 40, 64, 96}) check(side, 4);
}

BOOST_AUTO_TEST_CASE(sums_of_one_sign_agree_with_float64) {
  for (int side : {16, 32, 48, 64}) check(side, 4, true);
}

BOOST_AUTO_TEST_CASE(sums_of_any_number_of_planes_agree_with_float64) {
  for (int n_planes : {1, 2, 3, 5})
    for (int side : {32, 48, 64}) check(side, n_planes);
}

BOOST_AUTO_TEST_SUITE_END()
