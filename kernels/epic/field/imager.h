// SPDX-License-Identifier: GPL-3.0-or-later
// The common part of imagers of the field (EpicPlan::field): one spectrum in, complex images out.
#pragma once

#include "kernels/epic/factors.h"
#include "kernels/epic/sky_pixels.h"
#include "kernels/epic/weights.h"

namespace apsyn {

/// std::logic_error for a plan of products, or one that contradicts itself. No lags are needed.
EpicPlan checked_field_plan(EpicPlan plan);
/// Counts n_t^2 of each spectrum.
EpicWeights counting_antennas(const EpicPlan& plan);
/// UsageError for corr.
void refuse_field_by(EpicMethod method);

class FieldImager : public DirectImager {
 public:
  explicit FieldImager(EpicPlan plan);
  void start(const EpicGeometry& geometry) final;
  void add(const SpectraBlock& block) final;
  void take(EpicImages& images) final;

 protected:
  /// Called when the geometry has changed.
  virtual void aim(const EpicGeometry& geometry) = 0;
  /// field [pixel] = sum_i g_i exp(-2 pi i nu tau_i) E_i of voltages E [ant], one polarisation of one
  /// channel.
  virtual void image(std::size_t channel, std::size_t pol, const std::vector<std::complex<double>>& voltages,
                     View<std::complex<float>, 1> field) = 0;
  const EpicPlan& plan() const { return plan_; }
  const SkyPixels& pixels() const { return pixels_; }

 private:
  EpicPlan plan_;
  EpicWeights antennas_;  // of each spectrum n_t^2
  bool aimed_ = false;
  EpicGeometry geometry_;
  SkyPixels pixels_;
  std::vector<std::size_t> pols_;          // that are asked for
  Buffer<std::complex<float>, 3> fields_;  // [channel][pol][pixel]
};

}  // namespace apsyn
