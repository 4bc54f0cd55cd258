// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/search-transients/results.h"

#include <algorithm>
#include <cmath>

#include "libcore/base/error.h"
#include "libcore/base/time.h"

namespace apsyn {
namespace {

constexpr std::size_t kMaxPoints = 50000, kMaxDetails = 3;

double middle_s(const Hit& hit, double sample_s) {
  return (static_cast<double>(hit.begin) + static_cast<double>(hit.width) / 2) * sample_s;
}

std::string csv_line(const SearchPlan& plan, const FilterbankHeader& header, const Candidate& c) {
  const double sample_s = header.sample_s, middle = middle_s(c.best, sample_s);
  const UtcTime half = sample_time(header.start, 2 * c.best.begin + c.best.width, sample_s / 2);
  return fmt::format("{:.7f},{},{:.4f},{:.2f},{:.7f},{},{:.4f},{:.4f},{:.7f},{:.7f}", middle,
                     format_mjd(half), plan.dm[c.best.trial], c.best.sn,
                     static_cast<double>(c.best.width) * sample_s, c.n_hits, plan.dm[c.first_trial],
                     plan.dm[c.last_trial], static_cast<double>(c.begin) * sample_s,
                     static_cast<double>(c.end) * sample_s);
}

/// The sample that holds the middle of a window. Both programs give the time of the sample that they name.
std::int64_t middle_sample(const Hit& hit) {
  return hit.begin + hit.width / 2;
}

std::string presto_line(const SearchPlan& plan, double sample_s, const Candidate& c) {
  const std::int64_t sample = middle_sample(c.best);
  return fmt::format("{:7.2f} {:7.2f} {:13.6f} {:10d} {:7d}", plan.dm[c.best.trial], c.best.sn,
                     static_cast<double>(sample) * sample_s, sample, c.best.width);
}

std::string heimdall_line(const SearchPlan& plan, double sample_s, const Candidate& c) {
  const std::int64_t sample = middle_sample(c.best);
  const auto filter = static_cast<int>(std::lround(std::log2(static_cast<double>(c.best.width))));
  return fmt::format("{:.6g}\t{}\t{:.6f}\t{}\t{}\t{:.6g}\t{}\t{}\t{}", c.best.sn, sample,
                     static_cast<double>(sample) * sample_s, filter, c.best.trial, plan.dm[c.best.trial],
                     c.n_hits, c.begin, c.end);
}

}  // namespace

TableFormat parse_table_format(const std::string& name) {
  if (name == "csv") return TableFormat::csv;
  if (name == "presto") return TableFormat::presto;
  if (name == "heimdall") return TableFormat::heimdall;
  throw UsageError("--format {}: no such format: give csv, presto or heimdall", name);
}

std::string format_mjd(const UtcTime& time) {
  const std::int64_t fraction = time.picoseconds / 86400;  // of a day, in 1e-12
  return fmt::format("{}.{:012}", time.mjd, fraction);
}

TableLines::TableLines(Tool& tool, const std::string& path) : tool_(tool) {
  if (path != "-") file_ = std::make_unique<OutputFile>(path, tool.common().overwrite);
}

void TableLines::write(const std::string& line) {
  if (!file_) return tool_.print(line);
  file_->write(line.data(), line.size());
  file_->write("\n", 1);
}

void TableLines::flush() {
  if (file_ == nullptr) tool_.flush();
}

void TableLines::commit() {
  if (file_) file_->commit();
}

CandidateTable::CandidateTable(Tool& tool, const std::string& path, TableFormat format)
    : lines_(tool, path), format_(format) {
  if (format_ == TableFormat::csv)
    lines_.write("time_s,mjd,dm,sn,width_s,n_hits,dm_low,dm_high,begin_s,end_s");
  if (format_ == TableFormat::presto) lines_.write("# DM      Sigma      Time (s)     Sample    Downfact");
}

void CandidateTable::write(const SearchPlan& plan, const FilterbankHeader& header, const Candidate& c) {
  switch (format_) {
    case TableFormat::csv:
      return lines_.write(csv_line(plan, header, c));
    case TableFormat::presto:
      return lines_.write(presto_line(plan, header.sample_s, c));
    case TableFormat::heimdall:
      return lines_.write(heimdall_line(plan, header.sample_s, c));
  }
}

bool StrongestCandidates::add(const TransientPoint& point) {
  ++n_all_;
  points_.push_back(point);
  if (points_.size() >= 2 * kMaxPoints) {
    std::stable_sort(points_.begin(), points_.end(),
                     [](const auto& a, const auto& b) { return a.sn > b.sn; });
    points_.resize(kMaxPoints);
  }
  return best_.size() < kMaxDetails || point.sn > best_.back().point.sn;
}

void StrongestCandidates::keep(TransientDetail detail) {
  best_.push_back(std::move(detail));
  for (std::size_t i = best_.size() - 1; i > 0 && best_[i].point.sn > best_[i - 1].point.sn; --i)
    std::swap(best_[i], best_[i - 1]);
  if (best_.size() > kMaxDetails) best_.pop_back();
}

void StrongestCandidates::show(TransientFigure& figure) const {
  figure.candidates = points_;
  for (const TransientDetail& detail : best_) {
    TransientDetail& copy = figure.best.emplace_back();
    copy.point = detail.point, copy.dm = detail.dm, copy.sn = detail.sn;
    copy.cutout.first_s = detail.cutout.first_s, copy.cutout.step_s = detail.cutout.step_s;
    copy.cutout.low_hz = detail.cutout.low_hz, copy.cutout.high_hz = detail.cutout.high_hz;
    copy.cutout.spectrum.resize(detail.cutout.spectrum.shape());
    std::copy(detail.cutout.spectrum.begin(), detail.cutout.spectrum.end(), copy.cutout.spectrum.begin());
    copy.cutout.profile.resize(detail.cutout.profile.shape());
    std::copy(detail.cutout.profile.begin(), detail.cutout.profile.end(), copy.cutout.profile.begin());
  }
}

void CandidateGallery::add(const SearchPlan& plan, double sample_s, FoundCandidate found) {
  const Candidate& c = found.candidate;
  const TransientPoint point{middle_s(c.best, sample_s), plan.dm[c.best.trial],
                             static_cast<double>(c.best.sn)};
  if (!strongest_.add(point)) return;
  TransientDetail detail{point, std::move(*found.cutout), {}, {}};
  for (const TrialPeak& peak : c.trials) {
    detail.dm.push_back(plan.dm[peak.trial]);
    detail.sn.push_back(static_cast<double>(peak.sn));
  }
  strongest_.keep(std::move(detail));
}

TransientFigure CandidateGallery::figure(const SearchPlan& plan, const SampleReader& reader,
                                         double duration_s) const {
  const FilterbankHeader& header = reader.header();
  TransientFigure figure;
  figure.title = header.source.empty() || header.source == "unknown" ? reader.name() : header.source;
  std::string start = format_fits_utc(header.start, 0);
  if (const auto t = start.find('T'); t != std::string::npos) start[t] = ' ';
  figure.subtitle = fmt::format(
      "{} candidate{} above {} \u03c3  \u00b7  {} channels, {:.6g} MHz  \u00b7  {} UTC", strongest_.n_all(),
      strongest_.n_all() == 1 ? "" : "s", plan.threshold, header.n_chan,
      header.first_hz * 1e-6 + static_cast<double>(header.n_chan - 1) / 2 * header.step_hz * 1e-6, start);
  figure.footer = fmt::format("{} trials of DM, {} filters of {} to {}", plan.dm.size(), plan.widths.size(),
                              format_duration(static_cast<double>(plan.widths.front()) * header.sample_s),
                              format_duration(static_cast<double>(plan.widths.back()) * header.sample_s));
  figure.duration_s = duration_s, figure.threshold = plan.threshold;
  figure.dm_low = plan.dm.front(), figure.dm_high = plan.dm.back();
  strongest_.show(figure);
  return figure;
}

}  // namespace apsyn
