// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/fuzz/targets.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <stdexcept>
#include <string>

#include "libcore/array/array_layout.h"
#include "libcore/array/beam_table.h"
#include "libcore/array/gains.h"
#include "libcore/aterms/config.h"
#include "libcore/base/error.h"
#include "libcore/base/time.h"
#include "libcore/base/units.h"
#include "libcore/files/pipes.h"
#include "libcore/formats/capture/capture.h"
#include "libcore/formats/filterbank/reader.h"
#include "libcore/formats/fits/aperture.h"
#include "libcore/formats/fits/image.h"
#include "libcore/formats/fits/ionosphere.h"
#include "libcore/formats/fits/metafits.h"
#include "libcore/formats/h5parm/h5parm.h"
#include "libcore/formats/mwa_fits/mwa_fits.h"
#include "libcore/formats/mwa_fits/observation.h"
#include "libcore/formats/par_file/par_file.h"
#include "libcore/formats/psrfits/psrfits.h"
#include "libcore/formats/solution_files/solution_files.h"
#include "libcore/formats/uvfits/uvfits.h"
#include "libcore/sky/regions.h"
#include "libcore/sky/sky_model.h"
#include "libcore/streams/image_stream.h"
#include "libcore/streams/recognise.h"
#include "libcore/streams/visibility_stream.h"
#include "libcore/streams/voltage_stream.h"
#include "tests/reference/recordings/mwa_correlator.h"
#include "tests/reference/scratch.h"

namespace apsyn::fuzz {
namespace {

/// A file in memory that holds the bytes while it lives.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view bytes) : fd_(::memfd_create("fuzz", MFD_CLOEXEC)) {
    for (std::size_t at = 0; at < bytes.size();) {
      const ssize_t n = ::write(fd_, bytes.data() + at, bytes.size() - at);
      if (n <= 0) throw std::runtime_error("cannot write a file in memory");
      at += static_cast<std::size_t>(n);
    }
  }
  ~MemoryFile() { ::close(fd_); }
  MemoryFile(const MemoryFile&) = delete;
  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }

 private:
  int fd_;
};

/// Bad input is answered by an error of ours. Whether it was good.
template <class Body>
bool answer(const Body& body) {
  try {
    body();
    return true;
  } catch (const Error&) {
    return false;
  }
}

template <class Read>
bool as_file(std::string_view bytes, const Read& read) {
  const MemoryFile file(bytes);
  return answer([&] { read(file.path()); });
}

/// Gives the bytes as a pipe, as many of them as it holds.
template <class Read>
void as_pipe(std::string_view bytes, const Read& read) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) throw std::runtime_error("cannot open a pipe");
  enlarge_pipe(ends[1]);
  const ssize_t n = bytes.empty() ? 0 : ::write(ends[1], bytes.data(), bytes.size());
  ::close(ends[1]);
  if (n >= 0) answer([&] { read("/proc/self/fd/" + std::to_string(ends[0])); });
  ::close(ends[0]);
}

/// Reads to the end, or as much as tells that a recording with long pauses goes on and on.
void drain(const CaptureRequest& request) {
  constexpr std::size_t kEnough = 8u << 20;
  const auto capture = open_capture(request);
  std::vector<std::uint8_t> samples;
  for (std::size_t n = 0; n < kEnough && capture->read(samples);) n += samples.size();
  capture->reports();
}

bool capture(const char* format, std::string_view bytes, bool tells_start, bool tells_band) {
  return as_file(bytes, [&](const std::string& path) {
    CaptureRequest request;
    request.format = format;
    request.inputs = {path};
    CaptureFacts& facts = request.facts;
    facts.freq_hz = 1e9;
    facts.n_pol = 1;
    facts.max_gap_s = 1;
    if (!tells_start) facts.start = parse_utc("2020-01-01T00:00:00");
    if (!tells_band) {
      facts.bandwidth_hz = 1e6;
      facts.sample_s = 1e-6;
    }
    if (request.format == "mwa-vcs") facts.input_order = {0, 1, 3, 2};
    if (request.format == "drx") facts.tuning = 1;
    if (request.format == "mark5b") {
      facts.n_chan = 4;
      facts.sample_s = 2e-5;
    }
    drain(request);
  });
}

/// Reads the bytes as a stream, and as two files of one recording, of which only a header can be two.
bool voltage_stream(std::string_view bytes) {
  as_file(bytes, [](const std::string& path) {
    CaptureRequest request;
    request.format = "dada";
    request.inputs = {path, path};
    drain(request);
  });
  const auto read = [](const std::string& path, unsigned n_threads) {
    constexpr std::size_t kBlocks = 64;
    VoltageReader reader(path);
    reader.use_threads(n_threads);
    VoltageBlock block;
    for (std::size_t i = 0; i < kBlocks && reader.read(block, 64); ++i) {
    }
  };
  as_pipe(bytes, [&](const std::string& path) { read(path, 3); });
  return as_file(bytes, [&](const std::string& path) { read(path, 1); });
}

bool visibility_stream(std::string_view bytes) {
  const auto read = [](const std::string& path) {
    VisibilityStreamReader reader(path);
    VisibilityRecord record;
    while (reader.read(record)) {
    }
  };
  as_pipe(bytes, read);
  return as_file(bytes, read);
}

bool image_stream(std::string_view bytes) {
  const auto read = [](const std::string& path) {
    ImageStreamReader reader(path);
    Image image;
    while (reader.read(image)) {
    }
  };
  as_pipe(bytes, read);
  return as_file(bytes, read);
}

bool filterbank(std::string_view bytes) {
  return as_file(bytes, [](const std::string& path) {
    FilterbankReader reader(path);
    Buffer<float, 3> samples;
    while (reader.read(16, samples) > 0) {
    }
  });
}

bool psrfits(std::string_view bytes) {
  return as_file(bytes, [](const std::string& path) {
    PsrfitsReader reader(path);
    std::vector<std::uint8_t> samples;
    while (reader.read(16, samples) > 0) {
    }
  });
}

bool uvfits(std::string_view bytes) {
  return as_file(bytes, [](const std::string& path) {
    UvfitsOptions options;
    options.integration_s = 1;
    UvfitsReader reader(path, options);
    FileRows rows;
    FileVisibilities cells;
    while (reader.read(rows, cells, 16)) {
    }
  });
}

bool fits_image(std::string_view bytes) {
  return as_file(bytes, [](const std::string& path) {
    read_fits_shape(path);
    read_fits_series(path);
    read_fits_image(path);
  });
}

/// A file of MWAX of two tiles, two fine channels of coarse channel 120, and the metafits to go with it.
/// Names matter to the reader.
bool mwa_correlator(std::string_view bytes) {
  static const reference::Scratch folder;
  static const std::string metafits = [] {
    reference::MwaMetafits made;
    made.channels = {120};
    made.n_fine = 2;
    made.fine_khz = 640;
    for (int i = 0; i < 2; ++i)
      made.tiles.push_back({i, {2 * i, 2 * i + 1}, {10.0 * i, 5, 377}, "EL_10", 0, {{{60}, {60}}}});
    return folder.file("x.metafits", reference::mwa_metafits_bytes(made));
  }();
  const std::string path = folder.file("x_ch120_000.fits", std::string(bytes));
  return answer([&] {
    MwaFitsReader reader(metafits, {path}, {});
    FileRows rows;
    FileVisibilities cells;
    while (reader.read(rows, cells, 16)) {
    }
  });
}

bool metafits(std::string_view bytes) {
  const bool antennas = as_file(bytes, [](const std::string& path) { read_metafits(path); });
  const bool inputs = as_file(bytes, [](const std::string& path) { read_metafits_inputs(path); });
  const bool delays = as_file(bytes, [](const std::string& path) { read_metafits_delays(path); });
  const bool observation = as_file(bytes, [](const std::string& path) { mwa_fits::read_observation(path); });
  return antennas && inputs && delays && observation;
}

/// Three antennas, two polarisations, four channels.
bool gains(std::string_view bytes) {
  const ArrayLayout layout =
      parse_antennas_csv("name,east_m,north_m,up_m\na,1,2,3\nb,4,5,6\nc,7,8,9\n", "layout");
  const bool good = answer([&] { parse_gains_csv(bytes, "gains", layout, 2, 4); });
  answer([&] { parse_weights_csv(bytes, "weights", layout, 2, 4); });
  return good;
}

/// On images around 10h -20deg: a small one, and one that shows the whole hemisphere.
bool regions(std::string_view bytes) {
  return answer([&] {
    const std::vector<Region> parsed = parse_regions(bytes, "regions");
    for (const double cell_rad : {1e-3, 0.1}) {
      ImageInfo info;
      info.centre = {2.6, -0.35};
      info.cell_rad = cell_rad;
      region_mask(parsed, info, 24, 20, "regions");
    }
  });
}

/// What may stand in an option; good when it is any of these.
bool quantities(std::string_view text) {
  const bool results[] = {answer([&] { parse_utc(text); }),          answer([&] { parse_site(text); }),
                          answer([&] { parse_angle(text); }),        answer([&] { parse_frequency(text); }),
                          answer([&] { parse_duration(text); }),     answer([&] { parse_bytes(text); }),
                          answer([&] { parse_sky_direction(text); })};
  return std::find(std::begin(results), std::end(results), true) != std::end(results);
}

/// Of data of two antennas and two channels: formats that count both.
bool solutions(std::string_view bytes) {
  return as_file(bytes, [](const std::string& path) {
    SolutionReadOptions options;
    options.context = SolutionContext{{"Tile0011", "Tile0012"}, {150e6, 151e6}, 5e9, 5e9 + 8};
    read_solutions(path, options);
  });
}

constexpr Target kTargets[] = {
    {"guppi", [](std::string_view b) { return capture("guppi", b, true, true); }},
    {"vdif", [](std::string_view b) { return capture("vdif", b, true, true); }},
    {"mark5b", [](std::string_view b) { return capture("mark5b", b, false, true); }},
    {"mwax", [](std::string_view b) { return capture("mwax", b, true, true); }},
    {"mwa-vcs", [](std::string_view b) { return capture("mwa-vcs", b, false, true); }},
    {"mwa32t", [](std::string_view b) { return capture("mwa32t", b, false, true); }},
    {"tbf", [](std::string_view b) { return capture("tbf", b, true, true); }},
    {"chips", [](std::string_view b) { return capture("chips", b, false, true); }},
    {"tbn", [](std::string_view b) { return capture("tbn", b, true, true); }},
    {"drx", [](std::string_view b) { return capture("drx", b, true, true); }},
    {"best2", [](std::string_view b) { return capture("best2", b, false, true); }},
    {"dada", voltage_stream},
    {"visibility", visibility_stream},
    {"images", image_stream},
    {"sigproc", filterbank},
    {"psrfits", psrfits},
    {"uvfits", uvfits},
    {"fits-image", fits_image},
    {"ionosphere",
     [](std::string_view b) { return as_file(b, [](const std::string& p) { read_ionosphere(p); }); }},
    {"aperture",
     [](std::string_view b) { return as_file(b, [](const std::string& p) { read_aperture(p); }); }},
    {"metafits", metafits},
    {"mwa-fits", mwa_correlator},
    {"h5parm", [](std::string_view b) { return as_file(b, [](const std::string& p) { read_h5parm(p); }); }},
    {"ao", solutions},
    {"hyperdrive", solutions},
    {"sky-model", [](std::string_view b) { return answer([&] { parse_sky_model(b, "sky"); }); }},
    {"aterm-config", [](std::string_view b) { return answer([&] { parse_aterm_config(b, "aterms"); }); }},
    {"par", [](std::string_view b) { return answer([&] { parse_par(b, "par"); }); }},
    {"antennas", [](std::string_view b) { return answer([&] { parse_antennas_csv(b, "antennas"); }); }},
    {"beams", [](std::string_view b) { return answer([&] { parse_beams_csv(b, "beams"); }); }},
    {"gains", gains},
    {"regions", regions},
    {"quantities", quantities},
    {"recognise", [](std::string_view b) { return !recognise(b).format.empty(); }},
};

}  // namespace

std::span<const Target> targets() {
  return kTargets;
}

const Target* find_target(std::string_view name) {
  for (const Target& target : kTargets)
    if (target.name == name) return &target;
  return nullptr;
}

}  // namespace apsyn::fuzz
