// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/reference/recordings/psrfits_rows.h"

#include <bit>
#include <cstddef>

#include "tests/reference/recordings/fits_block.h"

namespace apsyn::reference {
namespace {

using Cards = std::vector<std::pair<std::string, std::string>>;

template <class Word>
void big_endian(std::string& bytes, Word word) {
  for (int shift = 8 * (static_cast<int>(sizeof(Word)) - 1); shift >= 0; shift -= 8)
    bytes.push_back(static_cast<char>(word >> shift & 0xff));
}
void float64(std::string& bytes, double value) {
  big_endian(bytes, std::bit_cast<std::uint64_t>(value));
}
void float32(std::string& bytes, float value) {
  big_endian(bytes, std::bit_cast<std::uint32_t>(value));
}

std::string header(Cards cards, const Cards& changes) {
  for (const auto& change : changes) {
    bool found = false;
    for (auto& card : cards)
      if (card.first == change.first) card.second = change.second, found = true;
    if (!found) cards.push_back(change);
  }
  std::string bytes;
  const auto put = [&](std::string card) {
    card.resize(80, ' ');
    bytes += card;
  };
  for (const auto& [key, value] : cards) {
    std::string name = key;
    name.resize(8, ' ');
    put(name + "= " + value);
  }
  put("END");
  fill_fits_block(bytes, ' ');
  return bytes;
}

void samples(std::string& bytes, const PsrfitsRows& file, const std::vector<int>& codes) {
  if (file.n_bit >= 8) {
    for (int code : codes) {
      if (file.n_bit == 8) bytes.push_back(static_cast<char>(code));
      if (file.n_bit == 16) big_endian(bytes, static_cast<std::uint16_t>(code));
      if (file.n_bit == 32 && file.floats) float32(bytes, static_cast<float>(code));
      if (file.n_bit == 32 && !file.floats) big_endian(bytes, static_cast<std::uint32_t>(code));
    }
    return;
  }
  const int per_byte = 8 / file.n_bit;
  for (std::size_t i = 0; i < codes.size(); i += static_cast<std::size_t>(per_byte)) {
    int byte = 0;
    for (int j = 0; j < per_byte; ++j)
      byte = byte << file.n_bit | (codes[i + static_cast<std::size_t>(j)] & ((1 << file.n_bit) - 1));
    bytes.push_back(static_cast<char>(byte));
  }
}

}  // namespace

std::string psrfits_bytes(const PsrfitsRows& file) {
  const std::size_t n_chan = file.freq_mhz.size(), n_values = n_chan * file.n_pol;
  std::string rows;
  for (const PsrfitsRow& row : file.rows) {
    float64(rows, static_cast<double>(file.n_time) * file.sample_s);
    float64(rows, row.offset_s);
    for (double mhz : file.freq_mhz) float64(rows, mhz);
    for (float weight : row.weights) float32(rows, weight);
    for (float offset : row.offsets) float32(rows, offset);
    for (float scale : row.scales) float32(rows, scale);
    samples(rows, file, row.codes);
  }
  const std::size_t row_bytes = file.rows.empty() ? 0 : rows.size() / file.rows.size();
  const auto n = [](std::size_t count) { return std::to_string(count); };
  const std::size_t n_codes = n_values * file.n_time;
  const std::string data_form = file.n_bit == 32 ? n(n_codes) + (file.floats ? "E" : "J")
                                : file.n_bit == 16
                                    ? n(n_codes) + "I"
                                    : n(n_codes * static_cast<std::size_t>(file.n_bit) / 8) + "B";
  const std::string primary =
      header({{"SIMPLE", "T"},
              {"BITPIX", "8"},
              {"NAXIS", "0"},
              {"EXTEND", "T"},
              {"HDRVER", "'5.4'"},
              {"FITSTYPE", "'PSRFITS '          / FITS definition for pulsar data files"},
              {"TELESCOP", "'Parkes'"},
              {"ANT_X", "-4554231.5"},
              {"ANT_Y", "2816759.1"},
              {"ANT_Z", "-3454036.3"},
              {"OBS_MODE", "'" + file.obs_mode + "'"},
              {"SRC_NAME", "'J0835-4510'"},
              {"RA", "'08:35:20.6'"},
              {"DEC", "'-45:10:34.8'"},
              {"STT_IMJD", "59000"},
              {"STT_SMJD", "43200"},
              {"STT_OFFS", "0.25"}},
             file.primary_cards);
  const std::string table = header({{"XTENSION", "'BINTABLE'"},
                                    {"BITPIX", "8"},
                                    {"NAXIS", "2"},
                                    {"NAXIS1", n(row_bytes)},
                                    {"NAXIS2", n(file.rows.size())},
                                    {"PCOUNT", "0"},
                                    {"GCOUNT", "1"},
                                    {"TFIELDS", "7"},
                                    {"TTYPE1", "'TSUBINT'"},
                                    {"TFORM1", "'1D'"},
                                    {"TTYPE2", "'OFFS_SUB'"},
                                    {"TFORM2", "'1D'"},
                                    {"TTYPE3", "'DAT_FREQ'"},
                                    {"TFORM3", "'" + n(n_chan) + "D'"},
                                    {"TTYPE4", "'DAT_WTS'"},
                                    {"TFORM4", "'" + n(n_chan) + "E'"},
                                    {"TTYPE5", "'DAT_OFFS'"},
                                    {"TFORM5", "'" + n(n_values) + "E'"},
                                    {"TTYPE6", "'DAT_SCL'"},
                                    {"TFORM6", "'" + n(n_values) + "E'"},
                                    {"TTYPE7", "'DATA'"},
                                    {"TFORM7", "'" + data_form + "'"},
                                    {"EXTNAME", "'SUBINT'"},
                                    {"NPOL", n(file.n_pol)},
                                    {"POL_TYPE", "'" + file.pol_type + "'"},
                                    {"TBIN", std::to_string(file.sample_s)},
                                    {"NBIN", "1"},
                                    {"NBITS", std::to_string(file.n_bit)},
                                    {"NCHAN", n(n_chan)},
                                    {"NSBLK", n(file.n_time)}},
                                   file.table_cards);
  // Another table before the samples, as recorders have it.
  const std::string history = header({{"XTENSION", "'BINTABLE'"},
                                      {"BITPIX", "8"},
                                      {"NAXIS", "2"},
                                      {"NAXIS1", "24"},
                                      {"NAXIS2", "1"},
                                      {"PCOUNT", "0"},
                                      {"GCOUNT", "1"},
                                      {"TFIELDS", "1"},
                                      {"TTYPE1", "'DATE_PRO'"},
                                      {"TFORM1", "'24A'"},
                                      {"EXTNAME", "'HISTORY'"}},
                                     {});
  std::string made_at = "2020-05-31T12:00:00     ";
  fill_fits_block(made_at, '\0');
  fill_fits_block(rows, '\0');
  return primary + history + made_at + table + rows;
}

}  // namespace apsyn::reference
