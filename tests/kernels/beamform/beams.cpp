// SPDX-License-Identifier: GPL-3.0-or-later
// The CPU beamformer against beams computed one spectrum at a time in float64.
#include <boost/test/unit_test.hpp>

#include "tests/kernels/beamform/beamform_setup.h"

using namespace apsyn;
using namespace apsyn::test;

BOOST_AUTO_TEST_SUITE(beams)

namespace {

/// Of a whole recording, in blocks of `block` spectra and gulps of `gulp` samples.
Beams run(const Recording& recording, const BeamformPlan& plan, BeamDelaySource& delays, unsigned n_threads,
          std::size_t block = 64, std::size_t gulp = 0, std::size_t batch = 0) {
  BeamformPlan mine = copy_of(plan);
  mine.n_threads = n_threads;
  const auto engine = make_beam_engine(
      std::make_shared<Channeliser>(plan_channelise(recording.header, plan.n_fine, n_threads), nullptr),
      std::move(mine), delays, block, batch > 0 ? batch : plan.n_chan);
  return beams_of(*engine, recording, gulp);
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
    const Recording recording = recording_of(c, 205);
    const BeamformPlan plan = plan_of(c, recording.header);
    LinearDelays delays;
    const double error = errors_of(recording, plan, delays, run(recording, plan, delays, 2)).worst;
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
    const Recording recording = recording_of(c, 400);
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

// Output times before the change are those of a run with the former gains, the others those of a run with the
// new ones.
BOOST_AUTO_TEST_CASE(gains_change_where_an_integration_and_a_tile_begin) {
  using enum BeamProduct;
  struct Change {
    Case c;
    std::size_t gulp,
        first_time;  ///< gains are given before the second gulp, and hold from this output time on
  };
  const Change changes[] = {
      {{4, 7, 2, 3, power, false, 32, 1, true, true}, 192, 6},
      {{4, 7, 2, 3, iquv, true, 32, 2, true}, 192, 6},
      {{4, 7, 2, 3, voltage, false, 1, 1, true}, 128, 128},
      {{4, 7, 2, 3, power, false, 24, 1, true}, 192, 8},   // 192 is a multiple of both
      {{4, 7, 2, 3, power, false, 24, 1, true}, 256, 12},  // and so is 288
  };
  for (const Change& change : changes) {
    const Recording recording = recording_of(change.c, 480);
    const BeamformPlan before = plan_of(change.c, recording.header);
    BeamformPlan after = copy_of(before);
    BeamGains gains = other_gains(before);
    after.calibration = std::move(gains.calibration);
    after.member = std::move(gains.member);
    LinearDelays delays;
    delays.rate = 1e-9;
    const Beams first = run(recording, before, delays, 2), second = run(recording, after, delays, 2);
    const auto engine =
        make_beam_engine(std::make_shared<Channeliser>(plan_channelise(recording.header, 1, 2), nullptr),
                         copy_of(before), delays, 64, before.n_chan);
    const Beams changed = beams_of(*engine, recording, change.gulp, [&](std::size_t sample) {
      if (sample == change.gulp) engine->set_gains(other_gains(before));
    });
    for (std::size_t beam = 0; beam < before.n_beam; ++beam) {
      BOOST_TEST(changed[beam].size() == first[beam].size());
      std::size_t n_different = 0;
      for (std::size_t time = 0; time < changed[beam].size(); ++time) {
        const bool is_new = time >= change.first_time;
        BOOST_TEST((changed[beam][time] == (is_new ? second : first)[beam][time]),
                   "time " << time << " of beam " << beam);
        n_different += first[beam][time] != second[beam][time];
      }
      BOOST_TEST(n_different > first[beam].size() / 2);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_source_of_flux_1_gives_1_and_noise_falls_with_the_antennas) {
  for (std::size_t n_ant : {1u, 2u, 32u}) {
    const Case c{4, n_ant, 1, 1, BeamProduct::power};
    Recording recording = recording_of(c, 256);
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
  Recording recording = recording_of(c, 4000);
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
  const Recording recording = recording_of(c, 100);
  BeamformPlan plan = plan_of(c, recording.header);
  plan.update_spectra = 1;
  LinearDelays delays;
  delays.rate = 1e-5;
  BOOST_TEST(errors_of(recording, plan, delays, run(recording, plan, delays, 1)).worst < 4e-6);
}

// Weights change four times a tile, by up to 0.3 rad, whether or not the range begins with a tile or an
// interval.
BOOST_AUTO_TEST_CASE(ranges_are_steered_as_the_whole_recording_is) {
  const Case c{2, 5, 1, 2, BeamProduct::voltage};
  const Recording all = recording_of(c, 200);
  BeamformPlan plan = plan_of(c, all.header);
  plan.update_spectra = 8;
  LinearDelays delays;
  delays.rate = 2e-5;
  const Beams whole = run(all, plan, delays, 1);
  const std::size_t per_time = all.samples.size() / all.n_time;
  for (const std::size_t first : {5, 21, 32, 64}) {
    Recording part(all.header, all.n_time - first);
    std::copy(all.samples.begin() + static_cast<std::ptrdiff_t>(first * per_time), all.samples.end(),
              part.samples.begin());
    BeamformPlan later = copy_of(plan);
    later.first_spectrum = static_cast<std::int64_t>(first);
    const Beams beams = run(part, later, delays, 1);
    double worst = 0;
    for (std::size_t beam = 0; beam < 2; ++beam) {
      BOOST_TEST_REQUIRE(beams[beam].size() == part.n_time);
      for (std::size_t t = 0; t < part.n_time; ++t)
        for (std::size_t i = 0; i < beams[beam][t].size(); ++i)
          worst = std::max(worst, std::abs(double(beams[beam][t][i]) - double(whole[beam][first + t][i])));
    }
    BOOST_TEST(worst < 1e-6, "from " << first << ": " << worst);  // rounding of times, of values about 0.3
  }
}

BOOST_AUTO_TEST_CASE(not_finite_samples_are_missing_in_their_channel) {
  const Case c{2, 3, 1, 1, BeamProduct::power};
  Recording recording = recording_of(c, 64);
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
  const Recording recording = recording_of(c, 64);
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

BOOST_AUTO_TEST_SUITE_END()
