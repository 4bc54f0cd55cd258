// SPDX-License-Identifier: GPL-3.0-or-later
// A of epic.h: the autocorrelations of the antennas, which are added to every pixel of an accumulation.
#pragma once

#include <array>
#include <vector>

#include "kernels/epic/epic.h"

namespace apsyn {

using EpicValues = std::array<double, 4>;  ///< XX, YY, Re XY, Im XY

class EpicAutos {
 public:
  /// `plan` must outlive it.
  explicit EpicAutos(const EpicPlan& plan) : plan_(plan), sums_(plan.n_image_channel()) {}
  void start() { sums_.assign(sums_.size(), EpicValues{}); }
  /// Takes planes or codes; for integers of up to 8 bits exact except for the factors g.
  void add(const SpectraBlock& block);
  /// The sums of each image channel.
  const std::vector<EpicValues>& sums() const { return sums_; }

 private:
  EpicValues of_channel(const SpectraBlock& block, std::size_t row) const;

  const EpicPlan& plan_;
  std::vector<EpicValues> sums_;
};

/// std::logic_error for a block that does not consist of whole input channels and whole averaged channels of
/// the plan, or whose arrays are too small.
void check_epic_block(const EpicPlan& plan, const SpectraBlock& block);

}  // namespace apsyn
