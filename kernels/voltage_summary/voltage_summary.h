// SPDX-License-Identifier: GPL-3.0-or-later
// Gathers a VoltageSummary in one pass and fixed memory; each thread has antennas of its own. Streams of 32
// channels or more show their own channels as the spectrum; fewer channels are split by a Hann-windowed FFT
// of each channel into at least 512 bins in all, from whole segments without missing samples that start at
// multiples of the segment's length within a block.
#pragma once

#include <complex>
#include <memory>
#include <vector>

#include "libcore/voltage/voltage.h"
#include "libcore/voltage/voltage_summary.h"

namespace apsyn {

class VoltageSummariser {
 public:
  explicit VoltageSummariser(const VoltageHeader& header, unsigned n_threads = 1);
  ~VoltageSummariser();
  void add(const VoltageBlock& block);
  const VoltageSummary& summary() const { return summary_; }
  /// Blocks of a multiple of this many samples lose none of them to the spectra.
  std::size_t segment() const { return n_fine_; }

 private:
  void place_frequencies(const VoltageHeader& header);
  void prepare_levels(const VoltageBlock& block);
  struct Antennas {
    std::size_t begin = 0, end = 0;
  };
  /// Calls work(antennas, thread) for a share of the antennas of each thread.
  template <class Work>
  void share_antennas(Work&& work);
  void add_samples(const VoltageBlock& block);
  template <class T>
  void add_samples_of(const VoltageBlock& block, const T* samples, std::size_t first, std::size_t n,
                      Antennas antennas);
  void add_spectra(const VoltageBlock& block, Antennas antennas, std::complex<float>* data);

  VoltageSummary summary_;
  unsigned n_threads_ = 1;
  std::size_t n_fine_ = 1;             ///< FFT length, 1 = the stream's channels serve
  std::vector<std::size_t> position_;  ///< [chan][fine] -> index into freq_hz
  std::vector<float> window_;          ///< [n_fine]
  struct Transform;
  std::unique_ptr<Transform> transform_;
};

}  // namespace apsyn
