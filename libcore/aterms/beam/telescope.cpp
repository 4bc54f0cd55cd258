// SPDX-License-Identifier: GPL-3.0-or-later
// Chooses the beam that a telescope has.
#include "libcore/aterms/beam/telescope.h"

#include "libcore/base/csv.h"
#include "libcore/base/error.h"
#include "libcore/base/log.h"
#include "libcore/formats/beam_files/beam_files.h"

namespace apsyn {
namespace {

struct Telescope {
  const char* begin;  ///< of its name, in lower case
  bool whole;         ///< and nothing follows
  const char* model;
};
constexpr Telescope kTelescopes[] = {
    {"lofar", true, "station"}, {"oskar", false, "station"}, {"ska-low", false, "station"},
    {"mwa", false, "mwa-fee"},  {"evla", false, "vla"},      {"vla", true, "vla"},
    {"atca", false, "atca"},    {"gmrt", true, "gmrt"},      {"meerkat", true, "meerkat"},
    {"mid", true, "mid"},       {"ska-mid", false, "mid"},   {"alma", true, "alma"},
    {"dsa_", false, "dsa110"}};

}  // namespace

std::string beam_model_of(const AtermEntry& entry, const ArrayLayout& layout) {
  const std::string model = lower(entry.text("model", "auto"));
  if (model != "auto") return model;
  const std::string name = lower(layout.telescope);
  for (const Telescope& telescope : kTelescopes)
    if (telescope.whole ? name == telescope.begin : name.starts_with(telescope.begin)) return telescope.model;
  throw DataError(
      "{}: the telescope '{}' has no beam that is known here (known are LOFAR, OSKAR and SKA-LOW, MWA, EVLA, "
      "ATCA, "
      "GMRT, MEERKAT, MID, ALMA and DSA_110): choose a model: airy, gaussian, dipole, mwa, mwa-fee, vla, "
      "atca, gmrt, "
      "meerkat, mid, alma, dsa110 or fits",
      entry.where("model"), layout.telescope);
}

std::unique_ptr<AtermPart> open_aterm_beam(const AtermEntry& entry, const ArrayLayout& layout,
                                           const ArrayTables& tables) {
  const std::string model = beam_model_of(entry, layout);
  if (model == "airy" || model == "gaussian") return open_aterm_dish(entry);
  if (model == "dipole" || model == "mwa") return open_aterm_dipoles(entry, layout, tables);
  if (model == "station") return open_aterm_stations(entry, layout, tables);
  if (model == "mwa-fee") return open_aterm_mwa_fee(entry, layout, tables);
  if (model == "fits") return open_aterm_patterns(entry, layout, tables);
  for (const char* dish : {"vla", "atca", "gmrt", "meerkat", "mid", "alma", "dsa110"})
    if (model == dish) return open_aterm_voltages(entry, model, layout, tables);
  throw DataError(
      "{} = '{}': no beam that is known: auto, airy, gaussian, dipole, mwa, mwa-fee, station, vla, atca, "
      "gmrt, meerkat, "
      "mid, alma, dsa110 or fits is needed",
      entry.where("model"), model);
}

}  // namespace apsyn
