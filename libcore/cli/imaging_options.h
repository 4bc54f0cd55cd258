// SPDX-License-Identifier: GPL-3.0-or-later
// The options that imagers share: which visibilities, which image, which weights, how accurate.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "libcore/base/units.h"
#include "libcore/cli/tool.h"

namespace apsyn {

/// Values as given; 0 or empty = not given. Units are converted, texts of alternatives are checked.
struct ImagingOptions {
  std::size_t n_x = 0, n_y = 0;
  double cell_rad = 0;
  std::optional<SkyDirection> centre;      ///< --shift
  std::vector<SkyDirection> more_centres;  ///< --shift, the second time and on
  std::string planes;                      ///< --pol
  std::size_t channels_out = 1, intervals_out = 1;

  std::string column = "DATA";
  bool column_given = false;
  std::vector<int> fields, spws;
  std::vector<std::string> field_names;  ///< of --field, what is no number
  std::int64_t first_interval = 0, n_intervals = -1;
  std::size_t first_channel = 0, n_channels = 0;

  std::string weight = "uniform";  ///< natural, uniform or briggs
  double robustness = 0;
  double rank_filter = 3;
  double taper_gaussian_rad = 0, min_uv_lambda = 0, max_uv_lambda = 0;
  double inner_tukey_lambda = 0, outer_tukey_lambda = 0;
  bool weigh_groups_together = false;  ///< --mf-weighting
  bool weigh_groups_apart = false;     ///< --no-mf-weighting: not even those that are cleaned together

  std::size_t subgrid = 0, kernel_padding = 0;
  double padding = 0, accuracy = 0;
  std::string taper = "auto", precision;  ///< precision: single, double or empty
  std::string aterms;                     ///< the configuration's path, or empty
  std::string aterms_text;                ///< the configuration itself, of --primary-beam
  std::string beam_data;                  ///< folder of beams' coefficients, or empty
  bool adjoint_aterms = false;            ///< --aterm-mode adjoint
  std::string grid_memory = "auto";       ///< auto, gpu, hybrid or unified
  bool oversubscribe = false;             ///< unified: more than the GPU has free
};

/// natural, uniform or briggs:R, as --weight has them.
struct WeightName {
  std::string name;
  double robustness = 0;
};
/// UsageError for anything else.
WeightName parse_weight(const std::string& text);

/// "briggs, robustness 0" and so on, with tapers and limits of uv.
std::string describe_weighting(const ImagingOptions& options);
/// --field, --spw, --channel-range.
void add_window_options(Tool& tool, ImagingOptions& options);
/// These, and --interval.
void add_selection_options(Tool& tool, ImagingOptions& options);
/// --accuracy and what it chooses.
void add_gridding_options(Tool& tool, ImagingOptions& options);
/// --beam-data, beside --aterms.
void add_beam_data_option(Tool& tool, ImagingOptions& options);
/// --primary-beam, instead of --aterms.
void add_primary_beam_option(Tool& tool, ImagingOptions& options);
/// What that option does. UsageError where there are A-terms already.
void choose_primary_beam(ImagingOptions& options, const std::string& model);
/// All of them. `inputs` is where the tool's positional inputs go: --size takes one or two numbers and gives
/// back what is none.
void add_imaging_options(Tool& tool, ImagingOptions& options, std::vector<std::string>& inputs);

}  // namespace apsyn
