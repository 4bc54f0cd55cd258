# SPDX-License-Identifier: GPL-3.0-or-later
# Every tool in surroundings that cron, batch systems and shells can give it, each tool in some of them
# (tests/robustness/surroundings.sh: all in all).
source "$APSYN_SOURCE/tests/cli/lib.sh" || exit 1
source "$APSYN_SOURCE/tests/robustness/jobs.sh" || exit 1
source "$APSYN_SOURCE/tests/robustness/surroundings.sh" || exit 1
RANDOM=20240102
make_inputs
mapfile -t names < <(printf '%s\n' "${!job[@]}" | sort)
run_whole "${names[@]}"

turn=0
for name in "${names[@]}"; do
  for ((i = 0; i < 3; ++i)); do try_surroundings "${surroundings[turn++ % ${#surroundings[@]}]}" "$name"; done
  try_signal "${end_signals[turn % ${#end_signals[@]}]}" "$name"
done
# What opens files of a set and talks: a message must not end up in the set.
for name in closed-2 closed-12 closed-012; do try_surroundings "$name" idg-degrid; done
for name in no-home empty-home no-threads files-12; do try_surroundings "$name" clean-ms; done

# Messages go nowhere rather than into the set, and what a recorder wrote is not changed by a closed terminal.
cp -r in.ms said.ms
run quicklook in.ms --stats
cp "$(stdout_file)" stats.json
bash -c 'exec 2>&-; exec idg-degrid -v --sky sky.txt said.ms' || fail "idg-degrid without standard error: status $?"
run quicklook said.ms --stats
expect_same "$(stdout_file)" stats.json
run idg-grid -q said.ms --column MODEL_DATA --size 64 --scale 12amin -o said
raw="ingest -v --from raw --bits 8 --antenna-count 4 --channels 1 --pols 2 --bandwidth 1.28MHz --sample-rate 1.28MHz --freq 150MHz
  --start 2024-01-01T12:00:00 --antennas array.csv in.raw --overwrite -o said.dada"
run $raw
cp said.dada whole.dada
bash -c "exec >&- 2>&-; exec $(echo $raw)" || fail "ingest without standard output and error: status $?"
expect_same said.dada whole.dada

# A standard output or input that was closed is an error where data should pass it, whatever file is opened first.
for command in 'simulate -q --array array.csv --sky sky.txt --duration 10ms -o -' 'correlate -q --channels 16 in.dada -o -' \
  'idg-grid -q in.vis --size 128 --scale 12amin --no-psf -o -' 'search-transients in.fil --dm-range 0:20 -o -' \
  'quicklook -q in-image.fits -o -' 'quicklook in-image.fits --stats' 'idg-grid in.vis --size 64 --scale 12amin --dry-run'; do
  bash -c "exec >&-; exec $command" 2>said.txt
  [ $? = 1 ] && grep -q 'standard output: cannot write' said.txt || fail "closed standard output of $command: $(cat said.txt)"
done
for command in 'correlate - --channels 16 -o none.vis' 'idg-grid - --size 128 --scale 12amin -o none' 'quicklook - -o none.png'; do
  bash -c "exec <&-; exec $command" 2>said.txt
  case $? in 1 | 2) grep -q 'standard input' said.txt ;; *) false ;; esac || fail "closed standard input of $command: $(cat said.txt)"
done
expect_no_file none.vis none-dirty.fits none.png

# What is flushed last is written, or the loss is told.
for command in 'search-transients in.fil --dm-range 0:20 --threshold 1000 -o -' 'quicklook in-image.fits --stats' \
  'fold-pulsar in.fil --period 20ms --dm 10 --bins 16 -o -' 'measure-sources in-image.fits --sky sky.txt' \
  'idg-grid --help' 'idg-grid --version' 'beamform --dry-run --channels 16 --centre zenith in.dada'; do
  bash -c "$command" >/dev/full 2>said.txt
  [ $? = 1 ] && grep -q 'standard output: cannot write' said.txt || fail "full: $command: $(cat said.txt)"
done
# A reader that has gone away ends a program as the shell expects.
mkfifo gone
mapfile -t commands < <(all_tools | sed 's/$/ --help/')
for command in "${commands[@]}" 'idg-grid --version' 'quicklook in-image.fits --stats'; do
  exec 4<>gone 5>gone 4<&- # nobody reads any more what is written to 5
  bash -c "$command" >&5 2>said.txt
  [ $? = 141 ] || fail "gone reader: $command: $(cat said.txt)"
  exec 5>&-
done

# A file that is replaced stays as private as it was.
for mode in 600 640 664; do
  : >private.png && chmod "$mode" private.png
  run quicklook -q in-image.fits --overwrite -o private.png
  [ "$(stat -c %a private.png)" = "$mode" ] || fail "--overwrite made mode $mode $(stat -c %a private.png)"
done
run simulate -q --array array.csv --sky sky.txt --duration 10s -o private.ms
chmod 700 private.ms
run simulate -q --array array.csv --sky sky.txt --duration 10s --overwrite -o private.ms
[ "$(stat -c %a private.ms)" = 700 ] || fail "--overwrite made mode 700 $(stat -c %a private.ms)"

# The rights of a group are not another group's, where the file cannot stay with its own.
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
  chmod 755 . && mkdir theirs && chown 65534 theirs
  for mode in 660:600 664:644 666:666; do
    : >theirs/image.png && chmod "${mode%:*}" theirs/image.png && chown 65534:0 theirs/image.png
    (as_nobody quicklook -q in-image.fits --overwrite -o theirs/image.png) || fail "nobody cannot replace its file"
    [ "$(stat -c %a:%g theirs/image.png)" = "${mode#*:}:65534" ] ||
      fail "of mode ${mode%:*}, another group has $(stat -c %a:%g theirs/image.png)"
  done
fi
