// SPDX-License-Identifier: GPL-3.0-or-later
// Voltages of a sky through an array (apsyn-conventions(7): E_i carries exp(+2 pi i nu r_i.s / c)).
//
// Each emitter s is white complex Gaussian noise over each channel, shaped by the square root of its
// spectrum; a pulsar's is modulated and dispersed (pulsar.h). Antenna i receives, at every radio frequency nu
// within the channel,
//   E_i(t) = sum_s int X_s(nu) exp(2 pi i nu (t + tau_si(t)) + i phi_si(nu, t)) dnu,
//   tau_si = r_i . s(t) / c - cable_i,   phi_si the phase that the ionosphere adds.
// Method: blocks of `hop` samples, each from one Fourier transform of n_fft = hop + 2 guard samples. Within a
// block the delay is tau0 + tau1 (t - t_c), linear between its exact values at the block's edges, and
//   exp(2 pi i nu tau1 (t - t_c)) = sum_{k <= order} (2 pi i nu tau1 (t - t_c))^k / k!,
// so a block needs (order + 1) inverse transforms per antenna and polarisation, whatever the number of
// emitters:
//   E_i(t) = sum_k ((t - t_c) / T)^k / k! IFFT[(2 pi i nu T)^k sum_s tau1_s^k X_s exp(2 pi i nu tau0_s)], 2 T
//   = hop.
// The phase of the ionosphere is exact over the channel at mid-block; its change over a block joins that of
// the delay, with the centre frequency's value. Accuracy: plan_voltages takes the order that bounds the
// neglected terms by kTaylorError rad for any direction (the Earth's rotation limits tau1). The delay is
// exact over the whole channel but for the ideal filter's response beyond `guard` samples: noise of about
// 3e-5 of the power, within 1 / guard of the channel's edges.
//
// Seen through A-terms X_s is J_si X_s, J of the centre of the channel, constant over a block: of the slot of
// the block's middle. A gain multiplies E_i, and receiver noise is added to that.
//
// Threads own whole emitters, then whole antennas; noise is a function of (seed, stream, sample), so results
// do not depend on the number of threads.
#pragma once

#include <array>
#include <complex>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernels/simulate/emitters.h"
#include "kernels/simulate/gain_track.h"
#include "kernels/simulate/pulsar.h"
#include "libcore/array/array_layout.h"
#include "libcore/base/view.h"
#include "libcore/sky/sky_model.h"

namespace apsyn::simulate {

inline constexpr double kTaylorError = 2e-5;  ///< radians

struct VoltageSetup {
  double freq_hz = 0, bandwidth_hz = 0;  ///< centre and (positive) width of the band
  std::size_t n_chan = 1;
  std::vector<Vec3> antenna_enu_m;
  std::vector<double> cable_delay_s;
  SkyModel sky;
  std::vector<Emitter> emitters;
  std::optional<PulsarSignal> pulsar;
  double ionosphere_rate_rad_s = 0;  ///< the fastest change of a phase that the ionosphere makes
  double sefd_jy = 0;                ///< of each input; 0 = no receiver noise
  /// [emitter] the power that antennas receive on average over its flux, through A-terms; empty: 1
  std::vector<double> received;
  std::vector<GainTrack> gains;  ///< [ant * 2 + pol] of the sky's field, not of the noise; empty = 1
  std::uint64_t seed = 0;
  unsigned n_bit = 8;  ///< per component: 4, 8 or 32
  double dropped_fraction = 0;
  std::size_t missing_samples = 128;  ///< length of the blocks that are dropped
  std::size_t blocks_in_flight = 1;   ///< encoded blocks that the caller holds, for the plan's memory
  std::int64_t n_samples = -1;        ///< in all; -1 = unknown
};

struct VoltagePlan {
  std::size_t n_fft = 0, guard = 0, hop = 0;
  unsigned order = 0;
  double sample_rate_hz = 0;  ///< of one channel
  double step = 1;            ///< sqrt(Jy) between neighbouring levels of the quantiser
  /// The stream's SCALE: step over correlation_gain(), so that correlations, not the clipped powers, are in
  /// Jy.
  double scale = 1;
  std::size_t time_bytes = 0;  ///< of one time sample of the stream
  std::uint64_t memory_bytes = 0;
  double channel_freq_hz(const VoltageSetup& setup, std::size_t chan) const;
};

/// Throws UsageError when the array is too large for the channel width, or dispersion in a channel too long
/// (no block length is accurate), or when there is neither sky nor noise.
VoltagePlan plan_voltages(const VoltageSetup& setup, unsigned n_threads);

/// Directions (unit vectors east, north, up) of every emitter at the start of a block and `hop` samples
/// later.
struct BlockDirections {
  std::vector<Vec3> start, end;                    ///< [emitter]
  Buffer<double, 2> start_tec_tecu, end_tec_tecu;  ///< [emitter][ant] along the rays; of no size without one
  /// A-terms at the centre of each channel [chan][ant][emitter][XX XY YX YY]; null without.
  std::shared_ptr<const Buffer<std::complex<float>, 4>> jones{};
};

class VoltageSimulator {
 public:
  VoltageSimulator(VoltageSetup setup, const VoltagePlan& plan, unsigned n_threads);
  ~VoltageSimulator();
  /// Samples block * hop ... + n_time - 1 (n_time <= hop), encoded [time][chan][ant][pol]; `stream` holds
  /// n_time * time_bytes. An emitter whose direction at mid-block is below the horizon is silent.
  /// FailureError when the ionosphere changes so much faster than the plan knew that phases would be wrong by
  /// 1e-4 rad.
  void simulate(std::int64_t block, const BlockDirections& directions, std::size_t n_time,
                std::span<std::uint8_t> stream);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace apsyn::simulate
