// SPDX-License-Identifier: GPL-3.0-or-later
// A Measurement Set as a source of rows. Its reader selects by itself.
#include <utility>

#include "libcore/base/error.h"
#include "tools/transform/row_source.h"

namespace apsyn::transform {
namespace {

class SetSource final : public RowSource {
 public:
  SetSource(const std::string& path, const Options& options) : RowSource(path) {
    selection_ = selection_of(options);
    drops_rows_ = options.no_autos;
    if (!options.antennas.empty() || !options.baselines.empty()) {
      const ArrayLayout layout = MeasurementSetReader(path, selection_).layout();
      selection_.wants_baseline = [pairs = wanted_pairs(options, layout)](int i, int j) {
        return pairs[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)];
      };
      drops_rows_ = true;
    }
    reader_ = std::make_unique<MeasurementSetReader>(path, selection_);
    description_ = {reader_->telescope(), reader_->observer(),         reader_->spectral_windows(),
                    reader_->fields(),    reader_->fields_with_rows(), reader_->layout(),
                    reader_->products(),  reader_->flux_unit(),        reader_->history()};
  }

  bool is_set() const override { return true; }
  std::int64_t n_rows() override { return reader_->n_rows(); }
  std::int64_t count_rows() override {
    if (!drops_rows_) return reader_->n_rows();
    std::int64_t n = 0;
    MsRows rows;
    begin(RowPass::scalars);
    while (next(rows, kMaxRows)) n += static_cast<std::int64_t>(rows.ant1.size());
    return n;
  }
  double begin_mjd_s() override { return reader_->begin_mjd_s(); }
  std::size_t block_rows() const override { return kMaxRows; }

  void begin(RowPass pass) override {
    reader_->rewind();
    coordinates_.reset();
    if (pass != RowPass::coordinates) return;
    MsSelection selection = selection_;
    selection.column.clear();
    coordinates_ = std::make_unique<MeasurementSetReader>(name_, selection);
  }
  bool next(MsRows& rows, std::size_t max_rows) override {
    return coordinates_ ? coordinates_->read(rows, max_rows) : reader_->next(rows, max_rows);
  }
  void read_cells(MsRows& rows, unsigned n_threads, const UseMsCells& use) override {
    reader_->read_cells(rows, n_threads, use);
  }
  bool reads_groups() const override { return true; }
  void read_groups(MsRows& rows, unsigned n_threads, std::size_t n_groups, const ListMsRows& list,
                   const UseMsGroup& use) override {
    reader_->read_groups(rows, n_threads, n_groups, list, use);
  }

 private:
  static constexpr std::size_t kMaxRows = 1 << 14;

  MsSelection selection_;
  bool drops_rows_ = false;  ///< rows of wanted times, fields and windows are left out
  std::unique_ptr<MeasurementSetReader> reader_;
  std::unique_ptr<MeasurementSetReader> coordinates_;  ///< in a pass of coordinates
};

}  // namespace

std::unique_ptr<RowSource> make_set_source(const std::string& path, const Options& options) {
  return std::make_unique<SetSource>(path, options);
}

}  // namespace apsyn::transform
