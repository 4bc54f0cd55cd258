// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/epic/corr/cuda/tables.cuh"

#include <algorithm>

namespace apsyn::epic_cuda {

namespace {

std::uint32_t read(const std::uint32_t* value, cudaStream_t stream) {
  std::uint32_t read = 0;
  cuda_check(cudaMemcpyAsync(&read, value, sizeof(read), cudaMemcpyDeviceToHost, stream), "counting pairs");
  cuda_check(cudaStreamSynchronize(stream), "counting pairs");
  return read;
}

}  // namespace

std::uint32_t PlacedPairs::place(PlaceTask place, cudaStream_t stream) {
  const std::size_t n = place.shape.n_pair() * static_cast<std::size_t>(place.n_channel);
  place.places = places_.reserve(n);
  place.orders = orders_.reserve(n * static_cast<std::size_t>(kOrderGroup * place.shape.n_group()));
  place.counts = ends_.reserve(n);
  launch_place_pairs(place, stream);
  if (!sort_) sort_.emplace(stream);
  sort_->inclusive_sum(ends_.data(), ends_.data(), static_cast<std::uint32_t>(n));
  return read(ends_.data() + n - 1, stream);
}

std::size_t PairTables::image_bytes(const CellShape& shape) {
  // a pair is in four lists of a group at most, in two for the mean, which are sorted with as much again
  // beside them
  const std::size_t entry = 28 + kBatchWords * sizeof(std::uint32_t) / kBatchPairs;
  const std::size_t pair =
      sizeof(PairPlace) + sizeof(std::uint32_t) +
      static_cast<std::size_t>(shape.n_group()) * (kOrderGroup * sizeof(std::uint32_t) + 2 * entry);
  // the last batch of a list is half full
  const std::size_t list = 8 + kBatchWords / 2 * sizeof(std::uint32_t);
  return shape.n_grid_pair() * pair + static_cast<std::size_t>(shape.n_list()) * list;
}

void PairTables::make(PlaceTask place, const float* taps, int n_power, int n_together, cudaStream_t stream) {
  shape_ = place.shape;
  n_together_ = n_together;
  ListTask list;
  list.n_entry = placed_.place(place, stream);
  list.shape = shape_;
  list.n_image = place.n_channel / shape_.n_average;
  list.taps = taps;
  list.n_power = n_power;
  make_batches(list, stream);
  make_segments(list.n_image, stream);
}

void PairTables::make_batches(ListTask list, cudaStream_t stream) {
  const auto n_list = static_cast<std::size_t>(list.n_list());
  DeviceSort& sort = placed_.sort();
  list.places = placed_.places();
  list.orders = placed_.orders();
  list.ends = placed_.ends();
  list.keys = sort.keys(list.n_entry);
  list.begins = begins_.reserve(n_list + 1);
  list.batch_ends = batch_ends_.reserve(n_list);
  sort.begin(list.n_entry);
  launch_list_keys(list, stream);
  sort.by_keys(list.n_entry, bits_of(list_keys(shape_, list.n_image)));
  list.sorted = sort.sorted_keys();
  launch_lists(list, stream);
  sort.inclusive_sum(list.batch_ends, list.batch_ends, static_cast<std::uint32_t>(n_list));
  const std::uint32_t n_batch = read(list.batch_ends + n_list - 1, stream);
  list.batches = batches_.reserve(std::size_t{n_batch} * kBatchWords);
  launch_batches(list, stream);
}

/// Orders segments by falling numbers of batches: at the end a long one would keep a few warps busy while the
/// others have nothing to do.
void PairTables::make_segments(int n_image, cudaStream_t stream) {
  const GatherTask all = task(0, n_together_);
  const auto n = static_cast<std::uint32_t>(n_image * all.n_image_segment());
  DeviceSort& sort = placed_.sort();
  launch_segment_keys(all, n_image, sort.keys(n), stream);
  sort.begin(n);
  sort.by_keys(n, 32);
  cuda_check(cudaMemcpyAsync(segments_.reserve(n), sort.sorted_keys(), n * sizeof(std::uint64_t),
                             cudaMemcpyDeviceToDevice, stream),
             "listing segments");
}

GatherTask PairTables::task(int first_image, int n_image) const {
  GatherTask task;
  task.shape = shape_;
  task.first_image = first_image;
  task.n_image = n_image;
  const int n_row_pair = shape_.n_row_pair();
  // enough segments for all warps of a device, each of 4 row pairs or more
  constexpr int kFewest = 8192;
  const int n_strip = n_together_ * shape_.n_group() * shape_.n_strip();
  const int wanted = std::clamp((kFewest + n_strip - 1) / n_strip, 1, n_row_pair / kWindowPairs);
  task.n_segment_row_pair = std::min((n_row_pair + wanted - 1) / wanted, kMaxSegment);
  task.n_segment = (n_row_pair + task.n_segment_row_pair - 1) / task.n_segment_row_pair;
  task.batch_ends = batch_ends_.data();
  task.batches = batches_.data();
  task.segments = segments_.data();
  return task;
}

}  // namespace apsyn::epic_cuda
