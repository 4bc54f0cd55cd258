// SPDX-License-Identifier: GPL-3.0-or-later

#include <algorithm>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "kernels/common/cuda/transfer.h"
#include "kernels/search/cuda/kernels.cuh"
#include "kernels/search/series_cuda.h"
#include "libcore/base/error.h"
#include "libcore/system/device.h"

namespace apsyn {

using namespace series;

namespace {

static_assert(kMaxHits == kMaxTileHits);
constexpr std::size_t kHitsAtOnce = 4096;  ///< that are fetched before their number is known

class SeriesSearch final : public CudaSeriesSearch {
 public:
  SeriesSearch(const std::vector<CudaSeriesGroup>& groups, unsigned n_lane, int device)
      : device_(device), lanes_(n_lane) {
    if (device < 0 || device >= cuda_device_count())
      throw DeviceError("cuda:{}: there is no such device", device);
    cuda_check(cudaSetDevice(device_), "choosing the device");
    for (const CudaSeriesGroup& group : groups) {
      if (group.n_series == 0 || group.n_series > 65535 || group.plan->widths.size() > 65535 ||
          buffer_samples(group) > (1u << 30))
        throw std::length_error("CudaSeriesSearch: more than 65535 series or widths, or 2^30 samples");
      Group& own = groups_.emplace_back();
      own.n_series = group.n_series, own.plan = group.plan, own.n_time = group.n_time;
      own.kept = DeviceArray<float>(group.n_series * group.plan->segment);
      own.before = DeviceArray<Statistics>(group.n_series);
      const std::vector<int> widths(group.plan->widths.begin(), group.plan->widths.end());
      own.widths.copy(widths.data(), widths.size());
    }
    cuda_check(cudaDeviceSynchronize(), "waiting for the device");
    for (Lane& lane : lanes_) {
      lane.n_hit = DeviceArray<unsigned>(1);
      lane.first_hits = pinned<Hit>(kHitsAtOnce);
      lane.hit_count = pinned<unsigned>(1);
    }
  }

  std::size_t n_kept(std::size_t group) const override { return groups_[group].n_kept; }
  std::int64_t begin(std::size_t group) const override { return groups_[group].begin; }

  DeviceSeries next(std::size_t index, std::size_t n_time, unsigned lane_index) override {
    cuda_check(cudaSetDevice(device_), "choosing the device");
    const Group& group = groups_[index];
    Lane& lane = lanes_.at(lane_index);
    if (lane.busy || n_time == 0 || n_time > group.n_time)
      throw std::length_error("CudaSeriesSearch: the lane is busy, or more samples than were announced");
    lane.group = index, lane.n_time = n_time, lane.n_all = group.n_kept + n_time;
    // rows start at whole cache lines
    lane.stride = (lane.n_all + 31) / 32 * 32;
    float* values = lane.values.reserve(group.n_series * lane.stride);
    if (group.n_kept > 0)
      cuda_check(cudaMemcpy2DAsync(values, lane.stride * sizeof(float), group.kept.data(),
                                   group.plan->segment * sizeof(float), group.n_kept * sizeof(float),
                                   group.n_series, cudaMemcpyDeviceToDevice, lane.stream.get()),
                 "copying on the device");
    return {values + group.n_kept, group.n_series, n_time, lane.stride, lane.stream.get(), lane_index};
  }

  void search(std::span<const SeriesWeights> weights, bool ends, unsigned lane_index) override {
    cuda_check(cudaSetDevice(device_), "choosing the device");
    Lane& lane = lanes_.at(lane_index);
    Group& group = groups_[lane.group];
    if (weights.size() != group.n_series)
      throw std::length_error("CudaSeriesSearch: every series needs its weights");
    lane.ends = ends;
    lane.segment_ends = segment_ends(lane.n_all, group.plan->segment, ends);
    const std::size_t n_segment = lane.segment_ends.size();
    lane.n_search = ends ? n_segment : n_segment - std::min<std::size_t>(1, n_segment);
    lane.busy = true;
    if (n_segment > 0) enqueue(lane, group, weights);
    keep(lane, group);
  }

  std::vector<BatchHit> finish(unsigned lane_index) override {
    Lane& lane = lanes_.at(lane_index);
    if (!lane.busy) return {};
    cuda_check(cudaSetDevice(device_), "choosing the device");
    cuda_check(cudaStreamSynchronize(lane.stream.get()), "waiting for the device");
    lane.busy = false;
    if (lane.segment_ends.empty()) return {};
    std::vector<Hit> found(lane.hit_count[0]);
    std::copy_n(lane.first_hits.get(), std::min(found.size(), kHitsAtOnce), found.begin());
    if (found.size() > kHitsAtOnce)
      cuda_check(
          cudaMemcpy(found.data(), lane.hits.data(), found.size() * sizeof(Hit), cudaMemcpyDeviceToHost),
          "copying hits from the device");
    std::sort(found.begin(), found.end(), [](const Hit& a, const Hit& b) {
      return std::tie(a.series, a.tile, a.rank) < std::tie(b.series, b.tile, b.rank);
    });
    std::vector<BatchHit> hits;
    for (const Hit& hit : found)
      hits.push_back(
          {hit.series,
           {lane.begin + hit.begin,
            static_cast<std::uint32_t>(groups_[lane.group].plan->widths[hit.width_index]), hit.sn}});
    return hits;
  }

 private:
  struct Group {
    std::size_t n_series = 0, n_time = 0, n_kept = 0;
    const SeriesPlan* plan = nullptr;
    std::int64_t begin = 0;
    bool has_before = false;
    DeviceArray<float> kept;         ///< [series][segment]
    DeviceArray<Statistics> before;  ///< [series]
    Upload<int> widths;
  };
  struct Lane {
    CopyStream stream;
    bool busy = false, ends = false;
    std::size_t group = 0, n_time = 0, n_all = 0, stride = 0, n_search = 0;
    std::int64_t begin = 0;
    std::vector<std::size_t> segment_ends;
    Upload<float> values, weights;
    Upload<double> sums, weight_sums;
    Upload<Statistics> statistics;
    Upload<Tile> tiles;
    Upload<Weight> weight;
    Upload<Change> changes;
    Upload<Hit> hits;
    DeviceArray<unsigned> n_hit;
    std::unique_ptr<Hit[], FreePinned> first_hits;
    std::unique_ptr<unsigned[], FreePinned> hit_count;
  };

  /// In the order of the stream, unlike Upload::copy().
  template <class T>
  static T* copy(const Lane& lane, Upload<T>& to, const std::vector<T>& from) {
    T* data = to.reserve(from.size());
    if (!from.empty())
      cuda_check(cudaMemcpyAsync(data, from.data(), from.size() * sizeof(T), cudaMemcpyHostToDevice,
                                 lane.stream.get()),
                 "copying to the device");
    return data;
  }

  static std::vector<Tile> tiles_of(const Lane& lane) {
    std::vector<Tile> tiles;
    for (std::size_t i = 0; i < lane.n_search; ++i)
      for (std::size_t from = i == 0 ? 0 : lane.segment_ends[i - 1]; from < lane.segment_ends[i];
           from += kSearchTile)
        tiles.push_back({static_cast<int>(from),
                         static_cast<int>(std::min(from + kSearchTile, lane.segment_ends[i])),
                         static_cast<int>(i)});
    return tiles;
  }

  /// Whether a series has more than one weight.
  static bool upload_weights(Lane& lane, std::span<const SeriesWeights> weights) {
    std::vector<Weight> all;
    std::vector<Change> changes;
    for (const SeriesWeights& own : weights) {
      Weight weight{own.first, own.first, static_cast<std::uint32_t>(changes.size()),
                    static_cast<std::uint32_t>(own.changes.size())};
      float now = own.first;
      for (std::size_t i = 0; i < own.changes.size(); ++i) {
        const WeightChange& change = own.changes[i];
        now += change.step;
        // several can be at one sample
        if (i + 1 == own.changes.size() || own.changes[i + 1].at != change.at)
          weight.most = std::max(weight.most, now);
        changes.push_back({change.at, change.step});
      }
      all.push_back(weight);
    }
    copy(lane, lane.weight, all);
    copy(lane, lane.changes, changes);
    return !changes.empty();
  }

  static void enqueue(Lane& lane, const Group& group, std::span<const SeriesWeights> weights) {
    const std::size_t n_all = lane.n_all, n_series = group.n_series, n_segment = lane.segment_ends.size();
    const std::vector<Tile> tiles = tiles_of(lane);
    SearchTask task;
    task.values = lane.values.data(), task.stride = lane.stride;
    task.n_series = static_cast<int>(n_series);
    task.segments = {static_cast<int>(n_all), static_cast<int>(group.plan->segment),
                     static_cast<int>(n_segment), static_cast<int>(lane.segment_ends.back())};
    if (upload_weights(lane, weights)) {
      task.weights = lane.weights.reserve(n_series * n_all);
      task.weight_sums = lane.weight_sums.reserve(n_series * (n_all + 1));
    }
    task.weight = lane.weight.data(), task.changes = lane.changes.data();
    task.statistics = lane.statistics.reserve(n_series * n_segment);
    task.before = group.has_before ? group.before.data() : nullptr;
    task.sums = lane.sums.reserve(n_series * (n_all + 1));
    task.tiles = copy(lane, lane.tiles, tiles);
    task.n_tile = static_cast<int>(tiles.size());
    task.widths = group.widths.data();
    task.n_width = static_cast<int>(group.plan->widths.size());
    task.threshold = static_cast<float>(group.plan->threshold);
    task.hits = lane.hits.reserve(std::max(kHitsAtOnce, n_series * tiles.size() * kMaxTileHits));
    task.n_hit = lane.n_hit.data();
    const cudaStream_t stream = lane.stream.get();
    cuda_check(cudaMemsetAsync(task.n_hit, 0, sizeof(unsigned), stream), "clearing device memory");
    // the first ones are fetched whether they are there or not
    cuda_check(cudaMemsetAsync(task.hits, 0, kHitsAtOnce * sizeof(Hit), stream), "clearing device memory");
    if (task.weights != nullptr) launch_weights(task, stream);
    launch_statistics(task, stream);
    launch_detrend(task, stream);
    launch_windows(task, stream);
    cuda_check(
        cudaMemcpyAsync(lane.hit_count.get(), task.n_hit, sizeof(unsigned), cudaMemcpyDeviceToHost, stream),
        "copying from the device");
    cuda_check(cudaMemcpyAsync(lane.first_hits.get(), task.hits, kHitsAtOnce * sizeof(Hit),
                               cudaMemcpyDeviceToHost, stream),
               "copying from the device");
  }

  /// What the group goes on with.
  static void keep(Lane& lane, Group& group) {
    lane.begin = group.begin;
    const std::size_t searched = lane.n_search == 0 ? 0 : lane.segment_ends[lane.n_search - 1];
    group.n_kept = lane.n_all - searched;
    group.begin += static_cast<std::int64_t>(searched);
    if (lane.ends) return;
    if (group.n_kept > group.plan->segment)
      throw std::length_error("CudaSeriesSearch: what comes before the end is a multiple of a segment");
    const cudaStream_t stream = lane.stream.get();
    cuda_check(
        cudaMemcpy2DAsync(group.kept.data(), group.plan->segment * sizeof(float),
                          lane.values.data() + searched, lane.stride * sizeof(float),
                          group.n_kept * sizeof(float), group.n_series, cudaMemcpyDeviceToDevice, stream),
        "copying on the device");
    if (lane.n_search == 0) return;
    cuda_check(
        cudaMemcpy2DAsync(group.before.data(), sizeof(Statistics), lane.statistics.data() + lane.n_search - 1,
                          lane.segment_ends.size() * sizeof(Statistics), sizeof(Statistics), group.n_series,
                          cudaMemcpyDeviceToDevice, stream),
        "copying on the device");
    group.has_before = true;
  }

  int device_;
  std::vector<Group> groups_;
  std::vector<Lane> lanes_;
};

}  // namespace

std::unique_ptr<CudaSeriesSearch> make_cuda_series_search(const std::vector<CudaSeriesGroup>& groups,
                                                          unsigned n_lane, int device_index) {
  cuda_check(cudaSetDevice(device_index), "choosing the device");  // before there are streams
  return std::make_unique<SeriesSearch>(groups, n_lane, device_index);
}

}  // namespace apsyn
