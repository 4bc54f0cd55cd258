// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <string_view>

#include "libcore/array/telescopes.h"
#include "libcore/base/constants.h"
#include "libcore/base/error.h"
#include "libcore/formats/filterbank/reader.h"
#include "libcore/streams/recognise.h"

namespace apsyn {
namespace {

constexpr std::size_t kMaxNameBytes = 80, kMaxTextBytes = 4096;
constexpr std::int64_t kMaxValuesPerSample = std::int64_t{1} << 24;

constexpr std::array kIntegerKeys = {"machine_id",  "telescope_id",  "data_type", "nchans", "nbits",
                                     "nifs",        "nsamples",      "nbeams",    "ibeam",  "nbins",
                                     "barycentric", "pulsarcentric", "npuls"};
constexpr std::array kNumberKeys = {"tstart", "tsamp",   "fch1",        "foff",     "refdm",
                                    "period", "src_raj", "src_dej",     "az_start", "za_start",
                                    "gal_l",  "gal_b",   "header_tobs", "raw_fch1", "raw_foff"};
constexpr std::array kTextKeys = {"source_name", "rawdatafile"};

template <std::size_t N>
bool contains(const std::array<const char*, N>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// What a key may hold: text, an int32, a double or one byte. Text from the file is shown without control
/// characters.
std::string printable(std::string text) {
  for (char& c : text)
    if (c < 0x20 || c > 0x7e) c = '?';
  return text;
}

class HeaderParser {
 public:
  explicit HeaderParser(ByteSource& source) : source_(source) {}

  FilterbankInput parse() {
    const std::string first = start();
    if (first != "HEADER_START")
      fail(0, "HEADER_START is missing: no SIGPROC filterbank file" + foreign_hint(beginning_, "filterbank"));
    while (true) {
      key_at_ = source_.offset();
      const std::string key = text(kMaxNameBytes, 1, "the length of a key");
      if (key == "HEADER_END") break;
      read_value(key);
    }
    return finish();
  }

 private:
  [[noreturn]] void fail(std::uint64_t at, const std::string& what) const {
    throw DataError("{}: byte {}: {}", source_.name(), at, what);
  }

  void bytes(void* to, std::size_t n, const char* what) {
    const std::uint64_t at = source_.offset();
    if (source_.read(to, n) != n)
      fail(source_.offset(), fmt::format("the header ends inside {} that began at byte {}", what, at));
  }

  template <class T>
  T value(const std::string& key) {
    T result;
    bytes(&result, sizeof(T), fmt::format("the value of {}", key).c_str());
    return result;
  }

  std::string text(std::size_t max_bytes, std::size_t min_bytes, const char* what) {
    const std::uint64_t at = source_.offset();
    std::int32_t n;
    bytes(&n, sizeof(n), what);
    if (n < static_cast<std::int32_t>(min_bytes) || n > static_cast<std::int32_t>(max_bytes))
      fail(at, fmt::format("{} is {}: it must be {} to {}", what, n, min_bytes, max_bytes));
    std::string result(static_cast<std::size_t>(n), '\0');
    bytes(result.data(), result.size(), "a text");
    return result;
  }

  /// The first key, with a word on what else a file may be.
  std::string start() {
    char raw[4 + 12];
    const std::size_t n = source_.read(raw, sizeof(raw));
    constexpr std::string_view little("\x0c\0\0\0", 4), big("\0\0\0\x0c", 4);
    const std::string_view have(raw, n);
    if (n == sizeof(raw) && !have.starts_with(little)) {  // nothing of it will be read
      beginning_.assign(have);
      beginning_.resize(kRecogniseBytes);
      beginning_.resize(n + source_.read(beginning_.data() + n, beginning_.size() - n));
    }
    if (have.starts_with(big) && have.substr(4) == "HEADER_START")
      fail(0, "the header is big-endian: convert the file to little-endian first");
    if (n == 0) fail(0, "the input is empty: no SIGPROC filterbank file");
    return have.starts_with(little) ? std::string(have.substr(4)) : std::string();
  }

  void read_value(const std::string& key) {
    if (key == "FREQUENCY_START") {
      read_frequencies();
    } else if (contains(kTextKeys, key)) {
      const std::string got = text(kMaxTextBytes, 0, "the length of a text");
      if (key == "source_name") out_.header.source = printable(got.substr(0, got.find('\0')));
      if (key == "rawdatafile") out_.header.raw_file = printable(got.substr(0, got.find('\0')));
    } else if (contains(kIntegerKeys, key)) {
      integer(key, key == "npuls" ? value<std::int64_t>(key) : value<std::int32_t>(key));
    } else if (contains(kNumberKeys, key)) {
      const auto got = value<double>(key);
      if (!std::isfinite(got)) fail(key_at_, fmt::format("{} = {}: it must be a number", key, got));
      number(key, got);
    } else if (key == "signed") {
      out_.is_signed = value<std::uint8_t>(key) != 0;
    } else {
      fail(key_at_, fmt::format("the key '{}' is unknown, and so is its length", printable(key)));
    }
  }

  void integer(const std::string& key, std::int64_t got) {
    const auto need = [&](bool good, const char* what) {
      if (!good) fail(key_at_, fmt::format("{} = {}: it must be {}", key, got, what));
    };
    if (key == "data_type") {
      need(got == 0 || got == 1, "1 (filterbank): time series and folded profiles are not read");
    } else if (key == "nchans") {
      need(got >= 1 && got <= kMaxValuesPerSample, "1 to 16777216");
      out_.header.n_chan = static_cast<std::size_t>(got), have_channels_ = true;
    } else if (key == "nifs") {
      need(got >= 1 && got <= 4096, "1 to 4096");
      out_.header.n_if = static_cast<std::size_t>(got);
    } else if (key == "nbits") {
      need(got == 1 || got == 2 || got == 4 || got == 8 || got == 16 || got == 32, "1, 2, 4, 8, 16 or 32");
      out_.header.n_bit = static_cast<unsigned>(got), have_bits_ = true;
    } else if (key == "nsamples") {
      if (got > 0) out_.stated_samples = static_cast<std::uint64_t>(got);
    } else if (key == "barycentric" || key == "pulsarcentric") {
      out_.barycentric |= got == 1;
    } else if (key == "telescope_id") {
      out_.telescope_id = static_cast<std::int32_t>(got);
      out_.telescope = telescope_of_sigproc(out_.telescope_id);
    } else if (key == "machine_id") {
      out_.machine_id = static_cast<std::int32_t>(got);
    } else if (key == "nbeams") {
      out_.header.n_beam = static_cast<std::size_t>(std::max<std::int64_t>(got, 1));
    } else if (key == "ibeam") {
      out_.header.beam = static_cast<std::size_t>(std::max<std::int64_t>(got, 1) - 1);
    }
  }

  void number(const std::string& key, double got) {
    const auto need = [&](bool good, const char* what) {
      if (!good) fail(key_at_, fmt::format("{} = {}: it must be {}", key, got, what));
    };
    if (key == "tsamp") {
      need(got > 0 && got < 1e6, "a duration above 0 in seconds");
      out_.header.sample_s = got;
    } else if (key == "tstart") {
      need(got >= 0 && got < 1e6, "a modified Julian day below 1000000");
      const double day = std::floor(got);
      out_.header.start =
          add_picoseconds({static_cast<std::int64_t>(day), 0}, std::llround((got - day) * 86400e12));
    } else if (key == "fch1") {
      need(got > 0 && got < 1e9, "a frequency above 0 in MHz");
      out_.header.first_hz = got * 1e6;
    } else if (key == "foff") {
      need(std::abs(got) < 1e9, "the step from channel to channel in MHz");
      out_.header.step_hz = got * 1e6, have_step_ = true;
    } else if (key == "src_raj") {
      ra_hours_ = got;
    } else if (key == "src_dej") {
      dec_deg_ = got;
    } else if (key == "az_start") {
      out_.header.azimuth_rad = got * kRadPerDeg;
    } else if (key == "za_start") {
      out_.header.zenith_angle_rad = got * kRadPerDeg;
    }
  }

  /// A table of centres stands for fch1 and foff when they are evenly spaced.
  void read_frequencies() {
    std::vector<double> mhz;
    while (true) {
      key_at_ = source_.offset();
      const std::string key = text(kMaxNameBytes, 1, "the length of a key");
      if (key == "FREQUENCY_END") break;
      if (key != "fchannel")
        fail(key_at_,
             fmt::format("'{}' inside the table of frequencies: fchannel or FREQUENCY_END belong there",
                         printable(key)));
      mhz.push_back(value<double>(key));
      if (!(mhz.back() > 0 && mhz.back() < 1e9))
        fail(key_at_, fmt::format("fchannel = {}: it must be a frequency above 0 in MHz", mhz.back()));
      if (mhz.size() > static_cast<std::size_t>(kMaxValuesPerSample))
        fail(key_at_, "the table of frequencies has no end");
    }
    if (mhz.empty()) fail(key_at_, "the table of frequencies is empty");
    n_table_ = mhz.size();
    const double step = mhz.size() > 1 ? (mhz.back() - mhz.front()) / static_cast<double>(mhz.size() - 1) : 0;
    for (std::size_t i = 0; i < mhz.size(); ++i)
      if (std::abs(mhz[i] - mhz[0] - step * static_cast<double>(i)) > 0.01 * std::abs(step))
        fail(key_at_, fmt::format("channel {} is at {} MHz, not evenly spaced: resample the channels first",
                                  i, mhz[i]));
    out_.header.first_hz = mhz[0] * 1e6, out_.header.step_hz = step * 1e6, have_step_ = true;
  }

  FilterbankInput finish() {
    FilterbankHeader& h = out_.header;
    const auto need = [&](bool good, const std::string& what) {
      if (!good) fail(key_at_, what);
    };
    need(have_channels_, "the header ends without nchans");
    need(have_bits_, "the header ends without nbits");
    need(h.sample_s > 0, "the header ends without tsamp");
    need(h.first_hz > 0, "the header ends without fch1");
    need(n_table_ == 0 || n_table_ == h.n_chan,
         fmt::format("nchans = {}, but the table of frequencies has {}", h.n_chan, n_table_));
    need(h.n_chan == 1 || (have_step_ && h.step_hz != 0), "the header ends without foff, or it is 0");
    need(out_.channel_hz(h.n_chan - 1) > 0,
         fmt::format("channel {} would be at {} MHz: foff = {} is wrong", h.n_chan - 1,
                     out_.channel_hz(h.n_chan - 1) * 1e-6, h.step_hz * 1e-6));
    need(static_cast<std::int64_t>(out_.values_per_sample()) <= kMaxValuesPerSample,
         fmt::format("nchans = {} times nifs = {}: at most 16777216 values a sample", h.n_chan, h.n_if));
    need(out_.values_per_sample() * h.n_bit % 8 == 0,
         fmt::format("{} values of {} bits: a sample must fill whole bytes", out_.values_per_sample(),
                     h.n_bit));
    h.n_beam = std::max(h.n_beam, h.beam + 1);
    if (ra_hours_ != 0 || dec_deg_ != 0)
      h.direction = {unpacked(ra_hours_) * 15 * kRadPerDeg, unpacked(dec_deg_) * kRadPerDeg};
    return out_;
  }

  static double unpacked(double packed) {
    const double all = std::abs(packed), whole = std::floor(all / 10000),
                 minutes = std::floor((all - whole * 10000) / 100),
                 seconds = all - whole * 10000 - minutes * 100;
    return std::copysign(whole + minutes / 60 + seconds / 3600, packed);
  }

  ByteSource& source_;
  std::string beginning_;  ///< of an input that is no filterbank
  FilterbankInput out_;
  std::uint64_t key_at_ = 0;
  std::size_t n_table_ = 0;
  double ra_hours_ = 0, dec_deg_ = 0;  ///< packed, as (d)ddmmss.s
  bool have_channels_ = false, have_bits_ = false, have_step_ = false;
};

}  // namespace

FilterbankInput parse_filterbank_header(ByteSource& source) {
  return HeaderParser(source).parse();
}

}  // namespace apsyn
