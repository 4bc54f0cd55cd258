// SPDX-License-Identifier: GPL-3.0-or-later
// The images that the Measurement Set mode leaves, with WSClean's names: NAME-dirty.fits, -psf, -model,
// -residual and -image; with several channel groups NAME-0000-dirty.fits ... and NAME-MFS-dirty.fits, the
// mean over the groups; with A-terms also -beam, -image-pb and -model-pb, over the beam.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "libcore/base/error.h"
#include "libcore/base/log.h"
#include "libcore/base/view.h"
#include "libcore/image/image.h"
#include "libcore/visibility/imaging.h"
#include "tools/imaging/field.h"
#include "tools/imaging/field_images.h"
#include "tools/imaging/major_cycles.h"

namespace apsyn::clean {

using namespace imaging;

// The beams that restore the parts of a band, and their mean.

struct BandBeams {
  std::vector<RestoringBeam> parts;
  RestoringBeam mean;  ///< for the mean of the parts
};

/// The index nearest to `part` that has a beam.
std::size_t nearest_fitted(const std::vector<std::optional<RestoringBeam>>& beams, std::size_t part);

/// fit(part) for every part and, of several, fit(n_parts) for their mean. A part that has no beam to fit, as
/// when it has few data, takes that of the nearest one, the mean that of the middle one, each with a warning.
/// FailureError when none has one. `name_of(part)` for messages.
template <class Fit, class NameOf>
BandBeams fit_band(std::size_t n_parts, Fit fit, NameOf name_of) {
  std::vector<std::optional<RestoringBeam>> fitted(n_parts);
  std::vector<std::string> reasons(n_parts);
  bool any = false;
  for (std::size_t part = 0; part < n_parts; ++part) try {
      fitted[part] = fit(part);
      any = true;
    } catch (const FailureError& error) {
      if (n_parts == 1) throw;
      reasons[part] = error.what();
    }
  if (!any) throw FailureError("{}", reasons[0]);
  BandBeams beams;
  for (std::size_t part = 0; part < n_parts; ++part) {
    if (fitted[part]) {
      beams.parts.push_back(*fitted[part]);
      continue;
    }
    const std::size_t other = nearest_fitted(fitted, part);
    log_warning("{}: {}; restored with the beam of {}", name_of(part), reasons[part], name_of(other));
    beams.parts.push_back(*fitted[other]);
  }
  beams.mean = beams.parts[n_parts / 2];
  if (n_parts > 1) try {
      beams.mean = fit(n_parts);
    } catch (const FailureError& error) {
      log_warning("mean: {}; restored with the beam of {}", error.what(), name_of(n_parts / 2));
    }
  return beams;
}

void report_beam(const std::string& part, const RestoringBeam& beam, bool given);

/// Files of a field that are written at the same time.
inline constexpr unsigned kFilesTogether = 4;

/// What the output files of one run share.
struct Products {
  Imager& imager;
  std::string name;     ///< -o
  bool resume = false;  ///< --continue: dirty image and PSF are those of the earlier run
  bool overwrite = false;
  bool restores = true, circular = false;   ///< --beam-size none, --circular-beam
  std::optional<RestoringBeam> given_beam;  ///< rather than the fitted one
  bool source_list = false;

  std::vector<std::string> kinds() const;
  std::string path(const Field& field, const std::string& part, const std::string& kind) const {
    return name + field.suffix + part + "-" + kind + ".fits";
  }
  std::string source_list_path(const Field& field) const { return name + field.suffix + "-sources.txt"; }
};

/// Fails before any long work when an output cannot be written.
void check_products(const Products& products, const std::vector<Field>& fields, std::size_t n_groups);

RestoringBeam restoring_beam(const Products& products, View<const double, 2> psf);

/// A part of the band: groups [first, first + n).
struct Part {
  std::string name;  ///< in the files' names
  ChannelGroup group;
  std::size_t first = 0, n = 1;
  RestoringBeam beam;
};

/// The mean of `from` over the part's groups, by the planes' weights: [plane][1][y][x].
void take_mean(const FieldImages& field, const Buffer<float, 4>& from, const Part& part, unsigned n_threads,
               Buffer<double, 4>& to);

/// What the part's images weigh.
double weight_of(const FieldImages& field, const Part& part);
/// The part's average beam, [y][x].
Buffer<double, 2> mean_beam(const FieldImages& field, const Part& part);

Buffer<double, 4> mean_psf(const FieldImages& field, std::size_t first, std::size_t n, unsigned n_threads);

/// What the images of each field will be restored with, and says so. FailureError when no group has a PSF
/// that a beam can be fitted to, before long work.
std::vector<BandBeams> find_beams(const Products& products, const Sky& sky);

/// `beams` [field], or empty when nothing is restored.
void write_products(const Products& products, const Sky& sky, const std::vector<BandBeams>& beams,
                    const std::vector<ChannelGroup>& groups, const ChannelGroup& whole_band);

/// The model of an earlier run as a degridder takes it: of the true sky.
Buffer<double, 3> read_true_model(const Products& products, const Field& field, const std::string& part);

}  // namespace apsyn::clean
