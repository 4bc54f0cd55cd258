// SPDX-License-Identifier: GPL-3.0-or-later
// AO calibrations byte for byte: what they hold is the inverse of the measured gain.
#include <array>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <complex>
#include <cstring>
#include <string>

#include "libcore/base/error.h"
#include "libcore/formats/solution_files/solution_files.h"
#include "tests/reference/scratch.h"
#include "tests/support/some_solutions.h"

using namespace apsyn;
using reference::Scratch;
using some_solutions::table;

BOOST_AUTO_TEST_SUITE(ao)

namespace {

using Complex = std::complex<double>;

constexpr double kRounding = 4e-15;  // of the inverse of a matrix whose condition is below 10

template <class T>
void append(std::string& bytes, T value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

std::string header(std::uint32_t n_interval, std::uint32_t n_antenna, std::uint32_t n_chan) {
  std::string bytes("MWAOCAL\0", 8);
  for (const std::uint32_t number : {0u, 0u, n_interval, n_antenna, n_chan, 4u}) append(bytes, number);
  append(bytes, 0.0);
  append(bytes, 0.0);
  return bytes;
}

SolutionContext context(std::size_t n_ant, std::size_t n_chan) {
  SolutionContext context;
  for (std::size_t i = 0; i < n_ant; ++i) context.antenna_names.push_back("ant" + std::to_string(i));
  for (std::size_t i = 0; i < n_chan; ++i) context.freq_hz.push_back(150e6 + 1e6 * static_cast<double>(i));
  context.begin_mjd_s = 5e9 - 4;
  context.end_mjd_s = 5e9 + 20;
  return context;
}

Solutions read(const std::string& path, const SolutionContext& context) {
  SolutionReadOptions options;
  options.context = context;
  return read_solutions(path, options);
}

}  // namespace

// V' = S V S^H with S in the file; V = J B J^H: J is the inverse of S. A shear shows which side is inverted.
BOOST_AUTO_TEST_CASE(matrices_are_inverted) {
  const Scratch scratch;
  std::string bytes = header(1, 2, 2);
  const Complex i(0, 1);
  const std::array<Complex, 4> sheared{2.0, 0.5 * i, 0.0, 4.0 * i};
  for (std::size_t matrix = 0; matrix < 4; ++matrix)
    for (const Complex& element : sheared) {
      append(bytes, matrix == 3 ? std::nan("") : element.real());
      append(bytes, matrix == 3 ? std::nan("") : element.imag());
    }
  const Solutions solutions = read(scratch.file("a.bin", bytes), context(2, 2));
  const SolutionTable& found = solutions.tables.at(0);
  BOOST_TEST_REQUIRE(found.values.extent(4) == 4u);
  // [a b; 0 d]^-1 = [1/a  -b/(a d); 0 1/d]
  BOOST_TEST(std::abs(found.values(0, 0, 0, 1, 0) - 0.5) < kRounding);
  BOOST_TEST(std::abs(found.values(0, 0, 0, 1, 1) + 0.5 * i / (2.0 * 4.0 * i)) < kRounding);
  BOOST_TEST(std::abs(found.values(0, 0, 0, 1, 2)) < kRounding);
  BOOST_TEST(std::abs(found.values(0, 0, 0, 1, 3) - 1.0 / (4.0 * i)) < kRounding);
  for (std::size_t pol = 0; pol < 4; ++pol) BOOST_TEST(found.weight(0, 0, 1, 1, pol) == 0);
  BOOST_TEST(found.weight(0, 0, 1, 0, 0) == 1);
  BOOST_TEST(solutions.antennas[1].name == "ant1");
  BOOST_TEST(found.freq_hz == (std::vector<double>{150e6, 151e6}));
  BOOST_TEST(found.interval_s == std::vector<double>{0});
}

BOOST_AUTO_TEST_CASE(gains_of_three_intervals_come_back) {
  const Scratch scratch;
  Solutions written = some_solutions::solutions(table(SolutionType::gain, {3, 4, 2, 2, {}}, 1),
                                                table(SolutionType::gain, {1, 4, 1, 2, {}}, 2));
  some_solutions::flag(written.tables[0], 1, 2, 1, 0, SolutionFlag::low_snr);
  write_solutions(scratch.path("a.bin"), written);
  const std::string bytes = scratch.read("a.bin");
  BOOST_TEST(bytes.size() == 48 + 3 * 4 * 2 * 4 * 16u);
  BOOST_TEST(bytes.substr(0, 48) == header(3, 4, 2));
  double element[2];
  std::memcpy(element, bytes.data() + 48 + 16 * (4 * ((2 * 4 + 3) * 2 + 1) + 3),
              16);  // interval 2, antenna 3, channel 1, YY
  const Complex gain = written.tables[0].values(2, 0, 3, 1, 1) * written.tables[1].values(0, 0, 3, 0, 1);
  BOOST_TEST(std::abs(Complex(element[0], element[1]) * gain - 1.0) < kRounding);

  const Solutions found = read(scratch.path("a.bin"), context(4, 2));
  BOOST_TEST_REQUIRE(found.tables.size() == 1u);
  const SolutionTable& product = found.tables[0];
  BOOST_TEST(product.values.extent(4) == 2u);  // nothing beside the diagonal
  BOOST_TEST(product.time_mjd_s == written.tables[0].time_mjd_s);
  BOOST_TEST(product.interval_s == written.tables[0].interval_s);
  for (std::size_t time = 0; time < 3; ++time)
    for (std::size_t ant = 0; ant < 4; ++ant)
      for (std::size_t chan = 0; chan < 2; ++chan)
        for (std::size_t pol = 0; pol < 2; ++pol) {
          const bool flagged = time == 1 && ant == 2 && chan == 1;
          BOOST_TEST((product.weight(time, 0, ant, chan, pol) == 0) == flagged);
          const Complex expected =
              written.tables[0].values(time, 0, ant, chan, pol) * written.tables[1].values(0, 0, ant, 0, pol);
          if (!flagged) BOOST_TEST(std::abs(product.values(time, 0, ant, chan, pol) - expected) < kRounding);
        }
}

BOOST_AUTO_TEST_CASE(channels_are_those_of_the_data_or_groups_of_them) {
  const Scratch scratch;
  write_solutions(scratch.path("a.bin"),
                  some_solutions::solutions(table(SolutionType::gain, {1, 4, 2, 2, {}}, 1)));
  const Solutions found = read(scratch.path("a.bin"), context(4, 6));
  BOOST_TEST(found.tables[0].freq_hz == (std::vector<double>{151e6, 154e6}));
  BOOST_TEST(found.tables[0].width_hz == (std::vector<double>{3e6, 3e6}));
  BOOST_CHECK_THROW(read(scratch.path("a.bin"), context(4, 5)), DataError);
  BOOST_CHECK_THROW(read(scratch.path("a.bin"), context(5, 2)), DataError);
  BOOST_CHECK_THROW(read_solutions(scratch.path("a.bin")), UsageError);
}

BOOST_AUTO_TEST_CASE(damaged_files_are_refused) {
  const Scratch scratch;
  write_solutions(scratch.path("a.bin"),
                  some_solutions::solutions(table(SolutionType::gain, {1, 4, 2, 2, {}}, 1)));
  const std::string good = scratch.read("a.bin");
  for (const std::size_t n : {std::size_t{8}, std::size_t{47}, std::size_t{48}, good.size() - 1})
    BOOST_CHECK_THROW(read(scratch.file("b.bin", good.substr(0, n)), context(4, 2)), DataError);
  BOOST_CHECK_THROW(read(scratch.file("b.bin", good + "x"), context(4, 2)), DataError);
  for (const std::size_t at : {8u, 12u, 16u, 20u, 24u, 28u}) {
    std::string bad = good;
    bad[at + 3] = '\x7f';
    BOOST_CHECK_THROW(read(scratch.file("b.bin", bad), context(4, 2)), DataError);
  }
}

// A single delay is another gain in every channel, and of which ones the file does not know.
BOOST_AUTO_TEST_CASE(delays_need_channels) {
  const Scratch scratch;
  Solutions delays = some_solutions::solutions(table(SolutionType::delay_s, {1, 4, 1, 2, {}}, 1));
  BOOST_CHECK_THROW(write_solutions(scratch.path("a.bin"), delays), UsageError);
  SolutionWriteOptions options;
  options.n_chan = 4;
  write_solutions(scratch.path("a.bin"), delays, options);
  SolutionContext data = context(4, 4);
  data.freq_hz = {149.625e6, 149.875e6, 150.125e6, 150.375e6};  // quarters of a band of 1 MHz about 150 MHz
  const Solutions found = read(scratch.path("a.bin"), data);
  const double tau_s = delays.tables[0].values(0, 0, 1, 0, 1).real();
  for (std::size_t chan = 0; chan < 4; ++chan)
    BOOST_TEST(std::abs(found.tables[0].values(0, 0, 1, chan, 1) -
                        std::polar(1.0, 2 * std::acos(-1.0) * tau_s * data.freq_hz[chan])) < kRounding);
}

BOOST_AUTO_TEST_SUITE_END()
