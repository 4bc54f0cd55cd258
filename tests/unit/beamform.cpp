// SPDX-License-Identifier: GPL-3.0-or-later
// The CPU beamformer against beams computed one spectrum at a time in float64.
#include <boost/test/unit_test.hpp>

#include <cmath>
#include <random>

#include "kernels/beamform/beamform.h"
#include "tests/reference/beamform.h"
#include "tests/unit/correlate_setup.h"

using namespace apsyn;

namespace {

struct LinearDelays final : BeamDelaySource {
  double rate = 0;
  double at(std::size_t beam, std::size_t ant, double t_s) const {
    return 1e-8 * std::sin(1.0 + 3.0 * double(beam) + 1.7 * double(ant)) +
           rate * t_s * std::cos(double(beam) + double(ant));
  }
  void prepare(double, double) override {}
  void delays_s(std::size_t beam, double t_s, std::span<double> delay_s) const override {
    for (std::size_t ant = 0; ant < delay_s.size(); ++ant) delay_s[ant] = at(beam, ant, t_s);
  }
};

struct Case {
  std::size_t n_chan, n_ant, n_pol, n_beam;
  BeamProduct product;
  bool incoherent = false;
  std::size_t n_integrate = 1, n_average = 1;
  bool missing = false, weights = false, circular = false;
};

test::Recording recording_of(const Case& c, std::size_t n_time) {
  VoltageHeader header = test::voltage_header(c.n_chan, c.n_ant, c.n_pol, 1e6, 150e6);
  header.missing_samples = 8;
  test::Recording recording(header, n_time);
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  for (auto& sample : recording.samples) sample = {normal(random), normal(random)};
  if (!c.missing) return recording;
  for (auto& valid : recording.valid) valid = random() % 4 != 0;
  for (std::size_t ant = 0; ant < c.n_ant; ++ant) recording.valid[3 * c.n_ant + ant] = 0;  // all of them
  return recording;
}

BeamformPlan plan_of(const Case& c, const VoltageHeader& header) {
  BeamformPlan plan;
  plan.n_chan = c.n_chan;
  plan.n_ant = c.n_ant;
  plan.n_pol = c.n_pol;
  plan.n_beam = c.n_beam;
  for (std::size_t chan = 0; chan < c.n_chan; ++chan) plan.channel_hz.push_back(header.channel_freq_hz(chan));
  plan.circular = c.circular;
  plan.spectrum_s = header.sample_s;
  plan.product = c.product;
  plan.incoherent = c.incoherent;
  plan.n_integrate = c.n_integrate;
  plan.n_average = c.n_average;
  plan.scale = 0.5;
  plan.member.resize({c.n_beam, c.n_ant});
  plan.member.fill(1);
  if (c.n_beam > 1 && c.n_ant > 2) plan.member(1, 2) = plan.member(1, 0) = 0;
  if (c.weights) {
    plan.weights.resize({c.n_ant, c.n_pol, c.n_chan});
    plan.calibration.resize({c.n_ant, c.n_pol, c.n_chan});
    std::mt19937 random(5);
    std::uniform_real_distribution<double> part(-1, 1);
    for (auto& w : plan.weights.view()) w = {part(random), part(random)};
    for (auto& g : plan.calibration.view()) g = {part(random), part(random)};
  }
  return plan;
}

BeamformPlan copy_of(const BeamformPlan& plan) {
  BeamformPlan copy;
  copy.n_chan = plan.n_chan, copy.n_fine = plan.n_fine, copy.n_ant = plan.n_ant, copy.n_pol = plan.n_pol;
  copy.n_beam = plan.n_beam, copy.channel_hz = plan.channel_hz, copy.circular = plan.circular;
  copy.spectrum_s = plan.spectrum_s, copy.first_middle_s = plan.first_middle_s;
  copy.update_spectra = plan.update_spectra, copy.product = plan.product;
  copy.incoherent = plan.incoherent, copy.n_integrate = plan.n_integrate, copy.n_average = plan.n_average;
  copy.scale = plan.scale;
  const auto copied = [](auto& to, const auto& from) {
    to.resize(from.shape());
    std::copy(from.begin(), from.end(), to.begin());
  };
  copied(copy.member, plan.member);
  if (plan.weights.size() > 0) copied(copy.weights, plan.weights);
  if (plan.calibration.size() > 0) copied(copy.calibration, plan.calibration);
  return copy;
}

/// [beam][time][value] of a whole recording, in blocks of `block` spectra and gulps of `gulp` samples.
std::vector<std::vector<std::vector<float>>> run(const test::Recording& recording, const BeamformPlan& plan,
                                                 BeamDelaySource& delays, unsigned n_threads,
                                                 std::size_t block = 64, std::size_t gulp = 0,
                                                 std::size_t batch = 0) {
  BeamformPlan mine = copy_of(plan);
  mine.n_threads = n_threads;
  Channeliser channeliser(plan_channelise(recording.header, plan.n_fine, n_threads), nullptr);
  const auto beamformer = make_cpu_beamformer(std::move(mine), delays);
  std::vector<std::vector<std::vector<float>>> result(plan.n_beam);
  SpectraBlock spectra;
  BeamBlock out;
  std::int64_t next = 0;
  if (gulp == 0) gulp = recording.n_time;
  if (batch == 0) batch = plan.n_chan;
  for (std::size_t first = 0; first < recording.n_time; first += gulp) {
    const std::size_t n = std::min(gulp, recording.n_time - first);
    channeliser.append(recording.block(first, n));
    const bool last = first + n == recording.n_time;
    if (last) channeliser.end_of_stream();
    while (true) {
      const std::int64_t left = channeliser.available() - next;
      const auto take = std::min(left, static_cast<std::int64_t>(block));
      if (take <= 0 || (take < static_cast<std::int64_t>(block) && !last)) break;
      // poison what the beamformer must overwrite
      for (float& value : out.values.view()) value = 1e30f;
      beamformer->start(next, static_cast<std::size_t>(take), out);
      for (std::size_t chan = 0; chan < plan.n_chan; chan += batch) {
        channeliser.spectra(next, static_cast<std::size_t>(take), chan, std::min(batch, plan.n_chan - chan),
                            spectra);
        beamformer->add(spectra, out);
      }
      for (std::size_t beam = 0; beam < plan.n_beam; ++beam)
        for (std::size_t t = 0; t < out.n_time; ++t)
          result[beam].emplace_back(&out.values(beam, t, 0), &out.values(beam, t, 0) + out.values.extent(2));
      next += take;
    }
    channeliser.release(next);
  }
  return result;
}

reference::BeamSample sample_of(const test::Recording& recording, const BeamformPlan& plan,
                                const LinearDelays& delays, std::size_t beam, std::size_t t,
                                std::size_t chan) {
  std::vector<reference::BeamInput> inputs(plan.n_ant);
  for (std::size_t ant = 0; ant < plan.n_ant; ++ant) {
    reference::BeamInput& input = inputs[ant];
    input.valid = plan.member(beam, ant) != 0 && recording.is_valid(t, ant);
    const double t_s = plan.first_middle_s + static_cast<double>(t) * plan.spectrum_s;
    input.turns = plan.incoherent ? 0 : plan.channel_hz[chan] * delays.at(beam, ant, t_s);
    for (std::size_t pol = 0; pol < plan.n_pol; ++pol) {
      input.voltage[pol] = std::complex<double>(
          recording.samples[((t * plan.n_chan + chan) * plan.n_ant + ant) * plan.n_pol + pol]);
      if (plan.weights.size() > 0) input.weight[pol] = plan.weights(ant, pol, chan);
      if (plan.calibration.size() > 0) input.calibration[pol] = plan.calibration(ant, pol, chan);
    }
  }
  return plan.incoherent ? reference::incoherent_beam(inputs, plan.n_pol, plan.scale)
                         : reference::coherent_beam(inputs, plan.n_pol, plan.scale);
}

/// Largest difference over the RMS of all values.
double error_of(const test::Recording& recording, const BeamformPlan& plan, const LinearDelays& delays,
                const std::vector<std::vector<std::vector<float>>>& result) {
  double worst = 0, square = 0, n = 0;
  const std::size_t n_out = plan.n_chan / plan.n_average;
  BOOST_TEST(result[0].size() == recording.n_time / plan.n_integrate);
  for (std::size_t beam = 0; beam < plan.n_beam; ++beam)
    for (std::size_t time = 0; time < result[beam].size(); ++time)
      for (std::size_t out = 0; out < n_out; ++out) {
        std::array<double, 4> truth{};
        double count = 0;
        for (std::size_t t = time * plan.n_integrate; t < (time + 1) * plan.n_integrate; ++t)
          for (std::size_t chan = out * plan.n_average; chan < (out + 1) * plan.n_average; ++chan) {
            const auto s = sample_of(recording, plan, delays, beam, t, chan);
            if (plan.product == BeamProduct::voltage) {
              truth = {s.voltage[0].real(), s.voltage[0].imag(), s.voltage[1].real(), s.voltage[1].imag()};
              count = 1;
              continue;
            }
            if (!s.x_valid || (plan.n_pol == 2 && !s.y_valid)) continue;
            count += 1;
            const auto stokes = reference::stokes(s, plan.circular);
            if (plan.product == BeamProduct::power)
              truth[0] += plan.n_pol == 1 ? s.xx : stokes[0];
            else if (plan.product == BeamProduct::coherence)
              truth = {truth[0] + s.xx, truth[1] + s.yy, truth[2] + s.xy.real(), truth[3] + s.xy.imag()};
            else
              for (std::size_t i = 0; i < 4; ++i) truth[i] += stokes[i];
          }
        for (std::size_t value = 0; value < plan.n_value(); ++value) {
          const double wanted = count > 0 ? truth[value] / count : 0;
          const float got = plan.product == BeamProduct::voltage
                                ? result[beam][time][out * plan.n_value() + value]
                                : result[beam][time][value * n_out + out];
          if (count == 0) BOOST_TEST(got == 0.0f);
          worst = std::max(worst, std::isfinite(got) ? std::abs(got - wanted) : 1e30);
          square += wanted * wanted;
          n += 1;
        }
      }
  return worst / std::sqrt(square / n);
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_product_is_that_of_the_definition) {
  using enum BeamProduct;
  const Case cases[] = {
      {3, 5, 2, 3, voltage},
      {3, 5, 1, 3, voltage, false, 1, 1, true},
      {3, 5, 2, 3, voltage, false, 1, 1, true, true},
      {1, 1, 1, 1, voltage},
      {4, 33, 1, 17, power},
      {4, 33, 2, 5, power, false, 1, 2, true},
      {6, 9, 2, 4, power, false, 5, 3, true, true},
      {2, 9, 2, 4, power, false, 77, 1, true},
      {2, 9, 1, 35, power, false, 32, 1, false, true},
      {4, 7, 2, 3, iquv, false, 1, 1, true, true},
      {4, 7, 2, 3, iquv, false, 7, 4, true, true, true},
      {4, 7, 2, 3, coherence, false, 3, 1, true, true},
      {4, 7, 2, 2, power, true, 1, 1, true, true},
      {4, 7, 1, 2, power, true, 5, 2, true},
      {4, 7, 2, 2, iquv, true, 4, 1, true, true},
      {4, 7, 2, 2, coherence, true, 1, 1, true, true},
      {1, 16, 1, 16, power, false, 1, 1, false},
  };
  double worst = 0;
  for (const Case& c : cases) {
    const test::Recording recording = recording_of(c, 205);
    const BeamformPlan plan = plan_of(c, recording.header);
    LinearDelays delays;
    const double error = error_of(recording, plan, delays, run(recording, plan, delays, 2));
    // sums of up to 33 products in float32 of terms up to 4 RMS; measured: at most 3.1e-6
    BOOST_TEST(error < 6e-6, "product " << int(c.product) << " error " << error);
    worst = std::max(worst, error);
  }
  BOOST_TEST_MESSAGE("worst error over RMS " << worst);
}

BOOST_AUTO_TEST_CASE(threads_blocks_gulps_and_batches_change_no_byte) {
  using enum BeamProduct;
  for (const Case& c : {Case{6, 9, 2, 4, power, false, 45, 2, true, true}, Case{6, 20, 1, 33, voltage},
                        Case{6, 9, 2, 4, iquv, true, 3, 1, true}}) {
    const test::Recording recording = recording_of(c, 400);
    BeamformPlan plan = plan_of(c, recording.header);
    plan.update_spectra = 64;
    LinearDelays delays;
    delays.rate = 1e-9;
    const auto one = run(recording, plan, delays, 1);
    for (unsigned n_threads : {2u, 7u}) BOOST_TEST((run(recording, plan, delays, n_threads) == one));
    BOOST_TEST((run(recording, plan, delays, 2, 32, 40) == one));
    BOOST_TEST((run(recording, plan, delays, 2, 160, 64, 2) == one));
  }
}

BOOST_AUTO_TEST_CASE(a_source_of_flux_1_gives_1_and_noise_falls_with_the_antennas) {
  for (std::size_t n_ant : {1u, 2u, 32u}) {
    const Case c{4, n_ant, 1, 1, BeamProduct::power};
    test::Recording recording = recording_of(c, 256);
    BeamformPlan plan = plan_of(c, recording.header);
    plan.scale = 1;
    LinearDelays delays;
    const auto noise = run(recording, plan, delays, 1);
    double mean = 0;
    for (const auto& row : noise[0])
      for (float value : row) mean += value / 1024;
    // independent noise of power 2 in each antenna; 1024 samples scatter by 3 %
    BOOST_TEST(mean == 2.0 / double(n_ant), boost::test_tools::tolerance(0.15));
    for (std::size_t t = 0; t < 256; ++t)
      for (std::size_t chan = 0; chan < 4; ++chan)
        for (std::size_t ant = 0; ant < n_ant; ++ant)
          recording.at(t, chan, ant, 0) =
              std::complex<float>(std::polar(1.0, 2 * M_PI * plan.channel_hz[chan] * delays.at(0, ant, 0)));
    // N in voltage, so 1 after the division
    float least = 2, most = 0;
    const auto source = run(recording, plan, delays, 1);
    for (const auto& row : source[0])
      for (float value : row) least = std::min(least, value), most = std::max(most, value);
    BOOST_TEST((least > 1 - 1e-6 && most < 1 + 1e-6));
  }
}

BOOST_AUTO_TEST_CASE(a_moving_beam_keeps_its_phase) {
  const Case c{2, 3, 1, 2, BeamProduct::voltage};
  test::Recording recording = recording_of(c, 4000);
  BeamformPlan plan = plan_of(c, recording.header);
  plan.scale = 1;
  LinearDelays delays;
  delays.rate = 2e-9;
  plan.update_spectra = steering_interval(delays.rate, 150.5e6, plan.spectrum_s, 1e-3);
  BOOST_TEST(plan.update_spectra == 512);
  for (std::size_t t = 0; t < recording.n_time; ++t)
    for (std::size_t chan = 0; chan < 2; ++chan)
      for (std::size_t ant = 0; ant < 3; ++ant)
        recording.at(t, chan, ant, 0) = std::complex<float>(std::polar(
            1.0, 2 * M_PI * plan.channel_hz[chan] * delays.at(0, ant, double(t) * plan.spectrum_s)));
  double worst = 0;
  const auto result = run(recording, plan, delays, 2);
  for (const auto& row : result[0])
    for (std::size_t chan = 0; chan < 2; ++chan)
      worst = std::max(worst, std::abs(std::arg(std::complex<double>(row[2 * chan], row[2 * chan + 1]))));
  BOOST_TEST(worst < 1e-3);
  BOOST_TEST(worst > 1e-5);
}

BOOST_AUTO_TEST_CASE(steering_intervals_hold_their_bound) {
  BOOST_TEST(steering_interval(0, 1e9, 1e-6, 1e-3) == std::int64_t{1} << 40);
  BOOST_TEST(steering_interval(1, 1e9, 1, 1e-3) == 1);
  for (double rate : {1e-12, 3e-11, 1e-9}) {
    const std::int64_t n = steering_interval(rate, 150e6, 1e-4, 1e-3);
    BOOST_TEST(M_PI * 150e6 * rate * 1e-4 * double(n) <= 1e-3);
    BOOST_TEST(M_PI * 150e6 * rate * 1e-4 * double(2 * n) > 1e-3);
  }
  // intervals shorter than a tile cut it
  const Case c{1, 3, 1, 2, BeamProduct::voltage};
  const test::Recording recording = recording_of(c, 100);
  BeamformPlan plan = plan_of(c, recording.header);
  plan.update_spectra = 1;
  LinearDelays delays;
  delays.rate = 1e-5;
  BOOST_TEST(error_of(recording, plan, delays, run(recording, plan, delays, 1)) < 4e-6);
}

BOOST_AUTO_TEST_CASE(not_finite_samples_are_missing_in_their_channel) {
  const Case c{2, 3, 1, 1, BeamProduct::power};
  test::Recording recording = recording_of(c, 64);
  const BeamformPlan plan = plan_of(c, recording.header);
  VoltageBlock block = recording.block(0, 64);
  block.not_finite.resize({64, 2, 3});
  block.not_finite(5, 1, 2) = 1;
  block.samples_f32(5, 1, 2, 0, 0) = block.samples_f32(5, 1, 2, 0, 1) = 0;
  for (std::size_t ant = 0; ant < 3; ++ant) block.not_finite(6, 0, ant) = 1;
  Channeliser channeliser(plan_channelise(recording.header, 1, 1), nullptr);
  channeliser.append(block);
  SpectraBlock spectra;
  channeliser.spectra(0, 64, 0, 2, spectra);
  LinearDelays delays;
  const auto beamformer = make_cpu_beamformer(copy_of(plan), delays);
  BeamBlock out;
  beamformer->start(0, 64, out);
  beamformer->add(spectra, out);
  std::vector<reference::BeamInput> inputs(3);
  for (std::size_t ant = 0; ant < 3; ++ant) {
    inputs[ant].valid = ant != 2;
    inputs[ant].turns = plan.channel_hz[1] * delays.at(0, ant, 0);
    inputs[ant].voltage[0] = std::complex<double>(recording.at(5, 1, ant, 0));
  }
  BOOST_TEST(out.values(0, 5, 1) == reference::coherent_beam(inputs, 1, plan.scale).xx,
             boost::test_tools::tolerance(1e-5));
  BOOST_TEST(out.values(0, 6, 0) == 0.0f);
  BOOST_TEST(out.values(0, 6, 1) > 0.0f);
}

BOOST_AUTO_TEST_CASE(contradictions_are_refused) {
  LinearDelays delays;
  const Case c{2, 3, 1, 1, BeamProduct::power};
  const test::Recording recording = recording_of(c, 64);
  const auto refused = [&](auto change) {
    BeamformPlan plan = plan_of(c, recording.header);
    change(plan);
    BOOST_CHECK_THROW(make_cpu_beamformer(std::move(plan), delays), std::logic_error);
  };
  refused([](BeamformPlan& plan) { plan.n_beam = 0; });
  refused([](BeamformPlan& plan) { plan.n_average = 3; });
  refused([](BeamformPlan& plan) { plan.product = BeamProduct::iquv; });
  refused([](BeamformPlan& plan) { plan.product = BeamProduct::voltage, plan.n_integrate = 2; });
  refused([](BeamformPlan& plan) { plan.weights.resize({3, 1, 5}); });
  const auto beamformer = make_cpu_beamformer(plan_of(c, recording.header), delays);
  BeamBlock out;
  BOOST_CHECK_THROW(beamformer->start(32, 32, out), std::logic_error);
}

BOOST_AUTO_TEST_CASE(integer_samples_give_the_same_beams_as_floats) {
  // 21 inputs fill no panel and no four; tiles of one spectrum begin at odd ones
  for (const std::int64_t update : {kNeverSteered, std::int64_t{1}})
    for (const std::size_t n_ant : {7ul, 21ul, 32ul}) {
      const std::size_t n_pol = n_ant == 32 ? 1 : 2, n_time = 331, n_chan = 3;
      Case c{n_chan, n_ant, n_pol, 5, BeamProduct::power, false, 5};
      VoltageHeader header = test::voltage_header(n_chan, n_ant, n_pol, 1e6, 150e6);
      header.missing_samples = 8;
      VoltageBlock block;
      block.n_time = n_time;
      block.missing_samples = 8;
      block.samples_i8.resize({n_time, n_chan, n_ant, n_pol, 2});
      block.valid.resize({(n_time + 7) / 8, n_ant});
      std::mt19937 random(11);
      for (auto& sample : block.samples_i8.view())
        sample = static_cast<std::int8_t>(static_cast<int>(random() % 256) - 128);
      for (auto& valid : block.valid.view()) valid = random() % 5 != 0;
      std::vector<float> wanted;
      for (const bool codes : {false, true}) {
        BeamformPlan plan = plan_of(c, header);
        plan.update_spectra = update;
        LinearDelays delays;
        delays.rate = 1e-9;
        ChannelisePlan f = plan_channelise(header, 1, 2);
        f.codes = codes;
        Channeliser channeliser(f, nullptr);
        channeliser.append(block);
        channeliser.end_of_stream();
        const auto beamformer = make_cpu_beamformer(std::move(plan), delays);
        SpectraBlock spectra;
        std::vector<float> found;
        for (std::size_t first = 0; first < n_time; first += 96) {
          const std::size_t n = std::min<std::size_t>(96, n_time - first);
          BeamBlock out;
          beamformer->start(static_cast<std::int64_t>(first), n, out);
          channeliser.spectra(static_cast<std::int64_t>(first), n, 0, n_chan, spectra);
          BOOST_TEST(spectra.coded == codes);
          beamformer->add(spectra, out);
          found.insert(found.end(), out.values.begin(), out.values.end());
        }
        BOOST_TEST(found.size() == 5 * 66 * n_chan);
        if (codes) BOOST_CHECK(found == wanted);
        wanted = std::move(found);
      }
    }
}
