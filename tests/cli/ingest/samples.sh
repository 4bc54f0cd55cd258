# SPDX-License-Identifier: GPL-3.0-or-later
# Heads of real recordings in VDIF, GUPPI RAW and Mark 5B: samples equal those that an independent decoder (numpy, from the
# specifications' bit tables) gave, first values and checksum of all; what cannot be read is refused with frame, byte
# and cure; a recording given to the wrong reader is named.
source "$APSYN_SOURCE/tests/cli/lib.sh" || exit 1
data=$APSYN_SOURCE/tests/data

header_bytes() { head -c 4096 "$1" | grep -a '^HDR_SIZE' | awk '{ print $2 }'; }
payload() { tail -c +$(($(header_bytes "$1") + 1)) "$1"; }
# decoded CKSUM 'FIRST VALUES' OPTIONS...: ingests, and compares int8 samples.
decoded() {
  local sum=$1 first=$2 found
  shift 2
  run ingest "$@" --overwrite -o out.dada
  found=$(payload out.dada | head -c 8 | od -A n -t d1 | xargs)
  [ "$found" = "$first" ] || fail "$*: begins with $found, not $first"
  found=$(payload out.dada | cksum | cut -d' ' -f1)
  [ "$found" = "$sum" ] || fail "$*: checksum $found, not $sum"
}

decoded 1585528123 '-3 3 3 -3 -3 -3 10 10' --from vdif --pols 2 --freq 6GHz "$data/baseband-head.vdif"
decoded 4261138650 '0 -7 2 -2 -1 -1 1 -1' --from vdif --pols 2 --freq 600MHz --bandwidth 400MHz --sample-rate 390625Hz \
  "$data/baseband-arochime-head.vdif"
decoded 2117993841 '1 -1 -1 -1 1 -1 -1 1' --from vdif --freq 6GHz --bandwidth 256MHz --sample-rate 32MHz "$data/baseband-bps1-head.vdif"
decoded 1423048074 '73 124 96 -103 -102 -125 -84 104' --from vdif --freq 150MHz --bandwidth 2.56MHz --sample-rate 1.28MHz "$data/baseband-mwa.vdif"
decoded 1581411458 '-55 -4 -32 25 26 3 44 -24' --from vdif --freq 150MHz --bandwidth 2.56MHz --sample-rate 1.28MHz --encoding TWOSCOMPLEMENT \
  "$data/baseband-mwa.vdif"
decoded 1726574738 '-10 -3 3 -3 10 -10 -10 10' --from mark5b --freq 6GHz --channels 8 --sample-rate 32MHz --start 2014-01-01T00:00:00 "$data/baseband-head.m5b"
decoded 2002848189 '-7 12 14 21 -32 -10 -5 -7' --from guppi --bandwidth 12.5MHz --sample-rate 3.125MHz "$data/baseband-puppi-head.raw"

# Headers that contradict themselves, clocks that jump, bits that nobody defined, blocks that are not there.
expect_exit 2 ingest --from guppi "$data/baseband-puppi-head.raw" -o x.dada
expect_stderr "baseband-puppi-head.raw: block at byte 0: OBSBW 0.001 MHz" "give --bandwidth and --sample-rate"
expect_exit 3 ingest --from vdif --pols 2 --freq 6GHz "$data/baseband-vlbi-head.vdif" -o x.dada
expect_stderr "frame 4 at byte 20128" "earlier than it stopped" "head -c 20128, tail -c +20129"
expect_exit 3 ingest --from vdif --freq 6GHz "$data/baseband-drao-head.vdif" -o x.dada
expect_stderr "byte 0: frame 0" "samples of 5 bits in 8 channels"
expect_exit 2 ingest --from mark5b --freq 6GHz --channels 8 --sample-rate 32MHz "$data/baseband-head.m5b" -o x.dada
expect_stderr "--start: missing" "500 days"
expect_exit 2 ingest --from mark5b --freq 6GHz --channels 4 --sample-rate 32MHz --start 2014-01-01T00:00:00 "$data/baseband-head.m5b" -o x.dada
expect_stderr "make frame 1 begin 0.0003 s after its second, but its header says 0.0001 s"
expect_exit 1 ingest --from guppi "$data/baseband-blc-head.raw" -o x.dada
expect_stderr "the first trouble at byte 7168" "no usable data"
expect_no_file x.dada

# The wrong reader: files and pipes, ingest and tools that want a voltage stream.
expect_exit 3 ingest --from tbn "$data/baseband-head.vdif" -o x.dada
expect_stderr "this is VDIF: pipe it through ingest --from vdif"
expect_exit 3 bash -c "ingest --from vdif -o x.dada <'$data/baseband-puppi-head.raw'"
expect_stderr "standard input: byte 0" "this is GUPPI RAW: pipe it through ingest --from guppi"
for tool in correlate quicklook search-transients; do
  expect_exit 3 $tool "$data/LWA-tbf-test.dat" -o x.png
  expect_stderr "pipe them through ingest --from tbf"
  expect_exit 3 $tool "$data/baseband-head.m5b" -o x.png
  expect_stderr "this is Mark 5B: pipe it through ingest --from mark5b"
done
expect_exit 3 bash -c "cat '$data/baseband-head.vdif' | correlate --integration 1ms -o x.vis"
expect_stderr "this is VDIF: pipe it through ingest --from vdif"
expect_exit 3 correlate "$data/TART-mgtana-16ms.dada.zst" --integration 1ms -o x.vis
expect_stderr "pipe it through zstd -dc"
