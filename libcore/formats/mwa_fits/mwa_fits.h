// SPDX-License-Identifier: GPL-3.0-or-later
// Visibilities of the MWA's correlators, as their FITS files and the metafits of the observation have them:
// the legacy correlator (gpubox files) and MWAX. Signs, orders and units of the result are those of
// apsyn-conventions(7).
#pragma once

#include <complex>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "libcore/formats/visibility_file.h"

namespace apsyn {

/// What is taken out of the data, and what is flagged.
struct MwaFitsOptions {
  bool cable_delays = true, geometric_delays = true, digital_gains = true;
  std::optional<SkyDirection> phase_centre;  ///< else that of the metafits, or what has been tracked
  bool pointing_centre = false;              ///< that is, RA and DEC instead of RAPHASE and DECPHASE
  bool flag_tiles = true;                    ///< those that the metafits flags
  double flag_edge_hz = 80e3;                ///< at both ends of each coarse channel
  std::optional<bool> flag_centre;  ///< the middle of each coarse channel; else for the legacy correlator
  double flag_begin_s = -1;         ///< after the first integration's beginning; below 0: until GOODTIME
  std::string passband;             ///< file of the gains of a coarse channel's fine channels; empty: all 1

  bool operator==(const MwaFitsOptions&) const = default;
};

/// Rows of a block are of one time and one spectral window, in the order of all_baselines(). Weights: 0 =
/// flagged; of MWAX the valid share of the samples; times gain^2 with a passband.
class MwaFitsReader final : public VisibilityFile {
 public:
  /// FailureError when a file cannot be opened; DataError, with the file and the value, when one is malformed
  /// or they do not fit together, or the passband not to them; UsageError for --pointing-centre where the
  /// correlator has tracked another.
  MwaFitsReader(const std::string& metafits, const std::vector<std::string>& files,
                const MwaFitsOptions& options);
  ~MwaFitsReader() override;
  /// Tiles, one field, and windows: one where all coarse channels are adjacent, otherwise one for each. The
  /// field is where the correlator has tracked it, whatever the options say.
  const MsDescription& description() const override;
  std::string summary() const override;
  std::vector<std::string> warnings() const override;
  std::int64_t n_rows() const override;
  std::uint64_t memory_bytes(std::size_t block_rows, unsigned n_threads) const override;
  std::size_t block_rows() const override;
  /// Integrations of the legacy correlator are read as a whole for each block.
  bool has_fixed_blocks() const override { return !is_mwax(); }
  void rewind() override;
  bool next(FileRows& rows, std::size_t max_rows) override;
  void read_cells(const FileCells& wanted, unsigned n_threads, const UseMsCells& use) override;

  std::size_t n_baselines() const;
  std::size_t n_coarse_channels() const;
  std::int64_t n_times() const;  ///< of which there are data
  /// Coarse channels of times for which no file has data though it has others: flagged, or no rows.
  std::int64_t n_missing() const;
  bool is_mwax() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Whether a file is the metafits of an observation; false where it cannot be read.
bool is_mwa_metafits(const std::string& path);
/// Whether a file has the name of a correlator's.
bool is_mwa_correlator_file(const std::string& path);

}  // namespace apsyn
