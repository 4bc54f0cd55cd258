// SPDX-License-Identifier: GPL-3.0-or-later
// `corr`: correlates first and images the sums (epic.h). Sums of integer samples are exact.
#include "kernels/common/spectra/multiply_codes.h"
#include "kernels/common/spectra/pair_sums.h"
#include "kernels/epic/corr/pair_imager.h"
#include "kernels/epic/corr/pair_products.h"
#include "kernels/epic/sky_pixels.h"

namespace apsyn {

namespace {

EpicPlan checked(EpicPlan plan) {
  check_epic_plan(plan);
  return plan;
}

class CorrImager final : public DirectImager {
 public:
  CorrImager(EpicPlan plan, CorrMethod method)
      : plan_(checked(std::move(plan))),
        method_(method),
        weights_(plan_),
        pair_weights_(plan_),
        apertures_(plan_, plan_.autos),
        pairs_(plan_.n_channel(), plan_.n_ant * plan_.n_pol) {}

  bool takes_codes() const override { return multiplies_codes(); }
  void start(const EpicGeometry& geometry) override;
  void add(const SpectraBlock& block) override {
    check_epic_block(plan_, block);
    weights_.add(block);
    pair_weights_.add(block);
    apertures_.add(block);
    pairs_.add(block, plan_.n_threads);
  }
  void take(EpicImages& images) override;

 private:
  bool direct() const;

  EpicPlan plan_;
  CorrMethod method_;
  EpicWeights weights_;
  PairWeights pair_weights_;
  ApertureWeights apertures_;
  PairSums pairs_;
  EpicGeometry geometry_;
  SkyPixels pixels_;
  std::unique_ptr<PairImager> imager_;
  Buffer<double, 3> sums_;  // [image channel][pixel][XX, YY, Re XY, Im XY]
};

bool CorrImager::direct() const {
  if (method_ != CorrMethod::cheapest || plan_.n_direction > 0) return method_ != CorrMethod::grid;
  if (apertures_.any()) return true;
  const PairGridShape shape = pair_grid_shape(plan_, geometry_, pixels_);
  return direct_pairs_s(plan_, pixels_.size()) <= grid_pairs_s(plan_, shape);
}

void CorrImager::start(const EpicGeometry& geometry) {
  check_epic_geometry(plan_, geometry);
  weights_.start();
  pair_weights_.start();
  apertures_.start();
  pairs_.clear();
  if (imager_ && same_geometry(geometry, geometry_)) return;
  geometry_ = geometry;
  pixels_ = sky_pixels(plan_, geometry_);
  apertures_.look(pixels_);
  imager_ = direct() ? make_direct_pair_imager(plan_, geometry_, pixels_, apertures_)
                     : make_grid_pair_imager(plan_, geometry_, pixels_);
}

void CorrImager::take(EpicImages& images) {
  sums_.resize({plan_.n_image_channel(), pixels_.size(), 4});
  // what the imager leaves out
  std::vector<EpicValues> autos(plan_.n_image_channel());
  for (std::size_t channel = 0; plan_.autos && !apertures_.any() && channel < plan_.n_channel(); ++channel) {
    const EpicValues own = PairProducts(plan_, pairs_, channel).autos();
    for (std::size_t value = 0; value < own.size(); ++value)
      autos[channel / plan_.n_average][value] -= own[value];
  }
  pair_weights_.finish(geometry_, weights_);
  imager_->image(pairs_, pair_weights_, sums_);
  apertures_.add_autos(1, sums_);
  finish_images(plan_, weights_, pixels_, autos, sums_, images);
  apertures_.scale(weights_, pixels_, images);
}

}  // namespace

std::unique_ptr<DirectImager> make_corr_imager(EpicPlan plan) {
  return make_corr_imager(std::move(plan), CorrMethod::cheapest);
}

std::unique_ptr<DirectImager> make_corr_imager(EpicPlan plan, CorrMethod method) {
  return std::make_unique<CorrImager>(std::move(plan), method);
}

}  // namespace apsyn
