// SPDX-License-Identifier: GPL-3.0-or-later
// Blocks of GUPPI RAW, written byte by byte, with samples that are known.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace apsyn::support {

struct GuppiFormat {
  std::size_t n_ant = 1, n_chan = 4, n_samples = 512, overlap = 32;
  bool direct = false;
  std::string extra{};
  unsigned n_bit = 8;
  std::size_t n_pol = 2, n_dim = 2, packet_bits = 0,
              packet_samples = 1;  ///< of a component in packets; 0: n_bit
  bool low_first = false, simple = false;
  std::size_t n_parts() const { return n_pol * n_dim; }
};

/// The code of a component of few bits: anything, but known.
inline unsigned guppi_code(const GuppiFormat& f, std::size_t ant, std::size_t chan, std::size_t t,
                           std::size_t part) {
  const std::uint64_t hash = ((ant * 5 + chan) * 1009 + t * 4 + part + 1) * 0x9E3779B97F4A7C15u;
  return static_cast<unsigned>(hash >> 40) & ((1u << f.n_bit) - 1);
}

inline std::int8_t guppi_value(std::size_t ant, std::size_t chan, std::size_t t, std::size_t part) {
  const auto value = static_cast<int>((ant * 131 + chan * 31 + t * 7 + part * 3) % 251) - 125;
  return static_cast<std::int8_t>(value == 0 ? 1 : value);
}

/// The codes of a block one after the other, as a number that is written from its highest digit on.
inline std::string guppi_few_bits(const GuppiFormat& f, std::size_t first) {
  std::vector<unsigned> codes;
  const std::size_t lines = f.n_ant * f.n_chan, outer = f.simple ? f.n_samples : lines,
                    inner = f.simple ? lines : f.n_samples;
  for (std::size_t i = 0; i < outer; ++i)
    for (std::size_t j = 0; j < inner; ++j)
      for (std::size_t part = 0; part < f.n_parts(); ++part) {
        const std::size_t t = f.simple ? i : j, line = f.simple ? j : i;
        codes.push_back(guppi_code(f, line / f.n_chan, line % f.n_chan, first + t, part));
      }
  std::string bytes;
  const unsigned per_byte = 8 / f.n_bit;
  for (std::size_t at = 0; at < codes.size(); at += per_byte) {
    unsigned byte = 0;
    for (unsigned i = 0; i < per_byte; ++i)
      byte = byte << f.n_bit | codes[at + (f.low_first ? per_byte - 1 - i : i)];
    bytes += static_cast<char>(byte);
  }
  return bytes;
}

inline std::string guppi_block(const GuppiFormat& f, std::size_t block) {
  std::string cards;
  const auto card = [&](const std::string& key, const std::string& value) {
    std::string text = key;
    text.resize(8, ' ');
    text += "= " + value;
    text.resize(80, ' ');
    cards += text;
  };
  const std::size_t step = f.n_samples - f.overlap;
  const std::size_t bytes = f.n_ant * f.n_chan * f.n_samples * f.n_parts() * f.n_bit / 8;
  card("TELESCOP", "'GBT     '");
  card("SRC_NAME", "'B0329+54'");
  card("OBSFREQ", "1500.0");
  card("OBSBW", "-12.5");
  card("CHAN_BW", f.extra.empty() ? std::to_string(-12.5 / double(f.n_chan)) : f.extra);
  card("TBIN", std::to_string(double(f.n_chan) / 12.5) + "E-06 / [s]");
  card("OBSNCHAN", std::to_string(f.n_chan * f.n_ant));
  if (f.n_ant > 1) card("NANTS", std::to_string(f.n_ant));
  card("NPOL", f.n_pol == 1 ? "1" : "4");
  card("NBITS", std::to_string(f.n_bit));
  if (f.simple) card("PKTFMT", "'SIMPLE  '");
  card("OVERLAP", std::to_string(f.overlap));
  card("BLOCSIZE", std::to_string(bytes));
  card("PKTSIZE", std::to_string(f.n_ant * f.n_chan * f.n_parts() * f.packet_samples *
                                 (f.packet_bits > 0 ? f.packet_bits : f.n_bit) / 8));
  card("PKTIDX", std::to_string((1000 + block * step) / f.packet_samples));
  card("STT_IMJD", "58132");
  card("STT_SMJD", "51093");
  card("STT_OFFS", "0.25");
  if (f.direct) card("DIRECTIO", "1");
  cards += "END";
  cards.resize((cards.size() + 79) / 80 * 80, ' ');
  if (f.direct) cards.resize((cards.size() + 511) / 512 * 512, '\0');
  if (f.n_bit < 8) return cards + guppi_few_bits(f, block * step);
  for (std::size_t ant = 0; ant < f.n_ant; ++ant)
    for (std::size_t chan = 0; chan < f.n_chan; ++chan)
      for (std::size_t t = 0; t < f.n_samples; ++t)
        for (std::size_t part = 0; part < f.n_parts(); ++part)
          cards += static_cast<char>(guppi_value(ant, chan, block * step + t, part));
  return cards;
}

}  // namespace apsyn::support
