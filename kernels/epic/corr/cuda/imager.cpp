// SPDX-License-Identifier: GPL-3.0-or-later
// `corr` with CUDA: correlates first and images the sums (epic.h). Sums of integer samples are exact.
#include "kernels/epic/corr/corr_cuda.h"

#include <map>
#include <optional>

#include "kernels/common/cuda/pair_sums.cuh"
#include "kernels/epic/corr/cuda/engine.cuh"
#include "kernels/epic/corr/cuda/grid.cuh"
#include "kernels/epic/corr/pair_weights.h"
#include "kernels/epic/cuda/images.cuh"
#include "kernels/epic/cuda/input.cuh"
#include "kernels/epic/dft/cuda/engine.cuh"
#include "kernels/epic/factors.h"

namespace apsyn {
namespace {

using namespace epic_cuda;

constexpr std::size_t kFewestInt8 = 64;  // antennas for which 8 bits stay far below 3e-5

class CudaCorrImager final : public DeviceImager {
 public:
  CudaCorrImager(EpicPlan plan, MakePairSums make_sums, int device_index, CorrMethod method,
                 std::size_t table_bytes, EpicPrecision precision)
      : device_(device_index),
        wanted_(method),
        table_bytes_(table_bytes),
        exact_(precision == EpicPrecision::single),
        plan_((choose_device(), check_epic_plan(plan), std::move(plan))),
        make_sums_(std::move(make_sums)),
        weights_(plan_),
        pair_weights_(plan_),
        sky_(plan_),
        input_(plan_),
        autos_(plan_) {
    std::vector<double2> factors;
    for (std::size_t channel = 0; channel < plan_.n_channel(); ++channel)
      for (std::size_t input = 0; input < plan_.n_ant * plan_.n_pol; ++input) {
        const std::complex<double> g = epic_factor(plan_, input / plan_.n_pol, input % plan_.n_pol, channel);
        factors.push_back({g.real(), g.imag()});
      }
    factors_.copy(factors.data(), factors.size());
  }

  bool takes_codes() const override { return true; }

  void start(const EpicGeometry& geometry) override {
    check_epic_geometry(plan_, geometry);
    choose_device();
    weights_.start();
    pair_weights_.start();
    sky_.apertures().start();
    if (sky_.move_to(geometry, stream_.get())) move(geometry);
    settle_copies();
    if (!engine_->makes_planes()) sky_.clear(stream_.get());
    if (any_added_) collect_sums();  // of an accumulation that was not taken
  }

  void add(const SpectraBlock& block) override {
    check_epic_block(plan_, block);
    choose_device();
    weights_.add(block);
    pair_weights_.add(block);
    sky_.apertures().add(block);
    add(input_.from(block, stream_.get()));
  }

  void add_from(DeviceSpectrumSource& source, std::int64_t first, std::size_t n_spectra) override {
    choose_device();
    validity_.n_spectra = n_spectra;
    const Samples samples = input_.from(source, first, validity_, stream_.get());
    weights_.add(validity_);
    pair_weights_.add(validity_);
    sky_.apertures().add(validity_);
    add(samples);
    input_.done(source, stream_.get());
  }

  bool take_later(EpicImages& images) override;
  void settle() override { copy_.settle(); }
  bool measure(const std::vector<std::vector<std::uint32_t>>& regions) override {
    choose_device();
    copy_.measure(regions);
    settle_copies();
    return true;
  }

 private:
  void choose_device() const { cuda_check(cudaSetDevice(device_), "choosing the device"); }
  std::size_t n_pair() const {
    const std::size_t n_input = plan_.n_ant * plan_.n_pol;
    return n_input * (n_input + 1) / 2;
  }
  PairTask task(int first_channel, int n_channel) const {
    PairTask task;
    if (tiles_)
      task.tiles = *tiles_;
    else
      task.sums = sums_.data() + first_channel * n_pair();
    task.first_tile_channel = first_channel;
    task.factor = factors_.data() + first_channel * plan_.n_ant * plan_.n_pol;
    if (pair_weights_.any())
      task.weights = factors_of_pairs_.data() + first_channel * (plan_.n_ant * (plan_.n_ant - 1) / 2);
    task.n_channel = n_channel;
    task.n_ant = static_cast<int>(plan_.n_ant);
    task.n_pol = static_cast<int>(plan_.n_pol);
    return task;
  }

  bool on_grid(const EpicGeometry& geometry) {
    if (wanted_ != CorrMethod::cheapest) return wanted_ == CorrMethod::grid;
    if (plan_.n_direction > 0 || plan_.n_ant > kMaxGridAnts || !plan_.apertures.empty()) return false;
    return cuda_grid_pairs_s(plan_, geometry, sky_.pixels()) <
           cuda_direct_pairs_s(plan_, sky_.pixels().size(),
                               exact_ ? EpicPrecision::single : EpicPrecision::half,
                               serves_half_pairs(plan_, device_));
  }
  void move(const EpicGeometry& geometry) {
    if (engine_ != nullptr && engine_->serves(geometry)) return engine_->move(geometry, stream_.get());
    const bool grid = on_grid(geometry);
    auto& engine = grid ? grid_ : direct_;
    if (!engine && grid) engine = make_grid_pair_engine(plan_, sky_, device_, table_bytes_);
    if (!engine && serves_half_pairs(plan_, device_))
      engine = make_half_pair_engine(plan_, sky_, exact_, device_);
    if (!engine)
      engine = plan_.n_pol == 2 && plan_.n_ant >= kFewestInt8 && plan_.apertures.empty() &&
                       !plan_.weighting && two_limbs_suffice(plan_) && multiplies_int8(device_)
                   ? make_int8_pair_engine(plan_, sky_, device_)
                   : make_float_pair_engine(plan_, sky_);
    engine_ = engine.get();
    engine_->move(geometry, stream_.get());
  }

  void add(const Samples& samples) {
    // batches of channels have sums of their own, until the accumulation ends
    any_added_ = true;
    auto& stage = stages_[{samples.first_channel, samples.n_channel}];
    const auto n_spectra = static_cast<std::size_t>(samples.n_spectra);
    if (!stage)
      stage = make_sums_(static_cast<std::size_t>(samples.n_channel), plan_.n_ant * plan_.n_pol, device_);
    if (samples.format == SampleFormat::float32)
      stage->add(static_cast<const float2*>(samples.data), samples.channel_stride, n_spectra, stream_.get());
    else
      stage->add({static_cast<const std::uint8_t*>(samples.data), samples.format == SampleFormat::int4},
                 samples.valid, plan_.n_pol, n_spectra, stream_.get());
  }

  /// Whether each channel is in one batch.
  bool batches_are_whole() const {
    int next = 0;
    for (const auto& [channels, stage] : stages_) {
      if (channels.first != next) return false;
      next += channels.second;
    }
    return next == static_cast<int>(plan_.n_channel());
  }
  void collect_sums() {
    const bool add = !batches_are_whole(), one = stages_.size() == 1 && !add;
    tiles_ = one ? stages_.begin()->second->take_tiles() : std::nullopt;
    any_added_ = false;
    if (tiles_) return;
    const std::size_t n = plan_.n_channel() * n_pair();
    sums_.reserve(n);
    if (add)
      cuda_check(cudaMemsetAsync(sums_.data(), 0, n * sizeof(double2), stream_.get()), "clearing sums");
    for (const auto& [channels, stage] : stages_)
      stage->finish(sums_.data() + channels.first * n_pair(), add, stream_.get());
  }

  int device_;
  CorrMethod wanted_;
  std::size_t table_bytes_;
  bool exact_;
  EpicPlan plan_;
  MakePairSums make_sums_;
  EpicWeights weights_;
  PairWeights pair_weights_;
  DeviceSky sky_;
  EpicInput input_;
  DeviceAutos autos_;
  PlaneCopy copy_;
  std::unique_ptr<DevicePairEngine> grid_, direct_;
  DevicePairEngine* engine_ = nullptr;                                     // of the two, for this geometry
  std::map<std::pair<int, int>, std::shared_ptr<DevicePairSums>> stages_;  // of (first channel, channels)
  bool any_added_ = false;                                                 // to them
  std::optional<x_stage::TileSums> tiles_;                                 // sums, where they are in one's
  Upload<double2> sums_;                                                   // [channel][pair], where not
  Upload<double2> factors_;
  Upload<float> factors_of_pairs_;  // [channel][pair]
  Upload<double> powers_;
  SpectraBlock validity_;
  CopyStream stream_;
};

bool CudaCorrImager::take_later(EpicImages& images) {
  choose_device();
  collect_sums();
  if (pair_weights_.finish(sky_.geometry(), weights_)) {
    // images of factors before may still be made
    cuda_check(cudaStreamSynchronize(stream_.get()), "imaging");
    factors_of_pairs_.copy(pair_weights_.factors().data(), pair_weights_.factors().size());
    settle_copies();
  }
  const auto pairs = [&](int first_channel, int n_channel) { return task(first_channel, n_channel); };
  // sums over pairs leave them out
  double* powers = nullptr;
  if (plan_.autos) {
    powers = powers_.reserve(plan_.n_channel() * plan_.n_ant * 4);
    launch_own_sums(task(0, static_cast<int>(plan_.n_channel())), powers, stream_.get());
  }
  if (engine_->makes_planes()) {
    const PlaneTask planes = plane_task(plan_, weights_, sky_, autos_, powers, 1, copy_, stream_.get());
    if (static_cast<std::size_t>(planes.n_pixel) < planes.plane_size || plan_.n_ant < 2)
      launch_clear_planes(planes.planes,
                          static_cast<std::size_t>(planes.n_image * planes.n_plane) * planes.plane_size,
                          stream_.get());
    engine_->image_planes(pairs, planes, stream_.get());
    copy_.send(plan_, weights_, images, stream_.get());
    return true;
  }
  engine_->image(pairs, stream_.get());
  if (plan_.total && !engine_->makes_total())
    launch_total(sky_.sums(), plan_.n_channel() * sky_.n_stride(), stream_.get());
  finish_planes(plan_, weights_, sky_, autos_, powers, 1, copy_, images, stream_.get(),
                engine_->adds_channels());
  return true;
}

}  // namespace

std::unique_ptr<DeviceImager> make_corr_imager_cuda(EpicPlan plan, MakePairSums make_sums, int device_index,
                                                    CorrMethod method, std::size_t table_bytes,
                                                    EpicPrecision precision) {
  return std::make_unique<CudaCorrImager>(std::move(plan), std::move(make_sums), device_index, method,
                                          table_bytes, precision);
}

std::unique_ptr<DeviceImager> make_corr_imager_cuda(EpicPlan plan, MakePairSums make_sums, int device_index) {
  return make_corr_imager_cuda(std::move(plan), std::move(make_sums), device_index, CorrMethod::cheapest);
}

}  // namespace apsyn
