// SPDX-License-Identifier: GPL-3.0-or-later
// Beams on tensor cores, of samples as they come and of rows, against loops of int64.
#include <boost/test/unit_test.hpp>
#include <complex>
#include <limits>
#include <string>

#include "kernels/common/cuda/array.h"
#include "kernels/common/cuda/attribute.h"
#include "libcore/system/device.h"
#include "tests/support/beam_operands.h"

using namespace apsyn;

BOOST_AUTO_TEST_SUITE(beam_products)

namespace {

using namespace apsyn::support;
using namespace apsyn::beam_products;

int multiprocessors() {
  return device_attribute(cudaDevAttrMultiProcessorCount, 0);
}

bool by_mma = false;  ///< as devices other than Hopper do

std::vector<float> on_device(const BeamOperands& operands, Task& task, std::size_t n_out) {
  const BeamCase& c = operands.c;
  const auto samples = uploaded(operands.sample_bytes());
  const auto weights = uploaded(operands.weight_bytes());
  const auto scale = uploaded(operands.scale);
  const auto valid = uploaded(operands.valid);
  const auto out = uploaded(std::vector<float>(n_out, std::numeric_limits<float>::quiet_NaN()));
  task.n_channel = c.n_channel;
  task.n_pol = c.n_pol;
  task.sections = c.sections;
  task.layout = operands.layout();
  task.weights = weights.data();
  task.scale = scale.data();
  task.shift = operands.shift;
  task.source.layout = c.layout;
  task.source.data = samples.data();
  const std::size_t sample = c.layout == Source::SampleLayout::int4 ? 1 : 2;
  task.source.channel_stride = sample * c.n_ant * c.n_pol;
  task.source.spectrum_stride = task.source.channel_stride * c.n_channel;
  if (c.flagged) task.source.valid = valid.data();
  task.source.n_valid_row = c.n_channel;
  task.values = c.values;
  task.out = out.data();
  (by_mma ? launch_mma : launch)(task, multiprocessors(), nullptr);
  std::vector<float> host(n_out);
  cuda_check(cudaMemcpy(host.data(), out.data(), n_out * sizeof(float), cudaMemcpyDeviceToHost), "copying");
  return host;
}

void check_voltages(const BeamCase& c) {
  const BeamOperands operands(c);
  const int n_row = c.n_channel * c.sections.count(), room = c.sections.stride;
  Task task;
  task.product = Product::voltage;
  const auto got = on_device(operands, task, std::size_t(n_row) * c.n_beam * c.n_pol * room * 2);
  long n_wrong = 0;
  std::string first;
  for (int row = 0; row < n_row; ++row)
    for (int beam = 0; beam < c.n_beam; ++beam)
      for (int pol = 0; pol < c.n_pol; ++pol)
        for (int t = 0; t < c.sections.size(row % c.sections.count()); ++t) {
          const auto expected = operands.beam_of(row, pol, beam, t);
          const std::size_t at = (((std::size_t(row) * c.n_beam + beam) * c.n_pol + pol) * room + t) * 2;
          if (got[at] == float(expected.real()) && got[at + 1] == float(expected.imag())) continue;
          if (n_wrong++ == 0)
            first = "row " + std::to_string(row) + " beam " + std::to_string(beam) + " pol " +
                    std::to_string(pol) + " spectrum " + std::to_string(t) + ": " + std::to_string(got[at]) +
                    ", " + std::to_string(got[at + 1]) + ", expected " + std::to_string(expected.real()) +
                    ", " + std::to_string(expected.imag());
        }
  BOOST_TEST(n_wrong == 0, "voltages: " << describe(c) << ": " << n_wrong << " wrong, first " << first);
}

void check_products(const BeamCase& c, bool coherence, int segment) {
  const BeamOperands operands(c);
  const int n_row = c.n_channel * c.sections.count(), n_section = c.sections.count();
  const int n_value = coherence ? 4 : c.values == Values::total ? 1 : c.n_pol;
  const int n_segment = (c.joined ? c.sections.n_spectra + segment - 1 : c.sections.stride) / segment;
  Task task;
  task.product = coherence ? Product::coherence : Product::power;
  task.segment = segment;
  task.factor = 0.25f;
  task.joined = c.joined;
  task.segment_stride = 1;
  task.value_stride = n_segment;
  task.beam_stride = std::size_t(n_value) * n_segment;
  task.row_stride = task.beam_stride * c.n_beam;
  const auto got =
      on_device(operands, task, std::size_t(c.joined ? c.n_channel : n_row) * c.n_beam * n_value * n_segment);
  double worst = 0;
  std::string where;
  for (int row = 0; row < n_row; ++row)
    for (int beam = 0; beam < c.n_beam; ++beam)
      for (int s = 0; s * segment < c.sections.size(row % n_section); ++s) {
        double sums[4] = {}, size = 1e-30;
        for (int t = s * segment; t < std::min((s + 1) * segment, c.sections.size(row % n_section)); ++t) {
          std::complex<double> e[2] = {};
          for (int pol = 0; pol < c.n_pol; ++pol) e[pol] = operands.beam_of(row, pol, beam, t);
          const std::complex<double> cross = e[0] * std::conj(e[1]);
          sums[0] += 0.25 * std::norm(e[0]);
          sums[1] += 0.25 * std::norm(e[1]);
          sums[2] += 0.25 * cross.real();
          sums[3] += 0.25 * cross.imag();
          size += 0.25 * (std::norm(e[0]) + std::norm(e[1]));
        }
        const double total = (sums[0] + sums[1]) / 2, difference = (sums[0] - sums[1]) / 2;
        double expected[4] = {sums[0], sums[1], sums[2], sums[3]};
        if (c.values == Values::total) expected[0] = total;
        if (c.values == Values::linear_iquv) expected[0] = total, expected[1] = difference;
        if (c.values == Values::circular_iquv)
          expected[0] = total, expected[1] = sums[2], expected[2] = sums[3], expected[3] = difference;
        const std::size_t at =
            c.joined ? row / n_section * task.row_stride + c.sections.begin(row % n_section) / segment + s
                     : row * task.row_stride + s;
        for (int value = 0; value < n_value; ++value) {
          const float found = got[at + beam * task.beam_stride + value * task.value_stride];
          const double off = std::isfinite(found) ? std::abs(found - expected[value]) / size : 1e9;
          if (off <= worst) continue;
          worst = off;
          where = "row " + std::to_string(row) + " beam " + std::to_string(beam) + " segment " +
                  std::to_string(s) + " value " + std::to_string(value) + ": " + std::to_string(found) +
                  ", expected " + std::to_string(expected[value]);
        }
      }
  BOOST_TEST_MESSAGE("products: " << describe(c) << ", segments of " << segment << ": " << worst);
  // a float32 rounding for each of at most 128 spectra
  BOOST_TEST(worst < 128 * 6e-8, "products: " << describe(c) << ", segments of " << segment << " worst "
                                              << worst << " at " << where);
}

Sections whole(int n_spectra) {
  return {n_spectra, n_spectra, n_spectra, (n_spectra + 127) / 128 * 128};
}

constexpr Source::SampleLayout kLayouts[] = {Source::SampleLayout::rows, Source::SampleLayout::int8,
                                             Source::SampleLayout::int4};

void check_voltages_of_all() {
  for (const Source::SampleLayout layout : kLayouts)
    for (const int n_pol : {1, 2})
      for (const int n_weight_pol : {1, n_pol}) {
        check_voltages({2, n_pol, n_weight_pol, 64, 32, 1, whole(256), layout});
        check_voltages({2, n_pol, n_weight_pol, 64, 64, 1, whole(256), layout});
        check_voltages({2, n_pol, n_weight_pol, 64, 128, 1, whole(256), layout});
        check_voltages({3, n_pol, n_weight_pol, 112, 70, 1, whole(100), layout});
        check_voltages({150, n_pol, n_weight_pol, 32, 5, 1, whole(130), layout});
        check_voltages({3, n_pol, n_weight_pol, 256, 130, 1, whole(140), layout});
        check_voltages({2, n_pol, n_weight_pol, 256, 40, 1, {400, 100, 256, 256}, layout});
        if (layout !=
            Source::SampleLayout::rows)  // some antennas missing; of the last, weights come with the samples
          for (const int n_ant : {112, 640})
            check_voltages({2, n_pol, n_weight_pol, n_ant, 40, 1, whole(130), layout, true});
        if (layout == Source::SampleLayout::int8)
          check_voltages({3, n_pol, n_weight_pol, 24, 33, 1, whole(70), layout});
      }
}

void check_segments() {
  for (const Source::SampleLayout layout : kLayouts)
    for (const int segment : {1, 8, 32, 128})
      for (const int n_pol : {1, 2})
        for (const int n_weight_pol : {1, n_pol})
          for (const bool coherence : {false, true}) {
            if (coherence && n_pol == 1) continue;
            check_products({2, n_pol, n_weight_pol, 96, 70, 1, whole(290), layout}, coherence, segment);
            check_products({3, n_pol, n_weight_pol, 80, 9, 1, whole(500), layout}, coherence, segment);
          }
}

void check_values() {
  BeamCase c{3, 2, 2, 64, 40, 1, {768, 256, 256, 256}, Source::SampleLayout::int8, true, true};
  for (const Values values : {Values::products, Values::linear_iquv, Values::circular_iquv}) {
    c.values = values;
    check_products(c, true, 128);
  }
  c.values = Values::total;
  check_products(c, false, 128);
  check_products({3, 1, 1, 64, 40, 1, {600, 256, 256, 256}, Source::SampleLayout::int4, true, true}, false,
                 32);
}

void check_limbs() {
  for (const int n_weight_pol : {1, 2})
    for (const int n_ant : {80, 128, 256, 704})  // of the last, weights come with the samples
      for (const int n_beam : {9, 140}) {
        check_products({2, 2, n_weight_pol, n_ant, n_beam, 2, whole(140), Source::SampleLayout::int8}, true,
                       128);
        check_voltages({2, 2, n_weight_pol, n_ant, n_beam, 2, whole(140), Source::SampleLayout::int8});
      }
  check_voltages({2, 1, 1, 512, 40, 1, whole(300), Source::SampleLayout::int8});
  check_voltages({2, 1, 1, 112, 40, 2, whole(200), Source::SampleLayout::int4});
}

void check_many_items() {
  check_products({140, 1, 1, 64, 128, 1, whole(384), Source::SampleLayout::int8}, false, 128);
  check_products({7, 1, 1, 128, 300, 1, whole(1024), Source::SampleLayout::int4}, false, 128);
  check_products({7, 2, 1, 128, 300, 1, whole(256), Source::SampleLayout::int8}, true, 128);
  check_products({3, 1, 1, 1024, 150, 1, whole(256), Source::SampleLayout::int8}, false, 128);
  // three blocks of antennas, by turns; five, by their blocks
  for (const int segment : {8, 128})
    for (const Source::SampleLayout layout : kLayouts) {
      check_products({2, 2, 1, 176, 140, 1, whole(200), layout}, true, segment);
      check_products({2, 1, 1, 320, 70, 1, whole(200), layout}, false, segment);
    }
  // an odd number of blocks of antennas whose weights come with the samples, over more stages than there are
  check_products({140, 1, 1, 576, 4, 1, whole(384), Source::SampleLayout::int8}, false, 128);
  check_products({2, 2, 2, 640, 20, 1, whole(512), Source::SampleLayout::int4}, true, 128);
}

void by_both(void (*check)()) {
  for (const bool mma : {false, true}) BOOST_TEST_CONTEXT((mma ? "mma.sync" : "the device's own way")) {
      by_mma = mma;
      check();
    }
}

}  // namespace

BOOST_AUTO_TEST_CASE(voltages_are_exact) {
  by_both(check_voltages_of_all);
}
BOOST_AUTO_TEST_CASE(products_are_sums_over_segments) {
  by_both(check_segments);
}
BOOST_AUTO_TEST_CASE(values_are_made_of_products) {
  by_both(check_values);
}
BOOST_AUTO_TEST_CASE(two_limbs_are_one_weight) {
  by_both(check_limbs);
}
BOOST_AUTO_TEST_CASE(many_items_of_many_tiles) {
  by_both(check_many_items);
}

BOOST_AUTO_TEST_SUITE_END()
