// SPDX-License-Identifier: GPL-3.0-or-later
// Solves one term for one channel group, each of its spectral windows by itself, from visibilities and
// predictions in memory.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernels/calibrate/calibrate.h"
#include "libcore/imaging/prediction_store.h"
#include "libcore/system/ranks.h"
#include "libcore/visibility/imaging.h"
#include "libcore/visibility/stokes.h"
#include "tools/imaging/calibration/calibrated_set.h"
#include "tools/imaging/calibration/gain_chain.h"
#include "tools/imaging/calibration/terms.h"

namespace apsyn::calibrate {

struct SelfCalibrationSettings {
  std::vector<TermOptions> entries;
  double min_uv_lambda = 0, max_uv_lambda = 0;  ///< visibilities that solutions are made of; 0 = no limit
  bool through_aterms = false;                  ///< predictions are of XX XY YX YY
  std::uint64_t sums_bytes = 256'000'000;       ///< of the sums of slots together, unless one takes more
  unsigned n_threads = 1;
  Ranks ranks{};  ///< of the processes that image together
};

/// Memory of the sums of a slot of `n_cells` cells, each of at most `n_rows` rows of a baseline.
std::uint64_t slot_bytes(const CalibratedSet& set, std::size_t n_channels, std::size_t n_cells,
                         std::size_t n_rows);

/// How predicted planes make the model of the parallel hands.
struct ModelMix {
  Buffer<std::complex<float>, 2> of_hand;  ///< [hand, or one for both][plane]
  std::vector<PlaneRecipe> planes;         ///< of the predictions, out of products
};

class EntrySolver {
 public:
  struct Outcome {
    TermResult found;
    ChainLink link;  ///< the same, amplitudes scaled; of no use unless solved
    bool solved = false;
    /// Of data less model with the former gains and with the new ones, over the same samples.
    double chi2_former = 0, chi2_found = 0, n_samples = 0;
    /// Whether data and model differ more than before, beyond rounding.
    bool is_worse() const { return chi2_found > chi2_former + rounding; }
    double rounding = 0;
  };

  /// `chain`: the gains of the group so far. `reference`: the antenna of phase 0, chosen if there is none.
  EntrySolver(ImagingSource& products, const CalibratedSet& set, const SelfCalibrationSettings& settings,
              const ModelMix& mix, const GainChain& chain, std::optional<std::size_t>& reference);

  /// Predictions as SelfCalibration::solve() takes them.
  Outcome solve(std::size_t entry, const std::vector<TimeSlot>& slots, PredictionStore& predictions,
                std::uint64_t max_bytes);

 private:
  /// A slot of a window: sums and solutions are made of each by itself.
  struct WindowSlot {
    std::size_t part, slot;
  };
  void plan_cells();
  /// The sums of `wanted`.
  void accumulate(std::span<const WindowSlot> wanted);
  void add(const ImagingBlock& block, std::size_t part, const std::vector<std::size_t>& touched);
  void weigh(const ImagingBlock& block);
  void make_model();
  /// `excluded`: [part][slot], or empty.
  void solve_slots(const std::vector<WindowSlot>& wanted,
                   const std::vector<std::vector<Buffer<FlagReason, 3>>>& excluded);
  void solve_slot_of(const WindowSlot& at, ExcludedSolutions excluded);
  void choose_reference(const SlotCells& cells);
  /// Flags a slot that has fewer data than unknowns. Returns whether it did.
  bool refuse_underdetermined(SlotSolutions& solution, const ModelFit& fit) const;
  void compare(const WindowSlot& at, SlotCells cells, const std::vector<std::size_t>& numbers);

  ImagingSource& products_;
  const CalibratedSet& set_;
  const SelfCalibrationSettings& settings_;
  const ModelMix& mix_;
  const GainChain& chain_;
  std::optional<std::size_t>& reference_;

  GainChain kept_;  ///< of the chain what the term does not replace
  PredictionStore* predictions_ = nullptr;
  std::uint64_t max_bytes_ = 0;
  TermResult result_;
  std::vector<SumLayout> layout_;        ///< [part]
  std::vector<std::uint32_t> cell_of_;   ///< [integration]
  std::vector<std::size_t> first_of_;    ///< [cell] its first integration
  std::vector<std::uint32_t> slot_of_;   ///< [cell]
  std::vector<std::size_t> first_cell_;  ///< [slot], and one more for the end
  std::size_t slots_at_once_ = 1;
  std::vector<std::vector<std::unique_ptr<CalibrationSums>>> sums_;  ///< [part][cell] of the slots at work
  SpareSums spare_;                                                  ///< of slots that are solved
  SlotMemory memory_;
  std::vector<std::vector<ModelFit>> former_fit_, found_fit_;  ///< [part][slot]
  Buffer<std::uint32_t, 1> cell_;                              ///< [row]
  Buffer<std::uint32_t, 2> antenna_;                           ///< [row][p, q]
  Buffer<float, 3> weight_;
  PredictionStore::Data predicted_;
  Buffer<std::complex<float>, 3> model_;  ///< [row][chan][hand, or one for both]
};

}  // namespace apsyn::calibrate
