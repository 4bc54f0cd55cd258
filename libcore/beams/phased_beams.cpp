// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/beams/phased_beams.h"

#include <algorithm>

#include "libcore/beams/element_field.h"
#include "libcore/system/parallel.h"

namespace apsyn {
namespace {

std::size_t frame_of(const StationField& field, std::vector<PhasedBeams::Frame>& frames) {
  const auto at = std::find_if(frames.begin(), frames.end(), [&](const PhasedBeams::Frame& frame) {
    return frame.axes == field.axes && frame.element == field.element;
  });
  const auto index = static_cast<std::size_t>(at - frames.begin());
  if (at == frames.end()) frames.push_back({field.axes, field.element});
  return index;
}

}  // namespace

std::optional<PhasedBeams> phased_beams(const StationArray& array, BeamPart part, bool are_embedded) {
  if (part == BeamPart::element) return std::nullopt;
  PhasedBeams beams;
  const bool is_lofar = array.kind == StationKind::lofar;
  for (const Station& station : array.stations) {
    auto& fields = beams.stations.emplace_back();
    for (const StationField& from : station.fields) {
      if (part == BeamPart::full && are_embedded) return std::nullopt;
      PhasedBeams::Field& to = fields.emplace_back();
      to.frame = frame_of(from, beams.frames);
      to.tile_m = from.tile_m;
      const Vec3 from_reference = is_lofar ? from.position_m - station.phase_reference_m : Vec3{};
      for (std::size_t k = 0; k < from.elements_m.size(); ++k)
        for (std::size_t receptor = 0; receptor < 2; ++receptor)
          if (from.enabled[k][is_lofar ? 0 : receptor])  // LOFAR's X receptor counts for both
            to.elements_m[receptor].push_back(from.elements_m[k] + from_reference);
    }
  }
  return beams;
}

void fill_phased_elements(const PhasedBeams& beams, StationKind kind, BeamPart part,
                          const ElementResponses& elements, View<const SkyVector, 1> sky, unsigned n_threads,
                          View<std::complex<float>, 3> into) {
  const std::size_t n = sky.size();
  if (part == BeamPart::array_factor) {
    for (std::size_t i = 0; i < into.size(); ++i) into.data()[i] = i % 4 == 0 || i % 4 == 3 ? 1.0f : 0.0f;
    return;
  }
  parallel_for(n_threads, beams.frames.size(), [&](std::size_t frame, unsigned) {
    Buffer<float, 3> planes;
    fill_element_field(beams.frames[frame].axes, kind, *elements[beams.frames[frame].element], sky, planes);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t e = 0; e < 4; ++e) into(frame, i, e) = {planes(e, 0, i), planes(e, 1, i)};
  });
}

}  // namespace apsyn
