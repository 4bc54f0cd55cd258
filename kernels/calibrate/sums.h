// SPDX-License-Identifier: GPL-3.0-or-later
// What a solver of antenna gains needs of the visibilities: sums over the samples of a cell, in which gains
// are constant. A cell is a time step (or more of them) and a block of channels; its sums replace its
// samples.
//
// The equation is V_pq = J_p M_pq J_q^H with p = ANTENNA1, q = ANTENNA2, J = diag(g) for diagonal gains. With
// weights w per sample, chi^2 = sum w |V - J_p M J_q^H|^2. Per baseline, for each product ab of the receptors
// a of p and b of q,
//   A_ab,cd    = sum w_ab V_ab conj(M_cd)
//   S_ab,cd,ef = sum w_ab M_cd conj(M_ef)
//   R_ab       = sum w_ab |V_ab|^2,   N_ab = number of samples with weight > 0
// make chi^2 for any gains. Diagonal gains need of them aa,aa alone, for which
//   chi^2 = R - 2 Re(conj(g_p) g_q A) + |g_p g_q|^2 S.
// Samples that are not finite (V, M or w) or have a weight <= 0 count as flagged, each product by itself.
// Rows with p > q are taken as V_qp = V_pq^H; rows with p = q are dropped.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "libcore/base/view.h"

namespace apsyn {

/// Rows of one set of channels. All views have the same rows and channels.
struct CalibrationSamples {
  View<const std::uint32_t, 2> station;      ///< [row][p, q] of V_pq, below SumLayout::n_antennas
  View<const std::complex<float>, 3> data;   ///< [row][chan][product]; products XX | XX YY | XX XY YX YY
  View<const float, 3> weight;               ///< [row][chan][product]; 0 = flagged
  View<const std::complex<float>, 3> model;  ///< [row][chan][product]: as many products as data, or 1: I of
                                             ///< each hand or 2: the parallel hands of four
  View<const std::uint32_t, 1> cell;  ///< [row] index into the cells that are added to; kNoCell = dropped
};

inline constexpr std::uint32_t kNoCell = 0xffffffffu, kNoBlock = 0xffffffffu;

/// Which sums are kept of a baseline and channel block.
enum class SumKind {
  diagonal,  ///< parallel hands: A, S, R, N of each. Of 4 products also the cross hands of up to
             ///< kMonitoredBlocks blocks against the mean parallel model, which show swapped receptors
  jones_unpolarised,  ///< 4 products, M = m 1: 4 complex A, 4 S, R, N
  jones_diagonal,     ///< 4 products, M diagonal: 8 complex A, 16 real S, R, N
  jones_general       ///< 4 products, any M: 16 complex A, 64 real S, R, N
};
inline constexpr std::size_t kMonitoredBlocks = 8;

/// Floats of a vector of lanes; sums lie as [group][baseline p < q][component][kLanes]. A lane is a (block,
/// parallel hand), block slowest, of diagonal sums, and a block of jones sums, whose components are
/// [product][A re, A im of each M][S][R][N].
inline constexpr std::size_t kLanes = 16;

/// The shape of the sums of one time cell.
struct SumLayout {
  SumKind kind = SumKind::diagonal;
  std::size_t n_antennas = 0;
  std::size_t n_products = 0;        ///< of the data: 1, 2 or 4
  std::vector<std::uint32_t> block;  ///< [chan] its block of channels; kNoBlock = left out
  std::size_t n_blocks = 0;
  /// False keeps no cross hands of diagonal sums.
  bool monitor_cross_hands = true;

  /// Parallel hands: 1 of 1 product, otherwise 2.
  std::size_t n_polarisations() const { return n_products == 1 ? 1 : 2; }
  std::size_t n_baselines() const { return n_antennas * (n_antennas - 1) / 2; }
  /// Lanes of parallel hands (diagonal) or blocks (jones), and their groups of kLanes, without the group of
  /// the monitored cross hands.
  std::size_t n_lanes() const;
  std::size_t n_groups() const { return (n_lanes() + kLanes - 1) / kLanes; }
  std::size_t n_monitored() const;   ///< blocks whose cross hands are kept
  std::size_t n_components() const;  ///< of a baseline and lane
  /// Memory of the sums of one time cell; twice as much more once more than kPromoteRows rows of a baseline
  /// were added to it.
  std::uint64_t bytes() const;
  /// Throws std::invalid_argument for a kind that the products do not allow, no antennas or blocks out of
  /// range.
  void check() const;
};

/// Float32 sums of more rows than this are moved to float64.
inline constexpr std::uint32_t kPromoteRows = 4096;

/// Index of the baseline of p < q among those of n antennas: (0,1), (0,2) .. (0,n-1), (1,2) ..
constexpr std::size_t baseline_index(std::size_t p, std::size_t q, std::size_t n_antennas) {
  return p * (2 * n_antennas - p - 1) / 2 + (q - p - 1);
}

/// The sums of one time cell: all antennas, all blocks of channels.
class CalibrationSums {
 public:
  CalibrationSums() = default;
  /// All zero. Throws as SumLayout::check().
  explicit CalibrationSums(const SumLayout& layout, unsigned n_threads = 1);
  const SumLayout& layout() const { return layout_; }
  /// All zero with this layout, in the memory of the sums so far where that is large enough. Throws as
  /// SumLayout::check().
  void reset(const SumLayout& layout, unsigned n_threads);
  /// Memory held now.
  std::uint64_t bytes() const;
  /// Samples with weight > 0 of all products that are summed.
  double n_samples(unsigned n_threads = 1) const;

  /// [group][baseline][component][lane] of what was added since the last promotion.
  View<float, 4> recent() { return recent_; }
  View<const float, 4> recent() const { return recent_; }
  /// What was promoted; empty (size 0) before the first promotion.
  View<const double, 4> promoted() const { return promoted_; }
  /// Moves the recent sums to float64.
  void promote();
  /// Counts rows that may have been added to a baseline, and promotes where they are too many. For
  /// add_samples().
  void reserve_rows(std::uint32_t n_rows);

 private:
  SumLayout layout_;
  Buffer<float, 4> recent_;
  Buffer<double, 4> promoted_;
  std::uint32_t recent_rows_ = 0;
};

/// Sums of cells that are not needed any more, whose memory serves again. Any thread.
class SpareSums {
 public:
  /// All zero. Throws as SumLayout::check().
  std::unique_ptr<CalibrationSums> take(const SumLayout& layout, unsigned n_threads);
  /// Null is nothing.
  void keep(std::unique_ptr<CalibrationSums> sums);

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<CalibrationSums>> spare_;
};

/// Adds each row to cells[samples.cell[row]], all of the same layout. Bits do not depend on n_threads. Throws
/// std::invalid_argument where shapes disagree, a station or a cell is out of range, or products do not
/// match.
void add_samples(const CalibrationSamples& samples, std::span<CalibrationSums* const> cells,
                 unsigned n_threads);

/// The least of the jones kinds that holds the model: looks at its finite samples with weight > 0. Cross
/// hands below `tolerance` of the parallel hands' RMS count as none, and parallel hands that differ less as
/// equal.
SumKind jones_kind(const CalibrationSamples& samples, double tolerance = 1e-6);

/// Gains that are already known in a time cell, for every block of its channels.
struct KnownGains {
  /// [block][antenna][value]: 1 value: the same of both hands; 2: diagonal; 4: 2x2, row by row. NaN = none:
  /// the antenna's samples of that hand (of 4 values: of all) are left out.
  Buffer<std::complex<float>, 3> value;
};

/// Cells of the same layout added up to one slot's sums: cells have finer time steps and channel blocks than
/// a slot.
struct SlotCells {
  std::span<const CalibrationSums* const> cells;  ///< [step] time cells of the slot
  std::span<const KnownGains* const> known;       ///< [step] of each, null = none; empty = none of all
  std::vector<std::uint32_t> block;  ///< [block of the cells] block of the slot; kNoBlock = left out
  std::size_t n_blocks = 0;          ///< of the slot
};

/// The slot's sums against the model that the known gains K have turned, exactly:
/// diagonal K: A_ab conj(K_pa) K_qb, S |K_pa K_qb|^2 (for a term on either side of K, if it commutes, and for
/// one between K, at the receiver, and the sky); 2x2 K: M becomes K_p M K_q^H, for a term at the receiver's
/// side of K; the sums become jones_general. row_weight, where not empty, multiplies [step][baseline].
/// `kind`: that of the cells, or SumKind::diagonal to take the parallel hands of jones sums.
/// 2x2 K of diagonal cells throw std::invalid_argument.
CalibrationSums combine(const SlotCells& slot, SumKind kind, View<const float, 2> row_weight,
                        unsigned n_threads);
/// The same into sums whose memory is used again.
void combine(const SlotCells& slot, SumKind kind, View<const float, 2> row_weight, unsigned n_threads,
             CalibrationSums& sums);
/// The slot's sums without weights of rows: the cell itself if it is the only one and combine() would make a
/// copy of it, otherwise `memory`, into which the cells are combined.
const CalibrationSums& slot_sums(const SlotCells& slot, SumKind kind, unsigned n_threads,
                                 CalibrationSums& memory);

/// How the model, turned by the known gains, explains the parallel hands of a slot, over the samples of
/// antennas that have gains.
struct ModelFit {
  double data_power = 0;        ///< sum w |V|^2
  double agreement = 0;         ///< sum w Re(V M*)
  double model_power = 0;       ///< sum w |M|^2
  double n_samples = 0;         ///< with weight > 0
  std::size_t n_baselines = 0;  ///< with data and a model, each hand and block for itself
  /// sum w |V - scale M|^2
  double chi2(double scale = 1) const {
    return data_power - 2 * scale * agreement + scale * scale * model_power;
  }
};
ModelFit fit_model(const SlotCells& slot, unsigned n_threads);

/// The antenna with the greatest sum over its baselines and lanes of |A|^2 / (S R): that with the strongest
/// signal on the most baselines. To be taken once for all slots as the reference antenna.
std::size_t best_connected(std::span<const CalibrationSums* const> cells, unsigned n_threads);

}  // namespace apsyn
