// SPDX-License-Identifier: GPL-3.0-or-later
// Sums over antennas on tensor cores against loops of int64, and what is detected from them.
#include <boost/test/unit_test.hpp>
#include <complex>
#include <limits>

#include "libcore/core/device.h"
#include "tests/reference/test_device.h"
#ifdef APSYN_CUDA
#include "kernels/common/device_array.h"
#include "tests/support/beam_operands.h"
#endif

using namespace apsyn;
using namespace apsyn::reference;
BOOST_TEST_GLOBAL_FIXTURE(NeedsGpu);

#ifdef APSYN_CUDA
namespace {

using namespace apsyn::support;
using beam_sums::Layout, beam_sums::Product;

int multiprocessors() {
  int n = 0;
  cuda_check(cudaDeviceGetAttribute(&n, cudaDevAttrMultiProcessorCount, 0), "asking the device");
  return n;
}

std::vector<float> on_device(const BeamOperands& operands, Product product, int segment,
                             const std::vector<float>& scale, std::size_t n_out) {
  const auto samples = uploaded(sample_rows(operands)), weights = uploaded(weight_rows(operands));
  const auto scales = uploaded(scale);
  const auto out = uploaded(std::vector<float>(n_out, std::numeric_limits<float>::quiet_NaN()));
  beam_sums::launch_wgmma(
      {operands.layout, samples.data(), weights.data(), scales.data(), segment, out.data()}, product,
      multiprocessors(), nullptr);
  std::vector<float> host(n_out);
  cuda_check(cudaMemcpy(host.data(), out.data(), n_out * sizeof(float), cudaMemcpyDeviceToHost), "copying");
  return host;
}

std::complex<double> beam_of(const BeamOperands& operands, int chan, int pol, int beam, int t) {
  std::int64_t re = 0, im = 0;
  const int weight_pol = operands.layout.n_weight_pol == 1 ? 0 : pol;
  for (int ant = 0; ant < operands.layout.n_ant; ++ant) {
    const std::int64_t xr = operands.samples(chan, pol, t, ant, 0),
                       xi = operands.samples(chan, pol, t, ant, 1);
    const std::int64_t wr = operands.weights(chan, weight_pol, beam, ant, 0),
                       wi = operands.weights(chan, weight_pol, beam, ant, 1);
    re += wr * xr - wi * xi;
    im += wi * xr + wr * xi;
  }
  return {static_cast<double>(re), static_cast<double>(im)};
}

std::vector<float> scales_of(const Layout& layout) {
  std::vector<float> scale(std::size_t(layout.n_chan) * layout.n_pol * layout.n_beam);
  for (std::size_t i = 0; i < scale.size(); ++i) scale[i] = 1.0f / static_cast<float>(1 << (i % 5));
  return scale;
}

void check_voltages(const Layout& layout) {
  BOOST_TEST_CONTEXT(layout.n_ant << " antennas, " << layout.n_beam << " beams, " << layout.n_spectra
                                  << " spectra") {
    const BeamOperands operands = random_operands(layout, 7);
    const std::vector<float> scale = scales_of(layout);
    const int n_padded = layout.n_tiles() * beam_sums::kTileSpectra;
    const auto beams = on_device(operands, Product::voltage, 1, scale,
                                 std::size_t(layout.n_chan) * layout.n_beam * layout.n_pol * n_padded * 2);
    long n_wrong = 0;
    std::size_t at = 0;
    for (int chan = 0; chan < layout.n_chan; ++chan)
      for (int beam = 0; beam < layout.n_beam; ++beam)
        for (int pol = 0; pol < layout.n_pol; ++pol)
          for (int t = 0; t < n_padded; ++t, at += 2) {
            const double factor = scale[(std::size_t(chan) * layout.n_pol + pol) * layout.n_beam + beam];
            const auto expected = t < layout.n_spectra ? factor * beam_of(operands, chan, pol, beam, t)
                                                       : std::complex<double>(0);
            if (beams[at] != float(expected.real()) || beams[at + 1] != float(expected.imag())) ++n_wrong;
          }
    BOOST_TEST(n_wrong == 0);
  }
}

void check_products(const Layout& layout, int segment) {
  BOOST_TEST_CONTEXT(layout.n_ant << " antennas, " << layout.n_pol << " polarisations, segments of "
                                  << segment) {
    const BeamOperands operands = random_operands(layout, 8);
    const std::vector<float> scale = scales_of(layout);
    const int n_value = layout.n_pol == 2 ? 4 : 1;
    const int n_segments = layout.n_tiles() * (beam_sums::kTileSpectra / segment);
    const auto products =
        on_device(operands, layout.n_pol == 2 ? Product::coherence : Product::power, segment, scale,
                  std::size_t(layout.n_chan) * layout.n_beam * n_value * n_segments);
    double worst = 0;
    for (int chan = 0; chan < layout.n_chan; ++chan)
      for (int beam = 0; beam < layout.n_beam; ++beam)
        for (int s = 0; s < n_segments; ++s) {
          double expected[4] = {}, size = 1e-30;
          for (int t = s * segment; t < std::min((s + 1) * segment, layout.n_spectra); ++t) {
            std::complex<double> e[2];
            for (int pol = 0; pol < layout.n_pol; ++pol)
              e[pol] = double(scale[(std::size_t(chan) * layout.n_pol + pol) * layout.n_beam + beam]) *
                       beam_of(operands, chan, pol, beam, t);
            const std::complex<double> cross = e[0] * std::conj(e[1]);
            expected[0] += std::norm(e[0]);
            expected[1] += std::norm(e[1]);
            expected[2] += cross.real();
            expected[3] += cross.imag();
            size += std::norm(e[0]) + std::norm(e[1]);
          }
          for (int value = 0; value < n_value; ++value) {
            const float got =
                products[((std::size_t(chan) * layout.n_beam + beam) * n_value + value) * n_segments + s];
            worst = std::max(worst, std::isfinite(got) ? std::abs(got - expected[value]) / size : 1e9);
          }
        }
    BOOST_TEST_MESSAGE("error of products: " << worst);
    BOOST_TEST(worst < 128 * 6e-8);  // a float32 rounding for each of at most 128 spectra
  }
}

/// Rows of weights of two limbs: those of each limb, blocks of antennas side by side.
std::vector<std::int8_t> limb_rows(const BeamOperands& high, const BeamOperands& low) {
  const std::vector<std::int8_t> rows[2] = {weight_rows(high), weight_rows(low)};
  const std::size_t run = std::size_t(high.layout.n_ant_blocks()) * beam_sums::kGroupBytes;
  std::vector<std::int8_t> both;
  for (std::size_t at = 0; at < rows[0].size(); at += run)
    for (const auto& limb : rows) both.insert(both.end(), limb.begin() + at, limb.begin() + at + run);
  return both;
}

void check_limbs(Layout layout) {
  const BeamOperands high = random_operands(layout, 7), low = random_operands(layout, 9);
  BeamOperands low_weights = random_operands(layout, 7);
  std::copy(low.weights.begin(), low.weights.end(), low_weights.weights.begin());
  constexpr int kShift = 3;
  const auto samples = uploaded(sample_rows(high)), weights = uploaded(limb_rows(high, low_weights));
  const auto scales =
      uploaded(std::vector<float>(std::size_t(layout.n_chan) * layout.n_pol * layout.n_beam, 1));
  const int n_segments = layout.n_tiles();
  const std::size_t n_out = std::size_t(layout.n_chan) * layout.n_beam * 4 * n_segments;
  const auto out = uploaded(std::vector<float>(n_out, std::numeric_limits<float>::quiet_NaN()));
  layout.n_limb = 2;
  beam_sums::Task task{layout, samples.data(), weights.data(), scales.data()};
  task.out = out.data();
  task.shift = kShift;
  beam_sums::launch_wgmma(task, Product::coherence, multiprocessors(), nullptr);
  std::vector<float> got(n_out);
  cuda_check(cudaMemcpy(got.data(), out.data(), n_out * sizeof(float), cudaMemcpyDeviceToHost), "copying");
  double worst = 0;
  for (int chan = 0; chan < layout.n_chan; ++chan)
    for (int beam = 0; beam < layout.n_beam; ++beam)
      for (int s = 0; s < n_segments; ++s) {
        double power = 1e-30, expected = 0;
        for (int t = 128 * s; t < std::min(128 * (s + 1), layout.n_spectra); ++t) {
          std::complex<double> e[2];
          for (int pol = 0; pol < 2; ++pol)
            e[pol] = double(1 << kShift) * beam_of(high, chan, pol, beam, t) +
                     beam_of(low_weights, chan, pol, beam, t);
          power += std::norm(e[0]) + std::norm(e[1]);
          expected += (e[0] * std::conj(e[1])).imag();
        }
        const float imag = got[((std::size_t(chan) * layout.n_beam + beam) * 4 + 3) * n_segments + s];
        worst = std::max(worst, std::isfinite(imag) ? std::abs(imag - expected) / power : 1e9);
      }
  BOOST_TEST_MESSAGE("error of two limbs: " << worst);
  BOOST_TEST(worst < 128 * 6e-8);
}

}  // namespace

BOOST_AUTO_TEST_CASE(two_limbs_are_one_weight) {
  for (const int n_weight_pol : {1, 2})
    for (const int n_ant : {70, 256, 400})  // 400: streamed weights
      for (const int n_beam : {9, 70})      // 9: more slots to a tile than stages to the ring
        check_limbs({.n_chan = 2,
                     .n_pol = 2,
                     .n_ant = n_ant,
                     .n_beam = n_beam,
                     .n_spectra = 600,
                     .n_weight_pol = n_weight_pol});
}

BOOST_AUTO_TEST_CASE(voltages_are_exact) {
  check_voltages({.n_chan = 3, .n_pol = 2, .n_ant = 64, .n_beam = 128, .n_spectra = 256, .n_weight_pol = 2});
  check_voltages({.n_chan = 2, .n_pol = 1, .n_ant = 32, .n_beam = 5, .n_spectra = 100, .n_weight_pol = 1});
  check_voltages(
      {.n_chan = 150, .n_pol = 1, .n_ant = 200, .n_beam = 130, .n_spectra = 130, .n_weight_pol = 1});
  check_voltages({.n_chan = 1,
                  .n_pol = 2,
                  .n_ant = 500,
                  .n_beam = 33,
                  .n_spectra = 300,
                  .n_weight_pol = 2});  // streamed weights
}

BOOST_AUTO_TEST_CASE(products_are_sums_over_segments) {
  for (int segment : {1, 8, 32, 128})
    for (int n_pol : {1, 2}) {
      check_products(
          {.n_chan = 2, .n_pol = n_pol, .n_ant = 96, .n_beam = 70, .n_spectra = 290, .n_weight_pol = n_pol},
          segment);
      check_products(
          {.n_chan = 1, .n_pol = n_pol, .n_ant = 400, .n_beam = 40, .n_spectra = 128, .n_weight_pol = 1},
          segment);
      check_products(
          {.n_chan = 3, .n_pol = n_pol, .n_ant = 70, .n_beam = 9, .n_spectra = 500, .n_weight_pol = 1},
          segment);
    }
}
#else
BOOST_AUTO_TEST_CASE(without_cuda) {}
#endif
