// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <filesystem>

#include "libcore/plot/figures/beam_powers_figure.h"
#include "libcore/streams/power_source.h"
#include "tools/quicklook/quicklook.h"
#include "tools/quicklook/stats.h"

namespace apsyn {

namespace {

DynamicSpectrum read_spectrum(Tool& tool, const std::string& input, std::size_t n_band) {
  constexpr std::size_t kBlockBytes = 4u << 20;
  const std::unique_ptr<PowerSource> powers = open_filterbank_powers(input, "", tool.common().threads);
  DynamicSpectrum spectrum;
  spectrum.source = powers->source;
  spectrum.start = powers->start;
  spectrum.sample_s = powers->sample_s;
  spectrum.start_with(powers->channel_hz, n_band);
  const std::size_t n_block =
      std::max<std::size_t>(1, kBlockBytes / sizeof(float) / powers->channel_hz.size());
  Progress progress(tool, "reading", static_cast<double>(powers->n_samples.value_or(0)), "samples");
  Buffer<float, 2> samples;
  while (powers->read(n_block, samples)) {
    spectrum.add(samples);
    progress.update(static_cast<double>(spectrum.n_time));
  }
  return spectrum;
}

/// A beam is called what its header says, its id in the table of beams for example, and after its file where
/// that tells nothing or does not tell it from another.
void name_beams(const std::vector<std::string>& inputs, std::vector<BeamPower>& beams,
                std::vector<Json>& stats) {
  for (std::size_t i = 0; i < beams.size(); ++i) {
    const std::string& source = beams[i].spectrum.source;
    const bool known = !source.empty() && source != "unknown";
    const auto same = std::count_if(beams.begin(), beams.end(),
                                    [&](const BeamPower& other) { return other.spectrum.source == source; });
    beams[i].name = known && same == 1 ? source : std::filesystem::path(inputs[i]).stem().string();
    stats[i]["name"] = beams[i].name;
  }
}

}  // namespace

Look look_at_filterbanks(Tool& tool, const QuicklookOptions& o) {
  constexpr std::size_t kMaxBands = 512;
  const DynamicSpectrumOptions options{o.title, o.colour_map, o.size};
  const bool alone = o.inputs.size() == 1;
  tool.stage("read");
  std::vector<BeamPower> beams;
  std::vector<Json> stats;
  for (const std::string& input : o.inputs) {
    beams.push_back({"", read_spectrum(tool, input, alone ? kMaxBands : 1)});
    stats.push_back(stats_of(beams.back().spectrum));
  }
  if (!alone) name_beams(o.inputs, beams, stats);
  tool.report_rate(static_cast<double>(beams[0].spectrum.n_time), "samples");
  Look look{alone ? stats[0] : Json{{"beams", stats}}, {}};
  if (!o.picture) return look;
  tool.stage("draw");
  look.picture = alone ? draw_dynamic_spectrum(beams[0].spectrum, options) : draw_beam_powers(beams, options);
  return look;
}

}  // namespace apsyn
