// SPDX-License-Identifier: GPL-3.0-or-later
// Names of the images of idg-grid, which man/idg-grid promises, and what the imager is told to make for them.
#include <boost/test/unit_test.hpp>

#include "tools/idg-grid/outputs.h"
#include "tools/imaging/images.h"

using namespace apsyn;
using namespace apsyn::idg_grid;

BOOST_AUTO_TEST_SUITE(output_names)

namespace {

class NoSource final : public ImagingSource {
 public:
  const ImagingInfo& info() const override { return info_; }
  void rewind(const ChannelGroup&) override {}
  bool read(ImagingBlock&, std::uint64_t) override { return false; }

 private:
  ImagingInfo info_;
};

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

BOOST_AUTO_TEST_SUITE_END()
