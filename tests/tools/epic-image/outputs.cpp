// SPDX-License-Identifier: GPL-3.0-or-later
// Images on their way out: which plane, part and channel stands where, and the frequencies that outputs name.
#include "tools/epic-image/outputs.h"

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <sstream>
#include <string>
#include <vector>

#include "libcore/header/ascii_header.h"
#include "libcore/sky/regions.h"
#include "tests/reference/scratch.h"
#include "tools/epic-image/record.h"

using namespace apsyn;

BOOST_AUTO_TEST_SUITE(outputs)

namespace {

/// Four channels at 100, 101, 102 and 103 MHz, averaged by `n_average`; X and Y; the planes of `products`.
EpicSetup setup_of(const std::string& products, std::size_t n_average, std::size_t nx, std::size_t ny) {
  EpicSetup setup;
  setup.header.n_chan = 4;
  setup.header.n_pol = 2;
  setup.header.freq_hz = 101.5e6;
  setup.header.bandwidth_hz = 4e6;
  setup.header.sample_s = 1e-6;
  setup.header.source = "Cas_A";
  setup.header.layout.site = Site{-0.46, 2.03, 377};
  setup.f = plan_channelise(setup.header, 1, 1);
  setup.planes = parse_output_planes(products, 2, false);
  setup.epic.n_chan = 4;
  setup.epic.n_pol = 2;
  setup.epic.channel_hz = setup.f.channel_hz();
  setup.epic.n_average = n_average;
  setup.epic.first = setup.epic.second = setup.epic.cross = true;
  setup.epic.nx = nx, setup.epic.ny = ny;
  setup.epic.cell = 0.01;
  return setup;
}

/// What the pixel (x, y) of XX, YY, Re XY or Im XY has in a channel: a number that occurs once.
double value_of(std::size_t chan, std::size_t product, std::size_t y, std::size_t x) {
  return 1000.0 * static_cast<double>(chan + 1) + 100.0 * static_cast<double>(product) +
         10.0 * static_cast<double>(y) + static_cast<double>(x);
}

TimedImages images_of(const EpicPlan& plan) {
  TimedImages made;
  made.images.planes.resize({plan.n_image_channel(), 4, plan.height(), plan.width()});
  for (std::size_t chan = 0; chan < plan.n_image_channel(); ++chan)
    for (std::size_t product = 0; product < 4; ++product)
      for (std::size_t y = 0; y < plan.height(); ++y)
        for (std::size_t x = 0; x < plan.width(); ++x)
          made.images.planes(chan, product, y, x) = static_cast<float>(value_of(chan, product, y, x));
  made.images.weight.assign(plan.n_image_channel(), 1);
  made.begin = parse_utc("2024-01-01T12:00:00");
  made.middle = parse_utc("2024-01-01T12:00:01");
  made.length_s = 2;
  made.centre = {1, -0.4};
  return made;
}

std::vector<std::vector<std::string>> csv(const std::string& text) {
  std::vector<std::vector<std::string>> rows;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    rows.emplace_back();
    std::istringstream cells(line);
    for (std::string cell; std::getline(cells, cell, ',');) rows.back().push_back(cell);
  }
  return rows;
}

struct Case {
  Tool tool{"epic-image", ""};
  reference::Scratch scratch;
  Case() { tool.common().threads = 2; }
};

}  // namespace

BOOST_AUTO_TEST_CASE(an_image_names_the_middle_and_the_width_of_the_channels_it_averages) {
  Case made;
  for (const std::size_t n : {1, 2, 4}) {
    const EpicSetup setup = setup_of("I", n, 4, 4);
    const ImageInfo info = info_of(made.tool, setup, images_of(setup.epic));
    BOOST_TEST(info.freq_hz == 100e6 + 0.5e6 * static_cast<double>(n - 1));
    BOOST_TEST(info.bandwidth_hz == 1e6 * static_cast<double>(n));
    BOOST_TEST(info.cell_rad == 0.01);
    BOOST_TEST(info.object == "Cas_A");
    BOOST_TEST(info.centre.dec_rad == -0.4);
    BOOST_TEST(format_fits_utc(*info.time) == "2024-01-01T12:00:00.000");
  }
  EpicSetup named = setup_of("I", 1, 4, 4);
  named.header.telescope = "of the stream";
  BOOST_TEST(info_of(made.tool, named, images_of(named.epic)).telescope == "of the stream");
  named.header.layout.telescope = "of the table";
  BOOST_TEST(info_of(made.tool, named, images_of(named.epic)).telescope == "of the table");
}

// [part][plane][channel][y][x]; of planes that are real the imaginary part is 0.
BOOST_AUTO_TEST_CASE(records_hold_real_parts_before_imaginary_ones_and_planes_before_channels) {
  const EpicSetup setup = setup_of("YX,YY,Q", 2, 3, 2);
  const TimedImages made = images_of(setup.epic);
  Record record(setup, 2);
  const std::span<const float> values = record.make(made.images);
  BOOST_TEST_REQUIRE(values.size() == 2u * 3 * 2 * 6);
  for (std::size_t chan = 0; chan < 2; ++chan)
    for (std::size_t y = 0; y < 2; ++y)
      for (std::size_t x = 0; x < 3; ++x) {
        const auto at = [&](std::size_t part, std::size_t plane) {
          return static_cast<double>(values[(((part * 3 + plane) * 2 + chan) * 2 + y) * 3 + x]);
        };
        const auto of = [&](std::size_t product) { return value_of(chan, product, y, x); };
        BOOST_TEST(at(0, 0) == of(2));
        BOOST_TEST(at(1, 0) == -of(3));  // YX is the conjugate of XY
        BOOST_TEST(at(0, 1) == of(1));
        BOOST_TEST(at(1, 1) == 0);
        BOOST_TEST(at(0, 2) == (of(0) - of(1)) / 2);
        BOOST_TEST(at(1, 2) == 0);
      }
}

// Pixels of a region of an image of 12 x 8: columns 5 to 6 and rows 2 to 4.
BOOST_AUTO_TEST_CASE(curves_of_regions_are_means_and_largest_values_of_each_channel) {
  Case made;
  EpicSetup setup = setup_of("XY,YY", 2, 12, 8);
  setup.regions = parse_regions("#CRTFv0\nbox[[4.5pix, 1.5pix], [6.5pix, 4.5pix]]\n", "r.crtf");
  const std::string path = made.scratch.path("curve.csv");
  const auto sink = make_image_sink(made.tool, setup, path);
  TimedImages images = images_of(setup.epic);
  for (std::size_t product = 0; product < 4; ++product) images.images.planes(1, product, 3, 5) = NAN;
  sink->write(images);
  sink->commit();
  const auto rows = csv(made.scratch.read("curve.csv"));
  BOOST_TEST_REQUIRE(rows.size() == 3u);
  const std::vector<std::string> head{"time_utc",   "region",     "freq_hz", "pixels",
                                      "XY_re_mean", "XY_im_mean", "YY_mean", "YY_max"};
  BOOST_TEST(rows[0] == head, boost::test_tools::per_element());
  for (std::size_t chan = 0; chan < 2; ++chan) {
    double sum[4] = {}, n = 0, largest = 0;
    for (std::size_t y = 2; y <= 4; ++y)
      for (std::size_t x = 5; x <= 6; ++x) {
        if (chan == 1 && y == 3 && x == 5) continue;
        n += 1;
        for (std::size_t product = 0; product < 4; ++product) sum[product] += value_of(chan, product, y, x);
        largest = std::max(largest, value_of(chan, 1, y, x));
      }
    const std::vector<std::string>& row = rows[1 + chan];
    BOOST_TEST(row[0] == "2024-01-01T12:00:01.000000000");
    BOOST_TEST(row[1] == "1");
    BOOST_TEST(std::stod(row[2]) == (chan == 0 ? 100.5e6 : 102.5e6));
    BOOST_TEST(std::stod(row[3]) == n);
    BOOST_TEST(std::abs(std::stod(row[4]) - sum[2] / n) < 1e-3);
    BOOST_TEST(std::abs(std::stod(row[5]) - sum[3] / n) < 1e-3);
    BOOST_TEST(std::abs(std::stod(row[6]) - sum[1] / n) < 1e-3);
    BOOST_TEST(std::stod(row[7]) == largest);
  }
}

BOOST_AUTO_TEST_CASE(curves_of_directions_have_a_line_for_each_direction_and_channel) {
  Case made;
  EpicSetup setup = setup_of("XX,XY", 2, 0, 0);
  setup.directions.resize(3);
  for (std::size_t i = 0; i < 3; ++i) setup.directions[i].id = std::string(1, static_cast<char>('a' + i));
  setup.epic.n_direction = 3;
  const auto sink = make_image_sink(made.tool, setup, made.scratch.path("curve.csv"));
  sink->write(images_of(setup.epic));
  sink->commit();
  const auto rows = csv(made.scratch.read("curve.csv"));
  BOOST_TEST_REQUIRE(rows.size() == 7u);
  BOOST_TEST(rows[0][5] == "XY_im");
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t chan = 0; chan < 2; ++chan) {
      const std::vector<std::string>& row = rows[1 + 2 * i + chan];
      BOOST_TEST(row[1] == setup.directions[i].id);
      BOOST_TEST(std::stod(row[2]) == (chan == 0 ? 100.5e6 : 102.5e6));
      BOOST_TEST(std::stod(row[3]) == value_of(chan, 0, 0, i));
      BOOST_TEST(std::stod(row[4]) == value_of(chan, 2, 0, i));
      BOOST_TEST(std::stod(row[5]) == value_of(chan, 3, 0, i));
    }
}

// FREQ is the middle of the whole band and BW its width, as of any PSRDADA stream.
BOOST_AUTO_TEST_CASE(a_stream_of_images_has_the_middle_of_the_band_in_its_header) {
  for (const std::size_t n : {1, 2}) {
    Case made;
    const EpicSetup setup = setup_of("XX,YY", n, 6, 4);
    reference::with_stdout(made.scratch.path("stream"), [&] {
      const auto sink = make_image_sink(made.tool, setup, "-");
      sink->write(images_of(setup.epic));
      sink->commit();
    });
    const std::string bytes = made.scratch.read("stream");
    HeaderReader keys(std::string_view(bytes).substr(0, header_size(bytes.substr(0, 4096), "stream")),
                      "stream");
    BOOST_TEST(keys.require_number("FREQ", 6) == 101.5e6);
    BOOST_TEST(keys.require_number("BW", 6) == 4e6);
    BOOST_TEST(keys.require_number("TSAMP", -6) == 2);
    BOOST_TEST(keys.require_integer("NCHAN", 1, 99) == static_cast<int>(4 / n));
    BOOST_TEST(keys.require_integer("NX", 1, 99) == 6);
    BOOST_TEST(keys.require_integer("NY", 1, 99) == 4);
    BOOST_TEST(keys.require_integer("NDIM", 1, 2) == 1);
    BOOST_TEST(keys.require_text("PRODUCTS") == "XX,YY");
    BOOST_TEST(keys.require_integer("RESOLUTION", 1, 1 << 20) == static_cast<int>(2 * 4 / n * 24 * 4));
    BOOST_TEST(std::abs(*keys.angle("CELL") - 0.01) < 1e-12);
    BOOST_TEST(std::abs(keys.phase_centre()->dec_rad + 0.4) < 1e-9);
    BOOST_TEST(format_fits_utc(keys.start_time()) == "2024-01-01T12:00:00.000");
  }
}

BOOST_AUTO_TEST_CASE(a_number_in_the_name_makes_one_file_of_each_image) {
  BOOST_TEST(has_one_centre("cube.fits"));
  BOOST_TEST(!has_one_centre("image%03d.fits"));
  Case made;
  const EpicSetup setup = setup_of("I", 4, 4, 4);
  const auto sink = make_image_sink(made.tool, setup, made.scratch.path("i%d.fits"));
  TimedImages images = images_of(setup.epic);
  sink->write(images);
  images.images.weight[0] = 0;  // no usable data: its number is left out
  sink->write(images);
  images.images.weight[0] = 1;
  sink->write(images);
  sink->commit();
  BOOST_TEST(made.scratch.exists("i0.fits"));
  BOOST_TEST(!made.scratch.exists("i1.fits"));
  BOOST_TEST(made.scratch.exists("i2.fits"));
}

BOOST_AUTO_TEST_SUITE_END()
