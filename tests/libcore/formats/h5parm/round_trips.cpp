// SPDX-License-Identifier: GPL-3.0-or-later
// What is written is read back, and the bytes depend on nothing but the solutions.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <cmath>
#include <complex>
#include <thread>

#include "libcore/base/error.h"
#include "libcore/formats/h5parm/h5parm.h"
#include "libcore/formats/h5parm/soltabs.h"
#include "libcore/solutions/evaluator.h"
#include "tests/reference/scratch.h"
#include "tests/support/some_solutions.h"

using namespace apsyn;
using reference::Scratch;
using some_solutions::flag;
using some_solutions::kFirst_hz;
using some_solutions::kFirst_mjd_s;
using some_solutions::table;

BOOST_AUTO_TEST_SUITE(round_trips)

namespace {

using Complex = std::complex<double>;

constexpr double kPolar = 5e-16;  // of a gain of order 1 that goes through amplitude and phase

/// Every value, weight and reason; the largest difference of values.
double difference(const SolutionTable& a, const SolutionTable& b) {
  BOOST_TEST_REQUIRE((a.values.shape() == b.values.shape()));
  double worst = 0;
  for (std::size_t i = 0; i < a.values.size(); ++i) {
    BOOST_TEST(a.weight.data()[i] == b.weight.data()[i]);
    if (a.weight.data()[i] > 0) worst = std::max(worst, std::abs(a.values.data()[i] - b.values.data()[i]));
  }
  return worst;
}

void check_same(const Solutions& written, const Solutions& read) {
  BOOST_TEST_REQUIRE(read.tables.size() == written.tables.size());
  BOOST_TEST_REQUIRE(read.antennas.size() == written.antennas.size());
  for (std::size_t i = 0; i < written.antennas.size(); ++i) {
    BOOST_TEST(read.antennas[i].name == written.antennas[i].name);
    for (std::size_t axis = 0; axis < 3; ++axis)
      BOOST_TEST(read.antennas[i].position_m[axis] ==
                 written.antennas[i].position_m[axis]);  // float has them
  }
  BOOST_TEST_REQUIRE(read.directions.size() == written.directions.size());
  for (std::size_t i = 0; i < written.directions.size(); ++i) {
    BOOST_TEST(read.directions[i].name == written.directions[i].name);
    BOOST_TEST((read.directions[i].direction == written.directions[i].direction));
  }
  BOOST_TEST((read.basis == written.basis));
  BOOST_TEST(read.history == written.history);
  for (std::size_t i = 0; i < written.tables.size(); ++i) {
    const SolutionTable &a = written.tables[i], &b = read.tables[i];
    BOOST_TEST((a.type == b.type));
    BOOST_TEST(a.term == b.term);
    BOOST_TEST(a.time_mjd_s == b.time_mjd_s);
    BOOST_TEST(a.interval_s == b.interval_s);
    BOOST_TEST(a.freq_hz == b.freq_hz);
    BOOST_TEST(a.width_hz == b.width_hz);
    BOOST_TEST(a.direction == b.direction);
    BOOST_TEST(difference(a, b) <= kPolar * 2);  // moduli up to 2; 4e-16 measured
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(chains_come_back_in_their_order) {
  const Scratch scratch;
  const Solutions written = some_solutions::solutions(
      table(SolutionType::delay_s, {1, 4, 1, 2, {}}, 1), table(SolutionType::gain, {1, 4, 5, 2, {}}, 2),
      table(SolutionType::gain, {3, 4, 1, 2, {}}, 3), table(SolutionType::phase, {3, 4, 1, 1, {}}, 4),
      table(SolutionType::amplitude, {2, 4, 3, 1, {}}, 5),
      table(SolutionType::tec_tecu, {3, 4, 1, 1, {0, 1}}, 6),
      table(SolutionType::phase, {2, 4, 2, 2, {1}}, 7));
  write_h5parm(scratch.path("a.h5"), written);
  const Solutions read = read_h5parm(scratch.path("a.h5"));
  check_same(written, read);
  BOOST_TEST((read.field_centre == written.field_centre));
}

BOOST_AUTO_TEST_CASE(matrices_and_circular_receptors_come_back) {
  const Scratch scratch;
  Solutions written = some_solutions::solutions(table(SolutionType::gain, {2, 4, 2, 4, {}}, 1));
  written.basis = ReceptorBasis::circular;
  written.tables[0].term = "jones";
  write_h5parm(scratch.path("a.h5"), written);
  check_same(written, read_h5parm(scratch.path("a.h5")));
}

BOOST_AUTO_TEST_CASE(flags_and_their_reasons_come_back) {
  const Scratch scratch;
  Solutions written = some_solutions::solutions(table(SolutionType::gain, {}, 1));
  flag(written.tables[0], 1, 2, 1, 0, SolutionFlag::low_snr);
  flag(written.tables[0], 0, 3, 0, 1, SolutionFlag::swapped_receptors);
  write_h5parm(scratch.path("a.h5"), written);
  const Solutions read = read_h5parm(scratch.path("a.h5"));
  check_same(written, read);
  BOOST_TEST((read.tables[0].flag(1, 0, 2, 1, 0) == SolutionFlag::low_snr));
  BOOST_TEST((read.tables[0].flag(0, 0, 3, 0, 1) == SolutionFlag::swapped_receptors));
  BOOST_TEST((read.tables[0].flag(0, 0, 3, 0, 0) == SolutionFlag::good));
  const H5Solset raw = read_solset(scratch.read("a.h5"), "a.h5", {});
  std::size_t n_nan = 0;
  for (const double value : raw.soltabs[0].values) n_nan += std::isnan(value);
  BOOST_TEST(n_nan == 2u);  // as DP3 flags
}

// DP3 applies whatever has a weight.
BOOST_AUTO_TEST_CASE(what_is_no_number_has_no_weight_in_the_file) {
  const Scratch scratch;
  Solutions written = some_solutions::solutions(table(SolutionType::gain, {}, 1));
  written.tables[0].values(2, 0, 1, 0, 1) = Complex(std::nan(""), 0);
  write_h5parm(scratch.path("a.h5"), written);
  const H5Solset raw = read_solset(scratch.read("a.h5"), "a.h5", {});
  BOOST_TEST_REQUIRE(raw.soltabs.size() == 2u);
  for (const H5Soltab& soltab : raw.soltabs) {
    BOOST_TEST(std::count(soltab.weights.begin(), soltab.weights.end(), 0.0f) == 1);
    for (std::size_t i = 0; i < soltab.values.size(); ++i)
      BOOST_TEST((soltab.weights[i] == 0) == std::isnan(soltab.values[i]));
  }
}

BOOST_AUTO_TEST_CASE(filled_files_have_no_gaps) {
  const Scratch scratch;
  Solutions written = some_solutions::solutions(table(SolutionType::gain, {4, 4, 2, 2, {}}, 1));
  for (const std::size_t time : {0u, 1u, 3u}) flag(written.tables[0], time, 2, 1, 0, SolutionFlag::no_data);
  for (const std::size_t time : {0u, 1u, 2u, 3u})
    flag(written.tables[0], time, 1, 0, 1, SolutionFlag::no_data);
  for (const std::size_t time : {0u, 1u, 2u, 3u})
    for (const std::size_t chan : {0u, 1u}) flag(written.tables[0], time, 0, chan, 1, SolutionFlag::no_data);
  H5ParmOptions options;
  options.fill = true;
  write_h5parm(scratch.path("a.h5"), written, options);
  const SolutionTable& given = written.tables[0];
  const Solutions read = read_h5parm(scratch.path("a.h5"));
  const SolutionTable& filled = read.tables[0];
  for (const float weight : filled.weight) BOOST_TEST(weight == 1);
  for (const std::size_t time : {0u, 1u, 2u, 3u}) {
    BOOST_TEST(std::abs(filled.values(time, 0, 2, 1, 0) - given.values(2, 0, 2, 1, 0)) < 2 * kPolar);
    BOOST_TEST(std::abs(filled.values(time, 0, 1, 0, 1) - given.values(time, 0, 1, 1, 1)) < 2 * kPolar);
    BOOST_TEST(filled.values(time, 0, 0, 0, 1) == 1.0);
  }
}

// Others apply amplitude000 and phase000, which hold leakages too; the terms come back here.
BOOST_AUTO_TEST_CASE(a_chain_with_leakages_has_its_product_for_others) {
  const Scratch scratch;
  const Solutions written = some_solutions::solutions(table(SolutionType::gain, {3, 4, 2, 2, {}}, 1),
                                                      table(SolutionType::leakage, {1, 4, 1, 4, {}}, 2));
  write_h5parm(scratch.path("a.h5"), written);
  check_same(written, read_h5parm(scratch.path("a.h5")));
  const Solutions product = read_h5parm(scratch.path("a.h5"), {"", {"amplitude000", "phase000"}});
  BOOST_TEST_REQUIRE(product.tables.size() == 1u);
  BOOST_TEST(product.tables[0].values.extent(4) == 4u);
  const Complex gain_y = written.tables[0].values(2, 0, 3, 1, 1),
                d_y = written.tables[1].values(0, 0, 3, 0, 2);
  BOOST_TEST(std::abs(product.tables[0].values(2, 0, 3, 1, 2) - gain_y * d_y) < 2 * kPolar);
}

BOOST_AUTO_TEST_CASE(the_same_solutions_give_the_same_bytes) {
  const Scratch scratch;
  const Solutions written = some_solutions::solutions(table(SolutionType::gain, {}, 1));
  write_h5parm(scratch.path("a.h5"), written);
  std::this_thread::sleep_for(std::chrono::milliseconds(1100));  // HDF5 counts times in seconds
  write_h5parm(scratch.path("b.h5"), written);
  BOOST_TEST((scratch.read("a.h5") == scratch.read("b.h5")));
  BOOST_CHECK_THROW(write_h5parm(scratch.path("a.h5"), written), UsageError);  // without overwrite
  BOOST_TEST(!scratch.exists("a.h5.part"));
}

// What others write, in every order of the axes.
BOOST_AUTO_TEST_CASE(any_order_of_axes_is_read) {
  const Scratch scratch;
  const Solutions written = some_solutions::solutions(table(SolutionType::gain, {3, 4, 2, 2, {0, 1}}, 1));
  write_h5parm(scratch.path("a.h5"), written);
  const H5Solset given = read_solset(scratch.read("a.h5"), "a.h5", {});
  std::vector<std::size_t> order{0, 1, 2, 3, 4};  // of time, freq, ant, dir, pol
  do {
    if (order[0] > order[4]) continue;  // half of the 120 are enough
    H5Solset turned = given;
    for (H5Soltab& soltab : turned.soltabs) {
      const H5Soltab before = soltab;
      for (std::size_t i = 0; i < 5; ++i) {
        soltab.axes[i] = before.axes[order[i]];
        soltab.extents[i] = before.extents[order[i]];
      }
      std::vector<std::size_t> index(5, 0);
      for (std::size_t to = 0; to < soltab.values.size(); ++to) {
        std::size_t rest = to;
        for (std::size_t i = 5; i-- > 0;) {
          index[order[i]] = rest % soltab.extents[i];
          rest /= soltab.extents[i];
        }
        std::size_t from = 0;
        for (std::size_t i = 0; i < 5; ++i) from = from * before.extents[i] + index[i];
        soltab.values[to] = before.values[from];
      }
    }
    scratch.file("b.h5", write_solset(turned, "b.h5"));
    BOOST_TEST(difference(written.tables[0], read_h5parm(scratch.path("b.h5")).tables[0]) < 2 * kPolar);
  } while (std::next_permutation(order.begin(), order.end()));
}

// Missing axes are constant, falling ones are turned, and nobody's intervals reach half-way to the
// neighbours.
BOOST_AUTO_TEST_CASE(sparse_files_are_read) {
  const Scratch scratch;
  H5Soltab phase;
  phase.name = "phase000";
  phase.title = "phase";
  phase.axes = {"ant", "freq"};
  phase.extents = {2, 3};
  phase.ant = {"b", "a"};
  phase.freq_hz = {152e6, 151e6, 149e6};
  phase.values = {0.1, 0.2, 0.3, 0.4, 0.5, 0.6};
  phase.weights = {1, 1, 1, 1, 0, 1};
  scratch.file(
      "a.h5",
      write_solset({"sol000", {{"a", {}}, {"b", {}}, {"c", {}}}, {{"POINTING", {1, 0.5}}}, {phase}}, ""));
  const Solutions read = read_h5parm(scratch.path("a.h5"));
  const SolutionTable& table = read.tables[0];
  BOOST_TEST((table.type == SolutionType::phase));
  BOOST_TEST(table.freq_hz == (std::vector<double>{149e6, 151e6, 152e6}));
  BOOST_TEST(table.width_hz == (std::vector<double>{2e6, 1e6, 1e6}));
  BOOST_TEST(table.interval_s == std::vector<double>{0});
  BOOST_TEST(std::abs(table.values(0, 0, 1, 0, 0) - std::polar(1.0, 0.3)) < kPolar);
  BOOST_TEST(std::abs(table.values(0, 0, 0, 2, 0) - std::polar(1.0, 0.4)) < kPolar);
  BOOST_TEST(table.weight(0, 0, 0, 1, 0) == 0);
  BOOST_TEST(table.weight(0, 0, 2, 0, 0) == 0);  // antenna c has none
  const SolutionEvaluator evaluator(read, {"a", "b", "c"}, Interpolation::nearest);
  BOOST_TEST(evaluator.is_diagonal());
}

BOOST_AUTO_TEST_CASE(what_contradicts_itself_is_refused_with_its_name) {
  const Scratch scratch;
  const Solutions written = some_solutions::solutions(table(SolutionType::gain, {3, 4, 2, 2, {0, 1}}, 1));
  write_h5parm(scratch.path("a.h5"), written);
  const H5Solset good = read_solset(scratch.read("a.h5"), "a.h5", {});
  std::size_t n = 0;
  const auto refused = [&](const std::string& text, const auto& damage) {
    H5Solset bad = good;
    damage(bad, bad.soltabs[0]);
    const std::string name = "bad" + std::to_string(n++) + ".h5";
    scratch.file(name, write_solset(bad, name));
    BOOST_CHECK_EXCEPTION(read_h5parm(scratch.path(name)), DataError, [&](const DataError& error) {
      const std::string what = error.what();
      BOOST_TEST_CONTEXT(what) BOOST_TEST(what.find(text) != std::string::npos);
      return what.starts_with(scratch.path(name) + ": ");
    });
  };
  refused("axis time does not rise",
          [](H5Solset&, H5Soltab& soltab) { soltab.time_mjd_s[1] = soltab.time_mjd_s[0]; });
  refused("phase000 with the same axes is missing", [](H5Solset& solset, H5Soltab&) {
    for (H5Soltab& soltab : solset.soltabs) {
      soltab.pol = {"XX", "XY", "YX", "YY"};
      soltab.extents[4] = 4;
      soltab.extents[0] = 1;
      soltab.time_mjd_s.resize(1);
      soltab.interval_s.resize(1);
      soltab.values.resize(64);
      soltab.weights.resize(64);
      soltab.flags.clear();
    }
    solset.soltabs.pop_back();
  });
  refused("polarisations XX LL", [](H5Solset&, H5Soltab& soltab) { soltab.pol = {"XX", "LL"}; });
  refused("has no position of direction 'north'",
          [](H5Solset&, H5Soltab& soltab) { soltab.dir[1] = "[north]"; });
  refused("an axis 'beam' is not known", [](H5Solset&, H5Soltab& soltab) { soltab.axes[0] = "beam"; });
  refused("holds 'rotation', which is not applied", [](H5Solset&, H5Soltab& soltab) {
    soltab.title = "rotation";
    soltab.name = "rotation000";
  });
  refused("sol000 has no solutions", [](H5Solset& solset, H5Soltab&) { solset.soltabs.clear(); });
  refused("antenna 'ant0' is there twice",
          [](H5Solset& solset, H5Soltab&) { solset.antennas[1].name = "ant0"; });
  refused("APSYN_ORDER 'first' is no number", [](H5Solset&, H5Soltab& soltab) { soltab.order = "first"; });
  refused("interval has 2 elements", [](H5Solset&, H5Soltab& soltab) { soltab.interval_s.pop_back(); });
}

BOOST_AUTO_TEST_CASE(soltabs_are_chosen_by_name) {
  const Scratch scratch;
  const Solutions written = some_solutions::solutions(table(SolutionType::gain, {}, 1),
                                                      table(SolutionType::tec_tecu, {3, 4, 1, 1, {}}, 2));
  write_h5parm(scratch.path("a.h5"), written);
  const Solutions phase = read_h5parm(scratch.path("a.h5"), {"sol000", {"phase000"}});
  BOOST_TEST_REQUIRE(phase.tables.size() == 1u);
  BOOST_TEST((phase.tables[0].type == SolutionType::phase));
  BOOST_CHECK_THROW(read_h5parm(scratch.path("a.h5"), {"sol001", {}}), DataError);
  BOOST_CHECK_THROW(read_h5parm(scratch.path("a.h5"), {"", {"phase007"}}), DataError);
}

BOOST_AUTO_TEST_SUITE_END()
