// SPDX-License-Identifier: GPL-3.0-or-later
// The final model as columns of the Measurement Sets: predicted for all selected rows, flagged ones too.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "libcore/cli/tool.h"
#include "libcore/formats/ms/lock.h"
#include "libcore/system/device.h"
#include "tools/clean/products.h"
#include "tools/imaging/major_cycles.h"
#include "tools/imaging/options.h"

namespace apsyn::clean {

using namespace imaging;

struct ColumnOptions {
  bool update_model = false;  ///< --update-model
  std::string model_column = "MODEL_DATA";
  std::string residual_column;  ///< empty: none
};

/// Taken before any set is opened: another run may be adding a column. By the process that writes.
std::vector<std::shared_ptr<const MeasurementSetLock>> lock_columns(const Tool& tool,
                                                                    const ColumnOptions& columns,
                                                                    const imaging::Options& imager);

/// Checks the columns that are to be written, and no others. Throws before any long work.
void check_columns(const ColumnOptions& columns, const imaging::Options& imager);

/// Several fields add up in the column, one after the other.
void write_columns(Tool& tool, const Device& device, const ColumnOptions& columns,
                   const imaging::Options& imager, const Products& products, const Sky& sky,
                   std::size_t n_groups);

}  // namespace apsyn::clean
