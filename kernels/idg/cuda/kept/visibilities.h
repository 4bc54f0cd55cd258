// SPDX-License-Identifier: GPL-3.0-or-later
// Rows of many blocks in arrays on the device, part by part. For host code with CUDA only.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "kernels/idg/cuda/block.h"
#include "kernels/idg/kept_visibilities.h"

namespace apsyn::idg_cuda {

class DeviceVisibilities final : public KeptVisibilities {
 public:
  DeviceVisibilities(int device, std::size_t n_planes, std::uint64_t max_bytes, unsigned n_threads);

  bool add(const GridBlock& block, std::span<const double> wavelength_m) override;
  CellSums sum_cells(const CellGeometry& geometry) override;
  std::vector<double> weigh(const CellFactors& factors) override;
  std::size_t n_parts() const override { return parts_.size(); }
  std::uint64_t n_visibilities(std::size_t part) const override { return parts_[part]->rows.n_cells(); }
  const DeviceRows& rows(std::size_t part) const { return parts_[part]->rows; }

 private:
  struct Part {
    DeviceRows rows;  ///< n_row of max_row so far
    std::size_t max_row = 0;
    std::vector<double> wavelength_m;  ///< [chan]
    DeviceArray<double> wavelength_there;
  };

  /// The part with room for rows like the block's; null if there is none, and no memory for one.
  Part* part_for(const GridBlock& block, std::span<const double> wavelength_m);
  Part* open(const GridBlock& block, std::span<const double> wavelength_m);
  /// Copies rows behind those of the part; false if its one plane of weights does not suffice for them.
  bool append(Part& part, const GridBlock& rows);

  int device_;
  unsigned n_threads_;
  std::size_t n_planes_;
  std::uint64_t part_bytes_, free_bytes_;  ///< of what is allowed: a part's, and what is left
  std::size_t weight_planes_ = 1;
  bool full_ = false;
  Uploader uploader_;
  std::vector<std::unique_ptr<Part>> parts_;
};

}  // namespace apsyn::idg_cuda
