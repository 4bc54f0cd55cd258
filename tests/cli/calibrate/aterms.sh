# SPDX-License-Identifier: GPL-3.0-or-later
# calibrate with a model that stations see through their beams: the gains that are left, the same model from a column, and
# what does not go together.
source "$APSYN_SOURCE/tests/cli/lib.sh" || exit 1

two_sources 100 50 >sky.txt
printf 'aterms = [ beam ]\nbeam.model = mwa\nbeam.delays = [ 0 2 4 6 0 2 4 6 0 2 4 6 0 2 4 6 ]\nbeam.update_interval = 4\n' >beam.conf
run simulate -q --array mwa-32t --sky sky.txt --channels 4 --duration 16s --integration 2s --aterms beam.conf --phase-centre '02h28m00s -26d42m00s' -o obs.ms

# farthest FILE: how far its gains are from 1.
farthest() { awk -F, '/^Tile/ { d = sqrt(($(NF - 1) * cos($NF) - 1) ^ 2 + ($(NF - 1) * sin($NF)) ^ 2); if (d > far) far = d; ++n } END { print n == 64 ? far : "not 64 gains" }' "$1"; }

# Through the beam nothing is left to find but what aberration bends between two sources, 3e-4 (8e-4 without any beam); without
# it the beam itself is.
run calibrate -v obs.ms --sky sky.txt --aterms beam.conf --solve gain:channels=all -o through.h5 --export through.csv
expect_stderr "2 components through the A-terms of each station"
awk -v far="$(farthest through.csv)" 'BEGIN { exit !(far < 1e-3) }' || fail "through the beam gains are off by $(farthest through.csv)"
run calibrate -q obs.ms --sky sky.txt --solve gain:channels=all -o without.h5 --export without.csv
awk -v far="$(farthest without.csv)" 'BEGIN { exit !(far > 0.05) }' || fail "without the beam gains are off by $(farthest without.csv) only"
# The beam by name: sets of "simulate" do not tell where tiles point.
expect_exit 3 calibrate obs.ms --sky sky.txt --primary-beam mwa -o x.h5
expect_stderr "--primary-beam mwa" delays

# The model of a column that idg-degrid filled, matrices, and a part of the products.
run idg-degrid -q --sky sky.txt --aterms beam.conf obs.ms
for solve in gain:channels=all,interval=4s jones:channels=all; do
  run calibrate -q obs.ms --sky sky.txt --aterms beam.conf --solve $solve -o sky.h5 --overwrite --export sky.bin
  run calibrate -q obs.ms --model-column MODEL_DATA --solve $solve -o column.h5 --overwrite --export column.bin
  numbers() { tail -c +49 "$1" | od -An -v -t f8 -w8; }
  expect_near_numbers <(numbers sky.bin) <(numbers column.bin) 1e-5 "$solve from a column with the same model"
done
run simulate -q --array mwa-32t --sky sky.txt --channels 4 --duration 4s --pol XX,YY --aterms beam.conf --phase-centre '02h28m00s -26d42m00s' -o two.ms
run calibrate -q two.ms --sky sky.txt --aterms beam.conf --solve gain:channels=all -o two.h5 --export two.csv
awk -v far="$(farthest two.csv)" 'BEGIN { exit !(far < 1e-3) }' || fail "of two products: gains are off by $(farthest two.csv)"

# The plan names the beam and keeps to its memory.
run calibrate obs.ms --sky sky.txt --aterms beam.conf -o dry.h5 --dry-run
expect_stdout "through the A-terms" "memory: "
expect_no_file dry.h5

expect_exit 2 calibrate obs.ms --model-column MODEL_DATA --aterms beam.conf -o x.h5
expect_stderr "--aterms" "--sky or --model"
expect_exit 2 calibrate obs.ms --model-column MODEL_DATA --primary-beam mwa -o x.h5
expect_stderr "--primary-beam"
expect_exit 2 calibrate obs.ms --sky sky.txt --aterms beam.conf --directions patches --solve tec -o x.h5
expect_stderr "--aterms" "--directions"
expect_exit 2 calibrate obs.ms --apply through.h5 --aterms beam.conf
expect_exit 3 calibrate obs.ms --sky sky.txt --aterms sky.txt -o x.h5
expect_stderr "sky.txt"
expect_no_file x.h5
