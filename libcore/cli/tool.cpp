// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/cli/tool.h"

#include <fmt/core.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <system_error>
#include <thread>

#include "libcore/cli/command_line.h"
#include "libcore/cli/printable.h"
#include "libcore/cli/signals.h"
#include "libcore/cli/stage_timer.h"
#include "libcore/cli/surroundings.h"
#include "libcore/cli/terminal.h"
#include "libcore/files/output.h"
#include "libcore/system/device_start.h"
#include "libcore/system/system_error.h"

namespace apsyn {
namespace {

/// Whether the history of an output names the option. What only says how the work is done stays out, so that
/// the bytes are the same for any number of threads.
bool belongs_to_history(const CLI::Option& option) {
  for (const char* name : {"--help", "--version", "--overwrite", "--quiet", "--verbose", "--progress",
                           "--device", "--threads", "--max-memory", "--dry-run"})
    if (option.check_name(name)) return false;
  return true;
}

/// --help with options under their headings, in the order in which these were first used, but what is read
/// and written first, and what all tools share last.
class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode) const override {
    std::vector<std::string> groups = app->get_groups();
    std::stable_sort(groups.begin(), groups.end(),
                     [](const std::string& a, const std::string& b) { return place(a) < place(b); });
    std::string text = make_description(app) + make_usage(app, name) + make_positionals(app);
    for (const std::string& group : groups) {
      const auto options = app->get_options(
          [&](const CLI::Option* option) { return option->get_group() == group && option->nonpositional(); });
      if (!options.empty()) text += make_group(group, false, options);
    }
    return text;
  }

 private:
  static int place(const std::string& group) {
    if (group == headings::kInputOutput) return 0;
    if (group == headings::kCompute) return 2;
    return group == headings::kGeneral ? 3 : 1;
  }
};

std::string shell_quoted(const std::string& word) {
  if (!word.empty() && word.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                              "_-+=./,:%@") == std::string::npos)
    return word;
  std::string quoted = "'";
  for (char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

const char* level_name(LogLevel level) {
  switch (level) {
    case LogLevel::verbose:
    case LogLevel::info:
      return "info";
    case LogLevel::warning:
      return "warning";
    case LogLevel::error:
      break;
  }
  return "error";
}

/// Launchers bind processes to cores, or leave all cores to each.
unsigned threads_of_each(unsigned n_processes) {
  const auto online = static_cast<unsigned>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)));
  return std::min(available_threads(), std::max(1u, online / n_processes));
}

}  // namespace

Tool::Tool(std::string name, std::string summary)
    : name_(std::move(name)),
      app_(std::make_unique<CLI::App>(summary, name_)),
      timer_(std::make_unique<StageTimer>()) {
  occupy_standard_descriptors();
  provide_home();
  app_->formatter(std::make_shared<HelpFormatter>());
  heading(headings::kGeneral);
  app_->set_help_flag("-h,--help", "print this help and exit");
  app_->set_version_flag(
      "--version",
      fmt::format("{} {} ({}; CUDA architectures: {})", name_, version(), git_hash(), cuda_architectures()),
      "print the version, its git hash and CUDA architectures, and exit");
  app_->get_formatter()->column_width(34);
  heading(headings::kInputOutput);
  app_->add_option("-o,--output", common_.output, "where the result goes; - is standard output")
      ->type_name("PATH|-");
  app_->add_flag("--overwrite", common_.overwrite, "replace existing outputs");
  heading(headings::kGeneral);
  app_->add_flag("-q,--quiet", common_.quiet, "only warnings and errors");
  app_->add_flag("-v,--verbose", common_.verbose, "more messages, and times and memory at the end");
  app_->add_option("--progress", common_.progress, "auto (when stderr is a terminal), on or off")
      ->type_name("WHEN")
      ->check(CLI::IsMember({"auto", "on", "off"}));
  app_->add_flag("--dry-run", common_.dry_run, "print the plan and the memory it needs; do nothing");
  heading(headings::kCompute);
  app_->add_option("--device", common_.device, "auto, cpu or cuda[:N]")
      ->type_name("DEVICE")
      ->envname("APSYN_DEVICE");
  app_->add_option("--threads", common_.threads, "CPU threads (default: all that this process may use)")
      ->type_name("N")
      ->check(CLI::Range(1u, 4096u));
  ranks_ = launched_ranks();
  common_.max_memory_bytes = available_memory_bytes() / 10 * 8;
  app_->add_option_function<std::string>(
          "--max-memory", [this](const std::string& text) { common_.max_memory_bytes = parse_bytes(text); },
          "memory to use at most, for example 8GB (default: 80 % of what is there)")
      ->type_name("SIZE");
  heading(headings::kInputOutput);
}

// Messages must not go to a tool that is no more.
Tool::~Tool() {
  set_log_sink({});
}

void Tool::write_log(LogLevel level, const std::string& message) const {
  if (level == LogLevel::verbose && !common_.verbose) return;
  if (level == LogLevel::info && common_.quiet) return;
  if (rank_use_ != RankUse::each && level != LogLevel::error && !ranks_.root())
    return;  // the first process says it
  write_message(fmt::format("{}: {}: {}\n", name_, level_name(level), shorten(escape_controls(message))));
}

/// What fails in one process often fails in all of them: a file is missing. The first that ends makes the
/// launcher end the others, so that the error shows once when those wait.
void Tool::let_others_fail() const {
  if (rank_use_ != RankUse::shared || ranks_.root()) return;
  std::this_thread::sleep_for(std::chrono::milliseconds(1500 + 500 * std::min(ranks_.rank, 10)));
}

bool Tool::works_alone() const {
  if (ranks_.root() && ranks_.size > 1)
    log_warning(
        "{}: this work is not shared: the first of {} processes does all (APSYN_RANKS=off: each works by "
        "itself)",
        name_, ranks_.size);
  return ranks_.root();
}

void Tool::join_ranks() {
  if (rank_use_ != RankUse::shared) return;
  ranks_ = apsyn::join_ranks();
  if (ranks_.size == 1) return;
  // Whatever is cut into blocks by the memory there is, is cut alike.
  common_.max_memory_bytes = min_of_ranks(common_.max_memory_bytes);
  // And plans are made for a kind of device.
  const bool uses_cuda = common_.device != "cpu" && cuda_device_count() > 0;
  if (min_of_ranks(uses_cuda ? 1 : 0) == 0) {
    if (uses_cuda && common_.device != "auto")
      throw DeviceError(
          "--device {}: others of {} processes have no such device, or are told another (APSYN_DEVICE): give "
          "all the same, for example --device cpu",
          common_.device, ranks_.size);
    if (common_.device == "auto") common_.device = "cpu";
  }
  if (inputs_ != nullptr && std::count(inputs_->begin(), inputs_->end(), "-") > 0)
    throw UsageError("standard input reaches one of {} processes only: give a file", ranks_.size);
  if (ranks_.root()) return;
  common_.quiet = true;
  common_.progress = "off";
}

int Tool::run(int argc, char** argv, const std::function<void()>& body) {
  set_log_sink([this](LogLevel level, const std::string& message) { write_log(level, message); });
  try {
    return run_on_large_stack([&] { return parse_and_run(argc, argv, body); });
  } catch (const Error& error) {
    log_message(LogLevel::error, error.what());
    return static_cast<int>(error.status());
  }
}

int Tool::parse_and_run(int argc, char** argv, const std::function<void()>& body) {
  allow_many_outputs();
  ignore_write_signals();
  install_terminate_handling();
  auto fail = [this](ExitStatus status, const std::string& message) {
    let_others_fail();
    log_message(LogLevel::error, message);
    end_ranks(static_cast<int>(status));
    return static_cast<int>(status);
  };
  try {
    try {
      app_->parse(argc, argv);
    } catch (const CLI::ParseError& error) {
      if (error.get_exit_code() == 0) {
        print(error.get_name() == "CallForVersion" ? std::string(error.what()) : app_->help());
        finish_stdout();
        return 0;
      }
      throw UsageError(
          "{}: see {} --help",
          unknown_option(*app_, std::span(argv, static_cast<std::size_t>(argc))).value_or(error.what()),
          name_);
    } catch (const UsageError&) {
      // Of a value, which may be the rest of an option with one hyphen: -threshold is -t hreshold.
      if (const auto unknown = unknown_option(*app_, std::span(argv, static_cast<std::size_t>(argc))))
        throw UsageError("{}: see {} --help", *unknown, name_);
      throw;
    }
    watch_signals();
    refuse_no_numbers(*app_);
    const auto n_sharing = static_cast<unsigned>(std::max(1, ranks_.local_size));
    if (app_->get_option("--max-memory")->count() == 0) common_.max_memory_bytes /= n_sharing;
    if (inputs_ != nullptr && inputs_->empty()) {
      if (::isatty(STDIN_FILENO))
        throw UsageError("no INPUT, and standard input is a terminal: see {} --help", name_);
      inputs_->push_back("-");
    }
    protect_inputs(files_to_read());
    join_ranks();  // may give cores back
    if (common_.threads == 0) common_.threads = threads_of_each(n_sharing);
    {
      const OutputGroup outputs;
      body();
      finish_stdout();
      publish_outputs();
    }
    timer_->stop();
    if (common_.verbose) log_verbose("{}", timer_->report());
    leave_ranks();
    return 0;
  } catch (const Error& error) {
    return fail(error.status(), error.what());
  } catch (const BrokenPipe&) {
    end_ranks(128 + SIGPIPE);
    die_by_signal(SIGPIPE);
  } catch (const std::bad_alloc&) {
    return fail(ExitStatus::failure, "out of memory: lower --max-memory, or split the work");
  } catch (const std::exception& error) {
    const char* cure = cure_of_system_error(error.what());
    return fail(ExitStatus::failure,
                cure == nullptr ? error.what() : fmt::format("{}: {}", error.what(), cure));
  }
  return static_cast<int>(ExitStatus::failure);
}

std::vector<std::string> Tool::provenance() const {
  std::string command = name_;
  const auto add = [&command](const CLI::Option& option) {
    command += " " + option.get_name();
    if (option.get_expected_max() == 0) return;
    for (const std::string& result : option.results()) command += " " + shell_quoted(result);
  };
  const CLI::Option* output = app_->get_option("--output");
  for (const CLI::Option* option : app_->get_options())
    if (option->count() > 0 && !option->get_positional() && option != output && belongs_to_history(*option))
      add(*option);
  if (inputs_ != nullptr)
    for (const std::string& input : *inputs_) command += " " + shell_quoted(input);
  if (output->count() > 0) add(*output);
  return {fmt::format("{} {} {}", name_, version(), git_hash()), command};
}

Device Tool::device(CudaSupport support) const {
  std::string wanted = common_.device;
  const int n_devices = rank_use_ == RankUse::shared && ranks_.size > 1 && support == CudaSupport::available
                            ? cuda_device_count()
                            : 0;
  if (n_devices > 0 && (wanted == "auto" || wanted == "cuda"))
    wanted = fmt::format("cuda:{}", ranks_.local_rank % n_devices);
  Device device = choose_device(wanted, support, common_.threads);
  log_info("device: {}", device.description);
  return device;
}

void Tool::start_device(const Device& device) {
  if (device.kind != Device::Kind::cuda || device_start_.valid()) return;
  try {
    device_start_ = std::async(std::launch::async, start_cuda_device, device.index);
  } catch (const std::system_error&) {  // without a thread it starts when it is used
  }
}

void Tool::end_device(const Device& device) {
  if (device.kind != Device::Kind::cuda || ranks_.size > 1) return;
  try {
    if (device_start_.valid()) device_start_.get();
    device_end_ = std::async(std::launch::async, end_cuda_device, device.index);
  } catch (const std::system_error&) {  // without a thread the end of the process does it
  }
}

void Tool::stage(const std::string& stage_name) {
  timer_->start(stage_name);
}
void Tool::part_of_stage(const std::string& part_name, double seconds) {
  timer_->add_part(part_name, seconds);
}
void Tool::report_rate(double count, const std::string& unit) {
  timer_->set_rate(count, unit);
}

void Tool::print(const std::string& line) {
  if (rank_use_ != RankUse::each && !ranks_.root()) return;
  const std::string text = escape_controls(line, "\n\t") + (line.empty() || line.back() != '\n' ? "\n" : "");
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) {
    if (errno == EPIPE) throw BrokenPipe();
    throw FailureError("standard output: cannot write: {}", std::strerror(errno));
  }
}

void Tool::flush() {
  const bool flushed = std::fflush(stdout) == 0;
  const int error = errno;
  if (!flushed && error == EPIPE) throw BrokenPipe();
  // An earlier write that failed stays known: its text is gone from the buffer.
  if (!flushed || std::ferror(stdout) != 0)
    throw FailureError("standard output: cannot write: {}", std::strerror(flushed ? EIO : error));
}

void Tool::finish_stdout() {
  flush();
  // Network disks tell only at a close what they could not write.
  const int copy = ::dup(STDOUT_FILENO);
  if (copy >= 0 && ::close(copy) != 0 && errno != EINTR)
    throw FailureError("standard output: cannot write: {}", std::strerror(errno));
}

void Tool::report_plan(const std::vector<std::string>& lines) {
  for (const std::string& line : lines)
    if (common_.dry_run)
      print(line);
    else
      log_verbose("{}", line);
}

}  // namespace apsyn
