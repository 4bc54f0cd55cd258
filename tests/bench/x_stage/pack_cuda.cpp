// SPDX-License-Identifier: GPL-3.0-or-later
// Raw samples on the device into the X stage's layout, and sums into means.
#include <fmt/core.h>

#include "kernels/common/cuda/transfer.h"
#include "kernels/correlate/cuda/x_stage/device.cuh"
#include "libcore/base/error.h"
#include "libcore/system/device.h"
#include "tests/bench/x_stage/x_stage_bench.h"

namespace apsyn::bench {

namespace {

template <class Launch>
double median_seconds(Launch launch) {
  std::vector<double> seconds;
  for (int k = 0; k < 12; ++k) {
    Event begin, end;
    begin.record(nullptr);
    launch();
    end.record(nullptr);
    end.wait();
    if (k > 0) seconds.push_back(end.seconds_since(begin));
  }
  std::sort(seconds.begin(), seconds.end());
  return seconds[seconds.size() / 2];
}

void run(const Case& c, unsigned n_bit) {
  DeviceXStage stage({c.n_chan, c.n_input(), n_bit}, 0);
  const x_layout::Layout layout = stage.layout(c.n_time);
  DeviceArray<std::int8_t> packed = stage.allocate(layout);
  const std::size_t raw_bytes = c.n_time * c.n_chan * c.n_input() * n_bit / 4;
  DeviceArray<std::uint8_t> raw(raw_bytes);
  cuda_check(cudaMemset(raw.data(), 0x5A, raw_bytes), "filling");
  x_stage::PackTask pack;
  pack.in = raw.data();
  pack.format = n_bit == 4 ? x_stage::RawFormat::int4 : x_stage::RawFormat::int8;
  pack.n_time = static_cast<int>(c.n_time);
  pack.n_pol = 2;
  const double pack_s = median_seconds([&] { stage.pack(pack, layout, packed.data(), nullptr); });
  x_stage::MeanTask means;
  means.n_ant = static_cast<int>(c.n_ant), means.n_pol = 2;
  means.n_valid = static_cast<std::int64_t>(c.n_time), means.full = static_cast<double>(c.n_time);
  const std::size_t n_values = c.n_ant * (c.n_ant + 1) / 2 * c.n_chan * 4;
  DeviceArray<float2> data(n_values);
  DeviceArray<float> weight(n_values);
  means.data = data.data(), means.weight = weight.data();
  const auto finish = [&] { stage.finish_means(means, nullptr); };
  const double add_s = median_seconds([&] {
    stage.discard();
    stage.add(packed.data(), layout, c.n_time, nullptr);
  });
  const double both_s = median_seconds([&] {
    stage.add(packed.data(), layout, c.n_time, nullptr);
    finish();
  });
  fmt::print(
      "{{\"bench\":\"x_stage_pack\",\"device\":\"{}\",\"bits\":{},\"antennas\":{},\"channels\":{},"
      "\"samples\":{},\"seconds_pack\":{:.4g},\"gbytes_per_second_in_and_out\":{:.0f},\"seconds_add\":"
      "{:.4g},\"seconds_means\":{:.4g}}}\n",
      cuda_device_name(0), n_bit, c.n_ant, c.n_chan, c.n_time, pack_s,
      static_cast<double>(raw_bytes + layout.bytes()) / pack_s * 1e-9, add_s, both_s - add_s);
}

}  // namespace

void run_pack() {
  for (const Case& c : {Case{32, 128, 8192}, Case{256, 132, 1024}, Case{512, 64, 1024}})
    for (unsigned n_bit : {8u, 4u}) run(c, n_bit);
}

}  // namespace apsyn::bench
