// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/formats/filterbank/file.h"

#include <bit>
#include <cmath>
#include <cstring>

#include "libcore/base/constants.h"

namespace apsyn {

static_assert(std::endian::native == std::endian::little, "SIGPROC files are written as memory has them");

namespace {

template <class T>
void append(std::string& bytes, const T& value) {
  char raw[sizeof(T)];
  std::memcpy(raw, &value, sizeof(T));
  bytes.append(raw, sizeof(T));
}

void append_text(std::string& bytes, const std::string& text) {
  constexpr std::size_t kMax = 79;
  const std::string held = text.substr(0, kMax);
  append(bytes, static_cast<std::int32_t>(held.size()));
  bytes += held;
}

}  // namespace

double packed_sexagesimal(double value, double turn) {
  // rounded to 1e-6 of a second first, so that no 60 s appear
  const auto ticks = static_cast<std::int64_t>(std::llround(std::abs(value) * 3600e6)) %
                     static_cast<std::int64_t>(turn * 3600e6);
  const std::int64_t seconds = ticks / 1000000;
  const double packed = static_cast<double>(seconds / 3600) * 10000 +
                        static_cast<double>(seconds / 60 % 60) * 100 + static_cast<double>(seconds % 60) +
                        static_cast<double>(ticks % 1000000) * 1e-6;
  return value < 0 ? -packed : packed;
}

std::string format_filterbank_header(const FilterbankHeader& header) {
  std::string bytes;
  const auto integer = [&](const char* name, std::int64_t value) {
    append_text(bytes, name);
    append(bytes, static_cast<std::int32_t>(value));
  };
  const auto number = [&](const char* name, double value) {
    append_text(bytes, name);
    append(bytes, value);
  };
  const auto text = [&](const char* name, const std::string& value) {
    append_text(bytes, name);
    append_text(bytes, value);
  };
  append_text(bytes, "HEADER_START");
  if (!header.raw_file.empty()) text("rawdatafile", header.raw_file);
  text("source_name", header.source);
  integer("machine_id", 0);
  integer("telescope_id", 0);
  integer("data_type", 1);
  integer("barycentric", 0);
  integer("pulsarcentric", 0);
  if (header.direction) {
    number("src_raj", packed_sexagesimal(header.direction->ra_rad / kRadPerDeg / 15, 24));
    number("src_dej", packed_sexagesimal(header.direction->dec_rad / kRadPerDeg));
  }
  number("az_start", header.azimuth_rad / kRadPerDeg);
  number("za_start", header.zenith_angle_rad / kRadPerDeg);
  number("fch1", header.first_hz * 1e-6);
  number("foff", header.step_hz * 1e-6);
  integer("nchans", static_cast<std::int64_t>(header.n_chan));
  integer("nbeams", static_cast<std::int64_t>(header.n_beam));
  integer("ibeam", static_cast<std::int64_t>(header.beam) + 1);
  integer("nbits", header.n_bit);
  number("tstart", header.start.mjd_days());
  number("tsamp", header.sample_s);
  integer("nifs", static_cast<std::int64_t>(header.n_if));
  append_text(bytes, "HEADER_END");
  return bytes;
}

FilterbankWriter::FilterbankWriter(const std::string& path, const FilterbankHeader& header, bool overwrite)
    : out_(path, overwrite) {
  const std::string bytes = format_filterbank_header(header);
  out_.write(bytes.data(), bytes.size());
}

}  // namespace apsyn
