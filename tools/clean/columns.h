// SPDX-License-Identifier: GPL-3.0-or-later
// The final model as columns of the Measurement Sets: predicted for all selected rows, flagged ones too.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "libcore/ms/lock.h"
#include "tools/clean/products.h"
#include "tools/imaging/predict_set.h"

namespace apsyn::clean {

using namespace imaging;

struct ColumnOptions {
  bool update_model = false;  ///< --update-model
  std::string model_column = "MODEL_DATA";
  std::string residual_column;  ///< empty: none
};

inline PredictionOptions prediction_options(const ImagingOptions& imaging, const std::string& column) {
  PredictionOptions options;
  options.imaging = imaging;
  options.column = column;
  return options;
}

/// Taken before any set is opened: another run may be adding a column. By the process that writes.
inline std::vector<std::shared_ptr<const MeasurementSetLock>> lock_columns(const Tool& tool,
                                                                           const ColumnOptions& columns,
                                                                           const imaging::Options& imager) {
  std::vector<std::shared_ptr<const MeasurementSetLock>> locks;
  if (tool.common().dry_run || !tool.ranks().root() ||
      (!columns.update_model && columns.residual_column.empty()))
    return locks;
  for (const std::string& path : imager.inputs)
    if (std::filesystem::is_directory(path)) locks.push_back(lock_measurement_set(path));
  return locks;
}

/// Of what is to be written, nothing else. Throws before any long work.
inline void check_columns(const ColumnOptions& columns, const imaging::Options& imager) {
  const ImagingOptions& imaging = imager.imaging;
  std::vector<std::string> names;
  if (columns.update_model) names.push_back(columns.model_column);
  if (!columns.residual_column.empty()) names.push_back(columns.residual_column);
  if (names.size() == 2 && names[0] == names[1])
    throw UsageError("--residual-column and --model-column are both {}: name two", names[0]);
  for (const std::string& column : names) {
    if (column == imaging.column || column == "DATA")
      throw UsageError("column {} holds the observation: name another one", column);
    for (const std::string& path : imager.inputs) {
      if (!std::filesystem::is_directory(path))
        throw UsageError("{}: a stream has no columns: leave out --update-model and --residual-column", path);
      inspect_visibility_column(path, selection_of(prediction_options(imaging, column), column));
    }
  }
}

/// Several fields add up in the column, one after the other.
inline void write_columns(Tool& tool, const Device& device, const ColumnOptions& columns,
                          const imaging::Options& imager, const Products& products, const Sky& sky,
                          std::size_t n_groups) {
  if (!columns.update_model && columns.residual_column.empty()) return;
  publish_outputs();  // the models among them
  meet_ranks();
  for (const std::string& path : imager.inputs)
    for (std::size_t f = 0; f < sky.fields.size(); ++f) {
      std::vector<std::string> models;
      for (const std::size_t number : sky.group_numbers)
        models.push_back(products.path(sky.fields[f], part_name(number, n_groups),
                                       imager.imaging.aterms.empty() ? "model" : "model-pb"));
      const Model model{find_models(models), {}};
      if (columns.update_model) {
        PredictionOptions options = prediction_options(imager.imaging, columns.model_column);
        options.add = f > 0;
        options.input_column = options.output_column = columns.model_column;
        predict_set(tool, options, device, model, path);
      }
      if (!columns.residual_column.empty()) {
        PredictionOptions options = prediction_options(imager.imaging, "");
        options.subtract = true;
        options.input_column = f == 0 ? imager.imaging.column : columns.residual_column;
        options.output_column = columns.residual_column;
        predict_set(tool, options, device, model, path);
      }
    }
}

}  // namespace apsyn::clean
