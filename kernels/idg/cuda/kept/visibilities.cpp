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

/// Pieces that a core's cache holds, and that are worth a transfer.
constexpr std::uint64_t kPieceBytes = std::uint64_t{1} << 19;

/// Behind what is in the array already.
template <class T>
Transfer transfer_behind(Upload<T>& to, std::size_t n_before, const void* host, std::size_t size) {
  return transfer_bytes(to.data() + n_before, idg::RowBytes(host, size * sizeof(T), 1, nullptr, 0));
}

/// Whether the weights of each visibility are the same in all planes, the first of which `firsts` gets.
template <std::size_t n_planes>
bool take_firsts(const float* weight, std::size_t n, float* firsts) {
  std::uint32_t differing = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const auto first = std::bit_cast<std::uint32_t>(weight[i * n_planes]);
    for (std::size_t p = 1; p < n_planes; ++p)
      differing |= first ^ std::bit_cast<std::uint32_t>(weight[i * n_planes + p]);
    firsts[i] = weight[i * n_planes];
  }
  return differing == 0;
}
bool take_firsts(const float* weight, std::size_t n, std::size_t n_planes, float* firsts) {
  return n_planes == 2   ? take_firsts<2>(weight, n, firsts)
         : n_planes == 3 ? take_firsts<3>(weight, n, firsts)
                         : take_firsts<4>(weight, n, firsts);
}

}  // namespace

std::uint64_t DeviceVisibilities::row_bytes(const RowShape& rows, std::size_t weight_planes) const {
  return rows.wavenumber.size() * (n_planes_ * sizeof(float2) + weight_planes * sizeof(float)) +
         4 * sizeof(double) + 2 * sizeof(std::uint32_t);
}

DeviceVisibilities::DeviceVisibilities(int device, std::size_t n_planes, std::uint64_t max_bytes,
                                       unsigned n_threads)
    : device_(device),
      n_threads_(n_threads),
      n_planes_(n_planes),
      max_bytes_(max_bytes),
      part_bytes_(std::min(kLongestPartBytes, max_bytes / 16)),
      free_bytes_(max_bytes),
      uploader_(n_threads),
      pieces_(device, n_threads) {}

DeviceVisibilities::Part* DeviceVisibilities::part_for(const RowShape& wanted) {
  // Windows may alternate: each has a part that is not full.
  for (const auto& part : parts_)
    if (part->rows.n_row < part->max_row && part->rows.weight_planes == weight_planes_ &&
        part->rows.with_path == wanted.with_path &&
        std::equal(part->wavelength_m.begin(), part->wavelength_m.end(), wanted.wavelength_m.begin(),
                   wanted.wavelength_m.end()))
      return part.get();
  return open(wanted);
}

DeviceVisibilities::Part* DeviceVisibilities::open(const RowShape& wanted) {
  const std::uint64_t own_bytes = row_bytes(wanted, weight_planes_), n_chan = wanted.wavelength_m.size(),
                      n_wanted = std::max<std::uint64_t>(wanted.n_row, part_bytes_ / own_bytes),
                      n_row = std::min({n_wanted, free_bytes_ / own_bytes, kMaxCells / n_chan});
  if (n_row == 0) return nullptr;
  auto part = std::make_unique<Part>();
  DeviceRows& rows = part->rows;
  part->max_row = n_row;
  part->wavelength_m.assign(wanted.wavelength_m.begin(), wanted.wavelength_m.end());
  try {
    rows.n_chan = n_chan;
    rows.weight_planes = weight_planes_;
    rows.with_path = wanted.with_path;
    rows.with_weight = true;
    rows.with_station = wanted.with_station;
    rows.uvw.allocate(3 * n_row);
    if (rows.with_path) rows.path.allocate(n_row);
    if (rows.with_station) rows.station.allocate(2 * n_row);
    rows.data.allocate(n_row * n_chan * n_planes_);
    rows.weight.allocate(n_row * n_chan * weight_planes_);
    rows.wavenumber.copy(wanted.wavenumber.data(), n_chan);
    part->wavelength_there = uploaded(part->wavelength_m);
  } catch (const DeviceError&) {
    return nullptr;
  }
  free_bytes_ -= n_row * own_bytes;
  std::lock_guard lock(parts_lock_);
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
    const RowShape left{n_row - first, block.wavenumber, wavelength_m, block.path_m.size() != 0,
                        block.station.size() != 0};
    Part* part = part_for(left);
    full_ = part == nullptr;
    if (full_) break;
    const std::size_t n = std::min(n_row - first, part->max_row - part->rows.n_row);
    if (append(*part, rows_of(block, first, n))) {
      first += n;
      continue;
    }
    weight_planes_ = n_planes_;  // from here on every plane has its own weights
    if (parts_.back()->rows.n_row == 0) {
      free_bytes_ += parts_.back()->max_row * row_bytes(left, 1);
      parts_.pop_back();
    }
  }
  uploader_.settle();
  if (full_) parts_.clear();
  return !full_;
}

KeptRows DeviceVisibilities::reserve(std::size_t n_row, View<const double, 1> wavenumber,
                                     std::span<const double> wavelength_m, bool with_path) {
  cuda_check(cudaSetDevice(device_), "choosing the device");
  const std::uint64_t row_bytes = wavelength_m.size() * n_planes_ * (sizeof(float2) + sizeof(float));
  pieces_.reserve(std::max(kPieceBytes, row_bytes));
  KeptRows result;
  for (std::size_t first = 0; first < n_row && !full_;) {
    Part* part = part_for({n_row - first, wavenumber, wavelength_m, with_path, true});
    full_ = part == nullptr;
    if (full_) return {};
    const auto number = static_cast<std::size_t>(
        std::find_if(parts_.begin(), parts_.end(), [&](const auto& each) { return each.get() == part; }) -
        parts_.begin());
    const std::size_t n = std::min(n_row - first, part->max_row - part->rows.n_row);
    result.ranges.push_back({number, part->rows.n_row, first, n});
    part->rows.n_row += n;
    first += n;
  }
  return result;
}

DeviceVisibilities::Part& DeviceVisibilities::part(std::size_t number) {
  std::lock_guard lock(parts_lock_);
  return *parts_[number];
}

bool DeviceVisibilities::take(const KeptRows& rows, std::size_t first, std::size_t n, const Fill& fill) {
  cuda_check(cudaSetDevice(device_), "choosing the device");
  bool alike = true;
  for (const KeptRows::Range& range : rows.ranges) {
    const std::size_t begin = std::max(first, range.first), end = std::min(first + n, range.first + range.n);
    if (begin >= end) continue;
    Part& own = part(range.part);
    const std::size_t row_bytes = own.rows.n_chan * n_planes_ * (sizeof(float2) + sizeof(float));
    for (std::size_t at = begin, n_now = 0; at < end; at += n_now) {
      PieceSender::Piece& piece = pieces_.take();
      n_now = std::min(piece.bytes / row_bytes, end - at);
      try {
        alike = take_piece(own, piece, range.place + (at - range.first), at, n_now, fill) && alike;
      } catch (...) {
        pieces_.give_back(piece);
        throw;
      }
    }
  }
  return alike;
}

bool DeviceVisibilities::take_piece(Part& part, PieceSender::Piece& piece, std::size_t place,
                                    std::size_t first, std::size_t n, const Fill& fill) {
  DeviceRows& rows = part.rows;
  const std::size_t n_cells = n * rows.n_chan, before = place * rows.n_chan,
                    weight_planes = rows.weight_planes;
  bool alike = true;
  auto* data = reinterpret_cast<std::complex<float>*>(piece.memory);
  auto* weight = reinterpret_cast<float*>(data + n_cells * n_planes_);
  if (weight_planes == n_planes_) {
    fill(first, n, data, weight);
  } else {
    thread_local std::vector<float> own;
    own.resize(n_cells * n_planes_);
    fill(first, n, data, own.data());
    alike = take_firsts(own.data(), n_cells, n_planes_, weight);
  }
  pieces_.send(
      piece,
      {PieceSender::Copy{rows.data.data() + before * n_planes_, data, n_cells * n_planes_ * sizeof(float2)},
       {rows.weight.data() + before * weight_planes, weight, n_cells * weight_planes * sizeof(float)}});
  return alike;
}

void DeviceVisibilities::place(const KeptRows& rows, const GridBlock& block) {
  cuda_check(cudaSetDevice(device_), "choosing the device");
  for (const KeptRows::Range& range : rows.ranges) {
    DeviceRows& to = part(range.part).rows;
    std::vector<Transfer> all{
        transfer_behind(to.uvw, 3 * range.place, &block.uvw_m(range.first, 0), 3 * range.n),
        transfer_behind(to.station, 2 * range.place, &block.station(range.first, 0), 2 * range.n)};
    if (to.with_path)
      all.push_back(transfer_behind(to.path, range.place, &block.path_m(range.first), range.n));
    uploader_.send(all);
  }
  uploader_.settle();
}

void DeviceVisibilities::drop(const KeptRows& rows, std::size_t row) {
  for (const KeptRows::Range& range : rows.ranges) {
    if (row < range.first || row >= range.first + range.n) continue;
    DeviceRows& own = part(range.part).rows;
    const std::size_t row_weights = own.n_chan * own.weight_planes;
    pieces_.clear(own.weight.data() + (range.place + row - range.first) * row_weights,
                  row_weights * sizeof(float));
  }
}

void DeviceVisibilities::keep_own_weights() {
  cuda_check(cudaSetDevice(device_), "choosing the device");
  pieces_.settle();
  cuda_check(cudaDeviceSynchronize(), "copying to the device");
  parts_.clear();
  weight_planes_ = n_planes_;
  free_bytes_ = max_bytes_;
  full_ = false;
}

void DeviceVisibilities::hold() {
  uploader_.hold(nullptr);
  pieces_.hold(nullptr);
}

CellSums DeviceVisibilities::sum_cells(const CellGeometry& geometry) {
  cuda_check(cudaSetDevice(device_), "choosing the device");
  hold();
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
  hold();
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

Buffer<double, 2> DeviceVisibilities::sum_slots(std::size_t part, View<const std::uint32_t, 1> slot_of_chan,
                                                std::size_t n_slots) {
  const DeviceRows& rows = parts_[part]->rows;
  if (slot_of_chan.size() != rows.n_chan || std::any_of(slot_of_chan.begin(), slot_of_chan.end(),
                                                        [&](std::uint32_t slot) { return slot >= n_slots; }))
    throw std::invalid_argument("kept visibilities: every channel has a slot, of those that are counted");
  cuda_check(cudaSetDevice(device_), "choosing the device");
  Upload<std::uint32_t> slots;
  slots.copy(slot_of_chan.data(), slot_of_chan.size());
  const DeviceArray<double> sums(rows.n_row * n_slots);
  Buffer<double, 2> result;
  resize_for_threads(n_threads_, {rows.n_row, n_slots}, result);
  launch_sum_slots(rows.weight.data(), rows.n_row, static_cast<std::uint32_t>(rows.n_chan),
                   static_cast<std::uint32_t>(rows.weight_planes), slots.data(),
                   static_cast<std::uint32_t>(n_slots), sums.data(), nullptr);
  cuda_check(cudaMemcpy(result.data(), sums.data(), result.size() * sizeof(double), cudaMemcpyDeviceToHost),
             "fetching sums of weights");
  return result;
}

}  // namespace idg_cuda

std::unique_ptr<KeptVisibilities> keep_visibilities(const Device& device, std::size_t n_planes,
                                                    std::uint64_t max_bytes, unsigned n_threads) {
  cuda_check(cudaSetDevice(device.index), "choosing the device");
  return std::make_unique<idg_cuda::DeviceVisibilities>(device.index, n_planes, max_bytes, n_threads);
}

}  // namespace apsyn
