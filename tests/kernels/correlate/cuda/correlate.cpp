// SPDX-License-Identifier: GPL-3.0-or-later
// F and X together on a GPU against the CPU: exactly where nothing is rounded, within the noise of
// requantising elsewhere; and the science that must survive it.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <numeric>

#include "kernels/channelise/channelise_cuda.h"
#include "kernels/correlate/fx_engine.h"
#include "libcore/base/constants.h"
#include "tests/support/correlate_setup.h"

using namespace apsyn;
using namespace apsyn::test;

BOOST_AUTO_TEST_SUITE(correlate)

namespace {

enum class On { cpu, gpu };

struct Setup {
  Run run;
  MeanPlan mean;
  bool four_bit = false;
  std::optional<FloatAlgorithm> floats{};
};

Setup setup(const Recording& recording, const Run& run, std::size_t n_average = 1, bool autos = true) {
  Setup s;
  s.run = run;
  s.mean.n_average = n_average;
  s.mean.scale = 0.5;
  s.mean.baselines = all_baselines(recording.header.n_ant, autos);
  const std::size_t length = (recording.header.n_dim == 1 ? 2 : 1) * run.n_fine;
  if (s.run.n_spectra == 0) s.run.n_spectra = static_cast<std::int64_t>(recording.n_time / length);
  s.mean.n_spectra = s.run.n_spectra;
  return s;
}

std::vector<FxResult> correlate_on(On on, const Recording& recording, const Setup& s) {
  const CorrelatorPlan plan = correlator_plan(recording.header, s.run);
  const ChannelisePlan f = plan_channelise(recording.header, s.run.n_fine, s.run.n_threads, s.run.filterbank);
  const IntegrationPlan integration = plan_integration(plan, s.run.n_spectra, 4 << 20);
  std::unique_ptr<FxEngine> engine;
  if (on == On::cpu) {
    engine = make_fx_engine(std::make_shared<Channeliser>(f, s.run.delays), plan, integration, s.mean);
  } else {
    CudaChannelisePlan cuda;
    cuda.f = f;
    cuda.n_spectra = s.run.n_spectra;
    cuda.integer = recording.integer;
    cuda.four_bit = s.four_bit;
    if (!s.floats && !cuda.untouched(s.run.delays != nullptr)) cuda.requantisation.n_bit = 8;
    cuda.gulp_samples = cuda_gulp_samples(cuda, 1 << 20);
    engine = make_cuda_fx_engine(make_cuda_channeliser(cuda, s.run.delays, 0), plan, integration, s.mean, 0,
                                 s.floats);
  }
  std::vector<FxResult> results;
  const auto drain = [&] {
    for (FxResult result; engine->next(result); result = {}) results.push_back(std::move(result));
  };
  const std::size_t gulp = s.run.gulp > 0 ? s.run.gulp : recording.n_time;
  for (std::size_t first = 0; first < recording.n_time; first += gulp) {
    engine->append(recording.block(first, std::min(gulp, recording.n_time - first)));
    drain();
  }
  engine->end_of_stream();
  drain();
  return results;
}

Recording integers(const VoltageHeader& header, std::size_t n_time, int low, int high, unsigned seed) {
  Recording recording(header, n_time);
  recording.integer = true;
  std::mt19937 random(seed);
  std::uniform_int_distribution<int> uniform(low, high);
  for (auto& sample : recording.samples)
    sample = {static_cast<float>(uniform(random)), static_cast<float>(uniform(random))};
  return recording;
}

/// Gaussian noise of `sigma` per component, `shared` of it common to all inputs, rounded to 8 bits.
Recording noise(const VoltageHeader& header, std::size_t n_time, double sigma, double shared, unsigned seed) {
  Recording recording(header, n_time);
  recording.integer = true;
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal(0, sigma);
  const auto rounded = [](double value) {
    return static_cast<float>(std::clamp(std::rint(value), -128.0, 127.0));
  };
  for (std::size_t t = 0; t < n_time; ++t)
    for (std::size_t chan = 0; chan < header.n_chan; ++chan) {
      const std::complex<double> common(normal(random), normal(random));
      for (std::size_t ant = 0; ant < header.n_ant; ++ant)
        for (std::size_t pol = 0; pol < header.n_pol; ++pol) {
          const std::complex<double> own(normal(random), normal(random));
          const auto sum = std::sqrt(shared) * common + std::sqrt(1 - shared) * own;
          recording.at(t, chan, ant, pol) = {rounded(sum.real()),
                                             header.n_dim == 1 ? 0 : rounded(sum.imag())};
        }
    }
  return recording;
}

void drop_some(Recording& recording) {
  std::mt19937 random(5);
  for (std::size_t row = 1; row < recording.valid.size() / recording.header.n_ant; ++row)
    for (std::size_t ant = 0; ant < recording.header.n_ant; ++ant)
      recording.valid[row * recording.header.n_ant + ant] = random() % 8 != 0;
}

/// Values that differ in any bit; -1 when the shapes do.
long count_different(const std::vector<FxResult>& a, const std::vector<FxResult>& b) {
  if (a.size() != b.size()) return -1;
  long n = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].record.data.shape() != b[i].record.data.shape()) return -1;
    n += a[i].n_spectra != b[i].n_spectra || a[i].record.index != b[i].record.index ||
         a[i].any_data != b[i].any_data;
    for (std::size_t k = 0; k < a[i].record.data.size(); ++k)
      n += a[i].record.data.data()[k] != b[i].record.data.data()[k] ||
           a[i].record.weight.data()[k] != b[i].record.weight.data()[k];
  }
  return n;
}

}  // namespace

BOOST_AUTO_TEST_CASE(untouched_samples_give_the_same_bits) {
  for (const auto& [low, high] : {std::pair{-8, 7}, std::pair{-128, 127}})
    for (const std::size_t n_ant : {1, 3, 17, 40})
      for (const bool autos : {true, false}) {
        if (n_ant == 1 && !autos) continue;
        auto header = voltage_header(3, n_ant, 2, 3e6, 150e6);
        header.layout.antennas[n_ant / 2].flagged = n_ant > 3;
        auto recording = integers(header, 1000, low, high, 3);
        for (const std::size_t gulp : {0, 128}) {
          Setup s = setup(recording, {.n_spectra = 300, .gulp = gulp}, 3, autos);
          s.four_bit = low == -8;
          const auto cpu = correlate_on(On::cpu, recording, s);
          BOOST_TEST(cpu.size() == 4u);
          BOOST_TEST(cpu.back().n_spectra == 100);
          BOOST_TEST(count_different(cpu, correlate_on(On::gpu, recording, s)) == 0);
          drop_some(recording);
        }
      }
}

BOOST_AUTO_TEST_CASE(gains_divide_alike) {
  const auto recording = integers(voltage_header(2, 5, 2, 2e6, 150e6), 640, -8, 7, 4);
  Setup s = setup(recording, {});
  s.mean.gains.resize({5, 2, 2});
  for (std::size_t i = 0; i < s.mean.gains.size(); ++i)
    s.mean.gains.data()[i] = std::polar(1.0 + 0.1 * static_cast<double>(i), 0.3 * static_cast<double>(i));
  s.mean.gains(3, 1, 1) = std::numeric_limits<double>::quiet_NaN();
  const auto cpu = correlate_on(On::cpu, recording, s), gpu = correlate_on(On::gpu, recording, s);
  double worst = 0;
  std::size_t n_flagged = 0;
  for (std::size_t k = 0; k < cpu[0].record.weight.size(); ++k) {
    BOOST_TEST(cpu[0].record.weight.data()[k] == gpu[0].record.weight.data()[k]);
    n_flagged += gpu[0].record.weight.data()[k] == 0;
  }
  BOOST_TEST(n_flagged == 11u);  // products of the input without a gain: 2 with each antenna, 3 with its own
  for (std::size_t k = 0; k < cpu[0].record.data.size(); ++k)
    worst = std::max(
        worst, static_cast<double>(std::abs(cpu[0].record.data.data()[k] - gpu[0].record.data.data()[k])));
  BOOST_TEST(worst < 1e-5);
}

BOOST_AUTO_TEST_CASE(requantised_spectra_differ_by_their_noise) {
  // With 24 steps RMS per component the noise of rounding has a variance of 1/12 each: a mean of N products
  // of power P is off by P sqrt(2 (1/6) / 1152 / N) RMS, and an autocorrelation by 1/6 / 1152 = 1.45e-4 more.
  for (const bool real : {false, true})
    for (const std::size_t n_fine : {16, 64, 20})
      for (const std::size_t n_taps : {0, 4}) {
        auto header = voltage_header(2, 9, 2, 2e6, 150e6);
        if (real) {
          header.n_dim = 1;
          header.sample_s /= 2;
        }
        header.layout.antennas[4].flagged = true;
        auto recording = noise(header, 40000, 12, 0.3, 11);
        drop_some(recording);
        std::vector<double> tau_s;
        for (int ant = 0; ant < 9; ++ant) tau_s.push_back(1.3e-6 * std::sin(ant));
        StaticDelays delays(tau_s);
        const Setup s = setup(recording, {.n_fine = n_fine,
                                          .n_spectra = 170,
                                          .gulp = 1280,
                                          .n_threads = 2,
                                          .delays = &delays,
                                          .filterbank = {n_taps, Window::hann}});
        const auto cpu = correlate_on(On::cpu, recording, s), gpu = correlate_on(On::gpu, recording, s);
        BOOST_REQUIRE(cpu.size() == gpu.size());
        double squares = 0, predicted = 0, bias = 0, bias_variance = 0;
        long wrong_weights = 0, n_auto = 0;
        for (std::size_t i = 0; i < cpu.size(); ++i) {
          const auto &a = cpu[i].record, &b = gpu[i].record;
          wrong_weights += cpu[i].n_spectra != gpu[i].n_spectra;
          for (std::size_t row = 0; row < s.mean.baselines.size(); ++row)
            for (std::size_t chan = 0; chan < a.data.extent(1); ++chan)
              for (std::size_t product = 0; product < 4; ++product) {
                wrong_weights += a.weight(row, chan, product) != b.weight(row, chan, product);
                const double n =
                    static_cast<double>(a.weight(row, chan, product)) * static_cast<double>(s.mean.n_spectra);
                if (n == 0) continue;
                // scale 0.5 squared, 2 * 12^2 (half of it real): the power of every input
                const double power = (real ? 1 : 2) * 12.0 * 12.0 * 0.25;
                const std::complex<double> difference(b.data(row, chan, product) -
                                                      a.data(row, chan, product));
                if (s.mean.baselines[row].ant1 == s.mean.baselines[row].ant2) {
                  if (product % 3 == 0) {
                    bias += difference.real() / power;
                    bias_variance += 4 * (1.0 / 12) / 1152 / n;
                    ++n_auto;
                  }
                  continue;
                }
                squares += std::norm(difference) / (power * power);
                predicted += 2 * (1.0 / 6) / 1152 / n;
              }
        }
        BOOST_TEST_CONTEXT("real " << real << ", " << n_fine << " channels, " << n_taps << " taps") {
          BOOST_TEST(wrong_weights == 0);
          const double ratio = std::sqrt(squares / predicted);
          BOOST_TEST_MESSAGE("noise / predicted " << ratio << ", bias of autocorrelations "
                                                  << bias / static_cast<double>(n_auto));
          BOOST_TEST(ratio > 0.8);
          BOOST_TEST(ratio < 1.1);  // scales from 4096 samples are good to 2 %
          const double count = static_cast<double>(n_auto);
          BOOST_TEST(std::abs(bias / count - 1.45e-4) < 5 * std::sqrt(bias_variance) / count);
        }
      }
}

BOOST_AUTO_TEST_CASE(float_spectra_agree_with_the_cpu) {
  for (const FloatAlgorithm algorithm :
       {FloatAlgorithm::register_tiles, FloatAlgorithm::pair, FloatAlgorithm::group4})
    for (const std::size_t n_fine : {1, 64, 20}) {
      auto recording = noise(voltage_header(2, 9, 2, 2e6, 150e6), 20000, 12, 0.3, 11);
      drop_some(recording);
      std::vector<double> tau_s;
      for (int ant = 0; ant < 9; ++ant) tau_s.push_back(1.3e-6 * std::sin(ant));
      StaticDelays delays(tau_s);
      Setup s = setup(recording, {.n_fine = n_fine, .n_spectra = 170, .n_threads = 2, .delays = &delays});
      s.floats = algorithm;
      const auto cpu = correlate_on(On::cpu, recording, s), gpu = correlate_on(On::gpu, recording, s);
      BOOST_REQUIRE(cpu.size() == gpu.size());
      double squares = 0, power = 0;
      long wrong_weights = 0;
      for (std::size_t i = 0; i < cpu.size(); ++i)
        for (std::size_t k = 0; k < cpu[i].record.data.size(); ++k) {
          const std::complex<double> a(cpu[i].record.data.data()[k]), b(gpu[i].record.data.data()[k]);
          squares += std::norm(a - b);
          power += std::norm(a);
          wrong_weights += cpu[i].record.weight.data()[k] != gpu[i].record.weight.data()[k];
        }
      BOOST_TEST(wrong_weights == 0);
      BOOST_TEST(std::sqrt(squares / power) < 1e-6);
    }
}

BOOST_AUTO_TEST_CASE(closure_phases_of_a_point_source_vanish) {
  // one noise-like source, delayed by less than a sample: phases close but for the noise of rounding
  const auto header = voltage_header(1, 3, 1, 1e6, 150e6);
  const auto recording = noise(header, 64 * 4000, 30, 1, 12);
  StaticDelays delays({0, 0.21e-6, -0.37e-6});
  const Setup s = setup(recording, {.n_fine = 64, .delays = &delays, .filterbank = {4, Window::hann}});
  const auto gpu = correlate_on(On::gpu, recording, s);
  double squares = 0;
  for (std::size_t chan = 0; chan < 64; ++chan) {
    const auto& v = gpu[0].record.data;
    const std::complex<double> bispectrum = std::complex<double>(v(1, chan, 0)) *
                                            std::complex<double>(v(4, chan, 0)) *
                                            std::conj(std::complex<double>(v(2, chan, 0)));
    squares += std::norm(std::arg(bispectrum)) / 64;
  }
  // each phase: sqrt((1/6) / 1152 / N) for the component across, three of them
  const double predicted = std::sqrt(3.0 / 6 / 1152 / 4000);
  BOOST_TEST_MESSAGE("closure phase " << std::sqrt(squares) << " rad RMS, predicted " << predicted);
  BOOST_TEST(std::sqrt(squares) < 1.3 * predicted);
}

BOOST_AUTO_TEST_CASE(noise_follows_the_radiometer_equation) {
  constexpr std::int64_t kSpectra = 250;
  const auto recording = noise(voltage_header(1, 8, 1, 1e6, 150e6), 64 * 250 * 40, 10, 0, 13);
  const Setup s = setup(recording, {.n_fine = 64, .n_spectra = kSpectra});
  const auto gpu = correlate_on(On::gpu, recording, s);
  BOOST_REQUIRE(gpu.size() == 40u);
  double autos = 0, mean = 0, cross = 0;
  std::size_t n_auto = 0, n_cross = 0;
  for (const FxResult& result : gpu)
    for (std::size_t row = 0; row < s.mean.baselines.size(); ++row)
      for (std::size_t chan = 0; chan < 64; ++chan) {
        const std::complex<double> v(result.record.data(row, chan, 0));
        if (s.mean.baselines[row].ant1 == s.mean.baselines[row].ant2) {
          mean += v.real(), autos += v.real() * v.real(), ++n_auto;
          BOOST_REQUIRE(v.imag() == 0);
        } else {
          cross += v.real() * v.real(), ++n_cross;
        }
      }
  mean /= static_cast<double>(n_auto);
  const double sigma_auto = std::sqrt(autos / static_cast<double>(n_auto) - mean * mean) / mean;
  const double sigma_cross = std::sqrt(cross / static_cast<double>(n_cross)) / mean;
  const double expected = 1 / std::sqrt(static_cast<double>(kSpectra));
  BOOST_TEST_MESSAGE("auto " << sigma_auto / expected << ", cross "
                             << sigma_cross / expected * std::sqrt(2.0));
  // 20480 and 71680 values: good to 0.5 and 0.26 %; three sigma
  BOOST_TEST(std::abs(sigma_auto / expected - 1) < 0.015);
  BOOST_TEST(std::abs(sigma_cross / expected * std::sqrt(2.0) - 1) < 0.008);
}

BOOST_AUTO_TEST_SUITE_END()
