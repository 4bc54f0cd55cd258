# SPDX-License-Identifier: GPL-3.0-or-later
# transform used wrongly: what is wrong is told, and nothing is written.
source "$APSYN_SOURCE/tests/cli/lib.sh" || exit 1

printf '%s\n' 'Format = Name, Type, Ra, Dec, I' 'a, POINT, 02:30:00, -26.42.00, 100' >sky.txt
sim="simulate -q --array mwa-32t --sky sky.txt --integration 2s --duration 4s"
run $sim --channels 4 -o obs.ms
run $sim --channels 8 -o wide.ms
run transform -q obs.ms -o obs.vis

expect_exit 2 transform obs.ms
expect_stderr "--output: missing"
expect_exit 2 transform obs.ms -o - --to ms
expect_stderr "cannot be written to a pipe"
expect_exit 2 transform obs.ms -o obs.ms --overwrite
expect_stderr "is the input"
expect_exit 2 transform obs.ms -o out.ms --bda 0.01
expect_stderr "--bda-radius: missing"
expect_exit 2 transform obs.ms -o out.ms --bda 1 --bda-radius 1deg
expect_exit 2 transform obs.ms -o out.ms --bda-radius 1deg
expect_exit 2 transform obs.ms -o out.vis --bda 0.01 --bda-radius 1deg
expect_stderr "write a Measurement Set"
expect_exit 2 transform obs.ms -o out.ms --antennas nobody
expect_stderr "--antennas nobody"
expect_exit 2 transform obs.ms -o out.ms --baselines 0:99
expect_exit 2 transform obs.ms -o out.ms --field 7
expect_exit 2 transform obs.ms -o out.ms --channel-range 3 9
expect_exit 2 transform obs.ms -o out.ms --time-range 2030-01-01T00:00:00 2030-01-02T00:00:00
expect_stderr "fits no row"
expect_exit 2 transform obs.ms -o out.ms --time-range noon midnight
expect_exit 2 transform obs.ms -o out.ms --min-uvw 5km --max-uvw 1km
expect_exit 2 transform obs.ms -o out.ms --average-channels 0
expect_exit 2 transform obs.ms -o out.ms --phase-centre somewhere
expect_exit 3 transform obs.ms -o out.ms --column NOTHERE
expect_stderr "NOTHERE"
expect_exit 2 transform obs.ms wide.ms -o out.ms
expect_stderr "channels"
expect_exit 2 transform obs.ms obs.vis -o out.ms
expect_stderr "streams are not joined"
expect_exit 2 transform obs.vis -o out.vis --field 0
expect_exit 2 transform obs.vis -o out.vis --column DATA
expect_exit 2 transform obs.vis -o out.vis --average-time 3s
expect_stderr "no multiple"
expect_exit 2 transform obs.vis -o out.vis --average-channels 3
expect_exit 2 transform obs.vis -o out.vis --min-uvw 10m
expect_exit 1 transform obs.vis -o out.vis --interval 90 99
expect_stderr "no usable data"
run transform -q obs.ms -o obs.uvh5
expect_exit 2 transform obs.uvh5 -o out.ms --column DATA
expect_stderr "only Measurement Sets have several columns"
expect_exit 2 transform obs.uvh5 -o out.ms --field nobody
expect_stderr "no field is called 'nobody'"
expect_exit 2 transform obs.uvh5 -o out.ms --spw 1
expect_exit 2 transform obs.uvh5 -o out.ms --channel-range 3 9
expect_exit 2 transform obs.uvh5 -o out.ms --interval 5 9
expect_exit 2 transform obs.uvh5 -o out.ms --antennas nobody
expect_exit 2 transform obs.uvh5 wide.ms -o out.ms
expect_stderr "channels"
expect_exit 2 transform obs.uvh5 obs.vis -o out.ms
expect_exit 2 transform obs.uvh5 -o out.vis --bda 0.01 --bda-radius 1deg
expect_exit 2 transform obs.uvh5 -o obs.uvh5 --overwrite
expect_stderr "is the input"
expect_exit 2 transform obs.vis -o out.uvh5
expect_exit 2 transform obs.ms -o - --to uvh5
expect_exit 2 transform obs.ms -o out.uvfits --bda 0.01
expect_exit 2 transform obs.vis -o out.uvfits
head -c 20000 obs.uvh5 >cut.uvh5
expect_exit 3 transform cut.uvh5 -o out.ms
head -c 20000 "$APSYN_SOURCE/tests/data/VLBA-M87-mojave.uvfits" >cut.uvfits
expect_exit 3 transform cut.uvfits -o out.ms
head -c 30000 obs.vis >cut.vis
expect_exit 3 transform cut.vis -o out.vis
expect_exit 1 transform obs.ms nosuch.ms -o out.ms
expect_stderr "nosuch.ms"
expect_no_file out.ms out.vis out.uvh5 out.uvfits
run transform --dry-run obs.ms -o out.ms
expect_stdout "memory:"
expect_no_file out.ms
