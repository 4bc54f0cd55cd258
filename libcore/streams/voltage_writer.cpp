// SPDX-License-Identifier: GPL-3.0-or-later
#include <stdexcept>

#include "libcore/streams/stream_output.h"
#include "libcore/streams/voltage_stream.h"

namespace apsyn {

struct VoltageWriter::State {
  VoltageHeader header;
  StreamOutput out;

  State(const std::string& path, const VoltageHeader& given, bool overwrite)
      : header(given),
        out(
            path, [this](const StreamEnd& end) { return format(end); }, overwrite) {}

  std::string format(const StreamEnd& end) {
    header.file_size = end.file_size;
    header.trailer = end.trailer;
    header.foreign = false;
    return format_voltage_header(header);
  }
};

VoltageWriter::VoltageWriter(const std::string& path, const VoltageHeader& header, bool overwrite)
    : state_(std::make_unique<State>(path, header, overwrite)) {}

VoltageWriter::~VoltageWriter() = default;

void VoltageWriter::write(const void* bytes, std::size_t n_bytes) {
  state_->out.write(bytes, n_bytes);
}

void VoltageWriter::commit() {
  if (state_->out.bytes_written() % state_->header.unit_bytes() != 0)
    throw std::logic_error("VoltageWriter: the samples written are no whole number of units");
  state_->out.commit();
}

}  // namespace apsyn
