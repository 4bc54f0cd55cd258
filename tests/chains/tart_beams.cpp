// SPDX-License-Identifier: GPL-3.0-or-later
// Real voltages: beams formed from correlate's visibilities against beams formed from the voltages
// themselves, in the directions of GPS satellites. The directions come from the voltages alone: each
// satellite's C/A code is searched for in them, and the phases of the antennas behind the code point to it.
#include <algorithm>
#include <array>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <complex>
#include <cstdlib>
#include <numbers>
#include <numeric>
#include <utility>

#include "libcore/array/array_layout.h"
#include "libcore/base/csv.h"
#include "libcore/files/input.h"
#include "libcore/streams/visibility_stream.h"
#include "tests/reference/recordings/gps_code.h"
#include "tests/reference/scratch.h"

using namespace apsyn;
using reference::fft, reference::gold_code;
using Complex = std::complex<double>;

BOOST_AUTO_TEST_SUITE(tart_beams)

namespace {

constexpr double kTwoPi = 2 * std::numbers::pi, kLight_m_s = 299792458, kFreq_hz = 1575.42e6,
                 kRate_hz = 4.092e6;
constexpr std::size_t kAntennas = 24, kSamples = 65536, kCodeSamples = 4092;  // of a millisecond
const std::string kData = APSYN_TEST_DATA;

struct Recording {
  std::string stream;             // the PSRDADA file
  std::vector<Complex> voltages;  // [antenna][time], gains taken out
  std::vector<Vec3> enu_m;
};

Recording load() {
  Recording r;
  std::FILE* pipe = ::popen(("zstd -dc '" + kData + "/TART-mgtana-16ms.dada.zst' 2>/dev/null").c_str(), "r");
  std::vector<char> chunk(1 << 16);
  while (const std::size_t n = std::fread(chunk.data(), 1, chunk.size(), pipe))
    r.stream.append(chunk.data(), n);
  if (::pclose(pipe) != 0) return r;
  BOOST_REQUIRE(r.stream.size() == 4096 + 2 * kAntennas * kSamples);
  const std::string gains = read_text_file(kData + "/TART-mgtana-gains.csv");
  const CsvTable table = parse_csv(gains, "gains");
  r.voltages.resize(kAntennas * kSamples);
  for (std::size_t ant = 0; ant < kAntennas; ++ant) {
    const double phase_rad = table.number(table.rows[ant], 2);
    for (std::size_t t = 0; t < kSamples; ++t) {
      const char* at = r.stream.data() + 4096 + 2 * (t * kAntennas + ant);
      r.voltages[ant * kSamples + t] =
          Complex(static_cast<signed char>(at[0]), static_cast<signed char>(at[1])) *
          std::polar(1.0, -phase_rad);
    }
  }
  for (const Antenna& antenna : read_antennas_csv(kData + "/TART-mgtana-antennas.csv").antennas)
    r.enu_m.push_back(antenna.enu_m);
  return r;
}

struct Direction {
  double l = 0, m = 0;
};
/// Antennas' phases of a wave from there: E_i carries exp(2 pi i nu r_i.s / c).
std::array<Complex, kAntennas> steering(const Recording& r, const Direction& s, double freq_hz) {
  std::array<Complex, kAntennas> phases;
  const double n = std::sqrt(std::max(0.0, 1 - s.l * s.l - s.m * s.m));
  for (std::size_t ant = 0; ant < kAntennas; ++ant) {
    const Vec3& at = r.enu_m[ant];
    phases[ant] = std::polar(1.0, kTwoPi * freq_hz / kLight_m_s * (at[0] * s.l + at[1] * s.m + at[2] * n));
  }
  return phases;
}

struct Satellite {
  std::size_t prn = 0, lag = 0;
  double doppler_hz = 0, snr = 0;
  Direction direction;
};

/// Searches lag and Doppler shift of every code: power behind it, summed over a few antennas and
/// milliseconds.
std::vector<Satellite> search_codes(const Recording& r) {
  constexpr std::size_t n = 8192;
  constexpr long kShifts = 8;  // of 500 Hz: the receiver is on its frequency
  std::vector<std::vector<Complex>> spectra;
  for (const std::size_t ant : {0u, 7u, 13u, 19u})
    for (std::size_t ms = 0; ms < 14; ms += 2) {
      const auto from = r.voltages.begin() + static_cast<long>(ant * kSamples + ms * kCodeSamples);
      std::vector<Complex> x(from, from + n);
      fft(x, -1);
      spectra.push_back(std::move(x));
    }
  std::vector<Satellite> found;
  for (std::size_t prn = 1; prn <= 32; ++prn) {
    std::vector<Complex> code(n);
    const std::vector<double> chips = gold_code(prn);
    std::copy(chips.begin(), chips.end(), code.begin());
    fft(code, -1);
    Satellite best{prn, 0, 0, 0, {}};
    for (long shift = -kShifts; shift <= kShifts; ++shift) {
      std::vector<double> power(kCodeSamples);
      std::vector<Complex> product(n);
      for (const auto& spectrum : spectra) {
        for (std::size_t k = 0; k < n; ++k)
          product[k] = spectrum[(k + n + static_cast<std::size_t>(shift + static_cast<long>(n))) % n] *
                       std::conj(code[k]);
        fft(product, +1);
        for (std::size_t lag = 0; lag < kCodeSamples; ++lag) power[lag] += std::norm(product[lag]);
      }
      const double mean = std::accumulate(power.begin(), power.end(), 0.0) / kCodeSamples;
      const auto top = std::max_element(power.begin(), power.end());
      // Sums of powers of noise scatter by their mean over the root of their number.
      const double snr = (*top / mean - 1) * std::sqrt(static_cast<double>(spectra.size()));
      if (snr > best.snr)
        best = {prn,
                static_cast<std::size_t>(top - power.begin()),
                static_cast<double>(shift) * kRate_hz / n,
                snr,
                {}};
    }
    // 4092 lags of 17 shifts: noise alone reaches 6 or 7.
    if (best.snr > 12) found.push_back(best);
  }
  return found;
}

/// The antennas' signals behind the code, a value for each millisecond: [ms][antenna].
std::vector<std::array<Complex, kAntennas>> despread(const Recording& r, const Satellite& satellite) {
  const std::vector<double> code = gold_code(satellite.prn);
  std::vector<std::array<Complex, kAntennas>> signals;
  for (std::size_t start = satellite.lag; start + kCodeSamples <= kSamples; start += kCodeSamples) {
    signals.emplace_back();
    for (std::size_t ant = 0; ant < kAntennas; ++ant)
      for (std::size_t i = 0; i < kCodeSamples; ++i) {
        const double turns = satellite.doppler_hz * static_cast<double>(start + i) / kRate_hz;
        signals.back()[ant] +=
            r.voltages[ant * kSamples + start + i] * code[i] * std::polar(1.0, -kTwoPi * turns);
      }
  }
  return signals;
}

/// The brightest direction of power(direction) above the horizon, to about 0.1 degrees.
template <class Power>
Direction brightest(const Power& power) {
  Direction best;
  double most = -1e300;
  const auto look = [&](const Direction& centre, double reach, double step) {
    for (double l = centre.l - reach; l <= centre.l + reach; l += step)
      for (double m = centre.m - reach; m <= centre.m + reach; m += step) {
        if (l * l + m * m >= 1) continue;
        const double p = power(Direction{l, m});
        if (p > most) most = p, best = {l, m};
      }
  };
  look({0, 0}, 1, 0.02);
  look(best, 0.02, 0.002);
  return best;
}

/// Runs correlate on the recording; drift visibilities of all pairs with autocorrelations.
VisibilityRecord correlate(const Recording& r, std::size_t n_chan, const reference::Scratch& scratch,
                           VisibilityHeader& header) {
  const auto bin =
      std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path() / "bin/correlate";
  const std::string in = scratch.file("tart.dada", r.stream),
                    out = scratch.path("tart" + std::to_string(n_chan));
  const std::string command = "'" + bin.string() + "' -q '" + in + "' --antennas '" + kData +
                              "/TART-mgtana-antennas.csv' --gains '" + kData +
                              "/TART-mgtana-gains.csv' --channels " + std::to_string(n_chan) +
                              " --integration 17ms --phase-centre none -o '" + out + "'";
  BOOST_REQUIRE(std::system(command.c_str()) == 0);
  VisibilityStreamReader reader(out);
  header = reader.header();
  VisibilityRecord record;
  BOOST_REQUIRE(reader.read(record));
  return record;
}

/// Sum over all pairs: the power of the beam, from visibilities of channel `chan`.
double beam_of_visibilities(const Recording& r, const VisibilityHeader& h, const VisibilityRecord& record,
                            std::size_t chan, const Direction& s, bool with_autos) {
  const auto phases = steering(r, s, h.channel_hz[chan]);
  double power = 0;
  for (std::size_t i = 0; i < h.baselines.size(); ++i) {
    const auto a = static_cast<std::size_t>(h.baselines[i].ant1),
               b = static_cast<std::size_t>(h.baselines[i].ant2);
    if (a == b && !with_autos) continue;
    const Complex aligned = Complex(record.data(i, chan, 0)) * std::conj(phases[a]) * phases[b];
    power += (a == b ? 1 : 2) * aligned.real();
  }
  return power;
}

/// Mean of |sum over antennas|^2 of the spectra of n_chan samples, for every channel; one channel: of the
/// samples.
std::vector<double> beam_of_voltages(const Recording& r, std::size_t n_chan, const Direction& s) {
  std::vector<double> power(n_chan);
  std::vector<std::array<Complex, kAntennas>> phases;
  for (std::size_t k = 0; k < n_chan; ++k)
    phases.push_back(steering(r, s,
                              kFreq_hz + (static_cast<double>(k) - static_cast<double>(n_chan / 2)) *
                                             kRate_hz / static_cast<double>(n_chan)));
  std::vector<Complex> x(n_chan), beam(n_chan);
  for (std::size_t start = 0; start < kSamples; start += n_chan) {
    std::fill(beam.begin(), beam.end(), 0);
    for (std::size_t ant = 0; ant < kAntennas; ++ant) {
      const auto from = r.voltages.begin() + static_cast<long>(ant * kSamples + start);
      x.assign(from, from + static_cast<long>(n_chan));
      if (n_chan > 1) fft(x, -1);
      // Channel k is the frequency (k - n/2) / n of the rate.
      for (std::size_t k = 0; k < n_chan; ++k)
        beam[k] += x[(k + n_chan / 2) % n_chan] * std::conj(phases[k][ant]);
    }
    for (std::size_t k = 0; k < n_chan; ++k) power[k] += std::norm(beam[k]);
  }
  // Noise of unit variance has unit power in every channel.
  for (double& p : power) p /= static_cast<double>(kSamples);
  return power;
}

}  // namespace

BOOST_AUTO_TEST_CASE(beams_towards_satellites_are_those_of_the_visibilities) {
  const Recording r = load();
  if (r.stream.size() < 4096) {
    BOOST_TEST_MESSAGE("zstd is not installed");
    std::exit(77);
  }
  const reference::Scratch scratch;
  VisibilityHeader one_header, many_header;
  const VisibilityRecord one = correlate(r, 1, scratch, one_header),
                         many = correlate(r, 64, scratch, many_header);

  // The sky outside of the satellites, from the visibilities: the level that they must stand out of. Most of
  // a satellite's power is within 0.5 MHz of its frequency.
  const auto brightness = [&](const Direction& s) {
    double power = 0;
    for (std::size_t chan = 24; chan <= 40; ++chan)
      power += beam_of_visibilities(r, many_header, many, chan, s, false);
    return power;
  };
  std::vector<double> sky;
  for (double l = -0.98; l < 1; l += 0.04)
    for (double m = -0.98; m < 1; m += 0.04)
      if (l * l + m * m < 0.98) sky.push_back(brightness({l, m}));
  std::sort(sky.begin(), sky.end());
  const double median = sky[sky.size() / 2];
  std::vector<double> deviations;
  for (double p : sky) deviations.push_back(std::abs(p - median));
  std::sort(deviations.begin(), deviations.end());
  const double sigma = 1.4826 * deviations[deviations.size() / 2];

  std::vector<Satellite> satellites = search_codes(r);
  double worst = 0;
  std::size_t n_bright = 0;
  for (Satellite& satellite : satellites) {
    const auto signals = despread(r, satellite);
    const auto power_behind_code = [&](const Direction& s) {
      const auto phases = steering(r, s, kFreq_hz);
      double power = 0;
      for (const auto& signal : signals) {
        Complex sum = 0;
        for (std::size_t ant = 0; ant < kAntennas; ++ant) sum += signal[ant] * std::conj(phases[ant]);
        power += std::norm(sum);
      }
      return power;
    };
    satellite.direction = brightest(power_behind_code);
    const Direction& s = satellite.direction;

    // The same beam, once from visibilities and once from voltages.
    const double from_voltages = beam_of_voltages(r, 1, s)[0];
    worst =
        std::max(worst, std::abs(beam_of_visibilities(r, one_header, one, 0, s, true) / from_voltages - 1));
    const std::vector<double> spectrum = beam_of_voltages(r, 64, s);
    const double most = *std::max_element(spectrum.begin(), spectrum.end());
    for (std::size_t k = 0; k < 64; ++k)
      worst = std::max(worst,
                       std::abs(beam_of_visibilities(r, many_header, many, k, s, true) - spectrum[k]) / most);
    const double sigmas = (brightness(s) - median) / sigma;
    // The strongest stand out of the sky of the whole band's noise; the code finds fainter ones.
    if (satellite.snr > 90) BOOST_TEST(sigmas > 4);
    n_bright += sigmas > 4;
    const double azimuth = std::atan2(s.l, s.m) * 360 / kTwoPi,
                 elevation = std::acos(std::hypot(s.l, s.m)) * 360 / kTwoPi;
    std::printf(
        "PRN %2zu: code %5.1f sigma, Doppler %6.0f Hz, azimuth %4.0f, elevation %3.0f, beam %5.1f sigma\n",
        satellite.prn, satellite.snr, satellite.doppler_hz, azimuth, elevation, sigmas);
  }
  std::printf("%zu satellites, %zu stand out; largest difference of the beams %.1e\n", satellites.size(),
              n_bright, worst);
  BOOST_TEST(satellites.size() == 11u);
  BOOST_TEST(n_bright >= 5u);
  BOOST_TEST(worst <= 1e-6);
}

BOOST_AUTO_TEST_SUITE_END()
