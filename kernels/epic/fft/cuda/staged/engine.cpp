// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <optional>

#include "kernels/common/cuda/fft.h"
#include "kernels/common/cuda/transfer.h"
#include "kernels/epic/fft/cuda/engine.cuh"
#include "kernels/epic/fft/cuda/staged/staged_lists.cuh"
#include "kernels/epic/fft/cuda/sums.cuh"

namespace apsyn::epic_fft {
namespace {

constexpr std::size_t kPlaneBytes = std::size_t{256} << 20;  ///< of planes that are transformed together

class StagedEngine final : public PreparedEngine {
 public:
  StagedEngine(const EpicPlan& plan, const FftGridded& gridded);
  void start(cudaStream_t stream) override { sums_.clear(stream); }
  const double* collect(cudaStream_t stream) override { return sums_.collect(stream); }

 private:
  void add_prepared(const PreparedSpectra& spectra, cudaStream_t stream) override;
  void upload_lists(const FftGridded& gridded);
  void upload_pixels(const FftGridded& gridded);
  void add_channel(StagedTask task, cudaStream_t stream);

  StagedTask shape_;
  std::vector<StagedChannel> channels_;
  std::size_t at_once_ = 1;  ///< spectra
  Upload<StagedCell> cells_;
  Upload<StagedEntry> entries_;
  Upload<std::uint32_t> positions_;
  std::optional<CudaFft2d> fft_;
  DeviceArray<float2> planes_;
  FftImageSums sums_;  // [channel][value][pixel]
};

FftImageSums sums_of(const EpicPlan& plan, const FftFinish& finish) {
  const std::size_t n_row = finish.pixels().n_row(), n_pixel = finish.bins_x().size() * n_row;
  return {plan,
          finish,
          {1, 1, n_pixel * fft_values(plan)},
          [&](std::size_t column, std::size_t row, std::size_t value) {
            return value * n_pixel + column * n_row + row;
          }};
}

StagedEngine::StagedEngine(const EpicPlan& plan, const FftGridded& gridded)
    : sums_(sums_of(plan, gridded.finish)) {
  shape_.n_value = static_cast<int>(fft_values(plan));
  shape_.n_pol = shape_.n_value == 1 ? 1 : 2;
  shape_.n_ant = static_cast<int>(plan.n_ant);
  shape_.plane_size = gridded.grid.x.n * gridded.grid.y.n;
  const auto n_pol = static_cast<std::size_t>(shape_.n_pol);
  at_once_ = std::clamp<std::size_t>(kPlaneBytes / (shape_.plane_size * n_pol * sizeof(float2)), 1, 512);
  fft_.emplace(static_cast<int>(gridded.grid.y.n), static_cast<int>(gridded.grid.x.n),
               static_cast<int>(at_once_ * n_pol), CUFFT_C2C);
  planes_ = DeviceArray<float2>(at_once_ * n_pol * shape_.plane_size);
  upload_lists(gridded);
  upload_pixels(gridded);
}

void StagedEngine::upload_lists(const FftGridded& gridded) {
  StagedLists lists = staged_lists(gridded, gridded.grid.x.n);
  shape_.cells = cells_.copy(lists.cells.data(), lists.cells.size());
  shape_.entries = entries_.copy(lists.entries.data(), lists.entries.size());
  channels_ = std::move(lists.channels);
}

void StagedEngine::upload_pixels(const FftGridded& gridded) {
  const FftFinish& finish = gridded.finish;
  const std::size_t n_row = finish.pixels().n_row();
  std::vector<std::uint32_t> positions;
  for (const std::size_t bin_x : finish.bins_x())
    for (std::size_t row = 0; row < n_row; ++row) {
      // rows that fill up are never looked at
      const std::size_t bin_y = row < finish.bins_y().size() ? finish.bins_y()[row] : 0;
      positions.push_back(static_cast<std::uint32_t>(bin_y * gridded.grid.x.n + bin_x));
    }
  shape_.n_pixel = positions.size();
  shape_.pixels = positions_.copy(positions.data(), positions.size());
}

void StagedEngine::add_prepared(const PreparedSpectra& spectra, cudaStream_t stream) {
  fft_->use(stream);
  const std::size_t spectrum = static_cast<std::size_t>(shape_.n_ant * shape_.n_pol);
  const auto n_spectra = static_cast<std::size_t>(spectra.n_spectra);
  for (std::size_t i = 0; i < static_cast<std::size_t>(spectra.n_channel); ++i) {
    const std::size_t channel = static_cast<std::size_t>(spectra.first_channel) + i;
    StagedTask task = shape_;
    task.cells += channels_[channel].first_cell;
    task.n_cell = static_cast<int>(channels_[channel].n_cell);
    task.planes = planes_.data();
    task.sums = sums_.data() + channel * shape_.n_pixel * static_cast<std::size_t>(shape_.n_value);
    for (std::size_t first = 0; first < n_spectra; first += at_once_) {
      task.samples = spectra.samples + (i * n_spectra + first) * spectrum;
      task.n_spectra = static_cast<int>(std::min(at_once_, n_spectra - first));
      add_channel(task, stream);
    }
  }
}

void StagedEngine::add_channel(StagedTask task, cudaStream_t stream) {
  cuda_check(cudaMemsetAsync(planes_.data(), 0, planes_.size() * sizeof(float2), stream), "clearing planes");
  launch_staged_gather(task, stream);
  fft_->execute(planes_.data(), CUFFT_FORWARD);
  launch_staged_products(task, stream);
}

}  // namespace

std::unique_ptr<FftEngine> make_staged_engine(const EpicPlan& plan, const FftGridded& gridded) {
  return std::make_unique<StagedEngine>(plan, gridded);
}

StagedLists staged_lists(const FftGridded& gridded, std::size_t n_x,
                         const std::function<double(std::size_t, std::size_t)>& factor) {
  StagedLists out;
  for (const GridLists& lists : gridded.lists) {
    out.channels.push_back({out.cells.size(), lists.cells.size() - 1});
    for (std::size_t row = 0; row < lists.rows.size(); ++row)
      for (std::size_t i = lists.row_begin[row]; i < lists.row_begin[row + 1]; ++i) {
        const GridCell& cell = lists.cells[i];
        out.cells.push_back({static_cast<std::uint32_t>(lists.rows[row] * n_x + cell.column),
                             static_cast<std::uint32_t>(out.entries.size())});
        const auto by = static_cast<float>(factor(lists.rows[row], cell.column));
        for (std::size_t e = cell.begin; e < lists.cells[i + 1].begin; ++e) {
          const GridEntry& entry = lists.entries[e];
          out.entries.push_back({entry.ant, {by * entry.re, by * entry.im}});
        }
      }
    out.cells.push_back({0, static_cast<std::uint32_t>(out.entries.size())});
  }
  return out;
}

}  // namespace apsyn::epic_fft
