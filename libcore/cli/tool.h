// SPDX-License-Identifier: GPL-3.0-or-later
// What all tools share: common options, messages, exit statuses, timing. A tool reads
//
//   int main(int argc, char** argv) {
//     Tool tool("correlate", "cross-multiply the antennas of a voltage stream");
//     Options options;
//     declare(tool, options);                       // tool.app() is a CLI::App of <CLI/CLI.hpp>
//     return tool.run(argc, argv, [&] { run(tool, options); });
//   }
#pragma once

#include <functional>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "libcore/base/error.h"
#include "libcore/base/log.h"
#include "libcore/base/units.h"
#include "libcore/cli/headings.h"
#include "libcore/system/device.h"
#include "libcore/system/ranks.h"

// <CLI/CLI.hpp> takes seconds to compile: for those that declare options.
namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace apsyn {

const char* version();  ///< "0.1.0"
const char* git_hash();
const char* cuda_architectures();  ///< "none" without CUDA

struct CommonOptions {
  std::string output;  ///< -o, --output
  bool overwrite = false, quiet = false, verbose = false, dry_run = false;
  std::string progress = "auto", device = "auto";
  unsigned threads = 0;                ///< after parsing: at least 1
  std::uint64_t max_memory_bytes = 0;  ///< after parsing: never 0
};

/// Accumulates the wall time of named stages for -v.
class StageTimer;

class Tool {
 public:
  Tool(std::string name, std::string summary);
  ~Tool();
  CLI::App& app() { return *app_; }
  /// Options that are declared from now on stand under this heading of --help, libcore/cli/headings.h.
  void heading(const std::string& text);
  CommonOptions& common() { return common_; }
  const CommonOptions& common() const { return common_; }
  const std::string& name() const { return name_; }

  /// Positional INPUT...; `max_inputs` 0 = any number. After parsing, no INPUT and stdin no terminal = {"-"}.
  void add_inputs(std::vector<std::string>& inputs, const std::string& what, std::size_t max_inputs = 1);
  /// Options that name files to be read, of type FILE: no output replaces these, as none replaces an INPUT.
  CLI::Option* add_file(const std::string& flags, std::string& path, const std::string& help);
  CLI::Option* add_files(const std::string& flags, std::vector<std::string>& paths, const std::string& help);
  /// Options that carry units. The value is parsed once; a wrong text is a usage error that names option and
  /// text.
  CLI::Option* add_angle(const std::string& flags, double& rad, const std::string& help);
  CLI::Option* add_duration(const std::string& flags, double& seconds, const std::string& help);
  CLI::Option* add_frequency(const std::string& flags, double& hz, const std::string& help);
  CLI::Option* add_flux(const std::string& flags, double& jy, const std::string& help);
  CLI::Option* add_length(const std::string& flags, double& metres, const std::string& help);
  CLI::Option* add_tec(const std::string& flags, double& tecu, const std::string& help);

  /// What several processes that mpirun started do: work each by itself (as a farm of tasks), or share the
  /// work, as `body` sees to.
  enum class RankUse { each, shared };
  void use_ranks(RankUse use) { rank_use_ = use; }
  const Ranks& ranks() const { return ranks_; }
  /// For work that is not shared: the first process does it, and warns; the others do not.
  bool works_alone() const;

  /// Parses, runs `body`, and turns every outcome into messages and the contract's exit status.
  int run(int argc, char** argv, const std::function<void()>& body);

  /// "name version git_hash" and the non-default command line: two or three lines for HISTORY.
  std::vector<std::string> provenance() const;
  /// Chooses, and names the choice on stderr. Ranks of one machine take one GPU after the other.
  Device device(CudaSupport support) const;
  /// Lets a GPU get ready in a thread of its own: what is done before its first use costs no time. Once no
  /// other process is started any more, as those are that look at Measurement Sets: what a driver shares
  /// with a process meanwhile, a copy of the process must not take part in.
  void start_device(const Device& device);
  /// Lets a GPU that nothing uses any more be given back in a thread of its own, beside what is left to do.
  void end_device(const Device& device);

  /// Starts counting a stage (ends the former). With -v the times end up in the closing report.
  void stage(const std::string& stage_name);
  /// Time of a part of the present stage that went on beside others.
  void part_of_stage(const std::string& part_name, double seconds);
  /// The rate for the closing report, for example rate(n_vis, "vis").
  void report_rate(double count, const std::string& unit);
  /// For --dry-run and other human-readable results on stdout; flushed and checked at the end.
  void print(const std::string& line);
  /// Writes what print() has collected. FailureError, or BrokenPipe when the reader is gone.
  static void flush();
  /// What a run will do: on stdout with --dry-run, else among the messages of -v.
  void report_plan(const std::vector<std::string>& lines);

 private:
  static void finish_stdout();
  int parse_and_run(int argc, char** argv, const std::function<void()>& body);
  std::vector<std::string> files_to_read() const;
  void join_ranks();
  void let_others_fail() const;
  void write_log(LogLevel level, const std::string& message) const;

  std::string name_;
  std::unique_ptr<CLI::App> app_;
  CommonOptions common_;
  std::vector<std::string>* inputs_ = nullptr;
  std::vector<const CLI::Option*> file_options_;
  std::unique_ptr<StageTimer> timer_;
  RankUse rank_use_ = RankUse::each;
  Ranks ranks_;
  std::future<void> device_start_, device_end_;  ///< end before the process does
};

/// Progress on stderr: percentage (when the total is known), rate and time left. Thread-safe update.
class Progress {
 public:
  Progress(Tool& tool, std::string what, double total, std::string unit);
  ~Progress();
  /// `more` ends the line.
  void update(double done, const std::string& more = {});
  bool on() const;  ///< whether anything is shown

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace apsyn
