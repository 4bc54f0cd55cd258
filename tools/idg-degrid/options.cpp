// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/idg-degrid/options.h"

#include <CLI/CLI.hpp>

#include <filesystem>

#include "libcore/base/error.h"
#include "libcore/cli/imaging_options.h"
#include "libcore/streams/detect.h"

namespace apsyn::idg_degrid {
namespace {

/// "--model NAME-*-model.fits obs.ms": what the shell makes of it beyond the first file comes as an input. A
/// model that is text is a sky model.
void sort_inputs(Options& options) {
  std::erase_if(options.inputs, [&](const std::string& input) {
    std::error_code error;
    const bool is_model = std::filesystem::is_regular_file(input, error);
    if (is_model) options.models.push_back(input);
    return is_model;
  });
  if (options.models.size() == 1 && options.sky.empty() && std::filesystem::exists(options.models[0]) &&
      !is_fits_file(options.models[0])) {
    options.sky = options.models[0];
    options.models.clear();
  }
}

}  // namespace

void declare(Tool& tool, Options& options) {
  CLI::App& app = tool.app();
  tool.add_inputs(options.inputs, "Measurement Sets, and further model images", 0);
  tool.add_files("-m,--model", options.models,
                 "model image in JY/PIXEL, or a text sky model; may be repeated")
      ->allow_extra_args(false);
  tool.add_file("--sky", options.sky, "sky model in WSClean/BBS text form, predicted without a grid");
  options.column_given =
      app.add_option("--column", options.column, "column that is written (default MODEL_DATA)")
          ->type_name("NAME");
  auto* subtract = app.add_flag("--subtract", options.subtract, "write the input column less the prediction");
  app.add_flag("--add", options.add, "write the input column plus the prediction")->excludes(subtract);
  options.for_combining = {app.add_option("--input-column", options.input_column,
                                          "of --subtract and --add: what is read (default DATA)")
                               ->type_name("NAME"),
                           app.add_option("--output-column", options.output_column,
                                          "of --subtract and --add: what is written (default CORRECTED_DATA)")
                               ->type_name("NAME")};
  add_selection_options(tool, options.imaging);
  add_gridding_options(tool, options.imaging);
  tool.heading(headings::kAterms);
  tool.add_file("--aterms", options.imaging.aterms,
                "let the model be seen through A-terms: a configuration, apsyn-aterms(5)");
  add_primary_beam_option(tool, options.imaging);
  add_beam_data_option(tool, options.imaging);
  for (const char* name : {"--accuracy", "--subgrid", "--kernel-padding", "--padding", "--taper",
                           "--precision", "--grid-memory"})
    options.for_images.push_back(app.get_option(name));
}

void check_options(Tool& tool, Options& options) {
  sort_inputs(options);
  if (options.models.empty() && options.sky.empty())
    throw UsageError("--model is missing: for example --model NAME-model.fits");
  if (!options.models.empty() && !options.sky.empty())
    throw UsageError("--sky {} with --model {}: give one of them", options.sky, options.models[0]);
  for (const std::string& input : options.inputs)
    if (input == "-") throw UsageError("-: visibilities are predicted into Measurement Sets: name one");
  if (options.inputs.empty()) throw UsageError("no Measurement Set: name the one to predict into");
  if (!options.sky.empty())
    for (const CLI::Option* option : options.for_images)
      if (option->count() > 0)
        throw UsageError("{}: a text sky model is predicted without a grid: leave it out",
                         option->get_name());
  if (!tool.common().output.empty())
    throw UsageError("-o {}: predictions go into the Measurement Set itself: name the column with {}",
                     tool.common().output,
                     options.combine() == Combine::replace ? "--column" : "--output-column");
  if (options.combine() == Combine::replace) {
    for (const CLI::Option* option : options.for_combining)
      if (option->count() > 0)
        throw UsageError("{}: goes with --subtract or --add: name the column with --column",
                         option->get_name());
  } else {
    if (options.column_given->count() > 0)
      throw UsageError("--column: with --subtract or --add give --input-column and --output-column");
    options.unnamed_output = options.for_combining[1]->count() == 0;
    if (options.input_column == options.output_column)
      throw UsageError(
          "--output-column {}: the same as --input-column: a run that is cut short could not be repeated",
          options.output_column);
  }
  if (options.written_column() == "DATA" && !tool.common().overwrite)
    throw UsageError("column DATA holds the observation: give --overwrite to replace it, or another column");
}

}  // namespace apsyn::idg_degrid
