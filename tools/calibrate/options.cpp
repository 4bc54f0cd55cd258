// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/calibrate/options.h"

#include <CLI/CLI.hpp>

#include <array>
#include <cmath>
#include <filesystem>
#include <utility>

#include "libcore/base/csv.h"
#include "libcore/base/error.h"

namespace apsyn::calibrate {
namespace {

std::size_t parse_channels(const std::string& option, const std::string& text) {
  if (text == "all") return 0;
  const std::optional<double> number = finite_number(text);
  if (!number || *number < 1 || *number > 1e9 || *number != std::floor(*number))
    throw UsageError("{} {}: a number of channels, or all", option, text);
  return static_cast<std::size_t>(*number);
}

double parse_robust(const std::string& option, const std::string& text) {
  const std::optional<double> number = finite_number(text);
  if (!number || *number < 0.5 || *number > 1e6)
    throw UsageError("{} {}: degrees of freedom from 0.5 on, for example 2", option, text);
  return *number;
}

void declare_model(Tool& tool, Options& options) {
  tool.heading("Model");
  tool.add_file("--sky", options.sky, "sky model in WSClean/BBS text form, predicted while data are read");
  tool.app()
      .add_option("--model-column", options.model_column,
                  "column with the model (default: MODEL_DATA where it is there)")
      ->type_name("NAME");
  tool.app()
      .add_option("--directions", options.directions,
                  "solve for each patch of the sky model: patches (all), or a list of their names")
      ->type_name("patches|LIST");
  tool.add_files("-m,--model", options.models,
                 "model image in JY/PIXEL, or a text sky model; may be repeated")
      ->allow_extra_args(false);
  tool.heading(headings::kAterms);
  tool.add_file("--aterms", options.selection.aterms,
                "let the model be seen through A-terms: a configuration, apsyn-aterms(5)");
  add_primary_beam_option(tool, options.selection);
  add_beam_data_option(tool, options.selection);
}

void declare_selection(Tool& tool, Options& options) {
  CLI::App& app = tool.app();
  tool.heading(headings::kSelection);
  app.add_option("--column", options.selection.column,
                 "data column of the Measurement Set that is solved or applied to (default DATA)")
      ->type_name("NAME");
  add_window_options(tool, options.selection);
  app.add_option("--minuv-l", options.selection.min_uv_lambda, "shortest uv distance, in wavelengths")
      ->type_name("NUMBER")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--maxuv-l", options.selection.max_uv_lambda, "longest uv distance, in wavelengths")
      ->type_name("NUMBER")
      ->check(CLI::PositiveNumber);
}

void declare_solving(Tool& tool, Options& options) {
  CLI::App& app = tool.app();
  tool.heading("Solving");
  app.add_option("--solve", options.solve,
                 "term of the chain: gain (default), phase, amplitude, scalar-gain, scalar-phase, bandpass, "
                 "jones, leakage, delay, tec or tec+delay, with :interval=T,channels=N,robust=NU,start=none; "
                 "may be repeated")
      ->type_name("TERM")
      ->allow_extra_args(false);
  app.add_option("--interval", options.interval, "time of a solution, or all (default)")->type_name("T");
  app.add_flag("--follow", options.follow,
               "solve each interval of a visibility stream as it arrives, and replace the outputs each time");
  app.add_option("--channels-per-solution", options.channels_per_solution,
                 "channels of a solution, or all (default: 1 of gain, bandpass and jones, all of others)")
      ->type_name("N");
  app.add_option("--reference-antenna", options.reference_antenna,
                 "name or number of the antenna of phase 0, or auto: the best connected (default)")
      ->type_name("ANTENNA");
  app.add_option_function<std::string>(
         "--robust",
         [&](const std::string& text) {
           // "--robust obs.ms": the word is the input.
           const bool is_number = text.empty() || finite_number(text).has_value();
           if (!is_number) options.inputs.push_back(text);
           options.robust_nu = !is_number || text.empty() ? 2 : parse_robust("--robust", text);
         },
         "weights of a Student's t distribution, so that interference counts less; degrees of freedom "
         "(default 2)")
      ->type_name("NU")
      ->expected(0, 1);
  app.add_option("--min-snr", options.min_snr, "flag solutions of less signal to noise (default 3)")
      ->type_name("RATIO")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--min-baselines", options.min_baselines,
                 "flag antennas with fewer baselines to good ones (default 4)")
      ->type_name("N")
      ->check(CLI::Range(1, 1000000));
  app.add_option("--tolerance", options.tolerance, "relative change at which solving stops (default 1e-6)")
      ->type_name("EPS")
      ->check(CLI::Range(1e-14, 0.1));
  app.add_option("--iterations", options.max_iterations, "at most (default 200)")
      ->type_name("N")
      ->check(CLI::Range(1, 1000000));
  app.add_flag("--normalise", options.normalise,
               "for a model of unknown flux: scale the amplitudes to a mean log|g| of 0");
}

void declare_applying(Tool& tool, Options& options) {
  CLI::App& app = tool.app();
  tool.heading("Applying");
  tool.add_file("--apply", options.apply, "correct the data by the solutions of this file");
  app.add_option_function<std::string>(
         "--output-column",
         [&](const std::string& name) {
           options.output_column = name;
           options.output_column_given = true;
         },
         "column that is written (default CORRECTED_DATA); with --solve: apply what was found")
      ->type_name("NAME");
  app.add_option_function<std::string>(
         "--interpolation",
         [&](const std::string& text) {
           try {
             options.interpolation = parse_interpolation(text);
           } catch (const UsageError& error) {
             throw UsageError("--interpolation: {}", error.what());
           }
         },
         "nearest (default) or linear, in time and frequency")
      ->type_name("HOW");
  app.add_option("--direction", options.direction, "of solutions in several directions: the patch to apply")
      ->type_name("NAME");
  app.add_option(
         "--subtract", options.subtract,
         "with --sky: subtract these patches, each as its solutions let antennas see it (patches: all)")
      ->type_name("patches|LIST");
  app.add_flag("--no-weights", options.no_weights, "leave the weights as they are");
  app.add_flag("--corrupt", options.corrupt,
               "multiply by the gains instead of dividing; flags and weights stay");
}

}  // namespace

void declare(Tool& tool, Options& options) {
  CLI::App& app = tool.app();
  tool.add_inputs(options.inputs,
                  "a Measurement Set, a visibility stream (- is standard input), or solutions to be exported",
                  1);
  app.add_option("--export", options.exports,
                 "write the solutions there, too, by suffix: .csv (gains), .bin (AO), .fits (A-terms), .h5")
      ->type_name("PATH")
      ->allow_extra_args(false);
  app.add_option("--export-channels", options.export_channels,
                 "channels of the stream that exported gains (.csv) are for")
      ->type_name("N")
      ->check(CLI::Range(1, 1 << 24));
  app.add_option("--report", options.report, "figures of each solution as JSON")->type_name("PATH");
  app.add_flag(
      "--fill", options.fill,
      "give flagged solutions of an H5Parm their neighbour's value and weight 1, as WSClean needs it");
  declare_model(tool, options);
  declare_selection(tool, options);
  declare_solving(tool, options);
  declare_applying(tool, options);
}

TermOptions parse_term(const std::string& text, const Options& defaults) {
  const std::size_t colon = text.find(':');
  TermOptions term = term_named(text.substr(0, colon), "--solve");
  if (!defaults.interval.empty()) term.interval_s = parse_interval("--interval", defaults.interval);
  if (!defaults.channels_per_solution.empty())
    term.channels = parse_channels("--channels-per-solution", defaults.channels_per_solution);
  if (term.name == "bandpass") {
    term.interval_s = 0;
    term.channels = 1;
  }
  if (spans_channels(term.term)) term.channels = 0;
  term.robust_nu = defaults.robust_nu;
  if (colon == std::string::npos) return term;
  for (const std::string_view part : split(std::string_view(text).substr(colon + 1), ',')) {
    const std::size_t equal = part.find('=');
    const std::string key(part.substr(0, equal)),
        value(equal == std::string_view::npos ? std::string_view() : part.substr(equal + 1));
    const std::string option = "--solve " + term.name + ":" + key;
    if (key == "interval") {
      term.interval_s = parse_interval(option, value);
    } else if (key == "channels") {
      term.channels = parse_channels(option, value);
      if (spans_channels(term.term) && term.channels != 0)
        throw UsageError("{}={}: {} is found over all channels: leave it out", option, value, term.name);
    } else if (key == "robust") {
      term.robust_nu = value.empty() ? 2 : parse_robust(option, value);
    } else if (key == "start") {
      if (value != "former" && value != "none")
        throw UsageError("{}={}: former (the solution of the slot before) or none", option, value);
      term.start_from_former = value == "former";
    } else {
      throw UsageError("--solve {}: no key '{}': give interval, channels, robust or start", text, key);
    }
  }
  return term;
}

namespace {

bool is_solution_file(const std::string& path) {
  const std::string suffix = std::filesystem::path(path).extension().string();
  for (const char* known : {".h5", ".h5parm", ".bin", ".fits", ".fit", ".csv"})
    if (suffix == known) return true;
  return false;
}

/// "--model NAME-*-model.fits obs.ms": the shell expands the pattern, and all files but the first arrive as
/// inputs.
void sort_inputs(Options& options) {
  if (options.models.size() == 1 && options.sky.empty() && !is_solution_file(options.models[0])) {
    options.sky = options.models[0];
    options.models.clear();
  }
}

void refuse(const CLI::App& app, std::initializer_list<const char*> names, const std::string& why) {
  for (const char* name : names)
    if (app.get_option(name)->count() > 0) throw UsageError("{}: {}", name, why);
}

/// With directions only one term is allowed, of a kind that may differ between patches.
void check_directions(const Options& options) {
  if (options.directions.empty()) return;
  if (options.sky.empty())
    throw UsageError("--directions {}: patches are those of a sky model: name it with --sky",
                     options.directions);
  if (options.output_column_given)
    throw UsageError(
        "--output-column {}: data can be corrected for one direction only: write the solutions, and apply "
        "those "
        "of one with --apply and --direction",
        options.output_column);
  if (options.terms.size() != 1)
    throw UsageError("--directions: takes one term, and --solve names {}: apply the others first",
                     options.terms.size());
  const TermOptions& term = options.terms[0];
  if (term.term != CalibrationTerm::tec && term.term != CalibrationTerm::tec_delay &&
      term.term != CalibrationTerm::scalar_phase && term.term != CalibrationTerm::scalar_gain)
    throw UsageError("--solve {}: with --directions: give tec, tec+delay, scalar-phase or scalar-gain",
                     term.name);
  if (term.robust_nu > 0) throw UsageError("--robust: not with --directions: leave it out");
}

/// With --follow every solution is for the interval that has just arrived.
void check_follow(Options& options) {
  if (!options.follow) return;
  if (options.interval.empty() || options.interval == "all")
    throw UsageError("--follow: say with --interval how often to solve, for example --interval 8s");
  options.follow_s = parse_interval("--interval", options.interval);
  if (!options.directions.empty()) throw UsageError("--directions: not with --follow: leave one of them out");
  for (TermOptions& term : options.terms) {
    if (term.interval_s != 0 && term.interval_s != options.follow_s)
      throw UsageError("--solve {}: with --follow all terms have the interval {} of --interval: leave it out",
                       term.name, options.interval);
    term.interval_s = 0;
  }
}

void check_model(const Options& options) {
  if (!options.selection.aterms.empty()) {
    const std::string name = options.selection.aterms_text.empty() ? "--aterms" : "--primary-beam";
    if (options.sky.empty() && options.models.empty())
      throw UsageError("{}: the model of a column is taken as it is: give one with --sky or --model", name);
    if (!options.directions.empty())
      throw UsageError("{}: not with --directions, whose solutions take up the beam: leave one of them out",
                       name);
  }
  const int n = (options.sky.empty() ? 0 : 1) + (options.model_column.empty() ? 0 : 1) +
                (options.models.empty() ? 0 : 1);
  if (n > 1)
    throw UsageError("--sky, --model-column and --model are three models of one sky: give one of them");
  if (!options.model_column.empty() && options.model_column == options.selection.column)
    throw UsageError("--model-column {}: the same as --column: the data are no model of themselves",
                     options.model_column);
}

}  // namespace

void check_options(Tool& tool, Options& options) {
  const CLI::App& app = tool.app();
  sort_inputs(options);
  if (options.inputs.empty()) options.inputs.push_back("-");
  const bool converts = options.apply.empty() && options.solve.empty() && is_solution_file(options.input());
  options.mode = converts ? Mode::convert : !options.apply.empty() ? Mode::apply : Mode::solve;
  const std::string& output = tool.common().output;
  switch (options.mode) {
    case Mode::convert:
      if (options.exports.empty() && output.empty())
        throw UsageError(
            "{}: solutions: name what to make of them with --export, for example --export cal.csv",
            options.input());
      refuse(app,
             {"--sky", "--model", "--model-column", "--aterms", "--primary-beam", "--directions",
              "--output-column", "--report", "--corrupt", "--follow"},
             "goes with a Measurement Set, not with solutions");
      return;
    case Mode::apply:
      refuse(app,
             {"--solve", "--model", "--model-column", "--aterms", "--primary-beam", "--directions",
              "--interval", "--channels-per-solution", "--robust", "--normalise", "--report", "--follow"},
             "goes with solving, and --apply takes solutions that are there: leave one of them out");
      if (options.subtract.empty() != options.sky.empty())
        throw UsageError("{}",
                         options.subtract.empty()
                             ? "--sky: with --apply it says what to --subtract: leave it out, or name patches"
                             : "--subtract: patches are those of a sky model: name it with --sky");
      if (!options.subtract.empty() && options.corrupt)
        throw UsageError("--corrupt: not with --subtract: leave one of them out");
      if (!output.empty() || !options.exports.empty())
        throw UsageError("{}: --apply writes into the Measurement Set: name the column with --output-column",
                         !output.empty() ? "-o " + output : "--export " + options.exports[0]);
      break;
    case Mode::solve:
      if (options.corrupt) throw UsageError("--corrupt: goes with --apply");
      if (!options.direction.empty()) throw UsageError("--direction: goes with --apply");
      if (!options.subtract.empty()) throw UsageError("--subtract: goes with --apply");
      check_model(options);
      for (const std::string& text : options.solve) options.terms.push_back(parse_term(text, options));
      if (options.terms.empty()) options.terms.push_back(parse_term("gain", options));
      check_directions(options);
      check_follow(options);
      if (output.empty() && options.exports.empty() && !options.applies())
        throw UsageError("the solutions go nowhere: name a file, for example -o cal.h5");
      if (output == "-") throw UsageError("-o -: solutions go to a file, by suffix: for example -o cal.h5");
      break;
  }
  if (options.applies() && options.input() == "-")
    throw UsageError("-: a stream has no columns: name a Measurement Set");
  if (options.applies() && options.output_column == options.selection.column)
    throw UsageError(
        "--output-column {}: the same as --column: a run that is cut short could not be repeated",
        options.output_column);
  if (options.selection.max_uv_lambda > 0 &&
      options.selection.max_uv_lambda <= options.selection.min_uv_lambda)
    throw UsageError("--maxuv-l {:g}: must be above --minuv-l {:g}", options.selection.max_uv_lambda,
                     options.selection.min_uv_lambda);
}

MsSelection selection_of(const Options& options, const std::string& column) {
  MsSelection selection;
  selection.column = column;
  selection.fields = options.selection.fields;
  selection.field_names = options.selection.field_names;
  selection.spws = options.selection.spws;
  selection.first_channel = options.selection.first_channel;
  selection.n_channels = options.selection.n_channels;
  selection.weights_of_sigma = true;
  return selection;
}

}  // namespace apsyn::calibrate
