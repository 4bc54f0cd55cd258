// SPDX-License-Identifier: GPL-3.0-or-later
// Two ways to predict visibilities: degridding a model image, and summing the components of a sky model.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernels/idg/idg.h"
#include "kernels/simulate/components.h"
#include "libcore/array/array_layout.h"
#include "libcore/aterms/screens.h"
#include "libcore/base/units.h"
#include "libcore/base/view.h"
#include "libcore/cli/tool.h"
#include "libcore/formats/fits/model_images.h"
#include "libcore/imaging/prediction_target.h"
#include "libcore/sky/aterms.h"
#include "libcore/sky/sky_model.h"
#include "libcore/system/device.h"
#include "libcore/visibility/stokes.h"
#include "tools/imaging/components/component_sums.h"
#include "tools/imaging/prediction/degrid_passes.h"
#include "tools/imaging/prediction/prediction_options.h"
#include "tools/imaging/rank_share.h"
#include "tools/imaging/w_ranges.h"

namespace apsyn::imaging {

/// The channels to predict, and a survey of the set's visibilities of them.
struct Task {
  std::function<bool(double freq_hz)> wanted;
  double n_visibilities = 0;
  Vec3 max_lambda{};  ///< |u|, |v|, |w|
  WHistogram by_w;
  std::size_t max_block = 0;           ///< visibilities in memory at once
  std::uint64_t block_bytes = 0;       ///< memory of a block
  std::uint64_t blocks_bytes = 0;      ///< memory of two blocks: one in work, one being written or read
  std::uint64_t visibility_bytes = 0;  ///< memory of one visibility
  /// Each of several processes predicts rows of its own, and writes them, if that is as fast.
  bool own_rows = false;

  void make_blocks_small();

  IdgWorkload workload(std::size_t n_planes, const Device& device) const;
};

/// With A-terms the model's planes become all four correlations.
std::size_t predicted_planes(const PredictionOptions& options, const ModelGroup& group);

/// The planes of a prediction through A-terms.
inline const std::vector<std::string> kCorrelationNames{"XX", "XY", "YX", "YY"};

/// Predicts this process's share of the work: its w layers, and its rows of every block.
class Predictor {
 public:
  explicit Predictor(const RankShare& share) : share_(share) {}
  virtual ~Predictor() = default;
  const RankShare& share() const { return share_; }
  virtual std::vector<std::string> planes() const = 0;
  virtual SkyDirection centre() const = 0;
  virtual std::vector<std::string> describe() const;
  /// Passes over the data; each adds the contribution of its layers to the share's rows of `data`
  /// [row][chan][plane].
  virtual std::size_t n_passes() const { return 1; }
  virtual void begin_pass(std::size_t) {}
  virtual void predict(const PredictionBlock& block, View<std::complex<float>, 3> data) = 0;
  /// Memory in addition to the blocks.
  virtual std::uint64_t bytes() const { return 0; }
  /// [product of the target][plane]
  virtual Buffer<std::complex<double>, 2> mix(const PredictionTarget& target) const {
    return products_of_planes(planes(), target.products(), target.path());
  }

 protected:
  RankShare share_;
};

/// Rows [first, first + n) of a block's data.
View<std::complex<float>, 3> rows_of(View<std::complex<float>, 3> data, std::size_t first, std::size_t n);

class ComponentsPredictor final : public Predictor {
 public:
  ComponentsPredictor(const Tool& tool, const PredictionOptions& options, const Device& device,
                      const SkyModel& sky, const PredictionTarget& target, const Task& task);
  std::vector<std::string> planes() const override {
    return aterms_ ? kCorrelationNames : simulate::stokes_of(sky_);
  }
  Buffer<std::complex<double>, 2> mix(const PredictionTarget& target) const override {
    return aterms_ ? products_of_correlations(target.products()) : Predictor::mix(target);
  }
  SkyDirection centre() const override { return centre_; }
  std::vector<std::string> describe() const override;
  void predict(const PredictionBlock& block, View<std::complex<float>, 3> data) override;

  std::uint64_t bytes() const override { return bytes_; }

 private:
  const SkyModel& sky_;
  SkyDirection centre_;
  std::unique_ptr<AtermModel> aterms_;
  ComponentSumsSetup setup_;
  std::uint64_t bytes_ = 0;
  std::vector<double> channel_hz_;  ///< of the sums
  std::unique_ptr<ComponentSums> sums_;
};

class ImagePredictor final : public Predictor {
 public:
  ImagePredictor(const Tool& tool, const PredictionOptions& options, const Device& device,
                 const ModelGroup& group, const PredictionTarget& target, Task& task);
  std::vector<std::string> planes() const override { return screens_ ? kCorrelationNames : group_.names(); }
  Buffer<std::complex<double>, 2> mix(const PredictionTarget& target) const override {
    return screens_ ? products_of_correlations(target.products()) : Predictor::mix(target);
  }
  SkyDirection centre() const override { return group_.centre; }
  std::vector<std::string> describe() const override;
  std::size_t n_passes() const override { return (share_.layers.n + passes_.layers - 1) / passes_.layers; }
  std::uint64_t bytes() const override { return passes_.memory.bytes(passes_.layers); }

  void begin_pass(std::size_t pass) override;
  void predict(const PredictionBlock& block, View<std::complex<float>, 3> data) override;

  /// read_model() of the group, which has been begun; without it, begin_pass() reads the model.
  void take_model(std::future<Buffer<double, 3>> model) { model_ = std::move(model); }

 private:
  /// Makes the degridder take Stokes planes and predict all four correlations.
  void use_aterms(const PredictionOptions& options, const PredictionTarget& target, const Tool& tool,
                  const Task& task);

  std::size_t n_planes() const { return group_.planes.size(); }
  void plan_passes(const Tool& tool, const PredictionOptions& options, Task& task);

  const ModelGroup& group_;
  Device device_;
  IdgPlan plan_;
  IdgSetup setup_;
  std::uint64_t aterm_bytes_ = 0;
  DegridPasses passes_;
  std::unique_ptr<Degridder> degridder_;
  std::unique_ptr<AtermScreens> screens_;
  std::future<Buffer<double, 3>> model_;
  Buffer<double, 1> wavenumber_;
};

}  // namespace apsyn::imaging
