// SPDX-License-Identifier: GPL-3.0-or-later
// Tables of what other programs give for beams: tests/data/beams-*.csv.
#pragma once

#include <boost/test/unit_test.hpp>
#include <complex>
#include <string>
#include <vector>

#include "libcore/base/csv.h"
#include "libcore/beams/jones.h"
#include "libcore/files/input.h"

namespace beam_test {

class Truth {
 public:
  explicit Truth(const std::string& name)
      : text_(apsyn::read_text_file(std::string(APSYN_TEST_DATA "/") + name)),
        table_(apsyn::parse_csv(text_, name)) {}
  const std::vector<apsyn::CsvRow>& rows() const { return table_.rows; }
  std::string text(const apsyn::CsvRow& row, const char* column) const {
    return std::string(row.fields[table_.find(column).value()]);
  }
  double number(const apsyn::CsvRow& row, const std::string& column) const {
    return table_.number(row, table_.find(column).value());
  }
  std::complex<double> complex(const apsyn::CsvRow& row, const std::string& column) const {
    return {number(row, column + "_re"), number(row, column + "_im")};
  }
  apsyn::Jones jones(const apsyn::CsvRow& row, const char* xn, const char* xe, const char* yn,
                     const char* ye) const {
    return {complex(row, xn), complex(row, xe), complex(row, yn), complex(row, ye)};
  }

 private:
  std::string text_;
  apsyn::CsvTable table_;
};

/// Largest difference of an element.
inline double difference(const apsyn::Jones& a, const apsyn::Jones& b) {
  double worst = 0;
  for (std::size_t i = 0; i < 4; ++i) worst = std::max(worst, std::abs(a[i] - b[i]));
  return worst;
}

}  // namespace beam_test
