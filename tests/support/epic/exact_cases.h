// SPDX-License-Identifier: GPL-3.0-or-later
// Test cases of imagers that are exact, dft and corr, against the sums of their definition in float64: every
// product, autocorrelations in and out, antennas on slopes, with gains, delays and missing samples, over the
// whole visible hemisphere. A test file includes this inside its suite, after kExact, the methods, and after
// tests/support/epic/comparison.h, libcore/array/array_layout.h and Boost's data test cases.

constexpr double kWanted = 3e-5;  // of the peak: the exact methods' promise

BOOST_DATA_TEST_CASE(an_uneven_array_images_the_whole_hemisphere, boost::unit_test::data::make(kExact),
                     method) {
  for (const bool autos : {false, true})
    for (const std::size_t n_pol : {1, 2}) {
      EpicCase c;
      c.enu_m = random_array(25, 40, 5, 0.3, 3);
      c.n_pol = n_pol;
      c.n_spectra = 70;
      c.n_chan = 3;
      c.step_hz = 5e6;
      c.sources.push_back({-0.9, 0.1, std::sqrt(1 - 0.82)});
      c.gains = c.delays = true;
      const EpicRecording recording(c);
      const auto plan = [&] {
        EpicPlan all = all_sky(recording, 40);
        all.autos = autos;
        return all;
      };
      const auto imager = method.make(plan());
      const EpicImages images = recording.image(*imager, 64, 2);
      const Comparison result = compare(recording, plan(), images, 3);
      BOOST_TEST_MESSAGE(method.name << ": autos " << autos << ", " << n_pol << " polarisations: "
                                     << result.error << " of the peak, " << result.n << " pixels");
      BOOST_TEST(result.error <= kWanted);  // measured: dft 5.8e-8, corr 7.2e-8 directly, 8.2e-7 by its grid
      BOOST_TEST(images.n_spectra == 70);
      BOOST_TEST(images.weight == std::vector<double>(3, 1.0));
    }
}

BOOST_DATA_TEST_CASE(missing_and_flagged_samples_have_no_weight, boost::unit_test::data::make(kExact),
                     method) {
  EpicCase c;
  c.enu_m = random_array(18, 30, 3, 0, 5);
  c.n_chan = 6;
  c.n_spectra = 48;
  c.missing = 0.3;
  c.gains = true;
  EpicRecording recording(c);
  for (const bool autos : {false, true}) {
    const auto plan = [&] {
      EpicPlan some = all_sky(recording, 30);
      some.n_average = 3;
      some.autos = autos;
      return some;
    };
    const auto imager = method.make(plan());
    const EpicImages images = recording.image(*imager, 21, 3);
    const Comparison result = compare(recording, plan(), images, 5);
    BOOST_TEST_MESSAGE(method.name << ": missing samples, " << result.error << " of the peak");
    BOOST_TEST(result.error <= kWanted);  // measured: 5e-8, by the grid 8.4e-7
    const double pairs = recording.truth({0, 0, 1}, 0, 3, autos).pairs;
    const double all = 3.0 * 48 * (autos ? 18 * 18 : 18 * 17);
    BOOST_TEST(images.weight[0] == pairs / all, boost::test_tools::tolerance(1e-12));
  }
  // an antenna that is flagged is as good as never valid
  EpicPlan flagged = all_sky(recording, 30);
  flagged.flagged.assign(18, 0);
  flagged.flagged[4] = 1;
  EpicPlan shape = all_sky(recording, 30);
  const auto imager = method.make(std::move(flagged));
  for (auto& channel : recording.voltages)
    for (auto& spectrum : channel) spectrum[4] = {false, {}};
  recording.all_valid = false;
  const EpicImages images = recording.image(*imager, 48, 6);
  BOOST_TEST(compare(recording, shape, images, 7).error <= kWanted);
}

// Where codes are not taken, the same integers go in as floats.
BOOST_DATA_TEST_CASE(codes_are_imaged_as_their_integers, boost::unit_test::data::make(kExact), method) {
  EpicCase c;
  c.enu_m = random_array(300, 30, 3, 0, 8);  // more than one sum of 32 bits holds
  c.integers = true;
  c.gains = true;
  c.n_spectra = 35;
  EpicRecording recording(c);
  for (auto& antenna : recording.antennas)
    for (auto& factor : antenna.factor) factor /= std::sqrt(std::abs(factor));
  const auto imager = method.make(all_sky(recording, 32));
  BOOST_TEST(imager->takes_codes() == method.codes);
  for (const std::size_t piece : {35, 18}) {
    const EpicImages images = recording.image(*imager, piece, 1, imager->takes_codes());
    const Comparison result = compare(recording, all_sky(recording, 32), images, 41);
    BOOST_TEST_MESSAGE(method.name << (imager->takes_codes() ? ": codes, " : ": floats, ") << result.error
                                   << " of the peak");
    BOOST_TEST(result.n > 10u);
    BOOST_TEST(result.error <= kWanted);  // measured: dft 2e-6, corr 7.5e-8, by the grid 2.1e-6
  }
}

BOOST_DATA_TEST_CASE(any_choice_of_products_is_imaged, boost::unit_test::data::make(kExact), method) {
  EpicCase c;
  c.enu_m = random_array(9, 30, 3, 0, 5);
  c.n_spectra = 20;
  const EpicRecording recording(c);
  for (const unsigned wanted : {1u, 2u, 3u, 4u, 5u, 6u}) {
    const auto plan = [&] {
      EpicPlan some = all_sky(recording, 17);
      some.ny = 24;
      some.cell = 0.03;
      some.first = wanted & 1;
      some.second = wanted & 2;
      some.cross = wanted & 4;
      return some;
    };
    const auto imager = method.make(plan());
    const EpicImages images = recording.image(*imager, 20, 1);
    // without parallel hands there is no peak to compare with: that of XX is 1 and more
    const double error = compare(recording, plan(), images, 2).error;
    if (wanted != 4u) BOOST_TEST(error <= kWanted);
    const std::size_t at = plan().n_plane() - 2;
    const Vec3 unit = recording.direction(plan(), 3, 5);
    const std::complex<double> xy = recording.truth(unit, 0, 1, false).mean[0][1];
    if (wanted == 4u) BOOST_TEST(std::abs(double(images.planes(0, at, 5, 3)) - xy.real()) <= kWanted);
  }
}

BOOST_DATA_TEST_CASE(a_lone_antenna_is_no_image, boost::unit_test::data::make(kExact), method) {
  EpicCase c;
  c.enu_m = {{3, 4, 1}};
  const EpicRecording alone(c);
  const auto imager = method.make(all_sky(alone, 16));
  const EpicImages none = alone.image(*imager, 64, 1);
  BOOST_TEST(none.weight[0] == 0);
  for (const float value : none.planes) BOOST_TEST_REQUIRE(std::isnan(value));
  // beside antennas that are silent
  c.enu_m = random_array(12, 30, 3, 0, 5);
  EpicRecording recording(c);
  double power = 0;
  for (auto& spectrum : recording.voltages[0])
    for (std::size_t ant = 0; ant < 12; ++ant) {
      if (ant != 7) spectrum[ant].voltage = {};
      power += std::norm(spectrum[ant].voltage[0]) / (64.0 * 12 * 11);
    }
  const auto among = method.make(all_sky(recording, 16));
  for (const float value : recording.image(*among, 64, 1).planes)
    if (!std::isnan(value)) BOOST_TEST_REQUIRE(std::abs(double(value)) <= 3e-7 * power);
  // the same in integers, whose weights are not quite of length 1
  c.enu_m = random_array(70, 30, 3, 0, 5);
  c.integers = true;
  EpicRecording coarse(c);
  power = 0;
  for (auto& spectrum : coarse.voltages[0])
    for (std::size_t ant = 0; ant < 70; ++ant) {
      if (ant != 7) spectrum[ant].voltage = {};
      power += std::norm(spectrum[ant].voltage[0]) / (64.0 * 70 * 69);
    }
  const auto integers = method.make(all_sky(coarse, 16));
  for (const float value : coarse.image(*integers, 64, 1, integers->takes_codes()).planes)
    if (!std::isnan(value)) BOOST_TEST_REQUIRE(std::abs(double(value)) <= 3e-7 * power);
}

BOOST_DATA_TEST_CASE(unit_source_is_one, boost::unit_test::data::make(kExact), method) {
  const Vec3 w{0.28, 0.6, std::sqrt(1 - 0.28 * 0.28 - 0.36)};
  const double across = std::hypot(w[0], w[1]);
  const Vec3 u{-w[1] / across, w[0] / across, 0};
  const Vec3 v{-w[2] * u[1], w[2] * u[0], w[0] * u[1] - w[1] * u[0]};
  const double cell = 0.031, l = 11 * cell, m = -6 * cell, n = std::sqrt(1 - l * l - m * m);
  EpicCase c;
  c.enu_m = random_array(30, 40, 5, 0.2, 9);
  c.noise = 0;
  c.n_pol = 1;
  c.sources = {{l * u[0] + m * v[0] + n * w[0], l * u[1] + m * v[1] + n * w[1], m * v[2] + n * w[2]}};
  EpicRecording recording(c);
  recording.geometry.axes = {u, v, w};
  const auto plan = [&] {
    EpicPlan aside = all_sky(recording, 40);
    aside.ny = 31;
    aside.cell = cell;
    return aside;
  };
  const auto imager = method.make(plan());
  const EpicImages images = recording.image(*imager, 64, 1);
  BOOST_TEST(compare(recording, plan(), images, 3).error <= kWanted);
  double mean = 0;
  for (const auto& spectrum : recording.voltages[0]) mean += std::norm(spectrum[0].voltage[0]) / 64;
  BOOST_TEST(double(images.planes(0, 0, 15 - 6, 20 - 11)) == mean, boost::test_tools::tolerance(kWanted));
}

BOOST_DATA_TEST_CASE(any_list_of_directions_is_imaged, boost::unit_test::data::make(kExact), method) {
  if (method.images_only) return;
  EpicCase c;
  c.enu_m = random_array(21, 40, 5, 0.2, 9);
  c.n_spectra = 33;
  EpicRecording recording(c);
  recording.geometry.directions = {
      {0, 0, 1}, c.sources[0], {0.6, 0.64, std::sqrt(1 - 0.36 - 0.4096)}, {0.6, 0.64, -0.48}};
  const auto plan = [&] {
    EpicPlan list = recording.plan();
    list.n_direction = 4;
    return list;
  };
  const auto imager = method.make(plan());
  const EpicImages images = recording.image(*imager, 33, 1);
  BOOST_TEST(images.planes.extent(3) == 4u);
  BOOST_TEST(compare(recording, plan(), images, 1).error <= kWanted);
}

BOOST_DATA_TEST_CASE(threads_change_no_bit_and_pieces_only_rounding, boost::unit_test::data::make(kExact),
                     method) {
  EpicCase c;
  c.enu_m = random_array(19, 40, 5, 0.2, 9);
  c.n_chan = 5;
  c.n_spectra = 90;
  c.missing = 0.1;
  const EpicRecording recording(c);
  const auto images = [&](unsigned n_threads, std::size_t piece, std::size_t batch) {
    EpicPlan plan = all_sky(recording, 32);
    plan.n_threads = n_threads;
    const auto imager = method.make(std::move(plan));
    recording.image(*imager, 17, 1);  // what was before leaves no trace
    return recording.image(*imager, piece, batch);
  };
  const EpicImages one = images(1, 90, 5), three = images(3, 90, 5), pieces = images(2, 13, 2);
  double worst = 0, peak = 0;
  for (std::size_t i = 0; i < one.planes.size(); ++i) {
    const float a = one.planes.data()[i], b = three.planes.data()[i], d = pieces.planes.data()[i];
    BOOST_TEST_REQUIRE(std::isnan(a) == std::isnan(b));
    if (std::isnan(a)) continue;
    BOOST_TEST_REQUIRE(a == b);
    worst = std::max(worst, std::abs(double(a) - double(d)));
    peak = std::max(peak, std::abs(double(a)));
  }
  BOOST_TEST(worst <= 1e-6 * peak);  // measured: 1.1e-7
}

// The real station: 13 m from its lowest antenna to its highest, 88 MHz.
BOOST_DATA_TEST_CASE(lwa_sv_is_imaged_down_to_20_degrees, boost::unit_test::data::make(kExact), method) {
  EpicCase c;
  for (const Antenna& antenna : builtin_array("lwa-sv").antennas) c.enu_m.push_back(antenna.enu_m);
  c.freq_hz = 88e6;
  c.n_spectra = 8;
  const double low = std::sin(20 * kRadPerDeg);
  c.sources = {{0.3, -0.4, std::sqrt(0.75)}, {std::sqrt(1 - low * low), 0, low}};
  const EpicRecording recording(c);
  const auto imager = method.make(all_sky(recording, 128));
  const EpicImages images = recording.image(*imager, 8, 1);
  const Comparison result = compare(recording, all_sky(recording, 128), images, 173);
  BOOST_TEST_MESSAGE(method.name << ": LWA-SV " << result.error << " of the peak, " << result.n << " pixels");
  BOOST_TEST(result.error <= kWanted);  // measured: 4e-7, by the grid 2.1e-6
}

// A field 20 degrees wide about the zenith and about centres 40 and 85 degrees from there, whose corners are
// as exact as its middle: MWA-128T, up to 3 km wide, so that w reaches a thousand wavelengths.
BOOST_DATA_TEST_CASE(a_small_field_far_from_the_zenith_is_exact_to_its_corners,
                     boost::unit_test::data::make(kExact), method) {
  for (const double zenith_deg : {0.0, 40.0, 85.0}) {
    const double zenith = zenith_deg * kRadPerDeg, azimuth = 215 * kRadPerDeg;
    const Vec3 w{std::sin(zenith) * std::sin(azimuth), std::sin(zenith) * std::cos(azimuth),
                 std::cos(zenith)};
    const Vec3 u{std::cos(azimuth), -std::sin(azimuth), 0};  // turned, as north is
    const Vec3 v{w[1] * u[2] - w[2] * u[1], w[2] * u[0] - w[0] * u[2], w[0] * u[1] - w[1] * u[0]};
    const std::size_t size = method.images_only ? 600 : 72;
    const double cell = 20 * kRadPerDeg / static_cast<double>(size);
    EpicCase c;
    for (const Antenna& antenna : builtin_array("mwa-128t").antennas) c.enu_m.push_back(antenna.enu_m);
    c.freq_hz = 150e6;
    c.n_spectra = 4;
    c.n_pol = 2;
    c.noise = 0.01;
    c.sources.clear();
    for (const auto& [x, y] : {std::pair{0.0, 0.0}, std::pair{0.47, 0.47}, std::pair{-0.47, 0.4}}) {
      const double l = x * 20 * kRadPerDeg, m = y * 20 * kRadPerDeg, n = std::sqrt(1 - l * l - m * m);
      c.sources.push_back(
          {l * u[0] + m * v[0] + n * w[0], l * u[1] + m * v[1] + n * w[1], l * u[2] + m * v[2] + n * w[2]});
    }
    EpicRecording recording(c);
    recording.geometry.axes = {u, v, w};
    const auto plan = [&] {
      EpicPlan aside = all_sky(recording, size);
      aside.cell = cell;
      return aside;
    };
    const auto imager = method.make(plan());
    const EpicImages images = recording.image(*imager, 4, 1);
    const Comparison result = compare(recording, plan(), images, size * size / 400 + 1);
    BOOST_TEST_MESSAGE(method.name << ": " << zenith_deg << " deg from the zenith, " << result.error
                                   << " of the peak, " << result.n << " pixels");
    BOOST_TEST(result.n > 100u);
    BOOST_TEST(result.error <= kWanted);
  }
}

// Weights of pairs in cells of a uv grid, with samples missing: sums over pairs in float64 with weights that
// are looked up one by one. The second accumulation, of other antennas that miss samples, is weighed anew.
BOOST_DATA_TEST_CASE(weights_of_pairs_count_valid_samples, boost::unit_test::data::make(kExact), method) {
  if (!method.weighs) return;
  for (const std::size_t n_ant : {14, 70})
    for (const bool missing : {false, true}) {
      EpicCase c;
      c.enu_m = random_array(n_ant, 40, 5, 0.3, 3);
      c.n_spectra = 40;
      c.n_chan = 4;
      c.step_hz = 5e6;
      c.gains = c.delays = true;
      c.missing = missing ? 0.2 : 0;
      EpicRecording recording(c);
      constexpr std::size_t kSize = 30;
      const auto plan = [&] {
        EpicPlan weighed = all_sky(recording, kSize);
        weighed.n_average = 2;
        weighed.flagged.assign(n_ant, 0);
        weighed.flagged[5] = 1;
        weighed.weighting.emplace();
        weighed.weighting->step_lambda = 1e-3;
        weighed.weighting->weigh = [&](std::span<const PairPoint> points, std::span<double> factors) {
          std::vector<reference::WeighedVisibility> visibilities;
          for (const PairPoint& point : points) visibilities.push_back({point.u, point.v, point.count});
          const auto weights =
              reference::imaging_weights(visibilities, {.mode = 'u'}, kSize, kSize, 2.0 / kSize);
          std::copy(weights.begin(), weights.end(), factors.begin());
        };
        return weighed;
      };
      const auto imager = method.make(plan());
      for (int turn = 0; turn < 2; ++turn) {
        if (turn == 1)
          for (auto& channel : recording.voltages)
            for (std::size_t t = 0; t < channel.size(); t += 3) channel[t][7] = {false, {}};
        if (turn == 1) recording.all_valid = false;
        const EpicImages images = recording.image(*imager, 16, 2);
        double worst = 0, peak = 0;
        for (std::size_t image = 0; image < 2; ++image) {
          // [channel][pair] in order
          std::vector<reference::WeighedVisibility> visibilities;
          std::vector<std::complex<double>> products[2];
          std::vector<Vec3> baselines;
          std::vector<double> hz;
          for (std::size_t chan = 2 * image; chan < 2 * image + 2; ++chan)
            for (std::size_t a = 0; a < n_ant; ++a)
              for (std::size_t b = a + 1; b < n_ant; ++b) {
                if (a == 5 || b == 5) continue;
                const Vec3 baseline = c.enu_m[a] - c.enu_m[b];
                const double per_m = recording.shape.channel_hz[chan] / kSpeedOfLight_m_s;
                std::complex<double> sum[2];
                double n = 0;
                for (const auto& spectrum : recording.voltages[chan]) {
                  if (!spectrum[a].valid || !spectrum[b].valid) continue;
                  ++n;
                  for (std::size_t p = 0; p < 2; ++p)
                    sum[p] += recording.antennas[a].factor[p] * spectrum[a].voltage[p] *
                              std::conj(recording.antennas[b].factor[p] * spectrum[b].voltage[p]);
                }
                const double delay_s = recording.antennas[a].delay_s - recording.antennas[b].delay_s;
                for (std::size_t p = 0; p < 2; ++p)
                  products[p].push_back(sum[p] *
                                        std::polar(1.0, kTwoPi * per_m * kSpeedOfLight_m_s * delay_s));
                visibilities.push_back({baseline[0] * per_m, baseline[1] * per_m, n});
                baselines.push_back(baseline);
                hz.push_back(recording.shape.channel_hz[chan]);
              }
          const auto weights =
              reference::imaging_weights(visibilities, {.mode = 'u'}, kSize, kSize, 2.0 / kSize);
          double of_all = 0;
          for (std::size_t i = 0; i < weights.size(); ++i) of_all += weights[i] * visibilities[i].weight;
          for (std::size_t pixel = 0; pixel < kSize * kSize; ++pixel) {
            const Vec3 unit = recording.direction(plan(), pixel % kSize, pixel / kSize);
            if (std::isnan(unit[0])) continue;
            for (std::size_t p = 0; p < 2; ++p) {
              const double got = double(images.planes(image, p, pixel / kSize, pixel % kSize));
              peak = std::max(peak, std::abs(got));
              if (pixel % (n_ant > 20 ? 41 : 3) != 0) continue;
              double wanted = 0;
              for (std::size_t i = 0; i < weights.size(); ++i) {
                const double turns = hz[i] / kSpeedOfLight_m_s * dot(baselines[i], unit);
                wanted += weights[i] * (products[p][i] * std::polar(1.0, -kTwoPi * turns)).real() / of_all;
              }
              worst = std::max(worst, std::abs(got - wanted));
            }
          }
        }
        BOOST_TEST_MESSAGE(method.name << ", " << n_ant << " antennas, weights: " << worst / peak
                                       << " of the peak");
        BOOST_TEST(worst <= kWanted * peak);
      }
    }
}

// A channel of which nothing is known adds nothing to an image of several, and has none by itself.
BOOST_DATA_TEST_CASE(channels_that_are_left_out_add_nothing, boost::unit_test::data::make(kExact), method) {
  EpicCase c;
  c.enu_m = random_array(12, 30, 3, 0, 5);
  c.n_chan = 4;
  c.n_spectra = 20;
  c.gains = true;
  const EpicRecording recording(c);
  for (const bool autos : {false, true}) {
    const auto plan = [&](std::size_t n_average) {
      EpicPlan some = all_sky(recording, 20);
      some.left_out = {0, 1, 1, 0};
      some.n_average = n_average;
      some.autos = autos;
      return some;
    };
    const auto two = method.make(plan(2)), each = method.make(plan(1));
    const EpicImages averaged = recording.image(*two, 20, 4), single = recording.image(*each, 20, 4);
    for (std::size_t i = 0; i < averaged.planes.size() / 2; ++i) {
      const std::size_t n = averaged.planes.size() / 2;
      for (const std::size_t image : {0, 1}) {
        const float of_two = averaged.planes.data()[image * n + i];
        const float alone = single.planes.data()[image * 3 * n + i];
        BOOST_TEST_REQUIRE(std::isnan(of_two) == std::isnan(alone));
        if (!std::isnan(alone)) BOOST_TEST_REQUIRE(std::abs(double(of_two) - double(alone)) <= 3e-6);
        BOOST_TEST_REQUIRE(std::isnan(single.planes.data()[(1 + image) * n + i]));
      }
    }
    BOOST_TEST(averaged.weight == std::vector<double>(2, 0.5));
    BOOST_TEST(single.weight == (std::vector<double>{1, 0, 0, 1}));
  }
}

// Half of the sum of both polarisations, made of sums of pairs, is half of the sum of their images.
BOOST_DATA_TEST_CASE(total_power_is_half_of_both_polarisations, boost::unit_test::data::make(kExact),
                     method) {
  if (!method.weighs) return;  // corr
  EpicCase c;
  c.enu_m = random_array(40, 30, 3, 0.1, 5);
  c.n_chan = 4;
  c.step_hz = 3e6;
  c.n_spectra = 24;
  c.gains = c.delays = true;
  const EpicRecording recording(c);
  for (const std::size_t size : {40, 180})
    for (const std::size_t n_average : {1, 2})
      for (const bool autos : {false, true}) {
        const auto plan = [&](bool total) {
          EpicPlan some = all_sky(recording, size);
          some.n_average = n_average;
          some.autos = autos;
          some.cross = false;
          some.total = total;
          some.second = !total;
          return some;
        };
        const auto one = method.make(plan(true)), both = method.make(plan(false));
        for (int turn = 0; turn < 2; ++turn) {
          const EpicImages total = recording.image(*one, 24, 4), apart = recording.image(*both, 24, 4);
          BOOST_TEST_REQUIRE(total.planes.extent(1) == 1u);
          double worst = 0, peak = 0;
          for (std::size_t image = 0; image < total.planes.extent(0); ++image)
            for (std::size_t pixel = 0; pixel < size * size; ++pixel) {
              const auto wanted = (double(apart.planes(image, 0, pixel / size, pixel % size)) +
                                   double(apart.planes(image, 1, pixel / size, pixel % size))) /
                                  2;
              const auto got = double(total.planes(image, 0, pixel / size, pixel % size));
              BOOST_TEST_REQUIRE(std::isnan(wanted) == std::isnan(got));
              if (std::isnan(got)) continue;
              worst = std::max(worst, std::abs(got - wanted));
              peak = std::max(peak, std::abs(got));
            }
          BOOST_TEST(worst <= 3e-6 * peak);
        }
      }
}

// A field that moves: what was planned for it before serves, where it does, with the sky of its own time.
BOOST_DATA_TEST_CASE(a_field_that_moves_shows_its_own_sky, boost::unit_test::data::make(kExact), method) {
  EpicCase c;
  c.enu_m = random_array(60, 400, 2, 0.02, 5);
  c.freq_hz = 150e6;
  c.n_chan = 2;
  c.step_hz = 1e6;
  c.n_spectra = 8;
  c.sources = {{0.1, 0.5, std::sqrt(0.74)}, {0.02, 0.42, std::sqrt(1 - 0.0004 - 0.1764)}};
  EpicRecording recording(c);
  const std::size_t size = method.images_only ? 200 : 40;
  const auto plan = [&] {
    EpicPlan small = all_sky(recording, size);
    small.cell = 0.3 / static_cast<double>(size);
    small.n_average = 2;
    return small;
  };
  const auto imager = method.make(plan());
  for (const double turn : {0.0, 1e-4, 2e-3, 0.1}) {
    const double zenith = 0.5 + turn, azimuth = 0.1 - turn;
    const Vec3 w{std::sin(zenith) * std::sin(azimuth), std::sin(zenith) * std::cos(azimuth),
                 std::cos(zenith)};
    const Vec3 u{std::cos(azimuth), -std::sin(azimuth), 0};
    const Vec3 v{w[1] * u[2] - w[2] * u[1], w[2] * u[0] - w[0] * u[2], w[0] * u[1] - w[1] * u[0]};
    recording.geometry.axes = {u, v, w};
    const EpicImages images = recording.image(*imager, 8, 2);
    const Comparison result = compare(recording, plan(), images, size * size / 200 + 1);
    BOOST_TEST_MESSAGE(method.name << ": turned by " << turn << ", " << result.error << " of the peak");
    BOOST_TEST(result.error <= kWanted);
  }
}
