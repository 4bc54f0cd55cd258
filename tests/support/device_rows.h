// SPDX-License-Identifier: GPL-3.0-or-later
// A block cut on the device, for tests of what is made of it.
#pragma once

#include <vector>

#include "kernels/idg/cuda/block.h"
#include "kernels/idg/partition/sub_tables.h"

namespace apsyn::support {

template <class T>
std::vector<T> download(const T* from, std::size_t n) {
  std::vector<T> to(n);
  cuda_check(cudaMemcpy(to.data(), from, n * sizeof(T), cudaMemcpyDeviceToHost), "reading back");
  return to;
}

struct CutBlock {
  CopyStream stream;
  idg_cuda::Uploader uploader{2};
  idg::DeviceCutter cutter{stream.get()};
  idg_cuda::DeviceRows rows;
  idg::DeviceTables tables;
  bool folds_apart = false;

  bool cut(const IdgPlan& plan, const GridBlock& block, const LayerRange& layers) {
    rows.copy_geometry(uploader, block, stream.get());
    return cutter.cut(idg::cut_limits(plan, layers, folds_apart), rows.cut_input(), tables);
  }
};

}  // namespace apsyn::support
