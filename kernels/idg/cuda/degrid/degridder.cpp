// SPDX-License-Identifier: GPL-3.0-or-later
// The CUDA degridder: the device cuts a piece of a block's rows into tasks (cuda/partition/cut.cuh), predicts
// them, chunk by chunk of tasks, and puts them into the order of rows. One thread enqueues the pieces ahead,
// while earlier ones are copied back and added to the caller's data.
#include "kernels/idg/degrid_cuda.h"

#include <algorithm>
#include <array>
#include <future>
#include <stdexcept>
#include <type_traits>

#include "kernels/idg/cuda/degrid/piece.cuh"
#include "kernels/idg/cuda/transfer/download.cuh"
#include "kernels/idg/idg_cuda.h"
#include "kernels/idg/partition/partition.h"
#include "kernels/idg/tracks/add_tracks.h"
#include "libcore/base/error.h"
#include "libcore/system/parallel.h"

namespace apsyn {

namespace {

using namespace idg_degrid;

/// Number of visibilities in a piece: large enough that cutting does not dominate the time, small enough that
/// copying and adding begin early.
constexpr std::size_t kFewestVisibilities = std::size_t{3} << 20, kMaxVisibilities = std::size_t{6} << 20;

/// Threads that send rows while others interpolate rows from nodes.
constexpr unsigned kSending = 2;

template <class T>
class Implementation final : public CudaDegridder {
 public:
  Implementation(const Device& device, const IdgPlan& plan, const IdgSetup& setup, DegridSum sum,
                 DegridRows rows)
      : device_((cuda_check(cudaSetDevice(device.index), "choosing the device"), device.index)),
        plan_(plan),
        setup_(setup),
        predictor_(plan, setup, sum, rows, device_),
        n_making_(setup.n_threads - std::min(3u, setup.n_threads / 4)),
        downloader_(setup.n_threads) {
    std::size_t free_bytes = 0, total_bytes = 0;
    cuda_check(cudaMemGetInfo(&free_bytes, &total_bytes), "asking for the device's memory");
    // Besides layers and subgrids, pieces take some 200 bytes for each visibility: limit this to a twentieth
    // of the memory.
    max_visibilities_ = std::clamp<std::size_t>(total_bytes / 4096, kFewestVisibilities, kMaxVisibilities);
  }

  void set_model(View<const double, 3> images) override {
    if (images.extent(0) != setup_.n_image_planes() || images.extent(1) != plan_.image.n_y ||
        images.extent(2) != plan_.image.n_x)
      throw std::invalid_argument("degridder: the model's planes are not the setup's");
    select_device();
    predictor_.set_model(images);
  }

  void begin_pass(const LayerRange& layers) override {
    if (layers.first + layers.n > plan_.n_layers) throw std::out_of_range("degridder: no such layer");
    select_device();
    predictor_.begin_pass(layers);
  }

  GridCounts degrid(const GridBlock& block, View<std::complex<float>, 3> data) override {
    return predict(block, data);
  }
  GridCounts degrid(const GridBlock& block, View<std::complex<double>, 3> data) override {
    return predict(block, data);
  }
  DegridSeconds seconds() override {
    select_device();
    seconds_.layers = predictor_.layer_seconds();
    return seconds_;
  }

 private:
  void select_device() const { cuda_check(cudaSetDevice(device_), "choosing the device"); }

  template <class Out>
  GridCounts predict(const GridBlock& block, View<std::complex<Out>, 3> data) {
    check_block(block, setup_);
    const std::size_t n_row = block.uvw_m.extent(0), n_chan = block.wavenumber.size();
    if (data.shape() != std::array<std::size_t, 3>{n_row, n_chan, setup_.n_data_planes})
      throw std::invalid_argument("degridder: the data's shape is not the block's");
    if (n_row * n_chan > 0x7fffffff)
      throw std::invalid_argument("degridder: more than 2^31 visibilities in a block");
    select_device();
    predictor_.take_aterms(block.aterms);
    const std::size_t at_once = std::clamp(n_row * n_chan / 4, kFewestVisibilities, max_visibilities_),
                      n_pieces = std::max<std::size_t>(1, (n_row * n_chan + at_once - 1) / at_once),
                      rows_at_once = (n_row + n_pieces - 1) / n_pieces,
                      row_values = n_chan * setup_.n_data_planes;
    BoundedQueue<Piece<T>*> free(pieces_.size()), announced(pieces_.size());
    for (Piece<T>& piece : pieces_) free.push(&piece);
    constexpr bool may_leave_rows = std::is_same_v<T, float> && std::is_same_v<Out, float>;
    auto tell = [&] {
      select_device();
      // Nobody adds yet.
      predictor_.use_threads(setup_.n_threads);
      for (std::size_t first = 0; first < n_row; first += rows_at_once) {
        const auto piece = free.pop();
        if (!piece) return;
        announce(block, first, std::min(rows_at_once, n_row - first), **piece, may_leave_rows);
        // Threads that make rows wait for nothing, so that one that begins to send waits for its turn only.
        predictor_.use_threads((*piece)->leaves_rows ? kSending : std::max(1u, setup_.n_threads / 2));
        announced.push(*piece);
      }
    };
    std::future<void> telling = std::async(std::launch::async, [&] {
      try {
        tell();
      } catch (...) {
        announced.close();
        throw;
      }
      announced.close();
    });
    GridCounts counts;
    try {
      for (std::size_t first = 0; auto next = announced.pop(); first += rows_at_once) {
        Piece<T>& piece = **next;
        if (piece.tables.n_tables > 0) {
          if (piece.leaves_rows)
            add_rows(piece, n_chan, data.data() + first * row_values);
          else
            downloader_.add<T>(data.data() + first * row_values);
          count(piece);
          counts.n_visibilities += piece.tables.n_visibilities;
          counts.n_subgrids += piece.tables.n_tables;
        }
        free.push(&piece);
      }
    } catch (...) {
      free.close();
      throw;
    }
    telling.get();
    return counts;
  }

  /// Enqueues the prediction of the rows and the copy of the results.
  void announce(const GridBlock& block, std::size_t first, std::size_t n, Piece<T>& piece,
                bool may_leave_rows) {
    predictor_.predict(rows_of(block, first, n), piece, may_leave_rows);
    if (piece.tables.n_tables == 0) return;
    if (piece.leaves_rows)
      fetch(piece);
    else
      downloader_.expect(piece.predicted.data(),
                         n * block.wavenumber.size() * setup_.n_data_planes * sizeof(ComplexOf<T>),
                         piece.done);
  }

  void fetch(Piece<T>& piece) {
    Fetched& to = fetched_[static_cast<std::size_t>(&piece - pieces_.data())];
    const std::size_t bytes = piece.layout.bytes();
    if (to.size < bytes) {
      to.memory.reset();
      to.size = 0;
      const std::size_t size = std::min<std::size_t>(bytes + bytes / 4, kNodeHostBytes / kPieces);
      to.memory = pinned<std::byte>(size);
      to.size = size;
    }
    piece.done.hold(fetches_.get());
    cuda_check(cudaMemcpyAsync(to.memory.get(), piece.predicted.data(), bytes, cudaMemcpyDeviceToHost,
                               fetches_.get()),
               "copying from the device");
    to.arrived.record(fetches_.get());
  }

  /// data [row][chan][plane] of the piece += rows interpolated from its nodes.
  void add_rows(const Piece<T>& piece, std::size_t n_chan, std::complex<float>* data) {
    constexpr std::size_t at_once = 4;
    Fetched& from = fetched_[static_cast<std::size_t>(&piece - pieces_.data())];
    from.arrived.wait();
    const idg_cuda::PredictedTracks tracks = piece.layout.at(from.memory.get(), n_chan);
    parallel_for(n_making_, (tracks.n_tracks + at_once - 1) / at_once, [&](std::size_t item, unsigned) {
      const std::size_t first = item * at_once;
      idg_cuda::add_tracks(tracks, first, std::min(at_once, tracks.n_tracks - first), data);
    });
  }
  void add_rows(const Piece<T>&, std::size_t, std::complex<double>*) {
    throw std::logic_error("degridder: rows are left to the host in single precision alone");
  }

  /// After the piece is done.
  void count(const Piece<T>& piece) {
    seconds_.prepare += piece.prepared.seconds_since(piece.begin);
    for (std::size_t i = 0; i < piece.tasks.chunks.size(); ++i) {
      const auto& times = piece.times[i];
      seconds_.subgrids += times.shaped.seconds_since(times.begin);
      seconds_.sums += times.summed.seconds_since(times.shaped);
    }
    seconds_.rows += piece.done.seconds_since(piece.summed);
    seconds_.visibilities += piece.tables.n_visibilities;
    seconds_.places += piece.n_places();
    if (piece.leaves_rows) seconds_.host_visibilities += piece.tables.n_visibilities;
    seconds_.tensor_visibilities += piece.tasks.n_tensor_visibilities;
  }

  int device_;
  IdgPlan plan_;
  IdgSetup setup_;
  PiecePredictor<T> predictor_;
  std::size_t max_visibilities_ = 0;  ///< of a piece
  unsigned n_making_;                 ///< threads that make rows; others tell the device meanwhile
  DegridSeconds seconds_;
  idg_cuda::Downloader downloader_;
  /// Nodes that are copied to the host.
  struct Fetched {
    std::unique_ptr<std::byte[], FreePinned> memory;
    std::size_t size = 0;
    Event arrived;
  };
  CopyStream fetches_;
  std::array<Fetched, kPieces> fetched_;  ///< of pieces_
  std::array<Piece<T>, kPieces> pieces_;
};

}  // namespace

std::unique_ptr<CudaDegridder> make_cuda_degridder(const Device& device, const IdgPlan& plan,
                                                   const IdgSetup& setup, DegridSum sum, DegridRows rows) {
  if (plan.settings.precision == Precision::single)
    return std::make_unique<Implementation<float>>(device, plan, setup, sum, rows);
  return std::make_unique<Implementation<double>>(device, plan, setup, sum, rows);
}

std::unique_ptr<Degridder> make_cuda_degridder(const Device& device, const IdgPlan& plan,
                                               const IdgSetup& setup) {
  return make_cuda_degridder(device, plan, setup, DegridSum::automatic);
}

}  // namespace apsyn
