// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <cmath>
#include <filesystem>

#include "libcore/io/fits_image.h"
#include "libcore/plot/image_figure.h"
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

/// A beam's power pattern spans many decades: decibels, of which the upper 50 show the sidelobes.
void show_pattern(const QuicklookOptions& o, Image& image, ImageFigureOptions& figure) {
  for (double& power : image.pixels.view().span())
    if (std::isfinite(power)) power = 10 * std::log10(std::max(power, 1e-20));
  image.info.unit = "dB";
  if (o.range.empty() && o.percentile <= 0) figure.range = {-50, 0};
  if (o.stretch.empty()) figure.stretch = StretchKind::linear;
  if (o.title.empty()) figure.title = "Pattern of beam " + image.info.object;
}

}  // namespace

double image_memory_bytes(const std::string& input) {
  std::error_code error;
  const auto size = std::filesystem::file_size(input, error);
  return error ? 0 : 3.0 * static_cast<double>(size);
}

Look look_at_image(Tool& tool, const QuicklookOptions& o) {
  ImageFigureOptions figure = image_options(o);
  tool.stage("read");
  Image image = read_fits_image(o.inputs[0], o.frame);
  if (!o.plane.empty()) choose_plane(o.plane, image, figure);
  if (o.zoom > 0) zoom_in(o.zoom, image, figure);
  Look look;
  if (o.stats) look.stats = stats_of(image, figure);
  if (!o.picture) return look;
  if (image.info.unit == "POWER") show_pattern(o, image, figure);
  tool.stage("draw");
  look.picture = draw_image_figure(image, figure);
  return look;
}

}  // namespace apsyn
