// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/core/stokes.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "libcore/core/error.h"

namespace apsyn {
namespace {

constexpr std::complex<double> minus_half_i{0, -0.5};

struct Combination {
  std::string_view name;
  Product first, second;
  std::complex<double> a, b;
};
constexpr Combination combinations[] = {
    {"I", Product::XX, Product::YY, 0.5, 0.5},
    {"Q", Product::XX, Product::YY, 0.5, -0.5},
    {"U", Product::XY, Product::YX, 0.5, 0.5},
    {"V", Product::XY, Product::YX, minus_half_i, -minus_half_i},
    {"I", Product::RR, Product::LL, 0.5, 0.5},
    {"Q", Product::RL, Product::LR, 0.5, 0.5},
    {"U", Product::RL, Product::LR, minus_half_i, -minus_half_i},
    {"V", Product::RR, Product::LL, 0.5, -0.5},
};

std::vector<std::string> split_names(std::string_view text) {
  std::vector<std::string> names;
  if (text.find(',') == std::string_view::npos && text.find_first_not_of("IQUV") == std::string_view::npos) {
    for (char c : text) names.emplace_back(1, c);
    return names;
  }
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    names.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return names;
}

bool is_parallel(Product product) {
  return product == Product::XX || product == Product::YY || product == Product::RR ||
         product == Product::LL || static_cast<int>(product) <= 4;
}

std::string names_of(const std::vector<Product>& products) {
  std::vector<std::string> names;
  for (Product product : products) names.push_back(product_name(product));
  return fmt::format("{}", fmt::join(names, ","));
}

PlaneRecipe recipe(const std::string& name, const std::vector<Product>& products) {
  auto where = [&](Product product) {
    return static_cast<std::size_t>(std::find(products.begin(), products.end(), product) - products.begin());
  };
  for (std::size_t i = 0; i < products.size(); ++i)
    if (product_name(products[i]) == name) {
      if (!is_parallel(products[i]))
        throw UsageError("--pol {}: images of a cross product are complex: use IQUV", name);
      return {name, {i}, {1.0}};
    }
  bool known = name == "XX" || name == "YY" || name == "RR" || name == "LL";
  for (const Combination& c : combinations) {
    if (c.name != name) continue;
    known = true;
    const std::size_t i = where(c.first), j = where(c.second);
    if (i < products.size() && j < products.size()) return {name, {i, j}, {c.a, c.b}};
  }
  if (!known) throw UsageError("--pol {}: use I, Q, U, V, XX, YY, RR or LL", name);
  throw UsageError("--pol {}: the data have {} only", name, names_of(products));
}

}  // namespace

std::vector<PlaneRecipe> parse_planes(std::string_view text, const std::vector<Product>& products) {
  if (text.empty()) {
    try {
      return {recipe("I", products)};
    } catch (const UsageError&) {
      for (Product product : products)
        if (is_parallel(product)) return {recipe(product_name(product), products)};
      throw;
    }
  }
  std::vector<PlaneRecipe> planes;
  for (const std::string& name : split_names(text)) {
    for (const PlaneRecipe& plane : planes)
      if (plane.name == name) throw UsageError("--pol {}: {} is named twice", text, name);
    planes.push_back(recipe(name, products));
  }
  return planes;
}

}  // namespace apsyn
