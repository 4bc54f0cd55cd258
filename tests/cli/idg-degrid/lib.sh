# SPDX-License-Identifier: GPL-3.0-or-later
# What the tests of idg-degrid share: sourced after lib.sh. obs.ms: a simulated set; sky.txt: its sky.
cat >sky.txt <<'END'
Format = Name, Type, Ra, Dec, I, Q, U, V
east, POINT, 02:30:00, -26.42.00, 100, 30, -5, 2
west, POINT, 02:10:00, -24.00.00, 60, 10, 0, -5
END
run simulate -q --array mwa-32t --sky sky.txt --channels 4 --duration 4s --integration 2s \
  --phase-centre '02h28m00s -26d42m00s' -o obs.ms

# pixels FILE: the bytes after the header; card FILE KEY: the value of a header card.
card() { head -c 8640 "$1" | fold -w 80 | awk -v key="$2" '$1 == key || $1 == key "=" { sub(/^[^=]*= */, ""); sub(/ *\/.*/, ""); print; exit }'; }
pixels() {
  local cards
  cards=$(head -c 57600 "$1" | fold -w 80 | grep -an '^END ' | head -1 | cut -d: -f1)
  tail -c +$(((cards + 35) / 36 * 2880 + 1)) "$1"
}
# points FILE: the pixels of a model image in I Q U V as the points of a sky model.
points() {
  echo "Format = Name, Type, Ra, Dec, I, Q, U, V"
  pixels "$1" | od -An -v -t f4 --endian=big -w4 | awk -v n="$(card "$1" NAXIS1)" -v planes="$(card "$1" NAXIS4)" \
    -v ra0="$(card "$1" CRVAL1)" -v dec0="$(card "$1" CRVAL2)" -v cell="$(card "$1" CDELT2)" \
    -v x0="$(card "$1" CRPIX1)" -v y0="$(card "$1" CRPIX2)" '
    NR <= n * n * planes { flux[int((NR - 1) / (n * n)), (NR - 1) % (n * n)] = $1 }
    END {
      r = atan2(0, -1) / 180
      s = sin(dec0 * r); c = cos(dec0 * r)
      for (i = 0; i < n * n; ++i) {
        if (flux[0, i] == 0 && flux[1, i] == 0 && flux[2, i] == 0 && flux[3, i] == 0) continue
        l = (x0 - 1 - i % n) * cell * r; m = (int(i / n) - y0 + 1) * cell * r; t = sqrt(1 - l * l - m * m)
        dec = atan2(m * c + t * s, sqrt(l * l + (t * c - m * s) ^ 2)) / r
        printf "p%d, POINT, %.15gdeg, %.15gdeg, %.9g, %.9g, %.9g, %.9g\n", i, ra0 + atan2(l, t * c - m * s) / r, dec, \
          flux[0, i], flux[1, i], flux[2, i], flux[3, i]
      }
    }'
}
# A new column is stored by itself, as float32 in tiles, in the last of the set's files.
last_column() { ls -v "$1"/table.f*_TSM0 | tail -1; }
power() { od -An -v -t f4 -w4 "$1" | awk '{ sum += $1 * $1 } END { printf "%.9g", sum + 0 }'; }
# expect_agreement SET SKY TOLERANCE: the RMS of what is left of the column MODEL_DATA, last in the set, when the points of
# SKY are taken away from it, relative to the column's own.
expect_agreement() {
  local set=$1 sky=$2 tolerance=$3 total
  total=$(power "$(last_column "$set")")
  run idg-degrid -q --sky "$sky" --subtract --input-column MODEL_DATA --output-column LEFT_OVER "$set"
  expect_near "$(awk -v a="$(power "$(last_column "$set")")" -v b="$total" 'BEGIN { print sqrt(a / b) }')" 0 "$tolerance" \
    "relative RMS between image and points in $set"
}
# make_model: field-model.fits, cleaned from obs.ms, and its pixels in points.txt.
make_model() {
  run idg-grid -q --size 128 --scale 12amin --weight natural --pol IQUV -o field obs.ms
  run clean -q field-dirty.fits field-psf.fits --niter 300 -o field
  points field-model.fits >points.txt
  [ "$(wc -l <points.txt)" -gt 10 ] || fail "hardly any points in the model"
}
