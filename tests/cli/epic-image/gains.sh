# SPDX-License-Identifier: GPL-3.0-or-later
# Solutions of calibrate go back to the voltages as they are: cables of other lengths and amplifiers that drift, found in
# visibilities, are taken out of images, visibilities and beams, time by time and fine channel by fine channel.
source "$APSYN_SOURCE/tests/cli/lib.sh" || exit 1

printf '%s\n' 'Format = Name, Type, Ra, Dec, I' 'a, POINT, 02:28:00, -26.42.00, 1000' 'b, POINT, 02:20:00, -24.00.00, 300' >sky.txt
# amplitudes that fall by half within two seconds, phases that turn; another for each antenna
{
  echo antenna,time_s,gain_amplitude,phase_rad
  for ((ant = 0; ant < 32; ++ant)); do
    for time in 0 2; do
      awk -v a=$ant -v t=$time 'BEGIN { printf "%d,%g,%.6f,%.6f\n", a, t, (1 + 0.3 * sin(a)) * (1 - t / 4), 2 * cos(5 * a) + t * 0.4 * sin(7 * a) }'
    done
  done
} >drift.csv
run simulate --array mwa-32t --sky sky.txt --gains drift.csv --noise 100Jy --bits 8 --bandwidth 320kHz --duration 2s -o obs.dada
centre='02h28m00s -26d42m00s'
run correlate obs.dada --channels 8 --integration 250ms --phase-centre "$centre" -o obs.vis
run calibrate obs.vis --sky sky.txt --solve gain:interval=250ms -o cal.h5

# peak FITS: the brightest pixel.
peak() { quicklook "$1" --stats 2>/dev/null | sed -n 's/.*"maximum": \([0-9.e+-]*\),/\1/p'; }
image=(--size 128 --scale 6amin --no-autos --method corr --channels 8 --average-channels 8 --centre "$centre")
run epic-image obs.dada "${image[@]}" --accumulate 250ms -o 'raw%d.fits'
run epic-image obs.dada "${image[@]}" --accumulate 250ms --gains cal.h5 -o 'cal%d.fits'
for i in 0 3 7; do
  expect_near "$(peak cal$i.fits)" 1000 25 "image $i with the gains of its time"
  awk -v p="$(peak raw$i.fits)" 'BEGIN { exit !(p < 500) }' || fail "image $i is as good without gains: $(peak raw$i.fits)"
done
# Gains of the whole time are right at no end of it.
run calibrate obs.vis --sky sky.txt --solve gain -o mean.h5
run epic-image obs.dada "${image[@]}" --accumulate 250ms --gains mean.h5 -o 'one%d.fits'
spread=$(for i in 0 7; do peak one$i.fits; done | sort -g | awk 'NR == 1 { low = $1 } END { print $1 / low }')
awk -v s="$spread" 'BEGIN { exit !(s > 1.5) }' || fail "gains of one time do for all: a ratio of $spread"

# The correlator divides by the same.
run correlate obs.dada --channels 8 --integration 250ms --phase-centre "$centre" --gains cal.h5 -o cal.vis
run idg-grid cal.vis --size 128 --scale 6amin --weight natural --no-psf -o cal
expect_near "$(peak cal-dirty.fits)" 1000 25 "the correlator's image with gains"
# And the beamformer: the power of the beam on the source no longer falls.
printf 'id,ra,dec\nsource,02:28:00,-26d42m00s\n' >beams.csv
run beamform obs.dada --beams beams.csv --product power --channels 8 --gains cal.h5 -o 'beam%d.fil'
expect_file beam0.fil

# What is wrong with solutions is told.
head -c 3000 cal.h5 >short.h5
expect_exit 3 epic-image obs.dada "${image[@]}" --gains short.h5 -o x.fits
expect_exit 1 epic-image obs.dada "${image[@]}" --gains nothere.h5 -o x.fits
run epic-image obs.dada "${image[@]}" --samples 0:320000 --accumulate 1s --gains later.h5 --gains-follow -o early.fits
expect_stderr "later.h5: not there yet"
expect_no_file x.fits
