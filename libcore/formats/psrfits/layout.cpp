// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/formats/psrfits/layout.h"

#include <algorithm>
#include <cmath>

#include "libcore/base/csv.h"
#include "libcore/base/error.h"
#include "libcore/base/units.h"

namespace apsyn {
namespace {

constexpr double kMaxChannels = 1 << 24, kMaxBlock = 1e9;

/// Takes the HDUs of a file one after the other.
struct Survey {
  std::string path;
  PsrfitsLayout layout;
  bool have_primary = false, have_samples = false;

  std::string where(const FitsUnit& unit) const { return fmt::format("{}: HDU {}", path, unit.number); }

  static double number_or(const FitsUnit& unit, const char* keyword, double otherwise) {
    return unit.number_of(keyword).value_or(otherwise);
  }

  void take(const FitsUnit& unit) {
    if (unit.number == 1) return take_primary(unit);
    if (unit.text("EXTNAME").value_or("") == "SUBINT" && !have_samples) take_subint(unit);
  }

  void take_primary(const FitsUnit& unit) {
    const std::string type = unit.text("FITSTYPE").value_or("");
    if (type != "PSRFITS")
      throw DataError("{}: a FITS file, but FITSTYPE = '{}': PSRFITS is needed, or a SIGPROC filterbank",
                      path, type);
    have_primary = true;
    check_mode(unit.text("OBS_MODE").value_or(""));
    FilterbankInput& input = layout.input;
    input.telescope = unit.text("TELESCOP").value_or("");
    if (const auto source = unit.text("SRC_NAME"); source && !source->empty()) input.header.source = *source;
    for (char& c : input.header.source)
      if (c < 0x20 || c > 0x7e) c = '?';
    const auto x = unit.number_of("ANT_X"), y = unit.number_of("ANT_Y"), z = unit.number_of("ANT_Z");
    constexpr double kLeast_m = 6.3e6, kMost_m = 6.4e6;  // from the Earth's centre to its surface
    if (x && y && z)
      if (const double r = std::hypot(*x, *y, *z); r > kLeast_m && r < kMost_m)
        input.telescope_itrf_m = {*x, *y, *z};
    input.header.direction = direction(unit);
    input.header.start = start(unit);
    if (const double beam = number_or(unit, "IBEAM", 0); beam >= 1 && beam < 1e6)
      input.header.beam = static_cast<std::size_t>(beam);
    input.header.n_beam = input.header.beam + 1;
    layout.centre_hz = number_or(unit, "OBSFREQ", 0) * 1e6;
    const double n_chan = number_or(unit, "OBSNCHAN", 0);
    if (n_chan >= 1) layout.channel_step_hz = number_or(unit, "OBSBW", 0) / n_chan * 1e6;
  }

  void check_mode(const std::string& mode) const {
    if (mode == "SEARCH" || mode == "SRCH" || mode.empty()) return;
    const char* meaning = mode == "PSR"   ? "folded profiles of a pulsar"
                          : mode == "CAL" ? "folded profiles of a calibrator's pulses"
                          : mode == "PCM" ? "a calibration of polarisation"
                          : mode == "FCAL" || mode == "FON" || mode == "FOF" || mode == "FLUXCAL"
                              ? "a calibration of flux"
                              : "no samples of search mode";
    throw DataError(
        "{}: OBS_MODE = '{}': a PSRFITS file of {}: samples of search mode are needed (OBS_MODE SEARCH)",
        path, mode, meaning);
  }

  UtcTime start(const FitsUnit& unit) const {
    const auto day = unit.whole("STT_IMJD", 0, 999999, where(unit));
    const double seconds = number_or(unit, "STT_SMJD", 0), part = number_or(unit, "STT_OFFS", 0);
    if (!(std::abs(seconds) <= 1e6 && std::abs(part) <= 1e6))
      throw DataError("{}: STT_SMJD = {}, STT_OFFS = {}: no seconds of a day", path, seconds, part);
    // Apart, as their sum has no room for picoseconds.
    const UtcTime whole =
        add_picoseconds({day, 0}, static_cast<__int128>(std::llround(seconds * 1e6)) * 1'000'000);
    return add_picoseconds(whole, std::llround(part * 1e12));
  }

  static std::optional<SkyDirection> direction(const FitsUnit& unit) {
    try {
      const auto ra = unit.text("RA"), dec = unit.text("DEC");
      if (!ra || !dec || ra->empty() || dec->empty()) return std::nullopt;
      return SkyDirection{parse_right_ascension(*ra), parse_angle(*dec)};
    } catch (const Error&) {
      return std::nullopt;  // nothing depends on it
    }
  }

  void take_subint(const FitsUnit& unit) {
    const std::string place = fmt::format("{}: HDU {}, SUBINT", path, unit.number);
    const auto fail = [&](const std::string& what) { throw DataError("{}: {}", place, what); };
    FilterbankHeader& header = layout.input.header;
    if (number_or(unit, "NBIN", 1) > 1)
      fail(fmt::format("NBIN = {}: folded profiles: samples of search mode are needed (OBS_MODE SEARCH)",
                       number_or(unit, "NBIN", 1)));
    const FitsColumns columns = fits_columns(unit, place);
    if (columns.n_rows == 0) fail("it has no rows");
    if (columns.n_rows > unit.data_bytes / columns.row_bytes)
      fail(fmt::format("{} rows of {} bytes are promised, and {} bytes are there", columns.n_rows,
                       columns.row_bytes, unit.data_bytes));
    layout.data_byte = unit.data_byte;
    layout.row_bytes = columns.row_bytes, layout.n_rows = columns.n_rows;

    header.n_chan = static_cast<std::size_t>(unit.whole("NCHAN", 1, kMaxChannels, place));
    header.n_if = static_cast<std::size_t>(unit.whole("NPOL", 1, 4, place));
    layout.samples_per_row = static_cast<std::size_t>(unit.whole("NSBLK", 1, kMaxBlock, place));
    layout.n_bit = static_cast<int>(unit.whole("NBITS", 1, 32, place));
    if (std::find(std::begin(kBits), std::end(kBits), layout.n_bit) == std::end(kBits))
      fail(fmt::format("NBITS = {}: it must be 1, 2, 4, 8, 16 or 32", layout.n_bit));
    layout.is_signed = number_or(unit, "SIGNINT", 0) != 0;
    layout.zero_offset = std::abs(number_or(unit, "ZERO_OFF", 0));  // some write it below 0, and mean this
    layout.rows_before = std::max(0.0, number_or(unit, "NSUBOFFS", 0));
    header.sample_s = number_or(unit, "TBIN", 0);
    if (!(header.sample_s > 0 && header.sample_s < 1e6))
      fail(fmt::format("TBIN = {}: the length of a sample in seconds is needed",
                       unit.text("TBIN").value_or("")));
    header.n_bit = 32;
    layout.input.recorded_bits = static_cast<unsigned>(layout.n_bit);
    layout.input.missing_are_nan = true;
    layout.input.products = products(unit.text("POL_TYPE").value_or(""));
    if (const double step = number_or(unit, "CHAN_BW", 0); step != 0) layout.channel_step_hz = step * 1e6;

    take_columns(unit, columns, place);
    have_samples = true;
  }

  static Products products(const std::string& type) {
    if (type.starts_with("AABB") || type.starts_with("XXYY") || type.starts_with("LLRR"))
      return Products::powers;
    if (type.starts_with("I") || type.starts_with("AA+BB") || type.starts_with("STOKE"))
      return Products::stokes;
    return Products::unknown;
  }

  void take_columns(const FitsUnit& unit, const FitsColumns& columns, const std::string& place) {
    const FilterbankHeader& header = layout.input.header;
    const auto fail = [&](const std::string& what) { throw DataError("{}: {}", place, what); };
    const auto numbers = [&](const char* name, std::size_t count) -> std::optional<FitsColumn> {
      const FitsColumn* column = columns.find(name);
      if (column == nullptr) return std::nullopt;
      if (column->bitpix == 0 || column->repeat != count)
        fail(
            fmt::format("column {} has {} values a row: {} numbers are needed", name, column->repeat, count));
      return *column;
    };
    const std::size_t n_values = header.n_chan * header.n_if;
    layout.frequencies = numbers("DAT_FREQ", header.n_chan);
    layout.weights = numbers("DAT_WTS", header.n_chan);
    layout.scales = numbers("DAT_SCL", n_values);
    layout.offsets = numbers("DAT_OFFS", n_values);
    layout.offset_s = numbers("OFFS_SUB", 1);
    const FitsColumn* data = columns.find("DATA");
    if (data == nullptr) fail("no column DATA");
    layout.data = *data;
    if (n_values * static_cast<std::size_t>(layout.n_bit) % 8 != 0)
      fail(fmt::format("{} channels of {} polarisations of {} bits: a sample must fill whole bytes",
                       header.n_chan, header.n_if, layout.n_bit));
    const std::size_t sample_bytes = n_values * static_cast<std::size_t>(layout.n_bit) / 8;
    if (data->n_bytes / sample_bytes != layout.samples_per_row || data->n_bytes % sample_bytes != 0)
      fail(
          fmt::format("column DATA has {} bytes a row, but {} samples of {} bytes are promised (NSBLK, NPOL, "
                      "NCHAN, NBITS)",
                      data->n_bytes, layout.samples_per_row, sample_bytes));
    if ((layout.n_bit == 16 && data->bitpix != 16) ||
        (layout.n_bit == 32 && data->bitpix != 32 && data->bitpix != -32))
      fail(fmt::format(
          "NBITS = {}, but column DATA is of another type: I for 16 bits and J or E for 32 are read",
          layout.n_bit));
    layout.code_scale = number_or(unit, fmt::format("TSCAL{}", data->number).c_str(), 1);
    layout.code_zero = number_or(unit, fmt::format("TZERO{}", data->number).c_str(), 0);
    if (layout.n_bit < 8 && (layout.code_scale != 1 || layout.code_zero != 0))
      fail("TSCAL or TZERO of column DATA: samples of less than a byte cannot have them");
  }

  static constexpr int kBits[] = {1, 2, 4, 8, 16, 32};
};

}  // namespace

PsrfitsLayout read_psrfits_layout(const std::string& path) {
  Survey survey;
  survey.path = path;
  walk_fits(path, [&](const FitsUnit& unit) { survey.take(unit); });
  if (!survey.have_samples) throw DataError("{}: no table SUBINT: no PSRFITS file of search mode", path);
  return std::move(survey.layout);
}

}  // namespace apsyn
