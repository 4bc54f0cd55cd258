# SPDX-License-Identifier: GPL-3.0-or-later
# correlate as a user runs it: exact products, errors and exit statuses, pipes, reproducibility, no partial outputs.
source "$APSYN_SOURCE/tests/cli/lib.sh"

# header FILE_SIZE [KEY VALUE]...: a stream of two antennas, 8 bits, on standard output; VALUE - leaves the key out.
header() {
  local size=$1 key
  shift
  {
    printf 'HDR_VERSION 1.0\nHDR_SIZE 4096\nUTC_START 2024-01-01-12:00:00\nTELESCOPE test\nINSTRUMENT apsyn\nSOURCE none\n'
    printf 'NPOL 1\nNCHAN 1\nNANT 2\nORDER TFAP\n'
    printf 'SITE_LAT -26.7\nSITE_LON 116.67\nSITE_ALT 377\nANT_FRAME ENU\n'
    local -A keys=([FREQ]=150 [BW]=1 [TSAMP]=1 [NBIT]=8 [NDIM]=2 [RESOLUTION]=4 [ENCODING]=TWOSCOMPLEMENT [ANT_000]=a,0,0,0,0,0 [ANT_001]=b,120,10,0,0,0 [FILE_SIZE]=$size)
    while [ $# -gt 0 ]; do keys[$1]=$2 && shift 2; done
    for key in "${!keys[@]}"; do [ "${keys[$key]}" = - ] || echo "$key ${keys[$key]}"; done
  } >header.txt
  cat header.txt
  head -c $((4096 - $(stat -c %s header.txt))) /dev/zero
}
# samples N: N times 3 + 4i at antenna a and -128 - 128i at b.
samples() { for ((i = 0; i < $1; ++i)); do printf '\x03\x04\x80\x80'; done; }
samples 1024 >samples.bin
{ header 4096 && cat samples.bin; } >tiny.dada
# floats FILE N: the first N floats behind the header of a visibility stream.
floats() {
  local size
  size=$(head -c 4096 "$1" | grep -a '^HDR_SIZE' | awk '{ print $2 }')
  od -A n -v -t f4 -j "$size" -N $((4 * $2)) -w$((4 * $2)) "$1" | tr -s ' ' | sed 's/^ //'
}

# Exact products of integers: 25, (3 + 4i)(-128 + 128i), 32768, all with weight 1.
run correlate tiny.dada --phase-centre none --integration 1024us -o tiny.vis
[ "$(floats tiny.vis 9)" = "25 0 -896 -128 32768 0 1 1 1" ] || fail "tiny.vis: $(floats tiny.vis 9)"
run correlate tiny.dada --phase-centre none --integration 256us --no-autos -o cross.vis
[ "$(floats cross.vis 3)" = "-896 -128 1" ] || fail "cross.vis: $(floats cross.vis 3)"
printf 'antenna,gain_amplitude,phase_rad\na,2,0\nb,4,0\n' >gains.csv
run correlate tiny.dada --phase-centre none --gains gains.csv -o gains.vis
[ "$(floats gains.vis 6)" = "6.25 0 -112 -16 2048 0" ] || fail "gains.vis: $(floats gains.vis 6)"
# Gains that differ by channel divide the fine channels of theirs: of two input channels, 16 fine ones.
LC_ALL=C awk 'BEGIN { srand(4); for (i = 0; i < 4096 * 2; ++i) printf "\\x%02x", 1 + int(127 * rand()) }' >codes.txt
{ header 8192 BW 2 RESOLUTION 8 | sed 's/^NCHAN 1$/NCHAN 2/' && printf '%b' "$(cat codes.txt)"; } >two.dada
printf 'antenna,channel,gain_amplitude,phase_rad\na,0,2,0.5\na,1,4,-1\nb,0,3,0.2\nb,1,0.5,1.1\n' >two.csv
run correlate two.dada --channels 8 --phase-centre none -o undivided.vis
run correlate two.dada --channels 8 --phase-centre none --gains two.csv -o divided.vis
paste <(floats undivided.vis 96 | tr ' ' '\n') <(floats divided.vis 96 | tr ' ' '\n') | awk '
  { if (NR % 2) { re = $1; by_re = $2; next }
    n = NR / 2 - 1; baseline = int(n / 16); high = n % 16 >= 8
    g[0] = high ? 4 : 2; p[0] = high ? -1 : 0.5; g[1] = high ? 0.5 : 3; p[1] = high ? 1.1 : 0.2
    i = baseline == 2; j = baseline > 0
    a = g[i] * g[j]; t = p[i] - p[j]
    e = (re - a * (by_re * cos(t) - $2 * sin(t))) ^ 2 + ($1 - a * (by_re * sin(t) + $2 * cos(t))) ^ 2
    bad += !(e <= 1e-10 * (re * re + $1 * $1) + 1e-6); sum += re * re + $1 * $1 }
  END { print NR, bad + 0, (sum > 1000) }' >divided.txt
[ "$(cat divided.txt)" = "96 0 1" ] || fail "gains by channel: $(cat divided.txt)"
run correlate tiny.dada --phase-centre none --flag-antennas b -o flagged.vis
[ "$(floats flagged.vis 9)" = "25 0 0 0 0 0 1 0 0" ] || fail "flagged.vis: $(floats flagged.vis 9)"
# Missing data count as missing: the first quarter of antenna a.
{ header 4096 && for ((i = 0; i < 256; ++i)); do printf '\0\0\x80\x80'; done && tail -c +1025 samples.bin; } >missing.dada
run correlate missing.dada --phase-centre none -o missing.vis
[ "$(floats missing.vis 9)" = "25 0 -896 -128 32768 0 0.75 0.75 1" ] || fail "missing.vis: $(floats missing.vis 9)"
expect_stderr "1 of 2 antennas miss samples, a 25 %" "1 of 2 inputs have more" "b polarisation 0 100 %"
run correlate missing.dada --phase-centre none -v -o missing.ms
expect_stderr "samples of a: saturated 0 %, missing 25 %" "samples of b: saturated 100 %, missing 0 %"
# ... also in the Measurement Set, and nothing is said of antennas that are left out.
grep -aq "samples of b: saturated 100 %" missing.ms/HISTORY/table.f* || fail "no sample counts in HISTORY"
run correlate missing.dada --phase-centre none --flag-antennas b -o quiet.vis
expect_stderr "1 of 2 antennas"
! grep -q "inputs have more" "$STATE/stderr" || fail "saturation of a flagged antenna"
# The last integration may be incomplete: 1024 samples are two integrations of 640 and one of 384.
run correlate tiny.dada --phase-centre none --integration 640us --no-autos -o partial.vis
[ "$(floats partial.vis 6)" = "-896 -128 1 -896 -128 0.6" ] || fail "partial.vis: $(floats partial.vis 6)"
run correlate tiny.dada --phase-centre none --samples 512:256 -o range.vis
run correlate tiny.dada --phase-centre none --integration 1.5us -o rounded.vis
expect_stderr "--integration" "2 spectra"

# Wrong usage.
expect_exit 2 correlate tiny.dada --channels 0 -o x.vis
expect_exit 2 correlate tiny.dada --integration 5 -o x.vis
expect_stderr "--integration"
expect_exit 2 correlate tiny.dada --integration 0s -o x.vis
expect_exit 2 correlate tiny.dada --channels 8 --average-channels 3 -o x.vis
expect_stderr "--average-channels"
expect_exit 2 correlate tiny.dada --phase-centre here -o x.vis
expect_exit 2 correlate tiny.dada --flag-antennas c -o x.vis
expect_stderr "c"
expect_exit 2 correlate tiny.dada --samples 5000:10 -o x.vis
expect_exit 2 correlate tiny.dada --max-memory 1MB -o x.vis
expect_stderr "--max-memory"
expect_exit 2 correlate tiny.dada -o tiny.vis
expect_stderr "tiny.vis" "--overwrite"
expect_exit 4 correlate tiny.dada --device cuda:77 -o x.vis
expect_exit 1 correlate nowhere.dada -o x.vis
expect_stderr "nowhere.dada"
expect_exit 1 correlate tiny.dada -o missing/x.vis
{ header 4096 ANT_000 - ANT_001 - && cat samples.bin; } >homeless.dada
expect_exit 2 correlate homeless.dada -o x.vis
expect_stderr "homeless.dada" "--antennas"
{ header 4096 ANT_001 - && cat samples.bin; } >half.dada
expect_exit 3 correlate half.dada -o x.vis
expect_no_file x.vis

for taps in -1 65 4.5 four; do
  expect_exit 2 correlate tiny.dada --channels 8 --pfb-taps $taps -o x.vis
  expect_stderr "--pfb-taps"
done
expect_exit 2 correlate tiny.dada --channels 8 --pfb-taps 4 --window blackman -o x.vis
expect_stderr "--window" "blackman"
expect_exit 2 correlate tiny.dada --pfb-taps 4 -o x.vis
expect_stderr "--pfb-taps 4" "--channels"
expect_no_file x.vis

# A filterbank: tones are constant here, 3 + 4i and -128 - 128i, at the centre of fine channel 4 of 8. Of 128 spectra
# the first and the last two reach beyond the recording.
run correlate tiny.dada --phase-centre none --channels 8 --pfb-taps 4 -o pfb.vis
floats pfb.vis 72 | awk '{ exit !($1 < 1e-3 && $3 < 0.02 && $9 > 250 && $9 < 260 && $10 == 0 && $49 == 0.96875 && $72 == 0.96875) }' ||
  fail "pfb.vis: $(floats pfb.vis 72)"
run correlate tiny.dada --phase-centre none --channels 8 --pfb-taps 0 --window hann -o plain.vis
expect_stderr "--window" "--pfb-taps"
run correlate tiny.dada --phase-centre none --channels 8 -o plain.vis --overwrite
for window in hann hamming rect; do
  run correlate tiny.dada --phase-centre none --channels 8 --pfb-taps 4 --window $window -o $window.vis
done
expect_same <(tail -c +4097 pfb.vis) <(tail -c +4097 hann.vis)
expect_different <(tail -c +4097 hann.vis) <(tail -c +4097 hamming.vis) "hann and hamming are the same"
expect_different <(tail -c +4097 hann.vis) <(tail -c +4097 rect.vis) "hann and rect are the same"
expect_exit 1 correlate tiny.dada --channels 512 --pfb-taps 4 -o x.vis
expect_stderr "no usable data"
run correlate tiny.dada --channels 8 --pfb-taps 4 --dry-run
expect_stdout "4 taps" "32 samples"

# Malformed input.
for key in TSAMP FREQ NBIT; do
  { header 4096 $key - && cat samples.bin; } >without.dada
  expect_exit 3 correlate without.dada -o x.vis
  expect_stderr "without.dada" "$key"
done
head -c 8000 tiny.dada >short.dada
expect_exit 3 correlate short.dada -o x.vis
expect_exit 3 correlate short.dada -o x.ms
expect_exit 3 correlate - -o x.vis <short.dada
: >empty.dada
expect_exit 3 correlate empty.dada -o x.vis
expect_no_file x.vis x.ms
# Nothing usable.
{ header 4096 && head -c 4096 /dev/zero; } >silent.dada
expect_exit 1 correlate silent.dada -o x.vis
expect_stderr "no usable data"
expect_exit 1 correlate silent.dada -o x.ms
expect_exit 1 correlate tiny.dada --flag-antennas a,b -o x.vis
expect_exit 1 correlate tiny.dada --channels 4096 -o x.vis
expect_stderr "no usable data"
expect_no_file x.vis x.ms

cat >sky.txt <<'END'
Format = Name, Type, Ra, Dec, I
one, POINT, 02:30:00, -26.42.00, 2000
END
run simulate --array mwa-32t --sky sky.txt --noise 1e6Jy --bits 32 --duration 1ms -o floats.dada
# Quantised samples: 4-bit noise at 2.95 steps keeps .988 of its amplitude, for which SCALE makes up, and of its power
# .976 and .012 of rounding errors: autocorrelations are 1 / .988 of the truth until they are corrected, exactly or by
# gains, and SCALE_GAIN is taken out.
run simulate --array mwa-32t --sky sky.txt --noise 1e6Jy --bits 4 --duration 20ms -o noise.dada
for channels in 1 8; do
  options="--phase-centre none --channels $channels --average-channels $channels --integration 20ms --overwrite"
  run correlate noise.dada $options -o raw.vis
  run correlate noise.dada $options --van-vleck -o vv.vis
  expect_stderr "--van-vleck"
  paste <(floats raw.vis 1) <(floats vv.vis 1) | awk '{ r = $2 / $1; exit !(r > 0.985 && r < 0.991) }' ||
    fail "$channels channels: $(floats raw.vis 1) becomes $(floats vv.vis 1)"
done
expect_exit 2 correlate floats.dada --van-vleck -o x.vis
expect_stderr "--van-vleck" "32 bits"

# Integers: untouched samples give the same bytes by either kernel, requantised spectra nearly the same means.
run correlate tiny.dada --phase-centre none --device cpu --algorithm register -o register.vis
run correlate tiny.dada --phase-centre none --device cpu --algorithm auto -o auto.vis
expect_same <(tail -c +4097 register.vis) <(tail -c +4097 auto.vis)
if grep -q avx512_vnni /proc/cpuinfo; then
  run correlate tiny.dada --phase-centre none --device cpu --algorithm tensor -o tensor.vis
  expect_same <(tail -c +4097 register.vis) <(tail -c +4097 tensor.vis)
fi
run correlate noise.dada --phase-centre none --channels 8 -o spectra.vis
for bits in 8 4; do
  for dither in "" --dither; do
    run correlate noise.dada --phase-centre none --device cpu --channels 8 --requantise $bits $dither -v -o rounded.vis --overwrite
    expect_stderr "clipped"
    paste <(floats spectra.vis 1) <(floats rounded.vis 1) | awk '{ r = $2 / $1; exit !(r > 0.98 && r < 1.02 && r != 1) }' ||
      fail "--requantise $bits $dither: $(floats spectra.vis 1) becomes $(floats rounded.vis 1)"
  done
done
for algorithm in pair group2 group4 hybrid2 hybrid4; do
  expect_exit 2 correlate noise.dada --device cpu --algorithm $algorithm -o x.vis
  expect_stderr "--algorithm $algorithm" "GPU"
done
expect_exit 2 correlate noise.dada --device cpu --channels 8 --algorithm tensor -o x.vis
expect_stderr "--algorithm tensor" "--requantise"
expect_exit 2 correlate noise.dada --channels 8 --requantise 5 -o x.vis
expect_exit 2 correlate noise.dada --channels 8 --dither -o x.vis
expect_stderr "--dither" "--requantise"

# Real time: 1024 samples of a second each are easily kept up with, a microsecond of data never; both are complete.
{ header 4096 TSAMP 1000000 BW 0.000001 && cat samples.bin; } >slow.dada
run correlate slow.dada --phase-centre none --integration 1024s --require-realtime -o slow.vis
expect_stderr "times as fast as recorded" "not late"
expect_same <(tail -c 36 tiny.vis) <(tail -c 36 slow.vis)
{ header 4096 TSAMP 0.001 BW 1000 FREQ 1500 && cat samples.bin; } >fast.dada
expect_exit 1 correlate fast.dada --phase-centre none --integration 1024ns --require-realtime -o late.vis
expect_stderr "--require-realtime" "complete"
expect_same <(tail -c 36 tiny.vis) <(tail -c 36 late.vis)
run bash -c "(head -c 6144 slow.dada; sleep 2; tail -c +6145 slow.dada) | correlate --phase-centre none --integration 1024s --realtime -o waited.vis"
expect_stderr "not late"
# Waiting for a pipe is no work: of 1024 s of data in those two it would be 512 times at most.
sed -n 's/.*info: \([0-9.e+]*\) times as fast as recorded.*/\1/p' "$(stderr_file)" | awk '{ n = $1 } END { exit !(n > 512) }' ||
  fail "waiting counts: $(grep 'times as fast' "$(stderr_file)")"

# Files, pipes, threads and memory all give the same bytes.
run simulate --array mwa-32t --sky sky.txt --noise 5000Jy --bits 4 --drop 0.05 --duration 60ms -o obs.dada
options="--channels 64 --integration 20ms --phase-centre 02h28m00s,-26d42m00s"
run correlate obs.dada $options --threads 1 -o one.vis
for threads in 2 4 7; do
  cp one.vis single.vis
  run correlate obs.dada $options --threads $threads -o one.vis --overwrite
  expect_same single.vis one.vis
done
{ header 4096 && head -c 4096 "$APSYN_SOURCE/README.md"; } >text.dada
# A band pass of fine channels, and gains of input channels: 2 in all, 4 in fine channel 3 of antenna b.
printf 'antenna,channel,gain_amplitude,phase_rad\nb,3,4,0\nb,0,1,0\n' >bandpass.csv
printf 'antenna,gain_amplitude,phase_rad\na,2,0\nb,2,0\n' >gains.csv
run correlate text.dada --phase-centre none --channels 8 -o flat.vis
run correlate text.dada --phase-centre none --channels 8 --bandpass bandpass.csv --gains gains.csv -o band.vis
paste -d ' ' <(floats flat.vis 48) <(floats band.vis 48) | awk '{
  for (i = 1; i <= 48; ++i) {
    baseline = int((i - 1) / 16); channel = int((i - 1) % 16 / 2)
    gain = 4 * (channel == 3 ? 4 ^ baseline : 1)
    if (($i / gain - $(48 + i)) ^ 2 > 1e-10 * ($i ^ 2 + 1)) { print i, $i, $(48 + i); exit 1 } } }' ||
  fail "band.vis: $(floats band.vis 48)"
expect_exit 3 correlate tiny.dada --phase-centre none --channels 2 --bandpass bandpass.csv -o x.vis
expect_stderr "bandpass.csv"

# A range that starts at an integration gives that integration, byte for byte, whatever reaches beyond it.
record=$((8 * 528 * 64 * 4 + 4 * 528 * 64 * 4))
for how in "--phase-centre 02h28m00s,-26d42m00s --device cpu" "--phase-centre 02h28m00s,-26d42m00s --pfb-taps 4" "--phase-centre 02h28m00s,-26d42m00s --pfb-taps 4 --requantise 8 --dither"; do
  run correlate obs.dada --channels 64 --integration 5ms $how -o whole.vis --overwrite
  run correlate obs.dada --channels 64 --integration 5ms $how --samples 12800:12800 -o part.vis --overwrite
  expect_same <(tail -c +4097 whole.vis | tail -c +$((2 * record + 1)) | head -c $((2 * record))) <(tail -c +4097 part.vis | head -c $((2 * record)))
done

run bash -c "cat obs.dada | correlate $options -o piped.vis"
expect_same <(tail -c +4097 one.vis) <(tail -c +4097 piped.vis)
run correlate obs.dada $options --max-memory 60MB -o small.vis
run correlate obs.dada $options -o obs.ms
expect_file obs.ms
expect_exit 2 correlate obs.dada $options -o obs.ms
run correlate obs.dada $options --overwrite -o obs.ms
run correlate obs.dada --channels 64 --integration 20ms --phase-centre none -o drift.ms
run correlate obs.dada $options --pfb-taps 4 --threads 1 -o pfb1.vis
run bash -c "cat obs.dada | correlate $options --pfb-taps 4 --threads 3 -o pfb3.vis"
expect_same <(tail -c +4097 pfb1.vis) <(tail -c +4097 pfb3.vis)
run correlate obs.dada --channels 64 --dry-run
expect_stdout "32 antennas" "64 channels" "memory"

# A reader that goes away stops it; a writer that is killed is an error.
bash -c "correlate obs.dada --channels 64 --integration 1ms -o - 2>stderr.txt; echo \$? >status.txt" | head -c 100 >/dev/null
[ "$(cat status.txt)" -eq 141 ] || fail "status $(cat status.txt) after the reader went away"
head -c 300000 obs.dada | expect_exit 3 correlate $options -o x.vis
expect_no_file x.vis

# Real samples need channels.
{ header 4096 NDIM 1 RESOLUTION 2 TSAMP 0.5 && cat samples.bin; } >real.dada
expect_exit 2 correlate real.dada -o x.vis
expect_stderr "real.dada: its samples are real" "--channels 2 or more"
run correlate real.dada --channels 2 -o real.vis

# Positions that cannot be, more channels than memory, samples that are no numbers.
{ header 4096 ANT_001 b,1e15,0,0,0,0 && cat samples.bin; } >far.dada
expect_exit "2|3" correlate far.dada -o x.vis
expect_exit 2 correlate tiny.dada --channels 16777216 --max-memory 1GB -o x.vis
expect_stderr "--max-memory"
expect_no_file x.vis
{ header 8192 NBIT 32 ENCODING FLOAT && for ((i = 0; i < 512; ++i)); do printf '\0\0\xc0\x7f\0\0\x80\x3f\0\0\0\x40\0\0\0\0'; done; } >nan.dada
run correlate nan.dada --phase-centre none -o nan.vis
[ "$(floats nan.vis 9)" = "0 0 0 0 4 0 0 0 1" ] || fail "nan.vis: $(floats nan.vis 9)"

# The last sliver of an integration is kept, or left out on request: 100 ms in integrations of 30 ms.
run simulate -q --array mwa-32t --noise 100Jy --duration 100ms -o sliver.dada
run correlate -q sliver.dada --channels 4 --integration 30ms -o kept.vis
run correlate sliver.dada --channels 4 --integration 30ms --drop-incomplete -o cut.vis
expect_stderr "the last integration has 10 ms of 30 ms and is left out"
record=$(head -c 4096 kept.vis | awk '/^RESOLUTION / { print $2 }')
data_bytes() { awk '/^FILE_SIZE / { print $2; exit }' "$1"; }
[ "$(data_bytes kept.vis)" -eq $((4 * record)) ] || fail "kept.vis has $(data_bytes kept.vis) bytes, not 4 of $record"
[ "$(data_bytes cut.vis)" -eq $((3 * record)) ] || fail "cut.vis has $(data_bytes cut.vis) bytes, not 3 of $record"
