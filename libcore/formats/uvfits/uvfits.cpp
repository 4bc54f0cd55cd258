// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/formats/uvfits/uvfits.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <utility>

#include "libcore/base/constants.h"
#include "libcore/base/error.h"
#include "libcore/files/input.h"
#include "libcore/formats/fits/walk.h"
#include "libcore/formats/uvfits/layout.h"

namespace apsyn {
namespace {

constexpr double kMjdOfJd0 = -2400000.5;

/// Of a product for the baseline the other way round: the receptors change places.
Product turned(Product product) {
  switch (product) {
    case Product::XY:
      return Product::YX;
    case Product::YX:
      return Product::XY;
    case Product::RL:
      return Product::LR;
    case Product::LR:
      return Product::RL;
    default:
      return product;
  }
}

/// What the parameters of a group say.
struct Group {
  Vec3 uvw_m{};
  double time_mjd_s = 0, exposure_s = 0;
  int ant1 = 0, ant2 = 0, field = 0;
  std::size_t setup = 0;
};

}  // namespace

struct UvfitsReader::State {
  UvfitsOptions options;
  UvfitsLayout layout;
  ByteSource source;
  std::vector<std::uint8_t> bytes;  ///< of one group
  std::vector<std::size_t> turned_product;
  std::int64_t next = 0;
  bool pending = false;  ///< the group in `bytes` is not used yet
  UvfitsCounts counts;

  State(const std::string& path, const UvfitsOptions& wanted)
      : options(wanted),
        layout(apsyn::is_fits_idi(path) ? read_fits_idi_layout(path) : read_uvfits_layout(path)),
        source(path) {
    bytes.resize(layout.group_bytes);
    const auto& products = layout.description.products;
    for (Product product : products) {
      const auto at = std::find(products.begin(), products.end(), turned(product));
      turned_product.push_back(static_cast<std::size_t>(at - products.begin()));
    }
    if (!layout.integration.there() && !(options.integration_s > 0))
      options.integration_s = shortest_step_s();
  }

  /// The shortest time between two groups of one baseline, for files that do not tell how long they
  /// integrate.
  double shortest_step_s() {
    constexpr std::int64_t kMaxGroups = 1 << 16;
    constexpr double kSameTime_s = 1e-3;  // dates of float32 do not tell more
    std::map<std::pair<int, int>, double> before;
    double shortest_s = INFINITY;
    while (next < std::min(layout.n_groups, kMaxGroups)) {
      ++next;
      if (source.read_at(group_byte(), bytes.data(), bytes.size()) < bytes.size())
        break;  // what is missing is told where it is read
      const Group group = parse();
      const auto [last, is_new] = before.try_emplace(std::minmax({group.ant1, group.ant2}), group.time_mjd_s);
      const double step_s = std::abs(group.time_mjd_s - last->second);
      if (!is_new && step_s > kSameTime_s) shortest_s = std::min(shortest_s, step_s);
      last->second = group.time_mjd_s;
    }
    next = 0;
    if (shortest_s < INFINITY) return shortest_s;
    throw UsageError(
        "{}: no parameter INTTIM, and no baseline at two times, that would tell the integration time: give "
        "it "
        "to ingest --from uvfits --tsamp, for example 2s",
        layout.name);
  }

  /// Where the group begins that has been read last.
  std::uint64_t group_byte() const {
    std::int64_t index = next - 1;
    for (const UvfitsSegment& segment : layout.segments) {
      if (index < segment.n_groups)
        return segment.data_byte + static_cast<std::uint64_t>(index) * layout.group_bytes;
      index -= segment.n_groups;
    }
    return 0;
  }
  double number(const UvfitsNumber& stored, std::size_t index = 0) const {
    const auto size = static_cast<std::size_t>(std::abs(stored.bitpix)) / 8;
    return stored_number(bytes.data() + stored.byte + index * size, stored.bitpix);
  }
  std::size_t n_if() const { return layout.if_.length; }

  double parameter(const UvfitsParameter& wanted, double base = 0) const {
    // Offsets first: dates keep their precision.
    double sum = base;
    for (const auto& part : wanted.parts) sum += part.zero;
    for (const auto& part : wanted.parts) sum += part.scale * number(part.stored);
    return sum;
  }
  [[noreturn]] void fail(const std::string& what) const {
    throw DataError("{}: group {} at byte {}: {}", layout.name, next - 1, group_byte(), what);
  }
  int whole(const UvfitsParameter& wanted, const char* name) const {
    const double value = parameter(wanted);
    if (!(value >= 0 && value < 1e9)) fail(fmt::format("{} = {}: a number from 0 is needed", name, value));
    return static_cast<int>(value);
  }

  bool take_group() {
    if (pending) return true;
    if (next == layout.n_groups) return false;
    ++next;
    if (const std::size_t n = source.read_at(group_byte(), bytes.data(), bytes.size()); n < bytes.size())
      throw DataError("{}: group {} at byte {}: the file ends after {} of its {} bytes", layout.name,
                      next - 1, group_byte(), n, bytes.size());
    pending = true;
    return true;
  }

  void find_antennas(Group& group) const {
    int first = 0, second = 0, subarray = 1;
    if (layout.antenna1.there() && layout.antenna2.there()) {
      first = whole(layout.antenna1, "ANTENNA1");
      second = whole(layout.antenna2, "ANTENNA2");
      if (layout.subarray.there()) subarray = std::max(1, whole(layout.subarray, "SUBARRAY"));
    } else {
      const double code = parameter(layout.baseline);
      if (!(code >= 0 && code < 1e9)) fail(fmt::format("BASELINE = {}: a number from 0 is needed", code));
      // 256 i + j, or 2048 i + j + 65536 for arrays of more than 255; hundredths count subarrays from 0.
      const int number = static_cast<int>(code + 0.001);
      subarray = 1 + static_cast<int>(std::lround((code - number) * 100));
      // FITS-IDI of more than 255 stations: 65536 i + j.
      const bool large = number > 65536;
      const int base = !large       ? 256
                       : layout.idi ? 65536
                                    : 2048,
                rest = large && !layout.idi ? number - 65536 : number;
      first = rest / base;
      second = rest % base;
    }
    const auto find = [&](int number) {
      const auto antenna = layout.antenna_of.find({subarray, number});
      if (antenna == layout.antenna_of.end())
        fail(fmt::format("antenna {} of subarray {} is not in {}", number, subarray, layout.names.antennas));
      return antenna->second;
    };
    group.ant1 = find(first);
    group.ant2 = find(second);
  }

  Group parse() const {
    Group group;
    // Coordinates are taken as they are. Phases go together with them in UVFITS; those of FITS-IDI are
    // opposite, which copy_cells() turns.
    group.uvw_m = {parameter(layout.u) * kSpeedOfLight_m_s, parameter(layout.v) * kSpeedOfLight_m_s,
                   parameter(layout.w) * kSpeedOfLight_m_s};
    group.time_mjd_s = parameter(layout.date, kMjdOfJd0) * 86400 + layout.utc_offset_s;
    if (!(std::abs(group.time_mjd_s) < 1e11)) fail(fmt::format("DATE is MJD {}", group.time_mjd_s / 86400));
    group.exposure_s = layout.integration.there() ? parameter(layout.integration) : options.integration_s;
    if (options.integration_s > 0) group.exposure_s = options.integration_s;
    if (!(group.exposure_s >= 0 && group.exposure_s < 1e9))
      fail(fmt::format("INTTIM = {} s", group.exposure_s));
    find_antennas(group);
    if (!layout.field_of.empty()) {
      const int number = whole(layout.source, "SOURCE");
      const auto field = layout.field_of.find(number);
      if (field == layout.field_of.end()) fail(fmt::format("source {} is not in AIPS SU", number));
      group.field = field->second;
    }
    if (layout.setup.there() && layout.setup_of.size() > 1) {
      const int number = whole(layout.setup, "FREQSEL");
      const auto setup = layout.setup_of.find(number);
      if (setup == layout.setup_of.end())
        fail(fmt::format("frequency setup {} is not in {}", number, layout.names.windows));
      group.setup = setup->second;
    }
    return group;
  }

  void copy_cells(UvfitsRows& rows, std::size_t row, bool turn) {
    if (turn)
      for (const std::size_t product : layout.product_of)
        if (turned_product[product] >= layout.description.products.size())
          fail(fmt::format("antennas in falling order, and {} without its counterpart",
                           product_name(layout.description.products[product])));
    const bool conjugate = turn != layout.idi;
    const auto value_at = [&](std::size_t at) {
      return layout.zero + layout.scale * number(layout.array, at);
    };
    const auto weight_beside = [&](std::size_t i, std::size_t s) {
      const std::size_t of_if = i * layout.weights_per_if;
      return layout.weights ? number(*layout.weights, layout.weights_per_if == 1 ? of_if : of_if + s) : 1.0;
    };
    for (std::size_t i = 0; i < n_if(); ++i)
      for (std::size_t chan = 0; chan < layout.freq.length; ++chan)
        for (std::size_t s = 0; s < layout.product_of.size(); ++s) {
          const std::size_t at = i * layout.if_.stride + chan * layout.freq.stride + s * layout.stokes.stride;
          const std::complex<double> value(value_at(at), value_at(at + layout.complex.stride));
          double weight =
              layout.complex.length == 3 ? value_at(at + 2 * layout.complex.stride) : weight_beside(i, s);
          if (options.absolute_weights) weight = std::abs(weight);
          const bool finite =
              std::isfinite(value.real()) && std::isfinite(value.imag()) && std::isfinite(weight);
          ++(!finite ? counts.not_finite : weight > 0 ? counts.used : counts.not_positive);
          const std::size_t product = turn ? turned_product[layout.product_of[s]] : layout.product_of[s];
          rows.data[i](row, chan, product) =
              finite ? std::complex<float>(conjugate ? std::conj(value) : value) : std::complex<float>();
          rows.weight[i](row, chan, product) = finite && weight > 0 ? static_cast<float>(weight) : 0.0f;
        }
  }

  void add(UvfitsRows& rows, const Group& group) {
    const std::size_t row = rows.baselines.size();
    const bool turn = group.ant1 > group.ant2;
    for (std::size_t axis = 0; axis < 3; ++axis)
      rows.uvw_m(row, axis) = turn ? -group.uvw_m[axis] : group.uvw_m[axis];
    rows.time_mjd_s.push_back(group.time_mjd_s);
    rows.exposure_s.push_back(group.exposure_s);
    rows.baselines.push_back({std::min(group.ant1, group.ant2), std::max(group.ant1, group.ant2)});
    rows.field.push_back(group.field);
    copy_cells(rows, row, turn);
  }
};

UvfitsReader::UvfitsReader(const std::string& path, const UvfitsOptions& options)
    : state_(std::make_unique<State>(path, options)) {}
UvfitsReader::~UvfitsReader() = default;

const MsDescription& UvfitsReader::description() const {
  return state_->layout.description;
}
bool UvfitsReader::is_fits_idi() const {
  return state_->layout.idi;
}
std::int64_t UvfitsReader::n_groups() const {
  return state_->layout.n_groups;
}
const std::vector<std::string>& UvfitsReader::ignored_tables() const {
  return state_->layout.ignored_tables;
}
const UvfitsCounts& UvfitsReader::counts() const {
  return state_->counts;
}
std::uint64_t UvfitsReader::memory_bytes(std::size_t max_rows) const {
  const std::size_t cells = state_->n_if() * state_->layout.freq.length * state_->layout.product_of.size();
  return state_->bytes.size() + max_rows * (cells * 12 + 100);
}

bool UvfitsReader::read(UvfitsRows& rows, std::size_t max_rows) {
  State& s = *state_;
  if (!s.take_group()) return false;
  const auto n_rows = static_cast<std::size_t>(
      std::min<std::int64_t>(static_cast<std::int64_t>(max_rows), s.layout.n_groups - s.next + 1));
  rows.uvw_m.resize({n_rows, 3});
  for (auto* values : {&rows.time_mjd_s, &rows.exposure_s}) values->clear();
  rows.baselines.clear();
  rows.field.clear();
  rows.data.resize(s.n_if());
  rows.weight.resize(s.n_if());
  const std::array shape{n_rows, s.layout.freq.length, s.layout.product_of.size()};
  for (std::size_t i = 0; i < s.n_if(); ++i) {
    rows.data[i].resize(shape);
    rows.weight[i].resize(shape);
  }
  while (rows.baselines.size() < n_rows && s.take_group()) {
    const Group group = s.parse();
    if (rows.baselines.empty()) rows.setup = group.setup;
    if (group.setup != rows.setup) break;
    s.add(rows, group);
    s.pending = false;
  }
  return true;
}

}  // namespace apsyn
