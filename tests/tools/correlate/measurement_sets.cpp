// SPDX-License-Identifier: GPL-3.0-or-later
// What correlate writes into Measurement Sets: rows, channels, times, weights and history, against literal
// sums.
#include <casacore/casa/Arrays/Array.h>
#include <casacore/casa/Arrays/Matrix.h>
#include <casacore/casa/Arrays/Vector.h>
#include <casacore/tables/Tables/ArrayColumn.h>
#include <casacore/tables/Tables/ScalarColumn.h>
#include <casacore/tables/Tables/Table.h>

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <complex>
#include <cstdlib>
#include <numbers>
#include <random>

#include "tests/reference/recordings/voltage_encoder.h"
#include "tests/reference/scratch.h"

using Complex = std::complex<double>;

BOOST_AUTO_TEST_SUITE(measurement_sets)

namespace {

constexpr std::size_t kAntennas = 3, kPols = 2, kFine = 8, kSamples = 800;  // 100 spectra of 8 us
constexpr double kStart_s = 60369 * 86400.0 + 86399;                        // 2024-02-29 23:59:59
constexpr double kSpectrum_s = 8e-6;

/// Random integers; antenna 1 is missing from sample 128 to 255.
struct Voltages {
  std::vector<int> parts;
  Voltages() : parts(kSamples * kAntennas * kPols * 2) {
    std::mt19937 random(3);
    for (int& part : parts) part = static_cast<int>(random() % 41) - 20;
    for (std::size_t t = 128; t < 256; ++t)
      for (std::size_t i = 0; i < 2 * kPols; ++i) parts[(t * kAntennas + 1) * kPols * 2 + i] = 0;
  }
  Complex at(std::size_t t, std::size_t ant, std::size_t pol) const {
    const int* part = parts.data() + ((t * kAntennas + ant) * kPols + pol) * 2;
    return {double(part[0]), double(part[1])};
  }
  std::string stream() const {
    const apsyn::reference::VoltageFormat format{.n_ant = kAntennas, .n_pol = kPols};
    const auto bytes = apsyn::reference::encode_voltages(
        format, kSamples, [&](std::size_t t, std::size_t, std::size_t ant, std::size_t pol, unsigned part) {
          return parts[((t * kAntennas + ant) * kPols + pol) * 2 + part];
        });
    std::string header = apsyn::reference::voltage_header_text(format, "");
    const auto replace = [&](const std::string& from, const std::string& to) {
      header.replace(header.find(from), from.size(), to);
    };
    replace("BW 1.28\nTSAMP 0.78125\n",
            "BW 1\nTSAMP 1\nSITE_LAT -26.7\nSITE_LON 116.67\nSITE_ALT 377\n"
            "ANT_000 a,0,0,0,0,0\nANT_001 b,120,10,0,0,0\nANT_002 c,-30,80,0,0,0\n"
            "FILE_SIZE 9600\nTRAILER 0\n");
    header.resize(4096);
    return header + std::string(bytes.begin(), bytes.end());
  }
};

/// Fine channel k of a spectrum: centre k - 4 of eight, unit power for unit noise.
Complex fine_channel(const Voltages& v, std::size_t spectrum, std::size_t ant, std::size_t pol,
                     std::size_t k) {
  Complex sum = 0;
  for (std::size_t t = 0; t < kFine; ++t)
    sum += v.at(spectrum * kFine + t, ant, pol) *
           std::polar(1.0, -2 * std::numbers::pi * (double(k) - kFine / 2.0) * double(t) / kFine);
  return sum / std::sqrt(double(kFine));
}

struct Run {
  apsyn::reference::Scratch scratch;
  std::string path = scratch.path("out.ms");
  explicit Run(const Voltages& v, const std::string& options) {
    const std::string in = scratch.file("in.dada", v.stream());
    const auto bin =
        std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path() / "bin/correlate";
    const std::string command = "'" + bin.string() + "' -q '" + in + "' --channels 8 --phase-centre none " +
                                options + " -o '" + path + "'";
    BOOST_REQUIRE(std::system(command.c_str()) == 0);
  }
  casacore::Table table(const std::string& name = "") const {
    return casacore::Table(name.empty() ? path : path + "/" + name);
  }
};

template <class T>
T cell(const casacore::Table& table, const std::string& column, casacore::rownr_t row) {
  return casacore::ScalarColumn<T>(table, column)(row);
}

/// Integrations of `n_spectra`, channels averaged by n_average, against the literal mean. The visibilities of
/// a drift scan are turned to the zenith of the first integration's middle: here by less than 1e-9 rad.
void check(const std::string& options, std::size_t n_spectra, std::size_t n_average, bool with_autos) {
  const Voltages v;
  const Run run(v, options);
  const casacore::Table main = run.table();
  const std::size_t n_bl = with_autos ? 6 : 3, n_integrations = (100 + n_spectra - 1) / n_spectra;
  const std::size_t n_chan = kFine / n_average;
  BOOST_REQUIRE(main.nrow() == n_bl * n_integrations);
  double worst = 0;  // over what is allowed
  for (std::size_t row = 0; row < main.nrow(); ++row) {
    const std::size_t first = row / n_bl * n_spectra, last = std::min<std::size_t>(100, first + n_spectra);
    const auto a = static_cast<std::size_t>(cell<casacore::Int>(main, "ANTENNA1", row));
    const auto b = static_cast<std::size_t>(cell<casacore::Int>(main, "ANTENNA2", row));
    BOOST_TEST((with_autos ? a <= b : a < b));
    const double length_s = double(last - first) * kSpectrum_s;
    // The middle, in MJD seconds of 5e9: to their last bit, 1e-6.
    BOOST_TEST(std::abs(cell<double>(main, "TIME", row) -
                        (kStart_s + double(first) * kSpectrum_s + length_s / 2)) < 2e-6);
    BOOST_TEST(cell<double>(main, "INTERVAL", row) == length_s, boost::test_tools::tolerance(1e-9));
    const casacore::Matrix<casacore::Complex> data =
        casacore::ArrayColumn<casacore::Complex>(main, "DATA")(row);
    const casacore::Matrix<casacore::Bool> flag = casacore::ArrayColumn<casacore::Bool>(main, "FLAG")(row);
    const casacore::Matrix<float> weight = casacore::ArrayColumn<float>(main, "WEIGHT_SPECTRUM")(row);
    BOOST_REQUIRE(data.ncolumn() == n_chan);
    // The power of a sample is 280. A drift scan is turned to the zenith of the first integration's middle:
    // the longest baseline has 166 m, 83 wavelengths.
    const double turned_rad = 2 * std::numbers::pi * 83 * 7.3e-5 * double(last) * kSpectrum_s;
    const double allowed = 280 * (1e-6 + (first > 0 ? turned_rad : 0));
    std::size_t n_valid = 0;
    const bool misses = a == 1 || b == 1;
    for (std::size_t s = first; s < last; ++s) n_valid += !misses || s < 16 || s >= 32;
    // EXPOSURE is the length of what is valid of the integration.
    BOOST_TEST(std::abs(cell<double>(main, "EXPOSURE", row) - double(n_valid) * kSpectrum_s) <=
               1e-7 * length_s);
    for (std::size_t chan = 0; chan < n_chan; ++chan)
      for (std::size_t p = 0; p < 4; ++p) {
        const bool flagged = n_valid == 0;
        BOOST_TEST(flag(p, chan) == flagged);
        // Weights are fractions of a whole integration; the last one is shorter.
        BOOST_TEST(weight(p, chan) == float(n_valid) / float(n_spectra), boost::test_tools::tolerance(1e-6f));
        Complex sum = 0;
        for (std::size_t s = first; s < last; ++s)
          if (!misses || s < 16 || s >= 32)
            for (std::size_t k = 0; k < n_average; ++k)
              sum += fine_channel(v, s, a, p / 2, chan * n_average + k) *
                     std::conj(fine_channel(v, s, b, p % 2, chan * n_average + k));
        if (!flagged)
          worst =
              std::max(worst, std::abs(Complex(data(p, chan)) - sum / double(n_valid * n_average)) / allowed);
      }
  }
  BOOST_TEST(worst < 1);

  const casacore::Table window = run.table("SPECTRAL_WINDOW");
  const casacore::Vector<double> freq = casacore::ArrayColumn<double>(window, "CHAN_FREQ")(0);
  const casacore::Vector<double> width = casacore::ArrayColumn<double>(window, "CHAN_WIDTH")(0);
  BOOST_REQUIRE(freq.nelements() == n_chan);
  for (std::size_t chan = 0; chan < n_chan; ++chan) {
    const double middle = double(chan * n_average) + (double(n_average) - 1) / 2 - kFine / 2.0;
    BOOST_TEST(freq[chan] == 150e6 + middle * 125e3);
    BOOST_TEST(width[chan] == 125e3 * double(n_average));
  }
  const casacore::Table history = run.table("HISTORY");
  std::string all;
  for (casacore::rownr_t row = 0; row < history.nrow(); ++row)
    all += std::string(cell<casacore::String>(history, "MESSAGE", row)) + "\n";
  BOOST_TEST(all.find("correlate 0.") != all.npos);
  BOOST_TEST(all.find("--channels 8") != all.npos);
  BOOST_TEST(all.find(options.substr(0, options.find(' '))) != all.npos);
}

}  // namespace

BOOST_AUTO_TEST_CASE(whole_integrations_have_the_values_of_the_stream) {
  check("--integration 200us", 25, 1, true);
}

BOOST_AUTO_TEST_CASE(the_last_integration_is_incomplete) {
  check("--integration 240us", 30, 1, true);
}

BOOST_AUTO_TEST_CASE(autocorrelations_can_be_left_out) {
  check("--no-autos --integration 240us", 30, 1, false);
}

BOOST_AUTO_TEST_CASE(averaged_channels_have_the_values_of_the_stream) {
  check("--average-channels 4 --integration 200us", 25, 4, true);
  check("--average-channels 2 --no-autos --integration 128us", 16, 2, false);
}

BOOST_AUTO_TEST_SUITE_END()
