// SPDX-License-Identifier: GPL-3.0-or-later
// epic-image: voltage stream -> images of the sky, without visibilities in between.
#include "tools/epic-image/accumulation.h"
#include "tools/epic-image/describe.h"
#include "tools/epic-image/options.h"
#include "tools/epic-image/outputs.h"
#include "tools/epic-image/plan.h"

namespace apsyn {
namespace {

/// Of an image's time: with less of it the last one of a recording is left out.
constexpr double kMinShare = 0.1;

void run(Tool& tool, EpicOptions& options) {
  const char* const cpu_only = only_on_cpu(options);
  const Device device = tool.device(cpu_only != nullptr ? CudaSupport::none : CudaSupport::available);
  if (cpu_only != nullptr && tool.common().device == "auto" && cuda_device_count() > 0)
    log_info("{}: on the CPU, which alone knows how", cpu_only);
  const std::string output = tool.common().output.empty() ? "-" : tool.common().output;
  tool.stage("open");
  options.voltage.n_threads = tool.common().threads;
  options.voltage.keep_4bit = device.kind == Device::Kind::cuda;
  OpenedVoltages voltages = open_voltages(options.inputs.at(0), options.voltage);
  const EpicSetup setup = make_setup(tool, options, voltages, device);
  if (options.method == "auto") log_info("--method auto: {}", describe_method(setup));
  tool.report_plan(describe(setup));
  for (const std::string& line : shortcomings(setup)) log_warning("{}", line);
  if (tool.common().dry_run) return;
  const auto sink = make_image_sink(tool, setup, output);
  const bool one_centre = !setup.regions.empty() || has_one_centre(output);
  Accumulation accumulation(setup, epic_plan(tool, options, setup, voltages), one_centre,
                            [&](double data_s) -> std::optional<EpicPlan> {
                              if (!voltages.renew_gains(data_s, data_s + setup.image_s() / 2)) return {};
                              return epic_plan(tool, options, setup, voltages);
                            });

  tool.stage("image");
  bool any_data = false;
  Progress progress(tool, "imaging",
                    static_cast<double>(std::max<std::int64_t>(0, setup.n_samples)) * setup.header.sample_s,
                    "s of data");
  RealtimeMeter realtime(options.inputs.at(0));
  StreamSteps<TimedImages> steps;
  steps.pin = [&](VoltageBlock& block) { return accumulation.pin(block); };
  steps.read = [&](VoltageBlock& block) {
    return realtime.time_read([&] { return voltages.read(block, setup.gulp_samples); });
  };
  steps.work = [&](StreamItem<TimedImages>& item) {
    accumulation.append(item);
    progress.update(accumulation.data_s());
    if (options.realtime.report) realtime.note_gulp(accumulation.data_s());
    if (options.realtime.report && progress.on()) realtime.report(accumulation.data_s(), false);
  };
  // All but the last are complete. One of a cube with hardly any data would set the scale of its display.
  const double min_s = setup.image_s() * (options.drop_incomplete ? 1 - 1e-9 : kMinShare);
  bool first = true, dropped = false;
  steps.write = [&](StreamItem<TimedImages>& item) {
    for (std::size_t i = 0; i < item.n_results; ++i) {
      const TimedImages& images = item.results[i];
      if (images.length_s < min_s && (options.drop_incomplete || !first)) {
        log_info("the last image has {} of {} and is left out{}", format_duration(images.length_s),
                 format_duration(setup.image_s()), options.drop_incomplete ? " (--drop-incomplete)" : "");
        dropped = true;
        continue;
      }
      first = false;
      any_data |= images.any_data();
      sink->write(images);
    }
  };
  run_stream(steps);
  const double work_s = realtime.work_s(), data_s = accumulation.data_s();
  if (options.realtime.report || options.realtime.require) realtime.report(data_s, true);
  tool.stage("close");
  if (!any_data)
    throw FailureError(
        "{}: no usable data: every sample is missing or flagged, or there is less than one "
        "{}, or one antenna without autocorrelations",
        voltages.reader.name(), dropped ? "image" : "spectrum");
  sink->commit();
  tool.report_rate(data_s, "s of data");
  check_realtime(options.realtime, work_s, data_s);
}

}  // namespace
}  // namespace apsyn

int main(int argc, char** argv) {
  apsyn::Tool tool("epic-image", "make images of the sky straight from a voltage stream");
  apsyn::EpicOptions options;
  declare(tool, options);
  return tool.run(argc, argv, [&] { apsyn::run(tool, options); });
}
