// SPDX-License-Identifier: GPL-3.0-or-later
// Names of the images of idg-grid, which man/idg-grid promises, and what the imager is told to make for them.
#include <boost/test/unit_test.hpp>

#include <filesystem>

#include "libcore/base/error.h"
#include "libcore/formats/fits/image.h"
#include "tests/reference/scratch.h"
#include "tests/support/no_source.h"
#include "tools/idg-grid/outputs.h"
#include "tools/imaging/images.h"

using namespace apsyn;
using namespace apsyn::idg_grid;

BOOST_AUTO_TEST_SUITE(output_names)

namespace {

struct Case {
  Tool tool{"test", "names"};
  Options options;
  NoSource source;
  Imager imager{tool, options, source, {{"I", {}, {}}}, {}, {}, 1 << 20};

  Case() { tool.common().output = "some/name"; }
  std::string all(const std::string& part) const {
    const OutputNames names = apsyn::idg_grid::output_names(imager, part);
    return names.dirty + " " + names.psf + " " + names.beam;
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(parts_stand_between_the_name_and_the_kind) {
  Case made;
  BOOST_TEST(made.all("") == "some/name-dirty.fits some/name-psf.fits ");
  BOOST_TEST(made.all("-f1" + part_name(12, 20)) ==
             "some/name-f1-0012-dirty.fits some/name-f1-0012-psf.fits ");
  BOOST_TEST(part_name(0, 1) == "");
  BOOST_TEST(part_name(0, 2) == "-0000");
}

BOOST_AUTO_TEST_CASE(what_is_not_made_has_no_name) {
  Case made;
  made.options.no_psf = true;
  BOOST_TEST(made.all("") == "some/name-dirty.fits  ");
  BOOST_TEST(made.imager.n_planes() == 1u);
  made.options.no_psf = false;
  made.options.psf_only = true;
  BOOST_TEST(made.all("") == " some/name-psf.fits ");
  BOOST_TEST(made.imager.n_planes() == 1u);
  BOOST_TEST(made.imager.n_data_planes() == 0u);
}

BOOST_AUTO_TEST_CASE(aterms_have_a_beam_beside_unless_there_is_only_the_psf) {
  Case made;
  made.options.imaging.aterms = "some.conf";
  BOOST_TEST(made.all("-MFS") == "some/name-MFS-dirty.fits some/name-MFS-psf.fits some/name-MFS-beam.fits");
  made.options.psf_only = true;
  BOOST_TEST(made.all("") == " some/name-psf.fits ");
}

BOOST_AUTO_TEST_CASE(standard_output_takes_the_one_image_that_is_made) {
  Case made;
  made.tool.common().output = "-";
  made.options.no_psf = true;
  BOOST_TEST(made.all("") == "-  ");
  made.options.no_psf = false;
  made.options.psf_only = true;
  BOOST_TEST(made.all("") == " - ");
}

// --size and --psf-size: planes are gridded in the larger of both.
BOOST_AUTO_TEST_CASE(planes_are_gridded_in_the_larger_of_image_and_psf) {
  Options options;
  options.imaging.n_x = 100, options.imaging.n_y = 60;
  BOOST_TEST(gridded_n_x(options) == 100u);
  BOOST_TEST(gridded_n_y(options) == 60u);
  options.psf_size = 200;
  BOOST_TEST(gridded_n_x(options) == 200u);
  BOOST_TEST(gridded_n_y(options) == 200u);
}

// Any of them that is there already stops the run before it begins: of an interval, a field, a group, the
// mean.
BOOST_AUTO_TEST_CASE(one_image_that_exists_is_enough_to_refuse) {
  const reference::Scratch folder;
  Case made;
  made.options.imaging.aterms = "some.conf";
  made.tool.common().output = folder.path("out");
  const std::vector<Field> fields{{{}, "-f0", {}}, {{}, "-f1", {}}};
  BOOST_CHECK_NO_THROW(check_outputs(made.imager, fields, 2, 2));
  for (const char* name :
       {"out-t0001-f0-0001-dirty.fits", "out-t0000-f1-MFS-psf.fits", "out-t0000-f0-0000-beam.fits"}) {
    folder.file(name, "kept");
    BOOST_CHECK_THROW(check_outputs(made.imager, fields, 2, 2), UsageError);
    std::filesystem::remove(folder.path(name));
  }
  folder.file("out-f0-MFS-dirty.fits", "kept");
  BOOST_CHECK_NO_THROW(check_outputs(made.imager, fields, 1, 1));  // a single group has no mean
  BOOST_CHECK_NO_THROW(check_outputs(made.imager, fields, 2, 2));
  folder.file("out-f1-psf.fits", "kept");
  BOOST_CHECK_THROW(check_outputs(made.imager, fields, 1, 1), UsageError);
}

// Planes of 20 x 20 are cut to --size and --psf-size about their middle, and divided by their weights.
BOOST_AUTO_TEST_CASE(images_are_cut_to_their_sizes_around_the_middle) {
  const reference::Scratch folder;
  Case made;
  made.tool.common().output = folder.path("out");
  made.tool.common().threads = 1;
  made.options.imaging.n_x = 12, made.options.imaging.n_y = 8;
  made.options.imaging.cell_rad = 1e-4;
  GroupImages images;
  images.pixels.resize({2, 20, 20});
  for (std::size_t plane = 0; plane < 2; ++plane)
    for (std::size_t y = 0; y < 20; ++y)
      for (std::size_t x = 0; x < 20; ++x)
        images.pixels(plane, y, x) =
            static_cast<double>(400 * plane + 20 * y + x) + (y == 10 && x == 10 ? 1e5 : 0);
  images.weight_sum = {2, 4};
  ChannelGroup group;
  group.low_hz = group.high_hz = 150e6;
  for (const std::size_t psf_size : {0, 20, 6}) {
    made.options.psf_size = psf_size;
    made.tool.common().overwrite = true;
    write_images(made.imager, "", {}, images, group, 2);
    const Image dirty = read_fits_image(folder.path("out-dirty.fits")),
                psf = read_fits_image(folder.path("out-psf.fits"));
    const std::size_t width = psf_size == 0 ? 12 : psf_size, height = psf_size == 0 ? 8 : psf_size;
    BOOST_TEST(dirty.pixels.extent(3) == 12u);
    BOOST_TEST(dirty.pixels.extent(2) == 8u);
    BOOST_TEST_REQUIRE(psf.pixels.extent(3) == width);
    BOOST_TEST_REQUIRE(psf.pixels.extent(2) == height);
    BOOST_TEST(dirty.pixels(0, 0, 0, 0) == (20 * (10 - 4) + 10 - 6) / 2.0);
    BOOST_TEST(psf.pixels(0, 0, 0, 0) ==
               (400.0 + 20 * (10 - static_cast<double>(height) / 2) + 10 - static_cast<double>(width) / 2) /
                   4);
    BOOST_TEST(dirty.pixels(0, 0, 4, 6) == (210 + 1e5) / 2);
    BOOST_TEST(dirty.info.unit == "JY/BEAM");
    BOOST_TEST(dirty.info.freq_hz == 150e6);
  }
}

BOOST_AUTO_TEST_SUITE_END()
