// SPDX-License-Identifier: GPL-3.0-or-later
// --like: an observation as that of a Measurement Set, whose tables tell what an antennas CSV cannot: the
// elements of its stations, and where they were pointed.
#include <algorithm>
#include <string>

#include "libcore/base/error.h"
#include "libcore/base/log.h"
#include "libcore/visibility/visibility.h"
#include "tools/simulate/options.h"

namespace apsyn {

Scene read_like(SimulateOptions& options) {
  MsSelection selection;
  selection.column.clear();
  const MeasurementSetReader set(options.like, selection);
  if (set.spectral_windows().empty() || set.fields_with_rows().empty() || set.integrations().empty())
    throw DataError("{}: no rows: nothing tells its band and times: give another set to --like",
                    options.like);
  Scene scene;
  scene.layout = set.layout();
  scene.layout.telescope = set.telescope();
  scene.field = set.fields()[static_cast<std::size_t>(set.fields_with_rows()[0])];
  if (set.fields_with_rows().size() > 1 || set.spectral_windows().size() > 1)
    log_info("{}: the first of {} fields and of {} spectral windows is taken", options.like,
             set.fields_with_rows().size(), set.spectral_windows().size());

  const MsSpectralWindow& window = set.spectral_windows()[0];
  double low_hz = window.channel_hz[0], high_hz = low_hz;
  for (std::size_t chan = 0; chan < window.channel_hz.size(); ++chan) {
    low_hz = std::min(low_hz, window.channel_hz[chan] - window.width_hz[chan] / 2);
    high_hz = std::max(high_hz, window.channel_hz[chan] + window.width_hz[chan] / 2);
  }
  const auto take = [&](const char* name, auto& option, const auto& value) {
    if (!options.given(name)) option = value;
  };
  take("--freq", options.freq_hz, low_hz + (high_hz - low_hz) / 2);
  take("--bandwidth", options.bandwidth_hz, high_hz - low_hz);
  take("--channels", options.n_chan, window.channel_hz.size());
  const double interval_s = set.integrations()[0].interval_s;
  if (!(interval_s > 0 && set.end_mjd_s() > set.begin_mjd_s()))
    throw DataError("{}: INTERVAL {} s in its first row: give another set to --like", options.like,
                    interval_s);
  take("--integration", options.integration_s, interval_s);
  take("--start", options.start, format_fits_utc(from_mjd_seconds(set.begin_mjd_s()), 6));
  take("--duration", options.duration_s, set.end_mjd_s() - set.begin_mjd_s());
  std::string products;
  for (const Product product : set.products())
    products += (products.empty() ? "" : ",") + product_name(product);
  take("--pol", options.products, products);
  return scene;
}

}  // namespace apsyn
