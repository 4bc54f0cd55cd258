// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/aterms/screens.h"

#include <algorithm>
#include <set>
#include <span>

#include "libcore/base/error.h"
#include "libcore/base/log.h"
#include "libcore/formats/ms/station_tables.h"

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

bool same_stations(const ArrayLayout& a, const ArrayLayout& b) {
  return a.telescope == b.telescope &&
         std::equal(a.antennas.begin(), a.antennas.end(), b.antennas.begin(), b.antennas.end(),
                    [](const auto& x, const auto& y) { return x.name == y.name && x.enu_m == y.enu_m; });
}

}  // namespace

AtermScreens::AtermScreens(const AtermConfig& config, const ImagingInfo& info, const AtermGrid& grid,
                           unsigned n_threads, std::uint64_t max_bytes)
    : grid_(grid), n_threads_(n_threads), max_bytes_(max_bytes) {
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
    arrays_.push_back({open_aterms(config, layout, info.circular[first_input[array]], tables[array]),
                       static_cast<std::uint32_t>(n_stations_)});
    n_stations_ += layout.antennas.size();
    for (const std::string& line : arrays_.back().model->warnings(grid, info.channel_hz.front()))
      log_warning("{}", line);
  }
  for (const ImagingStation& station : info.stations) {
    const std::size_t array = array_of[station.input];
    station_of_.emplace_back(array, arrays_[array].first_station + static_cast<std::uint32_t>(station.index));
  }
}

std::uint64_t AtermScreens::bytes_per_slot(std::size_t n_chan_slots) const {
  return std::uint64_t{n_chan_slots} * n_stations_ * grid_.side * grid_.side * 4 *
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
  const std::size_t n_slots = std::max<std::uint64_t>(1, max_bytes_ / bytes_per_slot(slot_hz_.size()));
  jones_.resize({std::min(n_slots, kMaxSlots), slot_hz_.size(), n_stations_, grid_.side, grid_.side, 4});
}

void AtermScreens::evaluate(std::size_t array, std::int64_t slot, std::size_t index) {
  const std::size_t n_own = arrays_[array].model->n_stations();
  for (std::size_t c = 0; c < slot_hz_.size(); ++c) {
    std::complex<float>* own = &jones_(index, c, arrays_[array].first_station, 0, 0, 0);
    arrays_[array].model->evaluate(slot, slot_hz_[c], grid_, n_threads_,
                                   {own, {n_own, grid_.side, grid_.side, 4}});
  }
}

std::size_t AtermScreens::prepare(const ImagingBlock& block, std::size_t first_row) {
  choose_channels(block);
  const std::size_t n_row = block.uvw_m.extent(0), capacity = jones_.extent(0);
  using Key = std::pair<std::size_t, std::int64_t>;
  std::vector<Key> keys;  // of the rows
  std::set<Key> wanted;
  std::size_t end = first_row;
  for (; end < n_row; ++end) {
    const std::size_t array = station_of_[block.station(end, 0)].first;
    const Key key(array, arrays_[array].model->slot_of(block.time_mjd_s[end]));
    if (!wanted.contains(key) && wanted.size() == capacity) break;
    wanted.insert(key);
    keys.push_back(key);
  }
  // Slots of earlier calls stay while there is room; then all give way.
  const auto n_new =
      std::count_if(wanted.begin(), wanted.end(), [&](const Key& key) { return !slot_index_.contains(key); });
  if (slot_index_.size() + static_cast<std::size_t>(n_new) > capacity) slot_index_.clear();
  row_slot_.clear();
  for (const Key& key : keys) {
    auto slot = slot_index_.find(key);
    if (slot == slot_index_.end()) {
      const auto index = static_cast<std::uint32_t>(slot_index_.size());
      evaluate(key.first, key.second, index);
      slot = slot_index_.emplace(key, index).first;
    }
    row_slot_.push_back(slot->second);
  }
  station_.resize({end - first_row, 2});
  for (std::size_t row = first_row; row < end; ++row)
    for (std::size_t i = 0; i < 2; ++i)
      station_(row - first_row, i) = station_of_[block.station(row, i)].second;
  return end - first_row;
}

}  // namespace apsyn
