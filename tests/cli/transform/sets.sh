# SPDX-License-Identifier: GPL-3.0-or-later
# transform: sets and streams copied, averaged, moved and joined, and what imagers make of them.
source "$APSYN_SOURCE/tests/cli/lib.sh" || exit 1

printf '%s\n' 'Format = Name, Type, Ra, Dec, I' 'a, POINT, 02:30:00, -26.42.00, 100' 'b, POINT, 02:20:00, -24.42.00, 50' >sky.txt
centre='02h28m00s -26d42m00s' other='02h36m00s -24d00m00s'
sim="simulate -q --array mwa-32t --sky sky.txt --channels 8 --duration 20s --integration 2s"
run $sim --phase-centre "$centre" -o obs.ms

# tiles SET: the bytes of visibilities, flags, weights and coordinates.
tiles() { cat "$1"/table.f*_TSM0; }
# A copy, and a copy by way of a stream.
run transform -q obs.ms -o copy.ms
expect_same <(tiles obs.ms) <(tiles copy.ms)
run transform -q obs.ms -o obs.vis
run transform -q obs.vis -o back.ms
expect_same obs.ms/table.f2_TSM0 back.ms/table.f2_TSM0 "DATA by way of a stream"
transform -q obs.ms -o - | transform -q - -o - | transform -q -o piped.ms
expect_same obs.ms/table.f2_TSM0 piped.ms/table.f2_TSM0 "DATA through pipes"

# UVH5 and back; UVFITS as ingest takes it.
run transform -q obs.ms -o obs.uvh5
run transform -q obs.uvh5 -o from-uvh5.ms
expect_same obs.ms/table.f2_TSM0 from-uvh5.ms/table.f2_TSM0 "DATA by way of UVH5"
expect_same obs.ms/table.f7_TSM0 from-uvh5.ms/table.f7_TSM0 "UVW by way of UVH5"
run transform -q obs.ms -o obs.uvfits
run transform -q obs.uvfits -o from-uvfits.ms
expect_same obs.ms/table.f2_TSM0 from-uvfits.ms/table.f2_TSM0 "DATA by way of UVFITS"
run transform -q "$APSYN_SOURCE/tests/data/VLBA-M87-mojave.uvfits" -o vlba.ms
run ingest -q --from uvfits "$APSYN_SOURCE/tests/data/VLBA-M87-mojave.uvfits" -o vlba2.ms
expect_same <(tiles vlba.ms) <(tiles vlba2.ms) "sets of transform and ingest from UVFITS"

# One pass over a file: a stream, and halves of the time that are joined, from files of two formats.
run transform -q obs.uvh5 --interval 0 5 -o early.uvfits
run transform -q obs.uvh5 --interval 5 10 -o late.uvh5
run transform -q late.uvh5 early.uvfits -o of-files.ms
expect_same obs.ms/table.f2_TSM0 of-files.ms/table.f2_TSM0 "DATA of UVFITS and UVH5 joined"
transform -q obs.uvfits --average-channels 2 --no-autos -o - | transform -q - -o of-stream.ms
run transform -q obs.ms --average-channels 2 --no-autos -o of-set.ms
expect_same of-set.ms/table.f2_TSM0 of-stream.ms/table.f2_TSM0 "DATA of UVFITS by way of a stream"

# Halves in time become the whole.
run transform -q obs.ms --interval 0 5 -o first.ms
run transform -q obs.ms --time-range 2024-01-01T12:00:10 2024-01-01T13:00:00 -o second.ms
run transform -q second.ms first.ms -o joined.ms
expect_same <(tiles obs.ms) <(tiles joined.ms)
# Halves of the band become two windows, whose image is that of the whole.
image() { run idg-grid -q --size 64 --scale 20amin --weight natural --no-psf --overwrite -o "$1" "${@:2}"; }
run transform -q obs.ms --channel-range 0 4 -o low.ms
run transform -q obs.ms --channel-range 4 8 -o high.ms
run transform -v low.ms high.ms -o band.ms
expect_stderr "2 spectral windows"
image whole obs.ms
image band band.ms
expect_near_image whole-dirty.fits band-dirty.fits 1e-6

# At another phase centre as if it had been observed there.
run $sim --phase-centre "$other" -o there.ms
run transform -v obs.ms --phase-centre "$other" -o moved.ms
expect_stderr "UVW is r_1 - r_2, within"
image there there.ms
image moved moved.ms
expect_near_image there-dirty.fits moved-dirty.fits 1e-6
run transform -q obs.vis --phase-centre "$other" -o moved2.ms
image moved2 moved2.ms
expect_near_image there-dirty.fits moved2-dirty.fits 1e-6

# Averaged in time and frequency by nearly nothing: the image hardly changes; a set and its stream agree.
run transform -q obs.ms --average-time 4s --average-channels 2 -o small.ms
image small small.ms
expect_near_image whole-dirty.fits small-dirty.fits 5e-3
run transform -q obs.vis --average-time 4s --average-channels 2 -o small2.ms
image small2 small2.ms
expect_near_image small-dirty.fits small2-dirty.fits 1e-5
# By baseline: fewer rows, within the loss.
run transform -v obs.ms --bda 0.01 --bda-radius 5deg --average-time 20s -o bda.ms
rows=$(sed -n 's/.*become \([0-9]*\) rows.*/\1/p' "$(stderr_file)")
[ "${rows:-9999}" -lt 2480 ] || fail "--bda leaves $rows of 4960 rows"
image bda bda.ms
expect_near_image whole-dirty.fits bda-dirty.fits 1e-2

# Baselines and antennas.
run transform -v obs.ms --baselines 0:1,2:3 -o few.ms
expect_stderr "become 20 rows"
run transform -v obs.ms --antennas 0,1,2 -o few2.ms
expect_stderr "become 30 rows"
run transform -v obs.ms --min-uvw 100m -o long.ms
run transform -v obs.ms --max-uvw 100m -o short.ms
run transform -q obs.vis --antennas 0,1,2 -o few.vis
[ "$(tr -d '\0' <few.vis | grep -ac '^NANT *3$')" -eq 1 ] || fail "a stream of three antennas has others"

# Real sets: another sign of UVW, one correlation, infinities.
for archive in LOFAR-3C48-8st.MS.tgz TART-ghana-60s.ms.tar.gz LWASV-4ant-infs.ms.tar.gz; do
  mkdir "real-$archive"
  tar xzf "$APSYN_SOURCE/tests/data/$archive" -C "real-$archive" 2>/dev/null
  set=$(ls -d "real-$archive"/*)
  run transform -q "$set" -o real.ms --overwrite
  image of-set "$set"
  image of-copy real.ms
  expect_near_image of-set-dirty.fits of-copy-dirty.fits 1e-6
  run transform -q "$set" --average-time 20s -o real.ms --overwrite
done
# UVW of r_2 - r_1 agree with the antennas, away from where they were observed and back.
set=$(ls -d real-LOFAR*/*)
misfit() { run transform -v "$1" --phase-centre '00h00m00s +80d00m00s' -o none.ms --dry-run && sed -n 's/^UVW is r_2 - r_1, within \([^ ]*\) of.*/\1/p' "$(stdout_file)"; }
run transform -q "$set" --phase-centre '10h00m00s -30d00m00s' -o lofar-moved.ms
run transform -q lofar-moved.ms --phase-centre "$(transform -q "$set" -o - | tr -d '\0' | sed -n 's/^PHASE_RA *//p')deg $(transform -q "$set" -o - | tr -d '\0' | sed -n 's/^PHASE_DEC *//p')deg" -o lofar-back.ms
for moved in "$set" lofar-moved.ms lofar-back.ms; do
  expect_near "$(misfit "$moved")" 0 2e-5 "misfit of UVW of $moved"
done
