// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/imaging/prediction/predict_set.h"

#include <algorithm>
#include <complex>
#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <utility>

#include "kernels/simulate/components.h"
#include "libcore/base/log.h"
#include "libcore/base/units.h"
#include "libcore/formats/fits/model_images.h"
#include "libcore/formats/ms/columns.h"
#include "libcore/formats/ms/measurement_set.h"
#include "libcore/imaging/prediction_target.h"
#include "libcore/sky/projection.h"
#include "libcore/system/program_memory.h"
#include "libcore/system/ranks.h"
#include "tools/imaging/prediction/prediction.h"
#include "tools/imaging/prediction/prediction_output.h"
#include "tools/imaging/prediction/predictors.h"

namespace apsyn::imaging {
namespace {

/// One part of the model, ready to be predicted.
struct Job {
  Task task;
  std::unique_ptr<Predictor> predictor;
};

/// Reports which part of the model serves each channel, and warns of channels that no part covers.
void report_choices(const Model& model, const PredictionTarget& target) {
  if (model.groups.size() < 2) return;
  std::vector<std::size_t> n_channels(model.groups.size(), 0);
  std::size_t n_outside = 0;
  for (double hz : target.channel_hz()) {
    const ModelChoice choice = choose_model(model.groups, hz);
    ++n_channels[choice.group];
    n_outside += choice.inside ? 0 : 1;
  }
  for (std::size_t g = 0; g < model.groups.size(); ++g)
    log_verbose("{}: {} of {}: {} channels", target.path(), model.groups[g].planes[0].path,
                format_frequency(model.groups[g].freq_hz), n_channels[g]);
  if (n_outside > 0)
    log_warning("{}: {} channels lie in the range of no model and take the nearest one", target.path(),
                n_outside);
}

/// Warns when a model image is predicted into fields that it does not show, in addition to one that it does.
void report_fields(const Model& model, const PredictionTarget& target) {
  const std::vector<MsField> fields = target.fields();
  if (model.groups.empty() || fields.size() < 2) return;
  const ModelGroup& image = model.groups[0];
  const double reach_rad = image.cell_rad * static_cast<double>(std::max(image.n_x, image.n_y));
  std::vector<std::string> others;
  for (const MsField& field : fields)
    if (separation_rad(field.phase_centre, image.centre) > reach_rad) others.push_back(field.name);
  if (!others.empty() && others.size() < fields.size())
    log_warning("{}: shows nothing near {}{} of {}, whose rows it is predicted for, too: choose with --field",
                image.planes[0].path, others[0],
                others.size() > 1 ? fmt::format(" and {} more fields", others.size() - 1) : "",
                target.path());
}

Task make_task(const Tool& tool, const PredictionOptions& options, const Model& model, std::size_t part,
               PredictionTarget& target, bool own_rows) {
  Task task;
  task.own_rows = own_rows;
  task.wanted = [&model, part](double hz) {
    return model.groups.empty() || choose_model(model.groups, hz).group == part;
  };
  task.block_bytes =
      std::clamp<std::uint64_t>(memory_for_data(tool.common().max_memory_bytes) / 8, 1'000'000, 256'000'000);
  const std::size_t n_planes = !options.imaging.aterms.empty() ? 4
                               : model.groups.empty()          ? simulate::stokes_of(model.sky).size()
                                                      : predicted_planes(options, model.groups[part]);
  // Planes that are predicted, a little for products, which threads make in pieces, and the column that they
  // are added to.
  const double n_products =
      static_cast<double>(target.products().size()) * (options.combine() == Combine::replace ? 0.25 : 1);
  task.visibility_bytes =
      static_cast<std::uint64_t>(sizeof(std::complex<float>) * (static_cast<double>(n_planes) + n_products));
  task.max_block = task.block_bytes / task.visibility_bytes;
  survey(target, model.groups.empty() ? target.phase_centre() : model.groups[part].centre,
         tool.common().threads, task);
  // A set with fewer visibilities than the blocks could hold fills them only in part.
  task.blocks_bytes =
      std::min(2 * task.block_bytes,
               static_cast<std::uint64_t>(task.n_visibilities) * task.visibility_bytes + 1'000'000);
  return task;
}

/// One job for each part that has channels. Errors show up here, before anything is written. `own_rows`:
/// whether processes may predict rows of their own.
std::vector<Job> make_jobs(const Tool& tool, const PredictionOptions& options, const Device& device,
                           const Model& model, PredictionTarget& target, bool own_rows) {
  std::vector<Job> jobs;
  // The first image comes from its file while the set is surveyed; others wait until they are predicted, so
  // that there is never more than one.
  std::future<Buffer<double, 3>> first;
  if (!model.groups.empty() && !tool.common().dry_run)
    first = std::async(std::launch::async, [&model] { return read_model(model.groups[0]); });
  for (std::size_t part = 0; part < model.n_parts(); ++part) {
    Job job{make_task(tool, options, model, part, target, own_rows), nullptr};
    if (job.task.n_visibilities == 0) continue;
    if (model.groups.empty()) {
      job.predictor =
          std::make_unique<ComponentsPredictor>(tool, options, device, model.sky, target, job.task);
    } else {
      auto predictor =
          std::make_unique<ImagePredictor>(tool, options, device, model.groups[part], target, job.task);
      if (part == 0) predictor->take_model(std::move(first));
      job.predictor = std::move(predictor);
    }
    job.predictor->mix(target);
    jobs.push_back(std::move(job));
  }
  return jobs;
}

void print_plan(Tool& tool, const PredictionOptions& options, const PredictionTarget& target,
                const std::vector<Job>& jobs) {
  const auto state =
      inspect_visibility_column(target.path(), selection_of(options, options.written_column()));
  tool.print(fmt::format("{}: {} rows, {} channels; column {} {}", target.path(), target.n_rows(),
                         target.channel_hz().size(), options.written_column(),
                         state.exists
                             ? "is there"
                             : "is to be added: " + format_bytes(static_cast<double>(state.bytes_to_add))));
  for (const Job& job : jobs) {
    for (const std::string& line : job.predictor->describe()) tool.print(line);
    const std::uint64_t bytes =
        job.predictor->bytes() + job.task.blocks_bytes + program_bytes(options.n_sets);
    const double kept =
        kept_in_memory(tool, *job.predictor, job.task) ? kept_bytes(*job.predictor, job.task) : 0;
    tool.print(fmt::format("{:.0f} visibilities", job.task.n_visibilities));
    tool.print(fmt::format("memory: {}", format_bytes(static_cast<double>(bytes) + kept)));
  }
}

}  // namespace

void look_at_sets(const PredictionOptions& options, const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    const PredictionTarget target(path, selection_of(options, ""));
    inspect_visibility_column(path, selection_of(options, options.written_column()));
    if (options.combine() != Combine::replace)
      const VisibilityColumnReader reader(path, selection_of(options, options.input_column));
  }
}

double predict_set(Tool& tool, const PredictionOptions& options, const Device& device, const Model& model,
                   const std::string& path) {
  return predict_set(
      tool, options, [&] { return device; }, model, path);
}

double predict_set(Tool& tool, const PredictionOptions& options, const std::function<Device()>& choose,
                   const Model& model, const std::string& path) {
  tool.stage("open");
  meet_ranks();  // a process that opens a set while another changes its tables may find an incomplete one
  const auto column = inspect_visibility_column(path, selection_of(options, options.written_column()));
  PredictionTarget target(path, selection_of(options, ""));
  if (column.exists && options.combine() != Combine::replace && options.unnamed_output)
    log_warning("{}: column {} is there already and gets {} {} the model: --output-column names another",
                path, options.output_column, options.input_column,
                options.combine() == Combine::subtract ? "less" : "plus");
  const Device device = choose();
  tool.start_device(device);
  report_choices(model, target);
  report_fields(model, target);
  tool.stage("survey");
  const Ranks& ranks = tool.ranks();
  const bool may_share_rows = ranks.size > 1 && !tool.common().dry_run &&
                              column_is_in_tiles(path, selection_of(options, options.written_column()));
  std::vector<Job> jobs = make_jobs(tool, options, device, model, target, may_share_rows);
  const auto has_own_rows = [](const Job& job) { return job.task.own_rows; };
  bool own_rows = may_share_rows && std::all_of(jobs.begin(), jobs.end(), has_own_rows);
  // All parts of the model or none. The set is read for it before a process begins to change it.
  if (!own_rows && std::any_of(jobs.begin(), jobs.end(), has_own_rows))
    jobs = make_jobs(tool, options, device, model, target, false);
  if (tool.common().dry_run) {
    print_plan(tool, options, target, jobs);
    return 0;
  }
  tool.stage("write");
  meet_ranks();
  const unsigned n_threads = tool.common().threads;
  std::unique_ptr<Output> output;
  if (ranks.root()) output = std::make_unique<Output>(options, target, column, model.flux_unit(), n_threads);
  if (own_rows) {
    own_rows = ranks.root() ? output->in_tiles() : false;
    broadcast(own_rows);
    if (!ranks.root() && !column.exists) target.reopen();
    if (!own_rows) {
      jobs = make_jobs(tool, options, device, model, target, false);
    } else {
      if (!ranks.root()) output = Output::beside(options, target, n_threads);
      meet_ranks();  // none writes while another compares what tiles and casacore read
      target.take_part(static_cast<std::size_t>(ranks.rank), static_cast<std::size_t>(ranks.size));
    }
  }
  double n_predicted = 0;
  for (Job& job : jobs) {
    for (const std::string& line : job.predictor->describe()) log_verbose("{}", line);
    job.task.own_rows = own_rows;
    n_predicted += predict(tool, target, output.get(), *job.predictor, job.task);
    job.predictor.reset();  // its grids, before the next one's
  }
  tool.stage("write");
  if (own_rows) {
    output->wait();
    meet_ranks();
  }
  if (ranks.root()) output->commit(tool.provenance());
  return n_predicted;
}

}  // namespace apsyn::imaging
