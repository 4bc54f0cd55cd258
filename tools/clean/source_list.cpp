// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/clean/source_list.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "kernels/clean/spectral_fitter.h"
#include "libcore/base/constants.h"
#include "libcore/base/units.h"
#include "libcore/files/output.h"
#include "libcore/sky/projection.h"

namespace apsyn::clean {
namespace {

/// The Gaussian that has a tapered quadratic's second moment: its sigma is this part of the width.
constexpr double kSigmaOfScale = 0.1672;

/// "05h34m31.9s" as 05:34:31.9, "+22d00m52.2s" as +22.00.52.2, which the form asks for.
std::string sexagesimal(std::string text, char separator) {
  text.pop_back();
  for (char& c : text)
    if (c == 'h' || c == 'd' || c == 'm') c = separator;
  return text;
}

/// One line per component; Stokes I, or the first polarisation, with the terms of its spectrum.
std::string source_line(const ModelComponent& component, std::size_t number, const ImageInfo& info,
                        const PlaneShape& shape, const SpectralFitter& fitter, SpectralFit fit) {
  const auto reference = reference_pixel(info, shape.nx, shape.ny);
  const double cell_y_rad = info.cell_y_rad != 0 ? info.cell_y_rad : info.cell_rad;
  const SkyDirection place =
      unproject(info.centre, (reference[0] - static_cast<double>(component.x)) * info.cell_rad,
                (static_cast<double>(component.y) - reference[1]) * cell_y_rad);
  std::vector<double> flux_jy;
  for (std::size_t i = 0; i < component.flux_jy.size(); i += shape.n_pol)
    flux_jy.push_back(component.flux_jy[i]);
  const std::vector<double> terms = fitter.fit(flux_jy);
  const bool gaussian = component.scale_pixels > 0;
  const double fwhm_asec = 2 * std::sqrt(2 * std::log(2.0)) * kSigmaOfScale * component.scale_pixels *
                           info.cell_rad / kRadPerArcsec;
  std::string more;
  for (std::size_t k = 1; k < terms.size(); ++k) more += fmt::format("{}{:.10g}", k > 1 ? "," : "", terms[k]);
  return fmt::format("s{},{},{},{},{:.10g},[{}],{},{:.10g},{},{},{}\n", number,
                     gaussian ? "GAUSSIAN" : "POINT",
                     sexagesimal(format_right_ascension(place.ra_rad, 6), ':'),
                     sexagesimal(format_declination(place.dec_rad, 5), '.'), terms[0], more,
                     fit == SpectralFit::logarithmic ? "true" : "false", fitter.reference_hz(),
                     gaussian ? fmt::format("{:.6g}", fwhm_asec) : "",
                     gaussian ? fmt::format("{:.6g}", fwhm_asec) : "", gaussian ? "0" : "");
}

}  // namespace

void write_source_list(const std::string& path, const std::vector<ModelComponent>& components,
                       const ImageInfo& info, const PlaneShape& shape,
                       const std::vector<DeconvolutionGroup>& groups, const DeconvolutionSettings& settings,
                       bool overwrite) {
  const bool fitted = settings.spectral_fit != SpectralFit::none && groups.size() > 1;
  const SpectralFit fit = fitted ? settings.spectral_fit : SpectralFit::polynomial;
  const SpectralFitter fitter(fit, fitted ? std::min(settings.n_spectral_terms, groups.size()) : 1, groups);
  OutputFile file(path, overwrite);
  auto write = [&](const std::string& text) { file.write(text.data(), text.size()); };
  write(
      fmt::format("Format = Name, Type, Ra, Dec, I, SpectralIndex, LogarithmicSI, "
                  "ReferenceFrequency='{:.10g}', MajorAxis, MinorAxis, Orientation\n",
                  fitter.reference_hz()));
  if (unit_of_image(info.unit) == FluxUnit::adu) write("# fluxes are in adu, not in Jy\n");
  std::size_t number = 0;
  for (const ModelComponent& component : components)
    write(source_line(component, number++, info, shape, fitter, fit));
  file.commit();
}

}  // namespace apsyn::clean
