// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/streams/voltage_stream.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <tuple>
#include <type_traits>
#include <vector>

#include "libcore/base/error.h"
#include "libcore/streams/recognise.h"
#include "libcore/streams/stream_output.h"
#include "libcore/streams/stream_payload.h"
#include "libcore/voltage/sample_decoder.h"

namespace apsyn {
namespace {

// A pipe does not tell its length: the buffer grows with what comes, so that a false header costs no memory.
constexpr std::size_t kPieceBytes = 16u << 20;
// Decoded as they come: while one piece is decoded a pipe's writer fills it with the next, and what was read
// is still in the cache.
constexpr std::size_t kDecodedBytes = 256u << 10;

// Sets row `row`[ant] to 1 where any of n_time samples [time][line][ant][width] differs from zero.
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
        n_lines_per_time(header.n_chan),
        n_ant(header.n_ant),
        width(2 * header.n_pol) {}

  StreamPayload payload;
  SampleDecoder decoder;
  std::size_t unit_samples, unit_bytes, missing, n_lines_per_time, n_ant, width;

  std::vector<std::uint8_t> raw;  ///< whole units from raw_first on
  std::size_t raw_bytes = 0;      ///< of raw that are filled
  std::uint64_t raw_first = 0;    ///< unit number
  std::uint64_t next = 0;         ///< sample to be read next
  bool begun = false;

  std::int64_t judged_row = -1;  ///< the aligned span whose judgement is complete
  std::vector<std::uint8_t> judged;
  std::tuple<Buffer<std::int8_t, 5>, Buffer<float, 5>> rest;  ///< what is judged outside of a block
  Buffer<std::uint8_t, 3> rest_mask;

  std::uint64_t raw_end_sample() const { return (raw_first + raw_bytes / unit_bytes) * unit_samples; }

  // Drops the units before the one that holds `first` and reads on to the one that holds `end` - 1.
  void hold(std::uint64_t first, std::uint64_t end) {
    const std::uint64_t first_unit = first / unit_samples;
    const std::uint64_t stored_units = raw_bytes / unit_bytes;
    const std::uint64_t drop = std::min(first_unit - raw_first, stored_units);
    if (drop > 0) {
      raw_bytes -= static_cast<std::size_t>(drop) * unit_bytes;
      std::memmove(raw.data(), raw.data() + static_cast<std::size_t>(drop) * unit_bytes, raw_bytes);
      raw_first += drop;
    }
    std::uint64_t end_unit = (end + unit_samples - 1) / unit_samples;
    if (const auto known = payload.size()) end_unit = std::min(end_unit, *known / unit_bytes);
    std::uint64_t wanted = (std::max(end_unit, raw_first) - raw_first) * unit_bytes;
    while (raw_bytes < wanted) {
      std::size_t piece = static_cast<std::size_t>(wanted) - raw_bytes;
      if (!payload.size()) piece = std::min(piece, std::max(kPieceBytes, raw_bytes));
      if (raw.size() < raw_bytes + piece) raw.resize(raw_bytes + piece);
      const std::size_t got = payload.read(raw.data() + raw_bytes, piece);
      raw_bytes += got;
      if (got < piece) break;
    }
    // Only here does a stream of known length learn that its end is sound.
    if (const auto known = payload.size(); known && raw_first * unit_bytes + raw_bytes == *known) {
      std::uint8_t beyond;
      payload.read(&beyond, 1);
    }
  }

  template <class T>
  void decode(std::uint64_t first, std::size_t n_time, T* out) const {
    decoder.decode(raw.data(), static_cast<std::size_t>(first - raw_first * unit_samples), n_time, out);
  }

  std::uint64_t piece_samples() const {
    return std::max<std::uint64_t>(1, kDecodedBytes / unit_bytes) * unit_samples;
  }

  // Reads and decodes the samples from `next` on to `end`, piece by piece, and keeps the raw ones from
  // `hold_from` on. `out` has room for all.
  template <class T>
  void read_in_pieces(std::uint64_t hold_from, std::uint64_t end, T* out) {
    for (std::uint64_t at = next; at < end;) {
      const std::uint64_t wanted = std::min(end, at + piece_samples());
      hold(hold_from, wanted);
      const std::uint64_t held = std::min(wanted, raw_end_sample());
      if (held > at)
        decode(at, static_cast<std::size_t>(held - at), out + (at - next) * n_lines_per_time * n_ant * width);
      if (held < wanted) return;
      at = held;
    }
  }

  // Samples [time][chan][ant][pol][re, im].
  template <class T>
  void allocate_block(std::size_t n_time, Buffer<T, 5>& samples) const {
    const std::array<std::size_t, 5> shape{n_time, n_lines_per_time, n_ant, width / 2, 2};
    if (samples.shape() != shape) samples.resize_for_overwrite(shape);
  }

  // Judges what of span `row` lies in [first, end) but outside the block.
  template <class T>
  void judge_outside(std::uint64_t first, std::uint64_t end, std::uint8_t* row) {
    if (first >= end) return;
    const std::size_t n = static_cast<std::size_t>(end - first);
    auto& samples = std::get<Buffer<T, 5>>(rest);
    allocate_block(n, samples);
    decode(first, n, samples.data());
    if constexpr (std::is_floating_point_v<T>) clear_not_finite(samples.view(), rest_mask);
    mark_present(samples.data(), n * n_lines_per_time, n_ant, width, row);
  }

  template <class T>
  void judge(VoltageBlock& block, const T* samples, std::uint64_t end) {
    const std::uint64_t first = next, block_end = first + block.n_time;
    const std::uint64_t first_row = first / missing, last_row = (block_end - 1) / missing;
    block.valid.resize({static_cast<std::size_t>(last_row - first_row + 1), n_ant});
    for (std::uint64_t row = first_row; row <= last_row; ++row) {
      std::uint8_t* valid = &block.valid(static_cast<std::size_t>(row - first_row), 0);
      if (static_cast<std::int64_t>(row) == judged_row) {
        std::copy(judged.begin(), judged.end(), valid);
        continue;
      }
      const std::uint64_t row_begin = row * missing, row_end = std::min(end, (row + 1) * missing);
      const std::uint64_t from = std::max(first, row_begin), to = std::min(block_end, row_end);
      const std::size_t per_time = n_lines_per_time * n_ant * width;
      mark_present(samples + static_cast<std::size_t>(from - first) * per_time,
                   static_cast<std::size_t>(to - from) * n_lines_per_time, n_ant, width, valid);
      judge_outside<T>(row_begin, from, valid);
      judge_outside<T>(to, row_end, valid);
    }
    judged_row = static_cast<std::int64_t>(last_row);
    const std::uint8_t* last = &block.valid(static_cast<std::size_t>(last_row - first_row), 0);
    judged.assign(last, last + n_ant);
  }

  // The next samples, at most n_time, and all else of the block but their type; false at the end.
  template <class T>
  bool read(VoltageBlock& block, Buffer<T, 5>& samples, std::size_t n_time) {
    const bool first_row_known = judged_row == static_cast<std::int64_t>(next / missing);
    const std::uint64_t hold_from = first_row_known ? next : next / missing * missing;
    const std::uint64_t wanted_end = next + n_time;
    const std::uint64_t span_end = (wanted_end + missing - 1) / missing * missing;
    // room for more than that is taken once it is known to be needed
    const bool in_pieces = n_time / unit_samples * unit_bytes <= kPieceBytes;
    if (in_pieces) {
      hold(hold_from, std::min(wanted_end, next + piece_samples()));
      if (raw_end_sample() <= next) return false;
      allocate_block(n_time, samples);
      read_in_pieces(hold_from, wanted_end, samples.data());
    }
    hold(hold_from, span_end);
    const std::uint64_t stored_end = raw_end_sample();
    if (stored_end <= next) return false;

    block.n_time = static_cast<std::size_t>(std::min(wanted_end, stored_end) - next);
    block.first_sample = static_cast<std::int64_t>(next);
    block.missing_samples = missing;
    block.first_valid_row_offset = static_cast<std::size_t>(next % missing);
    block.not_finite.resize({0, 0, 0});
    allocate_block(block.n_time, samples);
    if (!in_pieces) decode(next, block.n_time, samples.data());
    if constexpr (std::is_floating_point_v<T>) clear_not_finite(samples.view(), block.not_finite);
    judge(block, samples.data(), std::min(stored_end, span_end));
    next += block.n_time;
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

void VoltageReader::skip_to(std::int64_t first) {
  State& state = *state_;
  if (state.begun || first < 0) throw std::logic_error("VoltageReader::skip_to: before the first read only");
  state.next = static_cast<std::uint64_t>(first);
  // The aligned span that holds `first` is judged whole, so it is read whole.
  const std::uint64_t unit = state.next / state.missing * state.missing / state.unit_samples;
  std::uint64_t bytes = 0;
  if (__builtin_mul_overflow(unit, state.unit_bytes, &bytes)) bytes = UINT64_MAX;
  state.payload.skip(bytes);
  state.raw_first = unit;
}

bool VoltageReader::read(VoltageBlock& block, std::size_t n_time) {
  State& state = *state_;
  if (n_time == 0) throw std::logic_error("VoltageReader::read: n_time is 0");
  state.begun = true;
  // No block holds more; larger requests would overflow the byte counts.
  n_time = std::min(n_time, std::size_t{1} << 32);
  block.integer = state.decoder.integer();
  return block.integer ? state.read(block, block.samples_i8, n_time)
                       : state.read(block, block.samples_f32, n_time);
}

struct VoltageWriter::State {
  VoltageHeader header;
  StreamOutput out;

  State(const std::string& path, const VoltageHeader& given, bool overwrite)
      : header(given),
        out(
            path, [this](const StreamEnd& end) { return format(end); }, overwrite) {}

  std::string format(const StreamEnd& end) {
    header.file_size = end.file_size;
    header.trailer = end.trailer;
    header.foreign = false;
    return format_voltage_header(header);
  }
};

VoltageWriter::VoltageWriter(const std::string& path, const VoltageHeader& header, bool overwrite)
    : state_(std::make_unique<State>(path, header, overwrite)) {}

VoltageWriter::~VoltageWriter() = default;

void VoltageWriter::write(const void* bytes, std::size_t n_bytes) {
  state_->out.write(bytes, n_bytes);
}

void VoltageWriter::commit() {
  if (state_->out.bytes_written() % state_->header.unit_bytes() != 0)
    throw std::logic_error("VoltageWriter: the samples written are no whole number of units");
  state_->out.commit();
}

}  // namespace apsyn
