# SPDX-License-Identifier: GPL-3.0-or-later
# A small job for every tool that writes files: sourced after lib.sh, it makes the inputs in the scratch folder (make_inputs), and
# runs the jobs that are named once, undisturbed, in folders whole-JOB (run_whole): what the others must give. A job runs in a folder of its own beside the
# inputs, and its outputs are named out*. ${job[NAME]}: the command; ${took_ms[NAME]}: how long it took.
declare -A job took_ms

make_inputs() {
  cat >sky.txt <<'END'
Format = Name, Type, Ra, Dec, I
one, POINT, 02:28:00, -26.42.00, 2000
two, POINT, 02:10:00, -24.00.00, 1000
END
  cat >array.csv <<'END'
# four antennas; site -26.7 116.67 377
name,east_m,north_m,up_m
a,0,0,0
b,120,10,0
c,-30,80,1
d,15,-20,2
END
  printf 'antenna,gain_amplitude,phase_rad\na,1,0.1\nb,1.1,0\nc,0.9,-0.2\nd,1,0\n' >gains.csv
  printf 'id,ra,dec,antennas\none,02:30:00,-26d42m00s,a;b;c\n' >beams.csv
  printf 'id,az,el\nup,0deg,80deg\n' >fixed.csv
  local sim="simulate -q --array array.csv --sky sky.txt --noise 20000Jy"
  run $sim --duration 100ms -o in.dada
  run correlate -q --channels 16 --integration 5ms in.dada -o in.vis
  run idg-grid -q in.vis --size 128 --scale 12amin -o in
  run clean -q in-dirty.fits in-psf.fits --niter 100 -o in
  run $sim --duration 10s --channels 4 -o in.ms
  run beamform -q --channels 16 --centre zenith --integrate 8 in.dada -o in.fil
  tail -c 200000 in.dada >in.raw

  local cor="correlate -q --channels 16 --integration 5ms ../in.dada"
  local raw="--bits 8 --antenna-count 4 --channels 1 --pols 2 --bandwidth 1.28MHz --sample-rate 1.28MHz --freq 150MHz"
  job=(
    [simulate]="$sim --duration 200ms -o out.dada"
    [simulate-ms]="$sim --duration 30s --channels 16 -o out.ms"
    [simulate-screens]="simulate -q --tec-rms 100mTECU --duration 2s --screen-interval 2s -o out.fits"
    [correlate]="$cor -o out.vis"
    [correlate-ms]="$cor -o out.ms"
    [beamform]="beamform -q --channels 16 --centre zenith ../in.dada -o out.fil"
    [beamform-8]="beamform -q --channels 16 --centre zenith --product voltage ../in.dada -o out.dada"
    [beamform-pattern]="beamform -q --beams ../fixed.csv --pattern out.fits ../in.dada"
    [epic-image]="epic-image -q --channels 4 --size 32 --accumulate 5ms ../in.dada -o out.fits"
    [epic-frames]="epic-image -q --channels 4 --size 32 --accumulate 20ms ../in.dada -o out-%d.fits"
    [ingest]="ingest -q --from raw $raw --start 2024-01-01T12:00:00 --antennas array.csv ../in.raw -o out.dada"
    [ingest-uvfits]="ingest -q --from uvfits $APSYN_SOURCE/tests/data/VLBA-M87-mojave.uvfits -o out.ms"
    [flag]="flag -q ../in.vis --edges 1 --non-finite --report out.json -o out.vis"
    [transform]="transform -q ../in.vis --average-time 10ms --average-channels 2 -o out.vis"
    [transform-uvh5]="transform -q ../in.ms -o out.uvh5"
    [transform-uvfits]="transform -q ../in.ms -o out.uvfits"
    [transform-ms]="transform -q ../in.ms --average-time 4s --phase-centre 02h30m00s,-26d42m00s -o out.ms"
    [idg-grid]="idg-grid -q ../in.vis --size 128 --scale 12amin -o out"
    [idg-degrid]="idg-degrid -q --model ../in-model.fits out.ms"
    [clean]="clean -q ../in-dirty.fits ../in-psf.fits --niter 5000 -o out"
    [clean-ms]="clean -q ../in.ms --size 128 --scale 12amin --niter 500 --save-source-list -o out"
    [calibrate-apply]="calibrate -q --apply ../gains.csv out.ms"
    [calibrate]="calibrate -q ../in.ms --sky sky.txt --min-baselines 3 -o out.h5 --export out.csv --report out.json"
    [search-transients]="search-transients -q ../in.fil --dm-range 0:20 --threshold 5 -o out.csv --plot out.png"
    [fold-pulsar]="fold-pulsar -q ../in.fil --period 20ms --dm 10 --bins 16 -o out.csv --plot out.png"
    [quicklook]="quicklook -q ../in-image.fits -o out.png"
    [measure-sources]="measure-sources -q ../in-image.fits --sky sky.txt -o out.txt"
  )
}

# in_place NAME: the job changes a set, which is made beforehand.
in_place() { [ "$1" = idg-degrid ] || [ "$1" = calibrate-apply ]; }

# begin FOLDER NAME: a folder for the job, with what it reads or changes.
begin() {
  mkdir -p "$1" && find "$1" -mindepth 1 -delete && ln -s ../sky.txt ../array.csv "$1/"
  ! in_place "$2" || cp -r in.ms "$1/out.ms"
}

# run_whole NAME...: runs these jobs, undisturbed.
run_whole() {
  local name start
  for name in "$@"; do
    begin "whole-$name" "$name"
    start=$(date +%s%N)
    (cd "whole-$name" && run ${job[$name]})
    took_ms[$name]=$((($(date +%s%N) - start) / 1000000 + 1))
    ! in_place "$name" || (cd "whole-$name" && run quicklook out.ms --stats && cp "$(stdout_file)" ../data.json)
  done
}

# expect_whole_or_absent NAME [FOLDER]: no output there that is not what it should be. A set that is changed in place must
# at least be readable, and has what it had.
expect_whole_or_absent() {
  local path folder=${2:-try}
  for path in "$folder"/out*; do
    case "$path" in *.part | "$folder/out*") continue ;; esac
    if in_place "$1"; then
      (cd "$folder" && run quicklook out.ms --stats && cmp "$(stdout_file)" ../data.json >&2) || fail "$1 changed the data"
    else
      diff -rq --exclude table.lock "$path" "whole-$1/${path#"$folder"/}" >&2 || fail "$1 left an incomplete $path"
    fi
  done
}
expect_no_part() {
  local folder=${2:-try}
  ! compgen -G "$folder/*.part*" >/dev/null || fail "$1 left $(echo "$folder"/*.part*)"
}

# stop_at_random SIGNAL NAME: starts the job in "try" and sends the signal somewhere in its course; sets $status.
stop_at_random() {
  local delay_ms=$(((RANDOM * 32768 + RANDOM) % took_ms[$2]))
  (cd try && exec env --default-signal=INT,QUIT ${job[$2]} >/dev/null 2>&1) &
  sleep "$(printf '%d.%03d' $((delay_ms / 1000)) $((delay_ms % 1000)))"
  kill -s "$1" $! 2>/dev/null
  { wait $!; } 2>/dev/null
  status=$?
}

# last_column FOLDER: the file of the newest column of its set.
last_column() { ls -v "$1"/out.ms/table.f*_TSM0 | tail -1; }

# kill_at_random NAME TIMES: killed somewhere, outputs are whole or absent, and what is left behind is in nobody's way.
kill_at_random() {
  local i
  for ((i = 0; i < $2; ++i)); do
    begin try "$1"
    stop_at_random KILL "$1"
    expect_whole_or_absent "$1"
    local again=--overwrite
    ! in_place "$1" || again=
    (cd try && run ${job[$1]} $again)
    expect_whole_or_absent "$1"
    expect_no_part "$1"
    ! in_place "$1" || expect_same "$(last_column try)" "$(last_column "whole-$1")"
  done
}
