// SPDX-License-Identifier: GPL-3.0-or-later
// Streams of images as epic-image writes them: planes, complex ones as moduli, times and frequencies.
#include "libcore/streams/image_stream.h"

#include <sys/stat.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <fstream>
#include <thread>
#include <vector>

#include "libcore/base/constants.h"
#include "libcore/base/error.h"
#include "libcore/files/checksum.h"
#include "libcore/header/ascii_header.h"
#include "libcore/streams/stream_payload.h"
#include "tests/reference/scratch.h"

using namespace apsyn;
using reference::Scratch;

BOOST_AUTO_TEST_SUITE(image_stream)

namespace {

constexpr std::size_t kX = 3, kY = 2, kChannels = 2, kImages = 2;

/// Pixels that differ everywhere, [image][part][product][channel][y][x].
float value_of(std::size_t i) {
  return static_cast<float>(std::sin(1.0 + static_cast<double>(i)));
}

std::string stream(const Scratch& scratch, const std::string& products, std::size_t n_product,
                   std::size_t n_part) {
  const std::size_t n_float = kImages * n_part * n_product * kChannels * kY * kX;
  HeaderWriter keys;
  keys.token("INSTRUMENT", "apsyn-image");
  keys.token("TELESCOPE", "LWA-SV");
  keys.token("SOURCE", "sky");
  keys.start_time({60000, 5'000'000'000'000});
  keys.size("FILE_SIZE", n_float * sizeof(float));
  keys.integer("TRAILER", 0);
  keys.number("FREQ", 60e6, -6);
  keys.number("BW", 2e6, -6);
  keys.number("TSAMP", 0.25, 6);
  keys.integer("NDIM", static_cast<std::int64_t>(n_part));
  keys.integer("NCHAN", kChannels);
  keys.integer("NX", kX);
  keys.integer("NY", kY);
  keys.angle("CELL", kRadPerDeg);
  keys.token("PRODUCTS", products);
  keys.token("ORDER", "TDPFYX");
  keys.token("ENCODING", "FLOAT");
  keys.phase_centre(SkyDirection{1, 0.5});
  keys.flux_unit(FluxUnit::adu);
  std::vector<float> values(n_float);
  for (std::size_t i = 0; i < n_float; ++i) values[i] = value_of(i);
  std::ofstream file(scratch.path("a.images"), std::ios::binary);
  const std::string header = keys.finish();
  file.write(header.data(), static_cast<std::streamsize>(header.size()));
  file.write(reinterpret_cast<const char*>(values.data()),
             static_cast<std::streamsize>(n_float * sizeof(float)));
  return scratch.path("a.images");
}

}  // namespace

BOOST_AUTO_TEST_CASE(complex_planes_are_shown_by_their_moduli) {
  const Scratch scratch;
  struct Case {
    const char* products;
    std::vector<bool> complex;
    std::size_t n_part;
  };
  for (const Case& c : {Case{"XX,YY", {false, false}, 1}, Case{"XX,XY,YX", {false, true, true}, 2},
                        Case{"X,Y", {true, true}, 2}}) {
    const std::size_t n_product = c.complex.size(), n_plane = kChannels * kY * kX;
    ImageStreamReader reader(stream(scratch, c.products, n_product, c.n_part));
    Image image;
    std::size_t n = 0;
    for (; reader.read(image); ++n) {
      BOOST_TEST_REQUIRE(image.pixels.size() == n_product * n_plane);
      for (std::size_t product = 0; product < n_product; ++product)
        for (std::size_t i = 0; i < n_plane; ++i) {
          const std::size_t at = (n * c.n_part * n_product + product) * n_plane + i;
          const double re = value_of(at), im = c.n_part == 2 ? value_of(at + n_product * n_plane) : 0;
          const double expected = c.complex[product] ? std::hypot(re, im) : re;
          BOOST_TEST(std::abs(image.pixels.data()[product * n_plane + i] - expected) < 1e-15);
        }
      BOOST_TEST(image.info.freq_hz == 59.5e6);  // of the first channel's middle
      BOOST_TEST(image.info.bandwidth_hz == 1e6);
      BOOST_TEST(image.info.time->picoseconds ==
                 (5'000'000'000'000 + 250'000'000'000 * static_cast<std::int64_t>(n)));
    }
    BOOST_TEST(n == kImages);
  }
}

BOOST_AUTO_TEST_CASE(threads_read_the_same_and_see_damage) {
  // three images of several megabytes and a trailer, from a file and from a pipe
  const Scratch scratch;
  constexpr std::size_t kSide = 701, kPlanes = 3, kTimes = 3, n_float = kSide * kSide * kPlanes;
  std::vector<float> values(kTimes * n_float);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = value_of(i);
  HeaderWriter keys;
  keys.token("INSTRUMENT", "apsyn-image");
  keys.start_time({60000, 0});
  keys.integer("TRAILER", 1);
  keys.number("FREQ", 60e6, -6);
  keys.number("BW", 2e6, -6);
  keys.number("TSAMP", 0.25, 6);
  keys.integer("NDIM", 1);
  keys.integer("NCHAN", kPlanes);
  keys.integer("NX", kSide);
  keys.integer("NY", kSide);
  keys.angle("CELL", kRadPerDeg);
  keys.token("PRODUCTS", "I");
  keys.token("ORDER", "TDPFYX");
  keys.token("ENCODING", "FLOAT");
  keys.phase_centre(SkyDirection{1, 0.5});
  keys.flux_unit(FluxUnit::adu);
  const std::string header = keys.finish();
  const std::size_t n_bytes = values.size() * sizeof(float);
  Crc32c crc;
  crc.add(values.data(), n_bytes);
  const std::string trailer = format_trailer(n_bytes, crc.value()), pipe = scratch.path("pipe");
  BOOST_TEST_REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  const auto write = [&](const std::string& path) {
    std::ofstream file(path, std::ios::binary);
    file.write(header.data(), static_cast<std::streamsize>(header.size()));
    file.write(reinterpret_cast<const char*>(values.data()), static_cast<std::streamsize>(n_bytes));
    file.write(trailer.data(), static_cast<std::streamsize>(trailer.size()));
  };
  for (const bool damaged : {false, true}) {
    if (damaged) values[n_float + 12345] += 1;
    write(scratch.path("file"));
    for (const unsigned n_threads : {1u, 3u})
      for (const std::string& path : {scratch.path("file"), pipe}) {
        std::thread writer;
        if (path == pipe) writer = std::thread([&] { write(pipe); });
        ImageStreamReader reader(path, -1, n_threads);
        std::vector<float> record;
        std::size_t n = 0;
        const auto read_all = [&] {
          for (; reader.read(record); ++n) {
            BOOST_TEST_REQUIRE(record.size() == n_float);
            BOOST_TEST(std::equal(record.begin(), record.end(),
                                  values.begin() + static_cast<std::ptrdiff_t>(n * n_float)));
          }
        };
        if (damaged)
          BOOST_CHECK_THROW(read_all(), DataError);
        else
          read_all();
        if (!damaged) BOOST_TEST(n == kTimes);
        if (writer.joinable()) writer.join();
      }
  }
}

BOOST_AUTO_TEST_SUITE_END()
