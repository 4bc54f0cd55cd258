// SPDX-License-Identifier: GPL-3.0-or-later
#include "libcore/visibility/stokes.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "libcore/base/error.h"

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

std::vector<PlaneRecipe> product_planes(const std::vector<Product>& products) {
  std::vector<PlaneRecipe> planes;
  for (std::size_t i = 0; i < products.size(); ++i) planes.push_back({product_name(products[i]), {i}, {1.0}});
  return planes;
}

std::complex<double> coherency(const std::array<double, 4>& stokes_jy, Product product) {
  const auto [i, q, u, v] = stokes_jy;
  switch (product) {
    case Product::I:
      return i;
    case Product::Q:
      return q;
    case Product::U:
      return u;
    case Product::V:
      return v;
    case Product::XX:
      return i + q;
    case Product::XY:
      return {u, v};
    case Product::YX:
      return {u, -v};
    case Product::YY:
      return i - q;
    case Product::RR:
      return i + v;
    case Product::RL:
      return {q, u};
    case Product::LR:
      return {q, -u};
    case Product::LL:
      return i - v;
  }
  return 0;
}

Buffer<std::complex<double>, 2> products_of_planes(const std::vector<std::string>& planes,
                                                   const std::vector<Product>& products,
                                                   const std::string& source) {
  constexpr std::string_view stokes = "IQUV";
  const auto is_stokes = [&](const std::string& name) {
    return name.size() == 1 && stokes.find(name) != std::string_view::npos;
  };
  Buffer<std::complex<double>, 2> mix({products.size(), planes.size()});
  std::vector<bool> served(products.size(), is_stokes(planes[0]));
  for (std::size_t plane = 0; plane < planes.size(); ++plane) {
    const std::string& name = planes[plane];
    if (is_stokes(name) != is_stokes(planes[0]))
      throw DataError("{}: planes {}: Stokes parameters and products of feeds do not go together", source,
                      fmt::join(planes, ","));
    bool used = false;
    for (std::size_t p = 0; p < products.size(); ++p) {
      if (is_stokes(name)) {
        std::array<double, 4> unit{};
        unit[stokes.find(name)] = 1;
        mix(p, plane) = coherency(unit, products[p]);
      } else if (product_name(products[p]) == name) {
        mix(p, plane) = 1;
      }
      if (mix(p, plane) != 0.0) used = served[p] = true;
    }
    if (!used && !is_stokes(name))
      throw DataError("{}: plane {}: the data have {} only", source, name, names_of(products));
  }
  for (std::size_t p = 0; p < products.size(); ++p)
    if (!served[p] && is_parallel(products[p]))
      throw DataError("{}: planes {}: they do not tell {} of the data: give a model in Stokes I", source,
                      fmt::join(planes, ","), product_name(products[p]));
  return mix;
}

bool are_circular(const std::vector<Product>& products) {
  return std::any_of(products.begin(), products.end(),
                     [](Product product) { return product >= Product::RR && product <= Product::LL; });
}

std::vector<PlaneRecipe> correlation_planes(const std::vector<Product>& products) {
  // Rows: XX XY YX YY in terms of RR RL LR LL, through the Stokes parameters.
  constexpr std::complex<double> half = 0.5, half_i{0, 0.5};
  static const std::complex<double> from_circular[4][4] = {{half, half, half, half},
                                                           {half_i, -half_i, half_i, -half_i},
                                                           {-half_i, -half_i, half_i, half_i},
                                                           {half, -half, -half, half}};
  constexpr Product linear[] = {Product::XX, Product::XY, Product::YX, Product::YY};
  constexpr Product circular[] = {Product::RR, Product::RL, Product::LR, Product::LL};
  auto has = [&](Product product) {
    return std::find(products.begin(), products.end(), product) != products.end();
  };
  const bool is_linear = has(Product::XX) && has(Product::YY);
  if (!is_linear && !(has(Product::RR) && has(Product::LL)))
    throw UsageError("--aterms: both parallel hands are needed, and the data have {} only",
                     names_of(products));
  std::vector<PlaneRecipe> planes;
  for (std::size_t row = 0; row < 4; ++row) {
    PlaneRecipe plane{product_name(linear[row]), {}, {}};
    for (std::size_t i = 0; i < products.size(); ++i)
      for (std::size_t column = 0; column < 4; ++column) {
        if (products[i] != (is_linear ? linear : circular)[column]) continue;
        plane.index.push_back(i);
        plane.coefficient.push_back(is_linear ? (row == column ? 1.0 : 0.0) : from_circular[row][column]);
      }
    planes.push_back(plane);
  }
  return planes;
}

Buffer<std::complex<double>, 2> products_of_correlations(const std::vector<Product>& products) {
  // The Stokes parameters of each correlation alone: XX is I = Q = 1/2, XY is U = 1/2 and V = -i/2, and so
  // on.
  constexpr std::complex<double> half = 0.5, half_i{0, 0.5};
  static const std::complex<double> stokes_of[4][4] = {
      {half, half, 0, 0}, {0, 0, half, -half_i}, {0, 0, half, half_i}, {half, -half, 0, 0}};
  Buffer<std::complex<double>, 2> mix({products.size(), 4});
  for (std::size_t p = 0; p < products.size(); ++p)
    for (std::size_t correlation = 0; correlation < 4; ++correlation)
      for (std::size_t s = 0; s < 4; ++s) {
        std::array<double, 4> unit{};
        unit[s] = 1;
        mix(p, correlation) += stokes_of[correlation][s] * coherency(unit, products[p]);
      }
  return mix;
}

std::array<std::complex<double>, 4> correlation_mix(const PlaneRecipe& plane) {
  std::array<std::complex<double>, 4> mix{};
  for (std::size_t i = 0; i < plane.index.size(); ++i) mix[plane.index[i]] = plane.coefficient[i];
  return mix;
}

}  // namespace apsyn
