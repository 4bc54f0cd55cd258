// SPDX-License-Identifier: GPL-3.0-or-later
// A-terms for blocks of visibilities: which slot of time and frequency each row and channel is of, and the
// Jones matrices of those slots on the pixels of a subgrid.
//
// Inputs with equal array layouts and receptors share their stations. Channels share a slot of frequency
// while they lie within one per cent of each other; it is evaluated at their middle.
#pragma once

#include <complex>
#include <cstdint>
#include <map>
#include <memory>
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
  /// Keeps matrices of at most about max_bytes, but of one slot of time at least. Throws as open_aterms().
  AtermScreens(const AtermConfig& config, const ImagingInfo& info, const AtermGrid& grid, unsigned n_threads,
               std::uint64_t max_bytes);

  /// Makes the matrices for rows from first_row on; returns for how many of them (at least one). The views
  /// below are of these rows, until the next call.
  std::size_t prepare(const ImagingBlock& block, std::size_t first_row);
  View<const std::uint32_t, 1> row_slot() const { return {row_slot_.data(), {row_slot_.size()}}; }
  View<const std::uint32_t, 1> chan_slot() const { return {chan_slot_.data(), {chan_slot_.size()}}; }
  View<const std::uint32_t, 2> station() const { return station_; }  ///< [row][p, q] into jones
  /// [row slot][chan slot][station][y][x][XX XY YX YY]
  View<const std::complex<float>, 6> jones() const { return jones_; }
  /// The most that the matrices take with these channels, or with some of them.
  std::uint64_t max_bytes(const std::vector<double>& channel_hz) const;

 private:
  struct Array {  ///< stations that several inputs may share
    std::unique_ptr<AtermModel> model;
    std::uint32_t first_station = 0;
  };
  std::uint64_t bytes_per_slot(std::size_t n_chan_slots) const;
  void choose_channels(const ImagingBlock& block);
  void evaluate(std::size_t array, std::int64_t slot, std::size_t index);

  AtermGrid grid_;
  unsigned n_threads_;
  std::uint64_t max_bytes_;
  std::vector<Array> arrays_;
  std::vector<std::pair<std::size_t, std::uint32_t>>
      station_of_;  ///< of ImagingInfo::stations: array, station
  std::size_t n_stations_ = 0;
  std::vector<double> slot_hz_;                                               ///< [chan slot]
  std::map<std::pair<std::size_t, std::int64_t>, std::uint32_t> slot_index_;  ///< (array, slot) -> jones
  std::vector<std::uint32_t> row_slot_, chan_slot_;
  Buffer<std::uint32_t, 2> station_;
  Buffer<std::complex<float>, 6> jones_;
};

}  // namespace apsyn
