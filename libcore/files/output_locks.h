// SPDX-License-Identifier: GPL-3.0-or-later
// Locks by which runs tell the parts of others that live from the rest of those that were killed.
//
// A part is locked by the descriptor that writes it. Hundreds of complete parts that wait for their names
// would need as many descriptors: theirs are closed, and a shared lock on their folder stands for all of
// them. A run that finds an unlocked part there takes it for abandoned only when it gets the folder's
// exclusive lock. The system frees locks of a run that is killed. All of it is called with the mutex of
// pending parts held.
#pragma once

#include <filesystem>

namespace apsyn {

/// Locks the file or folder unless a run that lives has done so: false. Errors other than that say nothing:
/// some file systems have no locks.
bool lock_now(int fd);

/// Takes a shared lock of the folder, once, until release_folders(). False where somebody else has the
/// folder's exclusive lock for longer than a FolderTrial, like a script that runs under flock(1), or it
/// cannot be opened.
bool hold_folder(const std::filesystem::path& folder);
void release_folders();

/// Whether another run holds a folder; while this lives, none that does not can begin to.
class FolderTrial {
 public:
  explicit FolderTrial(const std::filesystem::path& folder);
  ~FolderTrial();
  FolderTrial(const FolderTrial&) = delete;
  bool is_free() const { return free_; }

 private:
  int fd_ = -1;
  bool is_own_ = false, free_ = true;
};

}  // namespace apsyn
