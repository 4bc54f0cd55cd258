// SPDX-License-Identifier: GPL-3.0-or-later
// Packed rows of weights say what the weights were, bit for bit, and rows that cannot be packed are refused.
#include "kernels/idg/partition/row_weights.h"

#include <bit>
#include <boost/test/unit_test.hpp>
#include <limits>
#include <random>
#include <vector>

using namespace apsyn::idg;

BOOST_AUTO_TEST_SUITE(row_weights)

namespace {

/// Rows of a value each, NaN and -0 among them, and rows of nothing; some channels have no data.
std::vector<float> flagged_rows(std::size_t n_rows, std::size_t n_chan, std::size_t n_planes) {
  std::mt19937 random(static_cast<unsigned>(n_chan * 8 + n_planes));
  std::vector<float> weight;
  for (std::size_t row = 0; row < n_rows; ++row) {
    const float value = row % 7 == 3   ? 0
                        : row % 7 == 4 ? -0.0f
                        : row % 7 == 5 ? std::numeric_limits<float>::quiet_NaN()
                                       : 0.5f + static_cast<float>(random() % 100);
    for (std::size_t chan = 0; chan < n_chan; ++chan)
      weight.insert(weight.end(), n_planes, row % 3 == 0 || random() % 4 != 0 ? value : 0);
  }
  return weight;
}

void check(std::size_t n_chan, std::size_t n_planes) {
  constexpr std::size_t n_rows = 42;
  const auto weight = flagged_rows(n_rows, n_chan, n_planes);
  const std::size_t n_words = row_weight_words(n_chan);
  std::vector<std::uint32_t> packed(n_rows * n_words, 0xdeadbeef);
  BOOST_REQUIRE(can_pack_rows(n_chan, n_planes));
  BOOST_REQUIRE(pack_row_weights(weight.data(), n_rows, n_chan, n_planes, packed.data()));
  std::size_t n_wrong = 0;
  for (std::size_t i = 0; i < weight.size(); ++i) {
    const std::size_t row = i / (n_chan * n_planes), chan = i / n_planes % n_chan;
    const std::uint32_t* from = packed.data() + row * n_words;
    const std::uint32_t got = from[1 + chan / 32] >> chan % 32 & 1 ? from[0] : 0;
    n_wrong += got != std::bit_cast<std::uint32_t>(weight[i]);
  }
  BOOST_CHECK_EQUAL(n_wrong, 0u);
}

}  // namespace

BOOST_AUTO_TEST_CASE(packed_rows_say_all) {
  for (std::size_t n_chan : {3, 16, 31, 32, 33, 64, 200})
    for (std::size_t n_planes : {1, 2, 4}) check(n_chan, n_planes);
}

BOOST_AUTO_TEST_CASE(other_rows_are_refused) {
  constexpr std::size_t n_rows = 3, n_chan = 40;
  for (std::size_t n_planes : {1, 2, 4}) {
    std::vector<std::uint32_t> packed(n_rows * row_weight_words(n_chan));
    for (std::size_t i = 0; i < n_rows * n_chan * n_planes; ++i) {
      std::vector<float> weight(n_rows * n_chan * n_planes, 2);
      weight[i] = 3;
      BOOST_CHECK(!pack_row_weights(weight.data(), n_rows, n_chan, n_planes, packed.data()));
      weight[i] = 0;  // of one plane alone
      BOOST_CHECK_EQUAL(pack_row_weights(weight.data(), n_rows, n_chan, n_planes, packed.data()),
                        n_planes == 1);
    }
  }
}

BOOST_AUTO_TEST_CASE(what_would_not_be_shorter_is_left) {
  for (std::size_t n_chan : {1, 2}) BOOST_CHECK(!can_pack_rows(n_chan, 4));
  BOOST_CHECK(!can_pack_rows(16, 3));
}

BOOST_AUTO_TEST_SUITE_END()
