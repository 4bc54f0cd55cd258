// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/formats/par_file/par_file.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "libcore/base/constants.h"
#include "libcore/base/csv.h"
#include "libcore/base/error.h"
#include "libcore/base/log.h"
#include "libcore/files/input.h"

namespace apsyn {
namespace {

constexpr std::size_t kMaxBytes = 4u << 20, kMaxDerivatives = 12;
constexpr double kYear_s = 365.25 * 86400;

/// Keys that change the phase in ways that are not computed here. A prefix ends with '*'.
struct Unsupported {
  std::string_view key, meaning;
};
constexpr std::string_view kBinary = "the orbit of a binary pulsar", kGlitch = "a glitch",
                           kWave = "waves of timing noise", kNoise = "timing noise by interpolation",
                           kPieces = "a dispersion measure in pieces", kEcliptic = "an ecliptic position",
                           kProfile = "a profile that changes with frequency";
constexpr Unsupported kUnsupported[] = {
    {"BINARY", kBinary},    {"A1", kBinary},         {"PB", kBinary},         {"T0", kBinary},
    {"TASC", kBinary},      {"ECC", kBinary},        {"OM", kBinary},         {"EPS1", kBinary},
    {"EPS2", kBinary},      {"FB0", kBinary},        {"SINI", kBinary},       {"M2", kBinary},
    {"GLEP_*", kGlitch},    {"GLPH_*", kGlitch},     {"GLF0_*", kGlitch},     {"GLF1_*", kGlitch},
    {"GLF2_*", kGlitch},    {"GLF0D_*", kGlitch},    {"EXPEP_*", kGlitch},    {"WAVE*", kWave},
    {"WXFREQ_*", kWave},    {"IFUNC*", kNoise},      {"SIFUNC*", kNoise},     {"PWSTART_*", kNoise},
    {"DMX_*", kPieces},     {"DMWXFREQ_*", kPieces}, {"CM", kPieces},         {"CMX_*", kPieces},
    {"ELONG", kEcliptic},   {"ELAT", kEcliptic},     {"LAMBDA", kEcliptic},   {"BETA", kEcliptic},
    {"PMELONG", kEcliptic}, {"PMELAT", kEcliptic},   {"PMLAMBDA", kEcliptic}, {"PMBETA", kEcliptic},
    {"FD1", kProfile},
};

/// "1.5D-3" is Fortran's way of writing 1.5e-3.
std::optional<long double> long_number(std::string text) {
  std::replace(text.begin(), text.end(), 'D', 'e');
  std::replace(text.begin(), text.end(), 'd', 'e');
  if (!finite_number(text)) return std::nullopt;
  return std::strtold(text.c_str(), nullptr);
}

struct Line {
  std::size_t number = 0;
  std::string key, value;
};

class Parser {
 public:
  Parser(std::string_view text, const std::string& source) : source_(source) {
    std::size_t number = 0;
    for (std::size_t at = 0; at <= text.size();) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      add_line(text.substr(at, end - at), ++number);
      at = end + 1;
    }
  }

  PulsarTiming parse() {
    refuse_unsupported();
    PulsarTiming timing;
    for (const char* key : {"PSR", "PSRJ", "PSRB"})
      if (const Line* line = find({key})) timing.name = line->value;
    timing.ephemeris = value_of("EPHEM"), timing.clock = value_of("CLK");
    timing.epoch = epoch(need({"PEPOCH"}, "the epoch of the frequency"));
    read_frequencies(timing);
    read_position(timing);
    for (std::size_t k = 0; k <= kMaxDerivatives; ++k) {
      const Line* line = k == 0 ? find({"DM"}) : find({fmt::format("DM{}", k)});
      if (line == nullptr) break;
      timing.dm_pc_cm3.push_back(number(*line, 1e6));
    }
    if (timing.dm_pc_cm3.empty()) timing.dm_pc_cm3.push_back(0);
    const Line* dm_epoch = find({"DMEPOCH"});
    timing.dm_epoch = dm_epoch != nullptr ? epoch(*dm_epoch) : timing.epoch;
    read_reference(timing);
    for (const char* key : {"NE_SW", "NE1AU", "SOLARN0"})
      if (const Line* line = find({key}); line != nullptr && long_number(line->value).value_or(1) != 0)
        log_warning("{}: {} {}: delays in the solar wind are not taken out", source_, key, line->value);
    return timing;
  }

 private:
  void add_line(std::string_view text, std::size_t number) {
    text = trim(text);
    if (text.empty() || text[0] == '#' || text.starts_with("C ")) return;
    const std::size_t key_end = text.find_first_of(" \t");
    if (key_end == text.npos) return;  // a switch without a value
    const std::string_view rest = trim(text.substr(key_end));
    Line line{number, std::string(text.substr(0, key_end)),
              std::string(rest.substr(0, rest.find_first_of(" \t")))};
    for (char& c : line.key) c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
    for (std::string* shown : {&line.key, &line.value})
      for (char& c : *shown)
        if (c < 0x20 || c > 0x7e) c = '?';
    lines_.push_back(std::move(line));
  }

  [[noreturn]] void fail(const Line& line, std::string_view what) const {
    throw DataError("{}: line {}: {} {}: {}", source_, line.number, line.key, line.value, what);
  }

  const Line* find(std::initializer_list<std::string> keys) const {
    for (const std::string& key : keys)
      for (const Line& line : lines_)
        if (line.key == key) return &line;
    return nullptr;
  }
  const Line& need(std::initializer_list<std::string> keys, std::string_view meaning) const {
    const Line* line = find(keys);
    if (line == nullptr)
      throw DataError("{}: no {}, {}: is it a par file of TEMPO2?", source_, *keys.begin(), meaning);
    return *line;
  }
  std::string value_of(const std::string& key) const {
    const Line* line = find({key});
    return line != nullptr ? line->value : "";
  }

  void refuse_unsupported() const {
    for (const Line& line : lines_)
      for (const Unsupported& what : kUnsupported) {
        const bool prefix = what.key.back() == '*';
        const std::string_view stem = prefix ? what.key.substr(0, what.key.size() - 1) : what.key;
        if (prefix ? !line.key.starts_with(stem) : line.key != stem) continue;
        if (long_number(line.value).value_or(1) == 0 && !prefix && what.meaning != kEcliptic) continue;
        fail(line, fmt::format("{} is not supported: isolated pulsars with F0, F1, ..., DM, RAJ and DECJ are",
                               what.meaning));
      }
    const Line* units = find({"UNITS"});
    if (units != nullptr && units->value != "TDB")
      fail(*units, "times in units other than TDB are not supported: convert the file to TDB");
    const Line* version = find({"EPHVER"});
    if (units == nullptr && version != nullptr && long_number(version->value).value_or(2) >= 5)
      fail(*version, "times in TCB, as this means without UNITS, are not supported: convert the file to TDB");
  }

  double number(const Line& line, double max) const {
    const auto value = long_number(line.value);
    if (!value || !(std::abs(*value) <= static_cast<long double>(max)))
      fail(line, fmt::format("a number from {} to {} is needed", -max, max));
    return static_cast<double>(*value);
  }

  DayTime epoch(const Line& line) const {
    const std::size_t point = std::min(line.value.find('.'), line.value.size());
    const auto day = finite_number(line.value.substr(0, point));
    const auto part = point + 1 < line.value.size() ? finite_number("0" + line.value.substr(point))
                                                    : std::optional<double>(0);
    if (!day || !part || !(*day >= 0 && *day < 1e6) || *day != std::floor(*day) || !(*part >= 0 && *part < 1))
      fail(line, "a modified Julian day is needed");
    return {static_cast<std::int64_t>(*day), *part * 86400};
  }

  void read_frequencies(PulsarTiming& timing) const {
    constexpr long double kMaxFrequency_hz = 1e5L;
    const Line* frequency = find({"F0", "F"});
    const Line& first =
        frequency != nullptr ? *frequency : need({"F0", "P0", "P"}, "the frequency of the pulsar's rotation");
    const auto value = long_number(first.value);
    if (!value || !(*value > 0)) fail(first, "a number above 0 is needed");
    timing.frequency.push_back(frequency != nullptr ? *value : 1 / *value);
    if (!(timing.frequency[0] <= kMaxFrequency_hz)) fail(first, "faster than any pulsar");
    if (frequency == nullptr) {
      if (const Line* line = find({"P1", "PDOT"})) {
        const double dot = number(*line, 1);
        timing.frequency.push_back(-static_cast<long double>(dot) / (*value * *value));
      }
      return;
    }
    for (std::size_t k = 1; k <= kMaxDerivatives; ++k) {
      const Line* line = find({fmt::format("F{}", k)});
      if (line == nullptr) break;
      timing.frequency.push_back(static_cast<long double>(number(*line, 1)));
      timing.frequency.back() = *long_number(line->value);
    }
  }

  /// "hh:mm:ss.s", of which minutes and seconds may be missing, in degrees or hours.
  double sexagesimal(const Line& line, double max) const {
    const std::vector<std::string_view> parts = split(line.value, ':');
    double value = 0, unit = 1;
    const bool negative = line.value.starts_with('-');
    for (std::size_t i = 0; i < parts.size(); ++i, unit /= 60) {
      std::string_view part = parts[i];
      if (i == 0 && (part.starts_with('-') || part.starts_with('+'))) part.remove_prefix(1);
      const auto got = finite_number(part);
      if (!got || *got < 0 || (i > 0 && *got >= 60) || parts.size() > 3)
        fail(line, "hours or degrees, minutes and seconds are needed, as 08:35:20.6");
      value += *got * unit;
    }
    if (!(value <= max)) fail(line, fmt::format("at most {} is possible", max));
    return negative ? -value : value;
  }

  void read_position(PulsarTiming& timing) const {
    const std::string_view meaning = "the pulsar's position";
    timing.position.ra_rad = sexagesimal(need({"RAJ", "RA"}, meaning), 24) * 15 * kRadPerDeg;
    timing.position.dec_rad = sexagesimal(need({"DECJ", "DEC"}, meaning), 90) * kRadPerDeg;
    const auto milliarcseconds = [&](const char* key) {
      const Line* line = find({key});
      return line != nullptr ? number(*line, 1e6) * 1e-3 * kRadPerArcsec : 0;
    };
    timing.motion_ra_rad_s = milliarcseconds("PMRA") / kYear_s;
    timing.motion_dec_rad_s = milliarcseconds("PMDEC") / kYear_s;
    timing.parallax_rad = milliarcseconds("PX");
    const Line* line = find({"POSEPOCH"});
    timing.position_epoch = line != nullptr ? epoch(*line) : timing.epoch;
  }

  void read_reference(PulsarTiming& timing) const {
    const Line* line = find({"TZRMJD"});
    if (line == nullptr) return;
    timing.reference = epoch(*line);
    timing.reference_site = value_of("TZRSITE");
    if (const Line* frequency = find({"TZRFRQ"})) {
      // TEMPO writes 0 or something huge for infinity.
      const auto mhz = long_number(frequency->value);
      if (mhz && *mhz > 0 && *mhz < 1e6L) timing.reference_hz = static_cast<double>(*mhz) * 1e6;
    }
  }

  std::string source_;
  std::vector<Line> lines_;
};

}  // namespace

PulsarTiming parse_par(std::string_view text, const std::string& source) {
  return Parser(text, source).parse();
}

PulsarTiming read_par_file(const std::string& path) {
  return parse_par(read_text_file(path, kMaxBytes), path);
}

}  // namespace apsyn
