// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/calibrate/image_model.h"

#include <algorithm>
#include <utility>

#include "libcore/base/error.h"
#include "libcore/formats/fits/model_images.h"
#include "libcore/imaging/blocks.h"
#include "libcore/imaging/prediction_target.h"
#include "libcore/system/program_memory.h"
#include "tools/imaging/prediction/prediction.h"
#include "tools/imaging/prediction/predictors.h"

namespace apsyn::calibrate {
namespace {

/// The channels of one image, or of several Stokes parameters of one frequency.
struct Part {
  imaging::Task task;
  std::unique_ptr<imaging::ImagePredictor> predictor;
  Buffer<std::complex<double>, 2> mix;  ///< [product][plane]
  bool begun = false;                   ///< its images have been transformed
};

class ImageModelSource final : public ModelSource {
 public:
  ImageModelSource(Tool& tool, const Options& options, const VisibilityInput& input)
      : info_(input.info()),
        groups_(find_models(options.models)),
        target_(info_.path, selection_of(options, "")) {
    settings_.imaging = options.selection;
    settings_.imaging.column.clear();
    const Device device = tool.device(CudaSupport::available);
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      Part part;
      part.task.wanted = [this, g](double hz) { return choose_model(groups_, hz).group == g; };
      part.task.block_bytes = std::clamp<std::uint64_t>(memory_for_data(tool.common().max_memory_bytes) / 8,
                                                        1'000'000, 64'000'000);
      part.task.visibility_bytes =
          sizeof(std::complex<float>) * (groups_[g].planes.size() + info_.products.size());
      part.task.max_block = part.task.block_bytes / part.task.visibility_bytes;
      imaging::survey(target_, groups_[g].centre, tool.common().threads, part.task);
      if (part.task.n_visibilities == 0) continue;
      part.task.blocks_bytes = part.task.block_bytes;
      part.predictor =
          std::make_unique<imaging::ImagePredictor>(tool, settings_, device, groups_[g], target_, part.task);
      if (part.predictor->n_passes() > 1)
        throw UsageError(
            "--max-memory {}: the layers of {} do not fit at once: allow more, or write the model into a "
            "column with idg-degrid",
            format_bytes(static_cast<double>(tool.common().max_memory_bytes)), groups_[g].planes[0].path);
      part.mix = part.predictor->mix(target_);
      bytes_ += part.predictor->bytes();
      parts_.push_back(std::move(part));
    }
    if (parts_.empty()) throw FailureError("{}: no usable data: no channel has a model", info_.path);
  }

  std::string describe() const override {
    return fmt::format("model: {} image{}, {} x {} pixels", groups_.size(), groups_.size() == 1 ? "" : "s",
                       groups_[0].n_x, groups_[0].n_y);
  }
  std::size_t n_planes() const override { return info_.products.size(); }
  SumKind jones_kind() const override {
    const bool intensity = settings_.imaging.aterms.empty() &&
                           std::all_of(groups_.begin(), groups_.end(), [](const ModelGroup& group) {
                             return group.names() == std::vector<std::string>{"I"};
                           });
    return intensity ? SumKind::jones_unpolarised : SumKind::jones_general;
  }
  std::uint64_t bytes() const override { return bytes_; }

  void predict(const InputBlock& block, unsigned n_threads, Buffer<std::complex<float>, 3>& model) override {
    const MsRows& rows = block.rows;
    const std::vector<double>& channel_hz = info_.windows[static_cast<std::size_t>(rows.spw)].channel_hz;
    const std::size_t n_row = rows.ant1.size();
    model.resize({n_row, channel_hz.size(), n_planes()});
    for (Part& part : parts_) {
      PredictionBlock at;
      for (std::size_t chan = 0; chan < channel_hz.size(); ++chan)
        if (part.task.wanted(channel_hz[chan])) at.channels.push_back(chan);
      if (at.channels.empty()) continue;
      at.at.channel_hz.resize({at.channels.size()});
      for (std::size_t i = 0; i < at.channels.size(); ++i) at.at.channel_hz(i) = channel_hz[at.channels[i]];
      move_to_centre(rows, info_.fields, part.predictor->centre(), at.at, n_threads);
      at.at.station.resize({n_row, 2});
      for (std::size_t row = 0; row < n_row; ++row) {
        at.at.station(row, 0) = static_cast<std::uint32_t>(rows.ant1[row]);
        at.at.station(row, 1) = static_cast<std::uint32_t>(rows.ant2[row]);
      }
      at.at.time_mjd_s = rows.time_mjd_s;
      if (!std::exchange(part.begun, true)) part.predictor->begin_pass(0);
      planes_.resize({n_row, at.channels.size(), part.predictor->planes().size()});
      part.predictor->predict(at, planes_);
      mix(part, at.channels, model);
    }
  }

 private:
  void mix(const Part& part, const std::vector<std::size_t>& channels,
           Buffer<std::complex<float>, 3>& model) const {
    const std::size_t n_planes = planes_.extent(2);
    for (std::size_t row = 0; row < model.extent(0); ++row)
      for (std::size_t i = 0; i < channels.size(); ++i)
        for (std::size_t product = 0; product < model.extent(2); ++product) {
          std::complex<double> sum = 0;
          for (std::size_t plane = 0; plane < n_planes; ++plane)
            sum += part.mix(product, plane) * std::complex<double>(planes_(row, i, plane));
          model(row, channels[i], product) = std::complex<float>(sum);
        }
  }

  const InputInfo& info_;
  std::vector<ModelGroup> groups_;
  PredictionTarget target_;
  imaging::PredictionOptions settings_;
  std::vector<Part> parts_;
  std::uint64_t bytes_ = 0;
  Buffer<std::complex<float>, 3> planes_;  ///< [row][chan][plane] of one part
};

}  // namespace

std::unique_ptr<ModelSource> open_image_model(Tool& tool, const Options& options, VisibilityInput& input) {
  if (input.info().is_stream)
    throw UsageError("{}: model images are predicted for Measurement Sets: give a sky model with --sky",
                     options.input());
  return std::make_unique<ImageModelSource>(tool, options, input);
}

}  // namespace apsyn::calibrate
