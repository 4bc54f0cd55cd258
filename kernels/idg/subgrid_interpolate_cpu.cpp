// SPDX-License-Identifier: GPL-3.0-or-later
// SubgridPredictor's last step: from fine cells to a task's visibilities, by way of the nodes of their
// tracks.
#include <algorithm>
#include <array>

#include "kernels/common/matrix_product.h"
#include "kernels/idg/interpolate_cpu.h"
#include "kernels/idg/subgrid_degrid_cpu.h"

namespace apsyn {

template <class T>
void SubgridPredictor<T>::interpolate_batch() {
  locate_batch(target_, batch_);
  interpolate(Interpolation<T>{target_.taps, task_form_.n_terms, values_ / 2, fine_.data(),
                               2 * task_form_.half_u, cell_stride_, value_.data()},
              batch_);
}

/// data += a row's values, [chan][plane][re, im] of folded visibilities.
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
  if (2 * n_out == values_) {
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

/// Rows of a track without nodes: the batch goes on with the next track's.
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

/// track_channels at a time.
template <class T>
template <class Out>
void SubgridPredictor<T>::add_nodes(const GridBlock& block, const Track& track,
                                    View<std::complex<Out>, 3> data) {
  flush_rows(block, data);
  const VisibilityRun& channels = tracks_.runs()[track.first];
  const T* shares = tracks_.shares(track);
  constexpr std::size_t vector = 64 / sizeof(T);
  for (std::size_t chan = 0; chan < channels.n_channels; chan += track_channels) {
    const std::size_t first = channels.first_channel + chan,
                      n_chan = std::min(track_channels, channels.n_channels - chan);
    MatrixProduct<T> sums{.n_rows = tracks_.padded_rows(track),
                          .n_cols = (n_chan * values_ + vector - 1) / vector * vector,
                          .n_k = track.n_nodes,
                          .a = shares};
    sums.group_stride = tracks_.padded_nodes(track);
    sums.k_stride = 1;
    sums.b_stride = sums.c_stride = sums.n_cols;
    sums.b = at_nodes_.data();
    sums.c = at_rows_.data();
    auto keep = [&] {
      interpolate_batch();
      for (const Piece& piece : pieces_)
        std::copy_n(value_.data() + piece.first * values_, piece.n * values_,
                    at_nodes_.data() + piece.row * sums.n_cols + piece.chan * values_);
      batch_.n = 0;
      pieces_.clear();
    };
    for (std::size_t k = 0; k < track.n_nodes; ++k)
      for_channels(
          tracks_.node(track.first_node + k), block.wavenumber.data() + first, n_chan, batch_,
          [&](std::size_t done, std::size_t n) {
            pieces_.push_back({k, done, n, batch_.n});
          },
          keep);
    if (batch_.n > 0) keep();
    matrix_product(sums);
    for (std::size_t i = 0; i < track.n; ++i)
      add_piece(block, {tracks_.runs()[track.first + i].row, first, n_chan, 0},
                at_rows_.data() + i * sums.n_cols, data);
  }
}

#define APSYN_INSTANTIATE(T, Out)                                                                           \
  template void SubgridPredictor<T>::add_rows(const GridBlock&, const Track&, View<std::complex<Out>, 3>);  \
  template void SubgridPredictor<T>::add_nodes(const GridBlock&, const Track&, View<std::complex<Out>, 3>); \
  template void SubgridPredictor<T>::flush_rows(const GridBlock&, View<std::complex<Out>, 3>);
APSYN_INSTANTIATE(float, float)
APSYN_INSTANTIATE(float, double)
APSYN_INSTANTIATE(double, float)
APSYN_INSTANTIATE(double, double)
#undef APSYN_INSTANTIATE

}  // namespace apsyn
