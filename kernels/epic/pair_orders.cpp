// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/epic/pair_orders.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "kernels/common/chebyshev_phase.h"
#include "libcore/core/constants.h"

namespace apsyn {

namespace {

/// Multiples of 16 are transformed by one kernel, and 32 are so many that a spreading kernel does not meet
/// itself.
std::size_t cells_of(const SpreadKernel& kernel, std::size_t n) {
  const double wanted = std::ceil(kernel.oversampling() * static_cast<double>(n));
  for (std::size_t cells = 32;; cells += 16) {
    std::size_t rest = cells;
    for (std::size_t prime : {2, 3, 5})
      while (rest % prime == 0) rest /= prime;
    if (rest == 1 && static_cast<double>(cells) >= wanted) return cells;
  }
}

/// A grid of few cells costs more than narrow kernels gain: tensor cores spread over kTaps anyway.
SpreadKernel find_kernel() {
  std::vector<SpreadKernel> kernels = spread_kernels(PairOrders::kError, 1);
  std::erase_if(kernels, [](const SpreadKernel& kernel) { return kernel.width() > PairOrders::kTaps; });
  return *std::min_element(kernels.begin(), kernels.end(), [](const SpreadKernel& a, const SpreadKernel& b) {
    return a.oversampling() < b.oversampling();
  });
}

const SpreadKernel& choose_kernel() {
  static const SpreadKernel kernel = find_kernel();
  return kernel;
}

void make_factors(const EpicPlan& plan, const EpicGeometry& geometry, const SkyPixels& pixels,
                  PairOrders& orders) {
  const auto transforms = [&](std::size_t size, std::size_t n_cells) {
    std::vector<double> of;
    for (std::size_t i = 0; i < size; ++i)
      of.push_back(orders.kernel.transform((static_cast<double>(i) - static_cast<double>(size / 2)) /
                                           static_cast<double>(n_cells)));
    return of;
  };
  const std::vector<double> of_x = transforms(plan.nx, orders.shape.n_x);
  const std::vector<double> of_y = transforms(plan.ny, orders.shape.n_y);
  const PairDepth& depth = orders.depth;
  orders.factors.resize(orders.shape.n_order * pixels.size());
  for (std::size_t pixel = 0; pixel < pixels.size(); ++pixel) {
    const std::size_t x = pixels.index[pixel] % plan.nx, y = pixels.index[pixel] / plan.nx;
    const std::size_t column = (x + orders.shape.n_x - plan.nx / 2) % orders.shape.n_x;
    const std::size_t line = (y + orders.shape.n_y - plan.ny / 2) % orders.shape.n_y;
    orders.places.push_back(static_cast<std::uint32_t>(line * orders.shape.n_x + column));
    const double t =
        depth.n_half > 0
            ? std::clamp((n_of(geometry, pixels, pixel) - depth.n_middle) / depth.n_half, -1.0, 1.0)
            : 0;
    const double scale = 1 / (of_x[x] * of_y[y]);
    double polynomial = 1, next = t;  // T_k, T_(k + 1)
    for (std::size_t order = 0; order < orders.shape.n_order; ++order) {
      orders.factors[order * pixels.size() + pixel] = static_cast<float>(polynomial * scale);
      polynomial = std::exchange(next, 2 * t * next - polynomial);
    }
  }
}

std::size_t count_orders(const EpicPlan& plan, const EpicGeometry& geometry, const PairDepth& depth) {
  // a few antennas far above others need more orders than all the rest, and count for little: the RMS of what
  // is left out decides, over pairs in classes of |w|
  constexpr std::size_t kClasses = 256;
  const double highest_hz = *std::max_element(plan.channel_hz.begin(), plan.channel_hz.end());
  const auto uvw = image_frame_s(geometry);
  std::vector<double> share(kClasses + 1, 0.0);
  double n_pair = 0;
  for (std::size_t a = 0; a < uvw.size(); ++a)
    for (std::size_t b = a + 1; b < uvw.size(); ++b, ++n_pair)
      if (depth.w_s > 0)
        ++share[static_cast<std::size_t>(
            std::ceil(std::abs(uvw[a][2] - uvw[b][2]) / depth.w_s * kClasses * (1 - 1e-12)))];
  const double z_max = kTwoPi * highest_hz * depth.w_s * depth.n_half;
  const std::size_t most = chebyshev_terms(z_max, PairOrders::kError);
  for (std::size_t n = most; n > 1; --n) {
    double squares = 0;
    for (std::size_t i = 1; i <= kClasses; ++i) {
      const double z = z_max * static_cast<double>(i) / kClasses;
      if (share[i] == 0) continue;
      // twice the first that is left out is what all leave out once orders are beyond z; before that, all of
      // it
      const double left_out = static_cast<double>(n - 1) > z ? 2 * std::abs(bessel_j(n - 1, z)) : 1;
      squares += share[i] * left_out * left_out;
    }
    if (std::sqrt(squares / n_pair) > PairOrders::kError) return n;
  }
  return 1;
}

}  // namespace

PairCells pair_cells(const EpicPlan& plan, const EpicGeometry& geometry, const PairDepth& depth) {
  const SpreadKernel& kernel = choose_kernel();
  return {cells_of(kernel, plan.nx), cells_of(kernel, plan.ny), count_orders(plan, geometry, depth)};
}

bool serves(const PairOrders& orders, const EpicGeometry& geometry, const SkyPixels& pixels) {
  constexpr double kSlack = 1.01;  // of w: the first order that is left out grows by a fifth
  return pixels.index == orders.index && depth_of(geometry, pixels).w_s <= kSlack * orders.depth.w_s;
}

PairOrders plan_pair_orders(const EpicPlan& plan, const EpicGeometry& geometry, const SkyPixels& pixels) {
  PairOrders orders{choose_kernel(), depth_of(geometry, pixels), {}, {}, {}, pixels.index, {}};
  const SpreadKernel& kernel = orders.kernel;
  orders.shape = pair_cells(plan, geometry, orders.depth);
  orders.taps.assign((kernel.degree() + 1) * PairOrders::kTaps, 0);
  for (std::size_t power = 0; power <= kernel.degree(); ++power)
    for (std::size_t tap = 0; tap < kernel.width(); ++tap)
      orders.taps[power * PairOrders::kTaps + tap] =
          static_cast<float>(kernel.coefficients()[power * kernel.stride() + tap]);
  make_factors(plan, geometry, pixels, orders);
  return orders;
}

}  // namespace apsyn
