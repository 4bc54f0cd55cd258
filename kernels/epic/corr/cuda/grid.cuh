// SPDX-License-Identifier: GPL-3.0-or-later
// Pairs onto fine cells by tensor cores (pair_orders.h). A grid of half a plane, columns 0 .. n_x / 2, is cut
// into strips of 8 columns. A pair (a, b), or (b, a), whose kernel reaches a strip is in the strip's list of
// its first row, rows taken two by two: it touches no more than the 8 rows from there on, the window. A warp
// goes through lists row by row with the sums of a window in registers, so that nothing is written twice, and
// sums have an order. A list is sorted by orders, the most first, and stands in batches
// (corr/cuda/batches.cuh). Of a batch,
//   cells[y, x][order, product] += sum over pairs (phi_y phi_x) (c_k J_k V)
// is a product of matrices [64 cells x pairs] and [pairs x 8 n_order], both made in registers of halves of 16
// bits: a number is high + low, of 22 bits.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/epic/corr/cuda/columns.cuh"
#include "kernels/epic/cuda/plane_tasks.cuh"

namespace apsyn::epic_cuda {

constexpr std::uint32_t kNoPixel = 0xFFFFFFFF;  ///< in lists of pixels: none here
constexpr int kPairTaps = 8;                    ///< PairOrders::kTaps
constexpr int kStripColumns = 8;
constexpr int kWindowRows = 8, kWindowPairs = kWindowRows / 2;  ///< of rows: a kernel is narrower by one
constexpr int kOrderGroup = 8;                                  ///< orders that are summed at a time

/// Pairs of a batch stand where a lane of m16n8k16 wants their weights: lane 4 g + t has pairs 2 t, 2 t + 1,
/// 2 t + 8, 2 t + 9, which are q = 0 .. 3. Four words have a number of each of them in halves:
///   high q 0 | q 1, high q 2 | q 3, low q 0 | q 1, low q 2 | q 3.
constexpr int kBatchPairs = 16;
/// In words: the kernel along x [column of the strip][t][4] and along y [row of the window][t][4], c_k J_k
/// [order][t][4], and PairCodes [t][q].
constexpr int kAlongXAt = 0, kAlongYAt = kAlongXAt + kStripColumns * kBatchPairs,
              kOrdersAt = kAlongYAt + kWindowRows * kBatchPairs,
              kCodesAt = kOrdersAt + kOrderGroup * kBatchPairs, kBatchWords = kCodesAt + kBatchPairs;

struct CellShape {
  int n_x = 0, n_y = 0, width = 0, n_order = 1;
  int n_ant = 0, n_product = 1;
  int n_average = 1;  ///< channels whose pairs share a grid, that of their image
  int n_column = 0;   ///< columns 0 .. n_column - 1 of half a plane, behind which no pair reaches
  int n_row = 0;      ///< even; pairs reach only this many rows at both ends
  /// Rows that no pair reaches are not written.
  __host__ __device__ bool reaches(int row) const { return row < n_row || row >= n_y - n_row; }
  __host__ __device__ int n_strip() const { return (n_column + kStripColumns - 1) / kStripColumns; }
  __host__ __device__ int n_row_pair() const { return n_y / 2; }
  /// Pairs of antennas, of a channel.
  __host__ __device__ std::size_t n_pair() const { return std::size_t(n_ant) * (n_ant - 1) / 2; }
  /// Pairs on a grid: [channel of the image][pair].
  __host__ __device__ std::size_t n_grid_pair() const { return n_average * n_pair(); }
  __host__ __device__ int n_group() const { return (n_order + kOrderGroup - 1) / kOrderGroup; }
  /// Number of lists of an image: [group of orders][strip][row pair]. A pair is listed in every group in
  /// which it has orders.
  __host__ __device__ int n_list() const { return n_group() * n_strip() * n_row_pair(); }
  /// Number of cells of an image: [order][product][row][column].
  __host__ __device__ std::size_t n_cell() const { return std::size_t(n_order) * n_product * n_y * n_column; }
};

struct __align__(16) PairPlace {
  std::uint16_t x, y;      ///< first cell
  std::uint32_t n_order;   ///< 0 = on no grid
  float along_x, along_y;  ///< what SpreadKernel::coefficients() calls q
};

/// Places the pairs of n_channel channels; pairs a < b, row-major.
struct PlaceTask {
  CellShape shape;
  int n_channel = 0;
  const double* hz = nullptr;                      ///< [channel]
  const double* uvw_s = nullptr;                   ///< [ant][3]
  const std::uint8_t* outlier_antennas = nullptr;  ///< [ant] 1 = its pairs are on no grid
  double cell = 0, n_half = 0;                     ///< of pixels, as direction cosines
  double error = 0;                                ///< of the orders that a pair leaves out
  /// Of sites that pixels are interpolated from (pair_lattice.h): orders are multiplied by these polynomials
  /// of scale times the squares of frequencies along both axes; null = 1.
  const double* inverse = nullptr;
  int n_inverse = 0;
  double inverse_scale = 0;
  PairPlace* places = nullptr;      ///< [channel][pair]
  std::uint32_t* orders = nullptr;  ///< [channel][pair][whole groups] c_k J_k in halves high | low << 16
  /// [channel][pair] strips that it reaches; if grouped, as often as it has groups of orders.
  std::uint32_t* counts = nullptr;
  bool grouped = true;
};
void launch_place_pairs(const PlaceTask& task, cudaStream_t stream);

/// First pair of antenna a.
__host__ __device__ constexpr std::size_t pair_row(int n_ant, int a) {
  return std::size_t(a) * n_ant - std::size_t(a) * (a + 1) / 2;
}

constexpr std::size_t kMaxGridAnts = 4096;  ///< whose pairs PairCode numbers

struct ListTask {
  CellShape shape;
  int n_image = 0;
  const PairPlace* places = nullptr;
  const std::uint32_t* orders = nullptr;  ///< as PlaceTask
  const float* taps = nullptr;            ///< [power][tap]
  int n_power = 0;
  const std::uint32_t* ends = nullptr;    ///< [channel][pair] running sums of the counts
  std::uint64_t* keys = nullptr;          ///< [entry] to be sorted by their lower half
  const std::uint64_t* sorted = nullptr;  ///< [entry]
  std::uint32_t n_entry = 0;
  std::uint32_t* begins = nullptr;      ///< [image][list] first entry, and the end
  std::uint32_t* batch_ends = nullptr;  ///< [image][list] batches, to be summed up
  std::uint32_t* batches = nullptr;     ///< [batch][kBatchWords]
  __host__ __device__ int n_list() const { return n_image * shape.n_list(); }
};
/// Number of possible keys.
inline std::uint64_t list_keys(const CellShape& shape, int n_image) {
  return std::uint64_t(n_image) * shape.n_list() * (kOrderGroup + 1);
}
void launch_list_keys(const ListTask& task, cudaStream_t stream);
/// begins, and the batches of each list.
void launch_lists(const ListTask& task, cudaStream_t stream);
void launch_batches(const ListTask& task, cudaStream_t stream);

/// factors [channel][input] = gains exp(2 pi i hz delay).
struct TurnTask {
  const double *hz = nullptr, *delays_s = nullptr;  ///< [channel]; [ant]
  const double2* gains = nullptr;                   ///< [channel][input]
  int n_channel = 0, n_ant = 0, n_pol = 1;
  double2* factors = nullptr;
};
void launch_turn_factors(const TurnTask& task, cudaStream_t stream);

/// values [channel][pair][XX, YY, (XY + YX) / 2, (XY - YX) / 2i] of one or two polarisations, largest [image]
/// = bits of the largest part of n_average channels; zeroes it first.
void launch_pair_values(const PairTask& task, int n_average, float2* values, std::uint32_t* largest,
                        cudaStream_t stream);

/// Segments of a strip's rows, a warp each: [image][group of orders][strip][segment].
struct GatherTask {
  CellShape shape;
  int n_image = 0;                            ///< that are gathered together
  int first_image = 0;                        ///< of those that have lists and values
  int n_segment = 1, n_segment_row_pair = 1;  ///< kMaxSegment at most
  const std::uint32_t *batch_ends = nullptr, *batches = nullptr;
  const std::uint64_t* segments = nullptr;  ///< keys of launch_segment_keys, sorted
  const float2* values = nullptr;           ///< [image][pair on the grid][4]
  const std::uint32_t* largest = nullptr;   ///< [image]
  float2* cells = nullptr;                  ///< [image of these][n_cell()]
  __host__ __device__ int n_image_segment() const { return shape.n_group() * shape.n_strip() * n_segment; }
};
constexpr int kMaxSegment = 32 - (kWindowPairs - 1);  ///< row pairs
/// The segment, and in the lower half what sorts those with most batches to the front, the images of a launch
/// for themselves: n_table of them.
void launch_segment_keys(const GatherTask& task, int n_table, std::uint64_t* keys, cudaStream_t stream);
void launch_gather_pairs(const GatherTask& task, cudaStream_t stream);

/// Where sums of orders go (order_target.cuh).
struct OrderTarget {
  double* sums = nullptr;  ///< [image][n_stride][4] +=; null: into planes at once
  std::size_t n_stride = 0;
  PlaneTask planes;     ///< without sums; of all images
  int first_image = 0;  ///< of those that are made
};

struct OrderTask {
  CellShape shape;
  int n_image = 0, n_pixel = 0;
  const float* images = nullptr;         ///< [image][order][product][n_y][n_x]
  const float* factors = nullptr;        ///< [order][pixel]
  const std::uint32_t* cells = nullptr;  ///< [pixel]
  OrderTarget target;
};
void launch_sum_orders(const OrderTask& task, cudaStream_t stream);

/// The same for pixels between the sites of a lattice (pair_lattice.h).
struct SiteTask {
  CellShape shape;
  int n_image = 0, n_pixel = 0;
  const float* images = nullptr;          ///< [image][order][product][n_y][n_x]
  int nx = 0, ny = 0;                     ///< of the image
  const std::uint32_t* pixels = nullptr;  ///< [pixel] y nx + x
  double cell = 0, pitch = 0;             ///< of pixels and of sites, as direction cosines
  double slope_u = 0, slope_v = 0;
  double n_middle = 0, n_half = 0;
  /// The factors of PairOrders; null where images are divided by the kernel's transform already.
  const float *of_column = nullptr, *of_row = nullptr;
  const float* taps = nullptr;  ///< [power][tap] of what interpolates
  int n_power = 0;
  OrderTarget target;
  /// Whether all pixels of the image are sky.
  __host__ __device__ bool whole() const { return n_pixel == nx * ny; }
};
void launch_sum_sites(const SiteTask& task, cudaStream_t stream);
/// The same of a single order, and of images that are sky everywhere: their sites in shared memory.
void launch_site_tiles(const SiteTask& task, cudaStream_t stream);

}  // namespace apsyn::epic_cuda
