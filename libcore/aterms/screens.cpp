// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/aterms/screens.h"

#include <algorithm>
#include <functional>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include "libcore/base/error.h"
#include "libcore/base/log.h"
#include "libcore/formats/ms/station_tables.h"
#include "libcore/system/parallel.h"

namespace apsyn {
namespace {

/// Of the middle frequency: an ionosphere of 5 radians changes by 0.025 rad from here to a slot's edge.
constexpr double kSlotBandwidth = 0.01;

/// Slots kept at once, also where there is memory for more: blocks rarely last longer.
constexpr std::size_t kMaxSlots = 16;

struct ChannelSlots {
  std::vector<double> slot_hz;
  std::vector<std::uint32_t> slot_of;  ///< [chan]
};

ChannelSlots sort_channels(std::span<const double> channel_hz) {
  ChannelSlots slots;
  double least = 0, most = 0;
  for (const double hz : channel_hz) {
    const double low = std::min(least, hz), high = std::max(most, hz);
    if (slots.slot_hz.empty() || high - low > kSlotBandwidth * (low + high) / 2) {
      slots.slot_hz.push_back(hz);
      least = most = hz;
    } else {
      least = low;
      most = high;
      slots.slot_hz.back() = (least + most) / 2;
    }
    slots.slot_of.push_back(static_cast<std::uint32_t>(slots.slot_hz.size() - 1));
  }
  return slots;
}

/// Stations sorted by their matrices.
struct Responses {
  std::vector<std::uint32_t> of_station;  ///< [station]
  std::vector<std::uint32_t> station;     ///< [response] the first that has it
};

/// Of jones [station][y][x][4]. Equal hashes are compared.
Responses share_responses(View<const std::complex<float>, 4> jones, unsigned n_threads) {
  const std::size_t n_station = jones.extent(0),
                    n_bytes = 4 * jones.extent(1) * jones.extent(2) * sizeof(*jones.data());
  const auto bytes = [&](std::size_t station) {
    return std::string_view(reinterpret_cast<const char*>(&jones(station, 0, 0, 0)), n_bytes);
  };
  std::vector<std::size_t> hash(n_station);
  parallel_for(n_threads, n_station, [&](std::size_t station, unsigned) {
    hash[station] = std::hash<std::string_view>()(bytes(station));
  });
  Responses own;
  std::multimap<std::size_t, std::uint32_t> known;
  for (std::uint32_t station = 0; station < n_station; ++station) {
    auto [same, end] = known.equal_range(hash[station]);
    while (same != end && bytes(own.station[same->second]) != bytes(station)) ++same;
    if (same == end) {
      same = known.emplace(hash[station], static_cast<std::uint32_t>(own.station.size()));
      own.station.push_back(station);
    }
    own.of_station.push_back(same->second);
  }
  return own;
}

bool same_stations(const ArrayLayout& a, const ArrayLayout& b) {
  return a.telescope == b.telescope &&
         std::equal(a.antennas.begin(), a.antennas.end(), b.antennas.begin(), b.antennas.end(),
                    [](const auto& x, const auto& y) { return x.name == y.name && x.enu_m == y.enu_m; });
}

}  // namespace

AtermScreens::AtermScreens(const AtermConfig& config, const ImagingInfo& info, unsigned n_threads)
    : n_threads_(n_threads), first_hz_(info.channel_hz.front()) {
  // Sets of one observation, which differ in frequency, share their stations.
  std::vector<std::size_t> array_of, first_input;
  std::vector<ArrayTables> tables;
  for (std::size_t i = 0; i < info.layouts.size(); ++i) {
    const ArrayTables own = info.tables.empty() ? ArrayTables{} : info.tables[i];
    std::size_t array = 0;
    while (array < tables.size() && !(info.circular[first_input[array]] == info.circular[i] &&
                                      same_stations(info.layouts[first_input[array]], info.layouts[i]) &&
                                      same_pointing(tables[array], own)))
      ++array;
    array_of.push_back(array);
    if (array == tables.size()) {
      tables.push_back(own);
      first_input.push_back(i);
    } else {
      tables[array].sets.insert(tables[array].sets.end(), own.sets.begin(), own.sets.end());
    }
  }
  for (std::size_t array = 0; array < tables.size(); ++array) {
    const ArrayLayout& layout = info.layouts[first_input[array]];
    arrays_.push_back(open_aterms(config, layout, info.circular[first_input[array]], tables[array]));
    max_stations_ = std::max(max_stations_, layout.antennas.size());
  }
  for (const ImagingStation& station : info.stations) {
    const std::size_t array = array_of[station.input];
    station_of_.emplace_back(array, static_cast<std::uint32_t>(station.index));
  }
}

AtermScreens::AtermScreens(const AtermConfig& config, const ImagingInfo& info, const AtermGrid& grid,
                           unsigned n_threads, std::uint64_t max_bytes)
    : AtermScreens(config, info, n_threads) {
  use(grid, max_bytes);
}

void AtermScreens::use(const AtermGrid& grid, std::uint64_t max_bytes) {
  grid_ = grid;
  max_bytes_ = max_bytes;
  for (const auto& model : arrays_)
    for (const std::string& line : model->warnings(grid, first_hz_)) log_warning("{}", line);
}

AtermScreens::SlotCounts AtermScreens::count_shared_slots(const AtermGrid& grid, double first_mjd_s,
                                                          double last_mjd_s,
                                                          std::span<const double> channel_hz) {
  AtermModel& model = *arrays_.front();
  const std::size_t n_station = model.n_stations();
  const std::int64_t first = model.slot_of(first_mjd_s), last = model.slot_of(last_mjd_s);
  Buffer<std::complex<float>, 4> own({n_station, grid.side, grid.side, 4});
  model.evaluate(first, channel_hz.front(), grid, n_threads_, own);
  std::vector<std::size_t> n_alike(n_station, 0);
  for (const std::uint32_t response : share_responses(own, n_threads_).of_station) ++n_alike[response];
  if (std::none_of(n_alike.begin(), n_alike.end(), [&](std::size_t n) { return 2 * n > n_station; }))
    return {};
  return {static_cast<std::size_t>(last - first) + 1, sort_channels(channel_hz).slot_hz.size()};
}

std::uint64_t AtermScreens::bytes_per_slot(std::size_t n_chan_slots) const {
  return std::uint64_t{n_chan_slots} * max_stations_ * grid_.side * grid_.side * 4 *
         sizeof(std::complex<float>);
}

std::uint64_t AtermScreens::max_bytes(const std::vector<double>& channel_hz) const {
  const std::uint64_t slot = bytes_per_slot(sort_channels(channel_hz).slot_hz.size());
  return std::clamp(max_bytes_, slot, kMaxSlots * slot);
}

void AtermScreens::choose_channels(const ImagingBlock& block) {
  ChannelSlots slots = sort_channels({block.channel_hz.data(), block.channel_hz.size()});
  chan_slot_ = std::move(slots.slot_of);
  if (slots.slot_hz == slot_hz_) return;
  slot_hz_ = std::move(slots.slot_hz);
  slot_index_.clear();
  n_slots_ = std::clamp<std::uint64_t>(max_bytes_ / bytes_per_slot(slot_hz_.size()), 1, kMaxSlots);
  response_.resize({n_slots_, slot_hz_.size(), station_of_.size()});
  jones_.resize({n_slots_, slot_hz_.size(), 0, grid_.side, grid_.side, 4});
}

View<const std::uint32_t, 3> AtermScreens::response() const {
  auto shape = response_.shape();
  shape[0] = slot_index_.size();
  return {response_.data(), shape};
}

View<const std::complex<float>, 6> AtermScreens::jones() const {
  auto shape = jones_.shape();
  shape[0] = slot_index_.size();
  return {jones_.data(), shape};
}

/// Makes room for as many responses in each slot; those that are there stay.
void AtermScreens::reserve(std::size_t n_responses) {
  auto shape = jones_.shape();
  if (n_responses <= shape[2]) return;
  const std::size_t n_before = std::exchange(shape[2], n_responses) * matrix_values();
  Buffer<std::complex<float>, 6> larger(shape);
  if (n_before > 0)
    for (std::size_t slot = 0; slot < shape[0] * shape[1]; ++slot)
      std::copy_n(jones_.data() + slot * n_before, n_before,
                  larger.data() + slot * n_responses * matrix_values());
  jones_ = std::move(larger);
}

void AtermScreens::evaluate(std::size_t array, std::int64_t slot, std::size_t index) {
  AtermModel& model = *arrays_[array];
  own_.resize_for_overwrite({model.n_stations(), grid_.side, grid_.side, 4});
  for (std::size_t c = 0; c < slot_hz_.size(); ++c) {
    model.evaluate(slot, slot_hz_[c], grid_, n_threads_, own_);
    const Responses own = share_responses(own_, n_threads_);
    reserve(own.station.size());
    for (std::size_t i = 0; i < station_of_.size(); ++i)
      response_(index, c, i) = station_of_[i].first == array ? own.of_station[station_of_[i].second] : 0;
    for (std::size_t i = 0; i < own.station.size(); ++i)
      std::copy_n(&own_(own.station[i], 0, 0, 0), matrix_values(), &jones_(index, c, i, 0, 0, 0));
  }
}

std::size_t AtermScreens::prepare(const ImagingBlock& block, std::size_t first_row) {
  choose_channels(block);
  const std::size_t n_row = block.time_mjd_s.size(), capacity = n_slots_;
  using Key = std::pair<std::size_t, std::int64_t>;
  struct Rows {  // that follow each other, of one time
    std::size_t n = 0;
    Key key;
  };
  std::vector<Rows> runs;
  std::set<Key> wanted;
  std::size_t end = first_row;
  for (std::size_t n = 0; end < n_row; end += n) {
    const auto array_of = [&](std::size_t row) { return station_of_[block.station(row, 0)].first; };
    const std::size_t array = array_of(end);
    const double time_mjd_s = block.time_mjd_s[end];
    n = 1;
    while (end + n < n_row && block.time_mjd_s[end + n] == time_mjd_s && array_of(end + n) == array) ++n;
    const Key key(array, arrays_[array]->slot_of(time_mjd_s));
    if (!wanted.contains(key) && wanted.size() == capacity) break;
    wanted.insert(key);
    runs.push_back({n, key});
  }
  // Slots of earlier calls stay while there is room; then all give way.
  const auto n_new =
      std::count_if(wanted.begin(), wanted.end(), [&](const Key& key) { return !slot_index_.contains(key); });
  if (slot_index_.size() + static_cast<std::size_t>(n_new) > capacity) slot_index_.clear();
  row_slot_.clear();
  for (const auto& [n, key] : runs) {
    auto slot = slot_index_.find(key);
    if (slot == slot_index_.end()) {
      const auto index = static_cast<std::uint32_t>(slot_index_.size());
      evaluate(key.first, key.second, index);
      slot = slot_index_.emplace(key, index).first;
    }
    row_slot_.insert(row_slot_.end(), n, slot->second);
  }
  return end - first_row;
}

}  // namespace apsyn
