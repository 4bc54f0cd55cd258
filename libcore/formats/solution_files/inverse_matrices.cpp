// SPDX-License-Identifier: GPL-3.0-or-later
// Files that hold the inverses of Jones matrices, which multiply data, of all antennas and channels of the
// data: the AO calibration of mwa-reduce and hyperdrive, and hyperdrive's own in FITS.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "libcore/base/error.h"
#include "libcore/files/input.h"
#include "libcore/files/output.h"
#include "libcore/formats/fits/hyperdrive.h"
#include "libcore/formats/solution_files/formats.h"
#include "libcore/system/parallel.h"

namespace apsyn {
namespace {

using Complex = std::complex<double>;
using Matrix = std::array<Complex, 4>;  ///< XX XY YX YY

static_assert(std::endian::native == std::endian::little);

/// The header of an AO calibration.
struct AoHeader {
  std::array<char, 8> intro{'M', 'W', 'A', 'O', 'C', 'A', 'L', '\0'};
  std::uint32_t file_type = 0, structure = 0, n_interval = 0, n_antenna = 0, n_chan = 0, n_pol = 4;
  double start = 0, end = 0;
};
static_assert(sizeof(AoHeader) == 48);

constexpr std::uint64_t kMaxMatrices = std::uint64_t{1} << 27;

/// All NaN where there is no inverse.
Matrix inverse(const Matrix& matrix) {
  const Complex determinant = matrix[0] * matrix[3] - matrix[1] * matrix[2];
  double size = 0;
  for (const Complex& element : matrix) size += std::norm(element);
  constexpr double kSingular = 1e-12;
  if (!(std::abs(determinant) > kSingular * size) || !std::isfinite(size)) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    return {Complex(nan, nan), Complex(nan, nan), Complex(nan, nan), Complex(nan, nan)};
  }
  return {matrix[3] / determinant, -matrix[1] / determinant, -matrix[2] / determinant,
          matrix[0] / determinant};
}

/// Channels of the solutions from those of the data: the same, or equal groups of neighbours.
void take_channels(const std::string& path, const SolutionContext& context, std::size_t n_chan,
                   SolutionTable& table) {
  const std::vector<double>& data = context.freq_hz;
  if (n_chan == 0 || data.empty() || data.size() % n_chan != 0)
    throw DataError(
        "{}: solutions in {} channels do not fit the {} channels of the data: they must be as many, or "
        "divide them",
        path, n_chan, data.size());
  const std::size_t per = data.size() / n_chan;
  const double spacing_hz =
      data.size() > 1 ? (data.back() - data.front()) / static_cast<double>(data.size() - 1) : 0.0;
  for (std::size_t chan = 0; chan < n_chan; ++chan) {
    double sum_hz = 0;
    for (std::size_t i = 0; i < per; ++i) sum_hz += data[chan * per + i];
    table.freq_hz.push_back(sum_hz / static_cast<double>(per));
  }
  // Gaps between parts of the band make the spacing of neighbours larger than a channel.
  double narrowest_hz = spacing_hz;
  for (std::size_t i = 1; i < data.size(); ++i) narrowest_hz = std::min(narrowest_hz, data[i] - data[i - 1]);
  table.width_hz.assign(n_chan, n_chan == 1 ? 0 : narrowest_hz * static_cast<double>(per));
}

/// Intervals of equal length over the time of the data; a single one holds at all times.
void take_times(const std::string& path, const SolutionContext& context, std::size_t n_time,
                SolutionTable& table) {
  if (n_time == 1) {
    table.time_mjd_s = {0.5 * (context.begin_mjd_s + context.end_mjd_s)};
    table.interval_s = {0};
    return;
  }
  if (!(context.end_mjd_s > context.begin_mjd_s))
    throw UsageError("{}: {} intervals, which the file does not date: give the data that they are of", path,
                     n_time);
  const double length_s = (context.end_mjd_s - context.begin_mjd_s) / static_cast<double>(n_time);
  for (std::size_t i = 0; i < n_time; ++i) {
    table.time_mjd_s.push_back(context.begin_mjd_s + (static_cast<double>(i) + 0.5) * length_s);
    table.interval_s.push_back(length_s);
  }
}

/// `stored` [time][antenna][chan][8]. Diagonal where all other elements are zero.
Solutions invert(const std::string& path, std::vector<std::string> names, SolutionTable table,
                 const std::vector<double>& stored) {
  const std::size_t n_ant = names.size(), n_matrices = stored.size() / 8;
  std::vector<Matrix> gains(n_matrices);
  bool diagonal = true;
  for (std::size_t i = 0; i < n_matrices; ++i) {
    Matrix matrix;
    for (std::size_t pol = 0; pol < 4; ++pol)
      matrix[pol] = {stored[8 * i + 2 * pol], stored[8 * i + 2 * pol + 1]};
    gains[i] = inverse(matrix);
    diagonal &= std::isnan(gains[i][0].real()) || (matrix[1] == 0.0 && matrix[2] == 0.0);
  }
  const std::size_t n_pol = diagonal ? 2 : 4;
  table.type = SolutionType::gain;
  table.term = "gain";
  table.resize(n_ant, n_pol);
  table.flag = {};
  for (std::size_t i = 0; i < n_matrices; ++i) {
    const std::size_t chan = i % table.n_chan(), ant = i / table.n_chan() % n_ant,
                      time = i / table.n_chan() / n_ant;
    const bool good = std::isfinite(gains[i][0].real());
    for (std::size_t pol = 0; pol < n_pol; ++pol) {
      if (good) table.values(time, 0, ant, chan, pol) = gains[i][diagonal ? 3 * pol : pol];
      table.weight(time, 0, ant, chan, pol) = good ? 1 : 0;
    }
  }
  Solutions solutions;
  solutions.source = path;
  for (std::string& name : names) solutions.antennas.push_back({std::move(name), {}});
  solutions.tables.push_back(std::move(table));
  check_solutions(solutions);
  return solutions;
}

}  // namespace

bool is_ao(std::string_view first_bytes) {
  return first_bytes.starts_with(std::string_view("MWAOCAL\0", 8));
}

Solutions read_ao(const std::string& path, const SolutionContext& context) {
  ByteSource source(path);
  AoHeader header;
  if (source.read(&header, sizeof header) < sizeof header ||
      !is_ao(std::string_view(header.intro.data(), header.intro.size())))
    throw DataError("{}: no AO calibration: its header of 48 bytes is not there", source.name());
  if (header.file_type != 0 || header.structure != 0 || header.n_pol != 4)
    throw DataError("{}: file type {}, structure {} and {} polarisations: 0, 0 and 4 are known",
                    source.name(), header.file_type, header.structure, header.n_pol);
  const std::uint64_t n_matrices = [&] {
    std::uint64_t n = header.n_interval;
    const bool overflow = __builtin_mul_overflow(n, std::uint64_t{header.n_antenna}, &n) ||
                          __builtin_mul_overflow(n, std::uint64_t{header.n_chan}, &n);
    if (overflow || n == 0 || n > kMaxMatrices)
      throw DataError("{}: {} intervals of {} antennas and {} channels: none, or too many", source.name(),
                      header.n_interval, header.n_antenna, header.n_chan);
    return n;
  }();
  const std::uint64_t n_bytes = n_matrices * sizeof(Matrix);
  if (source.size() && *source.size() != sizeof header + n_bytes)
    throw DataError("{}: {} bytes, and its header promises {}: it is damaged", source.name(), *source.size(),
                    sizeof header + n_bytes);
  if (header.n_antenna != context.antenna_names.size())
    throw DataError("{}: solutions of {} antennas, and {} antennas of the data: they must be as many",
                    source.name(), header.n_antenna, context.antenna_names.size());
  SolutionTable table;
  take_channels(source.name(), context, header.n_chan, table);
  take_times(source.name(), context, header.n_interval, table);
  std::vector<double> stored(8 * n_matrices);
  if (source.read(stored.data(), n_bytes) < n_bytes)
    throw DataError("{}: ends before all solutions are there: it is damaged", source.name());
  return invert(source.name(), context.antenna_names, std::move(table), stored);
}

void write_ao(const std::string& path, const Solutions& solutions, const SolutionWriteOptions& options) {
  require_direction(solutions, options.direction, path);
  const SolutionSteps steps = choose_steps(solutions, options.n_chan, path);
  require_channels(steps, options.n_chan, path);
  const SolutionProduct product = evaluate_product(solutions, steps, options.direction, options.n_threads);
  AoHeader header;
  const auto [n_time, n_ant, n_chan, n_pol] = product.jones.shape();
  header.n_interval = static_cast<std::uint32_t>(n_time);
  header.n_antenna = static_cast<std::uint32_t>(n_ant);
  header.n_chan = static_cast<std::uint32_t>(n_chan);
  OutputFile output(path, options.overwrite);
  output.write(&header, sizeof header);
  std::vector<Matrix> of_time(n_ant * n_chan);
  for (std::size_t time = 0; time < n_time; ++time) {
    parallel_for(options.n_threads, n_ant, [&](std::size_t ant, unsigned) {
      for (std::size_t chan = 0; chan < n_chan; ++chan) {
        Matrix matrix{};  // flagged: its inverse is NaN
        if (product.flagged(time, ant, chan) == 0)
          std::copy_n(&product.jones(time, ant, chan, 0), n_pol, matrix.begin());
        of_time[ant * n_chan + chan] = inverse(matrix);
      }
    });
    output.write(of_time.data(), of_time.size() * sizeof(Matrix));
  }
  output.commit();
}

Solutions convert_hyperdrive(const std::string& path, const SolutionContext& context) {
  HyperdriveSolutions stored = read_hyperdrive(path);
  SolutionTable table;
  if (stored.freq_hz.size() > 1) {
    table.freq_hz = stored.freq_hz;
    double narrowest_hz = HUGE_VAL;
    for (std::size_t i = 1; i < stored.n_chan; ++i)
      narrowest_hz = std::min(narrowest_hz, stored.freq_hz[i] - stored.freq_hz[i - 1]);
    table.width_hz.assign(stored.n_chan, narrowest_hz);
  } else {
    take_channels(path, context, stored.n_chan, table);
  }
  take_times(path, context, stored.n_time, table);
  const auto is_antenna = [&](const std::string& name) {
    return std::find(context.antenna_names.begin(), context.antenna_names.end(), name) !=
           context.antenna_names.end();
  };
  if (std::any_of(stored.tile_names.begin(), stored.tile_names.end(), is_antenna))
    return invert(path, stored.tile_names, std::move(table), stored.values);
  if (stored.n_tile != context.antenna_names.size())
    throw DataError(
        "{}: solutions of {} tiles, and {} antennas of the data, whose names are others: they must be as "
        "many",
        path, stored.n_tile, context.antenna_names.size());
  return invert(path, context.antenna_names, std::move(table), stored.values);
}

}  // namespace apsyn
