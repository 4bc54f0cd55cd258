// SPDX-License-Identifier: GPL-3.0-or-later
// Encodes samples into the bytes of a voltage stream, literally from the description of apsyn-voltage(5): one
// component after the other, each written bit by bit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace apsyn::reference {

struct VoltageFormat {
  std::string order = "TFAP";
  std::size_t n_chan = 1, n_ant = 1, n_pol = 1, heap = 1;
  unsigned n_bit = 8, n_dim = 2;
  std::string encoding = "TWOSCOMPLEMENT", endian = "LITTLE";
  bool conjugated = false;
};

/// The value of one component as the reader must return it.
using Component = std::function<double(std::size_t time, std::size_t chan, std::size_t ant, std::size_t pol,
                                       unsigned part)>;

/// n_time must be a multiple of `heap` when T is not the slowest axis.
std::vector<std::uint8_t> encode_voltages(const VoltageFormat& format, std::size_t n_time,
                                          const Component& component);

/// "KEY value" lines padded to 4096 bytes, with `extra` lines appended.
std::string voltage_header_text(const VoltageFormat& format, const std::string& extra);

}  // namespace apsyn::reference
