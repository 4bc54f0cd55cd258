// SPDX-License-Identifier: GPL-3.0-or-later
// SubgridPredictor's last step: from fine cells to a task's visibilities, by way of the nodes of their
// tracks and channels.
#include <algorithm>
#include <array>

#include "kernels/common/math/matrix_product.h"
#include "kernels/idg/cpu/degrid/interpolate.h"
#include "kernels/idg/cpu/degrid/subgrid_predictor.h"

namespace apsyn {

template <class T>
void SubgridPredictor<T>::interpolate_batch() {
  locate_batch(target_, batch_);
  interpolate(Interpolation<T>{target_.taps, task_form_.n_terms, values_ / 2, fine_.data(),
                               2 * task_form_.half_u, cell_stride_, value_.data()},
              batch_);
}

/// data += a row's values, [chan][plane][re, im] of folded visibilities: with A-terms those of V^H.
template <class T>
template <class Out>
void SubgridPredictor<T>::add_piece(const GridBlock& block, const Piece& piece, const T* values,
                                    View<std::complex<Out>, 3> data) const {
  const T sign = block.uvw_m(piece.row, 2) < 0 ? -1 : 1;
  std::complex<Out>* to = &data(piece.row, piece.chan, 0);
  const std::size_t n_out = data.extent(2);
  auto add = [&](std::complex<Out>& out, const T* value) {
    out += std::complex<Out>(static_cast<Out>(value[0]), static_cast<Out>(sign * value[1]));
  };
  if (!setup_.mix.empty() && sign < 0) {
    for (std::size_t i = 0; i < piece.n; ++i)
      for (std::size_t plane = 0; plane < n_out; ++plane)
        add(to[i * n_out + plane], values + i * values_ + 2 * exchanged_correlations[plane]);
  } else if (2 * n_out == values_) {
    for (std::size_t i = 0; i < piece.n * n_out; ++i) add(to[i], values + 2 * i);
  } else {
    for (std::size_t i = 0; i < piece.n; ++i)
      for (std::size_t plane = 0; plane < n_out; ++plane)
        add(to[i * n_out + plane], values + i * values_ + 2 * plane);
  }
}

template <class T>
template <class Out>
void SubgridPredictor<T>::flush_rows(const GridBlock& block, View<std::complex<Out>, 3> data) {
  if (batch_.n == 0) return;
  interpolate_batch();
  if (block.path_m.size() != 0) {
    std::array<double, spread_chunk> turns;
    for (const Piece& piece : pieces_) {
      const double path_m = block.path_m[piece.row] * (block.uvw_m(piece.row, 2) < 0 ? 1 : -1);
      for (std::size_t i = 0; i < piece.n; ++i)
        turns[piece.first + i] = path_m * block.wavenumber[piece.chan + i];
    }
    turn_values(batch_.n, values_ / 2, values_ / 2, turns.data(), value_.data());
  }
  for (const Piece& piece : pieces_) add_piece(block, piece, value_.data() + piece.first * values_, data);
  batch_.n = 0;
  pieces_.clear();
}

/// Rows of a track without nodes; the next track's rows continue the same batch.
template <class T>
template <class Out>
void SubgridPredictor<T>::add_rows(const GridBlock& block, const Track& track,
                                   View<std::complex<Out>, 3> data) {
  for (std::size_t i = track.first; i < track.first + track.n; ++i) {
    const VisibilityRun& run = tracks_.runs()[i];
    for_channels(
        tracks_.row(i), block.wavenumber.data() + run.first_channel, run.n_channels, batch_,
        [&](std::size_t done, std::size_t n) {
          pieces_.push_back({run.row, run.first_channel + done, n, batch_.n});
        },
        [&] { flush_rows(block, data); });
  }
}

/// Lines [first, first + n) of a band's columns.
template <class T>
void SubgridPredictor<T>::interpolate_lines(const GridBlock& block, const Track& track, const Band& band,
                                            std::size_t first, std::size_t n) {
  const double* wavenumber =
      band.n_nodes > 0 ? tracks_.channels(block, band).node.data() : block.wavenumber.data() + band.first;
  const std::size_t stride = product_values(band.n_columns(), values_);
  auto keep = [&] {
    interpolate_batch();
    for (const Piece& piece : pieces_)
      std::copy_n(value_.data() + piece.first * values_, piece.n * values_,
                  lines_.data() + piece.row * stride + piece.chan * values_);
    batch_.n = 0;
    pieces_.clear();
  };
  for (std::size_t i = 0; i < n; ++i)
    for_channels(
        tracks_.line(track, first + i), wavenumber, band.n_columns(), batch_,
        [&](std::size_t done, std::size_t n_taken) {
          pieces_.push_back({i, done, n_taken, batch_.n});
        },
        keep);
  if (batch_.n > 0) keep();
}

/// data += the share of a band's columns in rows [first, first + n) of a track.
template <class T>
template <class Out>
void SubgridPredictor<T>::add_columns(const GridBlock& block, const Track& track, const Band& band,
                                      std::size_t first, std::size_t n, const T* columns,
                                      View<std::complex<Out>, 3> data) {
  const std::size_t stride = product_values(band.n_columns(), values_);
  auto add_row = [&](std::size_t i, const T* values) {
    add_piece(block, {tracks_.runs()[track.first + i].row, band.first, band.n, 0}, values, data);
  };
  if (band.n_nodes == 0) {
    for (std::size_t i = 0; i < n; ++i) add_row(first + i, columns + i * stride);
    return;
  }
  ChannelProduct<T> sums{.n_from = band.n_nodes,
                         .n_to = band.n,
                         .n_values = values_,
                         .share = tracks_.channels(block, band).to_channels.data(),
                         .share_stride = product_places(band.n)};
  sums.from_stride = stride;
  sums.to = at_channels_.data();
  sums.to_stride = product_values(band.n, values_);
  for (std::size_t done = 0; done < n; done += channel_rows_at_once) {
    sums.n_rows = std::min(channel_rows_at_once, n - done);
    sums.from = columns + done * stride;
    channel_product(sums);
    for (std::size_t i = 0; i < sums.n_rows; ++i)
      add_row(first + done + i, at_channels_.data() + i * sums.to_stride);
  }
}

/// From the nodes of a track, or from its rows where it has none and no shares.
template <class T>
template <class Out>
void SubgridPredictor<T>::add_band(const GridBlock& block, const Track& track, const Band& band,
                                   const T* shares, View<std::complex<Out>, 3> data) {
  flush_rows(block, data);
  if (track.n_nodes == 0) {
    for (std::size_t first = 0; first < track.n; first += max_track_nodes) {
      const std::size_t n = std::min(max_track_nodes, track.n - first);
      interpolate_lines(block, track, band, first, n);
      add_columns(block, track, band, first, n, lines_.data(), data);
    }
    return;
  }
  interpolate_lines(block, track, band, 0, track.n_nodes);
  MatrixProduct<T> sums{.n_rows = tracks_.padded_rows(track),
                        .n_cols = product_values(band.n_columns(), values_),
                        .n_k = track.n_nodes,
                        .a = shares};
  sums.group_stride = tracks_.padded_nodes(track);
  sums.k_stride = 1;
  sums.b_stride = sums.c_stride = sums.n_cols;
  sums.b = lines_.data();
  sums.c = at_rows_.data();
  matrix_product(sums);
  add_columns(block, track, band, 0, track.n, at_rows_.data(), data);
}

#define APSYN_INSTANTIATE(T, Out)                                                                          \
  template void SubgridPredictor<T>::add_rows(const GridBlock&, const Track&, View<std::complex<Out>, 3>); \
  template void SubgridPredictor<T>::add_band(const GridBlock&, const Track&, const Band&, const T*,       \
                                              View<std::complex<Out>, 3>);                                 \
  template void SubgridPredictor<T>::flush_rows(const GridBlock&, View<std::complex<Out>, 3>);
APSYN_INSTANTIATE(float, float)
APSYN_INSTANTIATE(float, double)
APSYN_INSTANTIATE(double, float)
APSYN_INSTANTIATE(double, double)
#undef APSYN_INSTANTIATE

}  // namespace apsyn
