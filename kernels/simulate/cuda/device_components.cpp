// SPDX-License-Identifier: GPL-3.0-or-later
// Sums of components through a GPU: coordinates of a call's rows go there, kernels sum parts of the rows, and
// results come back in pinned pieces while the next part is summed. Matrices of stations are made by the
// caller in pinned batches, one while the former is on its way.
#include "kernels/simulate/device_components.h"

#include <algorithm>
#include <array>
#include <optional>
#include <stdexcept>
#include <vector>

#include "kernels/common/cuda/pinned_ring.h"
#include "kernels/common/cuda/transfer.h"
#include "kernels/common/free_memory.h"
#include "kernels/simulate/cuda/phased.cuh"
#include "kernels/simulate/cuda/sums.cuh"
#include "kernels/simulate/phased_tables.h"
#include "kernels/simulate/term_tables.h"
#include "libcore/base/error.h"
#include "libcore/system/device.h"
#include "libcore/system/parallel.h"

namespace apsyn::simulate {
namespace {

constexpr std::size_t kPieceBytes = 8'000'000;         ///< of results on their way
constexpr std::size_t kMatrixPieceBytes = 32'000'000;  ///< of matrices on their way
constexpr std::size_t kMaxSumBytes = 512'000'000;      ///< of results on the device
/// Rows that are summed at once: enough threads for the device, and few enough that results of the first are
/// on their way while the last are summed.
constexpr std::size_t kLeastRows = 8192, kLeastRowsThrough = 32768;
/// Rows times runs through matrices that are summed at once where more matrices are to come: four times what
/// a large device holds.
constexpr std::size_t kLeastThreads = 1 << 18;
constexpr std::size_t kMaxParts = 8;

/// Two pinned pieces, of which one is filled or emptied while the other travels.
class PinnedPair {
 public:
  std::byte* reserve(std::size_t bytes, std::size_t which, unsigned n_threads) {
    if (bytes > bytes_) {
      bytes_ = 0;
      pieces_ = {};
      for (PinnedRing& piece : pieces_) piece = PinnedRing(bytes, n_threads);
      bytes_ = bytes;
    }
    return pieces_[which].get();
  }

 private:
  std::array<PinnedRing, 2> pieces_;
  std::size_t bytes_ = 0;
};

class Engine final : public DeviceComponents {
 public:
  Engine(const SkyModel& sky, const DeviceComponentsSetup& setup)
      : setup_(setup), tables_(make_term_tables(sky, setup.centre, setup.channel_hz, setup.through)) {
    components_ = uploaded(tables_.components);
    runs_ = uploaded(tables_.runs);
    exponent_ = uploaded(tables_.exponent);
    stokes_ = uploaded(tables_.stokes);
    brightness_ = uploaded(tables_.brightness);
    std::vector<TermFluxes>().swap(tables_.stokes);
    std::vector<float>().swap(tables_.brightness);
  }

  ~Engine() override {
    cudaSetDevice(setup_.device_index);  // this thread may be another than that of the last call
    cudaDeviceSynchronize();             // after an error copies may be on their way
  }

  std::size_t n_planes() const override { return tables_.n_planes; }

  void place(std::span<const ComponentPlace> places) override {
    if (places.size() != tables_.components.size())
      throw std::invalid_argument("DeviceComponents: places of other components");
    for (std::size_t c = 0; c < places.size(); ++c) tables_.components[c] = term_component(places[c]);
    cuda_check(cudaSetDevice(setup_.device_index), "choosing the device");
    cuda_check(cudaMemcpyAsync(components_.data(), tables_.components.data(),
                               tables_.components.size() * sizeof(TermComponent), cudaMemcpyHostToDevice,
                               compute_.get()),
               "copying components to the device");
  }

  void predict(View<const double, 2> uvw_m, View<const double, 1> path_m,
               View<std::complex<float>, 3> data) override {
    check(uvw_m, path_m, data, false);
    sum(uvw_m, path_m, {}, nullptr, data);
  }

  void predict_through(View<const double, 2> uvw_m, View<const double, 1> path_m,
                       View<const std::uint32_t, 2> station, const StationMatrices& matrices,
                       View<std::complex<float>, 3> data) override {
    check(uvw_m, path_m, data, true);
    if (station.shape() != std::array<std::size_t, 2>{uvw_m.extent(0), 2})
      throw std::invalid_argument("DeviceComponents: shapes disagree");
    for (const std::uint32_t of_row : station)
      if (of_row >= matrices.n_stations)
        throw std::invalid_argument("DeviceComponents: a row of a station that has no matrices");
    sum(uvw_m, path_m, station, &matrices, data);
  }

 private:
  void check(View<const double, 2> uvw_m, View<const double, 1> path_m, View<std::complex<float>, 3> data,
             bool through) const {
    const std::size_t n_rows = uvw_m.extent(0);
    if (through != setup_.through || uvw_m.extent(1) != 3 ||
        (path_m.size() != 0 && path_m.size() != n_rows) ||
        data.shape() != std::array<std::size_t, 3>{n_rows, tables_.n_chan, tables_.n_planes})
      throw std::invalid_argument("DeviceComponents: shapes disagree");
  }

  void sum(View<const double, 2> uvw_m, View<const double, 1> path_m, View<const std::uint32_t, 2> station,
           const StationMatrices* matrices, View<std::complex<float>, 3> data) {
    if (data.size() == 0) return;
    if (tables_.components.empty()) return std::fill(data.begin(), data.end(), std::complex<float>());
    cuda_check(cudaSetDevice(setup_.device_index), "choosing the device");
    if (matrices != nullptr) plan_matrices(*matrices);
    const std::size_t n_values = tables_.n_chan * tables_.n_planes;
    const std::size_t at_once =
        std::max<std::size_t>(1, kMaxSumBytes / (n_values * sizeof(std::complex<float>)));
    for (std::size_t first = 0; first < data.extent(0); first += at_once) {
      const std::size_t n = std::min(at_once, data.extent(0) - first);
      const auto rows_of = [&](auto view) {
        using Rows = decltype(view);
        if (view.size() == 0) return Rows();
        auto shape = view.shape();
        const std::size_t stride = view.size() / shape[0];
        shape[0] = n;
        return Rows(view.data() + first * stride, shape);
      };
      start_parts(rows_of(uvw_m), rows_of(path_m), rows_of(station));
      sum_parts(matrices);
      fetch(rows_of(data));
    }
  }

  // ---- rows ----

  struct Part {
    std::size_t first = 0, n = 0, n_tiled = 0;
    std::size_t first_tile = 0, n_tiles = 0;
    Event summed;
  };

  void start_parts(View<const double, 2> uvw_m, View<const double, 1> path_m,
                   View<const std::uint32_t, 2> station) {
    const std::size_t n_rows = uvw_m.extent(0);
    const std::size_t at_once =
        std::max(setup_.through ? kLeastRowsThrough : kLeastRows, (n_rows + kMaxParts - 1) / kMaxParts);
    parts_.clear();
    host_tiles_.clear();
    host_rows_.resize(n_rows);
    for (std::size_t first = 0; first < n_rows; first += at_once) {
      Part& part = parts_.emplace_back();
      part.first = first;
      part.n = std::min(at_once, n_rows - first);
      const RowOrder order = order_rows(uvw_m, path_m, station, first, part.n, host_rows_.data() + first);
      part.n_tiled = order.n_tiled;
      part.first_tile = host_tiles_.size();
      part.n_tiles = order.tiles.size();
      host_tiles_.insert(host_tiles_.end(), order.tiles.begin(), order.tiles.end());
    }
    cuda_check(cudaMemcpyAsync(rows_.reserve(n_rows), host_rows_.data(), n_rows * sizeof(TermRow),
                               cudaMemcpyHostToDevice, compute_.get()),
               "copying coordinates to the device");
    if (!host_tiles_.empty())
      cuda_check(
          cudaMemcpyAsync(tiles_.reserve(host_tiles_.size()), host_tiles_.data(),
                          host_tiles_.size() * sizeof(TermTile), cudaMemcpyHostToDevice, compute_.get()),
          "copying tiles of rows to the device");
    sums_.reserve(n_rows * tables_.n_chan * tables_.n_planes);
  }

  SumTask task_of(const Part& part) const {
    SumTask task;
    task.table = {components_.data(),
                  runs_.data(),
                  exponent_.data(),
                  stokes_.data(),
                  static_cast<std::uint32_t>(tables_.components.size()),
                  static_cast<std::uint32_t>(tables_.runs.size()),
                  static_cast<std::uint32_t>(tables_.n_chan)};
    task.rows = rows_.data() + part.first;
    task.n_rows = part.n;
    task.n_tiled = part.n_tiled;
    task.tiles = tiles_.data() + part.first_tile;
    task.n_tiles = part.n_tiles;
    task.run_length = static_cast<unsigned>(tables_.run_length);
    task.n_planes = static_cast<unsigned>(tables_.n_planes);
    task.sums = sums_.data();
    return task;
  }

  void sum_parts(const StationMatrices* matrices) {
    if (matrices == nullptr) {
      for (Part& part : parts_) {
        launch_sums(task_of(part), compute_.get());
        part.summed.record(compute_.get());
      }
      return;
    }
    const bool are_there = is_resident_ && slot_ == matrices->slot;
    slot_.reset();  // until all have arrived
    std::size_t n_rows = 0;
    for (const Part& part : parts_) n_rows += part.n;
    for (std::size_t b = 0, first = 0; b < batches_.size(); ++b) {
      if (!are_there) bring(*matrices, b);
      const bool is_last = b + 1 == batches_.size();
      const std::size_t first_run = batches_[first].first_run,
                        n_runs = batches_[b].first_run + batches_[b].n_runs - first_run;
      if (is_resident_ && !is_last && (are_there || n_rows * n_runs < kLeastThreads)) continue;
      const TermBatches ready{on_device_.data() + first, static_cast<std::uint32_t>(b + 1 - first),
                              static_cast<std::uint32_t>(first_run), static_cast<std::uint32_t>(n_runs)};
      for (Part& part : parts_) {
        launch_sums_through(task_of(part), ready, compute_.get());
        if (is_last) part.summed.record(compute_.get());
      }
      if (!is_resident_) used_[b % 2].record(compute_.get());
      first = b + 1;
    }
    if (is_resident_) slot_ = matrices->slot;
  }

  /// Copies the results of all parts into `data`, one piece while the next travels.
  void fetch(View<std::complex<float>, 3> data) {
    const std::size_t n_values = tables_.n_chan * tables_.n_planes;
    const std::size_t row_bytes = n_values * sizeof(std::complex<float>);
    const std::size_t at_once = std::max<std::size_t>(1, kPieceBytes / row_bytes);
    struct Piece {
      std::size_t first = 0, n = 0;
    };
    std::array<Piece, 2> on_way{};
    const auto take = [&](std::size_t which) {
      Piece& piece = on_way[which];
      if (piece.n == 0) return;
      copied_[which].wait();
      copy_out(pinned_[which], reinterpret_cast<std::byte*>(data.data()) + piece.first * row_bytes,
               piece.n * row_bytes);
      piece.n = 0;
    };
    std::size_t which = 0;
    const std::size_t piece_bytes = std::min(at_once, data.extent(0)) * row_bytes;
    for (std::size_t i = 0; i < 2; ++i) pinned_[i] = results_.reserve(piece_bytes, i, setup_.n_threads);
    for (Part& part : parts_) {
      part.summed.hold(copy_.get());
      for (std::size_t first = part.first; first < part.first + part.n; first += at_once, which = 1 - which) {
        take(which);
        on_way[which] = {first, std::min(at_once, part.first + part.n - first)};
        cuda_check(cudaMemcpyAsync(pinned_[which], sums_.data() + first * n_values,
                                   on_way[which].n * row_bytes, cudaMemcpyDeviceToHost, copy_.get()),
                   "copying visibilities from the device");
        copied_[which].record(copy_.get());
      }
    }
    take(which);
    take(1 - which);
  }

  void copy_out(const std::byte* from, std::byte* to, std::size_t bytes) const {
    constexpr std::size_t kShare = 1 << 20;
    parallel_for(setup_.n_threads, (bytes + kShare - 1) / kShare, [&](std::size_t share, unsigned) {
      const std::size_t first = share * kShare;
      std::copy_n(from + first, std::min(kShare, bytes - first), to + first);
    });
  }

  // ---- matrices ----

  /// Divides the matrices into batches, and sees whether those of a slot may stay on the device.
  void plan_matrices(const StationMatrices& matrices) {
    if (n_stations_ == matrices.n_stations && phased_ == matrices.phased) return;
    n_stations_ = matrices.n_stations;
    plan_phased(matrices.phased);
    slot_.reset();
    batches_ = matrix_batches(tables_, n_stations_, kMatrixPieceBytes / sizeof(TermMatrix));
    first_.clear();
    std::size_t all = 0, largest = 0;
    piece_bytes_ = 0;
    for (const MatrixBatch& batch : batches_) {
      first_.push_back(all);
      all += batch.size(n_stations_);
      largest = std::max(largest, batch.size(n_stations_));
      piece_bytes_ = std::max(piece_bytes_, bytes_of(batch));
    }
    const std::uint64_t limit = setup_.max_device_bytes > 0 ? setup_.max_device_bytes
                                                            : cuda_free_memory_bytes(setup_.device_index) / 2;
    is_resident_ = 2 * sizeof(TermMatrix) * all <= limit;
    if (!is_resident_)
      for (std::size_t b = 0; b < batches_.size(); ++b) first_[b] = b % 2 * largest;
    const std::size_t n = is_resident_ ? all : 2 * largest;
    jones_.allocate(n);
    seen_.allocate(n);
    std::vector<TermMatrices> on_device;
    for (std::size_t b = 0; b < batches_.size(); ++b) on_device.push_back(matrices_of(b));
    on_device_ = uploaded(on_device);
    for (Upload<TermMatrix>& piece : arrived_) piece.allocate(largest);
    if (phased_ != nullptr)
      for (Upload<std::byte>& piece : phased_arrived_) piece.allocate(piece_bytes_);
  }

  void plan_phased(const PhasedBeams* beams) {
    phased_ = beams;
    if (beams == nullptr) return;
    if (beams->stations.size() != n_stations_)
      throw std::invalid_argument("DeviceComponents: beams of other stations");
    const PhasedTables tables = make_phased_tables(*beams);
    phased_positions_ = uploaded(tables.positions_m);
    phased_fields_ = uploaded(tables.fields);
    phased_first_ = uploaded(tables.first_field);
  }

  PhasedLayout layout_of(const MatrixBatch& batch) const {
    return PhasedLayout(batch.n_components, phased_->frames.size(), n_stations_);
  }
  /// What travels of a batch.
  std::size_t bytes_of(const MatrixBatch& batch) const {
    return phased_ == nullptr ? batch.size(n_stations_) * sizeof(TermMatrix)
                              : batch.n_chan * layout_of(batch).size;
  }

  TermMatrices matrices_of(std::size_t b) const {
    const MatrixBatch& batch = batches_[b];
    return {seen_.data() + first_[b],
            jones_.data() + first_[b],
            static_cast<std::uint32_t>(batch.first_component),
            static_cast<std::uint32_t>(batch.n_components),
            static_cast<std::uint32_t>(batch.first_run),
            static_cast<std::uint32_t>(batch.n_runs),
            static_cast<std::uint32_t>(batch.first_chan),
            static_cast<std::uint32_t>(batch.n_chan),
            static_cast<std::uint32_t>(n_stations_)};
  }

  /// Has a batch made and sent; what is summed from now on waits for it.
  void bring(const StationMatrices& matrices, std::size_t b) {
    const MatrixBatch& batch = batches_[b];
    const std::size_t lane = b % 2;
    std::byte* const piece = pinned_matrices_.reserve(piece_bytes_, lane, setup_.n_threads);
    sent_[lane].wait();
    if (phased_ != nullptr)
      send_phased(matrices, batch, lane, piece);
    else
      send_matrices(matrices, batch, lane, piece);
    // Sums of the batch before the last may still be reading where these go; those of former calls have
    // ended.
    used_[lane].hold(upload_.get());
    MatrixTask task;
    task.from = arrived_[lane].data();
    task.brightness = brightness_.data();
    task.n_table_chan = static_cast<std::uint32_t>(tables_.n_chan);
    task.of = matrices_of(b);
    task.seen = seen_.data() + first_[b];
    task.jones = jones_.data() + first_[b];
    launch_matrices(task, upload_.get());
    sent_[lane].record(upload_.get());
    sent_[lane].hold(compute_.get());
  }

  /// Has matrices made, and copies them to arrived_.
  void send_matrices(const StationMatrices& matrices, const MatrixBatch& batch, std::size_t lane,
                     std::byte* piece) {
    const std::size_t n = n_stations_ * batch.n_components;
    for (std::size_t i = 0; i < batch.n_chan; ++i)
      matrices.evaluate(
          batch.first_chan + i, batch.first_component,
          {reinterpret_cast<std::complex<float>*>(piece) + 4 * i * n, {n_stations_, batch.n_components, 4}});
    cuda_check(
        cudaMemcpyAsync(arrived_[lane].data(), piece, bytes_of(batch), cudaMemcpyHostToDevice, upload_.get()),
        "copying A-terms to the device");
  }

  /// The same with sums over elements made on the device.
  void send_phased(const StationMatrices& matrices, const MatrixBatch& batch, std::size_t lane,
                   std::byte* piece) {
    const PhasedLayout layout = layout_of(batch);
    const std::size_t n = batch.n_components;
    PhasedChannel channel;
    for (std::size_t i = 0; i < batch.n_chan; ++i) {
      std::byte* const at = piece + i * layout.size;
      matrices.evaluate_phased(
          batch.first_chan + i, batch.first_component, channel, {reinterpret_cast<double*>(at), {n, 3}},
          {reinterpret_cast<std::complex<float>*>(at + layout.elements), {phased_->frames.size(), n, 4}});
      pack_phased(channel, layout, at);
    }
    std::byte* const on_device = phased_arrived_[lane].data();
    cuda_check(cudaMemcpyAsync(on_device, piece, bytes_of(batch), cudaMemcpyHostToDevice, upload_.get()),
               "copying elements of stations to the device");
    PhasedTask task;
    task.table = {phased_positions_.data(), phased_fields_.data(), phased_first_.data(),
                  static_cast<std::uint32_t>(n_stations_)};
    task.first = phased_terms_at(on_device, layout, n);
    task.stride = layout.size;
    task.n_chan = static_cast<std::uint32_t>(batch.n_chan);
    task.to = arrived_[lane].data();
    launch_phased(task, upload_.get());
  }

  DeviceComponentsSetup setup_;
  TermTables tables_;
  DeviceArray<TermComponent> components_;
  DeviceArray<TermRun> runs_;
  DeviceArray<float> exponent_, brightness_;
  DeviceArray<TermFluxes> stokes_;
  CopyStream compute_, copy_, upload_;

  std::vector<Part> parts_;
  std::vector<TermRow> host_rows_;
  std::vector<TermTile> host_tiles_;
  Upload<TermRow> rows_;
  Upload<TermTile> tiles_;
  Upload<TermPhasor> sums_;
  PinnedPair results_;
  std::array<std::byte*, 2> pinned_{};
  std::array<Event, 2> copied_;

  std::size_t n_stations_ = 0, piece_bytes_ = 0;
  std::vector<MatrixBatch> batches_;
  std::vector<std::size_t> first_;  ///< [batch] where its matrices are on the device
  bool is_resident_ = false;        ///< the matrices of a whole slot stay there
  std::optional<std::int64_t> slot_;
  PinnedPair pinned_matrices_;
  std::array<Upload<TermMatrix>, 2> arrived_;
  Upload<TermMatrix> jones_, seen_;
  DeviceArray<TermMatrices> on_device_;  ///< where those of each batch are
  std::array<Event, 2> sent_, used_;

  const PhasedBeams* phased_ = nullptr;
  DeviceArray<double> phased_positions_;
  DeviceArray<PhasedFieldTerms> phased_fields_;
  DeviceArray<std::uint32_t> phased_first_;
  std::array<Upload<std::byte>, 2> phased_arrived_;
};

}  // namespace

std::unique_ptr<DeviceComponents> make_device_components(const SkyModel& sky,
                                                         const DeviceComponentsSetup& setup) {
  if (setup.device_index < 0 || setup.device_index >= cuda_device_count())
    throw DeviceError("cuda:{}: there is no such device", setup.device_index);
  cuda_check(cudaSetDevice(setup.device_index), "choosing the device");  // before there are streams
  return std::make_unique<Engine>(sky, setup);
}

}  // namespace apsyn::simulate
