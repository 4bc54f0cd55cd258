// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/aterms/aterms.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "libcore/aterms/config.h"
#include "libcore/aterms/part.h"
#include "libcore/base/error.h"
#include "libcore/files/input.h"

namespace apsyn {
namespace {

std::unique_ptr<AtermPart> open_part(const AtermEntry& entry, const ArrayLayout& layout, bool circular,
                                     const ArrayTables& tables) {
  const std::string type = entry.type();
  if (type == "tec" || type == "dldm" || type == "diagonal")
    return open_aterm_images(entry, layout, circular);
  if (type == "screen") return open_aterm_screen(entry, layout);
  if (type == "h5parm") return open_aterm_solutions(entry, layout, circular);
  if (type == "beam") return open_aterm_beam(entry, layout, tables);
  throw DataError(
      "{} = '{}': no known type of A-terms: tec, dldm, diagonal, h5parm, beam or screen is needed",
      entry.where("type"), type);
}

void set_unit(std::span<std::complex<float>> jones) {
  for (std::size_t i = 0; i < jones.size(); i += 4) {
    jones[i] = jones[i + 3] = 1;
    jones[i + 1] = jones[i + 2] = 0;
  }
}

/// A slot of the product is the sum of the parts' slots: they rise with time, so equal sums have equal parts.
class Product final : public AtermModel {
 public:
  Product(std::vector<std::unique_ptr<AtermPart>> parts, std::size_t n_stations)
      : parts_(std::move(parts)), n_stations_(n_stations) {}

  std::size_t n_stations() const override { return n_stations_; }

  std::int64_t slot_of(double time_mjd_s) const override {
    if (!std::isfinite(time_mjd_s))
      throw std::invalid_argument("AtermModel::slot_of: the time is not finite");
    for (const auto& part : parts_) part->check(time_mjd_s);
    return sum_of_slots(std::clamp(time_mjd_s, -kLatest_s, kLatest_s));
  }

  void evaluate(std::int64_t slot, double freq_hz, const AtermGrid& grid, unsigned n_threads,
                View<std::complex<float>, 4> jones) override {
    const View<std::complex<float>, 4>::Shape shape{n_stations_, grid.side, grid.side, 4};
    if (jones.shape() != shape || !(freq_hz > 0))
      throw std::invalid_argument("AtermModel::evaluate: the shape of jones or the frequency is wrong");
    set_unit(jones.span());
    const double time_mjd_s = time_in(slot);
    for (auto part = parts_.rbegin(); part != parts_.rend(); ++part)  // each multiplies from the right
      (*part)->multiply(time_mjd_s, freq_hz, grid, n_threads, jones);
  }

  void evaluate_at(std::int64_t slot, double freq_hz, const SkyDirection& centre,
                   std::span<const SkyDirection> directions, unsigned n_threads,
                   View<std::complex<float>, 3> jones) override {
    const View<std::complex<float>, 3>::Shape shape{n_stations_, directions.size(), 4};
    if (jones.shape() != shape || !(freq_hz > 0))
      throw std::invalid_argument("AtermModel::evaluate_at: the shape of jones or the frequency is wrong");
    if (directions.empty()) return;
    set_unit(jones.span());
    const double time_mjd_s = time_in(slot);
    for (auto part = parts_.rbegin(); part != parts_.rend(); ++part)
      (*part)->multiply_at(time_mjd_s, freq_hz, centre, directions, n_threads, jones);
  }

  const PhasedBeams* phased_beams() const override {
    return parts_.size() == 1 ? parts_[0]->phased_beams() : nullptr;
  }

  void evaluate_phased(std::int64_t slot, double freq_hz, std::span<const SkyDirection> from,
                       unsigned n_threads, PhasedChannel& channel, View<double, 2> directions,
                       View<std::complex<float>, 3> elements) override {
    parts_.at(0)->evaluate_phased(time_in(slot), freq_hz, from, n_threads, channel, directions, elements);
  }

  std::vector<std::string> warnings(const AtermGrid& grid, double freq_hz) const override {
    std::vector<std::string> lines;
    for (const auto& part : parts_)
      for (std::string& line : part->warnings(grid, freq_hz)) lines.push_back(std::move(line));
    return lines;
  }

 private:
  static constexpr double kLatest_s = 1e11;  // some three thousand years

  std::int64_t sum_of_slots(double time_mjd_s) const {
    std::int64_t slot = 0;
    for (const auto& part : parts_) slot += part->slot_of(time_mjd_s);
    return slot;
  }

  double time_in(std::int64_t slot) const {
    double before = -kLatest_s, at = kLatest_s;  // slots: before < wanted <= at
    if (sum_of_slots(before) == slot) return before;
    while (true) {
      const double middle = before + 0.5 * (at - before);
      if (middle <= before || middle >= at) break;
      (sum_of_slots(middle) < slot ? before : at) = middle;
    }
    if (sum_of_slots(at) != slot)
      throw std::invalid_argument("AtermModel::evaluate: slot_of returns no such slot");
    return at;
  }

  std::vector<std::unique_ptr<AtermPart>> parts_;
  std::size_t n_stations_;
};

}  // namespace

void AtermPart::multiply_at(double time_mjd_s, double freq_hz, const SkyDirection& centre,
                            std::span<const SkyDirection> directions, unsigned n_threads,
                            View<std::complex<float>, 3> jones) {
  const std::size_t n_stations = jones.extent(0);
  Buffer<std::complex<float>, 4> own({n_stations, 1, 1, 4});
  image_centre_ = centre;
  for (std::size_t i = 0; i < directions.size(); ++i) {
    for (std::size_t station = 0; station < n_stations; ++station)
      std::copy_n(&jones(station, i, 0), 4, &own(station, 0, 0, 0));
    // Pixels so small that nothing is smoothed to them.
    multiply(time_mjd_s, freq_hz, {directions[i], 1, 1e-9, 1e-9}, n_threads, own);
    for (std::size_t station = 0; station < n_stations; ++station)
      std::copy_n(&own(station, 0, 0, 0), 4, &jones(station, i, 0));
  }
  image_centre_.reset();
}

std::unique_ptr<AtermModel> open_aterms(const AtermConfig& config, const ArrayLayout& layout, bool circular,
                                        const ArrayTables& tables) {
  const std::string text = config.text.empty() ? read_text_file(config.path, 16u << 20) : config.text;
  std::vector<std::unique_ptr<AtermPart>> parts;
  for (const AtermEntry& entry : parse_aterm_config(text, config.path))
    parts.push_back(open_part(entry, layout, circular, tables));
  return std::make_unique<Product>(std::move(parts), layout.antennas.size());
}

}  // namespace apsyn
