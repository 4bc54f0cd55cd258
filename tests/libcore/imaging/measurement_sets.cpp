// SPDX-License-Identifier: GPL-3.0-or-later
// Measurement Sets on their way into an image: what is centred on, which channels there are, which rows
// count.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <vector>

#include "libcore/formats/ms/measurement_set.h"
#include "libcore/imaging/buffered_source.h"
#include "libcore/imaging/plane_source.h"
#include "libcore/imaging/prediction_target.h"
#include "libcore/imaging/source.h"
#include "libcore/sky/projection.h"
#include "tests/reference/scratch.h"

using namespace apsyn;
using reference::Scratch;

BOOST_AUTO_TEST_SUITE(measurement_sets)

namespace {

/// Two channels and products of the first antennas of an array.
MsDescription small_set(std::size_t n_antennas) {
  MsDescription description;
  description.layout = builtin_array("mwa-32t");
  description.layout.antennas.resize(n_antennas);
  description.phase_centre = {0.3, -0.45};
  description.channel_hz = {150e6, 151e6};
  description.channel_width_hz = 1e6;
  description.products = {Product::XX, Product::YY};
  return description;
}

/// An integration of such a set, of 1 s about `time` seconds.
void write_second(MeasurementSetWriter& writer, const std::vector<Baseline>& baselines,
                  const Buffer<double, 2>& uvw, const Buffer<std::complex<float>, 3>& data,
                  const Buffer<float, 3>& weight, double time, int window = 0) {
  writer.write({.time_mjd_s = 5.2e9 + time,
                .interval_s = 1,
                .exposure_s = 1,
                .uvw_m = uvw,
                .baselines = &baselines,
                .data = data,
                .weight = weight,
                .window = window});
}

/// The same, in which all data count.
void write_ones(MeasurementSetWriter& writer, const std::vector<Baseline>& baselines,
                const Buffer<double, 2>& uvw, double time) {
  Buffer<std::complex<float>, 3> data({baselines.size(), 2, 2});
  Buffer<float, 3> weight({baselines.size(), 2, 2});
  data.fill({2, 1});
  weight.fill(1);
  write_second(writer, baselines, uvw, data, weight, time);
}

}  // namespace

BOOST_AUTO_TEST_CASE(rows_whose_coordinates_are_no_numbers_have_no_weight) {
  const Scratch scratch;
  const std::vector<Baseline> baselines = all_baselines(3, false);
  Buffer<double, 2> uvw({3, 3});
  for (std::size_t b = 0; b < 3; ++b)
    for (std::size_t i = 0; i < 3; ++i) uvw(b, i) = 10.0 * static_cast<double>(b + i + 1);
  uvw(1, 2) = std::numeric_limits<double>::quiet_NaN();
  MeasurementSetWriter writer(scratch.path("nan.ms"), small_set(3), false);
  write_ones(writer, baselines, uvw, 0);
  writer.commit();
  for (const std::optional<SkyDirection>& centre :
       {std::optional<SkyDirection>(), {SkyDirection{0.31, -0.45}}}) {
    auto source = open_imaging_source({scratch.path("nan.ms")}, {.centre = centre});
    source->rewind(split_channels(source->info(), 1)[0]);
    ImagingBlock block;
    BOOST_REQUIRE(source->read(block, 1 << 20));
    BOOST_REQUIRE_EQUAL(block.uvw_m.extent(0), 3u);
    for (std::size_t row = 0; row < 3; ++row) {
      for (std::size_t i = 0; i < 3; ++i) BOOST_CHECK(std::isfinite(block.uvw_m(row, i)));
      for (std::size_t c = 0; c < 2; ++c) BOOST_CHECK_EQUAL(block.weight(row, c, 0), row == 1 ? 0 : 1);
    }
    if (!centre) {
      BOOST_CHECK_EQUAL(block.uvw_m(2, 0), 30);
    } else {
      // The baseline in the frame of the sky; its way to another direction is longer by what w grows.
      const double ra = 0.3, dec = -0.45, u = 30, v = 40, w = 50;
      const double b[3] = {
          -std::sin(ra) * u - std::sin(dec) * std::cos(ra) * v + std::cos(dec) * std::cos(ra) * w,
          std::cos(ra) * u - std::sin(dec) * std::sin(ra) * v + std::cos(dec) * std::sin(ra) * w,
          std::cos(dec) * v + std::sin(dec) * w};
      const double w_to = std::cos(dec) * std::cos(0.31) * b[0] + std::cos(dec) * std::sin(0.31) * b[1] +
                          std::sin(dec) * b[2];
      BOOST_REQUIRE_EQUAL(block.path_m.size(), 3u);
      BOOST_CHECK_SMALL(block.uvw_m(2, 2) - w_to, 1e-11);
      BOOST_CHECK_SMALL(block.path_m(2) - (w_to - w), 1e-11);
    }
    BOOST_CHECK(!source->read(block, 1 << 20));
  }
}

// Parts of the rows, as processes take them, are all of the rows, each once, and info() stays that of all.
BOOST_AUTO_TEST_CASE(parts_of_a_source_are_all_its_rows) {
  const Scratch scratch;
  const std::vector<Baseline> baselines = all_baselines(4, false);
  Buffer<double, 2> uvw({6, 3});
  MeasurementSetWriter writer(scratch.path("all.ms"), small_set(4), false);
  for (std::size_t time = 0; time < 3; ++time) {
    for (std::size_t b = 0; b < 6; ++b) uvw(b, 0) = static_cast<double>(6 * time + b + 1);
    write_ones(writer, baselines, uvw, static_cast<double>(time));
  }
  writer.commit();
  for (const std::size_t n_parts : {1u, 2u, 4u, 7u, 30u}) {
    std::vector<double> rows;
    for (std::size_t part = 0; part < n_parts; ++part) {
      const auto source = open_imaging_source({scratch.path("all.ms")}, {});
      BOOST_TEST(source->take_part(part, n_parts));
      BOOST_TEST(source->info().exposure_s == 3);
      source->rewind(split_channels(source->info(), 1)[0]);
      ImagingBlock block;
      std::size_t n = 0;
      while (source->read(block, 100))
        for (std::size_t row = 0; row < block.uvw_m.extent(0); ++row, ++n)
          rows.push_back(block.uvw_m(row, 0));
      BOOST_TEST(n >= 18 / n_parts);
      BOOST_TEST(n <= 18 / n_parts + 1);
    }
    BOOST_REQUIRE_EQUAL(rows.size(), 18u);
    for (std::size_t row = 0; row < 18; ++row) BOOST_TEST(rows[row] == static_cast<double>(row + 1));
  }
}

namespace {

/// Puts a block together again from what it is given.
struct TakenPlanes final : PlaneBlock {
  TakenPlanes(std::size_t n_rows, std::size_t n_chan, bool path) : with_path(path) {
    data.resize({n_rows, n_chan, 2});
    weight.resize(data.shape());
  }
  void take(std::size_t first, std::size_t n, const Fill& fill) override {
    constexpr std::size_t kAtOnce = 5;
    for (std::size_t done = 0; done < n; done += kAtOnce)
      fill(first + done, std::min(kAtOnce, n - done), &data(first + done, 0, 0), &weight(first + done, 0, 0));
  }
  void drop(std::size_t row) override {
    for (float& each : weight.view()[row]) each = 0;
    ++n_dropped;
  }
  bool with_path;
  std::size_t n_dropped = 0;
  Buffer<std::complex<float>, 3> data;
  Buffer<float, 3> weight;
};
struct Receiver final : PlaneReceiver {
  std::unique_ptr<PlaneBlock> begin(std::size_t n_rows, View<const double, 1> channel_hz,
                                    bool with_path) override {
    if (n_blocks == max_blocks) return nullptr;
    ++n_blocks;
    return std::make_unique<TakenPlanes>(n_rows, channel_hz.size(), with_path);
  }
  std::vector<Step> then() override {
    return {{true, [this](PlaneBlock& planes, const ImagingBlock& block) {
               look(static_cast<const TakenPlanes&>(planes), block);
             }}};
  }
  std::size_t n_blocks = 0, max_blocks = 100;
  std::function<void(const TakenPlanes&, const ImagingBlock&)> look;
};

}  // namespace

BOOST_AUTO_TEST_CASE(planes_that_are_given_away_are_those_that_are_read) {
  const Scratch scratch;
  const std::vector<Baseline> baselines = all_baselines(9, false);
  const std::size_t n_base = baselines.size();
  Buffer<double, 2> uvw({n_base, 3});
  Buffer<std::complex<float>, 3> data({n_base, 2, 2});
  Buffer<float, 3> weight({n_base, 2, 2});
  for (std::size_t i = 0; i < uvw.size(); ++i) uvw.data()[i] = 7.0 * static_cast<double>(i % 29);
  uvw(3, 1) = std::numeric_limits<double>::infinity();
  uvw(5, 0) = uvw(5, 1) = 1.7e308;  // numbers, but their sum is none
  for (std::size_t i = 0; i < data.size(); ++i) {
    data.data()[i] = {static_cast<float>(i), 1};
    weight.data()[i] = static_cast<float>(i % 5);
  }
  // Of two windows in turn each block of rows that are read together has some of both.
  const auto write = [&](const std::string& path, bool two_windows, int n_seconds) {
    MsDescription description = small_set(9);
    if (two_windows) description.more_windows = {{{170e6, 173e6}, {2e6, 4e6}, ""}};
    MeasurementSetWriter writer(path, description, false);
    for (int t = 0; t < n_seconds; ++t)
      write_second(writer, baselines, uvw, data, weight, t, two_windows ? t % 2 : 0);
    writer.commit();
  };
  struct Case {
    std::string path;
    std::size_t n_seconds;
    std::uint64_t block_bytes;  // some blocks
    std::optional<SkyDirection> centre;
  };
  const SkyDirection other{0.9, -0.15};
  const std::vector<Case> cases{{scratch.path("a.ms"), 3, 2000, {}},
                                {scratch.path("a.ms"), 3, 2000, other},
                                {scratch.path("b.ms"), 12, 8000, other}};
  write(cases[0].path, false, 3);
  write(cases[2].path, true, 12);
  for (const auto& [path, n_seconds, block_bytes, centre] : cases) {
    const ImagingSelection selection{.planes = "I,Q", .centre = centre, .n_threads = 3};
    auto source = open_imaging_source({path}, selection);
    BufferedSource given(open_imaging_source({path}, selection), 0);
    const ChannelGroup group = split_channels(source->info(), 1)[0];
    source->rewind(group);
    given.rewind(group);
    BOOST_REQUIRE(given.plane_source() != nullptr);
    Receiver receiver;
    // Before: casacore shares a table that is open twice, and takes one thread at a time.
    std::vector<ImagingBlock> blocks;
    for (ImagingBlock next; source->read(next, block_bytes);) blocks.push_back(std::move(next));
    std::size_t n_dropped = 0, n_rows = 0, n_seen = 0;
    receiver.look = [&](const TakenPlanes& planes, const ImagingBlock& around) {
      n_dropped += planes.n_dropped;
      n_rows += around.time_mjd_s.size();
      BOOST_REQUIRE(n_seen < blocks.size());
      const ImagingBlock& block = blocks[n_seen++];
      BOOST_TEST(planes.with_path == (block.path_m.size() > 0));
      BOOST_TEST(planes.data.view().span() == block.data.view().span(), boost::test_tools::per_element());
      BOOST_TEST(planes.weight.view().span() == block.weight.view().span(), boost::test_tools::per_element());
      BOOST_TEST(around.uvw_m.view().span() == block.uvw_m.view().span(), boost::test_tools::per_element());
      BOOST_TEST(around.path_m.view().span() == block.path_m.view().span(), boost::test_tools::per_element());
      BOOST_TEST(around.station.view().span() == block.station.view().span(),
                 boost::test_tools::per_element());
      BOOST_TEST(around.time_mjd_s == block.time_mjd_s, boost::test_tools::per_element());
      BOOST_TEST(around.channel_hz.view().span() == block.channel_hz.view().span(),
                 boost::test_tools::per_element());
    };
    BOOST_TEST(given.plane_source()->give_all(block_bytes, receiver));
    BOOST_TEST(n_seen == blocks.size());
    BOOST_TEST(receiver.n_blocks > MeasurementSetReader::kOpenBlocks);
    BOOST_TEST(n_rows == n_seconds * n_base);
    BOOST_TEST(n_dropped == n_seconds);
    // The receiver has no room for a third block; the two before it are complete.
    given.rewind(group);
    receiver.n_blocks = n_rows = n_seen = 0;
    receiver.max_blocks = 2;
    BOOST_TEST(!given.plane_source()->give_all(block_bytes, receiver));
    BOOST_TEST(n_rows > 0u);
    BOOST_TEST(n_rows < n_seconds * n_base);
  }
}

BOOST_AUTO_TEST_CASE(times_and_exposure_span_all_sets) {
  const Scratch scratch;
  const std::vector<Baseline> baselines = all_baselines(3, false);
  Buffer<double, 2> uvw({3, 3});
  Buffer<std::complex<float>, 3> data({3, 2, 2});
  Buffer<float, 3> weight({3, 2, 2});
  weight.fill(1);
  constexpr double first_s = 5.2e9;  // the middle
  std::vector<std::string> paths;
  for (const double later_s : {0.0, 0.0, 100.0}) {
    paths.push_back(scratch.path("part" + std::to_string(paths.size()) + ".ms"));
    MeasurementSetWriter writer(paths.back(), small_set(3), false);
    for (const double time_s : {first_s + later_s, first_s + later_s + 4})
      writer.write({.time_mjd_s = time_s,
                    .interval_s = 4,
                    .exposure_s = paths.size() == 2 ? 1.0 : 3.0,
                    .uvw_m = uvw,
                    .baselines = &baselines,
                    .data = data,
                    .weight = weight});
    writer.commit();
  }
  const auto source = open_imaging_source(paths, {});
  const ImagingInfo& info = source->info();
  BOOST_CHECK_SMALL(info.start.mjd_seconds() - (first_s - 2), 1e-6);
  BOOST_REQUIRE(info.end);
  BOOST_CHECK_SMALL(info.end->mjd_seconds() - (first_s + 106), 1e-6);
  BOOST_CHECK_SMALL(info.exposure_s - 4 * 3.0, 1e-9);  // two times that two sets share, and two more
  BOOST_CHECK_EQUAL(info.observer, "apsyn");
}

// A long integration, which two rows share, covers two short ones; another reaches 1 s beyond its end; after
// a pause of 20 s two adjoin: 8 + 1 + 4 + 4 s, while the rows add up to 32 s and lie within 37 s.
BOOST_AUTO_TEST_CASE(intervals_that_overlap_count_once) {
  const Scratch scratch;
  const std::vector<Baseline> pair{{0, 1}};
  const Buffer<double, 2> uvw({1, 3});
  const Buffer<std::complex<float>, 3> data({1, 2, 2});
  Buffer<float, 3> weight({1, 2, 2});
  weight.fill(1);
  constexpr double t = 5.2e9;
  MeasurementSetWriter writer(scratch.path("long-and-short.ms"), small_set(2), false);
  for (const auto& [middle_s, length_s] : std::initializer_list<std::pair<double, double>>{
           {t, 8}, {t - 3, 2}, {t, 8}, {t + 3, 2}, {t + 3, 4}, {t + 27, 4}, {t + 31, 4}})
    writer.write({.time_mjd_s = middle_s,
                  .interval_s = length_s,
                  .exposure_s = length_s,
                  .uvw_m = uvw,
                  .baselines = &pair,
                  .data = data,
                  .weight = weight});
  // A row without data is flagged as a whole.
  weight.fill(0);
  writer.write({.time_mjd_s = t + 100,
                .interval_s = 4,
                .exposure_s = 4,
                .uvw_m = uvw,
                .baselines = &pair,
                .data = data,
                .weight = weight});
  writer.commit();
  // MJD seconds have a resolution of 2^-20 s here, the ends of each interval two roundings.
  const double exposure_s = open_imaging_source({scratch.path("long-and-short.ms")}, {})->info().exposure_s;
  BOOST_CHECK_SMALL(exposure_s - 17, 4 * std::ldexp(1, -20));
}

// Each row of the second of two sets names the second set's antennas.
BOOST_AUTO_TEST_CASE(rows_name_the_stations_of_their_own_set) {
  const Scratch scratch;
  std::vector<std::string> paths;
  for (const int n_antennas : {4, 3, 5}) {
    const std::vector<Baseline> baselines = all_baselines(static_cast<std::size_t>(n_antennas), false);
    Buffer<double, 2> uvw({baselines.size(), 3});
    Buffer<std::complex<float>, 3> data({baselines.size(), 2, 2});
    Buffer<float, 3> weight({baselines.size(), 2, 2});
    for (std::size_t b = 0; b < baselines.size(); ++b) uvw(b, 0) = 10 * baselines[b].ant1 + baselines[b].ant2;
    weight.fill(1);
    paths.push_back(scratch.path("of-" + std::to_string(n_antennas) + ".ms"));
    MeasurementSetWriter writer(paths.back(), small_set(static_cast<std::size_t>(n_antennas)), false);
    writer.write({.time_mjd_s = 5.2e9,
                  .interval_s = 1,
                  .exposure_s = 1,
                  .uvw_m = uvw,
                  .baselines = &baselines,
                  .data = data,
                  .weight = weight});
    writer.commit();
  }
  auto source = open_imaging_source(paths, {});
  const ImagingInfo& info = source->info();
  BOOST_TEST(info.stations.size() == 12u);
  source->rewind(split_channels(info, 1)[0]);
  std::vector<std::size_t> n_rows(3);
  std::size_t input = 0;
  for (ImagingBlock block; source->read(block, 1 << 20); ++input) {
    BOOST_REQUIRE(input < 3);
    for (std::size_t row = 0; row < block.uvw_m.extent(0); ++row, ++n_rows[input]) {
      const ImagingStation p = info.stations[block.station(row, 0)], q = info.stations[block.station(row, 1)];
      BOOST_TEST(p.input == input);
      BOOST_TEST(q.input == input);
      BOOST_TEST(block.uvw_m(row, 0) == static_cast<double>(10 * p.index + q.index));
    }
  }
  BOOST_TEST((n_rows == std::vector<std::size_t>{6, 3, 10}));
}

BOOST_AUTO_TEST_CASE(an_image_is_of_fields_and_windows_that_have_rows) {
  const Scratch scratch;
  MsDescription description = small_set(2);
  description.more_windows = {{{170e6, 173e6}, {2e6, 4e6}, ""}, {{171e6, 173e6}, {2e6, 2e6}, ""}};
  description.more_fields = {{"second", {0.5, -0.2}}, {"third", {0.6, -0.2}}};
  const std::vector<Baseline> baselines = all_baselines(2, false);
  const Buffer<double, 2> uvw({1, 3});
  Buffer<std::complex<float>, 3> data({1, 2, 2});
  Buffer<float, 3> weight({1, 2, 2});
  weight.fill(1);
  MeasurementSetWriter writer(scratch.path("split.ms"), description, false);
  for (const auto& [window, field] : {std::pair{1, 2}, {2, 1}})
    writer.write({.time_mjd_s = 5.2e9,
                  .interval_s = 1,
                  .exposure_s = 1,
                  .uvw_m = uvw,
                  .baselines = &baselines,
                  .data = data,
                  .weight = weight,
                  .window = window,
                  .row_field = {field}});
  writer.commit();
  const auto info_of = [&](const std::vector<int>& fields) {
    return open_imaging_source({scratch.path("split.ms")}, {.fields = fields})->info();
  };
  const ImagingInfo all = info_of({});
  BOOST_TEST(all.object == "second");
  BOOST_CHECK_SMALL(separation_rad(all.centre, {0.5, -0.2}), 1e-12);
  BOOST_TEST(all.channel_hz == (std::vector{170e6, 171e6, 173e6}));
  BOOST_TEST(all.channel_width_hz == (std::vector{2e6, 2e6, 4e6}));
  BOOST_TEST(all.fields.size() == 2u);
  const ChannelGroup band = split_channels(all, 1)[0];
  BOOST_CHECK_EQUAL(band.width_hz, 6e6);  // 169 to 175 MHz
  BOOST_CHECK_EQUAL(band.centre_hz(), 172e6);
  const ImagingInfo third = info_of({0, 2});
  BOOST_TEST(third.object == "third");
  BOOST_TEST(third.channel_hz == (std::vector{170e6, 173e6}));
  BOOST_TEST(info_of({2, 1}).object == "third");
  BOOST_TEST(info_of({0}).object == "unknown");
  // What is predicted has the same centre.
  const auto target_of = [&](const std::vector<int>& fields) {
    MsSelection selection;
    selection.fields = fields;
    return PredictionTarget(scratch.path("split.ms"), selection).phase_centre();
  };
  BOOST_CHECK_SMALL(separation_rad(target_of({}), {0.5, -0.2}), 1e-12);
  BOOST_CHECK_SMALL(separation_rad(target_of({2, 0, 1, 2}), {0.6, -0.2}), 1e-12);
}

BOOST_AUTO_TEST_SUITE_END()
