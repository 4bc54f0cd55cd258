// SPDX-License-Identifier: GPL-3.0-or-later
// The CUDA X stage from device memory: one JSON line per case, checked against a loop on random pairs first.
// "useful" counts 8 operations for each complex product of the triangle with autocorrelations.
//
//   bench_x_stage [integers|float] [ANTENNAS...]   tensor kernels on 8 and 4 bits; register tiles on float32
//   bench_x_stage pack                             raw samples into the layout, sums into means
//   bench_x_stage paper                            tables 3 and 4 of Wayth et al. (2009) for this device
#include <fmt/core.h>

#include <string>

#include "libcore/base/error.h"
#include "tests/bench/x_stage/x_stage_bench.h"

int main(int argc, char** argv) {
  using namespace apsyn;
  try {
    const std::string what = argc > 1 ? argv[1] : "integers";
    std::vector<std::size_t> antennas;
    for (int k = 2; k < argc; ++k) antennas.push_back(std::stoul(argv[k]));
    if (what == "integers")
      bench::run_integers(antennas);
    else if (what == "float")
      bench::run_float(antennas);
    else if (what == "pack")
      bench::run_pack();
    else if (what == "paper")
      bench::run_paper();
    else
      throw UsageError("{}: integers, float, pack or paper", what);
  } catch (const Error& error) {
    fmt::print(stderr, "bench_x_stage: error: {}\n", error.what());
    return static_cast<int>(error.status());
  }
  return 0;
}
