// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/common/cuda/beams/products.cuh"

#include "kernels/common/cuda/attribute.h"
#include "kernels/common/cuda/beams/kernel.cuh"

namespace apsyn::beam_products {

namespace {

int generation(int device_index) {
  return device_attribute(cudaDevAttrComputeCapabilityMajor, device_index);
}

using EncodeTiled = decltype(&cuTensorMapEncodeTiled);

/// Of the driver, which nothing here is linked with.
EncodeTiled encode_tiled() {
  static const EncodeTiled function = [] {
    void* found = nullptr;
    cudaDriverEntryPointQueryResult result{};
#if CUDART_VERSION >= 12050
    cuda_check(
        cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, 12000, cudaEnableDefault, &result),
        "asking the driver for tensor maps");
#else
    cuda_check(cudaGetDriverEntryPoint("cuTensorMapEncodeTiled", &found, cudaEnableDefault, &result),
               "asking the driver for tensor maps");
#endif
    if (result != cudaDriverEntryPointSuccess)
      cuda_check(cudaErrorNotSupported, "asking the driver for tensor maps");
    return reinterpret_cast<EncodeTiled>(found);
  }();
  return function;
}

}  // namespace

CUtensorMap map_of_samples(const Task& task) {
  const Source& source = task.source;
  const cuuint64_t size[3] = {2ull * static_cast<unsigned>(task.layout.n_ant),
                              static_cast<cuuint64_t>(source.first_channel + task.n_channel),
                              static_cast<cuuint64_t>(task.sections.n_spectra)};
  const cuuint64_t stride[2] = {source.channel_stride, source.spectrum_stride};
  const cuuint32_t box[3] = {kRowBytes, 1, kTileColumns}, step[3] = {1, 1, 1};
  CUtensorMap map;
  const CUresult status =
      encode_tiled()(&map, CU_TENSOR_MAP_DATA_TYPE_UINT8, 3, const_cast<void*>(source.data), size, stride,
                     box, step, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                     CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (status != CUDA_SUCCESS) cuda_check(cudaErrorInvalidValue, "describing samples to the device");
  return map;
}

bool supported(int device_index) {
  return generation(device_index) >= 8;
}

void launch(const Task& task, int n_sm, cudaStream_t stream) {
  int device = 0;
  cuda_check(cudaGetDevice(&device), "asking for the device");
  if (generation(device) != 9) return launch_mma(task, n_sm, stream);
  switch (task.product) {
    case Product::voltage:
      return launch_voltage(task, n_sm, stream);
    case Product::power:
      if (task.n_pol == 1) return launch_power_single(task, n_sm, stream);
      if (task.layout.n_pol == 1) return launch_power_shared(task, n_sm, stream);
      return launch_power_own(task, n_sm, stream);
    case Product::coherence:
      return launch_coherence(task, n_sm, stream);
    case Product::quadratic:
      return launch_quadratic(task, n_sm, stream);
  }
}

}  // namespace apsyn::beam_products
