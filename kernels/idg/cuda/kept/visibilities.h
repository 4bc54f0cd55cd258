// SPDX-License-Identifier: GPL-3.0-or-later
// Rows of many blocks in arrays on the device, part by part. For host code with CUDA only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "kernels/idg/cuda/block.h"
#include "kernels/idg/cuda/transfer/piece_sender.h"
#include "kernels/idg/kept_visibilities.h"

namespace apsyn::idg_cuda {

class DeviceVisibilities final : public KeptVisibilities {
 public:
  DeviceVisibilities(int device, std::size_t n_planes, std::uint64_t max_bytes, unsigned n_threads);

  bool add(const GridBlock& block, std::span<const double> wavelength_m) override;
  KeptRows reserve(std::size_t n_row, View<const double, 1> wavenumber, std::span<const double> wavelength_m,
                   bool with_path) override;
  bool take(const KeptRows& rows, std::size_t first, std::size_t n, const Fill& fill) override;
  void place(const KeptRows& rows, const GridBlock& block) override;
  void drop(const KeptRows& rows, std::size_t row) override;
  void keep_own_weights() override;
  CellSums sum_cells(const CellGeometry& geometry) override;
  std::vector<double> weigh(const CellFactors& factors) override;
  std::size_t n_parts() const override { return parts_.size(); }
  std::uint64_t n_visibilities(std::size_t part) const override { return parts_[part]->rows.n_cells(); }
  std::size_t n_rows(std::size_t part) const override { return parts_[part]->rows.n_row; }
  Buffer<double, 2> sum_slots(std::size_t part, View<const std::uint32_t, 1> slot_of_chan,
                              std::size_t n_slots) override;
  const DeviceRows& rows(std::size_t part) const { return parts_[part]->rows; }

 private:
  struct Part {
    DeviceRows rows;  ///< n_row of max_row so far
    std::size_t max_row = 0;
    std::vector<double> wavelength_m;  ///< [chan]
    DeviceArray<double> wavelength_there;
  };

  /// Rows that a part is wanted for.
  struct RowShape {
    std::size_t n_row = 0;
    View<const double, 1> wavenumber;
    std::span<const double> wavelength_m;
    bool with_path = false, with_station = false;
  };
  std::uint64_t row_bytes(const RowShape& rows, std::size_t weight_planes) const;
  /// The part with room for such rows; null if there is none, and no memory for one.
  Part* part_for(const RowShape& rows);
  Part* open(const RowShape& rows);
  /// Copies rows behind those of the part; false if its one plane of weights does not suffice for them.
  bool append(Part& part, const GridBlock& rows);
  Part& part(std::size_t number);
  /// Work given to the default stream from now on sees everything that was added.
  void hold();
  /// Fills a piece with n rows.
  bool take_piece(Part& part, PieceSender::Piece& piece, std::size_t place, std::size_t first, std::size_t n,
                  const Fill& fill);

  int device_;
  unsigned n_threads_;
  std::size_t n_planes_;
  std::uint64_t max_bytes_, part_bytes_, free_bytes_;  ///< allowed; of these a part's, and what is left
  std::size_t weight_planes_ = 1;
  bool full_ = false;
  Uploader uploader_;
  std::mutex parts_lock_;  ///< of the list: a part stays where it is
  std::vector<std::unique_ptr<Part>> parts_;
  PieceSender pieces_;
};

}  // namespace apsyn::idg_cuda
