// SPDX-License-Identifier: GPL-3.0-or-later
// Solutions of a calibration: what every antenna did to the field, in tables over time, direction, frequency
// and polarisation. The Jones matrix of an antenna is the product of the tables in their order, the one
// nearest to the receiver first (to the left),
//   J = T_0 T_1 T_2 ...,   V_pq = J_p B J_q^H   (apsyn-conventions(7)),
// the measured gain: data are divided by it.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "libcore/array/array_layout.h"
#include "libcore/base/units.h"
#include "libcore/base/view.h"

namespace apsyn {

/// What the values of a table are.
enum class SolutionType {
  gain,       ///< complex gains; with 4 polarisations a full Jones matrix
  phase,      ///< complex gains of modulus 1
  amplitude,  ///< complex gains that are real and positive
  leakage,    ///< Jones matrices [1 d_X; d_Y 1], 4 polarisations
  delay_s,    ///< seconds in the real part: gain exp(+2 pi i nu tau); a longer cable has tau < 0
  tec_tecu,   ///< TECU in the real part: gain exp(-8.44797245e9 i TEC / nu)
};
/// "gain", "phase", "amplitude", "leakage", "delay", "tec".
std::string_view solution_type_name(SolutionType type);
/// Whether values are delays or columns of electrons, which are gains at a frequency only.
constexpr bool is_dispersive(SolutionType type) {
  return type == SolutionType::delay_s || type == SolutionType::tec_tecu;
}

/// Why a solution is flagged. The numbers are those of files.
enum class SolutionFlag : std::uint8_t {
  good = 0,
  no_data = 1,            ///< no usable visibility
  few_baselines = 2,      ///< fewer than the solver was asked to need
  low_snr = 3,            ///< drowned in noise
  outlier = 4,            ///< far from the others of its antenna
  not_converged = 5,      ///< the solver ran out of iterations
  not_connected = 6,      ///< no chain of baselines to the reference antenna
  swapped_receptors = 7,  ///< the cables of the two receptors are swapped
  unknown = 255,          ///< flagged by whoever wrote the file
};
/// "no data", "fewer baselines than needed", ...: the end of "antenna 5 is flagged: ...".
std::string_view solution_flag_reason(SolutionFlag flag);

/// One term of the chain. Arrays are [time][direction][antenna][channel][polarisation]; every extent is at
/// least 1.
struct SolutionTable {
  SolutionType type = SolutionType::gain;
  std::string term;                      ///< what it was solved as: "gain", "bandpass", "scalar-phase"; free
  std::vector<double> time_mjd_s;        ///< [time] centres, rising
  std::vector<double> interval_s;        ///< [time] lengths; 0 (one time only): it holds at all times
  std::vector<double> freq_hz;           ///< [chan] centres, rising
  std::vector<double> width_hz;          ///< [chan]; 0 (one channel only): it holds at all frequencies, as
                                         ///< one delay or TEC does whatever band it was solved from
  std::vector<std::uint32_t> direction;  ///< [direction] into Solutions::directions; empty: the whole field
  /// Polarisations: 1 for both receptors; 2: X, Y (R, L); 4: the matrix XX XY YX YY (rows are receptors).
  Buffer<std::complex<double>, 5> values;
  Buffer<float, 5> weight;       ///< 0: flagged, whatever the value; otherwise above 0
  Buffer<SolutionFlag, 5> flag;  ///< why a weight is 0; no elements where that is not known

  std::size_t n_time() const { return time_mjd_s.size(); }
  std::size_t n_direction() const { return direction.empty() ? 1 : direction.size(); }
  std::size_t n_chan() const { return freq_hz.size(); }
  std::size_t n_pol() const { return values.extent(4); }
  /// Gives all arrays the shape of the axes above: gains of 1 (matrices of unity), delays and TEC of 0,
  /// weight 1, nothing flagged.
  void resize(std::size_t n_antennas, std::size_t n_pol);
};

struct SolutionAntenna {
  std::string name;   ///< empty in files that only count antennas: those of the data in their order
  Vec3 position_m{};  ///< ITRF; all zero where it is not known
};

/// Names and positions of an array's antennas.
std::vector<SolutionAntenna> solution_antennas(const ArrayLayout& layout);

struct SolutionDirection {
  std::string name;  ///< of the patch, without brackets
  SkyDirection direction;
};

enum class ReceptorBasis { linear, circular };

struct Solutions {
  std::string source;  ///< the file's name, for messages; empty for what was just solved
  std::vector<SolutionAntenna> antennas;
  std::vector<SolutionDirection> directions;  ///< those of tables that are not of the whole field
  std::optional<SkyDirection> field_centre;   ///< where tables of the whole field were solved for
  ReceptorBasis basis = ReceptorBasis::linear;
  std::vector<SolutionTable> tables;  ///< the chain, receiver first
  std::vector<std::string> history;   ///< version and command line of whoever made them, oldest first

  bool is_directional() const { return !directions.empty(); }
  /// Whether all matrices of the chain are diagonal.
  bool is_diagonal() const;
  std::optional<std::size_t> find_direction(std::string_view name) const;
  /// The patch at the smallest angle; there must be one.
  std::size_t nearest_direction(const SkyDirection& direction) const;
};

/// DataError "source: ..." when axes and arrays of a table do not fit each other, axes do not rise, an index
/// of a direction is beyond the list, a name is there twice, or there is no table: what readers and the
/// evaluator rely on.
void check_solutions(const Solutions& solutions);

/// Fraction of flagged solutions per antenna over all tables.
std::vector<double> flagged_fraction(const Solutions& solutions);

}  // namespace apsyn
