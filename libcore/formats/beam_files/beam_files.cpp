// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/formats/beam_files/beam_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "libcore/base/constants.h"
#include "libcore/base/csv.h"
#include "libcore/base/error.h"
#include "libcore/files/output.h"
#include "libcore/formats/beam_files/hdf5_numbers.h"

namespace apsyn {
namespace {

namespace fs = std::filesystem;

std::string chosen_folder;

/// Beside the folder of the program: .../bin/clean and .../share/apsyn/beams.
std::string installed_folder() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  return error ? std::string() : (program.parent_path().parent_path() / "share/apsyn/beams").string();
}

/// Where the user gets a file that is not installed.
std::string publisher(const std::string& name) {
  if (name.starts_with("mwa_full"))
    return "the MWA publishes it at http://ws.mwatelescope.org/static/mwa_full_embedded_element_pattern.h5";
  if (name.starts_with("SKA-Low"))
    return "EveryBeam publishes it (https://git.astron.nl/RD/EveryBeam, coefficients of SKA-Low)";
  return "it belongs to the installation, below share/apsyn/beams, and EveryBeam publishes it "
         "(https://git.astron.nl/RD/EveryBeam)";
}

std::complex<double> element(const Hdf5Numbers& numbers, std::size_t i) {
  return {numbers.values[2 * i], numbers.values[2 * i + 1]};
}

WaveCoefficients read_waves(const std::string& path, const std::string& dataset, double freq_hz) {
  const Hdf5Numbers numbers = read_hdf5_numbers(path, {{dataset, Hdf5Request::Kind::complex, 3}})[0];
  if (numbers.extents[2] != 4 || numbers.extents[0] == 0 || numbers.extents[1] == 0)
    throw DataError("{}: {}: {} x {} x {} coefficients: [element][wave][4] is expected", path, dataset,
                    numbers.extents[0], numbers.extents[1], numbers.extents[2]);
  WaveCoefficients waves{freq_hz, {}};
  waves.values.resize({numbers.extents[0], numbers.extents[1], 4});
  for (std::size_t i = 0; i < waves.values.size(); ++i) waves.values.data()[i] = element(numbers, i);
  return waves;
}

class OskarWaves final : public WaveSource {
 public:
  explicit OskarWaves(const std::string& path) : path_(path) {
    for (const std::string& name : read_hdf5_names(path))
      if (const auto mhz = finite_number(name); mhz && *mhz > 0) datasets_.emplace_back(name, *mhz);
    if (datasets_.empty())
      throw DataError("{}: no dataset is named by a frequency in MHz: is it the file that it is named as?",
                      path);
  }
  std::size_t n_elements() const override { return 1; }
  WaveCoefficients nearest(double freq_hz) const override {
    const double mhz = std::floor(freq_hz * 1e-6);
    const auto best = std::min_element(datasets_.begin(), datasets_.end(), [&](const auto& a, const auto& b) {
      return std::abs(a.second - mhz) < std::abs(b.second - mhz);
    });
    return read_waves(path_, best->first, best->second * 1e6);
  }

 private:
  std::string path_;
  std::vector<std::pair<std::string, double>> datasets_;  ///< in the order of their names
};

class SkalowWaves final : public WaveSource {
 public:
  explicit SkalowWaves(const std::vector<std::string>& folders) {
    constexpr std::string_view kBegin = "SKA-Low_Perturbed_Vogel_256_elem_FEKO_", kEnd = "_MHz.h5";
    for (const std::string& folder : folders) {
      std::error_code error;
      for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
        const std::string name = at->path().filename().string();
        if (!name.starts_with(kBegin) || !name.ends_with(kEnd) || name.size() < kBegin.size() + kEnd.size())
          continue;
        const auto mhz = finite_number(name.substr(kBegin.size(), name.size() - kBegin.size() - kEnd.size()));
        if (mhz && *mhz > 0) files_.emplace(*mhz, at->path().string());
      }
    }
    if (files_.empty()) find_beam_file(std::string(kBegin) + "100.00000" + std::string(kEnd), folders);
    n_elements_ = nearest(files_.begin()->first * 1e6).values.extent(0);
  }
  std::size_t n_elements() const override { return n_elements_; }
  WaveCoefficients nearest(double freq_hz) const override {
    const auto best = std::min_element(files_.begin(), files_.end(), [&](const auto& a, const auto& b) {
      return std::abs(a.first * 1e6 - freq_hz) < std::abs(b.first * 1e6 - freq_hz);
    });
    WaveCoefficients waves = read_waves(best->second, "coefficients", best->first * 1e6);
    if (n_elements_ != 0 && waves.values.extent(0) != n_elements_)
      throw DataError("{}: {} elements, and {} at other frequencies: take files of one array", best->second,
                      waves.values.extent(0), n_elements_);
    return waves;
  }

 private:
  std::map<double, std::string> files_;  ///< by MHz
  std::size_t n_elements_ = 0;
};

class GriddedEep final : public PatternSource {
 public:
  explicit GriddedEep(const std::string& path) : path_(path) {
    const auto axis = [](const char* name) {
      return Hdf5Request{fmt::format("averageEEP/{}", name), Hdf5Request::Kind::real, 1};
    };
    const std::vector<Hdf5Numbers> axes = read_hdf5_numbers(path, {axis("Phi"), axis("Theta"), axis("Freq")});
    phi_rad_ = axes[0].values;
    theta_rad_ = axes[1].values;
    freq_hz_ = axes[2].values;
    const auto check = [&](const char* name, const std::vector<double>& values, std::size_t least) {
      if (values.size() < least)
        throw DataError("{}: averageEEP/{} has {} values: at least {} are needed", path, name, values.size(),
                        least);
      for (std::size_t i = 1; i < values.size(); ++i)
        if (!(values[i] > values[i - 1]))
          throw DataError("{}: averageEEP/{}: {:g} comes after {:g}: values have to rise", path, name,
                          values[i], values[i - 1]);
    };
    check("Phi", phi_rad_, 2);
    check("Theta", theta_rad_, 2);
    check("Freq", freq_hz_, 1);
    constexpr double kSlack_rad = 1e-4;
    if (std::abs(phi_rad_.front()) > kSlack_rad || std::abs(phi_rad_.back() - kTwoPi) > kSlack_rad)
      throw DataError("{}: averageEEP/Phi reaches from {:g} to {:g}: 0 to 2 pi radians are needed", path,
                      phi_rad_.front(), phi_rad_.back());
    if (std::abs(theta_rad_.front()) > kSlack_rad || theta_rad_.back() < kPi / 2 - kSlack_rad ||
        theta_rad_.back() > kPi + kSlack_rad)
      throw DataError("{}: averageEEP/Theta reaches from {:g} to {:g}: 0 to pi/2 radians at least are needed",
                      path, theta_rad_.front(), theta_rad_.back());
    read(freq_hz_.size() - 1, 1);  // what is malformed shows before any work
  }

  ElementPattern at(double freq_hz) const override {
    if (!(freq_hz >= freq_hz_.front() && freq_hz <= freq_hz_.back()))
      throw DataError("{}: {:g} MHz: its patterns are those of {:g} to {:g} MHz", path_, freq_hz * 1e-6,
                      freq_hz_.front() * 1e-6, freq_hz_.back() * 1e-6);
    const auto above = std::upper_bound(freq_hz_.begin(), freq_hz_.end(), freq_hz);
    const std::size_t first = static_cast<std::size_t>(above - freq_hz_.begin()) - 1,
                      n = above == freq_hz_.end() ? 1 : 2;
    const Hdf5Numbers numbers = read(first, n);
    const double beyond = n == 1 ? 0 : (freq_hz - freq_hz_[first]) / (freq_hz_[first + 1] - freq_hz_[first]);
    ElementPattern pattern{phi_rad_, theta_rad_, {}};
    pattern.e.resize({phi_rad_.size(), theta_rad_.size(), 4});
    for (std::size_t i = 0; i < phi_rad_.size() * theta_rad_.size(); ++i)
      for (std::size_t j = 0; j < 4; ++j)
        pattern.e.data()[4 * i + j] = element(numbers, 4 * n * i + j) * (1 - beyond) +
                                      element(numbers, 4 * (n * i + n - 1) + j) * beyond;
    return pattern;
  }

 private:
  /// Of some frequencies, [phi][theta][freq][4][re, im].
  Hdf5Numbers read(std::size_t first, std::size_t n) const {
    Hdf5Request request{"averageEEP/averageEEP", Hdf5Request::Kind::real, 5};
    request.n_of_axis = n;
    request.axis = 2;
    request.first = first;
    Hdf5Numbers numbers = read_hdf5_numbers(path_, {request})[0];
    const std::vector<std::size_t> expected{phi_rad_.size(), theta_rad_.size(), freq_hz_.size(), 4, 2};
    if (numbers.extents != expected)
      throw DataError("{}: averageEEP/averageEEP has the extents {}, and Phi, Theta and Freq ask for {}",
                      path_, fmt::join(numbers.extents, " x "), fmt::join(expected, " x "));
    return numbers;
  }

  std::string path_;
  std::vector<double> phi_rad_, theta_rad_, freq_hz_;
};

class MwaFeeFile final : public MwaFeeSource {
 public:
  explicit MwaFeeFile(const std::string& path) : path_(path) {
    for (const std::string& name : read_hdf5_names(path)) {
      if (!name.starts_with("X1_")) continue;
      if (const auto hz = finite_number(std::string_view(name).substr(3)); hz && *hz > 0)
        frequencies_.emplace_back(*hz, name.substr(3));
    }
    if (frequencies_.empty())
      throw DataError("{}: no dataset X1_<Hz>: is it the file that it is named as?", path);
    std::sort(frequencies_.begin(), frequencies_.end());
    const Hdf5Numbers modes = read_hdf5_numbers(path, {{"modes", Hdf5Request::Kind::real, 2}})[0];
    if (modes.extents[0] != 3)
      throw DataError("{}: modes has {} rows: s, m and n are needed", path, modes.extents[0]);
    const std::size_t n = modes.extents[1];
    for (std::size_t i = 0; i < n; ++i) {
      const auto number = [&](std::size_t row) {
        return static_cast<int>(std::clamp(modes.values[row * n + i], -1e6, 1e6));
      };
      waves_.push_back({number(0), number(1), number(2)});
    }
  }

  MwaFeeCoefficients nearest(double freq_hz) const override {
    const auto best =
        std::min_element(frequencies_.begin(), frequencies_.end(), [&](const auto& a, const auto& b) {
          return std::abs(a.first - freq_hz) < std::abs(b.first - freq_hz);
        });
    MwaFeeCoefficients coefficients;
    coefficients.freq_hz = best->first;
    coefficients.waves = waves_;
    std::vector<Hdf5Request> requests;
    for (const char pol : {'X', 'Y'})
      for (std::size_t dipole = 1; dipole <= kMwaDipoles; ++dipole)
        requests.push_back({fmt::format("{}{}_{}", pol, dipole, best->second), Hdf5Request::Kind::real, 2});
    const std::vector<Hdf5Numbers> all = read_hdf5_numbers(path_, requests);
    for (std::size_t i = 0; i < all.size(); ++i) {
      const std::vector<double>& values = all[i].values;
      const std::size_t n = all[i].extents[1];
      if (all[i].extents[0] != 2 || n > waves_.size())
        throw DataError("{}: {}: {} x {} numbers: amplitudes and phases of at most {} modes are expected",
                        path_, requests[i].dataset, all[i].extents[0], n, waves_.size());
      for (std::size_t k = 0; k < n; ++k)
        coefficients.dipoles[i / kMwaDipoles][i % kMwaDipoles].push_back(
            std::polar(1.0, values[n + k] * kRadPerDeg) * values[k]);
    }
    return coefficients;
  }

 private:
  std::string path_;
  std::vector<std::pair<double, std::string>> frequencies_;  ///< in Hz, and as datasets are named
  std::vector<MwaWave> waves_;
};

}  // namespace

void set_beam_data_folder(const std::string& folder) {
  chosen_folder = folder;
}

std::vector<std::string> beam_data_folders(const std::string& first) {
  std::vector<std::string> folders;
  const char* environment = std::getenv("APSYN_BEAM_DATA");
  for (const std::string& folder :
       {first, chosen_folder, std::string(environment == nullptr ? "" : environment), installed_folder()})
    if (!folder.empty()) folders.push_back(folder);
  return folders;
}

std::string find_beam_file(const std::string& name, const std::vector<std::string>& folders) {
  for (const std::string& folder : folders) {
    const std::string path = (fs::path(folder) / name).string();
    std::error_code error;
    if (!fs::exists(path, error)) continue;
    protect_input(path);
    return path;
  }
  std::string searched;
  for (const std::string& folder : folders) searched += (searched.empty() ? "" : ", ") + folder;
  throw FailureError("{}: not found in {}: {}: name its folder with --beam-data", name, searched,
                     publisher(name));
}

HamakerCoefficients read_hamaker_file(const std::string& path) {
  const auto all = read_hdf5_numbers(path, {{"coeff", Hdf5Request::Kind::complex, 4},
                                            {"coeff", Hdf5Request::Kind::attribute, 0, "freq_center"},
                                            {"coeff", Hdf5Request::Kind::attribute, 0, "freq_range"}});
  const Hdf5Numbers& numbers = all[0];
  HamakerCoefficients coefficients;
  coefficients.freq_centre_hz = all[1].values[0];
  coefficients.freq_range_hz = all[2].values[0];
  if (!(coefficients.freq_range_hz > 0) || numbers.extents[3] != 2 || numbers.values.empty())
    throw DataError("{}: coeff: [harmonic][theta][frequency][2] and a freq_range above 0 are expected", path);
  coefficients.c.resize({numbers.extents[0], numbers.extents[1], numbers.extents[2], 2});
  for (std::size_t i = 0; i < coefficients.c.size(); ++i) coefficients.c.data()[i] = element(numbers, i);
  return coefficients;
}

std::shared_ptr<const WaveSource> open_oskar_waves(const std::string& path) {
  return std::make_shared<OskarWaves>(path);
}

std::shared_ptr<const WaveSource> open_skalow_waves(const std::vector<std::string>& folders) {
  return std::make_shared<SkalowWaves>(folders);
}

std::shared_ptr<const PatternSource> open_gridded_eep(const std::string& path) {
  return std::make_shared<GriddedEep>(path);
}

std::shared_ptr<const MwaFeeSource> open_mwa_fee(const std::string& path) {
  return std::make_shared<MwaFeeFile>(path);
}

}  // namespace apsyn
