// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/epic/spectra_pipeline.h"

#include <algorithm>

#include "kernels/common/cuda/spectra.cuh"
#include "kernels/common/cuda/transfer.h"
#include "libcore/base/error.h"

namespace apsyn {
namespace {

class DevicePipeline final : public SpectraPipeline {
 public:
  DevicePipeline(std::shared_ptr<DeviceSpectrumSource> source, std::unique_ptr<DeviceImager> imager,
                 MakeDeviceImager make_imager)
      : source_(std::move(source)), imager_(std::move(imager)), make_imager_(std::move(make_imager)) {}

  DirectImager& imager() override { return *imager_; }
  void replace_imager(EpicPlan plan) override {
    imager_.reset();  // the next one needs its memory
    imager_ = make_imager_(std::move(plan));
  }
  std::size_t append(const VoltageBlock& block, std::size_t first) override {
    return source_->append(block, first);
  }
  std::function<void()> taken() override { return source_->taken(); }
  void end_of_stream() override { source_->end_of_stream(); }
  std::int64_t ready(std::int64_t next, std::int64_t left, bool at_end) const override {
    const std::int64_t held = source_->available() - next;
    const std::int64_t wanted = std::min(left, static_cast<std::int64_t>(source_->max_spectra()));
    if (held >= wanted) return wanted;
    const auto good = static_cast<std::int64_t>(source_->good_spectra());
    return std::max<std::int64_t>(0, at_end ? held : held / good * good);
  }
  void add(std::int64_t first, std::size_t n_spectra) override {
    imager_->add_from(*source_, first, n_spectra);
  }
  void release(std::int64_t spectrum) override { source_->release(spectrum); }
  std::shared_ptr<void> pin(void* memory, std::size_t bytes) override { return pin_memory(memory, bytes); }

 private:
  std::shared_ptr<DeviceSpectrumSource> source_;
  std::unique_ptr<DeviceImager> imager_;
  MakeDeviceImager make_imager_;
};

}  // namespace

std::unique_ptr<SpectraPipeline> make_device_pipeline(std::shared_ptr<DeviceSpectrumSource> source,
                                                      std::unique_ptr<DeviceImager> imager,
                                                      MakeDeviceImager make_imager) {
  return std::make_unique<DevicePipeline>(std::move(source), std::move(imager), std::move(make_imager));
}

}  // namespace apsyn
