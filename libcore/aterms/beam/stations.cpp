// SPDX-License-Identifier: GPL-3.0-or-later
// Beams of LOFAR's and OSKAR's stations, from the tables of a Measurement Set.
#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "libcore/aterms/beam/telescope.h"
#include "libcore/aterms/sky.h"
#include "libcore/base/csv.h"
#include "libcore/base/error.h"
#include "libcore/base/log.h"
#include "libcore/beams/phased_beams.h"
#include "libcore/beams/station_grid.h"
#include "libcore/formats/beam_files/beam_files.h"
#include "libcore/formats/ms/station_tables.h"

namespace apsyn {
namespace {

/// What J is divided by.
enum class Normalisation { none, full, amplitude, preapplied, preapplied_or_full };

BeamPart read_beam_part(const AtermEntry& entry) {
  const std::string word = lower(entry.text("beam_mode", "full"));
  if (word == "full") return BeamPart::full;
  if (word == "array_factor") return BeamPart::array_factor;
  if (word == "element") return BeamPart::element;
  throw DataError("{} = '{}': full, array_factor or element is needed", entry.where("beam_mode"), word);
}

Normalisation read_normalisation(const AtermEntry& entry) {
  const bool is_differential = entry.flag("differential", false);
  const std::string word =
      lower(entry.text("beam_normalisation_mode", is_differential ? "full" : "preapplied"));
  if (word == "none") return Normalisation::none;
  if (word == "full") return Normalisation::full;
  if (word == "amplitude") return Normalisation::amplitude;
  if (word == "preapplied") return Normalisation::preapplied;
  if (word == "preapplied_or_full") return Normalisation::preapplied_or_full;
  throw DataError("{} = '{}': none, full, amplitude, preapplied or preapplied_or_full is needed",
                  entry.where("beam_normalisation_mode"), word);
}

std::vector<std::shared_ptr<const Element>> open_elements(const AtermEntry& entry, StationKind kind,
                                                          const StationArray& array) {
  const std::string model = lower(entry.text("element_response_model", "default"));
  const auto folders = beam_data_folders(entry.text("data", ""));
  const std::string where = entry.where("element_response_model");
  if (model == "lobes" || model == "lwa")
    throw DataError("{} = '{}': this model's coefficients are not supported: leave it out for hamaker", where,
                    model);
  if (kind == StationKind::lofar) {
    if (model != "default" && model != "hamaker")
      throw DataError("{} = '{}': stations of LOFAR have hamaker", where, model);
    std::vector<std::shared_ptr<const Element>> elements(2);
    for (const Station& station : array.stations)
      for (const StationField& field : station.fields)
        if (!elements[field.element])
          elements[field.element] = make_hamaker_element(read_hamaker_file(
              find_beam_file(field.element == 0 ? "HamakerLBACoeff.h5" : "HamakerHBACoeff.h5", folders)));
    return elements;
  }
  if (model == "oskar_dipole" || model == "oskardipole") return {make_dipole_element(false)};
  if (model == "oskar_dipole_cos" || model == "oskardipolecos") return {make_dipole_element(true)};
  if (model == "default" || model == "skala40_wave" || model == "oskarsphericalwave")
    return {
        make_wave_element(open_oskar_waves(find_beam_file("oskar.h5", folders)), WaveConvention::skala40)};
  if (model == "skalow_feko") return {make_wave_element(open_skalow_waves(folders), WaveConvention::feko)};
  if (model == "gridded_eep") return {make_grid_element(open_gridded_eep(entry.file("coefficients_path")))};
  throw DataError(
      "{} = '{}': stations of OSKAR and SKA-Low have oskar_dipole, oskar_dipole_cos, skala40_wave, "
      "skalow_feko or gridded_eep",
      where, model);
}

class StationPart final : public AtermPart {
 public:
  StationPart(const AtermEntry& entry, const ArrayLayout& layout, const ArrayTables& tables,
              StationArray array)
      : interval_(read_update_interval(entry, kSkyUpdate_s)),
        site_(*layout.site),
        frame_(site_),
        array_(std::move(array)),
        part_(read_beam_part(entry)),
        normalisation_(read_normalisation(entry)),
        use_channel_freq_(entry.flag("usechannelfreq", true)),
        models_(open_elements(entry, array_.kind, array_)),
        applied_(read_applied_beam(tables.sets[0], tables.column)) {
    if (array_.kind == StationKind::oskar && !use_channel_freq_)
      throw DataError("{} = false: OSKAR's stations point at every frequency: leave it out",
                      entry.where("usechannelfreq"));
    entry.flag("frequency_interpolation", true);
    if (part_ == BeamPart::element)
      for (const auto& model : models_)
        if (model && model->n_elements() > 1)
          throw DataError("{} = element: the elements of skalow_feko differ: choose full or array_factor",
                          entry.where("beam_mode"));
    for (const auto& model : models_)
      if (model && model->n_elements() > 1)
        for (const Station& station : array_.stations)
          for (const StationField& field : station.fields)
            if (field.elements_m.size() != model->n_elements())
              throw DataError(
                  "{}: {} has {} elements, and the coefficients are of {}: take oskar_dipole, "
                  "oskar_dipole_cos or "
                  "skala40_wave",
                  entry.where("element_response_model"), station.name, field.elements_m.size(),
                  model->n_elements());
    const bool are_embedded = lower(entry.text("element_response_model", "default")) == "skalow_feko";
    phased_ = apsyn::phased_beams(array_, part_, are_embedded);
  }

  std::int64_t slot_of(double time_mjd_s) const override { return interval_.index(time_mjd_s); }

  void multiply(double time_mjd_s, double freq_hz, const AtermGrid& grid, unsigned n_threads,
                View<std::complex<float>, 4> jones) override {
    const StationSky sky(frame_, site_, from_mjd_seconds(interval_.middle(time_mjd_s)));
    const ElementResponses elements = elements_at(freq_hz);
    const StationPointing at = pointing(sky, freq_hz);
    const Buffer<SkyVector, 2> pixels = sky.on_grid(grid);
    const std::vector<Jones> left = left_factors(sky, elements, at);
    multiply_station_beams(array_, part_, elements, at, pixels, left, n_threads, jones);
  }

  void multiply_at(double time_mjd_s, double freq_hz, const SkyDirection&,
                   std::span<const SkyDirection> directions, unsigned n_threads,
                   View<std::complex<float>, 3> jones) override {
    const StationSky sky(frame_, site_, from_mjd_seconds(interval_.middle(time_mjd_s)));
    const ElementResponses elements = elements_at(freq_hz);
    const StationPointing at = pointing(sky, freq_hz);
    see(sky, interval_.middle(time_mjd_s), directions);
    multiply_station_beams(array_, part_, elements, at, seen_, left_factors(sky, elements, at), n_threads,
                           {jones.data(), {jones.extent(0), 1, directions.size(), 4}});
  }

  const PhasedBeams* phased_beams() const override { return phased_ ? &*phased_ : nullptr; }

  void evaluate_phased(double time_mjd_s, double freq_hz, std::span<const SkyDirection> from,
                       unsigned n_threads, PhasedChannel& channel, View<double, 2> directions,
                       View<std::complex<float>, 3> elements) override {
    const double middle_mjd_s = interval_.middle(time_mjd_s);
    const StationSky sky(frame_, site_, from_mjd_seconds(middle_mjd_s));
    const ElementResponses responses = elements_at(freq_hz);
    const StationPointing at = pointing(sky, freq_hz);
    see(sky, middle_mjd_s, from);
    channel.freq_hz = freq_hz;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      channel.delay_hz[axis] = at.delay_freq_hz * at.delay[axis];
      channel.tile_hz[axis] = at.delay_freq_hz * at.tile[axis];
      for (std::size_t i = 0; i < from.size(); ++i) directions(i, axis) = seen_(0, i).direction[axis];
    }
    channel.left = left_factors(sky, responses, at);
    for (std::size_t i = 0; i < channel.left.size(); ++i)
      channel.left[i] =
          scaled(channel.left[i],
                 1.0 / static_cast<double>(std::max<std::size_t>(1, array_.stations[i].fields.size())));
    fill_phased_elements(*phased_, array_.kind, part_, responses, {seen_.data(), {from.size()}}, n_threads,
                         elements);
  }

  std::vector<std::string> warnings(const AtermGrid&, double) const override { return {}; }

 private:
  /// Single directions, which all channels of a slot share.
  void see(const StationSky& sky, double time_mjd_s, std::span<const SkyDirection> directions) {
    if (time_mjd_s == seen_mjd_s_ &&
        std::equal(directions.begin(), directions.end(), seen_from_.begin(), seen_from_.end()))
      return;
    seen_mjd_s_ = time_mjd_s;
    seen_from_.assign(directions.begin(), directions.end());
    seen_.resize({1, directions.size()});
    for (std::size_t i = 0; i < directions.size(); ++i) seen_(0, i) = sky.at(directions[i]);
  }

  ElementResponses elements_at(double freq_hz) {
    if (freq_hz != elements_hz_) {
      elements_.clear();
      for (const auto& model : models_) elements_.push_back(model ? model->at_frequency(freq_hz) : nullptr);
      elements_hz_ = freq_hz;
    }
    return elements_;
  }

  StationPointing pointing(const StationSky& sky, double freq_hz) const {
    return {sky.direction(array_.delay), sky.direction(array_.tile), freq_hz,
            use_channel_freq_ ? freq_hz : reference_hz(freq_hz)};
  }

  /// Of the window that has the frequency, or comes nearest.
  double reference_hz(double freq_hz) const {
    double best = freq_hz, least = INFINITY;
    for (const StationWindow& window : array_.windows) {
      const double distance = std::max({0.0, window.low_hz - freq_hz, freq_hz - window.high_hz});
      if (distance < least) {
        least = distance;
        best = window.reference_hz;
      }
    }
    return best;
  }

  std::vector<Jones> left_factors(const StationSky& sky, const ElementResponses& elements,
                                  const StationPointing& at) const {
    const bool was_applied = applied_.mode != AppliedBeam::Mode::none;
    const SkyVector there = sky.at(was_applied ? applied_.direction : array_.reference);
    Normalisation how = normalisation_;
    if (how == Normalisation::preapplied_or_full)
      how = was_applied ? Normalisation::preapplied : Normalisation::full;
    if (how == Normalisation::preapplied && !was_applied) how = Normalisation::none;
    std::vector<Jones> left;
    for (const Station& station : array_.stations) {
      const auto beam = [&](BeamPart part) {
        return station_response(station, array_.kind, part, elements, at, there);
      };
      switch (how) {
        case Normalisation::none:
          left.push_back(kUnitJones);
          break;
        case Normalisation::amplitude: {
          const double norm = squared_norm(beam(part_)) / 2;
          left.push_back(scaled(kUnitJones, norm > 0 ? 1 / std::sqrt(norm) : 0));
          break;
        }
        case Normalisation::full:
          left.push_back(inverse_or_zero(beam(part_)));
          break;
        default:
          left.push_back(
              inverse_or_zero(beam(applied_.mode == AppliedBeam::Mode::full      ? BeamPart::full
                                   : applied_.mode == AppliedBeam::Mode::element ? BeamPart::element
                                                                                 : BeamPart::array_factor)));
      }
    }
    return left;
  }

  UpdateInterval interval_;
  Site site_;
  SkyFrame frame_;
  StationArray array_;
  BeamPart part_;
  Normalisation normalisation_;
  bool use_channel_freq_;
  std::vector<std::shared_ptr<const Element>> models_;
  AppliedBeam applied_;
  std::optional<PhasedBeams> phased_;
  ElementResponses elements_;
  double elements_hz_ = 0, seen_mjd_s_ = 0;
  std::vector<SkyDirection> seen_from_;
  Buffer<SkyVector, 2> seen_;
};

}  // namespace

std::unique_ptr<AtermPart> open_aterm_stations(const AtermEntry& entry, const ArrayLayout& layout,
                                               const ArrayTables& tables) {
  entry.allow({"model", "data", "differential", "update_interval", "usechannelfreq", "element_response_model",
               "coefficients_path", "beam_mode", "beam_normalisation_mode", "frequency_interpolation"});
  if (tables.sets.empty())
    throw DataError(
        "{}: station: only the tables of a Measurement Set tell where the elements of stations are, and the "
        "input "
        "is a stream: write it into a set with these tables, or choose another model",
        entry.where("model"));
  if (!layout.site)
    throw DataError("{}: the beam of stations needs to know where they are: ANTENNA has no positions",
                    entry.where("model"));
  StationArray array =
      lower(layout.telescope) == "lofar" ? read_lofar_stations(tables) : read_oskar_stations(tables);
  if (array.stations.size() != layout.antennas.size())
    throw DataError("{}: {} has beams of {} stations, and {} antennas", entry.where("model"), tables.sets[0],
                    array.stations.size(), layout.antennas.size());
  return std::make_unique<StationPart>(entry, layout, tables, std::move(array));
}

}  // namespace apsyn
