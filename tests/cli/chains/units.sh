# SPDX-License-Identifier: GPL-3.0-or-later
# The unit of a recording, Jy or adu, on its way through all tools: headers, Measurement Sets, images and messages.
source "$APSYN_SOURCE/tests/cli/lib.sh" || exit 1
need perl

# The same recording three times: calibrated, as simulate writes it; said to be in arbitrary units; without a word.
printf 'Format = Name, Type, Ra, Dec, I\na, POINT, 02:30:00, -26.42.00, 100\n' >sky.txt
run simulate -q --array mwa-32t --sky sky.txt --channels 2 --bandwidth 20kHz --duration 40ms --bits 8 -o jy.dada
key() { head -c 4096 "$1" | tr -d '\0' | awk -v key=FLUX_UNIT '$1 == key { print $2 }'; }
[ "$(key jy.dada)" = Jy ] || fail "simulate writes FLUX_UNIT '$(key jy.dada)'"
# said UNIT FROM TO: FROM with another FLUX_UNIT in as many bytes.
said() { perl -0777 -pe 's/^(FLUX_UNIT +)Jy(\s*\n)(.*?)\0{4}/$1'"$1"'$2$3\0\0\0/ms' <"$2" >"$3"; }
said adu jy.dada adu.dada
perl -0777 -pe 's/^FLUX_UNIT/SOME_UNIT/m' <jy.dada >silent.dada
said Jan jy.dada wrong.dada
[ "$(stat -c %s adu.dada)" = "$(stat -c %s jy.dada)" ] || fail "adu.dada has another size than jy.dada"

# A value that means nothing is malformed input, in voltages and in visibilities.
run correlate -q jy.dada --channels 4 --integration 10ms --phase-centre '02h30m00s -26d42m00s' -o jy.vis
said Jan jy.vis wrong.vis
for command in "correlate wrong.dada -o none.vis" "quicklook wrong.dada -o none.png" "idg-grid wrong.vis --size 64 --scale 10amin -o none"; do
  expect_exit 3 $command
  expect_stderr "wrong." "FLUX_UNIT Jan" "Jy" "adu"
done
expect_no_file none.vis none.png none-dirty.fits

# bunit FILE: that of a FITS image; with BMAJ where it is per beam.
bunit() { head -c 5760 "$1" | fold -w 80 | grep -a '^BUNIT ' | cut -d"'" -f2 | tr -d ' '; }
bmaj() { head -c 8640 "$1" | fold -w 80 | grep -ac '^BMAJ '; }
gains() { printf 'antenna,gain_amplitude,phase_rad\n' && for ((i = 0; i < 32; ++i)); do echo "$i,2,0"; done; }
gains >gains.csv
for unit in jy adu silent; do
  name=$([ $unit = jy ] && echo Jy || echo adu)
  beam=$([ $unit = jy ] && echo JY/BEAM || echo adu/beam)
  pixel=$([ $unit = jy ] && echo JY/PIXEL || echo adu/pixel)
  cor="correlate -q --channels 4 --integration 10ms $unit.dada --gains gains.csv --phase-centre 02h30m00s,-26d42m00s --overwrite"
  run $cor -o $unit.vis
  [ "$(key $unit.vis)" = $name ] || fail "$unit.vis: FLUX_UNIT is $(key $unit.vis)"
  run $cor -o $unit.ms
  run quicklook $unit.ms --stats
  expect_stdout "\"unit\": \"$name\""
  run quicklook $unit.dada --stats
  expect_stdout "\"unit_of_power\": \"$name\""
  run beamform -q $unit.dada --centre zenith --product voltage --gains gains.csv -o beam-$unit.dada
  [ "$(key beam-$unit.dada)" = $name ] || fail "beam-$unit.dada: FLUX_UNIT is $(key beam-$unit.dada)"

  run epic-image -q $unit.dada --size 16 --accumulate 20ms -o epic-$unit.fits
  [ "$(bunit epic-$unit.fits)" = $beam ] || fail "epic-$unit.fits is in $(bunit epic-$unit.fits)"
  [ $unit != silent ] || continue

  # images of a set and of a stream are the same
  for data in vis ms; do
    run idg-grid -q $unit.$data --size 64 --scale 10amin --psf-size 128 -o $unit-$data
    for part in dirty psf; do
      [ "$(bunit $unit-$data-$part.fits)" = $beam ] || fail "$unit-$data-$part.fits is in $(bunit $unit-$data-$part.fits)"
      [ "$(bmaj $unit-$data-$part.fits)" = 1 ] || fail "$unit-$data-$part.fits has no BMAJ"
    done
  done
  run clean $unit-vis --niter 50
  expect_stderr "peak residual" " $name, noise " "flux in model"
  run clean $unit.ms --size 64 --scale 10amin --niter 50 --threshold 1$name --save-source-list --update-model \
    --residual-column LEFT -o $unit
  stderr_matches "cycle 1: .* $name, noise .* $name, flux in model .* $name"
  [[ $(<"$(stderr_file)") != *warning:*unit* ]] || fail "a warning of units that agree: $(cat "$(stderr_file)")"
  grep -q '^# fluxes are in adu' $unit-sources.txt
  [ $? = $([ $unit = jy ] && echo 1 || echo 0) ] || fail "$unit-sources.txt says the wrong unit"
  for image in $unit-vis $unit; do
    for part in residual image; do
      [ "$(bunit $image-$part.fits)" = $beam ] || fail "$image-$part.fits is in $(bunit $image-$part.fits)"
    done
    [ "$(bunit $image-model.fits)" = $pixel ] || fail "$image-model.fits is in $(bunit $image-model.fits)"
  done
  # the columns that clean adds
  for column in MODEL_DATA LEFT; do
    run idg-grid -q $unit.ms --column $column --size 64 --scale 10amin --no-psf -o $unit-$column
    [ "$(bunit $unit-$column-dirty.fits)" = $beam ] || fail "column $column of $unit.ms is in $(bunit $unit-$column-dirty.fits)"
  done
  run measure-sources $unit-image.fits --sky sky.txt
  expect_stdout found_$([ $unit = jy ] && echo jy || echo adu)
  expect_stderr " $name/beam"

  run epic-image -q $unit.dada --size 16 --electric-field --samples 0:4 --pol X,Y -o field.fits --overwrite
  [ "$(bunit field.fits)" = "sqrt($name)" ] || fail "the electric field of $unit.dada is in $(bunit field.fits)"
  run bash -c "epic-image -q $unit.dada --size 16 --accumulate 20ms -o - | quicklook --stats"
  expect_stdout "\"unit\": \"$beam\""
done
run measure-sources adu-image.fits --sky sky.txt
expect_stderr "adu-image.fits: is in adu/beam, and the sky model in Jy"

# What does not go together: sets, thresholds, models.
run idg-grid -q jy.ms adu.ms --size 64 --scale 10amin --no-psf -o both
expect_stderr "warning: adu.ms: column DATA is in adu, and that of jy.ms is in Jy"
[ "$(bunit both-dirty.fits)" = adu/beam ] || fail "images of both units are in $(bunit both-dirty.fits)"
run clean -q adu-vis --niter 10 --threshold 5mJy -o threshold
expect_stderr "--threshold 0.005Jy" "in adu"
expect_exit 2 clean adu-vis --threshold=-2adu -o threshold
expect_stderr "-2 adu"
run idg-degrid -q adu.ms --sky sky.txt --subtract --output-column REST
expect_stderr "adu.ms: column DATA is in adu" "subtracted from" "in Jy"
run idg-degrid -q adu.ms --model adu-model.fits --subtract --output-column REST2
[ ! -s "$(stderr_file)" ] || fail "a model in the unit of the data: $(cat "$(stderr_file)")"
expect_exit 3 idg-degrid -q adu.ms --model adu-model.fits --model jy-model.fits
expect_stderr jy-model.fits adu-model.fits "one unit"
exit 0
