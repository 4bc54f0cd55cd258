// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/beamform/options.h"

#include <CLI/CLI.hpp>

namespace apsyn {

BeamProduct BeamformOptions::product() const {
  if (product_name == "voltage") return BeamProduct::voltage;
  if (product_name == "iquv") return BeamProduct::iquv;
  return product_name == "coherence" ? BeamProduct::coherence : BeamProduct::power;
}

void declare(Tool& tool, BeamformOptions& options) {
  tool.add_inputs(options.inputs, "voltage stream, a file or - (default: standard input)");
  CLI::App& app = tool.app();
  tool.heading("Beams");
  CLI::Option* beams =
      tool.add_file("--beams", options.beams, "beams (CSV): id,ra,dec or id,az,el or id,l,m[,antennas]");
  tool.add_angle("--tile", options.tile_rad, "cover a field of this diameter with beams")->excludes(beams);
  app.add_option("--centre", options.centre,
                 "of the field, or of a single beam (default: the stream's phase centre, or zenith)")
      ->type_name("'RA DEC'|zenith")
      ->excludes(beams);
  app.add_option("--overlap", options.overlap, "power at which neighbouring beams meet (default 0.5)")
      ->type_name("POWER")
      ->check(CLI::Range(0.01, 0.99));
  app.add_option("--write-beams", options.write_beams, "write the beams as a table for --beams")
      ->type_name("PATH|-");
  tool.heading(headings::kInputOutput);
  app.add_option("--product", options.product_name, "voltage, power, iquv or coherence (default power)")
      ->type_name("PRODUCT")
      ->check(CLI::IsMember({"voltage", "power", "iquv", "coherence"}));
  app.add_option("--format", options.format, "dada or sigproc (default dada for voltage, otherwise sigproc)")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"dada", "sigproc"}));
  app.add_option("--bits", options.n_bit,
                 "per value: 8, or 32 for floats (default 8 for dada, 32 for sigproc)")
      ->type_name("N")
      ->check(CLI::IsMember({8, 32}));
  add_filterbank_options(tool, options);
  app.add_option("--integrate", options.n_integrate, "average N spectra into one (default 1)")
      ->type_name("N")
      ->check(CLI::Range(std::size_t{1}, std::size_t{1} << 30));
  tool.heading("Beams");
  app.add_flag("--incoherent", options.incoherent, "add the antennas' powers, not their voltages");
  app.add_option("--subarray", options.subarray, "antennas to use: names or indices from 0 (default: all)")
      ->type_name("LIST");
  tool.add_file("--weights", options.weights, "weights (CSV); data are multiplied by them");
  tool.heading(headings::kAccuracy);
  app.add_option(
         "--precision", options.precision,
         "of weights: single, or half (8 bits) or int16 on a GPU (default auto: half where that can be)")
      ->type_name("NAME")
      ->check(CLI::IsMember({"auto", "half", "int16", "single"}));
  tool.heading("Beam pattern");
  CLI::Option* pattern =
      app.add_option("--pattern", options.pattern, "write the beams' power patterns (FITS) in place of data")
          ->type_name("PATH");
  tool.add_angle("--field", options.field_rad,
                 "of the pattern, about the beam; 180deg, the default: the whole sky about the zenith")
      ->needs(pattern);
  app.add_option("--size", options.size, "pixels of the pattern along an axis (default 512)")
      ->type_name("N")
      ->check(CLI::Range(std::size_t{2}, std::size_t{16384}))
      ->needs(pattern);
  app.add_option("--element", options.element,
                 "pattern of an antenna: none, dipole:HEIGHT or dish:DIAMETER (default none)")
      ->type_name("KIND")
      ->needs(pattern);
  add_voltage_options(tool, options.voltage);
  add_gains_follow(tool, options.voltage);
}

}  // namespace apsyn
