# SPDX-License-Identifier: GPL-3.0-or-later
# search-transients on small files written here: pulses, interference, sample formats, pipes, and what it refuses.
source "$APSYN_SOURCE/tests/cli/lib.sh" || exit 1
need perl

# filterbank NAME BITS NIFS FOFF [PULSES] [MAKE_RFI]: 20000 samples of 1 ms, 32 channels from 400 MHz down (or up to it)
# in steps of 1 MHz, noise of 12 around 100 (IF 0), pulses "time_s:dm:samples:height" with the height in units of noise.
filterbank() {
  perl -e '
    my ($name, $bits, $nifs, $foff, $pulses, $rfi) = (@ARGV, "", "");
    my ($n, $nchan, $tsamp) = (20000, 32, 1e-3);
    my $fch1 = $foff < 0 ? 400 : 400 - 31 * $foff;
    sub text { pack("V/a*", $_[0]) }
    open(my $out, ">:raw", $name);
    print $out text("HEADER_START"), text("source_name"), text("fake");
    my %ints = (nchans => $nchan, nbits => $bits, nifs => $nifs, data_type => 1);
    print $out text($_), pack("l<", $ints{$_}) for sort keys %ints;
    my %numbers = (fch1 => $fch1, foff => $foff, tsamp => $tsamp, tstart => 59000.5);
    print $out text($_), pack("d<", $numbers{$_}) for sort keys %numbers;
    print $out text("HEADER_END");
    srand(4);
    my @noise = map { my $s = 0; $s += rand() for 1 .. 12; $s - 6 } 1 .. 65536;
    my @add;
    for my $pulse (split /,/, $pulses) {
      my ($t, $dm, $w, $h) = split /:/, $pulse;
      for my $c (0 .. $nchan - 1) {
        my $f = $fch1 + $c * $foff;
        my $first = int($t / $tsamp + $dm / 2.41e-4 * ($f ** -2 - 400 ** -2) / $tsamp - $w / 2 + 0.5);
        $add[$_ * $nchan + $c] += $h for $first .. $first + $w - 1;
      }
    }
    my %packing = (8 => "C*", 16 => "v*", 32 => "f<*");
    for my $t (0 .. $n - 1) {
      my @row = map {
        my $x = $noise[int(rand(65536))] + ($add[$t * $nchan + $_] // 0);
        $x += 30 if $rfi && $t % 2500 == 1700;             # broad-band bursts of one sample
        $x = 6 * $noise[int(rand(65536))] if $rfi && $_ == 20;   # a noisy channel
        my $value = 100 + 12 * $x;
        $bits == 32 ? $value : int($value < 0 ? 0 : $bits == 8 && $value > 255 ? 255 : $value + 0.5)
      } 0 .. $nchan - 1;
      push @row, (7) x ($nchan * ($nifs - 1)) if $nifs > 1;
      print $out pack($packing{$bits}, @row);
    }' "$@"
}
# the columns of the only candidate
candidate() { IFS=, read -r time_s mjd dm sn width_s n_hits dm_low dm_high begin_s end_s < <(sed -n 2p "$1"); }
expect_candidates() { [ "$(($(wc -l <"$2") - 1))" -eq "$1" ] || fail "$2 has not $1 candidates: $(cat "$2")"; }
header=time_s,mjd,dm,sn,width_s,n_hits,dm_low,dm_high,begin_s,end_s

# 4 samples of 1.2 in 32 channels: S/N 13.6 before smearing (0.4 samples) and trials
filterbank pulse.fil 8 1 -1 12.5:30:4:1.2
run search-transients pulse.fil --dm-range 0:100 -o pulse.csv --plot pulse.png
expect_no_stdout
expect_stderr "1 candidate above 8 in 20 s of data" "taken out:"
expect_file pulse.csv pulse.png
[ "$(head -1 pulse.csv)" = "$header" ] || fail "the header line is $(head -1 pulse.csv)"
expect_candidates 1 pulse.csv
candidate pulse.csv
expect_near "$time_s" 12.5 0.003 "the time"
expect_near "$dm" 30 1.5 "the DM"
expect_near "$sn" 13 2.5 "S/N"
expect_near "$width_s" 0.004 0.0021 "the width"
expect_near "${mjd#59000.}" "$(awk 'BEGIN { printf "%.0f", (0.5 + 12.5 / 86400) * 1e12 }')" 40000 "the day's fraction"
# ... which is that of the pulse's middle, as the time is
expect_near "${mjd#59000.}" "$(awk -v t="$time_s" 'BEGIN { printf "%.0f", (0.5 + t / 86400) * 1e12 }')" 2 "the middle's fraction of a day"
expect_near "$(awk -v a="$begin_s" -v b="$end_s" -v t="$time_s" 'BEGIN { print (a < t && t < b) }')" 1 0 "the time is between $begin_s and $end_s"
awk -v a="$dm_low" -v b="$dm" -v c="$dm_high" 'BEGIN { exit !(a < b && b < c && a > 20 && c < 40) }' ||
  fail "DMs $dm_low $dm $dm_high"
head -c 8 pulse.png | cmp -s - <(printf '\x89PNG\r\n\x1a\n') || fail "pulse.png is no PNG"

# the same whatever the number of threads, the memory, and through a pipe
run search-transients pulse.fil --dm-range 0:100 --threads 1 -o one.csv
expect_same pulse.csv one.csv
# ... also of pulses that arrive, at lower frequencies, in later pieces than they begin in
filterbank borders.fil 8 1 -1 4.05:60:4:1.4,8.17:90:4:1.4,12.2:30:4:1.2
run search-transients borders.fil --dm-range 0:100 -o whole.csv
expect_candidates 3 whole.csv
expect_exit 1 search-transients borders.fil --dm-range 0:100 --threads 1 --max-memory 1MB -o none.csv
least=$(sed -n 's/.*needs at least \([0-9]*\).*/\1/p' "$(stderr_file)")
small="--dm-range 0:100 --threads 1 --max-memory $((least + 1))MB"
run search-transients borders.fil $small --dry-run
expect_stdout "4.096 s cleaned and 4.096 s searched at a time"
run search-transients borders.fil $small -o pieces.csv
expect_same whole.csv pieces.csv
run bash -c 'cat pulse.fil | search-transients -q --dm-range 0:100 >pipe.csv'
expect_same pulse.csv pipe.csv

# lists as PRESTO and heimdall write them: the same candidate, in samples of 1 ms, and the trials' numbers
run search-transients pulse.fil --dm-range 0:100 --format presto -o pulse.singlepulse
[ "$(head -1 pulse.singlepulse)" = "# DM      Sigma      Time (s)     Sample    Downfact" ] || fail "heading $(head -1 pulse.singlepulse)"
expect_candidates 1 pulse.singlepulse
candidate pulse.csv
read -r p_dm p_sn p_time p_sample p_width rest < <(tail -1 pulse.singlepulse)
expect_near "$p_dm" "$dm" 0.005 "PRESTO's DM"
expect_near "$p_sn" "$sn" 0.005 "PRESTO's sigma"
expect_near "$p_time" "$time_s" 0.00051 "PRESTO's time, of a whole sample"
expect_near "$p_sample" "$(awk -v t="$p_time" 'BEGIN { print t / 1e-3 }')" 1e-6 "PRESTO's sample"
expect_near "$p_width" "$(awk -v w="$width_s" 'BEGIN { print w / 1e-3 }')" 1e-6 "PRESTO's width"
[ -z "$rest" ] || fail "more than five columns: $rest"
run search-transients -q pulse.fil --dm-range 0:100 --format heimdall
[ "$(awk -F'\t' '{ print NF }' "$(stdout_file)")" = 9 ] || fail "not one line of nine columns: $(cat "$(stdout_file)")"
read -r h_sn h_sample h_time h_filter h_trial h_dm h_members h_begin h_end <"$(stdout_file)"
expect_near "$h_sn" "$sn" 0.005 "heimdall's S/N"
expect_near "$h_sample" "$p_sample" 0 "heimdall's sample"
expect_near "$h_time" "$p_time" 1e-6 "heimdall's time"
expect_near "$h_filter" "$(awk -v w="$p_width" 'BEGIN { printf "%.0f", log(w) / log(2) }')" 0 "heimdall's filter"
expect_near "$h_dm" "$dm" 1e-3 "heimdall's DM"
expect_near "$h_members" "$n_hits" 0 "heimdall's members"
expect_near "$h_begin" "$(awk -v t="$begin_s" 'BEGIN { print t / 1e-3 }')" 1e-6 "heimdall's begin"
expect_near "$h_end" "$(awk -v t="$end_s" 'BEGIN { print t / 1e-3 }')" 1e-6 "heimdall's end"
run search-transients -q pulse.fil --dm-range "$dm" --format heimdall
read -r _ _ _ _ only _ <"$(stdout_file)"
[ "$only" = 0 ] || fail "the only trial is number $only"
[ "$h_trial" -gt 2 ] || fail "the trial of DM $dm is number $h_trial"
expect_exit 2 search-transients pulse.fil --format fredda

# the order of channels in the file changes neither candidates nor their picture
perl -e '
  open(my $f, "<:raw", $ARGV[0]);
  my $all = do { local $/; <$f> };
  my $data = index($all, "HEADER_END") + 10;
  my $header = substr($all, 0, $data);
  substr($header, index($header, "fch1") + 4, 8) = pack("d<", 369);
  substr($header, index($header, "foff") + 4, 8) = pack("d<", 1);
  mkdir "upwards";
  open(my $o, ">:raw", "upwards/pulse.fil");
  print $o $header;
  print $o scalar reverse substr($all, $data + 32 * $_, 32) for 0 .. 19999;' pulse.fil
(cd upwards && run search-transients pulse.fil --dm-range 0:100 -o pulse.csv --plot pulse.png)
expect_same pulse.csv upwards/pulse.csv
expect_same <(tail -c +500 pulse.png) <(tail -c +500 upwards/pulse.png) "the picture depends on the order of channels"

# other sample formats, IFs and orders of channels
for format in "16 1 -1" "32 1 1" "8 4 1"; do
  # shellcheck disable=SC2086
  filterbank format.fil $format 12.5:30:4:1.2
  run search-transients format.fil --dm-range 0:100 --overwrite -o format.csv
  expect_candidates 1 format.csv
  candidate format.csv
  expect_near "$time_s" 12.5 0.003 "the time ($format)"
  expect_near "$dm" 30 1.5 "the DM ($format)"
done

# PSRFITS: a minute of the same samples gives the same candidates, and they may be scaled; a row that is missing hides its
# pulse only
data=$((640000))
{ cat pulse.fil && tail -c $data pulse.fil && filterbank noise.fil 8 1 -1 && tail -c $data noise.fil; } >minute.fil
run search-transients minute.fil --dm-range 0:100 -o minute.csv
expect_candidates 2 minute.csv
psrfits_of minute.fil eight.sf 8
run search-transients eight.sf --dm-range 0:100 -o eight.csv
expect_same minute.csv eight.csv "PSRFITS of the same samples gives other candidates"
psrfits_of minute.fil scaled.sf 16 0.5 100
run search-transients scaled.sf --dm-range 0:100 --max-memory 90MB -o scaled.csv
expect_same minute.csv scaled.csv "scaled samples give other candidates"
run search-transients scaled.sf --dry-run
expect_stdout "fake, 32 channels from 400 to 369 MHz, 16 bits, 1 IF, samples of 1 ms, 60000 of them"
psrfits_of minute.fil gap.sf 8 1 0 65
run search-transients gap.sf --dm-range 0:100 -o gap.csv
expect_stderr "500 of 60000 samples are missing between rows"
expect_candidates 1 gap.csv
expect_same <(cut -d, -f1-6 gap.csv | tail -1) <(cut -d, -f1-6 minute.csv | sed -n 2p)
sed 's/OBS_MODE= .SEARCH./OBS_MODE= '"'PSR'   "'/' eight.sf >folded.sf
expect_exit 3 search-transients folded.sf -o none.csv
expect_stderr "folded.sf: OBS_MODE = 'PSR': a PSRFITS file of folded profiles of a pulsar"
head -c 100000 eight.sf >cut.sf
expect_exit 3 search-transients cut.sf -o none.csv
expect_stderr "cut.sf" "truncated"
expect_exit 3 bash -c 'cat eight.sf | search-transients - -o none.csv'
expect_stderr "this is PSRFITS: give it as a file"
run quicklook eight.sf --stats
expect_stdout '"kind": "filterbank"'

# widths are rounded to samples of the trials' resolution: 3 are two samples of 2 each
filterbank wide.fil 8 1 -1 12.5:70:4:1.4
run search-transients wide.fil --dry-run --dm-range 65:75 --widths 3
expect_stdout "2 samples averaged"
run search-transients wide.fil --dm-range 65:75 --widths 3 -o wide.csv
expect_candidates 1 wide.csv
candidate wide.csv
expect_near "$width_s" 0.004 1e-9 "the width of a filter of 3 samples where 2 are averaged"

# interference is taken out and counted; without that there are candidates
filterbank rfi.fil 8 1 -1 12.5:30:4:1.4 rfi
run search-transients rfi.fil --dm-range 5:100 -o rfi.csv
expect_candidates 1 rfi.csv
expect_stderr "taken out: 3.12 % of channels, 0.04 % of times"
run search-transients rfi.fil --dm-range 5:100 --rfi-sigma 0 --overwrite -o rfi.csv
[ "$(wc -l <rfi.csv)" -ge 6 ] || fail "bursts are no candidates with --rfi-sigma 0: $(cat rfi.csv)"
# a pulse too strong for 8 bits is clipped, in 4 samples of 32 channels of the 640000 values
filterbank strong.fil 32 1 -1 12.5:30:4:80
run search-transients strong.fil --dm-range 5:100 --rfi-sigma 0 -o strong.csv
expect_stderr "; 0.02 % of values clipped, 0 % not finite"
run search-transients rfi.fil --dm-range 5:100 --rfi-sigma 0 --zero-dm --overwrite -o rfi.csv
candidate rfi.csv
expect_near "$time_s" 12.5 0.01 "the time with --zero-dm"

# noise alone: a header, and success
filterbank noise.fil 8 1 -1
run search-transients noise.fil --dm-range 0:50 --plot none.png
[ "$(cat "$(stdout_file)")" = "$header" ] || fail "noise gives $(cat "$(stdout_file)")"
expect_file none.png
run search-transients pulse.fil --dry-run --dm-range 0:50 --widths 1ms,5ms --dm-step 10
expect_stdout "5 from DM 0 to 40" "1 from DM 50 to 50" "2 widths from 1 ms to 5 ms" "memory: "
run search-transients pulse.fil --dry-run --dm-range 0:50 --widths 1:16 --baseline 1s
expect_stdout "baseline: medians of 512 ms" "filters: 8 widths from 1 ms to 16 ms"
run search-transients pulse.fil --dry-run --dm-range 0:50 --widths 3:8
expect_stdout "filters: 4 widths from 3 ms to 8 ms"
run search-transients -v pulse.fil --dm-range 30
expect_stderr "1 trials" "trial samples/s" "times as fast as recorded"

expect_exit 2 search-transients pulse.fil -o pulse.csv
expect_stderr "search-transients: error: " pulse.csv
expect_exit 2 search-transients pulse.fil --dm-range 50:10
expect_stderr "--dm-range 50:10"
expect_exit 2 search-transients pulse.fil --dm-step 0
expect_exit 2 search-transients pulse.fil --widths 0
expect_exit 2 search-transients pulse.fil --widths 5parsec
expect_exit 2 search-transients pulse.fil --intensity sum
expect_exit 2 search-transients pulse.fil --baseline 1s
expect_stderr "--baseline 1s" "--widths"
expect_exit 4 search-transients pulse.fil --device cuda:77
expect_exit 2 search-transients pulse.fil --plot -
expect_exit 2 search-transients pulse.fil --dm-range 0:100000 --dm-step 0.01
expect_exit 1 search-transients pulse.fil --dm-range 0:100000 --max-memory 40MB -o none.csv
expect_stderr "needs at least"
expect_exit 1 search-transients none.fil -o none.csv
expect_exit 3 search-transients pulse.csv -o none.csv
expect_stderr "pulse.csv: byte 0: HEADER_START is missing"
head -c 300001 pulse.fil >cut.fil
expect_exit 3 search-transients cut.fil -o none.csv
expect_stderr "cut.fil: ends at byte 300001"
head -c 100 pulse.fil >cut.fil
expect_exit 3 search-transients cut.fil -o none.csv
expect_stderr "cut.fil: byte 100"
perl -e 'open(my $f, "<:raw", "pulse.fil"); read($f, my $b, 100000); my $h = index($b, "HEADER_END") + 10; open(my $o, ">:raw", "flat.fil"); print $o substr($b, 0, $h), "d" x 320000; open($o, ">:raw", "short.fil"); print $o substr($b, 0, $h), "d" x 320;'
expect_exit 1 search-transients flat.fil --dm-range 0:50 -o none.csv
expect_stderr "no usable data"
expect_exit 1 search-transients short.fil -o none.csv
expect_stderr "no usable data"
expect_no_file none.csv

# Files of any length end well, whatever is left over behind the last whole block.
head -c 2400000 /dev/urandom >noise.bin
perl -e '
  sub text { pack("V/a*", $_[0]) }
  my %ints = (nchans => 16, nbits => 8, nifs => 1, data_type => 1);
  my %numbers = (fch1 => 1400, foff => -1, tsamp => 1e-3, tstart => 59000.5);
  print text("HEADER_START"), (map { text($_), pack("l<", $ints{$_}) } keys %ints),
    (map { text($_), pack("d<", $numbers{$_}) } keys %numbers), text("HEADER_END")' >header.bin
for n_samples in 65537 100000 131073 135000 141264 147400 150000; do
  run bash -c "cat header.bin <(head -c $((n_samples * 16)) noise.bin) | search-transients -q --dm-range 0:100 -o end.csv --overwrite -"
done
