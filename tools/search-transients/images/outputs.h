// SPDX-License-Identifier: GPL-3.0-or-later
// Candidates in images on their way out: the table's lines, cut-outs, and what the figure needs.
#pragma once

#include <string>
#include <vector>

#include "kernels/search/images/image_search.h"
#include "libcore/cli/tool.h"
#include "libcore/plot/figures/transient_figure.h"
#include "libcore/streams/image_source.h"
#include "tools/search-transients/images/plan.h"
#include "tools/search-transients/options.h"
#include "tools/search-transients/results.h"

namespace apsyn {

inline constexpr const char* kImageTableHeader =
    "time_s,mjd,dm,sn,width_s,n_hits,dm_low,dm_high,begin_s,end_s,ra_deg,dec_deg,x,y,n_pixels,flux";

/// What candidates are translated with.
struct ImageContext {
  const ImagesPlan& plan;
  const ImageSeriesInfo& info;
};

/// `centre`: of the image in which the pulse is.
std::string table_line(const ImageContext& context, const ImageCandidate& candidate,
                       const SkyDirection& centre);
SkyDirection direction_of(const ImageSeriesInfo& info, const SkyDirection& centre, double x, double y);

/// NAME.fits, the dedispersed images about a pulse in time, and NAME.png: where it is on the sky, its light
/// curve, dynamic spectrum, and S/N against dispersion measure.
void write_cutout(const Tool& tool, const ImageContext& context, const ImageCandidate& candidate,
                  const SkyDirection& centre, const std::string& name);

/// For the figure of all candidates.
class ImageGallery {
 public:
  void add(const ImageContext& context, const ImageCandidate& candidate);
  TransientFigure figure(const ImageContext& context, double duration_s) const;

 private:
  StrongestCandidates strongest_;
};

}  // namespace apsyn
