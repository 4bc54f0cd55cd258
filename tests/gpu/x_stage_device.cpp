// SPDX-License-Identifier: GPL-3.0-or-later
// The X stage fed on the device: layout, padding, several streams of raw samples, sums and means.
#ifdef APSYN_CUDA
#include "kernels/correlate/x_stage_device.cuh"
#else
#include "kernels/correlate/x_stage_cuda.h"
#endif

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <complex>
#include <stdexcept>
#include <vector>

#include "libcore/core/error.h"
#include "tests/reference/input_products.h"
#include "tests/reference/test_device.h"
#include "tests/reference/voltage_encoder.h"

using namespace apsyn;
using namespace apsyn::reference;

#ifdef APSYN_CUDA
BOOST_TEST_GLOBAL_FIXTURE(NeedsGpu);

namespace {

using x_layout::Bits, x_layout::Layout;
using Samples = Buffer<std::int8_t, 4>;

template <class T>
DeviceArray<T> to_device(const T* host, std::size_t n) {
  DeviceArray<T> array(n);
  cuda_check(cudaMemcpy(array.data(), host, n * sizeof(T), cudaMemcpyHostToDevice), "copying");
  cuda_check(cudaDeviceSynchronize(), "copying");  // a copy from pageable memory may still be under way
  return array;
}
template <class T>
std::vector<T> to_host(const DeviceArray<T>& array) {
  std::vector<T> host(array.size());
  cuda_check(cudaMemcpy(host.data(), array.data(), array.size() * sizeof(T), cudaMemcpyDeviceToHost),
             "copying");
  return host;
}

/// The samples as an F stage leaves them; everything else is poisoned.
std::vector<std::int8_t> laid_out(const Samples& x, const Layout& layout) {
  std::vector<std::int8_t> bytes(layout.bytes(), 0x55);
  for (int t = 0; t < int(x.extent(0)); ++t)
    for (int chan = 0; chan < layout.n_chan; ++chan)
      for (int input = 0; input < layout.n_input; ++input) {
        std::int8_t* row = bytes.data() + layout.row(chan, t / 64, input);
        if (layout.bits == Bits::four) {
          row[x_layout::offset_4bit(input, t % 64)] =
              static_cast<std::int8_t>(x(t, chan, input, 0) * 16 + (x(t, chan, input, 1) & 15));
          continue;
        }
        for (int part = 0; part < 2; ++part)
          row[x_layout::offset_8bit(input, part, t % 64)] = x(t, chan, input, part);
      }
  return bytes;
}

struct Stream {
  cudaStream_t get = nullptr;
  Stream() { cuda_check(cudaStreamCreateWithFlags(&get, cudaStreamNonBlocking), "creating a stream"); }
  ~Stream() { cudaStreamDestroy(get); }
};

/// Pinned memory, poisoned.
template <class T>
struct Pinned {
  T* data = nullptr;
  std::size_t size;
  explicit Pinned(std::size_t n) : size(n) {
    void* memory = nullptr;
    cuda_check(cudaMallocHost(&memory, n * sizeof(T)), "allocating");
    std::fill_n(static_cast<unsigned char*>(memory), n * sizeof(T), 0x77);
    data = static_cast<T*>(memory);
  }
  ~Pinned() { cudaFreeHost(data); }
};

void check_sums(std::size_t n_input, XStageKernel kernel) {
  BOOST_TEST_CONTEXT(n_input << " inputs, kernel " << static_cast<int>(kernel)) {
    const std::size_t n_chan = 3;
    DeviceXStage stage({n_chan, n_input}, 0, kernel);
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
            random_samples(n_spectra, n_chan, n_input, Values::full_range, unsigned(n_spectra) + round);
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
  x_stage::MeanTask task;
  task.n_ant = int(c.n_ant), task.n_pol = int(c.n_pol), task.with_autos = c.with_autos;
  task.n_average = int(c.n_average), task.n_fine = int(c.n_fine);
  task.scale = 0.25, task.full = double(n_spectra * c.n_average);
  task.counts = device_counts.data();
  task.inverse_gains = c.with_gains ? device_inverse.data() : nullptr;
  const std::size_t n_out = c.n_chan / c.n_average, n_product = c.n_pol * c.n_pol;
  const std::size_t n_baselines = c.n_ant * (c.n_ant + (c.with_autos ? 1 : -1)) / 2;
  Pinned<std::complex<float>> data(n_baselines * n_out * n_product);
  Pinned<float> weight(data.size);
  stage.finish_means(task, {data.data, weight.data}, stream.get);
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

struct RawCase {
  x_stage::RawFormat format;
  Bits bits;
  VoltageFormat encoding;
};

void check_pack(const RawCase& c) {
  BOOST_TEST_CONTEXT("format " << static_cast<int>(c.format) << " " << c.encoding.encoding << " to "
                               << static_cast<int>(c.bits) << " bits") {
    const std::size_t n_time = 150, n_chan = 2, n_ant = 21, n_pol = 2, n_input = n_ant * n_pol;
    const int low = c.encoding.n_bit == 8 ? -128 : c.encoding.n_bit == 5 ? -16 : -8;
    Samples x({n_time, n_chan, n_input, 2});
    std::mt19937 random(12);
    for (std::int8_t& value : x) value = static_cast<std::int8_t>(low + int(random() % unsigned(-2 * low)));
    VoltageFormat format = c.encoding;
    format.conjugated = false;  // the packer conjugates what is there
    format.n_chan = n_chan, format.n_ant = n_ant, format.n_pol = n_pol;
    const std::vector<std::uint8_t> raw =
        encode_voltages(format, n_time,
                        [&](std::size_t t, std::size_t chan, std::size_t ant, std::size_t pol,
                            unsigned part) { return x(t, chan, ant * n_pol + pol, part); });
    // rows of 50 samples, the first of them 10 samples before; antenna 20 misses the second row
    std::vector<std::uint8_t> valid(4 * n_ant, 1);
    valid[n_ant + 20] = 0;
    for (std::size_t t = 40; t < 90; ++t)
      for (std::size_t chan = 0; chan < n_chan; ++chan)
        for (std::size_t k = 40; k < 42; ++k) x(t, chan, k, 0) = x(t, chan, k, 1) = 0;
    if (c.encoding.conjugated)
      for (std::size_t k = 1; k < x.size(); k += 2)
        x.data()[k] = static_cast<std::int8_t>(std::min(-int{x.data()[k]}, 127));

    DeviceXStage stage({n_chan, n_input}, 0);
    Layout layout = stage.layout(n_time);
    layout.bits = c.bits;
    const auto device_raw = to_device(raw.data(), raw.size());
    const auto device_valid = to_device(valid.data(), valid.size());
    DeviceArray<std::int8_t> packed(layout.bytes());
    cuda_check(cudaMemset(packed.data(), 0x33, packed.size()), "poisoning");
    x_stage::PackTask task;
    task.in = device_raw.data(), task.format = c.format, task.n_time = int(n_time);
    task.offset_binary = c.encoding.encoding == "OFFSETBINARY";
    task.conjugate = c.encoding.conjugated;
    task.valid = device_valid.data(), task.n_pol = int(n_pol);
    task.samples_per_row = 50, task.first_offset = 10;
    stage.pack(task, layout, packed.data(), nullptr);
    Samples padded({192, n_chan, n_input, 2});  // zeros behind the last sample
    std::copy(x.begin(), x.end(), padded.begin());
    std::vector<std::int8_t> expected = laid_out(padded, layout);
    for (int chan = 0; chan < layout.n_chan; ++chan)
      for (int block = 0; block < layout.n_blocks; ++block)
        std::fill_n(expected.data() + layout.row(chan, block, layout.n_input),
                    (layout.n_input_padded - layout.n_input) * layout.row_bytes(), 0);
    BOOST_TEST(to_host(packed) == expected);
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(adds_of_any_length_on_a_stream_are_exact) {
  for (XStageKernel kernel : {XStageKernel::wgmma, XStageKernel::mma})
    for (std::size_t n_input : {1, 6, 64, 130}) check_sums(n_input, kernel);
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

BOOST_AUTO_TEST_CASE(raw_samples_are_laid_out) {
  using enum x_stage::RawFormat;
  for (const bool conjugated : {false, true}) {
    VoltageFormat format;
    format.conjugated = conjugated;
    check_pack({int8, Bits::eight, format});
    format.encoding = "OFFSETBINARY";
    check_pack({int8, Bits::eight, format});
    format.n_bit = 4;
    check_pack({int4, Bits::eight, format});
    if (!conjugated) check_pack({int4, Bits::four, format});
    format.encoding = "TWOSCOMPLEMENT";
    check_pack({int4, Bits::eight, format});
    if (!conjugated) check_pack({int4, Bits::four, format});
    format.n_bit = 5;
    format.encoding = "PACK5X5";
    check_pack({pack5x5_little, Bits::eight, format});
    format.endian = "BIG";
    check_pack({pack5x5_big, Bits::eight, format});
  }
}

BOOST_AUTO_TEST_CASE(other_shapes_throw) {
  DeviceXStage stage({2, 4}, 0);
  const Layout layout = stage.layout(64);
  auto samples = stage.allocate(layout);
  BOOST_CHECK_THROW(stage.add(samples.data(), layout, 65, nullptr), std::logic_error);
  Layout other = layout;
  other.n_chan = 3;
  BOOST_CHECK_THROW(stage.add(samples.data(), other, 64, nullptr), std::logic_error);
  x_stage::MeanTask task;
  task.n_ant = 3;
  BOOST_CHECK_THROW(stage.finish_means(task, {}, nullptr), std::logic_error);
  x_stage::PackTask pack;
  pack.n_time = 65;
  BOOST_CHECK_THROW(stage.pack(pack, layout, samples.data(), nullptr), std::logic_error);
}
#else
BOOST_AUTO_TEST_CASE(a_build_without_cuda_says_so) {
  BOOST_CHECK_THROW(make_cuda_x_stage({1, 4, 4}, 0), DeviceError);
}
#endif
