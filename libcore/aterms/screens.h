// SPDX-License-Identifier: GPL-3.0-or-later
// A-terms for blocks of visibilities: which slot of time and frequency each row and channel is of, and the
// Jones matrices of those slots on the pixels of a subgrid.
//
// Inputs with equal array layouts and receptors share their stations. Channels share a slot of frequency
// while they lie within one per cent of each other; it is evaluated at their middle. Stations whose matrices
// are equal in a slot, on all pixels and to the last bit, share one response there.
#pragma once

#include <complex>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "libcore/aterms/aterms.h"
#include "libcore/base/view.h"
#include "libcore/sky/aterms.h"
#include "libcore/visibility/imaging.h"

namespace apsyn {

class AtermScreens {
 public:
  /// Throws as open_aterms().
  AtermScreens(const AtermConfig& config, const ImagingInfo& info, unsigned n_threads);
  /// The same with use().
  AtermScreens(const AtermConfig& config, const ImagingInfo& info, const AtermGrid& grid, unsigned n_threads,
               std::uint64_t max_bytes);

  struct SlotCounts {
    std::size_t n_row_slots = 0, n_chan_slots = 0;
  };
  /// Estimate of the slots between two times, and those of channels, if more than half of the first input's
  /// stations have equal matrices at the first time and channel; else none.
  SlotCounts count_shared_slots(const AtermGrid& grid, double first_mjd_s, double last_mjd_s,
                                std::span<const double> channel_hz);
  /// Sets the pixels, once, and keeps matrices of at most about max_bytes, but of one slot of time at least.
  /// Warns of what the pixels cannot carry.
  void use(const AtermGrid& grid, std::uint64_t max_bytes);

  /// Makes the matrices for rows from first_row on, of which times, stations and channels count; returns for
  /// how many of them (at least one). The views below are of these rows, until the next call.
  std::size_t prepare(const ImagingBlock& block, std::size_t first_row);
  View<const std::uint32_t, 1> row_slot() const { return {row_slot_.data(), {row_slot_.size()}}; }
  View<const std::uint32_t, 1> chan_slot() const { return {chan_slot_.data(), {chan_slot_.size()}}; }
  /// [row slot][chan slot][station of ImagingInfo::stations] into jones; 0 for those of another array
  View<const std::uint32_t, 3> response() const;
  /// [row slot][chan slot][response][y][x][XX XY YX YY], of the slots in use
  View<const std::complex<float>, 6> jones() const;
  /// The most that the matrices take with these channels, or with some of them.
  std::uint64_t max_bytes(const std::vector<double>& channel_hz) const;

 private:
  std::uint64_t bytes_per_slot(std::size_t n_chan_slots) const;
  void choose_channels(const ImagingBlock& block);
  std::size_t matrix_values() const { return grid_.side * grid_.side * 4; }
  void reserve(std::size_t n_responses);
  void evaluate(std::size_t array, std::int64_t slot, std::size_t index);

  AtermGrid grid_;
  unsigned n_threads_;
  double first_hz_;
  std::uint64_t max_bytes_ = 0;
  std::vector<std::unique_ptr<AtermModel>> arrays_;  ///< that several inputs may share
  std::vector<std::pair<std::size_t, std::uint32_t>>
      station_of_;                ///< of ImagingInfo::stations: array, station
  std::size_t max_stations_ = 0;  ///< of an array
  std::vector<double> slot_hz_;   ///< [chan slot]
  std::map<std::pair<std::size_t, std::int64_t>, std::uint32_t> slot_index_;  ///< (array, slot) -> jones
  std::vector<std::uint32_t> row_slot_, chan_slot_;
  std::size_t n_slots_ = 0;             ///< that there is memory for
  Buffer<std::complex<float>, 4> own_;  ///< of one slot's stations
  Buffer<std::uint32_t, 3> response_;
  Buffer<std::complex<float>, 6> jones_;  ///< room for as many responses as the slot with most has had
};

}  // namespace apsyn
