// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/streams/image_source.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "libcore/base/error.h"
#include "libcore/formats/fits/image.h"
#include "libcore/formats/fits/sky_cube.h"
#include "libcore/streams/detect.h"
#include "libcore/streams/image_stream.h"

namespace apsyn {
namespace {

std::string joined(const std::vector<std::size_t>& planes, const std::vector<std::string>& stokes) {
  std::string text;
  for (const std::size_t plane : planes) text += (text.empty() ? "" : "+") + stokes[plane];
  return text;
}

class StreamImages final : public ImageSource {
 public:
  StreamImages(const std::string& path, const std::string& how, unsigned n_threads)
      : reader_(path, -1, n_threads) {
    const std::string name = path == "-" ? "standard input" : path;
    planes_ = intensity_planes(how, reader_.info().stokes, name);
    info_ = {name,
             reader_.info(),
             reader_.nx(),
             reader_.ny(),
             reader_.n_chan(),
             reader_.step_s(),
             reader_.n_images(),
             joined(planes_, reader_.info().stokes)};
  }
  bool read(std::vector<float>& planes, SkyDirection& centre) override {
    centre = info_.image.centre;
    const std::size_t n = info_.nx * info_.ny * info_.n_chan;
    // a single plane is the record itself
    if (info_.image.stokes.size() == 1 && reader_.record_bytes() == n * sizeof(float))
      return reader_.read(planes);
    if (!reader_.read(record_)) return false;
    const auto factor = 1 / static_cast<float>(planes_.size());
    planes.assign(n, 0);
    for (const std::size_t plane : planes_) {
      const float* from = record_.data() + plane * n;
      for (std::size_t i = 0; i < n; ++i) planes[i] += factor * from[i];
    }
    return true;
  }

 private:
  ImageStreamReader reader_;
  std::vector<std::size_t> planes_;
  std::vector<float> record_;
};

/// Files are opened one after the other.
class FitsImages final : public ImageSource {
 public:
  FitsImages(const std::vector<std::string>& paths, const std::string& how) {
    for (const std::string& path : paths) add(path, how);
    set_step();
    set_channels();
    std::int64_t before = 0;
    for (File& file : files_) {
      const double after_s = seconds_between(*info_.image.time, file.begin), at = after_s / info_.step_s;
      file.first = std::llround(at);
      if (!(std::abs(at - static_cast<double>(file.first)) <= 0.1))
        throw DataError("{}: begins {} after {}, which is no multiple of the {} from image to image",
                        file.path(), format_duration(after_s), info_.name, format_duration(info_.step_s));
      if (file.first < before)
        throw DataError(
            "{}: begins before the end of the file before it: give files in the order of their times",
            file.path());
      before = file.first + static_cast<std::int64_t>(file.series.n_time);
    }
    info_.n_images = static_cast<std::uint64_t>(before);
  }

  bool read(std::vector<float>& planes, SkyDirection& centre) override {
    if (number_ == files_.size()) return false;
    const File& file = files_[number_];
    centre = file.series.info.centre;
    planes.clear();
    if (next_++ < file.first) return true;  // a missing image
    if (cubes_.empty())
      for (const std::string& path : file.paths) cubes_.emplace_back(path);
    const std::size_t n = info_.nx * info_.ny;
    planes.assign(n * info_.n_chan, 0);
    pixels_.resize_for_overwrite({info_.ny, info_.nx});
    const double factor = 1 / static_cast<double>(file.planes.size());
    for (std::size_t chan = 0; chan < info_.n_chan; ++chan)
      for (const std::size_t plane : file.planes) {
        if (cubes_.size() > 1)
          cubes_[chan].read_plane(file.series.plane(0, plane, 0), pixels_);
        else
          cubes_[0].read_plane(file.series.plane(time_, plane, chan), pixels_);
        float* to = planes.data() + chan * n;
        for (std::size_t i = 0; i < n; ++i) to[i] += static_cast<float>(factor * pixels_.data()[i]);
      }
    if (++time_ == file.series.n_time) {
      cubes_.clear();
      time_ = 0, ++number_;
    }
    return true;
  }

 private:
  /// What begins at one time: a file, or one for each channel.
  struct File {
    std::vector<std::string> paths;
    std::vector<double> freq_hz;  ///< of the first channel of each
    FitsSeries series;            ///< of the first
    std::vector<std::size_t> planes;
    UtcTime begin;           ///< of its first image
    std::int64_t first = 0;  ///< image
    const std::string& path() const { return paths.front(); }
  };

  void add(const std::string& path, const std::string& how) {
    File file{{path}, {}, read_fits_series(path), {}, {}};
    FitsSeries& series = file.series;
    series.info.history.clear();
    file.freq_hz = {series.info.freq_hz};
    if (!series.info.time)
      throw DataError("{}: has no DATE-OBS, so that its place in time is not known", path);
    file.planes = intensity_planes(how, series.info.stokes, path);
    file.begin = *series.info.time;
    if (series.has_time) {
      if (!(series.step_s > 0) || !std::isfinite(series.first_s) || series.step_s > 86400)
        throw DataError("{}: the axis TIME has steps of {} s: they must be positive and at most a day", path,
                        series.step_s);
      const double middle_s = series.first_s - series.step_s / 2;
      file.begin = add_picoseconds(file.begin, static_cast<__int128>(std::llround(middle_s * 1e12)));
    }
    if (files_.empty()) {
      info_ = {path,
               series.info,
               series.nx,
               series.ny,
               series.n_chan,
               series.has_time ? series.step_s : 0,
               {},
               joined(file.planes, series.info.stokes)};
      info_.image.time = file.begin;
    } else {
      check_same(file);
      File& last = files_.back();
      if (file.begin == last.begin && series.n_chan == 1 && !series.has_time) {
        last.paths.push_back(path);
        last.freq_hz.push_back(series.info.freq_hz);
        return;
      }
      const double step_s = seconds_between(last.begin, file.begin);
      if (!(step_s > 0))
        throw DataError("{}: does not begin after {}: give files in the order of their times", path,
                        last.paths.back());
      // the shortest step is that from image to image: others pass over images that are missing
      if (!series.has_time) info_.step_s = info_.step_s > 0 ? std::min(info_.step_s, step_s) : step_s;
    }
    files_.push_back(std::move(file));
  }

  /// Of files without an axis TIME: the mean, which the rounding of dates does not change as the shortest
  /// one.
  void set_step() {
    const double span_s = seconds_between(files_.front().begin, files_.back().begin);
    if (info_.step_s == 0) info_.step_s = 1;  // of one image alone
    if (!files_.front().series.has_time && span_s > 0)
      info_.step_s = span_s / std::round(span_s / info_.step_s);
  }

  static bool close(double x, double y) { return std::abs(x - y) <= 1e-6 * std::abs(x); }

  void check_same(const File& file) const {
    const FitsSeries& a = files_.front().series;
    const FitsSeries& b = file.series;
    const auto differs = [&](const char* what) {
      throw DataError("{}: has other {} than {}: search them one by one", file.path(), what, info_.name);
    };
    if (a.nx != b.nx || a.ny != b.ny) differs("numbers of pixels");
    if (!close(a.info.cell_rad, b.info.cell_rad)) differs("pixels");
    if (reference_pixel(a.info, a.nx, a.ny) != reference_pixel(b.info, b.nx, b.ny))
      differs("reference pixels");
    if (a.n_chan != b.n_chan || !close(a.info.bandwidth_hz, b.info.bandwidth_hz)) differs("channels");
    if (a.info.stokes != b.info.stokes) differs("polarisations");
    if (a.has_time != b.has_time || (a.has_time && !close(a.step_s, b.step_s))) differs("steps in time");
  }

  /// Files of the same time are channels of one image, the same at all times and evenly spaced.
  void set_channels() {
    const File& first = files_.front();
    for (const File& file : files_) {
      const bool same = std::equal(first.freq_hz.begin(), first.freq_hz.end(), file.freq_hz.begin(),
                                   file.freq_hz.end(), close);
      if (!same)
        throw DataError("{}: its time has other channels than that of {}: give the same files of all times",
                        file.path(), info_.name);
    }
    const std::size_t n = first.paths.size();
    if (n == 1) return;
    info_.n_chan = n;
    const double step_hz = (first.freq_hz.back() - first.freq_hz.front()) / static_cast<double>(n - 1);
    for (std::size_t chan = 0; chan < n; ++chan)
      if (!(std::abs(first.freq_hz[chan] - first.freq_hz[0] - static_cast<double>(chan) * step_hz) <=
            0.01 * std::abs(step_hz)) ||
          step_hz == 0)
        throw DataError(
            "{}: its frequency of {:.6g} MHz is not evenly between those of the files of its time",
            first.paths[chan], first.freq_hz[chan] * 1e-6);
    info_.image.bandwidth_hz = step_hz;
  }

  std::vector<File> files_;
  std::size_t number_ = 0, time_ = 0;  ///< the next image: file, and image of it
  std::int64_t next_ = 0;              ///< image of the series
  std::vector<SkyCube> cubes_;
  Buffer<double, 2> pixels_;
};

}  // namespace

std::vector<std::size_t> intensity_planes(std::string_view how, const std::vector<std::string>& stokes,
                                          const std::string& name) {
  const auto find = [&](std::string_view plane) -> std::optional<std::size_t> {
    const auto found = std::find(stokes.begin(), stokes.end(), plane);
    if (found == stokes.end()) return std::nullopt;
    return static_cast<std::size_t>(found - stokes.begin());
  };
  std::vector<std::size_t> planes;
  if (how == "first") planes = {0};
  if (how == "sum") {
    if (stokes.size() < 2) throw UsageError("--intensity sum: {} has one polarisation: give first", name);
    planes = {0, 1};
  }
  if (how == "auto") {
    if (const auto i = find("I")) {
      planes = {*i};
    } else {
      for (const char* power : {"XX", "YY", "RR", "LL"})
        if (const auto plane = find(power); plane && planes.size() < 2) planes.push_back(*plane);
    }
    if (planes.empty())
      throw DataError("{}: has {}, of which no intensity is made: make images of I, XX or YY", name,
                      joined(std::vector<std::size_t>{0}, stokes));
  }
  constexpr std::array kComplex{"XY", "YX", "RL", "LR", "X", "Y", "R", "L"};
  for (const std::size_t plane : planes)
    if (std::find(kComplex.begin(), kComplex.end(), stokes[plane]) != kComplex.end())
      throw DataError("{}: {} is complex, and no intensity: make images of I, XX or YY", name, stokes[plane]);
  return planes;
}

std::unique_ptr<ImageSource> open_images(const std::vector<std::string>& paths, const std::string& how,
                                         unsigned n_threads) {
  for (const std::string& path : paths) {
    const InputKind kind = detect_input(path);
    if (kind == InputKind::image_stream && paths.size() > 1)
      throw UsageError("{}: a stream of images is searched by itself: give no other input", path);
    if (kind != InputKind::image_stream && kind != InputKind::image)
      throw UsageError("{}: is no image: give a stream of images, or FITS images", path);
    if (kind == InputKind::image && path == "-")
      throw UsageError(
          "-: FITS images are read from files only: write a stream (epic-image -o -) into the pipe");
    if (kind == InputKind::image_stream) return std::make_unique<StreamImages>(path, how, n_threads);
  }
  return std::make_unique<FitsImages>(paths, how);
}

}  // namespace apsyn
