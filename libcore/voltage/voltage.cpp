// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/voltage/voltage.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "libcore/base/error.h"
#include "libcore/header/ascii_header.h"
#include "libcore/header/plausible.h"

namespace apsyn {
namespace {

// A heap or the span of a missing block must be held in memory whole.
constexpr std::uint64_t kMaxUnitBytes = 1u << 30, kMaxMissingBytes = std::uint64_t{4} << 30;

template <class T>
struct Name {
  std::string_view text;
  T value;
};
constexpr Name<SampleEncoding> kEncodings[] = {{"TWOSCOMPLEMENT", SampleEncoding::twos_complement},
                                               {"OFFSETBINARY", SampleEncoding::offset_binary},
                                               {"FLOAT", SampleEncoding::floating},
                                               {"PACK5X5", SampleEncoding::pack5x5}};
constexpr Name<ByteOrder> kByteOrders[] = {{"LITTLE", ByteOrder::little}, {"BIG", ByteOrder::big}};

template <class T, std::size_t N>
T choose(const HeaderReader& keys, std::string_view key, const std::string& word, const Name<T> (&names)[N]) {
  std::string list;
  for (const Name<T>& name : names) {
    if (name.text == word) return name.value;
    list += (list.empty() ? "" : ", ") + std::string(name.text);
  }
  throw DataError("{}: {} {}: one of {} is needed", keys.source(), key, word, list);
}

template <class T, std::size_t N>
std::string_view name_of(T value, const Name<T> (&names)[N]) {
  for (const Name<T>& name : names)
    if (name.value == value) return name.text;
  return {};
}

// Letters of T F A P, each at most once; T always, the others unless their axis has length 1.
std::string read_order(HeaderReader& keys, const VoltageHeader& header) {
  const std::string order = keys.text_or("ORDER", "TFAP");
  const auto bad = [&] {
    return DataError(
        "{}: ORDER {}: T, F, A and P once each, slowest first, is needed (F, A, P only when NCHAN, "
        "NANT, NPOL is above 1)",
        keys.source(), order);
  };
  for (char letter : order)
    if (std::string_view("TFAP").find(letter) == std::string_view::npos ||
        std::count(order.begin(), order.end(), letter) != 1)
      throw bad();
  const auto has = [&](char letter) { return order.find(letter) != std::string::npos; };
  if (!has('T') || (header.n_chan > 1 && !has('F')) || (header.n_ant > 1 && !has('A')) ||
      (header.n_pol > 1 && !has('P')))
    throw bad();
  return order;
}

void check_format(const std::string& source, const VoltageHeader& header) {
  const bool floating = header.encoding == SampleEncoding::floating;
  const bool packed = header.encoding == SampleEncoding::pack5x5;
  const bool good = packed ? header.n_bit == 5 && header.n_dim == 2
                    : floating
                        ? header.n_bit == 32
                        : header.n_bit == 4 || header.n_bit == 8 || header.n_bit == 16 || header.n_bit == 32;
  if (!good)
    throw DataError(
        "{}: NBIT {} NDIM {} ENCODING {} is not supported: NBIT 4, 8, 16 or 32, FLOAT with 32, "
        "PACK5X5 with 5 and NDIM 2",
        source, header.n_bit, header.n_dim, name_of(header.encoding, kEncodings));
  if (header.sideband_conj && header.n_dim == 1)
    throw DataError("{}: SIDEBAND_CONJ 1 with NDIM 1: real samples have no conjugate; say BW < 0 instead",
                    source);
}

void check_sizes(const std::string& source, const VoltageHeader& header) {
  // The counts are at most 2^24, 2^20 and 2, so the bits of a sample fit in 64 bits.
  const std::size_t bits = header.bits_per_time();
  std::size_t heap_bits = 0;
  if (__builtin_mul_overflow(bits, header.block_samples, &heap_bits) || heap_bits / 8 > kMaxUnitBytes)
    throw DataError("{}: NSBLK {} heaps of {} bits per sample are larger than 1 GiB: not supported", source,
                    header.block_samples, bits);
  if (heap_bits % 8 != 0 && header.order.front() != 'T')
    throw DataError("{}: NSBLK {} times {} bits per sample is no whole number of bytes: not supported",
                    source, header.block_samples, bits);
  std::size_t missing_bits = 0;
  if (__builtin_mul_overflow(bits, header.missing_samples, &missing_bits) ||
      missing_bits / 8 > kMaxMissingBytes)
    throw DataError("{}: MISSING_NSAMP {} samples of {} bits are larger than 4 GiB: not supported", source,
                    header.missing_samples, bits);
}

// UTC_START + OBS_OFFSET / BYTES_PER_SECOND, exact to the picosecond.
UtcTime stream_start(HeaderReader& keys, const VoltageHeader& header) {
  const UtcTime utc_start = keys.start_time();
  const auto offset = keys.integer("OBS_OFFSET", 0, INT64_MAX);
  const auto rate = keys.number("BYTES_PER_SECOND");
  if (rate && !(*rate > 0))
    throw DataError("{}: BYTES_PER_SECOND {}: a positive number is needed", keys.source(), *rate);
  if (!offset || *offset == 0) return utc_start;
  if (!rate) {
    const std::size_t bits = header.bits_per_time();
    const __int128 offset_bits = static_cast<__int128>(*offset) * 8;
    if (offset_bits % static_cast<__int128>(bits) == 0)
      return sample_time(utc_start, static_cast<std::int64_t>(offset_bits / static_cast<__int128>(bits)),
                         header.sample_s);
  }
  const long double bytes_per_second = rate.value_or(header.bytes_per_second());
  const auto whole = static_cast<__int128>(static_cast<long double>(*offset) / bytes_per_second);
  const long double seconds = static_cast<long double>(*offset) / bytes_per_second;
  if (!(seconds < 1e10L))
    throw DataError("{}: OBS_OFFSET {} at {} bytes per second lies {} s after UTC_START: check both keys",
                    keys.source(), *offset, static_cast<double>(bytes_per_second),
                    static_cast<double>(seconds));
  // Bytes are exact in long double: the remainder after whole seconds keeps all digits.
  const long double rest_bytes =
      std::fma(-static_cast<long double>(whole), bytes_per_second, static_cast<long double>(*offset));
  const __int128 picoseconds = whole * 1'000'000'000'000 +
                               static_cast<__int128>(std::nearbyint(rest_bytes / bytes_per_second * 1e12L));
  return add_picoseconds(utc_start, picoseconds);
}

/// The modified Julian day to the picosecond, cut off, for readers that do not take UTC_START.
std::string mjd_of(const UtcTime& time) {
  const auto picoseconds = static_cast<std::uint64_t>(time.picoseconds);
  return fmt::format("{}.{:017}", time.mjd, picoseconds * 125 / 108);  // 1e17 / 86400e12 = 125 / 108
}

}  // namespace

double VoltageHeader::channel_freq_hz(std::size_t chan) const {
  return freq_hz - bandwidth_hz / 2 +
         (static_cast<double>(chan) + 0.5) * bandwidth_hz / static_cast<double>(n_chan);
}

std::size_t VoltageHeader::unit_samples() const {
  if (order.front() != 'T') return block_samples;
  return 8 / std::gcd(bits_per_time(), std::size_t{8});
}

/// overlap.
void check_sample_rate(const VoltageHeader& header, const std::string& source) {
  const double width_hz = std::abs(header.bandwidth_hz) / static_cast<double>(header.n_chan);
  const double needed_hz = header.n_dim == 1 ? 2 * width_hz : width_hz, rate_hz = 1 / header.sample_s;
  constexpr double kRounding = 1e-3;  // headers have few digits
  if (rate_hz >= needed_hz * (1 - kRounding) && rate_hz <= 2 * needed_hz * (1 + kRounding)) return;
  throw DataError(
      "{}: BW {:g} MHz in NCHAN {} channels contradicts TSAMP {:g} us: channels of {:g} MHz have {:g} to "
      "{:g} {} "
      "samples a microsecond (NDIM {}), and this is {:g}: correct the key that is wrong",
      source, header.bandwidth_hz * 1e-6, header.n_chan, header.sample_s * 1e6, width_hz * 1e-6,
      needed_hz * 1e-6, 2 * needed_hz * 1e-6, header.n_dim == 1 ? "real" : "complex", header.n_dim,
      rate_hz * 1e-6);
}

VoltageHeader parse_voltage_header(std::string_view bytes, const std::string& source) {
  HeaderReader keys(bytes, source);
  VoltageHeader header;
  keys.require_number("HDR_VERSION");
  keys.require_text("HDR_SIZE");
  header.telescope = keys.text_or("TELESCOPE", "unknown");
  header.instrument = keys.text_or("INSTRUMENT", "unknown");
  header.source = keys.text_or("SOURCE", "unknown");
  header.freq_hz = keys.require_number("FREQ", 6);
  header.bandwidth_hz = keys.require_number("BW", 6);
  header.sample_s = keys.require_number("TSAMP", -6);
  if (!(header.sample_s > 0))
    throw DataError("{}: TSAMP {} s: a positive number of microseconds is needed", source, header.sample_s);
  check_band(source, header.freq_hz, header.bandwidth_hz);
  check_range(source, "TSAMP", header.sample_s, kMinTime_s, kMaxSample_s, "s");
  header.n_bit = static_cast<unsigned>(keys.require_integer("NBIT", 1, 64));
  header.n_dim = static_cast<unsigned>(keys.require_integer("NDIM", 1, 2));
  header.n_pol = static_cast<std::size_t>(keys.require_integer("NPOL", 1, 2));
  header.n_chan = static_cast<std::size_t>(keys.require_integer("NCHAN", 1, 1 << 24));
  header.n_ant = static_cast<std::size_t>(keys.integer_or("NANT", 1, 1 << 20, 1));
  header.block_samples = static_cast<std::size_t>(keys.integer_or("NSBLK", 1, INT64_MAX, 1));
  header.missing_samples = static_cast<std::size_t>(keys.integer_or("MISSING_NSAMP", 1, INT64_MAX, 128));
  header.order = read_order(keys, header);
  // 32-bit samples without ENCODING are floating, as dspsr takes them.
  const std::string encoding = keys.text_or("ENCODING", header.n_bit == 32 ? "FLOAT" : "TWOSCOMPLEMENT");
  header.encoding = choose(keys, "ENCODING", encoding, kEncodings);
  header.byte_order = choose(keys, "ENDIAN", keys.text_or("ENDIAN", "LITTLE"), kByteOrders);
  header.scale = keys.number("SCALE").value_or(1);
  if (header.scale == 0) throw DataError("{}: SCALE 0: samples in units of 0 carry nothing", source);
  header.flux_unit = keys.flux_unit();
  header.scale_gain = keys.number("SCALE_GAIN").value_or(1);
  if (!(header.scale_gain > 0 && header.scale_gain <= 1))
    throw DataError("{}: SCALE_GAIN {}: quantising leaves a part above 0 and up to 1 of an amplitude", source,
                    header.scale_gain);
  header.sideband_conj = keys.integer_or("SIDEBAND_CONJ", 0, 1, 0) == 1;
  static constexpr Name<std::string_view> kBases[] = {{"XY", "XY"}, {"RL", "RL"}};
  header.pol_basis = choose(keys, "POL_BASIS", keys.text_or("POL_BASIS", "XY"), kBases);
  check_format(source, header);
  check_sizes(source, header);

  header.start = stream_start(keys, header);
  const auto file_size = keys.integer_or("FILE_SIZE", 0, INT64_MAX, 0);
  if (file_size > 0) header.file_size = static_cast<std::uint64_t>(file_size);
  const auto trailer = keys.integer("TRAILER", 0, 1);
  header.foreign = !trailer.has_value();
  header.trailer = trailer.value_or(0) == 1;
  header.resolution_bytes = static_cast<std::uint64_t>(keys.integer_or("RESOLUTION", 0, INT64_MAX, 0));
  header.layout = keys.layout(header.n_ant);
  header.phase_centre = keys.phase_centre();
  header.tracking = keys.text_or("TRACKING", "");
  header.history = keys.history();
  keys.ignore("FILE_NUMBER");
  keys.ignore("MJD_START");
  keys.ignore("DADA_VERSION");
  header.unknown = keys.rest();
  return header;
}

std::string format_voltage_header(const VoltageHeader& header) {
  HeaderWriter keys;
  keys.token("TELESCOPE", header.telescope);
  keys.token("INSTRUMENT", header.instrument);
  keys.token("SOURCE", header.source);
  keys.start_time(header.start);
  keys.token("MJD_START", mjd_of(header.start));
  keys.token("DADA_VERSION", "1.0");
  keys.integer("OBS_OFFSET", 0);
  keys.integer("FILE_NUMBER", 0);
  keys.size("FILE_SIZE", header.file_size.value_or(0));
  if (!header.foreign) keys.integer("TRAILER", header.trailer ? 1 : 0);
  keys.number("FREQ", header.freq_hz, -6);
  keys.number("BW", header.bandwidth_hz, -6);
  keys.number("TSAMP", header.sample_s, 6);
  keys.integer("NBIT", header.n_bit);
  keys.integer("NDIM", header.n_dim);
  keys.integer("NPOL", static_cast<std::int64_t>(header.n_pol));
  keys.integer("NCHAN", static_cast<std::int64_t>(header.n_chan));
  keys.integer("NANT", static_cast<std::int64_t>(header.n_ant));
  keys.token("ORDER", header.order);
  keys.integer("NSBLK", static_cast<std::int64_t>(header.block_samples));
  keys.token("ENCODING", name_of(header.encoding, kEncodings));
  keys.token("ENDIAN", name_of(header.byte_order, kByteOrders));
  keys.number("SCALE", header.scale);
  keys.flux_unit(header.flux_unit);
  if (header.scale_gain != 1) keys.number("SCALE_GAIN", header.scale_gain);
  keys.integer("SIDEBAND_CONJ", header.sideband_conj ? 1 : 0);
  keys.token("POL_BASIS", header.pol_basis);
  keys.integer("MISSING_NSAMP", static_cast<std::int64_t>(header.missing_samples));
  keys.number("BYTES_PER_SECOND", header.bytes_per_second());
  keys.integer("RESOLUTION", static_cast<std::int64_t>(header.resolution_bytes ? header.resolution_bytes
                                                                               : header.unit_bytes()));
  keys.layout(header.layout);
  keys.phase_centre(header.phase_centre);
  if (!header.tracking.empty()) keys.token("TRACKING", header.tracking);
  for (const auto& [key, value] : header.unknown) keys.verbatim(key, value);
  keys.history(header.history);
  return keys.finish();
}

}  // namespace apsyn
