# SPDX-License-Identifier: GPL-3.0-or-later
# What every tool has in common: help, version, messages, exit statuses, and manners towards terminals, pipes and files.
source "$APSYN_SOURCE/tests/cli/lib.sh" || exit 1
TIME_LIMIT=60

# on_terminal COMMAND: runs it with a terminal for stdin, stdout and stderr, and shows what the terminal saw.
on_terminal() { timeout "$TIME_LIMIT" script -qefc "$1" /dev/null 2>&1; }

while read -r tool; do
  for help in --help -h; do
    run "$tool" $help
    expect_stdout "$tool" --output --overwrite --quiet --verbose --progress --device --threads --max-memory --dry-run --version
    [ -s "$(stderr_file)" ] && fail "$tool $help writes on stderr"
  done
  run "$tool" --version
  grep -qE "^$tool [0-9]+\.[0-9]+\.[0-9]+ .*([0-9a-f]{7,}(-dirty)?|unknown).*CUDA architectures: [^ ]" "$(stdout_file)" ||
    fail "$tool --version says: $(cat "$(stdout_file)")"
  [ -s "$(stderr_file)" ] && fail "$tool --version writes on stderr"

  expect_exit 2 "$tool" --no-such-option
  expect_stderr "$tool: error: --no-such-option: there is no such option: see $tool --help"
  expect_no_stdout
  # an option that is nearly right, and one whose value would be an INPUT too many
  expect_exit 2 "$tool" --overwirte
  expect_stderr "$tool: error: --overwirte: there is no such option: --overwrite?"
  expect_exit 2 "$tool" --max-mem=3GB
  expect_stderr "--max-mem: there is no such option: --max-memory?"
  expect_exit 2 "$tool" --thread 3 input
  expect_stderr "--thread: there is no such option: --threads?"
  expect_exit 2 "$tool" --progress sometimes
  expect_stderr "$tool: error: "
  expect_exit 2 "$tool" --max-memory lots
  expect_stderr "$tool: error: " lots
  expect_exit 2 "$tool" --threads 0
  expect_stderr "$tool: error: "

  # Nothing to read on a terminal is a usage error, not a wait for the keyboard.
  seen=$(on_terminal "$tool -o terminal.out")
  status=$?
  [ $status -eq 2 ] || fail "$tool without arguments on a terminal: exit status $status instead of 2"
  grep -q "$tool: error: " <<<"$seen" || fail "$tool without arguments on a terminal says: $seen"
  expect_no_file terminal.out

  # A full device is a failure, not a success.
  expect_exit 1 bash -c "$tool --help >/dev/full"
  expect_stderr "$tool: error: "
  expect_exit 1 bash -c "$tool --version >/dev/full"
done < <(all_tools)

# What is no number is in no range.
for command in "search-transients --threshold" "search-transients --rfi-sigma" "beamform --overlap" "epic-image --padding" \
  "clean --gain" "simulate --drop" "ingest --scale"; do
  expect_exit 2 $command nan
  expect_stderr "${command#* } nan: is no number"
done

# Bad INPUT for the tools that read one: absent, a folder, empty, garbage. No output is left behind.
mkdir folder && : >empty && head -c 100000 /dev/urandom >garbage
while read -r tool; do
  [ "$tool" = simulate ] && continue
  extra=()
  [ "$tool" = idg-grid ] && extra=(--size 64 --scale 1amin)
  [ "$tool" = ingest ] && extra=(--from mwa32t --freq 1MHz --start 2024-01-01T00:00:00)
  [ "$tool" = clean ] && extra=(--niter 1)
  [ "$tool" = flag ] && extra=(--autos)
  [ "$tool" = measure-sources ] && echo 'Format = Name, Type, Ra, Dec, I' >sky.txt && extra=(--sky sky.txt)
  before=$(ls)
  expect_exit 1 "$tool" "${extra[@]}" absent -o out
  expect_stderr "$tool: error: " absent
  expect_exit '1|3' "$tool" "${extra[@]}" folder -o out
  expect_stderr "$tool: error: " folder
  expect_exit '1|3' "$tool" "${extra[@]}" empty -o out
  expect_stderr "$tool: error: " empty
  expect_exit '1|3' "$tool" "${extra[@]}" garbage -o out
  expect_stderr "$tool: error: " garbage
  expect_exit '1|2|3' "$tool" "${extra[@]}" -o out
  expect_stderr "$tool: error: "
  [ "$(ls)" = "$before" ] || fail "$tool leaves something behind: $(ls | xargs)"
done < <(all_tools)

# Pipes, terminals and existing outputs, with a small stream.
cat >sky.txt <<'SKY'
Format = Name, Type, Ra, Dec, I
a, POINT, 00:00:00, -26.42.12, 10
SKY
cat >sim.sh <<'SIM'
exec simulate --array mwa-32t --sky sky.txt --freq 150MHz --bandwidth 80kHz --channels 2 --duration "${DURATION:-10ms}" --bits 8 --noise 1000Jy --seed 1 "$@"
SIM
chmod +x sim.sh
run bash ./sim.sh -o v.dada
expect_file v.dada
expect_no_stdout
cp v.dada original.dada
tr -d '\0' <v.dada | grep -a '^HISTORY_' | grep -aq -- '%208%20--output%20v.dada$' || fail "no name of the output in HISTORY"
expect_exit 2 bash ./sim.sh -o v.dada
expect_stderr "simulate: error: " v.dada --overwrite
expect_same v.dada original.dada
run bash ./sim.sh --overwrite -o v.dada
expect_same v.dada original.dada
expect_exit 1 bash ./sim.sh -o no/such/folder/v.dada
expect_stderr "simulate: error: " no/such/folder
expect_exit 1 bash -c './sim.sh -o - >/dev/full'
expect_stderr "simulate: error: "
expect_exit 141 bash -c 'set -o pipefail; DURATION=2s ./sim.sh -o - | head -c 10 >/dev/null'
run bash ./sim.sh -q --overwrite -o v.dada
grep -q ' info: ' "$(stderr_file)" && fail "simulate -q chats: $(cat "$(stderr_file)")"
expect_same v.dada original.dada
run bash ./sim.sh -v --overwrite -o v.dada
expect_stderr "simulate: info: "
expect_same v.dada original.dada
run bash ./sim.sh --dry-run -o dry.dada
expect_no_file dry.dada
[ -s "$(stdout_file)" ] || fail "simulate --dry-run says nothing"
seen=$(on_terminal './sim.sh -o -')
status=$?
[ $status -eq 2 ] || fail "simulate -o - on a terminal: exit status $status instead of 2"
grep -aq HDR_SIZE v.dada || fail "what is not to be seen on a terminal is not in v.dada either"
grep -aq HDR_SIZE <<<"$seen" && fail "simulate -o - writes binary data to a terminal"
expect_exit 2 env APSYN_DEVICE=abacus bash ./sim.sh -o device.dada
expect_stderr "simulate: error: " abacus
if ! command -v nvidia-smi >/dev/null; then
  expect_exit 4 bash ./sim.sh --device cuda -o device.dada
  expect_stderr "simulate: error: "
  expect_exit 4 env APSYN_DEVICE=cuda bash ./sim.sh -o device.dada
  run env APSYN_DEVICE=cuda bash ./sim.sh --device cpu --overwrite -o v.dada
  expect_same v.dada original.dada
fi
expect_no_file device.dada

run correlate v.dada --integration 5ms --phase-centre none -o v.ms
expect_file v.ms
expect_exit 2 correlate v.dada --integration 5ms --phase-centre none -o v.ms
expect_stderr "correlate: error: " v.ms --overwrite
run correlate v.dada --integration 5ms --phase-centre none --overwrite -o v.ms
run correlate v.dada --integration 5ms --phase-centre none -o v.vis
run bash -c 'set -o pipefail; ./sim.sh -o - | correlate --integration 5ms --phase-centre none -o - >piped.vis'
run bash -c 'set -o pipefail; cat v.dada | correlate - --integration 5ms --phase-centre none -o - >cat.vis'
seen=$(on_terminal 'correlate v.dada --integration 5ms --phase-centre none -o -')
status=$?
[ $status -eq 2 ] || fail "correlate -o - on a terminal: exit status $status instead of 2"
! grep -aq HDR_SIZE <<<"$seen" || fail "correlate -o - writes binary data to a terminal"

# An output is never the input, by whatever name; nor is it written by two at once.
run correlate v.dada --integration 5ms --phase-centre none -o kept.vis
cp v.dada v.copy && ln -s v.dada link.dada
for command in "correlate v.dada -o ./v.dada" "beamform link.dada --centre zenith -o v.dada" "quicklook v.dada -o link.dada"; do
  expect_exit 2 $command --overwrite
  expect_stderr "v.dada" "is the input"
  expect_same v.dada v.copy
done
# Nor is it a file that an option names: those of type FILE in --help. Of type PATH are outputs alone.
printf 'id,l,m\na,0,0\n' >beams.csv && printf 'antenna,gain_amplitude,phase_rad\n0,1,0\n' >gains.csv
make_fits a-dirty.fits 16 'x == 0 && y == 0' && cp a-dirty.fits a-psf.fits
cp a-dirty.fits a-image-pb.fits && cp a-dirty.fits a-model.fits && cp a-dirty.fits a.fits
while read -r file command; do
  cp $file kept
  expect_exit 2 $command --overwrite
  expect_stderr "$file: is the input"
  expect_same $file kept
  cp kept $file
done <<'COMMANDS'
gains.csv correlate v.dada --gains gains.csv -o gains.csv
gains.csv correlate v.dada --bandpass gains.csv -o gains.csv
gains.csv correlate v.dada --antennas gains.csv -o gains.csv
gains.csv correlate v.dada --metafits gains.csv -o gains.csv
gains.csv beamform v.dada --centre zenith --weights gains.csv -o gains.csv
beams.csv beamform v.dada --beams beams.csv -o beams.csv
beams.csv beamform v.dada --beams beams.csv --write-beams beams.csv
gains.csv ingest --from raw garbage --antennas gains.csv -o gains.csv
gains.csv ingest --from raw garbage --metafits gains.csv -o gains.csv
gains.csv simulate --array gains.csv -o gains.csv
gains.csv simulate --array mwa-32t --ionosphere gains.csv -o gains.csv
sky.txt measure-sources a.fits --sky sky.txt -o sky.txt
sky.txt calibrate v.ms --sky sky.txt -o sky.txt
sky.txt calibrate v.ms --sky sky.txt -o x.h5 --report sky.txt
a-model.fits calibrate v.ms --model a-model.fits --export a-model.fits
sky.txt quicklook a.fits --mark sky.txt -o sky.txt
sky.txt quicklook a.fits --light-curve sky.txt -o sky.txt
a-model.fits clean a --niter 1 --mask a-model.fits
a-image-pb.fits clean a --niter 1 --primary-beam a-image-pb.fits
COMMANDS
while read -r tool; do
  "$tool" --help | grep -oE '^  -[^ ]+ [^ ]*(PATH|SKY|CSV)[^ ]*'
done < <(all_tools) | sort -u | xargs >others
[ "$(cat others)" = "--export PATH --pattern PATH --plot PATH --plot PATH|- --report PATH --report PATH|- --save PATH --write-beams PATH|- -o,--output PATH|-" ] ||
  fail "options of type PATH and the like: $(cat others)"
# The first waits, however long the second takes to come.
DURATION=30s bash ./sim.sh -q -o twice.dada &
writer=$!
for ((i = 0; i < 600; ++i)); do
  [ -s twice.dada.part ] && break
  sleep 0.05
done
kill -STOP $writer
expect_exit 2 bash ./sim.sh -q -o twice.dada
expect_stderr "twice.dada.part: another run is writing it"
kill -KILL $writer && wait $writer 2>/dev/null
rm -f twice.dada.part
