# SPDX-License-Identifier: GPL-3.0-or-later
# idg-degrid: two independent ways to predict agree; what it does to the columns of sets; errors; interruptions.
source "$APSYN_SOURCE/tests/cli/lib.sh"
RANDOM=20240101

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
# expect_agreement SET MODEL TOLERANCE: the RMS of what is left of the column MODEL, last in the set, when the points
# of $1 are taken away from it.
expect_agreement() {
  local set=$1 sky=$2 tolerance=$3 total
  total=$(power "$(last_column "$set")")
  run idg-degrid -q --sky "$sky" --subtract --input-column MODEL_DATA --output-column LEFT_OVER "$set"
  expect_near "$(awk -v a="$(power "$(last_column "$set")")" -v b="$total" 'BEGIN { print sqrt(a / b) }')" 0 "$tolerance" \
    "relative RMS between image and points in $set"
}

# A model image against its pixels as points, summed directly: to the accuracy that is asked for. Measured: 1.1e-6 and
# 2.9e-8 (float32 columns). WSClean -predict of the same model differs by 1.3e-6 and 3.3e-7 (its own accuracy 1e-6); on
# the LOFAR and TART sets by 1.4e-6 and 4.9e-7.
run idg-grid -q --size 128 --scale 12amin --weight natural --pol IQUV -o field obs.ms
run clean -q field-dirty.fits field-psf.fits --niter 300 -o field
points field-model.fits >points.txt
[ "$(wc -l <points.txt)" -gt 10 ] || fail "hardly any points in the model"
cp -r obs.ms default.ms
run idg-degrid --model field-model.fits default.ms
expect_no_stdout
expect_agreement default.ms points.txt 2e-6
cp -r obs.ms exact.ms
run idg-degrid -m field-model.fits --accuracy 1e-7 exact.ms
expect_agreement exact.ms points.txt 1e-7
# An image elsewhere on the sky is moved to the phase centre.
run idg-grid -q --size 100 90 --scale 12amin --shift '02h05m00s -22d00m00s' --pol I --no-psf -o moved obs.ms
run idg-grid -q --size 100 90 --scale 12amin --shift '02h05m00s -22d00m00s' --pol I --psf-only -o moved obs.ms
run idg-grid -q --size 90 --scale 12amin --shift '02h05m00s -22d00m00s' -o square obs.ms
run clean -q square-dirty.fits square-psf.fits --niter 20 -o square
points square-model.fits >square.txt
cp -r obs.ms shifted.ms
run idg-degrid -q -m square-model.fits shifted.ms
expect_agreement shifted.ms square.txt 2e-6
run clean -q moved-dirty.fits moved-psf.fits --niter 20 -o moved
run idg-degrid -q -m moved-model.fits shifted.ms

# The same whatever the number of threads; and in several passes, with the predictions in memory or in a file, to
# rounding: data are added to in another order.
for threads in 1 3; do
  cp -r obs.ms t$threads.ms
  run idg-degrid -q --threads $threads -m field-model.fits t$threads.ms
  expect_same "$(last_column t$threads.ms)" t1.ms/"$(basename "$(last_column t1.ms)")"
done
run simulate -q --array mwa-128t --sky sky.txt --channels 2 --freq 180MHz --duration 1s --phase-centre '02h40m00s -35d00m00s' -o wide.ms
run idg-grid -q --size 400 --scale 15amin --weight natural -o wide wide.ms
run clean -q wide-dirty.fits wide-psf.fits --niter 20 --beam-size 20amin -o wide
points wide-model.fits >wide.txt
cp -r wide.ms few.ms
run idg-degrid --dry-run --model wide-model.fits --max-memory 60MB few.ms
expect_stdout "passes" "memory" "to be added"
diff -r wide.ms few.ms >&2 || fail "--dry-run changed the set"
run idg-degrid -q --model wide-model.fits --max-memory 60MB few.ms
expect_agreement few.ms wide.txt 2e-6
expect_exit 2 idg-degrid -q --model wide-model.fits --max-memory 10MB few.ms
expect_stderr "--max-memory"

# What is subtracted is gone; what is added comes on top.
cp -r obs.ms combined.ms
run idg-degrid -q --model field-model.fits combined.ms
once=$(power "$(last_column combined.ms)")
run idg-degrid -q --model field-model.fits --subtract --input-column MODEL_DATA combined.ms
expect_near "$(power "$(last_column combined.ms)")" 0 0 "what is left of the model without itself"
run idg-grid -q --size 64 --scale 20amin --column CORRECTED_DATA --no-psf -o gone combined.ms
expect_near "$(pixels gone-dirty.fits | od -An -v -t f4 --endian=big -w4 -N 16384 | awk '{ if ($1 != 0) n++ } END { print n + 0 }')" 0 0 "pixels that are not empty"
run idg-degrid -q --model field-model.fits --add --input-column MODEL_DATA combined.ms
expect_near "$(awk -v a="$(power "$(last_column combined.ms)")" -v b="$once" 'BEGIN { print a / b }')" 4 1e-6 "twice the model, squared"
# The sky that was simulated, less itself, is small: aberration differs over the field.
cp -r obs.ms residual.ms
run idg-degrid -q --sky sky.txt --subtract residual.ms
expect_near "$(awk -v a="$(power "$(last_column residual.ms)")" -v b="$once" 'BEGIN { print sqrt(a / b) }')" 0 5e-3 "residual of the simulated sky"

# Parts of the band: each channel takes its own model, the same as by hand.
run idg-grid -q --size 64 --scale 20amin --weight natural --channels-out 2 -o band obs.ms
for part in 0000 0001; do run clean -q band-$part-dirty.fits band-$part-psf.fits --niter 20 -o band-$part; done
cp -r obs.ms parts.ms
run idg-degrid -v --model band-*-model.fits parts.ms
expect_stderr "band-0000-model.fits" "2 channels"
cp "$(last_column parts.ms)" together
run idg-degrid -q --column BY_HAND --model band-0000-model.fits --channel-range 0 2 parts.ms
run idg-degrid -q --column BY_HAND --model band-0001-model.fits --channel-range 2 4 parts.ms
expect_same together "$(last_column parts.ms)"
# With the first part alone every channel takes it.
run idg-degrid -q --column BY_HAND --model band-0000-model.fits parts.ms
! cmp -s together "$(last_column parts.ms)" || fail "the second part of the band kept its model"
# Rows and channels that are not selected keep what they hold.
cp -r obs.ms direct.ms
run idg-degrid -q --sky points.txt direct.ms
run idg-degrid -q --column PIECES --sky points.txt --interval 1 2 parts.ms
run idg-degrid -q --column PIECES --sky points.txt --interval 0 1 --channel-range 3 4 parts.ms
! cmp -s "$(last_column direct.ms)" "$(last_column parts.ms)" || fail "more was written than was selected"
run idg-degrid -q --column PIECES --sky points.txt --interval 0 1 --channel-range 0 3 parts.ms
expect_same "$(last_column direct.ms)" "$(last_column parts.ms)"

# Real sets: other orders of columns, one product only, flags, infinities; also with a column that is there already.
for archive in LOFAR-3C48-8st.MS.tgz TART-ghana-60s.ms.tar.gz LWASV-4ant-infs.ms.tar.gz; do
  mkdir "real-$archive"
  tar xzf "$APSYN_SOURCE/tests/data/$archive" -C "real-$archive" 2>/dev/null
  set=$(ls -d "real-$archive"/*)
  printf 'Format = Name, Type, Ra, Dec, I\na, POINT, 1:37:41, 33.09.35, 3\n' >point.txt
  run idg-degrid -q --sky point.txt "$set"
  run idg-degrid -q --model point.txt --subtract --input-column MODEL_DATA "$set"
  run idg-degrid -q --sky point.txt --subtract "$set"
  run idg-grid -q --size 32 --scale 30amin --column CORRECTED_DATA --no-psf --overwrite -o real "$set"
done
if command -v wsclean >/dev/null; then
  run wsclean -quiet -size 32 32 -scale 30amin -data-column CORRECTED_DATA -name ws real-LOFAR*/*
fi

# Killed at any moment the set opens, the observation is whole, and another run completes it.
for _ in 1 2 3 4 5 6; do
  rm -rf killed.ms && cp -r obs.ms killed.ms
  idg-degrid -q --sky points.txt killed.ms 2>/dev/null &
  sleep "0.$(printf %03d $((RANDOM % 120)))"
  kill -KILL $! 2>/dev/null
  { wait $!; } 2>/dev/null
  run idg-grid -q --size 32 --scale 30amin --no-psf --overwrite -o killed killed.ms
  run idg-degrid -q --sky points.txt killed.ms
  expect_same "$(last_column killed.ms)" "$(last_column direct.ms)"
done

# A set without the folder HISTORY, which its main table names all the same.
cp -r obs.ms forgetful.ms && rm -r forgetful.ms/HISTORY
run idg-degrid -q --sky points.txt forgetful.ms
expect_stderr "HISTORY"
expect_same "$(last_column forgetful.ms)" "$(last_column direct.ms)"

# No space, here as a limit on the size of files: a failure, and the set is as before.
for limit_kib in 12 30 100; do
  rm -rf full.ms && cp -r obs.ms full.ms
  expect_exit 1 bash -c "ulimit -f $limit_kib; exec idg-degrid -q --sky points.txt full.ms"
  expect_stderr "full.ms"
  diff -r --exclude table.lock obs.ms full.ms >&2 || fail "a failed run changed the set"
done

# What is wrong is told, and nothing is written.
cp -r obs.ms same.ms
expect_exit 2 idg-degrid same.ms
expect_stderr "--model"
expect_exit 2 idg-degrid --device cpu --model field-model.fits --grid-memory unified same.ms
expect_stderr "--grid-memory unified: the layers are in the host's memory"
expect_exit 2 idg-degrid --sky sky.txt --grid-memory gpu same.ms
expect_exit 2 idg-degrid --model field-model.fits
expect_exit 2 idg-degrid --model field-model.fits --sky sky.txt same.ms
expect_exit 2 idg-degrid --model field-model.fits -o x same.ms
expect_stderr "--column"
expect_exit 2 idg-degrid --model field-model.fits --column DATA same.ms
expect_stderr "--overwrite"
expect_exit 2 idg-degrid --model field-model.fits --column FLAG same.ms
expect_exit 2 idg-degrid --model field-model.fits --subtract --add same.ms
expect_exit 2 idg-degrid --model field-model.fits --subtract --column X same.ms
expect_exit 2 idg-degrid --model field-model.fits --input-column X same.ms
expect_exit 2 idg-degrid --model field-model.fits --subtract --input-column X --output-column X same.ms
expect_exit 2 idg-degrid --sky sky.txt --accuracy 1e-5 same.ms
expect_exit 2 idg-degrid --model field-model.fits --accuracy 1e-30 same.ms
expect_exit 2 idg-degrid --model field-model.fits --field 7 same.ms
expect_exit 2 idg-degrid --model field-model.fits --channel-range 3 9 same.ms
expect_exit 3 idg-degrid --model field-model.fits --subtract --input-column NOTHERE same.ms
expect_stderr "NOTHERE"
expect_exit 3 idg-degrid --model field-dirty.fits same.ms
expect_stderr "JY/PIXEL"
expect_exit 1 idg-degrid --model nosuch.fits same.ms
expect_exit 1 idg-degrid --model field-model.fits nosuch.ms
expect_exit 3 idg-degrid --sky field-model.fits same.ms
head -c 20000 field-model.fits >cut.fits
expect_exit 3 idg-degrid --model cut.fits same.ms
mkdir empty.ms
expect_exit "1|3" idg-degrid --model field-model.fits empty.ms
diff -r obs.ms same.ms >&2 || fail "a run with wrong options changed the set"

# Through A-terms: what a distorted sky leaves when the model is seen through the same ionosphere, and when not. The
# source is 60 pixels east and 40 north of the middle; its model has all of its 10 Jy within 4 % and is subtracted.
printf 'Format = Name, Type, Ra, Dec, I\na, POINT, 02:41:31.578, -23.57.48.737, 10\n' >far.txt
run simulate --tec-rms 100mTECU --duration 4s --screen-interval 2s -o screens.fits
run simulate --array mwa-32t --sky far.txt --freq 150MHz --channels 2 --duration 4s --integration 2s \
  --phase-centre '02h24m00s -26d42m00s' --ionosphere screens.fits -o seen.ms
printf 'aterms = [ screen ]\nscreen.images = [ screens.fits ]\n' >aterms.conf
wide="--size 256 --scale 4amin --weight natural"
run idg-grid $wide --aterms aterms.conf --subgrid 64 -o far seen.ms
run clean --niter 1 --gain 1 far
run idg-degrid -m far-model.fits --aterms aterms.conf --subgrid 64 --subtract seen.ms
run idg-degrid -m far-model.fits --subtract --output-column UNDISTORTED seen.ms
# rms COLUMN: of the dirty image of what is left.
rms() {
  run idg-grid $wide --no-psf --overwrite --column "$1" -o left seen.ms
  cards=$(head -c 57600 left-dirty.fits | fold -w 80 | grep -an '^END ' | head -1 | cut -d: -f1)
  tail -c +$(((cards + 35) / 36 * 2880 + 1)) left-dirty.fits | od -An -v -t f4 --endian=big -w4 -N 262144 |
    awk '{ sum += $1 * $1 } END { print sqrt(sum / NR) }'
}
corrected=$(rms CORRECTED_DATA) undistorted=$(rms UNDISTORTED) all=$(rms DATA)
echo "rms: data $all, less the model seen through the ionosphere $corrected, less the model $undistorted" >&2
awk -v a="$corrected" -v b="$undistorted" -v c="$all" 'BEGIN { exit !(a < c / 50 && b > 5 * a) }' ||
  fail "the rms of the data, $all, becomes $corrected with A-terms and $undistorted without"
expect_exit 3 idg-degrid -m far-model.fits --aterms far.txt seen.ms
expect_exit 2 idg-degrid --sky far.txt --aterms aterms.conf seen.ms
