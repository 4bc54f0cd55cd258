// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/idg/cuda/degrid/piece.cuh"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <stdexcept>
#include <type_traits>

#include "kernels/idg/grid_memory.h"
#include "kernels/idg/partition/partition.h"
#include "kernels/idg/partition/sub_tables.h"
#include "kernels/idg/plan/cost.h"
#include "kernels/idg/tracks/node_counts.h"

namespace apsyn::idg_degrid {
namespace {

/// Scratch for the subgrids and pixels of one chunk: enough to fill the device.
constexpr std::size_t kSubgridBytes = 1'500'000'000;

}  // namespace

template <class T>
PiecePredictor<T>::PiecePredictor(const IdgPlan& plan, const IdgSetup& setup, DegridSum sum, DegridRows rows,
                                  int device)
    : plan_(plan),
      setup_(setup),
      folds_apart_(folds_apart(setup)),
      rows_way_(rows),
      fft_(plan.settings.subgrid,
           setup.n_image_planes() * (plan.w_handling == WHandling::kernel ? plan.n_terms : 1)),
      uploader_(setup.n_threads) {
  cudaDeviceProp properties{};
  cuda_check(cudaGetDeviceProperties(&properties, device), "asking for the device's properties");
  const std::size_t side = plan.settings.subgrid;
  Geometry& g = geometry_;
  g.side = int(side);
  g.n_image_planes = int(setup.n_image_planes());
  g.n_planes = int(setup.n_data_planes);
  g.w_kernel = plan.w_handling == WHandling::kernel;
  g.n_outputs = g.w_kernel ? int(plan.n_terms) : 1;
  g.n_u = int(plan.n_u), g.n_v = int(plan.n_v), g.n_x = int(plan.image.n_x), g.n_y = int(plan.image.n_y);
  g.cell_rad = plan.image.cell_rad;
  g.per_u = static_cast<double>(plan.n_u) * plan.image.cell_rad;
  g.per_v = static_cast<double>(plan.n_v) * plan.image.cell_rad;
  g.n_middle = plan.n_middle;
  g.layer_step_lambda = plan.layer_step_lambda;
  g.half_w_lambda = plan.half_w_lambda;
  g.kernel_beta = plan.kernel_beta;
  const WSeparation separation(plan);
  upload_tables(separation);
  model_ = make_cuda_model<T>(plan, setup);
  const std::size_t task_bytes = side * side * std::size_t(g.n_outputs) *
                                 std::size_t(g.n_image_planes + g.n_planes) * sizeof(ComplexOf<T>);
  const bool tensor = std::is_same_v<T, float> && properties.major == 9 && sum == DegridSum::automatic &&
                      tensor_planes(g.n_planes) && !g.w_kernel;
  list_plan_ = make_list_plan(plan, separation, tensor);
  if (rows != DegridRows::each && node_error(plan) > 0) node_limits_ = node_limits(plan, node_error(plan));
  // The tensor cores' sum costs the same however far a task reaches in w, and the longer the fewer subgrids.
  plan_.max_task_half_w_lambda =
      std::max(plan.max_task_half_w_lambda, std::min(list_plan_.max_half_w_first_order, plan.half_w_lambda));
  list_plan_.chunk_tasks =
      static_cast<std::uint32_t>(std::clamp<std::size_t>(kSubgridBytes / task_bytes, 1, 16384));
}

template <class T>
void PiecePredictor<T>::upload_tables(const WSeparation& separation) {
  const auto side = static_cast<std::size_t>(geometry_.side);
  taper_.copy(separation.taper.data(), side * side);
  n_from_middle_.copy(separation.n_from_middle.data(), side * side);
  n_of_x_.copy(separation.n_of_x.data(), side);
  n_of_y_.copy(separation.n_of_y.data(), side);
  residual_.copy(separation.residual.data(), side * side);
  std::vector<std::complex<T>> uv_phase(side), mix;
  for (std::size_t k = 0; k < side; ++k) {
    const double cell = static_cast<double>(k) - static_cast<double>(side / 2), n = static_cast<double>(side);
    uv_phase[k] = std::complex<T>(std::polar(1 / n, std::numbers::pi * cell * (n - 1) / n));
  }
  uv_phase_.copy(uv_phase.data(), side);
  for (const auto& row : setup_.mix)
    for (const auto& factor : row) mix.push_back(std::complex<T>(factor));
  mix_.copy(mix.data(), mix.size());
}

template <class T>
void PiecePredictor<T>::begin_pass(const LayerRange& layers) {
  geometry_.n_layers = int(layers.n);
  list_plan_.first_layer = int(layers.first);
  layers_ = layers;
  if (layers.n > 0) model_->begin_pass(geometry_, layers);
}

template <class T>
void PiecePredictor<T>::take_aterms(const AtermBlock& aterms) {
  const idg_cuda::Transfer jones = idg_cuda::transfer(jones_, aterms.jones.data(), aterms.jones.size() / 4);
  uploader_.send({&jones, 1});
}

template <class T>
void PiecePredictor<T>::reserve(const Piece<T>& piece) {
  const std::size_t n_tasks = std::min<std::size_t>(piece.tables.n_tables, list_plan_.chunk_tasks),
                    n_places = piece.n_places(),
                    subgrids = std::size_t(geometry_.n_image_planes) * std::size_t(geometry_.n_outputs),
                    cells = plan_.settings.subgrid * plan_.settings.subgrid;
  if (fft_tasks_ < n_tasks) {
    fft_tasks_ = fft_.padded(n_tasks);
    const std::size_t size = fft_tasks_ * subgrids * cells;
    fill_bytes(subgrids_.reserve(size), 0, size);
  }
  pixels_.reserve(n_tasks * cells * setup_.n_data_planes * std::size_t(geometry_.n_outputs));
  scale_.reserve(n_tasks);
  prepared_.reserve(n_places);
  predicted_.reserve(n_places * setup_.n_data_planes);
}

template <class T>
void PiecePredictor<T>::cut(const GridBlock& block, Piece<T>& piece) {
  piece.rows->copy_geometry(uploader_, block, cuts_.get());
  piece.rows->copy_values(uploader_, block);
  uploader_.settle();
  uploader_.hold(nullptr);
  if (divide(piece)) return;
  partition(plan_, block, layers_, setup_.n_threads);
  throw std::logic_error("degridder: the device refuses what the host does not");
}

template <class T>
bool PiecePredictor<T>::divide(Piece<T>& piece) {
  const idg::DeviceCutInput input = piece.rows->cut_input();
  if (!cutter_.cut(idg::cut_limits(plan_, layers_, folds_apart_), input, piece.tables)) return false;
  if (piece.tables.n_tables == 0) return true;
  if (node_limits_.error > 0) finder_.find(node_limits_, input, piece.tables, piece.tracks);
  lister_.list(list_plan_, piece.tables, &piece.tracks, piece.tasks);
  if (piece.times.size() < piece.tasks.chunks.size()) piece.times.resize(piece.tasks.chunks.size());
  return true;
}

template <class T>
void PiecePredictor<T>::prepare(const Piece<T>& piece) {
  const idg_cuda::DeviceRows& rows = *piece.rows;
  PrepareTask<T> prepare{};
  prepare.geometry = geometry_;
  prepare.uvw_m = rows.uvw.data();
  prepare.path_m = rows.with_path ? rows.path.data() : nullptr;
  prepare.wavenumber = rows.wavenumber.data();
  prepare.runs = piece.tasks.runs.data();
  prepare.tasks = piece.tasks.tasks.data();
  prepare.n_runs = piece.tasks.n_runs;
  while (prepare.lanes_log2 < 4 && piece.n_places() / prepare.n_runs >= std::size_t(2) << prepare.lanes_log2)
    ++prepare.lanes_log2;
  prepare.prepared = prepared_.data();
  prepare.nodes = piece.tracks.n_tracks > 0 ? piece.tracks.rows.data() : nullptr;
  launch_prepare(prepare, nullptr);
}

template <class T>
void PiecePredictor<T>::place(const Piece<T>& piece, ComplexOf<T>* rows) {
  const idg_cuda::DeviceRows& from = *piece.rows;
  if (piece.tables.n_visibilities < from.n_cells())
    cuda_check(
        cudaMemsetAsync(rows, 0, from.n_cells() * setup_.n_data_planes * sizeof(ComplexOf<T>), nullptr),
        "clearing visibilities");
  if constexpr (std::is_same_v<T, float>)
    if (const idg_cuda::DeviceTracks& tracks = piece.tracks; tracks.n_tracks > 0)
      return idg_cuda::launch_track_rows(
          {tracks.tracks.data(), tracks.rows.data(), piece.tables.runs.data(), tracks.t.data(),
           from.with_path ? from.path.data() : nullptr, from.wavenumber.data(), tracks.n_tracks,
           int(from.n_chan), geometry_.n_planes, from.with_aterms(), predicted_.data(), rows},
          nullptr);
  launch_place_rows<T>({piece.tasks.runs.data(), piece.tasks.n_runs, int(from.n_chan), geometry_.n_planes,
                        predicted_.data(), rows},
                       nullptr);
}

/// Packs the values from which the host interpolates rows.
template <class T>
void PiecePredictor<T>::leave_rows(Piece<T>& piece) {
  const idg_cuda::DeviceTracks& tracks = piece.tracks;
  ComplexOf<T>* to = piece.predicted.reserve(piece.layout.bytes() / sizeof(ComplexOf<T>) + 1);
  if constexpr (std::is_same_v<T, float>)
    packer_.pack(
        {&tracks, piece.tables.runs.data(), piece.rows->with_station ? piece.rows->station.data() : nullptr,
         geometry_.n_planes, piece.rows->with_aterms(), predicted_.data()},
        piece.layout, reinterpret_cast<std::byte*>(to));
}

template <class T>
void PiecePredictor<T>::predict(const GridBlock& block, Piece<T>& piece, bool may_leave_rows) {
  cut(block, piece);
  if (piece.tables.n_tables == 0) return;
  predict_places(piece);
  const RowCounts counts{piece.tables.n_visibilities, piece.tables.n_runs,   piece.tracks.n_tracks,
                         piece.tracks.n_rows,         piece.tracks.n_places, setup_.n_data_planes};
  const idg_cuda::PredictedLayout layout{piece.tracks.n_places, piece.tables.n_runs, piece.tracks.n_tracks,
                                         setup_.n_data_planes};
  piece.leaves_rows = may_leave_rows && !piece.rows->with_path && piece.tracks.n_tracks > 0 &&
                      rows_way_ != DegridRows::on_device &&
                      (rows_way_ == DegridRows::on_host || leaves_rows(counts)) &&
                      layout.bytes() <= kNodeHostBytes / kPieces;
  piece.layout = layout;
  if (piece.leaves_rows)
    leave_rows(piece);
  else
    place(piece, piece.predicted.reserve(piece.rows->n_cells() * setup_.n_data_planes));
  piece.done.record(nullptr);
}

template <class T>
void PiecePredictor<T>::predict_rows(Piece<T>& piece, ComplexOf<T>* rows) {
  predict_places(piece);
  place(piece, rows);
  piece.done.record(nullptr);
}

template <class T>
void PiecePredictor<T>::predict_places(Piece<T>& piece) {
  reserve(piece);
  piece.begin.record(nullptr);
  prepare(piece);
  piece.prepared.record(nullptr);
  for (std::size_t i = 0; i < piece.tasks.chunks.size(); ++i)
    predict_chunk(piece, piece.tasks.chunks[i], piece.times[i]);
  piece.summed.record(nullptr);
}

template <class T>
void PiecePredictor<T>::predict_chunk(const Piece<T>& piece, const TaskChunk& chunk,
                                      typename Piece<T>::Times& times) {
  const DegridTasks& of = piece.tasks;
  const Task* tasks = of.tasks.data() + chunk.first_task;
  const int n_tasks = int(chunk.n_tasks);
  times.begin.record(nullptr);
  model_->cut({geometry_, nullptr, uv_phase_.data(), tasks, n_tasks, subgrids_.data()});
  fft_.execute(subgrids_.data(), chunk.n_tasks, CUFFT_FORWARD);  // exponent -1
  ShapeTask<T> shape{};
  shape.jones = piece.rows->with_aterms() ? jones_.data() : nullptr;
  shape.n_chan_slots = int(piece.rows->n_chan_slots);
  shape.n_responses = int(piece.rows->n_responses);
  shape.geometry = geometry_;
  shape.subgrids = subgrids_.data();
  shape.taper = taper_.data();
  shape.n_from_middle = n_from_middle_.data();
  shape.tasks = tasks;
  shape.n_tasks = n_tasks;
  shape.mix = mix_.data();
  shape.pixels = pixels_.data();
  shape.scale = scale_.data();
  launch_shape(shape, nullptr);
  times.shaped.record(nullptr);
  SumTask<T> sum{};
  sum.geometry = geometry_;
  sum.pixels = pixels_.data();
  sum.scale = scale_.data();
  sum.n_from_middle = n_from_middle_.data();
  sum.tasks = tasks;
  sum.prepared = prepared_.data();
  sum.out = predicted_.data();
  sum.adjoint = piece.rows->with_aterms();
  auto take = [&](Sum kind) {
    sum.units = of.units[int(kind)].data() + chunk.first_unit[int(kind)];
    sum.n_units = int(chunk.n_units[int(kind)]);
  };
  take(Sum::direct);
  launch_direct(sum, nullptr);
  if constexpr (std::is_same_v<T, float>) {
    const TensorTables tables{n_of_x_.data(), n_of_y_.data(), residual_.data()};
    take(Sum::tensor);
    launch_tensor(sum, tables, DegridTerms::phases, nullptr);
    take(Sum::tensor_first_order);
    launch_tensor(sum, tables, DegridTerms::first_order, nullptr);
  }
  times.summed.record(nullptr);
}

template class PiecePredictor<float>;
template class PiecePredictor<double>;

}  // namespace apsyn::idg_degrid
