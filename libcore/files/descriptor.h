// SPDX-License-Identifier: GPL-3.0-or-later
// A file descriptor that closes itself. One of PendingOutput::create_file() has to live longer than the
// claim: declare it before.
#pragma once

#include <unistd.h>

#include <utility>

namespace apsyn {

class Descriptor {
 public:
  Descriptor() = default;
  ~Descriptor() { reset(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  void reset(int fd = -1) {
    if (const int old = std::exchange(fd_, fd); old >= 0) ::close(old);
  }
  operator int() const { return fd_; }

 private:
  int fd_ = -1;
};

}  // namespace apsyn
