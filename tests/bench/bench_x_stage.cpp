// SPDX-License-Identifier: GPL-3.0-or-later
// The CUDA X stage from device memory: one JSON line per case. "useful" counts 8 operations for each complex
// product of the triangle with autocorrelations. "short" is the median of single launches, "sustained" the
// mean of launches back to back for 0.3 s, when the power limit lowers the clock. Every case is checked
// against an int64 loop on 2000 random pairs first.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <vector>

#include "kernels/correlate/x_stage_cuda.h"
#include "libcore/core/device.h"
#include "libcore/core/error.h"

using namespace apsyn;

namespace {

struct Case {
  std::size_t n_ant, n_chan, n_time;
};

long count_wrong(const Buffer<std::int8_t, 4>& x, const Buffer<std::int64_t, 3>& sums) {
  std::mt19937 random(5);
  long n_wrong = 0;
  const std::size_t n_input = x.extent(2);
  for (int k = 0; k < 2000; ++k) {
    const std::size_t chan = random() % x.extent(1);
    std::size_t i = random() % n_input, j = random() % n_input;
    if (i > j) std::swap(i, j);
    std::int64_t re = 0, im = 0;
    for (std::size_t t = 0; t < x.extent(0); ++t) {
      const int ar = x(t, chan, i, 0), ai = x(t, chan, i, 1), br = x(t, chan, j, 0), bi = x(t, chan, j, 1);
      re += ar * br + ai * bi;
      im += ai * br - ar * bi;
    }
    const std::size_t pair = i * n_input - i * (i + 1) / 2 + j;
    n_wrong += sums(chan, pair, 0) != re || sums(chan, pair, 1) != im;
  }
  return n_wrong;
}

double seconds_of(CudaXStage& stage, int launches) {
  const auto begin = std::chrono::steady_clock::now();
  for (int k = 0; k < launches; ++k) {
    stage.discard();  // one integration a launch
    stage.repeat();
  }
  stage.synchronise();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void run(const Case& c, XStageKernel kernel, const char* name) {
  const XStageShape shape{c.n_chan, 2 * c.n_ant, c.n_time};
  Buffer<std::int8_t, 4> samples({c.n_time, c.n_chan, shape.n_input, 2});
  std::mt19937 random(static_cast<unsigned>(c.n_ant));
  for (std::size_t i = 0; i + 4 <= samples.size(); i += 4) {
    const std::uint32_t r = random();
    std::copy_n(reinterpret_cast<const std::int8_t*>(&r), 4, samples.data() + i);
  }
  auto stage = make_cuda_x_stage(shape, 0, kernel);
  Buffer<std::int64_t, 3> sums({c.n_chan, shape.n_input * (shape.n_input + 1) / 2, 2});
  sums.fill(-1);
  stage->add(samples);
  stage->finish(sums);
  const long n_wrong = count_wrong(samples, sums);
  stage->add(samples);
  stage->synchronise();
  std::vector<double> single;
  for (int k = 0; k < 15; ++k) single.push_back(seconds_of(*stage, 1));
  std::sort(single.begin(), single.end());
  const int n_launches = std::max(10, static_cast<int>(0.3 / single[7]));
  const double sustained = seconds_of(*stage, n_launches) / n_launches;
  const double operations = 8.0 * static_cast<double>(c.n_chan * c.n_time) *
                            static_cast<double>(shape.n_input) * static_cast<double>(shape.n_input + 1) / 2;
  fmt::print(
      "{{\"bench\":\"x_stage\",\"device\":\"{}\",\"kernel\":\"{}\",\"antennas\":{},\"channels\":{},"
      "\"samples\":{},"
      "\"seconds_min\":{:.4g},\"seconds_median\":{:.4g},\"seconds_sustained\":{:.4g},\"useful_tops_short\":{:"
      ".0f},"
      "\"useful_tops_sustained\":{:.0f},\"fraction_of_int8_ceiling\":{:.3f},\"wrong_pairs_of_2000\":{}}}\n",
      cuda_device_name(0), name, c.n_ant, c.n_chan, c.n_time, single[0], single[7], sustained,
      operations / single[7] * 1e-12, operations / sustained * 1e-12, operations / sustained / 1885e12,
      n_wrong);
}

}  // namespace

int main() {
  try {
    for (const Case& c :
         {Case{32, 128, 8192}, Case{64, 128, 8192}, Case{128, 128, 4096}, Case{256, 132, 1024},
          Case{256, 132, 4096}, Case{512, 64, 1024}, Case{1024, 16, 2048}, Case{2048, 8, 4096}}) {
      run(c, XStageKernel::wgmma, "wgmma");
      run(c, XStageKernel::mma, "mma");
    }
  } catch (const Error& error) {
    fmt::print(stderr, "bench_x_stage: error: {}\n", error.what());
    return static_cast<int>(error.status());
  }
  return 0;
}
