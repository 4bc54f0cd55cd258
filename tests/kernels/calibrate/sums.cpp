// SPDX-License-Identifier: GPL-3.0-or-later
// Sums against the definition, in float64 and sample by sample.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <random>

#include "kernels/calibrate/sums.h"
#include "tests/support/calibration_set.h"

using namespace apsyn;

BOOST_AUTO_TEST_SUITE(sums)

namespace {

using Complex = std::complex<double>;

/// chi^2 of gains by baseline and product, from the samples.
Complex product_model(const reference::Jones& j_p, const reference::Jones& m, const reference::Jones& j_q,
                      std::size_t k) {
  Complex sum = 0;
  for (std::size_t c = 0; c < 2; ++c)
    for (std::size_t d = 0; d < 2; ++d)
      sum += j_p[k / 2 * 2 + c] * m[2 * c + d] * std::conj(j_q[k % 2 * 2 + d]);
  return sum;
}

CalibrationSet hostile_set(std::size_t n_products, ModelKind model, std::size_t n_channels) {
  std::mt19937_64 random(31);
  std::uniform_real_distribution<double> flat;
  const auto truth = random_gains(6, 31, 0.1);
  auto set = simulate_set(
      {.n_antennas = 6, .n_channels = n_channels, .n_steps = 5, .n_products = n_products, .model = model},
      same_gains(truth), [](std::size_t row, std::size_t chan, std::size_t product) {
        return 0.1f + static_cast<float>((row + 3 * chan + 5 * product) % 17);
      });
  const float nan = std::numeric_limits<float>::quiet_NaN(),
              infinity = std::numeric_limits<float>::infinity();
  for (auto& w : set.weight)
    if (flat(random) < 0.3) w = flat(random) < 0.5 ? 0.f : flat(random) < 0.5 ? -1.f : nan;
  for (auto& v : set.data)
    if (flat(random) < 0.1)
      v = flat(random) < 0.5 ? std::complex<float>(nan, 0) : std::complex<float>(0, infinity);
  for (auto& v : set.data)
    if (flat(random) < 0.02) v = {1e30f, 0};  // too large for its square
  for (std::size_t row = 0; row < set.n_rows(); row += 3) set.reverse(row);
  return set;
}

bool used(const CalibrationSet& set, std::size_t row, std::size_t chan, std::size_t product) {
  const float w = set.weight(row, chan, product);
  const auto v = set.data(row, chan, product);
  return set.station(row, 0) != set.station(row, 1) && w > 0 && std::isfinite(w) && std::isfinite(v.real()) &&
         std::isfinite(v.imag()) && std::abs(v) < 1e15;
}

}  // namespace

BOOST_AUTO_TEST_CASE(diagonal_sums_agree_with_the_definition) {
  // Blocks of one channel fill whole groups of lanes; of 40 channels some have no cross hands to be
  // monitored.
  struct Case {
    std::size_t n_channels, per_block;
  };
  for (const std::size_t n_products : {1, 2, 4})
    for (const auto [n_channels, per_block] : {Case{3, 2}, Case{21, 2}, Case{40, 1}}) {
      const auto set = hostile_set(n_products, ModelKind::diagonal, n_channels);
      const SetSums own(set, SumKind::diagonal, true, per_block, 2);
      const SumLayout& layout = own.cells[0].layout();
      // [step][block][hand][baseline][A re, A im, S, R, N].
      std::map<std::array<std::size_t, 4>, std::array<double, 5>> want;
      for (std::size_t row = 0; row < set.n_rows(); ++row)
        for (std::size_t chan = 0; chan < n_channels; ++chan)
          for (std::size_t product = 0; product < n_products; ++product) {
            if (!used(set, row, chan, product) || (n_products == 4 && (product == 1 || product == 2)))
              continue;
            const std::size_t p = set.station(row, 0), q = set.station(row, 1);
            const Complex v = set.data(row, chan, product), m = set.model(row, chan, product);
            const double w = set.weight(row, chan, product);
            const Complex a = w * v * std::conj(m);
            auto& sum = want[{set.cell(row), chan / per_block, n_products == 4 ? product / 3 : product,
                              baseline_index(std::min(p, q), std::max(p, q), 6)}];
            const double terms[] = {a.real(), p < q ? a.imag() : -a.imag(), w * std::norm(m),
                                    w * std::norm(v), 1};
            for (std::size_t k = 0; k < 5; ++k) sum[k] += terms[k];
          }
      std::size_t n_found = 0;
      for (std::size_t step = 0; step < 5; ++step)
        for (std::size_t block = 0; block < layout.n_blocks; ++block)
          for (std::size_t hand = 0; hand < layout.n_polarisations(); ++hand)
            for (std::size_t b = 0; b < 15; ++b) {
              const auto found = want.find({step, block, hand, b});
              const std::size_t lane = block * layout.n_polarisations() + hand;
              for (std::size_t k = 0; k < 5; ++k) {
                const double got = own.cells[step].recent()(lane / kLanes, b, k, lane % kLanes);
                const double expected = found == want.end() ? 0 : found->second[k];
                // Terms of up to about 100, rounded to 2^-24 some times.
                BOOST_CHECK_SMALL(got - expected, 1e-4);
              }
              n_found += found != want.end();
            }
      BOOST_CHECK_EQUAL(n_found, want.size());
    }
}

BOOST_AUTO_TEST_CASE(chi2_of_any_gains_follows_from_combined_sums) {
  // chi^2 of known gains times J = 1 is R - 2 A + S of the combined sums; with known gains that differ from
  // step to step and block to block, added up to fewer blocks.
  const auto set = hostile_set(4, ModelKind::general, 10);
  const SetSums own(set, SumKind::jones_general, true, 1);
  std::vector<KnownGains> known(5);
  std::vector<const KnownGains*> pointers;
  std::mt19937_64 random(32);
  std::normal_distribution<float> gauss;
  const auto other = random_gains(6, 33, 0.5);
  std::vector<std::size_t> first, second;  // antennas of the baselines
  for (std::size_t p = 0; p < 6; ++p)
    for (std::size_t q = p + 1; q < 6; ++q) {
      first.push_back(p);
      second.push_back(q);
    }
  for (std::size_t n_known : {1, 2, 4}) {
    pointers.clear();
    for (auto& k : known) {
      k.value.resize({10, 6, n_known});
      for (auto& value : k.value) {
        const float re = gauss(random), im = gauss(random);
        value = {re, im};
      }
      pointers.push_back(&k);
    }
    // An antenna without gains in one step leaves with all its samples.
    known[2].value(3, 4, 0) = std::numeric_limits<float>::quiet_NaN();
    if (n_known == 2) known[2].value(3, 4, 1) = std::numeric_limits<float>::quiet_NaN();
    std::vector<std::uint32_t> block(10);
    for (std::uint32_t b = 0; b < 10; ++b) block[b] = b == 9 ? kNoBlock : b / 4;
    const SlotCells slot{own.pointers, pointers, block, 3};
    const CalibrationSums sums = combine(slot, SumKind::jones_general, {}, 2);
    std::array<double, 3> want{}, got{};
    double n_want = 0;
    for (std::size_t row = 0; row < set.n_rows(); ++row)
      for (std::size_t chan = 0; chan < 9; ++chan) {
        const std::size_t p = set.station(row, 0), q = set.station(row, 1), step = set.cell(row);
        const auto matrix = [&](std::size_t antenna) {
          const auto& k = known[step].value;
          reference::Jones j{};
          if (n_known == 4)
            for (std::size_t i = 0; i < 4; ++i) j[i] = k(chan, antenna, i);
          else
            j = {Complex(k(chan, antenna, 0)), 0, 0, Complex(k(chan, antenna, n_known - 1))};
          const reference::Jones& own = other[antenna];
          const reference::Jones &x = n_known == 4 ? own : j, &y = n_known == 4 ? j : own;
          return reference::Jones{x[0] * y[0] + x[1] * y[2], x[0] * y[1] + x[1] * y[3],
                                  x[2] * y[0] + x[3] * y[2], x[2] * y[1] + x[3] * y[3]};
        };
        reference::Jones m{};
        for (std::size_t k = 0; k < 4; ++k) m[k] = set.model(row, chan, k);
        if (step == 2 && chan == 3 && (p == 4 || q == 4)) continue;
        for (std::size_t k = 0; k < 4; ++k) {
          if (!used(set, row, chan, k)) continue;
          want[chan / 4] += set.weight(row, chan, k) * std::norm(Complex(set.data(row, chan, k)) -
                                                                 product_model(matrix(p), m, matrix(q), k));
          n_want += 1;
        }
      }
    for (std::size_t b = 0; b < 3; ++b)
      for (std::size_t baseline = 0; baseline < 15; ++baseline)
        for (std::size_t k = 0; k < 4; ++k) {
          const auto at = [&](std::size_t c) { return double{sums.recent()(0, baseline, k * 26 + c, b)}; };
          got[b] += at(24);
          const auto t = [&](std::size_t e) {
            return other[first[baseline]][k / 2 * 2 + e / 2] *
                   std::conj(other[second[baseline]][k % 2 * 2 + e % 2]);
          };
          for (std::size_t e = 0, pair = 12; e < 4; ++e) {
            got[b] += -2 * (std::conj(t(e)) * Complex(at(2 * e), at(2 * e + 1))).real() +
                      std::norm(t(e)) * at(8 + e);
            for (std::size_t f = e + 1; f < 4; ++f, pair += 2)
              got[b] += 2 * (t(e) * Complex(at(pair), at(pair + 1)) * std::conj(t(f))).real();
          }
        }
    for (std::size_t b = 0; b < 3; ++b) BOOST_CHECK_CLOSE(got[b], want[b], 1e-3);
    BOOST_CHECK_EQUAL(sums.n_samples(), n_want);
    // The parallel hands of the same.
    const CalibrationSums hands = combine(slot, SumKind::diagonal, {}, 1);
    for (std::size_t baseline = 0; baseline < 15; ++baseline)
      for (std::size_t b = 0; b < 3; ++b)
        for (std::size_t hand = 0; hand < 2; ++hand)
          for (std::size_t c = 0; c < 5; ++c) {
            const std::size_t from[] = {6 * hand, 6 * hand + 1, 8 + 3 * hand, 24, 25};
            BOOST_CHECK_EQUAL(hands.recent()(0, baseline, c, 2 * b + hand),
                              sums.recent()(0, baseline, 3 * hand * 26 + from[c], b));
          }
  }
}

BOOST_AUTO_TEST_CASE(the_fit_of_known_gains_is_that_of_the_samples) {
  for (const std::size_t n_products : {1, 2, 4}) {
    const auto set = hostile_set(n_products, ModelKind::diagonal, 3);
    const SetSums own(set, SumKind::diagonal, true, 3);
    const std::size_t n_hands = n_products == 1 ? 1 : 2;
    std::vector<KnownGains> known(5);
    std::vector<const KnownGains*> pointers;
    std::mt19937_64 random(34);
    std::normal_distribution<float> gauss;
    for (auto& k : known) {
      k.value.resize({1, 6, n_hands});
      for (auto& value : k.value) {
        const float re = gauss(random), im = gauss(random);
        value = {re, im};
      }
      pointers.push_back(&k);
    }
    known[1].value(0, 2, 0) = std::numeric_limits<float>::quiet_NaN();  // its samples leave
    const ModelFit fit = fit_model({own.pointers, pointers, {0}, 1}, 2);
    for (const double scale : {1.0, 0.5}) {
      double want = 0, power = 0;
      std::size_t n_want = 0;
      for (std::size_t row = 0; row < set.n_rows(); ++row)
        for (std::size_t chan = 0; chan < 3; ++chan)
          for (std::size_t k = 0; k < n_products; ++k) {
            if (!used(set, row, chan, k) || (n_products == 4 && (k == 1 || k == 2))) continue;
            const std::size_t p = set.station(row, 0), q = set.station(row, 1), step = set.cell(row),
                              hand = n_products == 4 ? k / 3 : k;
            if (step == 1 && hand == 0 && (p == 2 || q == 2)) continue;
            const Complex g = Complex(known[step].value(0, p, hand)) *
                              std::conj(Complex(known[step].value(0, q, hand))),
                          v = set.data(row, chan, k), m = set.model(row, chan, k);
            want += set.weight(row, chan, k) * std::norm(v - scale * g * m);
            power += set.weight(row, chan, k) * std::norm(v);
            ++n_want;
          }
      // Sums of float32, of terms that may cancel.
      BOOST_CHECK_SMALL(fit.chi2(scale) - want, 1e-5 * (power + want));
      BOOST_CHECK_EQUAL(fit.n_samples, static_cast<double>(n_want));
    }
    BOOST_CHECK_GT(fit.n_baselines, 0u);
    BOOST_CHECK_LE(fit.n_baselines, 15 * n_hands);
  }
}

BOOST_AUTO_TEST_CASE(models_of_fewer_products_are_those_of_more) {
  auto set = hostile_set(4, ModelKind::unpolarised, 5);
  Buffer<std::complex<float>, 3> one({set.n_rows(), 5, 1}), two({set.n_rows(), 5, 2});
  for (std::size_t row = 0; row < set.n_rows(); ++row)
    for (std::size_t chan = 0; chan < 5; ++chan) {
      one(row, chan, 0) = two(row, chan, 0) = set.model(row, chan, 0);
      two(row, chan, 1) = set.model(row, chan, 3);
    }
  for (const SumKind kind :
       {SumKind::diagonal, SumKind::jones_unpolarised, SumKind::jones_diagonal, SumKind::jones_general}) {
    const SetSums full(set, kind, false, 2);
    for (auto* model : {&one, &two}) {
      CalibrationSums other(full.cells[0].layout());
      CalibrationSums* const to[] = {&other};
      CalibrationSamples samples = set.samples();
      Buffer<std::uint32_t, 1> zero({set.n_rows()});
      samples.cell = zero;
      samples.model = *model;
      add_samples(samples, to, 1);
      for (std::size_t i = 0; i < other.recent().size(); ++i)
        BOOST_REQUIRE_SMALL(other.recent().data()[i] - full.cells[0].recent().data()[i], 1e-5f);
    }
  }
}

BOOST_AUTO_TEST_CASE(rows_in_any_order_add_up_to_the_same_sums) {
  // Each baseline has one row in a cell: the order of rows changes no bit. In the order of baselines, in the
  // opposite one, and in that of two baselines that lie far from each other.
  const auto set = simulate_set({.n_antennas = 80, .n_channels = 3, .n_steps = 1}, [](auto, auto, auto) {
    return reference::Jones{1, 0, 0, 1};
  });
  const auto sums_of = [&](const std::vector<std::size_t>& rows) {
    CalibrationSet part;
    const auto take = [&](auto& to, const auto& from) {
      auto shape = from.shape();
      shape[0] = rows.size();
      to.resize(shape);
      const std::size_t n = from.size() / from.shape()[0];
      for (std::size_t i = 0; i < rows.size(); ++i)
        std::copy_n(from.data() + rows[i] * n, n, to.data() + i * n);
    };
    take(part.station, set.station);
    take(part.data, set.data);
    take(part.model, set.model);
    take(part.weight, set.weight);
    take(part.cell, set.cell);
    SumLayout layout;
    layout.n_antennas = 80;
    layout.n_products = 4;
    layout.block = {0, 1, 2};
    layout.n_blocks = 3;
    CalibrationSums sums(layout);
    CalibrationSums* const to[] = {&sums};
    add_samples(part.samples(), to, 2);
    return sums;
  };
  std::vector<std::size_t> all(set.n_rows()), ends{set.n_rows() - 2, 1};
  std::iota(all.begin(), all.end(), std::size_t{0});
  const std::vector<std::size_t> opposite(all.rbegin(), all.rend());
  const CalibrationSums straight = sums_of(all), reversed = sums_of(opposite), of_ends = sums_of(ends);
  BOOST_CHECK(std::equal(straight.recent().begin(), straight.recent().end(), reversed.recent().begin()));
  BOOST_CHECK_EQUAL(straight.n_samples(3), 6.0 * 80 * 79 / 2);
  // Baselines (0, 1) and (78, 79), the first and the last.
  const std::size_t n_baselines = 80 * 79 / 2;
  for (std::size_t b = 0; b < n_baselines; ++b)
    BOOST_REQUIRE_EQUAL(of_ends.recent()(0, b, 4, 0), b == 0 || b + 1 == n_baselines ? 1.f : 0.f);
}

BOOST_AUTO_TEST_CASE(sums_that_are_reset_are_as_new) {
  const auto large = hostile_set(4, ModelKind::general, 40), small = hostile_set(2, ModelKind::diagonal, 3);
  SetSums full(large, SumKind::jones_general, false, 1);
  const SetSums other(small, SumKind::diagonal, false, 1), again(large, SumKind::diagonal, false, 1);
  CalibrationSums& sums = full.cells[0];
  sums.promote();
  const std::uint64_t before = sums.layout().bytes();
  for (const SetSums* next : {&other, &again}) {
    const SumLayout& layout = next->cells[0].layout();
    const CalibrationSet& set = next == &other ? small : large;
    for (const unsigned n_threads : {1u, 3u}) {
      sums.reset(layout, n_threads);
      BOOST_CHECK(sums.recent().shape() == next->cells[0].recent().shape());
      BOOST_CHECK_EQUAL(sums.promoted().size(), 0u);
      BOOST_CHECK_EQUAL(sums.bytes(), before);
      for (const float sum : sums.recent()) BOOST_REQUIRE_EQUAL(sum, 0.f);
      CalibrationSums* const to[] = {&sums};
      Buffer<std::uint32_t, 1> zero({set.n_rows()});
      CalibrationSamples samples = set.samples();
      samples.cell = zero;
      add_samples(samples, to, n_threads);
      BOOST_CHECK(std::equal(sums.recent().begin(), sums.recent().end(), next->cells[0].recent().begin()));
    }
  }
}

BOOST_AUTO_TEST_CASE(a_single_cell_is_its_own_slot) {
  const auto set = hostile_set(2, ModelKind::diagonal, 5);
  SetSums one(set, SumKind::diagonal, false, 1);
  const SetSums steps(set, SumKind::diagonal, true, 1);
  CalibrationSums memory;
  BOOST_CHECK_EQUAL(&slot_sums(one.slot(), SumKind::diagonal, 2, memory), &one.cells[0]);
  BOOST_CHECK_EQUAL(memory.bytes(), 0u);
  const auto check_combined = [&](const SlotCells& slot) {
    BOOST_CHECK_EQUAL(&slot_sums(slot, SumKind::diagonal, 2, memory), &memory);
    const CalibrationSums wanted = combine(slot, SumKind::diagonal, {}, 1);
    BOOST_CHECK(std::equal(wanted.recent().begin(), wanted.recent().end(), memory.recent().begin()));
  };
  check_combined(steps.slot());
  check_combined(one.joined());
  KnownGains known;
  known.value.resize({5, 6, 1});
  known.value.fill({0.5f, 2});
  const KnownGains* const of_cell[] = {&known};
  SlotCells turned = one.slot();
  turned.known = of_cell;
  check_combined(turned);
  one.cells[0].promote();
  check_combined(one.slot());
}

BOOST_AUTO_TEST_CASE(the_best_connected_antenna_has_the_most_signal_in_all_channels) {
  // 20 channels of two hands are three groups of lanes; in the last one another antenna has more signal.
  const auto truth = random_gains(12, 37);
  for (const std::size_t best : {std::size_t{0}, std::size_t{7}, std::size_t{11}}) {
    const auto set = simulate_set(
        {.n_antennas = 12, .n_channels = 20, .noise = 2}, [&](std::size_t p, std::size_t chan, std::size_t) {
          return p == (chan < 16 ? best : (best + 1) % 12) ? reference::Jones{3, 0, 0, 3} : truth[p];
        });
    const SetSums own(set, SumKind::diagonal, false, 1);
    for (const unsigned n_threads : {1u, 2u, 5u})
      BOOST_CHECK_EQUAL(best_connected(own.pointers, n_threads), best);
  }
}

BOOST_AUTO_TEST_CASE(rows_of_a_baseline_are_counted_wherever_they_come) {
  // Rows of two baselines take turns: 3000 of each stay in float32, 3000 more do not.
  const std::size_t n_rows = 6000;
  Buffer<std::uint32_t, 2> station({n_rows, 2});
  Buffer<std::uint32_t, 1> cell({n_rows});
  Buffer<std::complex<float>, 3> data({n_rows, 1, 1}), model({n_rows, 1, 1});
  Buffer<float, 3> weight({n_rows, 1, 1});
  model.fill(1);
  weight.fill(1);
  for (std::size_t row = 0; row < n_rows; ++row) {
    station(row, 1) = 1 + row % 2;
    data(row, 0, 0) = static_cast<float>(1 + row % 2);
  }
  SumLayout layout;
  layout.n_antennas = 3;
  layout.n_products = 1;
  layout.block = {0};
  layout.n_blocks = 1;
  CalibrationSums sums(layout);
  CalibrationSums* const to[] = {&sums};
  add_samples({station, data, weight, model, cell}, to, 2);
  BOOST_CHECK_EQUAL(sums.promoted().size(), 0u);
  BOOST_CHECK_EQUAL(sums.recent()(0, 0, 0, 0), 3000.f);
  BOOST_CHECK_EQUAL(sums.recent()(0, 1, 0, 0), 6000.f);
  add_samples({station, data, weight, model, cell}, to, 2);
  BOOST_CHECK_GT(sums.promoted().size(), 0u);
}

BOOST_AUTO_TEST_CASE(long_series_keep_their_precision) {
  // 3 x 20000 rows of one baseline: float32 alone would lose 1 of 1e5 or more.
  const std::size_t n_rows = 20000;
  Buffer<std::uint32_t, 2> station({n_rows, 2});
  Buffer<std::uint32_t, 1> cell({n_rows});
  Buffer<std::complex<float>, 3> data({n_rows, 1, 1}), model({n_rows, 1, 1});
  Buffer<float, 3> weight({n_rows, 1, 1});
  for (std::size_t row = 0; row < n_rows; ++row) {
    station(row, 1) = 1;
    data(row, 0, 0) = {0.7f, -0.1f};
    model(row, 0, 0) = 1.1f;
    weight(row, 0, 0) = 1;
  }
  SumLayout layout;
  layout.n_antennas = 2;
  layout.n_products = 1;
  layout.block = {0};
  layout.n_blocks = 1;
  CalibrationSums sums(layout);
  CalibrationSums* const to[] = {&sums};
  const std::uint64_t before = sums.bytes();
  BOOST_CHECK_EQUAL(before, layout.bytes());
  for (int i = 0; i < 3; ++i) add_samples({station, data, weight, model, cell}, to, 1);
  BOOST_CHECK_EQUAL(sums.bytes(), 3 * before);
  const double n = 3.0 * n_rows, wanted[] = {n * 0.7f * 1.1f, n * -0.1f * 1.1f, n * 1.1f * 1.1f};
  for (std::size_t c = 0; c < 3; ++c) {
    const double sum = sums.recent()(0, 0, c, 0) + sums.promoted()(0, 0, c, 0);
    BOOST_CHECK_CLOSE(sum, wanted[c], 5e-4);
  }
  BOOST_CHECK_EQUAL(sums.n_samples(), n);
  const std::vector<const CalibrationSums*> cells{&sums};
  BOOST_CHECK_CLOSE(double{combine({cells, {}, {0}, 1}, SumKind::diagonal, {}, 1).recent()(0, 0, 0, 0)},
                    wanted[0], 1e-4);
}

BOOST_AUTO_TEST_CASE(weights_of_rows_multiply_all_but_the_count) {
  const auto set = hostile_set(2, ModelKind::unpolarised, 3);
  const SetSums own(set, SumKind::diagonal, true, 3);
  Buffer<float, 2> weight({5, 15});
  for (std::size_t i = 0; i < weight.size(); ++i) weight.data()[i] = static_cast<float>(i % 4);
  const auto sums = combine(own.slot(), SumKind::diagonal, weight, 1);
  for (std::size_t b = 0; b < 15; ++b)
    for (std::size_t c = 0; c < 5; ++c)
      for (std::size_t lane = 0; lane < 2; ++lane) {
        double want = 0;
        for (std::size_t step = 0; step < 5; ++step)
          want += (c == 4 ? 1.0 : double{weight(step, b)}) * own.cells[step].recent()(0, b, c, lane);
        BOOST_CHECK_SMALL(sums.recent()(0, b, c, lane) - want, 1e-3);
      }
}

BOOST_AUTO_TEST_CASE(wrong_shapes_are_refused) {
  const auto set = hostile_set(2, ModelKind::unpolarised, 3);
  const SetSums own(set, SumKind::diagonal, false, 3);
  SumLayout layout = own.cells[0].layout();
  BOOST_CHECK_THROW((SetSums(set, SumKind::jones_unpolarised, false, 3)), std::invalid_argument);
  layout.n_antennas = 5;
  CalibrationSums small(layout);
  CalibrationSums* const to[] = {&small};
  Buffer<std::uint32_t, 1> zero({set.n_rows()});
  CalibrationSamples samples = set.samples();
  samples.cell = zero;
  BOOST_CHECK_THROW(add_samples(samples, to, 1), std::invalid_argument);
  BOOST_CHECK_THROW(add_samples(set.samples(), to, 1), std::invalid_argument);
  layout.n_antennas = 6;
  layout.block = {0, 0, 1};
  BOOST_CHECK_THROW(layout.check(), std::invalid_argument);
}

BOOST_AUTO_TEST_SUITE_END()
