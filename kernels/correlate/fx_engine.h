// SPDX-License-Identifier: GPL-3.0-or-later
// F and X over a whole stream: voltages in, mean visibilities of successive integrations out.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "kernels/correlate/correlate.h"

namespace apsyn {

class DeviceSpectrumSource;

/// One integration.
struct FxResult {
  VisibilityRecord record;     ///< weights are fractions of whole integrations
  std::int64_t n_spectra = 0;  ///< spectra that it covers; fewer than planned only at the stream's end
  bool any_data = false;       ///< whether any weight is positive
};

class FxEngine {
 public:
  virtual ~FxEngine() = default;
  /// Pins memory of blocks, so that append() takes them faster. Release the handle before the memory. Null
  /// where there is nothing to pin.
  virtual std::shared_ptr<void> pin(void* /*memory*/, std::size_t /*bytes*/) { return nullptr; }
  /// Takes the block that follows the previous one, and processes all spectra that are complete. Gives what
  /// waits until the block is no longer read; empty where it is not read any more.
  virtual std::function<void()> append(const VoltageBlock& block) = 0;
  /// The last integration may be incomplete.
  virtual void end_of_stream() = 0;
  /// Gives the next complete integration; false if there is none yet. The memory of `result` is reused.
  virtual bool next(FxResult& result) = 0;
  /// Blocks until no integration is being divided by MeanPlan::gains: they may be changed then, and hold for
  /// those that are completed by later calls of append() and next().
  virtual void settle() {}
  /// Spectra that have gone into sums.
  virtual std::int64_t spectra_done() const = 0;
  /// Share of components that requantising clipped, for the input and input channel that lost most.
  virtual double clipped_share() const { return 0; }
};

/// On the CPU. `mean` must outlive the engine.
std::unique_ptr<FxEngine> make_fx_engine(std::shared_ptr<SpectrumSource> source, const CorrelatorPlan& plan,
                                         const IntegrationPlan& integration, const MeanPlan& mean);

/// How a GPU multiplies float32 spectra: by register tiles, or as Wayth et al. (2009) do. `pair`: a thread
/// for each product; `group`: blocks share G inputs with G others through shared memory; `hybrid`: a thread
/// multiplies one input with G.
enum class FloatAlgorithm { register_tiles, pair, group2, group4, hybrid2, hybrid4 };

/// On the device of `source` (make_cuda_channeliser). Without `floats`: integer sums on its tensor cores,
/// exact for the requantised spectra, and for samples that need no F stage exact altogether. With `floats`:
/// float32 spectra by that algorithm; the source must not requantise. Copies of the next gulp to the device
/// and of means from it overlap with the sums. `mean` must outlive the engine.
std::unique_ptr<FxEngine> make_cuda_fx_engine(std::shared_ptr<DeviceSpectrumSource> source,
                                              const CorrelatorPlan& plan, const IntegrationPlan& integration,
                                              const MeanPlan& mean, int device_index,
                                              std::optional<FloatAlgorithm> floats = {});

/// Device memory of the sums, one batch of spectra and the means of two integrations.
std::uint64_t cuda_fx_device_bytes(const CorrelatorPlan& plan, const MeanPlan& mean, std::size_t max_spectra);
/// Pinned pieces through which a GPU's means arrive (common/cuda/piece_copy.h, for each of two integrations).
inline constexpr std::uint64_t kFxPieceBytes = 32u << 20;
/// The host's memory of two integrations that arrive, and of what they arrive in.
std::uint64_t cuda_fx_host_bytes(const CorrelatorPlan& plan, const MeanPlan& mean);

}  // namespace apsyn
