// SPDX-License-Identifier: GPL-3.0-or-later
// What planes weigh that are not flagged alike: in the sums of a gridder and in the mean of channel groups.
#include <boost/test/unit_test.hpp>

#include "tools/clean/products.h"

using namespace apsyn;
using namespace apsyn::clean;

BOOST_AUTO_TEST_SUITE(imaging_weights)

namespace {

/// XX and YY of an image of 4 x 4 pixels.
struct Case {
  class NoSource final : public ImagingSource {
   public:
    const ImagingInfo& info() const override { return info_; }
    void rewind(const ChannelGroup&) override {}
    bool read(ImagingBlock&, std::uint64_t) override { return false; }

   private:
    ImagingInfo info_;
  };
  Tool tool{"test", "weights"};
  imaging::Options options;
  NoSource source;
  Imager imager;

  Case() : imager{tool, options, source, {{"XX", {0}, {1}}, {"YY", {1}, {1}}}, {}, {}, 1 << 20} {
    tool.common().threads = 2;
    options.imaging.n_x = options.imaging.n_y = 4;
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(every_plane_has_its_own_weight) {
  Case made;
  // Of YY the second row is flagged; the PSF is that of the first plane.
  Buffer<float, 3> weight({2, 3, 2});
  for (std::size_t row = 0; row < 2; ++row)
    for (std::size_t c = 0; c < 3; ++c) {
      weight(row, c, 0) = static_cast<float>(1 + c);
      weight(row, c, 1) = row == 1 ? 0 : 10;
    }
  std::vector<double> sums(3, 100.0);
  add_weights(made.imager, weight, 2, sums);
  BOOST_TEST((sums == std::vector<double>{112, 130, 112}));
  made.options.imaging.aterms = "some.conf";  // then all are made of all products, of one weight
  sums.assign(3, 0);
  add_weights(made.imager, weight, 2, sums);
  BOOST_TEST((sums == std::vector<double>{12, 12, 12}));
}

BOOST_AUTO_TEST_CASE(groups_are_averaged_by_the_weights_of_each_plane) {
  Case made;
  FieldImages field(made.imager, 3);
  const double weight[3][2] = {{1, 6}, {3, 0}, {4, 2}};
  const float value[3][2] = {{2, 5}, {4, 7}, {-1, 9}};
  for (std::size_t g = 0; g < 3; ++g)
    for (std::size_t p = 0; p < 2; ++p) {
      field.weight(g, p) = weight[g][p];
      for (float& pixel : field.dirty.view()[g][p]) pixel = value[g][p];
    }
  Buffer<double, 4> mean;
  take_mean(field, field.dirty, {"-MFS", {}, 0, 3, {}}, 2, mean);
  for (std::size_t i = 0; i < 16; ++i) {
    BOOST_TEST(std::abs(mean.view()[0][0].data()[i] - 10.0 / 8) < 1e-12);
    BOOST_TEST(std::abs(mean.view()[1][0].data()[i] - 48.0 / 8) < 1e-12);
  }
  take_mean(field, field.dirty, {"", {}, 1, 2, {}}, 2, mean);
  BOOST_TEST(std::abs(mean(0, 0, 3, 3) - 8.0 / 7) < 1e-12);
  BOOST_TEST(mean(1, 0, 3, 3) == 9);
  BOOST_TEST(weight_of(field, {"", {}, 0, 3, {}}) == 8);
  BOOST_TEST(weight_of(field, {"", {}, 1, 2, {}}) == 7);
  field.beam.resize({3, 4, 4});
  for (std::size_t g = 0; g < 3; ++g)
    for (double& pixel : field.beam.view()[g]) pixel = static_cast<double>(1 + g * g);
  BOOST_TEST(std::abs(mean_beam(field, {"", {}, 0, 3, {}})(1, 2) - (1 * 1 + 3 * 2 + 4 * 5) / 8.0) < 1e-12);
}

BOOST_AUTO_TEST_SUITE_END()
