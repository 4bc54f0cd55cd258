// SPDX-License-Identifier: GPL-3.0-or-later
// bench_beamform_cuda [BEAMS...]: the CUDA beamformer, integrated power out, one JSON line per case. "device"
// is from samples in the device's memory to means in it (packing, sums, detection, integration), "stream"
// from blocks in pinned memory to blocks in memory, both sustained; useful TOPS are 8 operations for each
// beam, input and spectrum. The error is the RMS against float64 over the RMS. 256 inputs, 132 channels, and
// BEST-2: 32 antennas, 20 MHz in 1024 channels, 4 bits.
#include <fmt/core.h>

#include <chrono>
#include <cmath>
#include <complex>
#include <random>
#include <string>
#include <vector>

#include "kernels/beamform/cuda/device.cuh"
#include "kernels/channelise/channelise_cuda.h"
#include "libcore/base/constants.h"

using namespace apsyn;

namespace {

struct Case {
  const char* name;
  std::size_t n_chan, n_ant, n_pol, n_beam, n_spectra;
  BeamPrecision precision;
  bool four_bit = false;
  double sample_s = 1e-6;
  double rate = 0;  ///< of delays
};

constexpr std::size_t kIntegrate = 128;

class Delays final : public BeamDelaySource {
 public:
  explicit Delays(double rate) : rate_(rate) {
    for (std::size_t i = 0; i < 4096; ++i) sine_.push_back(std::sin(1.0 + static_cast<double>(i)));
  }
  void prepare(double, double) override {}
  void delays_s(std::size_t beam, double t_s, std::span<double> delay_s) const override {
    for (std::size_t ant = 0; ant < delay_s.size(); ++ant)
      delay_s[ant] = (1e-7 + rate_ * t_s) * sine_[beam * ant % sine_.size()];
  }

 private:
  double rate_;
  std::vector<double> sine_;
};

BeamformPlan plan_of(const Case& c) {
  BeamformPlan plan;
  plan.n_chan = c.n_chan;
  plan.n_ant = c.n_ant;
  plan.n_pol = c.n_pol;
  plan.n_beam = c.n_beam;
  for (std::size_t chan = 0; chan < c.n_chan; ++chan)
    plan.channel_hz.push_back(400e6 + static_cast<double>(chan) / c.sample_s);
  plan.spectrum_s = c.sample_s;
  plan.n_integrate = kIntegrate;
  plan.update_spectra = steering_interval(c.rate, plan.channel_hz.back(), c.sample_s, 1e-3);
  plan.member.resize({c.n_beam, c.n_ant});
  plan.member.fill(1);
  plan.n_threads = 4;
  return plan;
}

CudaChannelisePlan f_plan_of(const Case& c) {
  VoltageHeader header;
  header.n_chan = c.n_chan;
  header.n_ant = c.n_ant;
  header.n_pol = c.n_pol;
  header.sample_s = c.sample_s;
  header.bandwidth_hz = static_cast<double>(c.n_chan) / c.sample_s;
  header.freq_hz = 400e6;
  CudaChannelisePlan plan;
  plan.f = plan_channelise(header, 1, 4);
  plan.four_bit = c.four_bit;
  plan.gulp_samples = c.n_spectra;
  return plan;
}

VoltageBlock block_of(const Case& c) {
  VoltageBlock block;
  block.n_time = c.n_spectra;
  block.samples_i8.resize({c.n_spectra, c.n_chan, c.n_ant, c.n_pol, 2});
  block.valid.resize({(c.n_spectra + 127) / 128, c.n_ant});
  block.valid.fill(1);
  std::mt19937 random(1);
  const int range = c.four_bit ? 16 : 256;
  for (auto& value : block.samples_i8.view())
    value = static_cast<std::int8_t>(static_cast<int>(random() % static_cast<unsigned>(range)) - range / 2);
  return block;
}

/// Over some beams and channels, of the first integration.
double error_of(const Case& c, const BeamformPlan& plan, const Delays& delays, const VoltageBlock& block,
                const float* beams, std::size_t n_time) {
  double difference = 0, square = 0;
  std::vector<double> delay_s(c.n_ant);
  for (std::size_t beam = 0; beam < c.n_beam; beam += 1 + c.n_beam / 7) {
    delays.delays_s(beam, 0, delay_s);
    for (std::size_t chan = 0; chan < c.n_chan; chan += 1 + c.n_chan / 11) {
      double truth = 0;
      for (std::size_t t = 0; t < kIntegrate; ++t)
        for (std::size_t pol = 0; pol < c.n_pol; ++pol) {
          std::complex<double> sum = 0;
          for (std::size_t ant = 0; ant < c.n_ant; ++ant)
            sum += std::complex<double>(block.samples_i8(t, chan, ant, pol, 0),
                                        block.samples_i8(t, chan, ant, pol, 1)) *
                   std::polar(1.0, -kTwoPi * plan.channel_hz[chan] * delay_s[ant]);
          truth += std::norm(sum / double(c.n_ant)) / double(kIntegrate * c.n_pol);
        }
      const double got = double(beams[beam * n_time * c.n_chan + chan]);
      difference += (got - truth) * (got - truth);
      square += truth * truth;
    }
  }
  return std::sqrt(difference / square);
}

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

struct Result {
  double device_s = 0, stream_s = 0, error = 0;
};

/// Seconds for each batch of n_spectra that stays on the device.
Result on_device(const Case& c, const VoltageBlock& block) {
  const BeamformPlan plan = plan_of(c);
  Delays delays(c.rate);
  const auto source = make_cuda_channeliser(f_plan_of(c), nullptr, 0);
  source->append(block, 0);
  CopyStream stream;
  SpectraBlock validity;
  validity.n_spectra = c.n_spectra;
  DeviceBeams beams(plan, delays, 0, c.precision);
  const std::size_t n_time = c.n_spectra / kIntegrate, n_out = c.n_beam * n_time * c.n_chan;
  DeviceArray<float> out(n_out);
  const DeviceSamples samples = source->samples(0, validity, stream.get());
  std::int64_t next = 0;
  const auto once = [&] {
    beams.of_samples(next, validity, samples, out.data(), stream.get());
    next += static_cast<std::int64_t>(c.n_spectra);
  };
  const auto wait = [&] { cuda_check(cudaStreamSynchronize(stream.get()), "waiting"); };
  once();
  wait();
  Result result;
  std::vector<float> host(n_out);
  cuda_check(cudaMemcpy(host.data(), out.data(), n_out * sizeof(float), cudaMemcpyDeviceToHost), "copying");
  result.error = error_of(c, plan, delays, block, host.data(), n_time);
  auto begin = std::chrono::steady_clock::now();
  once();
  wait();
  const double single = seconds_since(begin);
  const int n = std::max(3, static_cast<int>(0.3 / single));
  begin = std::chrono::steady_clock::now();
  for (int i = 0; i < n; ++i) once();
  wait();
  result.device_s = seconds_since(begin) / n;
  return result;
}

/// Seconds for each block through the engine.
double streamed(const Case& c, VoltageBlock& block) {
  Delays delays(c.rate);
  const auto engine = make_cuda_beam_engine(make_cuda_channeliser(f_plan_of(c), nullptr, 0), plan_of(c),
                                            delays, 0, {c.precision, c.n_spectra});
  const auto pinned = engine->pin(block.samples_i8.data(), block.samples_i8.size());
  BeamBlock beams;
  const auto once = [&] {
    engine->append(block);
    block.first_sample += static_cast<std::int64_t>(block.n_time);
    while (engine->next(beams)) {
    }
  };
  for (int i = 0; i < 3; ++i) once();
  const auto begin = std::chrono::steady_clock::now();
  int n = 0;
  for (; n < 10 || seconds_since(begin) < 0.3; ++n) once();
  engine->end_of_stream();
  const double seconds = seconds_since(begin) / n;
  block.first_sample = 0;
  return seconds;
}

void run(const Case& c) {
  VoltageBlock block = block_of(c);
  Result result = on_device(c, block);
  result.stream_s = streamed(c, block);
  const double operations = 8.0 * static_cast<double>(c.n_chan * c.n_ant * c.n_pol * c.n_beam * c.n_spectra);
  const double data_s = static_cast<double>(c.n_spectra) * c.sample_s;
  fmt::print(
      "{{\"bench\": \"beamform_cuda\", \"case\": \"{}\", \"inputs\": {}, \"polarisations\": {}, "
      "\"channels\": {}, \"beams\": {}, \"spectra\": {}, \"weights\": \"{}\", \"device_ms\": {:.3f}, "
      "\"device_tops\": {:.1f}, \"stream_ms\": {:.3f}, \"stream_tops\": {:.1f}, \"stream_times_real_time\": "
      "{:.1f}, \"error\": {:.2g}}}\n",
      c.name, c.n_ant * c.n_pol, c.n_pol, c.n_chan, c.n_beam, c.n_spectra,
      c.precision == BeamPrecision::half    ? "int8"
      : c.precision == BeamPrecision::int16 ? "int16"
                                            : "float32",
      result.device_s * 1e3, operations / result.device_s * 1e-12, result.stream_s * 1e3,
      operations / result.stream_s * 1e-12, data_s / result.stream_s, result.error);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  using enum BeamPrecision;
  std::vector<std::size_t> beams;
  for (int i = 1; i < argc; ++i) beams.push_back(std::stoul(argv[i]));
  if (beams.empty()) beams = {32, 512, 4096};
  for (const std::size_t n_beam : beams) {
    run({"int8", 132, 256, 1, n_beam, 1024, half});
    run({"int8, two polarisations", 132, 128, 2, n_beam, 1024, half});
    run({"4 bits", 132, 256, 1, n_beam, 1024, half, true});
    run({"16-bit weights", 132, 256, 1, n_beam, 1024, int16});
    if (n_beam <= 512) run({"float32", 132, 256, 1, n_beam, 1024, single});
  }
  run({"new weights every 512 spectra", 132, 256, 1, beams.back(), 1024, half, false, 1e-6, 1.1e-9});
  run({"BEST-2", 1024, 32, 1, 32, 2048, half, false, 51.2e-6});
  run({"BEST-2, float32", 1024, 32, 1, 32, 2048, single, false, 51.2e-6});
}
