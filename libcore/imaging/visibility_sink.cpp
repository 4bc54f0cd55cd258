// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/imaging/visibility_sink.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "libcore/base/constants.h"
#include "libcore/base/csv.h"
#include "libcore/base/error.h"
#include "libcore/formats/ms/measurement_set.h"
#include "libcore/measures/coordinates.h"
#include "libcore/streams/visibility_stream.h"

namespace apsyn {

namespace {

class StreamSink final : public VisibilitySink {
 public:
  StreamSink(const std::string& path, const VisibilityHeader& header, bool overwrite)
      : writer_(path, header, overwrite) {}
  void write(const VisibilityRecord& record, double) override { writer_.write(record); }
  void add_history(const std::vector<std::string>&) override {}
  void commit() override { writer_.commit(); }

 private:
  VisibilityStreamWriter writer_;
};

MsDescription describe(const VisibilityHeader& header, const SkyDirection& phase_centre) {
  MsDescription description;
  description.telescope = header.telescope;
  description.source = header.source;
  description.layout = header.layout;
  description.phase_centre = phase_centre;
  description.channel_hz = header.channel_hz;
  description.channel_width_hz = std::abs(header.channel_width_hz);
  description.products = header.products;
  description.flux_unit = header.flux_unit;
  description.history = header.history;
  return description;
}

UtcTime later(const UtcTime& start, double seconds) {
  return add_picoseconds(start, static_cast<__int128>(std::llround(seconds * 1e12)));
}

class MeasurementSetSink final : public VisibilitySink {
 public:
  MeasurementSetSink(const std::string& path, const VisibilityHeader& header, bool overwrite)
      : header_(header),
        frame_(header.layout.site.value()),
        centre_(header.phase_centre ? *header.phase_centre
                                    : frame_.zenith(later(header.start, header.integration_s / 2))),
        writer_(path, describe(header, centre_), overwrite) {
    uvw_m_.resize({header.baselines.size(), 3});
  }

  void write(const VisibilityRecord& record, double covered_s) override {
    const UtcTime begin = sample_time(header_.start, record.index, header_.integration_s);
    const UtcTime middle = later(begin, covered_s / 2);
    const Mat3 rotation = frame_.uvw_rotation(middle, centre_);
    for (std::size_t b = 0; b < header_.baselines.size(); ++b) {
      const Vec3 uvw = multiply(rotation, offset_m(b));
      for (std::size_t axis = 0; axis < 3; ++axis) uvw_m_(b, axis) = uvw[axis];
    }
    MsWriteRows rows;
    rows.time_mjd_s = middle.mjd_seconds();
    rows.interval_s = covered_s;
    rows.row_exposure_s = valid_s(record, covered_s);
    rows.uvw_m = uvw_m_.view();
    rows.baselines = &header_.baselines;
    rows.weight = record.weight.view();
    rows.data = header_.phase_centre ? record.data.view() : turned_from_zenith(record, rotation[2]);
    writer_.write(rows);
  }
  void add_history(const std::vector<std::string>& lines) override { writer_.add_history(lines); }
  void commit() override { writer_.commit(); }

 private:
  /// Weights are fractions of a whole integration: of each baseline the mean over channels and products.
  std::vector<double> valid_s(const VisibilityRecord& record, double covered_s) const {
    std::vector<double> seconds(record.weight.extent(0));
    const std::size_t n = record.weight.extent(1) * record.weight.extent(2);
    for (std::size_t b = 0; b < seconds.size(); ++b) {
      const float* weights = &record.weight(b, 0, 0);
      const double mean = std::accumulate(weights, weights + n, 0.0) / static_cast<double>(n);
      seconds[b] = std::min(covered_s, mean * header_.integration_s);
    }
    return seconds;
  }
  Vec3 offset_m(std::size_t b) const {
    const auto& antennas = header_.layout.antennas;
    return antennas[static_cast<std::size_t>(header_.baselines[b].ant1)].enu_m -
           antennas[static_cast<std::size_t>(header_.baselines[b].ant2)].enu_m;
  }

  View<const std::complex<float>, 3> turned_from_zenith(const VisibilityRecord& record, const Vec3& centre) {
    turned_.resize(record.data.shape());
    for (std::size_t b = 0; b < record.data.extent(0); ++b) {
      const double delay_s = dot(offset_m(b), centre - Vec3{0, 0, 1}) / kSpeedOfLight_m_s;
      for (std::size_t chan = 0; chan < record.data.extent(1); ++chan) {
        const double turn = header_.channel_hz[chan] * delay_s;
        const auto phasor = std::polar(1.0, -kTwoPi * (turn - std::nearbyint(turn)));
        for (std::size_t product = 0; product < record.data.extent(2); ++product) {
          const std::complex<double> value(record.data(b, chan, product));
          turned_(b, chan, product) =
              delay_s == 0 ? record.data(b, chan, product) : std::complex<float>(value * phasor);
        }
      }
    }
    return turned_.view();
  }

  VisibilityHeader header_;
  SkyFrame frame_;
  SkyDirection centre_;
  MeasurementSetWriter writer_;
  Buffer<double, 2> uvw_m_;                // [baseline][3]
  Buffer<std::complex<float>, 3> turned_;  // [baseline][chan][product]
};

bool is_measurement_set_name(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return lower(path).ends_with(".ms");
}

}  // namespace

std::unique_ptr<VisibilitySink> make_visibility_sink(const std::string& path, const VisibilityHeader& header,
                                                     bool overwrite) {
  if (is_measurement_set_name(path)) return std::make_unique<MeasurementSetSink>(path, header, overwrite);
  return std::make_unique<StreamSink>(path, header, overwrite);
}

}  // namespace apsyn
