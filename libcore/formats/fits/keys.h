// SPDX-License-Identifier: GPL-3.0-or-later
// CFITSIO's status, its first error kept, and keywords that may be missing. For libcore/formats/fits and
// libcore/formats/uvfits only.
#pragma once

#include <fitsio.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "libcore/formats/fits/scan.h"

namespace apsyn {

/// "text of the status (newest message of the stack)"; clears CFITSIO's stack.
std::string fits_error_text(int status);

/// FITS' numbers of the Stokes and correlation products: {1, "I"}, ...
const std::vector<std::pair<int, std::string>>& stokes_numbers();
/// Of X, Y, R, L on an axis FEED, which is our own: 1 to 4; 0 for anything else.
int feed_number(std::string_view label);
/// 1 to 4, or empty.
std::string feed_label(double number);

/// Keywords of an open header. Malformed values throw DataError.
class FitsKeys {
 public:
  FitsKeys(fitsfile* fits, std::string name) : fits_(fits), name_(std::move(name)) {}
  std::optional<double> number(const std::string& keyword) const;
  std::optional<std::string> text(const std::string& keyword) const;
  bool flag(const std::string& keyword) const;

 private:
  bool found(const std::string& keyword, int status) const;
  fitsfile* fits_;
  std::string name_;
};

/// EQUINOX, or EPOCH where there is none, if the file's coordinates are older or newer than J2000: the card,
/// for a message. Both come as numbers and as texts, '2000.0' or 'J2000'; nothing and 0 say nothing.
std::optional<std::string> other_equinox(const FitsKeys& keys);

/// The texts of the HISTORY cards.
std::vector<std::string> fits_history(const FitsPrimary& fits);
/// The number of a header's first card of that name; 0 where there is none.
double header_number(const FitsPrimary& fits, std::string_view keyword);
/// Numeric keywords that ImageInfo has no member for, in file order.
std::vector<std::pair<std::string, double>> other_numeric_keywords(const FitsPrimary& fits);

}  // namespace apsyn
