// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/imaging/device_choice.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <system_error>

#include "libcore/base/error.h"
#include "libcore/system/device_start.h"

namespace apsyn::imaging {
namespace {

/// Size of a file, or of all files in a folder; infinity for anything else.
double bytes_of(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (fs::is_regular_file(path, error)) return static_cast<double>(fs::file_size(path, error));
  if (!fs::is_directory(path, error)) return std::numeric_limits<double>::infinity();
  double sum = 0;
  for (fs::recursive_directory_iterator at(path, error), end; !error && at != end; at.increment(error)) {
    std::error_code unknown;
    if (at->is_regular_file(unknown)) sum += static_cast<double>(at->file_size(unknown));
  }
  return sum;
}

bool may_take_gpu(const Tool& tool, const ImagingWork& work) {
  // A job shorter than this cannot save the time that a GPU takes to start.
  constexpr double kStartSeconds = 0.25;
  return tool.common().device != "auto" || cpu_seconds(work, tool.common().threads) >= kStartSeconds;
}

}  // namespace

double input_bytes(const std::vector<std::string>& inputs) {
  double bytes = 0;
  for (const std::string& input : inputs) bytes += bytes_of(input);
  return bytes;
}

double cpu_seconds(const ImagingWork& work, unsigned n_threads) {
  // One core: 0.3 us for a visibility of four products, which is some 40 bytes of a set; transforms of
  // layers.
  constexpr double kByteSeconds = 8e-9, kPixelSeconds = 1.2e-7;
  return work.n_rounds * (input_bytes(work.inputs) * kByteSeconds + work.n_pixels * kPixelSeconds) /
         n_threads;
}

std::uint64_t max_block_bytes(const Device& device, std::uint64_t on_cpu) {
  if (device.kind == Device::Kind::cpu) return on_cpu;
  constexpr std::uint64_t kLeast = 512'000'000, kMost = 2'000'000'000;
  return std::clamp<std::uint64_t>(cuda_device_memory_bytes(device.index) / 32, kLeast, kMost);
}

Device choose_device(Tool& tool, const ImagingWork& work) {
  return tool.device(may_take_gpu(tool, work) ? CudaSupport::available : CudaSupport::none);
}

EarlyDeviceStart::EarlyDeviceStart(const Tool& tool, const ImagingWork& least, std::size_t n_processes) {
  const CommonOptions& common = tool.common();
  if (!built_with_cuda() || common.dry_run || common.device == "cpu" || tool.ranks().size > 1 ||
      !may_take_gpu(tool, least))
    return;
  const auto start = [wanted = common.device, n_threads = common.threads] {
    try {
      const Device device = apsyn::choose_device(wanted, CudaSupport::available, n_threads);
      if (device.kind == Device::Kind::cuda) start_cuda_device(device.index);
    } catch (const Error&) {  // which comes again when the tool chooses
    }
  };
  hook_.emplace(n_processes, [this, start] {
    try {
      start_ = std::async(std::launch::async, start);
    } catch (const std::system_error&) {  // without a thread it starts when it is used
    }
  });
}

}  // namespace apsyn::imaging
