// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/calibrate/apply.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "kernels/calibrate/apply_gains.h"
#include "libcore/base/csv.h"
#include "libcore/base/error.h"
#include "libcore/base/log.h"
#include "libcore/formats/ms/corrections.h"
#include "libcore/formats/ms/lock.h"
#include "libcore/sky/sky_patches.h"
#include "libcore/solutions/evaluator.h"
#include "libcore/system/program_memory.h"
#include "tools/calibrate/sky_predictor.h"
#include "tools/imaging/calibration/calibrated_source.h"

namespace apsyn::calibrate {
namespace {

/// Rows that are corrected between two reports of progress.
constexpr std::size_t kRows = 1u << 15;

std::vector<std::string> names_of(const ArrayLayout& layout) {
  std::vector<std::string> names;
  for (const Antenna& antenna : layout.antennas) names.push_back(antenna.name);
  return names;
}

/// A patch that is subtracted.
struct Peeled {
  Peeled(SkyPatch of, const InputInfo& info, const imaging::ComponentSumsSetup& setup)
      : patch(std::make_unique<SkyPatch>(std::move(of))), predictor(patch->sky, info, setup) {}
  std::unique_ptr<SkyPatch> patch;  ///< that the predictor refers to
  SkyPredictor predictor;
  std::optional<std::size_t> direction;    ///< in the solutions
  Buffer<std::complex<float>, 3> model{};  ///< [row][chan][plane]
  std::map<std::pair<int, double>, std::unique_ptr<AppliedGains>> gains{};
  std::vector<const AppliedGains*> of_row{};
};

std::optional<std::size_t> find_direction(const Options& options, const Solutions& solutions,
                                          const std::string& source) {
  if (!solutions.is_directional()) {
    if (!options.direction.empty())
      throw UsageError("--direction {}: {} is of the whole field: leave it out", options.direction, source);
    return std::nullopt;
  }
  std::string known;
  for (const SolutionDirection& direction : solutions.directions)
    known += (known.empty() ? "" : ", ") + direction.name;
  if (options.direction.empty() && !options.subtract.empty()) return std::nullopt;
  if (options.direction.empty())
    throw UsageError("{}: holds solutions of several directions: choose one with --direction: {}", source,
                     known);
  const std::optional<std::size_t> found = solutions.find_direction(options.direction);
  if (!found) throw UsageError("--direction {}: {} has {}", options.direction, source, known);
  return found;
}

class Applier {
 public:
  Applier(Tool& tool, const Options& options, const Solutions& solutions, const std::string& source)
      : tool_(tool),
        options_(options),
        source_(source),
        path_(options.input()),
        reader_(path_, coordinates(options)),
        evaluator_(solutions, names_of(reader_.layout()), options.interpolation),
        direction_(find_direction(options, solutions, source)),
        hands_(hands_of(reader_.products(), path_)),
        diagonal_(evaluator_.is_diagonal()) {
    if (!diagonal_ && hands_.size() != 4)
      throw UsageError("{}: its matrices mix receptors: {} would need four products and has {}", source,
                       path_, hands_.size());
    if (reader_.n_rows() == 0) throw UsageError("{}: the selection fits no row: nothing to apply to", path_);
    columns_.input = options.selection.column;
    columns_.output = options.output_column;
    // WEIGHT_SPECTRUM belongs to the corrected DATA.
    columns_.weights = !options.no_weights && !options.corrupt && columns_.input == "DATA";
    if (!columns_.weights && !options.no_weights && !options.corrupt)
      log_warning("{}: the weights stay as they are: those of column {} are not known", path_,
                  columns_.input);
    if (!options.subtract.empty()) open_patches(solutions);
    state_ = inspect_corrections(path_, columns_);
  }

  std::vector<std::string> describe() const {
    std::vector<std::string> lines;
    std::string antennas;
    lines.push_back(fmt::format("{}: {} rows; column {} {}", path_, reader_.n_rows(), columns_.output,
                                state_.output_exists ? "is there" : "is to be added"));
    if (state_.bytes_to_add > 0)
      lines.push_back(
          fmt::format("columns to be added: {}", format_bytes(static_cast<double>(state_.bytes_to_add))));
    return lines;
  }

  std::uint64_t bytes() const {
    std::size_t n_channels = 1;
    for (const MsSpectralWindow& window : reader_.spectral_windows())
      n_channels = std::max(n_channels, window.channel_hz.size());
    std::uint64_t models = 0;
    const auto n_rows = static_cast<std::uint64_t>(std::min<std::int64_t>(kRows, reader_.n_rows()));
    for (const Peeled& peeled : peeled_)
      models += n_rows * n_channels * peeled.predictor.n_planes() * sizeof(std::complex<float>);
    return program_bytes(1) + apply_bytes(tool_, reader_.layout().antennas.size(), n_channels) + models;
  }

  void run() {
    for (const std::size_t antenna : evaluator_.missing_antennas())
      log_warning("{}: antenna {} has no solution in {}: its data are {}", path_,
                  reader_.layout().antennas[antenna].name, source_, options_.corrupt ? "left" : "flagged");
    tool_.stage("open");
    CorrectionWriter writer(path_, selection_of(options_, columns_.input), columns_, state_);
    Progress progress(tool_, "applying", static_cast<double>(reader_.n_rows()), "rows");
    double done = 0;
    InputBlock block;
    MsRows& rows = block.rows;
    tool_.stage("apply");
    while (reader_.next(rows, kRows)) {
      if (corrects_) prepare(rows, direction_, options_.corrupt, gains_, gains_of_row_);
      if (!peeled_.empty()) reader_.read_cells(rows, tool_.common().threads);  // coordinates alone
      for (Peeled& peeled : peeled_) {
        peeled.predictor.predict(block, peeled.model);
        prepare(rows, peeled.direction, true, peeled.gains, peeled.of_row);
      }
      writer.correct(rows, tool_.common().threads, [&](const CorrectionCells& cells) {
        for (std::size_t row = 0; row < cells.data.extent(0); ++row) {
          for (const Peeled& peeled : peeled_) subtract_row(rows, cells, row, peeled);
          if (corrects_) correct_row(rows, cells, row);
        }
      });
      progress.update(done += static_cast<double>(rows.ant1.size()));
    }
    warn_of_reach();
    if (writer.n_flagged() > 0)
      log_info("{}: {} samples flagged that had no flag", path_, writer.n_flagged());
    tool_.stage("write");
    writer.commit(tool_.provenance());
    tool_.report_rate(done, "rows");
  }

 private:
  /// Selects coordinates only, autocorrelations included.
  static MsSelection coordinates(const Options& options) {
    MsSelection selection = selection_of(options, "");
    selection.autos = true;
    return selection;
  }

  using Key = std::pair<int, double>;  ///< window; number of the slot, or the time
  Key key_of(int window, double time_mjd_s) const {
    return {window, options_.interpolation == Interpolation::nearest
                        ? static_cast<double>(evaluator_.slot_of(time_mjd_s))
                        : time_mjd_s};
  }

  using Gains = std::map<Key, std::unique_ptr<AppliedGains>>;
  /// Prepares gains for all times of the rows; gains for other times are discarded.
  void prepare(const MsRows& rows, std::optional<std::size_t> direction, bool corrupt, Gains& gains,
               std::vector<const AppliedGains*>& of_row) {
    Gains kept;
    of_row.resize(rows.time_mjd_s.size());
    double last_s = NAN;
    const AppliedGains* last = nullptr;
    for (std::size_t row = 0; row < rows.time_mjd_s.size(); ++row) {
      const double time_s = rows.time_mjd_s[row];
      if (time_s != last_s) {
        last_s = time_s;
        const Key key = key_of(rows.spw, time_s);
        auto& own = kept[key];
        if (!own) {
          const auto former = gains.find(key);
          own = former != gains.end() && former->second ? std::move(former->second)
                                                        : evaluate(rows.spw, time_s, direction, corrupt);
        }
        last = own.get();
      }
      of_row[row] = last;
    }
    gains = std::move(kept);
  }

  std::unique_ptr<AppliedGains> evaluate(int window, double time_mjd_s, std::optional<std::size_t> direction,
                                         bool corrupt) {
    const std::vector<double>& freq_hz =
        reader_.spectral_windows()[static_cast<std::size_t>(window)].channel_hz;
    const std::size_t n_ant = evaluator_.n_antennas();
    Buffer<std::complex<double>, 3> values({n_ant, freq_hz.size(), diagonal_ ? 2u : 4u});
    Buffer<std::uint8_t, 2> flagged({n_ant, freq_hz.size()});
    const SolutionReach reach =
        diagonal_ ? evaluator_.evaluate_diagonal(time_mjd_s, freq_hz, direction, values, flagged)
                  : evaluator_.evaluate(time_mjd_s, freq_hz, direction, values, flagged);
    outside_ = outside_ || reach.time_outside;
    beyond_ = beyond_ || reach.time_beyond;
    n_chan_outside_ = std::max(n_chan_outside_, reach.n_chan_outside);
    n_chan_beyond_ = std::max(n_chan_beyond_, reach.n_chan_beyond);
    return std::make_unique<AppliedGains>(values, flagged, corrupt);
  }

  void open_patches(const Solutions& solutions) {
    info_.path = path_;
    info_.products = reader_.products();
    info_.windows = reader_.spectral_windows();
    info_.fields = reader_.fields();
    std::vector<SkyPatch> patches = read_sky_patches(options_.sky);
    const bool all = options_.subtract == "patches";
    std::vector<std::string> names;
    if (!all)
      for (const std::string_view name : split(options_.subtract, ',')) names.emplace_back(name);
    for (const std::string& name : names)
      if (std::none_of(patches.begin(), patches.end(), [&](const SkyPatch& p) { return p.name == name; }))
        throw UsageError("--subtract {}: {} has no patch '{}'", options_.subtract, options_.sky, name);
    for (SkyPatch& patch : patches) {
      const std::string name = patch.name;
      if (!all && std::find(names.begin(), names.end(), name) == names.end()) continue;
      const std::optional<std::size_t> direction = solutions.find_direction(name);
      if (solutions.is_directional() && !direction)
        throw UsageError("--subtract {}: {} has no solutions for '{}'", options_.subtract, source_, name);
      imaging::ComponentSumsSetup setup;
      setup.n_threads = tool_.common().threads;
      setup.single = true;
      peeled_.emplace_back(std::move(patch), info_, setup);
      peeled_.back().direction = direction;
    }
    corrects_ = !options_.direction.empty();
    if (!corrects_) columns_.weights = false;
  }

  /// Data whose antennas have no solution towards the patch are flagged.
  void subtract_row(const MsRows& rows, const CorrectionCells& cells, std::size_t row,
                    const Peeled& peeled) const {
    const std::size_t number = cells.first_row + row, n_chan = cells.data.extent(1),
                      n_product = cells.data.extent(2), n_planes = peeled.model.extent(2);
    const auto ant1 = static_cast<std::size_t>(rows.ant1[number]),
               ant2 = static_cast<std::size_t>(rows.ant2[number]);
    if (ant1 == ant2) return;
    thread_local Buffer<std::complex<float>, 2> model;
    thread_local Buffer<std::uint8_t, 2> unused;
    model.resize({n_chan, n_product});
    unused.resize({n_chan, n_product});
    for (std::size_t chan = 0; chan < n_chan; ++chan)
      for (std::size_t p = 0; p < n_product; ++p)
        if (n_planes > 1 || hands_[p].first == hands_[p].second)
          model(chan, p) = peeled.model(number, chan, n_planes > 1 ? p : 0);
    const AppliedGains& gains = *peeled.of_row[number];
    gains.apply(ant1, ant2, hands_, model, {}, unused);
    for (std::size_t chan = 0; chan < n_chan; ++chan) {
      const bool flagged = gains.is_flagged(ant1, chan) || gains.is_flagged(ant2, chan);
      for (std::size_t p = 0; p < n_product; ++p) {
        cells.data(row, chan, p) -= model(chan, p);
        if (flagged) cells.flag(row, chan, p) = 1;
      }
    }
  }

  void correct_row(const MsRows& rows, const CorrectionCells& cells, std::size_t row) const {
    const std::size_t number = cells.first_row + row, n_chan = cells.data.extent(1),
                      n_product = cells.data.extent(2);
    const std::size_t at = row * n_chan * n_product;
    gains_of_row_[number]->apply(static_cast<std::size_t>(rows.ant1[number]),
                                 static_cast<std::size_t>(rows.ant2[number]), hands_,
                                 {cells.data.data() + at, {n_chan, n_product}},
                                 {cells.weight.size() == 0 ? nullptr : cells.weight.data() + at,
                                  {cells.weight.size() == 0 ? 0 : n_chan, n_product}},
                                 {cells.flag.data() + at, {n_chan, n_product}});
  }

  void warn_of_reach() const {
    const char* fate = options_.corrupt ? "left as they are" : "flagged";
    if (beyond_)
      log_warning("{}: data farther than an interval from all solutions of {} are {}", path_, source_, fate);
    if (outside_ && !beyond_)
      log_warning("{}: data outside of the times of {} take the nearest solution", path_, source_);
    if (n_chan_beyond_ > 0)
      log_warning("{}: {} channels farther than a solution's width from all of {} are {}", path_,
                  n_chan_beyond_, source_, fate);
    else if (n_chan_outside_ > 0)
      log_warning("{}: {} channels outside of the frequencies of {} take the nearest solution", path_,
                  n_chan_outside_, source_);
  }

  Tool& tool_;
  const Options& options_;
  std::string source_, path_;
  MeasurementSetReader reader_;
  SolutionEvaluator evaluator_;
  std::optional<std::size_t> direction_;
  std::vector<ProductHands> hands_;
  bool diagonal_;
  CorrectionColumns columns_;
  CorrectionState state_;
  InputInfo info_;  ///< of the rows from which patches are subtracted
  std::vector<Peeled> peeled_;
  bool corrects_ = true;  ///< also corrects, besides subtracting
  Gains gains_;
  std::vector<const AppliedGains*> gains_of_row_;
  bool outside_ = false, beyond_ = false;
  std::size_t n_chan_outside_ = 0, n_chan_beyond_ = 0;
};

}  // namespace

std::uint64_t apply_bytes(const Tool& tool, std::size_t n_antennas, std::size_t n_channels) {
  constexpr std::uint64_t kOfThread = 2'000'000, kOfRow = 100;
  return tool.common().threads * kOfThread + kRows * kOfRow + n_antennas * n_channels * 100;
}

void apply_solutions(Tool& tool, const Options& options, const Solutions& solutions,
                     const std::string& source) {
  tool.stage("open");
  // Taken before the set is opened, because another run may be adding a column.
  std::shared_ptr<const MeasurementSetLock> lock;
  if (!tool.common().dry_run) lock = lock_measurement_set(options.input());
  Applier applier(tool, options, solutions, source);
  if (tool.common().dry_run) {
    for (const std::string& line : applier.describe()) tool.print(line);
    tool.print(fmt::format("memory: {}", format_bytes(static_cast<double>(applier.bytes()))));
    return;
  }
  if (applier.bytes() > tool.common().max_memory_bytes)
    throw UsageError("{}",
                     memory_shortage(tool.common().max_memory_bytes, static_cast<double>(applier.bytes()),
                                     "this needs", "allow more, or use fewer threads"));
  applier.run();
}

}  // namespace apsyn::calibrate
