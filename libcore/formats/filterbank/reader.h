// SPDX-License-Identifier: GPL-3.0-or-later
// Reads SIGPROC filterbank files (see file.h for the format) from files and pipes, as they are
// found in the wild: samples of 1, 2, 4, 8, 16 and 32 bits, several IFs, channels in either order of
// frequency, keys in any order. The header is taken for hostile: every length and value is checked before it
// is used.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "libcore/base/view.h"
#include "libcore/files/input.h"
#include "libcore/formats/filterbank/file.h"

namespace apsyn {

/// What the products (IFs) of an input are, as far as it tells.
enum class Products {
  unknown,
  stokes,  ///< the first is the total intensity
  powers   ///< the first two are powers of polarisations
};

/// What a header says beyond what we write.
struct FilterbankInput {
  FilterbankHeader header;  ///< step_hz of either sign; beam counted from 0; direction absent when not given
  bool is_signed = false;   ///< integers are two's complement (key "signed"); otherwise unsigned
  std::int32_t telescope_id = 0, machine_id = 0;
  std::optional<std::uint64_t> stated_samples;  ///< key "nsamples", which many programs leave wrong
  Products products = Products::unknown;
  /// Bits as they were recorded where samples come scaled to floats; 0: those of the header.
  unsigned recorded_bits = 0;
  bool missing_are_nan = false;  ///< what is missing is NaN, and a zero is a value
  bool barycentric = false;  ///< times are those of the barycentre, of the Sun's or of the pulsar's system
  std::string telescope;     ///< its name, where the file has one
  std::optional<std::array<double, 3>> telescope_itrf_m;
  unsigned bits() const { return recorded_bits != 0 ? recorded_bits : header.n_bit; }
  std::size_t values_per_sample() const { return header.n_if * header.n_chan; }
  std::size_t bytes_per_sample() const { return values_per_sample() * header.n_bit / 8; }
  double channel_hz(std::size_t chan) const {
    return header.first_hz + static_cast<double>(chan) * header.step_hz;
  }
};

/// Parses a header up to and including HEADER_END. DataError "file: byte N: ..." names the key.
FilterbankInput parse_filterbank_header(ByteSource& source);

/// Samples as they are in the file -> float, for `out.size()` values; `bytes` holds them exactly
/// (std::length_error). Integers keep their values; floats are copied, so they may be NaN or infinite.
void decode_filterbank(const FilterbankInput& input, std::span<const std::uint8_t> bytes,
                       std::span<float> out);

/// Samples of powers against time and frequency, one after the other, in the form that input() tells and
/// decode_filterbank() decodes.
class SampleReader {
 public:
  virtual ~SampleReader() = default;
  virtual const FilterbankInput& input() const = 0;
  const FilterbankHeader& header() const { return input().header; }
  virtual const std::string& name() const = 0;
  /// Known for regular files, from their size.
  virtual std::optional<std::uint64_t> n_samples() const = 0;
  virtual std::uint64_t samples_read() const = 0;
  /// Reads up to n_time samples into `bytes`, which takes their size; returns how many, fewer only at the
  /// end. DataError when the input ends inside a sample.
  virtual std::size_t read(std::size_t n_time, std::vector<std::uint8_t>& bytes) = 0;
};

class FilterbankReader final : public SampleReader {
 public:
  /// A path or "-". FailureError when it cannot be opened, DataError when it is no filterbank file.
  explicit FilterbankReader(const std::string& path);
  const FilterbankInput& input() const override { return input_; }
  const std::string& name() const override { return source_.name(); }
  std::optional<std::uint64_t> n_samples() const override { return n_samples_; }
  std::uint64_t samples_read() const override { return n_read_; }

  std::size_t read(std::size_t n_time, std::vector<std::uint8_t>& bytes) override;
  /// The same, decoded to [time][IF][channel].
  std::size_t read(std::size_t n_time, Buffer<float, 3>& samples);
  /// Leaves out the next samples; DataError when there are fewer.
  void skip(std::uint64_t n_time);

 private:
  ByteSource source_;
  FilterbankInput input_;
  std::optional<std::uint64_t> n_samples_;
  std::uint64_t n_read_ = 0;
  std::vector<std::uint8_t> bytes_;
};

}  // namespace apsyn
