// SPDX-License-Identifier: GPL-3.0-or-later
// Files are read and decoded piece by piece by all threads, each piece straight into its place in the block.
// Of a pipe one thread takes the bytes, piece after piece, and the others decode and sum what has come. Where
// samples lie in the stream as they do in a block, they are read into the block itself.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "libcore/base/error.h"
#include "libcore/files/checksum.h"
#include "libcore/streams/recognise.h"
#include "libcore/streams/stream_payload.h"
#include "libcore/streams/voltage_stream.h"
#include "libcore/system/parallel.h"
#include "libcore/system/produce_consume.h"
#include "libcore/voltage/sample_decoder.h"

namespace apsyn {
namespace {

/// Raw bytes of a piece that one thread decodes: they are still in its cache then.
constexpr std::size_t kDecodedPieceBytes = 256u << 10;
/// Of samples that are read into their place, at most. Larger ones gain nothing, and would share less evenly.
constexpr std::size_t kDirectPieceBytes = 1u << 20;
/// Pieces of a block in a file for each thread, so that all end at about the same time.
constexpr std::size_t kPiecesOfThread = 4;
/// A pipe does not tell its length: beyond this a block grows with what comes, so that a false header costs
/// no memory.
constexpr std::size_t kTrustedBytes = 16u << 20;

/// Sets row[ant] to 1 where any of the lines [ant][width] has a value that differs from zero.
template <class T>
void mark_present(const T* samples, std::size_t n_lines, std::size_t n_ant, std::size_t width,
                  std::uint8_t* row) {
  std::vector<std::size_t> pending;
  for (std::size_t ant = 0; ant < n_ant; ++ant)
    if (row[ant] == 0) pending.push_back(ant);
  // Live antennas leave in the first lines; only what may be missing is looked at throughout.
  for (std::size_t line = 0; line < n_lines && !pending.empty(); ++line) {
    const T* values = samples + line * n_ant * width;
    std::erase_if(pending, [&](std::size_t ant) {
      const T* at = values + ant * width;
      for (std::size_t i = 0; i < width; ++i)
        if (at[i] != T{}) return row[ant] = 1, true;
      return false;
    });
  }
}

/// Whole units in memory.
struct RawUnits {
  std::uint64_t first = 0;
  std::vector<std::uint8_t> bytes;

  std::uint64_t end(std::size_t unit_bytes) const { return first + bytes.size() / unit_bytes; }
};

}  // namespace

struct VoltageReader::State {
  State(const std::string& path, std::unique_ptr<ByteSource> source, const VoltageHeader& header)
      : payload(
            path, std::move(source),
            {header.file_size, header.trailer, header.foreign, header.resolution_bytes, header.unit_bytes()}),
        decoder(header),
        unit_samples(header.unit_samples()),
        unit_bytes(header.unit_bytes()),
        missing(header.missing_samples),
        n_chan(header.n_chan),
        n_ant(header.n_ant),
        n_pol(header.n_pol) {}

  StreamPayload payload;
  SampleDecoder decoder;
  std::size_t unit_samples, unit_bytes, missing, n_chan, n_ant, n_pol;
  unsigned n_threads = 1;
  Watch watch;
  bool keeps_4bit = false;

  std::uint64_t next = 0;  ///< sample to be read next
  bool begun = false;

  // Of a pipe: what has been taken from it and is still wanted, for the next block or to judge a span.
  RawUnits ahead;
  // Pieces of a pipe on their way, or of each thread in a file.
  struct Sum {
    std::size_t n_bytes = 0;
    std::uint32_t crc = 0;
  };
  struct Piece {
    std::vector<std::uint8_t> bytes;
    const std::uint8_t* units = nullptr;  ///< in `bytes`, or in the block
    std::uint64_t first_unit = 0;
    std::size_t n_units = 0;
    Sum* sum = nullptr;  ///< what has been read
  };
  std::vector<Piece> pieces;

  std::int64_t judged_row = -1;  ///< the aligned span whose judgement is complete
  std::vector<std::uint8_t> judged;

  // ---- the three kinds of samples: floats, integers, and integers of 4 bits as they came

  static auto& samples_of(VoltageBlock& block, float) { return block.samples_f32; }
  static auto& samples_of(VoltageBlock& block, std::int8_t) { return block.samples_i8; }
  static auto& samples_of(VoltageBlock& block, std::uint8_t) { return block.samples_i4; }

  /// Values [pol][re, im], or bytes [pol], of an antenna.
  template <class T>
  std::size_t width() const {
    return std::is_same_v<T, std::uint8_t> ? n_pol : 2 * n_pol;
  }
  template <class T>
  std::size_t values_per_time() const {
    return n_chan * n_ant * width<T>();
  }
  /// Gives it the shape of n_time samples; contents are kept where the memory suffices.
  template <class T>
  void shape(std::size_t n_time, VoltageBlock& block) const {
    if constexpr (std::is_same_v<T, std::uint8_t>)
      block.samples_i4.resize_for_overwrite({n_time, n_chan, n_ant, n_pol});
    else
      samples_of(block, T{}).resize_for_overwrite({n_time, n_chan, n_ant, n_pol, 2});
  }
  /// The same where contents have to be kept: the first n_kept samples.
  template <class T>
  void grow(std::size_t n_kept, std::size_t n_time, VoltageBlock& block) const {
    if (samples_of(block, T{}).capacity() >= n_time * values_per_time<T>()) return shape<T>(n_time, block);
    VoltageBlock larger;
    shape<T>(n_time, larger);
    std::copy_n(samples_of(block, T{}).data(), n_kept * values_per_time<T>(), samples_of(larger, T{}).data());
    samples_of(block, T{}) = std::move(samples_of(larger, T{}));
  }
  /// Whether bytes can be read into their place: `T` tells whether 4 bits stay as they are.
  template <class T>
  bool direct() const {
    return decoder.copies(std::is_same_v<T, std::uint8_t>);
  }
  /// Samples [first, first + n_time) of the stream out of units that begin with `unit`.
  template <class T>
  void decode(const std::uint8_t* units, std::uint64_t unit, std::uint64_t first, std::size_t n_time,
              T* out) const {
    decoder.decode(units, static_cast<std::size_t>(first - unit * unit_samples), n_time, out);
  }

  std::uint64_t unit_of(std::uint64_t sample) const { return sample / unit_samples; }
  std::uint64_t units_to(std::uint64_t end_sample) const {
    return (end_sample + unit_samples - 1) / unit_samples;
  }

  // ---- files

  std::uint64_t file_samples() const { return *payload.size() / unit_bytes * unit_samples; }

  /// `n_time` samples of the stream from `first` on are in their places in the block.
  void show(const VoltageBlock& block, std::uint64_t first, std::size_t n_time, unsigned thread) const {
    if (watch && n_time > 0)
      watch(block, static_cast<std::size_t>(first - static_cast<std::uint64_t>(block.first_sample)), n_time,
            thread);
  }

  /// Samples [first, end) into the block that begins there.
  template <class T>
  void read_file(std::uint64_t first, std::uint64_t end, VoltageBlock& block) {
    T* const out = samples_of(block, T{}).data();
    const std::uint64_t begin_unit = unit_of(first), end_unit = units_to(end);
    const std::uint64_t even_bytes = (end_unit - begin_unit) * unit_bytes / (n_threads * kPiecesOfThread);
    const std::uint64_t piece_bytes = std::clamp<std::uint64_t>(
        even_bytes, kDecodedPieceBytes, direct<T>() ? kDirectPieceBytes : kDecodedPieceBytes);
    const std::uint64_t piece_units = std::max<std::uint64_t>(1, piece_bytes / unit_bytes);
    const auto n_pieces = static_cast<std::size_t>((end_unit - begin_unit + piece_units - 1) / piece_units);
    const std::uint64_t counted_from = payload.position() / unit_bytes;
    std::vector<std::uint32_t> crc(payload.wants_checksum() ? n_pieces : 0);
    pieces.resize(std::max<std::size_t>(pieces.size(), std::max(1u, n_threads)));
    parallel_for(n_threads, n_pieces, [&](std::size_t piece, unsigned thread) {
      const std::uint64_t from = begin_unit + piece * piece_units,
                          to = std::min(end_unit, from + piece_units);
      const std::uint64_t first_here = std::max(first, from * unit_samples);
      const auto n_time = static_cast<std::size_t>(std::min(end, to * unit_samples) - first_here);
      const auto n_bytes = static_cast<std::size_t>(to - from) * unit_bytes;
      T* const to_here = out + (first_here - first) * values_per_time<T>();
      const std::uint8_t* units = reinterpret_cast<const std::uint8_t*>(to_here);
      if (direct<T>()) {
        payload.read_at(from * unit_bytes, to_here, n_bytes);
      } else {
        std::vector<std::uint8_t>& bytes = pieces[thread].bytes;
        if (bytes.size() < n_bytes) bytes.resize(n_bytes);
        payload.read_at(from * unit_bytes, bytes.data(), n_bytes);
        decode(bytes.data(), from, first_here, n_time, to_here);
        units = bytes.data();
      }
      show(block, first_here, n_time, thread);
      if (crc.empty() || to <= counted_from) return;
      // A unit that lies across two blocks is read twice.
      const std::uint64_t counted = std::max(from, counted_from);
      Crc32c sum;
      sum.add(units + (counted - from) * unit_bytes, static_cast<std::size_t>(to - counted) * unit_bytes);
      crc[piece] = sum.value();
    });
    for (std::size_t piece = 0; piece < n_pieces; ++piece) {
      const std::uint64_t from = begin_unit + piece * piece_units,
                          to = std::min(end_unit, from + piece_units);
      if (to > counted_from)
        payload.advance((to - std::max(from, counted_from)) * unit_bytes, crc.empty() ? 0 : crc[piece]);
    }
  }

  template <class T>
  std::uint64_t read_from_file(VoltageBlock& block, std::uint64_t n_time) {
    const std::uint64_t first = next, all = file_samples();
    if (first >= all) {
      if (payload.position() == *payload.size()) payload.advance(0, 0);
      return first;
    }
    const std::uint64_t end = first + std::min(n_time, all - first);
    shape<T>(static_cast<std::size_t>(end - first), block);
    read_file<T>(first, end, block);
    return end;
  }

  // ---- pipes

  /// Appends units to what is held, up to `end_unit` or the stream's end.
  void hold_to(std::uint64_t end_unit, RawUnits& units) {
    while (units.end(unit_bytes) < end_unit) {
      const std::size_t have = units.bytes.size();
      const std::uint64_t wanted = (end_unit - units.first) * unit_bytes - have;
      const auto piece =
          static_cast<std::size_t>(std::min<std::uint64_t>(wanted, std::max(kTrustedBytes, have)));
      units.bytes.resize(have + piece);
      const std::size_t got = payload.read(units.bytes.data() + have, piece);
      units.bytes.resize(have + got);
      if (got < piece) return;
    }
  }

  /// Samples from `first` on into the block, up to n_time; returns the end. What of `held` lies behind it,
  /// and the unit that the end cuts, are put into `rest`.
  template <class T>
  std::uint64_t read_from_pipe(VoltageBlock& block, std::uint64_t n_time, const RawUnits& held,
                               RawUnits& rest) {
    const std::uint64_t first = next, end = first + n_time;
    const std::uint64_t trusted = std::max<std::uint64_t>(1, kTrustedBytes / unit_bytes) * unit_samples;
    const bool has_room = samples_of(block, T{}).capacity() >= n_time * values_per_time<T>();
    std::uint64_t room = has_room ? n_time : std::min(n_time, trusted);
    shape<T>(static_cast<std::size_t>(room), block);
    std::uint64_t at = std::min(end, std::max(first, held.end(unit_bytes) * unit_samples));
    std::uint64_t unit = held.end(unit_bytes);
    if (at > first) {
      if (at - first > room) grow<T>(0, static_cast<std::size_t>(room = at - first), block);
      decode(held.bytes.data(), held.first, first, static_cast<std::size_t>(at - first),
             samples_of(block, T{}).data());
      show(block, first, static_cast<std::size_t>(at - first), 0);
    }
    rest.first = unit_of(end);
    rest.bytes.clear();
    if (rest.first < unit)
      rest.bytes.assign(
          held.bytes.begin() + static_cast<std::ptrdiff_t>((rest.first - held.first) * unit_bytes),
          held.bytes.end());
    for (bool more = at < end; more;) {
      more = take_from_pipe<T>(room == n_time ? end : (first + room) / unit_samples * unit_samples, first,
                               end, at, unit, block, rest) &&
             at < end;
      if (!more) break;
      room = std::min(n_time, 2 * room);
      grow<T>(static_cast<std::size_t>(at - first), static_cast<std::size_t>(room), block);
    }
    if (rest.bytes.empty()) rest.first = unit;
    return at;
  }

  /// Takes units from `unit` on until `to` is reached, or the stream's end, which it returns false at; `at`:
  /// samples so far.
  template <class T>
  bool take_from_pipe(std::uint64_t to, std::uint64_t first, std::uint64_t end, std::uint64_t& at,
                      std::uint64_t& unit, VoltageBlock& block, RawUnits& rest) {
    T* const out = samples_of(block, T{}).data();
    const std::uint64_t piece_units =
        std::max<std::uint64_t>(1, (direct<T>() ? kDirectPieceBytes : kDecodedPieceBytes) / unit_bytes);
    bool more = true;
    const auto keep_cut = [&](std::uint64_t from, const std::uint8_t* bytes, std::uint64_t n_units) {
      // The end of the block may lie within the last unit.
      if (end % unit_samples == 0 || from > unit_of(end) || from + n_units <= unit_of(end)) return;
      rest.first = unit_of(end);
      const std::uint8_t* cut = bytes + (rest.first - from) * unit_bytes;
      rest.bytes.assign(cut, cut + unit_bytes);
    };
    std::deque<Sum> sums;  // of the pieces, in their order; they stay where they are while it grows
    const bool wants_sum = payload.wants_checksum();
    // Nothing is left for others to do where bytes are in their place, need no sum and nobody looks at them.
    const unsigned n_others = direct<T>() && !wants_sum && !watch ? 0 : n_threads - 1;
    pieces.resize(std::max<std::size_t>(pieces.size(), n_others > 0 ? n_threads + 1 : 1));
    produce_consume(
        std::span(pieces), n_others,
        [&](Piece& piece) {
          if (at >= to || !more) return false;
          piece.first_unit = unit;
          const std::uint64_t n = std::min(piece_units, units_to(to) - unit);
          const std::size_t wanted = static_cast<std::size_t>(n) * unit_bytes;
          auto* bytes = reinterpret_cast<std::uint8_t*>(out + (at - first) * values_per_time<T>());
          if (!direct<T>()) {
            if (piece.bytes.size() < wanted) piece.bytes.resize(wanted);
            bytes = piece.bytes.data();
          }
          const std::size_t got = payload.read_unsummed(bytes, wanted);
          more = got == wanted;
          piece.units = bytes;
          piece.n_units = got / unit_bytes;
          piece.sum = &sums.emplace_back(Sum{got, 0});
          unit += piece.n_units;
          at = std::min(to, unit * unit_samples);
          keep_cut(piece.first_unit, piece.units, piece.n_units);
          return got > 0;
        },
        [&](Piece& piece, unsigned thread) {
          if (wants_sum) {
            Crc32c crc;
            crc.add(piece.units, piece.sum->n_bytes);
            piece.sum->crc = crc.value();
          }
          const std::uint64_t from = std::max(first, piece.first_unit * unit_samples);
          const std::uint64_t stop = std::min(to, (piece.first_unit + piece.n_units) * unit_samples);
          if (stop <= from) return;
          const auto n_time = static_cast<std::size_t>(stop - from);
          if (!direct<T>())
            decode(piece.units, piece.first_unit, from, n_time, out + (from - first) * values_per_time<T>());
          show(block, from, n_time, thread);
        });
    if (wants_sum)
      for (const Sum& sum : sums) payload.advance_sum(sum.n_bytes, sum.crc);
    return more;
  }

  // ---- missing data

  /// Judges samples [first, end), which are outside of the block: in a file, or in `units`.
  template <class T>
  void judge_outside(std::uint64_t first, std::uint64_t end, const RawUnits& units, std::uint8_t* row) {
    if (first >= end) return;
    RawUnits from_file;
    if (payload.is_file()) {
      from_file.first = unit_of(first);
      from_file.bytes.resize(static_cast<std::size_t>(units_to(end) - from_file.first) * unit_bytes);
      payload.read_at(from_file.first * unit_bytes, from_file.bytes.data(), from_file.bytes.size());
    }
    const RawUnits& from = payload.is_file() ? from_file : units;
    const auto n = static_cast<std::size_t>(end - first);
    VoltageBlock block;
    shape<T>(n, block);
    auto& samples = samples_of(block, T{});
    decode(from.bytes.data(), from.first, first, n, samples.data());
    if constexpr (std::is_floating_point_v<T>) clear_not_finite(samples.view(), block.not_finite);
    mark_present(samples.data(), n * n_chan, n_ant, width<T>(), row);
  }

  /// Fills VoltageBlock::valid; `stored_end`: of the samples that there are to judge by.
  template <class T>
  void judge(VoltageBlock& block, const RawUnits& before, const RawUnits& after, std::uint64_t stored_end) {
    const std::uint64_t first = next, block_end = first + block.n_time;
    const std::uint64_t first_row = first / missing, last_row = (block_end - 1) / missing;
    const auto n_rows = static_cast<std::size_t>(last_row - first_row + 1);
    const T* const samples = samples_of(block, T{}).data();
    block.valid.resize({n_rows, n_ant});
    parallel_for(n_threads, n_rows, [&](std::size_t i, unsigned) {
      const std::uint64_t row = first_row + i;
      std::uint8_t* valid = &block.valid(i, 0);
      if (static_cast<std::int64_t>(row) == judged_row) {
        std::copy(judged.begin(), judged.end(), valid);
        return;
      }
      const std::uint64_t begin = row * missing, end = std::min(stored_end, (row + 1) * missing);
      const std::uint64_t from = std::max(first, begin), to = std::min(block_end, end);
      mark_present(samples + static_cast<std::size_t>(from - first) * values_per_time<T>(),
                   static_cast<std::size_t>(to - from) * n_chan, n_ant, width<T>(), valid);
      judge_outside<T>(begin, from, before, valid);
      judge_outside<T>(to, end, after, valid);
    });
    judged_row = static_cast<std::int64_t>(last_row);
    const std::uint8_t* last = &block.valid(n_rows - 1, 0);
    judged.assign(last, last + n_ant);
  }

  void clear_bad(VoltageBlock& block) const {
    Buffer<float, 5>& samples = block.samples_f32;
    constexpr std::size_t kPiece = 1u << 18;
    std::atomic<bool> finite{true};
    parallel_for(n_threads, (samples.size() + kPiece - 1) / kPiece, [&](std::size_t piece, unsigned) {
      const std::size_t at = piece * kPiece;
      if (!all_finite(samples.data() + at, std::min(kPiece, samples.size() - at))) finite = false;
    });
    if (!finite) clear_not_finite(samples.view(), block.not_finite);
  }

  /// The next samples, at most n_time; false at the end.
  template <class T>
  bool read(VoltageBlock& block, std::uint64_t n_time) {
    const std::uint64_t first = next;
    block.first_sample = static_cast<std::int64_t>(first);
    RawUnits rest;
    std::uint64_t end = 0, stored_end = 0;
    const auto span_end = [&] { return (end + missing - 1) / missing * missing; };
    if (payload.is_file()) {
      end = read_from_file<T>(block, n_time);
      stored_end = std::min(span_end(), file_samples());
    } else {
      const bool first_row_known = judged_row == static_cast<std::int64_t>(first / missing);
      const std::uint64_t wanted_unit = unit_of(first_row_known ? first : first / missing * missing);
      const std::uint64_t drop = std::min(wanted_unit, ahead.end(unit_bytes)) - ahead.first;
      ahead.bytes.erase(ahead.bytes.begin(),
                        ahead.bytes.begin() + static_cast<std::ptrdiff_t>(drop * unit_bytes));
      ahead.first += drop;
      hold_to(units_to(first), ahead);
      end = read_from_pipe<T>(block, n_time, ahead, rest);
      if (end == first + n_time) hold_to(units_to(span_end()), rest);
      stored_end = std::max(end, std::min(span_end(), rest.end(unit_bytes) * unit_samples));
    }
    if (end <= first) return false;

    block.n_time = static_cast<std::size_t>(end - first);
    block.missing_samples = missing;
    block.first_valid_row_offset = static_cast<std::size_t>(first % missing);
    block.not_finite.resize({0, 0, 0});
    shape<T>(block.n_time, block);
    if constexpr (std::is_floating_point_v<T>) clear_bad(block);
    judge<T>(block, ahead, rest, stored_end);
    if (!payload.is_file()) ahead = std::move(rest);
    next = end;
    return true;
  }
};

VoltageReader::VoltageReader(const std::string& path) {
  auto source = std::make_unique<ByteSource>(path);
  name_ = source->name();
  const std::string header = read_stream_header(*source);
  if (const Recognised what = recognise(header); what.format == "mwax" || what.format == "visibility")
    throw DataError("{}: byte 0: no voltage stream: {}", name_, what.hint);
  header_ = parse_voltage_header(header, name_);
  state_ = std::make_unique<State>(path, std::move(source), header_);
}

VoltageReader::~VoltageReader() = default;
VoltageReader::VoltageReader(VoltageReader&&) noexcept = default;

std::optional<std::int64_t> VoltageReader::n_samples() const {
  auto bytes = state_->payload.size();
  // On a pipe FILE_SIZE is binding unless other software wrote it.
  if (!bytes && !header_.foreign) bytes = header_.file_size;
  if (!bytes) return std::nullopt;
  return static_cast<std::int64_t>(*bytes / state_->unit_bytes * state_->unit_samples);
}

void VoltageReader::use_threads(unsigned n_threads) {
  state_->n_threads = std::max(1u, n_threads);
}

void VoltageReader::watch(Watch watch) {
  state_->watch = std::move(watch);
}

void VoltageReader::keep_4bit() {
  state_->keeps_4bit = state_->decoder.can_stay_4bit();
}

bool VoltageReader::keeps_4bit() const {
  return state_->keeps_4bit;
}

void VoltageReader::skip_to(std::int64_t first) {
  State& state = *state_;
  if (state.begun || first < 0) throw std::logic_error("VoltageReader::skip_to: before the first read only");
  state.next = static_cast<std::uint64_t>(first);
  // The aligned span that holds `first` is judged whole, so it is read whole.
  const std::uint64_t unit = state.next / state.missing * state.missing / state.unit_samples;
  std::uint64_t bytes = 0;
  if (__builtin_mul_overflow(unit, state.unit_bytes, &bytes)) bytes = UINT64_MAX;
  state.payload.skip(bytes);
  state.ahead.first = unit;
}

bool VoltageReader::read(VoltageBlock& block, std::size_t n_time) {
  State& state = *state_;
  if (n_time == 0) throw std::logic_error("VoltageReader::read: n_time is 0");
  state.begun = true;
  // No block holds more; larger requests would overflow the byte counts.
  n_time = std::min(n_time, std::size_t{1} << 32);
  block.integer = state.decoder.integer();
  block.four_bit = state.keeps_4bit;
  if (block.four_bit) return state.read<std::uint8_t>(block, n_time);
  return block.integer ? state.read<std::int8_t>(block, n_time) : state.read<float>(block, n_time);
}

}  // namespace apsyn
