// SPDX-License-Identifier: GPL-3.0-or-later
// The X stage on float32, and the tables 3 and 4 of Wayth et al. (2009) for today's device.
#include <fmt/core.h>

#include <array>
#include <random>

#include "libcore/system/device.h"
#include "tests/bench/x_stage/x_stage_bench.h"
#include "tests/support/x_stages_on_host_samples.h"

namespace apsyn::bench {
namespace {

constexpr double kFmaCeiling = 63.7e12;

struct Algorithm {
  const char* name;
  FloatAlgorithm algorithm;
  double reads;  ///< epsilon of the paper's section 6: reads from device memory per product and channel
};
constexpr std::array kPaper = {
    Algorithm{"PP", FloatAlgorithm::pair, 2}, Algorithm{"GP G=2", FloatAlgorithm::group2, 1},
    Algorithm{"GP G=4", FloatAlgorithm::group4, 0.5}, Algorithm{"HG G=2", FloatAlgorithm::hybrid2, 1.5},
    Algorithm{"HG G=4", FloatAlgorithm::hybrid4, 1.25}};

/// The same values as floats [chan][spectrum][input].
Buffer<std::complex<float>, 3> floats(const Buffer<std::int8_t, 4>& x) {
  Buffer<std::complex<float>, 3> samples({x.extent(1), x.extent(0), x.extent(2)});
  for (std::size_t chan = 0; chan < x.extent(1); ++chan)
    for (std::size_t t = 0; t < x.extent(0); ++t)
      for (std::size_t i = 0; i < x.extent(2); ++i)
        samples(chan, t, i) = {float(x(t, chan, i, 0)), float(x(t, chan, i, 1))};
  return samples;
}

/// Of 300 random pairs, the largest error relative to sqrt(S_ii S_jj) against float64.
double largest_error(const Buffer<std::complex<float>, 3>& x, const Buffer<double, 3>& sums) {
  std::mt19937 random(7);
  double worst = 0;
  const std::size_t n_input = x.extent(2);
  for (int k = 0; k < 300; ++k) {
    const std::size_t chan = random() % x.extent(0);
    std::size_t i = random() % n_input, j = random() % n_input;
    if (i > j) std::swap(i, j);
    std::complex<double> sum = 0;
    double power_i = 0, power_j = 0;
    for (std::size_t t = 0; t < x.extent(1); ++t) {
      const std::complex<double> a(x(chan, t, i)), b(x(chan, t, j));
      sum += a * std::conj(b);
      power_i += std::norm(a);
      power_j += std::norm(b);
    }
    const std::size_t pair = i * n_input - i * (i + 1) / 2 + j;
    worst = std::max(worst, std::abs(sum - std::complex<double>(sums(chan, pair, 0), sums(chan, pair, 1))) /
                                std::sqrt(power_i * power_j));
  }
  return worst;
}

struct Result {
  Times times;
  double error;
};

Result measure(const Case& c, FloatAlgorithm algorithm, const Buffer<std::complex<float>, 3>& samples) {
  support::HostFloatStage stage({c.n_chan, c.n_input(), algorithm}, 0);
  Buffer<double, 3> sums({c.n_chan, c.n_input() * (c.n_input() + 1) / 2, 2});
  sums.fill(-1);
  stage.add(samples);
  stage.finish(sums);
  const double error = largest_error(samples, sums);
  stage.add(samples);
  return {time_launches(
              stage, [&] { stage.repeat(); }, 7, 0.05),
          error};
}

void print_json(const Case& c, const char* name, const Result& r, double ceiling) {
  fmt::print(
      "{{\"bench\":\"x_stage_float\",\"device\":\"{}\",\"algorithm\":\"{}\",\"antennas\":{},\"channels\":{},"
      "\"samples\":{},\"seconds_min\":{:.4g},\"seconds_median\":{:.4g},\"seconds_sustained\":{:.4g},"
      "\"useful_gflops\":{:.0f},\"fraction_of_ceiling\":{:.3f},\"error\":{:.2g}}}\n",
      cuda_device_name(0), name, c.n_ant, c.n_chan, c.n_time, r.times.min_s, r.times.median_s,
      r.times.sustained_s, c.operations() / r.times.sustained_s * 1e-9,
      c.operations() / r.times.sustained_s / ceiling, r.error);
}

/// The tensor kernel on the same samples, which are small integers.
Result measure_tensor(const Case& c, const Buffer<std::int8_t, 4>& samples, unsigned n_bit) {
  support::HostXStage stage({c.n_chan, c.n_input(), n_bit}, c.n_time, 0);
  Buffer<std::int64_t, 3> sums({c.n_chan, c.n_input() * (c.n_input() + 1) / 2, 2});
  sums.fill(-1);
  stage.add(samples);
  stage.finish(sums);
  const double error = static_cast<double>(count_wrong(samples, sums));
  stage.add(samples);
  const auto launch = [&] {
    stage.discard();
    stage.repeat();
  };
  return {time_launches(stage, launch, 7, 0.05), error};
}

}  // namespace

void run_float(const std::vector<std::size_t>& antennas) {
  for (const Case& c : {Case{32, 128, 4096}, Case{64, 128, 2048}, Case{128, 128, 1024}, Case{256, 132, 1024},
                        Case{512, 64, 1024}}) {
    if (!chosen(antennas, c.n_ant)) continue;
    // noise: uniform values of full precision
    Buffer<std::complex<float>, 3> samples({c.n_chan, c.n_time, c.n_input()});
    std::mt19937 random(3);
    std::uniform_real_distribution<float> uniform(-1, 1);
    for (std::complex<float>& sample : samples) sample = {uniform(random), uniform(random)};
    print_json(c, "register", measure(c, FloatAlgorithm::register_tiles, samples), kFmaCeiling);
  }
}

void run_paper() {
  constexpr std::size_t kChannels = 128;
  const double rate = device_copy_rate(), bandwidth_hz = 1.28e6;
  std::vector<std::string> table3, table4, table_rates;
  for (const Case& c : {Case{32, kChannels, 1024}, Case{64, kChannels, 1024}, Case{128, kChannels, 512},
                        Case{256, kChannels, 256}, Case{512, kChannels, 128}}) {
    const Buffer<std::int8_t, 4> integers = random_samples(c, 4);
    const Buffer<std::complex<float>, 3> samples = floats(integers);
    const double n_input = static_cast<double>(c.n_input());
    std::string row = fmt::format("{:8}", c.n_ant);
    const auto take = [&](const char* name, const Result& r, double reads, double ceiling) {
      print_json(c, name, r, ceiling);
      row += fmt::format(" {:9.0f}", c.operations() / r.times.sustained_s * 1e-9);
      if (c.n_ant != 32) return;
      // one second of the band: 1.28e6 / 128 spectra
      const double second = r.times.sustained_s * (bandwidth_hz / kChannels) / static_cast<double>(c.n_time);
      table3.push_back(fmt::format("CMAC - {:16} {:10.3f}", name, second * 1e3));
      const double actual = bandwidth_hz / second;
      if (reads <= 0) {
        table4.push_back(fmt::format("{:23} {:10.0f}", name, actual * 1e-6));
        return;
      }
      const double theoretical = rate / (4 * reads * n_input * (n_input + 1));
      table4.push_back(fmt::format("{:23} {:10.0f} / {:.0f} ({:.0f}%)", name, actual * 1e-6,
                                   theoretical * 1e-6, 100 * actual / theoretical));
    };
    for (const Algorithm& a : kPaper) take(a.name, measure(c, a.algorithm, samples), a.reads, kFmaCeiling);
    take("register", measure(c, FloatAlgorithm::register_tiles, samples), 0, kFmaCeiling);
    take("tensor, 8 bits", measure_tensor(c, integers, 8), 0, 1885e12);
    take("tensor, 4 bits", measure_tensor(c, integers, 4), 0, 1885e12);
    table_rates.push_back(row);
  }
  const auto print = [](const std::vector<std::string>& lines) {
    for (const std::string& line : lines) fmt::print("{}\n", line);
  };
  fmt::print("\nTable 3: one second of data, 64 inputs, 1.28 MHz, 128 channels, on {} (ms)\n",
             cuda_device_name(0));
  print(table3);
  fmt::print("\nTable 4: actual / theoretical bandwidth (MHz), device memory at {:.2f} TB/s\n", rate * 1e-12);
  print(table4);
  fmt::print(
      "\nUseful GFLOP/s (integers: GOP/s), 128 channels\nantennas        PP    GP G=2    GP G=4    HG "
      "G=2    HG G=4  register  tensor 8  tensor 4\n");
  print(table_rates);
}

}  // namespace apsyn::bench
