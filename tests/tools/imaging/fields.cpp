// SPDX-License-Identifier: GPL-3.0-or-later
// Fields and their images: where centres are, what visibilities become about them, what sums become.
#include <boost/test/unit_test.hpp>

#include <cmath>
#include <string>
#include <vector>

#include "libcore/base/constants.h"
#include "libcore/base/error.h"
#include "libcore/sky/projection.h"
#include "tests/support/no_source.h"
#include "tools/imaging/field_images.h"
#include "tools/imaging/images.h"
#include "tools/imaging/survey.h"

using namespace apsyn;
using namespace apsyn::imaging;

BOOST_AUTO_TEST_SUITE(fields)

namespace {

struct Case {
  Tool tool{"test", "fields"};
  Options options;
  NoSource source;
  Imager imager{tool, options, source, {{"I", {}, {}}, {"V", {}, {}}}, {}, {}, 1 << 20};
  ChannelGroup group;

  Case() {
    tool.common().threads = 2;
    options.inputs = {"obs.ms"};
    options.imaging.n_x = 8, options.imaging.n_y = 6, options.imaging.cell_rad = 1e-3;
    group.low_hz = 140e6, group.high_hz = 160e6, group.width_hz = 21e6;
  }
  /// Sums of planes of 12 x 10 whose weights are 2, 4 and 8, the last one the PSF's.
  GroupImages sums() const {
    GroupImages made;
    made.pixels.resize({3, 10, 12});
    for (std::size_t plane = 0; plane < 3; ++plane)
      for (std::size_t y = 0; y < 10; ++y)
        for (std::size_t x = 0; x < 12; ++x) made.pixels(plane, y, x) = pixel(plane, y, x);
    made.weight_sum = {2, 4, 8};
    return made;
  }
  static double pixel(std::size_t plane, std::size_t y, std::size_t x) {
    return static_cast<double>(1000 * plane + 20 * y + x + 1);
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(further_fields_are_numbered_after_that_at_the_centre) {
  Case made;
  made.source.info_.centre = {1, -0.4};
  BOOST_TEST(fields_of(made.options, made.source.info_)[0].suffix.empty());
  made.options.imaging.more_centres = {{1.1, -0.4}, {1, -0.3}};
  const std::vector<Field> all = fields_of(made.options, made.source.info_);
  BOOST_TEST_REQUIRE(all.size() == 3u);
  BOOST_TEST(all[0].suffix == "-f0");
  BOOST_TEST(all[2].suffix == "-f2");
  BOOST_TEST(!all[0].rephasing.has_value());
  BOOST_TEST(all[2].centre.dec_rad == -0.3);
  // A baseline along w there is one towards the other centre here.
  const SkyDirection from{1, -0.4}, to{1, -0.3};
  const DirectionCosines s = project(from, to);
  const Vec3 there = all[2].moved({s.l, s.m, s.n});
  BOOST_TEST(std::abs(there[0]) < 1e-12);
  BOOST_TEST(std::abs(there[1]) < 1e-12);
  BOOST_TEST(std::abs(there[2] - 1) < 1e-12);
  BOOST_TEST(all[0].moved({3, 4, 5}) == (Vec3{3, 4, 5}));
}

// w there less w here is the path that is to be taken out, beside the one that was left in the data.
BOOST_AUTO_TEST_CASE(a_block_is_moved_to_the_centre_of_its_field) {
  ImagingBlock block;
  block.uvw_m.resize({2, 3});
  const double uvw[2][3] = {{30, -20, 5}, {-7, 100, 60}};
  for (std::size_t row = 0; row < 2; ++row)
    for (std::size_t axis = 0; axis < 3; ++axis) block.uvw_m(row, axis) = uvw[row][axis];
  block.channel_hz.resize({2});
  block.channel_hz(0) = 150e6, block.channel_hz(1) = 299792458.0;
  block.data.resize({2, 2, 1});
  block.weight.resize({2, 2, 1});
  block.station.resize({2, 2});
  const SkyDirection from{1, -0.4}, to{1.05, -0.3};
  Field field;
  BlockMover mover;
  GridBlock same = mover(block, block.weight, field);
  BOOST_TEST(same.wavenumber(1) == 1);
  BOOST_TEST(std::abs(same.wavenumber(0) - 150e6 / 299792458.0) < 1e-15);
  BOOST_TEST(same.uvw_m(1, 2) == 60);
  BOOST_TEST(same.path_m.size() == 0u);
  field.rephasing = make_rephasing(from, to);
  for (const bool with_path : {false, true}) {
    if (with_path) {
      block.path_m.resize({2});
      block.path_m(0) = 0.25, block.path_m(1) = -3;
    }
    const GridBlock moved = mover(block, block.weight, field);
    for (std::size_t row = 0; row < 2; ++row) {
      // The same baseline in equatorial axes, along u, v and w of the other centre.
      const Mat3 a = uvw_axes(from), b = uvw_axes(to);
      Vec3 xyz{};
      for (std::size_t axis = 0; axis < 3; ++axis)
        for (std::size_t k = 0; k < 3; ++k) xyz[axis] += a[k][axis] * uvw[row][k];
      for (std::size_t axis = 0; axis < 3; ++axis)
        BOOST_TEST(std::abs(moved.uvw_m(row, axis) - dot(b[axis], xyz)) < 1e-10);
      const double left = with_path ? block.path_m(row) : 0;
      BOOST_TEST(std::abs(moved.path_m(row) - (dot(b[2], xyz) - uvw[row][2]) - left) < 1e-10);
    }
  }
}

BOOST_AUTO_TEST_CASE(images_are_the_middle_of_the_planes_over_their_weights) {
  Case made;
  const GroupImages sums = made.sums();
  for (const unsigned n_threads : {1u, 3u}) {
    const Image image =
        whole_image(cut_image(made.imager, {}, sums, 1, {"V", "PSF"}, made.group, {8, 5}), n_threads);
    BOOST_TEST_REQUIRE(image.pixels.extent(0) == 2u);
    for (std::size_t plane = 0; plane < 2; ++plane)
      for (std::size_t y = 0; y < 5; ++y)
        for (std::size_t x = 0; x < 8; ++x)  // pixel (6, 5) of 12 x 10 is pixel (4, 2) of 8 x 5
          BOOST_TEST(image.pixels(plane, 0, y, x) ==
                     Case::pixel(plane + 1, y + 3, x + 2) / (plane == 0 ? 4.0 : 8.0));
    BOOST_TEST(image.info.stokes[0] == "V");
    bool found = false;
    for (const auto& [key, value] : image.info.keywords)
      if (key == "WSCIMGWG") found = value == 4;
    BOOST_TEST(found);
  }
  GroupImages without = made.sums();
  without.weight_sum[1] = 0;
  BOOST_CHECK_THROW(cut_image(made.imager, {}, without, 0, {"I", "V"}, made.group, {8, 6}), FailureError);
  BOOST_CHECK_NO_THROW(cut_image(made.imager, {}, without, 0, {"I"}, made.group, {8, 6}));
}

BOOST_AUTO_TEST_CASE(an_image_says_what_it_was_made_of) {
  Case made;
  ImagingInfo& info = made.source.info_;
  info.telescope = "T", info.object = "O", info.observer = "me";
  info.start = parse_utc("2024-01-01T12:00:00");
  info.end = parse_utc("2024-01-01T13:00:00");
  info.exposure_s = 3000;
  info.frequency_frame = "LSRK";
  Field field;
  field.centre = {1, -0.4};
  const ImageInfo image = info_of(made.imager, field, made.group, {"I"});
  BOOST_TEST(image.centre.dec_rad == -0.4);
  BOOST_TEST(image.cell_rad == 1e-3);
  BOOST_TEST(image.freq_hz == 150e6);
  BOOST_TEST(image.bandwidth_hz == 21e6);
  BOOST_TEST(image.telescope == "T");
  BOOST_TEST(image.object == "O");
  BOOST_TEST(image.observer == "me");
  BOOST_TEST(image.frequency_frame == "LSRK");
  BOOST_TEST(image.unit == "JY/BEAM");
  BOOST_TEST(format_fits_utc(*image.time) == "2024-01-01T12:00:00.000");
  BOOST_TEST(format_fits_utc(*image.end) == "2024-01-01T13:00:00.000");
  BOOST_TEST(image.keywords[0].first == "XPOSURE");
  BOOST_TEST(image.keywords[0].second == 3000);
}

BOOST_AUTO_TEST_CASE(groups_add_up_to_the_band) {
  Case made;
  GroupImages band;
  GroupImages group = made.sums();
  group.beam.resize({10, 12});
  group.beam.fill(0.5);
  add_to(band, group);
  group.weight_sum = {1, 1, 1};
  add_to(band, group);
  BOOST_TEST(band.weight_sum == std::vector<double>({3, 5, 9}), boost::test_tools::per_element());
  BOOST_TEST(band.pixels(2, 9, 11) == 2 * Case::pixel(2, 9, 11));
  BOOST_TEST(band.beam(3, 4) == 1);
}

// The beam, 1 in the middle and 0.1 or nothing elsewhere, times the weight of the first plane.
BOOST_AUTO_TEST_CASE(the_average_beam_is_divided_out_where_there_is_any) {
  Case made;
  GroupImages sums = made.sums();
  sums.beam.resize({10, 12});
  sums.beam.fill(0.2);
  sums.beam(5, 6) = 2;
  sums.beam(4, 3) = 1.9e-3;  // below a thousandth of the peak
  Image image = whole_image(cut_image(made.imager, {}, sums, 0, {"I", "V"}, made.group, {8, 6}), 1);
  const Image beam = take_beam_out(made.imager, {}, sums, made.group, 2, image);
  BOOST_TEST(beam.pixels(0, 0, 3, 4) == 1);
  BOOST_TEST(std::abs(beam.pixels(0, 0, 0, 0) - 0.1) < 1e-12);
  BOOST_TEST(beam.info.unit.empty());
  BOOST_TEST(image.pixels(1, 0, 3, 4) == Case::pixel(1, 5, 6) / 4);
  BOOST_TEST(std::abs(image.pixels(1, 0, 0, 0) - Case::pixel(1, 2, 2) / 4 / 0.1) < 1e-9);
  BOOST_TEST(std::isnan(image.pixels(0, 0, 2, 1)));
  BOOST_TEST(std::isnan(image.pixels(1, 0, 2, 1)));
  BOOST_TEST(image.info.keywords.back().first == "PBCOR");
  BOOST_TEST(image.info.keywords.back().second == 1);

  Buffer<double, 2> response({1, 3});
  response(0, 0) = 2, response(0, 1) = 2.1e-3, response(0, 2) = 1.9e-3;
  Buffer<double, 3> model({2, 1, 3});
  for (std::size_t i = 0; i < 6; ++i) model.data()[i] = static_cast<double>(i + 1);
  const Buffer<double, 3> over = over_beam(model, response), true_sky = model_over_beam(model, response);
  BOOST_TEST(over(1, 0, 0) == 2);
  BOOST_TEST(std::abs(over(1, 0, 1) - 5 / 2.1e-3) < 1e-9);
  BOOST_TEST(std::isnan(over(0, 0, 2)));
  BOOST_TEST(true_sky(0, 0, 2) == 0);
  BOOST_TEST(true_sky(1, 0, 0) == 2);
  BOOST_TEST(beam_peak(response) == 2);
}

// Sums of 8 x 6: planes over their weights, the PSF over its own middle, the beam over the weight of the
// first.
BOOST_AUTO_TEST_CASE(sums_become_residuals_a_psf_of_peak_one_and_a_beam) {
  Case made;
  made.options.imaging.aterms = "some.conf";
  GroupImages sums;
  sums.pixels.resize({3, 6, 8});
  for (std::size_t i = 0; i < sums.pixels.size(); ++i) sums.pixels.data()[i] = static_cast<double>(i + 1);
  sums.pixels(0, 0, 0) = NAN;
  sums.pixels(2, 0, 0) = NAN;
  sums.weight_sum = {2, 4, 8};
  sums.beam.resize({6, 8});
  sums.beam.fill(1.5);
  FieldImages images(made.imager, 2);
  take_sums(sums, made.imager, 1, images);
  BOOST_TEST(images.weight(1, 0) == 2);
  BOOST_TEST(images.weight(1, 1) == 4);
  BOOST_TEST(images.residual(1, 0, 2, 3) == static_cast<float>((2 * 8 + 3 + 1) / 2.0));
  BOOST_TEST(images.residual(1, 1, 2, 3) == static_cast<float>((48 + 2 * 8 + 3 + 1) / 4.0));
  BOOST_TEST(std::isnan(images.residual(1, 0, 0, 0)));
  BOOST_TEST(images.psf(1, 0, 0, 0) == 0);  // nothing is known beyond the horizon
  BOOST_TEST(images.psf(1, 0, 3, 4) == 1);
  BOOST_TEST(std::abs(images.psf(1, 0, 5, 7) - 144.0 / (96 + 3 * 8 + 5)) < 1e-6);
  BOOST_TEST(images.beam(1, 2, 2) == 0.75);
  BOOST_TEST(std::abs(images.min_beam(1) - 0.75e-3) < 1e-12);
  sums.weight_sum[1] = 0;
  BOOST_CHECK_THROW(take_sums(sums, made.imager, 0, images), FailureError);

  images.model.fill(0);
  images.model(1, 1, 4, 5) = 3;
  const Buffer<double, 3> truth = true_model(images, 1, 2);
  BOOST_TEST(truth(1, 4, 5) == 4);
  BOOST_TEST(truth(0, 4, 5) == 0);
  images.model.fill(0);
  take_true_model(truth, 1, images);
  BOOST_TEST(images.model(1, 1, 4, 5) == 3);
  BOOST_TEST(images.model(0, 1, 4, 5) == 0);
}

// Rows of two baselines; one row has no weight, and does not count.
BOOST_AUTO_TEST_CASE(a_survey_finds_the_longest_baselines_and_the_length_of_their_tracks) {
  ImagingBlock block;
  block.channel_hz.resize({2});
  block.channel_hz(0) = 299792458.0, block.channel_hz(1) = 2 * 299792458.0;  // 1 m and 0.5 m
  const double uvw[4][3] = {{3, 4, -10}, {300, -400, 50}, {6, 8, 20}, {1000, 1000, 1000}};
  block.uvw_m.resize({4, 3});
  block.weight.resize({4, 2, 2});
  block.data.resize({4, 2, 2});
  block.station.resize({4, 2});
  for (std::size_t row = 0; row < 4; ++row) {
    for (std::size_t axis = 0; axis < 3; ++axis) block.uvw_m(row, axis) = uvw[row][axis];
    block.station(row, 1) = row == 1 ? 2 : 1;
    for (std::size_t i = 0; i < 4; ++i) (&block.weight(row, 0, 0))[i] = row == 3 ? 0 : 1;
  }
  block.weight(2, 1, 0) = block.weight(2, 1, 1) = 0;
  Field here, there;
  there.rephasing = Rephasing{{{{0, 0, 1}, {0, 1, 0}, {1, 0, 0}}}, {}};  // u and w change places
  Survey found(2);
  found.add(block, {here, there}, 1);
  BOOST_TEST(found.n_visibilities == 5);  // two channels of two rows, one of another
  const IdgWorkload work = found.workload(0, 3, {}), moved = found.workload(1, 3, {});
  BOOST_TEST(work.max_u_lambda == 600);
  BOOST_TEST(work.max_v_lambda == 800);
  BOOST_TEST(work.max_w_lambda == 100);
  BOOST_TEST(moved.max_u_lambda == 100);
  BOOST_TEST(moved.max_w_lambda == 600);
  BOOST_TEST(work.n_planes == 3u);
  BOOST_TEST(work.n_baselines == 2);
  BOOST_TEST(work.n_visibilities == 5);
  // One baseline moves by 5 m at the middle, 1.5 wavelengths per metre; the other does not.
  BOOST_TEST(std::abs(work.time_track_lambda - 7.5 / 2) < 1e-9);
  BOOST_TEST(std::abs(work.channel_track_lambda - (5 + 500 + 10) / 3.0) < 1e-9);
}

BOOST_AUTO_TEST_CASE(a_gridder_is_told_of_planes_and_aterms) {
  Case made;
  IdgSetup setup = made.imager.setup(GridMemory::hybrid);
  BOOST_TEST((setup.grid_memory == GridMemory::hybrid));
  BOOST_TEST(setup.n_data_planes == 2u);
  BOOST_TEST((setup.psf == PsfPlane::last));
  BOOST_TEST(setup.n_threads == 2u);
  BOOST_TEST(setup.mix.empty());
  made.options.no_psf = true;
  BOOST_TEST((made.imager.setup().psf == PsfPlane::none));
  made.options.imaging.aterms = "some.conf";
  made.imager.planes = {{"XX", {}, {}}};
  setup = made.imager.setup();
  BOOST_TEST(setup.n_data_planes == 4u);  // all correlations, of which the planes are mixtures
  BOOST_TEST(setup.mix.size() == 1u);
  BOOST_TEST((setup.aterms == AtermMode::normalised));
  made.options.imaging.adjoint_aterms = true;
  BOOST_TEST((made.imager.setup().aterms == AtermMode::adjoint));
}

BOOST_AUTO_TEST_SUITE_END()
