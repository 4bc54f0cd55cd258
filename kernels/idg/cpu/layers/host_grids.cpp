// SPDX-License-Identifier: GPL-3.0-or-later
// Subgrids are added by bands of grid rows, each band taking the tasks in their order: every cell is summed
// in an order that depends on the data alone.
#include "kernels/idg/cpu/layers/host_grids.h"

#include <algorithm>
#include <utility>

#include "libcore/system/parallel.h"

namespace apsyn {
namespace {

constexpr std::size_t band_rows = 32;

}  // namespace

SubgridPlace place_of(const IdgPlan& plan, const SubgridTask& task) {
  const auto half = static_cast<std::int64_t>(plan.settings.subgrid / 2);
  return {task.layer, grid_index(task.centre_v - half, plan.n_v_stored()),
          grid_index(task.centre_u - half, plan.n_u_stored())};
}

template <class T>
HostGrids<T>::HostGrids(const IdgPlan& plan, std::size_t n_planes, unsigned n_threads)
    : plan_(plan),
      n_planes_(n_planes),
      n_threads_(n_threads),
      n_u_(plan.n_u_stored()),
      n_v_(plan.n_v_stored()),
      transform_(plan, n_threads),
      band_tasks_((n_v_ + band_rows - 1) / band_rows) {}

template <class T>
void HostGrids<T>::begin_pass(const LayerRange& layers) {
  layers_ = layers;
  if (images_.size() == 0) {
    images_ = std::move(spare_images_);
    resize_by_threads(n_threads_, {n_planes_, plan_.image.n_y, plan_.image.n_x}, images_);
  }
  grids_.resize_for_overwrite({layers.n, n_planes_, n_v_, n_u_});
  row_used_.assign(layers.n * n_planes_, std::vector<std::uint8_t>(n_v_, 0));
}

template <class T>
void HostGrids<T>::list_bands(std::span<const SubgridPlace> places) {
  for (auto& tasks : band_tasks_) tasks.clear();
  const std::size_t side = plan_.settings.subgrid;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const std::size_t start = places[i].start_v, end = start + side;
    auto list = [&](std::size_t first, std::size_t last) {
      for (std::size_t band = first / band_rows; band <= (last - 1) / band_rows; ++band)
        if (band_tasks_[band].empty() || band_tasks_[band].back() != i)
          band_tasks_[band].push_back(static_cast<std::uint32_t>(i));
    };
    list(start, std::min(end, n_v_));
    if (end > n_v_) list(0, end - n_v_);
  }
}

template <class T>
void HostGrids<T>::add(std::span<const SubgridPlace> places, View<const std::complex<T>, 5> subgrids) {
  list_bands(places);
  const std::size_t side = plan_.settings.subgrid, n_planes = subgrids.extent(1),
                    n_outputs = subgrids.extent(2);
  parallel_for(n_threads_, band_tasks_.size() * n_planes, [&](std::size_t item, unsigned) {
    const std::size_t band = item / n_planes, plane = item % n_planes;
    const std::size_t first = band * band_rows, last = std::min(n_v_, first + band_rows);
    for (const std::uint32_t i : band_tasks_[band])
      for (std::size_t row = first; row < last; ++row) {
        // The uv plane is periodic: at pixel centres exp(-2 pi i u l) does not change when u grows by 1 /
        // cell.
        const std::size_t start = places[i].start_v, v = row >= start ? row - start : row + n_v_ - start;
        if (v >= side) continue;
        for (std::size_t output = 0; output < n_outputs; ++output) {
          const std::size_t layer = places[i].layer + output;
          if (layer < layers_.first || layer >= layers_.first + layers_.n) continue;
          const std::size_t own = layer - layers_.first;
          std::complex<T>* cells = &grids_(own, plane, row, 0);
          std::uint8_t& used = row_used_[own * n_planes_ + plane][row];
          if (!used) std::fill(cells, cells + n_u_, 0);
          used = 1;
          add_row(&subgrids(i, plane, output, v, 0), cells, places[i].start_u);
        }
      }
  });
}

template <class T>
void HostGrids<T>::add_row(const std::complex<T>* cells, std::complex<T>* row, std::size_t start) const {
  const std::size_t side = plan_.settings.subgrid, first_part = std::min(side, n_u_ - start);
  for (std::size_t u = 0; u < first_part; ++u) row[start + u] += cells[u];
  for (std::size_t u = first_part; u < side; ++u) row[u - first_part] += cells[u];
}

template <class T>
void HostGrids<T>::end_pass() {
  for (std::size_t layer = 0; layer < layers_.n; ++layer)
    for (std::size_t plane = 0; plane < n_planes_; ++plane) {
      const auto& used = row_used_[layer * n_planes_ + plane];
      if (std::find(used.begin(), used.end(), 1) == used.end()) continue;
      transform_.add(View<const std::complex<T>, 2>(grids_.view()[layer][plane]), used,
                     plan_.layer_w_lambda(layers_.first + layer), images_.view()[plane]);
    }
  layers_.n = 0;
}

template <class T>
Buffer<double, 3> HostGrids<T>::take_images() {
  if (images_.size() == 0) images_.resize({n_planes_, plan_.image.n_y, plan_.image.n_x});
  for (std::size_t plane = 0; plane < n_planes_; ++plane) transform_.correct(images_.view()[plane]);
  return std::move(images_);
}

template class HostGrids<float>;
template class HostGrids<double>;

}  // namespace apsyn
