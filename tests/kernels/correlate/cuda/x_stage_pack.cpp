// SPDX-License-Identifier: GPL-3.0-or-later
// Raw samples of a voltage stream on the device into the X stage's layout, byte by byte.
#include "tests/support/device_samples.h"

#include <boost/test/unit_test.hpp>
#include <random>

#include "libcore/base/error.h"
#include "tests/reference/recordings/voltage_encoder.h"

using namespace apsyn;
using namespace apsyn::reference;

BOOST_AUTO_TEST_SUITE(x_stage_pack)

namespace {

using namespace apsyn::support;

struct RawCase {
  apsyn::x_stage::RawFormat format;
  Bits bits;
  VoltageFormat encoding;
};

void check_pack(const RawCase& c) {
  BOOST_TEST_CONTEXT("format " << static_cast<int>(c.format) << " " << c.encoding.encoding << " to "
                               << static_cast<int>(c.bits) << " bits") {
    const std::size_t n_time = 150, n_chan = 2, n_ant = 21, n_pol = 2, n_input = n_ant * n_pol;
    const int low = c.encoding.n_bit == 8 ? -128 : c.encoding.n_bit == 5 ? -16 : -8;
    Samples x({n_time, n_chan, n_input, 2});
    std::mt19937 random(12);
    for (std::int8_t& value : x) value = static_cast<std::int8_t>(low + int(random() % unsigned(-2 * low)));
    VoltageFormat format = c.encoding;
    format.conjugated = false;  // the packer conjugates what is there
    format.n_chan = n_chan, format.n_ant = n_ant, format.n_pol = n_pol;
    const std::vector<std::uint8_t> raw =
        encode_voltages(format, n_time,
                        [&](std::size_t t, std::size_t chan, std::size_t ant, std::size_t pol,
                            unsigned part) { return x(t, chan, ant * n_pol + pol, part); });
    // rows of 50 samples, the first of them 10 samples before; antenna 20 misses the second row
    std::vector<std::uint8_t> valid(4 * n_ant, 1);
    valid[n_ant + 20] = 0;
    for (std::size_t t = 40; t < 90; ++t)
      for (std::size_t chan = 0; chan < n_chan; ++chan)
        for (std::size_t k = 40; k < 42; ++k) x(t, chan, k, 0) = x(t, chan, k, 1) = 0;
    if (c.encoding.conjugated)
      for (std::size_t k = 1; k < x.size(); k += 2)
        x.data()[k] = static_cast<std::int8_t>(std::min(-int{x.data()[k]}, 127));

    DeviceXStage stage({n_chan, n_input}, 0);
    Layout layout = stage.layout(n_time);
    layout.bits = c.bits;
    const auto device_raw = to_device(raw.data(), raw.size());
    const auto device_valid = to_device(valid.data(), valid.size());
    DeviceArray<std::int8_t> packed(layout.bytes());
    fill_bytes(packed.data(), 0x33, packed.size());
    apsyn::x_stage::PackTask task;
    task.in = device_raw.data(), task.format = c.format, task.n_time = int(n_time);
    task.offset_binary = c.encoding.encoding == "OFFSETBINARY";
    task.conjugate = c.encoding.conjugated;
    task.valid = device_valid.data(), task.n_pol = int(n_pol);
    task.samples_per_row = 50, task.first_offset = 10;
    stage.pack(task, layout, packed.data(), nullptr);
    Samples padded({192, n_chan, n_input, 2});  // zeros behind the last sample
    std::copy(x.begin(), x.end(), padded.begin());
    std::vector<std::int8_t> expected = laid_out(padded, layout);
    for (int chan = 0; chan < layout.n_chan; ++chan)
      for (int block = 0; block < layout.n_blocks; ++block)
        std::fill_n(expected.data() + layout.row(chan, block, layout.n_input),
                    (layout.n_input_padded - layout.n_input) * layout.row_bytes(), 0);
    BOOST_TEST(to_host(packed) == expected);
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(raw_samples_are_laid_out) {
  using enum apsyn::x_stage::RawFormat;
  for (const bool conjugated : {false, true}) {
    VoltageFormat format;
    format.conjugated = conjugated;
    check_pack({int8, Bits::eight, format});
    format.encoding = "OFFSETBINARY";
    check_pack({int8, Bits::eight, format});
    format.n_bit = 4;
    check_pack({int4, Bits::eight, format});
    if (!conjugated) check_pack({int4, Bits::four, format});
    format.encoding = "TWOSCOMPLEMENT";
    check_pack({int4, Bits::eight, format});
    if (!conjugated) check_pack({int4, Bits::four, format});
    format.n_bit = 5;
    format.encoding = "PACK5X5";
    check_pack({pack5x5_little, Bits::eight, format});
    format.endian = "BIG";
    check_pack({pack5x5_big, Bits::eight, format});
  }
}

BOOST_AUTO_TEST_SUITE_END()
