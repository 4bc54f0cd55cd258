// SPDX-License-Identifier: GPL-3.0-or-later
// From sums over antennas to what a beam's file holds: norms, detection, and means over channels and spectra,
// in float32 within a segment and in float64 beyond.
#include "kernels/beamform/cuda/detect.cuh"
#include "kernels/beamform/cuda/stage.cuh"
#include "kernels/common/cuda/launch.cuh"

namespace apsyn::beam_stage {
namespace {

constexpr int kLanes = 32;

/// A warp owns 32 spectra of a row and beam.
__global__ void detect(Batch batch, const float2* voltages, Products products) {
  const Sections& sections = batch.sections;
  const int n_section = sections.count(), n_tile = sections.stride / kLanes, lane = threadIdx.x % kLanes;
  const std::size_t index = this_thread() / kLanes;
  const int first = static_cast<int>(index % n_tile) * kLanes;
  const int beam = static_cast<int>(index / n_tile % batch.n_beam);
  const std::size_t row = index / n_tile / batch.n_beam;
  if (row >= std::size_t(batch.n_row())) return;
  const int section = static_cast<int>(row % n_section), channel = static_cast<int>(row / n_section);
  const int n = sections.size(section);
  if (first >= n) return;
  const bool there = first + lane < n;
  const int run = there ? batch.run_of(channel, sections.begin(section) + first + lane) : 0;
  const float* norm = batch.norm_of(channel, run, beam);
  const bool valid = there && norm[0] > 0;
  float values[4] = {0, 0, 0, 0};
  if (valid) {
    const float2* from =
        voltages + (row * batch.n_beam + beam) * batch.n_pol * sections.stride + first + lane;
    const float2 x = from[0], scaled_x = make_float2(x.x * norm[0], x.y * norm[0]);
    values[0] = scaled_x.x * scaled_x.x + scaled_x.y * scaled_x.y;
    if (batch.n_pol == 2) {
      const float2 y = from[sections.stride], scaled_y = make_float2(y.x * norm[1], y.y * norm[1]);
      values[1] = scaled_y.x * scaled_y.x + scaled_y.y * scaled_y.y;
      const float2 cross = conjugate_product(scaled_x, scaled_y);
      values[2] = cross.x;
      values[3] = cross.y;
    }
  }
  store_products(products, batch, static_cast<int>(row), beam, first, lane, valid, values);
}

/// A block owns 32 spectra by 32 channels of a beam and polarisation; it reads spectra in a row and writes
/// channels in a row.
__global__ void __launch_bounds__(kLanes * 8)
    finish_voltages(Batch batch, const float2* voltages, int n_all_channel, float2* out) {
  __shared__ float2 tile[kLanes][kLanes + 1];  // [channel][spectrum]
  const Sections& sections = batch.sections;
  const int lane = threadIdx.x % kLanes, warp = threadIdx.x / kLanes, n_section = sections.count();
  const int first = blockIdx.x * kLanes, first_channel = blockIdx.y * kLanes;
  const int beam = blockIdx.z / batch.n_pol, pol = blockIdx.z % batch.n_pol;
  const int spectrum = first + lane;
  if (spectrum < sections.n_spectra) {
    const int section = sections.of(spectrum), t = spectrum - sections.begin(section);
    for (int i = warp; i < kLanes && first_channel + i < batch.n_channel; i += 8) {
      const int channel = first_channel + i;
      const float norm = batch.norm_of(channel, batch.run_of(channel, spectrum), beam)[pol];
      const std::size_t row = std::size_t(channel) * n_section + section;
      const float2 voltage =
          voltages[((row * batch.n_beam + beam) * batch.n_pol + pol) * sections.stride + t];
      tile[i][lane] = norm > 0 ? make_float2(voltage.x * norm, voltage.y * norm) : make_float2(0, 0);
    }
  }
  __syncthreads();
  if (first_channel + lane >= batch.n_channel) return;
  for (int i = warp; i < kLanes && first + i < sections.n_spectra; i += 8)
    out[((std::size_t(beam) * sections.n_spectra + first + i) * n_all_channel + batch.first_channel +
         first_channel + lane) *
            batch.n_pol +
        pol] = tile[lane][i];
}

/// The values of a product made of XX, YY, Re XY*, Im XY*.
__device__ __forceinline__ double value_of(Values values, int n_pol, int value, const double (&sums)[4]) {
  const double total = 0.5 * (sums[0] + sums[1]), difference = 0.5 * (sums[0] - sums[1]);
  switch (values) {
    case Values::power:
      return n_pol == 1 ? sums[0] : total;
    case Values::linear_iquv:
      return value == 0 ? total : value == 1 ? difference : sums[value];
    case Values::circular_iquv:
      return value == 0 ? total : value == 1 ? sums[2] : value == 2 ? sums[3] : difference;
    default:
      return sums[value];
  }
}

/// A thread owns one integration of an output channel and beam; a warp kTimes integrations, whose segments
/// are neighbours, by 32 / kTimes channels.
template <int kTimes>
__global__ void integrate(Batch batch, Products products, Integration integration) {
  const Sections& sections = batch.sections;
  const int n_section = sections.count(), segment = products.segment, n_open = products.n_value + 1;
  const int n_out = batch.n_channel / integration.n_average;
  const std::int64_t n_begun =
      (integration.before + sections.n_spectra + integration.n_integrate - 1) / integration.n_integrate;
  constexpr int kChannels = kLanes / kTimes;
  const int lane = threadIdx.x % kLanes, n_channel_tile = (n_out + kChannels - 1) / kChannels;
  const int n_time_tile = static_cast<int>((n_begun + kTimes - 1) / kTimes);
  const std::size_t tile = this_thread() / kLanes;
  const int time = static_cast<int>(tile % n_time_tile) * kTimes + lane % kTimes;
  const int out_channel = static_cast<int>(tile / n_time_tile % n_channel_tile) * kChannels + lane / kTimes;
  const std::size_t beam = tile / n_time_tile / n_channel_tile;
  if (beam >= std::size_t(batch.n_beam) || time >= n_begun || out_channel >= n_out) return;
  const std::int64_t from = time * integration.n_integrate - integration.before;
  const std::int64_t to = from + integration.n_integrate;
  const int begin = static_cast<int>(from < 0 ? 0 : from);
  const int end = static_cast<int>(to > sections.n_spectra ? sections.n_spectra : to);
  const int all_out = batch.first_channel / integration.n_average + out_channel;
  const std::size_t carried = (beam * integration.n_all_out_channel + all_out) * n_open;
  double sums[4] = {0, 0, 0, 0}, count = 0;
  if (from < 0) {
    for (int value = 0; value < products.n_value; ++value) sums[value] = integration.opened[carried + value];
    count = integration.opened[carried + products.n_value];
  }
  const int n_segment = sections.stride / segment;
  for (int m = 0; m < integration.n_average; ++m) {
    const int channel = out_channel * integration.n_average + m;
    const bool has_norm = batch.norm_of(channel, 0, static_cast<int>(beam))[0] > 0;
    for (int t = begin; t < end;) {
      const int section = sections.of(t), at = (t - sections.begin(section)) / segment;
      const int section_end = sections.begin(section) + sections.size(section);
      const int n = min(segment, min(end, section_end) - t);
      const std::size_t row = std::size_t(channel) * n_section + section;
      const float* values = products.values + row * products.row_stride + beam * products.beam_stride + at;
#pragma unroll
      for (int value = 0; value < 4; ++value)
        if (value < products.n_value) sums[value] += values[value * products.value_stride];
      if (products.counts != nullptr)
        count += products.counts[(row * batch.n_beam + beam) * n_segment + at];
      else if (has_norm)
        count += n;
      t += n;
    }
  }
  if (to > sections.n_spectra) {
    for (int value = 0; value < products.n_value; ++value) integration.open[carried + value] = sums[value];
    integration.open[carried + products.n_value] = count;
    return;
  }
  const int n_value = integration.values == Values::power ? 1 : 4;
  for (int value = 0; value < n_value; ++value)
    integration.out[((beam * integration.n_time + time) * n_value + value) * integration.n_all_out_channel +
                    all_out] =
        count > 0 ? static_cast<float>(value_of(integration.values, batch.n_pol, value, sums) / count) : 0.0f;
}

}  // namespace

void launch_detect(const Batch& batch, const float2* voltages, const Products& products,
                   cudaStream_t stream) {
  const std::size_t n = std::size_t(batch.n_row()) * batch.n_beam * batch.sections.stride;
  detect<<<blocks_of(n), kThreads, 0, stream>>>(batch, voltages, products);
  launched("launching the detection of beams");
}

void launch_finish_voltages(const Batch& batch, const float2* voltages, int n_all_channel, float2* out,
                            cudaStream_t stream) {
  const dim3 grid((batch.sections.n_spectra + kLanes - 1) / kLanes, (batch.n_channel + kLanes - 1) / kLanes,
                  batch.n_beam * batch.n_pol);
  finish_voltages<<<grid, kLanes * 8, 0, stream>>>(batch, voltages, n_all_channel, out);
  launched("launching the voltages of beams");
}

void launch_finish(const Batch& batch, const Products& products, const Integration& integration,
                   cudaStream_t stream) {
  const std::int64_t n_begun =
      (integration.before + batch.sections.n_spectra + integration.n_integrate - 1) / integration.n_integrate;
  const int n_out = batch.n_channel / integration.n_average;
  const auto launch = [&](auto kernel, int n_times) {
    const std::size_t n_tile = std::size_t((n_begun + n_times - 1) / n_times) *
                               ((n_out + kLanes / n_times - 1) / (kLanes / n_times));
    kernel<<<blocks_of(n_tile * batch.n_beam * kLanes), kThreads, 0, stream>>>(batch, products, integration);
  };
  if (n_begun >= 8)
    launch(integrate<8>, 8);
  else if (n_begun >= 2)
    launch(integrate<2>, 2);
  else
    launch(integrate<1>, 1);
  launched("launching the means of beams");
}

}  // namespace apsyn::beam_stage
