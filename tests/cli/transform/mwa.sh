# SPDX-License-Identifier: GPL-3.0-or-later
# transform: files of the MWA's correlator become a Measurement Set, with and without corrections.
source "$APSYN_SOURCE/tests/cli/lib.sh" || exit 1

data=$APSYN_SOURCE/tests/data
cp "$data"/1196175296* .
files=(1196175296_*gpubox0?_00.fits)
plain=(--no-cable-delay --no-geometric-delay --no-digital-gains --no-flag-metafits --no-flag-dc --flag-init 0s)

run transform -v 1196175296.metafits "${files[@]}" -o all.ms
expect_stderr "MWA correlator (legacy): 2 integrations of 128 tiles, 2 coarse channels in windows of 4 channels: 1"
run transform "${files[@]}" --metafits 1196175296.metafits --max-memory 300MB --threads 1 -o blocks.ms
expect_same all.ms/table.f2_TSM0 blocks.ms/table.f2_TSM0 "DATA by way of blocks"
run transform "${files[@]}" 1196175296.metafits "${plain[@]}" -o plain.ms
# Another phase centre, at once and in a second run.
there='03h30m00s -36d00m00s'
run transform -q "${files[@]}" 1196175296.metafits --phase-centre "$there" -o there.ms
run transform -q all.ms --phase-centre "$there" -o moved.ms
image() { run idg-grid -q --size 64 --scale 20amin --weight natural --no-psf -o "$1" "$1.ms"; }
image there
image moved
expect_near_image there-dirty.fits moved-dirty.fits 1e-5

# Selected and averaged at once and in a second run: the same bytes; as UVFITS and as a stream.
small=(--average-time 1s --average-channels 2 --antennas 0,1,2,77)
run transform -q "${files[@]}" 1196175296.metafits "${small[@]}" -o once.ms
run transform -q all.ms "${small[@]}" -o twice.ms
expect_same <(cat once.ms/table.f*_TSM0) <(cat twice.ms/table.f*_TSM0) "averages of one pass and of two"
run transform -q "${files[@]}" 1196175296.metafits "${small[@]}" -o small.uvfits
run transform -q small.uvfits -o back.ms
expect_same once.ms/table.f2_TSM0 back.ms/table.f2_TSM0 "DATA by way of UVFITS"
transform -q "${files[@]}" 1196175296.metafits "${small[@]}" -o - | transform -q - -o piped.ms
expect_same once.ms/table.f2_TSM0 piped.ms/table.f2_TSM0 "DATA by way of a stream"
run transform -v "${files[@]}" 1196175296.metafits --bda 0.01 --bda-radius 2deg -o bda.ms
expect_stderr "the times of its rows have been looked at beforehand"

# A passband: twice the gain halves data and quadruples weights.
{ echo channel,gain; for i in 0 1; do echo $i,2; done; } >passband.csv
run transform -q "${files[@]}" 1196175296.metafits "${small[@]}" --passband passband.csv -o halved.ms
expect_same <(od -An -v -tf4 -w4 once.ms/table.f4_TSM0 | awk '{ print $1 * 4 }') \
  <(od -An -v -tf4 -w4 halved.ms/table.f4_TSM0 | awk '{ print $1 + 0 }') "weights with a passband of 2"
expect_exit 3 transform "${files[@]}" 1196175296.metafits --passband 1196175296.metafits -o never.ms
expect_exit 2 transform all.ms --passband passband.csv -o never.ms
expect_stderr "go with files of the MWA's correlators"
expect_exit 2 transform "${files[@]}" 1196175296.metafits --passband passband.csv -o passband.csv --overwrite

# What is no file is not looked into.
mkfifo fifo
expect_exit 2 transform fifo -o never.ms
expect_exit 2 transform fifo "${files[@]}" -o never.ms

# Dry runs and errors write nothing.
run transform --dry-run "${files[@]}" 1196175296.metafits -o never.ms
expect_exit 2 transform "${files[@]}" -o never.ms
expect_stderr "give the observation's metafits"
expect_exit 2 transform 1196175296.metafits -o never.ms
expect_stderr "give the files of the correlator"
expect_exit 2 transform 1196175296.metafits "${files[@]}" all.ms -o never.ms
expect_stderr "all.ms: neither"
expect_exit 2 transform 1196175296.metafits "${files[@]}" "$data/1090008640.metafits" -o never.ms
expect_stderr "a second metafits"
expect_exit 2 transform 1196175296.metafits "${files[@]}" --spw 1 -o never.ms
expect_stderr "spectral window 1: the file has 1"
expect_exit 2 transform 1196175296.metafits "${files[@]}" --flag-edge-width 640kHz -o never.ms
expect_stderr "nothing is left"
expect_exit 2 transform all.ms --no-cable-delay -o never.ms
expect_stderr "go with files of the MWA's correlators"
expect_exit 2 transform 1196175296.metafits "${files[@]}" -o 1196175296.metafits --overwrite
expect_exit 3 transform "$data/1090008640.metafits" "${files[@]}" -o never.ms
expect_stderr "OBSID = 1196175296"
expect_exit 3 transform 1196175296.metafits "${files[@]}" "${files[0]}" -o never.ms
expect_stderr "give each file once"
for size in 0 2000 40000 300000; do
  head -c $size "${files[0]}" >cut_gpubox01_00.fits
  expect_exit 3 transform 1196175296.metafits cut_gpubox01_00.fits "${files[1]}" -o never.ms
  expect_stderr "cut_gpubox01_00.fits"
done
# A tile that is damaged is found only when it is unpacked.
cp "${files[0]}" bad_gpubox01_00.fits
head -c 4000 /dev/zero | dd of=bad_gpubox01_00.fits bs=1 seek=100000 conv=notrunc status=none
expect_exit 3 transform 1196175296.metafits bad_gpubox01_00.fits -o never.ms
expect_stderr "bad_gpubox01_00.fits: HDU 2: its compressed image cannot be unpacked"
[ -z "$(ls -d never* 2>/dev/null)" ] || fail "left $(ls -d never*)"

