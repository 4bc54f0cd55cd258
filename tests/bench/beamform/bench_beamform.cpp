// SPDX-License-Identifier: GPL-3.0-or-later
// bench_beamform [THREADS]: the beamformer on data in memory, from integer samples to beams, one JSON line
// per case. The first case is BEST-2: 32 antennas, 20 MHz in 1024 channels, 16 beams, power.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <complex>
#include <cstdlib>
#include <ctime>
#include <random>

#include "kernels/beamform/beamform.h"
#include "kernels/channelise/channelise.h"
#include "libcore/base/constants.h"
#include "libcore/system/device.h"

using namespace apsyn;

namespace {

struct Case {
  const char* name;
  std::size_t n_chan, n_ant, n_pol, n_fine, n_beam;
  BeamProduct product;
  std::size_t n_integrate, n_gulp;
  double sample_s;
  double rate;  ///< of delays
  bool incoherent = false;
};

class Delays final : public BeamDelaySource {
 public:
  explicit Delays(double rate) : rate_(rate) {}
  void prepare(double, double) override {}
  void delays_s(std::size_t beam, double t_s, std::span<double> delay_s) const override {
    for (std::size_t ant = 0; ant < delay_s.size(); ++ant)
      delay_s[ant] = (1e-7 + rate_ * t_s) * std::sin(1.0 + double(beam) * double(ant));
  }

 private:
  double rate_;
};

/// Largest error of voltages of a few spectra against float64, over their RMS.
double error_of(const SpectraBlock& block, const BeamformPlan& plan, const Delays& delays, double t_s) {
  BeamformPlan voltages;
  voltages.n_chan = plan.n_chan, voltages.n_fine = plan.n_fine, voltages.n_ant = plan.n_ant;
  voltages.n_pol = plan.n_pol, voltages.n_beam = plan.n_beam, voltages.channel_hz = plan.channel_hz;
  voltages.first_middle_s = t_s;
  voltages.spectrum_s = plan.spectrum_s;
  voltages.product = BeamProduct::voltage;
  voltages.member.resize({plan.n_beam, plan.n_ant});
  voltages.member.fill(1);
  Delays still = delays;
  const auto beamformer = make_cpu_beamformer(std::move(voltages), still);
  BeamBlock out;
  beamformer->start(0, block.n_spectra, out);
  beamformer->add(block, out);
  double worst = 0, square = 0, n = 0;
  std::vector<double> delay_s(plan.n_ant);
  for (std::size_t beam = 0; beam < plan.n_beam; beam += 3) {
    delays.delays_s(beam, t_s, delay_s);
    for (std::size_t channel = block.first_chan * block.n_fine;
         channel < (block.first_chan + block.n_chan) * block.n_fine; channel += 7)
      for (std::size_t t = 0; t < block.n_spectra; t += 13) {
        std::complex<double> truth = 0;
        for (std::size_t ant = 0; ant < plan.n_ant; ++ant) {
          const std::size_t input = ant * plan.n_pol;
          const std::size_t at = channel - block.first_chan * block.n_fine;
          const std::int8_t* code =
              block.coded ? &block.codes(at, input / 16, t / 2, 4 * (input % 16) + 2 * (t % 2)) : nullptr;
          const std::complex<double> x =
              code != nullptr ? std::complex<double>(code[0], code[1])
                              : std::complex<double>(block.planes(at, input / 16, t, input % 16),
                                                     block.planes(at, input / 16, t, 16 + input % 16));
          truth +=
              x * std::polar(1.0, -kTwoPi * plan.channel_hz[channel] * delay_s[ant]) / double(plan.n_ant);
        }
        const float* got = &out.values(beam, t, channel * 2 * plan.n_pol);
        worst = std::max(worst, std::abs(std::complex<double>(got[0], got[1]) - truth));
        square += std::norm(truth);
        n += 1;
      }
  }
  return worst / std::sqrt(square / n);
}

void run(const Case& c, unsigned n_threads) {
  VoltageHeader header;
  header.n_chan = c.n_chan;
  header.n_ant = c.n_ant;
  header.n_pol = c.n_pol;
  header.sample_s = c.sample_s;
  header.bandwidth_hz = static_cast<double>(c.n_chan) / c.sample_s;
  header.freq_hz = 408e6;
  ChannelisePlan f_plan = plan_channelise(header, c.n_fine, n_threads);
  f_plan.codes = true;
  Channeliser channeliser(f_plan, nullptr);
  Delays delays(c.rate);
  BeamformPlan plan;
  plan.n_chan = c.n_chan;
  plan.n_fine = c.n_fine;
  plan.n_ant = c.n_ant;
  plan.n_pol = c.n_pol;
  plan.n_beam = c.n_beam;
  plan.channel_hz = f_plan.channel_hz();
  plan.spectrum_s = static_cast<double>(f_plan.n_sample) * c.sample_s;
  plan.product = c.product;
  plan.incoherent = c.incoherent;
  plan.n_integrate = c.n_integrate;
  plan.update_spectra = steering_interval(c.rate, plan.channel_hz.back(), plan.spectrum_s, 1e-3);
  plan.member.resize({c.n_beam, c.n_ant});
  plan.member.fill(1);
  plan.n_threads = n_threads;
  const BeamformPlan shape = [&] {
    BeamformPlan copy;
    copy.n_chan = plan.n_chan, copy.n_fine = plan.n_fine, copy.n_ant = plan.n_ant, copy.n_pol = plan.n_pol;
    copy.n_beam = plan.n_beam, copy.channel_hz = plan.channel_hz, copy.spectrum_s = plan.spectrum_s;
    return copy;
  }();
  const auto beamformer = make_cpu_beamformer(std::move(plan), delays);

  VoltageBlock block;
  block.n_time = c.n_gulp;
  block.samples_i8.resize({c.n_gulp, c.n_chan, c.n_ant, c.n_pol, 2});
  block.valid.resize({(c.n_gulp + 127) / 128, c.n_ant});
  block.valid.fill(1);
  std::mt19937 random(1);
  for (auto& value : block.samples_i8.view())
    value = static_cast<std::int8_t>(static_cast<int>(random() % 16) - 8);

  constexpr std::uint64_t kCache = 8 << 20;
  const std::size_t chan_bytes = c.n_fine * panel_count(c.n_ant * c.n_pol) * 2 * kPanelInputs * sizeof(float);
  const std::size_t n_block =
      std::clamp<std::size_t>(kCache / chan_bytes / kTileSpectra * kTileSpectra, kTileSpectra, 512);
  const std::size_t batch = std::clamp<std::size_t>(kCache / (chan_bytes * n_block), 1, c.n_chan);
  SpectraBlock spectra;
  BeamBlock out;
  std::int64_t next = 0;
  std::vector<double> total, cpu, f_time, b_time;
  using Clock = std::chrono::steady_clock;
  const auto seconds = [](Clock::duration d) { return std::chrono::duration<double>(d).count(); };
  for (int repeat = 0; repeat < 8; ++repeat) {
    const auto begin = Clock::now();
    const std::clock_t cpu_begin = std::clock();
    channeliser.append(block);
    block.first_sample += static_cast<std::int64_t>(block.n_time);
    double f = 0, b = 0;
    const std::int64_t first = next;
    while (next + static_cast<std::int64_t>(n_block) <= channeliser.available()) {
      beamformer->start(next, n_block, out);
      for (std::size_t chan = 0; chan < c.n_chan; chan += batch) {
        const auto t0 = Clock::now();
        channeliser.spectra(next, n_block, chan, std::min(batch, c.n_chan - chan), spectra);
        const auto t1 = Clock::now();
        beamformer->add(spectra, out);
        f += seconds(t1 - t0);
        b += seconds(Clock::now() - t1);
      }
      next += static_cast<std::int64_t>(n_block);
    }
    channeliser.release(next);
    const double data_s = static_cast<double>(next - first) * shape.spectrum_s;
    if (repeat < 2 || data_s == 0) continue;
    total.push_back(seconds(Clock::now() - begin) / data_s);
    cpu.push_back(static_cast<double>(std::clock() - cpu_begin) / CLOCKS_PER_SEC / data_s);
    f_time.push_back(f / data_s);
    b_time.push_back(b / data_s);
  }
  const double error = error_of(spectra, shape, Delays(0), 0);
  const auto least = [](const std::vector<double>& values) {
    return *std::min_element(values.begin(), values.end());
  };
  const double rate = static_cast<double>(c.n_chan) / c.sample_s;
  const double useful = 8 * rate * static_cast<double>(c.n_ant * c.n_pol * c.n_beam);
  fmt::print(
      "{{\"bench\":\"beamform\",\"case\":\"{}\",\"threads\":{},\"antennas\":{},\"polarisations\":{},"
      "\"channels\":{},"
      "\"beams\":{},\"integrate\":{},\"block\":{},\"batch\":{},\"seconds_per_second\":{:.4f},\"cpu\":{:.4f},"
      "\"f_seconds\":{:"
      ".4f},"
      "\"beam_seconds\":{:.4f},\"beam_gflops\":{:.1f},\"times_real_time\":{:.3f},\"error\":{:.2g}}}\n",
      c.name, n_threads, c.n_ant, c.n_pol, c.n_chan * c.n_fine, c.n_beam, c.n_integrate, n_block, batch,
      least(total), least(cpu), least(f_time), least(b_time), useful / least(b_time) * 1e-9, 1 / least(total),
      error);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const unsigned n_threads = argc > 1 ? static_cast<unsigned>(std::atoi(argv[1])) : available_threads();
  using enum BeamProduct;
  constexpr double kBest = 1024 / 20e6;
  // the fringe rate of a 70 m array: 7.3e-5 rad/s * 35 m / c
  for (const Case& c : {Case{"best-2", 1024, 32, 1, 1, 16, power, 16, 2048, kBest, 0},
                        Case{"best-2-tracked", 1024, 32, 1, 1, 16, power, 16, 2048, kBest, 8.5e-12},
                        Case{"best-2-every-spectrum", 1024, 32, 1, 1, 16, power, 1, 2048, kBest, 0},
                        Case{"best-2-1-beam", 1024, 32, 1, 1, 1, power, 16, 2048, kBest, 0},
                        Case{"best-2-64-beams", 1024, 32, 1, 1, 64, power, 16, 2048, kBest, 0},
                        Case{"best-2-voltages", 1024, 32, 1, 1, 16, voltage, 1, 2048, kBest, 0},
                        Case{"best-2-incoherent", 1024, 32, 1, 1, 1, power, 16, 2048, kBest, 0, true},
                        Case{"mwa-32t-128-fine", 1, 32, 2, 128, 16, power, 16, 128 * 512, 1 / 1.28e6, 0},
                        Case{"mwa-32t-iquv", 1, 32, 2, 128, 16, iquv, 16, 128 * 512, 1 / 1.28e6, 0},
                        Case{"256-antennas", 132, 128, 2, 1, 32, power, 128, 1024, 40e-6, 0}})
    run(c, n_threads);
}
