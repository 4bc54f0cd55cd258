// SPDX-License-Identifier: GPL-3.0-or-later
// Test cases of CUDA imagers that take spectra from the device: raw samples of 4 and 8 bits, with samples
// missing, and floats. A test file includes this inside its suite, after kDevice, the methods and what they
// may be off by, and after tests/support/epic/comparison.h, tests/support/resident_spectra.cuh and Boost's
// data test cases.

BOOST_DATA_TEST_CASE(samples_on_the_device_are_imaged_like_those_of_the_host,
                     boost::unit_test::data::make(kDevice), method) {
  for (const int n_bit : {4, 8, 32}) {
    EpicCase c;
    c.enu_m = random_array(90, 30, 3, 0, 8);
    c.n_chan = 4;
    c.n_spectra = 100;
    c.integers = n_bit < 32;
    c.missing = n_bit < 32 ? 0.2 : 0;
    const EpicRecording recording(c);
    const support::ResidentShape shape{c.n_spectra, c.n_chan, c.enu_m.size(), c.n_pol};
    std::vector<std::uint8_t> raw, valid(shape.n_ant * c.n_spectra);
    std::vector<float2> floats(c.n_spectra * c.n_chan * shape.n_input());
    for (std::size_t t = 0; t < c.n_spectra; ++t)
      for (std::size_t chan = 0; chan < c.n_chan; ++chan)
        for (std::size_t ant = 0; ant < shape.n_ant; ++ant)
          for (std::size_t pol = 0; pol < c.n_pol; ++pol) {
            const auto& sample = recording.voltages[chan][t][ant];
            valid[ant * c.n_spectra + t] = sample.valid;
            // what is missing holds anything
            const std::complex<double> e = sample.valid ? sample.voltage[pol] : std::complex<double>(5, -7);
            const int re = static_cast<int>(e.real()), im = static_cast<int>(e.imag());
            if (n_bit == 4) raw.push_back(static_cast<std::uint8_t>(re << 4 | (im & 15)));
            if (n_bit == 8)
              raw.insert(raw.end(), {static_cast<std::uint8_t>(re), static_cast<std::uint8_t>(im)});
            floats[(chan * c.n_spectra + t) * shape.n_input() + ant * c.n_pol + pol] = {
                static_cast<float>(e.real()), static_cast<float>(e.imag())};
          }
    const auto source =
        n_bit == 32 ? std::make_unique<support::ResidentSpectra>(shape, floats.data())
                    : std::make_unique<support::ResidentSpectra>(shape, raw.data(), n_bit == 4, valid);
    const auto plan = [&] {
      EpicPlan all = all_sky(recording, 24);
      all.n_average = 2;
      return all;
    };
    const auto imager = method.make(plan());
    EpicImages images;
    for (const std::size_t piece : {100, 37}) {
      imager->start(recording.geometry);
      for (std::size_t first = 0; first < c.n_spectra; first += piece)
        imager->add_from(*source, static_cast<std::int64_t>(first), std::min(piece, c.n_spectra - first));
      imager->take(images);
      const Comparison result = compare(recording, plan(), images, 11);
      BOOST_TEST_MESSAGE(method.name << ": " << n_bit << " bits on the device: " << result.error
                                     << " of the peak");
      BOOST_TEST(result.error <= method.wanted);
      BOOST_TEST(images.n_spectra == 100);
    }
  }
}
