// SPDX-License-Identifier: GPL-3.0-or-later
// A-terms from a configuration file, apsyn-aterms(5): FITS screens and beams.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "libcore/array/array_layout.h"
#include "libcore/array/array_tables.h"
#include "libcore/sky/aterms.h"

namespace apsyn {

/// A configuration: a file, or a text that `path` only names in messages.
struct AtermConfig {
  AtermConfig(std::string file) : path(std::move(file)) {}
  AtermConfig(const char* file) : path(file) {}
  AtermConfig(std::string name, std::string own) : path(std::move(name)), text(std::move(own)) {}
  std::string path, text;
};

/// The stations are those of the visibilities, in their order: a layout of the stream or of the Measurement
/// Set; `circular` when their receptors are R and L. The model is the product of the entries, the first to
/// the right as WSClean has it, between the sky's X and Y and what X and Y of an ideal hybrid would be where
/// receptors are circular: matrices of the receptors, as those of `diagonal`, are turned into that basis.
/// `tables` tell of real telescopes' beams. DataError (file, line and cure) when the configuration or a file
/// that it names is malformed or missing; FailureError when one cannot be read.
std::unique_ptr<AtermModel> open_aterms(const AtermConfig& config, const ArrayLayout& layout,
                                        bool circular = false, const ArrayTables& tables = {});

}  // namespace apsyn
