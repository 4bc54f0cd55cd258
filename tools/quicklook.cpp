// SPDX-License-Identifier: GPL-3.0-or-later
// quicklook: a picture (PNG) of an image, a Measurement Set, a visibility or a voltage stream.
#include <filesystem>

#include "libcore/cli/tool.h"
#include "libcore/core/output.h"
#include "libcore/io/detect.h"
#include "libcore/io/fits_image.h"
#include "libcore/io/png.h"
#include "libcore/plot/image_figure.h"

using namespace apsyn;

namespace {

struct Options {
  std::vector<std::string> inputs;
  std::string kind, title, range, plane, crop, stretch, mark;
  std::string reduce = "mean", grid = "auto", colour_map = "ember";
  double percentile = 0, zoom = 0;
  std::size_t size = 1000;
};

void declare(Tool& tool, Options& o) {
  CLI::App& app = tool.app();
  tool.add_inputs(o.inputs, "FITS image (- or nothing: standard input)");
  app.add_option("--kind", o.kind, "what INPUT is, instead of looking: image")->type_name("KIND");
  app.add_option("--title", o.title, "heading, instead of the object's name")->type_name("TEXT");
  app.add_option("--size", o.size, "pixels of the data area's longer side")
      ->type_name("N")
      ->check(CLI::Range(100, 8000))
      ->capture_default_str();
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
  app.add_option("--mark", o.mark, "circle the components of a sky model")->type_name("SKY");
  app.add_option("--plane", o.plane, "plane number from 0, or Stokes name[,channel]")->type_name("PLANE");
  app.add_option("--crop", o.crop, "show only these pixels (lower left corner from 0, size)")
      ->type_name("X,Y,W,H");
  app.add_option("--zoom", o.zoom, "show only the central 1/F of the image")
      ->type_name("F")
      ->check(CLI::Range(1.0, 1e6))
      ->excludes("--crop");
  app.add_option("--grid", o.grid, "lines of right ascension and declination: auto, on or off")
      ->type_name("WHEN")
      ->check(CLI::IsMember({"auto", "on", "off"}));
  app.add_option("--reduce", o.reduce, "many pixels into one: mean or max")
      ->type_name("HOW")
      ->check(CLI::IsMember({"mean", "max"}));
}

/// "a,b,c" or "a:b" as numbers; UsageError names the option.
std::vector<double> numbers(const std::string& option, const std::string& text, char separator,
                            std::size_t n) {
  std::vector<double> values;
  std::size_t begin = 0;
  try {
    for (std::size_t end = 0; end != text.npos; begin = end + 1) {
      end = text.find(separator, begin);
      values.push_back(parse_number(text.substr(begin, end == text.npos ? end : end - begin)));
    }
  } catch (const UsageError&) {
    values.clear();
  }
  if (values.size() != n)
    throw UsageError("{} {}: give {} numbers with '{}' between", option, text, n, separator);
  return values;
}

std::size_t whole(const std::string& option, double value) {
  if (!(value >= 0 && value < 1e9) || value != std::floor(value))
    throw UsageError("{}: {}: give whole numbers from 0", option, value);
  return static_cast<std::size_t>(value);
}

/// "3" counts planes in the file's order, "V" or "V,2" names the Stokes plane and the channel.
void choose_plane(const std::string& text, const Image& image, ImageFigureOptions& figure) {
  const std::string name = text.substr(0, text.find(','));
  const auto& stokes = image.info.stokes;
  const auto found = std::find(stokes.begin(), stokes.end(), name);
  if (found == stokes.end()) {
    const std::size_t plane = whole("--plane", numbers("--plane", text, ',', 1)[0]);
    const std::size_t n_chan = image.pixels.extent(1);
    figure.stokes = plane / n_chan, figure.channel = plane % n_chan;
    return;
  }
  figure.stokes = static_cast<std::size_t>(found - stokes.begin());
  if (name.size() < text.size())
    figure.channel = whole("--plane", numbers("--plane", text.substr(name.size() + 1), ',', 1)[0]);
}

/// The image as doubles beside the file's bytes; the reader takes both into memory.
double image_memory_bytes(const std::string& input) {
  std::error_code error;
  const auto size = std::filesystem::file_size(input, error);
  return error ? 0 : 3.0 * static_cast<double>(size);
}

/// Whatever can be checked before the image is read.
ImageFigureOptions image_options(const Options& o) {
  ImageFigureOptions figure;
  figure.title = o.title;
  figure.size = o.size;
  figure.colour_map = o.colour_map;
  figure.reduction = o.reduce == "max" ? Reduction::maximum : Reduction::mean;
  figure.grid = o.grid == "on" ? GridLines::on : o.grid == "off" ? GridLines::off : GridLines::automatic;
  if (o.percentile > 0) figure.percentile = o.percentile;
  if (!o.stretch.empty()) figure.stretch = parse_stretch(o.stretch);
  if (!o.range.empty()) {
    const auto range = numbers("--range", o.range, ':', 2);
    if (!(range[0] < range[1])) throw UsageError("--range {}: MIN must be below MAX", o.range);
    figure.range = {range[0], range[1]};
  }
  if (!o.crop.empty()) {
    const auto crop = numbers("--crop", o.crop, ',', 4);
    figure.x0 = whole("--crop", crop[0]), figure.y0 = whole("--crop", crop[1]);
    figure.width = whole("--crop", crop[2]), figure.height = whole("--crop", crop[3]);
    if (figure.width == 0 || figure.height == 0) throw UsageError("--crop {}: it holds no pixel", o.crop);
  }
  if (!o.mark.empty()) figure.marks = read_sky_model(o.mark);
  return figure;
}

void zoom_in(double zoom, const Image& image, ImageFigureOptions& figure) {
  const std::size_t nx = image.pixels.extent(3), ny = image.pixels.extent(2);
  const auto part = [&](std::size_t n) {
    return std::max<std::size_t>(1, static_cast<std::size_t>(static_cast<double>(n) / zoom));
  };
  figure.width = part(nx), figure.height = part(ny);
  figure.x0 = nx / 2 - figure.width / 2, figure.y0 = ny / 2 - figure.height / 2;
}

Canvas picture_of_image(Tool& tool, const Options& o) {
  ImageFigureOptions figure = image_options(o);
  tool.stage("read");
  const Image image = read_fits_image(o.inputs[0]);
  if (!o.plane.empty()) choose_plane(o.plane, image, figure);
  if (o.zoom > 0) zoom_in(o.zoom, image, figure);
  tool.stage("draw");
  return draw_image_figure(image, figure);
}

/// NAME.png beside the input; a pipe goes on as a pipe.
std::string output_path(const std::string& asked, const std::string& input) {
  if (!asked.empty() || input == "-") return asked.empty() ? "-" : asked;
  std::filesystem::path path = input;
  if (!path.has_filename()) path = path.parent_path();
  return path.replace_extension(".png");
}

void run(Tool& tool, const Options& o) {
  const std::string& input = o.inputs[0];
  const std::string output = output_path(tool.common().output, input);
  check_output(output, tool.common().overwrite);
  const InputKind kind = o.kind.empty() ? detect_input(input) : parse_input_kind(o.kind);
  if (kind != InputKind::image)
    throw UsageError("{}: {}: only images can be drawn", input, input_kind_name(kind));
  const double memory = image_memory_bytes(input);
  if (tool.common().dry_run) {
    tool.print(fmt::format("input: {} ({})\noutput: {}\nmemory: {}", input, input_kind_name(kind), output,
                           format_bytes(memory)));
    return;
  }
  if (memory > static_cast<double>(tool.common().max_memory_bytes))
    throw FailureError("{}: needs {} of memory: raise --max-memory, or cut a smaller image", input,
                       format_bytes(memory));
  tool.device(CudaSupport::none);
  const Canvas canvas = picture_of_image(tool, o);
  tool.stage("write");
  const std::vector<std::string> provenance = tool.provenance();
  write_png(output, canvas.to_rgb8().view(),
            {{"Software", "apsyn " + provenance[0]}, {"Comment", provenance[1]}}, tool.common().overwrite);
  if (output != "-") log_info("wrote {} ({} x {} pixels)", output, canvas.width(), canvas.height());
}

}  // namespace

int main(int argc, char** argv) {
  Tool tool("quicklook", "draw a picture (PNG) of an image of the sky");
  Options options;
  declare(tool, options);
  return tool.run(argc, argv, [&] { run(tool, options); });
}
