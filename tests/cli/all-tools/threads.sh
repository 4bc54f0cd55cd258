# SPDX-License-Identifier: GPL-3.0-or-later
# The same bytes whatever --threads is, tool by tool; tests of beamform and correlate have more of theirs.
source "$APSYN_SOURCE/tests/cli/lib.sh" || exit 1
source "$APSYN_SOURCE/tests/robustness/jobs.sh" || exit 1

make_inputs
# What gives threads something to share: several planes, channels and scales, and every way to an image.
job[idg-grid-iquv]="idg-grid -q ../in.ms --size 150 120 --scale 12amin --pol IQUV --weight briggs:0 -o out"
for method in fft dft corr; do
  job[epic-$method]="epic-image -q --channels 4 --samples 0:1280 --size 32 --accumulate 1ms --method $method --pol IQUV"
  job[epic-$method]+=" ../in.dada -o out.fits"
done
job[clean-scales]="clean -q ../in.ms --size 128 --scale 12amin --algorithm multiscale --channels-out 2 --join-channels
  --niter 300 -o out"

job[transform-copy]="transform -q ../in.ms -o out.ms"
job[transform-bda]="transform -q ../in.ms --bda 0.01 --bda-radius 20deg -o out.ms"

for name in simulate simulate-ms correlate-ms transform transform-ms transform-copy transform-bda transform-uvh5 transform-uvfits \
  beamform beamform-8 epic-fft epic-dft epic-corr idg-grid idg-grid-iquv idg-degrid clean clean-ms clean-scales calibrate \
  calibrate-apply search-transients fold-pulsar; do
  for threads in 1 2 7; do
    begin "$threads" "$name"
    (cd "$threads" && run ${job[$name]} --threads "$threads")
    [ "$threads" -gt 1 ] || continue
    if in_place "$name"; then  # the time is in the set's history
      expect_same "$(last_column 1)" "$(last_column "$threads")"
    else
      diff -rq --exclude table.lock 1 "$threads" >&2 || fail "$name: $threads threads give other bytes than one"
    fi
  done
done
