# SPDX-License-Identifier: GPL-3.0-or-later
# clean of Measurement Sets where coordinates, sizes and data are at their limits: across RA 0h, at a pole, odd and
# not square, polarised, channel groups without data, PSFs that no beam can be fitted to.
source "$APSYN_SOURCE/tests/cli/lib.sh" || exit 1

# observe SKY SET CENTRE [OPTIONS]: at a time when RA 0h is high above the MWA.
observe() {
  local sky=$1 set=$2 centre=$3
  shift 3
  run simulate -q --array mwa-128t --sky "$sky" --freq 150MHz --bandwidth 30.72MHz --channels 4 --pol "$pol" \
    --phase-centre "$centre" --start 2024-10-24T13:45:00 --duration 8min --integration 2min --noise 500Jy -o "$set" "$@"
}
# worst COLUMN SIGN TABLE: largest |value - 1| of a ratio, or largest value, over all sources; nothing if one is missing.
worst_flux() { awk -v n="$2" 'NR > 1 { e = $4 > 1 ? $4 - 1 : 1 - $4; if (e > worst) worst = e; ++found } END { if (found == n) print 100 * worst }' "$1"; }
worst_offset() { awk -v n="$2" 'NR > 1 && $7 ~ /^[0-9.]+$/ { if ($7 > worst) worst = $7; ++found } END { if (found == n) print worst + 0 }' "$1"; }
pol=XX,YY
deep='--weight briggs:0 --auto-mask 6 --auto-threshold 2'

# Both sides of RA 0h, an odd image that is not square; and around the south pole, where RA turns.
cat >zero.txt <<'END'
Format = Name, Type, Ra, Dec, I
east, POINT, 00:04:00, -26.42.00, 1
west, POINT, 23:54:00, -26.00.00, 2
on, POINT, 00:00:00, -27.30.00, 1.5
END
cat >pole.txt <<'END'
Format = Name, Type, Ra, Dec, I
a, POINT, 01:00:00, -89.00.00, 1
b, POINT, 10:00:00, -88.30.00, 2
c, POINT, 17:00:00, -89.30.00, 1.5
END
observe zero.txt zero.ms '00h00m00s -26d42m00s'
observe pole.txt pole.ms '00h00m00s -90d00m00s'
for sky in zero pole; do
  # shellcheck disable=SC2086
  run clean -q $sky.ms --size 241 230 --scale 1amin $deep -o $sky
  measure-sources $sky-image.fits --sky $sky.txt >$sky.table 2>/dev/null
  expect_near "$(worst_flux $sky.table 3)" 0 1 "% of error of fluxes of $sky"
  expect_near "$(worst_offset $sky.table 3)" 0 0.05 "offset in beams of $sky"
done

# Polarised sources, one in the middle, the others 30 pixels east or north of it, the last between pixels, one by one
# and joined. On pixels every flux holds to 0.1 % of Stokes I (measured: 0.01 %); between them every polarised one to
# 1 % of itself, over Stokes I (measured: 0.05 %).
cat >stokes.txt <<'END'
Format = Name, Type, Ra, Dec, I, Q, U, V
mid, POINT, 00:00:00, -26.42.00, 1, 0.3, -0.2, 0.1
east, POINT, 0.55968116deg, -26.69890272deg, 2, 0, 0.5, -0.4
north, POINT, 0deg, -26.19999365deg, 1.5, -0.6, 0.25, 0.2
off, POINT, 359.63deg, -27.02deg, 1, 0.4, 0.3, -0.3
END
pol=XX,XY,YX,YY
observe stokes.txt stokes.ms '00h00m00s -26d42m00s'
# planes FILE X Y: of the four planes of 128 x 120 pixels.
planes() {
  local cards plane
  cards=$(head -c 57600 "$1" | fold -w 80 | grep -an '^END ' | head -1 | cut -d: -f1)
  for plane in 0 1 2 3; do
    tail -c +$(((cards + 35) / 36 * 2880 + ((plane * 120 + $3) * 128 + $2) * 4 + 1)) "$1" | head -c 4 | od -An -t f4 --endian=big
  done | tr -s ' \n' ' '
}
for options in '--pol IQUV --join-polarizations' '--pol IQUV' '--pol IQUV --join-polarizations --channels-out 2 --join-channels'; do
  # shellcheck disable=SC2086
  run clean -q stokes.ms --size 128 120 --scale 1amin $deep $options -o stokes --overwrite
  image=stokes-image.fits
  [[ $options = *channels* ]] && image=stokes-MFS-image.fits
  for source in '64 60 1 0.3 -0.2 0.1' '34 60 2 0 0.5 -0.4' '64 90 1.5 -0.6 0.25 0.2' '84 41 1 0.4 0.3 -0.3'; do
    read -r x y i q u v <<<"$source"
    found=$(planes $image "$x" "$y")
    awk -v true="$i $q $u $v" -v found="$found" -v between="$([ "$x" = 84 ] && echo 1 || echo 0)" 'BEGIN {
      if (split(true, t, " ") != 4 || split(found, f, " ") != 4) exit 1
      scale = between ? t[1] / f[1] : 1
      for (p = 1; p <= 4; ++p) {
        e = f[p] * scale - t[p]; e = e < 0 ? -e : e; size = t[p] < 0 ? -t[p] : t[p]
        if (!(e <= (between ? 0.01 * size : 0.001 * t[1]))) exit 1
      }
    }' || fail "$options: found $found of $source"
  done
done
# A channel group without data is left out; the mean is one of those that are left. PSFs of the longest baselines alone
# have no lobe that these pixels resolve.
run simulate -q --array mwa-128t --sky zero.txt --freq 150MHz --bandwidth 100MHz --channels 4 --pol XX,YY \
  --phase-centre '00h00m00s -26d42m00s' --start 2024-10-24T13:45:00 --duration 4min --integration 2min -o wide.ms
wide='wide.ms --size 128 --weight natural --channels-out 4 --join-channels --niter 50'
# shellcheck disable=SC2086
{
  run clean $wide --scale 20asec --minuv-l 1200 -o parts
  expect_stderr 'no usable data: channel group 0 at 112.5 MHz is left out'
  expect_no_file parts-0000-image.fits
  expect_file parts-0001-image.fits parts-0003-image.fits parts-MFS-image.fits
  expect_exit 1 clean $wide --scale 1amin --minuv-l 1200 -o none
  expect_stderr "give the beam's size"
  run clean -q $wide --scale 1amin --minuv-l 1200 -o given --beam-size 4amin
  expect_exit 1 clean $wide --scale 20asec --minuv-l 1e6 -o none
  expect_stderr 'no usable data'
}
expect_no_file none-MFS-image.fits
for image in parts-MFS-image.fits given-MFS-image.fits; do
  tail -c 65536 $image | od -An -v -t f4 --endian=big -w4 | awk '/nan|inf/ { bad = 1 } END { exit bad || NR != 16384 }' ||
    fail "$image has pixels that are no numbers"
done
exit 0
