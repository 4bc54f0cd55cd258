// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/cli/command_line.h"

#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <numeric>
#include <string_view>
#include <utility>
#include <vector>

#include "libcore/base/error.h"

namespace apsyn {
namespace {

/// Letters to insert, drop, replace or swap with the next one to turn `a` into `b` (optimal string
/// alignment).
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> last, row(b.size() + 1), next(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    next[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      next[j] = std::min({row[j] + 1, next[j - 1] + 1, row[j - 1] + (a[i - 1] == b[j - 1] ? 0u : 1u)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        next[j] = std::min(next[j], last[j - 2] + 1);
    }
    last = std::exchange(row, next);
  }
  return row.back();
}

std::string probably_meant(const std::vector<std::string>& names, const std::string& name) {
  std::vector<std::string> longer;
  std::copy_if(names.begin(), names.end(), std::back_inserter(longer),
               [&](const std::string& known) { return known.starts_with(name); });
  if (name.size() > 1 && longer.size() == 1) return longer.front();
  std::string best;
  std::size_t fewest = name.size() / 3 + 1;
  for (const std::string& known : names)
    if (const std::size_t n = distance(name, known); n < fewest) best = known, fewest = n;
  return best;
}

/// What WSClean calls by another name, and what to write here.
struct OtherName {
  std::string_view theirs, ours, written;
};
constexpr OtherName kWscleanNames[] = {
    {"name", "output", "--output"},
    {"data-column", "column", "--column"},
    {"j", "threads", "--threads"},
    {"abs-mem", "max-memory", "--max-memory"},
    {"weighting-rank-filter", "weight-rank-filter", "--weight-rank-filter"},
    {"fits-mask", "mask", "--mask"},
    {"casa-mask", "mask", "--mask"},
    {"multiscale", "algorithm", "--algorithm multiscale"},
    {"multiscale-scales", "scales", "--scales"}};

}  // namespace

std::optional<std::string> unknown_option(const CLI::App& app, std::span<char* const> arguments) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options())
    names.insert(names.end(), option->get_lnames().begin(), option->get_lnames().end());
  for (const char* argument : arguments.subspan(std::min<std::size_t>(1, arguments.size()))) {
    const std::string_view word(argument);
    if (word == "--") break;
    if (!word.starts_with("--")) {
      const std::string name(word.substr(std::min<std::size_t>(1, word.size()), word.find('=') - 1));
      auto known = [&](std::string_view wanted) {
        return std::find(names.begin(), names.end(), wanted) != names.end();
      };
      if (!word.starts_with("-")) continue;
      if (name.size() > 1 && known(name))
        return fmt::format("-{}: a long option has two hyphens: --{}", name, name);
      for (const OtherName& other : kWscleanNames)
        if (name == other.theirs && known(other.ours))
          return fmt::format("-{}: WSClean's name for what is {} here", name, other.written);
      continue;
    }
    const std::string name(word.substr(2, word.find('=') - 2));
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    const std::string meant = probably_meant(names, name);
    return meant.empty() ? fmt::format("--{}: there is no such option", name)
                         : fmt::format("--{}: there is no such option: --{}?", name, meant);
  }
  return std::nullopt;
}

void refuse_no_numbers(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    try {
      option->get_validator(0);
    } catch (const CLI::OptionNotFound&) {
      continue;  // no limits: words, or numbers that are parsed elsewhere
    }
    for (const std::string& text : option->results()) {
      char* end = nullptr;
      if (std::isnan(std::strtod(text.c_str(), &end)) && *end == '\0')
        throw UsageError("{} {}: is no number", option->get_name(), text);
    }
  }
}

}  // namespace apsyn
