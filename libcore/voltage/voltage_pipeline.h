// SPDX-License-Identifier: GPL-3.0-or-later
// A voltage stream through a tool: read | work | write, each in a thread of its own. What is written waits
// beside the gulps, so that samples are read on while a long result, as a correlator's integration of many
// antennas is, is being written.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "libcore/system/first_error.h"
#include "libcore/system/parallel.h"
#include "libcore/voltage/voltage.h"

namespace apsyn {

/// A gulp of samples, and what is made of it. What is written has no samples.
template <class Result>
struct StreamItem {
  VoltageBlock block;
  std::shared_ptr<void> pinned;  ///< its memory
  /// Waits until nothing reads the block's memory any more, as copies to a device do after work() has ended.
  /// Empty: nothing does.
  std::function<void()> wait_until_free;
  bool last = false;            ///< an empty block behind the stream's end
  std::vector<Result> results;  ///< their memory is used again
  std::size_t n_results = 0;    ///< used

  /// The first result that is not used.
  Result& place() {
    if (results.size() == n_results) results.emplace_back();
    return results[n_results];
  }
};

template <class Result>
struct StreamSteps {
  std::function<std::shared_ptr<void>(VoltageBlock&)> pin;  ///< gives a block its room, before all; or none
  std::function<bool(VoltageBlock&)> read;                  ///< false at the end
  std::function<void(StreamItem<Result>&)> work;            ///< the last time on the item behind the end
  std::function<void(StreamItem<Result>&)> write;
};

/// StreamSteps::work of an engine with append(), which gives StreamItem::wait_until_free, end_of_stream(),
/// and next(), which gives one result after the other while there are any.
template <class Engine, class Result>
void process_item(Engine& engine, StreamItem<Result>& item) {
  if (item.last)
    engine.end_of_stream();
  else
    item.wait_until_free = engine.append(item.block);
  for (item.n_results = 0; engine.next(item.place());) ++item.n_results;
}

/// Gulps that run_stream() has at a time, and as many results of gulps.
inline constexpr std::uint64_t kStreamItems = 5;

/// Of so many samples, or results, that there is room for those that a stream of n (-1: endless) fills.
inline std::uint64_t filled(std::uint64_t room, std::int64_t n) {
  return n < 0 ? room : std::min(room, static_cast<std::uint64_t>(n));
}

/// Writes results in a thread of its own, in their order: one gulp's are being written while those of the
/// next wait. It gives their memory back for the results of later gulps.
template <class Result>
class ResultWriter {
 public:
  using Write = std::function<void(StreamItem<Result>&)>;
  explicit ResultWriter(const Write& write) : write_(write) {}
  ~ResultWriter() {
    waiting_.close();
    if (thread_.joinable()) thread_.join();
  }
  /// Memory that has been used before, or none.
  std::vector<Result> memory() {
    std::lock_guard lock(mutex_);
    if (free_.empty()) return {};
    std::vector<Result> taken = std::move(free_.back());
    free_.pop_back();
    return taken;
  }
  void give_back(std::vector<Result>&& memory) {
    if (memory.empty()) return;
    std::lock_guard lock(mutex_);
    free_.push_back(std::move(memory));
  }
  /// Takes an item's results. Throws what a write before threw.
  void take(StreamItem<Result>& item) {
    StreamItem<Result> results;
    results.last = item.last;
    results.results = std::move(item.results);
    results.n_results = std::exchange(item.n_results, 0);
    item.results.clear();
    if (!has_thread()) {
      write_(results);
      return give_back(std::move(results.results));
    }
    if (!waiting_.push(std::move(results))) error_.rethrow();
  }
  /// Waits until all is written. Throws what a write threw.
  void finish() {
    waiting_.close();
    if (thread_.joinable()) thread_.join();
    error_.rethrow();
  }

 private:
  /// Starts it for the first results. Where the system gives no more, the caller writes.
  bool has_thread() {
    if (thread_.joinable() || refused_) return !refused_;
    try {
      thread_ = std::thread([this] { write_all(); });
    } catch (const std::system_error&) {
      refused_ = true;
    }
    return !refused_;
  }
  void write_all() {
    try {
      while (auto item = waiting_.pop()) {
        write_(*item);
        give_back(std::move(item->results));
      }
    } catch (...) {
      error_.keep();
      waiting_.close();
    }
  }

  const Write& write_;
  bool refused_ = false;
  BoundedQueue<StreamItem<Result>> waiting_{1};
  std::mutex mutex_;
  std::vector<std::vector<Result>> free_;
  FirstError error_;
  std::thread thread_;
};

/// Throws what the first step to fail threw.
template <class Result>
void run_stream(const StreamSteps<Result>& steps) {
  using Item = StreamItem<Result>;
  bool ended = false;
  ResultWriter<Result> writer(steps.write);
  run_pipeline<Item>(
      1,
      [&] {
        Item item;
        if (steps.pin) item.pinned = steps.pin(item.block);
        return item;
      },
      [&](Item& item) {
        if (ended) return false;
        if (const auto wait = std::exchange(item.wait_until_free, nullptr)) wait();
        item.last = ended = !steps.read(item.block);
        return true;
      },
      [&](Item& item) {
        item.results = writer.memory();
        steps.work(item);
        if (item.n_results == 0) writer.give_back(std::exchange(item.results, {}));
      },
      [&](Item& item) {
        if (item.n_results > 0) writer.take(item);
      });
  writer.finish();
}

}  // namespace apsyn
