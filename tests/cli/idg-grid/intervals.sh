# SPDX-License-Identifier: GPL-3.0-or-later
# Images in time of idg-grid: as files and as cubes, what they have in common with images of one interval each, and hundreds of
# outputs at once.
source "$APSYN_SOURCE/tests/cli/idg-grid/lib.sh" || exit 1
small="--size 64 --scale 30asec --column CORRECTED_DATA"

# Images in time: those of --interval, where nothing but the plan may differ, with the times of each. Measured: 1.3e-6 of the
# peak, of an accuracy of 2e-6.
n_times=$(idg-grid $small --intervals-out 100000 -o x "$set" 2>&1 | sed -n 's/.*the data have \([0-9]*\) integrations.*/\1/p')
[ "${n_times:-0}" -ge 6 ] || fail "how many integrations there are is not told"
run idg-grid $small --weight natural --intervals-out 3 -o time "$set"
expect_file time-t0000-dirty.fits time-t0000-psf.fits time-t0002-psf.fits
expect_no_file time-dirty.fits time-t0003-dirty.fits
for k in 0 1 2; do
  first=$((k * n_times / 3)) last=$(((k + 1) * n_times / 3))
  run idg-grid $small --weight natural --interval $first $last -o alone --overwrite "$set"
  for part in dirty psf; do expect_near_image alone-$part.fits time-t000$k-$part.fits 5e-6; done
  for key in DATE-OBS DATE-END; do
    [ "$(card alone-psf.fits $key)" = "$(card time-t000$k-psf.fits $key)" ] || fail "$key of interval $k: $(card time-t000$k-psf.fits $key) for $(card alone-psf.fits $key)"
  done
done
# Read again for every interval where memory is short, and with the parts of the band in each.
run idg-grid $small --weight natural --intervals-out 3 --max-memory 80MB -o short "$set"
expect_same_pixels time-t0001-dirty.fits short-t0001-dirty.fits
run idg-grid $small --weight natural --intervals-out 2 --channels-out 2 --no-psf -o both "$set"
expect_file both-t0000-0000-dirty.fits both-t0001-0001-dirty.fits both-t0000-MFS-dirty.fits both-t0001-MFS-dirty.fits
expect_exit 2 idg-grid $small --intervals-out 2 --no-psf -o - "$set"
# Many at a time: the same pixels whatever the number of threads, and in a cube with an axis TIME.
run simulate --array mwa-32t --sky "$APSYN_SOURCE/examples/first-light-sky.txt" --channels 4 --duration 12s \
  --phase-centre '02h28m00s -26d42m00s' -o twelve.ms
twelve="--size 64 --scale 6amin twelve.ms --intervals-out 12"
# shellcheck disable=SC2086
{
  for threads in 1 4; do run idg-grid $twelve --threads $threads -o of$threads; done
  for k in 00 05 11; do
    for part in dirty psf; do expect_same_pixels of1-t00$k-$part.fits of4-t00$k-$part.fits; done
  done
  (ulimit -n 64 && exec idg-grid -q $twelve --time-cube --threads 4 -o cube) || fail "a cube for 64 descriptors"
  for k in 0 5 11; do
    expect_same <(pixels of1-t00$(printf %02d $k)-dirty.fits | head -c 16384) \
      <(pixels cube-dirty.fits | tail -c +$((16384 * k + 1)) | head -c 16384) "image $k of the cube is another"
  done
  expect_same <(card cube-dirty.fits NAXIS5; card cube-psf.fits NAXIS5) <(printf '12\n12\n') "the axes of cubes"
  expect_near "$(card cube-dirty.fits CDELT5 | tr -d " ")" 1 0 "the step in time"
  [ "$(card cube-dirty.fits DATE-OBS)" = "$(card of1-t0000-dirty.fits DATE-OBS)" ] || fail "when a cube begins"
  [ "$(card cube-dirty.fits DATE-END)" = "$(card of1-t0011-dirty.fits DATE-END)" ] || fail "when a cube ends"
  expect_no_file cube-t0000-dirty.fits
  # One PSF for all. Measured: 4e-7 of the peak, of an accuracy of 2e-6, since plans differ.
  run idg-grid $twelve --psf-interval 5 -o one
  expect_no_file one-t0005-psf.fits
  expect_near_image of1-t0005-psf.fits one-psf.fits 5e-6
  expect_near_image of1-t0005-dirty.fits one-t0005-dirty.fits 5e-6
  expect_near_image of1-t0011-dirty.fits one-t0011-dirty.fits 5e-6
  [ "$(card one-psf.fits DATE-OBS)" = "$(card of1-t0005-psf.fits DATE-OBS)" ] || fail "when the PSF's interval begins"
  expect_exit 2 idg-grid $twelve --psf-interval 12 -o x
  expect_stderr "--psf-interval 12"
  expect_exit 2 idg-grid $twelve --psf-interval 1 --channels-out 2 -o x
  expect_stderr "leave out --channels-out"
  expect_exit 2 idg-grid $twelve --time-cube -o cube
  expect_stderr "cube-dirty.fits"
  run idg-grid $twelve --time-cube --channels-out 2 --psf-size 96 -o bands
  expect_file bands-0000-dirty.fits bands-0001-dirty.fits bands-MFS-dirty.fits
  expect_same <(card bands-MFS-psf.fits NAXIS1) <(echo 96) "the size of PSFs in a cube"
}
# Hundreds of files, of which only some need descriptors, until all have their names. While another run has such files in the
# folder nothing in it is taken for the rest of a killed one.
run simulate --array mwa-32t --sky "$APSYN_SOURCE/examples/first-light-sky.txt" --duration 300ms --integration 1ms \
  --phase-centre '02h28m00s -26d42m00s' -o hundreds.ms
# In memory where there is some: it takes a disk 13 s to keep 300 files.
many=$(mktemp -d /dev/shm/apsyn-test.XXXXXX 2>/dev/null) || { many=$PWD/many && mkdir many; }
trap 'status=$?; rm -rf "$many"; (exit $status); finish' EXIT
hundreds="--size 16 --scale 10amin --weight natural --no-psf hundreds.ms --intervals-out 300"
# shellcheck disable=SC2086
{
  (ulimit -n 256 && exec idg-grid -q $hundreds -o "$many/of") || fail "300 files with 256 descriptors"
  expect_same <(ls "$many" | wc -l) <(echo 300) "files of 300 intervals"
  rm "$many"/* && touch "$many"/of-t0250-dirty.fits.part && chmod 1644 "$many"/of-t0250-dirty.fits.part
  (exec 9<"$many" && flock -s 9 && exec sleep 100) &
  holder=$!
  until ! flock -n -x "$many" true; do sleep 0.05; done
  expect_exit 2 idg-grid -q $hundreds -o "$many/of"
  expect_stderr "$many/of-t0250-dirty.fits.part: another run is writing it"
  expect_same <(ls "$many") <(echo of-t0250-dirty.fits.part) "what is left of a run that was refused"
  kill $holder
  wait $holder
  run idg-grid -q $hundreds -o "$many/of"
  expect_same <(ls "$many" | wc -l) <(echo 300) "files after what was abandoned"
  # A script that runs under a lock of the folder lets it keep descriptors.
  rm "$many"/* && touch "$many"/of-t0250-dirty.fits.part && chmod 1644 "$many"/of-t0250-dirty.fits.part
  TIME_LIMIT=60 run flock -x "$many" idg-grid -q $hundreds -o "$many/of"
  expect_same <(ls "$many" | wc -l) <(echo 300) "files in a folder that a script has locked"
}
expect_exit 2 idg-grid --size 64 --scale 6amin twelve.ms --intervals-out 5 --time-cube -o x
expect_stderr "5 intervals of 12 integrations are not of equal length"
expect_exit 2 idg-grid --size 64 --scale 6amin twelve.ms --time-cube -o x
expect_stderr "--intervals-out"
