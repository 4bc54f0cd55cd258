// SPDX-License-Identifier: GPL-3.0-or-later
// Memory of blocks before anything is read into them.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "libcore/voltage/voltage.h"

namespace apsyn {

/// Gives a block room for n_time samples of such a stream, packed or not, and tells where it is.
inline std::span<std::byte> allocate_block(const VoltageHeader& header, bool four_bit, std::size_t n_time,
                                           VoltageBlock& block) {
  if (four_bit) {
    block.samples_i4.resize_for_overwrite({n_time, header.n_chan, header.n_ant, header.n_pol});
    return std::as_writable_bytes(block.samples_i4.view().span());
  }
  const std::array<std::size_t, 5> shape{n_time, header.n_chan, header.n_ant, header.n_pol, 2};
  if (header.n_bit > 8) {
    block.samples_f32.resize_for_overwrite(shape);
    return std::as_writable_bytes(block.samples_f32.view().span());
  }
  block.samples_i8.resize_for_overwrite(shape);
  return std::as_writable_bytes(block.samples_i8.view().span());
}

/// The same where an engine takes them fastest from.
template <class Engine>
std::shared_ptr<void> pin_block(Engine& engine, const VoltageHeader& header, bool four_bit,
                                std::size_t n_time, VoltageBlock& block) {
  const std::span<std::byte> room = allocate_block(header, four_bit, n_time, block);
  return engine.pin(room.data(), room.size());
}

}  // namespace apsyn
