// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "libcore/base/csv.h"
#include "libcore/base/error.h"
#include "libcore/files/input.h"
#include "libcore/formats/h5parm/h5parm.h"
#include "libcore/formats/h5parm/soltabs.h"
#include "libcore/system/isolated.h"

namespace apsyn {
namespace {

using Complex = std::complex<double>;

constexpr std::size_t kMaxFileBytes = std::size_t{4} << 30;
constexpr std::uint64_t kBytesBesideTheFile = 512u << 20;
constexpr std::uint64_t kBytesPerByte = 16;  ///< float32 become double, twice, and some compression
constexpr unsigned kCpuSeconds = 60;

/// A soltab in the order of SolutionTable.
struct Ordered {
  std::string name, title, term;
  double order = 0;
  std::vector<double> time_mjd_s, interval_s, freq_hz, width_hz;
  std::vector<std::string> ant;
  std::vector<std::string> dir;  ///< empty: the whole field
  std::size_t n_pol = 1;
  bool circular = false;
  Buffer<double, 5> values;
  Buffer<float, 5> weights;
  Buffer<SolutionFlag, 5> flags;  ///< may be empty

  bool same_axes(const Ordered& other) const {
    return time_mjd_s == other.time_mjd_s && freq_hz == other.freq_hz && ant == other.ant &&
           dir == other.dir && n_pol == other.n_pol;
  }
  /// "000" of "phase000".
  std::string number() const { return name.substr(name.find_last_not_of("0123456789") + 1); }
};

/// Lengths of steps whose file tells none: half of the way to the nearer neighbour on either side.
std::vector<double> lengths_of(const std::vector<double>& centres) {
  std::vector<double> lengths(centres.size(), 0.0);
  for (std::size_t i = 0; i < centres.size() && centres.size() > 1; ++i) {
    const double before = i > 0 ? centres[i] - centres[i - 1] : HUGE_VAL;
    const double after = i + 1 < centres.size() ? centres[i + 1] - centres[i] : HUGE_VAL;
    lengths[i] = std::min(before, after);
  }
  return lengths;
}

/// Indices that sort the values.
template <class T>
std::vector<std::size_t> rising(const std::vector<T>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  return order;
}

template <class T>
std::vector<T> reordered(const std::vector<T>& values, const std::vector<std::size_t>& order) {
  std::vector<T> result;
  for (const std::size_t i : order) result.push_back(values[i]);
  return result;
}

std::string without_brackets(const std::string& name) {
  return name.size() > 1 && name.front() == '[' && name.back() == ']' ? name.substr(1, name.size() - 2)
                                                                      : name;
}

/// LoSoTo and gaincal call the whole field so.
bool is_whole_field(const std::string& name) {
  return lower(without_brackets(name)) == "pointing";
}

class Interpreter {
 public:
  Interpreter(H5Solset solset, const std::string& path) : solset_(std::move(solset)), path_(path) {}

  Solutions interpret() {
    result_.source = path_;
    for (const SolutionDirection& source : solset_.sources)
      if (is_whole_field(source.name)) result_.field_centre = source.direction;
    std::vector<Ordered> soltabs;
    for (H5Soltab& soltab : solset_.soltabs) {
      soltabs.push_back(ordered(soltab));
      add_history(soltab.history);
      soltab = {};  // memory
    }
    name_antennas(soltabs);
    name_directions(soltabs);
    check_receptors(soltabs);
    std::vector<std::pair<double, SolutionTable>> tables;
    while (!soltabs.empty()) {
      const Ordered soltab = std::move(soltabs.front());
      soltabs.erase(soltabs.begin());
      std::optional<Ordered> partner = take_partner(soltab, soltabs);
      tables.emplace_back(soltab.order, table_of(soltab, partner));
    }
    std::stable_sort(tables.begin(), tables.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    for (auto& [order, table] : tables) result_.tables.push_back(std::move(table));
    check_solutions(result_);
    return std::move(result_);
  }

 private:
  template <class... Args>
  [[noreturn]] void fail(const std::string& soltab, fmt::format_string<Args...> text, Args&&... args) const {
    throw DataError("{}: {}: {}", path_, soltab, fmt::format(text, std::forward<Args>(args)...));
  }

  Ordered ordered(const H5Soltab& soltab) const {
    static const std::array<std::string, 5> kAxes{"time", "dir", "ant", "freq", "pol"};
    std::array<std::size_t, 5> extent{1, 1, 1, 1, 1}, stride{};
    std::size_t step = 1;
    for (std::size_t i = soltab.axes.size(); i-- > 0;) {
      const auto at = std::find(kAxes.begin(), kAxes.end(), soltab.axes[i]);
      const std::size_t length = soltab.extents[i];
      if (length == 0) fail(soltab.name, "no solutions: the axis {} has the length 0", soltab.axes[i]);
      if (at == kAxes.end()) {
        if (length > 1) fail(soltab.name, "an axis '{}' is not known", soltab.axes[i]);
      } else {
        const auto axis = static_cast<std::size_t>(at - kAxes.begin());
        if (stride[axis] != 0) fail(soltab.name, "the axis {} is there twice", soltab.axes[i]);
        extent[axis] = length;
        stride[axis] = step;
      }
      step *= length;
    }
    if (step != soltab.values.size() || step != soltab.weights.size())
      fail(soltab.name, "values are missing");

    Ordered result;
    result.name = soltab.name;
    result.title = soltab.title;
    result.term = soltab.term;
    result.order = order_of(soltab);
    std::array<std::vector<std::size_t>, 5> from;
    for (std::size_t axis = 0; axis < 5; ++axis) {
      from[axis].resize(extent[axis]);
      std::iota(from[axis].begin(), from[axis].end(), std::size_t{0});
    }
    if (stride[0] != 0) from[0] = rising(soltab.time_mjd_s);
    if (stride[3] != 0) from[3] = rising(soltab.freq_hz);
    result.time_mjd_s = stride[0] != 0 ? reordered(soltab.time_mjd_s, from[0]) : std::vector<double>{0};
    result.freq_hz = stride[3] != 0 ? reordered(soltab.freq_hz, from[3]) : std::vector<double>{1e9};
    result.interval_s = lengths(soltab, soltab.interval_s, result.time_mjd_s, from[0], "interval");
    result.width_hz = lengths(soltab, soltab.width_hz, result.freq_hz, from[3], "width");
    if (stride[2] != 0) result.ant = soltab.ant;
    if (stride[1] != 0 && !(soltab.dir.size() == 1 && is_whole_field(soltab.dir[0])))
      for (const std::string& dir : soltab.dir) result.dir.push_back(without_brackets(dir));
    if (stride[4] != 0) from[4] = polarisations(soltab, result.circular);
    result.n_pol = from[4].size();

    const std::array<std::size_t, 5> shape{extent[0], extent[1], extent[2], extent[3], result.n_pol};
    result.values.resize(shape);
    result.weights.resize(shape);
    if (soltab.flags.size() == step) result.flags.resize(shape);
    std::size_t to = 0;
    for (const std::size_t time : from[0])
      for (const std::size_t dir : from[1])
        for (const std::size_t ant : from[2])
          for (const std::size_t freq : from[3])
            for (const std::size_t pol : from[4]) {
              const std::size_t at =
                  time * stride[0] + dir * stride[1] + ant * stride[2] + freq * stride[3] + pol * stride[4];
              const bool good = std::isfinite(soltab.values[at]) && std::isfinite(soltab.weights[at]) &&
                                soltab.weights[at] > 0;
              result.values.data()[to] = good ? soltab.values[at] : 0;
              result.weights.data()[to] = good ? soltab.weights[at] : 0;
              if (result.flags.size() > 0)
                result.flags.data()[to] =
                    good ? SolutionFlag::good : static_cast<SolutionFlag>(soltab.flags[at]);
              ++to;
            }
    return result;
  }

  /// Places in the chain: our own files tell; others hold clocks, gains and what the ionosphere does.
  double order_of(const H5Soltab& soltab) const {
    if (!soltab.order.empty()) {
      const std::optional<double> number = finite_number(soltab.order);
      if (!number) fail(soltab.name, "APSYN_ORDER '{}' is no number", soltab.order);
      return *number;
    }
    return soltab.title == "clock" ? 0 : soltab.title == "tec" ? 2 : 1;
  }

  std::vector<double> lengths(const H5Soltab& soltab, const std::vector<double>& told,
                              const std::vector<double>& centres, const std::vector<std::size_t>& from,
                              const char* what) const {
    if (told.empty()) return lengths_of(centres);
    if (told.size() != centres.size())
      fail(soltab.name, "{} has {} elements, and its axis {}", what, told.size(), centres.size());
    return reordered(told, from);
  }

  /// Where XX YY or XX XY YX YY lie.
  std::vector<std::size_t> polarisations(const H5Soltab& soltab, bool& circular) const {
    static const std::vector<std::vector<std::string>> kSets{
        {"XX", "YY"}, {"RR", "LL"}, {"XX", "XY", "YX", "YY"}, {"RR", "RL", "LR", "LL"}};
    if (soltab.pol.size() == 1) return {0};
    for (std::size_t i = 0; i < kSets.size(); ++i) {
      if (kSets[i].size() != soltab.pol.size()) continue;
      std::vector<std::size_t> from;
      for (const std::string& pol : kSets[i]) {
        const auto at = std::find(soltab.pol.begin(), soltab.pol.end(), pol);
        if (at != soltab.pol.end()) from.push_back(static_cast<std::size_t>(at - soltab.pol.begin()));
      }
      circular = i % 2 == 1;
      if (from.size() == soltab.pol.size()) return from;
    }
    std::string names;
    for (const std::string& pol : soltab.pol) names += " " + pol;
    fail(soltab.name, "polarisations{}: XX YY, XX XY YX YY, or the same of R and L are needed", names);
  }

  /// Those of the table `antenna`, and those that only soltabs name.
  void name_antennas(const std::vector<Ordered>& soltabs) {
    result_.antennas = solset_.antennas;
    std::set<std::string> known;
    for (const SolutionAntenna& antenna : result_.antennas) known.insert(antenna.name);
    for (const Ordered& soltab : soltabs)
      for (const std::string& name : soltab.ant)
        if (known.insert(name).second) result_.antennas.push_back({name, {}});
    if (result_.antennas.empty())
      throw DataError("{}: no antennas: neither a table of them nor an axis ant", path_);
  }

  void check_receptors(const std::vector<Ordered>& soltabs) {
    bool linear = false, circular = false;
    for (const Ordered& soltab : soltabs)
      if (soltab.n_pol > 1) (soltab.circular ? circular : linear) = true;
    if (linear && circular)
      throw DataError("{}: soltabs of X and Y and of R and L: name those to take", path_);
    if (circular) result_.basis = ReceptorBasis::circular;
  }

  /// Phases belong to amplitudes of the same number, imaginary parts to real ones.
  std::optional<Ordered> take_partner(const Ordered& soltab, std::vector<Ordered>& others) const {
    const std::string title = soltab.title == "amplitude"    ? "phase"
                              : soltab.title == "phase"      ? "amplitude"
                              : soltab.title == "leakage-re" ? "leakage-im"
                              : soltab.title == "leakage-im" ? "leakage-re"
                                                             : "";
    for (auto other = others.begin(); other != others.end(); ++other)
      if (other->title == title && other->number() == soltab.number() && other->same_axes(soltab)) {
        std::optional<Ordered> partner = std::move(*other);
        others.erase(other);
        return partner;
      }
    const bool needed = soltab.n_pol == 4 || title.starts_with("leakage");
    if (needed) fail(soltab.name, "{}{} with the same axes is missing", title, soltab.number());
    return std::nullopt;
  }

  /// Those that soltabs are of, in the order of the table of sources.
  void name_directions(const std::vector<Ordered>& soltabs) {
    std::set<std::string> wanted;
    for (const Ordered& soltab : soltabs) wanted.insert(soltab.dir.begin(), soltab.dir.end());
    for (const SolutionDirection& source : solset_.sources)
      if (wanted.erase(without_brackets(source.name)) > 0)
        result_.directions.push_back({without_brackets(source.name), source.direction});
    if (!wanted.empty())
      throw DataError("{}: the table 'source' has no position of direction '{}'", path_, *wanted.begin());
  }

  SolutionTable table_of(const Ordered& soltab, const std::optional<Ordered>& partner) {
    SolutionTable table;
    const Ordered* amplitude = nullptr;
    const Ordered* phase = nullptr;
    const bool leakage = soltab.title.starts_with("leakage");
    for (const Ordered* one : {&soltab, partner ? &*partner : nullptr}) {
      if (one == nullptr) continue;
      if (one->title == "amplitude" || one->title == "leakage-re") amplitude = one;
      if (one->title == "phase" || one->title == "leakage-im") phase = one;
    }
    table.type = soltab.title == "tec"     ? SolutionType::tec_tecu
                 : soltab.title == "clock" ? SolutionType::delay_s
                 : leakage                 ? SolutionType::leakage
                 : partner                 ? SolutionType::gain
                 : amplitude != nullptr    ? SolutionType::amplitude
                                           : SolutionType::phase;
    table.term = soltab.term.empty() ? std::string(solution_type_name(table.type)) : soltab.term;
    table.time_mjd_s = soltab.time_mjd_s;
    table.interval_s = soltab.interval_s;
    table.freq_hz = soltab.freq_hz;
    table.width_hz = soltab.width_hz;
    for (const std::string& dir : soltab.dir)
      table.direction.push_back(static_cast<std::uint32_t>(*result_.find_direction(dir)));
    table.resize(result_.antennas.size(), soltab.n_pol);
    if (soltab.flags.size() == 0) table.flag = {};

    const bool all_alike = soltab.ant.empty();
    for (std::size_t ant = 0; ant < result_.antennas.size(); ++ant) {
      const auto at = std::find(soltab.ant.begin(), soltab.ant.end(), result_.antennas[ant].name);
      const bool known = all_alike || at != soltab.ant.end();
      const std::size_t from = all_alike || !known ? 0 : static_cast<std::size_t>(at - soltab.ant.begin());
      for (std::size_t time = 0; time < table.n_time(); ++time)
        for (std::size_t dir = 0; dir < table.n_direction(); ++dir)
          for (std::size_t chan = 0; chan < table.n_chan(); ++chan)
            for (std::size_t pol = 0; pol < soltab.n_pol; ++pol) {
              const auto number = [&](const Ordered* one, double otherwise) {
                return one == nullptr ? otherwise : one->values(time, dir, from, chan, pol);
              };
              float weight = known ? soltab.weights(time, dir, from, chan, pol) : 0;
              if (partner) weight = std::min(weight, partner->weights(time, dir, from, chan, pol));
              Complex value = soltab.values(time, dir, from, chan, pol);
              if (leakage)
                value = {number(amplitude, 0), number(phase, 0)};
              else if (!is_dispersive(table.type))
                value =
                    number(amplitude, 1) * Complex(std::cos(number(phase, 0)), std::sin(number(phase, 0)));
              if (weight > 0) table.values(time, dir, ant, chan, pol) = value;
              table.weight(time, dir, ant, chan, pol) = weight;
              if (table.flag.size() > 0 && !(weight > 0)) {
                const SolutionFlag flag =
                    known ? soltab.flags(time, dir, from, chan, pol) : SolutionFlag::no_data;
                table.flag(time, dir, ant, chan, pol) =
                    flag == SolutionFlag::good ? SolutionFlag::unknown : flag;
              }
            }
    }
    return table;
  }

  void add_history(const std::string& text) {
    for (const std::string_view line : split(text, '\n'))
      if (!line.empty() &&
          std::find(result_.history.begin(), result_.history.end(), line) == result_.history.end())
        result_.history.emplace_back(line);
  }

  H5Solset solset_;
  const std::string& path_;
  Solutions result_;
};

std::string read_all(const std::string& path) {
  ByteSource source(path);
  std::string bytes;
  constexpr std::size_t kPiece = 1 << 20;
  while (true) {
    const std::size_t before = bytes.size();
    if (before > kMaxFileBytes)
      throw DataError("{}: larger than 4 GB: too large for solutions", source.name());
    bytes.resize(before + kPiece);
    const std::size_t n = source.read(bytes.data() + before, kPiece);
    bytes.resize(before + n);
    if (n < kPiece) return bytes;
  }
}

/// HDF5 File Format Specification 3.0, section II: a superblock of version 0 or 1 has the end of the file at
/// byte 40 (44), of version 2 or 3 at byte 28, where addresses have 8 bytes. Others are left to the library.
void check_length(const std::string& image, const std::string& path) {
  constexpr std::size_t kVersion = 8, kSmallest = 48;
  if (image.size() < kSmallest)
    throw DataError("{}: {} bytes are no HDF5 file: it is truncated", path, image.size());
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(image[at]); };
  const unsigned version = byte(kVersion);
  if (version > 3 || byte(version < 2 ? 13 : 9) != 8) return;
  const std::size_t at = version == 0 ? 40 : version == 1 ? 44 : 28;
  if (image.size() < at + 8)
    throw DataError("{}: {} bytes are no HDF5 file: it is truncated", path, image.size());
  std::uint64_t end = 0;
  for (std::size_t i = 8; i-- > 0;) end = end << 8 | byte(at + i);
  if (end > image.size())
    throw DataError("{}: ends at byte {} of {}: it is truncated", path, image.size(), end);
}

}  // namespace

bool is_hdf5(std::string_view first_bytes) {
  return first_bytes.starts_with(std::string_view("\x89HDF\r\n\x1a\n", 8));
}

Solutions read_h5parm(const std::string& path, const H5ParmSelection& selection) {
  const std::string image = read_all(path);
  if (!is_hdf5(image)) throw DataError("{}: no HDF5 file: it does not begin as one", path);
  check_length(image, path);
  IsolationLimits limits;
  limits.max_bytes = kBytesBesideTheFile + kBytesPerByte * image.size();
  limits.max_cpu_s = kCpuSeconds;
  const IsolatedResult result =
      run_isolated(limits, [&] { return pack_solset(read_solset(image, path, selection)); });
  if (result.end == IsolatedEnd::out_of_memory)
    throw DataError("{}: it asks for far more memory than its size: the file is damaged", path);
  if (result.end == IsolatedEnd::out_of_time)
    throw DataError("{}: libhdf5 does not come to an end of it: the file is damaged", path);
  if (result.end != IsolatedEnd::finished)
    throw DataError("{}: libhdf5 cannot read it and gives up: the file is damaged", path);
  return Interpreter(unpack_solset(result.bytes, path), path).interpret();
}

}  // namespace apsyn
