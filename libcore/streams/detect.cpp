// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/streams/detect.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <thread>

#include "libcore/base/error.h"
#include "libcore/files/input.h"
#include "libcore/streams/recognise.h"

namespace apsyn {
namespace {

constexpr std::size_t kLook = 4096;  // a PSRDADA header says what it is within these
constexpr std::size_t kLookFile = kRecogniseBytes;

/// A file descriptor that closes itself.
struct Descriptor {
  int fd = -1;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

bool is_word(std::string_view text, std::size_t at, std::string_view word) {
  const bool starts = at == 0 || text[at - 1] == '\n';
  return starts && at + word.size() < text.size() &&
         std::isspace(static_cast<unsigned char>(text[at + word.size()]));
}

/// The value of a line "KEY value", when the line is complete.
std::optional<std::string_view> dada_value(std::string_view text, std::string_view key) {
  for (std::size_t at = text.find(key); at != text.npos; at = text.find(key, at + 1)) {
    if (!is_word(text, at, key)) continue;
    const std::size_t begin = text.find_first_not_of(" \t", at + key.size());
    if (begin == text.npos) return std::nullopt;
    const std::size_t end = text.find_first_of(" \t\r\n", begin);
    if (end == text.npos) return std::nullopt;
    return text.substr(begin, end - begin);
  }
  return std::nullopt;
}

/// Copies what waits in the pipe without taking it out; empty when nothing waits.
std::string peek_pipe(int fd) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw FailureError("cannot open a pipe: {}", std::strerror(errno));
  const Descriptor out{ends[0]}, in{ends[1]};
  const ssize_t n = ::tee(fd, in.fd, kLook, SPLICE_F_NONBLOCK);
  if (n <= 0) return {};
  std::string bytes(static_cast<std::size_t>(n), '\0');
  const ssize_t got = ::read(out.fd, bytes.data(), bytes.size());
  bytes.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return bytes;
}

InputKind detect_pipe(int fd, const std::string& name) {
  for (;;) {
    pollfd state{fd, POLLIN, 0};
    if (::poll(&state, 1, -1) < 0 && errno != EINTR)
      throw FailureError("{}: cannot wait: {}", name, std::strerror(errno));
    const bool writer_gone = (state.revents & POLLHUP) != 0;
    const std::string bytes = peek_pipe(fd);
    if (const auto kind = kind_of_bytes(bytes, writer_gone, name)) return *kind;
    // data that wait make poll() return at once: give the writer time to add to them
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

InputKind detect_seekable(int fd, const std::string& name) {
  std::string bytes(kLookFile, '\0');
  const off_t offset = std::max<off_t>(0, ::lseek(fd, 0, SEEK_CUR));
  const ssize_t n = ::pread(fd, bytes.data(), bytes.size(), offset);
  if (n < 0) throw FailureError("{}: cannot read: {}", name, std::strerror(errno));
  bytes.resize(static_cast<std::size_t>(n));
  return *kind_of_bytes(bytes, true, name);
}

}  // namespace

InputKind parse_input_kind(std::string_view name) {
  for (InputKind kind :
       {InputKind::image, InputKind::image_stream, InputKind::measurement_set, InputKind::visibility,
        InputKind::voltage, InputKind::filterbank, InputKind::profile, InputKind::solutions})
    if (name == input_kind_name(kind)) return kind;
  throw UsageError(
      "--kind {}: no such kind: use image, images, ms, visibility, voltage, filterbank, profile or solutions",
      name);
}

std::string input_kind_name(InputKind kind) {
  switch (kind) {
    case InputKind::image:
      return "image";
    case InputKind::image_stream:
      return "images";
    case InputKind::measurement_set:
      return "ms";
    case InputKind::visibility:
      return "visibility";
    case InputKind::filterbank:
      return "filterbank";
    case InputKind::profile:
      return "profile";
    case InputKind::solutions:
      return "solutions";
    default:
      return "voltage";
  }
}

std::optional<InputKind> kind_of_bytes(std::string_view bytes, bool at_end, const std::string& name) {
  const bool complete = at_end || bytes.size() >= kLook;
  if (bytes.empty() && at_end) throw DataError("{}: it is empty: give a file with data", name);
  if (is_psrfits(bytes)) return InputKind::filterbank;
  if (bytes.starts_with(kFitsMagic)) return InputKind::image;
  if (bytes.starts_with(std::string_view("\x89HDF\r\n\x1a\n", 8))) return InputKind::solutions;
  if (bytes.substr(0, 16) == std::string_view("\x0c\0\0\0HEADER_START", 16)) return InputKind::filterbank;
  if (const auto instrument = dada_value(bytes, "INSTRUMENT"))
    return *instrument == "apsyn-image" ? InputKind::image_stream
           : *instrument == "apsyn-vis" ? InputKind::visibility
                                        : InputKind::voltage;
  if (!complete) return std::nullopt;
  if (dada_value(bytes, "HDR_SIZE")) return InputKind::voltage;
  if (bytes.find("\nphase,power,samples\n") != bytes.npos) return InputKind::profile;
  const std::string hint = foreign_hint(bytes, "");
  throw DataError(
      "{}: neither FITS image, Measurement Set, visibility nor voltage stream, SIGPROC filterbank, "
      "profile nor solutions{}",
      name, hint.empty() ? ": convert it with ingest, or give --kind" : hint);
}

InputKind detect_input(const std::string& path) {
  const bool standard_input = path == "-";
  const std::string name = standard_input ? "standard input" : path;
  std::error_code error;
  if (!standard_input && std::filesystem::is_directory(path, error)) {
    if (std::filesystem::exists(std::filesystem::path(path) / "table.dat", error))
      return InputKind::measurement_set;
    throw DataError("{}: a folder without table.dat: it is no Measurement Set", path);
  }
  Descriptor opened;
  if (!standard_input) {
    opened.fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // a FIFO must not block here
    if (opened.fd < 0) throw FailureError("{}: cannot open: {}", path, std::strerror(errno));
  }
  const int fd = standard_input ? STDIN_FILENO : opened.fd;
  struct stat status {};
  if (::fstat(fd, &status) != 0) throw FailureError("{}: cannot look at it: {}", name, std::strerror(errno));
  if (S_ISREG(status.st_mode)) return detect_seekable(fd, name);
  if (S_ISFIFO(status.st_mode) && standard_input) return detect_pipe(fd, name);
  throw UsageError(
      "{}: neither a file nor a pipe on standard input: what it holds cannot be seen before it is read: name "
      "a file",
      name);
}

bool is_fits_file(const std::string& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status))
    throw FailureError("{}: is no regular file, and a pipe cannot be looked at first: give a file", path);
  ByteSource source(path);
  char magic[kFitsMagic.size()];
  const std::size_t n = source.read(magic, sizeof magic);
  return std::string_view(magic, n) == kFitsMagic;
}

}  // namespace apsyn
