// SPDX-License-Identifier: GPL-3.0-or-later
// What MeasurementSetReader learns from the subtables before it reads rows. For libcore/formats/ms only.
#pragma once

#include <casacore/tables/Tables/Table.h>

#include <algorithm>
#include <exception>
#include <new>
#include <string>
#include <vector>

#include "libcore/base/error.h"
#include "libcore/formats/ms/measurement_set.h"
#include "libcore/measures/casacore_log.h"
#include "libcore/system/system_error.h"

namespace apsyn {

/// One DATA_DESC_ID: how its cells are laid out in the file.
struct MsDataDescription {
  int spw = -1;              ///< index into MsMetadata::spws, -1 = not selected, or without rows
  std::size_t n_corr = 0;    ///< correlations of a cell
  std::size_t n_chan = 0;    ///< channels of a cell, before the channel range
  std::vector<int> corr_of;  ///< [product of MsMetadata::products] index in the cell, -1 = absent
};

struct MsMetadata {
  std::string telescope = "unknown", observer{};
  ArrayLayout layout;
  std::vector<MsField> fields;
  std::vector<MsSpectralWindow> spws;  ///< selected, with rows, channel range applied
  std::vector<Product> products;       ///< canonical order
  std::vector<MsDataDescription> data_descriptions;

  const MsDataDescription& description(int id) const {
    return data_descriptions[static_cast<std::size_t>(id)];
  }
};

/// Whether a list of MsSelection contains the number; an empty list selects all.
inline bool selected(const std::vector<int>& list, int number) {
  return list.empty() || std::find(list.begin(), list.end(), number) != list.end();
}

/// Which of the `wanted` DATA_DESC_IDs occur in rows of the selected fields. Sets that were split from others
/// often describe windows, polarisations and fields without rows. Reads rows until all are found.
std::vector<bool> descriptions_with_rows(const casacore::Table& ms, const MsSelection& selection,
                                         const std::vector<bool>& wanted);

/// Converts MEAS_FREQ_REF, an MFrequency::Types, to FITS' SPECSYS and back; unknown values become
/// topocentric.
std::string frequency_frame(int reference);
int frequency_reference(const std::string& frame);

casacore::Table ms_subtable(const casacore::Table& ms, const std::string& path, const std::string& name);

/// Phase centres in J2000. One that cannot be converted is a DataError if its field is selected.
std::vector<MsField> read_ms_fields(const casacore::Table& ms, const std::string& path,
                                    const MsSelection& selection);

/// A direction in a row of FIELD (the constant term of its polynomial), in J2000. DataError when it is not a
/// direction.
SkyDirection read_ms_direction(const casacore::Table& ms, const std::string& path, const std::string& column,
                               int row);

/// Windows and products are those of data descriptions that have rows; of all selected ones when none has.
/// DataError for missing or malformed subtables, UsageError for a selection that the set does not hold.
MsMetadata read_ms_metadata(const casacore::Table& ms, const std::string& path, const MsSelection& selection);

/// Turns casacore's exceptions for damaged sets into a DataError that names the set, or into a FailureError
/// if the system did not let it read a file.
template <class Work>
auto with_measurement_set(const std::string& path, Work work) {
  try {
    return work();
  } catch (const Error&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw FailureError("{}: its cells need more memory than there is", path);
  } catch (const std::exception& error) {  // casacore's array errors are no AipsErrors
    const std::string reason = reason_of(error);
    if (const char* cure = cure_of_system_error(reason)) throw FailureError("{}: {}: {}", path, reason, cure);
    throw DataError("{}: {}: not a complete Measurement Set version 2", path, reason);
  }
}

/// The same for writing, where a full disk is the usual cause.
template <class Work>
auto with_writing_set(const std::string& path, Work work) {
  try {
    return work();
  } catch (const Error&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    const std::string reason = reason_of(error);
    const char* cure = cure_of_system_error(reason);
    throw FailureError("{}: cannot write: {}: {}", path, reason,
                       cure == nullptr ? "check the free space" : cure);
  }
}

}  // namespace apsyn
