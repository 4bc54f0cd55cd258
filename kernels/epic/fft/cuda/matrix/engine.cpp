// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <cmath>
#include <utility>

#include "kernels/common/cuda/attribute.h"
#include "kernels/common/cuda/transfer.h"
#include "kernels/epic/fft/cuda/engine.cuh"
#include "kernels/epic/fft/cuda/matrix/plan.h"
#include "kernels/epic/fft/cuda/sums.cuh"
#include "libcore/system/parallel.h"

namespace apsyn::epic_fft {
namespace {

struct Launch {
  int n_buffer = 1;  ///< for columns
  int n_group = 1;   ///< of spectra that a block grids
  int n_part = 1;    ///< blocks that share the spectra
};

class MatrixEngine final : public FftEngine {
 public:
  MatrixEngine(const EpicPlan& plan, const FftGridded& gridded, MatrixPlan matrix, Launch launch);
  void start(cudaStream_t stream) override {
    sums_.clear(stream);
    version_ = 0;
  }
  void add(const EngineSpectra& spectra, cudaStream_t stream) override;
  const double* collect(cudaStream_t stream) override { return sums_.collect(stream); }

 private:
  void upload_lists(const EpicPlan& plan, const FftGridded& gridded);
  void launch_images(const ImageGridsTask& task, cudaStream_t stream) const;

  MatrixPlan matrix_;
  Launch launch_;
  int version_ = 0;           // of the next spectra
  std::size_t n_weight_ = 0;  // of a version
  DeviceArray<uint4> weights_;
  Upload<uint4> row_table_;
  Upload<uint2> column_table_;
  Upload<float> channel_scale_;
  Upload<std::uint16_t> antennas_;
  Upload<std::uint32_t> steps_;
  DeviceArray<std::uint32_t> grids_;
  FftImageSums sums_;
};

FftImageSums sums_of(const EpicPlan& plan, const FftFinish& finish, const MatrixPlan& matrix, int n_part) {
  return {plan,
          finish,
          {static_cast<int>(matrix.n_piece()), n_part, matrix.piece_sums()},
          [&](std::size_t column, std::size_t row, std::size_t value) {
            return matrix.place_of(finish.bins_x()[column], finish.bins_y()[row], value);
          }};
}

MatrixEngine::MatrixEngine(const EpicPlan& plan, const FftGridded& gridded, MatrixPlan matrix, Launch launch)
    : matrix_(std::move(matrix)),
      launch_(launch),
      sums_(sums_of(plan, gridded.finish, matrix_, launch.n_part)) {
  row_table_.copy(matrix_.row_table.data(), matrix_.row_table.size());
  column_table_.copy(matrix_.column_table.data(), matrix_.column_table.size());
  channel_scale_.copy(matrix_.channel_scale.data(), matrix_.channel_scale.size());
  upload_lists(plan, gridded);
}

void MatrixEngine::upload_lists(const EpicPlan& plan, const FftGridded& gridded) {
  std::vector<TileLists> lists(plan.n_channel());
  parallel_for(plan.n_threads, lists.size(), [&](std::size_t i, unsigned) {
    lists[i] = make_tile_lists(gridded.lists[i], matrix_, plan.n_ant);
  });
  std::size_t n_step = 1;  // what is read ahead of the last one
  for (const TileLists& list : lists) n_step += list.antennas.size() / 16;
  const std::size_t of_step = static_cast<std::size_t>(matrix_.size.n_part) * 64;
  n_weight_ = n_step * of_step;
  const int n_version = versions_of(matrix_.size.n_part);
  weights_ = DeviceArray<uint4>(static_cast<std::size_t>(n_version) * n_weight_);
  std::vector<std::uint32_t> steps;
  std::vector<std::uint16_t> antennas;
  for (const TileLists& list : lists) {
    const std::size_t before = antennas.size() / 16;
    for (const std::uint32_t step : list.steps) steps.push_back(static_cast<std::uint32_t>(before) + step);
    antennas.insert(antennas.end(), list.antennas.begin(), list.antennas.end());
    for (int version = 0; version < n_version; ++version) {
      const std::vector<uint4>& weights = list.weights[version];
      cuda_check(
          cudaMemcpy(weights_.data() + static_cast<std::size_t>(version) * n_weight_ + before * of_step,
                     weights.data(), weights.size() * sizeof(uint4), cudaMemcpyHostToDevice),
          "copying weights");
    }
  }
  steps.push_back(static_cast<std::uint32_t>(n_step - 1));
  for (int version = 1; version <= n_version; ++version)
    cuda_check(cudaMemset(weights_.data() + static_cast<std::size_t>(version) * n_weight_ - of_step, 0,
                          of_step * sizeof(uint4)),
               "clearing weights");
  antennas.resize(n_step * 16, 0);
  steps_.copy(steps.data(), steps.size());
  antennas_.copy(antennas.data(), antennas.size());
}

void MatrixEngine::launch_images(const ImageGridsTask& task, cudaStream_t stream) const {
  switch (matrix_.size.steps_y) {
    case 1:
      return launch_image_grids_1(task, matrix_.size, stream);
    case 2:
      return launch_image_grids_2(task, matrix_.size, stream);
    default:
      return launch_image_grids_3(task, matrix_.size, stream);
  }
}

void MatrixEngine::add(const EngineSpectra& spectra, cudaStream_t stream) {
  const epic_cuda::Samples& samples = spectra.samples;
  const std::size_t words = static_cast<std::size_t>(samples.n_channel * grid_words(matrix_.size));
  const auto n_spectra = static_cast<std::size_t>(samples.n_spectra);
  const int n_version = versions_of(matrix_.size.n_part);
  const std::size_t each = spectra_of_launch(n_spectra, words, n_version);
  if (grids_.size() < each * words) {
    cuda_check(cudaStreamSynchronize(stream), "imaging");
    grids_ = DeviceArray<std::uint32_t>();  // give back before asking for more
    grids_ = DeviceArray<std::uint32_t>(each * words);
    // cells that no antenna reaches are never written
    cuda_check(cudaMemsetAsync(grids_.data(), 0, grids_.size() * 4, stream), "clearing cells");
  }
  ImageGridsTask images;
  GridCellsTask cells;
  cells.factor = spectra.factor;
  cells.n_group = launch_.n_group;
  cells.quads_x = matrix_.quads_x;
  cells.quads_y = matrix_.quads_y;
  cells.scale = std::exp2(-std::ceil(static_cast<float>(std::log2(spectra.largest))));
  cells.channel_scale = images.channel_scale = channel_scale_.data();
  cells.steps = steps_.data();
  cells.antennas = antennas_.data();
  cells.grids = grids_.data();
  images.n_channel = samples.n_channel;
  images.first_channel = samples.first_channel;
  images.n_part = launch_.n_part;
  images.n_buffer = launch_.n_buffer;
  images.pieces_x = matrix_.pieces_x;
  images.pairs_x = static_cast<int>(matrix_.bins_x.pairs);
  images.pieces_y = matrix_.pieces_y;
  images.scale = cells.scale * matrix_.weight_scale;
  images.grids = grids_.data();
  images.sums = sums_.data();
  for (std::size_t first = 0; first < n_spectra; first += each) {
    images.n_spectra = static_cast<int>(std::min(each, n_spectra - first));
    cells.samples = some_spectra(samples, static_cast<int>(first), images.n_spectra);
    const auto version = static_cast<std::size_t>(std::exchange(version_, (version_ + 1) % n_version));
    const auto of_version = [&](const auto& table) {
      return version * (table.size() / static_cast<std::size_t>(n_version));
    };
    cells.weights = weights_.data() + version * n_weight_;
    images.row_table = row_table_.data() + of_version(matrix_.row_table);
    images.column_table = column_table_.data() + of_version(matrix_.column_table);
    launch_grid_cells(cells, matrix_.size, stream);
    launch_images(images, stream);
  }
}

}  // namespace

std::unique_ptr<FftEngine> make_matrix_engine(const EpicPlan& plan, const FftGridded& gridded,
                                              EpicPrecision precision, int device_index) {
  if (device_attribute(cudaDevAttrComputeCapabilityMajor, device_index) < 8) return nullptr;
  const auto most =
      static_cast<std::size_t>(device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, device_index));
  auto matrix = plan_matrix(plan, gridded, precision == EpicPrecision::half ? 1 : 2, most);
  if (!matrix) return nullptr;
  Launch launch;
  launch.n_buffer = matrix_buffers(matrix->size, most);
  const auto group_bytes = grid_cells_shared_bytes(matrix->size, static_cast<int>(plan.n_ant), 1);
  if (group_bytes > most) return nullptr;
  launch.n_group = group_bytes <= most / 6 ? 2 : 1;
  launch.n_part =
      matrix->n_part(plan.n_channel(), device_attribute(cudaDevAttrMultiProcessorCount, device_index));
  return std::make_unique<MatrixEngine>(plan, gridded, std::move(*matrix), launch);
}

}  // namespace apsyn::epic_fft
