// SPDX-License-Identifier: GPL-3.0-or-later
// Images that are written in several pieces: the same bytes by any number of threads, and little memory.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <span>
#include <string>
#include <vector>

#include "libcore/formats/fits/cube.h"
#include "libcore/formats/fits/image.h"
#include "libcore/system/device.h"
#include "libcore/system/parallel.h"
#include "tests/reference/scratch.h"

using namespace apsyn;

BOOST_AUTO_TEST_SUITE(large_images)

namespace {

Image large_image(std::size_t ny, std::size_t nx) {
  Image image;
  image.info.stokes = {"I"};
  image.info.cell_rad = 1e-4;
  image.info.freq_hz = 150e6;
  image.pixels.resize({1, 1, ny, nx});
  for (std::size_t i = 0; i < image.pixels.size(); ++i)
    image.pixels.data()[i] = static_cast<double>(i % 8191);
  return image;
}

}  // namespace

BOOST_AUTO_TEST_CASE(large_images_are_written_in_pieces_by_any_number_of_threads) {
  const reference::Scratch scratch;
  const Image image = large_image(2203, 2201);

  // A piece of each thread at a time.
  const std::uint64_t before = peak_memory_bytes();
  write_fits_image(scratch.path("2"), image, FitsPixel::float32, true, 2);
  BOOST_TEST(peak_memory_bytes() - before < 10'000'000u);  // 4.3e6; 19e6 with all of them

  for (const unsigned n_threads : {1u, 5u, 40u}) {
    write_fits_image(scratch.path("n"), image, FitsPixel::float32, true, n_threads);
    BOOST_TEST((scratch.read("n") == scratch.read("2")), n_threads);
  }
  const Image back = read_fits_image(scratch.path("n"));
  BOOST_TEST((back.pixels.size() == image.pixels.size() &&
              std::equal(back.pixels.begin(), back.pixels.end(), image.pixels.begin())));
}

// Pixels that are there and those that are made, to files that are written at the same time and to a pipe.
BOOST_AUTO_TEST_CASE(all_ways_of_writing_give_the_same_bytes) {
  const reference::Scratch scratch;
  const Image image = large_image(701, 907);
  const FitsPixelSource source = [](std::size_t first, std::span<double> pixels) {
    for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<double>((first + i) % 8191);
  };
  for (const FitsPixel pixel : {FitsPixel::float32, FitsPixel::float64}) {
    write_fits_image(scratch.path("a"), image, pixel, true);
    const std::string expected = scratch.read("a");
    for (const unsigned n_threads : {1u, 3u}) {
      parallel_for(n_threads, 6, [&](std::size_t i, unsigned) {
        const std::string path = scratch.path("b" + std::to_string(i));
        if (i % 2 == 0)
          write_fits_image(path, image, pixel, true, n_threads);
        else
          write_fits_image(path, image.info, image.pixels.shape(), source, pixel, true, n_threads);
      });
      for (int i = 0; i < 6; ++i) BOOST_TEST((scratch.read("b" + std::to_string(i)) == expected));
      reference::with_stdout(scratch.path("c"),
                             [&] { write_fits_image("-", image, pixel, true, n_threads); });
      BOOST_TEST((scratch.read("c") == expected));
      reference::with_stdout(scratch.path("c"), [&] {
        write_fits_image("-", image.info, image.pixels.shape(), source, pixel, true, n_threads);
      });
      BOOST_TEST((scratch.read("c") == expected));
    }
  }
}

BOOST_AUTO_TEST_CASE(cubes_are_the_same_by_any_number_of_threads) {
  const reference::Scratch scratch;
  FitsCubeShape shape;
  shape.nx = 61, shape.ny = 53, shape.n_chan = 70, shape.in_time = true, shape.step_s = 1;
  ImageInfo info;
  info.cell_rad = 1e-4;
  info.freq_hz = 150e6, info.bandwidth_hz = 1e5;
  info.time = UtcTime{60000, 0};
  std::vector<float> record(shape.n_record());
  std::string expected;
  for (const unsigned n_threads : {1u, 2u, 7u}) {
    FitsCubeWriter writer(scratch.path("cube"), info, shape, true, n_threads);
    for (std::size_t t = 0; t < 3; ++t) {
      for (std::size_t i = 0; i < record.size(); ++i)
        record[i] = static_cast<float>(i * (t + 1) % 10007) - 5e3f;
      writer.write(record, 1, true);
    }
    writer.commit();
    if (expected.empty()) expected = scratch.read("cube");
    BOOST_TEST((scratch.read("cube") == expected), n_threads);
  }
  for (std::size_t t = 0; t < 3; ++t) {
    const Image back = read_fits_image(scratch.path("cube"), t);
    bool same = true;
    for (std::size_t i = 0; i < back.pixels.size(); ++i)
      same = same && back.pixels.data()[i] == static_cast<double>(i * (t + 1) % 10007) - 5e3;
    BOOST_TEST(same);
  }
}

BOOST_AUTO_TEST_SUITE_END()
