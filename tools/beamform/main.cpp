// SPDX-License-Identifier: GPL-3.0-or-later
// beamform: voltage stream -> one file of each tied-array or incoherent beam.
#include "libcore/files/output.h"
#include "libcore/voltage/block_memory.h"
#include "libcore/voltage/voltage_pipeline.h"
#include "tools/beamform/beams.h"
#include "tools/beamform/describe.h"
#include "tools/beamform/engine.h"
#include "tools/beamform/options.h"
#include "tools/beamform/outputs.h"
#include "tools/beamform/pattern.h"
#include "tools/beamform/plan.h"

namespace apsyn {
namespace {

void run(Tool& tool, BeamformOptions& options) {
  if (!options.pattern.empty() && !tool.common().output.empty())
    throw UsageError("--output {}: --pattern names where the patterns go, in place of data: leave one out",
                     tool.common().output);
  const Device device = tool.device(options.pattern.empty() ? CudaSupport::available : CudaSupport::none);
  tool.stage("open");
  if (options.voltage.first_sample > 0 || options.voltage.n_samples >= 0)
    options.voltage.margin = [&](const VoltageHeader& header, const ArrayLayout& layout) {
      return margin_of(options, header, layout);
    };
  options.voltage.n_threads = tool.common().threads;
  options.voltage.keep_4bit = device.kind == Device::Kind::cuda;
  OpenedVoltages voltages = open_voltages(options.inputs.at(0), options.voltage);
  BeamformSetup setup = make_setup(tool, options, voltages, device);
  tool.report_plan(describe(setup));
  const bool only_beams = !options.write_beams.empty() && tool.common().output.empty();
  if (!options.write_beams.empty())
    write_beams(tool, options, setup.header.layout, setup.beams, setup.b.member);
  if (!tool.common().dry_run && !options.pattern.empty()) write_patterns(tool, options, setup);
  if (tool.common().dry_run || only_beams || !options.pattern.empty()) return;

  const std::string output = tool.common().output.empty() ? "-" : tool.common().output;
  std::vector<std::unique_ptr<BeamSink>> sinks;
  for (const std::string& name : output_names("--output", output, setup.b.n_beam)) {
    check_output(name, tool.common().overwrite);
    sinks.push_back(make_beam_sink(tool, setup, sinks.size(), name));
  }

  const unsigned n_threads = setup.b.n_threads;
  BeamMaker maker(device, setup);
  BeamEngine& engine = *maker.engine;

  tool.stage("beamform");
  Progress progress(tool, "beamforming",
                    static_cast<double>(std::max<std::int64_t>(0, setup.n_samples)) * setup.header.sample_s,
                    "s of data");
  StreamSteps<BeamBlock> steps;
  if (setup.on_gpu)
    steps.pin = [&](VoltageBlock& block) {
      return pin_block(engine, setup.header, setup.cuda.four_bit, setup.gulp_samples, block);
    };
  steps.read = [&](VoltageBlock& block) { return voltages.read(block, setup.gulp_samples); };
  steps.work = [&](StreamItem<BeamBlock>& item) {
    const double data_s = static_cast<double>(engine.spectra_done()) * setup.spectrum_s;
    const double gulp_s = static_cast<double>(setup.gulp_samples) * setup.header.sample_s;
    if (voltages.renew_gains(data_s, data_s + gulp_s / 2)) engine.set_gains(beam_gains(setup, voltages));
    process_item(engine, item);
    progress.update(static_cast<double>(engine.spectra_done()) * setup.spectrum_s);
  };
  steps.write = [&](StreamItem<BeamBlock>& item) {
    parallel_for(n_threads, sinks.size(), [&](std::size_t beam, unsigned) {
      for (std::size_t i = 0; i < item.n_results; ++i)
        if (item.results[i].n_time > 0)
          sinks[beam]->write(&item.results[i].values(beam, 0, 0), item.results[i].n_time);
    });
  };
  run_stream(steps);
  tool.stage("close");
  if (std::none_of(sinks.begin(), sinks.end(), [](const auto& sink) { return sink->any_data(); }))
    throw FailureError(
        "{}: no usable data: every sample is missing or flagged, or there is less than one integration",
        voltages.reader.name());
  warn_of_clipped(engine);
  // files wait for the disk, each by itself
  parallel_for(n_threads, sinks.size(), [&](std::size_t beam, unsigned) { sinks[beam]->commit(); });
  tool.report_rate(static_cast<double>(engine.spectra_done()) * setup.spectrum_s, "s of data");
}

}  // namespace
}  // namespace apsyn

int main(int argc, char** argv) {
  apsyn::Tool tool("beamform", "combine the antennas of a voltage stream into beams");
  apsyn::BeamformOptions options;
  declare(tool, options);
  return tool.run(argc, argv, [&] { apsyn::run(tool, options); });
}
