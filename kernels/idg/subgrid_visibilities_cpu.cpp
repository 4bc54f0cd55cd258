// SPDX-License-Identifier: GPL-3.0-or-later
// SubgridMaker's first step: a task's visibilities, or what the nodes of their tracks have of them, onto fine
// cells.
#include <algorithm>
#include <array>

#include "kernels/common/matrix_product.h"
#include "kernels/idg/subgrid_cpu.h"

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
  target_ = forms_.aim(task, task_form_);
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
    if (track.n_nodes > 0)
      add_nodes(block, track, flush);
    else
      add_rows(block, track, path.data(), flush);
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

/// What its nodes have of them, track_channels at a time.
template <class T>
template <class Flush>
void SubgridMaker<T>::add_nodes(const GridBlock& block, const Track& track, Flush flush) {
  const VisibilityRun& channels = tracks_.runs()[track.first];
  const T* shares = tracks_.shares(track);
  for (std::size_t chan = 0; chan < channels.n_channels; chan += track_channels) {
    const std::size_t n_chan = std::min(track_channels, channels.n_channels - chan);
    for (PlaneGroup& group : groups_) {
      MatrixProduct<T> sums{.n_rows = tracks_.padded_nodes(track),
                            .n_cols = value_columns(n_chan, group.n),
                            .n_k = track.n,
                            .a = shares};
      sums.group = sums.k_stride = sums.n_rows;
      sums.b_stride = sums.c_stride = sums.n_cols;
      for (std::size_t i = 0; i < track.n; ++i)
        append(block, group, tracks_.runs()[track.first + i].row, channels.first_channel + chan, n_chan,
               row_values_.data() + i * sums.n_cols);
      sums.b = row_values_.data();
      sums.c = group.at_nodes.data();
      matrix_product(sums);
    }
    for (std::size_t k = 0; k < track.n_nodes; ++k)
      for_channels(
          tracks_.node(track.first_node + k), block.wavenumber.data() + channels.first_channel + chan, n_chan,
          batch_,
          [&](std::size_t done, std::size_t n) {
            for (PlaneGroup& group : groups_)
              std::copy_n(group.at_nodes.data() + k * value_columns(n_chan, group.n) + done * 2 * group.n,
                          n * 2 * group.n, group.value.data() + batch_.n * 2 * group.n);
          },
          flush);
  }
}

template void SubgridMaker<float>::spread_task(const GridBlock&, const SubgridTask&);
template void SubgridMaker<double>::spread_task(const GridBlock&, const SubgridTask&);

}  // namespace apsyn
