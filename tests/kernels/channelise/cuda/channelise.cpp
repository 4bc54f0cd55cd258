// SPDX-License-Identifier: GPL-3.0-or-later
// The CUDA F stage against its definition in float64, value by value: fused and stepwise, integers and
// floats. Long spectra are those of long_spectra.cpp.
#include <boost/test/unit_test.hpp>

#include "kernels/channelise/cuda/kernels.cuh"
#include "tests/kernels/channelise/cuda/channelise_case.h"
#include "tests/reference/test_device.h"

using namespace apsyn;
using namespace apsyn::test;

BOOST_AUTO_TEST_SUITE(channelise)

/// Every kernel once, for compute-sanitizer.
BOOST_AUTO_TEST_CASE(small_for_sanitizers) {
  for (const bool real : {false, true}) {
    const Case c{.n_ant = 5, .n_pol = 1, .n_fine = 64, .n_taps = 4, .real = real, .reach = 3, .rate = 1e-5};
    check(c, 40);
    Case other = c;
    other.n_fine = 16;
    check(other, 40);
    other.n_fine = 12;
    check(other, 40);
    other.n_fine = 128;
    other.n_pol = 2;
    check(other, 40);
  }
  check({.n_ant = 5, .n_pol = 1, .n_fine = 128, .four_bit = true, .drop = true}, 40);
}

BOOST_AUTO_TEST_CASE(powers_of_two_are_fused) {
  for (const bool real : {false, true})
    for (std::size_t length = 16; length <= 128; length *= 2)
      for (const std::size_t n_taps : {0, 4}) {
        BOOST_REQUIRE(f_stage::has_fused(real, static_cast<int>(length), n_taps == 0 ? 1 : 4,
                                         f_stage::SampleFormat::int8));
        Case c;
        c.n_fine = real ? length / 2 : length;
        c.n_taps = n_taps;
        c.real = real;
        c.n_ant = 19;
        c.descending = length % 3 == 1;
        c.n_spectra = 140;
        check(c);
        c.reach = 7.3;
        c.rate = 1e-5;
        c.descending = !c.descending;
        c.n_chan = 2;
        check(c);
      }
}

/// More than a device has multiprocessors, the last of them short.
BOOST_AUTO_TEST_CASE(more_items_than_processors_agree_with_float64) {
  for (const bool real : {false, true})
    check({.n_chan = 24,
           .n_ant = 19,
           .n_fine = 128,
           .n_taps = 4,
           .real = real,
           .reach = 3,
           .rate = 1e-5,
           .n_spectra = 68},
          2000);
}

BOOST_AUTO_TEST_CASE(packed_samples_of_4_bits_agree_with_float64) {
  for (const std::size_t n_fine : {64, 256, 12})
    for (const double reach : {0.0, 3.0})
      check({.n_chan = 2,
             .n_ant = 6,
             .n_fine = n_fine,
             .n_taps = 4,
             .four_bit = true,
             .reach = reach,
             .rate = 1e-5});
}

BOOST_AUTO_TEST_CASE(anything_else_takes_steps) {
  for (const bool real : {false, true})
    for (const std::size_t n_fine : {1, 5, 12, 64, 100, 3000})
      for (const std::size_t n_taps : {0, 3, 8})
        if (n_fine > 1 || n_taps == 0)
          check({.n_ant = 3,
                 .n_fine = n_fine,
                 .n_taps = n_taps,
                 .window = Window::hamming,
                 .real = real,
                 .reach = 5,
                 .rate = 1e-5,
                 .n_spectra = n_fine > 1000 ? 10u : 70u},
                n_fine > 1000 ? 40 : 400);
  check({.n_chan = 2, .n_fine = 64, .n_taps = 4, .floats = true, .drop = true, .reach = 4, .rate = 1e-5});
  check({.n_fine = 64, .real = true, .floats = true});
}

BOOST_AUTO_TEST_CASE(any_number_of_antennas_agrees_with_float64) {
  for (const bool real : {false, true})
    for (const std::size_t n_pol : {1, 2})
      for (const std::size_t n_ant : {1, 2, 3, 5, 33})
        check({.n_chan = 1 + n_ant % 2,
               .n_ant = n_ant,
               .n_pol = n_pol,
               .n_fine = n_ant % 3 == 0 ? 128u : 32u,
               .n_taps = 4,
               .real = real,
               .drop = true,
               .reach = 6,
               .rate = 1e-4});
}

BOOST_AUTO_TEST_CASE(racing_delays_agree_with_float64) {
  for (const std::size_t n_fine : {32, 24, 64, 128})
    check({.n_ant = 4, .n_fine = n_fine, .n_taps = 4, .reach = 9.4, .rate = 0.11, .n_spectra = 200});
}

BOOST_AUTO_TEST_CASE(dither_is_that_of_the_definition) {
  for (const std::size_t n_fine : {128, 20})
    check({.n_ant = 3, .n_fine = n_fine, .n_taps = 4, .reach = 2, .rate = 1e-5, .dither = true});
}

BOOST_AUTO_TEST_CASE(gulps_change_nothing) {
  const Case whole{.n_chan = 2,
                   .n_ant = 5,
                   .n_fine = 64,
                   .n_taps = 4,
                   .drop = true,
                   .reach = 5,
                   .rate = 1e-4,
                   .n_spectra = 700};
  const Recording recording = record(whole, 9);
  TestDelays delays(recording.header.sample_s, whole.reach, whole.rate);
  const Output once = run(whole, recording, &delays, true);
  for (const std::size_t gulp : {128, 1280, 8192}) {
    Case c = whole;
    c.gulp = gulp;
    const Output cut = run(c, recording, &delays, true);
    std::size_t different = 0;
    for (int channel = 0; channel < once.layout.n_chan; ++channel)
      for (int block = 0; block < once.layout.n_blocks; ++block)
        for (int input = 0; input < once.layout.n_input; ++input)
          for (int byte = 0; byte < 128; ++byte) {
            const std::size_t at = once.layout.row(channel, block, input) + static_cast<std::size_t>(byte);
            different += once.integers[at] != cut.integers[at];
          }
    BOOST_TEST(different == 0u);
    BOOST_TEST((once.valid == cut.valid));
  }
}

BOOST_AUTO_TEST_CASE(clipped_values_are_counted) {
  // a tone a hundred times the noise, behind the window that the scale is taken from
  for (const std::size_t n_fine : {64, 48}) {
    Case c{.n_ant = 2, .n_pol = 1, .n_fine = n_fine, .amplitude = 3, .n_spectra = 200};
    Recording recording = record(c, 5);
    for (std::size_t t = 4200; t < recording.n_time; ++t)
      recording.at(t, 0, 1, 0) += std::complex<float>(60, -60);
    const Output out = run(c, recording, nullptr, true);
    std::uint64_t clipped[2] = {0, 0};
    std::size_t wrong = 0;
    for (std::size_t s = 0; s < static_cast<std::size_t>(out.n_spectra); ++s)
      for (std::size_t fine = 0; fine < n_fine; ++fine)
        for (std::size_t ant = 0; ant < 2; ++ant) {
          std::complex<double> truth;
          BOOST_REQUIRE(truth_at(c, recording, out.plan.f, nullptr, {s, 0, fine, ant, 0}, truth));
          truth *= out.scales[ant];
          clipped[ant] += std::abs(truth.real()) > 127.5;
          clipped[ant] += std::abs(truth.imag()) > 127.5;
          const std::int8_t* row =
              out.integers.data() +
              out.layout.row(static_cast<int>(fine), static_cast<int>(s / 64), static_cast<int>(ant));
          const double re = row[x_layout::offset_8bit(static_cast<int>(ant), 0, static_cast<int>(s % 64))];
          wrong += std::abs(re - std::clamp(truth.real(), -127.0, 127.0)) > 0.5001;
        }
    BOOST_TEST(wrong == 0u);
    BOOST_TEST(clipped[1] > 100u);
    BOOST_TEST(out.clipped[0] == clipped[0]);
    BOOST_TEST(out.clipped[1] == clipped[1]);
  }
}

BOOST_AUTO_TEST_SUITE_END()
