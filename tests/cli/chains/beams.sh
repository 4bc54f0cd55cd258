# SPDX-License-Identifier: GPL-3.0-or-later
# Beams of a real LOFAR set and an OSKAR set from their tables to images: what is predicted through the beam is imaged with it
# as it was, the centre of a differential beam is 1, and what is missing is named.
source "$APSYN_SOURCE/tests/cli/lib.sh" || exit 1
need tar

# pixel FILE SIDE X Y [PLANE]: of planes of SIDE x SIDE pixels, float32, counted from 0.
pixel() {
  local cards
  cards=$(head -c 57600 "$1" | fold -w 80 | grep -an '^END ' | head -1 | cut -d: -f1)
  tail -c +$(((cards + 35) / 36 * 2880 + 1 + 4 * ($2 * ($2 * ${5:-0} + $4) + $3))) "$1" | od -An -v -t f4 --endian=big -N 4 | tr -d ' '
}

tar -xzf "$APSYN_SOURCE/tests/data/LOFAR-3C48-8st.MS.tgz"
chmod -R u+w tNDPPP-generic.MS
set=tNDPPP-generic.MS

# 1.2 degrees to the north of the centre, 20 pixels, where stations take about 0.84 of the field.
printf 'Format = Name, Type, Ra, Dec, I, Q, U, V\na, POINT, 24.422081deg, 34.359759deg, 10, 3, -2, 1\n' >sky.txt
printf 'aterms = [ beam ]\nbeam.update_interval = 10\n' >beam.conf
printf 'aterms = [ beam ]\nbeam.differential = true\nbeam.update_interval = 10\n' >differential.conf
image="--weight natural --size 64 --scale 0.06deg --no-psf"
run idg-degrid --sky sky.txt --aterms beam.conf $set
run idg-grid $image --column MODEL_DATA --pol IQUV --aterms beam.conf -o seen $set
# What idg-grid makes with A-terms is over the average beam.
plane=0
for true in 10 3 -2 1; do
  expect_near "$(pixel seen-dirty.fits 64 32 52 $plane)" "$true" 0.001 "Stokes plane $plane through the beam and back"
  plane=$((plane + 1))
done
run idg-grid $image --column MODEL_DATA --pol IQUV -o bare $set
awk -v p="$(pixel bare-dirty.fits 64 32 52)" 'BEGIN { exit !(p > 5 && p < 8) }' || fail "the beam takes nothing away"

# What is 1 at the centre leaves the centre as it is.
run idg-grid $image --column CORRECTED_DATA -o plain $set
run idg-grid $image --column CORRECTED_DATA --aterms differential.conf -o centred $set
run idg-grid $image --column CORRECTED_DATA --primary-beam auto -o auto $set
expect_near "$(pixel centred-dirty.fits 64 32 32)" "$(pixel plain-dirty.fits 64 32 32)" 0.1 "the centre with and without the beam"
expect_near "$(pixel centred-beam.fits 64 32 32)" 1 0.001 "the differential beam at the centre"

# What tells of the beam goes with the data: through transform, to another phase centre and into another column.
run transform -q $set --column CORRECTED_DATA -o copy.ms
run idg-grid $image --aterms differential.conf -o copied copy.ms
expect_near_image centred-dirty.fits copied-dirty.fits 1e-6
run transform -q $set --phase-centre '24.5deg 33deg' -o moved.ms
run idg-grid $image --column CORRECTED_DATA --shift 24.5deg,33deg --primary-beam auto -o here $set
run idg-grid $image --primary-beam auto -o moved moved.ms
expect_near_image here-beam.fits moved-beam.fits 1e-6
# A simulated set of the same stations has their beams, too. Measured: within 2.5e-4 Jy.
run simulate --like $set --sky sky.txt --aterms beam.conf -o simulated.ms
run idg-grid $image --pol IQUV --aterms beam.conf -o simulated simulated.ms
plane=0
for true in 10 3 -2 1; do
  expect_near "$(pixel simulated-dirty.fits 64 32 52 $plane)" "$true" 0.001 "Stokes plane $plane of a simulated set"
  plane=$((plane + 1))
done
run quicklook --stats simulated.ms
expect_stdout '"start_utc": "2013-03-29T13:59:48.000"' '"integration_s": 10.0139008' '"channels": 8' '"lowest_channel_hz": 134288024.90'
run simulate --like $set --noise 10Jy --channels 2 --freq 140MHz --bandwidth 200kHz --start 2013-03-29T14:00:00 --duration 31s --pol XX,YY -o other.ms
run quicklook --stats other.ms
expect_stdout '"start_utc": "2013-03-29T14:00:00.000"' '"channels": 2' '"lowest_channel_hz": 139950000' '"duration_s": 30.04'
expect_exit 2 simulate --like $set --array mwa-32t -o none.ms
expect_exit 1 simulate --like sky.txt -o none.ms
expect_no_file none.ms

run quicklook $set --beam auto --beam-width 20deg -o beam.png
run quicklook $set --beam differential.conf --station CS002HBA0 --stats
expect_stdout '"object": "CS002HBA0"' '"unit": "POWER"'
expect_exit 2 quicklook $set --beam auto --station CS999 -o none.png
expect_exit 2 quicklook plain-dirty.fits --beam auto -o none.png

expect_exit 1 idg-grid $image --primary-beam mwa-fee -o none $set
expect_stderr 'mwa_full_embedded_element_pattern.h5: not found'
mv $set/LOFAR_ANTENNA_FIELD gone
expect_exit 3 idg-grid $image --primary-beam auto -o none $set
expect_stderr 'LOFAR_ANTENNA_FIELD'

tar -xzf "$APSYN_SOURCE/tests/data/oskar-dev.ms.tar.gz"
chmod -R u+w oskar-dev.ms
printf 'aterms = [ beam ]\nbeam.element_response_model = skalow_feko\n' >feko.conf
expect_exit 1 idg-grid $image --aterms feko.conf -o none oskar-dev.ms
expect_stderr 'SKA-Low_Perturbed_Vogel'
printf 'Format = Name, Type, Ra, Dec, I\nb, POINT, 330.4deg, -19.8deg, 5\n' >oskar.txt
run idg-degrid --sky oskar.txt --primary-beam auto oskar-dev.ms
run idg-grid --weight natural --size 96 --scale 0.1deg --no-psf --column MODEL_DATA --primary-beam auto -o oskar oskar-dev.ms

# A simulated source at half power of a beam, and through the beam again.
printf 'Format = Name, Type, Ra, Dec, I, Q, U, V\na, POINT, 02:28:00, -25.42.00, 100, 10, -5, 3\n' >half.txt
printf 'aterms = [ beam ]\nbeam.model = gaussian\nbeam.fwhm = 2deg\nbeam.pointing = [ 37deg -26.7deg ]\n' >gauss.conf
for pol in XX,XY,YX,YY RR,RL,LR,LL; do
  run simulate --array mwa-32t --sky half.txt --aterms gauss.conf --pol $pol --channels 2 --duration 2s \
    --phase-centre '02h28m00s -26d42m00s' --overwrite -o half.ms
  run idg-grid --weight natural --no-psf --size 128 --scale 3amin --pol IQUV --overwrite -o half half.ms
  run idg-grid --weight natural --no-psf --size 128 --scale 3amin --pol IQUV --aterms gauss.conf --overwrite -o whole half.ms
  plane=0
  for true in 100 10 -5 3; do
    expect_near "$(pixel half-dirty.fits 128 64 84 $plane)" "$(awk -v t=$true 'BEGIN { print t / 2 }')" 0.001 "half of plane $plane"
    expect_near "$(pixel whole-dirty.fits 128 64 84 $plane)" "$true" 0.02 "all of plane $plane"
    plane=$((plane + 1))
  done
done
# The same in voltages, of whose own noise 6.4e5 samples leave 0.13 %.
run simulate --array mwa-32t --sky half.txt --aterms gauss.conf --duration 500ms -o half.dada
run correlate half.dada --integration 500ms --phase-centre '02h28m00s -26d42m00s' -o voltages.ms
run idg-grid --weight natural --no-psf --size 128 --scale 3amin --pol IQUV --overwrite -o half voltages.ms
plane=0
for true in 50 5 -2.5 1.5; do
  expect_near "$(pixel half-dirty.fits 128 64 84 $plane)" "$true" 0.3 "half of plane $plane in voltages"
  plane=$((plane + 1))
done
