// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/epic-image/options.h"

#include <CLI/CLI.hpp>

#include <cstddef>

#include "libcore/voltage/filterbank.h"

namespace apsyn {

const char* only_on_cpu(const EpicOptions& options) {
  return options.precision == "double" ? "--precision double" : nullptr;
}

EpicW parse_w(const std::string& name) {
  if (name == "zenith") return EpicW::zenith;
  if (name == "plane") return EpicW::plane;
  return name == "exact" ? EpicW::exact : EpicW::kernel;
}

void declare(Tool& tool, EpicOptions& options) {
  tool.add_inputs(options.inputs, "voltage stream, a file or - (default: standard input)");
  CLI::App& app = tool.app();
  tool.heading(headings::kImage);
  app.add_option("--method", options.method,
                 "fft (grid and transform), dft (direct sums), corr (correlate, then image) or auto: the one "
                 "that should be fastest (default auto)")
      ->type_name("NAME")
      ->check(CLI::IsMember({"auto", "fft", "dft", "corr"}));
  app.add_option("--size", options.size, "pixels along an axis, 1 to 65535 (default 128)")
      ->type_name("N")
      ->check(CLI::Range(std::size_t{1}, std::size_t{65535}));
  CLI::Option* scale =
      tool.add_angle("--scale", options.scale_rad, "of a pixel at the centre, for example 1deg");
  tool.add_angle("--field", options.field_rad, "of the image, 180deg at most (default 180deg: the whole sky)")
      ->excludes(scale);
  CLI::Option* centre =
      app.add_option("--centre", options.centre,
                     "what the images' centre follows: 'RA DEC' (J2000), for example '13h25m28s "
                     "-43d01m09s', or zenith (default zenith)")
          ->type_name("DIRECTION");
  app.add_option("--pol", options.products,
                 "I, Q, U, V, as IQUV, or XX,YY,XY,YX (RR,LL,RL,LR), or some of them (default I, or the one "
                 "polarisation there is)")
      ->type_name("LIST");
  tool.add_file(
          "--pixels", options.pixels,
          "write light curves (CSV) of these directions in place of images: id,ra,dec or id,az,el or id,l,m")
      ->excludes(centre);
  tool.add_file("--regions", options.regions,
                "write light curves (CSV) of these regions of the images in their place: CASA region text")
      ->excludes("--pixels");
  tool.add_file("--apertures", options.apertures,
                "what antennas' apertures are illuminated by: a FITS image, or a table antenna,file");
  app.add_flag("--electric-field", options.electric_field,
               "complex images of the field of each spectrum in place of its power; --pol X,Y");
  app.add_flag("--no-autos", options.no_autos, "leave out what each antenna has with itself");
  tool.heading(headings::kWeighting);
  app.add_option_function<std::string>(
         "--weight", [&](const std::string& text) { options.weight = parse_weight(text); },
         "corr: of baselines: natural, uniform or briggs:R, as in idg-grid; with --no-autos (default "
         "natural)")
      ->type_name("MODE");
  app.add_option("--weight-rank-filter", options.rank_filter,
                 "limit weights to this many times the mean around; 0 = off (default 3)")
      ->type_name("LEVEL")
      ->check(CLI::NonNegativeNumber);
  tool.heading(headings::kChannels);
  app.add_option("--channels", options.n_fine, "fine channels per input channel (default 1)")
      ->type_name("N")
      ->check(CLI::Range(std::size_t{1}, std::size_t{1} << 16));
  app.add_option("--pfb-taps", options.n_taps,
                 "make them by a polyphase filterbank of N taps (default 0: a plain Fourier transform)")
      ->type_name("N")
      ->check(CLI::Range(std::size_t{0}, kMaxTaps));
  app.add_option("--average-channels", options.n_average,
                 "add N neighbouring channels into one image (default 1)")
      ->type_name("N")
      ->check(CLI::Range(std::size_t{1}, std::size_t{1} << 24));
  tool.add_duration("--accumulate", options.accumulate_s, "time that an image adds up (default 40ms)");
  app.add_flag("--drop-incomplete", options.drop_incomplete,
               "leave the last image out when the recording ends within it");
  tool.heading(headings::kAccuracy);
  app.add_option("--kernel", options.kernel_cells, "fft: cells of an antenna's kernel, 1 to 9 (default 7)")
      ->type_name("N")
      ->check(CLI::Range(std::size_t{1}, std::size_t{9}));
  app.add_option("--kernel-shape", options.shape, "fft: kb (Kaiser-Bessel) or pswf (prolate; default kb)")
      ->type_name("NAME")
      ->check(CLI::IsMember({"kb", "pswf"}));
  app.add_option(
         "--padding", options.padding,
         "fft: field that is transformed over that of the image, 1 to 4 (default: what the kernel needs)")
      ->type_name("X")
      ->check(CLI::Range(1.0, 4.0));
  app.add_option(
         "--w", options.w,
         "fft: what becomes of heights: zenith, plane (the one that fits best), kernel (and the rest in "
         "each antenna's kernel) or exact (never fft; default kernel)")
      ->type_name("NAME")
      ->check(CLI::IsMember({"zenith", "plane", "kernel", "exact"}));
  app.add_option(
         "--precision", options.precision,
         "half (dft and fft on a GPU), single or double (dft on a CPU; default half for dft on a GPU, "
         "otherwise single)")
      ->type_name("NAME")
      ->check(CLI::IsMember({"half", "single", "double"}));
  add_realtime_options(tool, options.realtime);
  add_voltage_options(tool, options.voltage);
  add_gains_follow(tool, options.voltage);
}

}  // namespace apsyn
