# SPDX-License-Identifier: GPL-3.0-or-later
# idg-degrid killed, out of space, and used wrongly: sets stay whole.
source "$APSYN_SOURCE/tests/cli/lib.sh" || exit 1
source "$APSYN_SOURCE/tests/cli/idg-degrid/lib.sh" || exit 1
RANDOM=20240101
make_model
cp -r obs.ms direct.ms
run idg-degrid -q --sky points.txt direct.ms

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
expect_exit 1 idg-degrid --model field-model.fits same.ms nosuch.ms
expect_stderr "nosuch.ms"
expect_exit 3 idg-degrid --sky field-model.fits same.ms
head -c 20000 field-model.fits >cut.fits
expect_exit 3 idg-degrid --model cut.fits same.ms
mkdir empty.ms
expect_exit "1|3" idg-degrid --model field-model.fits empty.ms
diff -r obs.ms same.ms >&2 || fail "a run with wrong options changed the set"

# What is not finite in 32 bits is no prediction, and an image of ours whose bytes have changed is no model.
cp -r obs.ms finite.ms
printf 'Format = Name, Type, Ra, Dec, I\na, POINT, 02:30:00, -26.42.00, 1e39\n' >huge.txt
expect_exit 1 idg-degrid -q --sky huge.txt finite.ms
expect_stderr "finite.ms: row " ": a predicted visibility is not finite"
expect_exit 1 simulate -q --array mwa-32t --sky huge.txt --duration 2s --phase-centre '02h28m00s -26d42m00s' -o huge.ms
expect_stderr "not finite"
expect_no_file huge.ms
for change in 'DATASUM:3' 'pixel:3'; do
  cp field-model.fits changed.fits
  case $change in
    pixel*) printf '\x3f\x80' | dd of=changed.fits bs=1 seek=$(($(stat -c %s changed.fits) / 2880 * 2880 - 11520)) conv=notrunc status=none ;;
    DATASUM*) sed -i "s/\(DATASUM = '\)[0-9]\{3\}/\1987/" changed.fits ;;
  esac
  expect_different changed.fits field-model.fits "$change: nothing was changed"
  expect_exit 3 idg-degrid -q --model changed.fits finite.ms
  expect_stderr "changed.fits: DATASUM"
done
cat >gains.csv <<'END'
antenna,gain_amplitude,phase_rad
0,1e300,0
END
run simulate -q --array mwa-32t --noise 100Jy --duration 10ms -o noise.dada
expect_exit 3 correlate -q noise.dada --gains gains.csv -o noise.vis
expect_stderr "gains.csv: line 2: gain_amplitude 1e+300"
expect_no_file noise.vis
