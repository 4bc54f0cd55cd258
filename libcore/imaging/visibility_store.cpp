// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/imaging/visibility_store.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "libcore/system/parallel.h"

namespace apsyn {
namespace {

/// Read at once: little, so that reading ahead overlaps with taking over.
constexpr std::uint64_t kReadBytes = 32 << 20;

/// Rows that a thread looks at, or copies, before it takes others.
constexpr std::size_t kRowsAtOnce = 1 << 11;

/// Calls use(first, end) for parts of n rows.
template <class Use>
void for_row_parts(unsigned n_threads, std::size_t n, Use use) {
  parallel_for(n_threads, (n + kRowsAtOnce - 1) / kRowsAtOnce, [&](std::size_t item, unsigned) {
    use(item * kRowsAtOnce, std::min(n, (item + 1) * kRowsAtOnce));
  });
}

std::vector<std::size_t> rows_with_weight(const ImagingBlock& block, unsigned n_threads) {
  const std::size_t n = block.weight.extent(0);
  std::vector<char> used(n);
  for_row_parts(n_threads, n, [&](std::size_t first, std::size_t end) {
    for (std::size_t row = first; row < end; ++row) {
      const View<const float, 2> weights = block.weight.view()[row];
      used[row] = std::any_of(weights.begin(), weights.end(), [](float w) { return w != 0; });
    }
  });
  std::vector<std::size_t> rows;
  rows.reserve(n);
  for (std::size_t row = 0; row < n; ++row)
    if (used[row]) rows.push_back(row);
  return rows;
}

bool same_channels(const ImagingBlock& open, const ImagingBlock& from,
                   const std::vector<std::size_t>& channels) {
  if (open.channel_hz.size() != channels.size()) return false;
  for (std::size_t c = 0; c < channels.size(); ++c)
    if (open.channel_hz(c) != from.channel_hz(channels[c])) return false;
  return true;
}

/// Memory for so many rows; what is not written to costs nothing.
void reserve(ImagingBlock& block, std::size_t n_row, std::size_t n_chan, std::size_t n_plane) {
  block.uvw_m.resize_for_overwrite({n_row, 3});
  block.path_m.resize_for_overwrite({n_row});
  block.channel_hz.resize({n_chan});
  block.data.resize_for_overwrite({n_row, n_chan, n_plane});
  block.weight.resize_for_overwrite({n_row, n_chan, n_plane});
  block.station.resize_for_overwrite({n_row, 2});
  block.time_mjd_s.clear();
}

}  // namespace

VisibilityStore::VisibilityStore(ImagingSource& source, const std::vector<ChannelGroup>& groups,
                                 const Limits& limits)
    : info_(source.info()), limits_(limits) {
  ChannelGroup all = groups.front();
  for (const ChannelGroup& group : groups) {
    kept_.emplace_back().group = group;
    all.low_hz = std::min(all.low_hz, group.low_hz);
    all.high_hz = std::max(all.high_hz, group.high_hz);
  }
  source.rewind(all);
  ImagingBlock block;
  while (source.read(block, std::min(limits_.block_bytes, kReadBytes))) {
    const std::vector<std::size_t> rows = rows_with_weight(block, limits_.n_threads);
    if (rows.empty()) continue;
    for (Kept& kept : kept_) add(kept, block, rows);
  }
  for (Kept& kept : kept_) close(kept);
}

void VisibilityStore::add(Kept& kept, const ImagingBlock& from, const std::vector<std::size_t>& rows) {
  std::vector<std::size_t> channels;
  for (std::size_t c = 0; c < from.channel_hz.size(); ++c)
    if (from.channel_hz(c) >= kept.group.low_hz && from.channel_hz(c) <= kept.group.high_hz)
      channels.push_back(c);
  if (channels.empty()) return;
  const std::size_t n_plane = from.data.extent(2), n_chan = channels.size();
  const std::uint64_t row_bytes = n_chan * n_plane * ImagingBlock::kValueBytes;
  const bool adjacent = channels.back() - channels.front() + 1 == n_chan;
  for (std::size_t done = 0; done < rows.size();) {
    if (kept.n_open_rows == 0 || kept.n_open_rows == kept.open.uvw_m.extent(0) ||
        !same_channels(kept.open, from, channels)) {
      close(kept);
      // every group has an open piece
      const std::uint64_t piece_bytes = std::min(
          limits_.block_bytes, std::max<std::uint64_t>(1'000'000, limits_.memory_bytes / (4 * kept_.size())));
      reserve(kept.open, std::max<std::uint64_t>(1, piece_bytes / row_bytes), n_chan, n_plane);
      for (std::size_t c = 0; c < n_chan; ++c) kept.open.channel_hz(c) = from.channel_hz(channels[c]);
    }
    ImagingBlock& to = kept.open;
    const std::size_t first = kept.n_open_rows, n = std::min(rows.size() - done, to.uvw_m.extent(0) - first);
    kept.n_open_rows += n;
    to.time_mjd_s.resize(first + n);
    const auto touch = [&](auto& array) {
      touch_pages(limits_.n_threads,
                  std::as_writable_bytes(std::span(&array(first, 0, 0), n * n_chan * n_plane)));
    };
    touch(to.data);
    touch(to.weight);
    for_row_parts(limits_.n_threads, n, [&](std::size_t begin, std::size_t end) {
      for (std::size_t k = begin; k < end; ++k) {
        const std::size_t row = rows[done + k], i = first + k;
        std::copy_n(&from.uvw_m(row, 0), 3, &to.uvw_m(i, 0));
        to.path_m(i) = from.path_m.size() == 0 ? 0 : from.path_m(row);
        std::copy_n(&from.station(row, 0), 2, &to.station(i, 0));
        to.time_mjd_s[i] = from.time_mjd_s[row];
        const std::size_t n_at_once = adjacent ? n_chan : 1;
        for (std::size_t c = 0; c < n_chan; c += n_at_once) {
          std::copy_n(&from.data(row, channels[c], 0), n_at_once * n_plane, &to.data(i, c, 0));
          std::copy_n(&from.weight(row, channels[c], 0), n_at_once * n_plane, &to.weight(i, c, 0));
        }
      }
    });
    done += n;
  }
}

/// The open piece is whole.
void VisibilityStore::close(Kept& kept) {
  const std::size_t n_row = std::exchange(kept.n_open_rows, 0);
  if (n_row == 0) return;
  ImagingBlock block = std::exchange(kept.open, {});
  const bool moved =
      std::any_of(block.path_m.begin(), block.path_m.begin() + n_row, [](double m) { return m != 0; });
  const auto shape = block.data.shape();
  block.uvw_m.resize_for_overwrite({n_row, 3});
  block.path_m.resize_for_overwrite({moved ? n_row : 0});
  block.data.resize_for_overwrite({n_row, shape[1], shape[2]});
  block.weight.resize_for_overwrite({n_row, shape[1], shape[2]});
  block.station.resize_for_overwrite({n_row, 2});
  keep(kept, std::move(block));
}

/// Of a block whose arrays have their sizes.
template <class Block, class Use>
void VisibilityStore::for_each_array(Block& block, Use&& use) {
  auto whole = [&](auto& array) { use(array.data(), array.size() * sizeof(*array.data())); };
  whole(block.uvw_m);
  whole(block.path_m);
  whole(block.channel_hz);
  whole(block.data);
  whole(block.weight);
  whole(block.station);
  whole(block.time_mjd_s);
}

void VisibilityStore::keep(Kept& kept, ImagingBlock&& block) {
  const std::uint64_t n_bytes = block.bytes();
  Piece& piece = kept.pieces.emplace_back();
  piece.shape = block.data.shape();
  piece.with_path = block.path_m.size() != 0;
  piece.in_file = memory_bytes_ + n_bytes > limits_.memory_bytes;
  if (!piece.in_file) {
    memory_bytes_ += n_bytes;
    piece.block = std::move(block);
    return;
  }
  store(piece, block);
}

void VisibilityStore::store(Piece& piece, const ImagingBlock& block) {
  if (!file_) file_.emplace(limits_.folder);
  piece.in_file = true;
  piece.offset = file_bytes_;
  file_->seek(file_bytes_);
  for_each_array(block, [&](const void* bytes, std::size_t n) {
    file_->write(bytes, n);
    file_bytes_ += n;
  });
}

void VisibilityStore::keep_none() {
  for (Kept& kept : kept_)
    for (Piece& piece : kept.pieces)
      if (!piece.in_file) store(piece, std::exchange(piece.block, {}));
  memory_bytes_ = 0;
  cuts_ = true;
}

std::size_t VisibilityStore::find(const ChannelGroup& group) const {
  const auto found = std::find_if(kept_.begin(), kept_.end(),
                                  [&](const Kept& kept) { return kept.group.takes_same(group); });
  if (found == kept_.end()) throw std::invalid_argument("VisibilityStore: not one of its channel groups");
  return static_cast<std::size_t>(found - kept_.begin());
}

void VisibilityStore::rewind(const ChannelGroup& group) {
  current_ = find(group);
  next_ = next_row_ = 0;
}

/// Rows [first, first + n_row) of a piece in the file.
void VisibilityStore::read_rows(const Piece& piece, std::size_t first, std::size_t n_row,
                                ImagingBlock& block) {
  std::uint64_t array = piece.offset;  // the place of the next one
  for_each_array(block, [&](void* bytes, std::size_t n) {
    const bool of_channels = bytes == block.channel_hz.data();
    const std::size_t row_bytes = n / n_row;
    file_->seek(of_channels ? array : array + first * row_bytes);
    file_->read(bytes, n);
    array += of_channels ? n : piece.shape[0] * row_bytes;
  });
}

bool VisibilityStore::read(ImagingBlock& block, std::uint64_t max_bytes) {
  const std::vector<Piece>& pieces = kept_[current_].pieces;
  if (next_ == pieces.size()) return false;
  const Piece& piece = pieces[next_];
  const std::size_t first = next_row_;
  std::size_t n_row = piece.shape[0] - first;
  if (cuts_) {
    const std::uint64_t row_bytes = piece.shape[1] * piece.shape[2] * ImagingBlock::kValueBytes;
    n_row = std::clamp<std::uint64_t>(max_bytes / std::max<std::uint64_t>(1, row_bytes), 1, n_row);
  }
  next_row_ += n_row;
  if (next_row_ == piece.shape[0]) {
    ++next_;
    next_row_ = 0;
  }
  block.uvw_m.resize_for_overwrite({n_row, 3});
  block.path_m.resize_for_overwrite({piece.with_path ? n_row : 0});
  block.channel_hz.resize_for_overwrite({piece.shape[1]});
  resize_for_threads(limits_.n_threads, {n_row, piece.shape[1], piece.shape[2]}, block.data);
  resize_for_threads(limits_.n_threads, block.data.shape(), block.weight);
  block.station.resize_for_overwrite({n_row, 2});
  block.time_mjd_s.resize(n_row);
  if (piece.in_file) {
    read_rows(piece, first, n_row, block);
    return true;
  }
  std::vector<const void*> from;
  for_each_array(piece.block, [&](const void* bytes, std::size_t) { from.push_back(bytes); });
  std::size_t i = 0;
  for_each_array(block, [&](void* bytes, std::size_t n) {
    if (n > 0) std::memcpy(bytes, from[i], n);
    ++i;
  });
  return true;
}

const ImagingBlock* VisibilityStore::next(std::uint64_t max_bytes) {
  const std::vector<Piece>& pieces = kept_[current_].pieces;
  if (next_ < pieces.size() && !pieces[next_].in_file) return &pieces[next_++].block;
  return read(lent_, max_bytes) ? &lent_ : nullptr;
}

}  // namespace apsyn
