// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/epic/corr/cuda/strips/imager.cuh"

namespace apsyn::epic_cuda {

StripImager::StripImager(const StripPlan& plan, const CellShape& cells, int n_term)
    : cells_(cells),
      shape_(plan.shape),
      first_bin_y_(plan.first_bin_y),
      nx_(plan.nx),
      ny_(plan.ny),
      n_term_(n_term) {
  turns_.copy(plan.turns.data(), plan.turns.size());
  row_of_place_.copy(plan.row_of_place.data(), plan.row_of_place.size());
  first_of_bin_.copy(plan.first_of_bin.data(), plan.first_of_bin.size());
  factors_.copy(plan.factors.data(), plan.factors.size());
  pixels_.copy(plan.pixels.data(), plan.pixels.size());
  of_column_.copy(plan.of_column.data(), plan.of_column.size());
  of_row_.copy(plan.of_row.data(), plan.of_row.size());
}

std::size_t StripImager::table_bytes() const {
  if (n_term_ > 0)
    return cells_.n_grid_pair() * (sizeof(PairPlace) + depth_taps(n_term_) * sizeof(float2) + sizeof(float) +
                                   kDepthEntries * sizeof(StripEntry));
  // a pair reaches two strips, whose keys are sorted with as much again beside them
  constexpr std::size_t kSorting = 2 * (sizeof(std::uint64_t) + sizeof(std::uint32_t));
  const std::size_t entry = kSorting + sizeof(StripEntry) + kEntryTaps * sizeof(float);
  const std::size_t orders = static_cast<std::size_t>(kOrderGroup * cells_.n_group());
  const std::size_t pair = sizeof(PairPlace) + (1 + orders) * sizeof(std::uint32_t) + 2 * entry;
  return cells_.n_grid_pair() * pair;
}

std::size_t StripImager::column_bytes() const {
  return std::size_t(cells_.n_order) * cells_.n_product * shape_.n_row * cells_.n_strip() * kStripColumns *
         sizeof(float2);
}

void StripImager::make_tables(PlaceTask place, const float* taps, int n_power, cudaStream_t stream) {
  place.grouped = false;
  StripListTask list;
  list.shape = cells_;
  list.n_image = place.n_channel / cells_.n_average;
  list.taps = taps;
  list.n_power = n_power;
  list.n_entry = placed_.place(place, stream);
  list.places = placed_.places();
  list.ends = placed_.ends();
  DeviceSort& sort = placed_.sort();
  list.keys = sort.keys(list.n_entry);
  list.begins = begins_.reserve(static_cast<std::size_t>(list.n_list()) + 1);
  list.entries = entries_.reserve(list.n_entry);
  list.entry_taps = entry_taps_.reserve(std::size_t{list.n_entry} * kEntryTaps);
  sort.begin(list.n_entry);
  launch_strip_keys(list, stream);
  sort.by_keys(list.n_entry, bits_of(list.n_key()));
  list.sorted = sort.sorted_keys();
  launch_strip_entries(list, stream);
}

void StripImager::make_tables(DepthPairTask task, cudaStream_t stream) {
  const auto n_image = static_cast<std::size_t>(task.n_channel / cells_.n_average);
  const std::size_t n_pair = n_image * cells_.n_grid_pair(), n_strip = n_image * cells_.n_strip();
  task.shape = cells_;
  task.n_term = n_term_;
  task.places = places_.reserve(n_pair);
  task.taps = taps_.reserve(n_pair * depth_taps(n_term_));
  task.peaks = peaks_.reserve(n_pair);
  task.counts = counts_.reserve(n_strip);
  task.next = next_.reserve(n_strip);
  task.begins = begins_.reserve(n_strip + n_image);
  task.entries = entries_.reserve(kDepthEntries * n_pair);
  launch_depth_pairs(task, stream);
}

void StripImager::columns(const float2* values, int first_image, int n_image, cudaStream_t stream) {
  float2* columns = columns_.reserve(static_cast<std::size_t>(n_image) * column_bytes() / sizeof(float2));
  if (n_term_ > 0) {
    DepthColumnTask task;
    task.cells = cells_;
    task.shape = shape_;
    task.n_image = n_image;
    task.first_image = first_image;
    task.n_term = n_term_;
    task.begins = begins_.data();
    task.entries = entries_.data();
    task.taps = taps_.data();
    task.peaks = peaks_.data();
    task.values = values;
    task.turns = turns_.data();
    task.row_of_place = row_of_place_.data();
    task.columns = columns;
    return launch_depth_columns(task, stream);
  }
  StripColumnTask task;
  task.cells = cells_;
  task.shape = shape_;
  task.n_image = n_image;
  task.first_image = first_image;
  task.begins = begins_.data();
  task.entries = entries_.data();
  task.entry_taps = entry_taps_.data();
  task.orders = placed_.orders();
  task.values = values;
  task.turns = turns_.data();
  task.row_of_place = row_of_place_.data();
  task.columns = columns;
  launch_strip_columns(task, stream);
}

void StripImager::weigh_sites(SiteFactorTask task, cudaStream_t stream) {
  task.cells = cells_;
  task.shape = shape_;
  task.first_bin_y = first_bin_y_;
  const std::size_t n_bin = static_cast<std::size_t>(shape_.n_row / 2) * static_cast<std::size_t>(cells_.n_x);
  task.factors = factors_.reserve(static_cast<std::size_t>(cells_.n_order) * n_bin);
  launch_site_factors(task, stream);
}

StripRowTask StripImager::row_task(int n_image) const {
  StripRowTask task;
  task.cells = cells_;
  task.shape = shape_;
  task.n_image = n_image;
  task.columns = columns_.data();
  task.turns = turns_.data();
  task.first_of_bin = first_of_bin_.data();
  task.factors = factors_.data();
  task.pixels = pixels_.data();
  task.first_bin_y = first_bin_y_;
  return task;
}

DepthRowTask StripImager::depth_row_task(int n_image) const {
  DepthRowTask task;
  task.cells = cells_;
  task.shape = shape_;
  task.n_image = n_image;
  task.columns = columns_.data();
  task.turns = turns_.data();
  task.first_of_bin = first_of_bin_.data();
  task.of_column = of_column_.data();
  task.of_row = of_row_.data();
  task.nx = nx_;
  task.ny = ny_;
  task.first_bin_y = first_bin_y_;
  return task;
}

void StripImager::rows(int n_image, const OrderTarget& target, cudaStream_t stream) {
  if (nx_ > 0) {
    DepthRowTask task = depth_row_task(n_image);
    task.target = target;
    return launch_depth_rows(task, stream);
  }
  StripRowTask task = row_task(n_image);
  task.target = target;
  launch_strip_rows(task, stream);
}

void StripImager::rows(int n_image, float* images, cudaStream_t stream) {
  if (nx_ > 0) {
    DepthRowTask task = depth_row_task(n_image);
    task.images = images;
    return launch_depth_rows(task, stream);
  }
  StripRowTask task = row_task(n_image);
  task.images = images;
  launch_strip_rows(task, stream);
}

}  // namespace apsyn::epic_cuda
