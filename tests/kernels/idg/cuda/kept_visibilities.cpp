// SPDX-License-Identifier: GPL-3.0-or-later
// Visibilities that a GPU keeps before there is a plan: weights and images are those of blocks whose weights
// the host multiplied and sent.
#include "kernels/idg/kept_visibilities.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <complex>
#include <random>
#include <stdexcept>
#include <vector>

#include "kernels/weighting/image_weights.h"
#include "libcore/base/constants.h"
#include "libcore/system/device.h"
#include "libcore/system/parallel.h"
#include "tests/support/array_rows.h"

using namespace apsyn;
using namespace apsyn::support;

BOOST_AUTO_TEST_SUITE(kept_visibilities)

namespace {

constexpr double kCell = 2e-4;
constexpr std::size_t kSide = 400;
const Device device{Device::Kind::cuda, 0, "cuda:0"};

enum class Weights { alike, own_from_the_second_block };

/// Blocks as an imager reads them: noise in four planes, of one or two sets of channels.
std::vector<ImagingBlock> observe(std::size_t n_block, std::size_t n_channel_sets, Weights weights,
                                  bool with_path) {
  std::vector<ImagingBlock> blocks;
  std::mt19937_64 random(5);
  std::normal_distribution<float> normal;
  std::uniform_real_distribution<float> flat(0.5f, 2.0f);
  for (std::size_t b = 0; b < n_block; ++b) {
    const std::size_t n_chan = b % n_channel_sets == 0 ? 16 : 9;
    const ArrayRows rows = observe_array(12, 40, n_chan);
    const std::size_t n_row = rows.uvw_m.extent(0) / n_block, skip = b * n_row;
    ImagingBlock& block = blocks.emplace_back();
    block.uvw_m.resize({n_row, 3});
    std::copy_n(&rows.uvw_m(skip, 0), 3 * n_row, block.uvw_m.data());
    block.station.resize({n_row, 2});
    std::copy_n(&rows.station(skip, 0), 2 * n_row, block.station.data());
    block.channel_hz.resize({n_chan});
    for (std::size_t c = 0; c < n_chan; ++c) block.channel_hz(c) = rows.wavenumber(c) * kSpeedOfLight_m_s;
    block.path_m.resize({with_path ? n_row : 0});
    for (double& path : block.path_m) path = static_cast<double>(normal(random));
    block.data.resize({n_row, n_chan, 4});
    block.weight.resize({n_row, n_chan, 4});
    for (auto& value : block.data) value = {normal(random), normal(random)};
    for (std::size_t i = 0; i < n_row * n_chan; ++i) {
      const float own = rows.weight(skip + i / n_chan, i % n_chan, 0) * flat(random);
      for (std::size_t p = 0; p < 4; ++p)
        block.weight.data()[4 * i + p] =
            weights == Weights::alike || b == 0 ? own : own * (1 + static_cast<float>(p));
    }
  }
  return blocks;
}

struct Result {
  Buffer<double, 3> images;
  std::vector<double> weight_sums;
};

/// The blocks' own arrays in the form that gridders take.
struct Sent {
  Buffer<double, 1> wavenumber;
  GridBlock block;
  Sent(const ImagingBlock& from, View<const float, 3> weight) {
    wavenumber.resize({from.channel_hz.size()});
    for (std::size_t c = 0; c < wavenumber.size(); ++c)
      wavenumber(c) = from.channel_hz(c) / kSpeedOfLight_m_s;
    block = {from.uvw_m, from.path_m, wavenumber, from.data, weight, from.station, {}};
  }
};

IdgPlan plan_for(const std::vector<ImagingBlock>& blocks) {
  double max_w = 0;
  for (const ImagingBlock& block : blocks)
    for (std::size_t row = 0; row < block.uvw_m.extent(0); ++row)
      max_w = std::max(max_w, std::abs(block.uvw_m(row, 2)) * block.channel_hz(0) / kSpeedOfLight_m_s);
  return make_idg_plan({kSide, kSide, kCell}, {.kernel_padding = 12}, max_w, 1e5);
}

IdgSetup setup() {
  IdgSetup result{.n_data_planes = 4, .n_threads = 3};
  result.psf = PsfPlane::last;
  return result;
}

Result sent(const std::vector<ImagingBlock>& blocks, const ImageWeights& weights) {
  const IdgPlan plan = plan_for(blocks);
  auto gridder = make_gridder(device, plan, setup());
  gridder->begin_pass({0, plan.n_layers});
  Result result{{}, std::vector<double>(4, 0)};
  for (const ImagingBlock& block : blocks) {
    Buffer<float, 3> weight;
    weights.apply(block, 1, weight);
    for (std::size_t i = 0; i < weight.size(); ++i)
      result.weight_sums[i % 4] += static_cast<double>(weight.data()[i]);
    gridder->grid(Sent(block, weight).block);
  }
  gridder->end_pass();
  result.images = gridder->take_images();
  return result;
}

std::unique_ptr<KeptVisibilities> keep(const std::vector<ImagingBlock>& blocks, std::uint64_t max_bytes) {
  auto kept = keep_visibilities(device, 4, max_bytes, 3);
  for (const ImagingBlock& block : blocks) {
    std::vector<double> wavelength_m;
    for (const double hz : block.channel_hz) wavelength_m.push_back(kSpeedOfLight_m_s / hz);
    if (!kept->add(Sent(block, block.weight).block, wavelength_m)) return nullptr;
  }
  return kept;
}

/// The same in pieces of a few rows from several threads, the coordinates of a block after the values of the
/// next one. Null when there is no room, or where weights differ from plane to plane unless `own_weights`.
std::unique_ptr<KeptVisibilities> keep_pieces(const std::vector<ImagingBlock>& blocks,
                                              std::uint64_t max_bytes, bool own_weights) {
  auto kept = keep_visibilities(device, 4, max_bytes, 3);
  if (own_weights) kept->keep_own_weights();
  std::vector<KeptRows> rows(blocks.size());
  const auto place = [&](std::size_t b) { kept->place(rows[b], Sent(blocks[b], {}).block); };
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    const ImagingBlock& block = blocks[b];
    std::vector<double> wavelength_m;
    for (const double hz : block.channel_hz) wavelength_m.push_back(kSpeedOfLight_m_s / hz);
    const std::size_t n_row = block.uvw_m.extent(0);
    rows[b] =
        kept->reserve(n_row, Sent(block, block.weight).wavenumber, wavelength_m, block.path_m.size() > 0);
    if (rows[b].ranges.empty()) return nullptr;
    constexpr std::size_t kRows = 37;
    std::atomic<bool> alike = true;
    parallel_for(3, (n_row + kRows - 1) / kRows, [&](std::size_t item, unsigned) {
      const std::size_t first = item * kRows, n = std::min(kRows, n_row - first);
      const auto fill = [&](std::size_t at, std::size_t n_filled, std::complex<float>* data, float* weight) {
        const std::size_t row_values = block.data.extent(1) * 4;
        std::copy_n(block.data.data() + at * row_values, n_filled * row_values, data);
        std::copy_n(block.weight.data() + at * row_values, n_filled * row_values, weight);
      };
      if (!kept->take(rows[b], first, n, fill)) alike = false;
    });
    if (!alike) return nullptr;
    if (b > 0) place(b - 1);
  }
  place(blocks.size() - 1);
  return kept;
}

Result grid_kept(KeptVisibilities& there, const std::vector<ImagingBlock>& blocks,
                 const ImageWeights& weights) {
  Result result;
  result.weight_sums = there.weigh({weights.grid(), kCell});
  const IdgPlan plan = plan_for(blocks);
  auto gridder = make_gridder(device, plan, setup());
  gridder->begin_pass({0, plan.n_layers});
  for (std::size_t part = 0; part < there.n_parts(); ++part)
    gridder->grid_kept(there, {part, 0, there.n_rows(part)});
  gridder->end_pass();
  result.images = gridder->take_images();
  return result;
}

Result kept(const std::vector<ImagingBlock>& blocks, const ImageWeights& weights, std::size_t n_parts) {
  const auto there = keep(blocks, 1'000'000'000);
  BOOST_REQUIRE(there);
  BOOST_TEST(there->n_parts() == n_parts);
  return grid_kept(*there, blocks, weights);
}

/// Of uniform weights, with what lies beyond a quarter of the grid left out.
ImageWeights weights_for(const std::vector<ImagingBlock>& blocks) {
  WeightSettings settings{.mode = WeightMode::uniform};
  settings.max_uv_lambda = 0.25 / kCell;
  ImageWeights weights(settings, kSide, kSide, kCell);
  for (const ImagingBlock& block : blocks) weights.add(block);
  weights.finish(1);
  return weights;
}

/// Products of weights are the host's to the last bit; what remains are the orders of sums, and those of rows
/// in subgrids: float32's rounding. Measured: 6.5e-7 to 7.3e-7.
void compare(const Result& a, const Result& b) {
  for (std::size_t p = 0; p < 4; ++p) {
    BOOST_TEST(b.weight_sums[p] > 0);
    BOOST_TEST(std::abs(a.weight_sums[p] / b.weight_sums[p] - 1) < 1e-12);
  }
  double difference = 0, power = 0;
  for (std::size_t i = 0; i < b.images.size(); ++i) {
    difference += std::pow(a.images.data()[i] - b.images.data()[i], 2);
    power += std::pow(b.images.data()[i], 2);
  }
  BOOST_TEST_MESSAGE("relative difference " << std::sqrt(difference / power));
  BOOST_TEST(std::sqrt(difference / power) < 3e-6);
}

}  // namespace

BOOST_AUTO_TEST_CASE(parts_of_many_blocks_make_the_images_of_the_blocks) {
  for (const bool with_path : {false, true}) {
    const auto blocks = observe(5, 1, Weights::alike, with_path);
    const ImageWeights weights = weights_for(blocks);
    compare(kept(blocks, weights, 1), sent(blocks, weights));
  }
}

BOOST_AUTO_TEST_CASE(pieces_are_kept_as_their_blocks_are) {
  const auto same = [](const std::vector<ImagingBlock>& blocks, bool own_weights) {
    const ImageWeights weights = weights_for(blocks);
    const auto whole = keep(blocks, 1'000'000'000), pieces = keep_pieces(blocks, 1'000'000'000, own_weights);
    BOOST_REQUIRE(whole && pieces);
    BOOST_TEST(pieces->n_parts() == (own_weights ? 1u : whole->n_parts()));
    const Result expected = grid_kept(*whole, blocks, weights), found = grid_kept(*pieces, blocks, weights);
    if (own_weights) return compare(found, expected);  // parts begin at other rows
    BOOST_TEST(found.weight_sums == expected.weight_sums, boost::test_tools::per_element());
    BOOST_TEST(std::equal(found.images.begin(), found.images.end(), expected.images.begin()));
  };
  for (const bool with_path : {false, true}) same(observe(5, 1, Weights::alike, with_path), false);
  same(observe(4, 2, Weights::alike, false), false);
  const auto own_weights = observe(4, 1, Weights::own_from_the_second_block, false);
  BOOST_TEST(keep_pieces(own_weights, 1'000'000'000, false) == nullptr);
  same(own_weights, true);
  std::uint64_t bytes = 0;
  for (const ImagingBlock& block : own_weights) bytes += block.bytes();
  BOOST_TEST(keep_pieces(own_weights, bytes / 2, true) == nullptr);
}

BOOST_AUTO_TEST_CASE(a_row_that_is_dropped_has_no_weight) {
  auto blocks = observe(2, 1, Weights::alike, false);
  const auto dropped = keep_pieces(blocks, 1'000'000'000, false);
  KeptRows second{{{0, blocks[0].uvw_m.extent(0), 0, blocks[1].uvw_m.extent(0)}}};
  dropped->drop(second, 7);
  for (float& weight : blocks[1].weight.view()[7]) weight = 0;
  const ImageWeights weights = weights_for(blocks);
  compare(grid_kept(*dropped, blocks, weights), sent(blocks, weights));
}

BOOST_AUTO_TEST_CASE(other_channels_and_weights_open_parts_of_their_own) {
  const auto two_windows = observe(4, 2, Weights::alike, false);
  compare(kept(two_windows, weights_for(two_windows), 2), sent(two_windows, weights_for(two_windows)));
  const auto own_weights = observe(4, 1, Weights::own_from_the_second_block, false);
  compare(kept(own_weights, weights_for(own_weights), 2), sent(own_weights, weights_for(own_weights)));
}

// Pieces begin at other rows than blocks do, so that A-terms of the wrong rows would show; the first ends in
// the middle of a slot.
BOOST_AUTO_TEST_CASE(kept_rows_are_gridded_through_aterms_as_their_blocks_are) {
  constexpr std::size_t kResponses = 3, kRowSlots = 4, kChanSlots = 2, kStations = 12;
  const auto blocks = observe(3, 1, Weights::alike, true);
  const ImageWeights weights = weights_for(blocks);
  const IdgPlan plan = plan_for(blocks);
  const std::size_t side = plan.settings.subgrid, n_chan = blocks[0].channel_hz.size();
  std::size_t n_row = 0;
  for (const ImagingBlock& block : blocks) n_row += block.uvw_m.extent(0);
  Buffer<std::uint32_t, 1> row_slot({n_row}), chan_slot({n_chan});
  for (std::size_t row = 0; row < n_row; ++row)
    row_slot(row) = static_cast<std::uint32_t>(row * kRowSlots / n_row);
  for (std::size_t c = 0; c < n_chan; ++c) chan_slot(c) = c < n_chan / 3 ? 0 : 1;
  Buffer<std::uint32_t, 3> response({kRowSlots, kChanSlots, kStations});
  for (std::size_t i = 0; i < response.size(); ++i)
    response.data()[i] = static_cast<std::uint32_t>((i + i / kStations) % kResponses);
  Buffer<std::complex<float>, 6> jones({kRowSlots, kChanSlots, kResponses, side, side, 4});
  std::mt19937_64 random(9);
  std::normal_distribution<float> normal;
  for (std::size_t first = 0; first < jones.size(); first += side * side * 4)  // the same on all pixels
    for (std::size_t i = 0; i < 4; ++i) {
      const std::complex<float> value(0.2f * normal(random) + (i % 3 == 0 ? 1.0f : 0.0f),
                                      0.2f * normal(random));
      for (std::size_t pixel = 0; pixel < side * side; ++pixel) jones.data()[first + 4 * pixel + i] = value;
    }
  const auto aterms = [&](std::size_t first, std::size_t n) {
    return AtermBlock{{&row_slot(first), {n}}, chan_slot, jones, response};
  };
  IdgSetup through = setup();
  through.aterms = AtermMode::normalised;
  using Mix = std::array<std::complex<double>, 4>;
  through.mix = {Mix{0.5, 0.0, 0.0, 0.5}, Mix{0.5, 0.0, 0.0, -0.5}};
  const auto images = [&](auto&& grid) {
    auto gridder = make_gridder(device, plan, through);
    gridder->begin_pass({0, plan.n_layers});
    grid(*gridder);
    gridder->end_pass();
    return gridder->take_images();
  };
  const auto there = keep(blocks, 1'000'000'000);
  BOOST_REQUIRE(there);
  BOOST_REQUIRE_EQUAL(there->n_parts(), 1u);
  BOOST_REQUIRE_EQUAL(there->n_rows(0), n_row);
  Result kept, sent;
  kept.weight_sums = there->weigh({weights.grid(), kCell});
  const Buffer<double, 2> sums = there->sum_slots(0, chan_slot, kChanSlots);
  sent.weight_sums.assign(4, 0);
  std::size_t row = 0, n_wrong = 0;
  sent.images = images([&](Gridder& gridder) {
    for (const ImagingBlock& block : blocks) {
      Buffer<float, 3> weight;
      weights.apply(block, 1, weight);
      const Sent from(block, weight);
      GridBlock own = from.block;
      own.aterms = aterms(row, block.uvw_m.extent(0));
      gridder.grid(own);
      for (std::size_t r = 0; r < block.uvw_m.extent(0); ++r, ++row) {
        double of_slot[kChanSlots] = {};
        for (std::size_t c = 0; c < n_chan; ++c)
          of_slot[chan_slot(c)] += static_cast<double>(weight(r, c, 0));
        for (std::size_t slot = 0; slot < kChanSlots; ++slot) n_wrong += sums(row, slot) != of_slot[slot];
        for (std::size_t i = 0; i < n_chan * 4; ++i)
          sent.weight_sums[i % 4] += static_cast<double>(weight.data()[r * n_chan * 4 + i]);
      }
    }
  });
  BOOST_TEST(n_wrong == 0u);
  kept.images = images([&](Gridder& gridder) {
    const std::size_t first = n_row * 3 / 8;
    gridder.grid_kept(*there, {0, 0, first, aterms(0, first)});
    gridder.grid_kept(*there, {0, first, n_row - first, aterms(first, n_row - first)});
    BOOST_CHECK_THROW(gridder.grid_kept(*there, {0, first, n_row, aterms(0, n_row)}), std::invalid_argument);
    BOOST_CHECK_THROW(gridder.grid_kept(*there, {0, 0, n_row}), std::invalid_argument);
  });
  compare(kept, sent);
}

// The cells by their definition; sums of 64 bits of mantissa have no rounding that float64 could show.
BOOST_AUTO_TEST_CASE(sums_of_cells_are_exact_however_unequal_the_weights) {
  const std::size_t n_u = 200, n_rows = 100;
  const double cell_rad = 4e-4, max_uv_lambda = 1400;
  std::vector<ImagingBlock> blocks = observe(5, 1, Weights::own_from_the_second_block, false);
  for (float& weight : blocks[1].weight) weight *= 1e-5f;
  for (float& weight : blocks[2].weight) weight *= 1e-9f;
  std::vector<long double> wanted(n_rows * n_u, 0);
  std::uint64_t n_visibilities = 0, n_beyond = 0;
  double max_lambda = 0;
  for (const ImagingBlock& block : blocks)
    for (std::size_t row = 0; row < block.uvw_m.extent(0); ++row)
      for (std::size_t c = 0; c < block.channel_hz.size(); ++c) {
        const float weight = block.weight(row, c, 0);
        if (weight == 0) continue;
        double u = block.uvw_m(row, 0) / (kSpeedOfLight_m_s / block.channel_hz(c)),
               v = block.uvw_m(row, 1) / (kSpeedOfLight_m_s / block.channel_hz(c));
        if (v < 0) u = -u, v = -v;
        const double x = std::floor(u * n_u * cell_rad + n_u / 2.0),
                     y = std::floor(v * 2 * n_rows * cell_rad);
        const bool counts = std::hypot(u, v) <= max_uv_lambda, there = x >= 0 && x < n_u && y < n_rows;
        n_visibilities += counts ? 1 : 0;
        if (there) wanted[static_cast<std::size_t>(y) * n_u + static_cast<std::size_t>(x)] += weight;
        if (there || !counts) continue;
        ++n_beyond;
        max_lambda = std::max({max_lambda, std::abs(u), v});
      }
  BOOST_REQUIRE(n_beyond > 0 && n_beyond < n_visibilities);
  const auto there = keep(blocks, 1'000'000'000);
  BOOST_REQUIRE(there);
  const CellSums made = there->sum_cells({n_rows, n_u, cell_rad, max_uv_lambda, false});
  std::size_t n_wrong = 0, n_filled = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    n_filled += wanted[i] > 0 ? 1 : 0;
    // A weight below 2^-40 of the greatest has lost bits beyond 2^-64 of that.
    const long double allowed = 1e-15L * wanted[i] + 1e-17L;
    n_wrong += std::abs(static_cast<long double>(made.sum.data()[i]) - wanted[i]) <= allowed ? 0 : 1;
  }
  BOOST_TEST(n_filled > 1000u);
  BOOST_TEST(n_wrong == 0u);
  BOOST_TEST(made.n_visibilities == n_visibilities);
  BOOST_TEST(made.n_beyond == n_beyond);
  BOOST_TEST(made.max_lambda == max_lambda);
  const CellSums counted = there->sum_cells({n_rows, n_u, cell_rad, max_uv_lambda, true});
  BOOST_TEST(counted.n_beyond == n_beyond);
  BOOST_TEST(counted.sum.size() == 0u);
}

BOOST_AUTO_TEST_CASE(what_does_not_fit_is_refused) {
  const auto blocks = observe(5, 1, Weights::alike, false);
  std::uint64_t bytes = 0;
  for (const ImagingBlock& block : blocks) bytes += block.bytes();
  BOOST_TEST(keep(blocks, bytes) != nullptr);
  BOOST_TEST(keep(blocks, bytes / 2) == nullptr);
}

BOOST_AUTO_TEST_SUITE_END()
