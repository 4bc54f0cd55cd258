// SPDX-License-Identifier: GPL-3.0-or-later
// The F stage: voltages -> spectra by a plain FFT or a polyphase filterbank, with delay and fringe
// correction.
//
// Spectrum s of antenna i covers the samples s L - k_i .. (s+1) L - k_i - 1, L = n_fine (complex input) or
// 2 n_fine (real input):
//   X_i(f) = L^(-1/2) exp(-2 pi i phi_i(f)) sum_n x_i(s L - k_i + n) exp(-2 pi i n b(f) / L)
//   phi_i(f) = nu_f tau_i - (nu_f - nu_0) k_i T        k_i = round(tau_i / T)
// with T the sample time, tau_i the delay (libcore/array/delays.h) at the middle of these samples, nu_f the
// sky frequency of fine channel f, nu_0 the sky frequency that the band was mixed from to zero, b(f) its FFT
// bin. So a wave of the reference direction has the same spectrum at all antennas, but for the fraction of a
// sample at the edges. White noise of unit variance has E|X|^2 = 1 in every channel: mean_f |X|^2 = mean_n
// |x|^2 (Parseval). With n_fine = 1, complex input and no delays the spectra are the samples themselves, bit
// by bit.
//
// A filterbank of N taps (kernels/channelise/pfb.h) weights the N L samples s L - k_i - a .. s L - k_i - a +
// N L - 1, a = (N - 1) L / 2 rounded down, adds the N pieces of L, and transforms the sum:
//   X_i(f) = exp(-2 pi i phi_i(f)) sum_n [sum_p h(p L + n) x_i(s L - k_i - a + p L + n)] exp(-2 pi i n b(f) /
//   L)
// so spectrum s has its middle where that of the plain transform has it (but for half a sample when (N - 1) L
// is odd), and times do not depend on the number of taps; tau_i is that of the middle of all N L samples. The
// spectra at the stream's ends, whose taps reach beyond it, have weight 0: (N - 1) / 2 of them, rounded up,
// at either end. Against its definition with the phase counted from sample s L, X is turned by exp(-2 pi i a
// b / L), which is the same for all antennas.
//
// Fine channels are in the order of the stream's channels (rising frequency, or falling when BW < 0) and form
// one regular grid: nu_f = nu_0 + b w / n_fine with b = -n_fine/2 .. (n_fine-1)/2 (truncated) for complex
// input, 0 .. n_fine-1 from the band's lower edge for real input (the Nyquist bin is dropped). Readers undo
// SIDEBAND_CONJ of complex samples. A real band with BW < 0 is of the lower sideband: it was mixed from its
// upper edge and runs down from there, b = 0 .. -(n_fine-1), and its conjugate is taken.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/channelise/pfb.h"
#include "kernels/channelise/requantise.h"
#include "kernels/common/spectra/spectra.h"
#include "libcore/array/delays.h"
#include "libcore/voltage/voltage.h"

namespace apsyn {

struct ChannelisePlan {
  std::size_t n_chan = 1, n_ant = 1, n_pol = 1;
  std::size_t n_fine = 1;
  std::size_t n_sample = 1;  ///< L, time samples from spectrum to spectrum, and of the transform
  Filterbank filterbank;
  double sample_s = 0;            ///< T
  std::vector<double> mixed_hz;   ///< nu_0 of each input channel
  std::vector<std::size_t> bin;   ///< [fine] FFT bin b modulo L
  std::vector<double> offset_hz;  ///< [fine] nu_f - nu_0
  double imaginary_sign = 1;      ///< -1 undoes a mirrored real band
  bool real_input = false;
  std::vector<std::uint8_t> flagged;  ///< [ant] 1 = weight 0 throughout
  Requantisation requantise;
  std::int64_t integration_spectra = 1;  ///< of which each has scales of its own, when requantised
  /// Spectra that are integers, requantised or untouched samples of up to 8 bits, are made as
  /// SpectraBlock::codes.
  bool codes = false;
  std::int64_t n_spectra = -1;    ///< to be made at most; -1 = all that samples are given for
  std::int64_t first_sample = 0;  ///< sample of the stream at which spectrum 0 starts
  unsigned n_threads = 1;

  /// Time samples that a spectrum is made of.
  std::size_t n_span() const { return n_sample * std::max<std::size_t>(1, filterbank.n_taps); }
  /// Samples of the span that lie before the first one that a plain transform would take.
  std::int64_t n_lead() const { return static_cast<std::int64_t>((n_span() - n_sample) / 2); }
  std::size_t values_per_sample() const { return real_input ? 1 : 2; }
  /// Centres of all output channels, [chan * n_fine + fine].
  std::vector<double> channel_hz() const;
  /// Signed step between neighbouring output channels.
  double channel_step_hz() const;
};

/// UsageError for n_fine 0 or unreasonably many channels, for more than kMaxTaps taps, and for taps without
/// channels to divide into.
ChannelisePlan plan_channelise(const VoltageHeader& header, std::size_t n_fine, unsigned n_threads,
                               const Filterbank& filterbank = {});

/// Bytes that a Channeliser of this plan holds besides samples.
std::uint64_t channeliser_bytes(const ChannelisePlan& plan);

/// The plan in words.
std::string describe(const ChannelisePlan& plan);

class InputScales;
class SampleStore;
class SpectrumPlacement;

class Channeliser final : public SpectrumSource {
 public:
  /// `delays` may be null (no alignment); it must outlive the channeliser.
  Channeliser(const ChannelisePlan& plan, DelaySource* delays);
  ~Channeliser() override;

  void append(const VoltageBlock& block) override;
  /// Number of spectra that no delay can push beyond the last sample. At the stream's end, all that fit: what
  /// a delay then reaches for beyond either end has weight 0.
  std::int64_t available() const override;
  void end_of_stream() override;
  void release(std::int64_t spectrum) override;
  void spectra(std::int64_t first, std::size_t n_spectra, std::size_t first_chan, std::size_t n_chan,
               SpectraBlock& block) override;
  double clipped_share() const override;
  /// ChannelisePlan::codes from the next call of spectra() on.
  void give_codes(bool codes) { plan_.codes = codes; }

 private:
  struct Scratch;
  struct Placement;
  void copy_samples(std::int64_t first, std::size_t spectrum, std::size_t panel, SpectraBlock& block) const;
  void pack_samples(std::int64_t first, std::size_t spectrum, std::size_t panel, SpectraBlock& block) const;
  void prepare_scales(std::int64_t first, SpectraBlock& block) const;
  void transform(std::int64_t first, std::size_t spectrum, std::size_t n_spectra, std::size_t panel,
                 Scratch& scratch, SpectraBlock& block) const;
  void locate(std::int64_t spectrum, std::size_t panel, Placement& placement) const;

  ChannelisePlan plan_;
  bool ended_ = false;
  std::vector<std::int64_t> n_made_;  // [chan] spectra times fine channels
  std::unique_ptr<SpectrumPlacement> placement_;
  std::unique_ptr<SampleStore> store_;
  std::unique_ptr<InputScales> scales_;            // when requantising
  Buffer<std::uint32_t, 2> keys_;                  // [chan * n_fine + fine][panel input], of the dither
  std::vector<float> taps_;                        // of fold_taps, empty without a filterbank
  void* fft_ = nullptr;                            // fftwf_plan of a whole panel
  void* fft_last_ = nullptr;                       // of the last panel
  std::vector<std::unique_ptr<Scratch>> scratch_;  // [thread]
};

}  // namespace apsyn
