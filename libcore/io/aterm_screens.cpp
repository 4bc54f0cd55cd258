// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/io/aterm_screens.h"

#include <algorithm>

#include "libcore/core/error.h"
#include "libcore/core/log.h"
#include "libcore/io/aterms.h"

namespace apsyn {
namespace {

/// Of the middle frequency: an ionosphere of 5 radians changes by 0.025 rad from here to a slot's edge.
constexpr double kSlotBandwidth = 0.01;

/// Slots kept at once, also where there is memory for more: blocks rarely last longer.
constexpr std::size_t kMostSlots = 16;

bool same_stations(const ArrayLayout& a, const ArrayLayout& b) {
  return std::equal(a.antennas.begin(), a.antennas.end(), b.antennas.begin(), b.antennas.end(),
                    [](const auto& x, const auto& y) { return x.name == y.name && x.enu_m == y.enu_m; });
}

}  // namespace

AtermScreens::AtermScreens(const std::string& path, const ImagingInfo& info, const AtermGrid& grid,
                           unsigned n_threads, std::uint64_t max_bytes)
    : grid_(grid), n_threads_(n_threads), max_bytes_(max_bytes) {
  std::vector<std::size_t> array_of(info.layouts.size());
  for (std::size_t i = 0; i < info.layouts.size(); ++i) {
    std::size_t same = 0;
    while (same < i && !same_stations(info.layouts[same], info.layouts[i])) ++same;
    if (same < i) {
      array_of[i] = array_of[same];
      continue;
    }
    array_of[i] = arrays_.size();
    arrays_.push_back({open_aterms(path, info.layouts[i]), static_cast<std::uint32_t>(n_stations_)});
    n_stations_ += info.layouts[i].antennas.size();
    for (const std::string& line : arrays_.back().model->warnings(grid)) log_warning("{}", line);
  }
  for (const ImagingStation& station : info.stations) {
    const std::size_t array = array_of[station.input];
    station_of_.emplace_back(array, arrays_[array].first_station + static_cast<std::uint32_t>(station.index));
  }
}

void AtermScreens::choose_channels(const ImagingBlock& block) {
  const std::size_t n_chan = block.channel_hz.size();
  std::vector<double> slot_hz;
  chan_slot_.resize(n_chan);
  double least = 0, most = 0;
  for (std::size_t c = 0; c < n_chan; ++c) {
    const double hz = block.channel_hz(c), low = std::min(least, hz), high = std::max(most, hz);
    if (c == 0 || high - low > kSlotBandwidth * (low + high) / 2) {
      slot_hz.push_back(hz);
      least = most = hz;
    } else {
      least = low;
      most = high;
      slot_hz.back() = (least + most) / 2;
    }
    chan_slot_[c] = static_cast<std::uint32_t>(slot_hz.size() - 1);
  }
  if (slot_hz == slot_hz_) return;
  slot_hz_ = slot_hz;
  slot_index_.clear();
  const std::size_t side = grid_.side;
  const std::uint64_t slot_bytes = std::uint64_t{slot_hz_.size()} * n_stations_ * side * side * 32;
  const std::size_t n_slots = std::max<std::uint64_t>(1, max_bytes_ / slot_bytes);
  jones_.resize({std::min(n_slots, kMostSlots), slot_hz_.size(), n_stations_, side, side, 4});
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
  // Slots of the call before stay while there is room; then all give way.
  std::map<std::pair<std::size_t, std::int64_t>, std::uint32_t> wanted;
  row_slot_.clear();
  std::size_t end = first_row;
  std::vector<std::pair<std::size_t, std::int64_t>> keys;
  for (; end < n_row; ++end) {
    const std::size_t array = station_of_[block.station(end, 0)].first;
    const std::pair key(array, arrays_[array].model->slot_of(block.time_mjd_s[end]));
    if (wanted.emplace(key, 0).second && wanted.size() > capacity) break;
    keys.push_back(key);
  }
  bool keep = true;
  std::size_t n_new = 0;
  for (const auto& [key, unused] : wanted) n_new += slot_index_.contains(key) ? 0 : 1;
  keep = slot_index_.size() + n_new <= capacity;
  if (!keep) slot_index_.clear();
  for (const auto& key : keys) {
    auto found = slot_index_.find(key);
    if (found == slot_index_.end()) {
      const auto index = static_cast<std::uint32_t>(slot_index_.size());
      evaluate(key.first, key.second, index);
      found = slot_index_.emplace(key, index).first;
    }
    row_slot_.push_back(found->second);
  }
  station_.resize({end - first_row, 2});
  for (std::size_t row = first_row; row < end; ++row)
    for (std::size_t i = 0; i < 2; ++i)
      station_(row - first_row, i) = station_of_[block.station(row, i)].second;
  return end - first_row;
}

}  // namespace apsyn
