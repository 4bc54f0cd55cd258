// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/epic/corr/cuda/strips/plan.cuh"

#include "kernels/epic/corr/cuda/strips/depth.cuh"
#include "kernels/epic/corr/cuda/transform_plan.cuh"

namespace apsyn::epic_cuda {

namespace {

/// What a multiprocessor keeps of its shared memory for each block.
constexpr std::size_t kReservedBytes = 1024;

bool fits(const std::optional<epic_fft::RadixPlan>& passes) {
  return passes && passes->radices.size() >= 2 && passes->radices.size() <= kMaxTransformPasses;
}

/// From [k][q - 1] to [q - 1][k].
void turns_by_radix(const TransformPass& pass, std::vector<float2>& turns) {
  const std::size_t n_k = pass.span.divisor, n_q = static_cast<std::size_t>(pass.radix) - 1;
  const auto first = turns.begin() + pass.turns;
  const std::vector<float2> before(first, first + static_cast<std::ptrdiff_t>(n_k * n_q));
  for (std::size_t k = 0; k < n_k; ++k)
    for (std::size_t q = 0; q < n_q; ++q)
      turns[static_cast<std::size_t>(pass.turns) + q * n_k + k] = before[k * n_q + q];
}

/// Factors and pixels of each bin of the wanted rows.
void place_pixels(const EpicPlan& plan, const PairOrders& orders, const SkyPixels& pixels, bool to_planes,
                  StripPlan& made) {
  const std::size_t n_x = orders.shape.n_x, n_bin = static_cast<std::size_t>(made.shape.n_row / 2) * n_x;
  const std::size_t n_order = orders.n_order();
  made.factors.assign(n_order * n_bin, float2{});
  made.pixels.assign(n_bin, uint2{kNoPixel, kNoPixel});
  for_each_pixel(plan, pixels, [&](std::size_t pixel) {
    const std::size_t column = pixels.index[pixel] % plan.nx, row = pixels.index[pixel] / plan.nx;
    const std::size_t at = row / 2 * n_x + (column + n_x - plan.nx / 2) % n_x;
    (row % 2 == 0 ? made.pixels[at].x : made.pixels[at].y) =
        to_planes ? pixels.index[pixel] : static_cast<std::uint32_t>(pixel);
    for (std::size_t order = 0; order < n_order; ++order) {
      float2& factor = made.factors[order * n_bin + at];
      (row % 2 == 0 ? factor.x : factor.y) = orders.factors[order * pixels.size() + pixel];
    }
  });
}

}  // namespace

std::optional<StripPlan> plan_strips(const EpicPlan& plan, const PairOrders& orders, const SkyPixels& pixels,
                                     const CellShape& cells, bool to_planes, std::size_t shared_bytes) {
  const std::size_t n_x = orders.shape.n_x, n_y = orders.shape.n_y;
  if (cells.n_grid_pair() > n_y * orders.shape.n_column) return {};
  const auto x = epic_fft::plan_radices(n_x, kLastRowRadix, kTransformRadices);
  const auto y = epic_fft::plan_radices(n_y, 0, kTransformRadices);
  if (!fits(x) || !fits(y) || n_x > std::size_t{kMaxRowThreads} * kLastRowRadix) return {};
  StripPlan made;
  StripShape& shape = made.shape;
  const std::size_t bytes = n_y * kStripColumns * sizeof(float2);
  const std::size_t taken = bytes + (orders.depth_kernels ? depth_list_bytes() : 0);
  if (taken > shared_bytes) return {};
  shape.column_bytes = static_cast<int>(bytes);
  // two blocks share a multiprocessor where they can
  shape.n_column_threads =
      2 * taken + kReservedBytes <= shared_bytes ? kMaxColumnThreads / 2 : kMaxColumnThreads;
  shape.n_pass_y = append_passes(*y, n_y, shape.pass_y, made.turns);
  shape.n_pass_x = append_passes(*x, n_x, shape.pass_x, made.turns);
  for (int pass = 0; pass < shape.n_pass_y; ++pass) turns_by_radix(shape.pass_y[pass], made.turns);
  for (int pass = 0; pass < shape.n_pass_x; ++pass) turns_by_radix(shape.pass_x[pass], made.turns);

  const std::size_t wanted = orders.shape.lattice ? orders.shape.lattice->n_y : plan.ny;
  shape.n_row = static_cast<int>((wanted + 1) / 2 * 2);  // an odd one gets any other as its second
  made.first_bin_y = static_cast<int>((n_y - wanted / 2) % n_y);
  made.row_of_place.assign(n_y, kNotWanted);
  for (int row = 0; row < shape.n_row; ++row)
    made.row_of_place[y->place[static_cast<std::size_t>(made.first_bin_y + row) % n_y]] =
        static_cast<std::uint16_t>(row);
  const std::size_t span = shape.pass_x[0].span.divisor;
  for (std::size_t bin = 0; bin < n_x / kLastRowRadix; ++bin)
    made.first_of_bin.push_back(static_cast<std::uint16_t>(x->place[bin] + kRowPad * (x->place[bin] / span)));
  const bool whole = to_planes && pixels.size() == plan.nx * plan.ny;
  if (orders.depth_kernels && (orders.shape.lattice || whole)) {
    made.of_column = orders.of_column;
    for (int row = 0; row < shape.n_row; ++row)
      made.of_row.push_back(orders.of_row[static_cast<std::size_t>(made.first_bin_y + row) % n_y]);
    made.nx = static_cast<int>(plan.nx);
    made.ny = static_cast<int>(plan.ny);
  } else if (!orders.shape.lattice) {
    place_pixels(plan, orders, pixels, to_planes, made);
  }
  return made;
}

}  // namespace apsyn::epic_cuda
