// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/beamform/outputs.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>

#include "kernels/beamform/beamform.h"
#include "kernels/beamform/rescale.h"
#include "libcore/base/error.h"
#include "libcore/files/output.h"
#include "libcore/formats/filterbank/file.h"
#include "libcore/streams/voltage_stream.h"
#include "libcore/visibility/visibility.h"
#include "libcore/voltage/voltage.h"
#include "tools/beamform/headers.h"

namespace apsyn {

namespace {

bool all_missing(const float* values, std::size_t n) {
  return std::all_of(values, values + n, [](float x) { return x == 0; });
}

/// Holds back `window` times from the first that is not missing on, for the scale that they tell.
class ScaledSink : public BeamSink {
 public:
  ScaledSink(std::size_t n_value, std::size_t window) : n_value_(n_value), window_(window) {}

  void write(const float* values, std::size_t n_time) override {
    for (; !any_data_ && n_time > 0 && all_missing(values, n_value_); --n_time, values += n_value_)
      ++missing_;
    if (n_time == 0) return;
    any_data_ = true;
    if (open_) return put(values, n_time);
    held_.insert(held_.end(), values, values + n_time * n_value_);
    if (held_.size() >= window_ * n_value_) start();
  }
  void commit() override {
    if (!open_) start();
    close();
  }

 protected:
  /// Opens the output with the scale that `first` tells, the first `window` times at most.
  virtual void open(std::span<const float> first) = 0;
  virtual void put(const float* values, std::size_t n_time) = 0;
  virtual void close() = 0;
  const std::size_t n_value_;

 private:
  void start() {
    open_ = true;
    open(std::span<const float>(held_).first(std::min(held_.size(), window_ * n_value_)));
    const std::vector<float> nothing(n_value_, 0.0f);
    for (; missing_ > 0; --missing_) put(nothing.data(), 1);
    put(held_.data(), held_.size() / n_value_);
    held_ = {};
  }

  std::size_t window_;
  bool open_ = false;
  std::size_t missing_ = 0;
  std::vector<float> held_;
};

/// 8 bits need a window; floats open at once.
std::size_t voltage_window(const BeamformSetup& setup, std::size_t n_value) {
  return setup.n_bit == 8 ? voltage_scale_times(n_value) : 1;
}

class DadaSink final : public ScaledSink {
 public:
  DadaSink(std::string path, VoltageHeader header, std::size_t window, bool overwrite)
      : ScaledSink(2 * header.n_pol * header.n_chan, window),
        path_(std::move(path)),
        header_(std::move(header)),
        overwrite_(overwrite) {}

 private:
  void open(std::span<const float> first) override {
    if (header_.n_bit == 8) header_.scale = static_cast<double>(voltage_step(first));
    writer_ = std::make_unique<VoltageWriter>(path_, header_, overwrite_);
  }
  void put(const float* values, std::size_t n_time) override {
    if (header_.sideband_conj) {
      conjugates_.assign(values, values + n_time * n_value_);
      for (std::size_t i = 1; i < conjugates_.size(); i += 2) conjugates_[i] = 0 - conjugates_[i];
      values = conjugates_.data();
    }
    if (header_.n_bit == 32) return writer_->write(values, n_time * n_value_ * sizeof(float));
    bytes_.resize(n_time * n_value_);
    quantise_voltages({values, bytes_.size()}, static_cast<float>(header_.scale), bytes_.data());
    writer_->write(bytes_.data(), bytes_.size());
  }
  void close() override { writer_->commit(); }

  std::string path_;
  VoltageHeader header_;
  bool overwrite_;
  std::vector<float> conjugates_;
  std::vector<std::int8_t> bytes_;
  std::unique_ptr<VoltageWriter> writer_;
};

const char* product_name(BeamProduct product, bool circular, std::size_t value) {
  static constexpr const char* kStokes[] = {"I", "Q", "U", "V"};
  static constexpr const char* kLinear[] = {"XX", "YY", "ReXY", "ImXY"};
  static constexpr const char* kCircular[] = {"RR", "LL", "ReRL", "ImRL"};
  if (product != BeamProduct::coherence) return kStokes[value];
  return (circular ? kCircular : kLinear)[value];
}

/// Bytes of rows that are written at once.
constexpr std::size_t kWriteBytes = 256 << 10;

class FilterbankSink final : public ScaledSink {
 public:
  FilterbankSink(std::string path, FilterbankHeader header, bool mirrored, BeamProduct product, bool circular,
                 bool overwrite)
      : ScaledSink(header.n_if * header.n_chan, header.n_bit == 8 ? kScaleTimes : 1),
        path_(std::move(path)),
        header_(std::move(header)),
        mirrored_(mirrored),
        product_(product),
        circular_(circular),
        overwrite_(overwrite) {
    if (header_.n_bit == 8 && path_ == "-")
      throw UsageError("--bits 8: the scales need a file beside the beam: give --output PATH or --bits 32");
    if (header_.n_bit == 8) check_output(scales_path(), overwrite_);
  }

 private:
  std::string scales_path() const { return path_ + ".scales.csv"; }
  void open(std::span<const float> first) override {
    if (header_.n_bit == 8) {
      scales_ = product_scales(first, n_value_);
      scale_table_ = std::make_unique<OutputFile>(scales_path(), overwrite_);
      std::string text = "product,channel,freq_hz,offset,step\n";
      for (std::size_t i = 0; i < n_value_; ++i) {
        const std::size_t product = i / header_.n_chan, at = i % header_.n_chan;
        // as in the file: channel 0 is the highest
        const LinearScale& scale = scales_[product * header_.n_chan + in_order(at)];
        text += fmt::format("{},{},{:.3f},{:.9g},{:.9g}\n", product_name(product_, circular_, product), at,
                            header_.first_hz + header_.step_hz * static_cast<double>(at), scale.offset,
                            scale.step);
      }
      scale_table_->write(text.data(), text.size());
    }
    writer_ = std::make_unique<FilterbankWriter>(path_, header_, overwrite_);
  }
  std::size_t in_order(std::size_t chan) const { return mirrored_ ? header_.n_chan - 1 - chan : chan; }
  void put(const float* values, std::size_t n_time) override {
    const std::size_t row_bytes = n_value_ * header_.n_bit / 8;
    const std::size_t at_once = std::max<std::size_t>(1, kWriteBytes / row_bytes);
    for (std::size_t first = 0; first < n_time; first += at_once) {
      const std::size_t n = std::min(at_once, n_time - first);
      rows_.resize(n * row_bytes);
      for (std::size_t t = 0; t < n; ++t) {
        const float* row = values + (first + t) * n_value_;
        if (header_.n_bit == 8) {
          bytes_.resize(n_value_);
          quantise_products({row, n_value_}, scales_, bytes_.data());
          put_row(bytes_.data(), rows_.data() + t * row_bytes);
        } else {
          put_row(row, rows_.data() + t * row_bytes);
        }
      }
      writer_->write(rows_.data(), rows_.size());
    }
  }
  template <class T>
  void put_row(const T* row, std::uint8_t* bytes) const {
    T* to = reinterpret_cast<T*>(bytes);
    for (std::size_t product = 0; product < header_.n_if;
         ++product, row += header_.n_chan, to += header_.n_chan)
      if (mirrored_)
        std::reverse_copy(row, row + header_.n_chan, to);
      else
        std::copy_n(row, header_.n_chan, to);
  }
  void close() override {
    if (scale_table_) scale_table_->commit();
    writer_->commit();
  }

  std::string path_;
  FilterbankHeader header_;
  bool mirrored_;
  BeamProduct product_;
  bool circular_, overwrite_;
  std::vector<LinearScale> scales_;
  std::unique_ptr<OutputFile> scale_table_;
  std::vector<std::uint8_t> bytes_;
  std::vector<std::uint8_t> rows_;
  std::unique_ptr<FilterbankWriter> writer_;
};

}  // namespace

std::vector<std::string> output_names(const std::string& option, const std::string& pattern,
                                      std::size_t n_beam) {
  if (pattern.find('%') == std::string::npos) {
    if (n_beam > 1)
      throw UsageError("{} {}: {} beams need names of their own: put %03d where the number belongs", option,
                       pattern, n_beam);
    return {pattern};
  }
  std::vector<std::string> names;
  for (std::size_t beam = 0; beam < n_beam; ++beam) names.push_back(numbered_output(option, pattern, beam));
  return names;
}

std::unique_ptr<BeamSink> make_beam_sink(const Tool& tool, const BeamformSetup& setup, std::size_t beam,
                                         const std::string& path) {
  const bool overwrite = tool.common().overwrite;
  if (setup.b.product == BeamProduct::voltage) {
    VoltageHeader header = dada_header(tool, setup, beam);
    const std::size_t window = voltage_window(setup, 2 * header.n_pol * header.n_chan);
    return std::make_unique<DadaSink>(path, std::move(header), window, overwrite);
  }
  return std::make_unique<FilterbankSink>(path, filterbank_header(tool, setup, beam),
                                          setup.f.channel_step_hz() > 0, setup.b.product, setup.b.circular,
                                          overwrite);
}

}  // namespace apsyn
