// SPDX-License-Identifier: GPL-3.0-or-later
// Processes of which each makes the images of whole groups of channels: it reads and keeps these channels
// alone, and nothing is added up. The first process has the images of all and finds the components.
#pragma once

#include <cstddef>
#include <vector>

#include "libcore/system/ranks.h"
#include "libcore/visibility/imaging.h"
#include "tools/imaging/field.h"

namespace apsyn::imaging {

struct Sky;

/// By the groups' numbers among all of --channels-out.
struct GroupShare {
  Ranks ranks{};  ///< of one process, which makes all groups, unless each makes groups of its own

  bool is_shared() const { return ranks.size > 1; }
  int maker(std::size_t number) const {
    return static_cast<int>(number % static_cast<std::size_t>(ranks.size));
  }
  bool makes(std::size_t number) const { return maker(number) == ranks.rank; }
  std::vector<ChannelGroup> own(const std::vector<ChannelGroup>& groups) const;
};

/// How the processes share n groups: each makes its own if there is one for each process, and all work on
/// each group otherwise, and for --calibrate, whose gains are those of the whole band.
GroupShare share_groups(const Imager& imager, std::size_t n_groups);

/// Groups of the sky that processes make at the same time, one each.
struct GroupRound {
  std::size_t first = 0, end = 0;
};
std::vector<GroupRound> rounds_of(const Sky& sky);

// Between the first process and the maker of group g of the sky, which both call it; nothing for the others,
// and where the first makes it. Images are those of each field.

/// The model, from the first to the maker.
void hand_out_model(Sky& sky, std::size_t g);
/// The residual, to the first.
void hand_in_residual(Sky& sky, std::size_t g);
/// The residual, the weights, the PSF, the average beam and, where cleaning goes on from a model, that.
void hand_in_first_images(Sky& sky, std::size_t g, bool with_model);

}  // namespace apsyn::imaging
