// SPDX-License-Identifier: GPL-3.0-or-later
// flag: visibilities -> flags in place, or a stream without the weights of what is bad.
#include <string>
#include <vector>

#include "libcore/base/error.h"
#include "libcore/cli/tool.h"
#include "libcore/files/output.h"
#include "libcore/streams/detect.h"
#include "libcore/system/device.h"
#include "tools/flag/options.h"
#include "tools/flag/set_flagging.h"
#include "tools/flag/stream_flagging.h"

using namespace apsyn;
using namespace apsyn::flag;

namespace {

void write_report(Tool& tool, const Options& options, const std::vector<std::string>& reports) {
  if (options.report.empty() || tool.common().dry_run) return;
  std::string text = reports.size() == 1 ? reports[0] : "[\n";
  if (reports.size() > 1) {
    for (std::size_t i = 0; i < reports.size(); ++i) text += (i > 0 ? "," : "") + reports[i];
    text += "]\n";
  }
  OutputFile file(options.report, tool.common().overwrite);
  file.write(text.data(), text.size());
  file.commit();
}

void run(Tool& tool, Options& options) {
  check_options(tool, options);
  tool.device(CudaSupport::none);
  const std::string& output = tool.common().output;
  std::vector<std::string> reports(options.inputs.size());
  double n_vis = 0;
  bool stream = false;
  for (const std::string& path : options.inputs) {
    const InputKind kind = detect_input(path);
    if (kind != InputKind::measurement_set && kind != InputKind::visibility)
      throw UsageError("{}: {}: give Measurement Sets or a visibility stream", path, input_kind_name(kind));
    stream = stream || kind == InputKind::visibility;
  }
  if (stream) {
    if (options.inputs.size() > 1) throw UsageError("{}: give one stream, or sets", options.inputs[1]);
    if (output.empty())
      throw UsageError("--output: missing: a stream is not changed in place: give -o NAME or -o -");
    if (options.report == "-" && output == "-") throw UsageError("--report -: standard output is the stream");
    if (!tool.common().dry_run) check_output(output, tool.common().overwrite);
    n_vis = flag_stream(tool, options, options.inputs[0], reports[0]);
  } else {
    if (!output.empty())
      throw UsageError("-o {}: flags go into the Measurement Set itself: transform makes another one",
                       output);
    if (!options.undo.empty()) {
      n_vis = undo_flags(tool, options);
      tool.report_rate(n_vis, "vis");
      return;
    }
    for (std::size_t i = 0; i < options.inputs.size(); ++i)
      n_vis += flag_set(tool, options, options.inputs[i], reports[i]);
  }
  write_report(tool, options, reports);
  tool.report_rate(n_vis, "vis");
}

}  // namespace

int main(int argc, char** argv) {
  Tool tool("flag", "flag what is bad in visibilities");
  Options options;
  declare(tool, options);
  return tool.run(argc, argv, [&] { run(tool, options); });
}
