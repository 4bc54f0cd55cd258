# SPDX-License-Identifier: GPL-3.0-or-later
# The main job on real recordings: LOFAR sees 3C 48 at its place, TART sees navigation satellites.
source "$APSYN_SOURCE/tests/cli/lib.sh" || exit 1
need zstd
data=$APSYN_SOURCE/tests/data

# row FILE NAME: the columns true_jy found_jy ratio sigmas offset_asec offset_beam of a table of sources.
row() { awk -v name="$2" '$1 == name { print $2, $3, $4, $5, $6, $7 }' "$1"; }

# 3C 48 is at 01h37m41.2994s +33d09m35.134s in the ICRF. These calibrated data hold 75 Jy at 134 MHz: the mean amplitude
# of their visibilities, a 10 % spread between them.
tar -xzf "$data/LOFAR-3C48-8st.MS.tgz"
run idg-grid ./*.MS --column CORRECTED_DATA --weight briggs:0 --size 80 --psf-size 160 --scale 1asec -o lofar
run clean lofar-dirty.fits lofar-psf.fits --auto-threshold 3 -o lofar
printf 'Format = Name, Type, Ra, Dec, I\n3C48, POINT, 01:37:41.2994, 33.09.35.134, 75\n' >3c48.txt
run measure-sources lofar-image.fits --sky 3c48.txt -o lofar.txt
cat lofar.txt
read -r _ found _ _ offset _ < <(row lofar.txt 3C48)
expect_near "$found" 75 7.5 "the flux of 3C 48"
expect_near "$offset" 0 2 "the offset of 3C 48 in asec"

# Satellites in 60 s of visibilities: the brightest, 0.089 in the units of the set, 10 times the noise.
tar -xzf "$data/TART-ghana-60s.ms.tar.gz"
run idg-grid ./ghana.ms --size 256 --scale 0.45deg -o ghana
run clean ghana-dirty.fits ghana-psf.fits --auto-threshold 3 -o ghana
printf 'Format = Name, Type, Ra, Dec, I\nsatellite, POINT, 11:04:00, 18.36.00, 0.089\n' >ghana.txt
run measure-sources ghana-image.fits --sky ghana.txt -o ghana-table.txt
cat ghana-table.txt
read -r _ found _ _ _ offset < <(row ghana-table.txt satellite)
expect_near "$found" 0.089 0.009 "the satellite over Ghana"
expect_near "$offset" 0 0.3 "its offset in beams"

# Satellites in 16 ms of voltages. With the measured gains the brightest stands 8 times the noise out; with their
# conjugates, that is with a wrong sign anywhere between voltages and image, nothing does.
zstd -q -d "$data/TART-mgtana-16ms.dada.zst" -o tart.dada
awk -F, -v OFS=, 'NR > 1 { $3 = -$3 } 1' "$data/TART-mgtana-gains.csv" >conjugate.csv
printf 'Format = Name, Type, Ra, Dec, I\nsatellite, POINT, 10:45:30, 07.13.00, 49\n' >satellite.txt
for gains in "$data/TART-mgtana-gains.csv" conjugate.csv; do
  name=$(basename "$gains" .csv)
  run bash -c "set -o pipefail; correlate tart.dada --antennas '$data/TART-mgtana-antennas.csv' --gains '$gains' \
      --channels 64 --integration 16ms --phase-centre zenith -o - |
    idg-grid --size 256 --scale 0.45deg --weight natural --channel-range 24 40 -o $name"
  run clean "$name-dirty.fits" "$name-psf.fits" --auto-threshold 4 -o "$name"
done
for name in TART-mgtana-gains conjugate; do
  run measure-sources $name-image.fits --sky satellite.txt -o $name.txt
  cat $name.txt
done
read -r _ found _ _ _ offset < <(row TART-mgtana-gains.txt satellite)
expect_near "$found" 49 5 "the satellite over Antananarivo"
expect_near "$offset" 0 0.3 "its offset in beams"
read -r _ found _ < <(row conjugate.txt satellite)
[ "$found" = lost ] || expect_near "$found" 0 25 "the satellite with conjugate gains"

# Beams of the same voltages, over the mean power of an antenna: a sum of 24 leaves 1/24 of noise, which is what empty
# sky shows (within the sources of a beam this wide), and all of the satellite, 2.7 % of an antenna's power.
mean_power() {
  local at=$(($(grep -abo HEADER_END "$1" | head -1 | cut -d: -f1) + 10))
  od -A n -v -t f4 -j $at "$1" | awk '{ for (i = 1; i <= NF; ++i) sum += $i; n += NF } END { print sum / n }'
}
printf 'id,ra,dec\nsatellite,10:45:30,07d13m00s\nempty,12:45:30,07d13m00s\n' >beams.csv
tart="beamform tart.dada --antennas $data/TART-mgtana-antennas.csv --channels 64 --integrate 1023"
run $tart --gains "$data/TART-mgtana-gains.csv" --incoherent -o incoherent.fil
run $tart --gains "$data/TART-mgtana-gains.csv" --beams beams.csv -o 'beam%d.fil'
run $tart --gains conjugate.csv --beams beams.csv -o 'conjugate%d.fil'
antenna=$(mean_power incoherent.fil)
share() { awk -v p="$(mean_power "$1")" -v a="$antenna" 'BEGIN { print p / a }'; }
expect_near "$(share beam0.fil)" 0.0686 0.003 "the share of the satellite's beam"
expect_near "$(share beam1.fil)" 0.0417 0.008 "the share of an empty beam"
expect_near "$(share conjugate0.fil)" 0.0417 0.012 "the share of the satellite's beam with conjugate gains"
