// SPDX-License-Identifier: GPL-3.0-or-later
// Beams of dishes that follow the sky: the same scalar for all stations and times.
#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "libcore/aterms/part.h"
#include "libcore/base/constants.h"
#include "libcore/base/error.h"
#include "libcore/base/units.h"
#include "libcore/sky/beams.h"
#include "libcore/sky/projection.h"
#include "libcore/system/parallel.h"

namespace apsyn {
namespace {

using Jones = View<std::complex<float>, 4>;

class DishPart : public AtermPart {
 public:
  explicit DishPart(const AtermEntry& entry) {
    if (entry.has("pointing"))
      pointing_ =
          entry.quantity("pointing", [](const std::string& text) { return parse_sky_direction(text); });
  }

  std::int64_t slot_of(double) const override { return 0; }

  void multiply(double, double freq_hz, const AtermGrid& grid, unsigned n_threads, Jones jones) override {
    const std::size_t n_pixels = grid.side * grid.side;
    std::vector<float> voltages(n_pixels);
    parallel_for(n_threads, grid.side, [&](std::size_t y, unsigned) {
      for (std::size_t x = 0; x < grid.side; ++x) {
        double l = grid.l(x), m = grid.m(y);
        const double distance = std::max(1.0, std::hypot(l, m));
        l /= distance;
        m /= distance;
        DirectionCosines there{l, m, std::sqrt(std::max(0.0, 1 - l * l - m * m))};
        const SkyDirection& pointing = pointing_ ? *pointing_ : centre_of(grid);
        if (pointing != grid.centre) there = project(pointing, unproject(grid.centre, l, m));
        voltages[y * grid.side + x] =
            there.n < 0 ? 0 : static_cast<float>(voltage(std::hypot(there.l, there.m), there.n, freq_hz));
      }
    });
    parallel_for(n_threads, jones.extent(0), [&](std::size_t station, unsigned) {
      for (std::size_t i = 0; i < 4 * n_pixels; ++i) jones[station].data()[i] *= voltages[i / 4];
    });
  }

  std::vector<std::string> warnings(const AtermGrid&, double) const override { return {}; }

 private:
  virtual double voltage(double sin_theta, double cos_theta, double freq_hz) const = 0;

  std::optional<SkyDirection> pointing_;  // the grid's centre when there is none
};

class Airy final : public DishPart {
 public:
  explicit Airy(const AtermEntry& entry) : DishPart(entry) {
    entry.allow({"model", "diameter", "pointing"});
    diameter_m_ = entry.quantity("diameter", [](const std::string& text) { return parse_length(text); });
    if (!(diameter_m_ > 0)) throw DataError("{}: a diameter above 0 is needed", entry.where("diameter"));
  }

 private:
  double voltage(double sin_theta, double, double freq_hz) const override {
    return airy_voltage(sin_theta, diameter_m_, freq_hz);
  }
  double diameter_m_;
};

class Gaussian final : public DishPart {
 public:
  explicit Gaussian(const AtermEntry& entry) : DishPart(entry) {
    entry.allow({"model", "fwhm", "frequency", "pointing"});
    fwhm_rad_ = entry.quantity("fwhm", [](const std::string& text) { return parse_angle(text); });
    if (!(fwhm_rad_ > 0)) throw DataError("{}: a width above 0 is needed", entry.where("fwhm"));
    if (!entry.has("frequency")) return;
    reference_hz_ =
        entry.quantity("frequency", [](const std::string& text) { return parse_frequency(text); });
    if (!(reference_hz_ > 0)) throw DataError("{}: a frequency above 0 is needed", entry.where("frequency"));
  }

 private:
  double voltage(double sin_theta, double cos_theta, double freq_hz) const override {
    const double scale = reference_hz_ > 0 ? reference_hz_ / freq_hz : 1;
    return gaussian_voltage(std::atan2(sin_theta, cos_theta), fwhm_rad_ * scale);
  }
  double fwhm_rad_, reference_hz_ = 0;  // 0: the same at all frequencies
};

}  // namespace

std::unique_ptr<AtermPart> open_aterm_dish(const AtermEntry& entry) {
  if (entry.text("model") == "airy") return std::make_unique<Airy>(entry);
  return std::make_unique<Gaussian>(entry);
}

}  // namespace apsyn
