// SPDX-License-Identifier: GPL-3.0-or-later
// Raw bytes per second of one core: the decoder alone, and the reader from a file in the page cache. The
// input is the MWA 32-tile prototype's: 64 inputs, 128 channels, about 128 MB of samples.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <random>
#include <vector>

#include "libcore/streams/voltage_stream.h"
#include "libcore/voltage/sample_decoder.h"
#include "tests/reference/scratch.h"

using namespace apsyn;

namespace {

double seconds_of(const std::function<void()>& work) {
  double best = 1e30;
  for (int turn = 0; turn < 5; ++turn) {
    const auto start = std::chrono::steady_clock::now();
    work();
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return best;
}

void measure(const char* what, const VoltageHeader& header) {
  const std::size_t n_time = (std::size_t{128} << 20) * 8 / header.bits_per_time() / 1024 * 1024;
  std::vector<std::uint8_t> raw(n_time * header.bits_per_time() / 8);
  std::mt19937 random(1);
  for (std::uint8_t& byte : raw) byte = static_cast<std::uint8_t>(random() >> 11);
  if (header.encoding == SampleEncoding::floating) std::fill(raw.begin(), raw.end(), 1);
  const double megabytes = static_cast<double>(raw.size()) / 1e6;
  const std::size_t gulp = 1024, n_units = header.unit_bytes() * (gulp / header.unit_samples());

  const SampleDecoder decoder(header);
  std::vector<std::int8_t> integers(gulp * decoder.components_per_time());
  std::vector<float> floats(decoder.integer() ? 0 : integers.size());
  const double decode_s = seconds_of([&] {
    for (std::size_t at = 0; at < n_time / gulp; ++at) {
      if (decoder.integer())
        decoder.decode(raw.data() + at * n_units, 0, gulp, integers.data());
      else
        decoder.decode(raw.data() + at * n_units, 0, gulp, floats.data());
    }
  });
  const reference::Scratch scratch;
  VoltageWriter writer(scratch.path("a.dada"), header, true);
  writer.write(raw.data(), raw.size());
  writer.commit();
  const double read_s = seconds_of([&] {
    VoltageReader reader(scratch.path("a.dada"));
    VoltageBlock block;
    while (reader.read(block, gulp)) {
    }
  });
  fmt::print("{:<28} decode {:8.0f} MB/s   read and decode {:8.0f} MB/s\n", what, megabytes / decode_s,
             megabytes / read_s);
  std::fflush(stdout);
}

}  // namespace

int main() {
  VoltageHeader header;
  header.sample_s = 1e-4;
  header.n_chan = 128, header.n_ant = 32, header.n_pol = 2;
  header.n_bit = 4;
  measure("TFAP 4+4 bit", header);
  header.n_bit = 8;
  measure("TFAP 8+8 bit", header);
  header.encoding = SampleEncoding::offset_binary;
  measure("TFAP 8+8 bit, offset binary", header);
  header.encoding = SampleEncoding::twos_complement;
  header.block_samples = 64;
  for (const char* order : {"FTAP", "AFTP", "APFT"}) {
    header.order = order;
    measure(fmt::format("{} 8+8 bit, heaps of 64", order).c_str(), header);
  }
  header.order = "TAFP", header.block_samples = 1;
  measure("TAFP 8+8 bit", header);
  header.order = "TFAP", header.n_bit = 32, header.encoding = SampleEncoding::floating;
  measure("TFAP float", header);
}
