// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/formats/filterbank/reader.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <stdexcept>

#include "libcore/base/error.h"
#include "libcore/base/log.h"

namespace apsyn {

static_assert(std::endian::native == std::endian::little, "SIGPROC files are read as memory has them");

namespace {

/// Samples share bytes, the first in the least significant bits.
template <unsigned Bits>
void decode_packed(const std::uint8_t* bytes, std::size_t n_bytes, bool is_signed, float* out) {
  constexpr unsigned kPerByte = 8 / Bits, kMask = (1u << Bits) - 1;
  float of_code[kMask + 1];
  for (unsigned code = 0; code <= kMask; ++code)
    of_code[code] = static_cast<float>(is_signed && code > kMask / 2
                                           ? static_cast<int>(code) - static_cast<int>(kMask) - 1
                                           : static_cast<int>(code));
  for (std::size_t i = 0; i < n_bytes; ++i)
    for (unsigned j = 0; j < kPerByte; ++j) *out++ = of_code[bytes[i] >> (j * Bits) & kMask];
}

template <class T>
void decode_whole(const std::uint8_t* bytes, std::size_t n, float* out) {
  for (std::size_t i = 0; i < n; ++i) {
    T value;
    std::memcpy(&value, bytes + i * sizeof(T), sizeof(T));
    out[i] = static_cast<float>(value);
  }
}

}  // namespace

void decode_filterbank(const FilterbankInput& input, std::span<const std::uint8_t> bytes,
                       std::span<float> out) {
  if (bytes.size() * 8 != out.size() * input.header.n_bit)
    throw std::length_error("decode_filterbank: the bytes do not hold the values exactly");
  const bool is_signed = input.is_signed;
  switch (input.header.n_bit) {
    case 1:
      return decode_packed<1>(bytes.data(), bytes.size(), false, out.data());
    case 2:
      return decode_packed<2>(bytes.data(), bytes.size(), is_signed, out.data());
    case 4:
      return decode_packed<4>(bytes.data(), bytes.size(), is_signed, out.data());
    case 8:
      return is_signed ? decode_whole<std::int8_t>(bytes.data(), out.size(), out.data())
                       : decode_whole<std::uint8_t>(bytes.data(), out.size(), out.data());
    case 16:
      return is_signed ? decode_whole<std::int16_t>(bytes.data(), out.size(), out.data())
                       : decode_whole<std::uint16_t>(bytes.data(), out.size(), out.data());
    default:
      std::memcpy(out.data(), bytes.data(), bytes.size());
  }
}

FilterbankReader::FilterbankReader(const std::string& path)
    : source_(path), input_(parse_filterbank_header(source_)) {
  if (!source_.size()) return;
  n_samples_ = (*source_.size() - source_.offset()) / input_.bytes_per_sample();
  if (const auto rest = (*source_.size() - source_.offset()) % input_.bytes_per_sample(); rest != 0)
    throw DataError("{}: ends at byte {}, {} bytes inside sample {}: the file is cut short", name(),
                    *source_.size(), rest, *n_samples_);
  if (input_.stated_samples && *input_.stated_samples > *n_samples_)
    log_warning("{}: the header says {} samples, and the file has {}", name(), *input_.stated_samples,
                *n_samples_);
}

std::size_t FilterbankReader::read(std::size_t n_time, std::vector<std::uint8_t>& bytes) {
  const std::size_t sample_bytes = input_.bytes_per_sample();
  if (n_samples_) n_time = std::min<std::uint64_t>(n_time, *n_samples_ - std::min(*n_samples_, n_read_) + 1);
  if (n_time > SIZE_MAX / sample_bytes) throw std::length_error("FilterbankReader: too many samples at once");
  bytes.resize(n_time * sample_bytes);
  const std::size_t n = source_.read(bytes.data(), bytes.size());
  if (n % sample_bytes != 0)
    throw DataError("{}: ends at byte {}, {} bytes inside sample {}: the file is cut short", name(),
                    source_.offset(), n % sample_bytes, n_read_ + n / sample_bytes);
  bytes.resize(n);
  n_read_ += n / sample_bytes;
  return n / sample_bytes;
}

std::size_t FilterbankReader::read(std::size_t n_time, Buffer<float, 3>& samples) {
  const std::size_t n = read(n_time, bytes_);
  samples.resize_for_overwrite({n, input_.header.n_if, input_.header.n_chan});
  decode_filterbank(input_, bytes_, samples.view().span());
  return n;
}

void FilterbankReader::skip(std::uint64_t n_time) {
  std::uint64_t n_bytes;
  if (__builtin_mul_overflow(n_time, input_.bytes_per_sample(), &n_bytes))
    throw DataError("{}: {} samples are to be skipped, more than any file has", name(), n_time);
  source_.skip(n_bytes);
  n_read_ += n_time;
}

}  // namespace apsyn
