// SPDX-License-Identifier: GPL-3.0-or-later
// A-terms of blocks: how many rows a call prepares, and which matrices each of them and each channel gets.
#include "libcore/aterms/screens.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <complex>

#include "tests/libcore/aterms/aterm_files.h"

using namespace apsyn;
using namespace aterm_test;

BOOST_AUTO_TEST_SUITE(screens)

namespace {

constexpr double first_mjd_s = 5e9, step_s = 10;
constexpr std::size_t n_station = 3, n_step = 40, side = 8, max_slots = 16;
constexpr std::size_t slot_bytes = n_station * side * side * 4 * 8;  ///< of one frequency

/// TEC that differs by station and step, and is the same all over the sky.
double tec(std::size_t station, std::size_t step) {
  return 1e-3 * static_cast<double>(station + 1) * static_cast<double>(step + 1);
}

struct Screens {
  Folder folder;
  ImagingInfo info;
  AtermGrid grid{{0.3, -0.5}, side, 0.02, 0.02};

  explicit Screens(std::vector<ArrayLayout> layouts = {three_stations()}) {
    info.layouts = std::move(layouts);
    info.circular.assign(info.layouts.size(), false);
    info.channel_hz = {150e6};
    for (std::size_t input = 0; input < info.layouts.size(); ++input)
      for (std::size_t i = 0; i < n_station; ++i) info.stations.push_back({input, i});
    const auto axes =
        joined(sky_axes(grid.centre, 16, 16, -2, 2),
               {{"ANTENNA", n_station}, {"FREQ", 1, 150e6, 1e6}, {"TIME", n_step, first_mjd_s, step_s}});
    folder.file("t.fits", cube_text(axes, -64, [](const auto& i) { return tec(i[2], i[4]); }));
  }
  AtermScreens open(std::uint64_t max_bytes) const {
    return {folder.file("a.conf", "aterms = [ tec ]\ntec.images = [ t.fits ]\n"), info, grid, 2, max_bytes};
  }
};

/// `n` times from step `first` on, the three baselines of input `input` at each.
ImagingBlock block_of(const std::vector<double>& channel_hz, std::size_t first, std::size_t n,
                      std::size_t input = 0) {
  ImagingBlock block;
  block.channel_hz.resize({channel_hz.size()});
  std::copy(channel_hz.begin(), channel_hz.end(), block.channel_hz.begin());
  block.uvw_m.resize({3 * n, 3});
  block.station.resize({3 * n, 2});
  const std::uint32_t pairs[3][2] = {{0, 1}, {0, 2}, {1, 2}};
  for (std::size_t row = 0; row < 3 * n; ++row) {
    block.time_mjd_s.push_back(first_mjd_s + step_s * static_cast<double>(first + row / 3));
    for (std::size_t i = 0; i < 2; ++i)
      block.station(row, i) = pairs[row % 3][i] + static_cast<std::uint32_t>(input * n_station);
  }
  return block;
}

/// The largest difference of the prepared rows' matrices to exp(i phase) at the slots' frequencies.
double worst(const AtermScreens& screens, const ImagingBlock& block, std::size_t first_row, std::size_t n_row,
             const std::vector<double>& slot_hz) {
  double most = 0;
  BOOST_REQUIRE_EQUAL(screens.row_slot().size(), n_row);
  BOOST_REQUIRE_EQUAL(screens.chan_slot().size(), block.channel_hz.size());
  for (std::size_t row = 0; row < n_row; ++row)
    for (std::size_t c = 0; c < block.channel_hz.size(); ++c)
      for (std::size_t i = 0; i < 2; ++i) {
        const auto step =
            static_cast<std::size_t>(std::lround((block.time_mjd_s[first_row + row] - first_mjd_s) / step_s));
        const std::size_t station = block.station(first_row + row, i) % n_station;
        const std::complex<double> want = std::polar(1.0, kTecPhase / slot_hz[c] * tec(station, step));
        const std::uint32_t response = screens.response()(screens.row_slot()[row], screens.chan_slot()[c],
                                                          block.station(first_row + row, i));
        for (std::size_t pixel = 0; pixel < side * side; ++pixel)
          for (std::size_t k = 0; k < 4; ++k) {
            const std::complex<float> got = screens.jones()(screens.row_slot()[row], screens.chan_slot()[c],
                                                            response, pixel / side, pixel % side, k);
            most = std::max(most, std::abs(std::complex<double>(got) - (k == 0 || k == 3 ? want : 0.0)));
          }
      }
  return most;
}

/// Prepares the whole block; returns how many rows each call took.
std::vector<std::size_t> prepare_all(AtermScreens& screens, const ImagingBlock& block,
                                     const std::vector<double>& slot_hz) {
  std::vector<std::size_t> taken;
  for (std::size_t first = 0; first < block.uvw_m.extent(0); first += taken.back()) {
    taken.push_back(screens.prepare(block, first));
    BOOST_REQUIRE_GT(taken.back(), 0u);
    // 1e-7: phases of some hundred radians, rounded to float at the end only.
    BOOST_CHECK_LE(worst(screens, block, first, taken.back(), slot_hz), 2e-7);
    const std::vector<double> hz(block.channel_hz.begin(), block.channel_hz.end());
    BOOST_CHECK_LE(screens.jones().size() * 8, screens.max_bytes(hz));
  }
  return taken;
}

const std::vector<double> five_hz{150e6, 151e6, 155e6, 156e6, 160e6},
    their_slots{150.5e6, 150.5e6, 155.5e6, 155.5e6, 160e6};

}  // namespace

BOOST_AUTO_TEST_CASE(screens_take_as_many_slots_as_memory_has_room) {
  const Screens set;
  for (const auto& [max_bytes, n_slots] : std::vector<std::pair<std::uint64_t, std::size_t>>{
           {0, 1}, {3 * slot_bytes, 1}, {3 * 5 * slot_bytes + 1, 5}, {1u << 30, max_slots}}) {
    AtermScreens screens = set.open(max_bytes);
    std::vector<std::size_t> want;
    for (std::size_t step = 0; step < n_step; step += n_slots)
      want.push_back(3 * std::min(n_slots, n_step - step));
    const auto taken = prepare_all(screens, block_of(five_hz, 0, n_step), their_slots);
    BOOST_TEST(taken == want, boost::test_tools::per_element());
    BOOST_TEST(screens.jones().extent(0) == (n_step - 1) % n_slots + 1);  // of the last call
    BOOST_TEST(screens.jones().extent(1) == 3u);
  }
}

BOOST_AUTO_TEST_CASE(blocks_in_any_order_get_their_own_screens) {
  const Screens set;
  AtermScreens screens = set.open(3 * 4 * slot_bytes);
  // The same times again, times that overlap, other channels, and back.
  for (const std::size_t first : {0u, 0u, 2u, 1u, 30u, 0u})
    prepare_all(screens, block_of(five_hz, first, 3), their_slots);
  prepare_all(screens, block_of({140e6}, 2, 3), {140e6});
  prepare_all(screens, block_of(five_hz, 2, 3), their_slots);
}

BOOST_AUTO_TEST_CASE(inputs_of_one_array_share_their_stations) {
  ArrayLayout other = three_stations();
  other.antennas[1].enu_m[0] += 1;
  const Screens same({three_stations(), three_stations()}), different({three_stations(), other});
  AtermScreens shared = same.open(1 << 20), apart = different.open(1 << 20);
  BOOST_TEST(shared.prepare(block_of({150e6}, 4, 1, 1), 0) == 3u);
  BOOST_TEST(shared.jones().extent(2) == n_station);
  BOOST_TEST(shared.response()(0, 0, 2) == shared.response()(0, 0, n_station + 2));
  BOOST_TEST(apart.prepare(block_of({150e6}, 4, 1, 1), 0) == 3u);
  BOOST_TEST(apart.response()(0, 0, n_station + 2) == 2u);
  for (AtermScreens* screens : {&shared, &apart})
    BOOST_TEST(worst(*screens, block_of({150e6}, 4, 1, 1), 0, 3, {150e6}) <= 2e-7);
}

BOOST_AUTO_TEST_CASE(stations_of_equal_matrices_share_a_response) {
  // TEC of half a step for the second station: it is like the first in even steps and like the third in odd
  // ones.
  Screens set;
  const auto axes =
      joined(sky_axes(set.grid.centre, 16, 16, -2, 2),
             {{"ANTENNA", n_station}, {"FREQ", 1, 150e6, 1e6}, {"TIME", n_step, first_mjd_s, step_s}});
  set.folder.file("t.fits", cube_text(axes, -64, [](const auto& i) {
                    return tec(i[2] == 1 ? (i[4] % 2 == 0 ? 0 : 2) : i[2], i[4]);
                  }));
  AtermScreens screens = set.open(1u << 30);
  const ImagingBlock block = block_of(five_hz, 0, 4);
  BOOST_TEST(screens.prepare(block, 0) == 12u);
  BOOST_TEST(screens.jones().extent(2) == 2u);
  for (std::size_t step = 0; step < 4; ++step)
    for (std::size_t chan_slot = 0; chan_slot < 3; ++chan_slot) {
      const auto own = screens.response()[screens.row_slot()[3 * step]][chan_slot];
      BOOST_TEST(own[0] != own[2]);
      BOOST_TEST(own[1] == own[step % 2 == 0 ? 0 : 2]);
    }
}

/// Matrices of earlier slots stay when a later one has more responses.
BOOST_AUTO_TEST_CASE(responses_grow_with_the_slots) {
  Screens set;
  const auto axes =
      joined(sky_axes(set.grid.centre, 16, 16, -2, 2),
             {{"ANTENNA", n_station}, {"FREQ", 1, 150e6, 1e6}, {"TIME", n_step, first_mjd_s, step_s}});
  set.folder.file("t.fits", cube_text(axes, -64, [](const auto& i) {
                    return tec(std::min<std::size_t>(i[2], i[4]), i[4]);
                  }));
  AtermScreens screens = set.open(1u << 30);
  const ImagingBlock block = block_of(five_hz, 0, 4);
  for (int again = 0; again < 2; ++again) {
    BOOST_TEST(screens.prepare(block, 0) == 12u);
    BOOST_TEST(screens.jones().extent(2) == 3u);
    double most = 0;
    for (std::size_t row = 0; row < 12; ++row)
      for (std::size_t c = 0; c < 5; ++c)
        for (std::size_t end = 0; end < 2; ++end) {
          const std::size_t step = row / 3, station = block.station(row, end);
          const std::uint32_t slot = screens.row_slot()[row], chan_slot = screens.chan_slot()[c];
          const std::complex<double> got = screens.jones()(
              slot, chan_slot, screens.response()(slot, chan_slot, station), side / 2, side / 2, 3);
          most = std::max(most, std::abs(got - std::polar(1.0, kTecPhase / their_slots[c] *
                                                                   tec(std::min(station, step), step))));
        }
    BOOST_TEST(most <= 2e-7);
  }
}

BOOST_AUTO_TEST_SUITE_END()
