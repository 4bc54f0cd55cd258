# SPDX-License-Identifier: GPL-3.0-or-later
# beamform as a user runs it: exact sums, formats, names, errors and exit statuses, pipes, reproducibility.
source "$APSYN_SOURCE/tests/cli/lib.sh"

# header FILE_SIZE [KEY VALUE]...: a stream of two antennas, 8 bits, on standard output; VALUE - leaves the key out.
header() {
  local size=$1 key
  shift
  {
    printf 'HDR_VERSION 1.0\nHDR_SIZE 4096\nUTC_START 2024-01-01-12:00:00\nTELESCOPE test\nINSTRUMENT apsyn\nSOURCE none\n'
    printf 'NANT 2\nORDER TFAP\n'
    printf 'SITE_LAT -26.7\nSITE_LON 116.67\nSITE_ALT 377\nANT_FRAME ENU\n'
    local -A keys=([FREQ]=150 [BW]=1 [TSAMP]=1 [NBIT]=8 [NDIM]=2 [NPOL]=1 [NCHAN]=1 [RESOLUTION]=4 [ENCODING]=TWOSCOMPLEMENT [ANT_000]=a,0,0,0,0,0 [ANT_001]=b,120,10,0,0,0 [FILE_SIZE]=$size)
    while [ $# -gt 0 ]; do keys[$1]=$2 && shift 2; done
    for key in "${!keys[@]}"; do [ "${keys[$key]}" = - ] || echo "$key ${keys[$key]}"; done
  } >header.txt
  cat header.txt
  head -c $((4096 - $(stat -c %s header.txt))) /dev/zero
}
# 1024 times 3 + 4i at antenna a and -128 - 128i at b.
for ((i = 0; i < 1024; ++i)); do printf '\x03\x04\x80\x80'; done >samples.bin
{ header 4096 && cat samples.bin; } >tiny.dada

# floats FILE N [SKIP]: N floats of a beam behind SKIP others, DADA or SIGPROC.
data_of() {
  case $1 in
    *.dada) echo $(($(head -c 4096 "$1" | grep -a '^HDR_SIZE' | awk '{ print $2 }'))) ;;
    *) echo $(($(grep -abo HEADER_END "$1" | head -1 | cut -d: -f1) + 10)) ;;
  esac
}
floats() {
  od -A n -v -t f4 -j $(($(data_of "$1") + 4 * ${3:-0})) -N $((4 * $2)) -w$((4 * $2)) "$1" | tr -s ' ' | sed 's/^ //'
}
# values FILE TEXT: its first floats, to the digits that TEXT has.
values() {
  local -a wanted=($2) got
  read -ra got < <(floats "$1" ${#wanted[@]})
  local i
  for i in "${!wanted[@]}"; do
    expect_near "${got[$i]:-none}" "${wanted[$i]}" "$(awk -v x="${wanted[$i]}" 'BEGIN { print 1e-6 * (x < 0 ? -x : x) + 1e-30 }')" "$1 value $i"
  done
}
# number FILE NAME, integer FILE NAME: a value of a SIGPROC header.
at_key() { echo $(($(head -c 1000 "$1" | grep -abo "$2" | head -1 | cut -d: -f1) + ${#2})); }
number() { od -A n -t f8 -j "$(at_key "$1" "$2")" -N 8 "$1" | tr -d ' '; }
integer() { od -A n -t d4 -j "$(at_key "$1" "$2")" -N 4 "$1" | tr -d ' '; }

# Exact sums towards the zenith: the mean of both, -62.5 - 62i, its power, the mean of their powers.
up="--centre zenith"
run beamform tiny.dada $up --product voltage --bits 32 -o v.dada
values v.dada "-62.5 -62 -62.5 -62"
head -c 4096 v.dada | grep -aqE '^NANT +1$' || fail "NANT of a beam"
for line in 'ORDER +TFP' 'NBIT +32' 'INSTRUMENT +dspsr' 'BEAM_ID +b000' 'TRACKING +stationary' 'BEAM_EL +90\.0*'; do
  head -c 4096 v.dada | grep -aqE "^$line\$" || fail "no line $line in v.dada"
done
run beamform tiny.dada $up -o p.fil
values p.fil "7750.25 7750.25"
run beamform tiny.dada --incoherent -o i.fil
values i.fil "16396.5"
printf 'antenna,gain_amplitude,phase_rad\na,2,0\nb,4,0\n' >gains.csv
run beamform tiny.dada $up --gains gains.csv --product voltage --bits 32 -o gains.dada
values gains.dada "-15.25 -15"
# Gains that differ by channel divide the fine channels of theirs: of two input channels, 16 fine ones.
LC_ALL=C awk 'BEGIN { srand(4); for (i = 0; i < 4096 * 2; ++i) printf "\\x%02x", 1 + int(127 * rand()) }' >codes.txt
{ header 8192 NCHAN 2 BW 2 RESOLUTION 8 && printf '%b' "$(cat codes.txt)"; } >two.dada
printf 'antenna,channel,gain_amplitude,phase_rad\na,0,2,0.5\na,1,4,-1\nb,0,3,0.2\nb,1,0.5,1.1\n' >two.csv
run beamform two.dada $up --subarray b --channels 8 --product voltage --bits 32 -o undivided.dada
run beamform two.dada $up --subarray b --channels 8 --product voltage --bits 32 --gains two.csv -o divided.dada
paste <(floats undivided.dada 256 | tr ' ' '\n') <(floats divided.dada 256 | tr ' ' '\n') | awk '
  { if (NR % 2) { re = $1; by_re = $2; next }
    high = (NR / 2 - 1) % 16 >= 8; a = high ? 0.5 : 3; t = high ? 1.1 : 0.2
    e = (re - a * (by_re * cos(t) - $2 * sin(t))) ^ 2 + ($1 - a * (by_re * sin(t) + $2 * cos(t))) ^ 2
    bad += !(e <= 1e-10 * (re * re + $1 * $1) + 1e-8); sum += re * re + $1 * $1 }
  END { print NR, bad + 0, (sum > 1000) }' >divided.txt
[ "$(cat divided.txt)" = "256 0 1" ] || fail "gains by channel: $(cat divided.txt)"
printf 'antenna,gain_amplitude,phase_rad\na,3,0\nb,1,0\n' >weights.csv
run beamform tiny.dada $up --weights weights.csv --product voltage --bits 32 -o weights.dada
values weights.dada "-29.75 -29"
run beamform tiny.dada $up --flag-antennas b --product voltage --bits 32 -o flagged.dada
values flagged.dada "3 4"
run beamform tiny.dada $up --subarray a --product voltage --bits 32 -o sub.dada
expect_same <(tail -c +4097 flagged.dada) <(tail -c +4097 sub.dada)
printf 'id,l,m,antennas\nboth,0,0,\nfirst,0,0,a\nsecond,0,0,1\nnamed,0,0,a;b\n' >beams.csv
run beamform tiny.dada --beams beams.csv --product voltage --bits 32 -o 'beam%02d.dada'
for beam in 00:-62.5:-62 01:3:4 02:-128:-128 03:-62.5:-62; do
  IFS=: read -r number_of re im <<<"$beam"
  values "beam$number_of.dada" "$re $im"
done
# A band that descends: other readers take BW < 0 for the lower sideband, so the samples are conjugates, and say so. Read
# again, they are what they were.
{ header 8192 NCHAN 2 BW -2 RESOLUTION 8 && cat samples.bin samples.bin; } >down.dada
for bits in 8 32; do
  run beamform down.dada $up --subarray a --product voltage --bits $bits -o down-$bits.dada
  head -c 4096 down-$bits.dada | grep -aqE '^SIDEBAND_CONJ +1$' || fail "no SIDEBAND_CONJ 1 in down-$bits.dada"
  run beamform down-$bits.dada $up --product voltage --bits $bits -o twice-$bits.dada
  expect_same <(tail -c +4097 down-$bits.dada) <(tail -c +4097 twice-$bits.dada)
done
values down-32.dada "3 -4 3 -4"
run beamform tiny.dada $up --subarray a --product voltage --bits 32 -o rising.dada
head -c 4096 rising.dada | grep -aqE '^SIDEBAND_CONJ +0$' || fail "SIDEBAND_CONJ of a rising band"
# Real samples need channels.
{ header 4096 NDIM 1 RESOLUTION 2 TSAMP 0.5 && cat samples.bin; } >real.dada
expect_exit 2 beamform real.dada --incoherent -o real.fil
expect_stderr "real.dada: its samples are real" "--channels 2 or more"
run beamform real.dada --incoherent --channels 4 -o real.fil
# 8 bits: 24 steps of the RMS of a component; the step is SCALE.
run beamform tiny.dada $up --product voltage -o q.dada
scale=$(head -c 4096 q.dada | awk '/^SCALE / { print $2 }')
expect_near "$scale" "$(awk 'BEGIN { print sqrt(7750.25 / 2) / 24 }')" 1e-4 "SCALE"
[ "$(od -A n -t d1 -j 4096 -N 2 q.dada | tr -s ' ')" = " -24 -24" ] || fail "8-bit voltages $(od -A n -t d1 -j 4096 -N 2 q.dada)"

# Away from the zenith: antenna b, 120 m east, receives a wave from l = 0.5 exp(2 pi i 60 m / lambda) ahead.
printf 'id,az,el\neast,90deg,60deg\n' >east.csv
run beamform tiny.dada --beams east.csv --product voltage --bits 32 -o east.dada
read -r re im < <(awk 'BEGIN {
  turns = -6.283185307179586 * 150e6 * 60 / 299792458
  c = cos(turns); s = sin(turns)
  print (3 - 128 * (c - s)) / 2, (4 - 128 * (c + s)) / 2 }')
read -ra got < <(floats east.dada 2)
expect_near "${got[0]}" "$re" 1e-3 "real part to the east"
expect_near "${got[1]}" "$im" 1e-3 "imaginary part to the east"

# Missing data: the first quarter of antenna a; then all of both antennas between 512 and 768.
{ header 4096 && for ((i = 0; i < 256; ++i)); do printf '\0\0\x80\x80'; done && tail -c +1025 samples.bin | head -c 1024 && head -c 1024 /dev/zero && tail -c 1024 samples.bin; } >missing.dada
run beamform missing.dada $up --product voltage --bits 32 -o missing-beam.dada
values missing-beam.dada "-128 -128"
[ "$(floats missing-beam.dada 4 512)" = "-62.5 -62 -62.5 -62" ] || fail "after the gap: $(floats missing-beam.dada 4 512)"
[ "$(floats missing-beam.dada 2 1200)" = "0 0" ] || fail "where all is missing: $(floats missing-beam.dada 2 1200)"
head -c 4096 missing-beam.dada | grep -aqE '^MISSING_NSAMP +128$' || fail "MISSING_NSAMP of a beam"
run beamform missing.dada $up --integrate 1024 -o mean.fil
values mean.fil "$(awk 'BEGIN { print (256 * 32768 + 512 * 7750.25) / 768 }')"
# A part that begins inside a span of missing samples.
run beamform missing.dada $up --integrate 924 --samples 100: -o mean.fil --overwrite
values mean.fil "$(awk 'BEGIN { printf "%.3f", (156 * 32768 + 512 * 7750.25) / 668 }')"
{ header 8192 NBIT 32 ENCODING FLOAT RESOLUTION 16 && for ((i = 0; i < 512; ++i)); do printf '\0\0\xc0\x7f\0\0\x80\x3f\0\0\0\x40\0\0\0\0'; done; } >nan.dada
run beamform nan.dada $up --product voltage --bits 32 -o nan-beam.dada
values nan-beam.dada "2 0"

# A foreign recording that ended early is told of once.
{ header 16384 RESOLUTION 1024 && cat samples.bin; } >early.dada
run beamform early.dada $up -o early.fil
[ "$(grep -c "ended early" "$STATE/stderr")" -eq 1 ] || fail "not told once that a recording ended early: $(cat "$STATE/stderr")"

# More beams than a shell lets files be open.
{ echo id,l,m && for ((i = 0; i < 300; ++i)); do echo "b$i,0.00$i,0"; done; } >many.csv
run bash -c "ulimit -Sn 100 && beamform tiny.dada --beams many.csv -o 'many%03d.fil'"
expect_file many000.fil many299.fil

# SIGPROC: the header, and channels that run down.
printf 'id,ra,dec\ncas,23h23m24s,58d48m54s\ncrab,83.63308deg,-22d00m52.2s\n' >sky.csv
{ header 32768 NCHAN 8 BW 8 RESOLUTION 32 && for ((i = 0; i < 1024; ++i)); do printf '\1\0\1\0\2\0\2\0\3\0\3\0\4\0\4\0\5\0\5\0\6\0\6\0\7\0\7\0\10\0\10\0'; done; } >eight.dada
run beamform eight.dada $up --integrate 4 --average-channels 2 -o down.fil
values down.fil "56.5 30.5 12.5 2.5"
expect_near "$(number down.fil fch1)" 153 1e-9 fch1
expect_near "$(number down.fil foff)" -2 1e-9 foff
expect_near "$(number down.fil tsamp)" 4e-6 1e-15 tsamp
expect_near "$(number down.fil tstart)" 60310.5 1e-9 tstart
[ "$(integer down.fil nchans) $(integer down.fil nbits) $(integer down.fil nifs) $(integer down.fil data_type)" = "4 32 1 1" ] || fail "integers of down.fil"
[ "$(stat -c %s down.fil)" -eq $(($(data_of down.fil) + 256 * 4 * 4)) ] || fail "size of down.fil"
run beamform eight.dada --beams east.csv -o ground.fil
expect_near "$(number ground.fil az_start)" 90 1e-9 "az_start"
expect_near "$(number ground.fil za_start)" 30 1e-9 "za_start"
run beamform eight.dada --beams sky.csv -o 'sky%d.fil'
expect_near "$(number sky0.fil src_raj)" 232324 1e-4 "src_raj"
expect_near "$(number sky1.fil src_raj)" 53431.9392 1e-3 "src_raj"
expect_near "$(number sky1.fil src_dej)" -220052.2 1e-4 "src_dej"
[ "$(integer sky1.fil ibeam) $(integer sky1.fil nbeams)" = "2 2" ] || fail "ibeam of sky1.fil"
run beamform eight.dada $up --bits 8 -o eight.fil
[ "$(tail -c 8 eight.fil | od -A n -t u1 | tr -s ' ')" = " 64 64 64 64 64 64 64 64" ] || fail "8-bit powers"
sed -n 2p eight.fil.scales.csv | grep -q '^I,0,153500000.000,0,1$' || fail "scales: $(sed -n 2p eight.fil.scales.csv)"
expect_exit 2 beamform eight.dada $up --bits 8 -o -
expect_stderr "--bits 32"

# Patterns.
run beamform tiny.dada --beams sky.csv --pattern 'pattern%d.fits' --size 32
expect_file pattern0.fits pattern1.fits
run beamform tiny.dada $up --pattern near.fits --size 32 --field 10deg --element dish:3m
run quicklook near.fits -o near.png
run quicklook near.fits --range -20:0 --title here -o near20.png
expect_exit 2 beamform tiny.dada $up --pattern near.fits --size 32
expect_exit 2 beamform tiny.dada $up --size 32 -o x.fil
expect_exit 2 beamform tiny.dada $up --pattern x.fits --element horn:3m
expect_exit 2 beamform tiny.dada $up --pattern x.fits -o x.fil
expect_stderr "leave one out"
printf 'id,az,el\nup,0deg,80deg\ndown,0deg,-10deg\n' >low.csv
run beamform tiny.dada --beams low.csv --dry-run
expect_stderr "1 of 2 beams look below the horizon as the recording starts, the first is 'down'"
printf 'id,l,m,antennas\na,0,0,0;nobody\n' >who.csv
expect_exit 3 beamform tiny.dada --beams who.csv --dry-run
expect_stderr "who.csv: beam 'a': antenna 'nobody' is unknown"

# Wrong usage.
for options in "" "--centre here" "--beams nowhere.csv" "--tile 0deg --centre zenith" "--tile 5" "$up --channels 0" \
  "$up --average-channels 2" "$up --product iquv" "$up --product voltage --format sigproc" "$up --format dada" \
  "$up --product voltage --integrate 2" "--incoherent --product voltage" "$up --subarray c" "$up --bits 16" \
  "$up --max-memory 1MB" "--beams beams.csv --centre zenith" "$up --flag-antennas a,b" "$up --pfb-taps 4"; do
  expect_exit "1|2" beamform tiny.dada $options -o x.fil
done
expect_exit 2 beamform tiny.dada --beams beams.csv -o x.fil
expect_stderr "%03d"
for name in 'x%s.fil' 'x%d%d.fil' 'x%' 'x%3d.fil'; do
  expect_exit 2 beamform tiny.dada --beams beams.csv -o "$name"
done
expect_exit 2 beamform tiny.dada --beams beams.csv --product voltage -o 'beam%02d.dada'
expect_stderr "beam00.dada" "--overwrite"
expect_exit 4 beamform tiny.dada $up --device cuda:77 -o x.fil
expect_exit 2 beamform tiny.dada $up --precision half --device cpu -o x.fil
expect_exit 2 beamform tiny.dada $up --precision int16 --device cpu -o x.fil
expect_exit 1 beamform nowhere.dada $up -o x.fil
{ header 4096 ANT_000 - ANT_001 - && cat samples.bin; } >homeless.dada
expect_exit 2 beamform homeless.dada $up -o x.fil
expect_stderr "homeless.dada" "--antennas"
run beamform homeless.dada --incoherent -o homeless.fil
{ header 4096 ANT_001 b,1e15,0,0,0,0 && cat samples.bin; } >far.dada
expect_exit "2|3" beamform far.dada $up --channels 4 -o x.fil
printf 'antenna,gain_amplitude,phase_rad\na,0,0\nb,0,0\n' >zero.csv
expect_exit 2 beamform tiny.dada $up --weights zero.csv -o x.fil
expect_stderr "zero.csv" "b000"
# Malformed input.
bad_beams() {
  printf "$1" >bad.csv
  expect_exit 3 beamform tiny.dada --beams bad.csv -o x.fil
  expect_stderr "bad.csv"
}
bad_beams 'id,ra\na,1h\n'
bad_beams 'id,ra,dec,l,m\na,1h,2deg,0,0\n'
bad_beams 'id,ra,dec\n'
bad_beams 'id,ra,dec\na,1h,95deg\n'
bad_beams 'id,ra,dec\na,1h,5\n'
bad_beams 'id,l,m\na,0.8,0.8\n'
bad_beams 'id,l,m\na,0,0\na,0.1,0\n'
bad_beams 'id,l,m\na b,0,0\n'
bad_beams 'id,l,m,colour\na,0,0,red\n'
head -c 8000 tiny.dada >short.dada
expect_exit 3 beamform short.dada $up -o x.fil
expect_exit 3 beamform - $up -o x.fil <short.dada
{ header 4096 && head -c 4096 /dev/zero; } >silent.dada
expect_exit 1 beamform silent.dada $up -o x.fil
expect_stderr "no usable data"
expect_exit 1 beamform tiny.dada $up --integrate 2048 -o x.fil
expect_no_file x.fil

# A field of beams is a table for --beams.
cat >sky.txt <<'END'
Format = Name, Type, Ra, Dec, I
one, POINT, 02:30:00, -26.42.00, 2000
END
run simulate --array mwa-32t --sky sky.txt --noise 5000Jy --bits 4 --channels 16 --drop 0.05 --duration 40ms -o obs.dada
run beamform obs.dada --tile 2deg --centre '02h30m00s -26d42m00s' --write-beams field.csv
[ "$(wc -l <field.csv)" -gt 19 ] || fail "only $(wc -l <field.csv) lines of beams"
sed -n 2p field.csv | grep -q '^b000,37.50000000deg,-26.70000000deg$' || fail "the first beam: $(sed -n 2p field.csv)"
head -8 field.csv >seven.csv
run beamform obs.dada --tile 2deg --centre zenith --write-beams -
expect_stdout "id,az,el"
# Written beams read back as the same: fixed ones, below the horizon too, sub-arrays, and by those of --subarray.
printf 'id,az,el,antennas\nup,10deg,50deg,\ndown,200deg,-5deg,Tile05;3\n' >fixed.csv
for extra in "" "--subarray 0,1,2,3,4,5,6,7"; do
  run beamform obs.dada --beams fixed.csv $extra --write-beams again.csv --overwrite
  run beamform obs.dada --beams fixed.csv $extra --bits 32 --product voltage --overwrite -o 'fixed%d.dada'
  run beamform obs.dada --beams again.csv --bits 32 --product voltage --overwrite -o 'again%d.dada'
  for beam in 0 1; do expect_same <(tail -c 100000 fixed$beam.dada) <(tail -c 100000 again$beam.dada); done
done
run beamform obs.dada --tile 2deg --centre zenith --dry-run
expect_stdout "32 antennas" "beam b000" "memory"

# Files, pipes, threads and memory all give the same bytes; pieces of a channel follow a source as the whole does.
for product in "--product voltage" "--product iquv --integrate 10 --average-channels 2" "--product power --channels 8 --bits 8" "--incoherent --product coherence --integrate 3"; do
  rm -f one* many* piped*
  run beamform obs.dada --beams seven.csv $product --threads 1 -o 'one%d'
  for threads in 2 7; do
    run beamform obs.dada --beams seven.csv $product --threads $threads -o 'many%d' --overwrite
    for beam in 0 1 6; do expect_same <(tail -c 100000 one$beam) <(tail -c 100000 many$beam); done
  done
  run bash -c "cat obs.dada | beamform --beams seven.csv $product --max-memory 120MB -o 'piped%d'"
  for beam in 0 1 6; do expect_same <(tail -c 100000 one$beam) <(tail -c 100000 piped$beam); done
done
# A range gives its part of the whole, byte for byte, wherever tiles, blocks and steering begin: 16 bytes of voltages
# and 4 of powers for each channel and time.
for how in "--product voltage --bits 32|16|1" "--product voltage --bits 32 --channels 4 --pfb-taps 4 --window hamming|16|4" "--integrate 5|4|5" "--channels 2 --integrate 3|4|6"; do
  IFS='|' read -r how value step <<<"$how"
  case $how in *voltage*) kind=dada ;; *) kind=fil ;; esac
  case $how in *channels*) channels=$((16 * $(sed 's/.*--channels \([0-9]*\).*/\1/' <<<"$how"))) ;; *) channels=16 ;; esac
  size=$((value * channels))
  run beamform obs.dada --beams seven.csv $how --overwrite -o "whole%d.$kind"
  for first in $((step * 20)) $((step * 33)); do
    run beamform obs.dada --beams seven.csv $how --samples $first:$((step * 40)) --overwrite -o "part%d.$kind"
    for beam in 0 6; do
      expect_same <(tail -c +$(($(data_of whole$beam.$kind) + first / step * size + 1)) whole$beam.$kind | head -c $((40 * size))) \
        <(tail -c +$(($(data_of part$beam.$kind) + 1)) part$beam.$kind | head -c $((40 * size)))
    done
  done
done
# Stream out, stream in: a beam on standard output is a voltage stream with its trailer, and correlates with itself.
run bash -c "set -o pipefail; beamform obs.dada --centre '02h30m00s -26d42m00s' --product voltage -o - | correlate --integration 40ms --phase-centre none -o beam.vis"
# The beam's power is that of the source, 2000 Jy, and of the noise of 32 antennas, 5000 / 32 Jy, within 4 % (1 in
# sqrt(800 samples * 16 channels), and what the source's own noise adds).
mean() { floats "$1" "$2" | awk '{ for (i = 1; i <= NF; ++i) sum += $i; print sum / NF }'; }
for fine in 1 8; do
  run beamform obs.dada --centre '02h30m00s -26d42m00s' --channels $fine --integrate $((800 / fine)) -o power$fine.fil
  expect_near "$(mean power$fine.fil $((16 * fine)))" 2156 90 "power of the source's beam"
done
run beamform obs.dada --centre '02h30m00s -20d42m00s' --integrate 800 -o off.fil
awk -v x="$(mean off.fil 16)" 'BEGIN { exit !(x < 400) }' || fail "6 deg off the source: $(mean off.fil 16)"

# A reader that goes away stops it; a writer that is killed is an error.
bash -c "beamform obs.dada $up --product voltage -o - 2>stderr.txt; echo \$? >status.txt" | head -c 100 >/dev/null
[ "$(cat status.txt)" -eq 141 ] || fail "status $(cat status.txt) after the reader went away"
head -c 300000 obs.dada | expect_exit 3 beamform $up -o x2.fil
expect_no_file x2.fil

# Each beam's filterbank carries its id.
printf 'id,az,el\nnorth,0deg,60deg\nup,0deg,89deg\n' >named.csv
run beamform -q --channels 16 --beams named.csv --integrate 8 obs.dada -o 'named%d.fil'
for number in 0 1; do
  id=$(sed -n "$((number + 2))s/,.*//p" named.csv)
  [ "$(head -c 400 named$number.fil | tr -d '\0' | grep -ao "source_name.$id" | wc -l)" = 1 ] || fail "named$number.fil is not called $id"
done
