// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/reference/recordings/mwa_correlator.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <stdexcept>

#include "tests/reference/recordings/fits_block.h"

namespace apsyn::reference {
namespace {

using Cards = std::vector<std::pair<std::string, std::string>>;

void put_big_endian(std::string& bytes, std::uint64_t value, int n_bytes) {
  for (int shift = 8 * (n_bytes - 1); shift >= 0; shift -= 8)
    bytes.push_back(static_cast<char>(value >> shift));
}

std::string in_quotes(const std::string& text) {
  return fmt::format("'{:<8}'", text);
}

/// A header; a text that is too long for a card goes on in CONTINUE cards.
std::string header(const Cards& cards) {
  std::string bytes;
  for (auto [keyword, value] : cards) {
    std::string name = fmt::format("{:<8}= ", keyword);
    while (value.size() > 70) {
      bytes += fmt::format("{:<80}", name + value.substr(0, 67) + "&'");
      value = "'" + value.substr(67);
      name = "CONTINUE  ";
    }
    bytes += fmt::format("{:<80}", name + (value.starts_with('\'') ? value : fmt::format("{:>20}", value)));
  }
  bytes += fmt::format("{:<80}", "END");
  fill_fits_block(bytes, ' ');
  return bytes;
}

void replace_or_add(Cards& cards, const Cards& others) {
  for (const auto& [keyword, value] : others) {
    const auto at =
        std::find_if(cards.begin(), cards.end(), [&](const auto& card) { return card.first == keyword; });
    if (at == cards.end())
      cards.emplace_back(keyword, value);
    else
      at->second = value;
  }
}

std::uint32_t crc32(const std::string& bytes) {
  std::uint32_t crc = 0xFFFFFFFF;
  for (const char c : bytes) {
    crc ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320u : 0u);
  }
  return ~crc;
}

void put_little_endian(std::string& bytes, std::uint32_t value, int n_bytes) {
  for (int i = 0; i < n_bytes; ++i) bytes.push_back(static_cast<char>(value >> 8 * i));
}

/// RFC 1952 and 1951, of stored blocks.
std::string gzip(const std::string& bytes) {
  std::string out("\x1f\x8b\x08\0\0\0\0\0\0\xff", 10);
  for (std::size_t at = 0; at < bytes.size() || at == 0;) {
    const std::size_t n = std::min<std::size_t>(bytes.size() - at, 65535);
    out.push_back(at + n == bytes.size());
    put_little_endian(out, static_cast<std::uint32_t>(n), 2);
    put_little_endian(out, ~static_cast<std::uint32_t>(n), 2);
    out += bytes.substr(at, n);
    at += n;
    if (n == 0) break;
  }
  put_little_endian(out, crc32(bytes), 4);
  put_little_endian(out, static_cast<std::uint32_t>(bytes.size()), 4);
  return out;
}

Cards time_cards(std::int64_t time_ms) {
  return {{"TIME", fmt::format("{}", time_ms / 1000)},
          {"MILLITIM", fmt::format("{}", time_ms % 1000)},
          {"MARKER", "0"}};
}

/// An image of rows of numbers, with its times.
std::string image_unit(const std::vector<double>& values, std::size_t n_columns, std::int64_t time_ms,
                       MwaPacking packing, double scale) {
  const std::size_t n_rows = values.size() / n_columns;
  std::vector<std::string> rows(n_rows);
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::string& row = rows[i / n_columns];
    if (packing == MwaPacking::floats)
      put_big_endian(row, std::bit_cast<std::uint32_t>(static_cast<float>(values[i])), 4);
    else
      put_big_endian(row, static_cast<std::uint32_t>(std::lround(values[i] / scale)), 4);
  }
  const std::string bitpix = packing == MwaPacking::floats ? "-32" : "32";
  Cards more = time_cards(time_ms);
  if (scale != 1) more.insert(more.begin(), {{"BSCALE", fmt::format("{}", scale)}, {"BZERO", "0.0"}});
  std::string bytes, data;
  if (packing != MwaPacking::gzip) {
    Cards cards{{"XTENSION", "'IMAGE   '"},
                {"BITPIX", bitpix},
                {"NAXIS", "2"},
                {"NAXIS1", fmt::format("{}", n_columns)},
                {"NAXIS2", fmt::format("{}", n_rows)},
                {"PCOUNT", "0"},
                {"GCOUNT", "1"}};
    cards.insert(cards.end(), more.begin(), more.end());
    for (const std::string& row : rows) data += row;
    bytes = header(cards);
  } else {
    std::string heap, table;
    std::size_t longest = 0;
    for (const std::string& row : rows) {
      const std::string packed = gzip(row);
      put_big_endian(table, packed.size(), 4);
      put_big_endian(table, heap.size(), 4);
      heap += packed;
      longest = std::max(longest, packed.size());
    }
    Cards cards{{"XTENSION", "'BINTABLE'"},
                {"BITPIX", "8"},
                {"NAXIS", "2"},
                {"NAXIS1", "8"},
                {"NAXIS2", fmt::format("{}", n_rows)},
                {"PCOUNT", fmt::format("{}", heap.size())},
                {"GCOUNT", "1"},
                {"TFIELDS", "1"},
                {"TTYPE1", "'COMPRESSED_DATA'"},
                {"TFORM1", in_quotes(fmt::format("1PB({})", longest))},
                {"ZIMAGE", "T"},
                {"ZBITPIX", bitpix},
                {"ZNAXIS", "2"},
                {"ZNAXIS1", fmt::format("{}", n_columns)},
                {"ZNAXIS2", fmt::format("{}", n_rows)},
                {"ZTILE1", fmt::format("{}", n_columns)},
                {"ZTILE2", "1"},
                {"ZCMPTYPE", "'GZIP_1  '"}};
    cards.insert(cards.end(), more.begin(), more.end());
    data = table + heap;
    bytes = header(cards);
  }
  bytes += data;
  fill_fits_block(bytes, '\0');
  return bytes;
}

std::string primary_unit(const MwaMetafits& metafits, const Cards& more, std::int64_t time_ms) {
  Cards cards{{"SIMPLE", "T"}, {"BITPIX", "8"}, {"NAXIS", "0"}, {"EXTEND", "T"}};
  cards.insert(cards.end(), more.begin(), more.end());
  const Cards times = time_cards(time_ms);
  cards.insert(cards.end(), times.begin(), times.end());
  cards.emplace_back("OBSID", in_quotes(fmt::format("{}", metafits.obs_id)));
  cards.emplace_back("INTTIME", fmt::format("{}", metafits.integration_s));
  cards.emplace_back("FINECHAN", fmt::format("{}", metafits.fine_khz));
  cards.emplace_back("NINPUTS", fmt::format("{}", 2 * metafits.tiles.size()));
  return header(cards);
}

/// Which signal the filterbanks put out at `output`: in groups of 64, output o carries input o / 4 + o % 4
/// * 16.
int input_of_output(int output) {
  const int group = output / 64, within = output % 64;
  return group * 64 + within / 4 + within % 4 * 16;
}

int output_of_input(int input) {
  for (int output = 0; output < 256; ++output)
    if (input_of_output(output) == input) return output;
  throw std::invalid_argument("an input of 0 to 255");
}

/// The bytes of one cell of the table.
void put_cells(std::string& row, const MwaMetafits& metafits, const MwaTile& tile, int pol) {
  const auto text = [&](std::string value, std::size_t width) {
    value.resize(width, '\0');
    row += value;
  };
  const auto number = [&](int value) { put_big_endian(row, static_cast<std::uint16_t>(value), 2); };
  const auto real = [&](double value) {
    put_big_endian(row, std::bit_cast<std::uint32_t>(static_cast<float>(value)), 4);
  };
  const int input = tile.input[static_cast<std::size_t>(pol)];
  number(input);
  number(tile.antenna);
  number(tile.antenna + 11);
  text(fmt::format("Tile{:03}", tile.antenna + 11), 8);
  text(pol == 0 ? "X" : "Y", 1);
  number(tile.flag);
  text(tile.length, 14);
  real(tile.enh_m[1]);
  real(tile.enh_m[0]);
  real(tile.enh_m[2]);
  for (const int gain : tile.gains[static_cast<std::size_t>(pol)]) number(gain);
  for (int dipole = 0; dipole < 16; ++dipole) number(0);
  if (metafits.tells_order) number(output_of_input(input));
}

}  // namespace

std::string mwa_metafits_bytes(const MwaMetafits& metafits) {
  std::string channels;
  for (const int channel : metafits.channels)
    channels += (channels.empty() ? "" : ",") + fmt::format("{}", channel);
  const std::size_t n_coarse = metafits.channels.size();
  Cards cards{{"SIMPLE", "T"},
              {"BITPIX", "8"},
              {"NAXIS", "0"},
              {"EXTEND", "T"},
              {"GPSTIME", fmt::format("{}", metafits.obs_id)},
              {"FILENAME", "'made_169'"},
              {"CREATOR", "'me      '"},
              {"RA", "50.8"},
              {"DEC", "-40.5"},
              {"RAPHASE", "50.67"},
              {"DECPHASE", "-37.2"},
              {"CENTCHAN", fmt::format("{}", metafits.channels[n_coarse / 2])},
              {"CHANNELS", in_quotes(channels)},
              {"FINECHAN", fmt::format("{}", metafits.fine_khz)},
              {"INTTIME", fmt::format("{}", metafits.integration_s)},
              {"NAV_FREQ", "1"},
              {"NINPUTS", fmt::format("{}", 2 * metafits.tiles.size())},
              {"NCHANS", fmt::format("{}", n_coarse * static_cast<std::size_t>(metafits.n_fine))},
              {"GOODTIME", "0"}};
  replace_or_add(cards, metafits.cards);

  // Rows in the order of the inputs, as in real files.
  std::map<int, std::pair<const MwaTile*, int>> signals;
  for (const MwaTile& tile : metafits.tiles)
    for (int pol = 0; pol < 2; ++pol) signals[tile.input[static_cast<std::size_t>(pol)]] = {&tile, pol};
  std::string table;
  for (const auto& [input, signal] : signals) put_cells(table, metafits, *signal.first, signal.second);

  Cards columns{{"Input", "1I"},
                {"Antenna", "1I"},
                {"Tile", "1I"},
                {"TileName", "8A"},
                {"Pol", "1A"},
                {"Flag", "1I"},
                {"Length", "14A"},
                {"North", "1E"},
                {"East", "1E"},
                {"Height", "1E"},
                {"Gains", fmt::format("{}I", n_coarse)},
                {"Delays", "16I"}};
  if (metafits.tells_order) columns.emplace_back("VCSOrder", "1I");
  Cards of_table{{"XTENSION", "'BINTABLE'"},
                 {"BITPIX", "8"},
                 {"NAXIS", "2"},
                 {"NAXIS1", fmt::format("{}", table.size() / signals.size())},
                 {"NAXIS2", fmt::format("{}", signals.size())},
                 {"PCOUNT", "0"},
                 {"GCOUNT", "1"},
                 {"TFIELDS", fmt::format("{}", columns.size())}};
  for (std::size_t i = 0; i < columns.size(); ++i) {
    of_table.emplace_back(fmt::format("TTYPE{}", i + 1), in_quotes(columns[i].first));
    of_table.emplace_back(fmt::format("TFORM{}", i + 1), in_quotes(columns[i].second));
  }
  of_table.emplace_back("EXTNAME", "'TILEDATA'");
  std::string bytes = header(cards) + header(of_table) + table;
  fill_fits_block(bytes, '\0');
  return bytes;
}

std::string mwa_gpubox_bytes(const MwaMetafits& metafits, const std::vector<MwaIntegration>& integrations,
                             MwaPacking packing, double scale) {
  // What the correlator takes for antenna a, polarisation p is output 2 a + p of the filterbanks.
  struct Signal {
    std::size_t tile = 0;
    int pol = 0;
  };
  std::vector<Signal> outputs(256);
  for (std::size_t i = 0; i < metafits.tiles.size(); ++i)
    for (int pol = 0; pol < 2; ++pol)
      outputs[static_cast<std::size_t>(
          output_of_input(metafits.tiles[i].input[static_cast<std::size_t>(pol)]))] = {i, pol};
  std::string bytes = primary_unit(metafits, {}, integrations[0].time_ms);
  for (const MwaIntegration& integration : integrations) {
    std::vector<double> values;
    for (int channel = 0; channel < metafits.n_fine; ++channel)
      for (std::size_t first = 0; first < 128; ++first)
        for (std::size_t second = 0; second <= first; ++second)
          for (std::size_t p = 0; p < 2; ++p)
            for (std::size_t q = 0; q < 2; ++q) {
              const Signal a = outputs[2 * first + p], b = outputs[2 * second + q];
              const std::complex<double> value = integration.signal(a.tile, a.pol, b.tile, b.pol, channel);
              values.push_back(value.real());
              values.push_back(value.imag());
            }
    bytes += image_unit(values, 128 * 129 / 2 * 8, integration.time_ms, packing, scale);
  }
  return bytes;
}

std::string mwa_mwax_bytes(const MwaMetafits& metafits, const std::vector<MwaIntegration>& integrations,
                           MwaPacking packing) {
  std::vector<std::size_t> order(metafits.tiles.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return metafits.tiles[a].antenna < metafits.tiles[b].antenna;
  });
  std::string bytes = primary_unit(metafits, {{"CORR_VER", "2"}}, integrations[0].time_ms);
  for (const MwaIntegration& integration : integrations) {
    std::vector<double> values, weights;
    for (std::size_t i = 0; i < order.size(); ++i)
      for (std::size_t j = i; j < order.size(); ++j) {
        for (int channel = 0; channel < metafits.n_fine; ++channel)
          for (int product = 0; product < 4; ++product) {
            const std::complex<double> value =
                integration.signal(order[i], product / 2, order[j], product % 2, channel);
            values.push_back(value.real());
            values.push_back(value.imag());
          }
        for (int product = 0; product < 4; ++product)
          weights.push_back(
              integration.weight ? integration.weight(order[i], product / 2, order[j], product % 2) : 1);
      }
    bytes +=
        image_unit(values, static_cast<std::size_t>(metafits.n_fine) * 8, integration.time_ms, packing, 1);
    bytes += image_unit(weights, 4, integration.time_ms, MwaPacking::floats, 1);
  }
  return bytes;
}

}  // namespace apsyn::reference
