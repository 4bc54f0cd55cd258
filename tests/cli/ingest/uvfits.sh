# SPDX-License-Identifier: GPL-3.0-or-later
# UVFITS to a Measurement Set to an image: M87 with its jet to the west-north-west, a mirrored image would show it in the
# east; nothing is left behind when there is nothing to use.
source "$APSYN_SOURCE/tests/cli/lib.sh" || exit 1
need perl
m87=$APSYN_SOURCE/tests/data/VLBA-M87-mojave.uvfits

run ingest --from uvfits "$m87" -o m87.ms
expect_stderr "23784 visibilities used, 1416 flagged by their weights, 0 by a table, 0 that are no numbers"
run ingest --from uvfits "$m87" --dry-run
expect_stdout "3150 groups of 10 antennas (VLBA), RR RL LR LL" "2 spectral windows of 1 channels of 8 MHz" "1228+126 at 12h30m49.42s +12d23m28.0s"
run idg-grid -q m87.ms --size 512 --psf-size 1024 --scale 0.0001asec --weight uniform -o m87
run clean -q m87-dirty.fits m87-psf.fits --niter 4000 --gain 0.05 -o m87
# Peak 1.357 Jy/beam within 1 %, in the middle; the jet 20 to 100 pixels away, between 270 and 315 degrees.
cat >jet.pl <<'END_OF_PERL'
local $/;
binmode STDIN;
my $bytes = <STDIN>;
my $header = (index($bytes, "END" . " " x 77) / 2880 | 0) * 2880 + 2880;
my @pixels = unpack("f>" . 512 * 512, substr($bytes, $header));
my ($peak, $at, $jet, $counter) = (0, 0, 0, 0);
for my $i (0 .. $#pixels) {
  ($peak, $at) = ($pixels[$i], $i) if $pixels[$i] > $peak;
  my ($west, $north) = ($i % 512 - 256, ($i / 512 | 0) - 256);
  next if $west ** 2 + $north ** 2 < 400 || $west ** 2 + $north ** 2 > 10000;
  $jet += $pixels[$i] if $west > 0 && $north > 0 && $north < $west;
  $counter += $pixels[$i] if $west < 0 && $north < 0 && $north > $west;
}
printf "%.4f %d %.2f %.2f\n", $peak, $at, $jet, $counter;
exit !(abs($peak / 1.357 - 1) < 0.01 && $at == 256 * 512 + 256 && $jet > 20 && $jet > 8 * abs($counter));
END_OF_PERL
perl jet.pl <m87-image.fits || fail "M87 is not as it should be: $(perl jet.pl <m87-image.fits)"

# Weights whose sign flags everything: a message that names the cure, and no set.
perl -0777 -pe '
  my $data = index($_, "END" . " " x 77);
  $data = ($data / 2880 | 0) * 2880 + 2880;
  for my $group (0 .. 3149) { for my $cell (0 .. 7) {
    my $at = $data + $group * 124 + 28 + $cell * 12 + 8;
    substr($_, $at, 1) = chr(ord(substr($_, $at, 1)) | 128);
  } }' "$m87" >negative.uvfits
expect_exit 1 ingest --from uvfits negative.uvfits -o negative.ms
expect_stderr "25200 flagged" "no usable data" "--absolute-weights"
expect_no_file negative.ms negative.ms.part
run ingest --from uvfits --absolute-weights negative.uvfits -o negative.ms
expect_stderr "23784 visibilities used, 1416 flagged"

expect_exit 2 ingest --from uvfits "$m87"
expect_stderr "-o NAME.ms"
expect_exit 2 ingest --from uvfits "$m87" -o m87.ms
expect_stderr --overwrite
expect_exit 2 ingest --from uvfits "$m87" "$m87" -o x.ms
expect_exit 2 ingest --from uvfits --freq 1GHz "$m87" -o x.ms
expect_stderr "--freq: --from uvfits"
expect_exit 2 ingest --from vdif --absolute-weights "$m87" -o x.dada
head -c 300000 "$m87" >cut.uvfits
expect_exit 3 ingest --from uvfits cut.uvfits -o x.ms
expect_stderr "cut.uvfits: byte"
expect_exit 3 ingest --from uvfits "$APSYN_SOURCE/tests/data/1090008640.metafits" -o x.ms
expect_stderr "neither UVFITS nor FITS-IDI"
expect_no_file x.ms x.ms.part
