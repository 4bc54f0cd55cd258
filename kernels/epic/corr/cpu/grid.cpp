// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <cmath>
#include <optional>
#include <stdexcept>
#include <utility>

#include "kernels/common/math/chebyshev_phase.h"
#include "kernels/common/math/fft.h"
#include "kernels/common/math/spread_kernel.h"
#include "kernels/epic/corr/cpu/spread.h"
#include "kernels/epic/corr/pair_depth.h"
#include "kernels/epic/corr/pair_imager.h"
#include "kernels/epic/corr/pair_lattice.h"
#include "kernels/epic/corr/pair_products.h"
#include "libcore/base/constants.h"
#include "libcore/system/parallel.h"

namespace apsyn {

namespace {

constexpr double kGridError = 6e-6;         // of the kernels, and of the nodes in n
constexpr std::size_t kPiecePixels = 4096;  // of a work item

/// The kernel that costs least, and its grid.
struct Grid {
  SpreadKernel kernel;
  PairGridShape shape;
  /// What interpolates pixels, and where from, of arrays that are seen aslant.
  std::optional<SpreadKernel> interpolation;
  std::optional<PairLattice> lattice;
};

/// Narrow enough for the taps of a pair or a pixel.
const std::vector<SpreadKernel>& fitting_kernels() {
  static const std::vector<SpreadKernel> kernels = [] {
    std::vector<SpreadKernel> all = spread_kernels(kGridError, 1);
    std::erase_if(all, [](const SpreadKernel& kernel) { return kernel.width() > kPairTaps; });
    return all;
  }();
  return kernels;
}

/// The cheapest grid for an image of n_x by n_y pixels or sites.
Grid choose_kernel(const EpicPlan& plan, std::size_t n_x, std::size_t n_y, const PairDepth& depth,
                   std::size_t n_interpolated) {
  const auto cells = [](std::size_t n, const SpreadKernel& kernel) {
    const double wanted = std::ceil(kernel.oversampling() * static_cast<double>(n));
    return fast_fft_length(std::max(static_cast<std::size_t>(wanted), kPairTaps));
  };
  PairGridShape shape;
  shape.n_node = chebyshev_terms(kTwoPi * plan.highest_hz() * depth.w_s * depth.n_half, kGridError);
  shape.n_interpolated = n_interpolated;
  const SpreadKernel* best = nullptr;
  double min_s = INFINITY;
  for (const SpreadKernel& kernel : fitting_kernels()) {
    PairGridShape tried = shape;
    tried.cells_x = cells(n_x, kernel);
    tried.cells_y = cells(n_y, kernel);
    tried.width = kernel.width();
    const double seconds = grid_pairs_s(plan, tried);
    if (seconds >= min_s) continue;
    min_s = seconds;
    best = &kernel;
    shape = tried;
  }
  return {*best, shape, {}, {}};
}

Grid choose_grid(const EpicPlan& plan, const EpicGeometry& geometry, const SkyPixels& pixels) {
  Grid level = choose_kernel(plan, plan.nx, plan.ny, depth_of(geometry, pixels), 0);
  if (level.shape.n_node == 1) return level;
  // The widest needs the fewest sites.
  const SpreadKernel& interpolation = fitting_kernels().back();
  std::optional<PairLattice> lattice = pair_lattice(plan, geometry, pixels, interpolation);
  if (!lattice) return level;
  Grid aslant = choose_kernel(plan, lattice->n_x, lattice->n_y, lattice->depth, pixels.size());
  if (grid_pairs_s(plan, aslant.shape) >= grid_pairs_s(plan, level.shape)) return level;
  aslant.interpolation = interpolation;
  aslant.lattice = std::move(lattice);
  return aslant;
}

class GridPairImager final : public PairImager {
 public:
  GridPairImager(const EpicPlan& plan, const EpicGeometry& geometry, const SkyPixels& pixels);
  void image(const PairSums& pairs, const PairWeights& weights, View<double, 3> sums) override;

 private:
  struct Scratch {
    Buffer<double, 2> places;  // [x, y][ant] in cells
    Buffer<float, 2> phases;   // [ant][re, im]
    Buffer<float, 1> cells;    // [line][column][matrix][re, im], with a margin (corr/cpu/spread.h)
    Buffer<std::complex<float>, 2> folded;  // [cells_y][cells_x]
    Buffer<float, 3> sites;  // [re, im][line][column] of a lattice, with kPairTaps more of both
  };
  void make_factors(const EpicGeometry& geometry);
  /// What divides the transform of an axis by the kernel's: [column or line of the image or lattice].
  std::vector<double> kernel_transforms(std::size_t size, std::size_t n_cells) const;
  void place_sites(const EpicGeometry& geometry);
  void prepare(const PairSums& pairs, const PairWeights& weights, std::size_t channel, std::size_t at,
               Scratch& scratch);
  void image_node(std::size_t first_channel, std::size_t node, std::size_t at, Scratch& scratch,
                  float* image) const;
  void fold(std::size_t matrix, Scratch& scratch) const;
  /// From a transform to two matrices of an image [pixel][matrix].
  void pick_pixels(std::size_t matrix, std::size_t node, const Scratch& scratch, float* image) const;
  void interpolate_pixels(std::size_t matrix, std::size_t node, Scratch& scratch, float* image) const;

  const EpicPlan& plan_;
  const SkyPixels& pixels_;
  std::vector<std::array<double, 3>> uvw_s_;  // [ant]
  std::vector<double> delay_s_;
  Grid grid_;
  PairDepth depth_;
  double pitch_;  // of pixels or sites
  ComplexFft<float> fft_;
  std::vector<float> taps_;           // [power][tap]
  std::vector<double> nodes_;         // n_k
  Buffer<float, 2> factors_;          // [node][pixel] L_k(n), over the kernel's transform at pixels of a grid
  std::vector<std::uint32_t> cells_;  // [pixel] of the transformed grid
  // of arrays that are seen aslant
  std::optional<InverseTransform> inverse_;
  std::vector<float> site_taps_;                    // [power][tap]
  std::vector<float> site_scale_x_, site_scale_y_;  // [column], [line] 1 over the kernel's transform
  Buffer<double, 2> places_of_pixels_;              // [pixel][x, y] among sites
  std::vector<std::size_t> values_;
  // of the channels that are imaged together
  Buffer<float, 3> pairs_;           // [channel][pair a < b][matrix][re, im]
  Buffer<float, 3> pair_taps_;       // [channel][pair][x, y][tap]
  Buffer<std::uint32_t, 2> places_;  // [channel][pair] first cell
  Buffer<float, 4> images_;          // [image channel][node][pixel][matrix]
  std::vector<Scratch> scratch_;     // [thread]
};

/// [power][tap] for kPairTaps taps.
std::vector<float> padded_taps(const SpreadKernel& kernel) {
  std::vector<float> taps((kernel.degree() + 1) * kPairTaps, 0.0f);
  for (std::size_t power = 0; power <= kernel.degree(); ++power)
    for (std::size_t tap = 0; tap < kernel.width(); ++tap)
      taps[power * kPairTaps + tap] =
          static_cast<float>(kernel.coefficients()[power * kernel.stride() + tap]);
  return taps;
}

GridPairImager::GridPairImager(const EpicPlan& plan, const EpicGeometry& geometry, const SkyPixels& pixels)
    : plan_(plan),
      pixels_(pixels),
      uvw_s_(image_frame_s(geometry)),
      delay_s_(geometry.delay_s),
      grid_(choose_grid(plan, geometry, pixels)),
      depth_(depth_of(geometry, pixels)),
      pitch_(grid_.lattice ? grid_.lattice->pitch : plan.cell),
      fft_({grid_.shape.cells_y, grid_.shape.cells_x}, 1, FftSign::minus),
      taps_(padded_taps(grid_.kernel)),
      values_(plane_values(plan)),
      scratch_(plan.n_threads) {
  if (plan.n_direction > 0) throw std::logic_error("GridPairImager: directions are not on a grid");
  if (grid_.lattice) {
    // the phase of w at the middle of the field, which no node has
    for (std::size_t ant = 0; ant < plan_.n_ant; ++ant) delay_s_[ant] -= uvw_s_[ant][2] * depth_.n_middle;
    uvw_s_ = heights_s(std::move(uvw_s_), grid_.lattice->slope);
    depth_.n_middle = 0;
    place_sites(geometry);
  }
  make_factors(geometry);
  const PairGridShape& shape = grid_.shape;
  for (Scratch& scratch : scratch_) {
    scratch.places.resize({2, plan_.n_ant});
    scratch.phases.resize({plan_.n_ant, 2});
    scratch.cells.resize(
        {(shape.cells_y + kPairTaps) * (shape.cells_x + kPairTaps) * 2 * plan_.n_plane() + 8});
    scratch.folded.resize({shape.cells_y, shape.cells_x});
    if (grid_.lattice)
      scratch.sites.resize({2, grid_.lattice->n_y + kPairTaps, grid_.lattice->n_x + kPairTaps});
  }
}

std::vector<double> GridPairImager::kernel_transforms(std::size_t size, std::size_t n_cells) const {
  std::vector<double> of;
  for (std::size_t i = 0; i < size; ++i)
    of.push_back(grid_.kernel.transform((static_cast<double>(i) - static_cast<double>(size / 2)) /
                                        static_cast<double>(n_cells)));
  return of;
}

void GridPairImager::place_sites(const EpicGeometry& geometry) {
  const PairLattice& lattice = *grid_.lattice;
  inverse_.emplace(*grid_.interpolation);
  site_taps_ = padded_taps(*grid_.interpolation);
  for (const double of : kernel_transforms(lattice.n_x, grid_.shape.cells_x))
    site_scale_x_.push_back(static_cast<float>(1 / of));
  for (const double of : kernel_transforms(lattice.n_y, grid_.shape.cells_y))
    site_scale_y_.push_back(static_cast<float>(1 / of));
  places_of_pixels_.resize({pixels_.size(), 2});
  parallel_for(
      plan_.n_threads, (pixels_.size() + kPiecePixels - 1) / kPiecePixels, [&](std::size_t piece, unsigned) {
        const std::size_t end = std::min(pixels_.size(), (piece + 1) * kPiecePixels);
        for (std::size_t pixel = piece * kPiecePixels; pixel < end; ++pixel) {
          const auto at = site_of(plan_, lattice, pixels_.index[pixel], n_of(geometry, pixels_, pixel));
          places_of_pixels_(pixel, 0) = at[0];
          places_of_pixels_(pixel, 1) = at[1];
        }
      });
}

void GridPairImager::make_factors(const EpicGeometry& geometry) {
  const PairGridShape& shape = grid_.shape;
  const auto n = static_cast<double>(shape.n_node);
  const double n_middle = depth_of(geometry, pixels_).n_middle;
  for (std::size_t node = 0; node < shape.n_node; ++node)
    nodes_.push_back(depth_.n_middle + depth_.n_half * std::cos(kPi * (static_cast<double>(node) + 0.5) / n));
  const std::vector<double> of_x = kernel_transforms(plan_.nx, shape.cells_x);
  const std::vector<double> of_y = kernel_transforms(plan_.ny, shape.cells_y);
  // The sum of Chebyshev polynomials that is 1 at a node and 0 at the others: [node][k] its factors.
  Buffer<double, 2> of_nodes({shape.n_node, shape.n_node});
  for (std::size_t node = 0; node < shape.n_node; ++node)
    for (std::size_t k = 0; k < shape.n_node; ++k)
      of_nodes(node, k) = (k == 0 ? 1 : 2) / n *
                          std::cos(static_cast<double>(k) * kPi * (static_cast<double>(node) + 0.5) / n);
  factors_.resize({shape.n_node, pixels_.size()});
  cells_.resize(grid_.lattice ? 0 : pixels_.size());
  parallel_for(plan_.n_threads, (pixels_.size() + kPiecePixels - 1) / kPiecePixels,
               [&](std::size_t piece, unsigned) {
                 std::vector<double> polynomials(shape.n_node + 1, 1.0);
                 const std::size_t end = std::min(pixels_.size(), (piece + 1) * kPiecePixels);
                 for (std::size_t pixel = piece * kPiecePixels; pixel < end; ++pixel) {
                   const std::size_t x = pixels_.index[pixel] % plan_.nx, y = pixels_.index[pixel] / plan_.nx;
                   if (!grid_.lattice) {
                     const std::size_t column = (x + shape.cells_x - plan_.nx / 2) % shape.cells_x;
                     const std::size_t line = (y + shape.cells_y - plan_.ny / 2) % shape.cells_y;
                     cells_[pixel] = static_cast<std::uint32_t>(line * shape.cells_x + column);
                   }
                   // half: the transform adds every pair and its conjugate
                   const double scale = 0.5 / (grid_.lattice ? 1 : of_x[x] * of_y[y]);
                   const double dn = n_of(geometry, pixels_, pixel) - n_middle;
                   const double t = depth_.n_half > 0 ? std::clamp(dn / depth_.n_half, -1.0, 1.0) : 0;
                   polynomials[1] = t;
                   for (std::size_t k = 2; k < shape.n_node; ++k)
                     polynomials[k] = 2 * t * polynomials[k - 1] - polynomials[k - 2];
                   for (std::size_t node = 0; node < shape.n_node; ++node) {
                     double sum = 0;
                     for (std::size_t k = 0; k < shape.n_node; ++k) sum += of_nodes(node, k) * polynomials[k];
                     factors_(node, pixel) = static_cast<float>(scale * sum);
                   }
                 }
               });
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
void GridPairImager::prepare(const PairSums& pairs, const PairWeights& weights, std::size_t channel,
                             std::size_t at, Scratch& scratch) {
  const PairGridShape& shape = grid_.shape;
  const std::size_t n_ant = plan_.n_ant;
  const PairProducts products(plan_, pairs, channel, weights.of(channel));
  const double hz = plan_.channel_hz[channel];
  for (std::size_t ant = 0; ant < n_ant; ++ant) {
    // l falls with x, m rises with y
    scratch.places(0, ant) = -hz * uvw_s_[ant][0] * pitch_ * static_cast<double>(shape.cells_x);
    scratch.places(1, ant) = hz * uvw_s_[ant][1] * pitch_ * static_cast<double>(shape.cells_y);
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
    for (std::size_t b = a + 1; b < n_ant; ++b, ++pair) {
      products.of(a, b, reinterpret_cast<std::complex<float>*>(&pairs_(at, pair, 0)));
      if (!inverse_) continue;
      // what interpolation multiplies a fringe by
      const auto divided = static_cast<float>((*inverse_)(hz * (uvw_s_[a][0] - uvw_s_[b][0]) * pitch_) *
                                              (*inverse_)(hz * (uvw_s_[a][1] - uvw_s_[b][1]) * pitch_));
      for (std::size_t part = 0; part < 2 * plan_.n_plane(); ++part) pairs_(at, pair, part) *= divided;
    }
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
    if (grid_.lattice)
      interpolate_pixels(matrix, node, scratch, image);
    else
      pick_pixels(matrix, node, scratch, image);
  }
}

void GridPairImager::pick_pixels(std::size_t matrix, std::size_t node, const Scratch& scratch,
                                 float* image) const {
  const std::size_t n_matrix = plan_.n_plane();
  for (std::size_t pixel = 0; pixel < pixels_.size(); ++pixel) {
    const std::complex<float> value = scratch.folded.data()[cells_[pixel]];
    image[pixel * n_matrix + matrix] = value.real() * factors_(node, pixel);
    if (matrix + 1 < n_matrix) image[pixel * n_matrix + matrix + 1] = value.imag() * factors_(node, pixel);
  }
}

void GridPairImager::interpolate_pixels(std::size_t matrix, std::size_t node, Scratch& scratch,
                                        float* image) const {
  const PairGridShape& shape = grid_.shape;
  const PairLattice& lattice = *grid_.lattice;
  for (std::size_t y = 0; y < lattice.n_y; ++y) {
    const std::complex<float>* from =
        &scratch.folded((y + shape.cells_y - lattice.n_y / 2) % shape.cells_y, 0);
    for (std::size_t x = 0; x < lattice.n_x; ++x) {
      const std::complex<float> value = from[(x + shape.cells_x - lattice.n_x / 2) % shape.cells_x];
      const float scale = site_scale_x_[x] * site_scale_y_[y];
      scratch.sites(0, y, x) = scale * value.real();
      scratch.sites(1, y, x) = scale * value.imag();
    }
  }
  SiteInterpolation sites;
  sites.taps = site_taps_.data();
  sites.n_power = grid_.interpolation->degree() + 1;
  sites.width = grid_.interpolation->width();
  sites.sites = scratch.sites.data();
  sites.line_sites = scratch.sites.extent(2);
  sites.plane_sites = scratch.sites.extent(1) * scratch.sites.extent(2);
  sites.n_plane = std::min<std::size_t>(2, plan_.n_plane() - matrix);
  sites.places = places_of_pixels_.data();
  sites.factors = &factors_(node, 0);
  sites.n_pixel = pixels_.size();
  sites.image = image + matrix;
  sites.pixel_stride = plan_.n_plane();
  interpolate_sites(sites);
}

void GridPairImager::image(const PairSums& pairs, const PairWeights& weights, View<double, 3> sums) {
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
      prepare(pairs, weights, first * n_average + i, i, scratch_[thread]);
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
