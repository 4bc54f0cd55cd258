// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <cctype>
#include <cmath>
#include <filesystem>

#include "libcore/base/log.h"
#include "libcore/formats/fits/image.h"
#include "libcore/plot/figures/image_captions.h"
#include "libcore/plot/figures/image_figure.h"
#include "tools/quicklook/quicklook.h"
#include "tools/quicklook/stats.h"

namespace apsyn {
namespace {

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

/// Whatever can be checked before the image is read.
ImageFigureOptions image_options(const QuicklookOptions& o) {
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
  if (!o.contours.empty()) figure.contours = parse_contours(o.contours);
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

constexpr std::size_t kMaxPanels = 64;

std::size_t columns_of(std::size_t n_panel) {
  return static_cast<std::size_t>(std::ceil(std::sqrt(static_cast<double>(n_panel))));
}

/// Letters shrink with the panels: not below what can be read.
std::size_t panel_size(std::size_t size, std::size_t n_panel) {
  return n_panel == 1 ? size : std::max<std::size_t>(size * 5 / (4 * columns_of(n_panel)), size * 2 / 5);
}

/// Row by row, each in a cell of the largest one's size.
Canvas side_by_side(const std::vector<Canvas>& panels) {
  std::size_t width = 0, height = 0;
  for (const Canvas& panel : panels)
    width = std::max(width, panel.width()), height = std::max(height, panel.height());
  const std::size_t n_column = columns_of(panels.size()), n_row = (panels.size() + n_column - 1) / n_column;
  Canvas sheet(width * n_column, height * n_row);
  for (std::size_t i = 0; i < panels.size(); ++i)
    sheet.paste(panels[i], static_cast<double>(i % n_column * width),
                static_cast<double>(i / n_column * height));
  return sheet;
}

/// The frame that is asked for, or the mean of all times.
std::pair<Image, PlanesAveraged> read_averaged(const QuicklookOptions& o, const std::string& input) {
  ImageMean mean(averages_channels(o));
  if (o.frame) {
    Image image = read_fits_image(input, o.frame);
    mean.add(image);
  } else {
    for_each_fits_frame(input, [&](Image& image) { mean.add(image); });
  }
  Image image = mean.take();
  const std::string label = averaging_label(mean.averaged());
  if (!label.empty()) log_info("{}: shown is the {}", input, label);
  return {std::move(image), mean.averaged()};
}

}  // namespace

void show_pattern(const QuicklookOptions& o, Image& image, ImageFigureOptions& figure) {
  for (double& power : image.pixels.view().span())
    if (std::isfinite(power)) power = 10 * std::log10(std::max(power, 1e-20));
  image.info.unit = "dB";
  if (o.range.empty() && o.percentile <= 0) figure.range = {-50, 0};
  if (o.stretch.empty()) figure.stretch = StretchKind::linear;
  if (o.title.empty()) figure.title = "Pattern of beam " + image.info.object;
}

double image_memory_bytes(const std::string& input) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(input, error)) return 0;  // a pipe is read once
  const std::vector<std::size_t> axes = read_fits_shape(input);
  double n_pixels = 1;
  for (const std::size_t n : axes) n_pixels *= static_cast<double>(n);
  const double plane =
      axes.size() < 2 ? n_pixels : static_cast<double>(axes[0]) * static_cast<double>(axes[1]);
  double sums = 0;  // and counts, when channels or times are averaged: which axes they are is not known here
  for (std::size_t axis = 2; axis < axes.size(); ++axis)
    if (axes[axis] > 1) sums = std::max(sums, 2 * n_pixels / static_cast<double>(axes[axis]));
  const auto size = std::filesystem::file_size(input, error);
  return (error ? 0 : static_cast<double>(size)) + sizeof(double) * (n_pixels + sums + plane);
}

void check_image_options(const QuicklookOptions& o) {
  image_options(o);
}

bool averages_channels(const QuicklookOptions& o) {
  if (o.plane.empty()) return true;
  const bool numbered = std::isdigit(static_cast<unsigned char>(o.plane[0])) != 0;
  return o.plane != "all" && !numbered && o.plane.find(',') == o.plane.npos;
}

ImageFigureOptions plane_options(const QuicklookOptions& o, const Image& image,
                                 const PlanesAveraged& averaged) {
  ImageFigureOptions figure = image_options(o);
  figure.averaged = averaged;
  if (!o.plane.empty() && o.plane != "all") choose_plane(o.plane, image, figure);
  if (o.zoom > 0) zoom_in(o.zoom, image, figure);
  return figure;
}

Look look_at_image(Tool& tool, const QuicklookOptions& o) {
  check_image_options(o);  // before a long file is read
  tool.stage("read");
  auto [image, averaged] = read_averaged(o, o.inputs[0]);
  ImageFigureOptions figure = plane_options(o, image, averaged);
  Look look;
  if (o.stats) look.stats = stats_of(image, figure);
  if (!o.picture) return look;
  if (image.info.unit == "POWER") show_pattern(o, image, figure);
  tool.stage("draw");
  look.picture = draw_image_figure(image, figure);
  return look;
}

Look look_at_images(Tool& tool, const QuicklookOptions& o) {
  check_image_options(o);
  std::vector<Canvas> panels;
  std::vector<Json> stats;
  for (const std::string& input : o.inputs) {
    tool.stage("read");
    auto [image, averaged] = read_averaged(o, input);
    ImageFigureOptions figure = plane_options(o, image, averaged);
    const bool all = o.plane == "all";
    const std::size_t n_chan = image.pixels.extent(1), n_plane = all ? image.pixels.extent(0) * n_chan : 1;
    const std::size_t n_panel = n_plane * o.inputs.size();
    if (n_panel > kMaxPanels)
      throw UsageError("{}: {} panels: at most {} fit a picture: choose a plane with --plane", input, n_panel,
                       kMaxPanels);
    figure.size = panel_size(o.size, n_panel);
    const auto each_plane = [&](const auto& use) {
      for (std::size_t plane = 0; plane < n_plane; ++plane) {
        if (all) figure.stokes = plane / n_chan, figure.channel = plane % n_chan;
        use();
      }
    };
    if (o.stats) each_plane([&] { stats.emplace_back(stats_of(image, figure))["file"] = input; });
    if (!o.picture) continue;
    tool.stage("draw");
    if (image.info.unit == "POWER") show_pattern(o, image, figure);
    each_plane([&] { panels.push_back(draw_image_figure(image, figure)); });
  }
  Look look{Json{{"images", stats}}, {}};
  if (o.picture) look.picture = side_by_side(panels);
  return look;
}

}  // namespace apsyn
