// SPDX-License-Identifier: GPL-3.0-or-later
// Light curves: tables (CSV) of directions, or of regions of the images.
#include <algorithm>
#include <limits>

#include "libcore/files/output.h"
#include "libcore/sky/regions.h"
#include "tools/epic-image/record.h"
#include "tools/epic-image/regions.h"

namespace apsyn {
namespace {

double middle_hz(const EpicPlan& epic, std::size_t chan) {
  return (epic.channel_hz[chan * epic.n_average] + epic.channel_hz[(chan + 1) * epic.n_average - 1]) / 2;
}

/// A line for each time, direction and channel.
class CurveSink final : public ImageSink {
 public:
  CurveSink(const Tool& tool, const EpicSetup& setup, const std::string& path)
      : setup_(setup),
        record_(setup, tool.common().threads),
        shape_(shape_of(setup, std::nullopt)),
        out_(path, tool.common().overwrite) {
    std::string head = "time_utc,id,freq_hz";
    for (const OutputPlane& plane : setup.planes)
      head +=
          plane.imaginary == ProductMix{} ? "," + plane.name : "," + plane.name + "_re," + plane.name + "_im";
    put(head + "\n");
  }
  void write(const TimedImages& images) override {
    const std::span<const float> record = record_.make(images.images);
    const EpicPlan& epic = setup_.epic;
    const std::string time = format_fits_utc(images.middle, 9);
    std::string text;
    for (std::size_t i = 0; i < shape_.nx; ++i)
      for (std::size_t chan = 0; chan < shape_.n_chan; ++chan) {
        text += fmt::format("{},{},{:.3f}", time, setup_.directions[i].id, middle_hz(epic, chan));
        for (std::size_t plane = 0; plane < shape_.n_stokes; ++plane)
          for (std::size_t part = 0; part < shape_.n_part(); ++part)
            if (part == 0 || setup_.planes[plane].imaginary != ProductMix{})
              text += fmt::format(
                  ",{:.7g}",
                  record[((part * shape_.n_stokes + plane) * shape_.n_chan + chan) * shape_.nx + i]);
        text += "\n";
      }
    put(text);
  }
  void commit() override { out_.commit(); }

 private:
  void put(const std::string& text) { out_.write(text.data(), text.size()); }

  const EpicSetup& setup_;
  Record record_;
  FitsCubeShape shape_;
  OutputFile out_;
};

/// A line for each time, region and channel: how many of its pixels are above the horizon, and of them the
/// mean of each plane (real and imaginary part of complex ones) and the largest value (of real ones).
class RegionSink final : public ImageSink {
 public:
  RegionSink(const Tool& tool, const EpicSetup& setup, const std::string& path)
      : setup_(setup),
        record_(setup, tool.common().threads),
        shape_(shape_of(setup, std::nullopt)),
        out_(path, tool.common().overwrite) {
    std::string head = "time_utc,region,freq_hz,pixels";
    for (const OutputPlane& plane : setup.planes)
      head += is_real(plane) ? "," + plane.name + "_mean," + plane.name + "_max"
                             : "," + plane.name + "_re_mean," + plane.name + "_im_mean";
    put(head + "\n");
  }
  void write(const TimedImages& images) override {
    // All images have the centre of the first.
    if (regions_.empty()) regions_ = region_pixels(setup_, images.centre);
    const bool measured = images.images.regions.size() > 0;
    const std::span<const float> record = measured ? std::span<const float>() : record_.make(images.images);
    const std::string time = format_fits_utc(images.middle, 9);
    std::string text;
    for (std::size_t region = 0; region < regions_.size(); ++region)
      for (std::size_t chan = 0; chan < shape_.n_chan; ++chan) {
        const auto of = [&](std::size_t part, std::size_t plane) {
          if (measured) {
            const EpicRegion& found = images.images.regions(chan, plane, region);
            return Figures{static_cast<std::size_t>(found.n), found.mean, found.largest};
          }
          const std::size_t at = (part * shape_.n_stokes + plane) * shape_.n_chan + chan;
          return figures(record.subspan(at * shape_.nx * shape_.ny, shape_.nx * shape_.ny), regions_[region]);
        };
        text += fmt::format("{},{},{:.3f},{}", time, region + 1, middle_hz(setup_.epic, chan), of(0, 0).n);
        for (std::size_t plane = 0; plane < shape_.n_stokes; ++plane) {
          const Figures real = of(0, plane);
          text += fmt::format(",{:.7g},{:.7g}", real.mean,
                              is_real(setup_.planes[plane]) ? real.largest : of(1, plane).mean);
        }
        text += "\n";
      }
    put(text);
  }
  void commit() override { out_.commit(); }

 private:
  struct Figures {
    std::size_t n = 0;
    double mean = std::numeric_limits<double>::quiet_NaN(), largest = mean;
  };
  static bool is_real(const OutputPlane& plane) { return plane.imaginary == ProductMix{}; }
  static Figures figures(std::span<const float> plane, const std::vector<std::uint32_t>& pixels) {
    Figures out;
    double sum = 0, largest = -std::numeric_limits<double>::infinity();
    for (const std::uint32_t pixel : pixels) {
      const auto value = static_cast<double>(plane[pixel]);
      if (std::isnan(value)) continue;
      ++out.n;
      sum += value;
      largest = std::max(largest, value);
    }
    if (out.n == 0) return out;
    out.mean = sum / static_cast<double>(out.n);
    out.largest = largest;
    return out;
  }
  void put(const std::string& text) { out_.write(text.data(), text.size()); }

  const EpicSetup& setup_;
  Record record_;
  FitsCubeShape shape_;
  OutputFile out_;
  std::vector<std::vector<std::uint32_t>> regions_;  // [region] its pixels
};

}  // namespace

std::unique_ptr<ImageSink> make_curve_sink(const Tool& tool, const EpicSetup& setup,
                                           const std::string& path) {
  return std::make_unique<CurveSink>(tool, setup, path);
}

std::unique_ptr<ImageSink> make_region_sink(const Tool& tool, const EpicSetup& setup,
                                            const std::string& path) {
  return std::make_unique<RegionSink>(tool, setup, path);
}

}  // namespace apsyn
