// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <cmath>
#include <optional>

#include "kernels/common/cuda/fft.h"
#include "kernels/epic/fft/cuda/staged/staged_lists.cuh"
#include "kernels/epic/fft/cuda/steps.cuh"
#include "kernels/epic/field/cuda/engine.cuh"
#include "kernels/epic/field/cuda/tasks.cuh"
#include "kernels/epic/field/grid.h"

namespace apsyn::epic_cuda {
namespace {

using namespace epic_fft;

static_assert(kFieldTaps == FftFinish::kTaps);
constexpr std::size_t kPlaneBytes = std::size_t{256} << 20;  ///< of planes that are transformed together

class FieldFftEngine final : public DeviceFieldEngine {
 public:
  explicit FieldFftEngine(const EpicPlan& plan) : plan_(plan), grid_(plan) {}
  Buffer<std::complex<float>, 2> aim(const EpicGeometry& geometry, const SkyPixels& pixels) override;
  void image(const float2* samples, int first_channel, int n_channel, float2* fields,
             cudaStream_t stream) override;

 private:
  int n_pol() const { return static_cast<int>(fft_values(plan_)); }
  void make_grid();
  void upload_pixels(const SkyPixels& pixels);
  void image_some(const float2* samples, int first_channel, int n_channel, float2* fields,
                  cudaStream_t stream);

  const EpicPlan& plan_;
  FieldGrid grid_;
  std::size_t n_pixel_ = 0;
  StagedTask shape_;
  std::vector<StagedChannel> channels_;
  Upload<StagedCell> cells_;
  Upload<StagedEntry> entries_;
  Upload<FieldPixel> pixels_;
  Upload<float> taps_;
  Upload<double> origins_;
  int at_once_ = 1;  ///< channels
  std::optional<CudaFft2d> fft_;
  DeviceArray<float2> planes_;
  FieldPixelTask looks_;
};

Buffer<std::complex<float>, 2> FieldFftEngine::aim(const EpicGeometry& geometry, const SkyPixels& pixels) {
  if (grid_.aim(geometry, pixels)) make_grid();
  upload_pixels(pixels);
  return fft_factors(plan_, geometry, grid_.gridded().grid);
}

void FieldFftEngine::make_grid() {
  const FftGridded& gridded = grid_.gridded();
  const std::size_t n_x = grid_.fine() * gridded.grid.x.n, n_y = grid_.fine() * gridded.grid.y.n;
  const auto n_pol = static_cast<std::size_t>(this->n_pol());
  shape_ = {};
  shape_.n_ant = static_cast<int>(plan_.n_ant);
  shape_.n_pol = this->n_pol();
  shape_.n_spectra = 1;
  shape_.plane_size = n_x * n_y;
  looks_.length_x = static_cast<int>(n_x);
  looks_.length_y = static_cast<int>(n_y);
  StagedLists lists = staged_lists(
      gridded, n_x, [&](std::size_t row, std::size_t column) { return grid_.correction(row, column); });
  shape_.cells = cells_.copy(lists.cells.data(), lists.cells.size());
  shape_.entries = entries_.copy(lists.entries.data(), lists.entries.size());
  channels_ = std::move(lists.channels);
  at_once_ = static_cast<int>(std::clamp<std::size_t>(
      kPlaneBytes / (shape_.plane_size * n_pol * sizeof(float2)), 1, plan_.n_channel()));
  const std::size_t n_plane = static_cast<std::size_t>(at_once_) * n_pol;
  fft_.reset();
  planes_ = DeviceArray<float2>();  // give back before asking for more
  planes_ = DeviceArray<float2>(n_plane * shape_.plane_size);
  fft_.emplace(static_cast<int>(n_y), static_cast<int>(n_x), static_cast<int>(n_plane), CUFFT_C2C);
  std::vector<double> origins;
  for (std::size_t channel = 0; channel < plan_.n_channel(); ++channel)
    for (const double value : grid_.origin(channel)) origins.push_back(value);
  origins_.copy(origins.data(), origins.size());
}

void FieldFftEngine::upload_pixels(const SkyPixels& pixels) {
  const FftGridded& gridded = grid_.gridded();
  const FftFinish& finish = gridded.finish;
  const bool resampled = gridded.grid.resampled;
  n_pixel_ = pixels.size();
  std::vector<FieldPixel> look;
  std::vector<float> taps;
  for (std::size_t pixel = 0; pixel < n_pixel_; ++pixel) {
    const std::uint32_t place = grid_.place()[pixel];
    const FinishPixel& at = finish.sky()[place];
    FieldPixel& to = look.emplace_back();
    for (std::size_t axis = 0; axis < 3; ++axis) to.unit[axis] = pixels.unit(pixel, axis);
    to.column = resampled ? at.column : static_cast<std::uint32_t>(finish.bins_x()[at.column]);
    to.row = resampled ? at.row : static_cast<std::uint32_t>(finish.bins_y()[at.row]);
    to.factor = static_cast<float>(std::sqrt(at.factor));
    if (!resampled) continue;
    const double* from = finish.taps().data() + std::size_t{place} * 2 * kFieldTaps;
    for (int tap = 0; tap < 2 * kFieldTaps; ++tap) taps.push_back(static_cast<float>(from[tap]));
  }
  looks_.pixels = pixels_.copy(look.data(), look.size());
  looks_.taps = taps_.copy(taps.data(), taps.size());
  looks_.n_pixel = static_cast<int>(n_pixel_);
}

void FieldFftEngine::image(const float2* samples, int first_channel, int n_channel, float2* fields,
                           cudaStream_t stream) {
  fft_->use(stream);
  const std::size_t spectrum = plan_.n_ant * static_cast<std::size_t>(n_pol());
  const std::size_t image = n_pixel_ * static_cast<std::size_t>(n_pol());
  for (int done = 0; done < n_channel; done += at_once_)
    image_some(samples + static_cast<std::size_t>(done) * spectrum, first_channel + done,
               std::min(at_once_, n_channel - done), fields + static_cast<std::size_t>(done) * image, stream);
}

void FieldFftEngine::image_some(const float2* samples, int first_channel, int n_channel, float2* fields,
                                cudaStream_t stream) {
  cuda_check(cudaMemsetAsync(planes_.data(), 0, planes_.size() * sizeof(float2), stream), "clearing planes");
  for (int i = 0; i < n_channel; ++i) {
    const StagedChannel& channel = channels_[static_cast<std::size_t>(first_channel + i)];
    const auto n_pol = static_cast<std::size_t>(shape_.n_pol), at = static_cast<std::size_t>(i) * n_pol;
    StagedTask task = shape_;
    task.cells += channel.first_cell;
    task.n_cell = static_cast<int>(channel.n_cell);
    task.samples = samples + at * plan_.n_ant;
    task.planes = planes_.data() + at * shape_.plane_size;
    launch_staged_gather(task, stream);
  }
  fft_->execute(planes_.data(), CUFFT_FORWARD);
  FieldPixelTask task = looks_;
  task.planes = planes_.data();
  task.n_channel = n_channel;
  task.n_pol = shape_.n_pol;
  task.origin = origins_.data() + 3 * static_cast<std::size_t>(first_channel);
  task.fields = fields;
  launch_field_pixels(task, stream);
}

}  // namespace

std::unique_ptr<DeviceFieldEngine> make_field_fft_engine(const EpicPlan& plan) {
  return std::make_unique<FieldFftEngine>(plan);
}

}  // namespace apsyn::epic_cuda
