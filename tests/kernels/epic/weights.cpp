// SPDX-License-Identifier: GPL-3.0-or-later
// Pairs of valid antennas counted by the weights of images against a literal count.
#include "kernels/epic/weights.h"

#include <boost/test/unit_test.hpp>

#include <vector>

using namespace apsyn;

BOOST_AUTO_TEST_SUITE(weights)

// Other antennas are missing in either of two input channels, of which each makes two channels of spectra and
// one of the images.
BOOST_AUTO_TEST_CASE(channels_count_the_pairs_of_their_own_antennas) {
  constexpr std::size_t n_ant = 5, n_spectra = 3;
  for (const bool autos : {false, true}) {
    EpicPlan plan;
    plan.n_chan = 4;
    plan.n_fine = 2;
    plan.n_average = 2;
    plan.n_ant = n_ant;
    plan.flagged = {0, 0, 1, 0, 0};
    plan.autos = autos;
    SpectraBlock block;
    block.first_chan = 1;
    block.n_chan = 2;
    block.n_fine = 2;
    block.n_spectra = n_spectra;
    block.all_valid = false;
    block.valid.resize({2, n_ant, n_spectra});
    for (std::size_t chan = 0; chan < 2; ++chan)
      for (std::size_t ant = 0; ant < n_ant; ++ant)
        for (std::size_t t = 0; t < n_spectra; ++t)
          block.valid(chan, ant, t) = chan == 0 ? ant != 4 && (ant != 1 || t == 0) : ant != 0 || t < 2;
    EpicWeights weights(plan);
    weights.start();
    weights.add(block);
    for (std::size_t image = 0; image < 4; ++image) {
      std::int64_t pairs = 0, full = 0;
      for (std::size_t fine = 0; fine < 2 && image >= 1 && image < 3; ++fine)
        for (std::size_t t = 0; t < n_spectra; ++t)
          for (std::size_t i = 0; i < n_ant; ++i)
            for (std::size_t j = 0; j < n_ant; ++j) {
              if (i == 2 || j == 2 || (i == j && !autos)) continue;
              ++full;
              pairs += block.valid(image - 1, i, t) != 0 && block.valid(image - 1, j, t) != 0;
            }
      BOOST_TEST(weights.pairs(image) == pairs);
      BOOST_TEST(weights.share(image) == (full == 0 ? 0 : double(pairs) / double(full)));
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
