// SPDX-License-Identifier: GPL-3.0-or-later
#include <fmt/core.h>

#include "libcore/system/device.h"
#include "tests/bench/x_stage/x_stage_bench.h"
#include "tests/support/x_stages_on_host_samples.h"

namespace apsyn::bench {
namespace {

void run(const Case& c, XStageKernel kernel, unsigned n_bit, const char* name) {
  const Buffer<std::int8_t, 4> samples = random_samples(c, n_bit);
  support::HostXStage stage({c.n_chan, c.n_input(), n_bit}, c.n_time, 0, kernel);
  Buffer<std::int64_t, 3> sums({c.n_chan, c.n_input() * (c.n_input() + 1) / 2, 2});
  sums.fill(-1);
  stage.add(samples);
  stage.finish(sums);
  const long n_wrong = count_wrong(samples, sums);
  stage.add(samples);
  const Times times = time_launches(
      stage,
      [&] {
        stage.discard();  // one integration a launch
        stage.repeat();
      },
      15, 0.3);
  fmt::print(
      "{{\"bench\":\"x_stage\",\"device\":\"{}\",\"kernel\":\"{}\",\"bits\":{},\"antennas\":{},\"channels\":"
      "{},\"samples\":{},\"seconds_min\":{:.4g},\"seconds_median\":{:.4g},\"seconds_sustained\":{:.4g},"
      "\"useful_tops_short\":{:.0f},\"useful_tops_sustained\":{:.0f},\"fraction_of_int8_ceiling\":{:.3f},"
      "\"wrong_pairs_of_2000\":{}}}\n",
      cuda_device_name(0), name, n_bit, c.n_ant, c.n_chan, c.n_time, times.min_s, times.median_s,
      times.sustained_s, c.operations() / times.median_s * 1e-12, c.operations() / times.sustained_s * 1e-12,
      c.operations() / times.sustained_s / 1885e12, n_wrong);
}

}  // namespace

void run_integers(const std::vector<std::size_t>& antennas) {
  for (const Case& c :
       {Case{32, 128, 8192}, Case{64, 128, 8192}, Case{128, 128, 4096}, Case{256, 132, 1024},
        Case{256, 132, 4096}, Case{512, 64, 1024}, Case{1024, 16, 2048}, Case{2048, 8, 4096}}) {
    if (!chosen(antennas, c.n_ant)) continue;
    run(c, XStageKernel::wgmma, 8, "wgmma");
    run(c, XStageKernel::wgmma, 4, "wgmma");
    run(c, XStageKernel::mma, 8, "mma");
  }
}

}  // namespace apsyn::bench
