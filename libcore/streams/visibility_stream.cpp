// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/streams/visibility_stream.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <stdexcept>
#include <vector>

#include "libcore/base/error.h"
#include "libcore/streams/stream_output.h"
#include "libcore/streams/stream_payload.h"
#include "libcore/visibility/visibility_header.h"

namespace apsyn {
namespace {

static_assert(std::endian::native == std::endian::little, "records are written as they lie in memory");

constexpr std::size_t kPieceBytes = 16u << 20;

std::array<std::size_t, 3> record_shape(const VisibilityHeader& header) {
  return {header.baselines.size(), header.channel_hz.size(), header.products.size()};
}

// What is not finite is no data, and no data is zero with weight zero.
void clear_no_data(VisibilityRecord& record) {
  std::complex<float>* value = record.data.data();
  for (float& weight : record.weight) {
    const bool good =
        weight > 0 && std::isfinite(weight) && std::isfinite(value->real()) && std::isfinite(value->imag());
    if (!good) {
      weight = 0;
      *value = 0;
    }
    ++value;
  }
}

}  // namespace

struct VisibilityStreamWriter::State {
  VisibilityHeader header;
  StreamOutput out;
  std::int64_t next = 0;

  State(const std::string& path, const VisibilityHeader& given, bool overwrite)
      : header(given),
        out(
            path,
            [this](const StreamEnd& end) {
              return format_visibility_header(header, {end.file_size, end.trailer, false});
            },
            overwrite) {}

  void put(const std::complex<float>* data, const float* weight, std::size_t n) {
    out.write(data, n * sizeof *data);
    out.write(weight, n * sizeof *weight);
    ++next;
  }
};

VisibilityStreamWriter::VisibilityStreamWriter(const std::string& path, const VisibilityHeader& header,
                                               bool overwrite) {
  format_visibility_header(header, {});  // refuses before anything is created
  state_ = std::make_unique<State>(path, header, overwrite);
}

VisibilityStreamWriter::~VisibilityStreamWriter() = default;

void VisibilityStreamWriter::write(const VisibilityRecord& record) {
  const auto shape = record_shape(state_->header);
  if (record.data.shape() != shape || record.weight.shape() != shape)
    throw std::length_error("VisibilityStreamWriter: the record's shape is not the header's");
  if (record.index < state_->next)
    throw std::logic_error("VisibilityStreamWriter: integrations must come in rising order");
  if (record.index > state_->next) {
    // Records have no number of their own: an integration without data is written as such.
    const std::vector<std::complex<float>> no_data(record.data.size());
    const std::vector<float> no_weight(record.weight.size());
    while (state_->next < record.index) state_->put(no_data.data(), no_weight.data(), no_data.size());
  }
  state_->put(record.data.data(), record.weight.data(), record.data.size());
}

void VisibilityStreamWriter::commit() {
  state_->out.commit();
}

struct VisibilityStreamReader::State {
  State(const std::string& path, std::unique_ptr<ByteSource> source, const PayloadRules& rules)
      : payload(path, std::move(source), rules) {}
  StreamPayload payload;
  std::int64_t next = 0;

  // The first record of a pipe arrives in pieces, so that a false header costs no memory.
  bool arrives(std::uint64_t n_bytes, std::vector<char>& bytes) {
    while (bytes.size() < n_bytes) {
      const std::size_t at = bytes.size();
      const std::size_t piece =
          static_cast<std::size_t>(std::min<std::uint64_t>(n_bytes - at, std::max(at, kPieceBytes)));
      bytes.resize(at + piece);
      const std::size_t got = payload.read(bytes.data() + at, piece);
      if (got < piece) return false;  // only at the end, which lies between records
    }
    return true;
  }
};

VisibilityStreamReader::VisibilityStreamReader(const std::string& path) {
  auto source = std::make_unique<ByteSource>(path);
  VisibilityStreamKeys keys;
  header_ = parse_visibility_header(read_stream_header(*source), source->name(), keys);
  const std::uint64_t record_bytes = visibility_record_bytes(header_);
  state_ = std::make_unique<State>(
      path, std::move(source),
      PayloadRules{keys.file_size, keys.trailer, keys.foreign, record_bytes, record_bytes});
}

VisibilityStreamReader::~VisibilityStreamReader() = default;

bool VisibilityStreamReader::read(VisibilityRecord& record) {
  State& state = *state_;
  const auto shape = record_shape(header_);
  const std::size_t n = shape[0] * shape[1] * shape[2];
  const std::size_t data_bytes = n * sizeof(std::complex<float>), weight_bytes = n * sizeof(float);
  if (state.payload.size() || state.next > 0) {
    if (state.payload.size() && *state.payload.size() == 0) return false;
    if (record.data.shape() != shape) record.data.resize(shape);
    if (record.weight.shape() != shape) record.weight.resize(shape);
    if (state.payload.read(record.data.data(), data_bytes) < data_bytes) return false;
    if (state.payload.read(record.weight.data(), weight_bytes) < weight_bytes) return false;
  } else {
    std::vector<char> bytes;
    if (!state.arrives(data_bytes + weight_bytes, bytes)) return false;
    record.data.resize(shape);
    record.weight.resize(shape);
    std::copy_n(bytes.data(), data_bytes, reinterpret_cast<char*>(record.data.data()));
    std::copy_n(bytes.data() + data_bytes, weight_bytes, reinterpret_cast<char*>(record.weight.data()));
  }
  clear_no_data(record);
  record.index = state.next++;
  return true;
}

}  // namespace apsyn
