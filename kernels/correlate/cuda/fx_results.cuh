// SPDX-License-Identifier: GPL-3.0-or-later
// Moves the means of successive integrations from the X stage's sums to the host. For host code with CUDA
// only.
#pragma once

#include <deque>
#include <future>
#include <memory>
#include <optional>
#include <vector>

#include "kernels/common/cuda/piece_copy.h"
#include "kernels/common/cuda/transfer.h"
#include "kernels/common/spectra/pair_counts.h"
#include "kernels/correlate/cuda/float_stage.cuh"
#include "kernels/correlate/cuda/x_stage/device.cuh"
#include "kernels/correlate/fx_engine.h"

namespace apsyn {

/// The X stage in use: one of the two.
struct DeviceXStages {
  std::optional<DeviceXStage> integers;
  std::optional<DeviceFloatStage> floats;
};

/// Properties of an integration besides its sums.
struct FxIntegration {
  std::int64_t index = 0, n_spectra = 0;
  View<const float, 2> scales;  ///< [chan][input] what spectra were multiplied by; empty = 1
};

class FxResults {
 public:
  /// `plan` and `mean` must outlive it. std::logic_error unless `mean` covers all baselines. `floats`:
  /// whether the sums come from the floating stage.
  FxResults(const CorrelatorPlan& plan, const MeanPlan& mean, int device_index, bool floats);

  /// Queues the means of the sums in `stages`, and clears stages and counts. Waits for the integration before
  /// the last one.
  void queue(const FxIntegration& integration, DeviceXStages& stages, PairCounts& counts,
             cudaStream_t stream);
  /// Gives the next complete integration, like FxEngine::next().
  bool next(FxResult& result);
  /// Waits until everything that was queued has arrived.
  void settle();

 private:
  /// One integration, and the tables for its means.
  struct Slot {
    DeviceArray<float2> data;
    DeviceArray<float> weight;
    std::optional<PieceCopy> copy;
    // ... or the sums from which the host computes the means
    std::unique_ptr<std::int64_t[], FreePinned> sums;
    std::unique_ptr<double[], FreePinned> float_sums;
    std::optional<PairCounts> counts;
    std::vector<float> scales;
    std::unique_ptr<std::uint8_t[], FreePinned> tables;
    std::size_t table_bytes = 0;
    Upload<std::uint8_t> device_tables;
    Event arrived;
    std::future<FxResult> result;  // valid while it is being made; destroyed first, which waits for it
  };

  std::size_t n_channel() const { return plan_.n_chan * plan_.n_fine; }
  std::size_t mean_size() const {
    return mean_.baselines.size() * (n_channel() / mean_.n_average) * plan_.n_pol * plan_.n_pol;
  }
  void queue_sums(Slot& slot, const FxIntegration& integration, DeviceXStages& stages, PairCounts& counts,
                  cudaStream_t stream);
  void queue_means(Slot& slot, const FxIntegration& integration, DeviceXStages& stages,
                   const PairCounts& counts, cudaStream_t stream);
  void upload_tables(Slot& slot, const FxIntegration& integration, const PairCounts& counts,
                     x_stage::MeanTask& task, cudaStream_t stream);
  std::complex<double> inverse_gain(const View<const float, 2>& scales, std::size_t channel,
                                    std::size_t input) const;
  void collect(Slot& slot);
  void fill(Slot& slot, FxResult& result) const;
  void copy_means(Slot& slot, FxResult& result) const;

  const CorrelatorPlan& plan_;
  const MeanPlan& mean_;
  int device_;
  bool floats_, with_autos_ = true, on_host_ = false;
  std::deque<FxResult> done_;
  std::vector<FxResult> spare_;
  Slot slots_[2];
  unsigned turn_ = 0;
};

}  // namespace apsyn
