# SPDX-License-Identifier: GPL-3.0-or-later
# A stream that is followed: each interval replaces the gains, and one that fails leaves them. The last interval's gains, and those
# that stand when the stream stops after fewer, are those of its data alone; a stream without anything to solve has no file.
source "$APSYN_SOURCE/tests/cli/lib.sh" || exit 1

two_sources 3000 1000 >sky.txt
# gains SLOPE: phases of antennas; data divided by these are those of antennas with the opposite phase.
gains() {
  awk -v slope="$1" 'BEGIN {
    print "antenna,gain_amplitude,phase_rad"
    for (ant = 0; ant < 32; ++ant) printf "%d,1,%.12g\n", ant, -slope * ant }' </dev/null
}
run simulate -q --array mwa-32t --sky sky.txt --noise 2000Jy --bits 32 --duration 100ms -o sky.dada
centre='02h28m00s -26d42m00s'
for slope in 0.02 0.05; do
  gains $slope >$slope.csv
  run correlate -q sky.dada --channels 8 --integration 25ms --gains $slope.csv --phase-centre "$centre" -o $slope.vis
done
# One stream whose gains change halfway: the header and the first two records of one, and the last two of the other.
header=$(sed -n 's/^HDR_SIZE *//p' 0.02.vis | head -1)
record=$((($(stat -c %s 0.02.vis) - header) / 4))
half() { { head -c $((header + 2 * record)) 0.02.vis; tail -c $((2 * record)) $1; }; }

# expect_slope FILE SLOPE: phases against antenna 0 of a slope, within 0.03 rad.
expect_slope() {
  awk -F, -v slope="$2" '/^(Tile|[0-9])/ {
      if (!($1 in number)) number[$1] = n++
      d = $NF - slope * number[$1]; d = atan2(sin(d), cos(d)); if (d < 0) d = -d; if (d > worst) worst = d }
    END { printf "%d antennas, the worst off by %.4f rad", n, worst; exit !(n == 32 && worst < 0.03) }' "$1" >slope.txt ||
    fail "$1: $(cat slope.txt)"
}
solve="calibrate - --follow --interval 50ms --sky sky.txt --solve phase --reference-antenna 0"
half 0.05.vis >both.vis
run bash -c "$solve -o gains.csv --report r.json <both.vis"
expect_slope gains.csv 0.05
grep -q '"interval": 1' r.json && grep -q '"held": false' r.json || fail "the report is not of the last interval"

# The first interval's gains are there before the second has arrived.
mkfifo pipe
$solve -o early.csv <pipe 2>early.txt &
follower=$!
exec 7>pipe
head -c $((header + 2 * record)) both.vis >&7
for _ in $(seq 200); do [ -e early.csv ] && break; sleep 0.1; done
[ -e early.csv ] || fail "no gains before the second interval: $(cat early.txt)"
expect_slope early.csv 0.02
# The second has no data at all: the former gains are held.
head -c $((2 * record)) /dev/zero >&7
exec 7>&-
wait $follower || fail "the follower ended with $?: $(cat early.txt)"
expect_slope early.csv 0.02
grep -q 'former gains are held' early.txt || fail "no word of gains that are held: $(cat early.txt)"
{ head -c $((header + 2 * record)) both.vis; head -c $((2 * record)) /dev/zero; } >held.vis
run bash -c "$solve -o held.csv --report held.json <held.vis"
grep -q '"held": true' held.json && grep -Eq '"age_s": 0\.0(5|49|50)' held.json || fail "held gains have no age: $(cat held.json)"

# Nothing to solve, and what --follow cannot do.
{ head -c $header both.vis; head -c $((4 * record)) /dev/zero; } >none.vis
expect_status() { local want=$1; shift; "$@" >status.txt 2>&1; local is=$?; [ $is = $want ] || fail "$*: status $is: $(cat status.txt)"; }
expect_status 1 bash -c "$solve -o none.csv <none.vis"
[ ! -e none.csv ] || fail "gains without data"
two_sources 0 0 >dark.txt
expect_status 1 bash -c "${solve/sky.txt/dark.txt} -o none.csv <both.vis"
grep -q 'no flux' status.txt && ! grep -q 'interval 0' status.txt || fail "a model without flux is no matter of an interval: $(cat status.txt)"
expect_status 2 calibrate both.vis --follow --sky sky.txt -o x.csv

# An antenna that dies: its noise is as it was, but the sky is gone. It has no gain in the first interval without it, and has one again
# in the first in which it is back; the others keep theirs.
awk 'BEGIN { print "antenna,time_s,gain_amplitude,phase_rad"
  for (ant = 0; ant < 32; ++ant)
    if (ant == 5) printf "5,0,1,0.1\n5,0.1,1,0.1\n5,0.1001,0,0\n5,0.2,0,0\n5,0.2001,1,0.1\n"
    else printf "%d,0,1,%.3f\n", ant, 0.02 * ant }' </dev/null >dying.csv
run simulate -q --array mwa-32t --sky sky.txt --gains dying.csv --noise 2000Jy --bits 8 --bandwidth 320kHz --duration 300ms -o dying.dada
gain="${solve/--solve phase/--solve gain:channels=all}"
gain=${gain/--interval 50ms/--interval 100ms}
for interval in 1 2 3; do
  run correlate -q dying.dada --samples 0:$((interval * 32000)) --channels 8 --integration 25ms --phase-centre "$centre" --overwrite -o part.vis
  run bash -c "$gain -o part-$interval.csv <part.vis"
  name=$(sed -n 's/^\([^#,]*\),,*nan,nan$/\1/p' part-$interval.csv)
  if [ "$interval" = 2 ]; then
    [ "$name" = Tile06 ] || fail "interval $interval: '$name' has no gain, and Tile06 is dead: $(cat part-$interval.csv)"
    [ "$(grep -c ^Tile part-$interval.csv)" -eq 63 ] || fail "$(grep -c ^Tile part-$interval.csv) rows of gains"
  else
    [ -z "$name" ] || fail "interval $interval: $name has no gain"
  fi
done
