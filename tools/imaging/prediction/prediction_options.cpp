// SPDX-License-Identifier: GPL-3.0-or-later
#include "tools/imaging/prediction/prediction_options.h"

namespace apsyn::imaging {

MsSelection selection_of(const PredictionOptions& options, const std::string& column) {
  const ImagingOptions& imaging = options.imaging;
  MsSelection selection;
  selection.column = column;
  selection.fields = imaging.fields;
  selection.field_names = imaging.field_names;
  selection.spws = imaging.spws;
  selection.first_interval = imaging.first_interval;
  selection.n_intervals = imaging.n_intervals;
  selection.first_channel = imaging.first_channel;
  selection.n_channels = imaging.n_channels;
  return selection;
}

}  // namespace apsyn::imaging
