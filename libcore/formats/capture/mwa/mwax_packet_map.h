// SPDX-License-Identifier: GPL-3.0-or-later
// What an MWAX recorder did not receive. It assembles a sub-file from packets of 2048 samples of one input,
// puts zeros in the place of those that never came, and marks them in the block of metadata (MWAX_SUB_VER 2):
//   IDX_PACKET_MAP   [input][packet / 8], most significant bit first, 1 = received
//   IDX_DELAY_TABLE  a row for each input: uint16 2 * tile + polarisation, int16 whole samples by which its
//                    packets were shifted, and more
//   IDX_MARGIN_DATA  [input][4][2048][re, im]: the packets before and after the sub-observation are the first
//                    and the last; the map leaves them out
// each key being FIRST+BYTES within the block. Sample s of an input is sample s + delay of its packets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "libcore/header/ascii_header.h"

namespace apsyn {

struct MwaxShape {
  std::size_t n_inputs = 0, block_samples = 0, n_blocks = 0;
  std::size_t block_bytes() const { return 2 * n_inputs * block_samples; }
  std::size_t samples() const { return block_samples * n_blocks; }
  bool operator==(const MwaxShape&) const = default;
};

/// Parts of the block of metadata.
struct MwaxIndex {
  struct Section {
    std::size_t first = 0, bytes = 0;
  };
  std::optional<Section> packet_map, delay_table, margin_data;
  /// A map that the header names but that cannot be one: some recorders wrote random numbers there.
  std::string unusable;
};
/// Absent: sections that the header lacks, or that do not fit a sub-file of `shape`.
MwaxIndex mwax_index(HeaderReader& header, const MwaxShape& shape);

/// The spans of samples that are missing: whole blocks of missing_samples of both polarisations of an
/// antenna. Without a delay for each input, a lost packet costs its neighbours, too.
class MwaxPacketMap {
 public:
  MwaxPacketMap() = default;  ///< nothing is missing
  /// `metadata`: shape.block_bytes(). `missing_samples` divides shape.block_samples.
  MwaxPacketMap(const MwaxShape& shape, const MwaxIndex& index, const std::uint8_t* metadata,
                std::size_t missing_samples);
  std::uint64_t lost_packets() const { return lost_packets_; }
  /// Clears what is missing of a block, [input][sample][re, im].
  void blank(std::size_t block, std::uint8_t* samples) const;

 private:
  struct Span {
    std::int64_t first, end;
  };
  void lose(std::size_t antenna, Span span, std::int64_t missing_samples);

  MwaxShape shape_;
  std::vector<std::vector<Span>> spans_;  ///< [antenna], rising and apart
  std::uint64_t lost_packets_ = 0;
};

}  // namespace apsyn
