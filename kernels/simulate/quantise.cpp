// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/simulate/quantise.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>
#include <stdexcept>

#include "kernels/common/math/rounding.h"

namespace apsyn::simulate {
namespace {

template <std::size_t Bytes>
void interleave(View<const std::uint8_t, 3> planes, std::size_t first_time, std::size_t n_time,
                std::uint8_t* stream) {
  const std::size_t n_inputs = planes.extent(0), stride = planes.extent(1) * Bytes;
  const std::uint8_t* source = planes.data() + first_time * Bytes;
  for (std::size_t time = 0; time < n_time; ++time)
    for (std::size_t input = 0; input < n_inputs; ++input)
      std::memcpy(stream + (time * n_inputs + input) * Bytes, source + input * stride + time * Bytes, Bytes);
}

}  // namespace

double optimum_rms_steps(unsigned n_bit) {
  switch (n_bit) {
    case 4:
      return 2.95;
    case 8:
      return 32;
    case 32:
      return 0;
    default:
      throw std::invalid_argument("samples have 4, 8 or 32 bits");
  }
}

double correlation_gain(unsigned n_bit) {
  if (n_bit == 32) return 1;
  const double rms_steps = optimum_rms_steps(n_bit);
  const int n_levels = 1 << n_bit;
  double gain = 0;
  for (int level = -n_levels / 2; level < n_levels / 2 - 1; ++level)
    gain += std::exp(-0.5 * std::pow((level + 0.5) / rms_steps, 2));
  return gain / (rms_steps * std::sqrt(2 * std::numbers::pi));
}

std::size_t bytes_per_sample(unsigned n_bit) {
  return n_bit / 4;
}

void quantise(std::span<const std::complex<float>> samples, float scale, unsigned n_bit,
              std::span<std::uint8_t> encoded) {
  if (encoded.size() != samples.size() * bytes_per_sample(n_bit))
    throw std::invalid_argument("quantise: the output does not fit the samples");
  const float* component = reinterpret_cast<const float*>(samples.data());
  if (n_bit == 32) {
    std::memcpy(encoded.data(), component, encoded.size());
    return;
  }
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const float re = component[2 * i] * scale, im = component[2 * i + 1] * scale;
    if (n_bit == 4) {
      const int high = round_clipped(re, -8, 7), low = round_clipped(im, -8, 7);
      encoded[i] = static_cast<std::uint8_t>((high & 15) << 4 | (low & 15));
    } else {
      encoded[2 * i] = static_cast<std::uint8_t>(round_clipped(re, -128, 127));
      encoded[2 * i + 1] = static_cast<std::uint8_t>(round_clipped(im, -128, 127));
    }
  }
}

void interleave_inputs(View<const std::uint8_t, 3> planes, std::size_t first_time, std::size_t n_time,
                       std::span<std::uint8_t> stream) {
  const std::size_t bytes = planes.extent(2);
  if (stream.size() != n_time * planes.extent(0) * bytes || first_time + n_time > planes.extent(1))
    throw std::invalid_argument("interleave_inputs: shapes disagree");
  switch (bytes) {
    case 1:
      return interleave<1>(planes, first_time, n_time, stream.data());
    case 2:
      return interleave<2>(planes, first_time, n_time, stream.data());
    case 8:
      return interleave<8>(planes, first_time, n_time, stream.data());
    default:
      throw std::invalid_argument("interleave_inputs: a sample has 1, 2 or 8 bytes");
  }
}

}  // namespace apsyn::simulate
