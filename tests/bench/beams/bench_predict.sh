#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# idg-degrid --sky through beams beside DP3's predict on a simulated LOFAR set: user + sys of whole processes on one thread each,
# the least of three runs that alternate, and the difference of the visibilities over their RMS. One JSON line per case.
#   tests/bench/beams/bench_predict.sh BIN DP3 PYTHON
#     BIN     the folder of the built tools
#     DP3     the command (DP3, or DP3.py of PyPI's dp3)
#     PYTHON  an interpreter with PyPI's python-casacore
# casacore needs its tables of measures (measures.directory in ~/.casarc); both take the beam anew for every integration and
# channel. DP3 shares one beam among components within 60" of each other; the second case has that off. Spectra are flat, because
# DP3 does not scale Q, U and V with I.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
export PATH="$(cd "${1:?the folder of the built tools}" && pwd):$PATH" OPENBLAS_NUM_THREADS=1 APSYN_DEVICE=cpu
export EVERYBEAM_DATADIR=$here/libcore/formats/beam_files/data
dp3=${2:?DP3} python=${3:?an interpreter with python-casacore}
work=$(mktemp -d "${TMPDIR:-/tmp}/apsyn-bench.XXXXXX")
trap 'chmod -R u+w "$work" && rm -rf "$work"' EXIT
cd "$work"

tar -xzf "$here/tests/data/LOFAR-3C48-8st.MS.tgz"
chmod -R u+w tNDPPP-generic.MS
simulate -q --like tNDPPP-generic.MS --noise 1Jy --channels "${CHANNELS:-16}" --duration "${DURATION:-200.3s}" -o set.ms 2>/dev/null
awk -v n="${COMPONENTS:-1000}" 'BEGIN { srand(7)
  print "Format = Name, Type, Ra, Dec, I, Q, U, V"
  for (i = 0; i < n; ++i)
    printf "s%d, POINT, %.8fdeg, %.8fdeg, %.4f, %.4f, %.4f, %.4f\n", i, 24.42 + (2 * rand() - 1) * 3,
      33.16 + (2 * rand() - 1) * 2.5, 1 + 9 * rand(), rand() - 0.5, rand() - 0.5, 0.2 * (rand() - 0.5) }' >sky.txt
printf 'aterms = [ beam ]\nbeam.update_interval = 0.1\n' >beam.conf

timed() { # FILE COMMAND...: user + sys, added to the file
  local file=$1
  shift
  /usr/bin/env bash -c 'TIMEFORMAT="%U %S"; time "$@" >log.txt 2>&1' x "$@" 2>time.txt || { tail -3 log.txt >&2 && return 1; }
  awk '{ print $1 + $2 }' time.txt >>"$file"
}
cat >difference.py <<'END'
import numpy
from casacore.tables import table
data = table("set.ms", ack=False)
own, other = data.getcol("MODEL_DATA"), data.getcol("DP3_DATA")
print(numpy.sqrt((abs(own - other) ** 2).mean() / (abs(other) ** 2).mean()))
END

compare() { # CASE IDG-DEGRID-ARGUMENT... -- DP3-ARGUMENT...
  local case=$1 own=() run
  shift
  while [ "$1" != -- ]; do own+=("$1") && shift; done
  shift
  rm -f own.txt dp3.txt
  for run in 1 2 3; do
    timed own.txt idg-degrid -q --sky sky.txt "${own[@]}" --threads 1 set.ms
    timed dp3.txt "$dp3" msin=set.ms msout=. msout.datacolumn=DP3_DATA steps=[predict] predict.sourcedb=sky.txt \
      predict.operation=replace numthreads=1 "$@"
  done
  printf '{"case": "%s", "idg_degrid_s": %s, "dp3_s": %s, "difference_over_rms": %s}\n' "$case" "$(sort -n own.txt | head -1)" \
    "$(sort -n dp3.txt | head -1)" "$("$python" difference.py 2>/dev/null)"
}
compare "through beams" --aterms beam.conf -- predict.usebeammodel=true
compare "through beams, each component's own" --aterms beam.conf -- predict.usebeammodel=true predict.beamproximitylimit=0
compare "without beams" -- predict.usebeammodel=false
