// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/imaging/prediction_store.h"

#include <algorithm>
#include <utility>

namespace apsyn {
namespace {

std::size_t bytes_of(const PredictionStore::Data& data) {
  return data.size() * sizeof(std::complex<float>);
}

}  // namespace

PredictionStore::PredictionStore(bool in_memory, const std::string& folder) {
  if (!in_memory) file_.emplace(folder);
}

void PredictionStore::rewind() {
  next_ = 0;
  offset_ = 0;
}

void PredictionStore::load(Data& data) {
  if (next_ >= n_saved_) return;
  if (file_) {
    file_->seek(offset_);
    file_->read(data.data(), bytes_of(data));
  } else {
    std::swap(data, blocks_[next_]);
  }
}

void PredictionStore::save(Data& data) {
  const std::size_t n_bytes = bytes_of(data);
  if (file_) {
    file_->seek(offset_);
    file_->write(data.data(), n_bytes);
  } else {
    if (next_ == blocks_.size()) blocks_.emplace_back();
    std::swap(data, blocks_[next_]);
  }
  offset_ += n_bytes;
  n_saved_ = std::max(n_saved_, ++next_);
}

void PredictionStore::copy(Data& data) {
  if (file_) {
    file_->seek(offset_);
    file_->read(data.data(), bytes_of(data));
  } else {
    std::copy(blocks_[next_].begin(), blocks_[next_].end(), data.begin());
  }
  skip(data);
}

void PredictionStore::skip(const Data& data) {
  offset_ += bytes_of(data);
  ++next_;
}

}  // namespace apsyn
