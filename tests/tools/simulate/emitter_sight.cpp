// SPDX-License-Identifier: GPL-3.0-or-later
// What voltages ask of A-terms: matrices of each channel's centre, once for a slot, and the power that is
// left.
#include "tools/simulate/emitter_sight.h"

#include <boost/test/unit_test.hpp>
#include <set>

using namespace apsyn;

BOOST_AUTO_TEST_SUITE(emitter_sight)

namespace {

/// Two stations whose matrices tell what was asked for; slots of 10 s.
class Telling final : public AtermModel {
 public:
  std::size_t n_stations() const override { return 2; }
  std::int64_t slot_of(double time_mjd_s) const override {
    return static_cast<std::int64_t>(time_mjd_s / 10);
  }
  void evaluate(std::int64_t, double, const AtermGrid&, unsigned, View<std::complex<float>, 4>) override {}
  void evaluate_at(std::int64_t slot, double freq_hz, const SkyDirection&,
                   std::span<const SkyDirection> directions, unsigned,
                   View<std::complex<float>, 3> jones) override {
    asked_hz.insert(freq_hz);
    ++n_calls;
    for (std::size_t ant = 0; ant < 2; ++ant)
      for (std::size_t s = 0; s < directions.size(); ++s) {
        jones(ant, s, 0) = static_cast<float>(slot);
        jones(ant, s, 1) = static_cast<float>(directions[s].ra_rad);
        jones(ant, s, 2) = {0, static_cast<float>(ant)};
        jones(ant, s, 3) = 0;
      }
  }
  std::vector<std::string> warnings(const AtermGrid&, double) const override { return {}; }
  std::set<double> asked_hz;
  int n_calls = 0;
};

simulate::VoltageSetup two_channels() {
  simulate::VoltageSetup setup;
  setup.freq_hz = 150e6;
  setup.bandwidth_hz = 2e6;
  setup.n_chan = 2;
  setup.emitters = {{0, {0.25, -0.4}, 1.0}, {0, {0.5, -0.4}, 1.0}, {1, {0.75, -0.4}, 1.0}};
  return setup;
}

}  // namespace

BOOST_AUTO_TEST_CASE(matrices_are_those_of_channels_and_slots) {
  Telling model;
  EmitterSight sight(model, two_channels(), {}, 1);
  const auto first = sight.at(31), same = sight.at(39);
  BOOST_TEST(first == same);
  BOOST_TEST(model.n_calls == 2);
  BOOST_TEST((model.asked_hz == std::set<double>{149.5e6, 150.5e6}));
  BOOST_TEST((first->view().shape() == std::array<std::size_t, 4>{2, 2, 3, 4}));
  const auto next = sight.at(41);
  for (std::size_t chan = 0; chan < 2; ++chan)
    for (std::size_t s = 0; s < 3; ++s) {
      BOOST_TEST((*first)(chan, 1, s, 0) == 3.0f);  // blocks on their way keep theirs
      BOOST_TEST((*next)(chan, 1, s, 0) == 4.0f);
      BOOST_TEST((*next)(chan, 0, s, 1) == 0.25f * float(s + 1));
    }
}

BOOST_AUTO_TEST_CASE(what_is_received_is_the_mean_of_antennas_and_feeds) {
  Telling model;
  EmitterSight sight(model, two_channels(), {}, 1);
  const std::vector<double> received = sight.received(20);
  BOOST_TEST_REQUIRE(received.size() == 3u);
  for (std::size_t s = 0; s < 3; ++s) {
    const double ra = 0.25 * double(s + 1);
    BOOST_TEST(std::abs(received[s] - 0.5 * (4 + ra * ra + 0.5)) < 1e-6);
  }
  BOOST_TEST((model.asked_hz == std::set<double>{150e6}));
}

BOOST_AUTO_TEST_SUITE_END()
