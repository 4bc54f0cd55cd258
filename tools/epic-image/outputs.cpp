// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/epic-image/outputs.h"

#include "libcore/header/ascii_header.h"
#include "libcore/streams/stream_output.h"
#include "tools/epic-image/record.h"

namespace apsyn {
namespace {

class SeriesSink final : public ImageSink {
 public:
  SeriesSink(const Tool& tool, const EpicSetup& setup, std::string pattern)
      : tool_(tool), setup_(setup), pattern_(std::move(pattern)), record_(setup, tool.common().threads) {
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
    info.end = add_picoseconds(images.begin, std::llround(images.length_s * 1e12));
    FitsCubeWriter writer(name, info, shape_of(setup_, std::nullopt), tool_.common().overwrite,
                          tool_.common().threads);
    writer.write(record_.make(images.images), images.length_s, true);
    writer.commit();
    publish_outputs();  // images are looked at while others are made
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
      : tool_(tool), setup_(setup), path_(std::move(path)), record_(setup, tool.common().threads) {
    check_output(path_, tool.common().overwrite);
  }
  void write(const TimedImages& images) override {
    if (!writer_)
      writer_ = std::make_unique<FitsCubeWriter>(path_, info_of(tool_, setup_, images),
                                                 shape_of(setup_, images.length_s), tool_.common().overwrite,
                                                 tool_.common().threads);
    writer_->write(record_.make(images.images), images.length_s, images.any_data());
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
  StreamSink(const Tool& tool, const EpicSetup& setup)
      : tool_(tool), setup_(setup), record_(setup, tool.common().threads) {
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
  std::string header(const ImageInfo& info, const FitsCubeShape& shape, const StreamEnd& end) const {
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
    keys.flux_unit(setup_.header.flux_unit);
    keys.history(info.history);
    return keys.finish();
  }

  const Tool& tool_;
  const EpicSetup& setup_;
  Record record_;
  std::unique_ptr<StreamOutput> out_;
};

}  // namespace

bool has_one_centre(const std::string& output) {
  return output.find('%') == std::string::npos;
}

std::unique_ptr<ImageSink> make_image_sink(const Tool& tool, const EpicSetup& setup,
                                           const std::string& output) {
  if (!setup.directions.empty()) return make_curve_sink(tool, setup, output);
  if (!setup.regions.empty()) return make_region_sink(tool, setup, output);
  if (output == "-") return std::make_unique<StreamSink>(tool, setup);
  std::vector<std::string> names;
  for (const OutputPlane& plane : setup.planes) names.push_back(plane.name);
  check_fits_stokes(output, names);
  if (has_one_centre(output)) return std::make_unique<CubeSink>(tool, setup, output);
  return std::make_unique<SeriesSink>(tool, setup, output);
}

}  // namespace apsyn
