// SPDX-License-Identifier: GPL-3.0-or-later
// SubgridMaker's first step: spreads a task's visibilities, or their sums at the nodes of tracks and
// channels, onto fine cells.
#include <algorithm>
#include <array>

#include "kernels/common/math/matrix_product.h"
#include "kernels/idg/cpu/grid/subgrid_maker.h"

namespace apsyn {

/// Values of channels of one row, weighted; visibilities without weight are 0, whatever they hold.
template <class T>
void SubgridMaker<T>::append(const GridBlock& block, const PlaneGroup& group, std::size_t row,
                             std::size_t chan, std::size_t n_chan, T* value) const {
  const T sign = block.uvw_m(row, 2) < 0 ? -1 : 1;
  const std::size_t n_weights = block.weight.extent(2);
  const float* weights = &block.weight(row, chan, 0);
  auto put = [&](const std::complex<float>& data, float weight, T* out) {
    const float re = weight != 0 ? data.real() : 0.0f, im = weight != 0 ? data.imag() : 0.0f;
    out[0] = static_cast<T>(re) * static_cast<T>(weight);
    out[1] = static_cast<T>(im) * static_cast<T>(weight) * sign;
  };
  const bool exchange = aterm_mode_ != AtermMode::none && sign < 0;
  if (group.n == n_data_planes_ && group.n == n_weights && !group.psf && !exchange) {
    const std::complex<float>* data = &block.data(row, chan, 0);
    weigh_values(n_chan * group.n, data, weights, static_cast<float>(sign), value);
    return;
  }
  for (std::size_t c = 0; c < n_chan; ++c) {
    T* out = value + 2 * c * group.n;
    for (std::size_t p = 0; p < group.n_data(); ++p) {
      const std::size_t plane = exchange ? exchanged_correlations[p] : group.first + p;
      put(block.data(row, chan + c, plane), weights[c * n_weights + plane], out + 2 * p);
    }
    if (group.psf) {
      out[2 * group.n - 2] = static_cast<T>(weights[c * n_weights]);
      out[2 * group.n - 1] = 0;
    }
  }
}

template <class T>
void SubgridMaker<T>::spread_task(const GridBlock& block, const SubgridTask& task) {
  target_ = tables_.aim(task, task_form_);
  target_.n_u += spread_overrun;
  for (PlaneGroup& group : groups_)
    group.cells.resize({task_form_.n_terms * target_.n_v * target_.n_u * 2 * group.n + 64 / sizeof(T)});

  std::array<double, spread_batch> path;
  auto flush = [&] {
    locate_batch(target_, batch_);
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      PlaneGroup& group = groups_[g];
      if (block.path_m.size() != 0 && group.n_data() > 0)
        turn_values(batch_.n, group.n_data(), group.n, path.data(), group.value.data());
      planes_[g] = {group.n, group.value.data(), group.cells.data()};
    }
    spread(target_, batch_, planes_, scratch_);
    batch_.n = 0;
  };
  for (const Track& track : tracks_.tracks())
    if (track.n_nodes > 0 || track.has_channel_nodes) {
      const T* shares = track.n_nodes > 0 ? tracks_.shares(track) : nullptr;
      for (const Band& band : tracks_.bands(track)) add_band(block, track, band, shares, flush);
    } else {
      add_rows(block, track, path.data(), flush);
    }
  if (batch_.n > 0) flush();
}

/// A track's rows, as they are.
template <class T>
template <class Flush>
void SubgridMaker<T>::add_rows(const GridBlock& block, const Track& track, double* path, Flush flush) {
  for (std::size_t i = track.first; i < track.first + track.n; ++i) {
    const VisibilityRun& run = tracks_.runs()[i];
    const double* wavenumber = block.wavenumber.data() + run.first_channel;
    auto take = [&](std::size_t done, std::size_t n) {
      if (block.path_m.size() != 0) {
        const double path_m = (block.uvw_m(run.row, 2) < 0 ? -1 : 1) * block.path_m[run.row];
        for (std::size_t c = 0; c < n; ++c) path[batch_.n + c] = path_m * wavenumber[done + c];
      }
      for (PlaneGroup& group : groups_)
        append(block, group, run.row, run.first_channel + done, n,
               group.value.data() + batch_.n * 2 * group.n);
    };
    for_channels(tracks_.row(i), wavenumber, run.n_channels, batch_, take, flush);
  }
}

/// Sums rows [first, first + n) of a track into a band's columns.
template <class T>
void SubgridMaker<T>::fill_columns(const GridBlock& block, const PlaneGroup& group, const Track& track,
                                   const Band& band, std::size_t first, std::size_t n, T* to) {
  const std::size_t values = 2 * group.n, stride = product_values(band.n_columns(), values);
  auto append_row = [&](std::size_t i, T* value) {
    append(block, group, tracks_.runs()[track.first + i].row, band.first, band.n, value);
  };
  if (band.n_nodes == 0) {
    for (std::size_t i = 0; i < n; ++i) append_row(first + i, to + i * stride);
    return;
  }
  ChannelProduct<T> sums{.n_from = band.n,
                         .n_to = band.n_nodes,
                         .n_values = values,
                         .share = tracks_.channels(block, band).to_nodes.data(),
                         .share_stride = product_places(band.n_nodes)};
  sums.from = channel_values_.data();
  sums.from_stride = band.n * values;
  sums.to_stride = stride;
  for (std::size_t done = 0; done < n; done += channel_rows_at_once) {
    sums.n_rows = std::min(channel_rows_at_once, n - done);
    for (std::size_t i = 0; i < sums.n_rows; ++i)
      append_row(first + done + i, channel_values_.data() + i * sums.from_stride);
    sums.to = to + done * stride;
    channel_product(sums);
  }
}

/// A band's columns at the nodes of a track, or at its rows where it has none and no shares.
template <class T>
template <class Flush>
void SubgridMaker<T>::add_band(const GridBlock& block, const Track& track, const Band& band, const T* shares,
                               Flush flush) {
  const std::size_t n_lines = track.n_lines(), n_columns = band.n_columns();
  for (std::size_t first = 0; first < n_lines; first += max_track_nodes) {
    const std::size_t n = std::min(max_track_nodes, n_lines - first);
    for (PlaneGroup& group : groups_) {
      if (track.n_nodes == 0) {
        fill_columns(block, group, track, band, first, n, group.lines.data());
        continue;
      }
      fill_columns(block, group, track, band, 0, track.n, row_values_.data());
      MatrixProduct<T> sums{.n_rows = tracks_.padded_nodes(track),
                            .n_cols = product_values(n_columns, 2 * group.n),
                            .n_k = track.n,
                            .a = shares};
      sums.group = sums.k_stride = sums.n_rows;
      sums.b_stride = sums.c_stride = sums.n_cols;
      sums.b = row_values_.data();
      sums.c = group.lines.data();
      matrix_product(sums);
    }
    const double* wavenumber =
        band.n_nodes > 0 ? tracks_.channels(block, band).node.data() : block.wavenumber.data() + band.first;
    for (std::size_t i = 0; i < n; ++i)
      for_channels(
          tracks_.line(track, first + i), wavenumber, n_columns, batch_,
          [&](std::size_t done, std::size_t n_taken) {
            for (PlaneGroup& group : groups_)
              std::copy_n(
                  group.lines.data() + i * product_values(n_columns, 2 * group.n) + done * 2 * group.n,
                  n_taken * 2 * group.n, group.value.data() + batch_.n * 2 * group.n);
          },
          flush);
  }
}

template void SubgridMaker<float>::spread_task(const GridBlock&, const SubgridTask&);
template void SubgridMaker<double>::spread_task(const GridBlock&, const SubgridTask&);

}  // namespace apsyn
