// SPDX-License-Identifier: GPL-3.0-or-later
// ingest: recordings in other formats -> a voltage stream; UVFITS -> a Measurement Set.
#include <fmt/ranges.h>

#include <filesystem>

#include "libcore/files/output.h"
#include "libcore/streams/voltage_stream.h"
#include "libcore/system/parallel.h"
#include "libcore/system/program_memory.h"
#include "tools/ingest/options.h"
#include "tools/ingest/uvfits.h"

namespace apsyn {
namespace {

/// Of the captures and of what they become, as far as both are known.
double memory_of(const IngestOptions& o, const Capture& capture) {
  const auto most = static_cast<double>(capture.memory_bytes());
  double input_bytes = 0;
  for (const std::string& input : o.request.inputs) {
    std::error_code error;
    const auto size = std::filesystem::file_size(input, error);
    if (error) return kIngestBytes + most;
    input_bytes += static_cast<double>(size);
  }
  const auto n = capture.expected_samples();
  if (!n) return kIngestBytes + most;
  const double output_bytes = double(*n) * double(capture.header().bits_per_time()) / 8;
  return kIngestBytes + std::min(most, input_bytes + 2 * output_bytes);
}

void print_plan(Tool& tool, const IngestOptions& o, const Capture& capture) {
  const VoltageHeader& h = capture.header();
  tool.print(fmt::format("{} antennas, {} polarisations, {} channels, {} bits {}, order {}", h.n_ant, h.n_pol,
                         h.n_chan, h.n_bit, h.n_dim == 2 ? "complex" : "real", h.order));
  tool.print(fmt::format("{} of band at {}, {:.10g} samples in a second, from {}",
                         format_frequency(h.bandwidth_hz), format_frequency(h.freq_hz), 1 / h.sample_s,
                         format_fits_utc(h.start)));
  if (const auto n = capture.expected_samples())
    tool.print(fmt::format("{} samples, {}", *n, format_bytes(double(*n) * double(h.bits_per_time()) / 8)));
  tool.print(fmt::format("missing data: whole blocks of {} samples", h.missing_samples));
  tool.print(fmt::format("memory: {}", format_bytes(memory_of(o, capture))));
}

/// One line for each stream: a warning where anything was wrong.
void report_streams(const Capture& capture) {
  for (const StreamReport& r : capture.reports()) {
    std::vector<std::string> parts;
    const auto note = [&](std::uint64_t n, const char* what) {
      if (n > 0) parts.push_back(fmt::format("{} {}", n, what));
    };
    note(r.lost, "lost");
    note(r.damaged, "damaged");
    note(r.repeated, "repeated or late");
    note(r.skipped_bytes, "bytes skipped");
    note(r.blanked, "intact in blocks with missing ones");
    note(r.lost_packets, "packets that never reached the recorder");
    if (r.first_trouble && r.troubled())
      parts.push_back(
          fmt::format("the first trouble {}at byte {}",
                      r.first_trouble_frame ? fmt::format("in frame {} ", *r.first_trouble_frame) : "",
                      *r.first_trouble));
    const std::string line =
        fmt::format("{}: {} intact{}{}", r.name, r.intact, parts.empty() ? "" : ", ", fmt::join(parts, ", "));
    if (r.troubled())
      log_warning("{}", line);
    else
      log_info("{}", line);
  }
}

void run(Tool& tool, IngestOptions& o) {
  complete(o);
  if (o.request.format == "uvfits") return run_uvfits(tool, o);
  CommonOptions& common = tool.common();
  if (common.output.empty()) common.output = "-";
  if (!common.dry_run) check_output(common.output, common.overwrite);
  tool.device(CudaSupport::none);
  tool.stage("open");
  const std::unique_ptr<Capture> capture = open_capture(o.request);
  if (const double bytes = memory_of(o, *capture); bytes > double(common.max_memory_bytes))
    throw UsageError("{}", memory_shortage(common.max_memory_bytes, bytes, "this needs", "allow more"));
  if (common.dry_run) return print_plan(tool, o, *capture);

  VoltageHeader header = capture->header();
  for (const std::string& line : tool.provenance()) header.history.push_back(line);
  VoltageWriter writer(common.output, header, common.overwrite);
  const double sample_bytes = static_cast<double>(header.bits_per_time()) / 8;
  double n_bytes = 0;
  tool.stage("ingest");
  Progress progress(tool, "reading",
                    static_cast<double>(capture->expected_samples().value_or(0)) * header.sample_s,
                    "s of data");
  using Samples = std::vector<std::uint8_t>;
  run_pipeline<Samples>(
      1, [] { return Samples(); }, [&](Samples& samples) { return capture->read(samples); }, [](Samples&) {},
      [&](const Samples& samples) {
        writer.write(samples.data(), samples.size());
        n_bytes += static_cast<double>(samples.size());
        progress.update(n_bytes / sample_bytes * header.sample_s);
      });
  report_streams(*capture);
  if (n_bytes == 0) throw FailureError("no usable data: the captures hold no whole sample");
  writer.commit();
  tool.report_rate(n_bytes / sample_bytes * header.sample_s, "s of data");
}

}  // namespace
}  // namespace apsyn

int main(int argc, char** argv) {
  using namespace apsyn;
  Tool tool("ingest", "recordings in other formats as a voltage stream, UVFITS as a Measurement Set");
  IngestOptions options;
  declare(tool, options);
  return tool.run(argc, argv, [&] { run(tool, options); });
}
