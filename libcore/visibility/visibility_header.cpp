// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/visibility/visibility_header.h"

#include <algorithm>
#include <cmath>

#include "libcore/base/csv.h"
#include "libcore/base/error.h"
#include "libcore/header/ascii_header.h"
#include "libcore/header/plausible.h"

namespace apsyn {
namespace {

constexpr std::uint64_t kMaxRecordBytes = std::uint64_t{1} << 38;

void require_word(HeaderReader& keys, std::string_view key, std::string_view wanted) {
  const std::string word = keys.require_text(key);
  if (word != wanted)
    throw DataError("{}: {} {}: a visibility stream has {} {}", keys.source(), key, word, key, wanted);
}

std::vector<Product> read_products(HeaderReader& keys) {
  const std::string list = keys.require_text("PRODUCTS");
  std::vector<Product> products;
  for (std::string_view name : split(list, ',')) {
    try {
      products.push_back(parse_product(name));
    } catch (const Error& error) {
      throw DataError("{}: PRODUCTS {}: {}", keys.source(), list, error.what());
    }
    if (std::count(products.begin(), products.end(), products.back()) > 1)
      throw DataError("{}: PRODUCTS {}: {} appears twice", keys.source(), list, name);
  }
  return products;
}

}  // namespace

std::uint64_t visibility_record_bytes(const VisibilityHeader& header) {
  return std::uint64_t{12} * header.baselines.size() * header.channel_hz.size() * header.products.size();
}

VisibilityHeader parse_visibility_header(std::string_view bytes, const std::string& source,
                                         VisibilityStreamKeys& stream) {
  HeaderReader keys(bytes, source);
  VisibilityHeader header;
  keys.require_number("HDR_VERSION");
  require_word(keys, "INSTRUMENT", "apsyn-vis");
  require_word(keys, "ORDER", "TBFP");
  require_word(keys, "NBIT", "32");
  if (keys.text_or("ENDIAN", "LITTLE") != "LITTLE") require_word(keys, "ENDIAN", "LITTLE");
  header.telescope = keys.text_or("TELESCOPE", "unknown");
  header.source = keys.text_or("SOURCE", "unknown");
  const double freq_hz = keys.require_number("FREQ", 6), bandwidth_hz = keys.require_number("BW", 6);
  header.integration_s = keys.require_number("TSAMP", -6);
  check_band(source, freq_hz, bandwidth_hz);
  if (!(header.integration_s > 0))
    throw DataError("{}: TSAMP {} s: a positive number of microseconds is needed", source,
                    header.integration_s);
  check_range(source, "TSAMP", header.integration_s, kMinTime_s, kMaxIntegration_s, "s");
  header.sample_s = keys.number("INPUT_TSAMP", -6).value_or(0);
  if (header.sample_s < 0)
    throw DataError("{}: INPUT_TSAMP {} s: at least 0 is needed", source, header.sample_s);
  const auto n_chan = keys.require_integer("NCHAN", 1, 1 << 24);
  const auto n_ant = keys.require_integer("NANT", 1, 1 << 15);
  const auto n_baselines = keys.require_integer("NBL", 1, INT64_MAX);
  header.products = read_products(keys);
  // The baselines are implied; the record's size is checked before anything as large is made.
  const std::int64_t with_autos = n_ant * (n_ant + 1) / 2, without = n_ant * (n_ant - 1) / 2;
  if (n_baselines != with_autos && n_baselines != without)
    throw DataError("{}: NBL {}: NANT {} antennas have {} baselines with and {} without autocorrelations",
                    source, n_baselines, n_ant, with_autos, without);
  const auto cells = static_cast<unsigned __int128>(n_baselines) * static_cast<unsigned __int128>(n_chan);
  if (cells * header.products.size() * 12 > kMaxRecordBytes)
    throw DataError("{}: NBL {} times NCHAN {}: one integration is larger than {} GiB: not supported", source,
                    n_baselines, n_chan, kMaxRecordBytes >> 30);
  header.channel_width_hz = bandwidth_hz / static_cast<double>(n_chan);
  for (std::int64_t chan = 0; chan < n_chan; ++chan)
    header.channel_hz.push_back(freq_hz - bandwidth_hz / 2 +
                                (static_cast<double>(chan) + 0.5) * bandwidth_hz /
                                    static_cast<double>(n_chan));
  header.baselines = all_baselines(static_cast<std::size_t>(n_ant), n_baselines == with_autos);
  header.start = keys.start_time();
  if (keys.integer_or("OBS_OFFSET", 0, INT64_MAX, 0) != 0)
    throw DataError("{}: OBS_OFFSET must be 0 in a visibility stream: UTC_START is its first integration",
                    source);
  header.layout = keys.layout(static_cast<std::size_t>(n_ant));
  header.phase_centre = keys.phase_centre();
  header.flux_unit = keys.flux_unit();
  header.history = keys.history();
  const auto file_size = keys.integer_or("FILE_SIZE", 0, INT64_MAX, 0);
  if (file_size > 0) stream.file_size = static_cast<std::uint64_t>(file_size);
  const auto trailer = keys.integer("TRAILER", 0, 1);
  stream.foreign = !trailer.has_value();
  stream.trailer = trailer.value_or(0) == 1;
  return header;
}

std::string format_visibility_header(const VisibilityHeader& header, const VisibilityStreamKeys& stream) {
  const std::size_t n_chan = header.channel_hz.size(), n_ant = header.layout.antennas.size();
  if (n_chan == 0 || header.products.empty() || header.baselines.empty())
    throw UsageError("a visibility stream needs at least one channel, product and baseline");
  for (std::size_t chan = 0; chan < n_chan; ++chan) {
    const double even_hz = header.channel_hz[0] + static_cast<double>(chan) * header.channel_width_hz;
    if (!(std::abs(header.channel_hz[chan] - even_hz) <= 1e-3 * std::abs(header.channel_width_hz)))
      throw UsageError(
          "channel {} at {} Hz: a visibility stream describes evenly spaced, adjoining channels only: "
          "write a Measurement Set",
          chan, header.channel_hz[chan]);
  }
  const bool autos = header.baselines[0].ant1 == header.baselines[0].ant2;
  const auto expected = all_baselines(n_ant, autos);
  const auto same = [](const Baseline& a, const Baseline& b) { return a.ant1 == b.ant1 && a.ant2 == b.ant2; };
  if (!std::equal(expected.begin(), expected.end(), header.baselines.begin(), header.baselines.end(), same))
    throw UsageError("a visibility stream holds all baselines of its {} antennas: write a Measurement Set",
                     n_ant);

  HeaderWriter keys;
  keys.token("INSTRUMENT", "apsyn-vis");
  keys.token("TELESCOPE", header.telescope);
  keys.token("SOURCE", header.source);
  keys.start_time(header.start);
  keys.integer("OBS_OFFSET", 0);
  keys.size("FILE_SIZE", stream.file_size.value_or(0));
  if (!stream.foreign) keys.integer("TRAILER", stream.trailer ? 1 : 0);
  keys.number("FREQ", (header.channel_hz.front() + header.channel_hz.back()) / 2, -6);
  keys.number("BW", header.channel_width_hz * static_cast<double>(n_chan), -6);
  keys.number("TSAMP", header.integration_s, 6);
  if (header.sample_s > 0) keys.number("INPUT_TSAMP", header.sample_s, 6);
  keys.integer("NBIT", 32);
  keys.integer("NDIM", 2);
  keys.integer("NCHAN", static_cast<std::int64_t>(n_chan));
  keys.integer("NANT", static_cast<std::int64_t>(n_ant));
  keys.integer("NBL", static_cast<std::int64_t>(header.baselines.size()));
  std::string products;
  for (Product product : header.products) products += (products.empty() ? "" : ",") + product_name(product);
  keys.token("PRODUCTS", products);
  keys.token("ORDER", "TBFP");
  keys.token("ENCODING", "FLOAT");
  keys.token("ENDIAN", "LITTLE");
  keys.integer("RESOLUTION", static_cast<std::int64_t>(visibility_record_bytes(header)));
  keys.layout(header.layout);
  keys.phase_centre(header.phase_centre);
  keys.flux_unit(header.flux_unit);
  keys.history(header.history);
  return keys.finish();
}

}  // namespace apsyn
