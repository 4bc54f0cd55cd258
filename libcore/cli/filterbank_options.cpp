// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/cli/filterbank_options.h"

#include <CLI/CLI.hpp>

namespace apsyn {

void add_filterbank_options(Tool& tool, FilterbankOptions& options) {
  CLI::App& app = tool.app();
  tool.heading(headings::kChannels);
  app.add_option("--channels", options.n_fine, "fine channels per input channel (default 1)")
      ->type_name("N")
      ->check(CLI::Range(std::size_t{1}, std::size_t{1} << 24));
  app.add_option("--pfb-taps", options.n_taps,
                 "make them by a polyphase filterbank of N taps (default 0: a plain Fourier transform)")
      ->type_name("N")
      ->check(CLI::Range(std::size_t{0}, kMaxTaps));
  app.add_option("--window", options.window,
                 "hann, hamming or rect: what the filterbank's sinc is multiplied by (default hann)")
      ->type_name("WINDOW")
      ->check(CLI::IsMember({"hann", "hamming", "rect"}));
  app.add_option("--average-channels", options.n_average,
                 "average N neighbouring channels into one (default 1)")
      ->type_name("N")
      ->check(CLI::Range(std::size_t{1}, std::size_t{1} << 24));
}

Filterbank filterbank_of(const FilterbankOptions& options) {
  if (options.n_taps == 0 && !options.window.empty())
    log_warning("--window {}: a plain Fourier transform takes no window: give --pfb-taps", options.window);
  if (options.window == "hamming") return {options.n_taps, Window::hamming};
  if (options.window == "rect") return {options.n_taps, Window::rect};
  return {options.n_taps, Window::hann};
}

void check_average(const FilterbankOptions& options, std::size_t n_chan) {
  if (n_chan * options.n_fine % options.n_average != 0)
    throw UsageError("--average-channels {}: {} channels do not divide by it", options.n_average,
                     n_chan * options.n_fine);
}

void check_real_samples(unsigned n_dim, std::size_t n_fine, const std::string& name) {
  if (n_dim == 1 && n_fine == 1)
    throw UsageError(
        "{}: its samples are real, and become complex in channels only: give --channels 2 or more", name);
}

}  // namespace apsyn
