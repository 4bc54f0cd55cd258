// SPDX-License-Identifier: GPL-3.0-or-later
// A loader turns sample number `index` of a packed run into (re, im). Canonical streams are one long run;
// other orders go channel by channel in tiles of time: whole lines [ant][pol] when the source has them
// together, otherwise one input after the other.
#include "libcore/voltage/sample_decoder.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>

namespace apsyn {
namespace {

constexpr float kMaxFloat = std::numeric_limits<float>::max();
constexpr std::size_t kTimeTile = 64;  // rows of 2 B x 64 inputs: 8 KiB

struct Pair8 {
  std::int8_t re, im;
};
struct PairF {
  float re, im;
};

// ---- to int8: `flip` is the offset-binary bit, 0 for two's complement

struct Complex8 {
  std::uint8_t flip;
  Pair8 operator()(const std::uint8_t* run, std::size_t index) const {
    return {static_cast<std::int8_t>(run[2 * index] ^ flip),
            static_cast<std::int8_t>(run[2 * index + 1] ^ flip)};
  }
};
struct Real8 {
  std::uint8_t flip;
  Pair8 operator()(const std::uint8_t* run, std::size_t index) const {
    return {static_cast<std::int8_t>(run[index] ^ flip), 0};
  }
};
// (n ^ 8) - 8 extends the sign of a nibble; offset binary has the sign bit flipped already.
constexpr std::int8_t signed_nibble(unsigned nibble, unsigned flip) {
  return static_cast<std::int8_t>(static_cast<int>((nibble ^ flip) ^ 8u) - 8);
}
struct Complex4 {
  unsigned flip;
  Pair8 operator()(const std::uint8_t* run, std::size_t index) const {
    return {signed_nibble(run[index] >> 4, flip), signed_nibble(run[index] & 0xFu, flip)};
  }
};
/// Samples that stay packed.
struct Packed4 {
  std::uint8_t flip;  // of both signs
  std::uint8_t operator()(const std::uint8_t* run, std::size_t index) const {
    return static_cast<std::uint8_t>(run[index] ^ flip);
  }
};
struct Real4 {
  unsigned flip;
  Pair8 operator()(const std::uint8_t* run, std::size_t index) const {
    const unsigned byte = run[index / 2];
    return {signed_nibble(index % 2 ? byte & 0xFu : byte >> 4, flip), 0};
  }
};
/// Two 5-bit components in 16 bits: real in bits 9..5, imaginary in bits 4..0.
template <ByteOrder Order>
struct Pack5x5 {
  Pair8 operator()(const std::uint8_t* run, std::size_t index) const {
    const unsigned low = run[2 * index + (Order == ByteOrder::little ? 0 : 1)];
    const unsigned high = run[2 * index + (Order == ByteOrder::little ? 1 : 0)];
    const unsigned word = low | high << 8;
    const auto component = [](unsigned bits) {
      return static_cast<std::int8_t>(static_cast<int>(bits ^ 16u) - 16);
    };
    return {component(word >> 5 & 31u), component(word & 31u)};
  }
};

// ---- to float

template <class Word, ByteOrder Order>
Word load_word(const std::uint8_t* at) {
  Word word = 0;
  for (std::size_t i = 0; i < sizeof(Word); ++i) {
    const std::size_t shift = 8 * (Order == ByteOrder::little ? i : sizeof(Word) - 1 - i);
    word = static_cast<Word>(word | static_cast<Word>(static_cast<Word>(at[i]) << shift));
  }
  return word;
}
template <ByteOrder Order>
struct Int16 {
  static constexpr std::size_t kBytes = 2;
  std::uint16_t flip;
  float operator()(const std::uint8_t* at) const {
    return static_cast<std::int16_t>(load_word<std::uint16_t, Order>(at) ^ flip);
  }
};
template <ByteOrder Order>
struct Int32 {
  static constexpr std::size_t kBytes = 4;
  std::uint32_t flip;
  float operator()(const std::uint8_t* at) const {
    return static_cast<float>(static_cast<std::int32_t>(load_word<std::uint32_t, Order>(at) ^ flip));
  }
};
template <ByteOrder Order>
struct Float32 {
  static constexpr std::size_t kBytes = 4;
  float operator()(const std::uint8_t* at) const {
    return std::bit_cast<float>(load_word<std::uint32_t, Order>(at));
  }
};
template <class Component>
struct ComplexOf {
  Component component;
  PairF operator()(const std::uint8_t* run, std::size_t index) const {
    const std::uint8_t* at = run + 2 * Component::kBytes * index;
    return {component(at), component(at + Component::kBytes)};
  }
};
template <class Component>
struct RealOf {
  Component component;
  PairF operator()(const std::uint8_t* run, std::size_t index) const {
    return {component(run + Component::kBytes * index), 0.0f};
  }
};

template <class Out, class Load>
void decode_line(const Load& load, const std::uint8_t* run, std::size_t first, std::size_t n, Out* out) {
  for (std::size_t i = 0; i < n; ++i) {
    const auto sample = load(run, first + i);
    if constexpr (sizeof(sample) == sizeof(Out)) {
      out[i] = sample;
    } else {
      out[2 * i] = sample.re;
      out[2 * i + 1] = sample.im;
    }
  }
}

void conjugate(std::int8_t* values, std::size_t n_pairs) {
  for (std::size_t i = 0; i < n_pairs; ++i)
    values[2 * i + 1] = static_cast<std::int8_t>(std::min(-int{values[2 * i + 1]}, 127));
}
void conjugate(float* values, std::size_t n_pairs) {
  for (std::size_t i = 0; i < n_pairs; ++i) values[2 * i + 1] = -values[2 * i + 1];
}

void conjugate(std::uint8_t*, std::size_t) {
  throw std::logic_error("SampleDecoder: conjugates of 4 bits do not fit");
}

}  // namespace

SampleDecoder::SampleDecoder(const VoltageHeader& header)
    : header_(header),
      integer_(header.n_bit <= 8),
      n_chan_(header.n_chan),
      n_ant_(header.n_ant),
      n_pol_(header.n_pol),
      unit_samples_(header.unit_samples()),
      unit_bytes_(header.unit_bytes()),
      heaps_(header.order.front() != 'T') {
  header_.layout = {};
  header_.unknown.clear();
  std::size_t stride = 1;
  for (auto letter = header.order.rbegin(); letter != header.order.rend(); ++letter) {
    switch (*letter) {
      case 'T':
        time_stride_ = stride, stride *= heaps_ ? unit_samples_ : 1;
        break;
      case 'F':
        chan_stride_ = stride, stride *= n_chan_;
        break;
      case 'A':
        ant_stride_ = stride, stride *= n_ant_;
        break;
      default:
        pol_stride_ = stride, stride *= n_pol_;
        break;
    }
  }
  // Where an axis of length 1 stands does not matter.
  whole_lines_ = (n_pol_ == 1 || pol_stride_ == 1) && (n_ant_ == 1 || ant_stride_ == n_pol_);
  canonical_ =
      whole_lines_ && (!heaps_ || unit_samples_ == 1) && (n_chan_ == 1 || chan_stride_ == n_ant_ * n_pol_);
}

template <class Out, class Load>
void SampleDecoder::run(const Load& load, const std::uint8_t* units, std::size_t first, std::size_t n_time,
                        Out* out) const {
  using Sample = decltype(load(units, 0));
  constexpr std::size_t n_value = sizeof(Sample) / sizeof(Out);  // of a sample: re and im, or both in one
  const std::size_t per_time = n_chan_ * n_ant_ * n_pol_;
  // With NSBLK 1 a heap is one time sample, so that heaps follow each other as plain samples do.
  const std::size_t unit_samples = heaps_ && unit_samples_ > 1 ? unit_samples_ : SIZE_MAX;
  const std::size_t time_stride = unit_samples == SIZE_MAX ? per_time : time_stride_;
  if (canonical_) {
    decode_line(load, units, first * per_time, n_time * per_time, out);
  } else {
    const std::size_t line = n_ant_ * n_pol_;
    std::vector<Sample> tile(whole_lines_ ? 0 : kTimeTile * line);
    for (std::size_t done = 0; done < n_time;) {
      const std::size_t unit = (first + done) / unit_samples, start = (first + done) % unit_samples;
      const std::size_t n = std::min({kTimeTile, n_time - done, unit_samples - start});
      const std::uint8_t* run = units + (unit_samples == SIZE_MAX ? 0 : unit * unit_bytes_);
      for (std::size_t chan = 0; chan < n_chan_; ++chan) {
        const std::size_t from = start * time_stride + chan * chan_stride_;
        Out* to = out + n_value * (done * per_time + chan * line);
        if (whole_lines_) {
          for (std::size_t time = 0; time < n; ++time)
            decode_line(load, run, from + time * time_stride, line, to + n_value * time * per_time);
          continue;
        }
        // Through a compact tile [time][ant][pol]: rows of the output lie a power of two apart more often
        // than not, and would push each other out of the cache.
        for (std::size_t ant = 0; ant < n_ant_; ++ant)
          for (std::size_t pol = 0; pol < n_pol_; ++pol) {
            std::size_t index = from + ant * ant_stride_ + pol * pol_stride_;
            auto* cell = tile.data() + ant * n_pol_ + pol;
            for (std::size_t time = 0; time < n; ++time, index += time_stride, cell += line)
              *cell = load(run, index);
          }
        for (std::size_t time = 0; time < n; ++time)
          std::memcpy(to + n_value * time * per_time, tile.data() + time * line, line * sizeof(Sample));
      }
      done += n;
    }
  }
  if (header_.sideband_conj) conjugate(out, n_time * per_time);
}

bool SampleDecoder::can_stay_4bit() const {
  return header_.n_bit == 4 && header_.n_dim == 2 && header_.encoding != SampleEncoding::pack5x5 &&
         !header_.sideband_conj;
}

bool SampleDecoder::copies(bool stay_4bit) const {
  const bool whole = stay_4bit ? can_stay_4bit() : header_.n_bit == 8 && header_.n_dim == 2;
  return whole && canonical_ && !header_.sideband_conj &&
         header_.encoding == SampleEncoding::twos_complement && unit_samples_ == 1;
}

void SampleDecoder::decode(const std::uint8_t* units, std::size_t first, std::size_t n_time,
                           std::uint8_t* out) const {
  const bool offset = header_.encoding == SampleEncoding::offset_binary;
  run(Packed4{static_cast<std::uint8_t>(offset ? 0x88 : 0)}, units, first, n_time, out);
}

void SampleDecoder::decode(const std::uint8_t* units, std::size_t first, std::size_t n_time,
                           std::int8_t* out) const {
  const bool offset = header_.encoding == SampleEncoding::offset_binary;
  const bool complex = header_.n_dim == 2;
  if (header_.encoding == SampleEncoding::pack5x5) {
    header_.byte_order == ByteOrder::little ? run(Pack5x5<ByteOrder::little>{}, units, first, n_time, out)
                                            : run(Pack5x5<ByteOrder::big>{}, units, first, n_time, out);
  } else if (header_.n_bit == 4) {
    const unsigned flip = offset ? 8u : 0u;
    complex ? run(Complex4{flip}, units, first, n_time, out) : run(Real4{flip}, units, first, n_time, out);
  } else {
    const auto flip = static_cast<std::uint8_t>(offset ? 0x80 : 0);
    complex ? run(Complex8{flip}, units, first, n_time, out) : run(Real8{flip}, units, first, n_time, out);
  }
}

void SampleDecoder::decode(const std::uint8_t* units, std::size_t first, std::size_t n_time,
                           float* out) const {
  const bool offset = header_.encoding == SampleEncoding::offset_binary;
  const auto of = [&](auto component) {
    header_.n_dim == 2 ? run(ComplexOf<decltype(component)>{component}, units, first, n_time, out)
                       : run(RealOf<decltype(component)>{component}, units, first, n_time, out);
  };
  const auto ordered = [&](auto order) {
    constexpr ByteOrder kOrder = decltype(order)::value;
    if (header_.encoding == SampleEncoding::floating)
      of(Float32<kOrder>{});
    else if (header_.n_bit == 16)
      of(Int16<kOrder>{static_cast<std::uint16_t>(offset ? 0x8000 : 0)});
    else
      of(Int32<kOrder>{offset ? 0x80000000u : 0u});
  };
  if (header_.byte_order == ByteOrder::little)
    ordered(std::integral_constant<ByteOrder, ByteOrder::little>{});
  else
    ordered(std::integral_constant<ByteOrder, ByteOrder::big>{});
}

bool all_finite(const float* values, std::size_t n) {
  // |x| <= FLT_MAX is false for NaN and Inf. Short sums in the values' own width vectorise; an early exit and
  // a 64-bit sum do not.
  constexpr std::size_t kPiece = 1024;
  for (std::size_t at = 0; at < n; at += kPiece) {
    const std::size_t piece = std::min(kPiece, n - at);
    std::int32_t bad = 0;
    for (std::size_t i = 0; i < piece; ++i) bad += std::abs(values[at + i]) <= kMaxFloat ? 0 : 1;
    if (bad != 0) return false;
  }
  return true;
}

bool clear_not_finite(View<float, 5> samples, Buffer<std::uint8_t, 3>& mask) {
  if (all_finite(samples.data(), samples.size())) return false;
  const std::size_t n_pol = samples.extent(3);
  mask.resize({samples.extent(0), samples.extent(1), samples.extent(2)});
  float* pair = samples.data();
  for (std::uint8_t& bad : mask)
    for (std::size_t pol = 0; pol < n_pol; ++pol, pair += 2) {
      if (std::abs(pair[0]) <= kMaxFloat && std::abs(pair[1]) <= kMaxFloat) continue;
      pair[0] = pair[1] = 0;
      bad = 1;
    }
  return true;
}

}  // namespace apsyn
