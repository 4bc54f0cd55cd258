// SPDX-License-Identifier: GPL-3.0-or-later
// Files of coefficients of antennas' beams, under the names that their observatories and EveryBeam give them.
#pragma once

#include <complex>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "libcore/base/view.h"
#include "libcore/beams/elements/element.h"
#include "libcore/beams/mwa_fee.h"

namespace apsyn {

/// A folder that is searched before the others, as --beam-data names it; once, before beams are opened.
void set_beam_data_folder(const std::string& folder);

/// Folders of such files, in the order of the search: `first` if any, that of set_beam_data_folder(), that of
/// the environment's APSYN_BEAM_DATA, and the installed one.
std::vector<std::string> beam_data_folders(const std::string& first);

/// The first of these folders' files of the name. FailureError that names it and where it is published.
std::string find_beam_file(const std::string& name, const std::vector<std::string>& folders);

/// HamakerLBACoeff.h5 or HamakerHBACoeff.h5: dataset `coeff` complex [harmonic][theta][frequency][2],
/// attributes freq_center and freq_range in Hz.
HamakerCoefficients read_hamaker_file(const std::string& path);

/// oskar.h5: datasets named by their frequency in MHz, complex [1][l (l + 2)][TE_X TM_X TE_Y TM_Y]. The
/// nearest to the whole MHz of a frequency; of two that are as near the first in alphabetical order.
std::shared_ptr<const WaveSource> open_oskar_waves(const std::string& path);

/// A folder with SKA-Low_Perturbed_Vogel_256_elem_FEKO_<MHz>_MHz.h5: dataset `coefficients`, complex
/// [element][l (l + 2)][4]. The nearest frequency, the lower of two that are as near.
std::shared_ptr<const WaveSource> open_skalow_waves(const std::vector<std::string>& folders);

/// EveryBeam's gridded embedded elements: group averageEEP with the axes Phi and Theta (radians) and Freq
/// (Hz) and averageEEP [phi][theta][freq][X theta, X phi, Y theta, Y phi][re, im]; linear between
/// frequencies.
std::shared_ptr<const PatternSource> open_gridded_eep(const std::string& path);

/// mwa_full_embedded_element_pattern.h5.
std::shared_ptr<const MwaFeeSource> open_mwa_fee(const std::string& path);

}  // namespace apsyn
