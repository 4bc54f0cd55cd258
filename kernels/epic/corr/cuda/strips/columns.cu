// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/common/cuda/launch.cuh"
#include "kernels/epic/corr/cuda/batches.cuh"
#include "kernels/epic/corr/cuda/strips/column_transform.cuh"

namespace apsyn::epic_cuda {
namespace {

/// The pairs of a strip.
struct StripPairs {
  const StripColumnTask& task;
  std::size_t first_pair;    // of the image
  std::uint32_t begin, end;  // entries, by rows
  int product;

  __device__ __forceinline__ StripEntry entry(std::uint32_t at, std::uint32_t end_of_range) const {
    return at < end_of_range ? task.entries[at] : StripEntry{};
  }
  /// The value of a visibility; (b, a) has the conjugate.
  __device__ __forceinline__ float2 value(const StripEntry& entry) const {
    const PairCode code{entry.code};
    if (entry.code == 0) return {};
    const float2 value = __ldg(task.values + (first_pair + code.pair()) * 4 + product);
    return make_float2(value.x, code.sign() == 0 ? value.y : -value.y);
  }
  /// Of an order; (b, a) has the opposite w, of which odd orders change sign. 0 beyond those that a pair has.
  __device__ __forceinline__ float factor(const StripEntry& entry, int order) const {
    const PairCode code{entry.code};
    if (code.n_order() <= order && code.n_order() < kManyOrders) return 0;
    const std::size_t at = (first_pair + code.pair()) * (kOrderGroup * task.cells.n_group()) + order;
    const std::uint32_t halves = __ldg(task.orders + at);
    const float factor = __half2float(__ushort_as_half(static_cast<std::uint16_t>(halves))) +
                         __half2float(__ushort_as_half(static_cast<std::uint16_t>(halves >> 16)));
    return code.sign() != 0 && order % 2 == 1 ? -factor : factor;
  }
  /// First entry whose row is not below `row`.
  __device__ __forceinline__ std::uint32_t first_at(int row) const {
    std::uint32_t low = begin, high = end;
    while (low < high) {
      const std::uint32_t middle = (low + high) / 2;
      if (static_cast<int>(task.entries[middle].row) < row)
        low = middle + 1;
      else
        high = middle;
    }
    return low;
  }
};

/// The rows of cells that a warp adds to, with about as many entries as those of other warps: a cell has one
/// warp, and its sum an order.
struct OwnRows {
  int first, end;
  __device__ __forceinline__ OwnRows(const StripPairs& pairs, int n_y) {
    const int warp = threadIdx.x / 32, n_warp = blockDim.x / 32;
    const std::uint32_t n = pairs.end - pairs.begin;
    const auto boundary = [&](int of) -> int {
      return of == 0                  ? 0
             : of == n_warp || n == 0 ? n_y
                                      : pairs.task.entries[pairs.begin + n * of / n_warp].row;
    };
    first = boundary(warp);
    end = boundary(warp + 1);
  }
};

/// Entries that reach a warp's rows, or, with `shift` n_y, that reach them beyond the last row. Lane i keeps
/// what an order does not change of the first 32.
struct OwnEntries {
  std::uint32_t begin, end;
  int shift;
  StripEntry entry;
  float2 value;
  __device__ __forceinline__ OwnEntries(const StripPairs& pairs, std::uint32_t begin, std::uint32_t end,
                                        int shift)
      : begin(begin),
        end(end),
        shift(shift),
        entry(pairs.entry(begin + threadIdx.x % 32, end)),
        value(pairs.value(entry)) {}
};

/// Adds an order of some of the strip's pairs to cells [row][column]. Of the 7 rows of a kernel no two are
/// the same modulo 8, so that each cell has a lane: of rows lane / 8 and lane / 8 + 4 modulo 8.
__device__ __forceinline__ void add_pairs(const StripPairs& pairs, const OwnRows& rows, const OwnEntries& own,
                                          int order, float2* cells) {
  static_assert(kStripColumns == 8 && kPairTaps == 8);
  const int width = pairs.task.cells.width, n_y = pairs.task.cells.n_y;
  const int lane = threadIdx.x % 32, column = lane % 8, row_of_lane = lane / 8;
  struct Visit {
    float along_x, along_y[2], re, im;
    int row;
  };
  for (std::uint32_t first = own.begin; first < own.end; first += 32) {
    const StripEntry entry = first == own.begin ? own.entry : pairs.entry(first + lane, own.end);
    float2 value = first == own.begin ? own.value : pairs.value(entry);
    const float factor = pairs.factor(entry, order);
    value = make_float2(factor * value.x, factor * value.y);
    const int where = static_cast<int>(entry.column) * 65536 + entry.row;
    unsigned left = __ballot_sync(~0u, factor != 0);
    const float* taps = pairs.task.entry_taps + std::size_t(first) * kEntryTaps;
    const auto next = [&]() -> Visit {
      const int i = __ffs(left) - 1;
      left &= left - 1;
      const int at = __shfl_sync(~0u, where, i), x = (at >> 16) + column;
      Visit visit;
      visit.row = at & 0xFFFF;
      const float* of = taps + i * kEntryTaps;
      visit.along_x = static_cast<unsigned>(x) < static_cast<unsigned>(width) ? __ldg(of + x) : 0.0f;
      const int tap = (row_of_lane - visit.row) & 7;  // the last of the 8 is 0
      visit.along_y[0] = __ldg(of + kPairTaps + tap);
      visit.along_y[1] = __ldg(of + kPairTaps + (tap ^ 4));
      visit.re = __shfl_sync(~0u, value.x, i);
      visit.im = __shfl_sync(~0u, value.y, i);
      return visit;
    };
    if (left == 0) continue;
    Visit visit = next();
    while (true) {
      const Visit now = visit;
      const bool more = left != 0;
      if (more) visit = next();  // what it loads is on its way while this one is added
      const int tap = (row_of_lane - now.row) & 7;
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int row = now.row + (tap ^ (4 * half)) - own.shift;
        const float weight = now.along_x * now.along_y[half];
        if (row < rows.first || row >= rows.end || weight == 0) continue;
        float2& cell = cells[wrapped(row + n_y / 2, n_y) * kStripColumns + column];
        cell = make_float2(fmaf(weight, now.re, cell.x), fmaf(weight, now.im, cell.y));
      }
      if (!more) break;
    }
  }
}

/// A block for each strip, product and image.
__global__ __launch_bounds__(kMaxColumnThreads,
                             1) void strip_columns(const __grid_constant__ StripColumnTask task) {
  extern __shared__ __align__(16) char shared[];
  auto* cells = reinterpret_cast<float2*>(shared);
  const CellShape& shape = task.cells;
  const int strip = blockIdx.x, product = blockIdx.y, image = blockIdx.z;
  const std::size_t list = std::size_t(task.first_image + image) * shape.n_strip() + strip;
  StripPairs pairs{task};
  pairs.first_pair = (task.first_image + image) * shape.n_grid_pair();
  pairs.begin = task.begins[list];
  pairs.end = task.begins[list + 1];
  pairs.product = product;
  const OwnRows rows(pairs, shape.n_y);
  const int reach = shape.width - 1;
  const bool around = rows.first < reach && rows.first < rows.end;  // reached from the last rows, too
  const bool any = rows.first < rows.end;
  const OwnEntries own(pairs, any ? pairs.first_at(rows.first - reach) : 0,
                       any ? pairs.first_at(rows.end) : 0, 0);
  const OwnEntries beyond(pairs, around ? pairs.first_at(shape.n_y - reach) : 0, around ? pairs.end : 0,
                          shape.n_y);
  const std::size_t pitch = std::size_t(shape.n_strip()) * kStripColumns;
  const std::size_t plane = pitch * task.shape.n_row;
  const int n_quad = shape.n_y * kStripColumns / 2;
  for (int order = 0; order < shape.n_order; ++order) {
    for (int i = threadIdx.x; i < n_quad; i += blockDim.x) reinterpret_cast<float4*>(cells)[i] = float4{};
    __syncthreads();
    add_pairs(pairs, rows, own, order, cells);
    add_pairs(pairs, rows, beyond, order, cells);
    __syncthreads();
    const ColumnTransform transform{
        shape,
        task.shape,
        task.turns,
        task.row_of_place,
        cells,
        task.columns + ((std::size_t(image) * shape.n_order + order) * shape.n_product + product) * plane +
            strip * kStripColumns};
    transform.run(Passes<>{}, [order](float2 cell) {
      const float2 value = turned(cell.x, cell.y, order);
      return make_float2(value.y, value.x);
    });
  }
}

}  // namespace

void launch_strip_columns(const StripColumnTask& task, cudaStream_t stream) {
  cuda_check(cudaFuncSetAttribute(strip_columns, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  task.shape.column_bytes),
             "transforming strips: shared memory");
  const dim3 grid(static_cast<unsigned>(task.cells.n_strip()), static_cast<unsigned>(task.cells.n_product),
                  static_cast<unsigned>(task.n_image));
  strip_columns<<<grid, static_cast<unsigned>(task.shape.n_column_threads),
                  static_cast<std::size_t>(task.shape.column_bytes), stream>>>(task);
  launched("transforming strips");
}

}  // namespace apsyn::epic_cuda
