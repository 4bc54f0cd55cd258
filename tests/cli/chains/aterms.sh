# SPDX-License-Identifier: GPL-3.0-or-later
# A-terms from configuration to image: shifts go where the manual says, beams are those of the formula, and what is wrong
# in a configuration or a file ends idg-grid with status 3 and leaves nothing behind.
source "$APSYN_SOURCE/tests/cli/lib.sh" || exit 1

# pixel FILE X Y: of an image of 256 x 256 pixels, float32, counted from 0.
pixel() {
  local cards
  cards=$(head -c 57600 "$1" | fold -w 80 | grep -an '^END ' | head -1 | cut -d: -f1)
  tail -c +$(((cards + 35) / 36 * 2880 + 1 + 4 * (256 * $3 + $2))) "$1" | od -An -v -t f4 --endian=big -N 4 | tr -d ' '
}

# cube FILE VALUE...: 4 x 4 pixels of 10 degrees and an axis MATRIX; its values as the four bytes of a float, \xHH.
cube() {
  local file=$1 axis=0 type step value i
  shift
  {
    printf '%-80s' 'SIMPLE  =                    T' 'BITPIX  =                  -32' 'NAXIS   =                    4' \
      'NAXIS1  =                    4' 'NAXIS2  =                    4' "NAXIS3  =                    $#" \
      'NAXIS4  =                    1'
    while read -r type value step; do
      axis=$((axis + 1))
      printf '%-80s' "CTYPE$axis  = '$type'" "CRVAL$axis  = $value" "CDELT$axis  = $step" "CRPIX$axis  = 2.5"
    done <<'AXES'
RA---SIN 37.0 -10.0
DEC--SIN -26.7 10.0
MATRIX 1.0 1.0
FREQ 150E6 1E6
AXES
    printf '%-80s' END
    printf '%960s' ''
    for value in "$@"; do
      for ((i = 0; i < 16; i++)); do printf "$value"; done
    done
    head -c $((2880 - 64 * $#)) /dev/zero
  } >"$file"
}

printf 'Format = Name, Type, Ra, Dec, I\na, POINT, 02:30:00, -26.42.00, 100\n' >sky.txt
run simulate --array mwa-32t --sky sky.txt --channels 2 --duration 2s --phase-centre '02h28m00s -26d42m00s' -o obs.ms
image="--weight natural --no-psf --size 256"

# 0.5 degrees to the east and 0.3 to the south: 10 pixels to the left and 6 down.
cube shift.fits '\x3c\x0e\xfa\x35' '\xbb\xab\x92\xa6'
printf 'aterms = [ dldm ]\ndldm.images = [ shift.fits ]\n' >shift.conf
run idg-grid $image --scale 3amin -o plain obs.ms
expect_near "$(pixel plain-dirty.fits 119 128)" 100 0.2 "the source where it is"
run idg-grid $image --scale 3amin --aterms shift.conf -o moved obs.ms
expect_near "$(pixel moved-dirty.fits 109 122)" 100 0.2 "the source where it is moved to"

expect_exit 2 idg-grid $image --scale 3amin --aterms shift.conf -o - obs.ms
expect_stderr 'average beam'

# Gains of 2 and 1 are those of the receptors: of R and L they make V of an unpolarised source, not Q. Divided by their
# squares 100 Jy are (25 - 100) / 2.
cube gains.fits '\x40\0\0\0' '\0\0\0\0' '\x3f\x80\0\0' '\0\0\0\0'
printf 'aterms = [ diagonal ]\ndiagonal.images = [ gains.fits ]\n' >gains.conf
run simulate --array mwa-32t --sky sky.txt --duration 1s --phase-centre '02h28m00s -26d42m00s' --pol RR,RL,LR,LL -o circular.ms
run idg-grid $image --scale 3amin --aterms gains.conf --pol V -o gains circular.ms
expect_near "$(pixel gains-dirty.fits 119 128)" -37.5 0.1 "what gains of R and L make"

# The average beam of equal dishes is their power, (2 J1(x) / x)^2 = 0.896390 at 6 degrees for 4 m at 150 MHz.
printf 'aterms = [ beam ]\nbeam.model = airy\nbeam.diameter = 4m\n' >dish.conf
run idg-grid $image --scale 6amin --aterms dish.conf -o dish obs.ms
for at in '68 128' '128 188'; do
  # shellcheck disable=SC2086
  expect_near "$(pixel dish-beam.fits $at)" 0.8963904 1e-6 "the beam 6 degrees off"
done
expect_near "$(pixel dish-beam.fits 128 128)" 1 1e-6 "the beam ahead"

# A centre in the first null of that beam, 34.6 degrees off at 150 MHz, is told: of the group and the field that it is
# in, and of the one set of two that looks elsewhere.
null='--size 64 --scale 3amin --weight natural'
[[ $(<"$(stderr_file)") != *'lets'* ]] || fail "a warning of a beam that looks at the centre"
printf 'aterms = [ beam ]\nbeam.model = airy\nbeam.diameter = 4m\nbeam.pointing = [ 02h28m00s, 7d54m00s ]\n' >null.conf
run idg-grid -q $null --no-psf --aterms null.conf -o null obs.ms --overwrite
expect_stderr 'idg-grid: warning: obs.ms: the primary beam of --aterms lets' 'at the centre of the image at 150 MHz'
run clean -q $null --niter 10 --aterms null.conf -o null obs.ms --overwrite
expect_stderr 'clean: warning: obs.ms: the primary beam of --aterms lets'
# Tiles that look at the zenith, five hours later: of two sets and two groups, that set in both.
run simulate --array mwa-32t --sky sky.txt --channels 2 --duration 2s --phase-centre '02h28m00s -26d42m00s' \
  --start 2024-01-01T17:00:00 -o late.ms
printf 'aterms = [ beam ]\nbeam.model = mwa\nbeam.delays = [ 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 ]\n' >zenith.conf
run idg-grid -q $null --no-psf --aterms zenith.conf --channels-out 2 -o late obs.ms late.ms
[ "$(grep -c 'warning: late.ms: the primary beam of --aterms lets' "$(stderr_file)")" = 2 ] || fail "no warning of each group"
[[ $(<"$(stderr_file)") != *'obs.ms: the primary'* ]] || fail "a warning of the set that looks at the centre"

# What a configuration names is an input, too.
cp shift.fits kept-beam.fits
printf 'aterms = [ dldm ]\ndldm.images = [ kept-beam.fits ]\n' >kept.conf
expect_exit 2 idg-grid $image --scale 3amin --aterms kept.conf -o kept --overwrite obs.ms
expect_stderr "kept-beam.fits: is the input"
expect_same kept-beam.fits shift.fits

# Mistakes: what is wrong, where, and no output.
wrong() {
  local text=$1
  shift
  printf "$text" >wrong.conf
  expect_exit 3 idg-grid $image --scale 3amin --aterms wrong.conf -o wrong obs.ms
  expect_stderr "$@"
  expect_no_file wrong-dirty.fits wrong-beam.fits
}
wrong 'aterms = [ dldm ]\ndldm.imagse = shift.fits\n' 'wrong.conf: line 2: dldm.imagse' 'dldm knows images'
wrong 'aterms = [ dldm ]\ndldm.images = other.fits\n' 'wrong.conf: line 2' 'other.fits: no such file'
wrong 'aterms = [ tec ]\ntec.images = shift.fits\n' 'shift.fits: axis 3 is' 'ANTENNA, FREQ, TIME'
wrong 'aterms = [ beam ]\n' 'wrong.conf: line 1' 'give either delays or metafits'
head -c 2900 shift.fits >short.fits
wrong 'aterms = [ dldm ]\ndldm.images = short.fits\n' 'short.fits: ends at byte 2900'
expect_exit 1 idg-grid $image --scale 3amin --aterms none.conf -o wrong obs.ms
expect_stderr 'none.conf'
