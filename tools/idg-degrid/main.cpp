// SPDX-License-Identifier: GPL-3.0-or-later
// idg-degrid: NAME-model.fits or a sky model, and a Measurement Set -> its model visibilities.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "libcore/cli/tool.h"
#include "libcore/formats/fits/model_images.h"
#include "libcore/formats/ms/lock.h"
#include "libcore/sky/sky_model.h"
#include "libcore/system/device.h"
#include "libcore/system/program_memory.h"
#include "libcore/system/ranks.h"
#include "tools/idg-degrid/options.h"
#include "tools/imaging/device_choice.h"
#include "tools/imaging/prediction/predict_set.h"

using namespace apsyn;
using namespace apsyn::idg_degrid;

namespace {

Model open_model(const idg_degrid::Options& options) {
  Model model;
  if (options.sky.empty())
    model.groups = find_models(options.models);
  else
    model.sky = read_sky_model(options.sky);
  return model;
}

ImagingWork work_of(const idg_degrid::Options& options, const Model& model) {
  // A visibility counts 0.3 us; a component of it takes 10 ns in float64.
  if (model.groups.empty())
    return {options.inputs, 0, static_cast<double>(model.sky.components.size()) * (10e-9 / 0.3e-6)};
  double n_pixels = 0;
  for (const ModelGroup& group : model.groups)
    n_pixels += static_cast<double>(group.n_x * group.n_y * group.planes.size());
  return {options.inputs, n_pixels};
}

void run(Tool& tool, idg_degrid::Options& options) {
  check_options(tool, options);
  keep_little_freed_memory();
  options.n_sets = options.inputs.size();
  tool.stage("open");
  const Model model = open_model(options);
  // Before any set is opened: another run may be adding a column.
  std::vector<std::shared_ptr<const MeasurementSetLock>> locks;
  if (!tool.common().dry_run && tool.ranks().root())
    for (const std::string& path : options.inputs) locks.push_back(lock_measurement_set(path));
  meet_ranks();
  // Two processes look at each set, the one that takes longer last: the GPU starts beside that of the first
  // set to be predicted.
  const std::size_t n_sets = options.inputs.size(), n_looks = 2 * (n_sets > 1 ? n_sets + 1 : 1);
  const EarlyDeviceStart early(tool, work_of(options, model), n_looks);
  if (n_sets > 1) look_at_sets(options, options.inputs);
  std::optional<Device> device;
  const auto choose = [&] {
    if (!device) device = choose_device(tool, work_of(options, model));
    return *device;
  };
  double n_predicted = 0;
  for (const std::string& path : options.inputs)
    n_predicted += predict_set(tool, options, choose, model, path);
  tool.report_rate(n_predicted, "vis");
}

}  // namespace

int main(int argc, char** argv) {
  Tool tool("idg-degrid", "predict model visibilities into a Measurement Set");
  idg_degrid::Options options;
  declare(tool, options);
  tool.use_ranks(Tool::RankUse::shared);
  return tool.run(argc, argv, [&] { run(tool, options); });
}
