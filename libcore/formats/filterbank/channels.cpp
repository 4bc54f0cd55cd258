// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/formats/filterbank/channels.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "libcore/base/error.h"

namespace apsyn {
namespace {

/// Samples are turned in squares that stay in the cache.
constexpr std::size_t kSquare = 64;

template <class T>
struct WholeValue {
  float operator()(const std::uint8_t* row, std::size_t index) const {
    T value;
    std::memcpy(&value, row + index * sizeof(T), sizeof(T));
    return static_cast<float>(value);
  }
};

template <unsigned Bits>
struct PackedValue {
  bool is_signed = false;
  float operator()(const std::uint8_t* row, std::size_t index) const {
    constexpr int kCodes = 1 << Bits;
    const int code = row[index * Bits / 8] >> (index * Bits % 8) & (kCodes - 1);
    return static_cast<float>(is_signed && code >= kCodes / 2 ? code - kCodes : code);
  }
};

#if defined(__SSE2__)
constexpr std::size_t kTile = 16;

/// to[j][i] = from[i][j] for 16 x 16 bytes, in rows of so many bytes.
void transpose_tile(const std::uint8_t* from, std::size_t from_row, std::uint8_t* to, std::size_t to_row) {
  __m128i rows[kTile], next[kTile];
  for (std::size_t i = 0; i < kTile; ++i)
    rows[i] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i * from_row));
  // Each step interleaves rows i and i + 8, which turns one bit of the rows' numbers into one of the
  // columns'.
  for (int step = 0; step < 4; ++step) {
    for (std::size_t i = 0; i < kTile / 2; ++i) {
      next[2 * i] = _mm_unpacklo_epi8(rows[i], rows[i + kTile / 2]);
      next[2 * i + 1] = _mm_unpackhi_epi8(rows[i], rows[i + kTile / 2]);
    }
    for (std::size_t i = 0; i < kTile; ++i) rows[i] = next[i];
  }
  for (std::size_t i = 0; i < kTile; ++i)
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i * to_row), rows[i]);
}

/// Values of a byte each, 16 channels and times at a time.
template <class T>
void turn_bytes(const FilterbankInput& input, std::span<const std::uint8_t> bytes, std::size_t first,
                View<float, 2> out) {
  const std::size_t row_bytes = input.bytes_per_sample(), n_time = bytes.size() / row_bytes;
  const std::size_t n_chan = out.extent(0) / kTile * kTile, n_whole = n_time / kSquare * kSquare;
  std::uint8_t square[kTile][kSquare];
  for (std::size_t time = 0; time < n_whole; time += kSquare)
    for (std::size_t chan = 0; chan < n_chan; chan += kTile) {
      for (std::size_t t = 0; t < kSquare; t += kTile)
        transpose_tile(bytes.data() + (time + t) * row_bytes + first + chan, row_bytes, &square[0][t],
                       kSquare);
      for (std::size_t c = 0; c < kTile; ++c) {
        const auto* values = reinterpret_cast<const T*>(square[c]);
        float* to = &out(chan + c, time);
        for (std::size_t t = 0; t < kSquare; ++t) to[t] = static_cast<float>(values[t]);
      }
    }
  const auto value = [&](std::size_t t, std::size_t chan) {
    return static_cast<float>(static_cast<T>(bytes[t * row_bytes + first + chan]));
  };
  for (std::size_t chan = 0; chan < out.extent(0); ++chan)
    for (std::size_t t = chan < n_chan ? n_whole : 0; t < n_time; ++t) out(chan, t) = value(t, chan);
}
#endif

template <class Load>
void turn(const FilterbankInput& input, std::span<const std::uint8_t> bytes, IntensityKind kind,
          std::size_t first, View<float, 2> out, Load load) {
  const std::size_t row_bytes = input.bytes_per_sample(), n_time = bytes.size() / row_bytes;
  const std::size_t second = input.header.n_chan;  // values from one IF to the next
  float square[kSquare][kSquare];
  for (std::size_t chan = 0; chan < out.extent(0); chan += kSquare) {
    const std::size_t n_chan = std::min(kSquare, out.extent(0) - chan);
    for (std::size_t time = 0; time < n_time; time += kSquare) {
      const std::size_t n = std::min(kSquare, n_time - time);
      for (std::size_t t = 0; t < n; ++t) {
        const std::uint8_t* row = bytes.data() + (time + t) * row_bytes;
        for (std::size_t c = 0; c < n_chan; ++c) {
          const std::size_t index = first + chan + c;
          square[c][t] = load(row, index);
          if (kind == IntensityKind::sum) square[c][t] += load(row, index + second);
        }
      }
      for (std::size_t c = 0; c < n_chan; ++c) std::copy_n(square[c], n, &out(chan + c, time));
    }
  }
}

}  // namespace

IntensityKind usual_intensity(std::size_t n_if, Products products) {
  const bool powers = products == Products::powers || (products == Products::unknown && n_if == 2);
  return powers && n_if >= 2 ? IntensityKind::sum : IntensityKind::first;
}

IntensityKind parse_intensity(std::string_view name, std::size_t n_if, Products products) {
  if (name != "auto" && name != "first" && name != "sum")
    throw UsageError("'{}' is no way to intensity: auto, first or sum", name);
  if (name == "sum" && n_if < 2)
    throw UsageError("the input has one IF, which cannot be summed: take first or auto");
  if (name == "auto") return usual_intensity(n_if, products);
  return name == "sum" ? IntensityKind::sum : IntensityKind::first;
}

void decode_filterbank_channels(const FilterbankInput& input, std::span<const std::uint8_t> bytes,
                                IntensityKind kind, std::size_t first, View<float, 2> out) {
  if (bytes.size() % input.bytes_per_sample() != 0 || first + out.extent(0) > input.header.n_chan ||
      bytes.size() / input.bytes_per_sample() > out.extent(1))
    throw std::length_error("decode_filterbank_channels: the output does not fit");
#if defined(__SSE2__)
  if (input.header.n_bit == 8 && kind == IntensityKind::first)
    return input.is_signed ? turn_bytes<std::int8_t>(input, bytes, first, out)
                           : turn_bytes<std::uint8_t>(input, bytes, first, out);
#endif
  const auto with = [&](auto load) { turn(input, bytes, kind, first, out, load); };
  switch (input.header.n_bit) {
    case 1:
      return with(PackedValue<1>{});
    case 2:
      return with(PackedValue<2>{input.is_signed});
    case 4:
      return with(PackedValue<4>{input.is_signed});
    case 8:
      return input.is_signed ? with(WholeValue<std::int8_t>{}) : with(WholeValue<std::uint8_t>{});
    case 16:
      return input.is_signed ? with(WholeValue<std::int16_t>{}) : with(WholeValue<std::uint16_t>{});
    default:
      return with(WholeValue<float>{});
  }
}

}  // namespace apsyn
