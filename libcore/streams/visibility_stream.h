// SPDX-License-Identifier: GPL-3.0-or-later
// Visibility streams from and to files and pipes; apsyn-visibility(5).
#pragma once

#include <memory>
#include <string>

#include "libcore/visibility/visibility.h"

namespace apsyn {

class VisibilityStreamWriter {
 public:
  /// `path` or "-". A file has its exact FILE_SIZE and appears atomically.
  VisibilityStreamWriter(const std::string& path, const VisibilityHeader& header, bool overwrite);
  ~VisibilityStreamWriter();
  void write(const VisibilityRecord& record);
  void commit();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

class VisibilityStreamReader {
 public:
  explicit VisibilityStreamReader(const std::string& path);
  ~VisibilityStreamReader();
  const VisibilityHeader& header() const { return header_; }
  bool read(VisibilityRecord& record);  ///< false at the (complete) end; DataError when truncated

 private:
  VisibilityHeader header_;
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace apsyn
