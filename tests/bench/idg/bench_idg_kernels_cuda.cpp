// SPDX-License-Identifier: GPL-3.0-or-later
// The CUDA gridder's sums over visibilities alone, from visibilities in device memory. One JSON line per
// case. The fraction is that of the tensor cores' rate (989 Tflop/s) that the products take; the error is the
// relative RMS over whole subgrids against float64.
//   bench_idg_kernels_cuda [SIDE...]
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <numbers>
#include <random>
#include <string>
#include <vector>

#include "kernels/common/cuda/array.h"
#include "kernels/common/cuda/check.h"
#include "kernels/idg/cuda/grid/tensor/task.cuh"
#include "kernels/idg/plan/w_terms.h"
#include "libcore/base/error.h"
#include "libcore/system/device.h"
#include "libcore/system/parallel.h"

using namespace apsyn;
using namespace apsyn::idg_cuda;

namespace {

struct Case {
  int side, n_chan, n_planes, n_visibilities, n_tasks;
  double field_rad;  ///< padded
  double phi;        ///< of the tasks' extent in w
};

class Timer {
 public:
  Timer() {
    cuda_check(cudaEventCreate(&begin_), "making an event");
    cuda_check(cudaEventCreate(&end_), "making an event");
  }
  ~Timer() {
    cudaEventDestroy(begin_);
    cudaEventDestroy(end_);
  }
  template <class Work>
  double seconds(int n_repeats, Work work) {
    std::vector<float> all;
    for (int i = 0; i < n_repeats; ++i) {
      cuda_check(cudaEventRecord(begin_), "timing");
      work();
      cuda_check(cudaEventRecord(end_), "timing");
      cuda_check(cudaEventSynchronize(end_), "timing");
      float ms = 0;
      cuda_check(cudaEventElapsedTime(&ms, begin_, end_), "timing");
      all.push_back(ms);
    }
    std::sort(all.begin(), all.end());
    return all[all.size() / 2] * 1e-3;
  }

 private:
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
};

/// Tasks at random places of the uv plane, each filled by one baseline at random.
struct Problem {
  Case c;
  int n_rows = 0;  ///< a task
  double coarse = 0, n_middle = 0, n_half_range = 0, per_lambda = 0;
  TensorTerms terms = TensorTerms::four;
  double w_unit = 0;
  std::vector<double> uvw_m, wavenumber;
  std::vector<VisibilityRun> runs;
  std::vector<SlotTask> tasks;
  std::uint32_t n_slots = 0, n_chunks = 0;

  explicit Problem(const Case& which) : c(which) {
    std::mt19937_64 random(7);
    std::uniform_real_distribution<double> flat(-1, 1);
    n_rows = c.n_visibilities / c.n_chan;
    coarse = c.field_rad / c.side;
    const double corner = n_at(0, 0);
    n_middle = (1 + corner) / 2;
    n_half_range = (1 - corner) / 2;
    per_lambda = c.field_rad;  // uv cells
    for (int i = 0; i < c.n_chan; ++i) wavenumber.push_back(0.5 * (1 + 1e-5 * i));
    const double half_w = c.phi / (2 * std::numbers::pi * n_half_range);
    const double reach = std::max(3.0, c.side / 2.0 - 9);
    for (int i = 0; i < c.n_tasks; ++i) {
      const double u0 = 3000 * flat(random), v0 = 3000 * flat(random), w0 = half_w + 100 * (1 + flat(random));
      double most[3] = {-1e30, -1e30, -1e30}, least[3] = {1e30, 1e30, 1e30};
      for (int r = 0; r < n_rows; ++r) {
        const double cells[3] = {u0 + reach * flat(random), v0 + reach * flat(random), 0};
        const double uvw[3] = {cells[0] / per_lambda / wavenumber[0], cells[1] / per_lambda / wavenumber[0],
                               (w0 + half_w * flat(random)) / wavenumber[0]};
        runs.push_back({std::uint32_t(i * n_rows + r), 0, std::uint32_t(c.n_chan)});
        for (int k = 0; k < 3; ++k) {
          uvw_m.push_back(uvw[k]);
          for (double wave : {wavenumber.front(), wavenumber.back()}) {
            most[k] = std::max(most[k], uvw[k] * wave);
            least[k] = std::min(least[k], uvw[k] * wave);
          }
        }
      }
      SlotTask task{};
      task.centre_u = std::round((most[0] + least[0]) / 2 * per_lambda);
      task.centre_v = std::round((most[1] + least[1]) / 2 * per_lambda);
      task.w_lambda = task.layer_w_lambda = (most[2] + least[2]) / 2;
      task.half_w_lambda = (most[2] - least[2]) / 2;
      task.first_run = std::uint32_t(i * n_rows);
      task.n_runs = std::uint32_t(n_rows);
      tasks.push_back(task);
    }
    double phi = 0;
    for (const SlotTask& task : tasks)
      phi = std::max(phi, 2 * std::numbers::pi * task.half_w_lambda * n_half_range);
    terms = phi <= max_phi(TensorTerms::three) * 2 ? TensorTerms::three : TensorTerms::four;
    w_unit = max_phi(terms) / (2 * std::numbers::pi * n_half_range);
    for (SlotTask& task : tasks) {
      task.w_unit_lambda = w_unit;
      task.n_bins = std::uint32_t(std::max(1.0, std::ceil(task.half_w_lambda / w_unit)));
      task.first_slot = n_slots;
      task.n_slots = slots_of(std::uint32_t(c.n_visibilities), task.n_bins);
      task.first_chunk = n_chunks;
      task.n_chunks = chunks_of(task.n_slots, task.n_bins);
      n_slots += task.n_slots;
      n_chunks += task.n_chunks;
    }
  }
  double n_at(int y, int x) const {
    const double l = (x + 0.5 - c.side / 2.0) * coarse, m = (y + 0.5 - c.side / 2.0) * coarse;
    return std::sqrt(std::max(0.0, 1 - l * l - m * m));
  }
  std::vector<float4> coefficients() const {
    const int half = tensor_half(c.side), offset = c.side / 2;
    std::vector<float4> all;
    for (int y = 0; y < half; ++y)
      for (int x = 0; x < half; ++x) {
        const double dn = n_at(offset + y, offset + x) - n_middle, z = 2 * std::numbers::pi * w_unit * dn;
        all.push_back(
            {float(2 * bessel_j(1, z)), float(2 * bessel_j(2, z)), float(2 * bessel_j(3, z)), float(dn)});
      }
    return all;
  }
};

/// Relative error of one task's subgrids.
struct Error2 {
  double error = 0, power = 0;
};
void compare(const Problem& p, int index, const std::vector<std::complex<float>>& data,
             const std::vector<float>& weight, const std::vector<float>& sums, Error2& result) {
  using Value = std::complex<double>;
  const int side = p.c.side, half = side / 2, wide = tensor_half(side), n_planes = p.c.n_planes;
  const SlotTask& task = p.tasks[index];
  struct Visibility {
    double dw;
    std::vector<Value> value, ex, ey;
  };
  std::vector<Visibility> all;
  for (int r = 0; r < p.n_rows; ++r)
    for (int chan = 0; chan < p.c.n_chan; ++chan) {
      const std::size_t row = std::size_t(index) * p.n_rows + r, cell = row * p.c.n_chan + chan;
      const double k = p.wavenumber[chan];
      const double du = p.uvw_m[3 * row] * k * p.per_lambda - task.centre_u;
      const double dv = p.uvw_m[3 * row + 1] * k * p.per_lambda - task.centre_v;
      Visibility v{p.uvw_m[3 * row + 2] * k - task.w_lambda, {}, {}, {}};
      for (int x = 0; x < side; ++x) {
        v.ex.push_back(std::polar(1.0, -2 * std::numbers::pi * du / side * (x + 0.5 - half)));
        v.ey.push_back(std::polar(1.0, -2 * std::numbers::pi * dv / side * (x + 0.5 - half)));
      }
      const Value turned = std::polar(1.0, -2 * std::numbers::pi * v.dw * (p.n_middle - 1));
      for (int plane = 0; plane < n_planes; ++plane)
        v.value.push_back(Value(data[cell * n_planes + plane]) * double(weight[cell * n_planes + plane]) *
                          turned);
      all.push_back(std::move(v));
    }
  std::vector<Error2> rows(side);
  parallel_for(available_threads(), side, [&](std::size_t row, unsigned) {
    const int y = static_cast<int>(row), py = y >= half ? y - half : half - 1 - y;
    std::vector<Value> want(n_planes);
    for (int x = 0; x < side; ++x) {
      const int px = x >= half ? x - half : half - 1 - x;
      const double dn = p.n_at(y, x) - p.n_middle, sy = y >= half ? 1 : -1, sx = x >= half ? 1 : -1;
      std::fill(want.begin(), want.end(), 0);
      for (const Visibility& v : all) {
        const Value e = v.ey[y] * v.ex[x] * std::polar(1.0, -2 * std::numbers::pi * v.dw * dn);
        for (int plane = 0; plane < n_planes; ++plane) want[plane] += v.value[plane] * e;
      }
      for (int plane = 0; plane < n_planes; ++plane) {
        auto at = [&](int part, int sin_y, int sin_x) {
          return double(
              sums[((((std::size_t(index) * n_planes + plane) * 2 + part) * 2 + sin_y) * wide + py) * 2 *
                       wide +
                   std::size_t(sin_x) * wide + px]);
        };
        auto sum = [&](int sin_y, int sin_x) { return Value(at(0, sin_y, sin_x), at(1, sin_y, sin_x)); };
        // (cos_y - i sin_y) (cos_x - i sin_x)
        const Value got = sum(0, 0) - sy * sx * sum(1, 1) - Value(0, 1) * (sy * sum(1, 0) + sx * sum(0, 1));
        rows[row].error += std::norm(got - want[plane]);
        rows[row].power += std::norm(want[plane]);
      }
    }
  });
  for (const Error2& row : rows) result.error += row.error, result.power += row.power;
}

void run(const Case& c, int n_sm, const char* name, const std::vector<std::complex<float>>& data,
         const std::vector<float>& weight, const DeviceArray<std::complex<float>>& data_device,
         const DeviceArray<float>& weight_device) {
  const Problem p(c);
  const auto uvw = uploaded(p.uvw_m);
  const auto wavenumber = uploaded(p.wavenumber);
  const auto runs = uploaded(p.runs);
  const auto tasks = uploaded(p.tasks);
  std::vector<std::uint32_t> selected_host;
  for (int i = 0; i < c.n_tasks; ++i) selected_host.push_back(i);
  const auto selected = uploaded(selected_host);
  const auto coefficient = uploaded(p.coefficients());
  const BlockArrays block{
      uvw.data(),           nullptr,  wavenumber.data(), reinterpret_cast<const float2*>(data_device.data()),
      weight_device.data(), c.n_chan, c.n_planes,        c.n_planes};
  DeviceArray<std::uint32_t> cell(p.n_slots), largest(c.n_tasks);
  DeviceArray<Chunk> chunks(p.n_chunks);
  DeviceArray<float> du(p.n_slots), dv(p.n_slots), t(p.n_slots);
  DeviceArray<float2> value(std::size_t(p.n_slots) * c.n_planes);
  const int half = tensor_half(c.side);
  DeviceArray<float> sums(std::size_t(c.n_tasks) * c.n_planes * 8 * half * half);
  cuda_check(cudaMemset(sums.data(), 0xff, sums.size() * 4), "poisoning");
  const Slots<float> slots{du.data(), dv.data(), t.data(), value.data()};
  Timer timer;
  const double order_s = timer.seconds(3, [&] {
    launch_order({tasks.data(), runs.data(), block, c.n_tasks, cell.data(), chunks.data()}, nullptr);
  });
  const double prepare_s = timer.seconds(3, [&] {
    launch_prepare_slots<float>({tasks.data(), chunks.data(), cell.data(), block, c.n_tasks, c.n_planes,
                                 c.side, p.per_lambda, p.per_lambda, p.n_middle, slots, largest.data()},
                                nullptr);
  });
  DeviceArray<TaskStart> starts(c.n_tasks + n_sm);
  const TensorGridTask sum{tasks.data(),
                           selected.data(),
                           chunks.data(),
                           largest.data(),
                           starts.data(),
                           slots,
                           c.n_tasks,
                           c.n_planes,
                           c.side,
                           coefficient.data(),
                           float(2 * std::numbers::pi * p.w_unit),
                           sums.data()};
  const double sum_s = timer.seconds(9, [&] { launch_tensor_grid(sum, p.terms, n_sm, nullptr); });
  std::vector<float> got(sums.size());
  cuda_check(cudaMemcpy(got.data(), sums.data(), got.size() * 4, cudaMemcpyDeviceToHost), "copying back");
  Error2 error;
  for (int index : {0, c.n_tasks / 2, c.n_tasks - 1}) compare(p, index, data, weight, got, error);
  const double n = double(c.n_visibilities) * c.n_tasks;
  const int products = p.terms == TensorTerms::four ? 8 : 5;
  const double flop = n * products * c.n_planes * 4 * (2.0 * half) * half * 2;
  fmt::print(
      "{{\"bench\":\"idg_grid_kernel\",\"device\":\"{}\",\"subgrid\":{},\"channels\":{},\"planes\":{},\"per_"
      "subgrid\":"
      "{},\"phi\":{},\"bins\":{},\"products\":{},\"GVis_per_s\":{:.3f},\"fraction\":{:.2f},\"order_s\":{:.3g}"
      ","
      "\"prepare_s\":{:.3g},\"sum_s\":{:.3g},\"error\":{:.2e}}}\n",
      name, c.side, c.n_chan, c.n_planes, c.n_visibilities, c.phi, p.tasks[0].n_bins, products,
      n / sum_s * 1e-9, flop / sum_s / 989e12, order_s, prepare_s, sum_s,
      std::sqrt(error.error / error.power));
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    cudaDeviceProp properties{};
    cuda_check(cudaGetDeviceProperties(&properties, 0), "asking for the device");
    std::mt19937 random(5);
    std::vector<std::complex<float>> data(std::size_t(4096) * 2048 * 4);
    std::vector<float> weight(data.size());
    for (auto& v : data)
      v = {float(int(random() >> 8) - (1 << 23)) * 0x1p-23f,
           float(int(random() >> 8) - (1 << 23)) * 0x1p-23f};
    for (auto& w : weight) w = 0.5f + float(random() >> 8) * 0x1p-24f;
    const auto data_device = uploaded(data);
    const auto weight_device = uploaded(weight);
    auto go = [&](const Case& c) {
      run(c, properties.multiProcessorCount, properties.name, data, weight, data_device, weight_device);
    };
    std::vector<int> sides;
    for (int i = 1; i < argc; ++i) sides.push_back(std::stoi(argv[i]));
    for (const int side : sides) {
      for (double phi : {0.02, 0.2}) go({side, 16, 4, 2048, 1024, 0.1, phi});
      go({side, 16, 4, 128, 8192, 0.1, 0.02});
      go({side, 16, 1, 2048, 1024, 0.1, 0.2});
    }
    if (!sides.empty()) return 0;
    for (double phi : {0.02, 0.2, 0.6, 2.0}) go({32, 16, 4, 2048, 4096, 0.1, phi});
    go({32, 1, 4, 2048, 4096, 0.1, 0.2});
    go({32, 64, 4, 2048, 4096, 0.1, 0.2});
    go({32, 16, 4, 128, 65536, 0.1, 0.2});
    for (int n_planes : {1, 2, 3}) go({32, 16, n_planes, 2048, 4096, 0.1, 0.2});
    for (int side : {24, 40, 48, 64, 80, 96, 128, 160})
      for (double phi : {0.02, 0.2}) go({side, 16, 4, 2048, side == 24 ? 4096 : 1024, 0.1, phi});
    for (int side : {48, 64, 96})
      for (int n_planes : {1, 3}) go({side, 16, n_planes, 2048, 1024, 0.1, 0.2});
    go({96, 16, 4, 2048, 1024, 0.5, 0.2});
  } catch (const Error& error) {
    fmt::print(stderr, "bench_idg_kernels_cuda: error: {}\n", error.what());
    return static_cast<int>(error.status());
  }
  return 0;
}
