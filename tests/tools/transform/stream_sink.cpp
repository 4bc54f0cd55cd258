// SPDX-License-Identifier: GPL-3.0-or-later
// Rows of a set as records of a stream: some antennas, a pause, and the opposite convention.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <complex>
#include <vector>

#include "libcore/base/error.h"
#include "libcore/streams/visibility_stream.h"
#include "tests/libcore/formats/ms/ms_observation.h"
#include "tools/transform/row_sink.h"

using namespace apsyn;
using namespace apsyn::test;
using namespace apsyn::transform;

BOOST_AUTO_TEST_SUITE(stream_sink)

namespace {

/// One row of the baseline of antennas 0 and 2 whose integration of 2 s begins `index` integrations after the
/// first.
void put(RowSink& sink, std::int64_t row, std::int64_t index, std::complex<float> value) {
  const std::vector<Baseline> pair{{0, 2}};
  MsWriteRows rows;
  rows.baselines = &pair;
  rows.row_time_mjd_s = {5.1e9 + 2 * static_cast<double>(index) + 1};
  rows.row_interval_s = {2};
  Buffer<std::complex<float>, 3> data({1, 4, 4});
  Buffer<float, 3> weight({1, 4, 4});
  data.fill(value);
  weight.fill(0.5f);
  sink.place(row, rows);
  sink.put_cells(row, std::as_const(data).view(), std::as_const(weight).view());
  sink.put_rows(row, rows);
}

}  // namespace

BOOST_AUTO_TEST_CASE(pauses_become_records_without_weight) {
  for (const bool conjugate : {false, true}) {
    ScratchFolder folder;
    const auto sink =
        make_stream_sink(folder / "a.vis", ms_description(), false, {5.1e9, 2, {0, 2}, false, conjugate});
    put(*sink, 0, 0, {1, 2});
    put(*sink, 1, 1, {3, 4});
    put(*sink, 2, 4, {5, 6});
    sink->commit();
    VisibilityStreamReader reader(folder / "a.vis");
    BOOST_TEST(reader.header().layout.antennas.size() == 2u);
    BOOST_TEST(reader.header().layout.antennas[1].name == "A2");
    BOOST_TEST(reader.header().integration_s == 2);
    BOOST_TEST_REQUIRE(reader.header().baselines.size() == 1u);
    VisibilityRecord record;
    const std::complex<float> expected[] = {{1, 2}, {3, 4}, {}, {}, {5, 6}};
    std::size_t n = 0;
    for (; reader.read(record); ++n) {
      BOOST_TEST_REQUIRE(n < 5u);
      const bool empty = n == 2 || n == 3;
      for (const auto& value : record.data.view())
        BOOST_TEST(value == (conjugate ? std::conj(expected[n]) : expected[n]));
      for (const float weight : record.weight.view()) BOOST_TEST(weight == (empty ? 0.0f : 0.5f));
    }
    BOOST_TEST(n == 5u);
  }
}

BOOST_AUTO_TEST_CASE(times_must_rise_and_lie_on_the_grid) {
  ScratchFolder folder;
  const auto sink =
      make_stream_sink(folder / "a.vis", ms_description(), false, {5.1e9, 2, {0, 2}, false, false});
  put(*sink, 0, 0, 1);
  put(*sink, 1, 1, 1);
  put(*sink, 2, 2, 1);
  BOOST_CHECK_THROW(put(*sink, 3, 0, 1), DataError);
}

BOOST_AUTO_TEST_SUITE_END()
