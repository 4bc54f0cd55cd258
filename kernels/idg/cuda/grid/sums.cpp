// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/idg/cuda/grid/sums.h"

#include <algorithm>
#include <limits>
#include <numbers>
#include <type_traits>

#include "kernels/idg/cuda/tables.h"

namespace apsyn::idg_cuda {

template <class T>
TaskSums<T>::TaskSums(const IdgPlan& plan, int n_planes, int device)
    : plan_(plan), side_(static_cast<int>(plan.settings.subgrid)), n_planes_(n_planes) {
  cudaDeviceProp properties{};
  cuda_check(cudaGetDeviceProperties(&properties, device), "asking for the device");
  n_sm_ = properties.multiProcessorCount;
  expansions_ = make_w_expansions(plan, has_tensor_cores(device));
  for (std::size_t i = 0; i < expansions_.expansions.size(); ++i) {
    const WExpansion& expansion = expansions_.expansions[i];
    const int half = tensor_half(side_), n_terms = static_cast<int>(expansion.n_terms);
    const std::size_t values = expansions_.tensor
                                   ? std::size_t(n_planes_) * 8 * half * half
                                   : std::size_t(rows_padded(n_terms, n_planes_, side_)) * side_;
    task_values_ = std::max(task_values_, values);
    if (expansions_.tensor) {
      to_device(tensor_coefficient_[i], tensor_table(plan_, expansion.w_unit_lambda));
    } else if (!expansions_.w_kernel) {
      to_device(coefficient_[i], chebyshev_table(plan_, expansion.w_unit_lambda, expansion.n_terms));
    }
  }
  if (expansions_.tensor || expansions_.w_kernel) to_device(coefficient_[0], taper_table(plan_));
}

template <class T>
std::size_t TaskSums<T>::max_slots(std::size_t expansion, std::size_t bytes) const {
  if (expansions_.tensor) return std::numeric_limits<std::size_t>::max();
  return bytes / ((std::size_t(side_) + 2 * padded_half(side_)) * sizeof(T) +
                  expansions_.expansions[expansion].n_terms * n_planes_ * sizeof(ComplexOf<T>));
}

template <class T>
void TaskSums<T>::reserve_slots(const DeviceTasks& tasks, const DeviceTracks& tracks) {
  if (std::is_same_v<T, float> && tracks.n_tracks > 0)
    node_value_.reserve(std::size_t(tracks.n_places) * n_planes_);
  cell_.reserve(tasks.n_slots);
  chunks_.reserve(tasks.n_chunks);
  largest_.reserve(tasks.n_tasks);
  slots_ = {du_.reserve(tasks.n_slots), dv_.reserve(tasks.n_slots), t_.reserve(tasks.n_slots),
            value_.reserve(std::size_t(tasks.n_slots) * n_planes_)};
}

template <class T>
void TaskSums<T>::prepare(const DeviceTasks& tasks, const VisibilityRun* runs, const DeviceTracks& tracks,
                          const BlockArrays& block, cudaStream_t stream) {
  reserve_slots(tasks, tracks);
  const NodeRow* nodes = tracks.n_tracks > 0 ? tracks.rows.data() : nullptr;
  ComplexOf<T>* node_values = nullptr;
  if constexpr (std::is_same_v<T, float>)
    if (nodes != nullptr) {
      node_values = node_value_.data();
      launch_track_values({tracks.tracks.data(), nodes, runs, tracks.t.data(), block, tracks.n_tracks,
                           n_planes_, node_values},
                          stream);
    }
  std::uint32_t* cell = cell_.data();
  Chunk* chunks = chunks_.data();
  std::uint32_t* largest = largest_.data();
  const double cell_rad = plan_.image.cell_rad;
  launch_order({tasks.tasks.data(), runs, block, static_cast<int>(tasks.n_tasks), cell, chunks, nodes},
               stream);
  launch_prepare_slots<T>(
      {tasks.tasks.data(), chunks, cell, block, static_cast<int>(tasks.n_tasks), n_planes_, side_,
       static_cast<double>(plan_.n_u) * cell_rad, static_cast<double>(plan_.n_v) * cell_rad, plan_.n_middle,
       slots_, largest, nodes, node_values},
      stream);
}

template <class T>
std::size_t TaskSums<T>::prepared_bytes(const DeviceTasks& tasks, const DeviceTracks& tracks) const {
  const std::size_t values = static_cast<std::size_t>(n_planes_) * sizeof(ComplexOf<T>),
                    slot = sizeof(std::uint32_t) + 3 * sizeof(T) + values;
  return tasks.n_slots * slot + tasks.n_chunks * sizeof(Chunk) + tracks.n_places * values;
}

template <class T>
TaskSumsShape TaskSums<T>::sum(const DeviceTasks& tasks, const RangeWork& work, cudaStream_t stream) {
  if (expansions_.tensor) return sum_on_tensor_cores(tasks, work, stream);
  const WExpansion& expansion = expansions_.expansions[work.expansion];
  const int n_terms = static_cast<int>(expansion.n_terms), n_rows = rows_padded(n_terms, n_planes_, side_);
  const Factors<T> factors{terms_.reserve(work.n_slots * expansion.n_terms * n_planes_),
                           phasors_u_.reserve(work.n_slots * side_),
                           phasors_v_.reserve(work.n_slots * 2 * padded_half(side_))};
  const WTerms w{n_terms, expansions_.w_kernel, plan_.half_w_lambda, plan_.kernel_beta,
                 plan_.layer_step_lambda};
  launch_factors<T>({slots_, w, work.first_slot, work.n_slots, n_planes_, side_, factors}, stream);
  launch_product<T>({factors, tasks.tasks.data() + work.first, static_cast<int>(work.n), n_terms, n_planes_,
                     side_, n_rows, work.first_slot, sums_.data()},
                    stream);
  return {n_terms, n_planes_, padded_half(side_), side_, side_ / 2, std::size_t(n_rows) * side_};
}

template <>
TaskSumsShape TaskSums<float>::sum_on_tensor_cores(const DeviceTasks& tasks, const RangeWork& work,
                                                   cudaStream_t stream) {
  const int half = tensor_half(side_);
  auto sum = [&](std::size_t expansion, cudaStream_t in) {
    launch_tensor_grid(
        {tasks.tasks.data() + work.first, tasks.selected.data() + work.first_selected[expansion],
         chunks_.data(), largest_.data(), starts_[expansion].reserve(work.n_selected[expansion] + n_sm_),
         slots_, static_cast<int>(work.n_selected[expansion]), n_planes_, side_,
         tensor_coefficient_[expansion].data(),
         static_cast<float>(2 * std::numbers::pi * expansions_.expansions[expansion].w_unit_lambda),
         sums_.data()},
        expansion == 0 ? TensorTerms::three : TensorTerms::four, n_sm_, in);
  };
  const std::size_t longer = work.n_selected[0] > work.n_selected[1] ? 0 : 1;
  ready_.record(stream);
  ready_.hold(second_stream_.get());
  sum(longer, stream);
  sum(1 - longer, second_stream_.get());
  summed_.record(second_stream_.get());
  summed_.hold(stream);
  return {1, n_planes_, half, 2 * half, half, std::size_t(n_planes_) * 8 * half * half};
}

template <>
TaskSumsShape TaskSums<double>::sum_on_tensor_cores(const DeviceTasks&, const RangeWork&, cudaStream_t) {
  return {};  // make_w_expansions() chooses tensor cores in single precision alone
}

template class TaskSums<float>;
template class TaskSums<double>;

}  // namespace apsyn::idg_cuda
