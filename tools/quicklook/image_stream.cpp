// SPDX-License-Identifier: GPL-3.0-or-later
// A stream of images, drawn as they come.
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <thread>

#include "libcore/base/error.h"
#include "libcore/base/log.h"
#include "libcore/base/units.h"
#include "libcore/streams/image_stream.h"
#include "tools/quicklook/quicklook.h"
#include "tools/quicklook/stats.h"

namespace apsyn {
namespace {

/// Tells a thread that waits for input to stop: `fd` can be read from then on.
class StopSignal {
 public:
  StopSignal() : fd_(::eventfd(0, EFD_CLOEXEC)) {
    if (fd_ < 0) throw FailureError("eventfd: {}", std::strerror(errno));
  }
  ~StopSignal() { ::close(fd_); }
  StopSignal(const StopSignal&) = delete;
  int fd() const { return fd_; }
  void send() { ::eventfd_write(fd_, 1); }

 private:
  int fd_;
};

/// Reads ahead and keeps the newest image only, so that whoever sends is never held up by drawing.
class NewestImage {
 public:
  NewestImage(const std::string& input, std::uint64_t max_memory_bytes) : reader_(input, stop_.fd()) {
    // a record, and as doubles the image that is read, the newest, the one to draw, its sums and the last
    // one drawn
    const double memory =
        static_cast<double>(reader_.record_bytes()) * (1 + 5 * sizeof(double) / sizeof(float));
    if (memory > static_cast<double>(max_memory_bytes))
      throw FailureError("{}: its images need {} of memory: raise --max-memory", input, format_bytes(memory));
    thread_ = std::jthread([this](const std::stop_token& stop) { read(stop); });
  }
  /// Does not wait for the sender, which may be silent for long.
  ~NewestImage() { stop_.send(); }

  /// Waits for an image that is newer than the last; false behind the end. Throws what reading threw.
  bool next(Image& image) {
    std::unique_lock lock(mutex_);
    arrived_.wait(lock, [&] { return fresh_ || ended_; });
    if (!fresh_ && error_) std::rethrow_exception(error_);
    if (!fresh_) return false;
    std::swap(image, newest_);
    fresh_ = false;
    return true;
  }

 private:
  void read(const std::stop_token& stop) {
    Image image;
    try {
      while (!stop.stop_requested() && reader_.read(image)) {
        const std::lock_guard lock(mutex_);
        std::swap(image, newest_);
        fresh_ = true;
        arrived_.notify_one();
      }
    } catch (...) {
      const std::lock_guard lock(mutex_);
      error_ = std::current_exception();
    }
    const std::lock_guard lock(mutex_);
    ended_ = true;
    arrived_.notify_one();
  }

  StopSignal stop_;
  ImageStreamReader reader_;
  std::mutex mutex_;
  std::condition_variable arrived_;
  Image newest_;
  bool fresh_ = false, ended_ = false;
  std::exception_ptr error_;
  std::jthread thread_;  // last: it uses the others
};

bool any_finite(const Image& image) {
  return std::any_of(image.pixels.begin(), image.pixels.end(),
                     [](double value) { return std::isfinite(value); });
}

}  // namespace

Look look_at_image_stream(Tool& tool, const QuicklookOptions& o,
                          const std::function<void(const Canvas&)>& show) {
  if (o.plane == "all")
    throw UsageError("--plane all: a stream of images is drawn plane by plane: choose one");
  if (o.frame.value_or(0) > 0)
    throw UsageError("--frame {}: a stream of images shows the newest one: leave it out", *o.frame);
  check_image_options(o);
  tool.stage("draw");
  NewestImage newest(o.inputs[0], tool.common().max_memory_bytes);
  Image image, drawn;
  PlanesAveraged averaged;
  std::size_t n_drawn = 0;
  while (newest.next(image)) {
    if (!any_finite(image)) {
      log_warning("an image without any data is not drawn");
      continue;
    }
    ImageMean mean(averages_channels(o));
    mean.add(image);
    drawn = mean.take();
    averaged = mean.averaged();
    if (o.picture) show(draw_image_figure(drawn, plane_options(o, drawn, averaged)));
    ++n_drawn;
  }
  if (n_drawn == 0) throw FailureError("{}: no image with any data in it", o.inputs[0]);
  log_verbose("{} pictures drawn", n_drawn);
  Look look;
  const ImageFigureOptions figure = plane_options(o, drawn, averaged);
  if (o.stats) look.stats = stats_of(drawn, figure);
  if (o.picture) look.picture = draw_image_figure(drawn, figure);
  return look;
}

}  // namespace apsyn
