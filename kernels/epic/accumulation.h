// SPDX-License-Identifier: GPL-3.0-or-later
// What every method keeps of an accumulation besides its images: W and A of epic.h.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "kernels/epic/epic.h"

namespace apsyn {

class EpicAccumulation {
 public:
  /// `plan` must outlive it. A is added up only `with_autos`.
  EpicAccumulation(const EpicPlan& plan, bool with_autos);

  void clear();
  /// std::logic_error for a block of another shape than planned; its planes or codes are read for A only.
  void add(const SpectraBlock& block);

  std::int64_t n_spectra() const { return n_spectra_[0]; }
  /// W, and over what it would be with all antennas valid.
  double pairs(std::size_t image_channel) const { return pairs_[image_channel]; }
  double share(std::size_t image_channel) const;
  /// XX, YY, Re XY, Im XY of A.
  const std::array<double, 4>& autos(std::size_t image_channel) const { return autos_[image_channel]; }

 private:
  void add_pairs(const SpectraBlock& block);
  std::array<double, 4> channel_autos(const SpectraBlock& block, std::size_t row) const;

  const EpicPlan& plan_;
  bool with_autos_;
  std::vector<std::int64_t> n_spectra_;       // [image channel]
  std::vector<double> pairs_;                 // [image channel]
  std::vector<std::array<double, 4>> autos_;  // [image channel]
};

}  // namespace apsyn
