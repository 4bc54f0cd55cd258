# SPDX-License-Identifier: GPL-3.0-or-later
# idg-degrid: two independent ways to predict agree, also through A-terms and whatever the number of threads and passes.
source "$APSYN_SOURCE/tests/cli/lib.sh" || exit 1
source "$APSYN_SOURCE/tests/cli/idg-degrid/lib.sh" || exit 1
make_model

# A model image against its pixels as points, summed directly: to the accuracy that is asked for. Measured: 1.1e-6 and
# 2.9e-8 (float32 columns). WSClean -predict of the same model differs by 1.3e-6 and 3.3e-7 (its own accuracy 1e-6); on
# the LOFAR and TART sets by 1.4e-6 and 4.9e-7.
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

# A row whose uvw is no number gets 0, and the others are as they were, to 2e-6 of 100 Jy: of 992 rows of 24 bytes of
# UVW and of 4 channels and 4 products of the column.
cp -r obs.ms placed.ms && cp -r obs.ms unplaced.ms
for file in unplaced.ms/table.f*_TSM0; do uvw_file=$file; [ "$(stat -c %s "$file")" = $((4096 * 24)) ] && break; done
expect_near "$(stat -c %s "$uvw_file")" $((4096 * 24)) 0 "bytes of a tile of UVW"
printf '\0\0\0\0\0\0\xf8\x7f' | dd of="$uvw_file" bs=1 seek=$((700 * 24 + 8)) conv=notrunc status=none
for options in '--model field-model.fits' '--sky sky.txt'; do
  for name in placed unplaced; do
    # shellcheck disable=SC2086
    run idg-degrid -q $options --column MODEL_DATA $name.ms
  done
  paste <(od -An -v -t f4 -w4 "$(last_column placed.ms)") <(od -An -v -t f4 -w4 "$(last_column unplaced.ms)") | awk '
    NR > 992 * 32 { exit }
    int((NR - 1) / 32) == 700 { was += $1 != 0; wrong += $2 != 0; next }
    { d = $1 - $2; wrong += d > 2e-4 || d < -2e-4 }
    END { print was, wrong + 0 }' >rows.txt
  [ "$(cat rows.txt)" = "32 0" ] || fail "$options of a row without uvw: $(cat rows.txt)"
done

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
run idg-degrid --dry-run --model wide-model.fits --max-memory 120MB few.ms
expect_stdout "passes" "memory" "to be added"
run idg-degrid --dry-run --sky sky.txt --max-memory 90MB few.ms
expect_stdout "memory: "
diff -r wide.ms few.ms >&2 || fail "--dry-run changed the set"
run idg-degrid -v --model wide-model.fits --max-memory 120MB few.ms
expect_peak 120
expect_agreement few.ms wide.txt 2e-6
expect_exit 2 idg-degrid -q --model wide-model.fits --max-memory 10MB few.ms
expect_stderr "--max-memory"

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
