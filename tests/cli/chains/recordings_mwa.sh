# SPDX-License-Identifier: GPL-3.0-or-later
# An integration of the MWA whose weights are all negative: 3C 32 at its place and with its flux once they count, in XX
# and in YY, which agree.
source "$APSYN_SOURCE/tests/cli/lib.sh" || exit 1
need zstd
zstd -q -d "$APSYN_SOURCE/tests/data/MWA-1133866760-UVCeti.uvfits.zst" -o mwa.uvfits
expect_exit 1 ingest --from uvfits mwa.uvfits -o mwa.ms
expect_stderr "no usable data" "--absolute-weights"
run ingest --from uvfits --absolute-weights mwa.uvfits -o mwa.ms
expect_stderr "244860 visibilities used"

# The place is that of another program's image, on pixels of 1 amin, and the ionosphere's; the fluxes are those of
# float64 sums over the file's visibilities with equal weights. Briggs: XX has weights up to 752 with a median of 4.7, so
# that a natural image is that of few baselines.
sky() { printf 'Format = Name, Type, Ra, Dec, I\n3C32, POINT, %s, %s, %s\n' "$@"; }
row() { awk '$1 == "3C32" { print $3, $6, $7, $8, $9 }' "$1"; }
for pol in XX YY; do
  run idg-grid -q mwa.ms --pol $pol --size 1024 --scale 1amin --weight briggs:0 -o $pol
  run clean -q $pol-dirty.fits $pol-psf.fits --auto-threshold 4 -o $pol
  jy=16.07
  [ $pol = XX ] || jy=17.31
  sky 01:08:12.3 -16.05.18 $jy >$pol.sky
  run measure-sources $pol-image.fits --sky $pol.sky -o $pol.txt
  cat $pol.txt
  read -r found offset _ < <(row $pol.txt)
  expect_near "$found" $jy 0.8 "3C 32 in $pol" # 15.57, 17.25
  expect_near "$offset" 0 75 "its offset in asec" # 65, 53
done
read -r _ _ _ ra dec < <(row XX.txt)
sky "$(sed 's/[hm]/:/g; s/s$//' <<<"$ra")" "$(sed 's/[dm]/./g; s/s$//' <<<"$dec")" 17.31 >XX-place.sky
run measure-sources YY-image.fits --sky XX-place.sky -o both.txt
read -r _ _ beams _ < <(row both.txt)
expect_near "$beams" 0 0.1 "the offset of YY from XX in beams" # 0.03
