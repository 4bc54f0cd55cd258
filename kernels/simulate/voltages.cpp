// SPDX-License-Identifier: GPL-3.0-or-later
#include <fftw3.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "kernels/common/math/fftw_planner.h"
#include "kernels/simulate/delay_sum.h"
#include "kernels/simulate/noise.h"
#include "kernels/simulate/quantise.h"
#include "kernels/simulate/voltages.h"
#include "libcore/base/constants.h"
#include "libcore/base/error.h"
#include "libcore/sky/ionosphere_screen.h"
#include "libcore/system/parallel.h"

namespace apsyn::simulate {
namespace {

using Complex = std::complex<float>;

/// Out-of-place transforms of one length. The estimate planner, because measured plans differ between runs.
class Fft {
 public:
  explicit Fft(std::size_t n) {
    Buffer<Complex, 1> in({n}), out({n});
    std::lock_guard lock(fftw_planner_mutex());
    const auto plan = [&](int sign) {
      return fftwf_plan_dft_1d(static_cast<int>(n), reinterpret_cast<fftwf_complex*>(in.data()),
                               reinterpret_cast<fftwf_complex*>(out.data()), sign, FFTW_ESTIMATE);
    };
    forward_ = plan(FFTW_FORWARD);
    backward_ = plan(FFTW_BACKWARD);
  }
  ~Fft() {
    std::lock_guard lock(fftw_planner_mutex());
    fftwf_destroy_plan(forward_);
    fftwf_destroy_plan(backward_);
  }
  Fft(const Fft&) = delete;
  void forward(Complex* in, Complex* out) const { execute(forward_, in, out); }
  void backward(Complex* in, Complex* out) const { execute(backward_, in, out); }

 private:
  static void execute(fftwf_plan plan, Complex* in, Complex* out) {
    fftwf_execute_dft(plan, reinterpret_cast<fftwf_complex*>(in), reinterpret_cast<fftwf_complex*>(out));
  }
  fftwf_plan forward_, backward_;
};

struct Workspace {
  Buffer<Complex, 2> noise;    ///< [pol][time], n_fft
  Buffer<Complex, 3> sums;     ///< [pol][order + 1][bin]
  Buffer<Complex, 3> series;   ///< [pol][order + 1][time]
  Buffer<Complex, 1> samples;  ///< [time], hop
  DelaySumInput delays;
  std::vector<RayDelay> rays;
  std::vector<float> envelope;  ///< [time] of a pulsar, n_fft
};

}  // namespace

struct VoltageSimulator::State {
  VoltageSetup setup;
  VoltagePlan plan;
  unsigned n_threads;
  Fft fft;
  std::vector<Workspace> workspaces;  ///< one per thread
  Buffer<float, 4> spectra;           ///< [emitter][pol][re, im][bin] of the channel at work
  Buffer<float, 1> relative_freq;     ///< [bin]: nu / nu_c of the channel at work
  Buffer<std::uint8_t, 3> planes;     ///< [chan * ant * pol][time][bytes of a sample]
  std::vector<std::size_t> visible;   ///< emitters above the horizon

  State(VoltageSetup s, const VoltagePlan& p, unsigned threads)
      : setup(std::move(s)), plan(p), n_threads(threads), fft(p.n_fft), workspaces(threads) {
    const std::size_t terms = plan.order + 1;
    for (Workspace& work : workspaces) {
      work.noise.resize({2, plan.n_fft});
      work.sums.resize({2, terms, plan.n_fft});
      work.series.resize({2, terms, plan.n_fft});
      work.samples.resize({plan.hop});
    }
    spectra.resize({setup.emitters.size(), 2, 2, plan.n_fft});
    relative_freq.resize({plan.n_fft});
    planes.resize({setup.n_chan * setup.antenna_enu_m.size() * 2, plan.hop, bytes_per_sample(setup.n_bit)});
  }

  double bin_offset_hz(std::size_t bin) const {
    const double n = static_cast<double>(plan.n_fft), k = static_cast<double>(bin);
    return (bin < plan.n_fft / 2 ? k : k - n) * plan.sample_rate_hz / n;
  }

  void make_spectrum(std::int64_t first, std::size_t chan, std::size_t index, Workspace& work);
  void make_antenna(std::int64_t first, const BlockDirections& directions, std::size_t n_time,
                    std::size_t chan, std::size_t ant, Workspace& work);
  void add_terms(std::size_t pol, Workspace& work) const;
  void check_turn(double half_turn_rad) const;
  void drop_packets(std::int64_t first, std::size_t n_time, std::size_t ant);
};

/// The spectra of one emitter's two feeds over samples first - guard ... of channel `chan`.
void VoltageSimulator::State::make_spectrum(std::int64_t first, std::size_t chan, std::size_t index,
                                            Workspace& work) {
  const Emitter& emitter = setup.emitters[index];
  const SkyComponent& component = setup.sky.components[emitter.component];
  const double centre_hz = plan.channel_freq_hz(setup, chan);
  const bool pulsar = setup.pulsar && setup.pulsar->component == emitter.component;
  if (pulsar) {
    work.envelope.resize(plan.n_fft);
    pulse_envelope(*setup.pulsar, centre_hz, 1 / plan.sample_rate_hz,
                   first - static_cast<std::int64_t>(plan.guard), work.envelope);
  }
  for (std::uint8_t pol = 0; pol < 2; ++pol) {
    const NoiseStream stream{NoiseKind::source, static_cast<std::uint32_t>(index),
                             static_cast<std::uint16_t>(chan), pol};
    gaussian_noise(setup.seed, stream, first - static_cast<std::int64_t>(plan.guard),
                   work.noise.view()[pol].span());
    if (pulsar)
      for (std::size_t n = 0; n < plan.n_fft; ++n) work.noise(pol, n) *= work.envelope[n];
    fft.forward(work.noise.view()[pol].data(), work.sums.view()[pol][0].data());
  }
  auto stokes = flux_at(component, centre_hz);
  const double centre_flux = stokes[0];
  for (double& value : stokes) value *= emitter.fraction;
  const Mixing mixing = mixing_from_stokes(stokes);
  const Complex* gx = work.sums.view()[0][0].data();
  const Complex* gy = work.sums.view()[1][0].data();
  const auto out = spectra.view()[index];
  for (std::size_t bin = 0; bin < plan.n_fft; ++bin) {
    const double flux = component.spectral_terms.empty()
                            ? centre_flux
                            : flux_at(component, centre_hz + bin_offset_hz(bin))[0];
    const double gain = std::sqrt(std::max(0.0, flux / centre_flux)) / static_cast<double>(plan.n_fft);
    const std::complex<double> x(gx[bin]), y(gy[bin]);
    const std::complex<double> factor =
        gain * (pulsar ? dispersion_factor(*setup.pulsar, centre_hz, bin_offset_hz(bin)) : 1.0);
    const std::complex<double> feed_x = factor * mixing.xx * x,
                               feed_y = factor * (mixing.yx * x + mixing.yy * y);
    out(0, 0, bin) = static_cast<float>(feed_x.real());
    out(0, 1, bin) = static_cast<float>(feed_x.imag());
    out(1, 0, bin) = static_cast<float>(feed_y.real());
    out(1, 1, bin) = static_cast<float>(feed_y.imag());
  }
}

/// samples = sum_k x^k / k! series_k over the hop, x from -1 to 1.
void VoltageSimulator::State::add_terms(std::size_t pol, Workspace& work) const {
  float* out = reinterpret_cast<float*>(work.samples.data());
  const float step = 2.0f / static_cast<float>(plan.hop);
  const auto term = [&](std::size_t k) {
    return reinterpret_cast<const float*>(work.series.view()[pol][k].data() + plan.guard);
  };
  std::copy_n(term(plan.order), 2 * plan.hop, out);
  for (std::size_t k = plan.order; k-- > 0;) {
    const float* lower = term(k);
    const float divisor = 1.0f / static_cast<float>(k + 1);
    for (std::size_t n = 0; n < plan.hop; ++n) {
      const float x = (static_cast<float>(n) * step - 1.0f) * divisor;
      out[2 * n] = lower[2 * n] + x * out[2 * n];
      out[2 * n + 1] = lower[2 * n + 1] + x * out[2 * n + 1];
    }
  }
}

void VoltageSimulator::State::make_antenna(std::int64_t first, const BlockDirections& directions,
                                           std::size_t n_time, std::size_t chan, std::size_t ant,
                                           Workspace& work) {
  const double centre_hz = plan.channel_freq_hz(setup, chan);
  DelaySumInput& delays = work.delays;
  delays.spectra = spectra;
  delays.relative_freq = relative_freq;
  delays.visible = visible;
  delays.rate.clear();
  if (directions.jones) {
    delays.jones.resize_for_overwrite({visible.size(), 8});
    for (std::size_t s = 0; s < visible.size(); ++s)
      for (std::size_t i = 0; i < 4; ++i) {
        const std::complex<float> value = (*directions.jones)(chan, ant, visible[s], i);
        delays.jones(s, 2 * i) = value.real();
        delays.jones(s, 2 * i + 1) = value.imag();
      }
  } else {
    delays.jones.resize({0, 8});
  }
  work.rays.clear();
  for (std::size_t index : visible) {
    const double start_m = dot(setup.antenna_enu_m[ant], directions.start[index]);
    const double end_m = dot(setup.antenna_enu_m[ant], directions.end[index]);
    RayDelay ray;
    ray.tau_s = 0.5 * (start_m + end_m) / kSpeedOfLight_m_s - setup.cable_delay_s[ant];
    double half_turn_rad = kTwoPi * centre_hz * 0.5 * (end_m - start_m) / kSpeedOfLight_m_s;
    if (directions.start_tec_tecu.size() > 0) {
      const double start_tecu = directions.start_tec_tecu(index, ant),
                   end_tecu = directions.end_tec_tecu(index, ant);
      ray.tec_tecu = 0.5 * (start_tecu + end_tecu);
      half_turn_rad += ionosphere_phase_rad(0.5 * (end_tecu - start_tecu), centre_hz);
      check_turn(half_turn_rad);
    }
    work.rays.push_back(ray);
    delays.rate.push_back(static_cast<float>(half_turn_rad));
  }
  if (!visible.empty()) {
    set_phases(delays, work.rays, centre_hz, plan.sample_rate_hz / static_cast<double>(plan.n_fft));
    delay_sum(delays, work.sums);
  }
  for (std::size_t pol = 0; pol < 2; ++pol) {
    if (visible.empty()) {
      work.samples.fill(0);
    } else {
      for (std::size_t k = 0; k <= plan.order; ++k)
        fft.backward(work.sums.view()[pol][k].data(), work.series.view()[pol][k].data());
      add_terms(pol, work);
      if (!setup.gains.empty())
        apply_gain(setup.gains[ant * 2 + pol], first, 1 / plan.sample_rate_hz, work.samples.view().span());
    }
    if (setup.sefd_jy > 0) {
      const NoiseStream stream{NoiseKind::receiver, static_cast<std::uint32_t>(ant),
                               static_cast<std::uint16_t>(chan), static_cast<std::uint8_t>(pol)};
      gaussian_noise(setup.seed, stream, first, work.noise.view()[0].span().first(plan.hop));
      const float sigma = static_cast<float>(std::sqrt(setup.sefd_jy));
      for (std::size_t n = 0; n < plan.hop; ++n) work.samples(n) += sigma * work.noise(0, n);
    }
    const std::size_t input = (chan * setup.antenna_enu_m.size() + ant) * 2 + pol;
    quantise(work.samples.view().span().first(n_time), static_cast<float>(1 / plan.step), setup.n_bit,
             planes.view()[input].span().first(n_time * planes.extent(2)));
  }
}

/// A phase that changes by `half_turn_rad` over half a block must be within what the plan's terms carry.
void VoltageSimulator::State::check_turn(double half_turn_rad) const {
  constexpr double kLargestError = 1e-4;
  double neglected = 1;
  for (unsigned k = 0; k <= plan.order; ++k) neglected *= std::abs(half_turn_rad) / (k + 1);
  if (neglected > kLargestError)
    throw FailureError(
        "the ionosphere turns a phase by {:.2g} rad within {:.2g} s, too fast for an error of {} rad: take "
        "smoother screens or wider channels",
        2 * std::abs(half_turn_rad), static_cast<double>(plan.hop) / plan.sample_rate_hz, kLargestError);
}

/// Zeroes whole aligned packets of an antenna, in every channel and polarisation.
void VoltageSimulator::State::drop_packets(std::int64_t first, std::size_t n_time, std::size_t ant) {
  const std::int64_t packet = static_cast<std::int64_t>(setup.missing_samples);
  const std::size_t n_ant = setup.antenna_enu_m.size(), bytes = planes.extent(2);
  const NoiseStream stream{NoiseKind::dropped_packets, static_cast<std::uint32_t>(ant), 0, 0};
  for (std::int64_t k = first / packet; k * packet < first + static_cast<std::int64_t>(n_time); ++k) {
    if (uniform_noise(setup.seed, stream, k) >= setup.dropped_fraction) continue;
    const std::int64_t from = std::max<std::int64_t>(0, k * packet - first);
    const std::int64_t to =
        std::min<std::int64_t>(static_cast<std::int64_t>(n_time), (k + 1) * packet - first);
    for (std::size_t chan = 0; chan < setup.n_chan; ++chan)
      for (std::size_t pol = 0; pol < 2; ++pol)
        std::fill_n(&planes((chan * n_ant + ant) * 2 + pol, from, 0),
                    static_cast<std::size_t>(to - from) * bytes, std::uint8_t{0});
  }
}

VoltageSimulator::VoltageSimulator(VoltageSetup setup, const VoltagePlan& plan, unsigned n_threads)
    : state_(std::make_unique<State>(std::move(setup), plan, n_threads)) {}
VoltageSimulator::~VoltageSimulator() = default;

void VoltageSimulator::simulate(std::int64_t block, const BlockDirections& directions, std::size_t n_time,
                                std::span<std::uint8_t> stream) {
  State& s = *state_;
  const std::size_t n_emitters = s.setup.emitters.size(), n_ant = s.setup.antenna_enu_m.size();
  const auto fits = [&](const Buffer<double, 2>& tec) {
    return tec.size() == 0 || tec.shape() == View<double, 2>::Shape{n_emitters, n_ant};
  };
  if (directions.start.size() != n_emitters || directions.end.size() != n_emitters || n_time > s.plan.hop ||
      !fits(directions.start_tec_tecu) || !fits(directions.end_tec_tecu) ||
      directions.start_tec_tecu.size() != directions.end_tec_tecu.size() ||
      (directions.jones && directions.jones->view().shape() !=
                               std::array<std::size_t, 4>{s.setup.n_chan, n_ant, n_emitters, 4}) ||
      stream.size() != n_time * s.plan.time_bytes)
    throw std::invalid_argument("VoltageSimulator: shapes disagree");
  const std::int64_t first = block * static_cast<std::int64_t>(s.plan.hop);
  s.visible.clear();
  for (std::size_t index = 0; index < n_emitters; ++index)
    if (directions.start[index][2] + directions.end[index][2] > 0) s.visible.push_back(index);

  for (std::size_t chan = 0; chan < s.setup.n_chan; ++chan) {
    const double centre_hz = s.plan.channel_freq_hz(s.setup, chan);
    for (std::size_t bin = 0; bin < s.plan.n_fft; ++bin)
      s.relative_freq(bin) = static_cast<float>(1 + s.bin_offset_hz(bin) / centre_hz);
    parallel_for(s.n_threads, s.visible.size(), [&](std::size_t item, unsigned thread) {
      s.make_spectrum(first, chan, s.visible[item], s.workspaces[thread]);
    });
    parallel_for(s.n_threads, n_ant, [&](std::size_t ant, unsigned thread) {
      s.make_antenna(first, directions, n_time, chan, ant, s.workspaces[thread]);
    });
  }
  if (s.setup.dropped_fraction > 0)
    parallel_for(s.n_threads, n_ant, [&](std::size_t ant, unsigned) { s.drop_packets(first, n_time, ant); });
  constexpr std::size_t n_interleave = 1024;
  parallel_for(s.n_threads, (n_time + n_interleave - 1) / n_interleave, [&](std::size_t item, unsigned) {
    const std::size_t from = item * n_interleave, count = std::min(n_interleave, n_time - from);
    interleave_inputs(s.planes, from, count,
                      stream.subspan(from * s.plan.time_bytes, count * s.plan.time_bytes));
  });
}

}  // namespace apsyn::simulate
