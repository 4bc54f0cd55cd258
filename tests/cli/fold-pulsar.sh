# SPDX-License-Identifier: GPL-3.0-or-later
# fold-pulsar as a user runs it: a simulated pulsar from voltages to its profile, against what theory says, formats, errors.
source "$APSYN_SOURCE/tests/cli/lib.sh" || exit 1

# value NAME: what the last fold-pulsar printed.
value() { awk -v name="$1" '$1 == name { print $2 }' "$(stdout_file)"; }

cat >sky.txt <<'END'
Format = Name, Type, Ra, Dec, I
other, POINT, 03:30:00, 54.00.00, 0.001
B0329+54, POINT, 03:32:59.4, 54.34.43.3, 20
END
cat >four.csv <<'END'
# site 44.5235 11.6460 0
name,east_m,north_m,up_m
a,0,0,0
b,6,0,0
c,0,10,0
d,6,10,0
END
run simulate --array four.csv --sky sky.txt --pulsar 0.7145,26.76,0.03,B0329+54 --noise 4000Jy --start 2024-01-01T19:00:00 \
  --freq 408MHz --bandwidth 312.5kHz --channels 16 --duration 10s -o psr.dada
run beamform psr.dada --centre '03:32:59.4 54:34:43.3' --integrate 16 -o psr.fil

# The peak is at phase 0 by --pulsar's definition. The matched filter's S/N is (S / T) sqrt(n_pol B t (<g^2> - 1)): S = 20
# Jy the mean flux, T the noise, 4000 / 4 Jy and the pulses' own, <g^2> = sqrt(2 ln 2 / pi) / duty of Gaussian pulses.
run fold-pulsar psr.fil --period 0.7145 --dm 26.76 -o psr.csv --plot psr.png
expect_file psr.csv psr.png
read -r wanted t < <(awk 'BEGIN {
  g2 = sqrt(2 * log(2) / 3.14159265) / 0.03; noise = 1000; s = 20
  t = sqrt(noise ^ 2 + 2 * noise * s + s ^ 2 * g2)
  print s / t * sqrt(2 * 312500 * 10 * (g2 - 1)), t }')
snr=$(value snr)
awk -v x="$snr" -v y="$wanted" 'BEGIN { exit !(x >= 0.95 * y && x < 1.05 * y) }' || fail "S/N $snr, matched $wanted"
phase=$(value peak_phase_turns)
expect_near "$(awk -v x="$phase" 'BEGIN { print (x > 0.5 ? x - 1 : x) }')" 0 "$(awk 'BEGIN { print 1 / 256 }')" "the peak's phase"
expect_near "$(value width_turns)" 0.03 0.003 "the pulse's width"
peak=$(value peak_power)
expect_near "$peak" "$(awk 'BEGIN { print 20 / 0.03 / sqrt(3.14159265 / 4 / log(2)) }')" 40 "the pulse's height"
[ "$(grep -vc '^#' psr.csv)" -eq 257 ] || fail "$(grep -vc '^#' psr.csv) lines of profile"
grep -q '^phase,power,samples$' psr.csv || fail "no head of columns"
# Phases are those of the middles of bins, and the brightest is where the pulse is.
grep -v '^#' psr.csv | awk -F, 'NR > 1 && ($1 - (NR - 1.5) / 256) ^ 2 > 1e-12 { bad = 1 } END { exit bad }' || fail "phases of bins in psr.csv"
brightest=$(grep -v '^#' psr.csv | tail -n +2 | sort -t, -k2,2g | tail -1 | cut -d, -f1)
expect_near "$(awk -v x="$brightest" 'BEGIN { print (x > 0.5 ? x - 1 : x) }')" 0 0.012 "the phase of the brightest bin"
expect_near "$(value turns)" "$(awk 'BEGIN { print 10 / 0.7145 }')" 0.05 "the turns in 10 s"

# Another dispersion measure or period smears it; a search finds the period back.
run fold-pulsar psr.fil --period 0.7145 --dm 1026.76
awk -v x="$(value snr)" -v y="$snr" 'BEGIN { exit !(x < 0.9 * y) }' || fail "S/N $(value snr) at a wrong DM"
run fold-pulsar psr.fil --period 721ms --dm 26.76
awk -v x="$(value snr)" -v y="$snr" 'BEGIN { exit !(x < 0.7 * y) }' || fail "S/N $(value snr) at a wrong period"
run fold-pulsar psr.fil --period 721ms --dm 26.76 --search
expect_near "$(value period_s)" 0.7145 1e-4 "the period found"
awk -v x="$(value snr)" -v y="$snr" 'BEGIN { exit !(x > 0.9 * y) }' || fail "S/N $(value snr) after the search"

# Voltages of the beam, 8-bit powers, pipes and threads.
run beamform psr.dada --centre '03:32:59.4 54:34:43.3' --product voltage -o beam.dada
run fold-pulsar beam.dada --period 0.7145 --dm 26.76
expect_near "$(value snr)" "$snr" 3 "S/N of voltages"
expect_near "$(value peak_power)" "$peak" 20 "the pulse's height in voltages, of a polarisation as in powers"
run beamform psr.dada --centre '03:32:59.4 54:34:43.3' --product voltage --bits 8 -o codes.dada
head -c 4096 codes.dada | awk '$1 == "SCALE" { there = $2 > 0 && $2 != 1 } END { exit !there }' || fail "codes.dada has no scale"
run fold-pulsar codes.dada --period 0.7145 --dm 26.76
expect_near "$(value peak_power)" "$peak" 20 "the pulse's height in voltages of 8 bits"
run beamform psr.dada --centre '03:32:59.4 54:34:43.3' --integrate 16 --bits 8 -o eight.fil
run fold-pulsar eight.fil --period 0.7145 --dm 26.76
expect_near "$(value snr)" "$snr" 3 "S/N of 8 bits"
run beamform psr.dada --centre '03:32:59.4 54:34:43.3' --integrate 16 --product coherence -o four.fil
run fold-pulsar four.fil --period 0.7145 --dm 26.76 --ifs 0,1
expect_near "$(value snr)" "$snr" 0.5 "S/N of two products"
run fold-pulsar psr.fil --period 0.7145 --dm 26.76 --threads 1 -o one.csv
run fold-pulsar psr.fil --period 0.7145 --dm 26.76 --threads 3 -o three.csv
expect_same <(grep -v '^#' one.csv) <(grep -v '^#' three.csv)
expect_same <(grep -v '^#' one.csv) <(grep -v '^#' psr.csv)
run bash -c "cat psr.fil | fold-pulsar --period 0.7145 --dm 26.76 -o -"
expect_stdout "phase,power,samples"
expect_stderr "snr"
run fold-pulsar psr.fil --period 0.7145 --dm 26.76 --dry-run
expect_stdout "16 channels" "256 bins" "memory"
run fold-pulsar psr.fil --period 0.7145,1e-3 --dm 26.76

# A look at the powers themselves, from a file and a pipe.
run quicklook psr.fil -o dynamic.png
expect_file dynamic.png
run bash -c "cat psr.fil | quicklook --kind filterbank -o piped.png"
expect_same <(tail -c 50000 dynamic.png) <(tail -c 50000 piped.png)

# Wrong usage, other inputs, damaged ones.
for options in "--period 0" "--period abc" "--period 1s,x" "--period 1s --bins 2" "--period 1s --dm x" "--period 1s --ifs 1" \
  "--period 1us" "--period 1s --max-memory 1MB"; do
  expect_exit 2 fold-pulsar psr.fil $options
done
expect_exit 2 fold-pulsar psr.fil --period 1s -o psr.csv
expect_stderr "psr.csv" "--overwrite"
expect_exit 2 fold-pulsar psr.dada --period 1s
expect_stderr "beamform"
expect_exit 2 fold-pulsar psr.fil
expect_stderr "give --period or --par"
expect_exit 1 fold-pulsar nowhere.fil --period 1s
expect_exit 3 fold-pulsar sky.txt --period 1s
head -c 100 psr.fil >short.fil
expect_exit 3 fold-pulsar short.fil --period 1s -o x.csv
expect_no_file x.csv
header=$(($(grep -abo HEADER_END psr.fil | head -1 | cut -d: -f1) + 10))
{ head -c $header psr.fil && head -c 64000 /dev/zero; } >silent.fil
expect_exit 1 fold-pulsar silent.fil --period 10ms -o x.csv
expect_stderr "no usable data"
expect_exit 1 quicklook silent.fil -o x.png
expect_exit 3 quicklook short.fil -o x.png
head -c $header psr.fil >empty.fil
expect_exit 1 fold-pulsar empty.fil --period 10ms -o x.csv
expect_exit 4 fold-pulsar psr.fil --period 1s --device cuda

# simulate --pulsar refuses what it cannot make.
sim="simulate --array four.csv --sky sky.txt --start 2024-01-01T19:00:00 --freq 408MHz --bandwidth 1MHz --channels 4 --duration 10ms"
for pulsar in 1s,10 1s,10,0 1s,10,0.9 -1s,10,0.1 1s,x,0.1 1s,10,0.1,nobody 1s,1e4,0.1; do
  expect_exit 2 $sim --pulsar $pulsar -o x.dada
  expect_stderr "--pulsar"
done
expect_exit 2 simulate --array four.csv --noise 1Jy --pulsar 1s,10,0.1 --duration 10ms -o x.dada
expect_exit 2 simulate --array four.csv --sky sky.txt --pulsar 1s,10,0.1 --duration 10s -o x.ms

# Less than a turn is said.
run fold-pulsar psr.fil --period 11s -o part.csv
expect_stderr "psr.fil: 9.99997 s of data are less than a turn of 11 s"
# 9.1 % of 256 bins without any
awk -F, '!/^#/ && $3 == "0" { n += ($2 == "0") } END { exit !(n >= 22 && n <= 24) }' part.csv ||
  fail "empty bins are not 0: $(grep -v '^#' part.csv | grep ',0$')"

# Par files: the apparent period of a par file at the telescope is that of the pulsar, but for the Earth's motion.
cat >j0332.par <<'END'
PSR    B0329+54
RAJ    03:32:59.4
DECJ   54:34:43.3
F0     1.399580125
PEPOCH 60310.7916666666666667
DM     26.76
END
run fold-pulsar psr.fil --par j0332.par --site 44.5235,11.6460,0 -o par.csv
# As astropy has it from delays 30 s before and after: the Earth leaves the pulsar at 4.8e-5 of the speed of light.
expect_near "$(value period_s)" 0.714534397467 1e-9 "the apparent period"
expect_near "$(value dm_pc_cm3)" 26.76 0 "the DM of the par file"
awk -v x="$(value snr)" -v y="$snr" 'BEGIN { exit !(x > 0.9 * y) }' || fail "S/N $(value snr) by a par file, not $snr"
run fold-pulsar -v psr.fil --par j0332.par --site gbt --dm 30 --dry-run
expect_stdout "par: j0332.par: period 714" "DM 30"
expect_stderr "j0332.par: B0329+54 from 38.4331 deg, -79.8398 deg" "phase 0 is that of PEPOCH"
expect_exit 2 fold-pulsar psr.fil --par j0332.par
expect_stderr "psr.fil: does not tell where its telescope stands" "--site"
expect_exit 2 fold-pulsar psr.fil --par j0332.par --site atlantis
expect_stderr "--site atlantis" "parkes"
expect_exit 2 fold-pulsar psr.fil --par j0332.par --period 1s
expect_exit 2 fold-pulsar psr.fil --period 1s --site gbt
expect_exit 1 fold-pulsar psr.fil --par nowhere.par --site gbt
{ cat j0332.par && echo "BINARY DD"; } >binary.par
expect_exit 3 fold-pulsar psr.fil --par binary.par --site gbt -o x.csv
expect_stderr "binary.par: line 7: BINARY DD: the orbit of a binary pulsar is not supported"
expect_exit 3 fold-pulsar psr.fil --par sky.txt --site gbt -o x.csv
expect_no_file x.csv
# The voltages of a beam know their site.
run fold-pulsar beam.dada --par j0332.par
expect_near "$(value period_s)" "$(awk '$2 == "period_s" { print $3 }' par.csv)" 1e-11 "the apparent period of a beam's voltages"

# PSRFITS of the same samples gives the same profile; it knows its telescope.
head -c $((header + 16 * 9500)) eight.fil >whole.fil
psrfits_of whole.fil psr.sf 8
run fold-pulsar whole.fil --period 0.7145 --dm 26.76 -o whole.csv
run fold-pulsar psr.sf --period 0.7145 --dm 26.76 -o sf.csv
expect_same <(grep -v '^#' whole.csv) <(grep -v '^#' sf.csv) "PSRFITS of the same samples gives another profile"
run fold-pulsar psr.sf --par j0332.par
run fold-pulsar whole.fil --par j0332.par --site parkes -o parkes.csv
expect_near "$(value period_s)" "$(awk '$2 == "period_s" { print $3 }' parkes.csv)" 0 "the apparent period at Parkes"
