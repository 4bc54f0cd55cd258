// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/system/device.h"

#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <thread>

#include "libcore/base/error.h"

namespace apsyn {
namespace {

std::string first_word(const char* path) {
  std::ifstream file(path);
  std::string word;
  file >> word;
  return word;
}

std::uint64_t parse_limit(const std::string& word) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  return error == std::errc() && end == word.data() + word.size() && value > 0 ? value : UINT64_MAX;
}

Device cpu_device(unsigned n_threads) {
  return {Device::Kind::cpu, 0, fmt::format("cpu ({} thread{})", n_threads, n_threads == 1 ? "" : "s")};
}

}  // namespace

Device choose_device(std::string_view text, CudaSupport support, unsigned n_threads) {
  const bool automatic = text == "auto";
  if (text == "cpu" || (automatic && (support == CudaSupport::none || cuda_device_count() == 0)))
    return cpu_device(n_threads);
  int index = 0;
  if (!automatic && text != "cuda") {
    std::string_view number = text.substr(0, 5) == "cuda:" ? text.substr(5) : std::string_view();
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), index);
    if (number.empty() || error != std::errc() || end != number.data() + number.size() || index < 0)
      throw UsageError("--device {}: must be auto, cpu, cuda or cuda:N", text);
  }
  if (!built_with_cuda())
    throw DeviceError("--device {}: this build has no CUDA: use --device cpu, or build with -DAPSYN_CUDA=ON",
                      text);
  if (support == CudaSupport::none)
    throw DeviceError("--device {}: this operation runs on the CPU only: use --device cpu", text);
  if (index >= cuda_device_count())
    throw DeviceError("--device {}: {} CUDA devices are present: use --device cpu, or check nvidia-smi", text,
                      cuda_device_count());
  return {Device::Kind::cuda, index, fmt::format("cuda:{} ({})", index, cuda_device_name(index))};
}

unsigned available_threads() {
  cpu_set_t set;
  unsigned n = std::max(1u, std::thread::hardware_concurrency());
  if (sched_getaffinity(0, sizeof set, &set) == 0) n = static_cast<unsigned>(std::max(1, CPU_COUNT(&set)));
  std::ifstream quota_file("/sys/fs/cgroup/cpu.max");
  double quota = 0, period = 0;
  if (quota_file >> quota >> period && quota > 0 && period > 0)
    n = std::min(n, static_cast<unsigned>(std::max(1.0, std::ceil(quota / period))));
  return n;
}

std::uint64_t available_memory_bytes() {
  const auto physical =
      static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  return std::min({physical, parse_limit(first_word("/sys/fs/cgroup/memory.max")),
                   parse_limit(first_word("/sys/fs/cgroup/memory/memory.limit_in_bytes"))});
}

std::uint64_t peak_memory_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
}

}  // namespace apsyn
