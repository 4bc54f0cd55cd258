// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/imaging/group_share.h"

#include <span>

#include "libcore/base/view.h"
#include "tools/imaging/major_cycles.h"

namespace apsyn::imaging {
namespace {

/// Calls pass(values) with those of one group.
template <class T, std::size_t Rank, class Pass>
void pass_group(Buffer<T, Rank>& images, std::size_t slot, Pass pass) {
  if (images.size() == 0) return;
  const std::size_t n = images.size() / images.extent(0);
  pass(std::span<T>(images.data() + slot * n, n));
}

/// Calls use(images, slot, pass) for each field; pass(values) sends them to the first process or to the maker
/// of group g, or receives them, whichever falls to this process.
template <class Use>
void hand(Sky& sky, std::size_t g, bool to_first, Use use) {
  const GroupShare& share = sky.share;
  const int maker = share.maker(sky.group_numbers[g]);
  if (!share.is_shared() || maker == 0 || (!share.ranks.root() && share.ranks.rank != maker)) return;
  const auto pass = [&]<class T>(std::span<T> values) {
    if (share.ranks.root())
      to_first ? receive<T>(maker, values) : send_from_root<T>(maker, values);
    else
      to_first ? send_to_root<T>(values) : receive_from_root<T>(values);
  };
  for (FieldImages& field : sky.images) use(field, sky.slot(g), pass);
}

}  // namespace

std::vector<ChannelGroup> GroupShare::own(const std::vector<ChannelGroup>& groups) const {
  std::vector<ChannelGroup> own;
  for (std::size_t g = 0; g < groups.size(); ++g)
    if (makes(g)) own.push_back(groups[g]);
  return own;
}

GroupShare share_groups(const Imager& imager, std::size_t n_groups) {
  const bool each = n_groups >= static_cast<std::size_t>(imager.ranks.size) && !imager.calibrates &&
                    !imager.tool.common().dry_run;
  return each ? GroupShare{imager.ranks} : GroupShare{};
}

std::vector<GroupRound> rounds_of(const Sky& sky) {
  std::vector<GroupRound> rounds;
  const auto size = static_cast<std::size_t>(sky.share.ranks.size);
  for (std::size_t g = 0; g < sky.group_numbers.size(); ++g)
    if (g > 0 && sky.group_numbers[g] / size == sky.group_numbers[g - 1] / size)
      rounds.back().end = g + 1;
    else
      rounds.push_back({g, g + 1});
  return rounds;
}

void hand_out_model(Sky& sky, std::size_t g) {
  hand(sky, g, false,
       [](FieldImages& field, std::size_t slot, auto pass) { pass_group(field.model, slot, pass); });
}

void hand_in_residual(Sky& sky, std::size_t g) {
  hand(sky, g, true,
       [](FieldImages& field, std::size_t slot, auto pass) { pass_group(field.residual, slot, pass); });
}

void hand_in_first_images(Sky& sky, std::size_t g, bool with_model) {
  hand(sky, g, true, [&](FieldImages& field, std::size_t slot, auto pass) {
    pass_group(field.weight, slot, pass);
    pass_group(field.psf, slot, pass);
    pass_group(field.residual, slot, pass);
    pass_group(field.beam, slot, pass);
    if (with_model) pass_group(field.model, slot, pass);
  });
}

}  // namespace apsyn::imaging
