// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/imaging/open_images.h"

#include <algorithm>
#include <future>
#include <utility>

#include "libcore/base/log.h"
#include "libcore/base/units.h"
#include "libcore/cli/tool.h"
#include "libcore/system/device.h"
#include "libcore/system/parallel.h"
#include "libcore/system/ranks.h"
#include "tools/imaging/rank_share.h"

namespace apsyn::imaging {
namespace {

/// Warns when the centre of the image (or of the part that one of several inputs sees) lies where the primary
/// beam lets almost nothing through: dividing by the beam gives noise there, and the pointing may be wrong.
void warn_of_null(const Imager& imager, const ChannelGroup& group, const Field& field,
                  const AverageBeam& beam) {
  constexpr double kNull = 0.05;
  for (std::size_t input = 0; input < beam.n_inputs(); ++input) {
    if (!(beam.weight_sum(input) > 0)) continue;
    const double response = beam.at_centre(input);
    if (!(response < kNull)) continue;
    log_warning(
        "{}: the primary beam of --aterms lets {:.2g} % through at the centre of the image{} at {}: fluxes "
        "there are divided by as little: choose a centre that the stations point at (--shift), or check the "
        "pointing that the A-terms take",
        imager.options.inputs[std::min(input, imager.options.inputs.size() - 1)], 100 * response,
        field.suffix.empty() ? "" : " " + field.suffix.substr(1), format_frequency(group.centre_hz()));
  }
}

}  // namespace

OpenImages::OpenImages(const Imager& imager, const PreparedGroup& group, unsigned n_threads)
    : n_threads_(n_threads) {
  IdgSetup setup = imager.setup(group.passes.where());
  setup.n_threads = n_threads;
  for (const FieldGridder& field : group.fields) gridders_.push_back(field.make(imager.device, setup));
  forget(imager, group);
}

/// Weights and beams of no visibilities.
void OpenImages::forget(const Imager& imager, const PreparedGroup& group) {
  beams_.clear();
  for (const FieldGridder& field : group.fields)
    beams_.push_back(field.screens ? std::make_unique<AverageBeam>(field.plan, imager.setup()) : nullptr);
  images_.clear();
  images_.resize(group.fields.size());
  for (GroupImages& of_field : images_) of_field.weight_sum.assign(imager.n_planes(), 0);
}

void OpenImages::begin_pass(const PreparedGroup& group, std::size_t first_layer) {
  first_layer_ = first_layer;
  last_id_ = 0;
  for (std::size_t f = 0; f < gridders_.size(); ++f)
    gridders_[f]->begin_pass(group.shares[f].layers.part(first_layer, group.layers_per_pass()));
}

void OpenImages::add(const Imager& imager, PreparedGroup& group, const std::vector<Field>& fields,
                     const ImagingBlock& block, Buffer<float, 3>& weighted, BlockMover& move) {
  const bool first_pass = first_layer_ == 0;
  group.weights->apply(block, n_threads_, weighted);
  const auto sum_weights = [&] {
    for (GroupImages& of_field : images_) add_weights(imager, weighted, n_threads_, of_field.weight_sum);
  };
  // One thread adds the weights in order while others grid.
  std::future<void> summed;
  if (first_pass && n_threads_ > 1)
    summed = std::async(std::launch::async, sum_weights);
  else if (first_pass)
    sum_weights();
  for (std::size_t f = 0; f < fields.size(); ++f) {
    const RankShare& share = group.shares[f];
    GridBlock whole = move(block, weighted, fields[f]);
    if (imager.options.psf_only) whole.data = {};
    std::size_t first_row = 0;  // of the part
    group.fields[f].for_each_part(block, whole, [&](GridBlock part) {
      const std::size_t n_rows = part.uvw_m.extent(0);
      std::future<void> averaged;
      if (first_pass && beams_[f] && imager.ranks.root() && n_rows > 0) {
        const std::size_t input = imager.source.info().stations[block.station(first_row, 0)].input;
        averaged = std::async(n_threads_ > 1 ? std::launch::async : std::launch::deferred,
                              [&beam = *beams_[f], input, part] { beam.add(part, input); });
      }
      const RankShare::Rows own_rows = share.rows_of_part(first_row, n_rows, whole.uvw_m.extent(0));
      first_row += n_rows;
      if (own_rows.n > 0) {
        if (own_rows.n < n_rows) part = rows_of(part, own_rows.skip, own_rows.n);
        // Blocks are the same in every pass; the A-terms of their parts need not be.
        part.id = group.n_passes() > 1 && !group.fields[f].screens ? ++last_id_ : 0;
        gridders_[f]->grid(part);
      }
      if (averaged.valid()) averaged.get();
    });
  }
  if (summed.valid()) summed.get();
}

void OpenImages::end_pass() {
  for (const auto& gridder : gridders_) gridder->end_pass();
}

std::vector<GroupImages> OpenImages::take(const Imager& imager, const PreparedGroup& group,
                                          const std::vector<Field>& fields) {
  std::vector<GroupImages> images = std::move(images_);
  for (std::size_t f = 0; f < fields.size(); ++f) {
    if (imager.own_rows) add_for_all(images[f].weight_sum);
    images[f].pixels = take_summed_images(*gridders_[f], imager.ranks);
    if (!beams_[f] || !imager.ranks.root()) continue;
    images[f].beam = beams_[f]->finish();
    warn_of_null(imager, group.group, fields[f], *beams_[f]);
    parallel_for(n_threads_, images[f].beam.extent(0), [&](std::size_t row, unsigned) {
      for (double& pixel : images[f].beam.view()[row]) pixel *= images[f].weight_sum[0];
    });
  }
  forget(imager, group);
  return images;
}

bool OpenImages::is_reusable() const {
  return std::all_of(gridders_.begin(), gridders_.end(),
                     [](const auto& gridder) { return gridder->is_reusable(); });
}

void OpenImages::recycle(std::vector<GroupImages> images) {
  for (std::size_t f = 0; f < std::min(images.size(), gridders_.size()); ++f)
    gridders_[f]->recycle(std::move(images[f].pixels));
}

}  // namespace apsyn::imaging
