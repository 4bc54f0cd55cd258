// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/epic/corr/cuda/transform_plan.cuh"

#include <algorithm>
#include <cmath>

#include "libcore/base/constants.h"

namespace apsyn::epic_cuda {

namespace {

/// Bins of the wanted rows, two by two; an odd one gets any other as its second.
std::vector<std::size_t> wanted_rows(std::size_t n, std::size_t n_cell) {
  std::vector<std::size_t> bins;
  for (std::size_t y = 0; y < (n + 1) / 2 * 2; ++y) bins.push_back((y + n_cell - n / 2) % n_cell);
  return bins;
}

/// Rows whose last pass is of a radix that a thread's sums hold; the fewest passes.
std::optional<epic_fft::RadixPlan> plan_rows(std::size_t n_x, std::size_t n_pair) {
  std::optional<epic_fft::RadixPlan> best;
  for (const int last : {8, 16}) {
    auto tried = epic_fft::plan_radices(n_x, last, kTransformRadices);
    const auto n_thread = static_cast<std::size_t>(transform_items(last) * kTransformThreads);
    if (!tried || n_pair * (n_x / static_cast<std::size_t>(last)) > n_thread) continue;
    if (!best || tried->radices.size() < best->radices.size()) best = std::move(tried);
  }
  return best;
}

}  // namespace

int append_passes(const epic_fft::RadixPlan& radices, std::size_t length, TransformPass* passes,
                  std::vector<float2>& turns) {
  int n = 0, part = static_cast<int>(length);
  for (const int radix : radices.radices) {
    passes[n++] = {radix, part, static_cast<int>(turns.size()),
                   divider(static_cast<std::size_t>(part / radix))};
    for (int k = 0; k < part / radix; ++k)
      for (int q = 1; q < radix; ++q) {
        const double angle = -kTwoPi * k * q / part;
        turns.push_back({static_cast<float>(std::cos(angle)), static_cast<float>(std::sin(angle))});
      }
    part /= radix;
  }
  return n;
}

std::optional<TransformPlan> plan_transform(const EpicPlan& plan, const PairOrders& orders,
                                            const SkyPixels& pixels, std::size_t shared_bytes) {
  const std::size_t n_x = orders.shape.n_x, n_y = orders.shape.n_y;
  const std::vector<std::size_t> rows = wanted_rows(plan.ny, n_y);
  const std::size_t n_pair = rows.size() / 2;
  const auto x = plan_rows(n_x, n_pair);
  const auto y = epic_fft::plan_radices(n_y, 0, kTransformRadices);
  if (!x || !y || x->radices.size() > kMaxTransformPasses || y->radices.size() > kMaxTransformPasses ||
      y->radices.size() < 2)
    return {};
  TransformPlan made;
  TransformShape& shape = made.shape;
  shape.n_pass_y = append_passes(*y, n_y, shape.pass_y, made.turns);
  shape.n_pass_x = append_passes(*x, n_x, shape.pass_x, made.turns);
  made.turns.resize((made.turns.size() + 1) / 2 * 2);  // what stands behind them is copied by 16 bytes
  shape.n_turn = static_cast<int>(made.turns.size());
  shape.n_pair = static_cast<int>(n_pair);
  shape.last_radix = x->radices.back();
  const auto last_radix = static_cast<std::size_t>(shape.last_radix);

  const std::size_t n_column = orders.shape.n_column;
  const std::size_t fixed =
      (made.turns.size() + (n_x + 2) * static_cast<std::size_t>(shape.pitch())) * sizeof(float2) +
      n_y * sizeof(std::uint16_t);
  if (fixed + n_y * sizeof(float2) > shared_bytes) return {};
  const std::size_t most = (shared_bytes - fixed) / (n_y * sizeof(float2));
  const std::size_t n_chunk = (n_column + most - 1) / most;
  shape.n_chunk_column = static_cast<int>((n_column + n_chunk - 1) / n_chunk);
  const auto n_chunk_column = static_cast<std::size_t>(shape.n_chunk_column);
  const std::size_t n_last = (n_column - 1) % n_chunk_column + 1;
  shape.pair = divider(n_pair);
  shape.chunk_column = divider(n_chunk_column);
  shape.last_column = divider(n_last);
  shape.shared_bytes = static_cast<int>(fixed + n_chunk_column * n_y * sizeof(float2));

  made.row_of_place.assign(n_y, kNotWanted);
  for (std::size_t i = 0; i < rows.size(); ++i)
    made.row_of_place[y->place[rows[i]]] = static_cast<std::uint16_t>(i);

  // where the thread's sums are: bin (x, row i)
  const std::size_t n_slot = std::size_t{kTransformSums} * kTransformThreads;
  made.pixels.assign(n_slot, kNoPixel);
  made.factors.assign(orders.shape.n_order * n_slot, 0);
  for (std::size_t pixel = 0; pixel < pixels.size(); ++pixel) {
    const std::size_t column = pixels.index[pixel] % plan.nx, row = pixels.index[pixel] / plan.nx;
    const std::size_t place = x->place[(column + n_x - plan.nx / 2) % n_x];
    const std::size_t item = place / last_radix * n_pair + row / 2;
    const std::size_t sum = (item / kTransformThreads * last_radix + place % last_radix) * 2 + row % 2;
    const auto slot = static_cast<std::size_t>(
        transform_slot(static_cast<int>(sum), static_cast<int>(item % kTransformThreads)));
    made.pixels[slot] = static_cast<std::uint32_t>(pixel);
    for (std::size_t order = 0; order < orders.shape.n_order; ++order)
      made.factors[order * n_slot + slot] = orders.factors[order * pixels.size() + pixel];
  }
  return made;
}

}  // namespace apsyn::epic_cuda
