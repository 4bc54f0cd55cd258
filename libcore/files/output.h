// SPDX-License-Identifier: GPL-3.0-or-later
// Outputs that appear complete or not at all: written beside the target as NAME.part, checked, fsynced,
// renamed.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "libcore/files/pipes.h"

namespace apsyn {

/// Names that are being read, "-" for standard input; no output replaces one of them from then on, whatever
/// its name, nor does its part.
void protect_inputs(std::vector<std::string> paths);
/// One more, which another input names. From the main thread.
void protect_input(const std::string& path);

/// UsageError when `path` exists and may not be overwritten, or is never overwritten (an input, what lies in
/// an input, around it, or in any Measurement Set, another output of the OutputGroup that was checked before
/// or its part, a device, a named pipe,
/// a folder with something other than a table of casacore in it), or FailureError when its folder is missing
/// or not writable; call it for each output once, before any long work. "-" checks that standard output is no
/// terminal.
void check_output(const std::string& path, bool overwrite);

/// `pattern` with `number` in the place of %d, or of %03d with as many digits at least. UsageError unless one
/// of them stands there, once, which names `option`.
std::string numbered_output(const std::string& option, const std::string& pattern, std::size_t number);

/// Lets this process have as many files open as thousands of beams need, as far as it may: shells start
/// programs with 1024.
void allow_many_outputs();

/// fsyncs a file, or a folder with everything in it but the lock files of casacore's tables: closing any
/// descriptor of such a file would end the lock that this process has on it. FailureError.
void sync_tree(const std::string& path);

/// The claim on one output name, a file or a folder (Measurement Sets). The temporary name is target +
/// ".part"; its sticky bit tells that it is unfinished and was made here (a folder is closed to others, too).
/// It is removed when the claim is dropped without commit(), on the signals that end a program, and when an
/// exception ends the tool.
class PendingOutput {
 public:
  /// Removes a part that a killed run left behind. UsageError as check_output, when the part is somebody
  /// else's file, when this process writes the same output already, and when a run that lives is writing or
  /// changing it.
  PendingOutput(const std::string& target, bool overwrite);
  /// A new version of one table of a set that is changed in place: commit() gives it its name at once.
  static PendingOutput in_place(const std::string& table);
  ~PendingOutput();
  PendingOutput(PendingOutput&&) noexcept;
  PendingOutput& operator=(PendingOutput&&) = delete;
  const std::string& target() const { return target_; }
  const std::string& part() const { return part_; }
  /// Makes the part and locks it: others that want the same name end with a UsageError, or this one does when
  /// it came second. The descriptor of create_file() is the caller's to close, after commit() has returned or
  /// the claim was dropped. FailureError.
  int create_file();
  void create_folder();
  /// fsyncs the part (every file of a folder) and gives it the target's name, at once or with the others of
  /// an OutputGroup. FailureError.
  void commit();

 private:
  explicit PendingOutput(const std::string& table);
  void lock(int fd);

  std::string target_, part_;
  bool overwrite_ = false, at_once_ = false, done_ = false;
  mode_t mode_ = 0;   ///< of a folder, once it has its name
  int part_fd_ = -1;  ///< locked while it is open
  bool own_fd_ = false;
};

/// Outputs that belong together: while one lives, commit() of an output completes its part, and publish()
/// gives all of them their names, or none. What is not published when it ends is removed. One at a time.
class OutputGroup {
 public:
  OutputGroup();
  ~OutputGroup();
  OutputGroup(const OutputGroup&) = delete;
};

/// Gives the outputs that have been committed to the group that lives, if there is one, their names. When one
/// of them cannot have its name those that were replaced are put back. FailureError.
void publish_outputs();

/// A byte output to a file (through PendingOutput) or to standard output ("-"). Throws FailureError on a full
/// disk and BrokenPipe when the reader has gone away.
class SharedFile;

class OutputFile {
 public:
  OutputFile(const std::string& path, bool overwrite);
  ~OutputFile();
  OutputFile(OutputFile&&) = delete;
  void write(const void* bytes, std::size_t n_bytes);
  /// Writes anywhere, whatever write() has reached; files only, any number of threads.
  void write_at(std::size_t offset, const void* bytes, std::size_t n_bytes);
  /// For threads that write bytes [offset, offset + n_bytes) with write_share(); files only.
  std::unique_ptr<SharedFile> share(std::size_t offset, std::size_t n_bytes) const;
  void write_share(SharedFile& share, std::size_t offset, const void* bytes, std::size_t n_bytes) const;
  void commit();
  bool is_stdout() const { return pending_ == nullptr; }

 private:
  std::string path_;
  std::unique_ptr<PendingOutput> pending_;
  std::unique_ptr<PipePages> pages_;  ///< of standard output
  int fd_ = -1;
};

/// Removes every part that is still pending. From then on no output can be claimed, committed or dropped
/// (the calls block), so the process must end at once. Called by the signal watcher and on std::terminate.
void remove_pending_outputs();

}  // namespace apsyn
