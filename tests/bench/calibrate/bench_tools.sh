#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# calibrate beside DP3, CASA and QuartiCal on simulated sets with known gains, in one run: processor time and memory of whole
# processes on one thread each, and the RMS error of the gains after the best common phase has been taken out. One JSON line per
# case.
#   tests/bench/calibrate/bench_tools.sh BIN [DP3 [PYTHON]]
#     BIN     the folder of the built tools
#     DP3     the command (DP3, or DP3.py of PyPI's dp3), by default DP3 where that is on the PATH
#     PYTHON  an interpreter with PyPI's quartical, casatasks or both; what it has not is left out
# DP3 needs casacore's tables of measures (measures.directory in ~/.casarc), CASA its own (~/.casa/config.py).
set -euo pipefail
export PATH="$(cd "${1:?the folder of the built tools}" && pwd):$PATH" OPENBLAS_NUM_THREADS=1 APSYN_DEVICE=cpu
dp3=${2:-$(command -v DP3 || true)} python=${3:-}
work=$(mktemp -d "${TMPDIR:-/tmp}/apsyn-bench.XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work"
centre='02h28m00s -26d42m00s'

# measure NAME COMMAND...: the best of three runs.
measure() {
  local name=$1 best= run
  shift
  for run in 1 2 3; do
    /usr/bin/time -f '%U %S %M' -o time.txt "$@" >log.txt 2>&1 || { tail -3 log.txt >&2 && return 1; }
    best=$({ echo "$best" && tail -1 time.txt; } | awk 'NF == 3 { if (!n++ || $1 + $2 < s) { s = $1 + $2; m = $3 } } END { print s, 0, m }')
  done
  awk -v name="$name" -v case="$case" '{ printf "{\"case\": \"%s\", \"tool\": \"%s\", \"processor_s\": %.2f, \"memory_mb\": %.0f", case, name, $1, $3 / 1000 }' <<<"$best"
}
# has MODULE: whether Python has it.
has() { "$python" -c "import importlib.util, sys; sys.exit(importlib.util.find_spec('$1') is None)"; }
# error FILE.csv: RMS of what is found less what is true, per channel and receptor about the best common phase.
error() {
  awk -F, '
    FNR == NR { if ($1 ~ /^[0-9]/) { size[$1, $2] = $3; phase[$1, $2] = $4 } next }
    /^[#a]/ { next }
    { if (!($1 in number)) number[$1] = n++
      k = number[$1]; c = $2 "," (NF > 4 ? $3 : 0)
      a = $(NF - 1); p = $NF - phase[k, $2]; t = size[k, $2]
      re[c] += a * t * cos(p); im[c] += a * t * sin(p); aa[c] += a * a; tt[c] += t * t; m[c]++ }
    END { for (c in re) { e += aa[c] + tt[c] - 2 * sqrt(re[c]^2 + im[c]^2); count += m[c] }
          printf ", \"rms_error\": %.4g}\n", sqrt(e / count) }' true.csv "$1"
}

awk 'BEGIN { srand(3); print "Format = Name, Type, Ra, Dec, I"
  for (i = 0; i < 20; ++i) printf "s%d, POINT, %.6fdeg, %.6fdeg, %.3f\n", i, 37 + (rand() - 0.5) * 10, -26.7 + (rand() - 0.5) * 10, 1 + 9 * rand() }' >sky.txt
awk 'BEGIN { print "antenna,pol,gain_amplitude,phase_rad"
  for (n = 0; n < 512; ++n) for (p = 0; p < 2; ++p) printf "%d,%d,%.6f,%.6f\n", n, p, 1 + 0.3 * sin(3 * n + p), 2 * sin(5 * n + 2 * p) }' >true.csv
# make NAME ARRAY N OPTIONS...: NAME.ms of N antennas with RAW, distorted, and MODEL_DATA.
make() {
  local name=$1 array=$2 n=$3
  shift 3
  simulate -q --array "$array" --sky sky.txt --phase-centre "$centre" --integration 8s --bandwidth 960kHz "$@" -o "$name.ms" 2>/dev/null
  awk -F, -v n="$n" 'NR == 1 || $1 < n' true.csv >gains.csv
  calibrate -q "$name.ms" --apply gains.csv --corrupt --output-column RAW
  idg-degrid -q --sky sky.txt "$name.ms" 2>/dev/null
}

# What CASA and QuartiCal find, as a CSV of gains. bandpass has a solution for each channel, as calibrate's gain has.
cat >casa.py <<'END'
import shutil, sys
import numpy
from casatasks import bandpass
from casatools import table
shutil.rmtree("casa.cal", ignore_errors=True)
bandpass(vis="casa.ms", caltable="casa.cal", solint=sys.argv[1], combine="scan" if sys.argv[1] == "inf" else "", refant="0",
         bandtype="B", minsnr=0, minblperant=1, solnorm=False)
if len(sys.argv) > 2:
    cal = table()
    cal.open("casa.cal")
    gain, antenna = cal.getcol("CPARAM"), cal.getcol("ANTENNA1")
    with open(sys.argv[2], "w") as out:
        for row, ant in enumerate(antenna):
            for pol in range(2):
                for chan in range(gain.shape[1]):
                    g = gain[pol, chan, row]
                    out.write(f"{ant},{pol},{chan},{abs(g)},{numpy.angle(g)}\n")
END
cat >quartical.py <<'END'
import sys
import numpy, zarr
value = zarr.open("quartical.qc/G/" + sys.argv[1], "r")["gains"][:]  # [time][chan][antenna][direction][correlation]
with open(sys.argv[2], "w") as out:
    for ant in range(value.shape[2]):
        for pol in range(2):
            for chan in range(value.shape[1]):
                g = value[0, chan, ant, 0, (0, value.shape[4] - 1)[pol]]
                out.write(f"{ant},{pol},{chan},{abs(g)},{numpy.angle(g)}\n")
END

make mwa mwa-128t 128 --channels 24 --duration 120s --noise 20000Jy
for solve in gain gain:interval=8s jones; do
  case="MWA, 128 antennas, 24 channels, 15 x 8 s, 4 products, 20 sources: $solve"
  measure calibrate calibrate -q mwa.ms --column RAW --sky sky.txt --solve $solve --threads 1 --overwrite -o own.h5
  if [ $solve = gain ]; then calibrate -q own.h5 --export own.csv --overwrite && error own.csv; else echo '}'; fi
  if [ -n "$python" ] && [ $solve != jones ]; then
    interval=inf steps=0
    [ $solve = gain ] || { interval=int && steps=1; }
    [ -d casa.ms ] || { transform -q mwa.ms --column RAW -o casa.ms && idg-degrid -q --sky sky.txt casa.ms 2>/dev/null; }
    if has casatasks; then
      OMP_NUM_THREADS=1 measure CASA "$python" casa.py $interval
      if [ $solve = gain ]; then "$python" casa.py $interval casa.csv 2>/dev/null && error casa.csv; else echo '}'; fi
    fi
  fi
  if [ -n "$python" ] && [ $solve != jones ] && has quartical; then
    rm -rf quartical.qc
    NUMBA_NUM_THREADS=1 OMP_NUM_THREADS=1 measure QuartiCal "$(dirname "$python")/goquartical" input_ms.path=casa.ms \
      input_ms.data_column=DATA input_ms.weight_column=WEIGHT_SPECTRUM input_model.recipe=MODEL_DATA solver.terms='[G]' \
      solver.iter_recipe='[100]' solver.convergence_fraction=1 solver.convergence_criteria=1e-6 solver.threads=1 \
      solver.reference_antenna=0 dask.threads=1 dask.scheduler=single-threaded G.type=diag_complex G.time_interval=$steps \
      G.freq_interval=1 output.gain_directory=quartical.qc output.overwrite=true
    if [ $solve = gain ]; then
      "$python" quartical.py "$(ls quartical.qc/G | head -1)" quartical.csv && error quartical.csv
    else
      echo '}'
    fi
  fi
  [ -n "$dp3" ] || continue
  kind=diagonal interval=0
  [ $solve = jones ] && kind=fulljones
  [ $solve = gain:interval=8s ] && interval=1
  measure DP3 "$dp3" msin=mwa.ms msin.datacolumn=RAW msout= steps=[gaincal] gaincal.caltype=$kind gaincal.usemodelcolumn=true \
    gaincal.solint=$interval gaincal.nchan=1 gaincal.parmdb=dp3.h5 gaincal.maxiter=200 gaincal.tolerance=1e-6 numthreads=1
  if [ $solve = gain ]; then calibrate -q dp3.h5 --export dp3.csv --overwrite && error dp3.csv; else echo '}'; fi
done

case="the same set: applying, weights and flags, a column that is there"
calibrate -q mwa.ms --column RAW --sky sky.txt --overwrite -o own.h5
calibrate -q mwa.ms --apply own.h5
measure calibrate calibrate -q mwa.ms --apply own.h5 --threads 1
echo '}'
if [ -n "$dp3" ]; then
  measure DP3 "$dp3" msin=mwa.ms msout=. msout.datacolumn=DP3_DATA steps=[applycal] applycal.parmdb=own.h5 applycal.steps=[a,p] \
    applycal.a.correction=amplitude000 applycal.p.correction=phase000 applycal.updateweights=true numthreads=1
  echo '}'
fi
rm -rf mwa.ms

awk 'BEGIN { srand(9); print "# site -26.7 116.67 377\nname,east_m,north_m,up_m"
  for (n = 0; n < 512; ++n) printf "A%d,%.2f,%.2f,0\n", n, (rand() - 0.5) * 3000, (rand() - 0.5) * 3000 }' >large.csv
make large large.csv 512 --channels 8 --duration 32s --noise 20000Jy --pol XX,YY
case="512 antennas, 8 channels, 4 x 8 s, 2 products, 20 sources: gain"
measure calibrate calibrate -q large.ms --column RAW --sky sky.txt --solve gain --threads 1 --overwrite -o own.h5
calibrate -q own.h5 --export own.csv --overwrite && error own.csv
if [ -n "$dp3" ]; then
  echo "DP3 refuses sets of two products" >&2
fi
