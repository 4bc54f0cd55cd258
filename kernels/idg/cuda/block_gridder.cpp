// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/idg/cuda/block_gridder.h"

#include <algorithm>
#include <complex>
#include <stdexcept>
#include <vector>

#include "kernels/idg/cuda/tables.h"
#include "kernels/idg/grid_memory.h"
#include "kernels/idg/partition/sub_tables.h"

namespace apsyn::idg_cuda {
namespace {

int select(int device) {
  cuda_check(cudaSetDevice(device), "choosing the device");
  return device;
}

std::size_t total_memory() {
  std::size_t free_bytes = 0, total_bytes = 0;
  cuda_check(cudaMemGetInfo(&free_bytes, &total_bytes), "asking for the device's memory");
  return total_bytes;
}

}  // namespace

template <class T>
BlockGridder<T>::BlockGridder(int device, const IdgPlan& plan, const IdgSetup& setup)
    : plan_(make_w_expansions(plan, has_tensor_cores(select(device))).tensor ? plan_for_tensor_cores(plan)
                                                                             : plan),
      setup_(setup),
      folds_apart_(folds_apart(setup)),
      sums_(plan_, int(setup.n_data_planes) + (setup.psf == PsfPlane::last ? 1 : 0), device),
      fft_(plan.settings.subgrid,
           setup.n_planes() * (plan.w_handling == WHandling::kernel ? plan.n_terms : 1)) {
  side_ = int(plan.settings.subgrid);
  n_planes_ = setup.n_planes();
  n_outputs_ = sums_.expansions().w_kernel ? plan.n_terms : 1;
  to_device(n_from_middle_, n_table(plan_, plan_.settings.subgrid / 2));
  std::vector<std::complex<T>> phases;
  for (const std::complex<double>& phase : uv_phases(plan)) phases.emplace_back(phase);
  to_device(uv_phase_, phases);
  if (node_error(plan_) > 0) node_limits_ = node_limits(plan_, node_error(plan_));
  grids_ = make_cuda_grids<T>(plan, setup, n_outputs_, stream_.get());

  const std::size_t bytes = range_bytes(total_memory()),
                    subgrid_values = n_planes_ * n_outputs_ * side_ * side_,
                    task_bytes = sums_.task_values() * sizeof(T) + subgrid_values * sizeof(ComplexOf<T>);
  range_limits_.tasks = std::clamp<std::size_t>(bytes / task_bytes, 1, 16384);
  sums_.reserve(range_limits_.tasks);
  subgrids_ = DeviceArray<ComplexOf<T>>(fft_.padded(range_limits_.tasks) * subgrid_values);
  fill_bytes(subgrids_.data(), 0, subgrids_.size());
  for (std::size_t expansion = 0; expansion < sums_.expansions().expansions.size(); ++expansion)
    range_limits_.slots[expansion] = sums_.max_slots(expansion, bytes);
  fft_.use(stream_.get());
  cuda_check(cudaDeviceSynchronize(), "preparing the gridder");
}

template <class T>
void BlockGridder<T>::begin_pass(const LayerRange& layers) {
  if (layers.first + layers.n > plan_.n_layers) throw std::out_of_range("gridder: no such layer");
  layers_ = layers;
  if (layers_.n > 0) grids_->begin_pass(layers_);
}

template <class T>
bool BlockGridder<T>::divide(const RowView& rows, BlockWork& work) {
  work.layers = {};
  const idg::DeviceCutInput& input = rows.cut;
  if (!cutter_.cut(idg::cut_limits(plan_, layers_, folds_apart_), input, work.tables)) return false;
  if (work.tables.n_tables > 0) {
    const ListPlan plan = list_plan(plan_, sums_.expansions(), n_outputs_, layers_);
    if (node_limits_.error > 0) finder_.find(node_limits_, input, work.tables, work.tracks);
    work.ranges = lister_.list(plan, work.tables, range_limits_, work.tasks, &work.tracks);
    grids_->place(lister_, plan, work.ranges, work.tasks);
  }
  work.layers = layers_;
  return true;
}

template <class T>
void BlockGridder<T>::grid(const RowView& rows, const BlockWork& work, const float2* data, bool turned) {
  const BlockArrays arrays{
      rows.cut.uvw_m,    turned ? rows.path : nullptr, rows.cut.wavenumber,       data,
      rows.cut.weight,   int(rows.cut.n_chan),         int(setup_.n_data_planes), int(rows.cut.n_planes),
      rows.with_aterms()};
  sums_.prepare(work.tasks, work.tables.runs.data(), work.tracks, arrays, stream_.get());
  for (const RangeWork& range : work.ranges) grid_range(rows, work.tasks, range);
}

template <class T>
void BlockGridder<T>::end_pass() {
  if (layers_.n > 0) grids_->end_pass();
  layers_.n = 0;
}

template <class T>
void BlockGridder<T>::grid_range(const RowView& rows, const DeviceTasks& tasks, const RangeWork& range) {
  ImageTask<T> image{};
  image.shape = sums_.sum(tasks, range, stream_.get());
  image.n_tasks = int(range.n);
  image.side = side_;
  image.n_outputs = int(n_outputs_);
  image.sums = sums_.sums();
  image.coefficient = sums_.coefficient(range.expansion);
  image.n_from_middle = sums_.expansions().w_kernel ? nullptr : n_from_middle_.data();
  image.screen_lambda = tasks.screen_lambda.data() + range.first;
  if (setup_.aterms != AtermMode::none) {
    image.aterms = setup_.aterms == AtermMode::normalised ? DeviceAterms::normalised : DeviceAterms::adjoint;
    image.jones = rows.jones;
    image.keys = tasks.keys.data() + range.first;
    image.n_chan_slots = int(rows.cut.n_chan_slots);
    image.n_responses = int(rows.cut.n_responses);
    image.n_image_planes = int(setup_.n_image_planes());
    for (std::size_t s = 0; s < setup_.mix.size(); ++s) {
      const auto folded = folded_mix(setup_.mix[s]);
      for (std::size_t c = 0; c < 4; ++c) {
        image.mix[s][c] = {setup_.mix[s][c].real(), setup_.mix[s][c].imag()};
        image.folded_mix[s][c] = {folded[c].real(), folded[c].imag()};
      }
    }
  }
  image.images = subgrids_.data();
  const bool finished = has_cells<T>(side_, image_planes(image), image.n_outputs);
  if (finished) {
    launch_cells(image, uv_phase_.data(), stream_.get());
  } else {
    launch_images(image, stream_.get());
    fft_.execute(subgrids_.data(), range.n, CUFFT_INVERSE);  // exponent +1
  }
  grids_->add({subgrids_.data(), finished, tasks, range});
}

template class BlockGridder<float>;
template class BlockGridder<double>;

}  // namespace apsyn::idg_cuda
