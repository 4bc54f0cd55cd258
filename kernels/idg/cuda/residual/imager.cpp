// SPDX-License-Identifier: GPL-3.0-or-later
// Predicting, subtracting and gridding visibilities that stay on the device. Predictions of a block are made
// in the null stream, subtracted from a copy of its data, and gridded in the gridder's stream. Both divide
// the same rows, each in its own way.
#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernels/common/cuda/transfer.h"
#include "kernels/idg/cpu/layers/layer_transform.h"
#include "kernels/idg/cuda/block_gridder.h"
#include "kernels/idg/cuda/degrid/piece.cuh"
#include "kernels/idg/cuda/residual/kernels.cuh"
#include "kernels/idg/cuda/transfer/download.cuh"
#include "kernels/idg/partition/partition.h"
#include "kernels/idg/residual_imager.h"

namespace apsyn {
namespace {

using namespace idg_cuda;

template <class T>
class CudaResidualImager final : public ResidualImager {
 public:
  CudaResidualImager(const Device& device, const IdgPlan& plan, const IdgSetup& setup)
      : device_(device.index),
        plan_(plan),
        setup_(setup),
        gridder_(device.index, plan, setup),
        predictor_(plan, setup, DegridSum::automatic, DegridRows::on_device, device.index),
        uploader_(setup.n_threads),
        downloader_(setup.n_threads) {
    Buffer<double, 2> ones;
    ones.resize_for_overwrite({plan.image.n_y, plan.image.n_x});
    std::fill(ones.begin(), ones.end(), 1.0);
    correct_image(plan, setup.n_threads, ones);
    const Transfer correction = transfer(correction_, ones.data(), ones.size());
    uploader_.send({&correction, 1});
    images_.reserve(setup.n_data_planes * n_pixels());
    gridder_.grids().keep_scratch();
    const LayerRange all{0, plan.n_layers};
    double* model = predictor_.model_on_device();
    if (model == nullptr) throw std::invalid_argument("residual imager: its layers are on the device");
    fill_bytes(model, 0, setup.n_data_planes * n_pixels());
    predictor_.begin_pass(all);
    gridder_.begin_pass(all);
    cuda_check(cudaDeviceSynchronize(), "preparing residuals");
  }
  ~CudaResidualImager() override { cudaDeviceSynchronize(); }

  void add(const GridBlock& block) override {
    if (setup_.n_data_planes == 0 || block.data.size() == 0 || block.aterms.jones.size() != 0)
      throw std::invalid_argument("residual imager: a block has data and no A-terms");
    check_block(block, setup_);
    select();
    Kept kept;
    DeviceRows& rows = *kept.piece.rows;
    rows.copy_geometry(uploader_, block, gridder_.cuts());
    rows.copy_values(uploader_, block);
    uploader_.settle();
    uploader_.hold(gridder_.cuts());
    uploader_.hold(predictor_.cuts());
    if (!gridder_.divide(rows.view(), kept.work) || !predictor_.divide(kept.piece)) {
      partition(plan_, block, {0, plan_.n_layers}, setup_.n_threads);
      throw std::logic_error("residual imager: the device refuses what the host does not");
    }
    if (kept.work.tables.n_tables > 0) kept_.push_back(std::move(kept));
  }

  void reserve() override {
    select();
    std::size_t n_values = 0;
    for (const Kept& kept : kept_) {
      gridder_.reserve(kept.work);
      if (kept.piece.tables.n_tables > 0) predictor_.reserve(kept.piece);
      n_values = std::max(n_values, n_values_of(kept));
    }
    predicted_.reserve(n_values);
    if constexpr (!std::is_same_v<T, float>) residual_.reserve(n_values);
    cuda_check(cudaDeviceSynchronize(), "preparing residuals");
  }

  void make(View<const float, 3> model, std::span<const double> weight_sum,
            View<float, 3> residual) override {
    const std::array<std::size_t, 3> shape{setup_.n_data_planes, plan_.image.n_y, plan_.image.n_x};
    if ((model.size() != 0 && model.shape() != shape) || residual.shape() != shape ||
        weight_sum.size() != shape[0])
      throw std::invalid_argument("residual imager: the images' planes are not the data's");
    select();
    if (model.size() != 0) take_model(model);
    begin_sums();
    for (Kept& kept : kept_) {
      const float2* data = model.size() != 0 ? subtract(kept) : kept.piece.rows->data.data();
      gridder_.grid(kept.piece.rows->view(), kept.work, data);
      gridded_.record(gridder_.stream());
    }
    gridder_.end_pass();
    for (std::size_t first = 0; first < weight_sum.size(); first += kResidualPlanes) {
      ResidualScale scale{};
      const std::size_t n = std::min(kResidualPlanes, weight_sum.size() - first);
      for (std::size_t plane = 0; plane < n; ++plane) scale.of_plane[plane] = 1 / weight_sum[first + plane];
      finish_planes(first, n, scale, NAN);
    }
    fetch(residual.data(), residual.size());
    uploader_.settle();
  }

  void make_psf(View<float, 2> psf) override {
    if (psf.shape() != std::array<std::size_t, 2>{plan_.image.n_y, plan_.image.n_x})
      throw std::invalid_argument("residual imager: the PSF is not of the images' size");
    select();
    begin_sums();
    std::size_t n_ones = 0;
    for (const Kept& kept : kept_) n_ones = std::max(n_ones, n_values_of(kept));
    float2* ones = residual_of_block();
    gridded_.hold(gridder_.stream());
    launch_fill_ones(ones, n_ones, gridder_.stream());
    for (const Kept& kept : kept_) gridder_.grid(kept.piece.rows->view(), kept.work, ones, false);
    gridded_.record(gridder_.stream());
    gridder_.end_pass();
    double centre = 0, correction = 0;
    const std::size_t at = plan_.image.n_y / 2 * plan_.image.n_x + plan_.image.n_x / 2;
    cuda_check(cudaMemcpyAsync(&centre, gridder_.grids().device_images() + at, sizeof centre,
                               cudaMemcpyDeviceToHost, gridder_.stream()),
               "reading the PSF's peak");
    cuda_check(cudaMemcpyAsync(&correction, correction_.data() + at, sizeof correction,
                               cudaMemcpyDeviceToHost, gridder_.stream()),
               "reading the PSF's peak");
    cuda_check(cudaStreamSynchronize(gridder_.stream()), "making the PSF");
    ResidualScale scale{};
    scale.of_plane[0] = 1 / (centre * correction);
    finish_planes(0, 1, scale, 0);
    fetch(psf.data(), psf.size());
  }

 private:
  /// A block, and how its rows are divided for either direction.
  struct Kept {
    idg_degrid::Piece<T> piece;
    BlockWork work;
  };

  void select() const { cuda_check(cudaSetDevice(device_), "choosing the device"); }
  std::size_t n_pixels() const { return plan_.image.n_y * plan_.image.n_x; }
  std::size_t n_values_of(const Kept& kept) const {
    return kept.piece.rows->n_cells() * setup_.n_data_planes;
  }

  /// Makes the layers of the negative model, in the null stream.
  void take_model(View<const float, 3> model) {
    const Transfer values = transfer(images_, model.data(), model.size());
    uploader_.send({&values, 1});
    uploader_.hold(nullptr);
    launch_negate_model(images_.data(), correction_.data(), n_pixels(), setup_.n_data_planes,
                        predictor_.model_on_device(), nullptr);
    predictor_.begin_pass({0, plan_.n_layers});
    modelled_.record(nullptr);
    modelled_.hold(gridder_.stream());  // the residual comes where the model was
  }

  /// The data less the model, once the gridder's stream gets there, until the next block's.
  const float2* subtract(Kept& kept) {
    if (kept.piece.tables.n_tables == 0) return kept.piece.rows->data.data();
    gridded_.hold(nullptr);
    predictor_.predict_rows(kept.piece, predicted_.data());
    float2* residual = residual_of_block();
    launch_subtract<T>(kept.piece.rows->data.data(), predicted_.data(), n_values_of(kept), residual, nullptr);
    subtracted_.record(nullptr);
    subtracted_.hold(gridder_.stream());
    return residual;
  }

  /// Memory for the residual of a block, in the type that is gridded. In single precision it reuses the
  /// predictions, which are no longer needed.
  float2* residual_of_block() {
    if constexpr (std::is_same_v<T, float>)
      return predicted_.data();
    else
      return residual_.data();
  }

  void begin_sums() {
    gridder_.grids().clear_images();
    gridder_.begin_pass({0, plan_.n_layers});
  }

  void finish_planes(std::size_t first, std::size_t n, const ResidualScale& scale, float blank) {
    launch_finish_image(gridder_.grids().device_images() + first * n_pixels(), correction_.data(), scale,
                        n_pixels(), n, blank, images_.data() + first * n_pixels(), gridder_.stream());
  }

  void fetch(float* image, std::size_t n) {
    finished_.record(gridder_.stream());
    downloader_.expect(images_.data(), n * sizeof(float), finished_);
    downloader_.copy(image);
  }

  int device_;
  IdgPlan plan_;
  IdgSetup setup_;
  BlockGridder<T> gridder_;
  idg_degrid::PiecePredictor<T> predictor_;
  Uploader uploader_;
  Downloader downloader_;
  std::vector<Kept> kept_;
  Upload<double> correction_;       ///< [y][x] 1 over the taper; NaN where there is no sky
  Upload<float> images_;            ///< [plane][y][x] a model, then a residual
  Upload<ComplexOf<T>> predicted_;  ///< [row][chan][plane] of a block; in single precision then its residual
  Upload<float2> residual_;         ///< in double precision
  Event modelled_, gridded_, subtracted_, finished_;
};

}  // namespace

std::unique_ptr<ResidualImager> make_residual_imager(const Device& device, const IdgPlan& plan,
                                                     std::size_t n_planes, unsigned n_threads) {
  const IdgSetup setup{.n_data_planes = n_planes, .n_threads = n_threads};
  if (plan.settings.precision == Precision::single)
    return std::make_unique<CudaResidualImager<float>>(device, plan, setup);
  return std::make_unique<CudaResidualImager<double>>(device, plan, setup);
}

}  // namespace apsyn
