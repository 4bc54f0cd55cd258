// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/imaging/prediction/predictors.h"

#include <algorithm>

#include "kernels/idg/plan/cost.h"
#include "kernels/idg/settings.h"
#include "libcore/aterms/aterms.h"
#include "libcore/base/constants.h"
#include "libcore/formats/beam_files/beam_files.h"
#include "libcore/sky/aterms.h"
#include "libcore/system/program_memory.h"
#include "libcore/system/ranks.h"
#include "libcore/visibility/imaging.h"

namespace apsyn::imaging {

void Task::make_blocks_small() {
  block_bytes = std::min<std::uint64_t>(block_bytes, 1'000'000);
  blocks_bytes = std::min(blocks_bytes, 2 * block_bytes);
  max_block = block_bytes / visibility_bytes;
}

IdgWorkload Task::workload(std::size_t n_planes, const Device& device) const {
  return {.max_w_lambda = max_lambda[2],
          .max_u_lambda = max_lambda[0],
          .max_v_lambda = max_lambda[1],
          .n_visibilities = n_visibilities,
          .n_planes = n_planes,
          .device = device.kind};
}

std::size_t predicted_planes(const PredictionOptions& options, const ModelGroup& group) {
  return options.imaging.aterms.empty() ? group.planes.size() : 4;
}

std::vector<std::string> Predictor::describe() const {
  return {};
}

View<std::complex<float>, 3> rows_of(View<std::complex<float>, 3> data, std::size_t first, std::size_t n) {
  return {data.data() + first * data.extent(1) * data.extent(2), {n, data.extent(1), data.extent(2)}};
}

ComponentsPredictor::ComponentsPredictor(const Tool& tool, const PredictionOptions& options,
                                         const Device& device, const SkyModel& sky,
                                         const PredictionTarget& target, const Task& task)
    : Predictor(task.own_rows ? RankShare{{0, 1}} : share_rows(tool.ranks(), 1)),
      sky_(sky),
      centre_(target.phase_centre()) {
  setup_.device = device;
  setup_.n_threads = tool.common().threads;
  setup_.max_matrix_bytes = memory_for_data(tool.common().max_memory_bytes) / 16;
  if (!options.imaging.aterms.empty()) {
    set_beam_data_folder(options.imaging.beam_data);
    aterms_ = open_aterms({options.imaging.aterms, options.imaging.aterms_text}, target.layout(),
                          are_circular(target.products()), target.tables(options.compared_column()));
    setup_.aterms = aterms_.get();
  }
  const double n_values = std::min(static_cast<double>(task.max_block), task.n_visibilities) *
                          static_cast<double>(planes().size());
  bytes_ = component_sums_bytes(setup_, sky.components.size(), target.channel_hz().size(),
                                static_cast<std::uint64_t>(n_values));
}

std::vector<std::string> ComponentsPredictor::describe() const {
  return {fmt::format("{} components{}, summed in {}", sky_.components.size(),
                      aterms_ ? " through the A-terms of each station" : "",
                      setup_.device.kind == Device::Kind::cuda ? "single precision on a GPU" : "float64")};
}

void ComponentsPredictor::predict(const PredictionBlock& block, View<std::complex<float>, 3> data) {
  const std::vector<double> channel_hz(block.at.channel_hz.begin(), block.at.channel_hz.end());
  if (!sums_ || channel_hz != channel_hz_) {
    sums_.reset();  // its memory, before the next one's
    sums_ = std::make_unique<ComponentSums>(sky_, centre_, channel_hz, setup_);
    channel_hz_ = channel_hz;
  }
  const std::size_t first = share_.first_row(data.extent(0)), n = share_.n_rows(data.extent(0));
  if (n == 0) return;
  const GridBlock own =
      apsyn::rows_of(GridBlock{block.at.uvw_m, block.at.path_m, {}, {}, {}, block.at.station, {}}, first, n);
  sums_->predict({own.uvw_m, own.path_m, own.station, std::span(block.at.time_mjd_s).subspan(first, n)},
                 rows_of(data, first, n));
}

ImagePredictor::ImagePredictor(const Tool& tool, const PredictionOptions& options, const Device& device,
                               const ModelGroup& group, const PredictionTarget& target, Task& task)
    : Predictor({}),
      group_(group),
      device_(device),
      plan_(make_idg_plan({group.n_x, group.n_y, group.cell_rad}, idg_settings(options.imaging),
                          task.workload(predicted_planes(options, group), device))),
      setup_{.n_data_planes = group.planes.size(), .n_threads = tool.common().threads} {
  set_beam_data_folder(options.imaging.beam_data);
  if (!options.imaging.aterms.empty()) use_aterms(options, target, tool, task);
  PlanCost cost = modelled_cost(plan_, task.workload(predicted_planes(options, group), device));
  cost.travel_s = 0;  // results are copied from the GPU, and only for visibilities that are predicted
  // A GPU makes all layers in less time than it takes to send their visibilities to the process that writes.
  task.own_rows = task.own_rows && (device.kind == Device::Kind::cuda || plan_.n_layers == 1);
  share_ = task.own_rows ? RankShare{{0, plan_.n_layers}} : share_of(tool.ranks(), plan_, cost, task.by_w);
  plan_passes(tool, options, task);
}

std::vector<std::string> ImagePredictor::describe() const {
  std::vector<std::string> lines = plan_.describe();
  lines.push_back(
      fmt::format("{} layers in {} pass{}", plan_.n_layers, n_passes(), n_passes() == 1 ? "" : "es"));
  if (device_.kind == Device::Kind::cuda)
    lines.push_back(apsyn::describe(passes_.place, device_, passes_.layers, passes_.memory));
  return lines;
}

void ImagePredictor::begin_pass(std::size_t pass) {
  if (!degridder_) {
    degridder_ = make_degridder(device_, plan_, passes_.setup);
    degridder_->set_model(model_.valid() ? model_.get() : read_model(group_));
  }
  const std::size_t first = pass * passes_.layers;
  degridder_->begin_pass(share_.layers.part(first, passes_.layers));
}

void ImagePredictor::predict(const PredictionBlock& block, View<std::complex<float>, 3> data) {
  const ImagingBlock& at = block.at;
  wavenumber_.resize({at.channel_hz.size()});
  for (std::size_t c = 0; c < wavenumber_.size(); ++c) wavenumber_(c) = at.channel_hz(c) / kSpeedOfLight_m_s;
  const GridBlock whole{at.uvw_m, at.path_m, wavenumber_, {}, {}, at.station, {}};
  const std::size_t begin = share_.first_row(data.extent(0)), end = begin + share_.n_rows(data.extent(0));
  for (std::size_t first = begin, n = 0; first < end; first += n) {
    GridBlock part;
    if (screens_) {
      const std::size_t n_prepared = screens_->prepare(at, first);
      n = std::min(n_prepared, end - first);
      part = apsyn::rows_of(whole, first, n_prepared);
      part.aterms = {screens_->row_slot(), screens_->chan_slot(), screens_->jones(), screens_->response()};
      part = apsyn::rows_of(part, 0, n);
    } else {
      n = end - first;
      part = apsyn::rows_of(whole, first, n);
    }
    degridder_->degrid(part, rows_of(data, first, n));
  }
}

void ImagePredictor::use_aterms(const PredictionOptions& options, const PredictionTarget& target,
                                const Tool& tool, const Task& task) {
  ImagingInfo info;
  info.centre = group_.centre;
  info.layouts = {target.layout()};
  info.circular = {are_circular(target.products())};
  info.tables = {target.tables(options.compared_column())};
  info.channel_hz = target.channel_hz();
  for (std::size_t i = 0; i < info.layouts[0].antennas.size(); ++i) info.stations.push_back({0, i});
  const AtermGrid grid{group_.centre, plan_.settings.subgrid, plan_.coarse_l_rad(), plan_.coarse_m_rad()};
  screens_ = std::make_unique<AtermScreens>(AtermConfig{options.imaging.aterms, options.imaging.aterms_text},
                                            info, grid, setup_.n_threads,
                                            memory_for_data(tool.common().max_memory_bytes) / 8);
  std::vector<double> channel_hz = target.channel_hz();
  std::erase_if(channel_hz, [&](double hz) { return !task.wanted(hz); });
  aterm_bytes_ = screens_->max_bytes(channel_hz);
  predict_through_aterms(setup_, group_.names(), group_.planes[0].path);
}

void ImagePredictor::plan_passes(const Tool& tool, const PredictionOptions& options, Task& task) {
  const std::uint64_t images = sizeof(double) * n_planes() * group_.n_x * group_.n_y;
  // In addition to a block there are the lists of the visibilities in each subgrid.
  DegridDemand demand{.grid_memory = wanted_grid_memory(options.imaging, device_),
                      .beside_bytes = aterm_bytes_ + 2 * images,
                      .other_bytes = task.blocks_bytes + program_bytes(options.n_sets),
                      .max_bytes = tool.common().max_memory_bytes,
                      .n_visibilities = task.n_visibilities};
  const std::uint64_t least = place_degridder(device_, plan_, setup_, demand).memory.bytes(1);
  if (min_of_ranks(least + demand.other_bytes <= demand.max_bytes ? 1 : 0) == 0) {
    task.make_blocks_small();
    demand.other_bytes = task.blocks_bytes + program_bytes(options.n_sets);
  }
  passes_ = plan_degrid_passes(device_, plan_, setup_, demand);
}

}  // namespace apsyn::imaging
