// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/formats/uvfits/uvfits.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <map>
#include <span>
#include <utility>

#include "libcore/base/error.h"
#include "libcore/files/input.h"
#include "libcore/formats/fits/walk.h"
#include "libcore/formats/uvfits/group.h"
#include "libcore/formats/uvfits/layout.h"
#include "libcore/system/parallel.h"

namespace apsyn {
namespace {

constexpr std::size_t kFactsAtOnce = 1024;                 ///< groups whose parameters are in memory
constexpr std::size_t kLargeGroup_bytes = 4096;            ///< of larger ones the parameters alone are read
constexpr std::size_t kPieceBytes = std::size_t{1} << 19;  ///< of cells that are converted together
constexpr std::size_t kMaxBlockRows = 4096;
constexpr std::uint64_t kBlockBytes = 256u
                                      << 20;  ///< of groups that are read again for each of their windows

/// Bytes begin to end - 1 of a group.
struct ByteRange {
  std::size_t begin = SIZE_MAX, end = 0;
  void include(std::size_t first, std::size_t last) {
    begin = std::min(begin, first);
    end = std::max(end, last);
  }
  std::size_t size() const { return end - begin; }
};

/// Where the parameters of a group lie.
ByteRange facts_of(const UvfitsLayout& layout) {
  ByteRange range;
  for (const UvfitsParameter* parameter :
       {&layout.u, &layout.v, &layout.w, &layout.date, &layout.baseline, &layout.antenna1, &layout.antenna2,
        &layout.subarray, &layout.source, &layout.setup, &layout.integration})
    for (const UvfitsParameter::Part& part : parameter->parts)
      range.include(part.stored.byte, part.stored.byte + bytes_of(part.stored.bitpix));
  return range;
}

}  // namespace

struct UvfitsReader::State {
  /// Some channels of an IF.
  struct Band {
    std::size_t if_ = 0, first_channel = 0, n_channels = 0;
  };

  UvfitsOptions options;
  UvfitsLayout layout;
  ByteSource source;
  ByteRange facts;
  std::vector<std::size_t> turned_product;
  std::vector<std::uint8_t>
      loaded;  ///< of the groups loaded_first to loaded_end - 1, their parameters or all
  std::int64_t loaded_first = 0, loaded_end = 0;
  std::int64_t next = 0;            ///< group
  std::int64_t first_of_rows = 0;   ///< group of the first row that next() gave last
  std::vector<UvfitsGroup> groups;  ///< of those rows
  std::atomic<std::int64_t> used = 0, not_positive = 0, not_finite = 0, by_table = 0;

  State(const std::string& path, const UvfitsOptions& wanted)
      : options(wanted),
        layout(apsyn::is_fits_idi(path) ? read_fits_idi_layout(path) : read_uvfits_layout(path)),
        source(path),
        facts(facts_of(layout)) {
    const auto& products = layout.description.products;
    for (Product product : products) {
      const auto at = std::find(products.begin(), products.end(), with_swapped_receptors(product));
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
    for (std::int64_t index = 0; index < std::min(layout.n_groups, kMaxGroups); ++index) {
      const UvfitsGroup group = parse(index);
      const auto [last, is_new] = before.try_emplace(std::minmax({group.ant1, group.ant2}), group.time_mjd_s);
      const double step_s = std::abs(group.time_mjd_s - last->second);
      if (!is_new && step_s > kSameTime_s) shortest_s = std::min(shortest_s, step_s);
      last->second = group.time_mjd_s;
    }
    if (shortest_s < INFINITY) return shortest_s;
    throw UsageError(
        "{}: no parameter INTTIM, and no baseline at two times, that would tell the integration time: give "
        "it "
        "to ingest --from uvfits --tsamp, for example 2s",
        layout.name);
  }

  std::size_t n_if() const { return layout.if_.length; }
  std::size_t value_bytes() const { return bytes_of(layout.array.bitpix); }

  /// Where a group begins, and how many follow it without a gap, itself included.
  std::pair<std::uint64_t, std::int64_t> place_of(std::int64_t group) const {
    for (const UvfitsSegment& segment : layout.segments) {
      if (group < segment.n_groups)
        return {segment.data_byte + static_cast<std::uint64_t>(group) * layout.group_bytes,
                segment.n_groups - group};
      group -= segment.n_groups;
    }
    return {0, 0};
  }

  /// A part of a group, or of several, from the byte `begin` of the first.
  void read(std::int64_t group, std::size_t begin, std::uint8_t* to, std::size_t n_bytes) const {
    const std::uint64_t at = place_of(group).first + begin;
    const std::size_t n = source.read_at(at, to, n_bytes);
    if (n == n_bytes) return;
    const std::int64_t cut = group + static_cast<std::int64_t>((begin + n) / layout.group_bytes);
    throw DataError("{}: group {} at byte {}: the file ends after {} of its {} bytes", layout.name, cut,
                    place_of(cut).first, (begin + n) % layout.group_bytes, layout.group_bytes);
  }

  bool loads_facts_alone() const { return layout.group_bytes > kLargeGroup_bytes; }

  /// The bytes of a group, of which those of the parameters are there.
  const std::uint8_t* facts_at(std::int64_t group) {
    const std::size_t stride = loads_facts_alone() ? facts.size() : layout.group_bytes;
    if (group < loaded_first || group >= loaded_end) {
      const std::int64_t n = std::min<std::int64_t>(place_of(group).second, kFactsAtOnce);
      loaded.resize(static_cast<std::size_t>(n) * stride);
      loaded_end = 0;  // what follows may throw
      if (!loads_facts_alone()) read(group, 0, loaded.data(), loaded.size());
      for (std::int64_t i = 0; loads_facts_alone() && i < n; ++i)
        read(group + i, facts.begin, loaded.data() + static_cast<std::size_t>(i) * stride, stride);
      loaded_first = group;
      loaded_end = group + n;
    }
    return loaded.data() + static_cast<std::size_t>(group - loaded_first) * stride -
           (loads_facts_alone() ? facts.begin : 0);
  }

  [[noreturn]] void fail(std::int64_t group, const std::string& what) const {
    throw DataError("{}: group {} at byte {}: {}", layout.name, group, place_of(group).first, what);
  }

  UvfitsGroup parse(std::int64_t index) {
    const std::uint8_t* bytes = facts_at(index);
    return parse_uvfits_group(layout, bytes, options.integration_s,
                              [&](const std::string& what) { fail(index, what); });
  }

  /// Receptors change places where antennas are in falling order, which needs all products' counterparts.
  void check_turn(std::int64_t index, const UvfitsGroup& group) const {
    if (group.ant1 <= group.ant2) return;
    for (const std::size_t product : layout.product_of)
      if (turned_product[product] >= layout.description.products.size())
        fail(index, fmt::format("antennas in falling order, and {} without its counterpart",
                                product_name(layout.description.products[product])));
  }

  /// Where the visibilities and weights of a band lie in a group.
  ByteRange bytes_of_band(const Band& band) const {
    const UvfitsLayout& l = layout;
    const std::size_t first = band.if_ * l.if_.stride + band.first_channel * l.freq.stride,
                      last = first + (band.n_channels - 1) * l.freq.stride +
                             (l.stokes.length - 1) * l.stokes.stride +
                             (l.complex.length - 1) * l.complex.stride;
    ByteRange range;
    range.include(l.array.byte + first * value_bytes(), l.array.byte + (last + 1) * value_bytes());
    if (l.weights) {
      const std::size_t size = bytes_of(l.weights->bitpix),
                        begin = l.weights->byte + band.if_ * l.weights_per_if * size;
      range.include(begin, begin + l.weights_per_if * size);
    }
    return range;
  }

  template <int kBitpix>
  void convert_as(const std::uint8_t* bytes, const Band& band, bool turn, std::complex<float>* data,
                  float* weights) {
    constexpr std::size_t kBytes = bytes_of(kBitpix);
    const UvfitsLayout& l = layout;
    const std::size_t n_product = l.product_of.size();
    const bool conjugate = turn != l.idi, weights_in_array = l.complex.length == 3;
    const std::uint8_t* array =
        bytes + l.array.byte + (band.if_ * l.if_.stride + band.first_channel * l.freq.stride) * kBytes;
    std::int64_t n_used = 0, n_not_positive = 0, n_not_finite = 0;
    for (std::size_t s = 0; s < n_product; ++s) {
      const std::size_t product = turn ? turned_product[l.product_of[s]] : l.product_of[s];
      double beside = 1;
      if (l.weights)
        beside = stored_number(
            bytes + l.weights->byte +
                (band.if_ * l.weights_per_if + (l.weights_per_if == 1 ? 0 : s)) * bytes_of(l.weights->bitpix),
            l.weights->bitpix);
      for (std::size_t chan = 0; chan < band.n_channels; ++chan) {
        const std::uint8_t* at = array + (chan * l.freq.stride + s * l.stokes.stride) * kBytes;
        const auto value_at = [&](std::size_t part) {
          return l.zero + l.scale * stored_number(at + part * l.complex.stride * kBytes, kBitpix);
        };
        const double re = value_at(0), im = value_at(1);
        double weight = weights_in_array ? value_at(2) : beside;
        if (options.absolute_weights) weight = std::abs(weight);
        const bool finite = std::isfinite(re) && std::isfinite(im) && std::isfinite(weight);
        const bool valid = finite && weight > 0;
        n_not_finite += !finite;
        n_used += valid;
        n_not_positive += finite && !valid;
        data[chan * n_product + product] =
            finite ? std::complex<float>(static_cast<float>(re), static_cast<float>(conjugate ? -im : im))
                   : std::complex<float>();
        weights[chan * n_product + product] = valid ? static_cast<float>(weight) : 0.0f;
      }
    }
    used += n_used;
    not_positive += n_not_positive;
    not_finite += n_not_finite;
  }

  void convert(const std::uint8_t* bytes, const Band& band, bool turn, std::complex<float>* data,
               float* weights) {
    switch (layout.array.bitpix) {
      case 8:
        return convert_as<8>(bytes, band, turn, data, weights);
      case 16:
        return convert_as<16>(bytes, band, turn, data, weights);
      case 32:
        return convert_as<32>(bytes, band, turn, data, weights);
      case 64:
        return convert_as<64>(bytes, band, turn, data, weights);
      case -32:
        return convert_as<-32>(bytes, band, turn, data, weights);
      default:
        return convert_as<-64>(bytes, band, turn, data, weights);
    }
  }

  /// Takes the weights of what the tables of flags name.
  void apply_flags(const UvfitsGroup& group, const Band& band, float* weights) {
    const bool turn = group.ant1 > group.ant2;
    const std::size_t n_product = layout.product_of.size();
    std::int64_t n_flagged = 0;
    layout.flags.for_each(group, band.if_, [&](const UvfitsFlag& flag) {
      const std::size_t first = std::max(flag.first_channel, band.first_channel),
                        end = std::min(flag.end_channel, band.first_channel + band.n_channels);
      for (std::size_t s = 0; s < n_product; ++s) {
        if (!flag.flags_product(s)) continue;
        const std::size_t product = turn ? turned_product[layout.product_of[s]] : layout.product_of[s];
        for (std::size_t chan = first; chan < end; ++chan) {
          float& weight = weights[(chan - band.first_channel) * n_product + product];
          n_flagged += weight > 0;
          weight = 0;
        }
      }
    });
    used -= n_flagged;
    by_table += n_flagged;
  }

  std::size_t rows_of_piece(std::size_t n_channels) const {
    return std::max<std::size_t>(1, kPieceBytes / (n_channels * layout.product_of.size() * 12));
  }

  /// Cells of some of the rows.
  void read_piece(std::span<const std::size_t> rows, const Band& band, std::complex<float>* data,
                  float* weights) {
    const ByteRange range = bytes_of_band(band);
    const std::size_t n_cells = band.n_channels * layout.product_of.size(), stride = layout.group_bytes;
    const bool whole = 2 * range.size() > stride;
    thread_local std::vector<std::uint8_t> bytes;
    for (std::size_t first = 0, end = 0; first < rows.size(); first = end) {
      const std::int64_t group = first_of_rows + static_cast<std::int64_t>(rows[first]);
      const auto most = static_cast<std::size_t>(place_of(group).second);
      end = first + 1;
      while (whole && end < rows.size() && end - first < most && rows[end] == rows[first] + (end - first))
        ++end;
      bytes.resize((end - first - 1) * stride + range.size());
      read(group, range.begin, bytes.data(), bytes.size());
      for (std::size_t i = first; i < end; ++i) {
        const UvfitsGroup& facts_of_row = groups[rows[i]];
        convert(bytes.data() + (i - first) * stride - range.begin, band,
                facts_of_row.ant1 > facts_of_row.ant2, data + i * n_cells, weights + i * n_cells);
        if (!layout.flags.empty()) apply_flags(facts_of_row, band, weights + i * n_cells);
      }
    }
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
std::int64_t UvfitsReader::n_rows() const {
  return state_->layout.n_groups * static_cast<std::int64_t>(state_->n_if());
}
const std::vector<std::string>& UvfitsReader::ignored_tables() const {
  return state_->layout.ignored_tables;
}
UvfitsCounts UvfitsReader::counts() const {
  return {state_->used, state_->not_positive, state_->not_finite, state_->by_table};
}

std::string UvfitsReader::summary() const {
  const MsDescription& set = description();
  return fmt::format(
      "{}: {} groups of {} antennas, {} spectral windows of {} channels{}",
      is_fits_idi() ? "FITS-IDI" : "UVFITS", n_groups(), set.layout.antennas.size(),
      1 + set.more_windows.size(), set.channel_hz.size(),
      state_->layout.flags.empty()
          ? std::string()
          : fmt::format(", {} flags of table {}", state_->layout.flags.size(), state_->layout.names.flags));
}

std::vector<std::string> UvfitsReader::warnings() const {
  std::vector<std::string> lines;
  for (const std::string& table : ignored_tables())
    lines.push_back(fmt::format("{}: table {} is not applied: the visibilities are taken as they are",
                                state_->layout.name, table));
  return lines;
}

std::size_t UvfitsReader::block_rows() const {
  return std::clamp<std::size_t>(kBlockBytes / state_->layout.group_bytes, 1, kMaxBlockRows);
}

std::uint64_t UvfitsReader::memory_bytes(std::size_t block_rows, unsigned n_threads) const {
  const State& s = *state_;
  const std::size_t n_chan = s.layout.freq.length, at_once = std::min(block_rows, s.rows_of_piece(n_chan));
  const std::uint64_t piece = at_once * (s.layout.group_bytes + n_chan * s.layout.product_of.size() * 12);
  const std::size_t facts = s.loads_facts_alone() ? s.facts.size() : s.layout.group_bytes;
  return kFactsAtOnce * facts + block_rows * (sizeof(UvfitsGroup) + 100) + std::max(1u, n_threads) * piece;
}

void UvfitsReader::rewind() {
  state_->next = 0;
}

bool UvfitsReader::next(FileRows& rows, std::size_t max_rows) {
  State& s = *state_;
  if (s.next == s.layout.n_groups) return false;
  const auto n_max = static_cast<std::size_t>(
      std::min<std::int64_t>(static_cast<std::int64_t>(max_rows), s.layout.n_groups - s.next));
  s.first_of_rows = s.next;
  s.groups.clear();
  while (s.groups.size() < n_max) {
    const UvfitsGroup group = s.parse(s.next);
    if (!s.groups.empty() && group.setup != s.groups[0].setup) break;
    s.check_turn(s.next, group);
    s.groups.push_back(group);
    ++s.next;
  }
  const std::size_t n = s.groups.size();
  rows.first_window = s.groups[0].setup * s.n_if();
  rows.n_windows = s.n_if();
  rows.baselines.resize(n);
  rows.time_mjd_s.resize(n);
  rows.interval_s.resize(n);
  rows.field.resize(n);
  rows.uvw_m.resize_for_overwrite({n, 3});
  for (std::size_t row = 0; row < n; ++row) {
    const UvfitsGroup& group = s.groups[row];
    rows.baselines[row] = {std::min(group.ant1, group.ant2), std::max(group.ant1, group.ant2)};
    rows.time_mjd_s[row] = group.time_mjd_s;
    rows.interval_s[row] = group.exposure_s;
    rows.field[row] = group.field;
    for (std::size_t axis = 0; axis < 3; ++axis)
      rows.uvw_m(row, axis) = group.ant1 > group.ant2 ? -group.uvw_m[axis] : group.uvw_m[axis];
  }
  return true;
}

void UvfitsReader::read_cells(const FileCells& wanted, unsigned n_threads, const UseMsCells& use) {
  State& s = *state_;
  const State::Band band{wanted.window % s.n_if(), wanted.first_channel, wanted.n_channels};
  const std::size_t at_once = s.rows_of_piece(wanted.n_channels), n = wanted.rows.size();
  parallel_for(n_threads, (n + at_once - 1) / at_once, [&](std::size_t item, unsigned) {
    const std::size_t first = item * at_once, n_piece = std::min(at_once, n - first);
    thread_local Buffer<std::complex<float>, 3> data;
    thread_local Buffer<float, 3> weight;
    data.resize_for_overwrite({n_piece, wanted.n_channels, s.layout.product_of.size()});
    weight.resize_for_overwrite(data.shape());
    s.read_piece(wanted.rows.subspan(first, n_piece), band, data.data(), weight.data());
    use(first, std::as_const(data), std::as_const(weight));
  });
}

void UvfitsReader::check_use() const {
  if (state_->used == 0)
    throw FailureError(
        "{}: no usable data: none has a weight above 0 (ingest --from uvfits --absolute-weights ignores "
        "their signs)",
        state_->layout.name);
}

}  // namespace apsyn
