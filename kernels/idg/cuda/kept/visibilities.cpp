// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/idg/cuda/kept/visibilities.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "kernels/idg/cuda/kept/weigh.cuh"
#include "libcore/base/error.h"
#include "libcore/system/parallel.h"

namespace apsyn {
namespace idg_cuda {
namespace {

/// Of the values of a part: as long as the blocks that travel to a GPU, for long tracks.
constexpr std::uint64_t kLongestPartBytes = 2'000'000'000;
/// A part's tables count its visibilities with 31 bits.
constexpr std::uint64_t kMaxCells = 0x7fffffff;

std::uint64_t row_bytes(const GridBlock& block, std::size_t weight_planes) {
  const std::size_t n_chan = block.wavenumber.size(), n_planes = block.weight.extent(2);
  return n_chan * (n_planes * sizeof(float2) + weight_planes * sizeof(float)) + 4 * sizeof(double) +
         2 * sizeof(std::uint32_t);
}

/// Behind what is in the array already.
template <class T>
Transfer transfer_behind(Upload<T>& to, std::size_t n_before, const void* host, std::size_t size) {
  return transfer_bytes(to.data() + n_before, idg::RowBytes(host, size * sizeof(T), 1, nullptr, 0));
}

}  // namespace

DeviceVisibilities::DeviceVisibilities(int device, std::size_t n_planes, std::uint64_t max_bytes,
                                       unsigned n_threads)
    : device_(device),
      n_threads_(n_threads),
      n_planes_(n_planes),
      part_bytes_(std::min(kLongestPartBytes, max_bytes / 16)),
      free_bytes_(max_bytes),
      uploader_(n_threads) {}

DeviceVisibilities::Part* DeviceVisibilities::part_for(const GridBlock& block,
                                                       std::span<const double> wavelength_m) {
  // Windows may alternate: each has a part that is not full.
  for (const auto& part : parts_)
    if (part->rows.n_row < part->max_row && part->rows.weight_planes == weight_planes_ &&
        part->rows.with_path == (block.path_m.size() != 0) &&
        std::equal(part->wavelength_m.begin(), part->wavelength_m.end(), wavelength_m.begin(),
                   wavelength_m.end()))
      return part.get();
  return open(block, wavelength_m);
}

DeviceVisibilities::Part* DeviceVisibilities::open(const GridBlock& block,
                                                   std::span<const double> wavelength_m) {
  const std::uint64_t own_bytes = row_bytes(block, weight_planes_), n_chan = wavelength_m.size(),
                      n_wanted = std::max<std::uint64_t>(block.uvw_m.extent(0), part_bytes_ / own_bytes),
                      n_row = std::min({n_wanted, free_bytes_ / own_bytes, kMaxCells / n_chan});
  if (n_row == 0) return nullptr;
  auto part = std::make_unique<Part>();
  DeviceRows& rows = part->rows;
  part->max_row = n_row;
  part->wavelength_m.assign(wavelength_m.begin(), wavelength_m.end());
  try {
    rows.n_chan = n_chan;
    rows.weight_planes = weight_planes_;
    rows.with_path = block.path_m.size() != 0;
    rows.with_weight = true;
    rows.with_station = block.station.size() != 0;
    rows.uvw.allocate(3 * n_row);
    if (rows.with_path) rows.path.allocate(n_row);
    if (rows.with_station) rows.station.allocate(2 * n_row);
    rows.data.allocate(n_row * n_chan * n_planes_);
    rows.weight.allocate(n_row * n_chan * weight_planes_);
    rows.wavenumber.copy(block.wavenumber.data(), n_chan);
    part->wavelength_there = uploaded(part->wavelength_m);
  } catch (const DeviceError&) {
    return nullptr;
  }
  free_bytes_ -= n_row * own_bytes;
  parts_.push_back(std::move(part));
  return parts_.back().get();
}

bool DeviceVisibilities::append(Part& part, const GridBlock& block) {
  DeviceRows& rows = part.rows;
  const std::size_t n = block.uvw_m.extent(0), before = rows.n_row, n_chan = rows.n_chan;
  // The weights first: they decide whether the rest is copied at all.
  float* weights = rows.weight.data() + before * n_chan * rows.weight_planes;
  const idg::RowBytes from(block.weight.data(), block.weight.size() * sizeof(float), 1, nullptr, 0);
  const Transfer weight = rows.weight_planes == n_planes_ ? transfer_bytes(weights, from)
                                                          : transfer_alike(weights, from, n_planes_);
  if (!uploader_.send({&weight, 1})) return false;
  std::vector<Transfer> all{
      transfer_behind(rows.uvw, 3 * before, block.uvw_m.data(), 3 * n),
      transfer_behind(rows.data, before * n_chan * n_planes_, block.data.data(), n * n_chan * n_planes_)};
  if (rows.with_path) all.push_back(transfer_behind(rows.path, before, block.path_m.data(), n));
  if (rows.with_station)
    all.push_back(transfer_behind(rows.station, 2 * before, block.station.data(), 2 * n));
  uploader_.send(all);
  rows.n_row += n;
  return true;
}

bool DeviceVisibilities::add(const GridBlock& block, std::span<const double> wavelength_m) {
  if (block.data.size() == 0 || block.weight.extent(2) != n_planes_ || block.aterms.jones.size() != 0 ||
      wavelength_m.size() != block.wavenumber.size())
    throw std::invalid_argument(
        "kept visibilities: a block has data, weights of their planes and no A-terms");
  cuda_check(cudaSetDevice(device_), "choosing the device");
  const std::size_t n_row = block.uvw_m.extent(0);
  for (std::size_t first = 0; first < n_row && !full_;) {
    Part* part = part_for(rows_of(block, first, n_row - first), wavelength_m);
    full_ = part == nullptr;
    if (full_) break;
    const std::size_t n = std::min(n_row - first, part->max_row - part->rows.n_row);
    if (append(*part, rows_of(block, first, n))) {
      first += n;
      continue;
    }
    weight_planes_ = n_planes_;  // from here on every plane has its own weights
    if (parts_.back()->rows.n_row == 0) {
      free_bytes_ += parts_.back()->max_row * row_bytes(block, 1);
      parts_.pop_back();
    }
  }
  uploader_.settle();
  if (full_) parts_.clear();
  return !full_;
}

CellSums DeviceVisibilities::sum_cells(const CellGeometry& geometry) {
  cuda_check(cudaSetDevice(device_), "choosing the device");
  uploader_.hold(nullptr);
  CellCounts counts;
  DeviceArray<CellCounts> counts_there(1);
  const auto fetch_counts = [&] {
    cuda_check(cudaMemcpy(&counts, counts_there.data(), sizeof counts, cudaMemcpyDeviceToHost),
               "counting visibilities");
  };
  cuda_check(cudaMemset(counts_there.data(), 0, sizeof counts), "clearing counts");
  for (const auto& part : parts_)
    launch_greatest_weight(part->rows.weight.data(), part->rows.n_cells() * part->rows.weight_planes,
                           &counts_there.data()->greatest_weight, nullptr);
  fetch_counts();
  CellSums result;
  if (!geometry.counts_alone) resize_for_threads(n_threads_, {geometry.n_rows, geometry.n_u}, result.sum);
  const std::size_t n_cells = result.sum.size();
  // Units of which the greatest weight has less than 2^32: 2^31 visibilities fit into 63 bits.
  const int unit_exponent = counts.greatest_weight > 0 ? std::ilogb(counts.greatest_weight) - 31 : 0;
  DeviceArray<unsigned long long> sums(2 * n_cells);
  DeviceArray<double> rounded(n_cells);
  cuda_check(cudaMemset(sums.data(), 0, sums.size() * sizeof(unsigned long long)), "clearing sums");
  const CellGrid grid{nullptr, static_cast<std::uint32_t>(geometry.n_u),
                      static_cast<std::uint32_t>(geometry.n_rows), geometry.cell_rad};
  for (const auto& part : parts_) {
    const DeviceRows& rows = part->rows;
    launch_sum_cells(rows.uvw.data(), part->wavelength_there.data(), rows.n_row,
                     static_cast<std::uint32_t>(rows.n_chan), static_cast<std::uint32_t>(rows.weight_planes),
                     grid, geometry.max_uv_lambda, unit_exponent, rows.weight.data(),
                     geometry.counts_alone ? nullptr : sums.data(), counts_there.data(), nullptr);
  }
  if (n_cells > 0) {
    launch_round_sums(sums.data(), n_cells, unit_exponent, rounded.data(), nullptr);
    cuda_check(
        cudaMemcpy(result.sum.data(), rounded.data(), n_cells * sizeof(double), cudaMemcpyDeviceToHost),
        "fetching sums of weights");
  }
  fetch_counts();
  result.n_visibilities = counts.n_visibilities;
  result.n_beyond = counts.n_beyond;
  result.max_lambda = std::bit_cast<double>(static_cast<std::uint64_t>(counts.max_lambda_bits));
  return result;
}

std::vector<double> DeviceVisibilities::weigh(const CellFactors& factors) {
  cuda_check(cudaSetDevice(device_), "choosing the device");
  const std::size_t n_cells = factors.factor.size();
  Upload<double> exact;
  uploader_.send(std::array{transfer(exact, factors.factor.data(), n_cells)});
  uploader_.hold(nullptr);
  const DeviceArray<float> factor(n_cells);
  launch_round(exact.data(), n_cells, factor.data(), nullptr);
  const CellGrid grid{factor.data(), static_cast<std::uint32_t>(factors.factor.extent(1)),
                      static_cast<std::uint32_t>(factors.factor.extent(0)), factors.cell_rad};
  DeviceArray<double> sums_there(n_planes_ * kWeightSums);
  std::vector<double> sums(sums_there.size()), result(n_planes_, 0);
  uploader_.hold(nullptr);
  for (const auto& part : parts_) {
    const DeviceRows& rows = part->rows;
    launch_weigh(rows.uvw.data(), part->wavelength_there.data(), rows.n_row,
                 static_cast<std::uint32_t>(rows.n_chan), static_cast<std::uint32_t>(rows.weight_planes),
                 grid, rows.weight.data(), sums_there.data(), nullptr);
    cuda_check(cudaMemcpy(sums.data(), sums_there.data(), rows.weight_planes * kWeightSums * sizeof(double),
                          cudaMemcpyDeviceToHost),
               "summing weights");
    for (std::size_t plane = 0; plane < n_planes_; ++plane) {
      const double* of_plane = &sums[(rows.weight_planes == 1 ? 0 : plane) * kWeightSums];
      for (std::size_t i = 0; i < kWeightSums; ++i) result[plane] += of_plane[i];
    }
  }
  cuda_check(cudaDeviceSynchronize(), "weighting visibilities");
  return result;
}

}  // namespace idg_cuda

std::unique_ptr<KeptVisibilities> keep_visibilities(const Device& device, std::size_t n_planes,
                                                    std::uint64_t max_bytes, unsigned n_threads) {
  cuda_check(cudaSetDevice(device.index), "choosing the device");
  return std::make_unique<idg_cuda::DeviceVisibilities>(device.index, n_planes, max_bytes, n_threads);
}

}  // namespace apsyn
