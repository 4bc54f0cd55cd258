// SPDX-License-Identifier: GPL-3.0-or-later
// Outputs that appear complete or not at all: written beside the target as NAME.part, checked, fsynced,
// renamed.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace apsyn {

/// Names that are being read, "-" for standard input; no output replaces one of them from then on, whatever
/// its name, nor does its part.
void protect_inputs(std::vector<std::string> paths);
/// One more, which another input names. From the main thread.
void protect_input(const std::string& path);

/// UsageError when `path` exists and may not be overwritten, or is never overwritten (an input, a device, a
/// named pipe, a folder with something other than a table of casacore in it), or FailureError when its folder
/// is missing or not writable; call it before any long work. "-" checks that standard output is no terminal.
void check_output(const std::string& path, bool overwrite);

/// `pattern` with `number` in the place of %d, or of %03d with as many digits at least. UsageError unless one
/// of them stands there, once, which names `option`.
std::string numbered_output(const std::string& option, const std::string& pattern, std::size_t number);

/// Lets this process have as many files open as thousands of beams need, as far as it may: shells start
/// programs with 1024.
void allow_many_outputs();

/// fsyncs a file, or a folder with everything in it. FailureError.
void sync_tree(const std::string& path);

/// The claim on one output name, a file or a folder (Measurement Sets). The temporary name is target +
/// ".part". It is removed when the claim is dropped without commit(), on SIGINT, SIGTERM and SIGHUP, and when
/// an exception ends the tool.
class PendingOutput {
 public:
  /// Removes a part that a killed run left behind. UsageError as check_output, and when a run that lives is
  /// writing it.
  PendingOutput(const std::string& target, bool overwrite);
  ~PendingOutput();
  PendingOutput(PendingOutput&&) noexcept;
  PendingOutput& operator=(PendingOutput&&) = delete;
  const std::string& target() const { return target_; }
  const std::string& part() const { return part_; }
  /// While held, an interrupt waits. Create the part under it: one that appears just after an interrupt has
  /// looked for it would stay behind.
  [[nodiscard]] std::unique_lock<std::recursive_mutex> hold_interrupts() const;
  /// The part is there now and belongs to this run: others that want the same name end with a UsageError, or
  /// this one does, when it came second. Where files cannot be locked, commit() still looks. `fd`: the part,
  /// open until commit() has returned or the claim is dropped; without one, as for folders, it is opened
  /// here.
  void hold_part(int fd = -1);
  /// The part is another run's.
  [[noreturn]] void give_up();
  /// fsyncs the part (every file of a folder), renames it onto the target and fsyncs the parent.
  /// FailureError.
  void commit();

 private:
  [[noreturn]] void refuse_part() const;
  void rename_to_target();

  std::string target_, part_;
  bool overwrite_ = false, done_ = false;
  int part_fd_ = -1;  ///< locked while it is open
  bool own_fd_ = false;
};

/// A byte output to a file (through PendingOutput) or to standard output ("-"). Throws FailureError on a full
/// disk and BrokenPipe when the reader has gone away.
class OutputFile {
 public:
  OutputFile(const std::string& path, bool overwrite);
  ~OutputFile();
  OutputFile(OutputFile&&) = delete;
  void write(const void* bytes, std::size_t n_bytes);
  /// Rewrites earlier bytes; files only.
  void write_at(std::size_t offset, const void* bytes, std::size_t n_bytes);
  void commit();
  bool is_stdout() const { return pending_ == nullptr; }

 private:
  std::string path_;
  std::unique_ptr<PendingOutput> pending_;
  int fd_ = -1;
};

/// Removes every part that is still pending. From then on no output can be claimed, committed or dropped
/// (the calls block), so the process must end at once. Called by the signal watcher and on std::terminate.
void remove_pending_outputs();

}  // namespace apsyn
