// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/epic-image/outputs.h"

#include <cmath>
#include <limits>
#include <optional>

#include "libcore/core/ascii_header.h"
#include "libcore/io/stream_output.h"

namespace apsyn {
namespace {

/// `step_s`: from image to image. Of a stream that ends within its first image that image's length, not what
/// was asked for.
FitsCubeShape shape_of(const EpicSetup& setup, std::optional<double> step_s) {
  FitsCubeShape shape;
  shape.nx = setup.epic.width();
  shape.ny = setup.epic.height();
  shape.n_chan = setup.epic.n_image_channel();
  shape.n_stokes = setup.planes.size();
  shape.complex = is_complex(setup.planes);
  shape.in_time = step_s.has_value();
  shape.step_s = step_s.value_or(0);
  return shape;
}

/// [part][stokes][freq][y][x] out of the products that were made.
class Record {
 public:
  Record(const EpicSetup& setup) : setup_(setup), shape_(shape_of(setup, std::nullopt)) {}

  std::span<const float> make(const EpicImages& images) {
    const EpicPlan& epic = setup_.epic;
    // where XX, YY, Re XY and Im XY stand among the planes that were made
    const std::size_t cross = (epic.first ? 1u : 0u) + (epic.second ? 1u : 0u);
    const std::size_t place[4] = {0, epic.first ? 1u : 0u, cross, cross + 1};
    values_.assign(shape_.n_record(), 0);
    const std::size_t n_pixel = shape_.nx * shape_.ny;
    for (std::size_t part = 0; part < shape_.n_part(); ++part)
      for (std::size_t plane = 0; plane < shape_.n_stokes; ++plane) {
        const ProductMix& mix = part == 0 ? setup_.planes[plane].real : setup_.planes[plane].imaginary;
        for (std::size_t chan = 0; chan < shape_.n_chan; ++chan) {
          float* to = values_.data() + ((part * shape_.n_stokes + plane) * shape_.n_chan + chan) * n_pixel;
          add(images, chan, mix, place, to);
        }
      }
    return values_;
  }

 private:
  static void add(const EpicImages& images, std::size_t chan, const ProductMix& mix,
                  const std::size_t (&place)[4], float* to) {
    const std::size_t n_pixel = images.planes.extent(2) * images.planes.extent(3);
    bool any = false;
    for (std::size_t product = 0; product < 4; ++product) {
      if (mix[product] == 0) continue;
      const float* from = &images.planes(chan, place[product], 0, 0);
      for (std::size_t i = 0; i < n_pixel; ++i) to[i] += mix[product] * from[i];
      any = true;
    }
    // an imaginary part of nothing is NaN where there is no sky, too
    const float* sky = &images.planes(chan, 0, 0, 0);
    for (std::size_t i = 0; i < n_pixel && !any; ++i) to[i] = std::isnan(sky[i]) ? sky[i] : 0.0f;
  }

  const EpicSetup& setup_;
  FitsCubeShape shape_;
  std::vector<float> values_;
};

ImageInfo info_of(const Tool& tool, const EpicSetup& setup, const TimedImages& first) {
  const VoltageHeader& header = setup.header;
  const EpicPlan& epic = setup.epic;
  ImageInfo info;
  info.centre = first.centre;
  info.cell_rad = epic.cell;
  info.freq_hz = (epic.channel_hz[0] + epic.channel_hz[epic.n_average - 1]) / 2;
  info.bandwidth_hz = setup.f.channel_step_hz() * static_cast<double>(epic.n_average);
  info.stokes.clear();
  for (const OutputPlane& plane : setup.planes) info.stokes.push_back(plane.name);
  info.object = header.source;
  info.telescope = header.layout.telescope.empty() ? header.telescope : header.layout.telescope;
  info.time = first.begin;
  info.keywords = {{"XPOSURE", first.length_s}};
  info.history = header.history;
  for (const std::string& line : tool.provenance()) info.history.push_back(line);
  return info;
}

class SeriesSink final : public ImageSink {
 public:
  SeriesSink(const Tool& tool, const EpicSetup& setup, std::string pattern)
      : tool_(tool), setup_(setup), pattern_(std::move(pattern)), record_(setup) {
    check_output(numbered_output("--output", pattern_, 0), tool.common().overwrite);
  }
  void write(const TimedImages& images) override {
    const std::string name = numbered_output("--output", pattern_, number_++);
    if (!images.any_data()) {
      ++n_empty_;
      return;
    }
    ImageInfo info = info_of(tool_, setup_, images);
    info.middle = images.middle;
    FitsCubeWriter writer(name, info, shape_of(setup_, std::nullopt), tool_.common().overwrite);
    writer.write(record_.make(images.images), images.length_s);
    writer.commit();
  }
  void commit() override {
    if (n_empty_ > 0)
      log_warning("{} of {} images have no usable data: their files are left out", n_empty_, number_);
  }

 private:
  const Tool& tool_;
  const EpicSetup& setup_;
  std::string pattern_;
  Record record_;
  std::size_t number_ = 0, n_empty_ = 0;
};

class CubeSink final : public ImageSink {
 public:
  CubeSink(const Tool& tool, const EpicSetup& setup, std::string path)
      : tool_(tool), setup_(setup), path_(std::move(path)), record_(setup) {
    check_output(path_, tool.common().overwrite);
  }
  void write(const TimedImages& images) override {
    if (!writer_)
      writer_ = std::make_unique<FitsCubeWriter>(path_, info_of(tool_, setup_, images),
                                                 shape_of(setup_, images.length_s), tool_.common().overwrite);
    writer_->write(record_.make(images.images), images.length_s);
  }
  void commit() override { writer_->commit(); }

 private:
  const Tool& tool_;
  const EpicSetup& setup_;
  std::string path_;
  Record record_;
  std::unique_ptr<FitsCubeWriter> writer_;
};

/// The same records behind a PSRDADA header, as epic-image(1) describes them.
class StreamSink final : public ImageSink {
 public:
  StreamSink(const Tool& tool, const EpicSetup& setup) : tool_(tool), setup_(setup), record_(setup) {
    check_output("-", tool.common().overwrite);
  }
  void write(const TimedImages& images) override {
    if (!out_) {
      const ImageInfo info = info_of(tool_, setup_, images);
      const FitsCubeShape shape = shape_of(setup_, images.length_s);
      out_ = std::make_unique<StreamOutput>(
          "-", [this, info, shape](const StreamEnd& end) { return header(info, shape, end); },
          tool_.common().overwrite);
    }
    const std::span<const float> record = record_.make(images.images);
    out_->write(record.data(), record.size_bytes());
  }
  void commit() override { out_->commit(); }

 private:
  static std::string header(const ImageInfo& info, const FitsCubeShape& shape, const StreamEnd& end) {
    HeaderWriter keys;
    keys.token("INSTRUMENT", "apsyn-image");
    keys.token("TELESCOPE", info.telescope);
    keys.token("SOURCE", info.object);
    keys.start_time(*info.time);
    keys.integer("OBS_OFFSET", 0);
    keys.size("FILE_SIZE", end.file_size.value_or(0));
    keys.integer("TRAILER", end.trailer ? 1 : 0);
    const double bandwidth_hz = info.bandwidth_hz * static_cast<double>(shape.n_chan);
    keys.number("FREQ", info.freq_hz + (bandwidth_hz - info.bandwidth_hz) / 2, -6);
    keys.number("BW", bandwidth_hz, -6);
    keys.number("TSAMP", shape.step_s, 6);
    keys.integer("NBIT", 32);
    keys.integer("NDIM", static_cast<std::int64_t>(shape.n_part()));
    keys.integer("NCHAN", static_cast<std::int64_t>(shape.n_chan));
    keys.integer("NX", static_cast<std::int64_t>(shape.nx));
    keys.integer("NY", static_cast<std::int64_t>(shape.ny));
    keys.angle("CELL", info.cell_rad);
    std::string products;
    for (const std::string& name : info.stokes) products += (products.empty() ? "" : ",") + name;
    keys.token("PRODUCTS", products);
    keys.token("ORDER", "TDPFYX");
    keys.token("ENCODING", "FLOAT");
    keys.token("ENDIAN", "LITTLE");
    keys.integer("RESOLUTION", static_cast<std::int64_t>(shape.n_record() * sizeof(float)));
    keys.phase_centre(info.centre);
    keys.history(info.history);
    return keys.finish();
  }

  const Tool& tool_;
  const EpicSetup& setup_;
  Record record_;
  std::unique_ptr<StreamOutput> out_;
};

/// A line for each time, direction and channel.
class CurveSink final : public ImageSink {
 public:
  CurveSink(const Tool& tool, const EpicSetup& setup, const std::string& path)
      : setup_(setup),
        record_(setup),
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
        const double freq_hz =
            (epic.channel_hz[chan * epic.n_average] + epic.channel_hz[(chan + 1) * epic.n_average - 1]) / 2;
        text += fmt::format("{},{},{:.3f}", time, setup_.directions[i].id, freq_hz);
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

}  // namespace

bool has_one_centre(const std::string& output) {
  return output.find('%') == std::string::npos;
}

std::unique_ptr<ImageSink> make_image_sink(const Tool& tool, const EpicSetup& setup,
                                           const std::string& output) {
  if (!setup.directions.empty()) return std::make_unique<CurveSink>(tool, setup, output);
  if (output == "-") return std::make_unique<StreamSink>(tool, setup);
  std::vector<std::string> names;
  for (const OutputPlane& plane : setup.planes) names.push_back(plane.name);
  check_fits_stokes(output, names);
  if (has_one_centre(output)) return std::make_unique<CubeSink>(tool, setup, output);
  return std::make_unique<SeriesSink>(tool, setup, output);
}

}  // namespace apsyn
