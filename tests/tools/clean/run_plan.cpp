// SPDX-License-Identifier: GPL-3.0-or-later
// What a run of clean on Measurement Sets writes and takes: names of its products, memory of its images, and
// which channels and rows its options select.
#include <boost/test/unit_test.hpp>

#include <cmath>

#include "libcore/base/error.h"
#include "tests/reference/scratch.h"
#include "tests/support/no_source.h"
#include "tools/clean/products.h"
#include "tools/clean/visibilities.h"

using namespace apsyn;
using namespace apsyn::clean;

BOOST_AUTO_TEST_SUITE(run_plan)

namespace {

struct Case {
  Tool tool{"test", "plan"};
  imaging::Options options;
  NoSource source;
  Imager imager{tool, options, source, {{"I", {}, {}}, {"Q", {}, {}}}, {}, {}, 1 << 20};

  Case() {
    options.imaging.n_x = 300, options.imaging.n_y = 200, options.imaging.cell_rad = 1e-4;
    tool.common().threads = 1;
  }
  std::uint64_t kept(std::size_t n_groups, std::size_t n_fields) const {
    return plan_image_memory(imager, {}, n_groups, n_fields).kept_bytes;
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(products_are_what_the_options_ask_for) {
  using Kinds = std::vector<std::string>;
  Case made;
  Products products{made.imager, "out", false, false, true, false, {}, false};
  BOOST_TEST(products.kinds() == (Kinds{"dirty", "psf", "model", "residual", "image"}));
  products.resume = true;  // dirty image and PSF of the earlier run stay
  BOOST_TEST(products.kinds() == (Kinds{"model", "residual", "image"}));
  products.restores = false;
  BOOST_TEST(products.kinds() == (Kinds{"model", "residual"}));
  made.options.imaging.aterms = "some.conf";
  BOOST_TEST(products.kinds() == (Kinds{"model", "residual", "beam", "model-pb"}));
  products.restores = true;
  BOOST_TEST(products.kinds() == (Kinds{"model", "residual", "image", "beam", "model-pb", "image-pb"}));
  BOOST_TEST(products.path({{}, "-f2", {}}, "-MFS", "image") == "out-f2-MFS-image.fits");
  BOOST_TEST(products.source_list_path({{}, "-f2", {}}) == "out-f2-sources.txt");
}

// Any of them that is there already stops the run before it begins: of a group, of the mean, of a field.
BOOST_AUTO_TEST_CASE(one_product_that_exists_is_enough_to_refuse) {
  Case made;
  const reference::Scratch folder;
  const std::vector<Field> fields{{{}, "-f0", {}}, {{}, "-f1", {}}};
  Products products{made.imager, folder.path("out"), false, false, true, false, {}, false};
  BOOST_CHECK_NO_THROW(check_products(products, fields, 2));
  for (const char* name : {"out-f0-0001-psf.fits", "out-f1-MFS-residual.fits"}) {
    folder.file(name, "kept");
    BOOST_CHECK_THROW(check_products(products, fields, 2), UsageError);
    products.overwrite = true;
    BOOST_CHECK_NO_THROW(check_products(products, fields, 2));
    products.overwrite = false;
    std::filesystem::remove(folder.path(name));
  }
  folder.file("out-f1-sources.txt", "kept");
  BOOST_CHECK_NO_THROW(check_products(products, fields, 2));  // is not to be written
  products.source_list = true;
  BOOST_CHECK_THROW(check_products(products, fields, 2), UsageError);
}

// What FieldImages::bytes says is what its arrays take, and the plan grows by that with every field.
BOOST_AUTO_TEST_CASE(memory_of_images_is_that_of_their_arrays) {
  for (const char* aterms : {"", "some.conf"}) {
    Case made;
    made.options.imaging.aterms = aterms;
    for (const std::size_t n_groups : {1, 3}) {
      const FieldImages images(made.imager, n_groups);
      const std::uint64_t taken = sizeof(float) * (images.psf.size() + images.dirty.size() +
                                                   images.residual.size() + images.model.size()) +
                                  sizeof(double) * images.beam.size();
      BOOST_TEST(FieldImages::bytes(made.imager, n_groups) == taken);
      BOOST_TEST(made.kept(n_groups, 2) - made.kept(n_groups, 1) >= taken);
    }
  }
}

BOOST_AUTO_TEST_CASE(wide_images_take_what_high_ones_do) {
  Case wide, high;
  high.options.imaging.n_x = 200, high.options.imaging.n_y = 300;
  const ImageMemory a = plan_image_memory(wide.imager, {}, 2, 1),
                    b = plan_image_memory(high.imager, {}, 2, 1);
  BOOST_TEST(a.kept_bytes == b.kept_bytes);
  BOOST_TEST(a.between_bytes == b.between_bytes);
  BOOST_TEST(a.between_bytes >=
             2 * 2 * 300 * 200 * sizeof(double));  // a product and its model, of two planes
}

BOOST_AUTO_TEST_CASE(every_waiting_group_has_weights_unless_all_are_weighed_together) {
  Case made;
  const std::uint64_t apart = made.kept(4, 1);
  made.options.imaging.weigh_groups_together = true;
  const auto weights = static_cast<std::uint64_t>(ImageWeights::bytes_for(300, 200) / 2);
  BOOST_TEST(apart - made.kept(4, 1) == 3 * weights);
  BOOST_TEST(made.kept(1, 1) > 0u);
}

BOOST_AUTO_TEST_CASE(selections_reach_the_source_as_they_were_given) {
  ImagingOptions options;
  options.column = "CORRECTED_DATA";
  options.column_given = true;
  options.fields = {2};
  options.spws = {1, 3};
  options.field_names = {"3C 48"};
  options.first_interval = 5, options.n_intervals = 7;
  options.first_channel = 11, options.n_channels = 13;
  options.planes = "XX,YY";
  const ImagingSelection selection = imaging::selection_of(options, 3);
  BOOST_TEST(selection.column == "CORRECTED_DATA");
  BOOST_TEST(!selection.name_other_columns);
  BOOST_TEST(selection.fields == options.fields);
  BOOST_TEST(selection.spws == options.spws);
  BOOST_TEST(selection.field_names == options.field_names);
  BOOST_TEST(selection.first_interval == 5);
  BOOST_TEST(selection.n_intervals == 7);
  BOOST_TEST(selection.first_channel == 11u);
  BOOST_TEST(selection.n_channels == 13u);
  BOOST_TEST(selection.planes == "XX,YY");
  BOOST_TEST(!selection.correlations);
  options.aterms = "some.conf";  // all four correlations are read then
  BOOST_TEST(imaging::selection_of(options, 3).correlations);
}

BOOST_AUTO_TEST_CASE(weights_are_as_the_options_say) {
  ImagingOptions options;
  options.weight = "briggs";
  options.robustness = -0.5;
  options.rank_filter = 4;
  options.taper_gaussian_rad = 1e-3;
  options.min_uv_lambda = 30, options.max_uv_lambda = 500;
  options.inner_tukey_lambda = 10, options.outer_tukey_lambda = 20;
  const WeightSettings settings = imaging::weight_settings(options);
  BOOST_TEST((settings.mode == WeightMode::briggs));
  BOOST_TEST(settings.robustness == -0.5);
  BOOST_TEST(settings.rank_filter_level == 4);
  BOOST_TEST(settings.taper_gaussian_rad == 1e-3);
  BOOST_TEST(settings.min_uv_lambda == 30);
  BOOST_TEST(settings.max_uv_lambda == 500);
  BOOST_TEST(settings.inner_tukey_lambda == 10);
  BOOST_TEST(settings.outer_tukey_lambda == 20);
  options.weight = "uniform";
  options.max_uv_lambda = 0;  // no limit
  BOOST_TEST((imaging::weight_settings(options).mode == WeightMode::uniform));
  BOOST_TEST(std::isinf(imaging::weight_settings(options).max_uv_lambda));
  options.weight = "natural";
  BOOST_TEST((imaging::weight_settings(options).mode == WeightMode::natural));
}

BOOST_AUTO_TEST_CASE(planes_with_aterms_are_made_of_all_correlations) {
  imaging::Options options;
  ImagingInfo info;
  info.planes = {"I", "V"};
  BOOST_TEST_REQUIRE(imaging::planes_of(options, info).size() == 2u);
  BOOST_TEST(imaging::planes_of(options, info)[1].name == "V");
  options.imaging.aterms = "some.conf";
  options.imaging.planes = "XX,YY,Q";
  const std::vector<PlaneRecipe> planes = imaging::planes_of(options, info);
  BOOST_TEST_REQUIRE(planes.size() == 3u);
  BOOST_TEST(planes[2].name == "Q");
  options.imaging.aterms.clear();
  options.imaging.adjoint_aterms = true;
  BOOST_CHECK_THROW(imaging::selection_of(options.imaging, 1), UsageError);
}

BOOST_AUTO_TEST_SUITE_END()
