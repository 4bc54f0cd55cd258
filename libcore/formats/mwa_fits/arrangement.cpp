// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/formats/mwa_fits/arrangement.h"

#include <algorithm>
#include <utility>

#include "libcore/base/error.h"

namespace apsyn::mwa_fits {
namespace {

template <class T>
void sort_unique(std::vector<T>& values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

template <class T>
std::size_t index_of(const std::vector<T>& sorted, T value) {
  return static_cast<std::size_t>(std::lower_bound(sorted.begin(), sorted.end(), value) - sorted.begin());
}

void check_times(const Arrangement& all, const Observation& observation) {
  const CorrelatorFile& first = all.files[0];
  const std::int64_t begin_ms = first.integrations[0].visibilities.time_ms;
  for (const CorrelatorFile& file : all.files)
    for (const Integration& integration : file.integrations)
      if ((integration.visibilities.time_ms - begin_ms) % observation.integration_ms != 0)
        throw DataError(
            "{}: HDU {}: begins at {:.3f} (Unix time), {} at {:.3f}: no multiple of the integration, {} s, "
            "lies "
            "between",
            file.path, integration.visibilities.number,
            static_cast<double>(integration.visibilities.time_ms) * 1e-3, first.path,
            static_cast<double>(begin_ms) * 1e-3, observation.integration_s());
}

std::vector<Arrangement::Window> make_windows(const std::vector<int>& channels) {
  const std::size_t n = channels.size();
  if (static_cast<std::size_t>(channels.back() - channels.front()) + 1 == n) return {{0, n}};
  std::vector<Arrangement::Window> windows;
  for (std::size_t i = 0; i < n; ++i) windows.push_back({i, i + 1});
  return windows;
}

}  // namespace

bool Arrangement::has_data(std::size_t time, const Window& window) const {
  return std::any_of(places[time].begin() + static_cast<std::ptrdiff_t>(window.first),
                     places[time].begin() + static_cast<std::ptrdiff_t>(window.end),
                     [](const std::optional<Place>& place) { return place.has_value(); });
}

Arrangement arrange(std::vector<CorrelatorFile> files, const Observation& observation) {
  Arrangement all;
  all.files = std::move(files);
  all.correlator = all.files[0].correlator;
  for (const CorrelatorFile& file : all.files) {
    if (file.correlator != all.correlator)
      throw DataError("{}: of another correlator than {}: give the files of one observation", file.path,
                      all.files[0].path);
    all.coarse_channels.push_back(file.coarse_channel);
    for (const Integration& integration : file.integrations)
      all.times_ms.push_back(integration.visibilities.time_ms);
  }
  check_times(all, observation);
  sort_unique(all.coarse_channels);
  sort_unique(all.times_ms);
  all.places.assign(all.times_ms.size(),
                    std::vector<std::optional<Arrangement::Place>>(all.coarse_channels.size()));
  for (std::size_t f = 0; f < all.files.size(); ++f) {
    const CorrelatorFile& file = all.files[f];
    const std::size_t coarse = index_of(all.coarse_channels, file.coarse_channel);
    for (std::size_t i = 0; i < file.integrations.size(); ++i) {
      const ImageUnit& image = file.integrations[i].visibilities;
      auto& place = all.places[index_of(all.times_ms, image.time_ms)][coarse];
      if (place)
        throw DataError(
            "{}: HDU {}: coarse channel {} at {:.3f} (Unix time) is in {}, too: give each file once",
            file.path, image.number, file.coarse_channel, static_cast<double>(image.time_ms) * 1e-3,
            all.files[place->file].path);
      place = Arrangement::Place{f, i};
    }
  }
  all.windows = make_windows(all.coarse_channels);
  return all;
}

}  // namespace apsyn::mwa_fits
