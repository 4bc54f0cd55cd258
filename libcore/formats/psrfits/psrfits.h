// SPDX-License-Identifier: GPL-3.0-or-later
// Reads PSRFITS files of search mode (Hotan, van Straten & Manchester 2004, PASA 21, 302, and CSIRO's
// definition of PSRFITS): rows of table SUBINT have NSBLK samples each, [time][polarisation][channel] of
// NBITS, the first value of a byte in its most significant bits. A value is
//
//   (code - |ZERO_OFF|) DAT_SCL + DAT_OFFS
//
// with a scale and an offset of each row, polarisation and channel. Channels of DAT_WTS 0 and times between
// rows, which OFFS_SUB tells, are missing: NaN. Weights above 0 do not scale. The file is taken for hostile:
// sizes are compared with the length of the file before anything is allocated for them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "libcore/files/input.h"
#include "libcore/formats/filterbank/reader.h"
#include "libcore/formats/psrfits/layout.h"

namespace apsyn {

/// Samples come as float32, [time][polarisation][channel]; a row is decoded in pieces, so that memory does
/// not depend on NSBLK.
class PsrfitsReader final : public SampleReader {
 public:
  /// FailureError when the file cannot be opened or is no regular file; DataError when it is no PSRFITS file
  /// of search mode, with what it is.
  explicit PsrfitsReader(const std::string& path);
  const FilterbankInput& input() const override { return layout_.input; }
  const std::string& name() const override { return source_.name(); }
  std::optional<std::uint64_t> n_samples() const override { return n_samples_; }
  std::uint64_t samples_read() const override { return n_read_; }
  std::size_t read(std::size_t n_time, std::vector<std::uint8_t>& bytes) override;

 private:
  void survey_rows();
  std::uint64_t row_start(std::uint64_t row, std::uint64_t previous_end, double first_s) const;
  double row_offset_s(std::uint64_t row) const;
  void read_cell(std::uint64_t row, const FitsColumn& column, std::vector<double>& values) const;
  void enter_row();
  void decode(std::size_t first, std::size_t n_time, float* out);

  ByteSource source_;
  PsrfitsLayout layout_;
  std::uint64_t n_samples_ = 0, n_read_ = 0;
  bool offsets_tell_ = false;  ///< OFFS_SUB is there, and not 0 throughout
  double first_s_ = 0;         ///< OFFS_SUB of the first row
  // The row that is being read.
  std::uint64_t row_ = 0, start_ = 0;  ///< start_: its first sample, in samples of the whole
  bool entered_ = false;
  std::vector<double> weight_, scale_, offset_;  ///< [channel], [polarisation][channel]
  std::vector<std::uint8_t> raw_;
};

}  // namespace apsyn
