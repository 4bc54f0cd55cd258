// SPDX-License-Identifier: GPL-3.0-or-later
// The images of all fields of a channel group while visibilities are being added to them: those of the whole
// observation, or of one interval of time, of which several are open at the same time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/idg/aterms/average_beam.h"
#include "kernels/idg/idg.h"
#include "libcore/base/view.h"
#include "libcore/visibility/imaging.h"
#include "tools/imaging/field.h"
#include "tools/imaging/imager.h"

namespace apsyn::imaging {

class OpenImages {
 public:
  /// Makes a gridder for each field.
  OpenImages(const Imager& imager, const PreparedGroup& group, unsigned n_threads);

  /// Starts the pass over layers [first_layer, first_layer + passes.layers) of every field's share. Weights
  /// are summed, and beams averaged, in the pass that starts with layer 0.
  void begin_pass(const PreparedGroup& group, std::size_t first_layer);
  /// Applies the group's weights to a block and grids it for all fields. `weighted` and `move` are arrays of
  /// the caller, which has them used again for the next block. Images that are open at the same time can be
  /// added to at the same time, unless there are A-terms, which the group prepares for one block after the
  /// other.
  void add(const Imager& imager, PreparedGroup& group, const std::vector<Field>& fields,
           const ImagingBlock& block, Buffer<float, 3>& weighted, BlockMover& move);
  void end_pass();

  /// Where to add a group's visibilities that a GPU keeps.
  Gridder& gridder(std::size_t field) { return *gridders_[field]; }
  std::vector<GroupImages>& images() { return images_; }
  AverageBeam* beam(std::size_t field) { return beams_[field].get(); }  ///< null without A-terms

  /// The finished images of each field. Where several processes share the work only the first has images that
  /// are valid, and all must call it.
  std::vector<GroupImages> take(const Imager& imager, const PreparedGroup& group,
                                const std::vector<Field>& fields);
  /// Whether begin_pass() may follow take(), to make other images.
  bool is_reusable() const;
  /// Takes back the memory of images that are no longer needed.
  void recycle(std::vector<GroupImages> images);

 private:
  void forget(const Imager& imager, const PreparedGroup& group);

  unsigned n_threads_;
  std::vector<std::unique_ptr<Gridder>> gridders_;   ///< [field]
  std::vector<std::unique_ptr<AverageBeam>> beams_;  ///< [field] with A-terms
  std::vector<GroupImages> images_;                  ///< [field] without pixels
  std::size_t first_layer_ = 0;                      ///< of the pass
  std::uint64_t last_id_ = 0;                        ///< of the blocks of this pass
};

}  // namespace apsyn::imaging
