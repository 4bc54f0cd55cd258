// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/formats/uvfits/writer.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <mutex>
#include <utility>
#include <vector>

#include "libcore/base/constants.h"
#include "libcore/base/error.h"
#include "libcore/base/time.h"
#include "libcore/files/descriptor.h"
#include "libcore/files/output.h"

namespace apsyn {
namespace {

constexpr std::size_t kBlock = 2880;
constexpr std::size_t kBaseline256 = 255;  ///< antennas that 256 a1 + a2 tells apart

/// Numbers on the STOKES axis, by the order of a file: RR LL RL LR, XX YY XY YX, I Q U V.
constexpr std::array<std::pair<Product, int>, 12> kStokes{{{Product::RR, -1},
                                                           {Product::LL, -2},
                                                           {Product::RL, -3},
                                                           {Product::LR, -4},
                                                           {Product::XX, -5},
                                                           {Product::YY, -6},
                                                           {Product::XY, -7},
                                                           {Product::YX, -8},
                                                           {Product::I, 1},
                                                           {Product::Q, 2},
                                                           {Product::U, 3},
                                                           {Product::V, 4}}};

/// A header, card by card.
class Cards {
 public:
  void raw(const std::string& card) {
    text_ += card.substr(0, 80);
    text_.append((80 - text_.size() % 80) % 80, ' ');
  }
  void logical(const std::string& key, bool value) {
    raw(fmt::format("{:<8}= {:>20}", key, value ? "T" : "F"));
  }
  void integer(const std::string& key, std::int64_t value) { raw(fmt::format("{:<8}= {:>20}", key, value)); }
  void number(const std::string& key, double value) {
    std::string text = fmt::format("{}", value);  // the shortest that reads back the same
    std::transform(text.begin(), text.end(), text.begin(), [](char c) { return c == 'e' ? 'E' : c; });
    if (text.find_first_of(".E") == std::string::npos) text += ".0";
    raw(fmt::format("{:<8}= {:>20}", key, text));
  }
  void string(const std::string& key, const std::string& value) {
    std::string quoted;
    for (const char c : value.substr(0, 60))
      quoted += c == '\'' ? "''" : std::string(1, c < ' ' || c > '~' ? '?' : c);
    raw(fmt::format("{:<8}= '{:<8}'", key, quoted));
  }
  void history(const std::string& line) {
    for (std::size_t at = 0; at < std::max<std::size_t>(1, line.size()); at += 70) {
      std::string part = line.substr(at, 70);
      for (char& c : part)
        if (c < ' ' || c > '~') c = '?';
      raw("HISTORY " + part);
    }
  }
  std::string finish() {
    raw("END");
    text_.append((kBlock - text_.size() % kBlock) % kBlock, ' ');
    return text_;
  }

 private:
  std::string text_;
};

template <class T>
void append_big(std::string& bytes, T value) {
  std::array<char, sizeof(T)> raw;
  std::memcpy(raw.data(), &value, sizeof value);
  std::reverse(raw.begin(), raw.end());
  bytes.append(raw.data(), raw.size());
}

std::uint32_t big(float value) {
  return __builtin_bswap32(std::bit_cast<std::uint32_t>(value));
}

void append_text(std::string& bytes, std::string text, std::size_t n) {
  text.resize(n, ' ');
  bytes += text;
}

/// Greenwich mean sidereal time at 0 h UT1 of a day, in degrees (Aoki et al. 1982).
double sidereal_time_deg(std::int64_t mjd) {
  const double centuries = (static_cast<double>(mjd) - 51544.5) / 36525;
  const double seconds =
      24110.54841 + centuries * (8640184.812866 + centuries * (0.093104 - centuries * 6.2e-6));
  return std::fmod(std::fmod(seconds / 240, 360) + 360, 360);
}

/// MNTSTA of a Measurement Set's MOUNT; what does not turn is like an equatorial mount.
std::int32_t mount_code(const std::string& mount) {
  constexpr const char* names[] = {"ALT-AZ", "EQUATORIAL",       "ORBITING",
                                   "X-Y",    "ALT-AZ+NASMYTH-R", "ALT-AZ+NASMYTH-L"};
  for (std::size_t code = 0; code < std::size(names); ++code)
    if (mount == names[code]) return static_cast<std::int32_t>(code);
  return 1;
}

}  // namespace

struct UvfitsWriter::State {
  Descriptor fd;  ///< outlives the claim
  PendingOutput pending;
  MsDescription set;
  std::int64_t n_rows;
  bool conjugated, wide;
  std::size_t n_chan, n_product, n_parameters, header_bytes = 0;
  std::vector<std::size_t> product_of;  ///< [place in the file] product of the rows
  std::int64_t day_mjd = -1;            ///< of PZERO: known with the first rows

  State(const std::string& path, const MsDescription& description, bool overwrite, std::int64_t rows,
        bool swapped)
      : pending(path, overwrite),
        set(description),
        n_rows(rows),
        conjugated(swapped),
        wide(description.layout.antennas.size() > kBaseline256),
        n_chan(description.channel_hz.size()),
        n_product(description.products.size()),
        n_parameters(wide ? 9 : 7) {
    fd.reset(pending.create_file());
  }

  std::size_t group_bytes() const { return 4 * (n_parameters + 3 * n_chan * n_product); }
  std::uint64_t offset(std::int64_t row) const {
    return header_bytes + static_cast<std::uint64_t>(row) * group_bytes();
  }

  void put(std::uint64_t at, const void* from, std::size_t n) const {
    const auto* bytes = static_cast<const char*>(from);
    while (n > 0) {
      const ssize_t done = ::pwrite(fd, bytes, n, static_cast<off_t>(at));
      if (done < 0 && errno == EINTR) continue;
      if (done <= 0)
        throw FailureError("{}: cannot be written: {}", pending.target(),
                           std::strerror(done < 0 ? errno : ENOSPC));
      bytes += done;
      at += static_cast<std::uint64_t>(done);
      n -= static_cast<std::size_t>(done);
    }
  }

  /// The order of the STOKES axis: its first number and step.
  std::pair<int, int> order_products(const std::string& path) {
    std::vector<int> codes;
    for (const auto& [product, code] : kStokes) {
      const auto at = std::find(set.products.begin(), set.products.end(), product);
      if (at == set.products.end()) continue;
      codes.push_back(code);
      product_of.push_back(static_cast<std::size_t>(at - set.products.begin()));
    }
    const int step = codes.size() > 1 ? codes[1] - codes[0] : codes[0] < 0 ? -1 : 1;
    for (std::size_t i = 0; i < codes.size(); ++i)
      if (codes[i] != codes[0] + static_cast<int>(i) * step)
        throw UsageError("{}: UVFITS cannot tell these correlations: select others, or write UVH5", path);
    return {codes[0], step};
  }

  void check_channels(const std::string& path) const {
    const double step_hz = n_chan > 1 ? set.channel_hz[1] - set.channel_hz[0] : set.channel_width_hz;
    for (std::size_t chan = 0; chan < n_chan; ++chan)
      if (std::abs(set.channel_hz[chan] - set.channel_hz[0] - static_cast<double>(chan) * step_hz) >
          1e-3 * std::abs(step_hz))
        throw UsageError("{}: its channels are not evenly spaced: UVFITS cannot tell where they are", path);
  }

  std::string header(std::int64_t day, std::pair<int, int> stokes) const {
    Cards cards;
    cards.logical("SIMPLE", true);
    cards.integer("BITPIX", -32);
    cards.integer("NAXIS", 7);
    const std::int64_t axes[] = {
        0, 3, static_cast<std::int64_t>(n_product), static_cast<std::int64_t>(n_chan), 1, 1, 1};
    for (std::size_t i = 0; i < 7; ++i) cards.integer(fmt::format("NAXIS{}", i + 1), axes[i]);
    cards.logical("EXTEND", true);
    cards.logical("GROUPS", true);
    cards.integer("PCOUNT", static_cast<std::int64_t>(n_parameters));
    cards.integer("GCOUNT", n_rows);
    cards.string("OBJECT", set.source);
    cards.string("TELESCOP", set.telescope);
    cards.string("INSTRUME", set.telescope);
    cards.string("OBSERVER", set.observer);
    cards.string("BUNIT", set.flux_unit == FluxUnit::jansky ? "JY" : "UNCALIB");
    const std::string date = format_fits_utc(UtcTime{day, 0}, 0);
    cards.string("DATE-OBS", date);
    cards.number("EPOCH", 2000);
    cards.number("EQUINOX", 2000);
    cards.string("TIMESYS", "UTC");
    const double step_hz = n_chan > 1
                               ? (set.channel_hz.back() - set.channel_hz[0]) / static_cast<double>(n_chan - 1)
                               : set.channel_width_hz;
    const auto axis = [&](int number, const char* type, double value, double step) {
      cards.string(fmt::format("CTYPE{}", number), type);
      cards.number(fmt::format("CRVAL{}", number), value);
      cards.number(fmt::format("CDELT{}", number), step);
      cards.number(fmt::format("CRPIX{}", number), 1);
      cards.number(fmt::format("CROTA{}", number), 0);
    };
    axis(2, "COMPLEX", 1, 1);
    axis(3, "STOKES", stokes.first, stokes.second);
    axis(4, "FREQ", set.channel_hz[0], step_hz);
    axis(5, "IF", 1, 1);
    axis(6, "RA", set.phase_centre.ra_rad / kRadPerDeg, 1);
    axis(7, "DEC", set.phase_centre.dec_rad / kRadPerDeg, 1);
    int number = 0;
    const auto parameter = [&](const char* type, double zero) {
      ++number;
      cards.string(fmt::format("PTYPE{}", number), type);
      cards.number(fmt::format("PSCAL{}", number), 1);
      cards.number(fmt::format("PZERO{}", number), zero);
    };
    for (const char* type : {"UU---SIN", "VV---SIN", "WW---SIN"}) parameter(type, 0);
    parameter("DATE", static_cast<double>(day) + 2400000.5);
    parameter("DATE", 0);
    if (wide) {
      parameter("ANTENNA1", 0);
      parameter("ANTENNA2", 0);
      parameter("SUBARRAY", 0);
    } else {
      parameter("BASELINE", 0);
    }
    parameter("INTTIM", 0);
    for (const std::string& line : set.history) cards.history(line);
    return cards.finish();
  }

  /// The table AIPS AN: offsets from the array's place in its own meridian's frame, X towards the meridian
  /// where it meets the equator, Z towards the pole, as readers expect them where the place is given.
  std::string antennas() const {
    const Site site = set.layout.site.value();
    const Vec3 centre = geocentric_from_site(site);
    const double longitude_rad = std::atan2(centre[1], centre[0]), sin_lon = std::sin(longitude_rad),
                 cos_lon = std::cos(longitude_rad);
    const bool circular = set.products[0] == Product::RR || set.products[0] == Product::LL;
    struct Column {
      const char *name, *form, *unit;
    };
    constexpr Column columns[] = {
        {"ANNAME", "8A", ""},        {"STABXYZ", "3D", "METERS"}, {"ORBPARM", "0D", ""},
        {"NOSTA", "1J", ""},         {"MNTSTA", "1J", ""},        {"STAXOF", "1E", "METERS"},
        {"POLTYA", "1A", ""},        {"POLAA", "1E", "DEGREES"},  {"POLCALA", "2E", ""},
        {"POLTYB", "1A", ""},        {"POLAB", "1E", "DEGREES"},  {"POLCALB", "2E", ""},
        {"DIAMETER", "1E", "METERS"}};
    std::string rows;
    for (std::size_t i = 0; i < set.layout.antennas.size(); ++i) {
      const Antenna& antenna = set.layout.antennas[i];
      append_text(rows, antenna.name.empty() ? std::to_string(i) : antenna.name, 8);
      const Vec3 offset = geocentric_from_enu(site, antenna.enu_m) - centre;
      append_big(rows, cos_lon * offset[0] + sin_lon * offset[1]);
      append_big(rows, cos_lon * offset[1] - sin_lon * offset[0]);
      append_big(rows, offset[2]);
      append_big(rows, static_cast<std::int32_t>(i + 1));
      append_big(rows, mount_code(antenna.mount));
      append_big(rows, 0.0f);
      rows += circular ? 'R' : 'X';
      append_big(rows, 0.0f);
      append_big(rows, 0.0f);
      append_big(rows, 0.0f);
      rows += circular ? 'L' : 'Y';
      append_big(rows, circular ? 0.0f : 90.0f);
      append_big(rows, 0.0f);
      append_big(rows, 0.0f);
      append_big(rows, static_cast<float>(antenna.dish_diameter_m));
    }
    const std::size_t n = set.layout.antennas.size();
    Cards cards;
    cards.string("XTENSION", "BINTABLE");
    cards.integer("BITPIX", 8);
    cards.integer("NAXIS", 2);
    cards.integer("NAXIS1", static_cast<std::int64_t>(rows.size() / n));
    cards.integer("NAXIS2", static_cast<std::int64_t>(n));
    cards.integer("PCOUNT", 0);
    cards.integer("GCOUNT", 1);
    cards.integer("TFIELDS", std::size(columns));
    for (std::size_t i = 0; i < std::size(columns); ++i) {
      cards.string(fmt::format("TTYPE{}", i + 1), columns[i].name);
      cards.string(fmt::format("TFORM{}", i + 1), columns[i].form);
      cards.string(fmt::format("TUNIT{}", i + 1), columns[i].unit);
    }
    cards.string("EXTNAME", "AIPS AN");
    cards.integer("EXTVER", 1);
    cards.string("ARRNAM", set.telescope);
    cards.number("ARRAYX", centre[0]);
    cards.number("ARRAYY", centre[1]);
    cards.number("ARRAYZ", centre[2]);
    cards.number("FREQ", set.channel_hz[0]);
    cards.string("TIMSYS", "UTC");
    cards.string("TIMESYS", "UTC");
    cards.string("RDATE", format_fits_utc(UtcTime{day_mjd, 0}, 0).substr(0, 10));
    cards.number("GSTIA0", sidereal_time_deg(day_mjd));
    cards.number("DEGPDY", 360.98564497329);
    for (const char* key : {"POLARX", "POLARY", "UT1UTC", "DATUTC", "IATUTC"}) cards.number(key, 0);
    cards.string("FRAME", "ITRF");
    cards.string("XYZHAND", "RIGHT");
    cards.integer("NUMORB", 0);
    cards.integer("NO_IF", 1);
    cards.integer("NOPCAL", 2);
    cards.string("POLTYPE", "X-Y LIN");
    cards.integer("FREQID", 1);
    std::string table = cards.finish() + rows;
    table.append((kBlock - table.size() % kBlock) % kBlock, '\0');
    return table;
  }
};

UvfitsWriter::UvfitsWriter(const std::string& path, const MsDescription& description, bool overwrite,
                           std::int64_t n_rows, bool conjugated) {
  if (!description.more_windows.empty() || !description.more_fields.empty())
    throw UsageError(
        "{}: UVFITS is written of one spectral window and one field: choose with --spw and --field, or move "
        "fields with --phase-centre",
        path);
  if (!description.layout.site) throw DataError("{}: the array has no site", path);
  state_ = std::make_unique<State>(path, description, overwrite, n_rows, conjugated);
  State& state = *state_;
  state.check_channels(path);
  // The day does not change the length.
  state.header_bytes = state.header(51544, state.order_products(path)).size();
}

UvfitsWriter::~UvfitsWriter() = default;

void UvfitsWriter::write_cells(std::int64_t first_row, View<const std::complex<float>, 3> data,
                               View<const float, 3> weight) {
  const State& state = *state_;
  thread_local std::vector<std::uint32_t> group;
  group.resize(3 * state.n_chan * state.n_product);
  for (std::size_t row = 0; row < data.extent(0); ++row) {
    std::uint32_t* to = group.data();
    for (std::size_t chan = 0; chan < state.n_chan; ++chan)
      for (std::size_t p = 0; p < state.n_product; ++p) {
        const std::complex<float> value = data(row, chan, state.product_of[p]);
        *to++ = big(value.real());
        *to++ = big(state.conjugated ? -value.imag() : value.imag());
        *to++ = big(weight(row, chan, state.product_of[p]));
      }
    state.put(state.offset(first_row + static_cast<std::int64_t>(row)) + 4 * state.n_parameters, group.data(),
              4 * group.size());
  }
}

void UvfitsWriter::write_rows(std::int64_t first_row, const MsWriteRows& rows) {
  State& state = *state_;
  const double sign = (state.conjugated ? -1 : 1) / kSpeedOfLight_m_s;
  for (std::size_t row = 0; row < rows.baselines->size(); ++row) {
    const double time_s = rows.row_time_mjd_s[row];
    if (state.day_mjd < 0) state.day_mjd = static_cast<std::int64_t>(std::floor(time_s / 86400));
    const double day = time_s / 86400 - static_cast<double>(state.day_mjd);
    const auto coarse = static_cast<float>(day);
    std::vector<float> values;
    for (std::size_t axis = 0; axis < 3; ++axis)
      values.push_back(static_cast<float>(sign * rows.uvw_m(row, axis)));
    values.push_back(coarse);
    values.push_back(static_cast<float>(day - static_cast<double>(coarse)));
    const Baseline& pair = (*rows.baselines)[row];
    if (state.wide) {
      values.push_back(static_cast<float>(pair.ant1 + 1));
      values.push_back(static_cast<float>(pair.ant2 + 1));
      values.push_back(1);
    } else {
      values.push_back(static_cast<float>(256 * (pair.ant1 + 1) + pair.ant2 + 1));
    }
    values.push_back(static_cast<float>(rows.row_interval_s[row]));
    std::vector<std::uint32_t> bytes;
    for (const float value : values) bytes.push_back(big(value));
    state.put(state.offset(first_row + static_cast<std::int64_t>(row)), bytes.data(), 4 * bytes.size());
  }
}

void UvfitsWriter::commit() {
  State& state = *state_;
  const std::string header = state.header(state.day_mjd, [&] {
    state.product_of.clear();
    return state.order_products(state.pending.target());
  }());
  state.put(0, header.data(), header.size());
  std::uint64_t end = state.offset(state.n_rows);
  const std::string padding((kBlock - end % kBlock) % kBlock, '\0'), table = state.antennas();
  state.put(end, padding.data(), padding.size());
  state.put(end + padding.size(), table.data(), table.size());
  state.pending.commit();
  state.fd.reset();
}

}  // namespace apsyn
