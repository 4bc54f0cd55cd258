// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/rfi/flag_file.h"

#include <hdf5.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "libcore/base/error.h"
#include "libcore/files/descriptor.h"
#include "libcore/files/output.h"
#include "libcore/formats/h5parm/hdf5.h"
#include "libcore/system/isolated.h"

namespace apsyn {
namespace {

constexpr hsize_t kChunkBytes = 1 << 18, kChunkRows = 1 << 14;
constexpr char kFormat[] = "apsyn flags 1";

/// A one-dimensional dataset of a file that is written piece by piece.
template <class T>
class Appender {
 public:
  Appender(hid_t file, const char* name, hid_t type, hsize_t chunk) : type_(type), chunk_(chunk) {
    const hsize_t none = 0, any = H5S_UNLIMITED;
    const Hdf5Handle space(H5Screate_simple(1, &none, &any), H5Sclose);
    const Hdf5Handle layout(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
    good_ = H5Pset_chunk(layout, 1, &chunk) >= 0 && H5Pset_deflate(layout, 1) >= 0;
    set_ = Hdf5Handle(H5Dcreate2(file, name, type, space, H5P_DEFAULT, layout, H5P_DEFAULT), H5Dclose);
    good_ = good_ && set_.good();
  }
  void add(const T* values, std::size_t n) {
    buffer_.insert(buffer_.end(), values, values + n);
    if (buffer_.size() >= chunk_) flush(buffer_.size() / chunk_ * chunk_);
  }
  bool finish() {
    flush(buffer_.size());
    return good_;
  }
  bool good() const { return good_; }
  void abandon() { set_.abandon(); }

 private:
  void flush(std::size_t n) {
    if (n == 0) return;
    const hsize_t count = n, end = written_ + n;
    good_ = good_ && H5Dset_extent(set_, &end) >= 0;
    const Hdf5Handle in_file(H5Dget_space(set_), H5Sclose),
        in_memory(H5Screate_simple(1, &count, nullptr), H5Sclose);
    good_ = good_ && H5Sselect_hyperslab(in_file, H5S_SELECT_SET, &written_, nullptr, &count, nullptr) >= 0 &&
            H5Dwrite(set_, type_, in_memory, in_file, H5P_DEFAULT, buffer_.data()) >= 0;
    written_ = end;
    buffer_.erase(buffer_.begin(), buffer_.begin() + static_cast<std::ptrdiff_t>(n));
  }

  Hdf5Handle set_;
  hid_t type_;
  hsize_t chunk_, written_ = 0;
  std::vector<T> buffer_;
  bool good_ = true;
};

/// One that is read piece by piece.
template <class T>
class Consumer {
 public:
  Consumer(hid_t file, const char* name, hid_t type, const std::string& path) : type_(type), path_(path) {
    set_ = Hdf5Handle(H5Dopen2(file, name, H5P_DEFAULT), H5Dclose);
    const Hdf5Handle space(set_.good() ? H5Dget_space(set_) : -1, H5Sclose);
    if (!space.good() || H5Sget_simple_extent_ndims(space) != 1 ||
        H5Sget_simple_extent_dims(space, &n_, nullptr) != 1)
      throw DataError("{}: no dataset {}: no file of --save", path, name);
  }
  void take(T* values, std::size_t n) {
    while (n > 0) {
      if (at_ == buffer_.size()) fill();
      const std::size_t part = std::min(n, buffer_.size() - at_);
      std::copy_n(buffer_.data() + at_, part, values);
      at_ += part;
      values += part;
      n -= part;
    }
  }
  bool at_end() const { return read_ == n_ && at_ == buffer_.size(); }

 private:
  void fill() {
    const hsize_t count = std::min<hsize_t>(kChunkBytes, n_ - read_);
    if (count == 0) throw DataError("{}: holds fewer flags than the set: it is of another one", path_);
    buffer_.resize(count);
    at_ = 0;
    const Hdf5Handle in_file(H5Dget_space(set_), H5Sclose),
        in_memory(H5Screate_simple(1, &count, nullptr), H5Sclose);
    if (H5Sselect_hyperslab(in_file, H5S_SELECT_SET, &read_, nullptr, &count, nullptr) < 0 ||
        H5Dread(set_, type_, in_memory, in_file, H5P_DEFAULT, buffer_.data()) < 0)
      throw DataError("{}: cannot be read: the file is damaged", path_);
    read_ += count;
  }

  Hdf5Handle set_;
  hid_t type_;
  std::string path_;
  hsize_t n_ = 0, read_ = 0;
  std::vector<T> buffer_;
  std::size_t at_ = 0;
};

}  // namespace

struct FlagFileWriter::State {
  Descriptor fd;  ///< outlives the claim
  PendingOutput pending;
  Hdf5Handle file;
  std::unique_ptr<Appender<std::uint8_t>> bits;
  std::unique_ptr<Appender<std::uint64_t>> rows;
  std::vector<std::uint8_t> packed;
  State(const std::string& path, bool overwrite) : pending(path, overwrite) {}
  /// What a full disk may have cut short is not closed.
  ~State() {
    if (!file.good()) return;
    if (bits) bits->abandon();
    if (rows) rows->abandon();
    file.abandon();
  }
};

FlagFileWriter::FlagFileWriter(const std::string& path, std::uint64_t n_set_rows, bool overwrite)
    : state_(std::make_unique<State>(path, overwrite)) {
  State& state = *state_;
  quieten_hdf5();
  state.fd.reset(state.pending.create_file());
  const Hdf5Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  H5Pset_file_locking(access, false, true);  // the part has its lock already
  state.file =
      Hdf5Handle(H5Fcreate(state.pending.part().c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access), H5Fclose);
  if (!state.file.good()) throw FailureError("{}: cannot be written: check the free space", path);
  const Hdf5Handle scalar(H5Screate(H5S_SCALAR), H5Sclose), text(H5Tcopy(H5T_C_S1), H5Tclose);
  H5Tset_size(text, sizeof kFormat);
  const Hdf5Handle format(H5Acreate2(state.file, "format", text, scalar, H5P_DEFAULT, H5P_DEFAULT), H5Aclose),
      count(H5Acreate2(state.file, "set_rows", H5T_STD_U64LE, scalar, H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
  state.bits = std::make_unique<Appender<std::uint8_t>>(state.file, "bits", H5T_NATIVE_UINT8, kChunkBytes);
  state.rows =
      std::make_unique<Appender<std::uint64_t>>(state.file, "rows", H5T_NATIVE_UINT64, 2 * kChunkRows);
  if (H5Awrite(format, text, kFormat) < 0 || H5Awrite(count, H5T_NATIVE_UINT64, &n_set_rows) < 0 ||
      !state.bits->good() || !state.rows->good())
    throw FailureError("{}: cannot be written: check the free space", path);
}

FlagFileWriter::~FlagFileWriter() = default;

void FlagFileWriter::write(std::uint64_t row, std::span<const std::uint8_t> flags) {
  State& state = *state_;
  state.packed.assign((flags.size() + 7) / 8, 0);
  for (std::size_t i = 0; i < flags.size(); ++i)
    state.packed[i / 8] = static_cast<std::uint8_t>(state.packed[i / 8] | (flags[i] & 1) << i % 8);
  const std::uint64_t entry[2] = {row, flags.size()};
  state.rows->add(entry, 2);
  state.bits->add(state.packed.data(), state.packed.size());
  if (!state.bits->good() || !state.rows->good())
    throw FailureError("{}: cannot be written: check the free space", state.pending.target());
}

void FlagFileWriter::commit() {
  State& state = *state_;
  const bool whole = state.bits->finish() & state.rows->finish();
  if (!whole || H5Fflush(state.file, H5F_SCOPE_GLOBAL) < 0)
    throw FailureError("{}: cannot be written: check the free space", state.pending.target());
  state.bits.reset();
  state.rows.reset();
  state.file = {};
  state.pending.commit();
  state.fd.reset();
}

struct FlagFileReader::State {
  std::string path;
  Hdf5Handle file;
  std::uint64_t n_set_rows = 0;
  std::unique_ptr<Consumer<std::uint8_t>> bits;
  std::unique_ptr<Consumer<std::uint64_t>> rows;
  std::vector<std::uint8_t> packed;
  void open(const std::string& name);
};

FlagFileReader::FlagFileReader(const std::string& path) : state_(std::make_unique<State>()) {
  // A first look in a process of its own: libhdf5 trusts its files.
  constexpr IsolationLimits kLimits{std::uint64_t{1} << 30, 60};
  const IsolatedResult look = run_isolated(kLimits, [&] {
    State().open(path);
    return std::string();
  });
  if (look.end != IsolatedEnd::finished)
    throw DataError("{}: libhdf5 cannot read it: the file is damaged", path);
  state_->open(path);
}

void FlagFileReader::State::open(const std::string& name) {
  path = name;
  quieten_hdf5();
  if (::access(path.c_str(), R_OK) != 0) throw FailureError("{}: cannot be opened for reading", path);
  file = Hdf5Handle(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
  if (!file.good()) throw DataError("{}: no HDF5 file: give one that --save has written", path);
  const Hdf5Handle count(H5Aopen(file, "set_rows", H5P_DEFAULT), H5Aclose);
  if (!count.good() || H5Aread(count, H5T_NATIVE_UINT64, &n_set_rows) < 0)
    throw DataError("{}: holds no flags of a set: give a file that --save has written", path);
  bits = std::make_unique<Consumer<std::uint8_t>>(file, "bits", H5T_NATIVE_UINT8, path);
  rows = std::make_unique<Consumer<std::uint64_t>>(file, "rows", H5T_NATIVE_UINT64, path);
}

FlagFileReader::~FlagFileReader() = default;

std::uint64_t FlagFileReader::n_set_rows() const {
  return state_->n_set_rows;
}

void FlagFileReader::read(std::uint64_t row, std::span<std::uint8_t> flags) {
  State& state = *state_;
  std::uint64_t entry[2] = {};
  state.rows->take(entry, 2);
  if (entry[0] != row || entry[1] != flags.size())
    throw DataError("{}: has row {} with {} flags where the set has row {} with {}: it is of another set",
                    state.path, entry[0], entry[1], row, flags.size());
  state.packed.resize((flags.size() + 7) / 8);
  state.bits->take(state.packed.data(), state.packed.size());
  for (std::size_t i = 0; i < flags.size(); ++i) flags[i] = state.packed[i / 8] >> i % 8 & 1;
}

void FlagFileReader::finish() {
  if (!state_->rows->at_end()) throw DataError("{}: holds more rows than the set", state_->path);
}

}  // namespace apsyn
