// SPDX-License-Identifier: GPL-3.0-or-later
// The CPU degridder. Every visibility is one task's alone, so results are identical for any number of
// threads.
#include <stdexcept>

#include "kernels/idg/cpu/degrid/subgrid_predictor.h"
#include "kernels/idg/cpu/layers/layer_model.h"
#include "kernels/idg/idg.h"
#include "kernels/idg/idg_cuda.h"
#include "kernels/idg/partition/partition.h"
#include "libcore/system/parallel.h"

namespace apsyn {
namespace {

template <class T>
class CpuDegridder final : public Degridder {
 public:
  CpuDegridder(const IdgPlan& plan, const IdgSetup& setup)
      : plan_(plan), setup_(setup), tables_(plan, 0.3), model_(plan, setup.n_threads) {
    for (unsigned i = 0; i < setup.n_threads; ++i) predictors_.emplace_back(tables_, setup_);
  }

  void set_model(View<const double, 3> images) override {
    if (images.extent(0) != setup_.n_image_planes())
      throw std::invalid_argument("degridder: the model's planes are not the setup's");
    model_.set(images);
    grids_.resize({0, 0, 0, 0});
    layers_ = {};
  }

  void begin_pass(const LayerRange& layers) override {
    if (layers.first + layers.n > plan_.n_layers) throw std::out_of_range("degridder: no such layer");
    if (model_.n_planes() == 0) throw std::logic_error("degridder: a pass without a model");
    layers_ = layers;
    grids_.resize_for_overwrite(
        {layers.n, plan_.n_v_stored(), plan_.n_u_stored(), padded_planes(model_.n_planes())});
    for (std::size_t layer = 0; layer < layers.n; ++layer)
      model_.transform(plan_.layer_w_lambda(layers.first + layer), grids_.view()[layer]);
    model_.release_work();
  }

  GridCounts degrid(const GridBlock& block, View<std::complex<float>, 3> data) override {
    return degrid_into(block, data);
  }
  GridCounts degrid(const GridBlock& block, View<std::complex<double>, 3> data) override {
    return degrid_into(block, data);
  }

 private:
  template <class Out>
  GridCounts degrid_into(const GridBlock& block, View<std::complex<Out>, 3> data) {
    check_block(block, setup_);
    if (data.extent(0) != block.uvw_m.extent(0) || data.extent(1) != block.wavenumber.size() ||
        data.extent(2) != setup_.n_data_planes)
      throw std::invalid_argument("degridder: the data's shape is not the block's");
    const Partition parts =
        partition(plan_, block, layers_, setup_.n_threads, {.folds_apart = folds_apart(setup_)});
    parallel_for(setup_.n_threads, parts.tasks.size(), [&](std::size_t i, unsigned thread) {
      predictors_[thread].predict(block, parts, parts.tasks[i], {grids_, layers_.first}, data);
    });
    return {parts.n_visibilities, parts.tasks.size()};
  }

  IdgPlan plan_;
  IdgSetup setup_;
  SubgridTables<T> tables_;
  LayerModel model_;
  std::vector<SubgridPredictor<T>> predictors_;  ///< one per thread
  Buffer<std::complex<T>, 4> grids_;             ///< [layer][v held][u held][padded plane]
  LayerRange layers_;
};

void check_setup(const IdgSetup& setup) {
  if (setup.n_data_planes < 1 || setup.n_data_planes > 4 || setup.psf != PsfPlane::none ||
      (setup.aterms == AtermMode::none) != setup.mix.empty())
    throw std::invalid_argument("degridder: one to four data planes, no PSF, and a mix with A-terms only");
}

}  // namespace

std::unique_ptr<Degridder> make_degridder(const Device& device, const IdgPlan& plan, const IdgSetup& setup) {
  check_setup(setup);
  if (device.kind == Device::Kind::cuda) return make_cuda_degridder(device, plan.with_whole_grids(), setup);
  if (plan.settings.precision == Precision::single) return std::make_unique<CpuDegridder<float>>(plan, setup);
  return std::make_unique<CpuDegridder<double>>(plan, setup);
}

}  // namespace apsyn
