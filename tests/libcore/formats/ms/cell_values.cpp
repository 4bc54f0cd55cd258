// SPDX-License-Identifier: GPL-3.0-or-later
// Values of cells that stay as they are between a set and weights, and those among them that do not.
#include "libcore/formats/ms/cell_values.h"

#include <casacore/casa/Arrays/Matrix.h>
#include <casacore/casa/Arrays/Vector.h>
#include <casacore/tables/Tables/ArrayColumn.h>
#include <casacore/tables/Tables/ScalarColumn.h>

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/libcore/formats/ms/ms_observation.h"
#include "tests/libcore/formats/ms/set_columns.h"

using namespace apsyn;
using namespace apsyn::test;

BOOST_AUTO_TEST_SUITE(cell_values)

namespace {

constexpr float kInf = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();
/// Not usual, among 1.
const std::vector<float> kOdd{kNan,
                              -kNan,
                              kInf,
                              -kInf,
                              -1.0f,
                              0.0f,
                              -0.0f,
                              std::numeric_limits<float>::max(),
                              std::numeric_limits<float>::lowest(),
                              std::numeric_limits<float>::denorm_min(),
                              -std::numeric_limits<float>::denorm_min()};

bool is_weight(float w) {
  return std::isfinite(w) && w > 0;
}
bool same_bits(float a, float b) {
  return std::memcmp(&a, &b, sizeof a) == 0;
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_place_of_a_vector_is_looked_at) {
  for (const std::size_t n : {1u, 3u, 8u, 31u, 64u, 77u})
    for (std::size_t at = 0; at < n; ++at)
      for (const float odd : kOdd) {
        std::vector<float> values(n, 1.0f);
        values[at] = odd;
        BOOST_TEST(are_finite(values.data(), n) == std::isfinite(odd));
        BOOST_TEST(are_weights(values.data(), n) == (is_weight(odd) || same_bits(odd, 0.0f)));
        std::vector<std::uint8_t> flag(n, 0), zero(n, 7);
        flag[(at + 1) % n] = 1;
        std::vector<float> masked = values;
        mask_weights(flag.data(), n, masked.data());
        for (std::size_t i = 0; i < n; ++i)
          BOOST_TEST(same_bits(masked[i], flag[i] == 0 && is_weight(values[i]) ? values[i] : 0.0f));
        flag_zeros(masked.data(), n, zero.data());
        for (std::size_t i = 0; i < n; ++i) BOOST_TEST(zero[i] == (masked[i] == 0 ? 1 : 0));
      }
}

BOOST_AUTO_TEST_CASE(cells_are_masked_at_every_place) {
  int n_wrong = 0;
  for (const std::size_t n : {1u, 7u, 8u, 9u, 33u})
    for (std::size_t at = 0; at < n; ++at)
      for (const float odd : kOdd)
        for (int what = 0; what < 4; ++what) {
          std::vector<std::complex<float>> values(n);
          for (std::size_t i = 0; i < n; ++i) values[i] = {static_cast<float>(i), -2.0f};
          std::vector<float> weight(n, 3.0f);
          std::vector<std::uint8_t> flag(n, 0);
          if (what == 0) values[at].real(odd);
          if (what == 1) values[at].imag(odd);
          if (what == 2) weight[at] = odd;
          if (what == 3) flag[at] = 1;
          for (const bool keep : {false, true}) {
            std::vector<std::complex<float>> masked(n), there = values;
            std::vector<float> masked_weight(n), weight_there = weight;
            const auto mask = keep ? mask_cells_keeping_values : mask_cells;
            mask(values.data(), flag.data(), weight.data(), n, masked.data(), masked_weight.data());
            mask(there.data(), flag.data(), weight_there.data(), n, there.data(), weight_there.data());
            for (std::size_t i = 0; i < n; ++i) {
              const bool finite = std::isfinite(values[i].real()) && std::isfinite(values[i].imag()),
                         good = finite && flag[i] == 0 && is_weight(weight[i]);
              const std::complex<float> expected = (keep ? finite : good) ? values[i] : 0;
              n_wrong += !same_bits(masked[i].real(), expected.real()) ||
                         !same_bits(masked[i].imag(), expected.imag()) || masked[i] != there[i] ||
                         !same_bits(masked_weight[i], good ? weight[i] : 0.0f) ||
                         masked_weight[i] != weight_there[i];
            }
          }
        }
  BOOST_TEST(n_wrong == 0);
}

// Values under flags stay if they are asked for and finite; pieces and whole blocks are read by different
// code.
BOOST_AUTO_TEST_CASE(odd_cells_are_read_as_they_are_defined) {
  ScratchFolder folder;
  const std::string path = folder / "a.ms";
  const Observation observation(ms_description(), 3);
  observation.write(path);
  {
    casacore::Table main = edit(path);
    casacore::ArrayColumn<casacore::Complex> data(main, "DATA");
    casacore::ArrayColumn<float> weight(main, "WEIGHT_SPECTRUM");
    casacore::ArrayColumn<casacore::Bool> flag(main, "FLAG");
    for (std::size_t i = 0; i < kOdd.size(); ++i) {
      casacore::Matrix<casacore::Complex> values = data(i);
      casacore::Matrix<float> weights = weight(i + 3);
      casacore::Matrix<casacore::Bool> flags = flag(i + 5);
      values(i % 4, i / 4) = i % 2 == 0 ? casacore::Complex(kOdd[i], 2) : casacore::Complex(2, kOdd[i]);
      weights(i / 4, i % 4) = kOdd[i];
      flags(i % 4, 3) = true;
      data.put(i, values);
      weight.put(i + 3, weights);
      flag.put(i + 5, flags);
    }
    casacore::ScalarColumn<casacore::Bool>(main, "FLAG_ROW").put(6, true);
    casacore::ArrayColumn<double>(main, "UVW").put(7, casacore::Vector<double>(3, double{kNan}));
  }
  const auto data = support::cells<casacore::Complex>(path, "DATA");
  const auto weight = support::cells<float>(path, "WEIGHT_SPECTRUM");
  const auto flag = support::cells<casacore::Bool>(path, "FLAG");
  int n_wrong = 0, n_cells = 0;
  bool keep_flagged = true;
  const auto compare = [&](std::size_t first, const auto& found, const auto& found_weight) {
    constexpr std::size_t kCell = 16;
    for (std::size_t i = 0; i < found.size(); ++i, ++n_cells) {
      const std::size_t at = first * kCell + i, row = at / kCell;
      const bool finite = std::isfinite(data[at].real()) && std::isfinite(data[at].imag()),
                 good = finite && row != 7 && row != 6 && !flag[at] && is_weight(weight[at]);
      const bool stays = keep_flagged ? finite && row != 7 : good;
      const std::complex<float> expected = stays ? data[at] : casacore::Complex(0, 0);
      n_wrong += found.data()[i] != expected || found_weight.data()[i] != (good ? weight[at] : 0.0f);
    }
  };
  // Straight from the files, through casacore, and of the other order of bytes, which is casacore's as well.
  const std::string swapped = folder / "swapped.ms";
  casacore::Table(path).deepCopy(swapped, casacore::Table::New, true, casacore::Table::BigEndian);
  for (const auto& [name, alone, keep] :
       {std::tuple(path, false, true), {path, true, true}, {swapped, false, true}, {path, false, false}}) {
    keep_flagged = keep;
    MsSelection selection;
    selection.autos = true;
    selection.keep_flagged = keep;
    selection.by_casacore_alone = alone;
    MeasurementSetReader reader(name, selection);
    MsRows rows;
    n_cells = 0;
    BOOST_REQUIRE(reader.next(rows, 100));
    reader.read_cells(rows, 1, compare);
    BOOST_TEST(n_cells == 18 * 16);
    for (std::size_t axis = 0; axis < 3; ++axis) BOOST_TEST(rows.uvw_m(7, axis) == 0);
    reader.rewind();
    BOOST_REQUIRE(reader.next(rows, 100));
    reader.read_cells(rows, 1);
    compare(0, rows.data, rows.weight);
    BOOST_TEST(n_cells == 2 * 18 * 16);
    // Rows among which some are left out are not used where they were read.
    selection.wants_baseline = [](int i, int j) { return i != 1 || j != 2; };
    MeasurementSetReader some(name, selection);
    BOOST_REQUIRE(some.next(rows, 100));
    some.read_cells(rows, 1, [&](std::size_t first, const auto& found, const auto& found_weight) {
      for (std::size_t row = 0; row < found.extent(0); ++row)
        compare(static_cast<std::size_t>(rows.row_number[first + row]), found[row], found_weight[row]);
    });
    BOOST_TEST(n_cells == (2 * 18 + 15) * 16);
  }
  BOOST_TEST(n_wrong == 0);
}

// What needs no change is written from the caller's memory, which is left alone when the next cells need one.
BOOST_AUTO_TEST_CASE(cells_are_written_by_turns_from_their_memory_and_from_a_copy) {
  ScratchFolder folder;
  Observation observation(ms_description(), 4);
  for (std::size_t i = 0; i < kOdd.size(); ++i) {
    observation.data(1, i % 6, i % 4, 0) = {kOdd[i], 1};
    observation.weight(3, i % 6, i % 4, 1) = kOdd[i];
  }
  observation.weight(2, 0, 0, 0) = 0;
  const std::vector<std::complex<float>> data_in(observation.data.begin(), observation.data.end());
  const std::vector<float> weight_in(observation.weight.begin(), observation.weight.end());
  {
    MeasurementSetWriter writer(folder / "a.ms", observation.set, false, 24);
    for (std::size_t t = 0; t < 4; ++t) {
      const auto first = static_cast<std::int64_t>(6 * t);
      writer.write_cells(first, observation.data.view()[t], observation.weight.view()[t]);
      writer.write_scalars(
          first,
          {observation.time_s(t), 2.0, 1.9, observation.uvw_m.view()[t], &observation.baselines, {}, {}});
    }
    writer.commit();
  }
  observation.write(folder / "b.ms");  // rows that are appended
  for (const std::string name : {"a.ms", "b.ms"}) {
    const auto data = support::cells<casacore::Complex>(folder / name, "DATA");
    const auto weight = support::cells<float>(folder / name, "WEIGHT_SPECTRUM");
    const auto flag = support::cells<casacore::Bool>(folder / name, "FLAG");
    BOOST_REQUIRE(data.size() == data_in.size());
    int n_wrong = 0;
    for (std::size_t i = 0; i < data.size(); ++i) {
      const std::complex<float> value = data_in[i];
      const float w = weight_in[i];
      const bool finite = std::isfinite(value.real()) && std::isfinite(value.imag()),
                 good = finite && is_weight(w);
      n_wrong += data[i] != (finite ? value : std::complex<float>{}) || weight[i] != (good ? w : 0.0f) ||
                 flag[i] == good;
    }
    BOOST_TEST(n_wrong == 0);
  }
  BOOST_TEST(std::memcmp(observation.data.data(), data_in.data(), data_in.size() * 8) == 0);
  BOOST_TEST(std::memcmp(observation.weight.data(), weight_in.data(), weight_in.size() * 4) == 0);
}

BOOST_AUTO_TEST_SUITE_END()
