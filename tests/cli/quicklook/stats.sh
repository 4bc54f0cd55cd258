# SPDX-License-Identifier: GPL-3.0-or-later
# quicklook --stats, light curves, several images side by side, folded profiles.
source "$APSYN_SOURCE/tests/cli/lib.sh" || exit 1
source "$APSYN_SOURCE/tests/cli/quicklook/lib.sh" || exit 1
make_inputs
fits blank.fits 4 1 'BLANK   =                   33' 'BSCALE  =                  1.0'
printf '\x21\x21\x21\x21' | dd of=blank.fits bs=1 seek=2880 conv=notrunc status=none

# --stats: JSON for scripts, of every kind of input; a picture only with -o. Perl's parser stands for theirs.
need perl
# member NAME...: the value of that path in the JSON on stdout, list items by number; "null" and booleans as such.
member() {
  perl -MJSON::PP -0777 -ne 'BEGIN { @path = splice @ARGV } $v = decode_json($_);
    $v = ref $v eq "ARRAY" ? $v->[$_] : $v->{$_} for @path;
    print defined $v ? $v : "null"' "$@" <"$(stdout_file)"
}
run quicklook sky.fits --stats
expect_no_file stats.png
expect_near "$(member width)" 64 0 "the width"
expect_near "$(member maximum)" 96 0 "the largest pixel, 33 + 63"
expect_near "$(member maximum_x)" 63 0 "its column"
expect_near "$(member minimum)" 33 0 "the smallest pixel"
expect_near "$(member mean)" 64.5 1e-9 "the mean"
expect_near "$(member sum)" 198144 0 "the sum, 64.5 * 64 * 48"
expect_near "$(member rms)" 67.0933 1e-4 "the rms" # sqrt(64.5^2 + (64^2 - 1) / 12)
expect_near "$(member noise)" 23.7216 1e-9 "the noise, 1.4826 * 16"
expect_near "$(member centre_ra_deg)" 187.5 1e-12 "the right ascension"
[ "$(member kind)" = image ] || fail "an image is of kind $(member kind)"
run quicklook sky.fits --stats --crop 3,4,20,10
expect_near "$(member maximum)" 55 0 "the largest pixel of the part, 33 + 22"
run quicklook sky.fits --stats --zoom 2
expect_near "$(member width)" 32 0 "the width of the middle"
expect_near "$(member height)" 24 0 "the height of the middle"
expect_near "$(member minimum)" 49 0 "its smallest pixel, 33 + 16"
expect_near "$(member maximum_x)" 47 0 "the column of its largest pixel"
expect_near "$(member maximum_y)" 12 0 "the row of its largest pixel, the first"
run quicklook sky.fits --stats -o both.png
is_png both.png
expect_stdout '"maximum": 96'
expect_exit 2 quicklook sky.fits --stats -o -
expect_stderr --stats
run quicklook blank.fits --stats
expect_near "$(member blank_pixels)" 4 0 "the blank pixels"
run bash -c 'quicklook --stats <sky.fits'
expect_stdout '"maximum": 96'
expect_exit 1 bash -c 'quicklook sky.fits --stats >/dev/full'

run quicklook obs.ms --stats
[ "$(member kind)" = visibility ] || fail "a set is of kind $(member kind)"
expect_near "$(member rows)" 1488 0 "the rows, 496 baselines in 3 s"
expect_near "$(member flagged_fraction)" 0 0 "the flagged fraction"
expect_near "$(member duration_s)" 3 1e-6 "the duration of 3 s, integrations included"
expect_near "$(member products 0 mean_amplitude)" 1 1e-6 "the mean amplitude of the one source that is up, 1 Jy"
[ "$(member products 0 mean_autocorrelation)" = null ] || fail "there are no autocorrelations, but $(member products 0 mean_autocorrelation)"
# 100 m from west to east see a source 0.2 degrees east of the phase centre at 2 pi 100 m sin(0.2 deg) / 1.9986 m.
printf 'name,east_m,north_m,up_m\nA,0,0,0\nB,100,0,0\n' >two.csv
printf 'Format = Name, Type, Ra, Dec, I\na, POINT, 37.22387deg, -26.7deg, 1\n' >east.txt # 37 + 0.2 / cos(26.7 deg)
run simulate -q --array two.csv --site=-26.7deg,116.67deg,377m --sky east.txt --freq 150MHz --bandwidth 10kHz --channels 1 \
  --phase-centre '02:28:00 -26:42:00' --duration 1s -o two.ms
run quicklook two.ms --stats
expect_near "$(member longest_baseline_wavelengths)" 50.035 0.01 "the length of 100 m at 150 MHz"
expect_near "$(member products 0 phase_of_mean_deg | tr -d -)" 62.88 0.2 "the phase of one baseline in degrees"
run quicklook rec.dada --stats
expect_near "$(member inputs 63 antenna)" 31 0 "the last input's antenna"
expect_near "$(member inputs 62 polarisation)" 0 0 "the polarisation of the last but one"
missing=$(for i in {0..63}; do member inputs $i missing_fraction && echo; done | awk '{ sum += $1 } END { print sum / NR }')
expect_near "$missing" 0.1 0.08 "the missing fraction of --drop 0.1"
run quicklook rec.vis --stats
expect_near "$(member flagged_fraction)" 0.19 0.08 "the flagged fraction, 1 - 0.9^2"
expect_near "$(member longest_baseline_m)" 342.65707 1e-4 "the longest baseline, heights included"
run beamform rec.dada --centre zenith --integrate 16 -q -o beam.fil
run quicklook beam.fil --stats
expect_near "$(member bands)" 32 0 "the bands of the filterbank"
expect_near "$(member highest_power_s)" 0.004 0.004 "the time of the highest power of 8 ms"
first=$(member mean_power)
run quicklook beam.fil beam.fil --stats
expect_near "$(member beams 1 mean_power)" "$first" "$(awk -v x="$first" 'BEGIN { print 1e-6 * x }')" "the mean power"
[ "$(member beams 1 name)" = beam ] || fail "a beam that its header does not tell from another is $(member beams 1 name)"
# Beams are called what their table calls them, as in the legend.
printf 'id,az,el\nPRN27,0deg,90deg\nPRN05,90deg,80deg\n' >beams.csv
run beamform rec.dada --beams beams.csv --integrate 16 -q -o 'b%d.fil'
run quicklook b0.fil b1.fil --stats -o beams.png
[ "$(member beams 0 name),$(member beams 1 name)" = PRN27,PRN05 ] ||
  fail "beams of a table are $(member beams 0 name) and $(member beams 1 name)"
is_png beams.png 1260 960

# Light curves: a source of 100 Jy at the zenith in two times of a cube, at its place, and one that never rises.
printf 'Format = Name, Type, Ra, Dec, I\na, POINT, 02:28:00, -26.42.00, 100\nnever, POINT, 02:28:00, 80.00.00, 1\n' >curve.txt
run epic-image -q cube.dada --size 64 --field 8deg --accumulate 20ms --pol XX,XY -o narrow.fits
run quicklook narrow.fits --light-curve curve.txt --stats
expect_near "$(member images)" 2 0 "the times of the cube, real parts alone"
expect_near "$(member time_s 1)" 0.02 1e-9 "the second time"
expect_near "$(member sources 0 mean)" 100 10 "the source's mean" # 5 % of its own noise
[ "$(member sources 1 values 0)" = null ] || fail "a source below the horizon has $(member sources 1 values 0)"
second=$(member sources 0 values 1)
run epic-image -q cube.dada --size 64 --field 8deg --accumulate 20ms --pol XX -o time%d.fits
run quicklook time0.fits time1.fits --light-curve curve.txt --stats -o curve.png
is_png curve.png 1260 960
expect_near "$(member sources 0 values 1)" "$second" 0.1 "the second value from files, whose centres follow the zenith,"
run quicklook time0.fits time0.fits --light-curve curve.txt --stats -o one-time.png
expect_near "$(member time_s 1)" 0 0 "the time of the same image again"
is_png one-time.png
# Between pixels, in two images of known slopes: a quarter of a pixel west of column 32, where one has 65.25 and the other
# twice as much. Of two values the scatter is their distance over sqrt(2).
fits t0.fits 64 48 "DATE-OBS= '2024-01-01T00:00:00.000'"
fits t1.fits 64 48 "DATE-OBS= '2024-01-01T00:00:01.000'" 'BSCALE  =                  2.0'
printf 'Format = Name, Type, Ra, Dec, I\na, POINT, 12:29:53.0718, -30.00.00, 1\n' >between.txt
run quicklook t0.fits t1.fits --light-curve between.txt --stats
expect_near "$(member sources 0 values 0)" 65.25 0.01 "the value between two pixels"
expect_near "$(member sources 0 values 1)" 130.5 0.02 "twice the value between two pixels"
expect_near "$(member sources 0 scatter)" 46.139 0.02 "the scatter"
expect_exit 2 quicklook time1.fits time0.fits --light-curve curve.txt -o wrong.png
expect_stderr "earlier"
expect_exit 2 quicklook rec.dada --light-curve curve.txt -o wrong.png
expect_exit 3 quicklook sky.fits --light-curve curve.txt -o wrong.png
expect_stderr DATE-OBS

# Several images, and all planes of one, side by side.
run quicklook sky.fits sky.fits large.fits --size 300 -o panels.png
is_png panels.png
run quicklook sky.fits sky.fits sky.fits sky.fits --size 300 -o four.png
expect_near "$(od -An -tu4 --endian=big -j20 -N4 four.png | tr -d ' ')" \
  "$(od -An -tu4 --endian=big -j20 -N4 panels.png | tr -d ' ')" 0 "the height of four panels, as of three,"
run quicklook cube.fits --plane all --frame 0 --size 300 -o planes.png
run quicklook cube.fits --plane 0 --frame 0 --size 300 -o plane0.png
[ "$(stat -c %s planes.png)" -gt "$(stat -c %s plane0.png)" ] || fail "all planes are no more than one"
run quicklook cube.fits --plane all --frame 0 --stats
[ "$(member images 1 stokes)" = XY ] || fail "the second plane is $(member images 1 stokes)"
expect_exit 2 quicklook sky.fits rec.dada -o wrong.png
expect_stderr "rec.dada"
expect_no_file wrong.png

# A folded profile, as fold-pulsar writes it.
{
  printf '# fold-pulsar 0.1.0\n# source B0329+54, 10 s from 2024-01-01T19:58:00.000 on\n# period_s 0.5\n# dm_pc_cm3 26.76\n'
  printf '# snr 12.5\n# turns 20\n# peak_phase_turns 0.375\n# width_turns 0.1\n# peak_power 7.5\nphase,power,samples\n0.125,0,100\n0.375,8,100\n0.625,1,100\n0.875,-1,100\n'
} >profile.csv
run quicklook profile.csv
is_png profile.png 1020 640
run bash -c 'quicklook --stats <profile.csv'
[ "$(member object)" = B0329+54 ] || fail "the profile is of $(member object)"
expect_near "$(member snr)" 12.5 0 "its S/N"
expect_near "$(member length_s)" 10 1e-12 "its length"
expect_near "$(member peak_phase_turns)" 0.375 0 "the phase of its peak"
expect_near "$(member width_turns)" 0.1 0 "its width"
expect_near "$(member peak_power)" 7.5 0 "its height"
expect_near "$(member profile 1)" 8 0 "its second bin"
[ "$(member start_utc)" = 2024-01-01T19:58:00.000 ] || fail "the profile begins at $(member start_utc)"
grep -v '^# source' profile.csv >timeless.csv
run quicklook timeless.csv --stats -o timeless.png
[ "$(member start_utc)" = null ] || fail "a profile without a time begins at $(member start_utc)"
sed 's/8,100/8/' profile.csv >torn.csv
expect_exit 3 quicklook torn.csv -o wrong.png
expect_stderr torn.csv
expect_no_file wrong.png
