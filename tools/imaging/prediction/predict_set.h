// SPDX-License-Identifier: GPL-3.0-or-later
// Predicts a model into a column of one Measurement Set.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "libcore/cli/tool.h"
#include "libcore/formats/fits/model_images.h"
#include "libcore/sky/sky_model.h"
#include "libcore/system/device.h"
#include "tools/imaging/prediction/prediction_options.h"

namespace apsyn::imaging {

/// The model to predict: images for parts of the band, or components.
struct Model {
  std::vector<ModelGroup> groups;
  SkyModel sky;
  FluxUnit flux_unit() const { return groups.empty() ? FluxUnit::jansky : groups[0].flux_unit; }
  std::size_t n_parts() const { return std::max<std::size_t>(1, groups.size()); }
};

/// Whatever is wrong with one of several sets shows before the first of them is changed: opens each with the
/// columns that are to be read and written. Throws as their readers and writers.
void look_at_sets(const PredictionOptions& options, const std::vector<std::string>& paths);

/// Returns the number of visibilities times planes. All processes must call this. `choose` is called once the
/// set has been looked at, so that a GPU may start meanwhile.
double predict_set(Tool& tool, const PredictionOptions& options, const std::function<Device()>& choose,
                   const Model& model, const std::string& path);
double predict_set(Tool& tool, const PredictionOptions& options, const Device& device, const Model& model,
                   const std::string& path);

}  // namespace apsyn::imaging
