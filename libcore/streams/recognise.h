// SPDX-License-Identifier: GPL-3.0-or-later
// What the first bytes of a foreign file look like, for the cure in the message of a reader that was given
// it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace apsyn {

/// Bytes at the beginning that tell everything that is known here: two VDIF frames of usual length.
inline constexpr std::size_t kRecogniseBytes = 64u << 10;

/// How every FITS file begins.
inline constexpr std::string_view kFitsMagic = "SIMPLE  =";

struct Recognised {
  std::string_view format;  ///< as ingest --from names it where it reads it: "vdif"; empty: unknown
  std::string_view hint;    ///< "this is VDIF: pipe it through ingest --from vdif"
  /// Its magic is long enough that no samples begin with it by chance.
  bool certain = false;
};

/// Whether a primary header says that its file is PSRFITS, as far as `bytes` go.
bool is_psrfits(std::string_view bytes);

/// `bytes` are the beginning, as much of it as there is at hand.
Recognised recognise(std::string_view bytes);

/// ": " and the hint, for the end of a message; empty when nothing is recognised, or the format is `own`.
std::string foreign_hint(std::string_view bytes, std::string_view own);

}  // namespace apsyn
