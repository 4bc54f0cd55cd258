// SPDX-License-Identifier: GPL-3.0-or-later
// Files of the MWA's correlators, byte by byte as the MWA's documents describe them: the metafits, the gpubox
// files of the legacy correlator in the order of its hardware, and MWAX's.
#pragma once

#include <array>
#include <complex>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace apsyn::reference {

struct MwaTile {
  int antenna = 0;                ///< its number in the table
  std::array<int, 2> input{};     ///< of X and Y: numbers of the receivers' signals, column Input
  std::array<double, 3> enh_m{};  ///< east, north, height
  std::string length = "EL_0";    ///< of the cable
  int flag = 0;
  std::array<std::vector<int>, 2> gains;  ///< of X and Y, for each coarse channel
};

/// What the metafits says. Cards that a test needs otherwise are in `cards`, which replace or add.
struct MwaMetafits {
  std::int64_t obs_id = 1196175296;
  std::vector<int> channels;  ///< of the receivers
  int n_fine = 4;             ///< of each
  double fine_khz = 320, integration_s = 0.5;
  std::vector<MwaTile> tiles;
  std::vector<std::pair<std::string, std::string>> cards;
  bool tells_order = true;  ///< column VCSOrder
};

/// <tile_i pol_p conj(tile_j pol_q)> of a fine channel of a file; i and j count `tiles`.
using MwaSignal =
    std::function<std::complex<double>(std::size_t i, int p, std::size_t j, int q, int channel)>;

enum class MwaPacking { floats, integers, gzip };

std::string mwa_metafits_bytes(const MwaMetafits& metafits);

/// One integration: Unix milliseconds of its beginning, what is measured, and for MWAX the share of the
/// samples that were there.
struct MwaIntegration {
  std::int64_t time_ms = 0;
  MwaSignal signal;
  std::function<double(std::size_t i, int p, std::size_t j, int q)> weight;
};

/// A gpubox file of 128 tiles. Integers are the values over `scale`, which BSCALE tells.
std::string mwa_gpubox_bytes(const MwaMetafits& metafits, const std::vector<MwaIntegration>& integrations,
                             MwaPacking packing = MwaPacking::floats, double scale = 1);

/// A file of MWAX; tiles by rising antenna number.
std::string mwa_mwax_bytes(const MwaMetafits& metafits, const std::vector<MwaIntegration>& integrations,
                           MwaPacking packing = MwaPacking::floats);

}  // namespace apsyn::reference
