// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/epic/corr/pair_orders.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <optional>
#include <span>
#include <utility>

#include "kernels/common/math/chebyshev_phase.h"
#include "libcore/base/constants.h"

namespace apsyn {

namespace {

/// Multiples of 16 are transformed by one kernel, and with at least 32 cells a spreading kernel does not
/// overlap itself.
std::size_t cells_of(const SpreadKernel& kernel, std::size_t n) {
  const double wanted = std::ceil(kernel.oversampling() * static_cast<double>(n));
  for (std::size_t cells = 32;; cells += 16) {
    std::size_t rest = cells;
    for (std::size_t prime : {2, 3, 5})
      while (rest % prime == 0) rest /= prime;
    if (rest == 1 && static_cast<double>(cells) >= wanted) return cells;
  }
}

/// Kernels of 7 cells, so that those of two rows reach 8 (corr/cuda/grid.cuh). The fine one's beta is that of
/// the least error at the horizon, 2.4e-5 of a pair (RMS over pixels 5.6e-6); the coarse one errs by 1.3e-4
/// RMS of a pair, which pairs of MWA-128T average to 2.5e-6 of the peak in the corners of 20 degrees.
const SpreadKernel& choose_kernel(bool coarse) {
  static const SpreadKernel fine{PairOrders::kWidth, 1.5, 14.37, PairOrders::kError};
  static const SpreadKernel large{PairOrders::kWidth, 1.25, 12.9, PairOrders::kError};
  return coarse ? large : fine;
}

bool is_coarse(const EpicPlan& plan) {
  return plan.n_ant * (plan.n_ant - 1) / 2 >= PairOrders::kCoarsePairs &&
         plan.nx * plan.ny > PairOrders::kCoarsePixels;
}

/// Products that are transformed, of the four that the measured times are for.
double share_of_products(const EpicPlan& plan) {
  return plan.n_pol == 1 || plan.total ? 0.25 : plan.cross ? 1 : 0.5;
}

void make_factors(const EpicPlan& plan, const EpicGeometry& geometry, const SkyPixels& pixels,
                  PairOrders& orders) {
  const std::optional<DepthKernels>& deep = orders.depth_kernels;
  const auto transforms = [&](std::size_t size, std::size_t n_cells, bool along_x) {
    std::vector<double> of;
    for (std::size_t i = 0; i < size; ++i) {
      const double frequency =
          (static_cast<double>(i) - static_cast<double>(size / 2)) / static_cast<double>(n_cells);
      of.push_back(!deep     ? orders.kernel.transform(frequency)
                   : along_x ? deep->transform_x(frequency)
                             : deep->transform_y(frequency));
    }
    return of;
  };
  if (orders.shape.lattice || deep) {
    const auto around = [&](std::size_t n_site, std::size_t n_cells, bool along_x) {
      std::vector<float> inverse(n_cells, 0.0f);
      const std::vector<double> of = transforms(n_site, n_cells, along_x);
      for (std::size_t site = 0; site < n_site; ++site)
        inverse[(site + n_cells - n_site / 2) % n_cells] = static_cast<float>(1 / of[site]);
      return inverse;
    };
    const std::optional<PairLattice>& lattice = orders.shape.lattice;
    orders.of_column = around(lattice ? lattice->n_x : plan.nx, orders.shape.n_x, true);
    orders.of_row = around(lattice ? lattice->n_y : plan.ny, orders.shape.n_y, false);
    if (lattice) return;
  }
  const std::vector<double> of_x = transforms(plan.nx, orders.shape.n_x, true);
  const std::vector<double> of_y = transforms(plan.ny, orders.shape.n_y, false);
  const PairDepth& depth = orders.shape.depth;
  orders.factors.resize(orders.n_order() * pixels.size());
  orders.places.resize(pixels.size());
  for_each_pixel(plan, pixels, [&](std::size_t pixel) {
    const std::size_t x = pixels.index[pixel] % plan.nx, y = pixels.index[pixel] / plan.nx;
    const std::size_t column = (x + orders.shape.n_x - plan.nx / 2) % orders.shape.n_x;
    const std::size_t line = (y + orders.shape.n_y - plan.ny / 2) % orders.shape.n_y;
    orders.places[pixel] = static_cast<std::uint32_t>(line * orders.shape.n_x + column);
    const double t =
        depth.n_half > 0
            ? std::clamp((n_of(geometry, pixels, pixel) - depth.n_middle) / depth.n_half, -1.0, 1.0)
            : 0;
    const double scale = 1 / (of_x[x] * of_y[y]);
    double polynomial = 1, next = t;  // T_k, T_(k + 1)
    for (std::size_t order = 0; order < orders.n_order(); ++order) {
      orders.factors[order * pixels.size() + pixel] = static_cast<float>(polynomial * scale);
      polynomial = std::exchange(next, 2 * t * next - polynomial);
    }
  });
}

double error_of(bool coarse) {
  return coarse ? PairOrders::kCoarseError : PairOrders::kError;
}

/// How much of the phase of w pairs turn by, and what so many orders leave out of it. A few antennas far
/// above others need more orders than all the rest, and count for little: the RMS over pairs decides, in
/// classes of |w|.
class OrdersOfPairs {
 public:
  /// w_s: of antennas in rising order.
  OrdersOfPairs(std::span<const double> w_s, double highest_hz, double n_half)
      : share_(kClasses + 1, 0.0), z_max_(kTwoPi * highest_hz * (w_s.back() - w_s.front()) * n_half) {
    const double span_s = w_s.back() - w_s.front();
    if (!(span_s > 0)) return;
    for (std::size_t a = 0; a < w_s.size(); ++a)
      for (std::size_t b = a + 1; b < w_s.size(); ++b, ++n_pair_)
        ++share_[static_cast<std::size_t>(std::ceil((w_s[b] - w_s[a]) / span_s * kClasses * (1 - 1e-12)))];
  }
  /// RMS, relative to a pair.
  double left_out(std::size_t n_order) const {
    double squares = 0;
    for (std::size_t i = 1; i <= kClasses; ++i) {
      const double z = z_max_ * static_cast<double>(i) / kClasses;
      if (share_[i] == 0) continue;
      // twice the first that is left out is what all leave out once orders are beyond z; before that, all of
      // it
      const double of_pair = static_cast<double>(n_order) > z ? 2 * std::abs(bessel_j(n_order, z)) : 1;
      squares += share_[i] * of_pair * of_pair;
    }
    return n_pair_ > 0 ? std::sqrt(squares / n_pair_) : 0;
  }
  std::size_t needed(double error) const {
    for (std::size_t n = chebyshev_terms(z_max_, error); n > 1; --n)
      if (left_out(n - 1) > error) return n;
    return 1;
  }

 private:
  static constexpr std::size_t kClasses = 256;
  std::vector<double> share_;
  double z_max_, n_pair_ = 0;
};

std::size_t n_outlier_pair(std::size_t n_outliers, std::size_t n_ant) {
  return n_outliers * (n_ant - n_outliers) + n_outliers * (n_outliers - 1) / 2;
}

/// Largest |u|, |v| and |w| of pairs on the grid.
std::array<double, 3> extent_s(const std::vector<std::array<double, 3>>& uvw,
                               const std::vector<std::size_t>& outlier_antennas) {
  std::array<double, 3> low, high, extent;
  low.fill(INFINITY);
  high.fill(-INFINITY);
  for (std::size_t ant = 0; ant < uvw.size(); ++ant) {
    if (std::find(outlier_antennas.begin(), outlier_antennas.end(), ant) != outlier_antennas.end()) continue;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      low[axis] = std::min(low[axis], uvw[ant][axis]);
      high[axis] = std::max(high[axis], uvw[ant][axis]);
    }
  }
  for (std::size_t axis = 0; axis < 3; ++axis) extent[axis] = high[axis] - low[axis];
  return extent;
}

constexpr double kSlack = 1.01;  // of w: the first order that is left out grows by a fifth

constexpr std::size_t kMaxOutliers = 8;  // one antenna of so many

/// Antennas from both ends of w for as long as that pays.
void choose_outliers(const EpicPlan& plan, const std::vector<std::array<double, 3>>& uvw, std::size_t n_pixel,
                     PairCells& cells) {
  const double highest_hz = plan.highest_hz();
  std::vector<std::size_t> order(uvw.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return uvw[a][2] < uvw[b][2]; });
  std::vector<double> w_s;
  for (const std::size_t ant : order) w_s.push_back(uvw[ant][2]);
  const double order_s =
      share_of_products(plan) * (static_cast<double>(cells.n_x * cells.n_y) * kPairOrder_s +
                                 (cells.lattice ? static_cast<double>(n_pixel) * kPairSite_s : 0));
  double min_s = INFINITY;
  for (std::size_t low = 0, high = uvw.size(); high - low >= 2;) {
    const std::size_t n_outliers = uvw.size() - (high - low);
    const double outliers_s =
        static_cast<double>(n_outlier_pair(n_outliers, uvw.size()) * n_pixel) * kPairPixel_s;
    if (outliers_s + order_s >= min_s || n_outliers * kMaxOutliers > uvw.size()) break;
    const OrdersOfPairs orders(std::span<const double>(w_s).subspan(low, high - low), highest_hz,
                               cells.depth.n_half);
    const std::size_t n = orders.needed(error_of(cells.coarse));
    const double all_s = outliers_s + static_cast<double>(n) * order_s;
    if (all_s < min_s) {
      min_s = cells.pixels_s = all_s;
      cells.n_order = n;
      cells.outlier_antennas.assign(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(low));
      cells.outlier_antennas.insert(cells.outlier_antennas.end(),
                                    order.begin() + static_cast<std::ptrdiff_t>(high), order.end());
    }
    const double middle_s = w_s[(low + high) / 2];
    if (middle_s - w_s[low] > w_s[high - 1] - middle_s)
      ++low;
    else
      --high;
  }
}

/// For pixels, or for the sites of a lattice, whose depth is theirs.
PairCells cells_for(const EpicPlan& plan, const EpicGeometry& geometry, const SkyPixels& pixels,
                    std::optional<PairLattice> lattice) {
  PairCells cells;
  cells.coarse = is_coarse(plan);
  const SpreadKernel& kernel = choose_kernel(cells.coarse);
  const double highest_hz = plan.highest_hz();
  cells.n_ant = plan.n_ant;
  cells.highest_hz = highest_hz;
  cells.lattice = std::move(lattice);
  cells.pitch = cells.lattice ? cells.lattice->pitch : plan.cell;
  cells.n_x = cells_of(kernel, cells.lattice ? cells.lattice->n_x : plan.nx);
  cells.n_y = cells_of(kernel, cells.lattice ? cells.lattice->n_y : plan.ny);
  cells.depth = cells.lattice ? cells.lattice->depth : depth_of(geometry, pixels);
  auto uvw = image_frame_s(geometry);
  if (cells.lattice) uvw = heights_s(std::move(uvw), cells.lattice->slope);
  choose_outliers(plan, uvw, pixels.size(), cells);
  const std::array<double, 3> extent = extent_s(uvw, cells.outlier_antennas);
  cells.u_s = extent[0];
  cells.v_s = extent[1];
  cells.depth.w_s = extent[2];
  // whole strips and pairs of rows (corr/cuda/grid.cuh)
  const auto reached = [&](double extent_s, std::size_t n, std::size_t unit, std::size_t most) {
    const double reach = kSlack * extent_s * highest_hz * cells.pitch * static_cast<double>(n);
    const double units = std::ceil((std::ceil(reach) + PairOrders::kTaps) / static_cast<double>(unit));
    return static_cast<std::size_t>(std::min(static_cast<double>(most), units * static_cast<double>(unit)));
  };
  cells.n_column = reached(cells.u_s, cells.n_x, 8, cells.n_x / 2 + 1);
  cells.n_row = reached(cells.v_s, cells.n_y, 2, cells.n_y / 2);
  return cells;
}

/// Sites that pixels may move by as slopes change.
constexpr std::size_t kSlackSites = 2;

std::optional<PairLattice> lattice_for(const EpicPlan& plan, const EpicGeometry& geometry,
                                       const SkyPixels& pixels) {
  return pair_lattice(plan, geometry, pixels, choose_kernel(is_coarse(plan)), {kSlack, kSlackSites});
}

DepthField field_of(const EpicPlan& plan, const PairCells& cells, const PairSlope& slope) {
  DepthField field;
  field.n_x = cells.lattice ? cells.lattice->n_x : plan.nx;
  field.n_y = cells.lattice ? cells.lattice->n_y : plan.ny;
  field.n_cell_x = cells.n_x;
  field.n_cell_y = cells.n_y;
  field.pitch = cells.pitch;
  field.slope = slope;
  field.n_middle = cells.depth.n_middle;
  return field;
}

/// u, v and w, or heights above the slope of a lattice, of the antennas on the grid.
std::vector<std::array<double, 3>> on_grid_s(const PairCells& cells, const PairSlope& slope,
                                             const std::vector<std::array<double, 3>>& uvw) {
  std::vector<std::array<double, 3>> kept;
  for (std::size_t ant = 0; ant < uvw.size(); ++ant)
    if (std::find(cells.outlier_antennas.begin(), cells.outlier_antennas.end(), ant) ==
        cells.outlier_antennas.end())
      kept.push_back(uvw[ant]);
  return cells.lattice ? heights_s(std::move(kept), slope) : kept;
}

/// With as few terms as suffice, for a while.
std::optional<DepthKernels> kernels_for(const EpicPlan& plan, const PairCells& cells,
                                        const std::vector<std::array<double, 3>>& uvw) {
  constexpr double kFurther = 1.05;
  const PairSlope slope = cells.lattice ? cells.lattice->slope : PairSlope{};
  auto uvh = on_grid_s(cells, slope, uvw);
  for (auto& at : uvh) at[2] *= kFurther;
  for (const int n_term : {2, DepthAxis::kTerms}) {
    DepthKernels kernels(field_of(plan, cells, slope), n_term);
    if (kernels.error(uvh, cells.highest_hz) <= PairOrders::kDepthError) return kernels;
  }
  return {};
}

/// Cells for kernels that hold w, of pixels, or of the sites of a lattice where that is not more than orders
/// take; or for orders, as pair_cells().
PairCells cells_for_kernels(const EpicPlan& plan, const EpicGeometry& geometry, const SkyPixels& pixels,
                            std::optional<DepthKernels>& kernels) {
  const auto uvw = image_frame_s(geometry);
  PairCells level = cells_for(plan, geometry, pixels, {});
  kernels = kernels_for(plan, level, uvw);
  if (kernels) return level;
  std::optional<PairLattice> lattice = lattice_for(plan, geometry, pixels);
  if (!lattice) return level;
  PairCells aslant = cells_for(plan, geometry, pixels, std::move(lattice));
  if (aslant.pixels_s / static_cast<double>(aslant.n_order) <= level.pixels_s)
    kernels = kernels_for(plan, aslant, uvw);
  return kernels || (level.n_order > 1 && aslant.pixels_s < level.pixels_s) ? aslant : level;
}

}  // namespace

std::size_t PairCells::n_outlier_pair() const {
  return apsyn::n_outlier_pair(outlier_antennas.size(), n_ant);
}

PairCells pair_cells(const EpicPlan& plan, const EpicGeometry& geometry, const SkyPixels& pixels) {
  PairCells level = cells_for(plan, geometry, pixels, {});
  if (level.n_order == 1) return level;
  std::optional<PairLattice> lattice = lattice_for(plan, geometry, pixels);
  if (!lattice) return level;
  PairCells aslant = cells_for(plan, geometry, pixels, std::move(lattice));
  return aslant.pixels_s < level.pixels_s ? aslant : level;
}

bool serves(PairOrders& orders, const EpicGeometry& geometry, const SkyPixels& pixels) {
  return pixels.index == orders.index && serves(orders, geometry);
}

bool serves(PairOrders& orders, const EpicGeometry& geometry) {
  PairCells& shape = orders.shape;
  auto uvw = image_frame_s(geometry);
  const auto uvw_s = uvw;
  PairSlope slope;
  if (shape.lattice) {
    slope = fit_slope(uvw);
    const PairSlope& planned = shape.lattice->slope;
    const double change = std::max(std::abs(slope.u - planned.u), std::abs(slope.v - planned.v));
    if (!(change * shape.depth.n_half <= static_cast<double>(kSlackSites) * shape.pitch)) return false;
    uvw = heights_s(std::move(uvw), slope);
  }
  const auto [u_s, v_s, w_s] = extent_s(uvw, shape.outlier_antennas);
  if (!(u_s <= kSlack * shape.u_s && v_s <= kSlack * shape.v_s)) return false;
  if (w_s <= std::max(kSlack * shape.depth.w_s, shape.sufficient_w_s)) return true;
  if (orders.depth_kernels) {
    // What is looked at anew is to last for a while, if it can.
    for (const double further : {1.1, kSlack}) {
      auto further_s = on_grid_s(shape, slope, uvw_s);
      for (auto& at : further_s) at[2] *= further;
      if (depth_kernels(orders, geometry).error(further_s, shape.highest_hz) > PairOrders::kDepthError)
        continue;
      shape.sufficient_w_s = further * w_s;
      return true;
    }
    return false;
  }
  // An array that lies level to its field does so no more a minute later: its w grows by half, and the same
  // orders may still do.
  std::vector<double> rising_s;
  for (std::size_t ant = 0; ant < uvw.size(); ++ant)
    if (std::find(shape.outlier_antennas.begin(), shape.outlier_antennas.end(), ant) ==
        shape.outlier_antennas.end())
      rising_s.push_back(uvw[ant][2]);
  std::sort(rising_s.begin(), rising_s.end());
  const OrdersOfPairs widened(rising_s, kSlack * shape.highest_hz, shape.depth.n_half);
  if (widened.left_out(shape.n_order) > error_of(shape.coarse)) return false;
  shape.sufficient_w_s = kSlack * w_s;
  return true;
}

DepthKernels depth_kernels(const PairOrders& orders, const EpicGeometry& geometry) {
  const DepthKernels& planned = *orders.depth_kernels;
  if (!orders.shape.lattice) return planned;
  DepthField field = planned.field();
  field.slope = fit_slope(image_frame_s(geometry));
  return DepthKernels(field, planned.n_term());
}

PairOrders plan_pair_orders(const EpicPlan& plan, const EpicGeometry& geometry, const SkyPixels& pixels,
                            DepthBy by) {
  std::optional<DepthKernels> kernels;
  PairCells cells = by == DepthBy::kernels && is_coarse(plan)
                        ? cells_for_kernels(plan, geometry, pixels, kernels)
                        : pair_cells(plan, geometry, pixels);
  PairOrders orders{
      choose_kernel(is_coarse(plan)), std::move(cells), {}, {}, pixels.index, {}, {}, {}, std::move(kernels)};
  const SpreadKernel& kernel = orders.kernel;
  orders.taps.assign((kernel.degree() + 1) * PairOrders::kTaps, 0);
  for (std::size_t power = 0; power <= kernel.degree(); ++power)
    for (std::size_t tap = 0; tap < kernel.width(); ++tap)
      orders.taps[power * PairOrders::kTaps + tap] =
          static_cast<float>(kernel.coefficients()[power * kernel.stride() + tap]);
  make_factors(plan, geometry, pixels, orders);
  return orders;
}

}  // namespace apsyn
