// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/formats/capture/capture.h"

#include <fmt/ranges.h>

#include "libcore/base/error.h"
#include "libcore/formats/capture/best2.h"
#include "libcore/formats/capture/dada.h"
#include "libcore/formats/capture/guppi/guppi.h"
#include "libcore/formats/capture/lwa/lwa_samples.h"
#include "libcore/formats/capture/lwa/tbf.h"
#include "libcore/formats/capture/mwa/mwa32t.h"
#include "libcore/formats/capture/mwa/mwa_vcs.h"
#include "libcore/formats/capture/mwa/mwax.h"
#include "libcore/formats/capture/raw.h"
#include "libcore/formats/capture/vlbi/mark5b.h"
#include "libcore/formats/capture/vlbi/vdif.h"

namespace apsyn {
namespace {

struct Format {
  const char* name;
  std::unique_ptr<Capture> (*open)(const CaptureRequest&);
};
constexpr Format kFormats[] = {{"guppi", open_guppi}, {"vdif", open_vdif},       {"mark5b", open_mark5b},
                               {"mwax", open_mwax},   {"mwa-vcs", open_mwa_vcs}, {"mwa32t", open_mwa32t},
                               {"tbf", open_tbf},     {"chips", open_chips},     {"tbn", open_tbn},
                               {"drx", open_drx},     {"best2", open_best2},     {"raw", open_raw},
                               {"dada", open_dada}};

}  // namespace

std::vector<std::string> capture_formats() {
  std::vector<std::string> names;
  for (const Format& format : kFormats) names.push_back(format.name);
  return names;
}

std::unique_ptr<Capture> open_capture(const CaptureRequest& request) {
  for (const Format& format : kFormats)
    if (request.format == format.name) return format.open(request);
  throw UsageError("--from {}: no such format: use {}", request.format, fmt::join(capture_formats(), ", "));
}

}  // namespace apsyn
