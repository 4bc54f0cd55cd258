// SPDX-License-Identifier: GPL-3.0-or-later
// Visibilities predicted through A-terms against float64 sums with each
// source's exact Jones matrices. tests/kernels/idg/cuda/degridding_aterms.cpp runs the
// same tests on a GPU.
#include <array>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdio>
#include <random>

#ifndef APSYN_TEST_CUDA
#include <hwy/targets.h>
#endif

#include "kernels/idg/idg.h"
#include "tests/kernels/idg/degridding.h"
#include "tests/reference/statistics.h"

using namespace apsyn;
using namespace apsyn::reference;

BOOST_AUTO_TEST_SUITE(degridding_aterms)

namespace {

using Jones = std::array<Complex, 4>;

/// Smooth over the field, different for every station, time and channel slot,
/// with leakage.
Jones exact_jones(std::size_t row_slot, std::size_t chan_slot, std::size_t station, double l, double m) {
  const double s = static_cast<double>(station) + 1, t = static_cast<double>(row_slot),
               f = static_cast<double>(chan_slot);
  const Complex turn = std::polar(1.0, 4 * s * l - 3 * t * m + f * l * m + 0.5 * s);
  const double beam = 1 - 2 * (l * l + m * m) * (1 + 0.2 * t), leak = 0.1 * s * (l - 2 * m + 0.1);
  return {beam * turn, leak * Complex(0.3, 1 + f), leak * Complex(1 - t, 0.2), 0.9 * beam * std::conj(turn)};
}

Jones product(const Jones& a, const Jones& b) {
  return {a[0] * b[0] + a[1] * b[2], a[0] * b[1] + a[1] * b[3], a[2] * b[0] + a[3] * b[2],
          a[2] * b[1] + a[3] * b[3]};
}
Jones adjoint(const Jones& a) {
  return {std::conj(a[0]), std::conj(a[2]), std::conj(a[1]), std::conj(a[3])};
}

/// Stations, slots and their Jones matrices on the coarse pixels of a plan.
struct Aterms {
  Buffer<std::uint32_t, 2> station;
  Buffer<std::uint32_t, 1> row_slot, chan_slot;
  Buffer<std::complex<float>, 6> jones;
  Buffer<std::uint32_t, 3> response;

  /// `shared`: stations have the matrices of what kind() says.
  Aterms(const Coverage& c, const IdgPlan& plan, bool shared = false) {
    constexpr std::size_t n_row_slots = 2, n_chan_slots = 2, n_stations = 4;
    const std::size_t side = plan.settings.subgrid;
    station.resize({c.n_row(), 2});
    row_slot.resize({c.n_row()});
    chan_slot.resize({c.n_chan()});
    jones.resize({n_row_slots, n_chan_slots, n_stations, side, side, 4});
    for (std::size_t row = 0; row < c.n_row(); ++row) {
      station(row, 0) = static_cast<std::uint32_t>(row % n_stations);
      station(row, 1) = static_cast<std::uint32_t>((row / n_stations) % n_stations);
      row_slot(row) = row < c.n_row() / 3 ? 0 : 1;
    }
    for (std::size_t chan = 0; chan < c.n_chan(); ++chan) chan_slot(chan) = chan == 0 ? 0 : 1;
    const double middle = (static_cast<double>(side) - 1) / 2;
    for (std::size_t t = 0; t < n_row_slots; ++t)
      for (std::size_t f = 0; f < n_chan_slots; ++f)
        for (std::size_t s = 0; s < n_stations; ++s)
          for (std::size_t y = 0; y < side; ++y)
            for (std::size_t x = 0; x < side; ++x) {
              const Jones exact =
                  exact_jones(t, f, s, (middle - static_cast<double>(x)) * plan.coarse_l_rad(),
                              (static_cast<double>(y) - middle) * plan.coarse_m_rad());
              for (std::size_t i = 0; i < 4; ++i) jones(t, f, s, y, x, i) = std::complex<float>(exact[i]);
            }
    if (!shared) return;
    response.resize({n_row_slots, n_chan_slots, n_stations});
    for (std::size_t t = 0; t < n_row_slots; ++t)
      for (std::size_t f = 0; f < n_chan_slots; ++f)
        for (std::size_t s = 0; s < n_stations; ++s)
          response(t, f, s) = static_cast<std::uint32_t>(kind(t, s));
  }
  static std::size_t kind(std::size_t row_slot, std::size_t station) {
    return station == 2 || (station == 1 && row_slot == 1) ? 1 : 0;
  }
  void into(GridBlock& block) const {
    block.station = station;
    block.aterms = {row_slot, chan_slot, jones, response};
  }
};

/// I Q U V to XX XY YX YY.
const std::vector<std::array<Complex, 4>> stokes_to_corr{
    {1, 0, 0, 1}, {1, 0, 0, -1}, {0, 1, 1, 0}, {0, Complex(0, 1), Complex(0, -1), 0}};

Buffer<Complex, 3> predict_seen(const Coverage& c, const IdgPlan& plan, const Aterms& aterms,
                                const Buffer<double, 3>& model,
                                const std::vector<std::array<Complex, 4>>& mix = stokes_to_corr) {
  auto degridder = make_degridder(test_device(), plan,
                                  {.n_data_planes = 4,
                                   .aterms = AtermMode::adjoint,
                                   .mix = mix,
                                   .n_threads = 2,
                                   .grid_memory = test_grid_memory()});
  degridder->set_model(model);
  degridder->begin_pass({0, plan.n_layers});
  GridBlock block = c.block();
  aterms.into(block);
  Buffer<Complex, 3> data({c.n_row(), c.n_chan(), 4});
  degridder->degrid(block, data);
  return data;
}

}  // namespace

namespace {

void check_predictions(bool shared, const std::vector<std::array<Complex, 4>>& mix) {
  const auto c = cover(600, 3, shared ? 60 : 1500, 8);  // so short that like baselines meet in subgrids
  const ImageGeometry geometry{200, 220, 120 * asec};
  const auto model = model_image(geometry, 4, 30, 19);
  std::vector<std::vector<DftSource>> sources;
  for (std::size_t stokes = 0; stokes < 4; ++stokes)
    sources.push_back(sources_of(model.view()[stokes], geometry));
  for (Precision precision : {Precision::single, Precision::double_}) {
    IdgSettings settings;
    settings.subgrid = 48;
    settings.kernel_padding = 28;
    settings.aterm_cells = 8;
    settings.precision = precision;
    const IdgPlan plan = make_idg_plan(geometry, settings, c.max_w_lambda, 1800);
    const Aterms aterms(c, plan, shared);
    const auto data = predict_seen(c, plan, aterms, model, mix);
    double error = 0, power = 0;
    for (std::size_t row = 0; row < c.n_row(); ++row)
      for (std::size_t chan = 0; chan < c.n_chan(); ++chan) {
        const double k = c.wavenumber(chan);
        Jones want{};
        for (std::size_t stokes = 0; stokes < 4; ++stokes)
          for (const DftSource& source : sources[stokes]) {
            const Complex value =
                dft_visibility({source}, c.uvw_m(row, 0) * k, c.uvw_m(row, 1) * k, c.uvw_m(row, 2) * k);
            Jones brightness;
            for (std::size_t i = 0; i < 4; ++i) brightness[i] = mix[stokes][i] * value;
            auto jones = [&](std::size_t end) {
              const std::size_t slot = aterms.row_slot(row), station = aterms.station(row, end);
              return exact_jones(slot, aterms.chan_slot(chan), shared ? Aterms::kind(slot, station) : station,
                                 source.l, source.m);
            };
            const Jones seen = product(product(jones(0), brightness), adjoint(jones(1)));
            for (std::size_t i = 0; i < 4; ++i) want[i] += seen[i];
          }
        for (std::size_t i = 0; i < 4; ++i) {
          error += std::norm(data(row, chan, i) - want[i]);
          power += std::norm(want[i]);
        }
      }
    std::printf("A-terms: error %.2e\n", std::sqrt(error / power));
    // 3.2e-6: a flat taper and the A-terms' own width; 8.4e-8: Jones matrices
    // of float32.
    BOOST_CHECK_LE(std::sqrt(error / power), precision == Precision::single ? 1e-5 : 2e-7);
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(aterms_of_every_station_and_slot_are_applied) {
  check_predictions(false, stokes_to_corr);
}

BOOST_AUTO_TEST_CASE(like_stations_are_predicted_together) {
  check_predictions(true, stokes_to_corr);
}

BOOST_AUTO_TEST_CASE(planes_of_single_correlations_are_predicted) {
  check_predictions(true, {{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 1}});
}

BOOST_AUTO_TEST_CASE(degridding_with_aterms_is_the_adjoint_of_gridding) {
  const auto c = cover(600, 3, 1500, 9);
  const ImageGeometry geometry{150, 141, 150 * asec};
  const auto x = model_image(geometry, 4, 5000, 20);
  std::vector<std::array<Complex, 4>> corr_to_stokes = stokes_to_corr;
  for (auto& plane : corr_to_stokes)
    for (Complex& factor : plane) factor = std::conj(factor);
  const auto y = noise_for(c, 4, 21);
  for (Precision precision : {Precision::single, Precision::double_}) {
    IdgSettings settings;
    settings.precision = precision;
    if (precision == Precision::double_) settings.accuracy = 1e-12;
    const IdgPlan plan = make_idg_plan(geometry, settings, c.max_w_lambda, 1800);
    const Aterms aterms(c, plan);
    GridBlock block = c.block();
    aterms.into(block);
    IdgSetup setup{.n_data_planes = 4,
                   .aterms = AtermMode::adjoint,
                   .mix = stokes_to_corr,
                   .n_threads = 2,
                   .grid_memory = test_grid_memory()};
    auto degridder = make_degridder(test_device(), plan, setup);
    degridder->set_model(x);
    degridder->begin_pass({0, plan.n_layers});
    Buffer<Complex, 3> ax({c.n_row(), c.n_chan(), 4});
    degridder->degrid(block, ax);
    setup.mix = corr_to_stokes;
    const double difference = adjoint_difference(x, ax, y, adjoint_images(plan, block, y, setup));
    std::printf("adjointness with A-terms %.2e\n", difference);
    BOOST_CHECK_LE(difference, plan.settings.accuracy);  // of 2e-6 and 1e-12: 1.1e-8 and 1.4e-15
  }
}

#ifndef APSYN_TEST_CUDA
BOOST_AUTO_TEST_CASE(instruction_sets_agree) {
  const auto c = cover(200, 3, 1500, 10);
  const ImageGeometry geometry{100, 110, 200 * asec};
  const auto model = model_image(geometry, 4, 100, 22);
  for (Precision precision : {Precision::single, Precision::double_}) {
    IdgSettings settings;
    settings.precision = precision;
    const IdgPlan plan = make_idg_plan(geometry, settings, c.max_w_lambda, 600);
    const Aterms aterms(c, plan);
    const auto seen = predict_seen(c, plan, aterms, model), plain = predict<double>(c, plan, model, 2);
    hwy::SetSupportedTargetsForTest(0);
    for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
      hwy::SetSupportedTargetsForTest(target);
      hwy::GetChosenTarget().DeInit();
      // 8.7e-7, 3.3e-15: SSE has no fused multiply-add. Without vectors there are pairs of numbers.
      const double wanted = precision == Precision::single ? 5e-6 : 1e-13;
      BOOST_TEST_CONTEXT(hwy::TargetName(target)) {
        BOOST_CHECK_LE(relative_rms(predict_seen(c, plan, aterms, model).view().span(), seen.view().span()),
                       wanted);
        BOOST_CHECK_LE(relative_rms(predict<double>(c, plan, model, 2).view().span(), plain.view().span()),
                       wanted);
      }
    }
    hwy::SetSupportedTargetsForTest(0);
    hwy::GetChosenTarget().DeInit();
  }
}
#endif

BOOST_AUTO_TEST_SUITE_END()
