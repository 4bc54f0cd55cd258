// SPDX-License-Identifier: GPL-3.0-or-later
// epic-image as a whole: real voltages of TART against correlate and idg-grid, where simulated sources come
// out in images of LWA-SV, which stands on a slope, and streams that were tracked or came through long
// cables.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdlib>

#include "libcore/base/constants.h"
#include "libcore/base/error.h"
#include "libcore/formats/fits/image.h"
#include "libcore/measures/coordinates.h"
#include "libcore/sky/projection.h"
#include "libcore/streams/voltage_stream.h"
#include "tests/reference/scratch.h"

using namespace apsyn;

BOOST_AUTO_TEST_SUITE(epic)

namespace {

const std::string kData = APSYN_TEST_DATA;

std::string tool(const std::string& name) {
  const auto self = std::filesystem::read_symlink("/proc/self/exe");
  return (self.parent_path().parent_path() / "bin" / name).string();
}
void run(const std::string& command) {
  BOOST_TEST_REQUIRE(std::system((command + " 2>/dev/null").c_str()) == 0, command);
}

struct Difference {
  double worst = 0, peak = 0;
  bool same_place = false;  ///< of the peaks
};

Difference compare(const Image& a, const Image& b) {
  Difference out;
  std::size_t peak_a = 0, peak_b = 0;
  for (std::size_t i = 0; i < a.pixels.size(); ++i) {
    const double x = a.pixels.data()[i], y = b.pixels.data()[i];
    BOOST_TEST_REQUIRE(std::isnan(x) == std::isnan(y));
    if (std::isnan(x)) continue;
    out.worst = std::max(out.worst, std::abs(x - y));
    if (!(x <= a.pixels.data()[peak_a])) peak_a = i;
    if (!(y <= b.pixels.data()[peak_b])) peak_b = i;
  }
  out.peak = a.pixels.data()[peak_a];
  out.same_place = peak_a == peak_b;
  return out;
}

/// Where the brightest peak is, as direction cosines, from a parabola through the logarithms of its
/// neighbours.
std::array<double, 2> peak_of(const Image& image) {
  const std::size_t nx = image.pixels.extent(3), ny = image.pixels.extent(2);
  std::size_t px = 1, py = 1;
  const auto at = [&](std::size_t x, std::size_t y) { return image.pixels(0, 0, y, x); };
  for (std::size_t y = 1; y + 1 < ny; ++y)
    for (std::size_t x = 1; x + 1 < nx; ++x)
      if (!(at(x, y) <= at(px, py)) && !std::isnan(at(x, y))) px = x, py = y;
  const auto off = [&](double low, double middle, double high) {
    return (std::log(low) - std::log(high)) / 2 / (std::log(low) - 2 * std::log(middle) + std::log(high));
  };
  const double x = static_cast<double>(px) + off(at(px - 1, py), at(px, py), at(px + 1, py));
  const double y = static_cast<double>(py) + off(at(px, py - 1), at(px, py), at(px, py + 1));
  return {(static_cast<double>(nx / 2) - x) * image.info.cell_rad,
          (y - static_cast<double>(ny / 2)) * image.info.cell_rad};
}

}  // namespace

BOOST_AUTO_TEST_CASE(real_satellites_stand_where_the_correlator_sees_them) {
  const reference::Scratch scratch;
  const std::string stream = scratch.path("tart.dada");
  if (std::system(("zstd -dqo '" + stream + "' '" + kData + "/TART-mgtana-16ms.dada.zst'").c_str()) != 0)
    std::exit(77);
  const std::string input = " '" + stream + "' --antennas '" + kData +
                            "/TART-mgtana-antennas.csv' --gains '" + kData +
                            "/TART-mgtana-gains.csv' --channels 16 --no-autos -o '" + scratch.path("");
  run(tool("correlate") + input + "obs.ms' --integration 1s");
  run(tool("idg-grid") + " '" + scratch.path("obs.ms") + "' -o '" + scratch.path("obs") +
      "' --size 128 --scale 0.9deg --weight natural --accuracy 1e-6 --no-psf");
  const Image wanted = read_fits_image(scratch.path("obs-dirty.fits"));
  for (const char* method : {"fft --padding 1.25 --kernel 9", "dft", "corr"}) {
    const std::string name = scratch.path("epic-0.fits");
    run(tool("epic-image") + input +
        "epic-%d.fits' --size 128 --scale 0.9deg --accumulate 1s "
        "--average-channels 16 --overwrite --method " +
        method);
    const Image image = read_fits_image(name);
    const Difference difference = compare(wanted, image);
    BOOST_TEST_MESSAGE(method << ": " << difference.worst / difference.peak << " of the peak");
    BOOST_TEST(difference.worst <= 1e-4 * difference.peak);  // 6e-6
    BOOST_TEST(difference.same_place);
    BOOST_TEST(separation_rad(wanted.info.centre, image.info.centre) < 1e-10);
    BOOST_TEST(wanted.info.freq_hz == image.info.freq_hz);
  }
}

BOOST_AUTO_TEST_CASE(sources_stand_where_they_are_down_to_20_degrees) {
  const reference::Scratch scratch;
  const std::string stream = scratch.path("lwa.dada"), sky = scratch.path("sky.txt");
  // Overhead at the start, 12:00 UTC on 2024-01-01: right ascension 173.44 deg, declination 34.48 deg.
  struct Place {
    double ra_deg, dec_deg;
  };
  for (const Place& place : {Place{173, 34}, Place{215, 50}, Place{120, 10}, Place{245.5, 30}}) {
    const auto ra_s = place.ra_deg * 240;
    scratch.file("sky.txt",
                 fmt::format("Format = Name, Type, Ra, Dec, I\na, POINT, {}:{}:{}, +{:.4f}deg, 1\n",
                             static_cast<int>(ra_s) / 3600, static_cast<int>(ra_s) / 60 % 60,
                             std::fmod(ra_s, 60.0), place.dec_deg));
    run(tool("simulate") + " --array lwa-sv --sky '" + sky +
        "' --freq 70MHz --bandwidth 25kHz --bits 32 --duration 2ms --overwrite -o '" + stream + "'");
    run(tool("epic-image") + " '" + stream + "' --method fft --size 360 --accumulate 1s --overwrite -o '" +
        scratch.path("image-%d.fits'"));
    const Image image = read_fits_image(scratch.path("image-0.fits"));
    const DirectionCosines true_place =
        project(image.info.centre, {place.ra_deg * kRadPerDeg, place.dec_deg * kRadPerDeg});
    const auto found = peak_of(image);
    const double off = std::hypot(found[0] - true_place.l, found[1] - true_place.m);
    BOOST_TEST_MESSAGE("elevation " << std::asin(true_place.n) / kRadPerDeg << " deg: " << off / kRadPerDeg
                                    << " pixels of a degree");
    BOOST_TEST(off <= 0.02 * kRadPerDeg);
  }
}

// What tracking and cables have done to the samples is undone: the image is that of the samples before.
BOOST_AUTO_TEST_CASE(tracking_and_long_cables_leave_the_image_as_it_is) {
  const reference::Scratch scratch;
  const std::string plain = scratch.path("plain.dada"), tracked = scratch.path("tracked.dada");
  scratch.file("sky.txt",
               "Format = Name, Type, Ra, Dec, I\na, POINT, 11:32:00, 34.00.00, 2\nb, POINT, 9:00:00, "
               "10.00.00, 1\n");
  run(tool("simulate") + " --array lwa-sv --sky '" + scratch.path("sky.txt") +
      "' --freq 70MHz --bandwidth 50kHz --channels 2 --bits 32 --duration 2ms -o '" + plain + "'");
  const SkyDirection followed{120 * kRadPerDeg, 60 * kRadPerDeg};
  {
    VoltageReader reader(plain);
    VoltageHeader header = reader.header();
    VoltageBlock block;
    BOOST_TEST_REQUIRE(reader.read(block, 100000));
    SkyFrame sky(*header.layout.site);
    const Vec3 towards = sky.enu_from_direction(add_picoseconds(header.start, 1000000000), followed);
    for (std::size_t ant = 0; ant < header.n_ant; ++ant) {
      Antenna& antenna = header.layout.antennas[ant];
      antenna.cable_delay_s = 1e-9 * static_cast<double>(ant * 37 % 301);
      const double delay_s = antenna.cable_delay_s + dot(antenna.enu_m, towards) / kSpeedOfLight_m_s;
      for (std::size_t chan = 0; chan < header.n_chan; ++chan) {
        const auto turn = std::polar(1.0, -kTwoPi * std::fmod(header.channel_freq_hz(chan) * delay_s, 1.0));
        for (std::size_t t = 0; t < block.n_time; ++t)
          for (std::size_t pol = 0; pol < header.n_pol; ++pol) {
            float* sample = &block.samples_f32(t, chan, ant, pol, 0);
            const auto turned = turn * std::complex<double>(sample[0], sample[1]);
            sample[0] = static_cast<float>(turned.real());
            sample[1] = static_cast<float>(turned.imag());
          }
      }
    }
    header.phase_centre = followed;
    header.tracking = "sidereal";
    VoltageWriter writer(tracked, header, false);
    writer.write(block.samples_f32.data(), block.samples_f32.size() * sizeof(float));
    writer.commit();
  }
  for (const std::string method : {"fft", "dft", "corr"}) {
    const auto image = [&](const std::string& stream) {
      const std::string name = scratch.path("image.fits");
      run(tool("epic-image") + " '" + stream +
          "' --size 64 --average-channels 2 --accumulate 1s --no-autos --method " + method +
          " --overwrite -o '" + name + "'");
      return read_fits_image(name, 0);
    };
    const Difference difference = compare(image(plain), image(tracked));
    BOOST_TEST_MESSAGE(method << ": " << difference.worst / difference.peak << " of the peak");
    // fft 3.5e-6, float32's rounding over the response of its kernels by the horizon, the others 9e-8
    BOOST_TEST(difference.worst <= (method == "fft" ? 1e-5 : 3e-7) * difference.peak);
    BOOST_TEST(difference.same_place);
  }
}

// Weights of baselines are those of the gridder, image by image and over the channels of each.
BOOST_AUTO_TEST_CASE(weights_are_those_of_the_gridder) {
  const reference::Scratch scratch;
  const std::string stream = scratch.path("mwa.dada"), centre = "'02h40m00s -20d00m00s'";
  scratch.file("sky.txt",
               "Format = Name, Type, Ra, Dec, I\na, POINT, 02:40:30, -19.55.00, 2\nb, POINT, 02:50:00, "
               "-22.00.00, 1\n");
  run(tool("simulate") + " --array mwa-32t --sky '" + scratch.path("sky.txt") +
      "' --noise 10Jy --freq 150MHz --bandwidth 320kHz --channels 8 --bits 8 --duration 20ms -o '" + stream +
      "'");
  const std::string input = fmt::format(" '{}' --no-autos --overwrite -o '{}", stream, scratch.path(""));
  run(tool("correlate") + input + "obs.ms' --integration 20ms --phase-centre " + centre);
  for (const std::string weight : {"uniform", "briggs:0", "briggs:-1", "briggs:0.5 --weight-rank-filter 0"}) {
    // the shortest fringes lie within the weights' grid
    const std::string image = " --size 160 --scale 6amin --weight " + weight;
    run(tool("idg-grid") + " '" + scratch.path("obs.ms") + "' -o '" + scratch.path("obs") + "'" + image +
        " --accuracy 1e-6 --no-psf --overwrite");
    const Image wanted = read_fits_image(scratch.path("obs-dirty.fits"));
    run(tool("epic-image") + input + "epic-%d.fits' --accumulate 20ms --average-channels 8 --centre " +
        centre + image);
    const Difference difference = compare(wanted, read_fits_image(scratch.path("epic-0.fits")));
    BOOST_TEST_MESSAGE(weight << ": " << difference.worst / difference.peak << " of the peak "
                              << difference.peak);
    BOOST_TEST(difference.worst <= 1e-4 * difference.peak);
    BOOST_TEST(difference.same_place);
    run(tool("epic-image") + input + "natural-%d.fits' --accumulate 20ms --average-channels 8 --centre " +
        centre + " --size 160 --scale 6amin");
    const Difference other = compare(wanted, read_fits_image(scratch.path("natural-0.fits")));
    BOOST_TEST(other.worst > 1e-2 * difference.peak, weight << " changes nothing");
  }
}

// A small field far from the zenith, as the correlator and the gridder make it: of channels as they come, and
// of fine ones, for which antennas are delayed towards the centre; the later half of the time is another
// image.
BOOST_AUTO_TEST_CASE(a_centre_far_from_the_zenith_is_imaged_as_the_correlator_does) {
  const reference::Scratch scratch;
  const std::string stream = scratch.path("mwa.dada"), centre = "'03h20m00s +10d00m00s'";
  scratch.file("sky.txt",
               "Format = Name, Type, Ra, Dec, I\na, POINT, 03:20:30, 10.05.00, 2\nb, POINT, 03:34:00, "
               "07.00.00, 1\nc, POINT, 03:03:00, 13.30.00, 1\n");
  // Overhead at 12:00 UTC on 2024-01-01 are right ascension 2h28m and declination -26.7 deg: 39 deg from
  // there.
  run(tool("simulate") + " --array mwa-32t --sky '" + scratch.path("sky.txt") +
      "' --freq 150MHz --bandwidth 160kHz --channels 4 --bits 32 --duration 40ms "
      "-o '" +
      stream + "'");
  for (const int fine : {1, 8}) {
    const std::string input =
        fmt::format(" '{}' --channels {} --no-autos --overwrite -o '{}", stream, fine, scratch.path(""));
    run(tool("correlate") + input + "obs.ms' --integration 20ms --phase-centre " + centre);
    run(tool("idg-grid") + " '" + scratch.path("obs.ms") + "' -o '" + scratch.path("obs") +
        "' --size 160 --scale 4amin --weight natural --accuracy 1e-6 --no-psf --overwrite");
    const Image wanted = read_fits_image(scratch.path("obs-dirty.fits"));
    for (const std::string method : {"corr", "dft", "fft --padding 1.25 --kernel 9"}) {
      run(tool("epic-image") + input + "epic-%d.fits' --size 160 --scale 4amin --accumulate 20ms --centre " +
          centre + " --average-channels " + std::to_string(4 * fine) + " --method " + method);
      Image image = read_fits_image(scratch.path("epic-0.fits"));
      const Image second = read_fits_image(scratch.path("epic-1.fits"));
      BOOST_TEST(separation_rad(wanted.info.centre, image.info.centre) < 1e-10);
      BOOST_TEST(separation_rad(wanted.info.centre, second.info.centre) < 1e-10);
      for (std::size_t i = 0; i < image.pixels.size(); ++i)
        image.pixels.data()[i] = (image.pixels.data()[i] + second.pixels.data()[i]) / 2;
      const Difference difference = compare(wanted, image);
      BOOST_TEST_MESSAGE(method << ", " << fine << " fine channels: " << difference.worst / difference.peak
                                << " of the peak " << difference.peak);
      BOOST_TEST(difference.worst <= 1e-4 * difference.peak);
      BOOST_TEST(difference.same_place);
      const auto found = peak_of(image);
      const DirectionCosines place =
          project(image.info.centre, {50.125 * kRadPerDeg, (10 + 5 / 60.0) * kRadPerDeg});
      BOOST_TEST(std::hypot(found[0] - place.l, found[1] - place.m) <= 0.2 * image.info.cell_rad);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
