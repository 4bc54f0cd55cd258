// SPDX-License-Identifier: GPL-3.0-or-later
// Beams of telescopes with dishes, which point at DELAY_DIR of the field.
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "libcore/aterms/beam/pointing.h"
#include "libcore/aterms/beam/telescope.h"
#include "libcore/base/csv.h"
#include "libcore/base/error.h"
#include "libcore/beams/dish.h"
#include "libcore/files/input.h"
#include "libcore/formats/beam_files/beam_files.h"
#include "libcore/formats/ms/station_tables.h"
#include "libcore/system/parallel.h"

namespace apsyn {
namespace {

std::unique_ptr<DishVoltage> open_table(const char* file, const std::vector<std::string>& folders,
                                        const auto& make) {
  const std::string path = find_beam_file(file, folders);
  return make(read_text_file(path, 1u << 20), path);
}

std::unique_ptr<DishVoltage> open_polynomials(const std::vector<std::string>& folders,
                                              const std::string& telescope) {
  return open_table("dish-polynomials.csv", folders, [&](const std::string& text, const std::string& path) {
    return make_polynomial_dish(text, path, telescope);
  });
}

std::unique_ptr<DishVoltage> open_meerkat(const AtermEntry& entry, const std::vector<std::string>& folders,
                                          const ArrayTables& tables) {
  const std::string variant = lower(entry.text("variant", "jimbeam"));
  if (variant == "mauch") return open_polynomials(folders, "MeerKAT");
  if (variant != "jimbeam")
    throw DataError("{} = '{}': jimbeam or mauch is needed", entry.where("variant"), variant);
  // The receivers overlap: where the band begins tells which one it is.
  double lowest_hz = 856e6;
  if (!tables.sets.empty()) {
    lowest_hz = INFINITY;
    for (const StationWindow& window : read_ms_windows(tables))
      lowest_hz = std::min(lowest_hz, window.low_hz);
  }
  const char* band = lowest_hz < 855e6 ? "UHF" : lowest_hz < 1.7e9 ? "L" : "S";
  return open_table("meerkat-jimbeam.csv", folders, [&](const std::string& text, const std::string& path) {
    return make_jimbeam_dish(text, path, band);
  });
}

class VoltagePart final : public AtermPart {
 public:
  VoltagePart(const AtermEntry& entry, const ArrayLayout& layout, const ArrayTables& tables,
              std::vector<std::unique_ptr<DishVoltage>> voltages, std::vector<std::size_t> of_station)
      : interval_(read_update_interval(entry, kSkyUpdate_s)),
        pointing_(entry, layout, tables),
        voltages_(std::move(voltages)),
        of_station_(std::move(of_station)),
        turns_(
            std::any_of(voltages_.begin(), voltages_.end(), [](const auto& v) { return !v->is_round(); })) {
    if (turns_) pointing_.need_site(entry);
  }

  std::int64_t slot_of(double time_mjd_s) const override { return turns_ ? interval_.index(time_mjd_s) : 0; }

  void multiply(double time_mjd_s, double freq_hz, const AtermGrid& grid, unsigned n_threads,
                View<std::complex<float>, 4> jones) override {
    const std::vector<DishOffset> offsets =
        turns_ ? pointing_.local_offsets(interval_.middle(time_mjd_s), grid) : pointing_.sky_offsets(grid);
    Buffer<float, 3> values({voltages_.size(), offsets.size(), 2});
    parallel_for(n_threads, grid.side, [&](std::size_t y, unsigned) {
      for (std::size_t i = y * grid.side; i < (y + 1) * grid.side; ++i)
        for (std::size_t k = 0; k < voltages_.size(); ++k) {
          const bool is_behind = std::isnan(offsets[i].azimuth);
          const auto v = is_behind ? std::array<double, 2>{} : voltages_[k]->at(offsets[i], freq_hz);
          for (std::size_t pol = 0; pol < 2; ++pol) values(k, i, pol) = static_cast<float>(v[pol]);
        }
    });
    parallel_for(n_threads, jones.extent(0), [&](std::size_t station, unsigned) {
      std::complex<float>* to = jones[station].data();
      for (std::size_t i = 0; i < offsets.size(); ++i, to += 4) {
        const float x = values(of_station_[station], i, 0), y = values(of_station_[station], i, 1);
        to[0] *= x;  // jones := jones diag(x, y)
        to[1] *= y;
        to[2] *= x;
        to[3] *= y;
      }
    });
  }

  std::vector<std::string> warnings(const AtermGrid&, double) const override { return {}; }

 private:
  UpdateInterval interval_;
  DishPointing pointing_;
  std::vector<std::unique_ptr<DishVoltage>> voltages_;  ///< those that differ
  std::vector<std::size_t> of_station_;
  bool turns_;
};

}  // namespace

std::unique_ptr<AtermPart> open_aterm_voltages(const AtermEntry& entry, const std::string& model,
                                               const ArrayLayout& layout, const ArrayTables& tables) {
  entry.allow({"model", "variant", "data", "pointing", "differential", "update_interval", "usechannelfreq",
               "element_response_model", "beam_mode", "beam_normalisation_mode", "frequency_interpolation"});
  const auto folders = beam_data_folders(entry.text("data", ""));
  std::vector<std::unique_ptr<DishVoltage>> voltages;
  std::vector<std::size_t> of_station(layout.antennas.size(), 0);
  if (model == "vla") {
    voltages.push_back(open_polynomials(folders, "VLA"));
  } else if (model == "atca") {
    voltages.push_back(open_polynomials(folders, "ATCA"));
  } else if (model == "gmrt") {
    voltages.push_back(open_polynomials(folders, "GMRT"));
  } else if (model == "meerkat") {
    voltages.push_back(open_meerkat(entry, folders, tables));
  } else if (model == "mid") {
    voltages.push_back(make_blocked_dish(15, 0, 0));
  } else if (model == "dsa110") {
    voltages.push_back(make_blocked_dish(4.65, 0.4064, 480));
  } else {
    voltages.push_back(make_blocked_dish(10.7, 0.75, 107));
    voltages.push_back(make_blocked_dish(6.25, 0.75, 214));
    if (tables.sets.empty())
      throw DataError(
          "{}: a stream does not tell which of ALMA's dishes are 7 m wide: give a Measurement Set",
          entry.where("model"));
    const std::vector<double> diameters_m = read_ms_dish_diameters(tables.sets[0]);
    for (std::size_t i = 0; i < of_station.size() && i < diameters_m.size(); ++i)
      of_station[i] = diameters_m[i] < 9.5 ? 1 : 0;
  }
  return std::make_unique<VoltagePart>(entry, layout, tables, std::move(voltages), std::move(of_station));
}

}  // namespace apsyn
