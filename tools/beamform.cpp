// SPDX-License-Identifier: GPL-3.0-or-later
// beamform: voltage stream -> one file of each tied-array or incoherent beam.
#include "libcore/core/output.h"
#include "libcore/core/parallel.h"
#include "tools/beamform/describe.h"
#include "tools/beamform/options.h"
#include "tools/beamform/outputs.h"
#include "tools/beamform/pattern.h"
#include "tools/beamform/plan.h"

namespace apsyn {
namespace {

struct Item {
  VoltageBlock block;
  bool last = false;  ///< an empty block behind the stream's end
  std::vector<BeamBlock> beams;
  std::size_t n_blocks = 0;
};

/// Incoherent beams look nowhere.
struct NoDelays final : BeamDelaySource {
  void prepare(double, double) override {}
  void delays_s(std::size_t, double, std::span<double> delay_s) const override {
    std::fill(delay_s.begin(), delay_s.end(), 0.0);
  }
};

void run(Tool& tool, BeamformOptions& options) {
  tool.device(CudaSupport::none);
  tool.stage("open");
  if (options.voltage.first_sample > 0 || options.voltage.n_samples >= 0)
    options.voltage.margin = [&](const VoltageHeader& header, const ArrayLayout& layout) {
      return margin_of(options, header, layout);
    };
  OpenedVoltages voltages = open_voltages(options.inputs.at(0), options.voltage);
  BeamformSetup setup = make_setup(tool, options, voltages);
  for (const std::string& line : describe(setup))
    if (tool.common().dry_run)
      tool.print(line);
    else
      log_verbose("{}", line);
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

  std::unique_ptr<BeamTracker> tracker;
  if (!options.incoherent)
    tracker = std::make_unique<BeamTracker>(setup.header.layout, setup.header.start, setup.beams,
                                            setup.header.phase_centre, setup.align());
  NoDelays nowhere;
  Channeliser channeliser(setup.f, tracker ? tracker->reference() : nullptr);
  const std::size_t n_chan = setup.b.n_chan;
  const unsigned n_threads = setup.b.n_threads;
  const auto beamformer =
      make_cpu_beamformer(std::move(setup.b), tracker ? *tracker : static_cast<BeamDelaySource&>(nowhere));
  SpectraBlock spectra;
  std::int64_t next = 0;
  bool ended = false;

  tool.stage("beamform");
  Progress progress(tool, "beamforming",
                    static_cast<double>(std::max<std::int64_t>(0, setup.n_samples)) * setup.header.sample_s,
                    "s of data");
  run_pipeline<Item>(
      1, [] { return Item(); },
      [&](Item& item) {
        if (ended) return false;
        item.last = ended = !voltages.read(item.block, setup.gulp_samples);
        return true;
      },
      [&](Item& item) {
        if (item.last)
          channeliser.end_of_stream();
        else
          channeliser.append(item.block);
        item.n_blocks = 0;
        while (true) {
          const std::int64_t off_tile = beamformer->off_tile(next);  // a range may begin within a tile
          const auto whole =
              static_cast<std::int64_t>(off_tile > 0 ? kTileSpectra : setup.block_spectra) - off_tile;
          const std::int64_t n = std::min(channeliser.available() - next, whole);
          if (n <= 0 || (n < whole && !item.last)) break;
          if (item.beams.size() == item.n_blocks) item.beams.emplace_back();
          BeamBlock& out = item.beams[item.n_blocks++];
          beamformer->start(next, static_cast<std::size_t>(n), out);
          for (std::size_t chan = 0; chan < n_chan; chan += setup.batch_chan) {
            channeliser.spectra(next, static_cast<std::size_t>(n), chan,
                                std::min(setup.batch_chan, n_chan - chan), spectra);
            beamformer->add(spectra, out);
          }
          next += n;
        }
        channeliser.release(next);
        progress.update(static_cast<double>(next) * setup.spectrum_s);
      },
      [&](Item& item) {
        parallel_for(n_threads, sinks.size(), [&](std::size_t beam, unsigned) {
          for (std::size_t i = 0; i < item.n_blocks; ++i)
            if (item.beams[i].n_time > 0)
              sinks[beam]->write(&item.beams[i].values(beam, 0, 0), item.beams[i].n_time);
        });
      });
  tool.stage("close");
  if (std::none_of(sinks.begin(), sinks.end(), [](const auto& sink) { return sink->any_data(); }))
    throw FailureError(
        "{}: no usable data: every sample is missing or flagged, or there is less than one integration",
        voltages.reader.name());
  for (const auto& sink : sinks) sink->commit();
  tool.report_rate(static_cast<double>(next) * setup.spectrum_s, "s of data");
}

}  // namespace
}  // namespace apsyn

int main(int argc, char** argv) {
  apsyn::Tool tool("beamform", "combine the antennas of a voltage stream into beams");
  apsyn::BeamformOptions options;
  declare(tool, options);
  return tool.run(argc, argv, [&] { apsyn::run(tool, options); });
}
