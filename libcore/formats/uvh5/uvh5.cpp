// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/formats/uvh5/uvh5.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include "libcore/base/constants.h"
#include "libcore/base/csv.h"
#include "libcore/base/error.h"
#include "libcore/base/time.h"
#include "libcore/files/descriptor.h"
#include "libcore/files/output.h"
#include "libcore/formats/uvh5/datasets.h"
#include "libcore/measures/coordinates.h"
#include "libcore/system/isolated.h"
#include "libcore/system/parallel.h"

namespace apsyn {
namespace {

constexpr double kMjdOfJd = 2400000.5;

/// AIPS numbers of correlations: RR LL RL LR are -1 to -4, XX YY XY YX -5 to -8, I Q U V 1 to 4.
struct ProductCode {
  Product product;
  int code;
};
constexpr ProductCode kCodes[] = {{Product::RR, -1}, {Product::LL, -2}, {Product::RL, -3}, {Product::LR, -4},
                                  {Product::XX, -5}, {Product::YY, -6}, {Product::XY, -7}, {Product::YX, -8},
                                  {Product::I, 1},   {Product::Q, 2},   {Product::U, 3},   {Product::V, 4}};

double jd_of(double mjd_s) {
  return mjd_s / 86400 + kMjdOfJd;
}
double mjd_s_of(double jd) {
  return (jd - kMjdOfJd) * 86400;
}

}  // namespace

bool is_hdf5_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  char bytes[8] = {};
  file.read(bytes, sizeof bytes);
  return file.good() && std::memcmp(bytes, "\x89HDF\r\n\x1a\n", 8) == 0;
}

struct Uvh5Writer::State {
  /// The apparent place of a field at one time, and the position angle of ICRS north there.
  struct Place {
    double ra_rad = 0, dec_rad = 0, frame_pa_rad = 0;
  };
  Descriptor fd;  ///< outlives the claim
  PendingOutput pending;
  std::unique_ptr<uvh5::Writer> file;
  bool conjugated;
  std::size_t n_chan, n_product;
  std::mutex mutex;
  Hdf5Handle complex = uvh5::complex_type(), flag = uvh5::flag_type();
  std::set<double> times;
  std::set<std::pair<int, int>> baselines;
  std::set<int> antennas;
  std::vector<MsField> fields;
  SkyFrame frame;
  std::map<std::pair<double, int>, Place> places;

  State(const std::string& path, bool overwrite, bool swapped, const MsDescription& set)
      : pending(path, overwrite),
        conjugated(swapped),
        n_chan(set.channel_hz.size()),
        n_product(set.products.size()),
        frame(*set.layout.site) {
    fd.reset(pending.create_file());
    file = std::make_unique<uvh5::Writer>(pending.part());
  }
  ~State() { file.reset(); }

  void write_array(const ArrayLayout& layout) {
    const std::size_t n = layout.antennas.size();
    const Site site = layout.site.value();
    const Vec3 centre = geocentric_from_site(site);
    std::vector<double> positions, diameters;
    std::vector<std::string> names;
    std::vector<int> numbers;
    for (std::size_t i = 0; i < n; ++i) {
      const Antenna& antenna = layout.antennas[i];
      const Vec3 relative = geocentric_from_enu(site, antenna.enu_m) - centre;
      positions.insert(positions.end(), relative.begin(), relative.end());
      diameters.push_back(antenna.dish_diameter_m);
      names.push_back(antenna.name.empty() ? std::to_string(i) : antenna.name);
      numbers.push_back(static_cast<int>(i));
    }
    file->scalar("/Header/latitude", site.lat_rad / kRadPerDeg);
    file->scalar("/Header/longitude", site.lon_rad / kRadPerDeg);
    file->scalar("/Header/altitude", site.height_m);
    file->scalar("/Header/Nants_telescope", static_cast<int>(n));
    file->texts("/Header/antenna_names", names);
    file->put("/Header/antenna_numbers", numbers, {n});
    file->put("/Header/antenna_positions", positions, {n, 3});
    if (std::all_of(diameters.begin(), diameters.end(), [](double d) { return d > 0; }))
      file->put("/Header/antenna_diameters", diameters, {n});
  }

  void write_fields(const MsDescription& set) {
    fields = {{set.source, set.phase_centre}};
    fields.insert(fields.end(), set.more_fields.begin(), set.more_fields.end());
    file->scalar("/Header/Nphase", static_cast<int>(fields.size()));
    file->group("/Header/phase_center_catalog");
    for (std::size_t i = 0; i < fields.size(); ++i) {
      const std::string group = "/Header/phase_center_catalog/" + std::to_string(i);
      file->group(group);
      file->text(group + "/cat_name", fields[i].name.empty() ? "field" + std::to_string(i) : fields[i].name);
      file->text(group + "/cat_type", "sidereal");
      file->scalar(group + "/cat_lon", fields[i].phase_centre.ra_rad);
      file->scalar(group + "/cat_lat", fields[i].phase_centre.dec_rad);
      file->text(group + "/cat_frame", "icrs");
      file->scalar(group + "/cat_epoch", 2000.0);
      file->text(group + "/info_source", "file");
    }
  }

  const Place& place_of(double time_mjd_s, int field) {
    const auto [at, is_new] = places.try_emplace({time_mjd_s, field});
    if (!is_new) return at->second;
    const UtcTime time = from_mjd_seconds(time_mjd_s);
    const SkyDirection centre = fields[static_cast<std::size_t>(field)].phase_centre;
    const SkyDirection place = frame.apparent_from_direction(time, centre);
    constexpr double kStep_rad = 1e-4;
    const SkyDirection up = frame.apparent_from_direction(time, {centre.ra_rad, centre.dec_rad + kStep_rad}),
                       down =
                           frame.apparent_from_direction(time, {centre.ra_rad, centre.dec_rad - kStep_rad});
    const double east = std::remainder(up.ra_rad - down.ra_rad, kTwoPi) * std::cos(place.dec_rad);
    at->second = {place.ra_rad, place.dec_rad, std::atan2(east, up.dec_rad - down.dec_rad)};
    return at->second;
  }

  void write_header(const MsDescription& set, hsize_t n_rows) {
    file->group("/Header");
    file->group("/Data");
    file->text("/Header/version", "1.2");
    file->text("/Header/telescope_name", set.telescope);
    file->text("/Header/instrument", set.telescope);
    write_array(set.layout);
    write_fields(set);
    std::vector<double> widths = set.channel_widths_hz;
    if (widths.empty()) widths.assign(n_chan, set.channel_width_hz);
    std::vector<int> polarizations;
    for (const Product product : set.products)
      for (const ProductCode& known : kCodes)
        if (known.product == product) polarizations.push_back(known.code);
    file->scalar("/Header/Nblts", static_cast<int>(n_rows));
    file->scalar("/Header/Nfreqs", static_cast<int>(n_chan));
    file->scalar("/Header/Npols", static_cast<int>(n_product));
    file->scalar("/Header/Nspws", 1);
    file->put("/Header/spw_array", std::vector<int>{0}, {1});
    file->put("/Header/flex_spw_id_array", std::vector<int>(n_chan, 0), {n_chan});
    file->put("/Header/freq_array", set.channel_hz, {n_chan});
    file->put("/Header/channel_width", widths, {n_chan});
    file->put("/Header/polarization_array", polarizations, {n_product});
    file->text("/Header/vis_units", set.flux_unit == FluxUnit::jansky ? "Jy" : "uncalib");
    std::string history;
    for (const std::string& line : set.history) history += line + "\n";
    file->text("/Header/history", history);
    file->create("/Header/uvw_array", H5T_NATIVE_DOUBLE, {n_rows, 3});
    file->create("/Header/time_array", H5T_NATIVE_DOUBLE, {n_rows});
    file->create("/Header/integration_time", H5T_NATIVE_DOUBLE, {n_rows});
    for (const char* name :
         {"/Header/phase_center_app_ra", "/Header/phase_center_app_dec", "/Header/phase_center_frame_pa"})
      file->create(name, H5T_NATIVE_DOUBLE, {n_rows});
    for (const char* name : {"/Header/ant_1_array", "/Header/ant_2_array", "/Header/phase_center_id_array"})
      file->create(name, H5T_NATIVE_INT, {n_rows});
    file->create("/Data/visdata", complex, {n_rows, n_chan, n_product});
    file->create("/Data/flags", flag, {n_rows, n_chan, n_product});
    file->create("/Data/nsamples", H5T_NATIVE_FLOAT, {n_rows, n_chan, n_product});
  }
};

Uvh5Writer::Uvh5Writer(const std::string& path, const MsDescription& description, bool overwrite,
                       std::int64_t n_rows, bool conjugated) {
  if (!description.more_windows.empty())
    throw UsageError(
        "{}: UVH5 is written of one spectral window, the selection has {}: choose one with --spw", path,
        1 + description.more_windows.size());
  if (!description.layout.site) throw DataError("{}: the array has no site", path);
  state_ = std::make_unique<State>(path, overwrite, conjugated, description);
  state_->write_header(description, static_cast<hsize_t>(n_rows));
}

Uvh5Writer::~Uvh5Writer() = default;

void Uvh5Writer::write_cells(std::int64_t first_row, View<const std::complex<float>, 3> data,
                             View<const float, 3> weight) {
  State& state = *state_;
  thread_local std::vector<std::complex<float>> values;
  thread_local std::vector<std::int8_t> flags;
  values.assign(data.begin(), data.end());
  flags.resize(weight.size());
  for (std::size_t i = 0; i < flags.size(); ++i) flags[i] = !(weight.data()[i] > 0);
  if (!state.conjugated)
    for (std::complex<float>& value : values) value = std::conj(value);
  const auto first = static_cast<std::uint64_t>(first_row), n = static_cast<std::uint64_t>(data.extent(0));
  const std::lock_guard lock(state.mutex);  // HDF5 takes one thread
  state.file->rows("/Data/visdata", first, n, state.complex, values.data());
  state.file->rows("/Data/flags", first, n, state.flag, flags.data());
  state.file->rows("/Data/nsamples", first, n, H5T_NATIVE_FLOAT, weight.data());
}

void Uvh5Writer::write_rows(std::int64_t first_row, const MsWriteRows& rows) {
  State& state = *state_;
  const std::size_t n = rows.baselines->size();
  std::vector<double> uvw(rows.uvw_m.begin(), rows.uvw_m.end()), time(n);
  if (!state.conjugated)
    for (double& component : uvw) component = -component;
  std::vector<int> ant1(n), ant2(n), field = rows.row_field;
  field.resize(n, 0);
  std::vector<double> app_ra(n), app_dec(n), frame_pa(n);
  for (std::size_t row = 0; row < n; ++row) {
    time[row] = jd_of(rows.row_time_mjd_s[row]);
    ant1[row] = (*rows.baselines)[row].ant1;
    ant2[row] = (*rows.baselines)[row].ant2;
    const State::Place& place = state.place_of(rows.row_time_mjd_s[row], field[row]);
    app_ra[row] = place.ra_rad;
    app_dec[row] = place.dec_rad;
    frame_pa[row] = place.frame_pa_rad;
    state.times.insert(time[row]);
    state.baselines.insert({ant1[row], ant2[row]});
    state.antennas.insert({ant1[row], ant2[row]});
  }
  const auto first = static_cast<std::uint64_t>(first_row);
  const std::lock_guard lock(state.mutex);
  state.file->rows("/Header/uvw_array", first, n, H5T_NATIVE_DOUBLE, uvw.data());
  state.file->rows("/Header/time_array", first, n, H5T_NATIVE_DOUBLE, time.data());
  state.file->rows("/Header/integration_time", first, n, H5T_NATIVE_DOUBLE, rows.row_interval_s.data());
  state.file->rows("/Header/ant_1_array", first, n, H5T_NATIVE_INT, ant1.data());
  state.file->rows("/Header/ant_2_array", first, n, H5T_NATIVE_INT, ant2.data());
  state.file->rows("/Header/phase_center_id_array", first, n, H5T_NATIVE_INT, field.data());
  state.file->rows("/Header/phase_center_app_ra", first, n, H5T_NATIVE_DOUBLE, app_ra.data());
  state.file->rows("/Header/phase_center_app_dec", first, n, H5T_NATIVE_DOUBLE, app_dec.data());
  state.file->rows("/Header/phase_center_frame_pa", first, n, H5T_NATIVE_DOUBLE, frame_pa.data());
}

void Uvh5Writer::commit() {
  State& state = *state_;
  state.file->scalar("/Header/Ntimes", static_cast<int>(state.times.size()));
  state.file->scalar("/Header/Nbls", static_cast<int>(state.baselines.size()));
  state.file->scalar("/Header/Nants_data", static_cast<int>(state.antennas.size()));
  state.file->close();
  state.pending.commit();
  state.fd.reset();
}

struct Uvh5Reader::State {
  uvh5::Reader file;
  MsDescription set;
  static constexpr std::size_t kCellBytes = 13;  ///< of a visibility, its flag and nsamples
  std::uint64_t n_rows = 0, next_row = 0;
  std::uint64_t first_of_rows = 0;  ///< the first that next() gave last
  std::vector<char> swapped;        ///< [row of those] its antennas are in falling order in the file
  std::vector<std::complex<float>> values;
  std::vector<std::int8_t> flags;
  std::vector<float> samples;
  Hdf5Handle complex = uvh5::complex_type(), flag = uvh5::flag_type();
  std::size_t n_chan = 0, n_product = 0;
  std::vector<std::size_t> product_of;          ///< [product of the set] in the file
  std::vector<std::size_t> swapped_product_of;  ///< the same of rows with swapped antennas
  bool four_axes = false;                       ///< visdata of older files has one of windows
  std::map<int, int> antenna_of, field_of;

  explicit State(const std::string& path) : file(path) {
    if (!file.has("/Header") || !file.has("/Data/visdata"))
      throw DataError("{}: no /Header and /Data/visdata: an HDF5 file, but no UVH5", path);
    read_axes();
    read_array();
    read_fields();
    set.history = {};
    if (file.has("/Header/history")) {
      for (const std::string_view line : split(file.text("/Header/history"), '\n'))
        if (!line.empty()) set.history.emplace_back(line);
    }
    if (file.has("/Header/vis_units") && lower(file.text("/Header/vis_units")) != "jy")
      set.flux_unit = FluxUnit::adu;
  }

  std::size_t n_cells() const { return n_chan * n_product; }
  /// Rows whose converted cells a cache holds.
  std::size_t rows_of_piece(std::size_t n_channels) const {
    constexpr std::size_t kPieceBytes = std::size_t{1} << 19;
    return std::max<std::size_t>(1, kPieceBytes / (n_channels * n_product * 12));
  }

  int count(const char* name) {
    const int value = file.scalar<int>(std::string("/Header/") + name);
    if (value < 1) throw DataError("{}: {} {}: at least 1 is needed", file.path(), name, value);
    return value;
  }

  void read_axes() {
    n_rows = static_cast<std::uint64_t>(count("Nblts"));
    n_chan = static_cast<std::size_t>(count("Nfreqs"));
    n_product = static_cast<std::size_t>(count("Npols"));
    if (file.has("/Header/Nspws") && count("Nspws") != 1)
      throw DataError("{}: Nspws {}: files of one spectral window are read: split it with pyuvdata",
                      file.path(), count("Nspws"));
    const std::vector<hsize_t> shape = file.shape("/Data/visdata");
    four_axes = shape.size() == 4;
    const std::vector<hsize_t> expected = four_axes ? std::vector<hsize_t>{n_rows, 1, n_chan, n_product}
                                                    : std::vector<hsize_t>{n_rows, n_chan, n_product};
    if (shape != expected) throw DataError("{}: visdata has not the shape that its header says", file.path());
    set.channel_hz = file.all<double>("/Header/freq_array");
    std::vector<double> widths = file.all<double>("/Header/channel_width");
    if (widths.size() == 1) widths.assign(n_chan, widths[0]);
    if (set.channel_hz.size() != n_chan || widths.size() != n_chan)
      throw DataError("{}: freq_array or channel_width has not Nfreqs {} elements", file.path(), n_chan);
    for (double& width : widths) width = std::abs(width);
    for (std::size_t i = 0; i < n_chan; ++i)
      if (!(set.channel_hz[i] > 0) || !std::isfinite(set.channel_hz[i]) || !(widths[i] > 0) ||
          !std::isfinite(widths[i]))
        throw DataError("{}: channel {}: {} Hz wide at {} Hz", file.path(), i, widths[i], set.channel_hz[i]);
    set.channel_width_hz = widths[0];
    set.channel_widths_hz = widths;
    read_products();
  }

  void read_products() {
    const std::vector<int> codes = file.all<int>("/Header/polarization_array");
    std::map<int, std::size_t> found;  // by CASA's numbers: the order of the set
    for (std::size_t p = 0; p < codes.size(); ++p)
      for (const ProductCode& known : kCodes)
        if (known.code == codes[p]) found[static_cast<int>(known.product)] = p;
    if (found.size() != n_product || codes.size() != n_product)
      throw DataError("{}: polarization_array holds something other than Npols {} different correlations",
                      file.path(), n_product);
    for (const auto& [product, place] : found) {
      set.products.push_back(static_cast<Product>(product));
      product_of.push_back(place);
    }
    for (const auto& [product, place] : found) {
      const auto other = found.find(static_cast<int>(with_swapped_receptors(static_cast<Product>(product))));
      swapped_product_of.push_back(other == found.end() ? place : other->second);
    }
  }

  void read_array() {
    set.telescope = file.has("/Header/telescope_name") ? file.text("/Header/telescope_name") : "unknown";
    const Site site{file.scalar<double>("/Header/latitude") * kRadPerDeg,
                    file.scalar<double>("/Header/longitude") * kRadPerDeg,
                    file.scalar<double>("/Header/altitude")};
    if (!std::isfinite(site.lat_rad + site.lon_rad + site.height_m) || std::abs(site.lat_rad) > kPi / 2)
      throw DataError("{}: latitude, longitude and altitude are no place", file.path());
    set.layout.telescope = set.telescope;
    set.layout.site = site;
    const std::vector<std::string> names = file.texts("/Header/antenna_names");
    const std::vector<int> numbers = file.all<int>("/Header/antenna_numbers");
    const std::vector<double> positions = file.all<double>("/Header/antenna_positions");
    if (names.empty() || numbers.size() != names.size() || positions.size() != 3 * names.size())
      throw DataError(
          "{}: antenna_names, antenna_numbers and antenna_positions are of different numbers of antennas",
          file.path());
    std::vector<double> diameters;
    if (file.has("/Header/antenna_diameters")) diameters = file.all<double>("/Header/antenna_diameters");
    const Vec3 centre = geocentric_from_site(site);
    for (std::size_t i = 0; i < names.size(); ++i) {
      const Vec3 relative{positions[3 * i], positions[3 * i + 1], positions[3 * i + 2]};
      if (!std::isfinite(relative[0] + relative[1] + relative[2]))
        throw DataError("{}: antenna {} stands nowhere", file.path(), names[i]);
      set.layout.antennas.push_back({names[i], enu_from_geocentric(site, centre + relative)});
      if (diameters.size() == names.size()) set.layout.antennas.back().dish_diameter_m = diameters[i];
      antenna_of[numbers[i]] = static_cast<int>(i);
    }
  }

  void add_field(int id, const std::string& name, const std::string& type, const std::string& frame,
                 double lon, double lat) {
    if (type != "sidereal" && type != "phased")
      throw DataError("{}: '{}' is no fixed direction ({}): phase it to one with pyuvdata", file.path(), name,
                      type);
    if (frame != "icrs" && frame != "fk5")
      throw DataError("{}: the direction of '{}' is in {}: icrs and fk5 are read", file.path(), name, frame);
    if (!std::isfinite(lon + lat) || std::abs(lat) > kPi / 2)
      throw DataError("{}: '{}' has no direction", file.path(), name);
    const MsField field{name, {std::fmod(std::fmod(lon, kTwoPi) + kTwoPi, kTwoPi), lat}};
    field_of[id] = static_cast<int>(field_of.size());
    if (field_of.size() == 1) {
      set.source = field.name;
      set.phase_centre = field.phase_centre;
    } else {
      set.more_fields.push_back(field);
    }
  }

  void read_fields() {
    const std::string catalogue = "/Header/phase_center_catalog";
    if (file.has(catalogue)) {
      std::set<int> used{0};
      if (file.has("/Header/phase_center_id_array")) {
        const std::vector<int> ids = file.all<int>("/Header/phase_center_id_array");
        used = {ids.begin(), ids.end()};
      }
      for (const std::string& member : file.members(catalogue)) {
        const std::string group = catalogue + "/" + member;
        const std::optional<double> number = finite_number(member);
        const int id = number ? static_cast<int>(*number) : 0;
        if (used.count(id) == 0) continue;
        const std::string frame = file.has(group + "/cat_frame") ? file.text(group + "/cat_frame") : "icrs";
        add_field(id, file.text(group + "/cat_name"), file.text(group + "/cat_type"), frame,
                  file.scalar<double>(group + "/cat_lon"), file.scalar<double>(group + "/cat_lat"));
      }
    } else if (file.has("/Header/phase_type")) {
      add_field(0, file.has("/Header/object_name") ? file.text("/Header/object_name") : "unknown",
                file.text("/Header/phase_type"),
                file.has("/Header/phase_center_frame") ? file.text("/Header/phase_center_frame") : "icrs",
                file.scalar<double>("/Header/phase_center_ra"),
                file.scalar<double>("/Header/phase_center_dec"));
    }
    if (field_of.empty()) throw DataError("{}: no phase centre: phase the data with pyuvdata", file.path());
  }
};

Uvh5Reader::Uvh5Reader(const std::string& path) {
  // A first look, at the header and the rows at both ends, in a process of its own: libhdf5 trusts its files.
  constexpr IsolationLimits kLimits{std::uint64_t{1} << 30, 60};
  const IsolatedResult look = run_isolated(kLimits, [&] {
    const State state(path);
    std::vector<std::complex<float>> cells(state.n_chan * state.n_product);
    for (const std::uint64_t row : {std::uint64_t{0}, state.n_rows - 1})
      state.file.rows("/Data/visdata", row, 1, uvh5::complex_type(), cells.data());
    return std::string();
  });
  if (look.end != IsolatedEnd::finished)
    throw DataError("{}: libhdf5 cannot read it: the file is damaged", path);
  state_ = std::make_unique<State>(path);
}
Uvh5Reader::~Uvh5Reader() = default;

const MsDescription& Uvh5Reader::description() const {
  return state_->set;
}
std::int64_t Uvh5Reader::n_rows() const {
  return static_cast<std::int64_t>(state_->n_rows);
}

std::string Uvh5Reader::summary() const {
  const MsDescription& set = state_->set;
  return fmt::format("UVH5: {} rows of {} channels and {} products, {} antennas, {} fields", n_rows(),
                     set.channel_hz.size(), set.products.size(), set.layout.antennas.size(),
                     1 + set.more_fields.size());
}

std::size_t Uvh5Reader::block_rows() const {
  constexpr std::size_t kBlockBytes = 32u << 20, kMaxRows = 4096;
  return std::clamp<std::size_t>(kBlockBytes / (state_->n_cells() * State::kCellBytes), 1, kMaxRows);
}

std::uint64_t Uvh5Reader::memory_bytes(std::size_t block_rows, unsigned n_threads) const {
  const State& state = *state_;
  constexpr std::uint64_t kRowBytes = 200, kConvertedBytes = 12;
  return block_rows * (state.n_cells() * State::kCellBytes + kRowBytes) +
         std::max(1u, n_threads) * std::min(block_rows, state.rows_of_piece(state.n_chan)) * state.n_cells() *
             kConvertedBytes;
}

void Uvh5Reader::rewind() {
  state_->next_row = 0;
}

bool Uvh5Reader::next(FileRows& rows, std::size_t max_rows) {
  State& state = *state_;
  const std::uint64_t n = std::min<std::uint64_t>(max_rows, state.n_rows - state.next_row),
                      first = state.next_row;
  if (n == 0) return false;
  std::vector<int> ant1(n), ant2(n), field(n, 0);
  rows.first_window = 0;
  rows.n_windows = 1;
  rows.uvw_m.resize_for_overwrite({n, 3});
  rows.time_mjd_s.resize(n);
  rows.interval_s.resize(n);
  rows.baselines.resize(n);
  rows.field.resize(n);
  state.file.rows("/Header/ant_1_array", first, n, H5T_NATIVE_INT, ant1.data());
  state.file.rows("/Header/ant_2_array", first, n, H5T_NATIVE_INT, ant2.data());
  state.file.rows("/Header/uvw_array", first, n, H5T_NATIVE_DOUBLE, rows.uvw_m.data());
  state.file.rows("/Header/time_array", first, n, H5T_NATIVE_DOUBLE, rows.time_mjd_s.data());
  state.file.rows("/Header/integration_time", first, n, H5T_NATIVE_DOUBLE, rows.interval_s.data());
  if (state.file.has("/Header/phase_center_id_array"))
    state.file.rows("/Header/phase_center_id_array", first, n, H5T_NATIVE_INT, field.data());
  state.swapped.resize(n);
  for (std::size_t row = 0; row < n; ++row) {
    const auto one = state.antenna_of.find(ant1[row]), two = state.antenna_of.find(ant2[row]);
    const auto centre = state.field_of.find(field[row]);
    if (one == state.antenna_of.end() || two == state.antenna_of.end() || centre == state.field_of.end())
      throw DataError("{}: row {}: antennas {} and {} or phase centre {} are not in the header",
                      state.file.path(), first + row, ant1[row], ant2[row], field[row]);
    if (!std::isfinite(rows.time_mjd_s[row]) || !(rows.interval_s[row] > 0) ||
        !std::isfinite(rows.interval_s[row]))
      throw DataError("{}: row {}: time {} JD and {} s of integration", state.file.path(), first + row,
                      rows.time_mjd_s[row], rows.interval_s[row]);
    rows.time_mjd_s[row] = mjd_s_of(rows.time_mjd_s[row]);
    rows.field[row] = centre->second;
    // A Measurement Set has the lower number first: the other order is the conjugate, of swapped receptors.
    const bool swaps = one->second > two->second;
    state.swapped[row] = swaps;
    rows.baselines[row] = swaps ? Baseline{two->second, one->second} : Baseline{one->second, two->second};
    if (!swaps)
      for (std::size_t axis = 0; axis < 3; ++axis) rows.uvw_m(row, axis) = -rows.uvw_m(row, axis);
  }
  state.first_of_rows = first;
  state.next_row += n;
  return true;
}

void Uvh5Reader::read_cells(const FileCells& wanted, unsigned n_threads, const UseMsCells& use) {
  State& state = *state_;
  if (wanted.rows.empty()) return;
  const std::size_t front = wanted.rows.front(), n_read = wanted.rows.back() - front + 1,
                    n_cells = state.n_cells();
  const std::uint64_t first = state.first_of_rows + front;
  state.values.resize(n_read * n_cells);
  state.flags.resize(n_read * n_cells);
  state.samples.resize(n_read * n_cells);
  state.file.rows("/Data/visdata", first, n_read, state.complex, state.values.data());
  state.file.rows("/Data/flags", first, n_read, state.flag, state.flags.data());
  state.file.rows("/Data/nsamples", first, n_read, H5T_NATIVE_FLOAT, state.samples.data());
  const std::size_t at_once = state.rows_of_piece(wanted.n_channels), n = wanted.rows.size();
  parallel_for(n_threads, (n + at_once - 1) / at_once, [&](std::size_t item, unsigned) {
    const std::size_t begin = item * at_once, end = std::min(n, begin + at_once);
    thread_local Buffer<std::complex<float>, 3> data;
    thread_local Buffer<float, 3> weight;
    data.resize_for_overwrite({end - begin, wanted.n_channels, state.n_product});
    weight.resize_for_overwrite(data.shape());
    for (std::size_t i = begin; i < end; ++i) {
      const std::size_t row = wanted.rows[i];
      const bool swaps = state.swapped[row] != 0;
      const std::vector<std::size_t>& from = swaps ? state.swapped_product_of : state.product_of;
      for (std::size_t chan = 0; chan < wanted.n_channels; ++chan)
        for (std::size_t p = 0; p < state.n_product; ++p) {
          const std::size_t at =
              ((row - front) * state.n_chan + wanted.first_channel + chan) * state.n_product + from[p];
          data(i - begin, chan, p) = swaps ? state.values[at] : std::conj(state.values[at]);
          weight(i - begin, chan, p) = state.flags[at] != 0 ? 0 : state.samples[at];
        }
    }
    use(begin, std::as_const(data), std::as_const(weight));
  });
}

}  // namespace apsyn
