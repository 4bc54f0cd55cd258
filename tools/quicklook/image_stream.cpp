// SPDX-License-Identifier: GPL-3.0-or-later
// A stream of images, drawn as they come.
#include <algorithm>
#include <cmath>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "libcore/core/error.h"
#include "libcore/core/log.h"
#include "libcore/io/image_stream.h"
#include "tools/quicklook/quicklook.h"
#include "tools/quicklook/stats.h"

namespace apsyn {
namespace {

/// Reads ahead and keeps the newest image only, so that whoever sends is never held up by drawing.
class NewestImage {
 public:
  explicit NewestImage(const std::string& input)
      : reader_(input), thread_([this](const std::stop_token& stop) { read(stop); }) {}

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
  tool.stage("draw");
  NewestImage newest(o.inputs[0]);
  Image image, drawn;
  std::size_t n_drawn = 0;
  while (newest.next(image)) {
    if (!any_finite(image)) {
      log_warning("an image without any data is not drawn");
      continue;
    }
    const ImageFigureOptions figure = plane_options(o, image);
    if (o.picture) show(draw_image_figure(image, figure));
    std::swap(image, drawn);
    ++n_drawn;
  }
  if (n_drawn == 0) throw FailureError("{}: no image with any data in it", o.inputs[0]);
  log_verbose("{} pictures drawn", n_drawn);
  Look look;
  const ImageFigureOptions figure = plane_options(o, drawn);
  if (o.stats) look.stats = stats_of(drawn, figure);
  if (o.picture) look.picture = draw_image_figure(drawn, figure);
  return look;
}

}  // namespace apsyn
