// SPDX-License-Identifier: GPL-3.0-or-later
// The rows that a pass needs are cut into the subgrids that it makes of all rows, and no more travel than
// that takes.
#include "kernels/idg/partition/pass_rows.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <tuple>

#include "kernels/idg/partition/partition.h"
#include "libcore/base/error.h"
#include "tests/support/array_rows.h"

using namespace apsyn;
using namespace apsyn::support;

BOOST_AUTO_TEST_SUITE(pass_rows)

namespace {

/// Rows whose w changes as they turn.
ArrayRows observe() {
  ArrayRows d = observe_array(12, 150, 4);
  for (std::size_t row = 0; row < d.uvw_m.extent(0); ++row) d.uvw_m(row, 2) += d.uvw_m(row, 0);
  return d;
}

ArrayRows rows_of(const ArrayRows& d, const std::vector<std::uint32_t>& rows) {
  ArrayRows own = observe();  // channels, slots of these and Jones matrices
  const std::size_t n_chan = d.wavenumber.size();
  own.uvw_m.resize({rows.size(), 3});
  own.weight.resize({rows.size(), n_chan, 1});
  own.station.resize({rows.size(), 2});
  own.row_slot.resize({rows.size()});
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::copy_n(&d.uvw_m(rows[i], 0), 3, &own.uvw_m(i, 0));
    std::copy_n(&d.weight(rows[i], 0, 0), n_chan, &own.weight(i, 0, 0));
    std::copy_n(&d.station(rows[i], 0), 2, &own.station(i, 0));
    own.row_slot(i) = d.row_slot(rows[i]);
  }
  return own;
}

void check_same(const Partition& got, const Partition& want, const std::vector<std::uint32_t>& rows) {
  BOOST_CHECK_EQUAL(got.n_visibilities, want.n_visibilities);
  BOOST_REQUIRE_EQUAL(got.tasks.size(), want.tasks.size());
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < want.tasks.size(); ++i) {
    const SubgridTask &a = got.tasks[i], &b = want.tasks[i];
    wrong += std::tie(a.centre_u, a.centre_v, a.w_lambda, a.half_w_lambda, a.layer, a.n_visibilities) !=
             std::tie(b.centre_u, b.centre_v, b.w_lambda, b.half_w_lambda, b.layer, b.n_visibilities);
    if (a.n_runs != b.n_runs) {
      ++wrong;
      continue;
    }
    for (std::size_t k = 0; k < a.n_runs; ++k) {
      const VisibilityRun &p = got.runs[a.first_run + k], &q = want.runs[b.first_run + k];
      wrong += rows[p.row] != q.row || p.first_channel != q.first_channel || p.n_channels != q.n_channels;
    }
  }
  BOOST_CHECK_EQUAL(wrong, 0u);
}

}  // namespace

BOOST_AUTO_TEST_CASE(chosen_rows_give_the_subgrids_of_all_rows) {
  const ArrayRows d = observe();
  for (const double cell_rad : {1e-3, 8e-3}) {  // layers with slack, and a w kernel
    IdgPlan plan = make_idg_plan({256, 256, cell_rad}, {.subgrid = 24}, longest_w(d), 1e5);
    BOOST_REQUIRE((plan.w_handling == WHandling::kernel) == (cell_rad > 1e-3));
    BOOST_REQUIRE_GT(plan.n_layers, 10u);
    if (plan.w_handling == WHandling::chebyshev) plan.max_task_half_w_lambda = plan.half_w_lambda;
    std::size_t n_kept = 0, n_all = 0, n_tasks = 0;
    for (const LayerRange& layers : {LayerRange{0, 2}, LayerRange{2, 1}, LayerRange{plan.n_layers / 2, 2},
                                     LayerRange{plan.n_layers - 3, 3}, LayerRange{plan.n_layers - 1, 1}}) {
      const std::vector<std::uint32_t> rows = idg::rows_of_pass(plan, d.block(false), layers, 2).value();
      const ArrayRows own = rows_of(d, rows);
      n_kept += rows.size();
      n_all += d.uvw_m.extent(0);
      for (const bool aterms : {false, true}) {
        const Partition want = apsyn::partition(plan, d.block(aterms), layers, 2);
        n_tasks += want.tasks.size();
        check_same(apsyn::partition(plan, own.block(aterms), layers, 2), want, rows);
      }
    }
    BOOST_TEST_MESSAGE(n_kept << " of " << n_all << " rows, " << n_tasks << " tasks");
    BOOST_CHECK_LT(n_kept, n_all / 4);  // measured: 19 % and 12 %
    BOOST_CHECK_GT(n_tasks, 400);       // 30734 and 431
  }
}

/// The choice of rows depends neither on how stations are numbered nor on when the largest number comes.
BOOST_AUTO_TEST_CASE(stations_that_come_late_change_no_choice) {
  ArrayRows d = observe_array(12, 600, 2);
  const std::size_t n_row = d.uvw_m.extent(0);
  BOOST_REQUIRE_GT(n_row, 36000u);
  for (std::size_t row = 0; row < n_row; ++row) d.uvw_m(row, 2) += d.uvw_m(row, 0);
  const IdgPlan plan = make_idg_plan({256, 256, 1e-3}, {.subgrid = 24}, longest_w(d), 1e5);
  BOOST_REQUIRE_GT(plan.n_layers, 10u);
  for (std::size_t row = 30000; row < n_row; ++row)
    for (std::size_t i = 0; i < 2; ++i) d.station(row, i) += 20;
  const LayerRange layers{plan.n_layers / 2, 2};
  const auto late = idg::rows_of_pass(plan, d.block(false), layers, 2).value();
  for (auto& station : d.station) station = 40 - station;
  // What the memory holds that it may use does not matter either.
  const auto early =
      idg::rows_of_pass(plan, d.block(false), layers, 3, std::vector<std::uint32_t>(n_row, 7)).value();
  BOOST_TEST_MESSAGE(late.size() << " of " << n_row << " rows");
  BOOST_REQUIRE(late.size() > 100 && late.size() < n_row - 100);
  BOOST_CHECK_GT(late.back(), 30000u);
  BOOST_CHECK(late == early);
}

BOOST_AUTO_TEST_CASE(all_layers_take_all_rows) {
  ArrayRows d = observe_array(6, 5, 2);
  const IdgPlan plan = make_idg_plan({500, 500, 1e-3}, {}, 4000, 1e5);
  BOOST_CHECK(!idg::rows_of_pass(plan, d.block(false), {0, plan.n_layers}, 2));
  GridBlock block = d.block(false);
  block.station = {};
  BOOST_CHECK(!idg::rows_of_pass(plan, block, {0, 1}, 2));
}

BOOST_AUTO_TEST_CASE(what_the_cutter_refuses_is_kept) {
  ArrayRows d = observe_array(6, 5, 2);
  const IdgPlan plan = make_idg_plan({500, 500, 1e-3}, {}, 4000, 1e5);
  d.uvw_m(7, 2) = NAN;
  const std::vector<std::uint32_t> rows = idg::rows_of_pass(plan, d.block(false), {0, 1}, 1).value();
  BOOST_CHECK(std::find(rows.begin(), rows.end(), 7u) != rows.end());
}

BOOST_AUTO_TEST_CASE(bytes_of_chosen_rows_are_those_of_the_array) {
  std::vector<std::uint8_t> array(10 * 3);
  for (std::size_t i = 0; i < array.size(); ++i) array[i] = static_cast<std::uint8_t>(i);
  const std::vector<std::uint32_t> chosen{1, 2, 3, 6, 9};
  std::vector<std::uint8_t> want;
  for (const std::uint32_t row : chosen) want.insert(want.end(), &array[3 * row], &array[3 * row] + 3);
  const idg::RowBytes some(array.data(), array.size(), 10, chosen.data(), chosen.size());
  const idg::RowBytes all(array.data(), array.size(), 10, nullptr, 0);
  BOOST_REQUIRE_EQUAL(some.size(), want.size());
  BOOST_REQUIRE_EQUAL(all.size(), array.size());
  for (const auto& [rows, bytes] : {std::pair(&some, &want), std::pair(&all, &array)})
    for (std::size_t first = 0; first <= bytes->size(); ++first)
      for (std::size_t n = 0; first + n <= bytes->size(); ++n) {
        std::vector<std::uint8_t> got;
        rows->for_each_run(first, n, [&](const std::byte* from, std::size_t size) {
          const auto* values = reinterpret_cast<const std::uint8_t*>(from);
          got.insert(got.end(), values, values + size);
        });
        BOOST_REQUIRE(std::equal(got.begin(), got.end(), bytes->begin() + static_cast<std::ptrdiff_t>(first),
                                 bytes->begin() + static_cast<std::ptrdiff_t>(first + n)));
      }
}

BOOST_AUTO_TEST_CASE(a_pass_without_layers_takes_nothing) {
  const ArrayRows d = observe();
  for (const double cell_rad : {1e-3, 8e-3}) {  // subgrids of a w kernel reach several layers
    const IdgPlan plan = make_idg_plan({256, 256, cell_rad}, {.subgrid = 24}, 4000, 1e5);
    for (const std::size_t first : {std::size_t{0}, plan.n_layers / 2, plan.n_layers}) {
      BOOST_CHECK(idg::rows_of_pass(plan, d.block(false), {first, 0}, 2).value().empty());
      BOOST_CHECK(apsyn::partition(plan, d.block(false), {first, 0}, 2).tasks.empty());
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
