// SPDX-License-Identifier: GPL-3.0-or-later
// The X stage fed on the device: layout, padding, sums and means.
#include "kernels/correlate/cuda/float_stage.cuh"
#include "tests/support/device_samples.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <complex>
#include <random>
#include <stdexcept>
#include <vector>

#include "libcore/base/error.h"

using namespace apsyn;
using namespace apsyn::reference;

BOOST_AUTO_TEST_SUITE(x_stage_device)

namespace {

using namespace apsyn::support;

void check_sums(std::size_t n_input, XStageKernel kernel, unsigned n_bit) {
  BOOST_TEST_CONTEXT(n_input << " inputs of " << n_bit << " bits, kernel " << static_cast<int>(kernel)) {
    const std::size_t n_chan = 3;
    DeviceXStage stage({n_chan, n_input, n_bit}, 0, kernel);
    Stream stream;
    const Layout layout = stage.layout(300);
    BOOST_TEST(layout.n_blocks == 5);
    Buffer<std::int64_t, 3> expected({n_chan, stage.n_pairs(), 2});
    Pinned<std::int64_t> sums(expected.size());
    DeviceArray<std::int64_t> device_sums(expected.size());
    for (unsigned round = 0; round < 2; ++round) {
      expected.fill(0);
      std::vector<DeviceArray<std::int8_t>> keep;
      for (std::size_t n_spectra : {300, 1, 64, 130}) {
        const Samples x =
            random_samples(n_spectra, n_chan, n_input, n_bit == 8 ? Values::full_range : Values::four_bit,
                           unsigned(n_spectra) + round);
        const std::vector<std::int8_t> bytes = laid_out(x, layout);
        keep.push_back(to_device(bytes.data(), bytes.size()));
        stage.add(keep.back().data(), layout, n_spectra, stream.get);
        add_products(x, 1, expected);
      }
      stage.finish_sums(round == 0 ? sums.data : device_sums.data(), stream.get);
      cuda_check(cudaStreamSynchronize(stream.get), "waiting");
      if (round == 1)
        cuda_check(cudaMemcpy(sums.data, device_sums.data(), expected.size() * 8, cudaMemcpyDeviceToHost),
                   "copying");
      BOOST_TEST(std::equal(expected.begin(), expected.end(), sums.data));
    }
  }
}

struct MeanCase {
  std::size_t n_chan = 6, n_ant = 5, n_pol = 2, n_average = 2, n_fine = 3;
  bool with_autos = true, with_gains = true;
};

void check_means(const MeanCase& c) {
  const std::size_t n_input = c.n_ant * c.n_pol, n_spectra = 100;
  DeviceXStage stage({c.n_chan, n_input}, 0);
  Stream stream;
  const Layout layout = stage.layout(n_spectra);
  const Samples x = random_samples(n_spectra, c.n_chan, n_input, Values::full_range, 3);
  const std::vector<std::int8_t> bytes = laid_out(x, layout);
  const auto samples = to_device(bytes.data(), bytes.size());
  stage.add(samples.data(), layout, n_spectra, stream.get);
  std::mt19937 random(8);
  Buffer<std::int64_t, 3> counts({c.n_chan / c.n_fine, c.n_ant, c.n_ant});
  std::vector<std::int64_t> packed_counts;
  for (std::size_t row = 0; row < counts.extent(0); ++row)
    for (std::size_t i = 0; i < c.n_ant; ++i)
      for (std::size_t j = i; j < c.n_ant; ++j) {
        counts(row, i, j) = j == 3 ? 0 : 1 + std::int64_t(random() % n_spectra);
        packed_counts.push_back(counts(row, i, j));
      }
  std::vector<double2> inverse(c.n_chan * n_input);
  for (double2& g : inverse) g = {double(random() % 1000) / 500 - 1, double(random() % 1000) / 500 - 1};
  const auto device_counts = to_device(packed_counts.data(), packed_counts.size());
  const auto device_inverse = to_device(inverse.data(), inverse.size());
  apsyn::x_stage::MeanTask task;
  task.n_ant = int(c.n_ant), task.n_pol = int(c.n_pol), task.with_autos = c.with_autos;
  task.n_average = int(c.n_average), task.n_fine = int(c.n_fine);
  task.scale = 0.25, task.full = double(n_spectra * c.n_average);
  task.counts = device_counts.data();
  task.inverse_gains = c.with_gains ? device_inverse.data() : nullptr;
  const std::size_t n_out = c.n_chan / c.n_average, n_product = c.n_pol * c.n_pol;
  const std::size_t n_baselines = c.n_ant * (c.n_ant + (c.with_autos ? 1 : -1)) / 2;
  Pinned<std::complex<float>> data(n_baselines * n_out * n_product);
  Pinned<float> weight(data.size);
  task.data = reinterpret_cast<float2*>(data.data), task.weight = weight.data;
  stage.finish_means(task, stream.get);
  cuda_check(cudaStreamSynchronize(stream.get), "waiting");
  std::size_t at = 0;
  double worst = 0;
  for (std::size_t a = 0; a < c.n_ant; ++a)
    for (std::size_t b = c.with_autos ? a : a + 1; b < c.n_ant; ++b)
      for (std::size_t out = 0; out < n_out; ++out)
        for (std::size_t p = 0; p < c.n_pol; ++p)
          for (std::size_t q = 0; q < c.n_pol; ++q, ++at) {
            const std::size_t i = a * c.n_pol + p, j = b * c.n_pol + q;
            std::complex<double> total = 0;
            double valid = 0;
            for (std::size_t chan = out * c.n_average; chan < (out + 1) * c.n_average; ++chan) {
              const double n = double(counts(chan / c.n_fine, a, b));
              if (n == 0) continue;
              std::complex<double> sum = 0;
              for (std::size_t t = 0; t < n_spectra; ++t)
                sum += std::complex<double>(x(t, chan, i, 0), x(t, chan, i, 1)) *
                       std::complex<double>(x(t, chan, j, 0), -x(t, chan, j, 1));
              if (c.with_gains) {
                const double2 gi = inverse[chan * n_input + i], gj = inverse[chan * n_input + j];
                sum *= std::complex<double>(gi.x, gi.y) * std::complex<double>(gj.x, -gj.y);
              }
              total += sum;
              valid += n;
            }
            const std::complex<double> mean = valid > 0 ? total * 0.0625 / valid : 0.0;
            // sums of 100 products of 128^2 and gains up to 2, through one float32: 2^-24 of them
            worst = std::max(worst, std::abs(mean - std::complex<double>(data.data[at])));
            if (i == j) BOOST_TEST(data.data[at].imag() == 0.0f);
            BOOST_TEST(weight.data[at] == float(valid / task.full));
          }
  BOOST_TEST(at == data.size);
  BOOST_TEST(worst <= 100 * 2 * 128 * 128 * 2 * 0.0625 * 6e-8);
}

/// Means of float32 samples against the same stage's sums.
void check_float_means(FloatAlgorithm algorithm) {
  const std::size_t n_chan = 4, n_ant = 3, n_input = 6, n_spectra = 500, n_pairs = 21;
  DeviceFloatStage stage({n_chan, n_input, algorithm}, 0);
  Stream stream;
  std::mt19937 random(4);
  std::vector<float2> samples(n_chan * n_spectra * n_input);
  for (float2& x : samples) x = {float(random() % 1000) / 500 - 1, float(random() % 1000) / 500 - 1};
  const auto device = to_device(samples.data(), samples.size());
  Pinned<double> sums(n_chan * n_pairs * 2);
  stage.add(device.data(), n_spectra * n_input, n_spectra, stream.get);
  stage.finish_sums(sums.data, stream.get);
  stage.add(device.data(), n_spectra * n_input, n_spectra, stream.get);
  apsyn::x_stage::MeanTask task;
  task.n_ant = int(n_ant), task.n_pol = 2, task.n_valid = 400, task.full = 500, task.scale = 2;
  Pinned<std::complex<float>> data(6 * n_chan * 4);
  Pinned<float> weight(data.size);
  task.data = reinterpret_cast<float2*>(data.data), task.weight = weight.data;
  stage.finish_means(task, stream.get);
  cuda_check(cudaStreamSynchronize(stream.get), "waiting");
  std::size_t at = 0;
  for (std::size_t a = 0; a < n_ant; ++a)
    for (std::size_t b = a; b < n_ant; ++b)
      for (std::size_t chan = 0; chan < n_chan; ++chan)
        for (std::size_t product = 0; product < 4; ++product, ++at) {
          const std::size_t p = 2 * a + product / 2, q = 2 * b + product % 2;
          const std::size_t i = std::min(p, q), j = std::max(p, q), pair = i * n_input - i * (i + 1) / 2 + j;
          const double* sum = sums.data + (chan * n_pairs + pair) * 2;
          const double sign = p == q ? 0 : p < q ? 1 : -1;
          BOOST_TEST(std::abs(std::complex<double>(data.data[at]) -
                              std::complex<double>(sum[0], sign * sum[1]) * (4.0 / 400)) <= 1e-6);
          BOOST_TEST(weight.data[at] == 0.8f);
        }
}

}  // namespace

/// For compute-sanitizer.
BOOST_AUTO_TEST_CASE(small_for_sanitizers) {
  check_sums(6, XStageKernel::wgmma, 8);
  check_sums(6, XStageKernel::mma, 4);
  check_means({});
}

BOOST_AUTO_TEST_CASE(adds_of_any_length_on_a_stream_are_exact) {
  for (XStageKernel kernel : {XStageKernel::wgmma, XStageKernel::mma})
    for (std::size_t n_input : {1, 6, 64, 130})
      for (unsigned n_bit : {8u, 4u}) check_sums(n_input, kernel, n_bit);
}

BOOST_AUTO_TEST_CASE(one_add_may_exceed_int32) {
  // 70,000 samples of -128 - 128i: 2 * 128^2 * 70000 > 2^31
  DeviceXStage stage({1, 2}, 0);
  const Layout layout = stage.layout(70000);
  const Samples x = random_samples(70000, 1, 2, Values::all_lowest, 1);
  const std::vector<std::int8_t> bytes = laid_out(x, layout);
  const auto samples = to_device(bytes.data(), bytes.size());
  stage.add(samples.data(), layout, 70000, nullptr);
  Pinned<std::int64_t> sums(6);
  stage.finish_sums(sums.data, nullptr);
  cuda_check(cudaDeviceSynchronize(), "waiting");
  for (int pair = 0; pair < 3; ++pair) {
    BOOST_TEST(sums.data[2 * pair] == std::int64_t{2} * 128 * 128 * 70000);
    BOOST_TEST(sums.data[2 * pair + 1] == 0);
  }
  stage.finish_sums(sums.data, nullptr);  // anew
  cuda_check(cudaDeviceSynchronize(), "waiting");
  BOOST_TEST(std::count(sums.data, sums.data + 6, 0) == 6);
}

BOOST_AUTO_TEST_CASE(means_divide_by_counts_and_gains) {
  check_means({});
  check_means({6, 5, 2, 1, 1, false, true});
  check_means({6, 21, 1, 6, 6, true, false});
  check_means({34, 18, 2, 1, 17, true, true});
  check_means({2, 1, 2, 1, 1, true, false});
}

BOOST_AUTO_TEST_CASE(means_of_floats_are_their_sums) {
  check_float_means(FloatAlgorithm::register_tiles);
  check_float_means(FloatAlgorithm::group4);
}

BOOST_AUTO_TEST_CASE(other_shapes_throw) {
  DeviceXStage stage({2, 4}, 0);
  const Layout layout = stage.layout(64);
  auto samples = stage.allocate(layout);
  BOOST_CHECK_THROW(stage.add(samples.data(), layout, 65, nullptr), std::logic_error);
  Layout other = layout;
  other.n_chan = 3;
  BOOST_CHECK_THROW(stage.add(samples.data(), other, 64, nullptr), std::logic_error);
  apsyn::x_stage::MeanTask task;
  task.n_ant = 3;
  BOOST_CHECK_THROW(stage.finish_means(task, nullptr), std::logic_error);
  apsyn::x_stage::PackTask pack;
  pack.n_time = 65;
  BOOST_CHECK_THROW(stage.pack(pack, layout, samples.data(), nullptr), std::logic_error);
}

BOOST_AUTO_TEST_SUITE_END()
