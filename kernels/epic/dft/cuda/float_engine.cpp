// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/epic/cuda/tile_imager.cuh"
#include "kernels/epic/dft/cuda/engine.cuh"

namespace apsyn::epic_cuda {

namespace {

class FloatDftEngine final : public DeviceDftEngine {
 public:
  FloatDftEngine(const EpicPlan& plan, DeviceSky& sky)
      : kind_(plan.n_pol == 2 ? ColumnKind::coherence : ColumnKind::power), tiles_(sky) {
    const std::vector<float2> factors = factors_over(plan, {});
    factors_.copy(factors.data(), factors.size());
  }
  bool removes_autos() const override { return false; }
  void move() override {}
  void image(const Samples& samples, cudaStream_t stream) override {
    const auto fill = [&](int first_channel, int n_channel, float* columns) {
      const Samples part = some_channels(samples, first_channel, n_channel);
      launch_columns(part, factors_.data(), padded_ants(part.n_ant), columns, stream);
    };
    tiles_.image(kind_, samples.n_spectra, samples.first_channel, samples.n_channel, fill, stream);
  }

 private:
  ColumnKind kind_;
  TileImager tiles_;
  Upload<float2> factors_;
};

}  // namespace

std::unique_ptr<DeviceDftEngine> make_float_engine(const EpicPlan& plan, DeviceSky& sky) {
  return std::make_unique<FloatDftEngine>(plan, sky);
}

}  // namespace apsyn::epic_cuda
