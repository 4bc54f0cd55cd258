# SPDX-License-Identifier: GPL-3.0-or-later
# Real frames of the LWA's recorders become streams with the same samples, decoded here once more byte by byte; what
# is wrong with them is reported with frame and byte.
source "$APSYN_SOURCE/tests/cli/lib.sh" || exit 1
need perl
data=$APSYN_SOURCE/tests/data

header_bytes() { head -c 4096 "$1" | grep -a '^HDR_SIZE' | awk '{ print $2 }'; }
payload() { tail -c +$(($(header_bytes "$1") + 1)) "$1"; }
value() { head -c 4096 "$1" | grep -a "^$2 " | awk '{ print $2 }'; }

# whole FILE LENGTH: its whole frames; frames.pl KIND: their samples as [time][channel][antenna][polarisation].
cat >frames.pl <<'END_OF_PERL'
my ($kind, $length, $want) = @ARGV;
local $/;
binmode STDIN; binmode STDOUT;
my ($all, %at) = (<STDIN>);
for (my $frame = 0; ($frame + 1) * $length <= length $all; ++$frame) {
  my $bytes = substr($all, $frame * $length, $length);
  my ($sync, $id) = unpack("N C", $bytes);
  die "sync" unless $sync == 0xDEC0DE5C;
  if ($kind eq "tbf") { $at{unpack("q>", substr($bytes, 16, 8))}{unpack("n", substr($bytes, 12, 2))} = substr($bytes, 24) }
  if ($kind eq "tbx") { $at{unpack("q>", substr($bytes, 20, 8))}{unpack("N", substr($bytes, 12, 4))} = substr($bytes, 28) }
  if ($kind eq "tbn") { $at{unpack("q>", substr($bytes, 16, 8))}{unpack("n", substr($bytes, 12, 2))} = substr($bytes, 24) }
  if ($kind eq "drx" && ($id >> 3 & 7) == $want) { $at{unpack("q>", substr($bytes, 16, 8))}{$id >> 7} = substr($bytes, 32) }
}
for my $time (sort { $a <=> $b } keys %at) {
  my %part = %{$at{$time}};
  my @keys = sort { $a <=> $b } keys %part;
  if ($kind eq "tbf" || $kind eq "tbx") { print map { $part{$_} } @keys; next }
  my $size = $kind eq "tbn" ? 2 : 1;
  for my $t (0 .. length($part{$keys[0]}) / $size - 1) { print map { substr($part{$_}, $t * $size, $size) } @keys }
}
END_OF_PERL

run ingest --from tbf "$data/LWA-tbf-test.dat" -o tbf.dada
expect_stderr "5 intact, 5160 bytes skipped, the first trouble in frame 5 at byte 30840"
expect_same <(payload tbf.dada) <(perl frames.pl tbf 6168 <"$data/LWA-tbf-test.dat")
for pair in "NANT 256" "NPOL 2" "NCHAN 60" "NBIT 4" "FREQ 59.4375" "BW 1.5" "TSAMP 40" "MISSING_NSAMP 1" \
  "UTC_START 2015-11-13-00:59:22"; do
  read -r key expected <<<"$pair"
  [ "$(value tbf.dada "$key")" = "$expected" ] || fail "tbf.dada: $key is $(value tbf.dada "$key"), not $expected"
done
run ingest --from tbf "$data/LWA-tbx-test.dat" -o tbx.dada
expect_stderr "26 intact, 296 bytes skipped, the first trouble in frame 26 at byte 40664"
expect_same <(payload tbx.dada) <(perl frames.pl tbx 1564 <"$data/LWA-tbx-test.dat")
[ "$(value tbx.dada FREQ) $(value tbx.dada NANT)" = "58.2875 64" ] || fail "tbx.dada has another band"

# Old frames do not tell their frequency; the rate follows from the time tags.
expect_exit 2 ingest --from tbn "$data/LWA-tbn-test.dat" -o tbn.dada
expect_stderr "--freq: missing"
head -c $((20 * 1048)) "$data/LWA-tbn-test.dat" >one.tbn
expect_exit 2 ingest --from tbn --freq 38MHz one.tbn -o tbn.dada
expect_stderr "--bandwidth: missing"
run ingest --from tbn --freq 38MHz --sample-rate 100kHz --bandwidth 100kHz one.tbn -o tbn.dada
expect_same <(payload tbn.dada) <(perl frames.pl tbn 1048 <one.tbn)
run ingest --from tbn --freq 38MHz "$data/LWA-tbn-test.dat" -o two.dada
expect_stderr "29 intact, 10 lost, 1 damaged, 1 intact in blocks with missing ones, the first trouble in frame 29 at byte 30392"
expect_exit 2 ingest --from drx "$data/LWA-drx-head.dat" -o drx.dada
expect_stderr "--tuning"
run ingest --from drx --freq 50MHz --tuning 2 "$data/LWA-drx-head.dat" -o drx.dada
expect_stderr "6 intact"
expect_same <(payload drx.dada) <(perl frames.pl drx 4128 2 <"$data/LWA-drx-head.dat")
[ "$(value drx.dada BW)" = 19.6 ] || fail "drx.dada has another band"
# Of the first tuning the recording begins with one polarisation and ends with the other.
run ingest --from drx --freq 50MHz --tuning 1 "$data/LWA-drx-head.dat" -o halves.dada
expect_stderr "6 intact, 2 lost, 2 intact in blocks with missing ones"

# A damaged frame is missing, and with it its time sample, which cannot be missing in parts; everything else is there.
perl -0777 -e '
  my $five = substr(<STDIN>, 0, 30840);
  for my $time (0 .. 3) {
    my $copy = $five;
    substr($copy, 6168 * $_ + 16, 8) = pack("q>", unpack("q>", substr($copy, 6168 * $_ + 16, 8)) + 7840 * $time) for 0 .. 4;
    substr($copy, 6168 * 3 + 1, 1) = "x" if $time == 2;
    print $copy;
  }' <"$data/LWA-tbf-test.dat" >bad.tbf
run ingest --from tbf bad.tbf -o bad.dada
expect_stderr "19 intact, 1 lost, 6168 bytes skipped, 4 intact in blocks with missing ones, the first trouble in frame 13 at byte 80184"
payload tbf.dada >good.raw
expect_same <(payload bad.dada) <(cat good.raw good.raw <(head -c 30720 /dev/zero) good.raw)
# Another format is no TBF.
expect_exit 3 ingest --from tbf "$data/LWA-drx-head.dat" -o x.dada
expect_stderr "LWA-drx-head.dat: byte" "TBF"
expect_exit 3 ingest --from drx /dev/null -o x.dada
expect_no_file x.dada

# The other tools read them.
run quicklook bad.dada -o bad.png
expect_file bad.png
run bash -c "ingest -q --from tbf --antennas lwa-sv bad.tbf -o - | correlate -q - --integration 160us --no-autos -o bad.vis"
expect_file bad.vis
