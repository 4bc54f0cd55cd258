// SPDX-License-Identifier: GPL-3.0-or-later
// The parts of quicklook: one function for each kind of input, from the options to the picture and the
// figures in JSON.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "libcore/base/constants.h"
#include "libcore/cli/tool.h"
#include "libcore/cli/voltage_options.h"
#include "libcore/plot/canvas.h"
#include "libcore/plot/figures/image_figure.h"
#include "tools/quicklook/stats.h"

namespace apsyn {

struct QuicklookOptions {
  std::vector<std::string> inputs;
  std::string kind, title;
  std::size_t size = 1000;
  bool stats = false;   ///< print them
  bool picture = true;  ///< draw one
  // images
  std::string range, plane, crop, stretch, mark, contours, light_curve, reduce = "mean", grid = "auto",
                                                                        colour_map = "ember";
  double percentile = 0, zoom = 0;
  std::optional<std::size_t> frame;  ///< none: the mean of all times
  // visibilities
  std::string plot = "overview", column = "DATA", baselines;
  int channel = -1;  ///< of fringes; -1: the middle one
  VoltageOptions voltage;
  std::string beam, beam_data, station;  ///< a station's power over the sky instead
  double beam_width_rad = 10 * kRadPerDeg;
  // solutions
  std::string soltabs, against, direction;
};

/// What an input looks like.
struct Look {
  Json stats;
  std::optional<Canvas> picture;  ///< when asked for
};

/// What reading the image needs: its pixels as doubles beside the bytes of the file.
double image_memory_bytes(const std::string& input);
Look look_at_image(Tool& tool, const QuicklookOptions& options);
/// Images that epic-image writes to a pipe, the newest one whenever there is one; each picture is shown, the
/// last one is returned.
Look look_at_image_stream(Tool& tool, const QuicklookOptions& options,
                          const std::function<void(const Canvas&)>& show);
/// Several images side by side, or all planes of one.
Look look_at_images(Tool& tool, const QuicklookOptions& options);
/// Brightness of sources in images of several times.
Look look_at_light_curves(Tool& tool, const QuicklookOptions& options);
/// UsageError and others for what is wrong with the options of images before one is read.
void check_image_options(const QuicklookOptions& options);
/// Whether the channels are averaged: unless --plane chooses one, or all.
bool averages_channels(const QuicklookOptions& options);
/// What --plane, --crop and --zoom choose of an image, and how it is to be drawn.
ImageFigureOptions plane_options(const QuicklookOptions& options, const Image& image,
                                 const PlanesAveraged& averaged);

/// A beam's power pattern spans many decades: turns it into decibels, of which the upper 50 are shown.
void show_pattern(const QuicklookOptions& options, Image& image, ImageFigureOptions& figure);
/// The beam of a station of a Measurement Set.
Look look_at_beam(Tool& tool, const QuicklookOptions& options);

Look look_at_measurement_set(Tool& tool, const QuicklookOptions& options);
Look look_at_visibility_stream(Tool& tool, const QuicklookOptions& options);

Look look_at_filterbanks(Tool& tool, const QuicklookOptions& options);
/// A table of fold-pulsar.
Look look_at_profile(Tool& tool, const QuicklookOptions& options);
/// An H5Parm.
Look look_at_solutions(Tool& tool, const QuicklookOptions& options);
Look look_at_voltages(Tool& tool, const QuicklookOptions& options);

}  // namespace apsyn
