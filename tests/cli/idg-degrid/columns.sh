# SPDX-License-Identifier: GPL-3.0-or-later
# idg-degrid: what it does to the columns of sets, simulated and real, whole or in parts.
source "$APSYN_SOURCE/tests/cli/lib.sh" || exit 1
source "$APSYN_SOURCE/tests/cli/idg-degrid/lib.sh" || exit 1
make_model

# What is subtracted is gone; what is added comes on top.
cp -r obs.ms combined.ms
run idg-degrid -q --model field-model.fits combined.ms
once=$(power "$(last_column combined.ms)")
run idg-degrid -q --model field-model.fits --subtract --input-column MODEL_DATA combined.ms
[ ! -s "$(stderr_file)" ] || fail "a warning about a column that was not there"
expect_near "$(power "$(last_column combined.ms)")" 0 0 "what is left of the model without itself"
run idg-grid -q --size 64 --scale 20amin --column CORRECTED_DATA --no-psf -o gone combined.ms
expect_near "$(pixels gone-dirty.fits | od -An -v -t f4 --endian=big -w4 -N 16384 | awk '{ if ($1 != 0) n++ } END { print n + 0 }')" 0 0 "pixels that are not empty"
# A column that is there, and that nobody named, may hold something else.
run idg-degrid -q --model field-model.fits --add --input-column MODEL_DATA combined.ms
expect_stderr "idg-degrid: warning: combined.ms: column CORRECTED_DATA is there already and gets MODEL_DATA plus the model"
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
expect_different together "$(last_column parts.ms)" "the second part of the band kept its model"
# Rows and channels that are not selected keep what they hold.
cp -r obs.ms direct.ms
run idg-degrid -q --sky points.txt direct.ms
run idg-degrid -q --column PIECES --sky points.txt --interval 1 2 parts.ms
run idg-degrid -q --column PIECES --sky points.txt --interval 0 1 --channel-range 3 4 parts.ms
expect_different "$(last_column direct.ms)" "$(last_column parts.ms)" "more was written than was selected"
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
