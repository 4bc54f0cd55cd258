// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/epic-image/checks.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "libcore/base/constants.h"
#include "libcore/base/error.h"
#include "libcore/base/log.h"
#include "libcore/cli/filterbank_options.h"
#include "libcore/voltage/voltage.h"

namespace apsyn {

EpicPrecision parse_precision(const std::string& name, const Device& device) {
  const bool on_gpu = device.kind == Device::Kind::cuda;
  if (name == "half" && !on_gpu) log_info("--precision half: a CPU images in single precision");
  return on_gpu && (name == "half" || name.empty()) ? EpicPrecision::half : EpicPrecision::single;
}

namespace {

/// Weights of baselines are those of an image, by corr.
void check_weight(const EpicOptions& options) {
  const auto refuse = [&](bool given, const char* what, const char* cure) {
    if (given) throw UsageError("--weight {}: {}: {}", options.weight.name, what, cure);
  };
  refuse(options.method == "fft" || options.method == "dft", "baselines of --method fft or dft all count 1",
         "give --method corr");
  refuse(options.electric_field, "a field has no baselines", "leave it out");
  refuse(options.precision == "double", "--precision double is of dft, whose baselines all count 1",
         "leave one of them out");
  refuse(!options.no_autos, "autocorrelations have no place among baselines", "give --no-autos, too");
  refuse(!options.pixels.empty(), "directions of --pixels have no scale, which weights depend on",
         "give --regions");
  refuse(!options.apertures.empty(), "--apertures weighs antennas itself", "leave one of them out");
}

}  // namespace

void check_options(const EpicOptions& options, const OpenedVoltages& voltages) {
  const std::string& name = voltages.reader.name();
  if (!voltages.has_positions)
    throw UsageError("{}: the stream does not say where its antennas stand: give --antennas or --metafits",
                     name);
  if (!voltages.layout.site)
    throw UsageError("{}: the stream does not say where the array is: give --site LAT,LON,ALT", name);
  if (options.method == "fft" && !options.pixels.empty())
    throw UsageError("--pixels: --method fft makes whole images: give dft, corr or auto");
  if (options.precision == "double" && (options.method == "fft" || options.method == "corr"))
    throw UsageError("--precision double: the sums of dft can be made in it: give --method dft or auto");
  if (options.weight.name != "natural") check_weight(options);
  if (options.scale_rad <= 0)
    throw UsageError("--scale {:.6g}deg: must be positive", options.scale_rad / kRadPerDeg);
  constexpr double kRounding = 1e-12;
  if (!(options.field_rad > 0 && options.field_rad <= kPi * (1 + kRounding)))
    throw UsageError("--field {:.6g}deg: must be positive, and 180deg, the whole sky, at most",
                     options.field_rad / kRadPerDeg);
  const VoltageHeader& header = voltages.reader.header();
  check_real_samples(header.n_dim, options.n_fine, name);
  const std::size_t n_channel = header.n_chan * options.n_fine;
  if (n_channel % options.n_average != 0)
    throw UsageError("--average-channels {}: {} channels do not divide by it", options.n_average, n_channel);
}

std::vector<Region> read_regions(const std::string& path) {
  constexpr std::size_t kMaxBytes = 16 << 20;
  std::vector<Region> regions = parse_regions(read_text_file(path, kMaxBytes), path);
  if (std::all_of(regions.begin(), regions.end(), [](const Region& region) { return region.exclude; }))
    throw UsageError("--regions {}: no region to look at", path);
  return regions;
}

void check_field(const EpicOptions& options) {
  if (!options.electric_field) return;
  const auto refuse = [](bool given, const char* option, const char* cure) {
    if (given) throw UsageError("--electric-field: {}: {}", option, cure);
  };
  refuse(!std::isnan(options.accumulate_s), "--accumulate", "an image is of one spectrum: leave it out");
  refuse(options.n_average > 1, "--average-channels", "fields of channels do not add up: leave it out");
  refuse(options.no_autos, "--no-autos", "a field has no autocorrelations: leave it out");
  refuse(!options.apertures.empty(), "--apertures", "fields are those of equal antennas: leave it out");
  refuse(options.method == "corr", "--method corr", "it knows products only: give fft or dft");
}

}  // namespace apsyn
