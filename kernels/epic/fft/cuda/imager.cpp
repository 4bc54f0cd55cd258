// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/epic/fft/fft_cuda.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>
#include <stdexcept>

#include "kernels/epic/autos.h"
#include "kernels/epic/cuda/apertures.cuh"
#include "kernels/epic/cuda/images.cuh"
#include "kernels/epic/cuda/input.cuh"
#include "kernels/epic/fft/cuda/engine.cuh"
#include "kernels/epic/fft/cuda/finisher.cuh"
#include "kernels/epic/fft/cuda/off_grid_pairs.cuh"
#include "kernels/epic/fft/cuda/steps.cuh"
#include "kernels/epic/sky_pixels.h"
#include "kernels/epic/weights.h"
#include "libcore/base/error.h"
#include "libcore/system/device.h"

namespace apsyn {

namespace {

using namespace epic_fft;

class FftCudaImager final : public DeviceImager {
 public:
  FftCudaImager(EpicPlan plan, int device_index, EpicPrecision precision, FftVariant variant)
      : plan_(std::move(plan)),
        device_(device_index),
        precision_(precision),
        variant_(variant),
        n_pol_(fft_values(plan_) == 1 ? 1 : 2),
        weights_(plan_),
        apertures_(plan_),
        off_grid_(plan_),
        input_(plan_),
        powers_(plan_.autos ? 0 : plan_.n_channel() * plan_.n_ant * 4) {}

  bool takes_codes() const override { return true; }
  void start(const EpicGeometry& geometry) override;
  void add(const SpectraBlock& block) override;
  void add_from(DeviceSpectrumSource& source, std::int64_t first, std::size_t n_spectra) override;
  bool take_later(EpicImages& images) override;
  void settle() override { copy_.settle(); }

 private:
  void select() const { cuda_check(cudaSetDevice(device_), "choosing the device"); }
  void choose_engine(bool integers);
  void add_samples(const epic_cuda::Samples& samples);

  EpicPlan plan_;
  int device_;
  EpicPrecision precision_;
  FftVariant variant_;
  std::size_t n_pol_;
  CopyStream stream_;
  EpicWeights weights_;
  epic_cuda::DeviceApertures apertures_;
  DeviceOffGridPairs off_grid_;
  epic_cuda::EpicInput input_;
  epic_cuda::PlaneCopy copy_;
  EpicGeometry planned_for_, geometry_;
  std::optional<FftGridded> gridded_;
  std::unique_ptr<FftEngine> engines_[2];  // for integers, and for the rest
  FftEngine* engine_ = nullptr;            // of this accumulation, from its first spectra on
  std::optional<Finisher> finisher_;
  bool factors_made_ = false;
  Upload<float2> factor_;       // [channel][ant][pol]
  DeviceArray<double> powers_;  // [channel][ant][4], without g
};

void FftCudaImager::start(const EpicGeometry& geometry) {
  if (geometry.enu_m.size() != plan_.n_ant || geometry.delay_s.size() != plan_.n_ant)
    throw std::logic_error("DirectImager: one position and delay for each antenna");
  select();
  const bool same = gridded_ && same_geometry(geometry, geometry_);
  const bool is_served = gridded_ && serves(gridded_->grid, plan_, planned_for_, geometry);
  const bool is_turned = is_served && geometry.axes != geometry_.axes;
  // The host works out where pixels lie while the device still images the last accumulation, whose tables it
  // replaces only then.
  if (is_turned) gridded_->finish.aim(plan_, geometry);
  SkyPixels pixels;
  const bool places_pixels = (apertures_.any() || off_grid_.any()) && !same;
  if (places_pixels) pixels = sky_pixels(plan_, geometry);
  if (gridded_ && !same) cuda_check(cudaStreamSynchronize(stream_.get()), "imaging");
  if (!is_served) {
    check_apertures(plan_, geometry);
    finisher_.reset();
    for (auto& engine : engines_) engine.reset();
    gridded_.emplace(plan_, geometry);
    planned_for_ = geometry;
    factors_made_ = false;
    finisher_.emplace(plan_, *gridded_);
  } else if (is_turned) {
    finisher_->aim(gridded_->finish);
  }
  if (places_pixels) {
    apertures_.look(pixels);
    off_grid_.aim(geometry, pixels);
  }
  if (!factors_made_ || geometry.delay_s != geometry_.delay_s) {
    const auto factors = fft_factors(plan_, geometry, gridded_->grid);
    factor_.copy(factors.data(), factors.size());
    factors_made_ = true;
  }
  geometry_ = geometry;
  cuda_check(cudaStreamSynchronize(nullptr), "copying tables");  // stream_ does not wait for it by itself
  engine_ = nullptr;
  if (powers_.size() > 0)
    cuda_check(cudaMemsetAsync(powers_.data(), 0, powers_.size() * sizeof(double), stream_.get()),
               "clearing powers");
  off_grid_.start(stream_.get());
  weights_.start();
  apertures_.start();
}

void FftCudaImager::add(const SpectraBlock& block) {
  if (!gridded_) throw std::logic_error("DirectImager: add() before start()");
  check_epic_block(plan_, block);
  select();
  weights_.add(block);
  apertures_.add(block);
  add_samples(input_.from(block, stream_.get()));
}

void FftCudaImager::add_from(DeviceSpectrumSource& source, std::int64_t first, std::size_t n_spectra) {
  if (!gridded_) throw std::logic_error("DirectImager: add_from() before start()");
  select();
  SpectraBlock validity;
  validity.n_chan = plan_.n_chan;
  validity.n_fine = plan_.n_fine;
  validity.n_spectra = n_spectra;
  const epic_cuda::Samples samples = input_.from(source, first, validity, stream_.get());
  weights_.add(validity);
  apertures_.add(validity);
  add_samples(samples);
  input_.done(source, stream_.get());
}

void FftCudaImager::choose_engine(bool integers) {
  const EpicPrecision precision = integers ? precision_ : EpicPrecision::single;
  auto& engine = engines_[integers ? 0 : 1];
  if (engine_ != nullptr && engine_ != engine.get())
    throw std::logic_error("DirectImager: integers and other spectra in an accumulation");
  if (variant_ == FftVariant::automatic && integers && !engine)
    engine = make_matrix_engine(plan_, *gridded_, precision, device_);
  if (variant_ != FftVariant::staged && !engine) {
    engine = make_fused_engine(plan_, *gridded_, precision, device_);
    // what half precision cannot
    if (!engine && precision == EpicPrecision::half)
      engine = make_fused_engine(plan_, *gridded_, EpicPrecision::single, device_);
  }
  if (!engine) engine = make_staged_engine(plan_, *gridded_);
  cuda_check(cudaStreamSynchronize(nullptr), "copying tables");  // stream_ does not wait for it by itself
  if (engine_ == nullptr) engine->start(stream_.get());
  engine_ = engine.get();
}

/// |E| of a format; 0 = any.
double largest_of(epic_cuda::SampleFormat format) {
  switch (format) {
    case epic_cuda::SampleFormat::int4:
      return 8 * std::numbers::sqrt2;
    case epic_cuda::SampleFormat::int8:
      return 128 * std::numbers::sqrt2;
    case epic_cuda::SampleFormat::float32:
      break;
  }
  return 0;
}

void FftCudaImager::add_samples(const epic_cuda::Samples& samples) {
  if (samples.n_spectra == 0) return;
  const double largest = largest_of(samples.format);
  choose_engine(largest > 0);
  if (powers_.size() > 0) epic_cuda::launch_powers(samples, powers_.data(), stream_.get());
  off_grid_.add(samples, stream_.get());
  engine_->add(
      {samples, factor_.data(), static_cast<int>(fft_first_pol(plan_)), static_cast<int>(n_pol_), largest},
      stream_.get());
}

bool FftCudaImager::take_later(EpicImages& images) {
  if (!gridded_) throw std::logic_error("DirectImager: take() before start()");
  select();
  if (engine_ == nullptr) choose_engine(false);  // of nothing
  const double* scales = copy_.scales(plan_, weights_, stream_.get());
  float* planes =
      copy_.planes(plan_.n_image_channel() * plan_.n_plane() * plan_.ny * plan_.nx, stream_.get());
  finisher_->run(engine_->collect(stream_.get()), powers_.data(), scales, planes, stream_.get());
  off_grid_.image(scales, apertures_, planes, stream_.get());
  apertures_.scale(weights_, planes, stream_.get());
  copy_.send(plan_, weights_, images, stream_.get());
  return true;
}

}  // namespace

std::unique_ptr<DeviceImager> make_fft_imager_cuda(EpicPlan plan, int device_index, EpicPrecision precision,
                                                   FftVariant variant) {
  check_fft_plan(plan);
  if (device_index < 0 || device_index >= cuda_device_count())
    throw DeviceError("cuda:{}: there is no such device", device_index);
  cuda_check(cudaSetDevice(device_index), "choosing the device");
  return std::make_unique<FftCudaImager>(std::move(plan), device_index, precision, variant);
}

namespace {

constexpr std::size_t kPreparedBytes = std::size_t{256} << 20;  ///< of samples between kernels

}  // namespace

void PreparedEngine::add(const EngineSpectra& spectra, cudaStream_t stream) {
  const epic_cuda::Samples& samples = spectra.samples;
  const std::size_t spectrum =
      static_cast<std::size_t>(samples.n_channel) * static_cast<std::size_t>(samples.n_ant * spectra.n_pol);
  const auto n_spectra = static_cast<std::size_t>(samples.n_spectra);
  const std::size_t most = std::max<std::size_t>(1, kPreparedBytes / (spectrum * sizeof(float2)));
  const std::size_t n_piece = (n_spectra + most - 1) / most, piece = (n_spectra + n_piece - 1) / n_piece;
  PrepareTask task;
  task.samples = samples;
  task.factor = spectra.factor;
  task.first_pol = spectra.first_pol;
  task.n_pol = spectra.n_pol;
  task.out = prepared_.reserve(piece * spectrum);
  for (std::size_t first = 0; first < n_spectra; first += piece) {
    task.first = static_cast<int>(first);
    task.n = static_cast<int>(std::min(piece, n_spectra - first));
    launch_prepare(task, stream);
    add_prepared({task.out, samples.first_channel, samples.n_channel, task.n, spectra.largest}, stream);
  }
}

}  // namespace apsyn
