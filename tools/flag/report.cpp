// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/flag/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "libcore/base/time.h"

namespace apsyn::flag {

Report::Report(const ArrayLayout& layout, const std::vector<MsSpectralWindow>& windows)
    : layout_(layout), windows_(windows), antennas_(layout.antennas.size()) {
  for (const MsSpectralWindow& window : windows) channels_.emplace_back(window.channel_hz.size());
}

void Report::add(const MsRows& rows, View<const std::uint8_t, 3> before, View<const std::uint8_t, 3> after) {
  const std::size_t n_chan = after.extent(1), n_product = after.extent(2), n_cells = n_chan * n_product;
  std::vector<Share>& channels = channels_[static_cast<std::size_t>(rows.spw)];
  for (std::size_t row = 0; row < rows.ant1.size(); ++row) {
    std::uint64_t was = 0, is = 0;
    const std::uint8_t* old = before.data() + row * n_cells;
    const std::uint8_t* now = after.data() + row * n_cells;
    for (std::size_t i = 0; i < n_cells; ++i) was += old[i];
    for (std::size_t chan = 0; chan < n_chan; ++chan) {
      std::uint64_t flagged = 0;
      for (std::size_t p = 0; p < n_product; ++p) flagged += now[chan * n_product + p];
      channels[chan].add(n_product, flagged);
      is += flagged;
    }
    before_.add(n_cells, was);
    after_.add(n_cells, is);
    baselines_[{rows.ant1[row], rows.ant2[row]}].add(n_cells, is);
    times_[rows.time_mjd_s[row]].add(n_cells, is);
    if (rows.ant1[row] == rows.ant2[row]) continue;
    for (const int antenna : {rows.ant1[row], rows.ant2[row]})
      antennas_[static_cast<std::size_t>(antenna)].add(n_cells, is);
  }
}

std::vector<std::string> Report::lines() const {
  std::vector<std::string> lines{
      fmt::format("{:.2f} % were flagged, {:.2f} % are", before_.percent(), after_.percent())};
  std::vector<std::pair<double, std::size_t>> worst;
  for (std::size_t i = 0; i < antennas_.size(); ++i) worst.emplace_back(-antennas_[i].percent(), i);
  std::sort(worst.begin(), worst.end());
  constexpr std::size_t kLines = 3;
  std::string text;
  for (std::size_t k = 0; k < std::min(kLines, worst.size()); ++k)
    text += fmt::format("{}{} {:.1f} %", k == 0 ? "" : ", ", layout_.antennas[worst[k].second].name,
                        -worst[k].first);
  if (!text.empty()) lines.push_back("most of " + text);
  return lines;
}

std::string Report::json(const std::string& set) const {
  const auto name = [&](int antenna) { return layout_.antennas[static_cast<std::size_t>(antenna)].name; };
  nlohmann::ordered_json all;
  all["input"] = set;
  all["visibilities"] = after_.n;
  all["percent_before"] = before_.percent();
  all["percent"] = after_.percent();
  all["antennas"] = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < antennas_.size(); ++i)
    all["antennas"].push_back({{"name", layout_.antennas[i].name}, {"percent", antennas_[i].percent()}});
  all["baselines"] = nlohmann::ordered_json::array();
  for (const auto& [pair, share] : baselines_)
    all["baselines"].push_back(
        {{"antenna1", name(pair.first)}, {"antenna2", name(pair.second)}, {"percent", share.percent()}});
  all["channels"] = nlohmann::ordered_json::array();
  for (std::size_t window = 0; window < channels_.size(); ++window)
    for (std::size_t chan = 0; chan < channels_[window].size(); ++chan)
      all["channels"].push_back({{"window", window},
                                 {"channel", chan},
                                 {"frequency_hz", windows_[window].channel_hz[chan]},
                                 {"percent", channels_[window][chan].percent()}});
  all["times"] = nlohmann::ordered_json::array();
  for (const auto& [time_mjd_s, share] : times_)
    all["times"].push_back(
        {{"utc", format_fits_utc(from_mjd_seconds(time_mjd_s))}, {"percent", share.percent()}});
  return all.dump(1) + "\n";
}

}  // namespace apsyn::flag
