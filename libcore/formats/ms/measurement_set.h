// SPDX-License-Identifier: GPL-3.0-or-later
// Measurement Sets v2 through casacore: a bounded-memory reader and an atomic writer. Conventions and
// columns: apsyn-conventions(7). casacore types stay out of this header.
#pragma once

#include <complex>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "libcore/visibility/exposure.h"
#include "libcore/visibility/visibility.h"

namespace apsyn {

struct MsSpectralWindow {
  std::vector<double> channel_hz, width_hz;  ///< ascending or descending, as stored; width > 0
  std::string name;
  std::string frame = "TOPOCENT";  ///< of the frequencies, in FITS' words
};
/// Where the antennas were pointed while a field was observed, which stays when its data are moved to another
/// phase centre. Empty: the phase centre, or not known.
struct MsPointing {
  std::optional<SkyDirection> delay, reference;  ///< DELAY_DIR and REFERENCE_DIR
  std::optional<SkyDirection> tile;              ///< of LOFAR's tiles, LOFAR_TILE_BEAM_DIR
  bool operator==(const MsPointing&) const = default;
};
struct MsField {
  std::string name;
  SkyDirection phase_centre;
  MsPointing pointing{};
};

struct MsSelection {
  std::string column = "DATA";                        ///< empty: coordinates alone
  std::vector<int> fields, spws;                      ///< empty = all
  std::vector<std::string> field_names;               ///< further fields, by name
  std::int64_t first_row = 0, n_rows = -1;            ///< in main-table rows
  std::int64_t first_interval = 0, n_intervals = -1;  ///< distinct TIME values counted from 0 (--interval)
  std::size_t first_channel = 0, n_channels = 0;      ///< per spectral window; 0 = all
  /// TIME from and to here, MJD seconds UTC.
  double min_time_mjd_s = -std::numeric_limits<double>::infinity();
  double max_time_mjd_s = std::numeric_limits<double>::infinity();
  std::function<bool(int ant1, int ant2)> wants_baseline{};  ///< none: all
  bool autos = false;                                        ///< keep ANTENNA1 == ANTENNA2
  /// Weights of DATA as the standard defines them: 1 / SIGMA_SPECTRUM^2 where that column exists and is not
  /// 0. A set whose CORRECTED_DATA has been written keeps the weights of the latter in WEIGHT_SPECTRUM.
  bool weights_of_sigma = false;
  bool row_details = false;        ///< also fill exposure_s and scan of MsRows
  bool keep_flagged = false;       ///< values without weight keep what is stored if that is finite
  bool by_casacore_alone = false;  ///< always read and write tiles through casacore: slow, for comparison
};

/// The selected rows of one TIME.
struct MsIntegration {
  double time_mjd_s = 0, interval_s = 0;     ///< the middle; the longest interval of its rows
  int scan = 0;                              ///< SCAN_NUMBER of the first of them, 0 where the set has none
  std::int64_t n_rows = 0;                   ///< without autocorrelations, unless they are selected
  std::int64_t first_row = 0, last_row = 0;  ///< in the main table
};

/// Rows of one DATA_DESC_ID. Flags, uvw that is not a number (set to 0), WEIGHT, WEIGHT_SPECTRUM and NaN are
/// already combined in `weight`: 0 = no data, and data is then 0 too. If only coordinates are read, data and
/// weight have no planes, and uvw is as stored even if it is not a number.
struct MsRows {
  int spw = 0;               ///< index into spectral_windows(), also the channel axis below
  int data_description = 0;  ///< as DATA_DESC_ID
  Buffer<double, 2> uvw_m;   ///< [row][3] as stored
  std::vector<double> time_mjd_s, interval_s;
  std::vector<int> ant1, ant2, field;
  std::vector<double> exposure_s;  ///< filled only with MsSelection::row_details; so is `scan`
  std::vector<int> scan;
  std::vector<std::int64_t> row_number;  ///< in the main table
  Buffer<std::complex<float>, 3> data;   ///< [row][chan][product], products as products()
  Buffer<float, 3> weight;               ///< the same shape
};

/// Consecutive rows, from the given one on: data and weight [row][chan][product] as in MsRows.
using UseMsCells = std::function<void(std::size_t first_row, View<const std::complex<float>, 3> data,
                                      View<const float, 3> weight)>;

/// Fills `rows` with the rows of a group, rising numbers among those at hand, at least one.
using ListMsRows = std::function<void(std::size_t group, std::vector<std::size_t>& rows)>;
/// Some rows of a group: data and weight [row][chan][product] as in MsRows.
using UseMsGroup = std::function<void(std::size_t group, std::span<const std::size_t> rows,
                                      View<const std::complex<float>, 3> data, View<const float, 3> weight)>;

/// What is to become of a block: no_more ends the reading.
enum class MsWanted { yes, no, no_more };
/// What is done with blocks of rows, several of which are open at the same time.
struct MsBlockUse {
  /// Scalars are known, as after MeasurementSetReader::next(). One block after the other; a block that is not
  /// wanted leaves its number to the next one.
  std::function<MsWanted(std::size_t block, const MsRows& rows)> begin;
  /// Some of its cells, as UseMsCells; any thread.
  std::function<void(std::size_t block, std::size_t first_row, View<const std::complex<float>, 3> data,
                     View<const float, 3> weight)>
      cells;
  /// Once all cells have been used and uvw_m is complete (BlockSteps::Step).
  struct Step {
    bool in_order = false;
    std::function<void(std::size_t block, const MsRows& rows)> run;
  };
  std::vector<Step> then;
};

class MeasurementSetReader {
 public:
  /// FailureError when it cannot be opened, DataError when it is not a usable MS v2 (the message names the
  /// missing table or column).
  MeasurementSetReader(const std::string& path, const MsSelection& selection);
  ~MeasurementSetReader();
  /// The selected windows that have rows of a selected field, cut to the selected channels.
  const std::vector<MsSpectralWindow>& spectral_windows() const;
  const std::vector<MsField>& fields() const;  ///< all of the set, indexed by MsRows::field
  /// The selected fields that have rows, in the order of the selection or, without a selection, in rising
  /// order.
  const std::vector<int>& fields_with_rows() const;
  const ArrayLayout& layout() const;  ///< site = mean position when the set names none
  /// Always in the order XX XY YX YY, RR RL LR LL or a subset thereof, whatever the set's order.
  const std::vector<Product>& products() const;
  std::int64_t n_rows() const;  ///< selected rows (before dropping autos)
  double first_time_mjd_s() const;
  double last_time_mjd_s() const;
  /// When the first integration of the selected rows begins, and when the last one ends.
  double begin_mjd_s() const;
  double end_mjd_s() const;
  /// TIME and EXPOSURE of the selected rows that are not flagged as a whole.
  const Exposures& exposures() const;
  /// In order of time, without integrations that have no cross-correlations. Reads the scalars of all rows.
  std::vector<MsIntegration> integrations() const;
  std::vector<std::string> history() const;  ///< MESSAGE of HISTORY
  const std::string& observer() const;       ///< empty if the set does not name one
  const std::string& telescope() const;
  bool has_column(const std::string& name) const;
  /// Unit of the selected column; Jy if the set does not name one, as the definition says.
  FluxUnit flux_unit() const;
  /// Up to max_rows rows of one DATA_DESC_ID, in rising row order; false at the end. Where descriptions
  /// alternate, the rows of each are grouped within a block of max_rows. DataError when cells are missing,
  /// have the wrong shape or refer to something that does not exist.
  bool read(MsRows& rows, std::size_t max_rows);
  /// From the next rewind() on only part `part` of n_parts of the main table's rows is read, as equal in
  /// number as can be. What describes the selection, such as n_rows(), stays that of all.
  void take_part(std::size_t part, std::size_t n_parts);
  /// read() in two steps, for callers that process cells themselves; the second may be skipped. Step one
  /// reads the scalar columns: data and weight have no planes yet, and uvw_m is not set.
  bool next(MsRows& rows, std::size_t max_rows);
  /// Step two reads the cells of these rows, half a mebibyte at a time, and calls `use` while they are in the
  /// cache, on up to n_threads threads including the caller's, in any order. uvw_m is complete when it
  /// returns. If several rows fail, it throws the error of the first of them. uvw_m of these rows is set
  /// before `use` is called with them.
  void read_cells(MsRows& rows, unsigned n_threads, const UseMsCells& use);
  /// The same by groups of rows that are wanted together, wherever they are: a thread takes a group, lists
  /// its rows and calls `use` for them in their order, half a mebibyte at a time. No row is of two groups.
  void read_groups(MsRows& rows, unsigned n_threads, std::size_t n_groups, const ListMsRows& list,
                   const UseMsGroup& use);
  /// read_cells(), storing the cells in data and weight of `rows`.
  void read_cells(MsRows& rows, unsigned n_threads);
  /// Reads all rows from the last rewind() on, block after block without a pause: while threads read the last
  /// cells of one, others begin with the next. Block numbers begin with 0, and block b begins once block
  /// b - kOpenBlocks has been through all steps.
  void read_blocks(std::size_t max_rows, unsigned n_threads, const MsBlockUse& use);
  static constexpr std::size_t kOpenBlocks = 4;
  void rewind();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

struct MsDescription {
  std::string telescope = "unknown", observer = "apsyn", source = "unknown";
  ArrayLayout layout;  ///< with site
  SkyDirection phase_centre;
  MsPointing pointing{};  ///< of the source
  std::vector<double> channel_hz;
  double channel_width_hz = 0;            ///< > 0
  std::vector<double> channel_widths_hz;  ///< where they differ; empty: all channel_width_hz
  std::string window_name;                ///< empty: band0
  std::string frame = "TOPOCENT";         ///< of the frequencies, as MsSpectralWindow::frame
  std::vector<Product> products;
  FluxUnit flux_unit = FluxUnit::jansky;  ///< of DATA
  std::vector<std::string> history;
  /// Further spectral windows, with as many channels as the first, and fields besides the source.
  std::vector<MsSpectralWindow> more_windows;
  std::vector<MsField> more_fields;
};

struct MsWriteRows {
  double time_mjd_s = 0, interval_s = 0, exposure_s = 0;  ///< mid-integration
  View<const double, 2> uvw_m;  ///< [baseline][3], r_1 - r_2 as apsyn-conventions(7) says
  const std::vector<Baseline>* baselines = nullptr;
  View<const std::complex<float>, 3> data;  ///< [baseline][chan][product]
  View<const float, 3> weight;              ///< 0 = flagged
  int window = 0;                           ///< 0: the first, then more_windows
  /// For rows that differ, a value for each. Times are mid-integration.
  std::vector<double> row_time_mjd_s{}, row_interval_s{}, row_exposure_s{};
  std::vector<int> row_field{};              ///< 0: the source, then more_fields; empty: all 0
  std::vector<double> row_centroid_mjd_s{};  ///< of the data in it; empty: the times of the middle
  std::vector<int> row_scan{};               ///< empty: all 1
};

class MeasurementSetWriter {
 public:
  /// Creates PATH.part; PATH does not exist before commit(). DataError when the description lacks a site,
  /// antennas, channels or products, UsageError and FailureError as check_output. On a full disk casacore may
  /// throw where nothing can catch it; install_terminate_handling() lets tools end with a message.
  MeasurementSetWriter(const std::string& path, const MsDescription& description, bool overwrite);
  /// For a known number of rows, all of which exist from the start, filled with 0 until write_cells() and
  /// write_scalars() write them.
  MeasurementSetWriter(const std::string& path, const MsDescription& description, bool overwrite,
                       std::int64_t n_rows);
  ~MeasurementSetWriter();
  /// Appends rows.
  void write(const MsWriteRows& rows);
  /// Writes the cells of existing rows, from first_row on. Any number of threads may call it at once; they
  /// wait for each other where casacore has to write.
  void write_cells(std::int64_t first_row, View<const std::complex<float>, 3> data,
                   View<const float, 3> weight);
  /// Writes all other columns of rows that write_cells() has written. Call it from one thread.
  void write_scalars(std::int64_t first_row, const MsWriteRows& rows);
  /// More HISTORY rows, behind those of the description; before commit().
  void add_history(const std::vector<std::string>& lines);
  /// Copies what another set tells of its stations: the subtables LOFAR_ANTENNA_FIELD, PHASED_ARRAY, WEATHER
  /// and their like, unless an earlier call has, and ANTENNA's columns LOFAR_... for antennas of the same
  /// name; and which beam was applied to the data of its `column`, if that is not empty.
  void add_subtables_of(const std::string& path, const std::string& column = {});
  void commit();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace apsyn
