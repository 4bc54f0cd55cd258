// SPDX-License-Identifier: GPL-3.0-or-later
// Tables with which one kernel images a plane (fft/cuda/fused/fused.cuh), made on the host. For host code
// with CUDA only.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "kernels/epic/epic_cuda.h"
#include "kernels/epic/fft/cuda/fused/fused.cuh"
#include "kernels/epic/fft/setup.h"

namespace apsyn::epic_fft {

/// A transform by passes in place.
struct RadixPlan {
  std::vector<int> radices;          ///< from the first pass to the last
  std::vector<std::uint32_t> place;  ///< [bin] where its result ends up
};

/// The fewest passes of radix 2, 3, 4, 5, 8 or 16, none above `largest`, whose product is the length; the
/// last one has radix `last` unless that is 0. No value if the length is not such a product.
std::optional<RadixPlan> plan_radices(std::size_t length, int last, int largest);
/// Plan with the given radices, in falling order.
std::optional<RadixPlan> plan_radices(std::size_t length, int last, std::span<const int> radices);

struct FusedLimits {
  std::size_t shared_bytes = 0;                     ///< that a block may have
  EpicPrecision precision = EpicPrecision::single;  ///< half: needs two polarisations
};

struct FusedPlan {
  FusedShape shape;
  int last_radix = 8, n_value = 4;
  /// Upper bound on the growth of values between passes, relative to the samples.
  double gain = 1;
  RadixPlan x, y;
  std::vector<float2> turns;
  std::vector<std::uint16_t> columns;        ///< [class][place]
  std::vector<std::uint16_t> column_of_bin;  ///< [bin of x] column of its class, or kNowhere

  /// Number of sums of a class in one part of a channel.
  std::size_t class_sums() const {
    return std::size_t(items_per_thread(last_radix, n_value)) * last_radix * n_value * kFusedThreads;
  }
  /// Where the sum `value` of bins (x, y) is among the class_sums() of class x % n_class.
  std::size_t place_of(std::size_t bin_x, std::size_t bin_y, int value) const;
};

/// No value for planes that one kernel cannot image: too large for shared memory or for the sums, or with a
/// length that has no passes.
std::optional<FusedPlan> plan_fused(const EpicPlan& plan, const FftGridded& gridded,
                                    const FusedLimits& limits);

/// The antennas and weights of each cell, for one channel and class.
struct FusedLists {
  std::vector<std::uint32_t> slices;     ///< [n_slice + 1]
  std::vector<std::uint16_t> positions;  ///< [n_slice][lane]
  std::vector<float4> weights;           ///< [entry][lane]
  std::vector<std::uint16_t> antennas;   ///< [entry][lane]
};
FusedLists make_fused_lists(const GridLists& lists, const FusedShape& shape, int which);

}  // namespace apsyn::epic_fft
