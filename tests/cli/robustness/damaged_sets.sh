# SPDX-License-Identifier: GPL-3.0-or-later
# Measurement Sets with damaged table files: whatever casacore makes of them, a tool names the set and ends with status 3
# (or goes on, when the damage is in what it does not need), and takes no memory for it to speak of. Each of these seeds
# made casacore crash, end the process, or ask for up to 4 GB.
source "$APSYN_SOURCE/tests/cli/lib.sh" || exit 1
source "$APSYN_SOURCE/tests/robustness/damage.sh" || exit 1

grid="idg-grid -q --size 32 --scale 60asec --threads 1 --max-memory 200MB --overwrite"
limited=$grid # an address space of 1 GB, where that is enough for an undamaged set (it is not with sanitizers)
(ulimit -v 1000000 && exec idg-grid --version) >/dev/null 2>&1 && limited="ulimit -v 1000000 && exec $grid"
run bash -c "$limited -o whole small.ms"
for seed in 9 96 110 220 224 240 254 276 433 438 492 494 523 577 609 633 653 733 761 763 792 842; do
  damage $seed
  TIME_LIMIT=20 expect_exit "0|3" bash -c "$limited -o hurt bad.ms"
  grep -q 'bad\.ms' "$(stderr_file)" || [ -s hurt-dirty.fits ] || fail "seed $seed: neither an image nor a word about the set"
  rm -f hurt-*.fits
done

# A set that is only looked at stays as it is, and so does one that is refused.
printf 'Format = Name, Type, Ra, Dec, I\na, POINT, 01:37:41, 33.09.35, 1\n' >sky.txt
damage 220
cp -r bad.ms before.ms
expect_exit 3 idg-degrid -q --sky sky.txt bad.ms
diff -r --exclude table.lock before.ms bad.ms >&2 || fail "a damaged set was changed"
