// SPDX-License-Identifier: GPL-3.0-or-later
// Images in time as epic-image(1) writes them to a pipe: a PSRDADA header, then float32 of the axes
// [TIME][COMPLEX][STOKES][FREQ][y][x].
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "libcore/image/image.h"
#include "libcore/streams/stream_payload.h"

namespace apsyn {

class ImageStreamReader {
 public:
  /// `path` may be "-". DataError when the header is none of an image stream's; FailureError when it cannot
  /// be read, and when the descriptor `stop_fd` (-1: none) can be read while the reader waits for its input.
  /// Threads read a file's images piece by piece, and sum what a pipe gives.
  explicit ImageStreamReader(const std::string& path, int stop_fd = -1, unsigned n_threads = 1);
  /// The next image, of complex planes (XY, YX, X, Y, and of R and L) the amplitudes, and its time; false at
  /// the end, which has then been checked.
  bool read(Image& image);
  /// The next image as it came, [part][stokes][freq][y][x]; false at the end, which has then been checked.
  bool read(std::vector<float>& record);
  /// Of the first image, and the time from image to image.
  const ImageInfo& info() const { return info_; }
  double step_s() const { return step_s_; }
  std::size_t nx() const { return nx_; }
  std::size_t ny() const { return ny_; }
  std::size_t n_chan() const { return n_chan_; }
  /// Images, where the stream's length is known before its end.
  std::optional<std::uint64_t> n_images() const;
  /// Of an image as it is read.
  std::uint64_t record_bytes() const { return n_part_ * n_value_ * sizeof(float); }

 private:
  bool read_file(float* to);
  bool read_pipe(float* to, std::size_t n_bytes);

  unsigned n_threads_;
  ImageInfo info_;
  std::size_t nx_ = 0, ny_ = 0, n_chan_ = 0, n_part_ = 1, n_value_ = 0;
  double step_s_ = 0;
  std::int64_t next_ = 0;
  std::unique_ptr<StreamPayload> payload_;
  std::vector<float> record_;
};

}  // namespace apsyn
