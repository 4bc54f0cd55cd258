// SPDX-License-Identifier: GPL-3.0-or-later
// Images that are written in several pieces: the same bytes by any number of threads, and little memory.
#include <algorithm>
#include <boost/test/unit_test.hpp>

#include "libcore/fits/image.h"
#include "libcore/system/device.h"
#include "tests/reference/scratch.h"

using namespace apsyn;

BOOST_AUTO_TEST_SUITE(large_images)

BOOST_AUTO_TEST_CASE(large_images_are_written_in_pieces_by_any_number_of_threads) {
  const reference::Scratch scratch;
  Image image;
  image.info.stokes = {"I"};
  image.info.cell_rad = 1e-4;
  image.info.freq_hz = 150e6;
  image.pixels.resize({1, 1, 2203, 2201});
  for (std::size_t i = 0; i < image.pixels.size(); ++i)
    image.pixels.data()[i] = static_cast<double>(i % 8191);

  // Four of its nineteen pieces at a time, at most: 4 MB.
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

BOOST_AUTO_TEST_SUITE_END()
