// SPDX-License-Identifier: GPL-3.0-or-later
// The images that a run on Measurement Sets leaves: means over groups, units, beams and keywords of each
// kind.
#include "tools/clean/products.h"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>
#include <string>

#include "libcore/base/constants.h"
#include "libcore/formats/fits/image.h"
#include "tests/reference/scratch.h"
#include "tests/support/no_source.h"

using namespace apsyn;
using namespace apsyn::clean;

BOOST_AUTO_TEST_SUITE(products)

namespace {

constexpr std::size_t kX = 12, kY = 10;
const RestoringBeam kBeams[] = {{4e-4, 3e-4, 0.1}, {5e-4, 3e-4, 0.1}, {6e-4, 3e-4, 0.1}};

/// Two groups of weights 1 and 3, two planes; the beam of the stations is 0.5 in the first and 0.9 in the
/// second.
struct Case {
  Tool tool{"clean", ""};
  imaging::Options options;
  NoSource source;
  Imager imager{tool, options, source, {{"I", {}, {}}, {"Q", {}, {}}}, {}, {}, 1 << 20};
  reference::Scratch scratch;
  Products products{imager, scratch.path("out"), false, false, true, false, {}, false};
  Sky sky;
  std::vector<ChannelGroup> groups;

  explicit Case(bool aterms) {
    tool.common().threads = 2;
    source.info_.object = "Cas A";
    options.imaging.n_x = kX, options.imaging.n_y = kY, options.imaging.cell_rad = 1e-4;
    if (aterms) options.imaging.aterms = "some.conf";
    for (const double hz : {150e6, 160e6}) {
      ChannelGroup group;
      group.low_hz = group.high_hz = hz;
      group.width_hz = 1e6;
      groups.push_back(group);
    }
    sky.groups.resize(2);
    sky.group_numbers = {0, 1};
    sky.fields.resize(1);
    sky.images.emplace_back(imager, 2);
    FieldImages& images = sky.images[0];
    for (std::size_t g = 0; g < 2; ++g)
      for (std::size_t plane = 0; plane < 2; ++plane) {
        images.weight(g, plane) = g == 0 ? 1 : 3;
        for (std::size_t y = 0; y < kY; ++y)
          for (std::size_t x = 0; x < kX; ++x) {
            const float at = value(g, plane, y, x);
            if (plane == 0) images.psf(g, 0, y, x) = 1000 + at;
            images.dirty(g, plane, y, x) = 2000 + at;
            images.residual(g, plane, y, x) = 3000 + at;
            images.model(g, plane, y, x) = 0;
            if (aterms) images.beam(g, y, x) = g == 0 ? 0.5 : 0.9;
          }
        images.model(g, plane, 5, 6) = g == 0 ? 10 : 2;
      }
  }
  static float value(std::size_t g, std::size_t plane, std::size_t y, std::size_t x) {
    return static_cast<float>(400 * g + 200 * plane + kX * y + x);
  }
  void write() {
    std::vector<BandBeams> beams;
    if (products.restores) beams.push_back({{kBeams[0], kBeams[1]}, kBeams[2]});
    ChannelGroup band = groups[0];
    band.high_hz = 160e6;
    band.width_hz = 11e6;
    write_products(products, sky, beams, groups, band);
  }
  Image read(const std::string& name) const { return read_fits_image(scratch.path("out" + name + ".fits")); }
  double keyword(const std::string& name, const std::string& key) const {
    for (const auto& [own, number] : read_fits_keywords(scratch.path("out" + name + ".fits")))
      if (own == key) return number;
    return NAN;
  }
};

}  // namespace

// Of weights 1 and 3 the mean is a quarter of the first and three of the second.
BOOST_AUTO_TEST_CASE(the_whole_band_is_the_mean_of_its_groups_by_their_weights) {
  Case made(false);
  made.write();
  const auto mean = [](std::size_t plane, std::size_t y, std::size_t x) {
    return 0.25 * static_cast<double>(Case::value(0, plane, y, x)) +
           0.75 * static_cast<double>(Case::value(1, plane, y, x));
  };
  const std::pair<const char*, double> kinds[] = {{"dirty", 2000}, {"residual", 3000}, {"psf", 1000}};
  for (const auto& [kind, offset] : kinds) {
    const std::string name = kind;
    const Image band = made.read("-MFS-" + name), second = made.read("-0001-" + name);
    const std::size_t n_plane = name == "psf" ? 1 : 2;
    BOOST_TEST_REQUIRE(band.pixels.extent(0) == n_plane);
    for (std::size_t plane = 0; plane < n_plane; ++plane)
      for (std::size_t y = 0; y < kY; ++y)
        for (std::size_t x = 0; x < kX; ++x) {
          BOOST_TEST(std::abs(band.pixels(plane, 0, y, x) - offset - mean(plane, y, x)) < 1e-3);
          BOOST_TEST(second.pixels(plane, 0, y, x) ==
                     offset + static_cast<double>(Case::value(1, plane, y, x)));
        }
    BOOST_TEST(made.keyword("-MFS-" + name, "WSCIMGWG") == 4);
    BOOST_TEST(made.keyword("-0000-" + name, "WSCIMGWG") == 1);
  }
  BOOST_TEST(made.read("-MFS-model").pixels(0, 0, 5, 6) == 4);
  BOOST_TEST(made.read("-0000-model").pixels(1, 0, 5, 6) == 10);
  BOOST_TEST(made.read("-0001-dirty").info.freq_hz == 160e6);
  BOOST_TEST(made.read("-MFS-dirty").info.freq_hz == 155e6);
  BOOST_TEST(made.read("-MFS-dirty").info.bandwidth_hz == 11e6);
}

// A beam restores what is deconvolved: a dirty image has none, and a model or the stations' beam no use for
// one.
BOOST_AUTO_TEST_CASE(restored_images_and_what_belongs_to_them_name_the_beam) {
  Case made(true);
  made.write();
  for (const char* kind : {"image", "residual", "psf", "image-pb"})
    for (std::size_t part = 0; part < 3; ++part) {
      const std::string name = std::vector<std::string>{"-0000-", "-0001-", "-MFS-"}[part] + kind;
      const std::optional<RestoringBeam> beam = made.read(name).info.beam;
      BOOST_TEST_REQUIRE(beam.has_value(), name);
      BOOST_TEST(std::abs(beam->major_rad - kBeams[part].major_rad) < 1e-9, name);
    }
  for (const char* kind : {"-0000-dirty", "-MFS-dirty", "-0000-model", "-MFS-model-pb", "-0001-beam"})
    BOOST_TEST(!made.read(kind).info.beam.has_value(), kind);
  for (const char* kind : {"model", "model-pb"})
    BOOST_TEST(made.read(std::string("-0000-") + kind).info.unit == "JY/PIXEL", kind);
  for (const char* kind : {"dirty", "psf", "image", "residual", "image-pb"})
    BOOST_TEST(made.read(std::string("-0000-") + kind).info.unit == "JY/BEAM", kind);
  BOOST_TEST(made.read("-0000-beam").info.unit.empty());
  for (const char* kind : {"image-pb", "model-pb"})
    BOOST_TEST(made.keyword(std::string("-MFS-") + kind, "PBCOR") == 1, kind);
  for (const char* kind : {"image", "model", "residual", "dirty", "psf", "beam"})
    BOOST_TEST(std::isnan(made.keyword(std::string("-MFS-") + kind, "PBCOR")), kind);
}

BOOST_AUTO_TEST_CASE(nothing_names_a_beam_where_nothing_is_restored) {
  Case made(true);
  made.products.restores = false;
  made.write();
  BOOST_TEST(!made.scratch.exists("out-MFS-image.fits"));
  BOOST_TEST(!made.scratch.exists("out-MFS-image-pb.fits"));
  for (const std::string kind : {"residual", "psf", "model-pb", "beam"}) {
    const std::string bytes = made.scratch.read("out-0000-" + kind + ".fits");
    BOOST_TEST(bytes.find("CDELT1") != bytes.npos, kind);
    BOOST_TEST(bytes.find("BMAJ") == bytes.npos, kind);
  }
}

// 0.25 * 0.5 + 0.75 * 0.9 = 0.8: the model of the true sky is that of the apparent one over it.
BOOST_AUTO_TEST_CASE(images_of_the_true_sky_are_over_the_mean_beam) {
  Case made(true);
  made.write();
  BOOST_TEST(std::abs(made.read("-MFS-beam").pixels(0, 0, 3, 4) - 0.8) < 1e-6);
  BOOST_TEST(std::abs(made.read("-MFS-model-pb").pixels(0, 0, 5, 6) - 5) < 1e-5);
  BOOST_TEST(std::abs(made.read("-0000-model-pb").pixels(1, 0, 5, 6) - 20) < 1e-5);
  const Image image = made.read("-MFS-image"), corrected = made.read("-MFS-image-pb");
  BOOST_TEST(std::abs(corrected.pixels(1, 0, 2, 3) - image.pixels(1, 0, 2, 3) / 0.8) < 1e-2);
  // Far from the one component, the restored image is the residual; upon it the component has its flux as
  // peak.
  BOOST_TEST(std::abs(image.pixels(0, 0, 0, 0) - made.read("-MFS-residual").pixels(0, 0, 0, 0)) < 1);
  BOOST_TEST(std::abs(image.pixels(0, 0, 5, 6) - made.read("-MFS-residual").pixels(0, 0, 5, 6) - 4) < 1e-2);
}

BOOST_AUTO_TEST_CASE(an_earlier_run_keeps_its_dirty_image_and_its_model_is_read_back) {
  Case made(true);
  made.products.resume = true;
  made.write();
  BOOST_TEST(!made.scratch.exists("out-MFS-dirty.fits"));
  BOOST_TEST(!made.scratch.exists("out-0000-psf.fits"));
  const Buffer<double, 3> model = read_true_model(made.products, made.sky.fields[0], "-0000");
  BOOST_TEST(std::abs(model(0, 5, 6) - 20) < 1e-5);
  BOOST_TEST(model(0, 0, 0) == 0);
  made.options.imaging.cell_rad = 1.01e-4;
  BOOST_CHECK_THROW(read_true_model(made.products, made.sky.fields[0], "-0000"), UsageError);
  made.options.imaging.cell_rad = 1e-4;
  made.sky.fields[0].centre.dec_rad += 2e-6;
  BOOST_CHECK_THROW(read_true_model(made.products, made.sky.fields[0], "-0000"), UsageError);
  made.sky.fields[0].centre.dec_rad -= 2e-6;
  made.options.imaging.n_x = 14;
  BOOST_CHECK_THROW(read_true_model(made.products, made.sky.fields[0], "-0000"), UsageError);
}

// The nearest part has the say, the lower one of two that are as near.
BOOST_AUTO_TEST_CASE(a_part_without_a_beam_takes_that_of_the_nearest_one) {
  std::vector<std::optional<RestoringBeam>> beams(6);
  beams[1] = kBeams[0];
  beams[5] = kBeams[1];
  const std::size_t expected[] = {1, 1, 1, 1, 5, 1};
  for (const std::size_t part : {0, 2, 3, 4}) BOOST_TEST(nearest_fitted(beams, part) == expected[part]);
  int n_calls = 0;
  const auto fit = [&](std::size_t part) -> RestoringBeam {
    ++n_calls;
    if (part == 0 || part == 3) throw FailureError("no beam");
    return {static_cast<double>(part), 1, 0};
  };
  const auto name = [](std::size_t part) { return std::to_string(part); };
  const BandBeams band = fit_band(3, fit, name);
  BOOST_TEST(n_calls == 4);
  BOOST_TEST(band.parts[0].major_rad == 1);
  BOOST_TEST(band.parts[2].major_rad == 2);
  BOOST_TEST(band.mean.major_rad == 1);  // that of the middle one
  BOOST_TEST(fit_band(2, fit, name).mean.major_rad == 2);
  BOOST_CHECK_THROW(fit_band(1, fit, name), FailureError);
}

BOOST_AUTO_TEST_SUITE_END()
