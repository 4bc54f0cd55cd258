// SPDX-License-Identifier: GPL-3.0-or-later
// UVFITS: visibilities as random groups of a FITS file (AIPS Memo 117), read in bounded memory.
//
// Every group is one baseline at one time: parameters (UU, VV, WW in seconds, BASELINE or ANTENNA1 and
// ANTENNA2, DATE in one or several parts that add up, SOURCE, FREQSEL, INTTIM) and an array over COMPLEX
// (real, imaginary, weight), STOKES, FREQ and IF in any order. Tables: AIPS AN, one for each subarray; AIPS
// FQ; AIPS SU where there are several sources. CFITSIO reads the header and the tables, after the sizes of
// all HDUs have been checked.
//
// FITS-IDI (AIPS Memo 114), as VLBI correlators, the EVN and LWA write it, is read as well: rows of UV_DATA
// are the groups, of columns and in place of the tables ARRAY_GEOMETRY, FREQUENCY and SOURCE. Its phases are
// opposite. Tables of flags of both (AIPS FG, FLAG) are applied.
#pragma once

#include <complex>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "libcore/formats/visibility_file.h"

namespace apsyn {

struct UvfitsOptions {
  bool absolute_weights = false;  ///< a weight's sign does not flag
  double integration_s = 0;  ///< instead of INTTIM; 0: where there is none, the shortest step of a baseline
};

/// Visibilities by what became of them.
struct UvfitsCounts {
  std::int64_t used = 0;
  std::int64_t not_positive = 0;  ///< weight <= 0: flagged
  std::int64_t not_finite = 0;    ///< value or weight: flagged
  std::int64_t by_table = 0;      ///< flagged by a table of flags alone
};

/// Rows of a block are of one frequency setup (FREQSEL), a window for each of its IFs.
class UvfitsReader final : public VisibilityFile {
 public:
  /// FailureError when it cannot be opened or is no regular file; DataError, with the byte where there is
  /// one, when it is malformed, truncated or of a dialect that is not supported; UsageError when nothing
  /// tells the integration time: neither INTTIM nor integration_s nor a baseline at two times.
  UvfitsReader(const std::string& path, const UvfitsOptions& options);
  ~UvfitsReader() override;
  /// Antennas, sources, windows (setup by setup, IF by IF) and products, in the order RR RL LR LL or XX XY YX
  /// YY; history is that of the caller.
  const MsDescription& description() const override;
  std::string summary() const override;
  /// Names the tables that are not applied.
  std::vector<std::string> warnings() const override;
  std::int64_t n_rows() const override;
  std::uint64_t memory_bytes(std::size_t block_rows, unsigned n_threads) const override;
  std::size_t block_rows() const override;
  void rewind() override;
  bool next(FileRows& rows, std::size_t max_rows) override;
  void read_cells(const FileCells& wanted, unsigned n_threads, const UseMsCells& use) override;
  void check_use() const override;

  std::int64_t n_groups() const;
  bool is_fits_idi() const;
  /// Tables that are there and mean something but are not applied: calibration.
  const std::vector<std::string>& ignored_tables() const;
  UvfitsCounts counts() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace apsyn
