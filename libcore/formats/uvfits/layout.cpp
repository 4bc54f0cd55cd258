// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/formats/uvfits/layout.h"

#include <fitsio.h>

#include <algorithm>
#include <cmath>

#include "libcore/base/constants.h"
#include "libcore/base/csv.h"
#include "libcore/base/error.h"
#include "libcore/formats/fits/keys.h"
#include "libcore/formats/fits/table.h"
#include "libcore/formats/fits/walk.h"
#include "libcore/formats/uvfits/tables.h"

namespace apsyn {
namespace {

constexpr std::size_t kMaxValues = std::size_t{1} << 27;  // of a group
constexpr long kMaxParameters = 256, kMaxAxes = 16;

struct PrimaryHeader {
  std::string path;
  fitsfile* file = nullptr;

  explicit PrimaryHeader(const std::string& name) : path(name) {
    check_fits_structure(path);
    int status = 0;
    if (fits_open_diskfile(&file, path.c_str(), READONLY, &status) != 0)
      throw DataError("{}: cannot open: {}: a UVFITS file is needed", path, fits_error_text(status));
  }
  ~PrimaryHeader() {
    int status = 0;
    fits_close_file(file, &status);
  }
  PrimaryHeader(const PrimaryHeader&) = delete;
  FitsKeys keys() const { return {file, path}; }
  long integer(const std::string& keyword, double least, double most) const {
    const double value = keys().number(keyword).value_or(0);
    if (value < least || value > most || value != std::floor(value))
      throw DataError("{}: {} = {}: a whole number from {} to {} is needed", path, keyword, value, least,
                      most);
    return static_cast<long>(value);
  }
};

/// "UU---SIN" -> "UU"; "FREQSEL" stays.
std::string_view stem(std::string_view name) {
  return trim(name.substr(0, name.find('-')));
}

void read_parameters(const PrimaryHeader& header, UvfitsLayout& layout, std::size_t n_parameters,
                     std::size_t value_bytes) {
  const FitsKeys keys = header.keys();
  const std::pair<std::string_view, UvfitsParameter*> wanted[] = {{"UU", &layout.u},
                                                                  {"VV", &layout.v},
                                                                  {"WW", &layout.w},
                                                                  {"DATE", &layout.date},
                                                                  {"_DATE", &layout.date},
                                                                  {"BASELINE", &layout.baseline},
                                                                  {"ANTENNA1", &layout.antenna1},
                                                                  {"ANTENNA2", &layout.antenna2},
                                                                  {"SUBARRAY", &layout.subarray},
                                                                  {"SOURCE", &layout.source},
                                                                  {"FREQSEL", &layout.setup},
                                                                  {"INTTIM", &layout.integration}};
  for (std::size_t i = 0; i < n_parameters; ++i) {
    const std::string number = std::to_string(i + 1);
    const std::string type = keys.text("PTYPE" + number).value_or("");
    for (const auto& [name, parameter] : wanted) {
      if (stem(type) != name) continue;
      if (type.starts_with("UU-L") || type.starts_with("VV-L") || type.starts_with("WW-L"))
        throw DataError("{}: PTYPE{} = '{}': coordinates in wavelengths: seconds are needed", layout.name,
                        number, type);
      parameter->parts.push_back({{i * value_bytes, layout.array.bitpix},
                                  keys.number("PSCAL" + number).value_or(1),
                                  keys.number("PZERO" + number).value_or(0)});
    }
  }
  const bool antennas = layout.antenna1.there() && layout.antenna2.there();
  for (const auto& [what, there] : {std::pair{"UU", layout.u.there()},
                                    {"VV", layout.v.there()},
                                    {"WW", layout.w.there()},
                                    {"DATE", layout.date.there()},
                                    {"BASELINE", layout.baseline.there() || antennas}})
    if (!there) throw DataError("{}: no parameter {} (PTYPEn): it is no UVFITS file", layout.name, what);
}

}  // namespace

UvfitsCentre read_uvfits_axes(UvfitsLayout& layout, const UvfitsAxisCards& cards, int first_axis,
                              int end_axis) {
  UvfitsCentre centre;
  bool has_complex = false, has_if = false;
  std::vector<std::pair<std::string, UvfitsAxis>> unnamed;
  std::size_t stride = 1;
  for (int i = first_axis; i < end_axis; ++i) {
    const std::string number = std::to_string(i);
    UvfitsAxis axis;
    axis.length = cards.length(i);
    axis.stride = stride;
    axis.value = cards.number("CRVAL", i).value_or(0);
    axis.step = cards.number("CDELT", i).value_or(0);
    axis.pixel = cards.number("CRPIX", i).value_or(1);
    if (__builtin_mul_overflow(stride, axis.length, &stride) || stride > kMaxValues)
      throw DataError("{}: axis {} of {}: groups of more than {} values", layout.name, number, axis.length,
                      kMaxValues);
    const std::string type = cards.text("CTYPE", i).value_or("");
    const std::string_view name = stem(type);
    if (name == "COMPLEX") {
      layout.complex = axis;
      has_complex = true;
    } else if (name == "STOKES") {
      layout.stokes = axis;
    } else if (name == "FREQ") {
      layout.freq = axis;
    } else if (name == "IF" || name == "BAND") {
      layout.if_ = axis;
      has_if = true;
    } else if (name == "RA" && axis.length == 1) {
      centre.ra_deg = axis.value;
    } else if (name == "DEC" && axis.length == 1) {
      centre.dec_deg = axis.value;
    } else if (axis.length > 1) {
      unnamed.emplace_back("CTYPE" + number + " = '" + type + "'", axis);
    }
  }
  // Some files leave the IF axis without a name.
  if (unnamed.size() == 1 && !has_if && unnamed[0].first.ends_with("''")) {
    layout.if_ = unnamed[0].second;
    unnamed.clear();
  }
  if (!unnamed.empty())
    throw DataError("{}: {} with {} values: only COMPLEX, STOKES, FREQ and IF may have more than one",
                    layout.name, unnamed[0].first, unnamed[0].second.length);
  if (!has_complex || (layout.complex.length != 2 && layout.complex.length != 3))
    throw DataError("{}: axis COMPLEX of length {}: 2 or 3 is needed: {}", layout.name,
                    has_complex ? layout.complex.length : 0, layout.names.cure);
  if (!(layout.freq.value > 0))
    throw DataError("{}: axis FREQ at {} Hz: a frequency is needed", layout.name, layout.freq.value);
  layout.n_values = stride;
  return centre;
}

void read_uvfits_products(UvfitsLayout& layout) {
  std::vector<Product> stored;
  for (std::size_t i = 0; i < layout.stokes.length; ++i) {
    const double number = layout.stokes.stride == 0 ? 1 : layout.stokes.at(i);
    const auto& table = stokes_numbers();
    const auto entry =
        std::find_if(table.begin(), table.end(), [&](const auto& e) { return e.first == number; });
    if (entry == table.end())
      throw DataError("{}: axis STOKES: {} at {}: 1 to 4 and -1 to -8 are known", layout.name, number, i + 1);
    stored.push_back(parse_product(entry->second));
  }
  std::vector<Product>& products = layout.description.products;
  products = stored;
  std::sort(products.begin(), products.end());
  for (Product product : stored)
    layout.product_of.push_back(
        static_cast<std::size_t>(std::find(products.begin(), products.end(), product) - products.begin()));
}

void read_uvfits_tables(UvfitsLayout& layout, const UvfitsCentre& centre) {
  layout.tables = fits_table_names(layout.name);
  read_uvfits_antennas(layout);
  read_uvfits_windows(layout);
  if (!read_uvfits_sources(layout)) {
    if (!centre.ra_deg || !centre.dec_deg || std::abs(*centre.dec_deg) > 90)
      throw DataError("{}: no axes RA and DEC and no table {}: the phase centre is not known", layout.name,
                      layout.names.sources);
    layout.description.phase_centre = {wrapped_ra_rad(*centre.ra_deg), *centre.dec_deg * kRadPerDeg};
  }
  read_uvfits_flags(layout);
  list_ignored_tables(layout);
}

UvfitsLayout read_uvfits_layout(const std::string& path) {
  const PrimaryHeader header(path);
  UvfitsLayout layout;
  layout.name = path;
  layout.names = {"AIPS AN",
                  "AIPS FQ",
                  "FRQSEL",
                  "IF FREQ",
                  "CH WIDTH",
                  "AIPS SU",
                  "ID. NO.",
                  "AIPS FG",
                  {"AIPS CL", "AIPS SN", "AIPS BP"},
                  "a UVFITS file is needed"};
  const FitsKeys keys = header.keys();
  if (!keys.flag("GROUPS") || header.integer("NAXIS1", 0, 1e12) != 0)
    throw DataError("{}: byte 0: no random groups (GROUPS = T, NAXIS1 = 0): it is no UVFITS file", path);
  const int bitpix = static_cast<int>(header.integer("BITPIX", -64, 64));
  if (bitpix != 16 && bitpix != 32 && bitpix != -32 && bitpix != -64)
    throw DataError("{}: BITPIX = {}: 16, 32, -32 or -64 is needed", path, bitpix);
  layout.scale = keys.number("BSCALE").value_or(1);
  layout.zero = keys.number("BZERO").value_or(0);
  const auto n_parameters = static_cast<std::size_t>(header.integer("PCOUNT", 1, kMaxParameters));
  const auto value_bytes = static_cast<std::size_t>(std::abs(bitpix)) / 8;
  layout.array = {n_parameters * value_bytes, bitpix};
  layout.n_groups = header.integer("GCOUNT", 1, 1e15);
  LONGLONG begin = 0, data = 0, end = 0;
  int status = 0;
  if (fits_get_hduaddrll(header.file, &begin, &data, &end, &status) != 0)
    throw DataError("{}: {}", path, fits_error_text(status));
  layout.segments = {{static_cast<std::uint64_t>(data), layout.n_groups}};
  if (const auto other = other_equinox(keys))
    throw DataError("{}: {}: only coordinates of J2000 are supported: precess the file first", path, *other);
  read_parameters(header, layout, n_parameters, value_bytes);
  const UvfitsAxisCards cards{
      [&](int axis) {
        return static_cast<std::size_t>(header.integer("NAXIS" + std::to_string(axis), 1, 1e8));
      },
      [&](const char* keyword, int axis) { return keys.number(keyword + std::to_string(axis)); },
      [&](const char* keyword, int axis) { return keys.text(keyword + std::to_string(axis)); }};
  const UvfitsCentre centre =
      read_uvfits_axes(layout, cards, 2, 1 + static_cast<int>(header.integer("NAXIS", 2, kMaxAxes)));
  layout.group_bytes = (n_parameters + layout.n_values) * value_bytes;
  read_uvfits_products(layout);
  MsDescription& set = layout.description;
  const auto known = [](std::optional<std::string> text) {
    return text && !text->empty() ? *text : std::string("unknown");
  };
  set.telescope = known(keys.text("TELESCOP"));
  set.observer = known(keys.text("OBSERVER"));
  set.source = known(keys.text("OBJECT"));
  read_uvfits_tables(layout, centre);
  return layout;
}

}  // namespace apsyn
