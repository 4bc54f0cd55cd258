// SPDX-License-Identifier: GPL-3.0-or-later
// How tools declare inputs, files and quantities.
#include <CLI/CLI.hpp>

#include "libcore/cli/tool.h"

namespace apsyn {
namespace {

CLI::Option* add_quantity(CLI::App& app, const std::string& flags, double& value, const std::string& help,
                          double (*parse)(std::string_view), const char* type) {
  const std::string name = flags.substr(flags.rfind(',') + 1);
  return app
      .add_option_function<std::string>(
          flags,
          [&value, parse, name](const std::string& text) {
            try {
              value = parse(text);
            } catch (const UsageError& error) {
              throw UsageError("{}: {}", name, error.what());
            }
          },
          help)
      ->type_name(type);
}

}  // namespace

void Tool::heading(const std::string& text) {
  app_->option_defaults()->group(text);
}

void Tool::add_inputs(std::vector<std::string>& inputs, const std::string& what, std::size_t max_inputs) {
  inputs_ = &inputs;
  const int most = max_inputs == 0 ? CLI::detail::expected_max_vector_size : static_cast<int>(max_inputs);
  app_->add_option("INPUT", inputs, what)->expected(0, most)->type_name("");
}

CLI::Option* Tool::add_file(const std::string& flags, std::string& path, const std::string& help) {
  CLI::Option* option = app_->add_option(flags, path, help)->type_name("FILE");
  file_options_.push_back(option);
  return option;
}
CLI::Option* Tool::add_files(const std::string& flags, std::vector<std::string>& paths,
                             const std::string& help) {
  CLI::Option* option = app_->add_option(flags, paths, help)->type_name("FILE");
  file_options_.push_back(option);
  return option;
}

std::vector<std::string> Tool::files_to_read() const {
  std::vector<std::string> files;
  if (inputs_ != nullptr) files = *inputs_;
  for (const CLI::Option* option : file_options_)
    files.insert(files.end(), option->results().begin(), option->results().end());
  return files;
}

CLI::Option* Tool::add_angle(const std::string& flags, double& rad, const std::string& help) {
  return add_quantity(*app_, flags, rad, help, parse_angle, "ANGLE");
}
CLI::Option* Tool::add_duration(const std::string& flags, double& seconds, const std::string& help) {
  return add_quantity(*app_, flags, seconds, help, parse_duration, "TIME");
}
CLI::Option* Tool::add_frequency(const std::string& flags, double& hz, const std::string& help) {
  return add_quantity(*app_, flags, hz, help, parse_frequency, "FREQ");
}
CLI::Option* Tool::add_flux(const std::string& flags, double& jy, const std::string& help) {
  return add_quantity(*app_, flags, jy, help, parse_flux, "FLUX");
}

CLI::Option* Tool::add_length(const std::string& flags, double& metres, const std::string& help) {
  return add_quantity(*app_, flags, metres, help, parse_length, "LENGTH");
}
CLI::Option* Tool::add_tec(const std::string& flags, double& tecu, const std::string& help) {
  return add_quantity(*app_, flags, tecu, help, parse_tec, "TEC");
}

}  // namespace apsyn
