// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/cli/imaging_options.h"

#include <CLI/CLI.hpp>

#include <charconv>

namespace apsyn {
namespace {

std::size_t parse_count(const std::string& option, const std::string& text) {
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    throw UsageError("{} {}: give a whole number", option, text);
  return value;
}

bool is_count(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
}

/// START END, END exclusive.
std::pair<std::size_t, std::size_t> parse_range(const char* option, const std::vector<std::string>& texts) {
  const std::size_t start = parse_count(option, texts[0]), end = parse_count(option, texts[1]);
  if (end <= start) throw UsageError("{} {} {}: the end must be above the start", option, start, end);
  return {start, end};
}

/// Numbers, and names of what is none.
void set_fields(ImagingOptions& options, const std::string& text) {
  options.fields.clear();
  options.field_names.clear();
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string field = text.substr(begin, end - begin);
    if (field.empty()) throw UsageError("--field {}: an empty name: give numbers or names", text);
    if (is_count(field))
      options.fields.push_back(static_cast<int>(parse_count("--field", field)));
    else
      options.field_names.push_back(field);
    begin = end + 1;
  }
}

std::vector<int> parse_list(const char* option, const std::string& text) {
  std::vector<int> numbers;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    numbers.push_back(static_cast<int>(parse_count(option, text.substr(begin, end - begin))));
    begin = end + 1;
  }
  return numbers;
}

void add_aterms(Tool& tool, ImagingOptions& options) {
  CLI::App& app = tool.app();
  tool.heading(headings::kAterms);
  tool.add_file("--aterms", options.aterms, "correct for A-terms: a configuration, apsyn-aterms(5)");
  add_beam_data_option(tool, options);
  app.add_option_function<std::string>(
         "--aterm-mode", [&](const std::string& mode) { options.adjoint_aterms = mode == "adjoint"; },
         "normalised (default) or adjoint: the exact adjoint of idg-degrid")
      ->type_name("MODE")
      ->check(CLI::IsMember({"normalised", "adjoint"}));
}

}  // namespace

WeightName parse_weight(const std::string& text) {
  const std::size_t colon = text.find(':');
  if (text == "briggs")
    throw UsageError("--weight briggs: the robustness is missing: write it as one word, --weight briggs:0");
  if (text.substr(0, colon) == "robust")
    throw UsageError("--weight {}: there is no such weighting: write --weight briggs{}", text,
                     colon == std::string::npos ? ":0" : text.substr(colon));
  WeightName weight{text.substr(0, colon)};
  const bool briggs = weight.name == "briggs";
  if ((!briggs && weight.name != "natural" && weight.name != "uniform") ||
      (!briggs && colon != std::string::npos))
    throw UsageError("--weight {}: use natural, uniform or briggs:R, for example briggs:0.5", text);
  if (colon == std::string::npos) return weight;
  try {
    weight.robustness = parse_number(text.substr(colon + 1));
  } catch (const UsageError&) {
    throw UsageError("--weight {}: the robustness is a number, for example briggs:-0.5", text);
  }
  return weight;
}

std::string describe_weighting(const ImagingOptions& options) {
  std::string text = options.weight;
  if (options.weight == "briggs") text += fmt::format(", robustness {:g}", options.robustness);
  if (options.weight != "natural" && options.rank_filter > 0)
    text += fmt::format(", rank filter {:g}", options.rank_filter);
  if (options.taper_gaussian_rad > 0)
    text += fmt::format(", Gaussian taper to {}", format_angle(options.taper_gaussian_rad));
  if (options.min_uv_lambda > 0) text += fmt::format(", from {:g} wavelengths on", options.min_uv_lambda);
  if (options.max_uv_lambda > 0) text += fmt::format(", up to {:g} wavelengths", options.max_uv_lambda);
  if (options.inner_tukey_lambda > 0 || options.outer_tukey_lambda > 0)
    text += fmt::format(", Tukey tapers of {:g} and {:g} wavelengths", options.inner_tukey_lambda,
                        options.outer_tukey_lambda);
  return text;
}

namespace {

void add_fields_and_windows(Tool& tool, ImagingOptions& options) {
  CLI::App& app = tool.app();
  tool.heading(headings::kSelection);
  app.add_option_function<std::string>(
         "--field", [&](const std::string& text) { set_fields(options, text); },
         "numbers or names of fields, for example 0,2 or 3C286 (default: all)")
      ->type_name("LIST");
  app.add_option_function<std::string>(
         "--spw", [&](const std::string& text) { options.spws = parse_list("--spw", text); },
         "spectral window numbers (default: all)")
      ->type_name("LIST");
}

void add_channel_range(Tool& tool, ImagingOptions& options) {
  tool.app()
      .add_option_function<std::vector<std::string>>(
          "--channel-range",
          [&](const std::vector<std::string>& texts) {
            const auto [start, end] = parse_range("--channel-range", texts);
            options.first_channel = start;
            options.n_channels = end - start;
          },
          "channels START to END - 1 of every spectral window")
      ->type_name("START END")
      ->expected(2)
      ->allow_extra_args(false);
}

}  // namespace

void add_window_options(Tool& tool, ImagingOptions& options) {
  add_fields_and_windows(tool, options);
  add_channel_range(tool, options);
}

void add_selection_options(Tool& tool, ImagingOptions& options) {
  add_fields_and_windows(tool, options);
  tool.app()
      .add_option_function<std::vector<std::string>>(
          "--interval",
          [&](const std::vector<std::string>& texts) {
            const auto [start, end] = parse_range("--interval", texts);
            options.first_interval = static_cast<std::int64_t>(start);
            options.n_intervals = static_cast<std::int64_t>(end - start);
          },
          "integrations START to END - 1, counted from 0")
      ->type_name("START END")
      ->expected(2)
      ->allow_extra_args(false);
  add_channel_range(tool, options);
}

namespace {

void add_weighting(Tool& tool, ImagingOptions& options) {
  tool.heading(headings::kWeighting);
  tool.app()
      .add_option_function<std::string>(
          "--weight",
          [&](const std::string& text) {
            const WeightName weight = parse_weight(text);
            options.weight = weight.name;
            options.robustness = weight.robustness;
          },
          "natural, uniform or briggs:R (default uniform)")
      ->type_name("MODE");
  tool.app()
      .add_option("--weight-rank-filter", options.rank_filter,
                  "limit weights to this many times the mean around; 0 = off (default 3)")
      ->type_name("LEVEL")
      ->check(CLI::NonNegativeNumber);
  tool.add_angle("--taper-gaussian", options.taper_gaussian_rad, "taper the weights to this beam (FWHM)");
  tool.app()
      .add_option("--minuv-l", options.min_uv_lambda, "shortest uv distance, in wavelengths")
      ->type_name("NUMBER")
      ->check(CLI::NonNegativeNumber);
  tool.app()
      .add_option("--maxuv-l", options.max_uv_lambda, "longest uv distance, in wavelengths")
      ->type_name("NUMBER")
      ->check(CLI::PositiveNumber);
  tool.app()
      .add_option("--taper-tukey", options.outer_tukey_lambda,
                  "let the weights fall to 0 smoothly over this many wavelengths up to --maxuv-l")
      ->type_name("NUMBER")
      ->check(CLI::PositiveNumber)
      ->needs("--maxuv-l");
  tool.app()
      .add_option("--taper-inner-tukey", options.inner_tukey_lambda,
                  "let the weights rise smoothly from 0 over this many wavelengths from --minuv-l on")
      ->type_name("NUMBER")
      ->check(CLI::PositiveNumber);
  tool.app().add_flag("--mf-weighting", options.weigh_groups_together,
                      "with --channels-out: weights of the whole band, not of each group by itself");
}

}  // namespace

void add_gridding_options(Tool& tool, ImagingOptions& options) {
  CLI::App& app = tool.app();
  tool.heading(headings::kAccuracy);
  app.add_option("--accuracy", options.accuracy,
                 "relative error of the image, 1e-12 to 0.1; chooses the next five (default 2e-6)")
      ->type_name("EPS");
  app.add_option("--subgrid", options.subgrid, "side of a subgrid in cells, even")->type_name("N");
  app.add_option("--kernel-padding", options.kernel_padding, "cells of it that stay free of visibilities")
      ->type_name("N")
      ->check(CLI::Range(1, 512));
  app.add_option("--padding", options.padding, "padded field over image, for example 1.5")
      ->type_name("FACTOR");
  app.add_option("--taper", options.taper,
                 "lm (least misfit), pswf (prolate spheroidal), kb (Kaiser-Bessel) or auto (default)")
      ->type_name("KIND")
      ->check(CLI::IsMember({"auto", "lm", "pswf", "kb"}));
  app.add_option("--precision", options.precision, "single or double")
      ->type_name("KIND")
      ->check(CLI::IsMember({"single", "double"}));
  tool.heading(headings::kCompute);
  auto* grid_memory =
      app.add_option("--grid-memory", options.grid_memory,
                     "where w layers live beside a GPU: auto (default), gpu, hybrid (host) or unified")
          ->type_name("WHERE")
          ->check(CLI::IsMember({"auto", "gpu", "hybrid", "unified"}));
  app.add_flag("--oversubscribe", options.oversubscribe,
               "of --grid-memory unified: more than the GPU's memory, pages move to the host and back")
      ->needs(grid_memory);
}

void choose_primary_beam(ImagingOptions& options, const std::string& model) {
  if (!options.aterms.empty())
    throw UsageError("--primary-beam {} with --aterms {}: give one of them", model, options.aterms);
  options.aterms = "--primary-beam " + model;
  options.aterms_text = "aterms = [ beam ]\nbeam.model = \"" + model + "\"\n";
}

void add_primary_beam_option(Tool& tool, ImagingOptions& options) {
  tool.app()
      .add_option_function<std::string>(
          "--primary-beam", [&](const std::string& model) { choose_primary_beam(options, model); },
          "instead of --aterms the beam alone: auto, that of the telescope, or a model of apsyn-aterms(5)")
      ->type_name("MODEL")
      ->excludes("--aterms");
}

void add_beam_data_option(Tool& tool, ImagingOptions& options) {
  tool.app()
      .add_option("--beam-data", options.beam_data, "folder of beams' coefficients, searched first")
      ->type_name("FOLDER");
}

void add_imaging_options(Tool& tool, ImagingOptions& options, std::vector<std::string>& inputs) {
  CLI::App& app = tool.app();
  tool.heading(headings::kImage);
  app.add_option_function<std::vector<std::string>>(
         "--size",
         [&](std::vector<std::string> texts) {
           // "--size 512 obs.ms": the second word is an input.
           if (texts.size() == 2 && !is_count(texts[1])) {
             inputs.insert(inputs.begin(), texts[1]);
             texts.pop_back();
           }
           options.n_x = parse_count("--size", texts[0]);
           options.n_y = texts.size() == 2 ? parse_count("--size", texts[1]) : options.n_x;
         },
         "width (and height) of the image in pixels")
      ->type_name("N [M]")
      ->expected(1, 2);
  tool.add_angle("--scale", options.cell_rad, "size of a pixel, for example 10asec");
  app.add_option_function<std::vector<std::string>>(
         "--shift",
         [&](const std::vector<std::string>& texts) {
           try {
             options.centre = parse_sky_direction(texts[0]);
             for (std::size_t i = 1; i < texts.size(); ++i)
               options.more_centres.push_back(parse_sky_direction(texts[i]));
           } catch (const UsageError& error) {
             throw UsageError("--shift: {}", error.what());
           }
         },
         "centre of the image, for example '12h30m -30d43m' (default: the phase centre); several times for "
         "several images")
      ->type_name("'RA DEC'")
      ->allow_extra_args(false);
  app.add_option("--pol", options.planes, "I, XX,YY or IQUV (default I, or the only one of the data)")
      ->type_name("LIST");
  app.add_option("--channels-out", options.channels_out, "split the band into this many images (default 1)")
      ->type_name("N")
      ->check(CLI::Range(1, 65536));
  app.add_option("--intervals-out", options.intervals_out,
                 "split the observation into images of this many intervals of time (default 1)")
      ->type_name("N")
      ->check(CLI::Range(1, 1000000));
  tool.heading(headings::kSelection);
  app.add_option_function<std::string>(
         "--column",
         [&](const std::string& name) {
           options.column = name;
           options.column_given = true;
         },
         "data column of the Measurement Set (default DATA)")
      ->type_name("NAME");
  add_selection_options(tool, options);
  add_weighting(tool, options);
  add_gridding_options(tool, options);
  add_aterms(tool, options);
}

}  // namespace apsyn
