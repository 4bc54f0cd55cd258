// SPDX-License-Identifier: GPL-3.0-or-later
// quicklook: a figure (PNG, PDF or SVG) of images, a Measurement Set, a visibility or a voltage stream,
// filterbanks, a pulsar's profile, solutions of a calibration; or what they hold as JSON.
#include <CLI/CLI.hpp>

#include <filesystem>

#include "libcore/files/output.h"
#include "libcore/plot/colour_map.h"
#include "libcore/plot/figure_file.h"
#include "libcore/streams/detect.h"
#include "libcore/system/program_memory.h"
#include "tools/quicklook/quicklook.h"

using namespace apsyn;

namespace {

void declare_image(Tool& tool, QuicklookOptions& o) {
  CLI::App& app = tool.app();
  tool.heading("Picture");
  app.add_option("--colour-map", o.colour_map, "ember, helix, grey, ink or phase")
      ->type_name("NAME")
      ->check(CLI::IsMember(ColourMap::names()));
  app.add_option("--range", o.range, "values at the ends of the colour bar, in the image's unit")
      ->type_name("MIN:MAX");
  app.add_option("--percentile", o.percentile, "range from the (100-P)th to the Pth percentile")
      ->type_name("P")
      ->check(CLI::Range(50.0, 100.0))
      ->excludes("--range");
  app.add_option("--stretch", o.stretch, "linear, sqrt, log or asinh")->type_name("NAME");
  tool.add_file("--mark", o.mark, "circle the components of a sky model");
  app.add_option("--contours", o.contours, "lines at these values; 5%: of the maximum, 3s: of the noise")
      ->type_name("LIST");
  tool.heading(headings::kImage);
  tool.add_file("--light-curve", o.light_curve,
                "of images of several times: the brightness of the components of a sky model");
  app.add_option("--plane", o.plane, "plane number from 0, or Stokes name[,channel]; all: side by side")
      ->type_name("PLANE");
  app.add_option(
         "--frame", o.frame,
         "of a cube of several times (and real and imaginary parts): which, from 0 (default: their mean)")
      ->type_name("N");
  app.add_option("--crop", o.crop, "show only these pixels (lower left corner from 0, size)")
      ->type_name("X,Y,W,H");
  app.add_option("--zoom", o.zoom, "show only the central 1/F of the image")
      ->type_name("F")
      ->check(CLI::Range(1.0, 1e6))
      ->excludes("--crop");
  tool.heading("Picture");
  app.add_option("--grid", o.grid, "lines of right ascension and declination: auto, on or off")
      ->type_name("WHEN")
      ->check(CLI::IsMember({"auto", "on", "off"}));
  app.add_option("--reduce", o.reduce, "many pixels into one: mean or max")
      ->type_name("HOW")
      ->check(CLI::IsMember({"mean", "max"}));
}

void declare(Tool& tool, QuicklookOptions& o) {
  CLI::App& app = tool.app();
  tool.add_inputs(o.inputs,
                  "FITS images, Measurement Set, visibility or voltage stream, filterbanks, profile, "
                  "solutions (-: stdin)",
                  0);
  app.add_option(
         "--kind", o.kind,
         "what INPUT is, instead of looking: image, images, ms, visibility, voltage, filterbank, profile, "
         "solutions")
      ->type_name("KIND");
  app.add_flag("--stats", o.stats, "print what scripts want to know as JSON; a picture only with -o");
  tool.heading("Picture");
  app.add_option("--title", o.title, "heading, instead of the object's name")->type_name("TEXT");
  app.add_option("--size", o.size, "pixels of the data area's longer side")
      ->type_name("N")
      ->check(CLI::Range(100, 8000))
      ->capture_default_str();
  tool.heading("Visibilities");
  app.add_option("--plot", o.plot,
                 "of visibilities: overview, uv, amplitude, spectrum, waterfall, autos, fringes")
      ->type_name("PLOT")
      ->check(CLI::IsMember({"overview", "uv", "amplitude", "spectrum", "waterfall", "autos", "fringes"}));
  app.add_option("--baselines", o.baselines,
                 "of fringes and waterfall: pairs of antennas, for example 0:5,Tile01:Tile09")
      ->type_name("LIST");
  app.add_option("--channel", o.channel, "of fringes: channel from 0 (default: the middle one)")
      ->type_name("N")
      ->check(CLI::Range(0, 1 << 24));
  app.add_option("--column", o.column, "column of a Measurement Set")
      ->type_name("NAME")
      ->capture_default_str();
  app.add_option("--beam", o.beam,
                 "of a Measurement Set: the power of a station over the sky; auto, a model or an A-term "
                 "configuration")
      ->type_name("MODEL");
  app.add_option("--station", o.station, "of --beam: the antenna's name (default: the first)")
      ->type_name("NAME");
  tool.add_angle("--beam-width", o.beam_width_rad, "of --beam: how much of the sky is shown (default 10deg)");
  app.add_option("--beam-data", o.beam_data, "of --beam: folder of beams' coefficients, searched first")
      ->type_name("FOLDER");
  declare_image(tool, o);
  tool.heading("Solutions");
  app.add_option("--soltabs", o.soltabs, "of an H5Parm: these tables, for example amplitude000,phase000")
      ->type_name("LIST");
  app.add_option("--against", o.against, "time or frequency (default: of which there are more)")
      ->type_name("AXIS")
      ->check(CLI::IsMember({"time", "frequency"}));
  app.add_option("--direction", o.direction, "patch (default: the first)")->type_name("NAME");
  add_voltage_options(tool, o.voltage);
}

/// `show` takes what is drawn before the last picture.
Look look_at(Tool& tool, const QuicklookOptions& o, InputKind kind,
             const std::function<void(const Canvas&)>& show) {
  switch (kind) {
    case InputKind::image:
      if (!o.light_curve.empty()) return look_at_light_curves(tool, o);
      return o.inputs.size() > 1 || o.plane == "all" ? look_at_images(tool, o) : look_at_image(tool, o);
    case InputKind::image_stream:
      return look_at_image_stream(tool, o, show);
    case InputKind::measurement_set:
      return o.beam.empty() ? look_at_measurement_set(tool, o) : look_at_beam(tool, o);
    case InputKind::visibility:
      return look_at_visibility_stream(tool, o);
    case InputKind::filterbank:
      return look_at_filterbanks(tool, o);
    case InputKind::profile:
      return look_at_profile(tool, o);
    case InputKind::solutions:
      return look_at_solutions(tool, o);
    default:
      return look_at_voltages(tool, o);
  }
}

/// NAME.png beside the input; a pipe goes on as a pipe.
std::string output_path(const std::string& asked, const std::string& input) {
  if (!asked.empty() || input == "-") return asked.empty() ? "-" : asked;
  std::filesystem::path path = input;
  if (!path.has_filename()) path = path.parent_path();
  return path.replace_extension(".png");
}

void write_picture(const Tool& tool, const std::string& output, const Canvas& canvas, bool overwrite) {
  const std::vector<std::string> provenance = tool.provenance();
  write_figure(output, canvas, {"apsyn " + provenance[0], provenance[1]}, overwrite);
}

/// Of a file, or of all of a set's; nothing where it is a pipe.
std::optional<double> size_of(const std::string& path) {
  std::error_code error;
  double bytes = 0;
  if (!std::filesystem::is_directory(path, error)) {
    const auto size = std::filesystem::file_size(path, error);
    if (error) return {};
    return static_cast<double>(size);
  }
  for (const auto& entry : std::filesystem::recursive_directory_iterator(path, error))
    if (entry.is_regular_file(error)) bytes += static_cast<double>(entry.file_size(error));
  return bytes;
}

/// Images are read whole; of other data, as long as they are, blocks.
double memory_of(const QuicklookOptions& o, InputKind kind) {
  constexpr double kProgram = 30e6;
  const double own = kProgram + (o.picture ? static_cast<double>(picture_bytes(o.size)) : 0);
  double data = 0;
  for (const std::string& input : o.inputs) {
    const double size = size_of(input).value_or(1e12);
    double bytes = 0;
    switch (kind) {
      case InputKind::image:
        bytes = image_memory_bytes(input);
        break;
      case InputKind::filterbank:
        bytes = std::min(8e6, 3 * size);
        break;
      case InputKind::profile:
        bytes = std::min(10e6, 20 * size);
        break;
      case InputKind::solutions:
        bytes = size < 1e12 ? 10 * size : 100e6;  // a pipe does not tell
        break;
      case InputKind::measurement_set:
      case InputKind::visibility:
        bytes = 50e6 + std::min(42e6, size);
        break;
      default:
        bytes = 10e6 + std::min(16e6, 2 * size);
    }
    data = std::max(data, bytes);
  }
  return own + data;
}

void run(Tool& tool, QuicklookOptions& o) {
  const std::string& input = o.inputs[0];
  const CommonOptions& common = tool.common();
  o.picture = !o.stats || !common.output.empty();
  const std::string output = o.picture ? output_path(common.output, input) : "none";
  if (o.stats && output == "-")
    throw UsageError("--stats: standard output is theirs: give the picture a file with -o, or leave it out");
  if (o.picture) check_figure_output(output, common.overwrite);
  const InputKind kind = o.kind.empty() ? detect_input(input) : parse_input_kind(o.kind);
  if (o.inputs.size() > 1)
    for (const std::string& other : o.inputs)
      if ((kind != InputKind::filterbank && kind != InputKind::image) ||
          (o.kind.empty() && detect_input(other) != kind))
        throw UsageError("{}: only images are drawn together, and filterbanks: give one INPUT", other);
  if (!o.light_curve.empty() && kind != InputKind::image)
    throw UsageError("--light-curve: {} is no image but of the kind {}", input, input_kind_name(kind));
  if (!o.beam.empty() && kind != InputKind::measurement_set)
    throw UsageError("--beam: {} is no Measurement Set but of the kind {}", input, input_kind_name(kind));
  const double memory = memory_of(o, kind);
  if (memory > static_cast<double>(common.max_memory_bytes))
    throw FailureError("{}: {}", input,
                       memory_shortage(common.max_memory_bytes, memory, "this needs", "allow more"));
  if (common.dry_run) {
    tool.print(fmt::format("input: {} ({})\noutput: {}\nmemory: {}", input, input_kind_name(kind), output,
                           format_bytes(memory)));
    return;
  }
  tool.device(CudaSupport::none);

  bool shown = false;
  const Look look = look_at(tool, o, kind, [&](const Canvas& canvas) {
    if (output == "-") return;
    write_picture(tool, output, canvas, common.overwrite || shown);
    publish_outputs();  // another picture follows
    shown = true;
  });
  tool.stage("write");
  if (look.picture) write_picture(tool, output, *look.picture, common.overwrite || shown);
  if (look.picture && output != "-")
    log_info("wrote {} ({} x {} pixels)", output, look.picture->width(), look.picture->height());
  if (o.stats) tool.print(stats_text(look.stats));
}

}  // namespace

int main(int argc, char** argv) {
  Tool tool("quicklook", "draw an image of the sky, visibilities, voltages or powers (PNG, PDF, SVG)");
  QuicklookOptions options;
  declare(tool, options);
  return tool.run(argc, argv, [&] { run(tool, options); });
}
