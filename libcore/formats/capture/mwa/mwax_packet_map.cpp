// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/formats/capture/mwa/mwax_packet_map.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>

namespace apsyn {
namespace {

constexpr std::size_t kPacketSamples = 2048, kPacketBytes = 2 * kPacketSamples;
constexpr std::size_t kMarginPackets = 4;       // two at each end
constexpr std::size_t kMaxMapBytes = 4u << 20;  // of 512 tiles it has a fifth of that

/// FIRST+BYTES of a part of a block of `block_bytes`.
std::optional<MwaxIndex::Section> parse_section(const std::string& text, std::size_t block_bytes) {
  MwaxIndex::Section section;
  const char* const end = text.data() + text.size();
  const auto [plus, error] = std::from_chars(text.data(), end, section.first);
  if (error != std::errc() || plus == end || *plus != '+') return std::nullopt;
  const auto [last, more] = std::from_chars(plus + 1, end, section.bytes);
  if (more != std::errc() || last != end) return std::nullopt;
  if (section.first > block_bytes || section.bytes > block_bytes - section.first) return std::nullopt;
  return section;
}

/// [input], or empty when the table is none of one row for each input with both polarisations of a tile in
/// turn.
std::vector<std::int64_t> read_delays(const MwaxShape& shape, const MwaxIndex& index,
                                      const std::uint8_t* metadata) {
  if (!index.delay_table) return {};
  const std::size_t row_bytes = index.delay_table->bytes / shape.n_inputs;
  if (row_bytes < 4 || index.delay_table->bytes % shape.n_inputs != 0) return {};
  std::vector<std::int64_t> delays(shape.n_inputs);
  std::vector<unsigned> ids(shape.n_inputs);
  for (std::size_t input = 0; input < shape.n_inputs; ++input) {
    const std::uint8_t* row = metadata + index.delay_table->first + input * row_bytes;
    ids[input] = row[0] | static_cast<unsigned>(row[1]) << 8;
    delays[input] = static_cast<std::int16_t>(row[2] | row[3] << 8);
    if (std::abs(delays[input]) > static_cast<std::int64_t>(kPacketSamples)) return {};
    if (input % 2 == 1 && (ids[input] ^ ids[input - 1]) != 1) return {};
  }
  return delays;
}

}  // namespace

MwaxIndex mwax_index(HeaderReader& header, const MwaxShape& shape) {
  MwaxIndex index;
  const auto section = [&](const char* key) -> std::optional<MwaxIndex::Section> {
    const auto text = header.text(key);
    return text ? parse_section(*text, shape.block_bytes()) : std::nullopt;
  };
  index.packet_map = section("IDX_PACKET_MAP");
  index.delay_table = section("IDX_DELAY_TABLE");
  index.margin_data = section("IDX_MARGIN_DATA");
  const std::size_t row_bytes = (shape.samples() / kPacketSamples + 7) / 8;
  if (index.packet_map &&
      (shape.samples() % kPacketSamples != 0 || index.packet_map->bytes != shape.n_inputs * row_bytes ||
       index.packet_map->bytes > kMaxMapBytes))
    index.packet_map.reset();
  if (index.margin_data && index.margin_data->bytes != shape.n_inputs * kMarginPackets * kPacketBytes)
    index.margin_data.reset();
  if (!index.packet_map) index.unusable = header.text_or("IDX_PACKET_MAP", "");
  return index;
}

MwaxPacketMap::MwaxPacketMap(const MwaxShape& shape, const MwaxIndex& index, const std::uint8_t* metadata,
                             std::size_t missing_samples)
    : shape_(shape), spans_(shape.n_inputs / 2) {
  if (!index.packet_map) return;
  const std::size_t n_packets = shape.samples() / kPacketSamples, row_bytes = (n_packets + 7) / 8;
  const auto packet = static_cast<std::int64_t>(kPacketSamples);
  const std::vector<std::int64_t> delays = read_delays(shape, index, metadata);
  const auto came = [&](std::size_t input, std::size_t margin) {  // a packet of zeros stands for none
    if (!index.margin_data) return false;
    const std::uint8_t* bytes =
        metadata + index.margin_data->first + (input * kMarginPackets + margin) * kPacketBytes;
    return std::any_of(bytes, bytes + kPacketBytes, [](std::uint8_t byte) { return byte != 0; });
  };
  for (std::size_t input = 0; input < shape.n_inputs; ++input) {
    const std::int64_t early = delays.empty() ? packet : delays[input];
    const std::int64_t late = delays.empty() ? packet : -delays[input];
    const auto lose_packet = [&](std::int64_t p) {
      lose(input / 2, {p * packet - early, (p + 1) * packet + late},
           static_cast<std::int64_t>(missing_samples));
    };
    const std::uint8_t* row = metadata + index.packet_map->first + input * row_bytes;
    if (!came(input, 0)) lose_packet(-1);
    for (std::size_t p = 0; p < n_packets; ++p) {
      if ((row[p / 8] >> (7 - p % 8) & 1) != 0) continue;
      ++lost_packets_;
      lose_packet(static_cast<std::int64_t>(p));
    }
    if (!came(input, kMarginPackets - 1)) lose_packet(static_cast<std::int64_t>(n_packets));
  }
  for (auto& spans : spans_) {  // of two polarisations: sort and join
    std::sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) { return a.first < b.first; });
    std::size_t n = 0;
    for (const Span& span : spans)
      if (n > 0 && span.first <= spans[n - 1].end)
        spans[n - 1].end = std::max(spans[n - 1].end, span.end);
      else
        spans[n++] = span;
    spans.resize(n);
  }
}

void MwaxPacketMap::lose(std::size_t antenna, Span span, std::int64_t missing_samples) {
  const auto n_samples = static_cast<std::int64_t>(shape_.samples());
  span = {std::max<std::int64_t>(span.first, 0), std::min(span.end, n_samples)};
  if (span.first >= span.end) return;
  span.first -= span.first % missing_samples;
  span.end += (missing_samples - span.end % missing_samples) % missing_samples;
  auto& spans = spans_[antenna];
  if (!spans.empty() && span.first >= spans.back().first && span.first <= spans.back().end)
    spans.back().end = std::max(spans.back().end, span.end);
  else
    spans.push_back(span);
}

void MwaxPacketMap::blank(std::size_t block, std::uint8_t* samples) const {
  const auto n = static_cast<std::int64_t>(shape_.block_samples);
  const std::int64_t begin = static_cast<std::int64_t>(block) * n;
  for (std::size_t antenna = 0; antenna < spans_.size(); ++antenna) {
    const auto& spans = spans_[antenna];
    auto span =
        std::partition_point(spans.begin(), spans.end(), [&](const Span& s) { return s.end <= begin; });
    for (; span != spans.end() && span->first < begin + n; ++span) {
      const std::int64_t first = std::max(span->first - begin, std::int64_t{0});
      const auto bytes = static_cast<std::size_t>(2 * (std::min(span->end - begin, n) - first));
      for (const std::size_t input : {2 * antenna, 2 * antenna + 1})
        std::memset(samples + 2 * (static_cast<std::size_t>(first) + input * shape_.block_samples), 0, bytes);
    }
  }
}

}  // namespace apsyn
