// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/beamform/headers.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

#include "kernels/beamform/beamform.h"
#include "libcore/array/array_layout.h"
#include "libcore/array/beam_table.h"
#include "libcore/base/constants.h"
#include "libcore/base/time.h"
#include "libcore/base/units.h"
#include "libcore/measures/coordinates.h"
#include "libcore/measures/direction_track.h"

namespace apsyn {

namespace {

/// Spans of output spectra that are missing together when their input spans are. 1 where these do not begin
/// together or are no whole number of spectra; then every spectrum of zeros counts as missing.
std::size_t missing_spectra(const BeamformSetup& setup) {
  const auto span = static_cast<std::int64_t>(setup.header.missing_samples);
  const auto length = static_cast<std::int64_t>(setup.f.n_sample);
  const bool whole = span % length == 0 && setup.f.first_sample % span == 0 && !setup.align() &&
                     setup.f.filterbank.n_taps == 0;
  return whole ? static_cast<std::size_t>(span / length) : 1;
}

void set_key(VoltageHeader& header, const std::string& key, const std::string& value) {
  std::erase_if(header.unknown, [&](const auto& entry) { return entry.first == key; });
  if (!value.empty()) header.unknown.emplace_back(key, value);
}

}  // namespace

VoltageHeader dada_header(const Tool& tool, const BeamformSetup& setup, std::size_t beam) {
  VoltageHeader header = setup.header;
  const BeamDirection& direction = setup.beams[beam];
  header.start = sample_time(setup.header.start, setup.f.first_sample, setup.header.sample_s);
  header.n_chan = setup.b.n_channel();
  header.bandwidth_hz = setup.f.channel_step_hz() * static_cast<double>(header.n_chan);
  header.freq_hz = (setup.b.channel_hz.front() + setup.b.channel_hz.back()) / 2;
  header.sample_s = setup.spectrum_s;
  header.n_bit = setup.n_bit;
  header.n_dim = 2;
  header.n_ant = 1;
  header.order = "TFP";
  header.block_samples = 1;
  header.encoding = setup.n_bit == 32 ? SampleEncoding::floating : SampleEncoding::twos_complement;
  header.byte_order = ByteOrder::little;
  header.scale = 1;
  header.scale_gain = 1;
  // other readers of PSRDADA (dspsr, baseband) take BW < 0 for the lower sideband, whose samples are
  // conjugates
  header.sideband_conj = header.bandwidth_hz < 0;
  header.missing_samples = missing_spectra(setup);
  header.file_size.reset();
  header.trailer = header.foreign = false;
  header.resolution_bytes = 0;
  // dspsr takes floats only from itself
  header.instrument = setup.n_bit == 32 ? "dspsr" : "apsyn";
  Antenna reference = setup.header.layout.antennas[reference_antenna(setup.header.layout)];
  reference.cable_delay_s = 0;
  reference.flagged = false;
  header.layout.antennas = {reference};
  header.phase_centre = direction.sky;
  header.tracking = direction.sky ? "sidereal" : "stationary";
  for (const char* key : {"BEAM_RA", "BEAM_DEC", "BEAM_AZ", "BEAM_EL", "RA", "DEC"}) set_key(header, key, "");
  set_key(header, "MODE", "PSR");
  set_key(header, "BEAM_ID", direction.id);
  if (direction.sky) {
    set_key(header, "RA", format_right_ascension(direction.sky->ra_rad, 4, ":"));
    set_key(header, "DEC", format_declination(direction.sky->dec_rad, 4, ":"));
    set_key(header, "BEAM_RA", fmt::format("{:.9f}", direction.sky->ra_rad / kRadPerDeg));
    set_key(header, "BEAM_DEC", fmt::format("{:.9f}", direction.sky->dec_rad / kRadPerDeg));
  } else {
    set_key(header, "BEAM_AZ", format_azimuth(direction.enu, 9));
    set_key(header, "BEAM_EL", fmt::format("{:.9f}", elevation_of(direction.enu) / kRadPerDeg));
  }
  for (const std::string& line : tool.provenance()) header.history.push_back(line);
  return header;
}

FilterbankHeader filterbank_header(const Tool& tool, const BeamformSetup& setup, std::size_t beam) {
  const BeamformPlan& b = setup.b;
  FilterbankHeader header;
  header.source = setup.beams[beam].id;  // all beams are of one recording
  header.raw_file =
      fmt::format("{} {} {}, beam {}", tool.name(), version(), git_hash(), setup.beams[beam].id);
  header.start = sample_time(setup.header.start, setup.f.first_sample, setup.header.sample_s);
  header.sample_s = setup.output_s();
  const auto centre_hz = [&](std::size_t out) {
    return (b.channel_hz[out * b.n_average] + b.channel_hz[(out + 1) * b.n_average - 1]) / 2;
  };
  header.first_hz = std::max(centre_hz(0), centre_hz(b.n_out_channel() - 1));
  header.step_hz = -std::abs(setup.f.channel_step_hz()) * static_cast<double>(b.n_average);
  header.n_chan = b.n_out_channel();
  header.n_if = b.n_value();
  header.n_bit = setup.n_bit;
  header.n_beam = b.n_beam;
  header.beam = beam;
  const BeamDirection& direction = setup.beams[beam];
  header.direction = direction.sky;
  if (setup.sky) {
    const SkyFrame& frame = *setup.sky;
    const Vec3 enu = direction.sky ? frame.enu_from_direction(header.start, *direction.sky) : direction.enu;
    header.azimuth_rad = azimuth_of(enu);
    header.zenith_angle_rad = kPi / 2 - elevation_of(enu);
    // where a fixed beam looks as it begins
    if (!direction.sky) header.direction = frame.direction_from_enu(header.start, direction.enu);
  }
  return header;
}

}  // namespace apsyn
