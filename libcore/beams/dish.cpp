// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/beams/dish.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "libcore/base/constants.h"
#include "libcore/base/csv.h"
#include "libcore/base/error.h"
#include "libcore/sky/beams.h"

namespace apsyn {
namespace {

constexpr double kArcminPerRad = 10800 / kPi;

double distance(const DishOffset& offset) {
  return std::hypot(offset.azimuth, offset.elevation);
}

/// How a value at `x` lies between rising knots: the lower one and the weight of the next, held at the ends.
template <class Row, class Of>
std::pair<std::size_t, double> between(const std::vector<Row>& rows, double x, Of of) {
  if (x <= of(rows.front())) return {0, 0};
  for (std::size_t i = 1; i < rows.size(); ++i)
    if (x < of(rows[i])) return {i - 1, (x - of(rows[i - 1])) / (of(rows[i]) - of(rows[i - 1]))};
  return {rows.size() - 1, 0};
}

std::size_t column(const CsvTable& table, const char* name) {
  const auto found = table.find(name);
  if (!found) throw DataError("{}: no column '{}'", table.source, name);
  return *found;
}

class PolynomialDish final : public DishVoltage {
 public:
  PolynomialDish(std::string_view csv, const std::string& source, const std::string& telescope) {
    struct Kind {
      const char* name;
      double reference, limit;
      bool interpolates, is_inverse;
    };
    constexpr Kind kKinds[] = {{"VLA", 1, 53, false, false},
                               {"GMRT", 1.5, 28.66, true, false},
                               {"ATCA", 1, 53, true, true},
                               {"MeerKAT", 1.278, 71, false, false}};
    for (const Kind& kind : kKinds)
      if (telescope == kind.name) {
        reference_ = kind.reference;
        limit_ = kind.limit;
        interpolates_ = kind.interpolates;
        is_inverse_ = kind.is_inverse;
      }
    const CsvTable table = parse_csv(csv, source);
    const std::size_t name = column(table, "telescope"), mhz = column(table, "freq_mhz");
    for (const CsvRow& from : table.rows) {
      if (from.fields[name] != telescope) continue;
      Row row{table.number(from, mhz) * 1e6, {}};
      for (std::size_t i = 0; i < row.c.size(); ++i)
        row.c[i] = table.number(from, column(table, ("c" + std::to_string(i)).c_str()));
      rows_.push_back(row);
    }
    if (rows_.empty()) throw DataError("{}: no row of {}", source, telescope);
    std::sort(rows_.begin(), rows_.end(), [](const Row& a, const Row& b) { return a.freq_hz < b.freq_hz; });
  }

  std::array<double, 2> at(const DishOffset& offset, double freq_hz) const override {
    constexpr double kFloor = 1e-4;
    const double scaled = distance(offset) * kArcminPerRad * freq_hz * 1e-9;
    double v = 0;
    if (scaled <= limit_) {
      const double x = scaled * scaled * reference_;
      if (interpolates_) {
        const auto [low, weight] = between(rows_, freq_hz, [](const Row& row) { return row.freq_hz; });
        v = voltage(rows_[low], x);
        if (weight > 0) v += weight * (voltage(rows_[low + 1], x) - v);
      } else {
        const auto nearest = std::min_element(rows_.begin(), rows_.end(), [&](const Row& a, const Row& b) {
          return std::abs(a.freq_hz - freq_hz) < std::abs(b.freq_hz - freq_hz);
        });
        v = voltage(*nearest, x);
      }
    }
    v += kFloor * (1 - v);
    return {v, v};
  }

 private:
  struct Row {
    double freq_hz;
    std::array<double, 6> c;
  };
  double voltage(const Row& row, double x) const {
    double power = 0;
    for (std::size_t i = row.c.size(); i-- > 0;) power = power * x + row.c[i];
    if (is_inverse_) return power > 0 ? 1 / std::sqrt(power) : 0;
    return std::sqrt(std::max(power, 0.0));
  }

  std::vector<Row> rows_;
  double reference_ = 1, limit_ = 0;
  bool interpolates_ = false, is_inverse_ = false;
};

class JimbeamDish final : public DishVoltage {
 public:
  JimbeamDish(std::string_view csv, const std::string& source, const std::string& band) {
    const CsvTable table = parse_csv(csv, source);
    const std::size_t own = column(table, "band"), mhz = column(table, "freq_mhz");
    for (const CsvRow& from : table.rows) {
      if (from.fields[own] != band) continue;
      Row row{table.number(from, mhz) * 1e6, {}};
      constexpr const char* kColumns[2][4] = {
          {"hx_squint_arcmin", "hy_squint_arcmin", "hx_fwhm_arcmin", "hy_fwhm_arcmin"},
          {"vx_squint_arcmin", "vy_squint_arcmin", "vx_fwhm_arcmin", "vy_fwhm_arcmin"}};
      for (std::size_t pol = 0; pol < 2; ++pol)
        for (std::size_t i = 0; i < 4; ++i)
          row.arcmin[pol][i] = table.number(from, column(table, kColumns[pol][i]));
      rows_.push_back(row);
    }
    if (rows_.empty()) throw DataError("{}: no row of band {}", source, band);
    std::sort(rows_.begin(), rows_.end(), [](const Row& a, const Row& b) { return a.freq_hz < b.freq_hz; });
  }

  std::array<double, 2> at(const DishOffset& offset, double freq_hz) const override {
    constexpr double kWidth = 1.1889647809329453;  // where the taper's power is one half, at 1 / 2 of a FWHM
    const auto [low, weight] = between(rows_, freq_hz, [](const Row& row) { return row.freq_hz; });
    const double x = offset.azimuth * kArcminPerRad, y = offset.elevation * kArcminPerRad;
    std::array<double, 2> v{};
    for (std::size_t pol = 0; pol < 2; ++pol) {
      std::array<double, 4> at = rows_[low].arcmin[pol];
      for (std::size_t i = 0; i < 4 && weight > 0; ++i)
        at[i] += weight * (rows_[low + 1].arcmin[pol][i] - at[i]);
      const double r = kWidth * std::hypot((x - at[0]) / at[2], (y - at[1]) / at[3]);
      const double denominator = 1 - 4 * r * r;
      v[pol] = std::abs(denominator) < 1e-9 ? kPi / 4 : std::cos(kPi * r) / denominator;
    }
    return v;
  }
  bool is_round() const override { return false; }

 private:
  struct Row {
    double freq_hz;
    std::array<std::array<double, 4>, 2> arcmin;  ///< of H and V: squints and widths along x and y
  };
  std::vector<Row> rows_;
};

class BlockedDish final : public DishVoltage {
 public:
  BlockedDish(double diameter_m, double blockage_m, double limit)
      : diameter_m_(diameter_m), blockage_m_(blockage_m), limit_(limit) {}
  std::array<double, 2> at(const DishOffset& offset, double freq_hz) const override {
    const double r = distance(offset);
    if (limit_ > 0 && r * kArcminPerRad * freq_hz * 1e-9 > limit_) return {0, 0};
    const double whole = diameter_m_ * diameter_m_, hidden = blockage_m_ * blockage_m_;
    const double v = (whole * airy_voltage(r, diameter_m_, freq_hz) -
                      (hidden > 0 ? hidden * airy_voltage(r, blockage_m_, freq_hz) : 0)) /
                     (whole - hidden);
    return {v, v};
  }

 private:
  double diameter_m_, blockage_m_, limit_;
};

}  // namespace

std::unique_ptr<DishVoltage> make_polynomial_dish(std::string_view csv, const std::string& source,
                                                  const std::string& telescope) {
  return std::make_unique<PolynomialDish>(csv, source, telescope);
}

std::unique_ptr<DishVoltage> make_jimbeam_dish(std::string_view csv, const std::string& source,
                                               const std::string& band) {
  return std::make_unique<JimbeamDish>(csv, source, band);
}

std::unique_ptr<DishVoltage> make_blocked_dish(double diameter_m, double blockage_m, double limit) {
  return std::make_unique<BlockedDish>(diameter_m, blockage_m, limit);
}

}  // namespace apsyn
