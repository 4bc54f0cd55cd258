// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/array/followed_gains.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "libcore/array/gains.h"
#include "libcore/base/error.h"
#include "libcore/base/log.h"

namespace apsyn {

std::optional<FollowedFile::Stamp> FollowedFile::stamp() const {
  struct stat found {};
  if (stat(path_.c_str(), &found) != 0) return std::nullopt;
  // a change of the permissions counts: the file may be readable now
  return Stamp{found.st_dev, found.st_ino, found.st_size, found.st_ctim.tv_sec, found.st_ctim.tv_nsec};
}

bool FollowedFile::look() {
  const std::optional<Stamp> now = stamp();
  if (now == seen_) return false;
  seen_ = now;
  if (!now) warn_once(fmt::format("{}: is gone", path_));
  return now.has_value();
}

void FollowedFile::warn_once(const std::string& cause) {
  if (warned_.insert(cause).second) log_warning("{}: the former gains are held", cause);
}

FollowedGains::FollowedGains(std::string path, ArrayLayout layout, std::size_t n_pol, std::size_t n_chan)
    : file_(std::move(path)), layout_(std::move(layout)) {
  if (file_.is_there()) {
    gains_ = read_gains_csv(file_.path(), layout_, n_pol, n_chan);
  } else {
    gains_.resize({layout_.antennas.size(), n_pol, n_chan});
    gains_.fill(1.0);
    log_warning("{}: not there yet: voltages are taken as they are until it is", file_.path());
  }
}

bool FollowedGains::look(double data_s) {
  if (!file_.look()) return false;
  try {
    Buffer<std::complex<double>, 3> read =
        read_gains_csv(file_.path(), layout_, gains_.extent(1), gains_.extent(2));
    file_.read_well();
    if (std::memcmp(read.data(), gains_.data(), read.size() * sizeof(*read.data())) == 0) return false;
    std::swap(gains_, read);
    log_info("{}: new gains from {:.3f} s of the data on", file_.path(), data_s);
    const std::vector<std::uint8_t> left_out = antennas_without_gains(gains_);
    if (left_out == antennas_without_gains(read)) return true;
    const std::string names = names_of(layout_, left_out);
    log_warning("{}: from {:.3f} s of the data on {}", file_.path(), data_s,
                names.empty() ? "all antennas have gains" : "antennas without gains are left out: " + names);
    return true;
  } catch (const Error& error) {
    file_.warn_once(error.what());
    return false;
  }
}

std::string names_of(const ArrayLayout& layout, const std::vector<std::uint8_t>& chosen) {
  std::string names;
  for (std::size_t ant = 0; ant < chosen.size(); ++ant)
    if (chosen[ant] != 0) names += (names.empty() ? "" : ", ") + layout.antennas[ant].name;
  return names;
}

}  // namespace apsyn
