# SPDX-License-Identifier: GPL-3.0-or-later
# Long recordings: samples beyond number 2^31, 2^32 and 2^40 are those of a short one, at their time, and memory does not
# grow with the length. The long files are holes but for a little.
source "$APSYN_SOURCE/tests/cli/lib.sh" || exit 1
need perl

header_bytes() { head -c 4096 "$1" | grep -a '^HDR_SIZE' | awk '{ print $2 }'; }
payload() { tail -c +$(($(header_bytes "$1") + 1)) "$1"; }

# stream FILE BYTES UTC_START: 2 antennas of 4 bits, a byte each, 1 us apart; the payload is to be written.
stream() {
  printf '%s\n' 'HDR_VERSION 1.0' 'HDR_SIZE 4096' 'TELESCOPE T' 'INSTRUMENT I' 'SOURCE S' "UTC_START $3" "FILE_SIZE $2" \
    'FREQ 150' 'BW 1' 'TSAMP 1' 'NBIT 4' 'NDIM 2' 'NPOL 1' 'NCHAN 1' 'NANT 2' 'ORDER TFAP' 'NSBLK 1' 'ENCODING TWOSCOMPLEMENT' \
    'RESOLUTION 2' 'BYTES_PER_SECOND 2000000' 'SITE_LAT -26' 'SITE_LON 116' 'SITE_ALT 300' 'ANT_FRAME ENU' \
    'ANT_000 a,0,0,0,0,0' 'ANT_001 b,50,20,0,0,0' >"$1"
  truncate -s 4096 "$1"
}
# 40000 samples, none of them 0.
perl -e 'srand(3); print map { chr(1 + int(rand(255))) } 1 .. 80000' >samples
# utc SAMPLES: the time so many microseconds after the start, as headers have it.
utc() { perl -MPOSIX -e 'my $us = shift; print strftime("%Y-%m-%d-%H:%M:%S", gmtime(1704110400 + int($us / 1e6))), sprintf(".%06d", $us % 1000000)' "$1"; }
for power in 31 32 40; do
  # The samples lie around 2^power; whole integrations of 5 ms from the 20,000th before it on.
  begin=$(((1 << power) - 20000)) && begin=$((begin - begin % 5000))
  stream long.dada $((2 * (begin + 40000))) 2024-01-01-12:00:00
  perl -e 'open(my $out, "+<", "long.dada") or die; seek($out, 4096 + 2 * $ARGV[0], 0); local $/;
    open(my $in, "<", "samples"); print {$out} <$in>' $begin
  stream short.dada 80000 "$(utc $begin)"
  cat samples >>short.dada
  for tool in correlate beamform; do
    case $tool in
      correlate) options="--channels 16 --integration 5ms --phase-centre 02h30m00s,-26d00m00s" ;;
      beamform) options="--channels 16 --centre 02h30m00s,-26d00m00s --integrate 5" ;;
    esac
    run $tool -q long.dada $options --samples $begin:40000 -o long.out --overwrite
    run $tool -q short.dada $options -o short.out --overwrite
    case $tool in
      correlate)
        expect_same <(payload long.out) <(payload short.out)
        value() { head -c 4096 "$1" | grep -a "^$2 " | awk '{ print $2 }'; }
        [ "$(value long.out UTC_START) $(value long.out PICOSECONDS)" = "$(value short.out UTC_START) $(value short.out PICOSECONDS)" ] ||
          fail "2^$power samples later it is $(value long.out UTC_START), not $(value short.out UTC_START)"
        ;;
      beamform)
        for part in long short; do tail -c 8000 $part.out | od -An -v -t f4 -w4 >$part.txt; done
        expect_near_numbers short.txt long.txt 3e-7 "2^$power samples later" # rounding of delays: 1e-7
        ;;
    esac
  done
done

# Memory does not grow with the length: 180 MB more of input take 9 MB at most, which threads and allocators vary by.
printf '# site -26.7 116.67 377\nname,east_m,north_m,up_m\n' >eight.csv
for i in {0..7}; do echo "a$i,$((i * 20)),$((i * i)),0"; done >>eight.csv
ingest="ingest --from raw --bits 4 --antenna-count 8 --channels 1 --pols 2 --bandwidth 1MHz --sample-rate 1MHz --freq 150MHz
  --start 2024-01-01T12:00:00 --antennas eight.csv"
for length in 2 20; do
  head -c ${length}0000000 /dev/zero | tr '\0' '\21' >raw.$length
  run $ingest -q raw.$length -o dada.$length
done
for tool in "$ingest raw.N -o out.dada" "correlate --channels 64 --integration 100ms dada.N -o out.vis" \
  "beamform --channels 16 --centre zenith --integrate 100 dada.N -o out.fil"; do
  for length in 2 20; do
    run ${tool//.N/.$length} -v --overwrite
    declare "mb_$length=$(sed -n 's/.*peak memory \([0-9.]*\) MB.*/\1/p' "$(stderr_file)")"
  done
  awk -v a="${mb_2:-0}" -v b="${mb_20:-0}" 'BEGIN { exit !(a > 0 && b < a + 9) }' ||
    fail "${tool%% *} took $mb_2 MB of memory for 1.25 s of data and $mb_20 MB for 12.5 s"
done
