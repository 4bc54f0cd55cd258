# SPDX-License-Identifier: GPL-3.0-or-later
# examples/archive/camera-one: sub-files of two coarse channels of the MWA, written here byte by byte from a simulated sky with a
# steady source and one burst, whose receivers have gains of their own. They are calibrated, imaged and searched; the
# burst is found in both, at its place, time and flux, and joined. A coarse channel without its metafits is left alone.
source "$APSYN_SOURCE/tests/cli/lib.sh" || exit 1
examples=$APSYN_SOURCE/examples/archive
export PAUSE=0 JOB=camera-one CENTRE='23h41m00s -29d30m00s' SIZE=96 SCALE=2amin ACCUMULATE=25ms FINE=1 DM=0:20
obs=1090008640

cat >sky.txt <<'END'
Format = Name, Type, Ra, Dec, I
burst, POINT, 23:40:00, -30.00.00, 0.4
steady, POINT, 00:10:00, -25.00.00, 300
END
sed /burst/d sky.txt >model.txt
awk 'BEGIN { srand(3); print "antenna,pol,gain_amplitude,phase_rad"
  for (a = 0; a < 128; ++a) for (p = 0; p < 2; ++p) print a "," p "," 0.7 + 0.6 * rand() "," 6.28 * rand() }' >gains.csv

# sub_files DADA CHANNEL: two sub-files of 2 s of 1280 samples/s in blocks of 256, of samples [time][input].
sub_files() {
  perl -e '
    my ($dada, $obs, $channel) = @ARGV;
    my ($inputs, $n, $seconds, $blocks) = (256, 256, 2, 10);
    local $/; open my $in, "<:raw", $dada or die; my $all = <$in>;
    my ($skip) = $all =~ /HDR_SIZE\s+(\d+)/;
    for my $sub (0, 1) {
      my $id = $obs + $seconds * $sub;
      my $head = join "\n", "HDR_SIZE 4096", "POPULATED 1", "OBS_ID $obs", "SUBOBS_ID $id", "UTC_START 2014-07-21-20:10:24",
        "OBS_OFFSET " . $seconds * $sub, "NBIT 8", "NPOL 2", "NTIMESAMPLES $n", "NINPUTS $inputs", "COARSE_CHANNEL $channel",
        "SECS_PER_SUBOBS $seconds", "SAMPLE_RATE 1280", "TRANSFER_SIZE " . 2 * $inputs * $n * ($blocks + 1), "";
      open my $out, ">:raw", "archive/${obs}_${id}_$channel.sub" or die;
      print $out $head, "\0" x (4096 - length $head), "m" x (2 * $inputs * $n);
      for my $block (0 .. $blocks - 1) {
        my @samples = unpack "n*", substr $all, $skip + 2 * $inputs * $n * ($sub * $blocks + $block), 2 * $inputs * $n;
        for my $input (0 .. $inputs - 1) { print $out pack "n*", @samples[map { $_ * $inputs + $input } 0 .. $n - 1] }
      }
    }' "$1" $obs "$2"
}
mkdir archive
for channel in 109 110; do
  run simulate --array "$APSYN_SOURCE/tests/data/$obs.metafits" --sky sky.txt --pulsar 9000ms,8,0.004,burst --gains gains.csv \
    --noise 1000Jy --freq "$(awk "BEGIN { print $channel * 1.28 }")MHz" --bandwidth 1.28kHz --seed $channel --duration 4s \
    --start 2014-07-21T20:10:24 -q -o $channel.dada
  sub_files $channel.dada $channel
done
cp archive/${obs}_${obs}_109.sub archive/1090009999_1090009999_109.sub
cp "$APSYN_SOURCE/tests/data/$obs.metafits" archive/

run "$examples/camera-one" --list archive
[ "$(tr '\0' ' ' <"$(stdout_file)")" = "archive/${obs}_109 archive/${obs}_110 " ] || fail "listed: $(tr '\0' ' ' <"$(stdout_file)")"

# is_burst TABLE TIME_S: one candidate there. Its peak is 0.4 Jy / 0.004 / 1.064 = 94 Jy, of which the mean over two images
# of 25 ms in the middle is 65, with a noise of its own of 10 % (92 samples). Measured: 46 and 64 Jy, 0.0012 and 0.0018
# degrees and 5 and 1 ms off; images are 25 ms long.
is_burst() {
  awk -F, -v time="$2" '
    function off(value, wanted, within) { return value < wanted - within || value > wanted + within }
    FNR == 1 { for (i = 1; i <= NF; ++i) at[$i] = i; next }
    { ++n }
    off($at["time_s"], time, 0.03) || off($at["ra_deg"], 355, 0.005) || off($at["dec_deg"], -30, 0.005) || off($at["flux"], 65, 25) { bad = 1 }
    END { exit n != 1 || bad }' "$1"
}
# DM 8 arrives 8 / 2.41e-4 / nu^2 seconds late: 1.705 s and 1.674 s.
run env SKY="$PWD/model.txt" "$examples/with-xargs" archive out 2
expect_stdout "2 done" "0 failed"
is_burst out/${obs}_109.csv 1.705 || fail "109: $(cat out/${obs}_109.csv)"
is_burst out/${obs}_110.csv 1.674 || fail "110: $(cat out/${obs}_110.csv)"
expect_file out/${obs}_109-pulse0.fits out/${obs}_110-pulse0.png
run "$examples/candidates" out
[ "$(wc -l <"$(stdout_file)")" = 2 ] || fail "not one pulse: $(cat "$(stdout_file)")"
expect_stdout "$obs,56859.8405" ",2,35"
run "$examples/candidates" out 3
[ "$(wc -l <"$(stdout_file)")" = 1 ] || fail "a pulse in three channels"
# What is done is skipped; the solutions serve again, and a run without any finds no burst in channels of wrong gains.
run "$examples/with-xargs" archive out 2
expect_stdout "${obs}_109: done before"
mkdir gains && cp out/${obs}_109-gains.h5 gains/${obs}_109.h5
run env GAINS="$PWD/gains" "$examples/camera-one" again archive/${obs}_109
cmp again/${obs}_109.csv out/${obs}_109.csv || fail "other pulses with the same gains"
run "$examples/camera-one" raw archive/${obs}_109
! is_burst raw/${obs}_109.csv 1.705 || fail "gains make no difference"
# A sub-file that is cut in its header: the status is the reader's.
head -c 1000 archive/${obs}_$((obs + 2))_110.sub >cut && mv cut archive/${obs}_$((obs + 2))_110.sub
expect_exit 3 "$examples/camera-one" cut archive/${obs}_110

# Pulses of several channels are joined along the track of the brighter one's dispersion measure, not in time.
mkdir tables
row() { printf '1,%s,%s,%s,0.04,5,%s,%s,1,2,%s,%s,1,1,5,9\n' "$@"; }
for channel in 109 110 111; do
  head -1 out/${obs}_109.csv >tables/${obs}_$channel.csv
done
head -1 out/${obs}_109.csv | grep -q '^time_s,mjd,dm,sn,width_s,n_hits,dm_low,dm_high,begin_s,end_s,ra_deg,dec_deg' || fail "other columns"
# 100 / 2.41e-4 / nu^2 at the highest fine channels, 140.16 (109), 141.44 and 142.72 MHz, is 21.1221, 20.7416 and 20.3712 s.
at() { awk "BEGIN { printf \"%.9f\", 60000 + $1 / 86400 }"; }
row "$(at 21.1221)" 100 20 99 101 10 -20 >>tables/${obs}_109.csv
row "$(at 20.7416)" 101 15 100 102 10.2 -20 >>tables/${obs}_110.csv
row "$(at 20.4712)" 100 12 99 101 10 -20 >>tables/${obs}_111.csv # 0.1 s off: another one
row "$(at 20.7416)" 101 11 100 102 12 -20 >>tables/${obs}_110.csv # elsewhere on the sky
run env FINE=1000000 "$examples/candidates" tables 1
[ "$(cut -d, -f 1,3- "$(stdout_file)" | tail -n +2 | tr '\n' ' ')" = \
  "$obs,100,25.00,2,10,-20,109 110 $obs,100,12.00,1,10,-20,111 $obs,101,11.00,1,12,-20,110 " ] || fail "joined: $(cat "$(stdout_file)")"
