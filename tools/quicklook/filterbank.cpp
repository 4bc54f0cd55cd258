// SPDX-License-Identifier: GPL-3.0-or-later
#include <filesystem>

#include "libcore/io/power_source.h"
#include "libcore/plot/beam_powers_figure.h"
#include "tools/quicklook/quicklook.h"

namespace apsyn {

namespace {

DynamicSpectrum read_spectrum(Tool& tool, const std::string& input, std::size_t n_band) {
  constexpr std::size_t kBlockBytes = 4u << 20;
  const std::unique_ptr<PowerSource> powers = open_filterbank_powers(input, "");
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

}  // namespace

Canvas picture_of_filterbank(Tool& tool, const QuicklookOptions& o) {
  constexpr std::size_t kMostBands = 512;
  const DynamicSpectrumOptions options{o.title, o.colour_map, o.size};
  tool.stage("read");
  if (o.inputs.size() == 1) {
    const DynamicSpectrum spectrum = read_spectrum(tool, o.inputs[0], kMostBands);
    tool.report_rate(static_cast<double>(spectrum.n_time), "samples");
    tool.stage("draw");
    return draw_dynamic_spectrum(spectrum, options);
  }
  std::vector<BeamPower> beams;
  for (const std::string& input : o.inputs)
    beams.push_back({std::filesystem::path(input).stem().string(), read_spectrum(tool, input, 1)});
  tool.stage("draw");
  return draw_beam_powers(beams, options);
}

}  // namespace apsyn
