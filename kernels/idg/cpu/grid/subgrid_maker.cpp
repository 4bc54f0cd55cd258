// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/idg/cpu/grid/subgrid_maker.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "kernels/common/math/matrix_product.h"
#include "kernels/idg/aterms/subgrid_aterms.h"

namespace apsyn {
namespace {

template <class T>
void reserve(Buffer<T, 1>& buffer, std::size_t n) {
  if (buffer.size() < n) buffer.resize({n});
}

/// Pixels are summed in groups of this many, then the groups' sums are added: the later division by the taper
/// magnifies rounding errors.
constexpr std::size_t pixels_at_once = 16;

}  // namespace

template <class T>
SubgridMaker<T>::SubgridMaker(const SubgridTables<T>& tables, const IdgSetup& setup)
    : tables_(tables),
      n_data_planes_(setup.n_data_planes),
      n_image_planes_(setup.n_image_planes()),
      aterm_mode_(setup.aterms),
      tracks_(tables.plan(), tables.plan().settings.accuracy * track_share) {
  const bool psf = setup.psf == PsfPlane::last, apart = setup.aterms != AtermMode::none;
  const std::size_t n = n_data_planes_ + (psf && !apart ? 1 : 0);
  for (std::size_t first = 0; first < n;) {
    const std::size_t left = n - first, size = left >= 4 ? 4 : left >= 2 ? 2 : 1;
    groups_.push_back({first, size, first + size > n_data_planes_});
    first += size;
  }
  if (psf && apart) groups_.push_back({n_data_planes_, 1, true});
  planes_.resize(groups_.size());
  for (PlaneGroup& group : groups_) {
    group.value.resize({spread_batch * 2 * group.n + 64 / sizeof(T)});
    group.lines.resize({max_track_nodes * product_values(max_band_columns, 2 * group.n)});
  }
  channel_values_.resize({channel_rows_at_once * product_values(max_band_channels, 2 * 4) + 64 / sizeof(T)});
  row_values_.resize({max_track_rows * product_values(max_band_columns, 2 * 4)});
  for (const auto& plane : setup.mix) {
    mix_.insert(mix_.end(), plane.begin(), plane.end());
    const auto folded = folded_mix(plane);
    folded_mix_.insert(folded_mix_.end(), folded.begin(), folded.end());
  }
  const FoldedShape largest = tables.shape(4);
  for (Buffer<T, 1>* each : {&image_, &sum_}) each->resize({largest.size()});
  screen_re_.resize({largest.rows, largest.columns});
  screen_im_.resize({largest.rows, largest.columns});
}

/// Fine cells -> folded image, along v, then along u.
template <class T>
void SubgridMaker<T>::images_of_term(const PlaneGroup& group, std::size_t term) {
  const SpreadTables<T>& tables = tables_.tables(task_form_.tables);
  const FoldedShape shape = tables_.shape(group.n);
  const std::size_t values = 2 * group.n, half_u = task_form_.half_u, half_v = task_form_.half_v;
  constexpr std::size_t step = 64 / sizeof(T);
  const std::size_t columns = (half_u * values + step - 1) / step * step, row = 2 * columns;
  reserve(folded_, 2 * half_v * row);
  reserve(half_image_, 2 * shape.rows * row);
  const std::size_t cells_row = target_.n_u * values;
  fold_cells({group.n, half_u, half_v, cells_row, columns,
              group.cells.data() + term * target_.n_v * cells_row, folded_.data()});
  MatrixProduct<T> along_v{.n_rows = shape.rows, .n_cols = row, .n_k = half_v, .group = shape.rows};
  along_v.k_stride = shape.columns;
  along_v.b_stride = along_v.c_stride = row;
  for (std::size_t parity = 0; parity < 2; ++parity) {
    along_v.a = &tables.fine(parity, 0, 0);
    along_v.b = folded_.data() + parity * half_v * row;
    along_v.c = half_image_.data() + parity * shape.rows * row;
    matrix_product(along_v);
  }
  MatrixProduct<T> along_u{
      .n_rows = 2 * shape.rows * values, .n_cols = shape.columns, .n_k = half_u, .group = values};
  along_u.group_stride = row;
  along_u.k_stride = values;
  along_u.b_stride = shape.columns;
  along_u.c_stride = 2 * shape.columns;
  for (std::size_t parity = 0; parity < 2; ++parity) {
    along_u.a = half_image_.data() + parity * columns;
    along_u.b = &tables.fine(parity, 0, 0);
    along_u.c = image_.data() + parity * shape.columns;
    matrix_product(along_u);
  }
}

template <class T>
void SubgridMaker<T>::screen_term(const SubgridTask& task, std::size_t term) {
  const SpreadTables<T>& tables = tables_.tables(task_form_.tables);
  const double w = tables_.kernel()
                       ? 0
                       : task.w_lambda + task.half_w_lambda * tables_.nodes(task_form_.n_terms).node[term] -
                             tables_.plan().layer_w_lambda(task.layer);
  fill_screen(tables.factor.size(), tables_.n_offset().data(), w, tables.factor.data(), screen_re_.data(),
              screen_im_.data());
}

/// sum_ of the four correlations -> sum_ of the image planes.
template <class T>
void SubgridMaker<T>::undo_aterms(const GridBlock& block, const SubgridTask& task) {
  const idg::AtermKey& of = task.aterms;
  AtermStep<T> step{.shape = tables_.shape(4), .n_image = n_image_planes_, .mode = aterm_mode_};
  step.p = &block.aterms.jones(of.row_slot, of.chan_slot, of.response_p, 0, 0, 0);
  step.q = &block.aterms.jones(of.row_slot, of.chan_slot, of.response_q, 0, 0, 0);
  step.mix = of.folded != 0 ? folded_mix_.data() : mix_.data();
  step.in = sum_.data();
  step.out = image_.data();
  apply_aterms(step);
  std::swap(sum_, image_);
}

/// Folded image -> uv cells, along x, then along y.
template <class T>
void SubgridMaker<T>::finish(std::size_t first_plane, std::size_t n_planes, std::size_t output,
                             View<std::complex<T>, 4> subgrids) {
  const FoldedShape shape = tables_.shape(n_planes);
  const Buffer<T, 3>& coarse = tables_.coarse();
  MatrixProduct<T> along_x{
      .n_rows = 2 * shape.rows * 2 * n_planes, .n_cols = shape.columns, .n_k = shape.half};
  along_x.group_stride = along_x.c_stride = 2 * shape.columns;
  along_x.k_stride = 1;
  along_x.b_stride = shape.columns;
  along_x.piece = pixels_at_once;
  for (std::size_t parity = 0; parity < 2; ++parity) {
    along_x.a = sum_.data() + parity * shape.columns;
    along_x.b = &coarse(parity, 0, 0);
    along_x.c = image_.data() + parity * shape.columns;
    matrix_product(along_x);
  }
  MatrixProduct<T> along_y{.n_rows = shape.rows, .n_cols = shape.row_size(), .n_k = shape.half};
  along_y.group = shape.rows;
  along_y.piece = pixels_at_once;
  along_y.k_stride = shape.columns;
  along_y.b_stride = along_y.c_stride = shape.row_size();
  for (std::size_t parity = 0; parity < 2; ++parity) {
    along_y.a = &coarse(parity, 0, 0);
    along_y.b = image_.data() + parity * shape.rows * shape.row_size();
    along_y.c = sum_.data() + parity * shape.rows * shape.row_size();
    matrix_product(along_y);
  }
  for (std::size_t plane = 0; plane < n_planes; ++plane)
    unfold_cells(shape, sum_.data(), plane, subgrids[first_plane + plane][output]);
}

template <class T>
void SubgridMaker<T>::sum_tasks(PlaneGroup& group, std::size_t n_values, bool is_first, bool is_last) {
  if (is_first && is_last) return;
  if (is_first) {
    if (group.total.size() == 0) group.total.resize({sum_.size()});
    std::swap(group.total, sum_);
    return;
  }
  T* total = group.total.data();
  const T* own = sum_.data();
  for (std::size_t i = 0; i < n_values; ++i) total[i] += own[i];
  if (is_last) std::swap(group.total, sum_);
}

template <class T>
void SubgridMaker<T>::make(const GridBlock& block, const Partition& partition,
                           std::span<const SubgridTask> tasks, std::size_t first_layer, std::size_t n_layers,
                           View<std::complex<T>, 4> subgrids) {
  std::size_t n_planes = 0;
  for (const PlaneGroup& group : groups_) n_planes += group.n;
  for (const SubgridTask& task : tasks) {
    const bool is_first = &task == &tasks.front(), is_last = &task == &tasks.back();
    tracks_.find(block, partition, task);
    task_form_ = tables_.choose(task, tracks_.n_places(), n_planes, tracks_.reach(0), tracks_.reach(1));
    spread_task(block, task);
    for (PlaneGroup& group : groups_) {
      const FoldedShape shape = tables_.shape(group.n);
      const bool aterms = aterm_mode_ != AtermMode::none && !group.psf;
      auto finish_output = [&](std::size_t output) {
        if (aterms) undo_aterms(block, task);
        sum_tasks(group, tables_.shape(aterms ? n_image_planes_ : group.n).size(), is_first, is_last);
        if (!is_last) return;
        if (aterm_mode_ == AtermMode::none)
          finish(group.first, group.n, output, subgrids);
        else
          finish(aterms ? 0 : n_image_planes_, aterms ? n_image_planes_ : 1, output, subgrids);
      };
      for (std::size_t term = 0; term < task_form_.n_terms; ++term) {
        const std::size_t layer = task.layer + (tables_.kernel() ? term : 0);
        if (layer < first_layer || layer >= first_layer + n_layers) continue;
        images_of_term(group, term);
        screen_term(task, term);
        add_screened({shape, image_.data(), screen_re_.data(), screen_im_.data(),
                      term == 0 || tables_.kernel(), sum_.data()});
        if (tables_.kernel()) finish_output(term);
      }
      if (!tables_.kernel()) finish_output(0);
    }
  }
}

template class SubgridMaker<float>;
template class SubgridMaker<double>;

}  // namespace apsyn
