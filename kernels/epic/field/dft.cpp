// SPDX-License-Identifier: GPL-3.0-or-later
// The field by the sums of its definition.
#include "kernels/epic/antenna_positions.h"
#include "kernels/epic/field/imager.h"

namespace apsyn {
namespace {

constexpr std::size_t kPiece = 16;  // pixels, whose weights stay in the first-level cache

class FieldDft final : public FieldImager {
 public:
  using FieldImager::FieldImager;

 private:
  void aim(const EpicGeometry& geometry) override { positions_ = AntennaPositions(geometry, kDftLanes); }
  void image(std::size_t channel, std::size_t, const std::vector<std::complex<double>>& voltages,
             View<std::complex<float>, 1> field) override {
    const std::size_t stride = 2 * positions_.padded();
    Buffer<double, 2> turns({kPiece, stride});
    DftWeights<double> weights = positions_.weights<double>();
    weights.hz = plan().channel_hz[channel];
    weights.weights = turns.data();
    weights.weight_stride = stride;
    for (std::size_t first = 0; first < pixels().size(); first += kPiece) {
      weights.unit = &pixels().unit(first, 0);
      weights.n_pixel = std::min(kPiece, pixels().size() - first);
      turn_weights(weights);
      for (std::size_t pixel = 0; pixel < weights.n_pixel; ++pixel) {
        std::complex<double> sum = 0;
        for (std::size_t ant = 0; ant < voltages.size(); ++ant)
          sum += std::complex<double>(turns(pixel, 2 * ant), turns(pixel, 2 * ant + 1)) * voltages[ant];
        field[first + pixel] = std::complex<float>(sum);
      }
    }
  }

  AntennaPositions positions_;
};

}  // namespace

std::unique_ptr<DirectImager> make_field_dft_imager(EpicPlan plan) {
  return std::make_unique<FieldDft>(std::move(plan));
}

}  // namespace apsyn
