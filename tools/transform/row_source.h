// SPDX-License-Identifier: GPL-3.0-or-later
// Where the rows come from: a Measurement Set, or a file of another format, of which a selection is taken.
#pragma once

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "libcore/formats/ms/measurement_set.h"
#include "libcore/formats/visibility_file.h"
#include "tools/transform/options.h"

namespace apsyn::transform {

/// What is known of a source before its rows are read.
struct SourceDescription {
  std::string telescope, observer;
  std::vector<MsSpectralWindow> windows;  ///< the selected ones, cut to the selected channels
  std::vector<MsField> fields;            ///< all, as MsRows::field counts them
  std::vector<int> used_fields;           ///< those that rows may be of
  ArrayLayout layout;
  std::vector<Product> products;
  FluxUnit flux_unit = FluxUnit::jansky;
  std::vector<std::string> history;
};

/// What a pass over the rows reads of them.
enum class RowPass {
  scalars,      ///< times, antennas and fields; uvw_m is not set
  coordinates,  ///< uvw_m as well
  cells         ///< uvw_m is set by read_cells(), which gives the cells
};

class RowSource {
 public:
  virtual ~RowSource() = default;
  const std::string& name() const { return name_; }
  const SourceDescription& description() const { return description_; }
  /// What it is, for the plan of a run; empty for Measurement Sets, of which the plan tells all there is.
  virtual std::vector<std::string> plan() const { return {}; }
  /// A Measurement Set, whose subtables may be copied.
  virtual bool is_set() const { return false; }
  /// Rows of the selected times, fields and windows, some of which next() may leave out.
  virtual std::int64_t n_rows() = 0;
  /// Rows that next() will give.
  virtual std::int64_t count_rows() = 0;
  /// When the first integration of the selected rows begins. Looks at all rows of a file.
  virtual double begin_mjd_s() = 0;
  /// Rows that are best read together, and what reading so many takes.
  virtual std::size_t block_rows() const = 0;
  virtual bool has_fixed_blocks() const { return false; }
  virtual std::uint64_t memory_bytes(std::size_t, unsigned) const { return 0; }

  /// Goes to the first row.
  virtual void begin(RowPass pass) = 0;
  /// Up to max_rows rows of one window, data and weight without planes; false at the end.
  virtual bool next(MsRows& rows, std::size_t max_rows) = 0;
  /// In a pass of cells: those of the rows that next() gave last, as MeasurementSetReader::read_cells().
  virtual void read_cells(MsRows& rows, unsigned n_threads, const UseMsCells& use) = 0;
  /// Whether read_groups() works.
  virtual bool reads_groups() const { return false; }
  /// In place of read_cells(), as MeasurementSetReader::read_groups().
  virtual void read_groups(MsRows&, unsigned, std::size_t, const ListMsRows&, const UseMsGroup&) {
    throw std::logic_error("RowSource: not read in groups");
  }
  /// At the end of a pass of cells. FailureError where nothing of what was read is usable.
  virtual void check_use() const {}

 protected:
  explicit RowSource(std::string name) : name_(std::move(name)) {}
  std::string name_;
  SourceDescription description_;
};

/// Throws as MeasurementSetReader; UsageError for antennas that the set lacks.
std::unique_ptr<RowSource> make_set_source(const std::string& path, const Options& options);

/// The selection of a file's rows. UsageError for fields, windows, channels and antennas that it lacks.
std::unique_ptr<RowSource> make_file_source(const std::string& path, std::unique_ptr<VisibilityFile> file,
                                            const Options& options);

/// What the options select, but for baselines.
MsSelection selection_of(const Options& options);

}  // namespace apsyn::transform
