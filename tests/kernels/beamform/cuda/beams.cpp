// SPDX-License-Identifier: GPL-3.0-or-later
// The CUDA beamformer against beams computed one spectrum at a time in float64.
#include <boost/test/unit_test.hpp>

#include "kernels/beamform/beam_engine.h"
#include "kernels/channelise/channelise_cuda.h"
#include "tests/kernels/beamform/beamform_setup.h"

using namespace apsyn;
using namespace apsyn::test;

BOOST_AUTO_TEST_SUITE(beams)

namespace {

/// How a recording travels; nothing of it may change a beam but by rounding.
struct Way {
  BeamPrecision precision = BeamPrecision::single;
  std::size_t block = 0;        ///< samples handed over at a time; 0 = all
  std::size_t gulp = 512;       ///< that travel to the device together
  std::size_t batch = 1 << 16;  ///< spectra, at most
  bool four_bit = false;
};

Beams run(const Recording& recording, const BeamformPlan& plan, BeamDelaySource& delays, const Way& way) {
  BeamformPlan mine = copy_of(plan);
  mine.n_threads = 2;
  CudaChannelisePlan cuda;
  cuda.f = plan_channelise(recording.header, plan.n_fine, 2);
  cuda.integer = recording.integer;
  cuda.four_bit = way.four_bit;
  cuda.gulp_samples = way.gulp;
  CudaBeamPlan beam_plan{way.precision, way.batch};
  if (way.precision != BeamPrecision::single && plan.n_fine > 1) {
    cuda.requantisation.n_bit = 8;
    beam_plan.scale_spectra = cuda.n_spectra = 640 / static_cast<std::int64_t>(plan.n_fine);
  }
  const auto engine =
      make_cuda_beam_engine(make_cuda_channeliser(cuda, nullptr, 0), std::move(mine), delays, 0, beam_plan);
  return beams_of(*engine, recording, way.block);
}

Recording integers_of(const Case& c, std::size_t n_time, int low, int high) {
  Recording recording = recording_of(c, n_time);
  recording.integer = true;
  std::mt19937 random(11);
  std::uniform_int_distribution<int> uniform(low, high);
  for (auto& sample : recording.samples)
    sample = {static_cast<float>(uniform(random)), static_cast<float>(uniform(random))};
  return recording;
}

/// RMS that rounding weights to a 127th of their largest gives beams of noise, over the beams' RMS: each part
/// of a weight is off by up to half of that, a third of it squared.
double rounding_of(const BeamformPlan& plan, double most = 127) {
  double error = 0, signal = 0;
  for (std::size_t beam = 0; beam < plan.n_beam; ++beam)
    for (std::size_t chan = 0; chan < plan.n_chan; ++chan)
      for (std::size_t pol = 0; pol < plan.n_pol; ++pol) {
        double largest = 0, square = 0, total = 0, n = 0;
        for (std::size_t ant = 0; ant < plan.n_ant; ++ant) {
          if (plan.member(beam, ant) == 0) continue;
          const double u = plan.weights.size() > 0 ? std::abs(plan.weights(ant, pol, chan)) : 1;
          const double w = plan.calibration.size() > 0 ? u * std::abs(plan.calibration(ant, pol, chan)) : u;
          largest = std::max(largest, w);
          square += w * w;
          total += u;
          n += 1;
        }
        signal += square / (total * total);
        error += n * largest * largest / most / most / 6 / (total * total);
      }
  return std::sqrt(error / signal);
}

/// Differences over the RMS of all values.
BeamError differences(const Beams& beams, const Beams& wanted) {
  BOOST_REQUIRE(beams.size() == wanted.size());
  double worst = 0, square = 0, difference = 0, n = 0;
  for (std::size_t beam = 0; beam < wanted.size(); ++beam) {
    BOOST_REQUIRE(beams[beam].size() == wanted[beam].size());
    for (std::size_t t = 0; t < wanted[beam].size(); ++t)
      for (std::size_t i = 0; i < wanted[beam][t].size(); ++i, n += 1) {
        const double off = std::abs(double(beams[beam][t][i]) - double(wanted[beam][t][i]));
        worst = std::isfinite(off) ? std::max(worst, off) : 1e30;
        difference += off * off;
        square += double(wanted[beam][t][i]) * double(wanted[beam][t][i]);
      }
  }
  BOOST_REQUIRE(n > 0);
  return {worst / std::sqrt(square / n), std::sqrt(difference / square)};
}

using enum BeamProduct;
const Case kCases[] = {
    {3, 5, 2, 3, voltage},
    {3, 5, 1, 3, voltage, false, 1, 1, true},
    {3, 5, 2, 3, voltage, false, 1, 1, true, true},
    {1, 1, 1, 1, voltage},
    {6, 70, 2, 41, voltage, false, 1, 1, true},
    {4, 33, 1, 17, power},
    {4, 33, 2, 5, power, false, 1, 2, true},
    {6, 9, 2, 4, power, false, 5, 3, true, true},
    {2, 9, 2, 4, power, false, 77, 1, true},
    {2, 9, 1, 35, power, false, 32, 1, false, true},
    {2, 65, 2, 70, power, false, 64, 2, false, false},
    {4, 7, 2, 3, iquv, false, 1, 1, true, true},
    {4, 7, 2, 3, iquv, false, 7, 4, true, true, true},
    {4, 7, 2, 3, iquv, false, 128, 1, false, true, true},
    {4, 7, 2, 3, coherence, false, 3, 1, true, true},
    {4, 130, 2, 9, coherence, false, 8, 1, false, true},
    {1, 16, 1, 16, power, false, 1, 1, false},
};
const Case kIncoherent[] = {
    {4, 7, 2, 2, power, true, 1, 1, true, true},
    {4, 7, 1, 2, power, true, 5, 2, true},
    {4, 37, 2, 9, iquv, true, 4, 1, true, true},
    {4, 7, 2, 2, coherence, true, 1, 1, true, true},
};

std::string describe(const Case& c) {
  return "chan " + std::to_string(c.n_chan) + " ant " + std::to_string(c.n_ant) + " pol " +
         std::to_string(c.n_pol) + " beam " + std::to_string(c.n_beam) + " product " +
         std::to_string(int(c.product)) + " integrate " + std::to_string(c.n_integrate) + " average " +
         std::to_string(c.n_average) + (c.missing ? " missing" : "") + (c.weights ? " weights" : "") +
         (c.incoherent ? " incoherent" : "");
}

void check_single(const Case& c, const Recording& recording) {
  const BeamformPlan plan = plan_of(c, recording.header);
  LinearDelays delays;
  const BeamError error = errors_of(recording, plan, delays, run(recording, plan, delays, {}));
  BOOST_TEST_MESSAGE("single: " << describe(c) << ": worst " << error.worst << " rms " << error.rms);
  BOOST_TEST(error.worst < 1e-5, describe(c) << " error " << error.worst);  // measured: 3.4e-6
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_product_in_float32_is_that_of_the_definition) {
  for (const Case& c : kCases) check_single(c, recording_of(c, 261));
  for (const Case& c : kIncoherent) check_single(c, recording_of(c, 261));
  for (const Case& c : kIncoherent) check_single(c, integers_of(c, 261, -8, 7));
}

BOOST_AUTO_TEST_CASE(weights_of_8_bits_err_by_their_rounding) {
  for (const bool four_bit : {false, true})
    for (const Case& c : kCases) {
      const Recording recording = integers_of(c, 261, four_bit ? -8 : -128, four_bit ? 7 : 127);
      const BeamformPlan plan = plan_of(c, recording.header);
      LinearDelays delays;
      Way way{BeamPrecision::half};
      way.four_bit = four_bit;
      const BeamError error = errors_of(recording, plan, delays, run(recording, plan, delays, way));
      const double expected = rounding_of(plan);
      BOOST_TEST_MESSAGE("half: " << describe(c) << ": rms " << error.rms << ", of rounding " << expected);
      // few antennas scatter; a power errs by twice its voltage's error, half the time
      BOOST_TEST(error.rms < (c.product == voltage ? 2 : 3) * expected, describe(c) << " " << error.rms);
      if (c.product == voltage && c.n_ant > 4) BOOST_TEST(error.rms > 0.5 * expected, describe(c));
    }
}

BOOST_AUTO_TEST_CASE(weights_of_16_bits_err_by_their_rounding) {
  for (const Case& c : kCases) {
    const Recording recording = integers_of(c, 261, -128, 127);
    const BeamformPlan plan = plan_of(c, recording.header);
    LinearDelays delays;
    const BeamError error =
        errors_of(recording, plan, delays, run(recording, plan, delays, {BeamPrecision::int16}));
    const double expected = rounding_of(plan, 127 * 256);
    BOOST_TEST_MESSAGE("int16: " << describe(c) << ": rms " << error.rms << ", of rounding " << expected);
    BOOST_TEST(error.rms < 3 * expected + 1e-6, describe(c) << " " << error.rms);  // and of float32
  }
}

BOOST_AUTO_TEST_CASE(pieces_change_nothing_but_rounding) {
  for (const Case& c : {Case{6, 9, 2, 4, power, false, 45, 2, true, true}, Case{6, 20, 1, 33, voltage},
                        Case{6, 9, 2, 4, iquv, true, 3, 1, true}, Case{3, 9, 2, 4, coherence, false, 256}}) {
    const Recording recording = integers_of(c, 1600, -100, 100);
    BeamformPlan plan = plan_of(c, recording.header);
    for (const std::int64_t update : {kNeverSteered, std::int64_t{256}, std::int64_t{16}}) {
      plan.update_spectra = update;
      plan.first_spectrum = 40;
      LinearDelays delays;
      delays.rate = 1e-9;
      for (const BeamPrecision precision : {BeamPrecision::single, BeamPrecision::half}) {
        if (precision == BeamPrecision::half && c.incoherent) continue;
        const Beams whole = run(recording, plan, delays, {precision, 0, 2048});
        for (const Way& way : {Way{precision, 40, 512}, Way{precision, 640, 200},
                               Way{precision, 0, 2048, 130}, Way{precision, 8, 128, 128}}) {
          const BeamError error = differences(run(recording, plan, delays, way), whole);
          BOOST_TEST_MESSAGE(describe(c) << " update " << update << ": " << error.worst);
          BOOST_TEST(error.worst < 1e-6, describe(c) << " update " << update);  // measured: 2.1e-7
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(moving_beams_are_steered_for_the_middle_of_their_stretch) {
  for (const std::int64_t update : {1, 4, 64, 512}) {
    const Case c{2, 9, 2, 3, voltage};
    const Recording recording = integers_of(c, 1500, -100, 100);
    BeamformPlan plan = plan_of(c, recording.header);
    plan.update_spectra = update;
    LinearDelays delays;
    // the phase moves by up to 2e-3 rad within a stretch
    delays.rate = 2e-3 / (2 * M_PI * 150e6 * plan.spectrum_s * double(update));
    for (const BeamPrecision precision : {BeamPrecision::single, BeamPrecision::half}) {
      const BeamError error =
          errors_of(recording, plan, delays, run(recording, plan, delays, {precision, 0, 2048}));
      BOOST_TEST_MESSAGE("update " << update << ": rms " << error.rms);
      // uniform within +-1e-3 rad: 5.8e-4 RMS at most
      const double moving = update > 1 ? 6e-4 : 2e-6;
      BOOST_TEST(error.rms < (precision == BeamPrecision::half ? 1.5 * rounding_of(plan) + moving : moving));
    }
  }
}

BOOST_AUTO_TEST_CASE(fine_channels_are_those_of_the_cpu) {
  for (const bool integer : {false, true})
    for (const Case& c : {Case{2, 9, 2, 5, power, false, 3, 4, true}, Case{2, 9, 2, 5, power, false, 3, 4},
                          Case{2, 70, 2, 33, voltage}}) {
      const Recording recording = integer ? integers_of(c, 2048, -100, 100) : recording_of(c, 2048);
      BeamformPlan plan = plan_of(c, recording.header);
      plan.n_fine = 16;
      const ChannelisePlan f = plan_channelise(recording.header, plan.n_fine, 2);
      plan.channel_hz = f.channel_hz();
      plan.spectrum_s *= 16;
      LinearDelays delays;
      BeamformPlan mine = copy_of(plan);
      mine.n_threads = 2;
      const auto cpu = make_beam_engine(std::make_shared<Channeliser>(f, nullptr), std::move(mine), delays,
                                        128, plan.n_chan);
      const Beams wanted = beams_of(*cpu, recording, 0);
      const BeamError error = differences(run(recording, plan, delays, {}), wanted);
      BOOST_TEST_MESSAGE("fine channels: " << describe(c) << ": worst " << error.worst);
      BOOST_TEST(error.worst < 1e-5);  // measured: 2.0e-6
      if (c.missing) continue;         // what is missing changes when requantising begins
      // one step of 24 to the RMS rounds by 0.29 of it, in either part
      const double rounding = std::hypot(rounding_of(plan), 1 / 24.0 / std::sqrt(12.0));
      const BeamError half = differences(run(recording, plan, delays, {BeamPrecision::half}), wanted);
      BOOST_TEST_MESSAGE("... of 8 bits: rms " << half.rms << ", of rounding " << rounding);
      BOOST_TEST(half.rms < 2 * rounding);
      BOOST_TEST(half.rms > 0.2 * rounding);
    }
}

BOOST_AUTO_TEST_SUITE_END()
