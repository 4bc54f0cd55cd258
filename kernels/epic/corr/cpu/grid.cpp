// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "kernels/common/math/chebyshev_phase.h"
#include "kernels/common/math/fft.h"
#include "kernels/common/math/spread_kernel.h"
#include "kernels/epic/corr/cpu/spread.h"
#include "kernels/epic/corr/pair_depth.h"
#include "kernels/epic/corr/pair_imager.h"
#include "kernels/epic/corr/pair_products.h"
#include "libcore/base/constants.h"
#include "libcore/system/parallel.h"

namespace apsyn {

namespace {

constexpr double kGridError = 6e-6;  // of the kernel, and of the nodes in n

/// The kernel that costs least, and its grid.
struct Grid {
  SpreadKernel kernel;
  PairGridShape shape;
};

Grid choose_grid(const EpicPlan& plan, const EpicGeometry& geometry, const SkyPixels& pixels) {
  const PairDepth depth = depth_of(geometry, pixels);
  const double highest_hz = plan.highest_hz();
  PairGridShape shape;
  shape.n_node = chebyshev_terms(kTwoPi * highest_hz * depth.w_s * depth.n_half, kGridError);
  const auto cells = [](std::size_t n, const SpreadKernel& kernel) {
    const double wanted = std::ceil(kernel.oversampling() * static_cast<double>(n));
    return fast_fft_length(std::max(static_cast<std::size_t>(wanted), kPairTaps));
  };
  std::vector<SpreadKernel> kernels = spread_kernels(kGridError, 1);
  std::erase_if(kernels, [](const SpreadKernel& kernel) { return kernel.width() > kPairTaps; });
  const SpreadKernel* best = nullptr;
  double min_s = INFINITY;
  for (const SpreadKernel& kernel : kernels) {
    const PairGridShape tried{shape.n_node, cells(plan.nx, kernel), cells(plan.ny, kernel), kernel.width()};
    const double seconds = grid_pairs_s(plan, tried);
    if (seconds >= min_s) continue;
    min_s = seconds;
    best = &kernel;
    shape = tried;
  }
  return {*best, shape};
}

class GridPairImager final : public PairImager {
 public:
  GridPairImager(const EpicPlan& plan, const EpicGeometry& geometry, const SkyPixels& pixels);
  void image(const PairSums& pairs, View<double, 3> sums) override;

 private:
  struct Scratch {
    Buffer<double, 2> places;  // [x, y][ant] in cells
    Buffer<float, 2> phases;   // [ant][re, im]
    Buffer<float, 1> cells;    // [line][column][matrix][re, im], with a margin (corr/cpu/spread.h)
    Buffer<std::complex<float>, 2> folded;  // [cells_y][cells_x]
  };
  void make_factors(const EpicGeometry& geometry);
  void prepare(const PairSums& pairs, std::size_t channel, std::size_t at, Scratch& scratch);
  void image_node(std::size_t first_channel, std::size_t node, std::size_t at, Scratch& scratch,
                  float* image) const;
  void fold(std::size_t matrix, Scratch& scratch) const;

  const EpicPlan& plan_;
  const SkyPixels& pixels_;
  std::vector<std::array<double, 3>> uvw_s_;  // [ant]
  std::vector<double> delay_s_;
  Grid grid_;
  PairDepth depth_;
  ComplexFft<float> fft_;
  std::vector<float> taps_;           // [power][tap]
  std::vector<double> nodes_;         // n_k
  Buffer<float, 2> factors_;          // [node][pixel] L_k(n) over the kernel's transform
  std::vector<std::uint32_t> cells_;  // [pixel] of the transformed grid
  std::vector<std::size_t> values_;
  // of the channels that are imaged together
  Buffer<float, 3> pairs_;           // [channel][pair a < b][matrix][re, im]
  Buffer<float, 3> pair_taps_;       // [channel][pair][x, y][tap]
  Buffer<std::uint32_t, 2> places_;  // [channel][pair] first cell
  Buffer<float, 4> images_;          // [image channel][node][pixel][matrix]
  std::vector<Scratch> scratch_;     // [thread]
};

GridPairImager::GridPairImager(const EpicPlan& plan, const EpicGeometry& geometry, const SkyPixels& pixels)
    : plan_(plan),
      pixels_(pixels),
      uvw_s_(image_frame_s(geometry)),
      delay_s_(geometry.delay_s),
      grid_(choose_grid(plan, geometry, pixels)),
      depth_(depth_of(geometry, pixels)),
      fft_({grid_.shape.cells_y, grid_.shape.cells_x}, 1, FftSign::minus),
      values_(plane_values(plan)),
      scratch_(plan.n_threads) {
  if (plan.n_direction > 0) throw std::logic_error("GridPairImager: directions are not on a grid");
  const SpreadKernel& kernel = grid_.kernel;
  taps_.assign((kernel.degree() + 1) * kPairTaps, 0);
  for (std::size_t power = 0; power <= kernel.degree(); ++power)
    for (std::size_t tap = 0; tap < kernel.width(); ++tap)
      taps_[power * kPairTaps + tap] =
          static_cast<float>(kernel.coefficients()[power * kernel.stride() + tap]);
  make_factors(geometry);
  const PairGridShape& shape = grid_.shape;
  for (Scratch& scratch : scratch_) {
    scratch.places.resize({2, plan_.n_ant});
    scratch.phases.resize({plan_.n_ant, 2});
    scratch.cells.resize(
        {(shape.cells_y + kPairTaps) * (shape.cells_x + kPairTaps) * 2 * plan_.n_plane() + 8});
    scratch.folded.resize({shape.cells_y, shape.cells_x});
  }
}

void GridPairImager::make_factors(const EpicGeometry& geometry) {
  const PairGridShape& shape = grid_.shape;
  const auto n = static_cast<double>(shape.n_node);
  for (std::size_t node = 0; node < shape.n_node; ++node)
    nodes_.push_back(depth_.n_middle + depth_.n_half * std::cos(kPi * (static_cast<double>(node) + 0.5) / n));
  const auto transforms = [&](std::size_t size, std::size_t n_cells) {
    std::vector<double> of;
    for (std::size_t i = 0; i < size; ++i)
      of.push_back(grid_.kernel.transform((static_cast<double>(i) - static_cast<double>(size / 2)) /
                                          static_cast<double>(n_cells)));
    return of;
  };
  const std::vector<double> of_x = transforms(plan_.nx, shape.cells_x);
  const std::vector<double> of_y = transforms(plan_.ny, shape.cells_y);
  factors_.resize({shape.n_node, pixels_.size()});
  for (std::size_t pixel = 0; pixel < pixels_.size(); ++pixel) {
    const std::size_t x = pixels_.index[pixel] % plan_.nx, y = pixels_.index[pixel] / plan_.nx;
    const std::size_t column = (x + shape.cells_x - plan_.nx / 2) % shape.cells_x;
    const std::size_t line = (y + shape.cells_y - plan_.ny / 2) % shape.cells_y;
    cells_.push_back(static_cast<std::uint32_t>(line * shape.cells_x + column));
    const double t =
        depth_.n_half > 0
            ? std::clamp((n_of(geometry, pixels_, pixel) - depth_.n_middle) / depth_.n_half, -1.0, 1.0)
            : 0;
    for (std::size_t node = 0; node < shape.n_node; ++node) {
      // the sum of Chebyshev polynomials that is 1 at this node and 0 at the others
      const double angle = std::acos(t), at = kPi * (static_cast<double>(node) + 0.5) / n;
      double sum = 1;
      for (std::size_t k = 1; k < shape.n_node; ++k)
        sum += 2 * std::cos(static_cast<double>(k) * angle) * std::cos(static_cast<double>(k) * at);
      // half: the transform adds every pair and its conjugate
      factors_(node, pixel) = static_cast<float>(0.5 * sum / n / (of_x[x] * of_y[y]));
    }
  }
}

/// The margins back onto the grid, and two Hermitian grids as the real and imaginary part of an image:
/// G(u) + G(-u)* + i (H(u) + H(-u)*).
void GridPairImager::fold(std::size_t matrix, Scratch& scratch) const {
  const PairGridShape& shape = grid_.shape;
  const std::size_t n_matrix = plan_.n_plane(), half = shape.width / 2;
  const bool both = matrix + 1 < n_matrix;
  auto& folded = scratch.folded;
  folded.fill({});
  // out(c) takes G and H of cell c, out(-c) their conjugates
  const std::size_t lines = shape.cells_y + kPairTaps, columns = shape.cells_x + kPairTaps;
  for (std::size_t line = 0; line < lines; ++line) {
    const std::size_t y = (line + shape.cells_y - half) % shape.cells_y;
    const std::size_t minus_y = (shape.cells_y - y) % shape.cells_y;
    const float* from = &scratch.cells((line * columns * n_matrix + matrix) * 2);
    std::complex<float>*plus = &folded(y, 0), *minus = &folded(minus_y, 0);
    for (std::size_t column = 0; column < columns; ++column, from += 2 * n_matrix) {
      const std::size_t x = (column + shape.cells_x - half) % shape.cells_x;
      const std::complex<float> g(from[0], from[1]);
      const std::complex<float> h = both ? std::complex<float>(from[2], from[3]) : std::complex<float>(0);
      plus[x] += std::complex<float>(g.real() - h.imag(), g.imag() + h.real());
      minus[(shape.cells_x - x) % shape.cells_x] +=
          std::complex<float>(g.real() + h.imag(), h.real() - g.imag());
    }
  }
}

/// A channel's pairs, and where they go.
void GridPairImager::prepare(const PairSums& pairs, std::size_t channel, std::size_t at, Scratch& scratch) {
  const PairGridShape& shape = grid_.shape;
  const std::size_t n_ant = plan_.n_ant;
  const PairProducts products(plan_, pairs, channel);
  const double hz = plan_.channel_hz[channel];
  for (std::size_t ant = 0; ant < n_ant; ++ant) {
    // l falls with x, m rises with y
    scratch.places(0, ant) = -hz * uvw_s_[ant][0] * plan_.cell * static_cast<double>(shape.cells_x);
    scratch.places(1, ant) = hz * uvw_s_[ant][1] * plan_.cell * static_cast<double>(shape.cells_y);
  }
  PairLocation location;
  location.taps = taps_.data();
  location.n_power = grid_.kernel.degree() + 1;
  location.width = shape.width;
  location.cells_x = shape.cells_x;
  location.cells_y = shape.cells_y;
  location.x = &scratch.places(0, 0);
  location.y = &scratch.places(1, 0);
  location.n_ant = n_ant;
  std::size_t pair = 0;
  for (std::size_t a = 0; a + 1 < n_ant; ++a) {
    location.a = a;
    location.cell = &places_(at, pair);
    location.pair_taps = &pair_taps_(at, pair, 0);
    locate_pairs(location);
    for (std::size_t b = a + 1; b < n_ant; ++b, ++pair)
      products.of(a, b, reinterpret_cast<std::complex<float>*>(&pairs_(at, pair, 0)));
  }
}

/// image [pixel][matrix] of one node, of all channels of one image channel; prepared at `at`.
void GridPairImager::image_node(std::size_t first_channel, std::size_t node, std::size_t at, Scratch& scratch,
                                float* image) const {
  const std::size_t n_matrix = plan_.n_plane(), n_ant = plan_.n_ant;
  scratch.cells.fill(0);
  PairSpread spread;
  spread.width = grid_.shape.width;
  spread.n_matrix = n_matrix;
  spread.phase = scratch.phases.data();
  spread.n_ant = n_ant;
  spread.cells = scratch.cells.data();
  spread.line_cells = grid_.shape.cells_x + kPairTaps;
  for (std::size_t i = 0; i < plan_.n_average; ++i) {
    for (std::size_t ant = 0; ant < n_ant; ++ant) {
      const double turns =
          plan_.channel_hz[first_channel + i] * (delay_s_[ant] - uvw_s_[ant][2] * nodes_[node]);
      scratch.phases(ant, 0) = static_cast<float>(std::cos(kTwoPi * (turns - std::round(turns))));
      scratch.phases(ant, 1) = static_cast<float>(std::sin(kTwoPi * (turns - std::round(turns))));
    }
    std::size_t pair = 0;
    for (spread.a = 0; spread.a + 1 < n_ant; ++spread.a) {
      spread.cell = &places_(at + i, pair);
      spread.pair_taps = &pair_taps_(at + i, pair, 0);
      spread.pairs = &pairs_(at + i, pair, 0);
      spread_pairs(spread);
      pair += n_ant - spread.a - 1;
    }
  }
  for (std::size_t matrix = 0; matrix < n_matrix; matrix += 2) {
    fold(matrix, scratch);
    fft_.execute(scratch.folded.data());
    for (std::size_t pixel = 0; pixel < pixels_.size(); ++pixel) {
      const std::complex<float> value = scratch.folded.data()[cells_[pixel]];
      image[pixel * n_matrix + matrix] = value.real() * factors_(node, pixel);
      if (matrix + 1 < n_matrix) image[pixel * n_matrix + matrix + 1] = value.imag() * factors_(node, pixel);
    }
  }
}

void GridPairImager::image(const PairSums& pairs, View<double, 3> sums) {
  const std::size_t n_average = plan_.n_average, n_matrix = plan_.n_plane(), n_node = grid_.shape.n_node;
  const std::size_t n_pair = plan_.n_ant * (plan_.n_ant - 1) / 2, n_image = plan_.n_image_channel();
  const std::size_t channel_bytes = n_pair * (2 * n_matrix + 2 * kPairTaps + 1) * sizeof(float);
  const std::size_t image_bytes = pixels_.size() * n_node * n_matrix * sizeof(float);
  const std::size_t batch =
      std::clamp<std::size_t>(kPairBatchBytes / (channel_bytes * n_average + image_bytes + 1), 1, n_image);
  pairs_.resize_for_overwrite({batch * n_average, n_pair, 2 * n_matrix});
  pair_taps_.resize_for_overwrite({batch * n_average, n_pair, 2 * kPairTaps});
  places_.resize_for_overwrite({batch * n_average, n_pair});
  images_.resize_for_overwrite({batch, n_node, pixels_.size(), n_matrix});
  for (std::size_t first = 0; first < n_image; first += batch) {
    const std::size_t n = std::min(batch, n_image - first);
    parallel_for(plan_.n_threads, n * n_average, [&](std::size_t i, unsigned thread) {
      prepare(pairs, first * n_average + i, i, scratch_[thread]);
    });
    parallel_for(plan_.n_threads, n * n_node, [&](std::size_t item, unsigned thread) {
      const std::size_t i = item / n_node;
      image_node((first + i) * n_average, item % n_node, i * n_average, scratch_[thread],
                 images_.data() + item * pixels_.size() * n_matrix);
    });
    parallel_for(plan_.n_threads, n, [&](std::size_t i, unsigned) {
      const float* from = images_.data() + i * n_node * pixels_.size() * n_matrix;
      for (std::size_t node = 0; node < n_node; ++node)
        for (std::size_t pixel = 0; pixel < pixels_.size(); ++pixel)
          for (std::size_t matrix = 0; matrix < n_matrix; ++matrix)
            sums(first + i, pixel, values_[matrix]) += static_cast<double>(*from++);
    });
  }
}

}  // namespace

PairGridShape pair_grid_shape(const EpicPlan& plan, const EpicGeometry& geometry, const SkyPixels& pixels) {
  return choose_grid(plan, geometry, pixels).shape;
}

std::unique_ptr<PairImager> make_grid_pair_imager(const EpicPlan& plan, const EpicGeometry& geometry,
                                                  const SkyPixels& pixels) {
  return std::make_unique<GridPairImager>(plan, geometry, pixels);
}

}  // namespace apsyn
