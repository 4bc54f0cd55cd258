// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/formats/capture/vlbi/vdif_frame.h"

#include "libcore/formats/capture/vlbi/word.h"

namespace apsyn {
namespace {

int level(std::uint32_t code, unsigned n_bit) {
  static constexpr int kTwoBits[] = {-10, -3, 3, 10};
  if (n_bit == 1) return code != 0 ? 1 : -1;
  if (n_bit == 2) return kTwoBits[code];
  return static_cast<int>(code) - (1 << (n_bit - 1));
}

}  // namespace

std::size_t VdifHeader::n_samples() const {
  const bool known_bits = n_bit == 1 || n_bit == 2 || n_bit == 4 || n_bit == 8 || n_bit == 16;
  if (!known_bits || frame_bytes <= header_bytes()) return 0;
  const std::size_t bits = 8 * (frame_bytes - header_bytes()),
                    sample_bits = n_chan * n_bit * (complex ? 2 : 1);
  return bits % sample_bits == 0 ? bits / sample_bits : 0;
}

bool VdifHeader::same_kind(const VdifHeader& other) const {
  return legacy == other.legacy && complex == other.complex && epoch == other.epoch &&
         station == other.station && n_chan == other.n_chan && frame_bytes == other.frame_bytes &&
         n_bit == other.n_bit;
}

UtcTime VdifHeader::epoch_start() const {
  return parse_utc(std::to_string(2000 + epoch / 2) +
                   (epoch % 2 == 0 ? "-01-01T00:00:00" : "-07-01T00:00:00"));
}

std::string VdifHeader::station_name() const {
  const char name[] = {static_cast<char>(station & 0xFF), static_cast<char>(station >> 8)};
  const auto is_letter = [](char c) { return c > ' ' && c <= '~'; };
  if (is_letter(name[0]) && is_letter(name[1])) return {name, 2};
  return "station" + std::to_string(station);
}

UtcTime vdif_time(const UtcTime& epoch, std::uint32_t seconds) {
  // The days before which a second was put in: 2006, 2009, July 2012, July 2015, 2017.
  constexpr std::int64_t kLeapMjd[] = {53736, 54832, 56109, 57204, 57754};
  std::int64_t n_leap = 0;
  for (const std::int64_t mjd : kLeapMjd)
    if (mjd > epoch.mjd && static_cast<std::int64_t>(seconds) > (mjd - epoch.mjd) * 86400 + n_leap) ++n_leap;
  return add_picoseconds(epoch, (static_cast<__int128>(seconds) - n_leap) * 1'000'000'000'000);
}

VdifHeader parse_vdif_header(const std::uint8_t* bytes) {
  VdifHeader h;
  const std::uint32_t time = word_at(bytes, 0), count = word_at(bytes, 1), size = word_at(bytes, 2);
  const std::uint32_t kind = word_at(bytes, 3), user = word_at(bytes, 4);
  h.invalid = time >> 31 & 1;
  h.legacy = time >> 30 & 1;
  h.seconds = time & 0x3FFFFFFF;
  h.epoch = count >> 24 & 0x3F;
  h.frame = count & 0xFFFFFF;
  h.n_chan = std::size_t{1} << (size >> 24 & 0x1F);
  h.frame_bytes = std::size_t{8} * (size & 0xFFFFFF);
  h.complex = kind >> 31 & 1;
  h.n_bit = (kind >> 26 & 0x1F) + 1;
  h.thread = kind >> 16 & 0x3FF;
  h.station = kind & 0xFFFF;
  const std::uint32_t extended = user >> 24;
  const std::uint32_t rate = user & 0x7FFFFF;
  if (!h.legacy && (extended == 1 || extended == 3) && rate > 0)
    h.bandwidth_hz = rate * (user >> 23 & 1 ? 1e6 : 1e3);
  return h;
}

void decode_vdif(const VdifHeader& h, const std::uint8_t* payload, std::uint8_t* out, std::size_t stride) {
  const std::size_t n_parts = h.n_chan * (h.complex ? 2 : 1), n_samples = h.n_samples();
  const std::uint32_t mask = (1u << h.n_bit) - 1;
  const std::uint32_t turned = h.twos_complement ? 1u << (h.n_bit - 1) : 0;
  std::size_t bit = 0;
  for (std::size_t t = 0; t < n_samples; ++t, out += stride)
    for (std::size_t part = 0; part < n_parts; ++part, bit += h.n_bit) {
      const std::uint32_t code = (word_at(payload, bit / 32) >> (bit % 32) & mask) ^ turned;
      const int value = level(code, h.n_bit);
      if (h.n_bit < 16) {
        out[part] = static_cast<std::uint8_t>(value);
      } else {
        out[2 * part] = static_cast<std::uint8_t>(value & 0xFF);
        out[2 * part + 1] = static_cast<std::uint8_t>(value >> 8 & 0xFF);
      }
    }
}

}  // namespace apsyn
