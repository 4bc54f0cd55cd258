// SPDX-License-Identifier: GPL-3.0-or-later
// What is bad whatever the data say: antennas, autocorrelations, the beginnings of scans, the ends of bands,
// low elevations and shadows.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "libcore/formats/ms/measurement_set.h"
#include "libcore/measures/coordinates.h"
#include "tools/flag/options.h"

namespace apsyn::flag {

/// Where and when the rows are from.
struct RuleFacts {
  ArrayLayout layout;
  std::vector<MsField> fields;             ///< by MsRows::field
  std::map<int, double> scan_begin_mjd_s;  ///< of each scan
};

class Rules {
 public:
  /// UsageError for antennas that are not there, elevations and shadows of an array without a site, and
  /// shadows of antennas without diameters.
  Rules(const Options& options, RuleFacts facts);
  /// Looks up what the times of these rows need; one thread, before flag().
  void prepare(const MsRows& rows);
  /// Flags cells [chan][product] of a row that was prepared, with its data, if there are any. Any thread.
  void flag(const MsRows& rows, std::size_t row, const std::complex<float>* data, std::size_t n_chan,
            std::size_t n_product, std::uint8_t* flags) const;

 private:
  /// What holds at one time, of one field.
  struct Instant {
    bool low = false;
    std::vector<bool> shadowed;  ///< [antenna]; empty: none
  };
  bool is_bad(const MsRows& rows, std::size_t row) const;
  Instant look(double time_mjd_s, const SkyDirection& direction) const;

  Options options_;
  RuleFacts facts_;
  std::vector<bool> antennas_;
  std::unique_ptr<SkyFrame> frame_;  ///< none: nothing depends on the sky
  std::map<std::pair<double, int>, Instant> instants_;
  std::vector<const Instant*> of_row_;
};

/// Which antennas stand in the shadow of others, seen from the source: j is hidden behind i where their
/// dishes overlap, sqrt(u^2 + v^2) < (D_i + D_j) / 2, and i is the nearer one, w > 0. `uvw` turns east, north
/// and up into u, v and w.
std::vector<bool> shadowed_antennas(const ArrayLayout& layout, const Mat3& uvw);

}  // namespace apsyn::flag
