// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/formats/mwa_fits/file.h"

#include <fitsio.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <regex>
#include <utility>

#include "libcore/base/error.h"
#include "libcore/files/input.h"
#include "libcore/formats/fits/walk.h"
#include "libcore/system/isolated.h"

namespace apsyn::mwa_fits {
namespace {

constexpr std::size_t kMaxIntegrations = 1 << 20;

struct NamedChannel {
  Correlator correlator = Correlator::legacy;
  int number = 0;  ///< of the gpubox, or of the receivers' channel
};

std::optional<NamedChannel> channel_of_name(const std::string& path) {
  static const std::regex legacy("_gpubox([0-9]{2})(_[0-9]{2})?\\.fits"),
      mwax("_ch([0-9]{3})_[0-9]{3}\\.fits");
  const std::string name = std::filesystem::path(path).filename().string();
  std::smatch match;
  if (std::regex_search(name, match, legacy)) return NamedChannel{Correlator::legacy, std::stoi(match[1])};
  if (std::regex_search(name, match, mwax)) return NamedChannel{Correlator::mwax, std::stoi(match[1])};
  return std::nullopt;
}

/// Takes HDUs as walk_fits() meets them.
struct Survey {
  const Observation& observation;
  CorrelatorFile file;
  bool wants_weights = false;  ///< the next HDU is one of weights

  [[noreturn]] void fail(const FitsUnit& unit, const std::string& what) const {
    throw DataError("{}: HDU {}: {}", file.path, unit.number, what);
  }

  void take_primary(const FitsUnit& unit) {
    const auto named = channel_of_name(file.path);
    if (!named)
      throw DataError(
          "{}: the name tells no coarse channel: ..._gpuboxNN_MM.fits or ..._chNNN_MMM.fits is needed",
          file.path);
    file.correlator = unit.text("CORR_VER") ? Correlator::mwax : Correlator::legacy;
    if (file.correlator != named->correlator)
      throw DataError(
          "{}: its name is that of {} correlator, its header {} CORR_VER: give its first name back",
          file.path, named->correlator == Correlator::mwax ? "the MWAX" : "the legacy",
          file.correlator == Correlator::mwax ? "has" : "lacks");
    check(unit, "OBSID", static_cast<double>(observation.obs_id), "GPSTIME");
    check(unit, "INTTIME", observation.integration_s(), "INTTIME");
    check(unit, "FINECHAN", observation.fine_hz * 1e-3, "FINECHAN");
    check(unit, "NINPUTS", 2 * static_cast<double>(observation.n_tiles()), "twice the tiles of TILEDATA");
    const std::vector<int>& channels = observation.coarse_channels;
    if (named->correlator == Correlator::legacy) {
      const auto channel = observation.channel_of_gpubox(named->number);
      if (!channel)
        throw DataError("{}: gpubox {:02}: {} has {} coarse channels", file.path, named->number,
                        observation.path, channels.size());
      file.coarse_channel = *channel;
    } else {
      file.coarse_channel = named->number;
      if (!std::binary_search(channels.begin(), channels.end(), named->number))
        throw DataError("{}: coarse channel {}: is not among CHANNELS of {}", file.path, named->number,
                        observation.path);
    }
  }

  /// Cards of the primary HDU that repeat what the metafits says; older files lack some.
  void check(const FitsUnit& unit, const char* keyword, double wanted, const char* wanted_name) const {
    const auto text = unit.text(keyword);
    if (!text) return;
    const auto value = unit.number_of(keyword);
    if (!value || std::abs(*value - wanted) > 1e-12 * std::abs(wanted))
      throw DataError("{}: {} = {}, but {} of {} is {}: both must be of one observation", file.path, keyword,
                      *text, wanted_name, observation.path, wanted);
  }

  std::int64_t whole(const FitsUnit& unit, const std::string& keyword, double least, double most) const {
    return unit.whole(keyword, least, most, fmt::format("{}: HDU {}", file.path, unit.number));
  }

  ImageUnit image_of(const FitsUnit& unit) const {
    ImageUnit image;
    image.number = unit.number;
    image.data_byte = unit.data_byte;
    image.data_bytes = unit.data_bytes;
    image.compressed = unit.text("ZIMAGE").value_or("") == "T";
    const std::string prefix = image.compressed ? "Z" : "";
    if (!image.compressed && unit.text("XTENSION").value_or("") != "IMAGE")
      fail(unit, "neither an image nor a compressed one: it is no correlator file");
    if (whole(unit, prefix + "NAXIS", 0, 16) != 2) fail(unit, "an image of two axes is needed");
    image.bitpix = static_cast<int>(whole(unit, prefix + "BITPIX", -64, 64));
    constexpr std::array kTypes{8, 16, 32, 64, -32, -64};
    if (std::find(kTypes.begin(), kTypes.end(), image.bitpix) == kTypes.end())
      fail(unit, fmt::format("BITPIX = {}: no type of FITS", image.bitpix));
    image.n_columns = static_cast<std::size_t>(whole(unit, prefix + "NAXIS1", 1, 1e9));
    image.n_rows = static_cast<std::size_t>(whole(unit, prefix + "NAXIS2", 1, 1e9));
    image.scale = unit.number_of("BSCALE").value_or(1);
    image.zero = unit.number_of("BZERO").value_or(0);
    image.time_ms = whole(unit, "TIME", 0, 1e11) * 1000 + whole(unit, "MILLITIM", 0, 999);
    return image;
  }

  void check_shape(const FitsUnit& unit, const ImageUnit& image, std::size_t n_rows, std::size_t n_columns,
                   const char* meaning) const {
    if (image.n_rows != n_rows || image.n_columns != n_columns)
      fail(unit, fmt::format("an image of {} x {} numbers, but {} says {} x {}: {}", image.n_columns,
                             image.n_rows, observation.path, n_columns, n_rows, meaning));
  }

  void take(const FitsUnit& unit) {
    if (unit.number == 1) return take_primary(unit);
    if (unit.data_bytes == 0 && !wants_weights) return;
    const ImageUnit image = image_of(unit);
    const std::size_t n_baselines = observation.n_baselines(), n_fine = observation.n_fine;
    if (wants_weights) {
      check_shape(unit, image, n_baselines, 4, "products, baselines");
      if (image.time_ms != file.integrations.back().visibilities.time_ms)
        fail(unit, "weights of another time than the visibilities before them");
      file.integrations.back().weights = image;
      wants_weights = false;
      return;
    }
    if (file.correlator == Correlator::legacy)
      check_shape(unit, image, n_fine, n_baselines * 8, "baselines by products by 2, channels");
    else
      check_shape(unit, image, n_baselines, n_fine * 8, "channels by products by 2, baselines");
    if (file.integrations.size() >= kMaxIntegrations)
      fail(unit, fmt::format("more than {} integrations", kMaxIntegrations));
    file.integrations.push_back({image, std::nullopt});
    wants_weights = file.correlator == Correlator::mwax;
  }
};

void read_plain(const CorrelatorFile& file, const ImageUnit& image, std::size_t first_row, std::size_t n_rows,
                std::vector<float>& values) {
  const auto number_bytes = static_cast<std::size_t>(std::abs(image.bitpix)) / 8;
  const ByteSource source(file.path);
  // Pieces that a cache holds.
  std::vector<std::uint8_t> bytes((std::size_t{1} << 18) * number_bytes);
  const bool scaled = image.scale != 1 || image.zero != 0;
  const std::uint64_t begin = image.data_byte + std::uint64_t{first_row} * image.n_columns * number_bytes;
  const std::size_t n_values = n_rows * image.n_columns;
  values.resize(n_values);
  for (std::size_t at = 0; at < n_values;) {
    const std::size_t n = std::min(bytes.size() / number_bytes, n_values - at);
    if (source.read_at(begin + at * number_bytes, bytes.data(), n * number_bytes) < n * number_bytes)
      throw DataError("{}: HDU {}: the file has become shorter", file.path, image.number);
    for (std::size_t i = 0; i < n; ++i) {
      const double value = stored_number(bytes.data() + i * number_bytes, image.bitpix);
      values[at + i] = static_cast<float>(scaled ? image.zero + image.scale * value : value);
    }
    at += n;
  }
}

void unpack(const CorrelatorFile& file, const ImageUnit& image, std::size_t first_row, std::size_t n_rows,
            std::vector<float>& values) {
  const std::size_t n_values = n_rows * image.n_columns, n_bytes = n_values * sizeof(float);
  IsolationLimits limits;
  limits.max_bytes = (std::uint64_t{64} << 20) + 4 * n_bytes + 2 * image.data_bytes;
  limits.max_cpu_s = 60 + static_cast<unsigned>(n_bytes >> 20);
  const IsolatedResult result = run_isolated(limits, [&] {
    std::string bytes(n_bytes, '\0');
    fitsfile* fits = nullptr;
    int status = 0, any_null = 0;
    fits_open_diskfile(&fits, file.path.c_str(), READONLY, &status);
    fits_movabs_hdu(fits, image.number, nullptr, &status);
    fits_read_img(fits, TFLOAT, static_cast<LONGLONG>(first_row * image.n_columns + 1),
                  static_cast<LONGLONG>(n_values), nullptr, bytes.data(), &any_null, &status);
    return status == 0 ? bytes : std::string();
  });
  if (result.end != IsolatedEnd::finished || result.bytes.size() != n_bytes)
    throw DataError("{}: HDU {}: its compressed image cannot be unpacked: it is damaged", file.path,
                    image.number);
  values.resize(n_values);
  std::memcpy(values.data(), result.bytes.data(), n_bytes);
}

}  // namespace

bool is_correlator_name(const std::string& path) {
  return channel_of_name(path).has_value();
}

CorrelatorFile survey_file(const std::string& path, const Observation& observation) {
  Survey survey{observation, {}};
  survey.file.path = path;
  walk_fits(path, [&](const FitsUnit& unit) { survey.take(unit); });
  if (survey.wants_weights)
    throw DataError("{}: HDU {}: visibilities without the weights that must follow: it is truncated", path,
                    survey.file.integrations.back().visibilities.number);
  if (survey.file.integrations.empty())
    throw DataError("{}: no visibilities: only the primary HDU is there", path);
  return std::move(survey.file);
}

void read_rows(const CorrelatorFile& file, const ImageUnit& image, std::size_t first_row, std::size_t n_rows,
               std::vector<float>& values) {
  if (image.compressed)
    unpack(file, image, first_row, n_rows, values);
  else
    read_plain(file, image, first_row, n_rows, values);
}

}  // namespace apsyn::mwa_fits
