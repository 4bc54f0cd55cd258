# SPDX-License-Identifier: GPL-3.0-or-later
# The main job on simulated voltages of MWA-32T with a known sky, joined by pipes: every source is found within 0.05 beam
# of its place and with its flux within the radiometer error.
source "$APSYN_SOURCE/tests/cli/lib.sh" || exit 1
TIME_LIMIT=300
cp "$APSYN_SOURCE/examples/first-light-sky.txt" sky.txt
n_sources=$(grep -c POINT sky.txt)

run bash -c "set -o pipefail
  simulate --array mwa-32t --sky sky.txt --noise 20000Jy --bits 4 --freq 150MHz --bandwidth 1.28MHz --duration 2s -o - |
  correlate --channels 128 --integration 500ms --phase-centre '02h28m00s -26d42m00s' -o - |
  idg-grid --size 512 --scale 3amin --psf-size 1024 --weight natural -o mwa"
expect_file mwa-dirty.fits mwa-psf.fits
run clean mwa-dirty.fits mwa-psf.fits --niter 5000 --auto-threshold 3 -o mwa
expect_file mwa-image.fits mwa-model.fits mwa-residual.fits
run measure-sources mwa-image.fits --sky sky.txt -o table.txt
cat table.txt

# Radiometer: sigma = S / sqrt(2 N (N - 1) B t) for two polarisations, S the noise and the sum of the sources.
sigma=$(awk '/POINT/ { split($0, f, ","); sum += f[5] } END { print (20000 + sum) / sqrt(2 * 32 * 31 * 1.28e6 * 2) }' sky.txt)
[ "$(grep -vc '^#' table.txt)" -eq "$n_sources" ] || fail "the table has not $n_sources lines"
while read -r name true_jy found_jy _ _ _ offset_beam _; do
  expect_near "$offset_beam" 0 0.05 "the offset of $name in beams"
  # 4 sigma of noise, and 0.2 % for the scale of quantised correlations.
  expect_near "$found_jy" "$true_jy" "$(awk -v s="$sigma" -v f="$true_jy" 'BEGIN { print 4 * s + 0.002 * f }')" "the flux of $name"
done < <(grep -v '^#' table.txt)
