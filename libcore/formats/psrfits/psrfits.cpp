// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/formats/psrfits/psrfits.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "libcore/base/error.h"
#include "libcore/base/log.h"

namespace apsyn {
namespace {

/// Raw samples that are read together.
constexpr std::size_t kPieceBytes = std::size_t{1} << 20;
constexpr float kMissing = std::numeric_limits<float>::quiet_NaN();
/// Times without data that a file may have for each sample with data: what is promised in a few bytes must
/// not take hours.
constexpr double kMaxGaps = 100;

/// Calls take(index, code) for the values of `bytes`, of up to 8 bits.
template <unsigned Bits, class Take>
void each_code(const std::uint8_t* bytes, std::size_t n_values, bool is_signed, Take&& take) {
  constexpr unsigned kPerByte = 8 / Bits, kMask = (1u << Bits) - 1;
  for (std::size_t i = 0; i < n_values; ++i) {
    const unsigned shift = 8 - Bits * (static_cast<unsigned>(i % kPerByte) + 1);
    const int code = static_cast<int>(bytes[i / kPerByte] >> shift & kMask);
    take(i, is_signed && Bits > 1 && code > static_cast<int>(kMask / 2) ? code - static_cast<int>(kMask) - 1
                                                                        : code);
  }
}

}  // namespace

PsrfitsReader::PsrfitsReader(const std::string& path) : source_(path), layout_(read_psrfits_layout(path)) {
  FilterbankHeader& header = layout_.input.header;
  header.first_hz = 0;
  std::vector<double> mhz;
  if (layout_.frequencies) read_cell(0, *layout_.frequencies, mhz);
  const bool told = !mhz.empty() && mhz.front() > 0 && mhz.back() > 0;
  const auto n_steps = static_cast<double>(header.n_chan - 1);
  if (told) {
    header.first_hz = mhz.front() * 1e6;
    header.step_hz = header.n_chan > 1 ? (mhz.back() - mhz.front()) / n_steps * 1e6 : layout_.channel_step_hz;
    // Frequencies of single precision are up to 3e-8 of themselves off.
    const double allowed_hz = 0.01 * std::abs(header.step_hz) + 1.2e-7 * header.first_hz;
    for (std::size_t chan = 0; chan < mhz.size(); ++chan)
      if (!(std::abs(mhz[chan] * 1e6 - layout_.input.channel_hz(chan)) <= allowed_hz))
        throw DataError(
            "{}: DAT_FREQ: channel {} is at {} MHz, not evenly spaced: resample the channels first", name(),
            chan, mhz[chan]);
  } else {
    header.step_hz = layout_.channel_step_hz;
    header.first_hz = layout_.centre_hz - n_steps / 2 * header.step_hz;
  }
  const double last_hz = layout_.input.channel_hz(header.n_chan - 1);
  if (!(header.first_hz > 0 && header.first_hz < 1e15 && last_hz > 0 && last_hz < 1e15) ||
      (header.n_chan > 1 && header.step_hz == 0))
    throw DataError(
        "{}: channels from {} to {} MHz: frequencies above 0 and apart are needed (DAT_FREQ, or "
        "OBSFREQ and CHAN_BW)",
        name(), header.first_hz * 1e-6, last_hz * 1e-6);
  survey_rows();
}

double PsrfitsReader::row_offset_s(std::uint64_t row) const {
  std::vector<double> value;
  read_cell(row, *layout_.offset_s, value);
  return value[0];
}

/// The sample that a row begins with. Rows are where their OFFS_SUB says, from half a row's samples before
/// the end of the last one on, so that the rounding of clocks neither tears rows apart nor adds up.
std::uint64_t PsrfitsReader::row_start(std::uint64_t row, std::uint64_t previous_end, double first_s) const {
  if (!offsets_tell_ || row == 0) return previous_end;
  const double offset_s = row_offset_s(row);
  const double start = std::round((offset_s - first_s) / layout_.input.header.sample_s);
  const auto end = static_cast<double>(previous_end);
  if (!(start >= end - static_cast<double>(layout_.samples_per_row) / 2))
    throw DataError("{}: SUBINT, row {}: OFFS_SUB = {} s: it begins before the row before it ends", name(),
                    row + 1, offset_s);
  // A stamp a sample late is a clock's rounding, not a sample lost.
  if (start <= end + 1) return previous_end;
  const double with_data = static_cast<double>(layout_.n_rows * layout_.samples_per_row);
  if (start > with_data * (1 + kMaxGaps))
    throw DataError("{}: SUBINT, row {}: OFFS_SUB = {} s: more than {} times as much is missing as is there",
                    name(), row + 1, offset_s, kMaxGaps);
  return static_cast<std::uint64_t>(start);
}

void PsrfitsReader::survey_rows() {
  FilterbankHeader& header = layout_.input.header;
  const double row_s = static_cast<double>(layout_.samples_per_row) * header.sample_s;
  double before_s = layout_.rows_before * row_s;
  if (layout_.offset_s) {
    first_s_ = row_offset_s(0);
    // Some recorders leave it 0.
    offsets_tell_ = first_s_ != 0 || (layout_.n_rows > 1 && row_offset_s(1) != 0);
    if (offsets_tell_) before_s = first_s_ - row_s / 2;
  }
  if (!(std::abs(before_s) < 1e9))
    throw DataError("{}: SUBINT: OFFS_SUB = {} s, NSUBOFFS = {}: no time of the first row", name(), first_s_,
                    layout_.rows_before);
  header.start = add_picoseconds(header.start, static_cast<__int128>(std::nearbyint(before_s * 1e12L)));
  std::uint64_t end = 0;
  for (std::uint64_t row = 0; row < layout_.n_rows; ++row)
    end = row_start(row, end, first_s_) + layout_.samples_per_row;
  n_samples_ = end;
  const std::uint64_t with_data = layout_.n_rows * layout_.samples_per_row;
  if (end > with_data)
    log_info("{}: {} of {} samples are missing between rows (OFFS_SUB)", name(), end - with_data, end);
}

void PsrfitsReader::read_cell(std::uint64_t row, const FitsColumn& column,
                              std::vector<double>& values) const {
  std::vector<std::uint8_t> bytes(column.n_bytes);
  if (source_.read_at(layout_.data_byte + row * layout_.row_bytes + column.byte, bytes.data(),
                      bytes.size()) != bytes.size())
    throw DataError("{}: SUBINT, row {}: the file has become shorter", name(), row + 1);
  values.resize(column.repeat);
  const std::size_t value_bytes = column.n_bytes / std::max<std::size_t>(1, column.repeat);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = stored_number(bytes.data() + i * value_bytes, column.bitpix);
}

void PsrfitsReader::enter_row() {
  const FilterbankHeader& header = layout_.input.header;
  start_ = row_start(row_, start_ + (row_ > 0 ? layout_.samples_per_row : 0), first_s_);
  weight_.assign(header.n_chan, 1);
  scale_.assign(header.n_chan * header.n_if, 1);
  offset_.assign(header.n_chan * header.n_if, 0);
  if (layout_.weights) read_cell(row_, *layout_.weights, weight_);
  if (layout_.scales) read_cell(row_, *layout_.scales, scale_);
  if (layout_.offsets) read_cell(row_, *layout_.offsets, offset_);
  for (std::size_t i = 0; i < scale_.size(); ++i)
    if (!(weight_[i % header.n_chan] > 0)) scale_[i] = std::numeric_limits<double>::quiet_NaN();
  entered_ = true;
}

/// Samples first .. first + n_time - 1 of the row, which take no more than a piece or are one.
void PsrfitsReader::decode(std::size_t first, std::size_t n_time, float* out) {
  const std::size_t n_values = scale_.size();
  const auto n_bit = static_cast<std::size_t>(layout_.n_bit);
  const std::size_t sample_bytes = n_values * n_bit / 8;
  raw_.resize(n_time * sample_bytes);
  if (source_.read_at(layout_.data_byte + row_ * layout_.row_bytes + layout_.data.byte + first * sample_bytes,
                      raw_.data(), raw_.size()) != raw_.size())
    throw DataError("{}: SUBINT, row {}: the file has become shorter", name(), row_ + 1);
  for (std::size_t t = 0; t < n_time; ++t, out += n_values) {
    const std::uint8_t* bytes = raw_.data() + t * sample_bytes;
    const auto value = [&](std::size_t i, double code) {
      out[i] = static_cast<float>((code - layout_.zero_offset) * scale_[i] + offset_[i]);
    };
    const auto small = [&](std::size_t i, int code) {
      value(i, layout_.code_zero + layout_.code_scale * code);
    };
    switch (layout_.n_bit) {
      case 1:
        each_code<1>(bytes, n_values, false, small);
        break;
      case 2:
        each_code<2>(bytes, n_values, layout_.is_signed, small);
        break;
      case 4:
        each_code<4>(bytes, n_values, layout_.is_signed, small);
        break;
      case 8:
        each_code<8>(bytes, n_values, layout_.is_signed, small);
        break;
      default:
        for (std::size_t i = 0; i < n_values; ++i)
          value(i, layout_.code_zero +
                       layout_.code_scale * stored_number(bytes + i * n_bit / 8, layout_.data.bitpix));
    }
  }
}

std::size_t PsrfitsReader::read(std::size_t n_time, std::vector<std::uint8_t>& bytes) {
  const FilterbankHeader& header = layout_.input.header;
  const std::size_t n_values = header.n_chan * header.n_if;
  const std::size_t sample_bytes =
      std::max<std::size_t>(1, n_values * static_cast<std::size_t>(layout_.n_bit) / 8);
  const std::size_t piece = std::max<std::size_t>(1, kPieceBytes / sample_bytes);
  const std::size_t n = std::min<std::uint64_t>(n_time, n_samples_ - n_read_);
  bytes.resize(n * n_values * sizeof(float));
  auto* out = reinterpret_cast<float*>(bytes.data());
  for (std::size_t done = 0; done < n;) {
    if (!entered_) enter_row();
    if (n_read_ < start_) {
      const std::size_t missing = std::min<std::uint64_t>(start_ - n_read_, n - done);
      std::fill_n(out + done * n_values, missing * n_values, kMissing);
      done += missing, n_read_ += missing;
      continue;
    }
    const std::size_t first = n_read_ - start_;
    const std::size_t part = std::min({n - done, layout_.samples_per_row - first, piece});
    decode(first, part, out + done * n_values);
    done += part, n_read_ += part;
    if (first + part == layout_.samples_per_row) ++row_, entered_ = false;
  }
  return n;
}

}  // namespace apsyn
