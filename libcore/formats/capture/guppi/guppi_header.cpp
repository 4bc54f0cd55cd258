// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/formats/capture/guppi/guppi_header.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "libcore/base/csv.h"
#include "libcore/base/error.h"

namespace apsyn {
namespace {

constexpr std::int64_t kMaxBlockBytes = std::int64_t{1} << 31;
constexpr std::size_t kMaxTimeBytes = 2u << 20;  // 128 of them are held

}  // namespace

std::optional<std::size_t> GuppiHeader::cards_length(std::string_view bytes) {
  for (std::size_t card = 0; card < kMaxCards && (card + 1) * kCard <= bytes.size(); ++card)
    if (trim(bytes.substr(card * kCard, kCard)) == "END") return (card + 1) * kCard;
  return std::nullopt;
}

GuppiHeader::GuppiHeader(std::string_view cards, std::string place) : place_(std::move(place)) {
  for (std::size_t at = 0; at < cards.size(); at += kCard) {
    const std::string_view card = cards.substr(at, kCard);
    if (std::any_of(card.begin(), card.end(), [](char c) { return c < ' ' || c > '~'; }))
      throw DataError("{}: byte {} of the header is no text: it is no GUPPI RAW block", place_, at);
    const std::size_t equals = card.find('=');
    if (equals == card.npos) continue;
    std::string_view value = trim(card.substr(equals + 1));
    if (value.starts_with('\'')) {
      value = value.substr(1, std::min(value.find('\'', 1), value.size()) - 1);
    } else {
      value = value.substr(0, value.find('/'));
    }
    values_.emplace(trim(card.substr(0, equals)), trim(value));
  }
  block_bytes = static_cast<std::size_t>(integer("BLOCSIZE", 1, kMaxBlockBytes));
  const bool direct = integer("DIRECTIO", 0, 1, 0) == 1;
  header_bytes = direct ? (cards.size() + 511) / 512 * 512 : cards.size();
  n_ant = static_cast<std::size_t>(integer("NANTS", 1, 1 << 20, 1));
  const auto all_channels = static_cast<std::size_t>(integer("OBSNCHAN", 1, 1 << 24));
  const std::int64_t products = integer("NPOL", 1, 4);
  n_pol = products == 1 ? 1 : 2;  // 4 counts the products of two polarisations
  n_bit = static_cast<unsigned>(integer("NBITS", 1, 32));
  if (n_bit != 2 && n_bit != 4 && n_bit != 8 && n_bit != 16)
    throw DataError("{}: NBITS {}: samples of 2, 4, 8 and 16 bits are read", place_, n_bit);
  if (all_channels % n_ant != 0)
    throw DataError("{}: OBSNCHAN {} is no multiple of NANTS {}", place_, all_channels, n_ant);
  n_chan = all_channels / n_ant;
  // A band that was not divided may be one of real samples, two for each Hz.
  const double samples_per_hz = number("TBIN").value_or(0) * 1e6 * std::abs(number("OBSBW").value_or(0));
  if (text("PKTFMT") == "VDIF" || (n_chan == 1 && std::abs(samples_per_hz - 0.5) < 1e-6)) n_dim = 1;
  if (time_bytes() > kMaxTimeBytes)
    throw DataError(
        "{}: OBSNCHAN {}, NPOL {}, NBITS {}: a sample of all channels has {} bytes: at most {} are read",
        place_, all_channels, n_pol, n_bit, time_bytes(), kMaxTimeBytes);
  if (8 * block_bytes % time_bits() != 0)
    throw DataError("{}: BLOCSIZE {} is no whole number of samples of {} bits", place_, block_bytes,
                    time_bits());
  n_samples = 8 * block_bytes / time_bits();
  overlap = static_cast<std::size_t>(integer("OVERLAP", 0, static_cast<std::int64_t>(n_samples) - 1, 0));
  channels_first = text("PKTFMT") != "SIMPLE";
  packet = integer("PKTIDX", 0, INT64_MAX / 4096);
  // Newer recorders count so many packets in a block, older ones bytes of whole samples.
  if (const std::int64_t in_block = integer("PIPERBLK", 0, INT64_MAX, 0); in_block > 0) {
    samples_numerator_ = static_cast<std::int64_t>(n_samples - overlap);
    samples_denominator_ = in_block;
  } else {
    counts_bytes_ = true;
    samples_numerator_ = 8 * integer("PKTSIZE", 1, 1 << 24);
    samples_denominator_ = static_cast<std::int64_t>(time_bits());
  }
}

std::string GuppiHeader::text(const std::string& key) const {
  const auto found = values_.find(key);
  return found == values_.end() ? "" : found->second;
}

std::optional<double> GuppiHeader::number(const std::string& key) const {
  const std::string value = text(key);
  if (value.empty()) return std::nullopt;
  const auto number = finite_number(value);
  if (!number) throw DataError("{}: {} {}: is no number", place_, key, value);
  return number;
}

std::int64_t GuppiHeader::integer(const std::string& key, std::int64_t least, std::int64_t most,
                                  std::optional<std::int64_t> otherwise) const {
  const std::string value = text(key);
  if (value.empty() && otherwise) return *otherwise;
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  bool good = error == std::errc() && end == value.data() + value.size();
  if (!good && !value.empty()) {  // baseband writes some as 2.0
    const double real = finite_number(value).value_or(0.5);
    good = std::abs(real) < 0x1p53 && real == std::floor(real);
    if (good) number = static_cast<std::int64_t>(real);
  }
  if (!good || number < least || number > most)
    throw DataError("{}: {} {}: an integer from {} to {} is needed", place_, key,
                    value.empty() ? "is missing" : value, least, most);
  return number;
}

bool GuppiHeader::learn_packets(const GuppiHeader& later) {
  if (!counts_bytes_ || n_bit >= 8) return false;
  const auto step = static_cast<__int128>(n_samples - overlap) * samples_denominator_;
  const __int128 told = static_cast<__int128>(later.packet - packet) * samples_numerator_;
  if (told * n_bit != step * 8) return false;
  samples_denominator_ = samples_denominator_ / n_bit * 8;
  return true;
}

std::optional<UtcTime> GuppiHeader::count_start(double sample_s) const {
  constexpr std::int64_t kUnixMjd = 40587, kSecond_ps = 1'000'000'000'000;
  const auto after = [&](const UtcTime& time, double seconds) {
    return add_picoseconds(time, static_cast<__int128>(std::floor(seconds)) * kSecond_ps +
                                     std::llround((seconds - std::floor(seconds)) * 1e12));
  };
  std::optional<UtcTime> start;
  if (!text("STT_IMJD").empty())
    start = after({integer("STT_IMJD", 0, 1 << 20), integer("STT_SMJD", 0, 86400, 0) * kSecond_ps},
                  number("STT_OFFS").value_or(0));
  const double sync_s = number("SYNCTIME").value_or(0);
  if (counts_bytes_ || !(sync_s > 0 && sync_s < 1e11)) return start;
  const UtcTime sync = after({kUnixMjd, 0}, sync_s);
  // No block is older than the observation: one that would be was not counted from there.
  if (start && seconds_between(*start, sample_time(sync, first_sample(), sample_s)) < -1) return start;
  return sync;
}

std::int64_t GuppiHeader::first_sample() const {
  const __int128 samples = static_cast<__int128>(packet) * samples_numerator_ / samples_denominator_;
  if (samples > INT64_MAX / 2) throw DataError("{}: PKTIDX {}: is too large", place_, packet);
  return static_cast<std::int64_t>(samples);
}

bool GuppiHeader::same_kind(const GuppiHeader& other) const {
  return n_ant == other.n_ant && n_chan == other.n_chan && n_pol == other.n_pol && n_bit == other.n_bit &&
         n_dim == other.n_dim && channels_first == other.channels_first &&
         text("STT_IMJD") == other.text("STT_IMJD") && text("STT_SMJD") == other.text("STT_SMJD") &&
         text("STT_OFFS") == other.text("STT_OFFS") && text("SYNCTIME") == other.text("SYNCTIME");
}

}  // namespace apsyn
