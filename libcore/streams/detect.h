// SPDX-License-Identifier: GPL-3.0-or-later
// What an input is, from its first bytes; nothing is consumed.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace apsyn {

enum class InputKind {
  image,
  image_stream,
  measurement_set,
  visibility,
  voltage,
  filterbank,
  profile,
  solutions
};

/// "image", "images", "ms", "visibility", "voltage", "filterbank", "profile", "solutions"; UsageError
/// otherwise.
InputKind parse_input_kind(std::string_view name);
std::string input_kind_name(InputKind kind);

/// A FITS file, a stream of images (epic-image), a Measurement Set (a folder with table.dat), a visibility or
/// a voltage stream, a SIGPROC filterbank or PSRFITS (both are `filterbank`), a profile of fold-pulsar (CSV),
/// solutions (H5Parm). A pipe on standard input is looked at without reading from it. FailureError when it
/// cannot be opened, UsageError when standard input cannot be looked at, DataError when it is none of these.
InputKind detect_input(const std::string& path);

/// The kind that the first bytes tell, empty while they do not suffice; `at_end`: there will be no more.
/// `name` is for the DataError.
std::optional<InputKind> kind_of_bytes(std::string_view bytes, bool at_end, const std::string& name);

/// Whether a file begins as FITS does. Who reads it opens it again, so FailureError for what is no regular
/// file: a pipe would have lost its beginning. FailureError also when it cannot be opened.
bool is_fits_file(const std::string& path);

}  // namespace apsyn
