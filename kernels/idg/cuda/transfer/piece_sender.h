// SPDX-License-Identifier: GPL-3.0-or-later
// Pieces of pinned memory that threads fill and one thread sends. For host code with CUDA only.
#pragma once

#include <array>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "kernels/common/cuda/pinned_ring.h"
#include "kernels/common/cuda/transfer.h"
#include "libcore/system/first_error.h"

namespace apsyn::idg_cuda {

/// The driver takes one call at a time: threads that sent their own pieces waited for each other longer than
/// they took to fill them. A thread gets back, if it can, a piece that it has filled before, which is still
/// in its core's cache.
class PieceSender {
 public:
  struct Piece {
    std::byte* memory = nullptr;
    std::size_t bytes = 0;
    std::size_t lane = 0;  ///< of the thread that filled it last
  };
  /// Bytes of a piece on their way; zeros where `from` is null.
  struct Copy {
    void* to = nullptr;
    const void* from = nullptr;
    std::size_t bytes = 0;
  };

  /// For a device that has been chosen. n_threads fill pieces.
  PieceSender(int device, unsigned n_threads);
  /// Waits until no piece is read any more.
  ~PieceSender();
  PieceSender(const PieceSender&) = delete;
  PieceSender& operator=(const PieceSender&) = delete;

  /// From now on pieces have at least so many bytes. Waits for those that are being filled or sent.
  void reserve(std::size_t bytes);
  /// A piece to be filled, which send() or give_back() takes back. Any thread; it waits until one is free.
  Piece& take();
  void give_back(Piece& piece);
  /// Copies are made in the order of the calls.
  void send(Piece& piece, const std::array<Copy, 2>& copies);
  /// Fills memory of the device with zeros, in the same order.
  void clear(void* to, std::size_t bytes);
  /// Work given to the stream from now on sees what was sent.
  void hold(cudaStream_t stream);
  /// Waits until all has arrived.
  void settle();

 private:
  struct Job {
    Piece* piece = nullptr;
    std::array<Copy, 2> copies;
  };
  struct Batch {
    cudaEvent_t sent = nullptr;
    std::vector<Piece*> pieces;
  };

  void queue(const Job& job);
  void run();
  /// Gives jobs to the stream.
  void send_jobs(const std::vector<Job>& jobs);
  /// Frees the pieces of the oldest batch.
  void free_oldest();
  void free_pieces(const std::vector<Piece*>& pieces);
  /// Waits until the stream has all jobs.
  void drain();

  int device_;
  unsigned n_threads_;
  CopyStream stream_;
  Event all_;
  PinnedRing memory_;
  std::deque<Piece> pieces_;
  std::mutex mutex_;                         ///< of what follows
  std::condition_variable piece_free_;       ///< or something has failed
  std::condition_variable has_jobs_, idle_;  ///< idle: the stream has all jobs
  std::vector<std::vector<Piece*>> free_;    ///< [lane]
  std::size_t n_free_ = 0;
  bool grows_ = false;
  std::vector<Job> jobs_;
  bool is_sending_ = false, ends_ = false;
  FirstError error_;
  std::deque<Batch> under_way_;      ///< of the thread that sends alone
  std::vector<cudaEvent_t> unused_;  ///< events, of that thread
  std::thread thread_;
};

}  // namespace apsyn::idg_cuda
