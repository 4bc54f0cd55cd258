// SPDX-License-Identifier: GPL-3.0-or-later
// Visibility streams on their way into an image: coordinates, phases, planes, selections.
#include "libcore/imaging/source.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>

#include "libcore/base/constants.h"
#include "libcore/base/error.h"
#include "libcore/imaging/blocks.h"
#include "libcore/measures/coordinates.h"
#include "libcore/sky/rephase.h"
#include "libcore/streams/visibility_stream.h"
#include "libcore/visibility/stokes.h"
#include "tests/reference/scratch.h"

using namespace apsyn;
using reference::Scratch;

BOOST_AUTO_TEST_SUITE(source)

namespace {

constexpr std::size_t n_ant = 10, n_records = 30;
constexpr double flux = 3;

VisibilityHeader header_of(std::optional<SkyDirection> phase_centre) {
  VisibilityHeader h;
  h.telescope = "MWA-32T";
  h.start = {60123, 12345678901234567};
  h.integration_s = 60;  // half an hour in all: the zenith moves by 7.5 degrees
  h.channel_width_hz = 1e6;
  h.channel_hz = {149.5e6, 150.5e6};
  h.products = {Product::XX, Product::YY};
  h.layout = builtin_array("mwa-32t");
  h.layout.antennas.resize(n_ant);
  h.baselines = all_baselines(n_ant, true);
  h.phase_centre = phase_centre;
  return h;
}

/// <E_i E_j*> of a source, E_i = exp(+2 pi i nu r_i . s / c), stopped towards the reference direction.
void write_stream(const std::string& path, const VisibilityHeader& h, const SkyDirection& source) {
  const SkyFrame frame(*h.layout.site);
  VisibilityStreamWriter writer(path, h, false);
  VisibilityRecord record;
  for (std::size_t t = 0; t < n_records; ++t) {
    record.index = static_cast<std::int64_t>(t);
    record.data.resize({h.baselines.size(), 2, 2});
    record.weight.resize(record.data.shape());
    const UtcTime time = sample_time(h.start, record.index * 2 + 1, h.integration_s / 2);
    const Vec3 stopped = h.phase_centre ? frame.enu_from_direction(time, *h.phase_centre) : Vec3{0, 0, 1};
    const Vec3 towards = frame.enu_from_direction(time, source) - stopped;
    for (std::size_t b = 0; b < h.baselines.size(); ++b) {
      const Vec3 baseline = h.layout.antennas[static_cast<std::size_t>(h.baselines[b].ant1)].enu_m -
                            h.layout.antennas[static_cast<std::size_t>(h.baselines[b].ant2)].enu_m;
      for (std::size_t c = 0; c < 2; ++c)
        for (std::size_t p = 0; p < 2; ++p) {
          record.data(b, c, p) =
              std::polar(flux * (p == 0 ? 1.25 : 0.75),
                         kTwoPi * h.channel_hz[c] / kSpeedOfLight_m_s * dot(baseline, towards));
          record.weight(b, c, p) = p == 0 ? 1.0f : 0.5f;
        }
    }
    // What must not count: not finite, or of no weight.
    record.data(1, 0, 0) = std::numeric_limits<float>::quiet_NaN();
    record.data(2, 1, 1) = 1e9f;
    record.weight(2, 1, 1) = 0;
    writer.write(record);
  }
  writer.commit();
}

/// Weighted mean of the plane's data turned towards (l, m).
std::complex<double> towards(ImagingSource& source, const DirectionCosines& at, std::size_t plane,
                             std::uint64_t block_bytes = 1 << 20) {
  source.rewind(split_channels(source.info(), 1)[0]);
  ImagingBlock block;
  std::complex<double> sum = 0;
  double weight_sum = 0;
  while (source.read(block, block_bytes))
    for (std::size_t row = 0; row < block.uvw_m.extent(0); ++row)
      for (std::size_t c = 0; c < block.channel_hz.size(); ++c) {
        const double k = block.channel_hz(c) / kSpeedOfLight_m_s;
        const double path = block.path_m.size() == 0 ? 0 : block.path_m(row);
        const double turns = (block.uvw_m(row, 0) * at.l + block.uvw_m(row, 1) * at.m +
                              block.uvw_m(row, 2) * (at.n - 1) + path) *
                             k;
        sum += static_cast<double>(block.weight(row, c, plane)) *
               std::complex<double>(block.data(row, c, plane)) * std::polar(1.0, -kTwoPi * turns);
        weight_sum += block.weight(row, c, plane);
      }
  return sum / weight_sum;
}

}  // namespace

BOOST_AUTO_TEST_CASE(drift_scan_stands_still_at_the_zenith_of_mid_observation) {
  const Scratch scratch;
  const VisibilityHeader h = header_of(std::nullopt);
  const SkyFrame frame(*h.layout.site);
  const UtcTime middle = sample_time(h.start, n_records, h.integration_s / 2);
  const SkyDirection zenith = frame.zenith(middle);
  const SkyDirection star = unproject(zenith, 0.1, -0.12);
  write_stream(scratch.path("drift.vis"), h, star);
  auto source = open_imaging_source({scratch.path("drift.vis")}, {});
  BOOST_CHECK_SMALL(separation_rad(source->info().centre, zenith), 1e-9);
  BOOST_TEST(source->info().planes == std::vector<std::string>{"I"});
  // Differential aberration, which the frame of the centre does not follow, is 1e-4 x 0.15 rad x 170
  // wavelengths.
  const auto found = towards(*source, project(source->info().centre, star), 0);
  BOOST_CHECK_SMALL(std::abs(found - flux), 2e-3 * flux);
  // Blocks of one integration give the same.
  const auto again = towards(*source, project(source->info().centre, star), 0, 1);
  BOOST_CHECK_SMALL(std::abs(again - found), 1e-12);
  // The source's mirror images are not there.
  DirectionCosines mirrored = project(source->info().centre, star);
  mirrored.l = -mirrored.l;
  BOOST_CHECK_LT(std::abs(towards(*source, mirrored, 0)), 0.5 * flux);
}

BOOST_AUTO_TEST_CASE(a_tracked_stream_can_be_shifted_onto_a_star) {
  const Scratch scratch;
  const SkyDirection centre{0.3, -0.45};
  const VisibilityHeader h = header_of(centre);
  const SkyDirection star = unproject(centre, -0.02, 0.015);
  write_stream(scratch.path("tracked.vis"), h, star);
  auto source = open_imaging_source({scratch.path("tracked.vis")}, {});
  BOOST_CHECK_EQUAL(source->info().centre.ra_rad, centre.ra_rad);
  BOOST_CHECK_SMALL(std::abs(towards(*source, project(centre, star), 0) - flux), 1e-3);
  // Shifted onto the star, it is the centre; the same data, so the same error.
  auto shifted = open_imaging_source({scratch.path("tracked.vis")}, {.planes = "XX,YY", .centre = star});
  BOOST_CHECK_SMALL(std::abs(towards(*shifted, {0, 0, 1}, 0) - 1.25 * flux), 1e-3);
  BOOST_CHECK_SMALL(std::abs(towards(*shifted, {0, 0, 1}, 1) - 0.75 * flux), 1e-3);
  const DirectionCosines old_centre = project(star, centre);
  BOOST_CHECK_SMALL(std::abs(towards(*shifted, old_centre, 0) / 1.25 - towards(*source, {0, 0, 1}, 0)), 0.05);
}

// Records of no weight are pauses; of one that is valid in part the best baseline counts.
BOOST_AUTO_TEST_CASE(pauses_do_not_count_as_exposure) {
  const Scratch scratch;
  const std::string path = scratch.path("pauses.vis");
  const VisibilityHeader h = header_of(SkyDirection{0.3, -0.45});
  VisibilityStreamWriter writer(path, h, false);
  VisibilityRecord record;
  record.data.resize({h.baselines.size(), 2, 2});
  record.weight.resize(record.data.shape());
  for (const float valid : {1.0f, 0.0f, 0.5f, 1.0f}) {
    record.weight.fill(valid / 2);
    for (std::size_t i = 0; i < 4; ++i) record.weight.data()[4 * 7 + i] = valid;
    writer.write(record);
    ++record.index;
  }
  writer.commit();
  const ImagingInfo info = open_imaging_source({path}, {})->info();
  BOOST_TEST(info.exposure_s == 2.5 * 60);
  BOOST_CHECK_SMALL(info.start.mjd_seconds() - h.start.mjd_seconds(), 1e-6);
  BOOST_REQUIRE(info.end.has_value());
  BOOST_CHECK_SMALL(info.end->mjd_seconds() - (h.start.mjd_seconds() + 4 * 60), 2e-6);  // of 5e9 s
  BOOST_TEST(open_imaging_source({path}, {.first_interval = 1, .n_intervals = 2})->info().exposure_s == 30);
}

BOOST_AUTO_TEST_CASE(selections_leave_the_rows_that_they_name) {
  const Scratch scratch;
  write_stream(scratch.path("s.vis"), header_of(SkyDirection{0.3, -0.45}), {0.3, -0.45});
  auto rows = [&](const ImagingSelection& selection) {
    auto source = open_imaging_source({scratch.path("s.vis")}, selection);
    source->rewind(split_channels(source->info(), 1)[0]);
    std::size_t n = 0;
    for (ImagingBlock block; source->read(block, 1 << 20);)
      n += block.uvw_m.extent(0) * block.channel_hz.size();
    return n;
  };
  const std::size_t per_record = n_ant * (n_ant - 1) / 2;
  BOOST_CHECK_EQUAL(rows({}), n_records * per_record * 2);
  BOOST_CHECK_EQUAL(rows({.first_interval = 28}), 2 * per_record * 2);
  BOOST_CHECK_EQUAL(rows({.first_interval = 3, .n_intervals = 4, .first_channel = 1, .n_channels = 1}),
                    4 * per_record);
  BOOST_CHECK_THROW(rows({.first_interval = 30}), FailureError);
  BOOST_CHECK_THROW(rows({.first_channel = 2}), UsageError);
  BOOST_CHECK_THROW(rows({.fields = {0}}), UsageError);
  BOOST_CHECK_THROW(rows({.column = "CORRECTED_DATA"}), UsageError);
  BOOST_CHECK_THROW(rows({.planes = "IQUV"}), UsageError);
  BOOST_CHECK_THROW(open_imaging_source({scratch.path("none")}, {}), FailureError);
}

BOOST_AUTO_TEST_CASE(rephasing_moves_phases_and_coordinates_exactly) {
  const SkyDirection from{1.1, -0.4}, to{1.3, -0.2}, star{1.25, -0.45};
  const Rephasing move = make_rephasing(from, to);
  const Vec3 uvw{123.4, -77, 31};
  auto phase = [](const Vec3& b, const DirectionCosines& at) {
    return b[0] * at.l + b[1] * at.m + b[2] * (at.n - 1);
  };
  const Vec3 moved = multiply(move.rotation, uvw);
  BOOST_CHECK_SMALL(phase(uvw, project(from, star)) - dot(move.path, uvw) - phase(moved, project(to, star)),
                    1e-12);
  BOOST_CHECK_SMALL(dot(moved, moved) - dot(uvw, uvw), 1e-9);
}

BOOST_AUTO_TEST_CASE(frames_about_a_pole_differ_by_their_right_ascensions) {
  MsRows rows;
  rows.uvw_m.resize({1, 3});
  rows.uvw_m(0, 0) = 10;
  rows.uvw_m(0, 2) = 7;
  rows.field = {0};
  for (const double dec : {kPi / 2, -kPi / 2}) {
    ImagingBlock block;
    move_to_centre(rows, {{"pole", {0.5, dec}}}, {0.5 + kPi / 2, dec}, block);
    BOOST_CHECK_SMALL(block.uvw_m(0, 0), 1e-14);  // east there is along v here
    BOOST_CHECK_CLOSE(block.uvw_m(0, 1), dec > 0 ? -10 : 10, 1e-12);
    BOOST_CHECK_CLOSE(block.uvw_m(0, 2), 7, 1e-12);
    BOOST_CHECK_SMALL(block.path_m(0), 1e-14);
    move_to_centre(rows, {{"pole", {0.5, dec}}}, {0.5, dec}, block);
    BOOST_CHECK_EQUAL(block.uvw_m(0, 0), 10);
    BOOST_CHECK_EQUAL(block.path_m.size(), 0u);
  }
}

BOOST_AUTO_TEST_CASE(products_become_the_planes_that_are_asked_for) {
  const std::vector<Product> linear{Product::XX, Product::XY, Product::YX, Product::YY};
  const std::vector<Product> circular{Product::RR, Product::RL, Product::LR, Product::LL};
  // Stokes parameters of a wave: XX = I + Q, XY = U + iV, YX = U - iV, YY = I - Q; RR = I + V, RL = Q + iU,
  // ...
  const double stokes[4] = {7, 2, -1, 0.5};
  const std::complex<double> i(0, 1);
  const std::complex<double> xy[4] = {stokes[0] + stokes[1], stokes[2] + i * stokes[3],
                                      stokes[2] - i * stokes[3], stokes[0] - stokes[1]};
  const std::complex<double> rl[4] = {stokes[0] + stokes[3], stokes[1] + i * stokes[2],
                                      stokes[1] - i * stokes[2], stokes[0] - stokes[3]};
  for (const auto& [products, values] : {std::pair(linear, xy), std::pair(circular, rl)}) {
    const auto planes = parse_planes("IQUV", products);
    BOOST_REQUIRE_EQUAL(planes.size(), 4u);
    for (std::size_t p = 0; p < 4; ++p) {
      std::complex<double> sum = 0;
      for (std::size_t k = 0; k < planes[p].index.size(); ++k)
        sum += planes[p].coefficient[k] * values[planes[p].index[k]];
      BOOST_CHECK_SMALL(std::abs(sum - stokes[p]), 1e-15);
    }
  }
  BOOST_CHECK_EQUAL(parse_planes("", linear)[0].name, "I");
  BOOST_CHECK_EQUAL(parse_planes("", {Product::RR})[0].name, "RR");
  BOOST_CHECK_EQUAL(parse_planes("XX,YY", linear)[1].index[0], 3u);
  BOOST_CHECK_THROW(parse_planes("XY", linear), UsageError);
  BOOST_CHECK_THROW(parse_planes("I,I", linear), UsageError);
  BOOST_CHECK_THROW(parse_planes("RR", linear), UsageError);
  BOOST_CHECK_THROW(parse_planes("I,", linear), UsageError);
  BOOST_CHECK_THROW(parse_planes("Z", linear), UsageError);
  BOOST_CHECK_THROW(parse_planes("V", {Product::XX, Product::YY}), UsageError);
}

BOOST_AUTO_TEST_CASE(channels_are_split_into_groups_in_order) {
  ImagingInfo info;
  info.channel_hz = {100, 101, 102, 103, 104};
  info.channel_width_hz = {1, 1, 1, 1, 1};
  const auto groups = split_channels(info, 2);
  BOOST_CHECK_EQUAL(groups[0].n_channels + groups[1].n_channels, 5u);
  BOOST_CHECK_EQUAL(groups[0].low_hz, 100);
  BOOST_CHECK_EQUAL(groups[1].high_hz, 104);
  BOOST_CHECK_LT(groups[0].high_hz, groups[1].low_hz);
  BOOST_CHECK_EQUAL(split_channels(info, 1)[0].width_hz, 5);
  BOOST_CHECK_THROW(split_channels(info, 6), UsageError);
  // From 99.5 to 105.5.
  info.channel_width_hz.back() = 3;
  BOOST_CHECK_EQUAL(split_channels(info, 1)[0].width_hz, 6);
  BOOST_CHECK_EQUAL(split_channels(info, 1)[0].centre_hz(), 102.5);
}

BOOST_AUTO_TEST_SUITE_END()
