// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/imaging/buffered_source.h"

#include <algorithm>
#include <utility>

namespace apsyn {
namespace {

template <class T, std::size_t Rank>
void copy(const Buffer<T, Rank>& from, Buffer<T, Rank>& to) {
  to.resize_for_overwrite(from.shape());
  std::copy(from.begin(), from.end(), to.begin());
}

void copy(const ImagingBlock& from, ImagingBlock& to) {
  copy(from.uvw_m, to.uvw_m);
  copy(from.path_m, to.path_m);
  copy(from.channel_hz, to.channel_hz);
  copy(from.data, to.data);
  copy(from.weight, to.weight);
  copy(from.station, to.station);
  to.time_mjd_s = from.time_mjd_s;
}

}  // namespace

BufferedSource::BufferedSource(std::unique_ptr<ImagingSource> source, std::uint64_t max_bytes)
    : source_(std::move(source)), info_(source_->info()), max_bytes_(max_bytes) {}

BufferedSource::~BufferedSource() {
  if (pending_.valid()) pending_.wait();
}

void BufferedSource::close() {
  if (pending_.valid()) pending_.get();
  source_.reset();
  kept_.clear();
  kept_bytes_ = 0;
  lent_ = {};
  ahead_ = {};
}

void BufferedSource::keep_none() {
  if (pending_.valid()) pending_.get();
  max_bytes_ = kept_bytes_ = 0;
  kept_.clear();
  kept_.shrink_to_fit();
  complete_ = false;
}

bool BufferedSource::take_part(std::size_t part, std::size_t n_parts) {
  if (pending_.valid()) pending_.get();
  complete_ = false;  // what is kept is of other rows
  return source_->take_part(part, n_parts);
}

void BufferedSource::rewind(const ChannelGroup& group) {
  if (pending_.valid()) {
    pending_.wait();
    pending_ = {};
  }
  if (complete_ && group.takes_same(group_)) {
    next_kept_ = 0;
    return;
  }
  group_ = group;
  kept_.clear();
  kept_bytes_ = 0;
  keeping_ = max_bytes_ > 0;
  complete_ = false;
  source_->rewind(group);
}

bool BufferedSource::read(ImagingBlock& block, std::uint64_t max_bytes) {
  const ImagingBlock* lent = next(max_bytes);
  if (lent == nullptr) return false;
  if (lent == &lent_)
    std::swap(block, lent_);
  else
    copy(*lent, block);
  return true;
}

const ImagingBlock* BufferedSource::next(std::uint64_t max_bytes) {
  if (complete_) return next_kept_ == kept_.size() ? nullptr : &kept_[next_kept_++];
  if (!pending_.valid()) read_ahead(max_bytes);
  const bool found = pending_.get();
  if (!found) {
    complete_ = keeping_;
    next_kept_ = kept_.size();
    return nullptr;
  }
  std::swap(lent_, ahead_);
  const ImagingBlock* block = keeping_ ? keep() : &lent_;
  read_ahead(max_bytes);
  return block;
}

void BufferedSource::read_ahead(std::uint64_t max_bytes) {
  pending_ = std::async(std::launch::async, [this, max_bytes] { return source_->read(ahead_, max_bytes); });
}

const ImagingBlock* BufferedSource::keep() {
  kept_bytes_ += lent_.bytes();
  if (kept_bytes_ <= max_bytes_) return &kept_.emplace_back(std::move(lent_));
  keeping_ = false;
  kept_.clear();
  kept_.shrink_to_fit();
  kept_bytes_ = 0;
  return &lent_;
}

}  // namespace apsyn
