// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/formats/ms/probe.h"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <new>
#include <string_view>

#include "libcore/base/error.h"
#include "libcore/system/isolated.h"

namespace apsyn {
namespace {

constexpr std::uint64_t kBytesBesideTheSet = 256u << 20;
constexpr std::uint64_t kBytesOfSetsBehind = std::uint64_t{1} << 30;

/// Total size of the set's files; files that cannot be examined are left out.
std::uint64_t bytes_of_files(const std::string& path) {
  std::uint64_t sum = 0;
  std::error_code error;
  const auto skip = std::filesystem::directory_options::skip_permission_denied;
  for (std::filesystem::recursive_directory_iterator at(path, skip, error), end; !error && at != end;
       at.increment(error)) {
    std::error_code unknown;
    const std::uint64_t size = at->is_regular_file(unknown) ? at->file_size(unknown) : 0;
    if (!unknown) sum += size;
  }
  return sum;
}

/// Whether the set stores its rows itself. The files of a selection or a concatenation do not tell how large
/// those are that will be read.
bool stores_its_rows(const std::string& path) {
  std::ifstream file(path + "/table.dat", std::ios::binary);
  char head[256] = {};
  file.read(head, sizeof head);
  const std::string_view text(head, static_cast<std::size_t>(file.gcount()));
  return text.find("RefTable") == text.npos && text.find("ConcatTable") == text.npos;
}

}  // namespace

void probe_in_subprocess(const std::string& path, const std::function<void()>& look) {
  IsolationLimits limits;
  limits.max_bytes = kBytesBesideTheSet + (stores_its_rows(path) ? bytes_of_files(path) : kBytesOfSetsBehind);
  const IsolatedResult result = run_isolated(limits, [&] {
    try {
      look();
    } catch (const std::bad_alloc&) {
      throw;
    } catch (...) {  // an ordinary complaint, which the parent will make
    }
    return std::string();
  });
  if (result.end == IsolatedEnd::out_of_memory)
    throw DataError("{}: its tables ask for more memory than all of its files: the set is damaged", path);
  if (result.end != IsolatedEnd::finished)
    throw DataError("{}: casacore cannot read its tables and gives up: the set is damaged", path);
}

}  // namespace apsyn
