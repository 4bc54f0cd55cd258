// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/streams/open_voltages.h"

#include <algorithm>
#include <utility>

#include "libcore/array/gains.h"
#include "libcore/base/error.h"
#include "libcore/base/log.h"
#include "libcore/formats/fits/metafits.h"
#include "libcore/measures/coordinates.h"
#include "libcore/voltage/array_delays.h"

namespace apsyn {
namespace {

ArrayLayout override_layout(const ArrayLayout& from_header, const ArrayLayout& table, const std::string& path,
                            std::size_t n_ant) {
  if (table.antennas.size() != n_ant)
    throw UsageError("{}: {} antennas, the stream has NANT {}: give one per antenna, in the stream's order",
                     path, table.antennas.size(), n_ant);
  ArrayLayout layout = table;
  if (layout.telescope.empty()) layout.telescope = from_header.telescope;
  if (!layout.site) layout.site = from_header.site;
  // The antennas that the header flags are still bad.
  for (std::size_t ant = 0; ant < from_header.antennas.size(); ++ant)
    layout.antennas[ant].flagged |= from_header.antennas[ant].flagged;
  return layout;
}

void copy_gains(const Buffer<std::complex<double>, 3>& from, Buffer<std::complex<double>, 3>& to) {
  to.resize_for_overwrite(from.shape());
  std::copy(from.begin(), from.end(), to.begin());
}

/// Gains from the file, which may be followed, or 1.
void open_gains(const VoltageSelection& selection, OpenedVoltages& opened) {
  const VoltageHeader& header = opened.reader.header();
  opened.has_gains = !selection.gains.empty();
  if (!opened.has_gains) {
    if (selection.gains_follow) throw UsageError("--gains-follow: say with --gains which file to follow");
    opened.gains.resize({header.n_ant, header.n_pol, header.n_chan});
    opened.gains.fill(1.0);
    return;
  }
  if (holds_solutions(selection.gains)) {
    std::vector<double> channel_hz;
    for (std::size_t chan = 0; chan < header.n_chan; ++chan)
      channel_hz.push_back(header.channel_freq_hz(chan));
    opened.timed.emplace(selection.gains, opened.layout, header.n_pol, std::move(channel_hz),
                         sample_time(header.start, selection.first_sample, header.sample_s),
                         selection.gains_follow);
    copy_gains(opened.timed->gains(), opened.gains);
  } else if (selection.gains_follow) {
    opened.followed.emplace(selection.gains, opened.layout, header.n_pol, header.n_chan);
    copy_gains(opened.followed->gains(), opened.gains);
  } else {
    opened.gains = read_gains_csv(selection.gains, opened.layout, header.n_pol, header.n_chan);
  }
  const std::string left_out = names_of(opened.layout, antennas_without_gains(opened.gains));
  if (!left_out.empty())
    log_warning("{}: antennas without gains are left out: {}", selection.gains, left_out);
}

}  // namespace

ArrayLayout effective_layout(const VoltageHeader& header, const VoltageSelection& selection,
                             bool& has_positions) {
  if (!selection.antennas.empty() && !selection.metafits.empty())
    throw UsageError("--antennas {} and --metafits {}: give one of the two", selection.antennas,
                     selection.metafits);
  ArrayLayout layout = header.layout;
  if (!selection.antennas.empty())
    layout = override_layout(layout, load_layout(selection.antennas), selection.antennas, header.n_ant);
  if (!selection.metafits.empty())
    layout = override_layout(layout, read_metafits(selection.metafits), selection.metafits, header.n_ant);
  has_positions = !layout.antennas.empty();
  if (!has_positions) {
    layout.antennas.resize(header.n_ant);
    for (std::size_t ant = 0; ant < header.n_ant; ++ant)
      layout.antennas[ant].name = fmt::format("ant{:03}", ant);
  }
  if (!selection.site.empty()) set_site(layout, parse_site(selection.site));
  flag_antennas(layout, selection.flag_antennas);
  return layout;
}

OpenedVoltages open_voltages(const std::string& path, const VoltageSelection& selection) {
  OpenedVoltages opened{VoltageReader(path), {}, false, {}, false, {}, {}, selection.n_samples,
                        selection.n_samples};
  const VoltageHeader& header = opened.reader.header();
  opened.reader.use_threads(selection.n_threads);
  if (selection.keep_4bit) opened.reader.keep_4bit();
  check_sample_rate(header, opened.reader.name());
  opened.layout = effective_layout(header, selection, opened.has_positions);
  set_finest_fringe(finest_fringe_rad(opened.layout, header.freq_hz));
  open_gains(selection, opened);
  const auto n_samples = opened.reader.n_samples();
  if (n_samples && selection.first_sample > 0 && selection.first_sample >= *n_samples)
    throw UsageError("--samples {}:...: {} has {} samples: start below", selection.first_sample,
                     opened.reader.name(), *n_samples);
  if (n_samples) {
    const std::int64_t left = *n_samples - selection.first_sample;
    opened.n_samples = selection.n_samples < 0 ? left : std::min(selection.n_samples, left);
  }
  const std::int64_t margin = selection.margin ? selection.margin(header, opened.layout) : 0;
  const std::int64_t begin = std::max<std::int64_t>(0, selection.first_sample - margin);
  if (begin > 0) opened.reader.skip_to(begin);
  if (selection.n_samples >= 0) opened.samples_left += selection.first_sample - begin + margin;
  return opened;
}

bool OpenedVoltages::read(VoltageBlock& block, std::size_t n_time) {
  if (samples_left == 0) return false;
  if (samples_left > 0) n_time = std::min(n_time, static_cast<std::size_t>(samples_left));
  if (!reader.read(block, n_time)) return false;
  if (samples_left > 0) samples_left -= static_cast<std::int64_t>(block.n_time);
  return true;
}

void OpenedVoltages::divide_channels(const std::vector<double>& channel_hz) {
  if (!timed) return;
  timed->set_channels(channel_hz);
  copy_gains(timed->gains(), gains);
}

bool OpenedVoltages::renew_gains(double data_s, double at_s) {
  if (timed ? !timed->look(at_s) : !followed || !followed->look(data_s)) return false;
  copy_gains(timed ? timed->gains() : followed->gains(), gains);
  return true;
}

}  // namespace apsyn
