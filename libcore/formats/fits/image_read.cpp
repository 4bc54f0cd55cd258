// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <cmath>
#include <limits>

#include "libcore/base/constants.h"
#include "libcore/base/error.h"
#include "libcore/base/log.h"
#include "libcore/formats/fits/celestial.h"
#include "libcore/formats/fits/image.h"
#include "libcore/formats/fits/keys.h"
#include "libcore/formats/fits/memory.h"

namespace apsyn {
namespace {

void read_stokes(const FitsPrimary& fits, const FitsAxis& axis, ImageInfo& info) {
  info.stokes.clear();
  for (std::size_t i = 0; i < axis.length; ++i) {
    const double value = axis.first() + static_cast<double>(i) * axis.step;
    if (axis.type == "FEED" && !feed_label(value).empty()) {
      info.stokes.push_back(feed_label(value));
      continue;
    }
    const auto& table = stokes_numbers();
    const auto entry = std::find_if(table.begin(), table.end(),
                                    [&](const auto& known) { return std::abs(known.first - value) < 0.01; });
    if (entry == table.end())
      throw DataError("{}: {} = {} in plane {}: no known polarisation", fits.name, axis.type, value, i + 1);
    info.stokes.push_back(entry->second);
  }
}

std::optional<UtcTime> read_date(const FitsKeys& keys, const FitsPrimary& fits, const char* keyword) {
  auto date = keys.text(keyword);
  if (!date) return std::nullopt;
  const std::string system = keys.text("TIMESYS").value_or("UTC");
  if (date->find('T') == std::string::npos) *date += "T00:00:00";
  try {
    if (system != "UTC") throw DataError("TIMESYS {}", system);
    return parse_utc(*date);
  } catch (const DataError&) {
    log_warning("{}: {} '{}' ({}): not understood, left out", fits.name, keyword, *date, system);
  }
  return std::nullopt;
}

void read_description(const FitsKeys& keys, const FitsPrimary& fits, ImageInfo& info) {
  info.unit = keys.text("BUNIT").value_or("");
  info.object = keys.text("OBJECT").value_or("unknown");
  info.telescope = keys.text("TELESCOP").value_or("unknown");
  info.frequency_frame = keys.text("SPECSYS").value_or(info.frequency_frame);
  info.observer = keys.text("OBSERVER").value_or("");
  info.time = read_date(keys, fits, "DATE-OBS");
  info.end = read_date(keys, fits, "DATE-END");
  info.middle = read_date(keys, fits, "DATE-AVG");
  const double major = keys.number("BMAJ").value_or(0), minor = keys.number("BMIN").value_or(major);
  if (major > 0 && minor > 0)
    info.beam =
        RestoringBeam{major * kRadPerDeg, minor * kRadPerDeg, keys.number("BPA").value_or(0) * kRadPerDeg};
  if (keys.flag("CASAMBM"))
    log_warning("{}: every plane has its own beam (table BEAMS); they are not read", fits.name);
  info.history = fits_history(fits);
  info.keywords = other_numeric_keywords(fits);
}

/// Where the planes of a frame lie, whatever the order of the file's axes.
struct PlaneOrder {
  std::size_t n_stokes = 1, n_freq = 1;
  bool stokes_first = false;  ///< STOKES varies faster than FREQ in the file
  std::size_t frame = 0, n_frame = 1;
  bool mirror_x = false, mirror_y = false;
};

/// The axes that count frames: frame / inner % length is the index along them.
struct FrameAxis {
  std::size_t inner = 1, length = 1;
  double first = 0, step = 0;
  std::size_t index(std::size_t frame) const { return frame / inner % length; }
};

struct ImageLayout {
  PlaneOrder order;
  FrameAxis time, part;  ///< of length 1 when the file has none
  bool has_time = false;
};

/// Fills what the axes tell of the image, too.
ImageLayout read_layout(const FitsKeys& keys, const FitsPrimary& fits, ImageInfo& info) {
  ImageLayout layout;
  PlaneOrder& order = layout.order;
  FitsAxis x = read_fits_axis(keys, fits, 1), y = read_fits_axis(keys, fits, 2);
  read_fits_celestial(keys, fits, x, y, info);
  order.mirror_x = x.step > 0;
  order.mirror_y = y.step < 0;
  info.freq_hz = 0;
  bool has_freq = false, has_stokes = false;
  for (int number = 3; number <= static_cast<int>(fits.axes.size()); ++number) {
    const FitsAxis axis = read_fits_axis(keys, fits, number);
    const bool is_stokes = axis.type == "STOKES" || axis.type == "FEED";
    if (is_stokes && !has_stokes) {
      has_stokes = true;
      read_stokes(fits, axis, info);
      order.n_stokes = axis.length;
      order.stokes_first = !has_freq;
    } else if (axis.type.starts_with("FREQ") && !has_freq) {
      has_freq = true;
      info.freq_hz = axis.first();
      info.bandwidth_hz = axis.step;
      order.n_freq = axis.length;
    } else if (axis.type == "TIME" || axis.type == "COMPLEX") {
      (axis.type == "TIME" ? layout.time : layout.part) = {order.n_frame, axis.length, axis.first(),
                                                           axis.step};
      layout.has_time = layout.has_time || axis.type == "TIME";
      order.n_frame *= axis.length;
    } else if (axis.length > 1) {
      throw DataError("{}: axis {} is '{}' of length {}: FREQ or STOKES is needed", fits.name, number,
                      axis.type, axis.length);
    }
    if (order.n_frame > 1 && (is_stokes || axis.type.starts_with("FREQ")) && axis.length > 1)
      throw DataError("{}: axis {} is '{}' behind TIME or COMPLEX: it must come before", fits.name, number,
                      axis.type);
  }
  return layout;
}

/// DATE-OBS, or that of a frame.
void add_frame_time(const ImageLayout& layout, ImageInfo& info) {
  if (!info.time || layout.time.length == 0) return;
  const double after_s =
      layout.time.first + static_cast<double>(layout.time.index(layout.order.frame)) * layout.time.step;
  info.time = add_picoseconds(*info.time, static_cast<__int128>(std::llround(after_s * 1e12)));
  if (layout.order.n_frame > 1) info.end = info.middle = std::nullopt;  // those of all frames
}

void read_pixels(const MemoryFits& memory, const FitsPrimary& fits, const PlaneOrder& order, Image& image) {
  const auto nx = static_cast<std::size_t>(fits.axes[0]), ny = static_cast<std::size_t>(fits.axes[1]);
  image.pixels.resize({order.n_stokes, order.n_freq, ny, nx});
  double blank = std::numeric_limits<double>::quiet_NaN();
  // Only integers have a blank value; asking for it would turn infinities of floating-point files into NaN.
  void* const null_value = fits.bitpix > 0 ? &blank : nullptr;
  for (std::size_t plane = 0; plane < order.n_stokes * order.n_freq; ++plane) {
    const std::size_t stokes = order.stokes_first ? plane % order.n_stokes : plane / order.n_freq;
    const std::size_t freq = order.stokes_first ? plane / order.n_stokes : plane % order.n_freq;
    const View<double, 2> pixels = image.pixels.view()[stokes][freq];
    int status = 0, any_blank = 0;
    const std::size_t in_file = order.frame * order.n_stokes * order.n_freq + plane;
    memory.check(fits_read_img(memory.get(), TDOUBLE, static_cast<LONGLONG>(in_file * nx * ny) + 1,
                               static_cast<LONGLONG>(nx * ny), null_value, pixels.data(), &any_blank,
                               &status));
    if (order.mirror_x)
      for (std::size_t y = 0; y < ny; ++y) std::reverse(pixels[y].begin(), pixels[y].end());
    if (order.mirror_y)
      for (std::size_t y = 0; y < ny / 2; ++y)
        std::swap_ranges(pixels[y].begin(), pixels[y].end(), pixels[ny - 1 - y].begin());
  }
}

/// Images that we wrote are as they were written, or say that they are not. Those of others may have been
/// changed by programs that leave the old sums.
void check_own_sum(const MemoryFits& memory, const FitsKeys& keys, const FitsPrimary& fits) {
  if (keys.text("ORIGIN") != "apsyn" || !keys.text("DATASUM")) return;
  int data_state = 0, hdu_state = 0, status = 0;
  memory.check(fits_verify_chksum(memory.get(), &data_state, &hdu_state, &status));
  if (data_state < 0)
    throw DataError(
        "{}: DATASUM {} is not the sum of its pixels, which were damaged or changed after apsyn wrote them: "
        "make "
        "the image again, or delete DATASUM and CHECKSUM if the change was meant",
        fits.name, *keys.text("DATASUM"));
}

}  // namespace

std::vector<std::size_t> read_fits_shape(const std::string& path) {
  const FitsPrimary fits = read_fits_header(path);
  return {fits.axes.begin(), fits.axes.end()};
}

FitsSeries read_fits_series(const std::string& path) {
  FitsPrimary fits = read_fits_header(path);
  const MemoryFits memory(fits);
  const FitsKeys keys(memory.get(), fits.name);
  FitsSeries series;
  const ImageLayout layout = read_layout(keys, fits, series.info);
  read_description(keys, fits, series.info);
  const PlaneOrder& order = layout.order;
  series.nx = static_cast<std::size_t>(fits.axes[0]), series.ny = static_cast<std::size_t>(fits.axes[1]);
  series.n_chan = order.n_freq;
  series.has_time = layout.has_time;
  series.n_time = layout.time.length;
  series.first_s = layout.time.first, series.step_s = layout.time.step;
  series.time_stride = layout.time.inner * order.n_stokes * order.n_freq;
  series.stokes_first = order.stokes_first;
  return series;
}

double read_fits_beam_pixels(const std::string& path) {
  const FitsPrimary fits = read_fits_header(path);
  const double major = header_number(fits, "BMAJ"), minor = header_number(fits, "BMIN"),
               cell = header_number(fits, "CDELT2");
  return major > 0 && minor > 0 && cell != 0 ? std::sqrt(major * minor) / std::abs(cell) : 0;
}

std::vector<std::pair<std::string, double>> read_fits_keywords(const std::string& path) {
  return other_numeric_keywords(read_fits_header(path));
}

Image read_fits_image(const std::string& path, std::optional<std::size_t> frame) {
  FitsPrimary fits = read_fits_primary(path);
  const MemoryFits memory(fits);
  const FitsKeys keys(memory.get(), fits.name);
  check_own_sum(memory, keys, fits);
  Image image;
  ImageLayout layout = read_layout(keys, fits, image.info);
  PlaneOrder& order = layout.order;
  order.frame = frame.value_or(0);
  if (order.n_frame > 1 && !frame)
    throw DataError("{}: {} times or parts: give one of them a file of its own", fits.name, order.n_frame);
  if (order.frame >= order.n_frame)
    throw UsageError("{}: frame {}: the file has frames 0 to {}", fits.name, order.frame, order.n_frame - 1);
  read_description(keys, fits, image.info);
  add_frame_time(layout, image.info);
  read_pixels(memory, fits, order, image);
  return image;
}

void for_each_fits_frame(const std::string& path, const std::function<void(Image&)>& use) {
  FitsPrimary fits = read_fits_primary(path);
  const MemoryFits memory(fits);
  const FitsKeys keys(memory.get(), fits.name);
  check_own_sum(memory, keys, fits);
  Image image;
  ImageLayout layout = read_layout(keys, fits, image.info);
  read_description(keys, fits, image.info);
  const std::optional<UtcTime> start = image.info.time;
  for (std::size_t frame = 0; frame < layout.order.n_frame; ++frame) {
    if (layout.part.index(frame) != 0) continue;  // an imaginary part
    layout.order.frame = frame;
    image.info.time = start;
    add_frame_time(layout, image.info);
    read_pixels(memory, fits, layout.order, image);
    use(image);
  }
}

}  // namespace apsyn
