// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/clean/columns.h"

#include <filesystem>

#include "libcore/base/error.h"
#include "libcore/cli/imaging_options.h"
#include "libcore/files/output.h"
#include "libcore/formats/fits/model_images.h"
#include "libcore/formats/ms/columns.h"
#include "libcore/system/ranks.h"
#include "tools/imaging/images.h"
#include "tools/imaging/prediction/predict_set.h"
#include "tools/imaging/prediction/prediction_options.h"

namespace apsyn::clean {
namespace {

PredictionOptions prediction_options(const ImagingOptions& imaging, const std::string& column) {
  PredictionOptions options;
  options.imaging = imaging;
  options.column = column;
  return options;
}

}  // namespace

std::vector<std::shared_ptr<const MeasurementSetLock>> lock_columns(const Tool& tool,
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

void check_columns(const ColumnOptions& columns, const imaging::Options& imager) {
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

void write_columns(Tool& tool, const Device& device, const ColumnOptions& columns,
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
