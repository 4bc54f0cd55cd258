// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/idg/cuda/transfer/piece_sender.h"

#include <algorithm>
#include <atomic>
#include <utility>

namespace apsyn::idg_cuda {
namespace {

/// Filled by a thread each, one on its way, and one free.
constexpr std::size_t kPiecesOfThread = 3;
/// Pieces whose way one event ends.
constexpr std::size_t kBatch = 8;

std::size_t number_of_thread() {
  static std::atomic<std::size_t> n_threads{0};
  thread_local const std::size_t own = n_threads++;
  return own;
}

}  // namespace

PieceSender::PieceSender(int device, unsigned n_threads)
    : device_(device), n_threads_(n_threads), free_(std::max(1u, n_threads)), thread_([this] { run(); }) {}

PieceSender::~PieceSender() {
  {
    std::lock_guard lock(mutex_);
    ends_ = true;
  }
  has_jobs_.notify_all();
  thread_.join();
  cudaStreamSynchronize(stream_.get());  // it reads the pieces
  for (const Batch& batch : under_way_) unused_.push_back(batch.sent);
  for (const cudaEvent_t event : unused_) cudaEventDestroy(event);
}

void PieceSender::reserve(std::size_t bytes) {
  std::unique_lock lock(mutex_);
  if (!pieces_.empty() && bytes <= pieces_[0].bytes) return;
  grows_ = true;
  piece_free_.wait(lock, [&] { return n_free_ == pieces_.size() || error_.any(); });
  error_.rethrow();
  const std::size_t n = kPiecesOfThread * free_.size() + 2;
  for (std::vector<Piece*>& lane : free_) lane.clear();
  memory_ = PinnedRing();
  memory_ = PinnedRing(bytes * n, n_threads_);
  pieces_.clear();
  for (std::size_t i = 0; i < n; ++i) {
    pieces_.push_back({memory_.get() + i * bytes, bytes, i % free_.size()});
    free_[pieces_[i].lane].push_back(&pieces_[i]);
  }
  n_free_ = n;
  grows_ = false;
  piece_free_.notify_all();
}

PieceSender::Piece& PieceSender::take() {
  const std::size_t own = number_of_thread() % free_.size();
  std::unique_lock lock(mutex_);
  piece_free_.wait(lock, [&] { return (n_free_ > 0 && !grows_) || error_.any(); });
  error_.rethrow();
  std::size_t lane = own;
  while (free_[lane].empty()) lane = (lane + 1) % free_.size();
  Piece& piece = *free_[lane].back();
  free_[lane].pop_back();
  --n_free_;
  piece.lane = own;
  return piece;
}

void PieceSender::give_back(Piece& piece) {
  free_pieces({&piece});
}

void PieceSender::send(Piece& piece, const std::array<Copy, 2>& copies) {
  queue({&piece, copies});
}

void PieceSender::clear(void* to, std::size_t bytes) {
  queue({nullptr, {Copy{to, nullptr, bytes}}});
}

void PieceSender::queue(const Job& job) {
  std::lock_guard lock(mutex_);
  jobs_.push_back(job);
  if (!is_sending_) has_jobs_.notify_one();
}

void PieceSender::hold(cudaStream_t stream) {
  drain();
  all_.record(stream_.get());
  all_.hold(stream);
}

void PieceSender::settle() {
  drain();
  cuda_check(cudaStreamSynchronize(stream_.get()), "copying to the device");
}

void PieceSender::drain() {
  std::unique_lock lock(mutex_);
  idle_.wait(lock, [&] { return (jobs_.empty() && !is_sending_) || error_.any(); });
  error_.rethrow();
}

void PieceSender::run() {
  std::vector<Job> jobs;
  try {
    cuda_check(cudaSetDevice(device_), "choosing the device");
    for (;;) {
      {
        std::unique_lock lock(mutex_);
        is_sending_ = false;
        if (jobs_.empty()) idle_.notify_all();
        if (under_way_.empty()) has_jobs_.wait(lock, [&] { return !jobs_.empty() || ends_; });
        if (jobs_.empty() && ends_) return;
        jobs.clear();
        std::swap(jobs, jobs_);
        is_sending_ = !jobs.empty();
      }
      if (jobs.empty())
        free_oldest();
      else
        send_jobs(jobs);
    }
  } catch (...) {
    std::lock_guard lock(mutex_);
    error_.keep();
    piece_free_.notify_all();
    idle_.notify_all();
  }
}

void PieceSender::send_jobs(const std::vector<Job>& jobs) {
  for (std::size_t first = 0; first < jobs.size(); first += kBatch) {
    Batch batch;
    for (std::size_t i = first; i < std::min(jobs.size(), first + kBatch); ++i) {
      if (jobs[i].piece != nullptr) batch.pieces.push_back(jobs[i].piece);
      for (const Copy& copy : jobs[i].copies) {
        if (copy.bytes == 0) continue;
        cuda_check(copy.from == nullptr ? cudaMemsetAsync(copy.to, 0, copy.bytes, stream_.get())
                                        : cudaMemcpyAsync(copy.to, copy.from, copy.bytes,
                                                          cudaMemcpyHostToDevice, stream_.get()),
                   "copying to the device");
      }
    }
    if (unused_.empty()) {
      cudaEvent_t made = nullptr;
      // The thread sleeps while it waits, and leaves its core to those that fill pieces.
      cuda_check(cudaEventCreateWithFlags(&made, cudaEventBlockingSync | cudaEventDisableTiming),
                 "creating an event");
      unused_.push_back(made);
    }
    batch.sent = unused_.back();
    unused_.pop_back();
    under_way_.push_back(std::move(batch));
    cuda_check(cudaEventRecord(under_way_.back().sent, stream_.get()), "recording an event");
    while (!under_way_.empty() && cudaEventQuery(under_way_.front().sent) == cudaSuccess) free_oldest();
  }
}

void PieceSender::free_oldest() {
  const Batch batch = std::move(under_way_.front());
  under_way_.pop_front();
  unused_.push_back(batch.sent);
  cuda_check(cudaEventSynchronize(batch.sent), "waiting for the device");
  free_pieces(batch.pieces);
}

void PieceSender::free_pieces(const std::vector<Piece*>& pieces) {
  std::lock_guard lock(mutex_);
  for (Piece* piece : pieces) free_[piece->lane].push_back(piece);
  n_free_ += pieces.size();
  if (!pieces.empty()) piece_free_.notify_all();
}

}  // namespace apsyn::idg_cuda
