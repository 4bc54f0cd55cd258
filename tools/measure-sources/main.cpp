// SPDX-License-Identifier: GPL-3.0-or-later
// measure-sources: an image and a sky model -> a table of found against true fluxes and positions.
#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <filesystem>

#include "kernels/measure/measure.h"
#include "libcore/cli/tool.h"
#include "libcore/files/output.h"
#include "libcore/formats/fits/image.h"
#include "libcore/sky/projection.h"
#include "libcore/sky/sky_model.h"
#include "libcore/sky/source_table.h"
#include "libcore/system/program_memory.h"

using namespace apsyn;

namespace {

struct Options {
  std::vector<std::string> inputs;
  std::string sky;
};

void declare(Tool& tool, Options& options) {
  tool.add_inputs(options.inputs, "a restored image (FITS), for example NAME-image.fits of clean");
  tool.add_file("--sky", options.sky, "the true sources: a sky model in WSClean/BBS text")->required();
}

/// The place of each component in the image; those beyond the horizon get a place outside of it.
std::vector<ExpectedSource> place(const SkyModel& sky, const Image& image) {
  std::vector<ExpectedSource> expected;
  const double cell = image.info.cell_rad;
  const double x0 = static_cast<double>(image.pixels.extent(3) / 2),
               y0 = static_cast<double>(image.pixels.extent(2) / 2);
  for (const SkyComponent& component : sky.components) {
    const DirectionCosines at = project(image.info.centre, component.direction);
    const RestoringBeam size{component.major_rad, component.minor_rad, component.position_angle_rad};
    if (at.n > 0)
      expected.push_back({x0 - at.l / cell, y0 + at.m / cell, pixel_covariance(size, cell)});
    else
      expected.push_back({-1e9, -1e9, {}});
  }
  return expected;
}

SourceTable tabulate(const SkyModel& sky, const Image& image, const std::vector<MeasuredSource>& measured) {
  const ImageInfo& info = image.info;
  SourceTable table{robust_rms(image.pixels.view()[0][0]),
                    info.beam->major_rad,
                    info.beam->minor_rad,
                    {},
                    unit_of_image(info.unit)};
  const double x0 = static_cast<double>(image.pixels.extent(3) / 2),
               y0 = static_cast<double>(image.pixels.extent(2) / 2);
  for (std::size_t i = 0; i < measured.size(); ++i) {
    const SkyComponent& component = sky.components[i];
    const MeasuredSource& source = measured[i];
    table.rows.push_back(
        {component.name, flux_at(component, info.freq_hz > 0 ? info.freq_hz : component.reference_freq_hz)[0],
         component.direction, source.state == FitState::found,
         source.state == FitState::outside ? "outside" : "lost", source.flux,
         unproject(info.centre, (x0 - source.x) * info.cell_rad, (source.y - y0) * info.cell_rad)});
  }
  return table;
}

/// The file, its pixels and, of the first plane, those sorted for the noise; nothing is known of a pipe.
double memory_of(const std::string& path) {
  constexpr double kProgram = 14e6;
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return kProgram;
  const std::vector<std::size_t> axes = read_fits_shape(path);
  double n_pixels = 1;
  for (const std::size_t n : axes) n_pixels *= static_cast<double>(n);
  const double plane =
      axes.size() < 2 ? n_pixels : static_cast<double>(axes[0]) * static_cast<double>(axes[1]);
  const auto file_bytes = std::filesystem::file_size(path, error);
  return kProgram + (error ? 0.0 : static_cast<double>(file_bytes)) + sizeof(double) * (n_pixels + plane);
}

void run(Tool& tool, const Options& options) {
  const std::string output = tool.common().output.empty() ? "-" : tool.common().output;
  if (output != "-") check_output(output, tool.common().overwrite);

  tool.stage("read");
  const SkyModel sky = read_sky_model(options.sky);
  const double memory = memory_of(options.inputs[0]);
  if (memory > static_cast<double>(tool.common().max_memory_bytes))
    throw UsageError(
        "{}: {}", options.inputs[0],
        memory_shortage(tool.common().max_memory_bytes, memory, "this image needs", "allow more"));
  const Image image = read_fits_image(options.inputs[0]);
  const ImageInfo& info = image.info;
  if (!info.beam)
    throw DataError("{}: no BMAJ, BMIN, BPA: give a restored image, as clean makes it", options.inputs[0]);
  constexpr std::array shows_intensity = {"I", "XX", "YY", "RR", "LL"};
  if (std::find(shows_intensity.begin(), shows_intensity.end(), info.stokes[0]) == shows_intensity.end())
    throw DataError("{}: the first plane is {}: give an image of Stokes I, or of XX, YY, RR or LL",
                    options.inputs[0], info.stokes[0]);
  if (info.cell_y_rad != 0 && info.cell_y_rad != info.cell_rad)
    throw DataError("{}: the pixels are not square: give an image with CDELT2 = -CDELT1", options.inputs[0]);
  if (unit_of_image(info.unit) == FluxUnit::adu)
    log_warning("{}: is in {}, and the sky model in Jy: ratios tell the scale of the image, not its errors",
                options.inputs[0], info.unit);
  if (tool.common().dry_run) {
    tool.print(fmt::format("{}: {} x {} pixels of {}, {} sources to measure", options.inputs[0],
                           image.pixels.extent(3), image.pixels.extent(2), format_angle(info.cell_rad),
                           sky.components.size()));
    tool.print(fmt::format("memory: {}", format_bytes(memory)));
    return;
  }

  tool.stage("measure");
  const auto measured = measure_sources(image.pixels.view()[0][0],
                                        pixel_covariance(*info.beam, info.cell_rad), place(sky, image));
  const SourceTable table = tabulate(sky, image, measured);

  tool.stage("write");
  const std::vector<std::string> lines = format_source_table(table);
  if (output == "-") {
    for (const std::string& line : lines) tool.print(line);
  } else {
    OutputFile file(output, tool.common().overwrite);
    for (const std::string& line : lines) {
      file.write(line.data(), line.size());
      file.write("\n", 1);
    }
    file.commit();
  }
  log_info("{}", summarise(table));
  tool.report_rate(static_cast<double>(measured.size()), "sources");
}

}  // namespace

int main(int argc, char** argv) {
  Tool tool("measure-sources", "compare the sources in an image with the truth");
  Options options;
  declare(tool, options);
  return tool.run(argc, argv, [&] { run(tool, options); });
}
