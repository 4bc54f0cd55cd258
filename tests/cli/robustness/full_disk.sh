# SPDX-License-Identifier: GPL-3.0-or-later
# Every tool out of space: its outputs are complete or absent, and the exit status says which. A few cases of those that
# tests/robustness/full-disk.sh goes through; without the right to mount a disk, a limit on the size of files.
source "$APSYN_SOURCE/tests/cli/lib.sh" || exit 1
bash "$APSYN_SOURCE/tests/robustness/full-disk.sh" 3 >full.txt 2>&1
case $? in
  0) cat full.txt && exit ;;
  77) ;;
  *) fail "$(cat full.txt)" && exit ;;
esac
source "$APSYN_SOURCE/tests/robustness/jobs.sh" || exit 1
make_inputs
mapfile -t names < <(printf '%s\n' "${!job[@]}" | sort)
run_whole "${names[@]}"
for name in "${names[@]}"; do
  for limit_kib in 1 33; do
    begin try "$name"
    (cd try && expect_exit "0|1" bash -c "ulimit -f $limit_kib; exec ${job[$name]}")
    expect_whole_or_absent "$name"
    expect_no_part "$name"
  done
done
