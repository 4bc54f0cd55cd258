// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/imaging/images.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <utility>

#include "libcore/array/array_layout.h"
#include "libcore/base/error.h"
#include "libcore/system/parallel.h"

namespace apsyn::imaging {

void add_to(GroupImages& sum, const GroupImages& group) {
  if (sum.weight_sum.empty()) {
    sum.times = group.times;
    sum.pixels.resize(group.pixels.shape());
    sum.weight_sum.assign(group.weight_sum.size(), 0);
    sum.beam.resize(group.beam.shape());
  }
  for (std::size_t i = 0; i < group.pixels.size(); ++i) sum.pixels.data()[i] += group.pixels.data()[i];
  for (std::size_t i = 0; i < group.beam.size(); ++i) sum.beam.data()[i] += group.beam.data()[i];
  for (std::size_t i = 0; i < group.weight_sum.size(); ++i) sum.weight_sum[i] += group.weight_sum[i];
}

ImageInfo info_of(const Imager& imager, const Field& field, const ChannelGroup& group,
                  const std::vector<std::string>& stokes, const std::optional<ImageTimes>& times) {
  const ImagingInfo& from = imager.source.info();
  ImageInfo info;
  info.centre = field.centre;
  info.cell_rad = imager.options.imaging.cell_rad;
  info.freq_hz = group.centre_hz();
  info.bandwidth_hz = group.width_hz;
  info.frequency_frame = from.frequency_frame;
  info.stokes = stokes;
  info.unit = per_beam(from.flux_unit);
  info.object = from.object;
  info.telescope = from.telescope;
  info.observer = from.observer;
  info.time = times ? times->start : from.start;
  info.end = times ? times->end : from.end;
  const double exposure_s = times ? times->exposure_s : from.exposure_s;
  if (exposure_s > 0) info.keywords.emplace_back("XPOSURE", exposure_s);
  if (!from.layouts.empty())
    for (auto& keyword : site_keywords(from.layouts[0].site)) info.keywords.push_back(std::move(keyword));
  info.history = imager.tool.provenance();
  return info;
}

FitsPixelSource ImageCut::source() const {
  return [this](std::size_t at, std::span<double> pixels) {
    for (std::size_t done = 0; done < pixels.size();) {
      const std::size_t i = at + done, x = i % extent.n_x, y = i / extent.n_x % extent.n_y,
                        plane = first + i / extent.n_x / extent.n_y;
      const std::size_t n = std::min(extent.n_x - x, pixels.size() - done);
      const double weight = images.weight_sum[plane];
      const double* sums = &images.pixels(plane, images.pixels.extent(1) / 2 - extent.n_y / 2 + y,
                                          images.pixels.extent(2) / 2 - extent.n_x / 2 + x);
      std::transform(sums, sums + n, &pixels[done], [weight](double sum) { return sum / weight; });
      done += n;
    }
  };
}

ImageCut cut_image(const Imager& imager, const Field& field, const GroupImages& images, std::size_t first,
                   const std::vector<std::string>& stokes, const ChannelGroup& group, const Extent& extent) {
  for (std::size_t p = 0; p < stokes.size(); ++p)
    if (!(images.weight_sum[first + p] > 0))
      throw FailureError("{}: no usable data for {}: leave it out of --pol", imager.options.inputs[0],
                         stokes[p]);
  ImageCut cut{info_of(imager, field, group, stokes, images.times), images, first, extent};
  cut.info.keywords.emplace_back("WSCIMGWG", images.weight_sum[first]);
  return cut;
}

Image whole_image(const ImageCut& cut, unsigned n_threads) {
  Image image{cut.info, {}};
  image.pixels.resize_for_overwrite(cut.shape());
  const FitsPixelSource source = cut.source();
  const std::size_t n_rows = cut.shape()[0] * cut.extent.n_y, n_x = cut.extent.n_x;
  parallel_for(n_threads, n_rows, [&](std::size_t row, unsigned) {
    source(row * n_x, {image.pixels.data() + row * n_x, n_x});
  });
  return image;
}

Image take_beam_out(const Imager& imager, const Field& field, const GroupImages& images,
                    const ChannelGroup& group, unsigned n_threads, Image& dirty) {
  const std::size_t n_y = dirty.pixels.extent(2), n_x = dirty.pixels.extent(3);
  const std::size_t skip_y = images.beam.extent(0) / 2 - n_y / 2,
                    skip_x = images.beam.extent(1) / 2 - n_x / 2;
  Image beam{info_of(imager, field, group, {"I"}, images.times), {}};
  beam.info.unit = "";
  beam.pixels.resize_for_overwrite({1, 1, n_y, n_x});
  std::vector<double> row_peak(n_y, 0);
  parallel_for(n_threads, n_y, [&](std::size_t y, unsigned) {
    for (std::size_t x = 0; x < n_x; ++x) {
      beam.pixels(0, 0, y, x) = images.beam(skip_y + y, skip_x + x) / images.weight_sum[0];
      row_peak[y] = std::fmax(row_peak[y], beam.pixels(0, 0, y, x));
    }
  });
  double peak = 0;
  for (const double own : row_peak) peak = std::fmax(peak, own);
  parallel_for(n_threads, n_y, [&](std::size_t y, unsigned) {
    for (std::size_t p = 0; p < dirty.pixels.extent(0); ++p)
      for (std::size_t x = 0; x < n_x; ++x) {
        const double response = beam.pixels(0, 0, y, x);
        double& pixel = dirty.pixels(p, 0, y, x);
        pixel = response > kMinBeam * peak ? pixel / response : NAN;
      }
  });
  dirty.info.keywords.emplace_back("PBCOR", 1);  // for those who would divide by the beam again
  return beam;
}

std::string part_name(std::size_t group, std::size_t n_groups) {
  return n_groups == 1 ? "" : fmt::format("-{:04}", group);
}

std::string interval_name(std::size_t interval, std::size_t n_intervals) {
  return n_intervals == 1 ? "" : fmt::format("-t{:04}", interval);
}

double beam_peak(View<const double, 2> beam) {
  double peak = 0;
  for (const double value : beam) peak = std::fmax(peak, value);
  return peak;
}

Buffer<double, 3> over_beam(View<const double, 3> image, View<const double, 2> beam) {
  Buffer<double, 3> result(image.shape());
  const double least = kMinBeam * beam_peak(beam);
  for (std::size_t i = 0; i < image.size(); ++i) {
    const double response = beam.data()[i % beam.size()];
    result.data()[i] = response > least ? image.data()[i] / response : NAN;
  }
  return result;
}

Buffer<double, 3> model_over_beam(View<const double, 3> model, View<const double, 2> beam) {
  Buffer<double, 3> result = over_beam(model, beam);
  for (double& flux : result)
    if (!std::isfinite(flux)) flux = 0;
  return result;
}

}  // namespace apsyn::imaging
