// SPDX-License-Identifier: GPL-3.0-or-later
// Energy that the first GPU has used, through NVML when the machine has it.
#pragma once

#include <dlfcn.h>

#include <cmath>

namespace apsyn {

class NvmlEnergy {
 public:
  NvmlEnergy() {
    library_ = dlopen("libnvidia-ml.so.1", RTLD_NOW);
    if (library_ == nullptr) return;
    const auto init = reinterpret_cast<int (*)()>(dlsym(library_, "nvmlInit_v2"));
    const auto get =
        reinterpret_cast<int (*)(unsigned, void**)>(dlsym(library_, "nvmlDeviceGetHandleByIndex_v2"));
    energy_ = reinterpret_cast<int (*)(void*, unsigned long long*)>(
        dlsym(library_, "nvmlDeviceGetTotalEnergyConsumption"));
    if (init == nullptr || get == nullptr || init() != 0 || get(0, &device_) != 0) energy_ = nullptr;
  }
  NvmlEnergy(const NvmlEnergy&) = delete;
  NvmlEnergy& operator=(const NvmlEnergy&) = delete;
  ~NvmlEnergy() {
    if (library_ != nullptr) dlclose(library_);
  }
  /// NaN without NVML.
  double joules() const {
    unsigned long long millijoules = 0;
    if (energy_ == nullptr || energy_(device_, &millijoules) != 0) return NAN;
    return static_cast<double>(millijoules) * 1e-3;
  }

 private:
  void* library_ = nullptr;
  void* device_ = nullptr;
  int (*energy_)(void*, unsigned long long*) = nullptr;
};

}  // namespace apsyn
