// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/idg/cpu/degrid/subgrid_predictor.h"

#include <algorithm>

#include "kernels/common/math/folded_product.h"
#include "kernels/idg/cpu/degrid/pixels.h"

namespace apsyn {
namespace {

std::size_t round_up(std::size_t n, std::size_t multiple) {
  return (n + multiple - 1) / multiple * multiple;
}

template <class T>
void reserve(Buffer<T, 1>& buffer, std::size_t n) {
  if (buffer.size() < n) buffer.resize({n});
}

}  // namespace

std::uint64_t predictor_bytes(const IdgPlan& plan, const IdgSetup& setup) {
  const bool single = plan.settings.precision == Precision::single;
  const std::uint64_t side2 = std::uint64_t{plan.settings.subgrid} * plan.settings.subgrid;
  const std::uint64_t model = 2 * padded_planes(setup.n_image_planes()),
                      values = 2 * padded_planes(setup.n_data_planes);
  const std::uint64_t cell =
      round_up(max_task_terms(plan) * values,
               single ? folded_product_columns<float>() : folded_product_columns<double>());
  // Pixels and their folded halves; folded pixels before and behind the A-terms; all terms of the pixels, of
  // fine cells along one axis and of those along both, of which there are up to twice as many on a side.
  return (side2 * (2 * model + 2 * values + (1 + 2 + 4) * cell) + track_values(values, values)) *
         (single ? sizeof(float) : sizeof(double));
}

template <class T>
SubgridPredictor<T>::SubgridPredictor(const SubgridTables<T>& tables, const IdgSetup& setup)
    : tables_(tables),
      setup_(setup),
      model_values_(2 * padded_planes(setup.n_image_planes())),
      values_(2 * padded_planes(setup.n_data_planes)),
      tracks_(tables.plan(), tables.plan().settings.accuracy * track_share, predicted_channel_cost) {
  for (const auto& plane : setup.mix) folded_mix_.push_back(folded_mix(plane));
  const std::size_t side = tables.plan().settings.subgrid, half = side / 2;
  const std::size_t stride = round_up(side * model_values_, folded_product_columns<T>());
  rows_.resize({3, stride});
  even_.resize({half + 1, stride});
  odd_.resize({half + 1, stride});
  pixels_.resize({side, stride});
  if (!setup.mix.empty()) seen_.resize({side, side * values_});
  folded_.resize({4 * half * half * values_});
  const FoldedShape shape = tables.shape(1);
  screen_re_.resize({shape.rows, shape.columns});
  screen_im_.resize({shape.rows, shape.columns});
  value_.resize({spread_chunk * values_});
  lines_.resize({max_track_nodes * product_values(max_band_columns, values_) + 64 / sizeof(T)});
  at_rows_.resize({max_track_rows * product_values(max_band_columns, values_) + 64 / sizeof(T)});
  at_channels_.resize({channel_rows_at_once * product_values(max_band_channels, values_)});
}

/// The cells' rows, folded along v.
template <class T>
void SubgridPredictor<T>::load_rows(const SubgridTask& task, View<const std::complex<T>, 3> grid) {
  const IdgPlan& plan = tables_.plan();
  const std::size_t side = plan.settings.subgrid, half = side / 2, stride = rows_.extent(1);
  const std::size_t n_u = grid.extent(1), n_v = grid.extent(0);
  const std::size_t start = grid_index(task.centre_u - static_cast<std::int64_t>(half), n_u);
  const std::size_t before = std::min(side, n_u - start) * model_values_;
  auto load = [&](std::int64_t v, T* row) {
    const T* from = reinterpret_cast<const T*>(&grid(grid_index(task.centre_v + v, n_v), 0, 0));
    std::copy_n(from + start * model_values_, before, row);
    std::copy_n(from, side * model_values_ - before, row + before);
  };
  T *above = &rows_(0, 0), *below = &rows_(1, 0), *zero = &rows_(2, 0);
  for (std::size_t k = 0; k <= half; ++k) {
    if (k < half) load(static_cast<std::int64_t>(k), above);
    if (k > 0) load(-static_cast<std::int64_t>(k), below);
    // Row k of odd_ is the product's k - 1.
    fold_rows(stride, k < half ? above : zero, k > 0 ? below : zero, &even_(k, 0), &odd_(k, 0));
  }
}

/// Cells to pixels, along v and then along u, through the A-terms and folded.
template <class T>
void SubgridPredictor<T>::load_pixels(const GridBlock& block, const SubgridTask& task,
                                      View<const std::complex<T>, 3> grid) {
  const std::size_t side = tables_.plan().settings.subgrid, half = side / 2, stride = rows_.extent(1);
  load_rows(task, grid);
  const Buffer<T, 3>& coarse = tables_.coarse();
  FoldedProduct<T> product;
  product.n_k = product.n_rows = half;
  product.block_size = stride;
  product.cosine = &coarse(0, 0, 0);
  product.sine = &coarse(1, 0, 0);
  product.table_k_stride = 1;
  product.table_row_stride = coarse.extent(2);
  product.even = &even_(0, 0);
  product.odd = &odd_(1, 0);
  product.k_stride = stride;
  product.plus = &pixels_(half, 0);
  product.minus = &pixels_(half - 1, 0);
  product.out_row_stride = stride;
  folded_product(product);
  AxisFolding<T> folding{half, side, model_values_};
  folding.cells = pixels_.data();
  folding.cell_stride = model_values_;
  folding.other_stride = stride;
  folding.even = &even_(0, 0);
  folding.odd = &odd_(1, 0);
  folding.k_stride = stride;
  fold_axis(folding);
  folded_product(product);

  const bool aterms = !setup_.mix.empty();
  if (aterms) {
    const idg::AtermKey& of = task.aterms;
    AtermStage<T> stage{side, model_values_};
    auto jones = [&](std::size_t response) {
      // Pixel x of the block lies at l = ((L - 1) / 2 - x) l_step, ours the other way round.
      const auto* origin = &block.aterms.jones(of.row_slot, of.chan_slot, response, 0, side - 1, 0);
      return JonesPixels{origin, -4, static_cast<std::ptrdiff_t>(4 * side)};
    };
    stage.from = pixels_.data();
    stage.from_stride = stride;
    stage.mix = of.folded != 0 ? &folded_mix_ : &setup_.mix;
    stage.p = jones(of.response_p);
    stage.q = jones(of.response_q);
    stage.to = seen_.data();
    stage.to_stride = side * values_;
    apply_aterms(stage);
  }
  // The tables of cells are twice what this direction needs, on both axes.
  fold_pixels(PixelFolding<T>{half, values_, aterms ? seen_.data() : pixels_.data(),
                              aterms ? side * values_ : stride, T(0.25), folded_.data()});
}

/// The folded pixels' values of one term, with the taper and the screen of w.
template <class T>
void SubgridPredictor<T>::expand(std::size_t term, double w_lambda) {
  const SpreadTables<T>& tables = tables_.tables(task_form_.tables);
  fill_screen(tables.factor.size(), tables_.n_offset().data(), -w_lambda, tables.factor.data(),
              screen_re_.data(), screen_im_.data());
  expand_term(TermExpansion<T>{tables_.plan().settings.subgrid / 2, values_, folded_.data(),
                               screen_re_.data(), screen_im_.data(), screen_re_.extent(1),
                               expanded_.data() + term * values_, cell_stride_});
}

/// Pixels to fine cells, along x and then along y.
template <class T>
void SubgridPredictor<T>::make_fine_cells() {
  const SpreadTables<T>& tables = tables_.tables(task_form_.tables);
  const std::size_t half = tables_.plan().settings.subgrid / 2, quadrant = half * half * cell_stride_;
  const std::size_t row = 2 * task_form_.half_u * cell_stride_;
  reserve(half_fine_, 2 * half * row);
  reserve(fine_, 2 * task_form_.half_v * row);
  FoldedProduct<T> product;
  product.n_k = half;
  product.cosine = &tables.fine(0, 0, 0);
  product.sine = &tables.fine(1, 0, 0);
  product.table_k_stride = 1;
  product.table_row_stride = tables.fine.extent(2);
  product.n_rows = task_form_.half_u;
  product.n_blocks = half;
  product.block_size = product.block_stride = cell_stride_;
  product.k_stride = half * cell_stride_;
  product.out_row_stride = cell_stride_;
  product.out_block_stride = row;
  for (std::size_t parity = 0; parity < 2; ++parity) {
    product.even = expanded_.data() + parity * quadrant;
    product.odd = expanded_.data() + (2 + parity) * quadrant;
    product.plus = half_fine_.data() + parity * half * row + task_form_.half_u * cell_stride_;
    product.minus = product.plus - cell_stride_;
    folded_product(product);
  }
  product.n_rows = task_form_.half_v;
  product.n_blocks = 1;
  product.block_size = product.k_stride = product.out_row_stride = row;
  product.even = half_fine_.data();
  product.odd = half_fine_.data() + half * row;
  product.plus = fine_.data() + task_form_.half_v * row;
  product.minus = product.plus - row;
  folded_product(product);
}

template <class T>
template <class Out>
void SubgridPredictor<T>::predict(const GridBlock& block, const Partition& partition, const SubgridTask& task,
                                  const LayerGrids<T>& layers, View<std::complex<Out>, 3> data) {
  const IdgPlan& plan = tables_.plan();
  const std::size_t half = plan.settings.subgrid / 2;
  tracks_.find(block, partition, task);
  task_form_ = tables_.choose(task, tracks_.n_places(), values_ / 2, tracks_.reach(0), tracks_.reach(1));
  cell_stride_ = round_up(task_form_.n_terms * values_, folded_product_columns<T>());
  reserve(expanded_, 4 * half * half * cell_stride_);
  target_ = tables_.aim(task, task_form_);
  if (tables_.kernel()) {
    for (std::size_t r = 0; r < task_form_.n_terms; ++r) {
      const std::size_t layer = task.layer + r;
      if (layer >= layers.first_layer && layer < layers.first_layer + layers.grids.extent(0))
        load_pixels(block, task, layers.grids[layer - layers.first_layer]);
      else
        folded_.fill(0);
      expand(r, 0);
    }
  } else {
    load_pixels(block, task, layers.grids[task.layer - layers.first_layer]);
    const std::vector<double>& node = tables_.nodes(task_form_.n_terms).node;
    for (std::size_t r = 0; r < task_form_.n_terms; ++r)
      expand(r, task.w_lambda + task.half_w_lambda * node[r] - plan.layer_w_lambda(task.layer));
  }
  make_fine_cells();
  for (const Track& track : tracks_.tracks())
    if (track.n_nodes > 0 || track.has_channel_nodes) {
      const T* shares = track.n_nodes > 0 ? tracks_.shares(track) : nullptr;
      for (const Band& band : tracks_.bands(track)) add_band(block, track, band, shares, data);
    } else {
      add_rows(block, track, data);
    }
  flush_rows(block, data);
}

template class SubgridPredictor<float>;
template class SubgridPredictor<double>;
template void SubgridPredictor<float>::predict(const GridBlock&, const Partition&, const SubgridTask&,
                                               const LayerGrids<float>&, View<std::complex<float>, 3>);
template void SubgridPredictor<float>::predict(const GridBlock&, const Partition&, const SubgridTask&,
                                               const LayerGrids<float>&, View<std::complex<double>, 3>);
template void SubgridPredictor<double>::predict(const GridBlock&, const Partition&, const SubgridTask&,
                                                const LayerGrids<double>&, View<std::complex<float>, 3>);
template void SubgridPredictor<double>::predict(const GridBlock&, const Partition&, const SubgridTask&,
                                                const LayerGrids<double>&, View<std::complex<double>, 3>);

}  // namespace apsyn
