# SPDX-License-Identifier: GPL-3.0-or-later
# ingest as a user runs it: captures of MWA-32T receivers and headerless samples become streams that correlate to the
# same visibilities; what is lost is reported; errors name the option; files, pipes and threads give the same bytes.
source "$APSYN_SOURCE/tests/cli/lib.sh" || exit 1
need perl

header_bytes() { head -c 4096 "$1" | grep -a '^HDR_SIZE' | awk '{ print $2 }'; }
payload() { tail -c +$(($(header_bytes "$1") + 1)) "$1"; }
value() { head -c 4096 "$1" | grep -a "^$2 " | awk '{ print $2 }'; }

# frames KIND FILE...: splits 4-bit samples of 64 inputs on standard input into four receivers' frames. KIND words: a
# counter and 16 words of 5+5 bits, real in bits 9 to 5; swapped: big-endian, real in bits 4 to 0; bytes: 4+4 bits.
cat >frames.pl <<'END'
my ($kind, @names) = @ARGV;
my @out = map { open(my $out, ">:raw", $_) or die; $out } @names;
my @word = map {
  my ($re, $im) = ($_ >> 4, $_ & 15);
  $_ = $_ < 8 ? $_ : $_ | 16 for $re, $im;
  $kind eq "swapped" ? $im << 5 | $re : $re << 5 | $im;
} 0 .. 255;
binmode STDIN;
my $count = 65500;  # turns over
while (read(STDIN, my $bytes, 64) == 64) {
  for my $stream (0 .. 3) {
    my @samples = unpack("C16", substr($bytes, 16 * $stream, 16));
    print {$out[$stream]} $kind eq "bytes" ? pack("C17", $count & 255, @samples)
      : pack($kind eq "words" ? "v17" : "n17", $count & 65535, @word[@samples]);
  }
  ++$count;
}
END

cat >sky.txt <<'END'
Format = Name, Type, Ra, Dec, I
one, POINT, 02:30:00, -26.42.00, 2000
two, POINT, 02:10:00, -24.00.00, 1000
END
run simulate --array mwa-32t --sky sky.txt --noise 20000Jy --bits 4 --duration 20ms -o sim.dada
payload sim.dada >sim.raw
cor="correlate -q --channels 128 --integration 5ms --phase-centre 02h28m00s,-26d42m00s"
run $cor sim.dada -o sim.vis
facts="--freq 150MHz --start 2024-01-01T12:00:00 --antennas mwa-32t --scale $(value sim.dada SCALE)"

# Simulated voltages as four receivers' captures: the same samples, and the same visibilities.
for kind in words swapped bytes; do
  run perl frames.pl $kind $kind.0 $kind.1 $kind.2 $kind.3 <sim.raw
  case $kind in
    words) options= ;;
    swapped) options="--endian BIG --real-bit 0 --imag-bit 5 --marker cccccccccccccccc" ;;
    bytes) options="--word-bits 8 --output-bits 4" ;;
  esac
  run ingest --from mwa32t $facts $options $kind.0 $kind.1 $kind.2 $kind.3 -o $kind.dada
  expect_stderr "$kind.0: 25600 intact" "$kind.3: 25600 intact"
  expect_file $kind.dada
  run $cor $kind.dada -o $kind.vis
  expect_same <(payload sim.vis) <(payload $kind.vis)
done
expect_same <(payload bytes.dada) sim.raw
for key in "NANT 32" "NPOL 2" "NBIT 8" "FREQ 150" "BW 1.28" "TSAMP 0.78125" "MISSING_NSAMP 16" "TELESCOPE MWA-32T"; do
  head -c 4096 words.dada | grep -a . | awk '{ print $1, $2 }' | grep -qx "$key" || fail "no '$key' in words.dada"
done
head -c 16384 words.dada | grep -a 'HISTORY_2 *ingest%20--from%20mwa32t' >history.txt || fail "words.dada does not tell its history"
# Five bits are kept on request.
run ingest -q --from mwa32t $facts --output-bits 5 words.0 words.1 words.2 words.3 -o five.dada
[ "$(value five.dada ENCODING)" = PACK5X5 ] || fail "five.dada is no PACK5X5"
run $cor five.dada -o five.vis
expect_same <(payload sim.vis) <(payload five.vis)

# Pipes: one writer fills four of them in turn, another writes pieces of any size to standard input.
mkfifo pipe.0 pipe.1 pipe.2 pipe.3
timeout 60 perl frames.pl words pipe.0 pipe.1 pipe.2 pipe.3 <sim.raw &
TIME_LIMIT=20 run ingest --from mwa32t $facts pipe.0 pipe.1 pipe.2 pipe.3 -o piped.dada
wait
expect_same <(payload words.dada) <(payload piped.dada)
chopped() {
  local bytes
  for bytes in 1 4095 17 2048 333; do dd bs="$bytes" count=9 status=none; done
  dd bs=3001 status=none
}
one="ingest --from mwa32t --freq 150MHz --start 2024-01-01T12:00:00"
run $one words.0 --threads 1 -o one.dada && cp one.dada threads.dada
run $one words.0 --threads 4 -o one.dada --overwrite
expect_same one.dada threads.dada
run bash -c "$(declare -f chopped); chopped <words.0 | $one -o chopped.dada"
expect_same <(payload one.dada) <(payload chopped.dada)
run bash -c "$one words.0 >stream.dada"
expect_same <(payload stream.dada | head -c $((25600 * 32))) <(payload one.dada)
TIME_LIMIT=20 expect_exit 141 bash -c "set -o pipefail; cat words.0 words.0 words.0 words.0 | $one -q | :"

# Losses: words 3000 to 3002 are gone from one stream, frames 5000 to 5009 from another, the third ends early in a frame,
# in the fourth a marker is damaged. All of it is missing, nothing else is.
perl -0777 -pe 'substr($_, 2 * 17 * 3000 + 10, 6) = ""' words.0 >lossy.0
perl -0777 -pe 'substr($_, 34 * 5000, 340) = ""' words.1 >lossy.1
head -c $((34 * 25000 + 9)) words.2 >lossy.2
perl -0777 -pe 'substr($_, 34 * 7000, 2) ^= "\0\x80"' words.3 >lossy.3
run ingest --from mwa32t $facts --missing-block 1 lossy.0 lossy.1 lossy.2 lossy.3 -o lossy.dada
expect_stderr "warning: lossy.0: 25599 intact, 1 damaged, the first trouble at byte 102000" \
  "lossy.1: 25590 intact, 10 lost, the first trouble at byte 170000" \
  "lossy.2: 25000 intact, 599 lost, 1 damaged, the first trouble at byte 850000" \
  "lossy.3: 25599 intact, 1 damaged, the first trouble at byte 238000"
payload words.dada >words.raw
perl -e '
  local $/;
  open(my $in, "<:raw", "words.raw"); my $all = <$in>;
  for ([3000, 1, 0], [5000, 10, 16], [25000, 600, 32], [7000, 1, 48]) {
    my ($frame, $n, $input) = @$_;
    substr($all, 128 * $_ + 2 * $input, 32) = "\0" x 32 for $frame .. $frame + $n - 1;
  }
  open(my $out, ">:raw", "blanked.raw"); print $out $all;'
expect_same <(payload lossy.dada) blanked.raw
run ingest --from mwa32t $facts lossy.0 lossy.1 lossy.2 lossy.3 -o blocks.dada
expect_stderr "15 intact in blocks with missing ones"
run $cor blocks.dada -o blocks.vis

# Headerless samples: the same stream again.
raw="ingest --from raw --bits 4 --antenna-count 32 --channels 1 --pols 2 --bandwidth 1.28MHz"
run $raw --sample-rate 1.28MHz $facts sim.raw -o raw.dada
expect_same <(payload raw.dada) sim.raw
run $cor raw.dada -o raw.vis
expect_same <(payload sim.vis) <(payload raw.vis)
head -c 64000 sim.raw >piece.0
tail -c +64001 sim.raw >piece.1
run bash -c "cat piece.1 | $raw --tsamp 781.25ns $facts piece.0 - -o pieces.dada"
expect_same <(payload pieces.dada) sim.raw
run $raw --sample-rate 1.28MHz $facts --skip 64B piece.0 -o skipped.dada
expect_same <(payload skipped.dada) <(tail -c +65 piece.0)
for option in --bits --antenna-count --channels --pols --bandwidth --tsamp --freq --start; do
  all="--bits 4 --antenna-count 32 --channels 1 --pols 2 --bandwidth 1.28MHz --tsamp 1us --freq 150MHz --start 2024-01-01T12:00:00"
  read -r -a words <<<"$(sed "s/$option [^ ]*//" <<<"$all")"
  expect_exit 2 ingest --from raw "${words[@]}" sim.raw -o x.dada
  expect_stderr "${option/tsamp/sample-rate}: missing"
done
expect_exit 3 $raw --sample-rate 1.28MHz $facts <(head -c 65 sim.raw) -o x.dada
expect_stderr "65 bytes" "64 bytes" "--bits"
expect_exit 2 $raw --sample-rate 1.28MHz $facts --encoding FLOAT sim.raw -o x.dada
expect_stderr "NBIT 4" "--encoding"
expect_exit 2 $raw --sample-rate 1.28MHz $facts --order TPP sim.raw -o x.dada
expect_stderr "ORDER TPP" "--order"
expect_exit 1 $raw --sample-rate 1.28MHz $facts /dev/null -o x.dada
expect_stderr "no usable data"

# A recording in two PSRDADA files with a pause of 1000 samples between them: whole blocks of 128 are missing.
part() {  # FIRST_BYTE BYTES
  perl -0777 -e 'my ($n, $first, $bytes) = @ARGV; binmode STDIN; binmode STDOUT; read(STDIN, $_, $n);
    s/^OBS_OFFSET .*/OBS_OFFSET $first/m; s/^FILE_SIZE .*/FILE_SIZE $bytes/m; print substr($_ . "\0" x 99, 0, $n)' \
    "$(header_bytes sim.dada)" "$1" "$2" <sim.dada
  tail -c +$(($1 + 1)) sim.raw | head -c "$2"
}
part 0 640000 >part.0
part 704000 934400 >part.1
run ingest --from dada part.0 part.1 -o paused.dada
expect_stderr "part.1: begins 781.25 us after part.0 ended: 1000 samples are missing" \
  "part.0 ...: 24600 intact, 1000 lost, 24 intact in blocks with missing ones"
perl -0777 -pe 'substr($_, 64 * 9984, 64 * 1024) = "\0" x 65536' sim.raw >paused.raw
expect_same <(payload paused.dada) paused.raw
run bash -c "cat part.1 | ingest --from dada part.0 - -o piped.dada --overwrite"
expect_same <(payload piped.dada) paused.raw
expect_exit 3 ingest --from dada --max-gap 1us part.0 part.1 -o x.dada
expect_stderr "part.1: begins" "more than --max-gap 1e-06s"

# Wrong usage and inputs that are something else.
expect_exit 2 ingest words.0 -o x.dada
expect_stderr "--from" "mwa32t"
expect_exit 2 ingest --from tape words.0 -o x.dada
expect_exit 2 ingest --from mwa32t --start 2024-01-01T12:00:00 words.0 -o x.dada
expect_stderr "--freq: missing"
expect_exit 2 ingest --from mwa32t --freq 150MHz words.0 -o x.dada
expect_stderr "--start: missing"
expect_exit 2 $one --start noon words.0 -o x.dada
expect_exit 2 $one --marker ccccccc words.0 -o x.dada
expect_stderr "--marker ccccccc" "16 bits"
expect_exit 2 $one --bits 4 words.0 -o x.dada
expect_stderr "--bits: --from mwa32t" "raw"
expect_exit 2 $one --input-order 3,2-1 words.0 -o x.dada
expect_stderr "--input-order"
expect_exit 2 $one --antennas mwa-32t words.0 -o x.dada
expect_stderr "32 antennas" "NANT 8"
expect_exit 2 $one --sample-rate 0Hz words.0 -o x.dada
expect_exit 2 $one --max-gap=-1s words.0 -o x.dada
expect_stderr --max-gap
expect_exit 2 $one --max-memory 1MB words.0 -o x.dada
expect_stderr "--max-memory"
expect_exit 2 $one - - -o x.dada <words.0
expect_exit 2 $one words.0 -o one.dada
expect_stderr one.dada --overwrite
expect_exit 4 $one --device cuda words.0 -o x.dada
expect_exit 1 $one missing.0 -o x.dada
expect_stderr missing.0
expect_exit 3 $one sim.raw -o x.dada
expect_stderr "sim.raw: byte" "--marker"
expect_exit 3 $one --endian BIG words.0 -o x.dada
expect_exit 3 $one /dev/null -o x.dada
run $one words.0 --dry-run
expect_stdout "8 antennas" "25600 samples" "memory"
expect_no_file x.dada

# Any cut and any damage end in a stream or a message.
head -c $((34 * 500)) words.0 >small.0
RANDOM=20081120
for ((i = 0; i < 30; ++i)); do
  head -c $((RANDOM % 17000)) small.0 >bad.0
  if [ $((i % 2)) = 1 ]; then
    at=$((RANDOM % 17000))
    { head -c $at small.0 && head -c $((RANDOM % 40)) sim.raw && tail -c +$((at + RANDOM % 40)) small.0; } >bad.0
  fi
  rm -f bad.dada
  TIME_LIMIT=10 expect_exit "0|3" $one -q bad.0 -o bad.dada
  [ ! -e bad.dada.part ] || fail "bad.dada.part was left behind"
done
