# SPDX-License-Identifier: GPL-3.0-or-later
# examples/archive: three recordings, one of them cut off and one with a name that scripts stumble over, through xargs,
# GNU parallel and Slurm: what is done is skipped, a device that fails once is tried again, the summary tells the rest.
source "$APSYN_SOURCE/tests/cli/lib.sh" || exit 1
examples=$APSYN_SOURCE/examples/archive
export PAUSE=0

mkdir -p archive/night
printf 'Format = Name, Type, Ra, Dec, I\na, POINT, 02:28:00, -26.42.00, 500\n' >sky.txt
seed=1
for name in archive/night/rec1 'archive/a "fine" night'; do
  run simulate --array mwa-32t --sky sky.txt --noise 5000Jy --bits 4 --channels 1 --bandwidth 160kHz --duration 50ms \
    --seed $((seed++)) -q -o "$name.dada"
done
head -c 20000 archive/night/rec1.dada >archive/night/cut.dada

# A correlate that fails as a lost GPU does, once for each recording whose name is in `lost`.
mkdir fake
cat >fake/correlate <<'FAKE'
#!/usr/bin/env bash
if grep -qsF "$(basename "$1")" "$LOST"; then
  sed -i "/$(basename "$1")/d" "$LOST"
  echo "correlate: error: CUDA: device lost" >&2
  exit 4
fi
exec "$APSYN_BIN/correlate" "$@"
FAKE
chmod +x fake/correlate
export PATH="$PWD/fake:$PATH" LOST="$PWD/lost"

# check OUT: two images, one explained failure.
check() {
  local out=$1 name
  for name in rec1 'a "fine" night'; do expect_file "$out/$name.png" "$out/$name-image.fits"; done
  expect_no_file "$out/cut.png" "$out/cut-image.fits" "$out/rec1-dirty.fits"
  expect_stdout "2 done" "1 failed" "cut.dada: status 3 (malformed input): correlate: error: "
}

echo rec1.dada >lost
expect_exit 1 "$examples/with-xargs" archive out 2
check out
expect_stdout "rec1: the device failed: again in 0 s" "rec1: done" "cut: failed"
[ ! -s lost ] || fail "the device did not fail"
# Again: nothing is done twice, and the one that failed is tried.
before=$(stat -c %Y.%i out/rec1.png)
rm 'out/a "fine" night.png'
expect_exit 1 "$examples/with-xargs" archive out 2
expect_stdout "rec1: done before" 'a "fine" night: done' "cut: failed" "2 done"
[ "$(stat -c %Y.%i out/rec1.png)" = "$before" ] || fail "rec1 was done again"
# A device that stays away: given up after TRIES.
printf 'rec1.dada\nrec1.dada\nrec1.dada\n' >all && cp all lost
sed -i 's/sed -i .*/:/' fake/correlate
expect_exit 4 env TRIES=2 "$examples/image-one" gone archive/night/rec1.dada
[ "$(cut -f 1,2 gone/rec1.status)" = "$(printf 'failed\t4')" ] || fail "rec1: $(cat gone/rec1.status)"
expect_exit 1 "$examples/summary" gone 2
expect_stdout "0 done" "1 failed; 1 never ended" "status 4 (device): correlate: error: CUDA: device lost"
: >lost

# Slurm, as far as the scripts see of it: sbatch copies the script, and every task has its number.
cat >fake/sbatch <<'FAKE'
#!/usr/bin/env bash
set -u
output=/dev/null wrapped=
while [ $# -gt 0 ]; do
  case $1 in
    --array=*) last=${1##*-} ;;
    --export=ALL,*) IFS=, read -r -a settings <<<"${1#--export=ALL,}" ;;
    --output=*) output=${1#*=} ;;
    --wrap) wrapped=$2 && shift ;;
    --partition) shift ;;
    -*) ;;
    *) break ;;
  esac
  shift
done
echo "17;cluster"
if [ -n "$wrapped" ]; then
  sh -c "$wrapped" >"$output"
  exit 0
fi
copy=$(mktemp) && cp "$1" "$copy" && shift
for task in $(seq 0 "$last"); do
  env "${settings[@]}" SLURM_ARRAY_TASK_ID="$task" SLURM_CPUS_PER_TASK=2 bash "$copy" "$@" >>"$SLURM_LOG" 2>&1
done
rm "$copy"
exit 0
FAKE
chmod +x fake/sbatch
export SLURM_LOG="$PWD/slurm.log"
run env MOST_JOBS=2 "$examples/with-slurm" archive slurm --partition cpu
expect_stdout "3 recordings as job 17, 2 each"
run cat slurm/summary
check slurm
rm slurm/cut.status
run "$examples/summary" slurm 2
expect_stdout "2 done" "0 failed"
grep -q 'rec1: done' slurm.log || fail "no task did rec1: $(cat slurm.log)"
expect_exit 1 "$examples/with-slurm" fake nothing
expect_stderr "holds nothing for image-one"

if command -v parallel >/dev/null; then
  expect_exit 1 "$examples/with-parallel" archive parallel --jobs 2
  check parallel
  expect_file parallel/joblog
fi
