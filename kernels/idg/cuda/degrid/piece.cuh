// SPDX-License-Identifier: GPL-3.0-or-later
// The CUDA degridder's work on the device: a piece of a block's rows is cut into tasks
// (cuda/partition/cut.cuh), tasks are predicted chunk by chunk, at the nodes of tracks if rows lie on tracks
// (cuda/tracks/tracks.cuh), and the results are put into the order of rows. For host code with CUDA only.
#pragma once

#include <memory>
#include <vector>

#include "kernels/common/cuda/transfer.h"
#include "kernels/idg/cuda/block.h"
#include "kernels/idg/cuda/degrid/plan.h"
#include "kernels/idg/cuda/fft/subgrid_fft.cuh"
#include "kernels/idg/cuda/layers/model.h"
#include "kernels/idg/cuda/transfer/pack_tracks.cuh"
#include "kernels/idg/degrid_cuda.h"

namespace apsyn::idg_degrid {

/// Number of pieces in use at a time: one is being sent, one is predicted or copied back, one is added to the
/// data, and one waits.
constexpr std::size_t kPieces = 4;

/// Rows that are predicted together.
template <class T>
struct Piece {
  struct Times {
    Event begin, shaped, summed;
  };
  /// May be shared with a block that a gridder uses as well.
  std::shared_ptr<idg_cuda::DeviceRows> rows = std::make_shared<idg_cuda::DeviceRows>();
  idg::DeviceTables tables;
  idg_cuda::DeviceTracks tracks;
  DegridTasks tasks;
  /// Valid once `done` has passed: [row][chan][plane], or the values from which the host interpolates rows;
  /// empty if the piece has no tables.
  Upload<ComplexOf<T>> predicted;
  bool leaves_rows = false;
  idg_cuda::PredictedLayout layout;  ///< then
  std::vector<Times> times;          ///< [chunk]
  Event begin, prepared, summed, done;

  std::uint64_t n_places() const { return tracks.n_tracks > 0 ? tracks.n_places : tables.n_visibilities; }
};

template <class T>
class PiecePredictor {
 public:
  /// On the current device.
  PiecePredictor(const IdgPlan& plan, const IdgSetup& setup, DegridSum sum, DegridRows rows, int device);
  ~PiecePredictor() { cudaDeviceSynchronize(); }

  /// Discards the layers until the next pass begins.
  void set_model(View<const double, 3> images) {
    model_->set(images);
    layers_ = {};
  }
  /// CudaModel::on_device(), for the null stream to fill.
  double* model_on_device() {
    layers_ = {};
    return model_->on_device(setup_.n_image_planes());
  }
  void begin_pass(const LayerRange& layers);
  /// Device time that all passes spent on layers, in seconds. Blocks until they have finished.
  double layer_seconds() { return model_->seconds(); }
  /// A block's A-terms, for its pieces.
  void take_aterms(const AtermBlock& aterms);
  /// Returns when the work has been enqueued. may_leave_rows: the host may interpolate rows from nodes.
  /// DataError where partition() would throw one.
  void predict(const GridBlock& block, Piece<T>& piece, bool may_leave_rows);

  /// predict() in two steps, for rows that stay on the device. Divides rows that the stream `cuts` sees for
  /// the pass's layers; false when a coordinate is refused.
  bool divide(Piece<T>& piece);
  cudaStream_t cuts() const { return cuts_.get(); }
  /// Memory for predictions of a piece that has been divided, so that predict_rows() allocates none for it.
  void reserve(const Piece<T>& piece);
  /// rows [row][chan][plane], in the null stream; of a piece that has tables.
  void predict_rows(Piece<T>& piece, ComplexOf<T>* rows);

  /// Sets the number of host threads that send rows.
  void use_threads(unsigned n) { uploader_.use_threads(n); }

 private:
  void upload_tables(const WSeparation& separation);
  void cut(const GridBlock& block, Piece<T>& piece);
  /// Predicts the values of places, in the order of tasks.
  void predict_places(Piece<T>& piece);
  void prepare(const Piece<T>& piece);
  void place(const Piece<T>& piece, ComplexOf<T>* rows);
  void leave_rows(Piece<T>& piece);
  void predict_chunk(const Piece<T>& piece, const TaskChunk& chunk, typename Piece<T>::Times& times);

  IdgPlan plan_;
  IdgSetup setup_;
  bool folds_apart_;
  DegridRows rows_way_;
  Geometry geometry_{};
  DegridListPlan list_plan_{};
  idg::NodeLimits node_limits_{};  ///< error 0: no nodes
  LayerRange layers_{};
  SubgridFft<T> fft_;
  std::size_t fft_tasks_ = 0;
  Upload<ComplexOf<T>> subgrids_, pixels_, uv_phase_, mix_;
  Upload<ComplexOf<T>> predicted_;  ///< [place][plane] by tasks
  Upload<double> taper_, n_from_middle_;
  std::unique_ptr<CudaModel<T>> model_;
  Upload<float> n_of_x_, n_of_y_, residual_, scale_;
  Upload<AtermMatrix<float>> jones_;
  Upload<Prepared<T>> prepared_;
  CopyStream cuts_ = CopyStream::urgent();
  idg_cuda::Uploader uploader_;
  idg::DeviceCutter cutter_{cuts_.get()};
  idg_cuda::TrackFinder finder_{cuts_.get()};
  DegridLister lister_{cuts_.get()};
  idg_cuda::TrackPacker packer_{nullptr};
};

}  // namespace apsyn::idg_degrid
