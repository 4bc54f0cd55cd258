// SPDX-License-Identifier: GPL-3.0-or-later
// F stage and beamformer over a whole stream: voltages in, one block of beams after the other out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "kernels/beamform/beamform.h"

namespace apsyn {

class DeviceSpectrumSource;

class BeamEngine {
 public:
  virtual ~BeamEngine() = default;
  /// Prepares memory that blocks will live in, so that append() takes them faster; the handle must be given
  /// up before the memory. Null where there is nothing to prepare.
  virtual std::shared_ptr<void> pin(void* /*memory*/, std::size_t /*bytes*/) { return nullptr; }
  /// Takes a block that follows those before it; works on what can be worked on. Gives what waits until the
  /// block is no longer read; empty where it is not read any more.
  virtual std::function<void()> append(const VoltageBlock& block) = 0;
  /// What does not fill an integration is left out.
  virtual void end_of_stream() = 0;
  /// The next output times; false when there are none yet. Memory of `beams` is used again.
  virtual bool next(BeamBlock& beams) = 0;
  /// Gains for what later calls of append() and next() work on, from the next spectrum on that begins an
  /// integration and, on the CPU, a tile.
  virtual void set_gains(BeamGains gains) = 0;
  /// Spectra that have gone into beams.
  virtual std::int64_t spectra_done() const = 0;
  /// Of the input and input channel that lost most, the share of components that requantising clipped.
  virtual double clipped_share() const { return 0; }
};

/// On the CPU, `block_spectra` (whole tiles) and `batch_chan` input channels (whole averages) at a time.
/// `delays` must outlive the engine.
std::unique_ptr<BeamEngine> make_beam_engine(std::shared_ptr<SpectrumSource> source, BeamformPlan plan,
                                             BeamDelaySource& delays, std::size_t block_spectra,
                                             std::size_t batch_chan);

enum class BeamPrecision {
  /// int8 weights on tensor cores (Ampere or newer), of integer spectra: sums over antennas are exact, and a
  /// weight is rounded to a 127th of the largest modulus among its beam's antennas (per channel and
  /// polarisation). Its error is 1.0e-5 of that squared, -50 dB: a beam of N like antennas errs by 0.0032 /
  /// sqrt(N) RMS in voltage on its source, and takes 1.0e-5 / N of the power that an antenna receives.
  half,
  /// The same with weights of up to 16 bits, for twice the work: rounded to a 32512th, or to a larger step
  /// for more than 362 antennas, so that sums stay exact.
  int16,
  single,  ///< float32 throughout
};

struct CudaBeamPlan {
  BeamPrecision precision = BeamPrecision::single;
  std::size_t batch_spectra = 1;   ///< at most at a time
  std::int64_t scale_spectra = 0;  ///< that the source's scales are for (CudaChannelisePlan::n_spectra)
};

/// On the device of `source` (make_cuda_channeliser): for integer weights untouched integers, or requantised
/// to 8 bits, for `single` not requantised. Copies to and from the device overlap with the sums; weights are
/// made on the device, of delays in float64, when beams have moved. `delays` must outlive the engine.
/// DeviceError for integer weights on a device older than Ampere or in a build without CUDA; std::logic_error
/// for those of floating spectra or of incoherent beams.
std::unique_ptr<BeamEngine> make_cuda_beam_engine(std::shared_ptr<DeviceSpectrumSource> source,
                                                  BeamformPlan plan, BeamDelaySource& delays,
                                                  int device_index, const CudaBeamPlan& cuda);

/// Whether the device has the tensor cores that integer weights take.
bool cuda_beams_of_int8(int device_index);

/// Spectra of a batch: at most `most`, and no more than give about `out_bytes` of beams.
std::size_t cuda_beam_batch(const BeamformPlan& plan, std::size_t most, std::uint64_t out_bytes);
/// Of batches that give beams, on their way to the host.
std::uint64_t cuda_beam_host_bytes(const BeamformPlan& plan, std::size_t batch_spectra);
/// Of `source_spectra` the F stage makes at once, weights and what stands between the steps.
std::uint64_t cuda_beam_device_bytes(const BeamformPlan& plan, const CudaBeamPlan& cuda);

/// Of the values of all beams at one time, and of those that a batch ends at most.
std::uint64_t out_time_bytes(const BeamformPlan& plan);
std::uint64_t out_bytes_of(const BeamformPlan& plan, std::size_t batch_spectra);

}  // namespace apsyn
