# SPDX-License-Identifier: GPL-3.0-or-later
# measure-sources on an image whose pixels are written here, by hand, from the equations of the sky.
source "$APSYN_SOURCE/tests/cli/lib.sh" || exit 1
need perl

# image NAME [CARD...]: 64 x 48 pixels of 60 asec, centre RA 10 deg Dec 0, beam 240 x 180 asec with BPA 0 (major axis
# north), one source of 2 Jy at l = -4.3 pixels (west), m = +5.6 pixels (north).
image() {
  perl -e '
    my ($name, @more) = @ARGV;
    my @cards = ("SIMPLE  = T", "BITPIX  = -32", "NAXIS   = 2", "NAXIS1  = 64", "NAXIS2  = 48", "BUNIT   = \x27JY/BEAM\x27",
      "CTYPE1  = \x27RA---SIN\x27", "CRPIX1  = 33", "CRVAL1  = 10.0", "CDELT1  = -0.016666666666666666", "CUNIT1  = \x27deg\x27",
      "CTYPE2  = \x27DEC--SIN\x27", "CRPIX2  = 25", "CRVAL2  = 0.0", "CDELT2  = 0.016666666666666666", "CUNIT2  = \x27deg\x27",
      "EQUINOX = 2000.0", @more, "END");
    open(my $out, ">:raw", $name);
    my $header = join("", map { sprintf("%-80s", $_) } @cards);
    print $out $header, " " x (-length($header) % 2880);
    my $n = 0;
    for my $y (0 .. 47) { for my $x (0 .. 63) {
      my ($east, $north) = (32 - $x + 4.3, $y - 24 - 5.6);
      print $out pack("f>", 2 * exp(-4 * log(2) * (($north / 4) ** 2 + ($east / 3) ** 2)));
      $n += 4; } }
    print $out "\0" x (-$n % 2880);' "$@"
}
image good.fits "BMAJ    = 0.06666666666666667" "BMIN    = 0.05" "BPA     = 0.0"
image nobeam.fits
cat >sky.txt <<'END'
Format = Name, Type, Ra, Dec, I
west, POINT, 00:39:42.8, 00.05.36, 2.2
far, POINT, 12:00:00, 00.00.00, 1
behind, POINT, 12:40:00, 00.00.00, 1
END

run measure-sources good.fits --sky sky.txt
read -r name true_jy found_jy ratio sigmas offset_asec offset_beam ra dec < <(sed -n 2p "$(stdout_file)")
[ "$name" = west ] || fail "the second line is about $name"
expect_near "$true_jy" 2.2 0 "the true flux"
expect_near "$found_jy" 2 0.0001 "the flux found"
expect_near "$ratio" 0.9091 0.0001 "the ratio"
expect_near "$offset_asec" 0 0.1 "the offset"
expect_near "$offset_beam" 0 0.001 "the offset in beams"
[[ $ra == 00h39m42.8*s && $dec == +00d05m36.0s ]] || fail "found at $ra $dec"
sed -n 3p "$(stdout_file)" | grep -q '^far .* outside ' || fail "the far source is not outside"
# ... nor is the one in the opposite direction at the centre
sed -n 4p "$(stdout_file)" | grep -q '^behind .* outside ' || fail "the source behind the horizon is not outside"
expect_stderr "measure-sources: info: 1 of 3 sources found"
cp "$(stdout_file)" table.txt

run measure-sources --sky sky.txt -o file.txt good.fits
expect_same table.txt file.txt
expect_no_stdout
expect_exit 2 measure-sources --sky sky.txt -o file.txt good.fits
expect_stderr "measure-sources: error: " file.txt
run measure-sources --sky sky.txt --overwrite -o file.txt good.fits
run bash -c 'measure-sources --sky sky.txt <good.fits >pipe.txt'
expect_same table.txt pipe.txt
run measure-sources --sky sky.txt --dry-run good.fits
expect_stdout "64 x 48 pixels of 1 amin" "3 sources"
run script -qefc "measure-sources --sky sky.txt good.fits" /dev/null
expect_stdout west

expect_exit 2 measure-sources good.fits
expect_stderr "measure-sources: error: " --sky
expect_exit 3 measure-sources nobeam.fits --sky sky.txt -o none.txt
expect_stderr "measure-sources: error: nobeam.fits: no BMAJ"
head -c 5000 good.fits >cut.fits
expect_exit 3 measure-sources cut.fits --sky sky.txt -o none.txt
expect_stderr "measure-sources: error: cut.fits"
expect_exit 3 measure-sources good.fits --sky good.fits -o none.txt
expect_exit 1 measure-sources good.fits --sky none.sky -o none.txt
expect_stderr none.sky
expect_no_file none.txt
