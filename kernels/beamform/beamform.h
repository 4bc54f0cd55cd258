// SPDX-License-Identifier: GPL-3.0-or-later
// Tied-array beams: the weighted sum of all antennas, phased towards a direction (Magro, Zarb Adami & Hickish
// 2014, section 2 and equation 1; signs in apsyn-conventions(7)).
//
//   B_b(f, t) = sum_i u_i w_bi E_i(f, t) / sum_i |u_i|,   w_bi = exp(-2 pi i nu_f tau_bi)
//
// over the antennas i of the beam that are valid at t. E_i of a wave from the beam's direction carries
// exp(+2 pi i nu tau_bi), so the wave adds up in phase: a source of flux 1 in the beam gives |B|^2 = 1,
// whatever the number of antennas, and independent noise of power P in each gives P sum |u|^2 / (sum |u|)^2 =
// P / N. u_i are weights of antenna, polarisation and channel, 1 by default. Where antennas are missing the
// sum of weights loses them too; where all are, B is 0 and counts as missing. Gains and scale multiply E
// without entering the denominator.
//
// An incoherent beam is the weighted mean of the antennas' products: sum_i u_ip u_iq* E_ip E_iq* / sum_i
// |u_ip u_iq|, of the same scale.
//
// Detected products are means over n_average neighbouring channels and n_integrate spectra, missing ones left
// out; power = Stokes I = (XX + YY) / 2, or XX of a single polarisation. A product that needs both
// polarisations is missing where one of them is.
//
// Precision: weights are float32 of phases computed in float64, sums over antennas float32, sums over spectra
// float32 within kTileSpectra and float64 beyond. Tiles are counted from first_spectrum before spectrum 0, so
// the same spectra give the same bytes in whatever pieces they arrive, as part of whatever range (when it
// begins with an integration) and whatever the number of threads.
//
// Steering: the delays are those of the middle of every update_spectra spectra, counted likewise:
// steering_interval() bounds the phase error between.
#pragma once

#include <complex>
#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/common/spectra/spectra.h"
#include "libcore/array/delays.h"
#include "libcore/base/view.h"

namespace apsyn {

enum class BeamProduct {
  voltage,    ///< complex voltages of each polarisation
  power,      ///< Stokes I, or the power of one polarisation
  iquv,       ///< Stokes parameters
  coherence,  ///< XX, YY, Re XY, Im XY (or R and L)
};

inline constexpr std::int64_t kNeverSteered = std::int64_t{1} << 40;

struct BeamformPlan {
  std::size_t n_chan = 1;  ///< input channels
  std::size_t n_fine = 1;
  std::size_t n_ant = 1, n_pol = 1;
  std::size_t n_beam = 1;
  std::vector<double> channel_hz;   ///< [input chan * n_fine + fine]
  bool circular = false;            ///< the polarisations are R and L
  double spectrum_s = 0;            ///< from spectrum to spectrum
  std::int64_t first_spectrum = 0;  ///< tiles and steering are counted from so many before spectrum 0
  double first_middle_s = 0;        ///< middle of that one, seconds after the stream's sample 0
  std::int64_t update_spectra = kNeverSteered;  ///< a power of two
  BeamProduct product = BeamProduct::power;
  bool incoherent = false;  ///< not with BeamProduct::voltage
  std::size_t n_integrate = 1, n_average = 1;
  Buffer<std::uint8_t, 2> member;  ///< [beam][ant]: 1 = in the beam
  double scale = 1;                ///< multiplies the voltages
  /// [ant][pol][input chan or channel]: u above, and what E is multiplied by besides; empty = 1.
  Buffer<std::complex<double>, 3> weights, calibration;
  unsigned n_threads = 1;

  std::size_t n_channel() const { return n_chan * n_fine; }
  std::size_t n_input() const { return n_ant * n_pol; }
  std::size_t n_out_channel() const { return n_channel() / n_average; }
  /// Floats of one beam, time and output channel.
  std::size_t n_value() const {
    if (product == BeamProduct::voltage) return 2 * n_pol;
    return product == BeamProduct::power ? 1 : 4;
  }
};

/// The largest power of two of spectra over which a delay that changes by at most `max_rate` (s/s) moves a
/// phase at `highest_hz` by at most `phase_error_rad` from the middle; at least 1,
/// kNeverSteered when nothing moves.
std::int64_t steering_interval(double max_rate, double highest_hz, double spectrum_s, double phase_error_rad);

/// Output times that are complete with the spectra of one block.
struct BeamBlock {
  std::int64_t first = 0;  ///< output time
  std::size_t n_time = 0;
  /// Voltages: [beam][time][channel][pol][re, im]; products: [beam][time][product][channel].
  Buffer<float, 3> values;
};

/// What calibration says of the antennas.
struct BeamGains {
  Buffer<std::complex<double>, 3> calibration;  ///< BeamformPlan::calibration
  Buffer<std::uint8_t, 2> member;               ///< BeamformPlan::member, less antennas that have no gain
};

class Beamformer {
 public:
  virtual ~Beamformer() = default;
  /// Replaces calibration and members for the spectra of later calls of start(); both have the shapes of the
  /// plan.
  virtual void set_gains(BeamGains gains) = 0;
  /// Announces the spectra first .. first + n_spectra - 1 that the next add() calls bring, one call for each
  /// batch of channels, and shapes `out`. Blocks follow each other from spectrum 0 and, but for the last, end
  /// with a tile. std::logic_error otherwise.
  virtual void start(std::int64_t first, std::size_t n_spectra, BeamBlock& out) = 0;
  /// Spectra of the tile of spectrum `first` that come before it.
  virtual std::int64_t off_tile(std::int64_t first) const = 0;
  /// A whole number of input channels and of averaged channels. std::logic_error for another shape.
  virtual void add(const SpectraBlock& block, BeamBlock& out) = 0;
};

inline constexpr std::size_t kTileSpectra = 32;

/// Bytes that a CPU beamformer of this plan holds.
std::uint64_t beamformer_bytes(const BeamformPlan& plan);

/// `delays` must outlive the beamformer. std::logic_error for a plan that contradicts itself.
std::unique_ptr<Beamformer> make_cpu_beamformer(BeamformPlan plan, BeamDelaySource& delays);

}  // namespace apsyn
