// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/files/prefetch_source.h"

#include <exception>
#include <mutex>
#include <thread>

#include "libcore/files/input.h"
#include "libcore/system/parallel.h"

namespace apsyn {

// Belongs to both threads: the consumer may leave while the other still waits for a writer.
struct PrefetchSource::Shared {
  explicit Shared(const std::string& path) : source(path) {}
  ByteSource source;
  BoundedQueue<std::vector<std::uint8_t>> pieces{kPieces};
  std::exception_ptr error;  ///< written before the queue is closed, read after
  std::mutex mutex;
  std::vector<std::vector<std::uint8_t>> used;  ///< pieces that have been taken, to be filled again

  std::vector<std::uint8_t> empty_piece() {
    std::lock_guard lock(mutex);
    if (used.empty()) return std::vector<std::uint8_t>(kPieceBytes);
    std::vector<std::uint8_t> piece = std::move(used.back());
    used.pop_back();
    return piece;
  }
  void read() {
    try {
      for (bool more = true; more;) {
        std::vector<std::uint8_t> piece = empty_piece();
        const std::size_t got = source.read(piece.data(), piece.size());
        more = got == piece.size();
        piece.resize(got);
        if (got > 0) more &= pieces.push(std::move(piece));
      }
    } catch (...) {
      error = std::current_exception();
    }
    pieces.close();
  }
};

PrefetchSource::PrefetchSource(const std::string& path)
    : shared_(std::make_shared<Shared>(path)), name_(shared_->source.name()), size_(shared_->source.size()) {
  std::thread([shared = shared_] { shared->read(); }).detach();
}

PrefetchSource::~PrefetchSource() {
  shared_->pieces.close();
}

bool PrefetchSource::append_to(std::vector<std::uint8_t>& bytes) {
  auto piece = shared_->pieces.pop();
  if (!piece) {
    if (shared_->error) std::rethrow_exception(shared_->error);
    return false;
  }
  bytes.insert(bytes.end(), piece->begin(), piece->end());
  if (piece->size() == kPieceBytes) {
    std::lock_guard lock(shared_->mutex);
    shared_->used.push_back(std::move(*piece));
  }
  return true;
}

}  // namespace apsyn
