// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/reference/recordings/voltage_encoder.h"

#include <cmath>
#include <cstring>
#include <map>
#include <stdexcept>

namespace apsyn::reference {
namespace {

struct BitWriter {
  std::vector<std::uint8_t> bytes;
  unsigned free_bits = 0;  // in the last byte, filled from the high end

  void nibble(unsigned value) {
    if (free_bits == 0) {
      bytes.push_back(static_cast<std::uint8_t>(value << 4));
      free_bits = 4;
    } else {
      bytes.back() = static_cast<std::uint8_t>(bytes.back() | value);
      free_bits = 0;
    }
  }
  void word(std::uint32_t value, unsigned n_bytes, bool big) {
    for (unsigned i = 0; i < n_bytes; ++i) {
      const unsigned shift = 8 * (big ? n_bytes - 1 - i : i);
      bytes.push_back(static_cast<std::uint8_t>(value >> shift));
    }
  }
};

}  // namespace

std::vector<std::uint8_t> encode_voltages(const VoltageFormat& format, std::size_t n_time,
                                          const Component& component) {
  BitWriter out;
  const bool big = format.endian == "BIG";
  const auto put = [&](const std::map<char, std::size_t>& at) {
    double parts[2];
    for (unsigned part = 0; part < 2; ++part)
      parts[part] = component(at.at('T'), at.at('F'), at.at('A'), at.at('P'), part);
    if (format.conjugated) parts[1] = -parts[1];
    if (format.encoding == "PACK5X5") {
      const auto five = [](double value) {
        return static_cast<std::uint32_t>(static_cast<int>(value)) & 0x1F;
      };
      out.word(five(parts[0]) << 5 | five(parts[1]), 2, big);
      return;
    }
    for (unsigned part = 0; part < format.n_dim; ++part) {
      if (format.encoding == "FLOAT") {
        const float value = static_cast<float>(parts[part]);
        std::uint32_t bits;
        std::memcpy(&bits, &value, 4);
        out.word(bits, 4, big);
        continue;
      }
      std::int64_t code = static_cast<std::int64_t>(parts[part]);
      if (format.encoding == "OFFSETBINARY") code += std::int64_t{1} << (format.n_bit - 1);
      if (format.n_bit == 4)
        out.nibble(static_cast<unsigned>(code & 0xF));
      else
        out.word(static_cast<std::uint32_t>(code), format.n_bit / 8, big);
    }
  };
  // The stream is a sequence of heaps; inside one the axes nest in the order of the letters.
  const std::size_t heap = format.order[0] == 'T' ? n_time : format.heap;
  if (n_time % heap != 0) throw std::logic_error("encode_voltages: whole heaps only");
  const std::map<char, std::size_t> extent{
      {'T', heap}, {'F', format.n_chan}, {'A', format.n_ant}, {'P', format.n_pol}};
  for (std::size_t start = 0; start < n_time; start += heap) {
    std::map<char, std::size_t> at{{'T', 0}, {'F', 0}, {'A', 0}, {'P', 0}};
    const std::function<void(std::size_t)> nest = [&](std::size_t depth) {
      if (depth == format.order.size()) {
        auto where = at;
        where['T'] += start;
        put(where);
        return;
      }
      const char axis = format.order[depth];
      for (at[axis] = 0; at[axis] < extent.at(axis); ++at[axis]) nest(depth + 1);
    };
    nest(0);
  }
  return out.bytes;
}

std::string voltage_header_text(const VoltageFormat& format, const std::string& extra) {
  std::string text =
      "HDR_VERSION 1.0\nHDR_SIZE 4096\nTELESCOPE test\nSOURCE zenith\nUTC_START 2024-02-29-23:59:59\n"
      "FREQ 150\nBW 1.28\nTSAMP 0.78125\n";
  const auto add = [&](const char* key, const std::string& value) {
    text += std::string(key) + " " + value + "\n";
  };
  add("NBIT", std::to_string(format.n_bit));
  add("NDIM", std::to_string(format.n_dim));
  add("NPOL", std::to_string(format.n_pol));
  add("NCHAN", std::to_string(format.n_chan));
  add("NANT", std::to_string(format.n_ant));
  add("ORDER", format.order);
  add("NSBLK", std::to_string(format.heap));
  add("ENCODING", format.encoding);
  add("ENDIAN", format.endian);
  add("SIDEBAND_CONJ", format.conjugated ? "1" : "0");
  text += extra;
  text.resize(4096, '\0');
  return text;
}

}  // namespace apsyn::reference
