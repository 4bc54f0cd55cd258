# SPDX-License-Identifier: GPL-3.0-or-later
# --dry-run says what memory a run takes, within a factor of 1.5 either way, for every tool and for sizes whose images or
# whose data take most of it; and what --max-memory is said to need at least is enough, and little less is not.
source "$APSYN_SOURCE/tests/cli/lib.sh" || exit 1
need perl
(ulimit -v 1000000 && exec idg-grid --version) >/dev/null 2>&1 || skip "a sanitizer takes memory of its own"

# megabytes TEXT: of "83.5 MB".
megabytes() {
  awk -v value="${1% *}" -v unit="${1#* }" 'BEGIN { print value * (unit == "GB" ? 1000 : unit == "MB" ? 1 : unit == "kB" ? 0.001 : 1e-6) }'
}
# The largest of what --dry-run said, and the peak that -v did.
said() { grep -a '^memory: ' "$(stdout_file)" | sed 's/^memory: \([0-9.e+]* [kMGT]*B\).*/\1/' | while read -r size; do megabytes "$size"; done | sort -g | tail -1; }
peak() { megabytes "$(sed -n 's/.*peak memory \([0-9.e+]* [kMGT]*B\).*/\1/p' "$(stderr_file)")"; }

held=
# expect_said COMMAND...: on two threads.
expect_said() {
  local expected
  rm -rf out*
  run "$@" --threads 2 --dry-run
  expected=$(said)
  run "$@" --threads 2 -v
  awk -v said="${expected:-0}" -v peak="$(peak)" 'BEGIN { exit !(said <= 1.5 * peak && peak <= 1.5 * said) }' ||
    fail "--dry-run says ${expected:-nothing} MB, a run takes $(peak) MB: $*"
  held="$held $1"
}
# expect_least STATUS COMMAND...: refused with --max-memory 1MB, which names what is enough; 4 % less is refused.
expect_least() {
  local status=$1 least
  shift
  rm -rf out*
  expect_exit "$status" "$@" --threads 2 --max-memory 1MB
  least=$(sed -n 's/.*needs\{0,1\} at least \([0-9.e+]* [kMGT]*B\): .*/\1/p' "$(stderr_file)")
  [ -n "$least" ] || { fail "nothing is said to be enough: $*" && return; }
  expect_exit "$status" "$@" --threads 2 --max-memory "$(awk -v mb="$(megabytes "$least")" 'BEGIN { print 0.96 * mb "MB" }')"
  run "$@" --threads 2 -v --max-memory "${least// /}"
  expect_peak "$(megabytes "$least")" "$*"
}

printf '%s\n' 'Format = Name, Type, Ra, Dec, I, MajorAxis, MinorAxis, Orientation' 'a, POINT, 02:30:00, -26.42.00, 100' \
  'b, POINT, 02:20:01, -24.42.00, 50' >sky.txt
{ cat sky.txt && echo 'c, GAUSSIAN, 02:26:00, -27.42.00, 200, 7200, 3600, 30'; } >wide.txt
centre='02h28m00s -26d42m00s'
run simulate -q --array mwa-32t --sky wide.txt --channels 4 --duration 8s --phase-centre "$centre" -o small.ms
run simulate -q --array mwa-128t --sky sky.txt --channels 64 --duration 8s --integration 2s --pol XX,YY --phase-centre "$centre" -o large.ms
run simulate -q --array mwa-32t --sky sky.txt --noise 1000Jy --channels 8 --duration 10ms -o small.dada
expect_said simulate --array mwa-128t --sky sky.txt --noise 1000Jy --channels 24 --duration 30ms -o out.dada
mv out.dada large.dada

# Visibilities into images and back.
expect_said idg-grid --size 512 --scale 60asec -o out small.ms
expect_said idg-grid --size 256 --scale 60asec -o out large.ms
expect_said idg-grid --size 1000 --scale 30asec --pol IQUV -o out small.ms
expect_said idg-grid --size 300 --scale 60asec --channels-out 4 -o out small.ms
expect_said idg-grid --size 512 --scale 60asec --intervals-out 8 -o out small.ms
expect_said idg-grid --size 256 --scale 60asec --intervals-out 4 --no-psf -o out large.ms
expect_said clean --size 512 --scale 60asec --niter 300 -o out small.ms
expect_said clean --size 256 --scale 60asec --niter 100 -o out large.ms
expect_said clean --size 1000 --scale 30asec --niter 300 -o out small.ms
expect_said clean --size 256 --scale 60asec --niter 100 --calibrate phase:4s,gain:8s -o out large.ms
expect_said clean --size 300 --scale 60asec --niter 50 --pol IQUV --join-polarizations --algorithm multiscale -o out small.ms
expect_said clean --size 400 --scale 60asec --niter 100 --channels-out 4 --join-channels -o out small.ms
run idg-grid -q --size 1000 --scale 30asec --no-psf -o cube --pol IQUV small.ms
run idg-grid -q --size 1000 --scale 30asec -o image small.ms
run idg-grid -q --size 200 --scale 60asec -o little small.ms
run clean -q --niter 50 --algorithm clark -o image --beam-size 4amin image
run clean -q --niter 50 -o little little
expect_said clean --niter 50 -o out little-dirty.fits little-psf.fits
expect_said clean --niter 50 -o out image-dirty.fits image-psf.fits
expect_said clean --niter 50 --join-polarizations -o out cube-dirty.fits image-psf.fits
expect_said idg-degrid --column A --model little-model.fits small.ms
expect_said idg-degrid --column B --model image-model.fits small.ms
expect_said idg-degrid --column B --sky sky.txt large.ms
expect_said measure-sources --sky sky.txt -o out image-image.fits
expect_said calibrate --sky sky.txt -o out.h5 small.ms
expect_said calibrate --sky sky.txt --solve gain:interval=2s --solve phase -o out.h5 large.ms
expect_said calibrate --model image-model.fits --solve gain:channels=all -o out.h5 small.ms
run calibrate -q --sky sky.txt --solve gain:channels=all -o gains.h5 large.ms
expect_said calibrate --apply gains.h5 large.ms

# Voltages.
expect_said simulate --array mwa-32t --sky sky.txt --channels 8 --duration 10ms -o out.dada
expect_said simulate --array mwa-32t --sky sky.txt --channels 8 --duration 2s -o out.ms
expect_said simulate --array mwa-128t --sky sky.txt --channels 128 --duration 1s -o out.ms
expect_said simulate --duration 10min -o out.fits
expect_said correlate --channels 4 --integration 5ms -o out.vis small.dada
expect_said correlate --channels 4 --integration 10ms -o out.vis large.dada
mv out.vis some.vis
run correlate -q --channels 4 --integration 5ms -o visibilities.vis large.dada
expect_said transform -o out.ms small.ms
expect_said transform -o out.ms --average-time 4s large.ms
expect_said transform -o out.ms --bda 0.01 --bda-radius 2deg large.ms
expect_said transform -o out.vis --average-channels 4 large.ms
expect_said transform -o out.uvh5 small.ms
expect_said transform -o out.vis --average-channels 2 visibilities.vis
expect_said transform -o out.ms visibilities.vis
expect_said flag --edges 1 small.ms
expect_said flag --edges 1 large.ms
expect_said flag --edges 1 -o out.vis visibilities.vis
expect_said beamform --centre zenith --integrate 16 -o out.fil small.dada
expect_said beamform --centre zenith --tile 1deg --product iquv --channels 4 -o 'out%d.fil' large.dada
expect_said beamform --centre zenith --pattern out.fits --size 1500 small.dada
expect_said epic-image --size 64 -o out.fits small.dada
expect_said epic-image --size 512 --average-channels 8 -o out.fits small.dada
expect_said epic-image --size 64 -o out.fits large.dada
expect_said ingest --from dada -o out.dada small.dada
expect_said ingest --from dada -o out.dada large.dada
expect_said ingest --from uvfits -o out.ms "$APSYN_SOURCE/tests/data/VLBA-M87-mojave.uvfits"

# Powers, and looks.
perl -e '
  sub text { pack("V/a*", $_[0]) }
  my ($name, $n) = @ARGV;
  open(my $out, ">:raw", $name);
  print $out text("HEADER_START");
  my %ints = (nchans => 32, nbits => 8, nifs => 1, data_type => 1);
  print $out text($_), pack("l<", $ints{$_}) for sort keys %ints;
  my %numbers = (fch1 => 400, foff => -1, tsamp => 1e-3, tstart => 59000.5);
  print $out text($_), pack("d<", $numbers{$_}) for sort keys %numbers;
  print $out text("HEADER_END");
  srand(4);
  my $noise = pack("C*", map { 60 + int(rand(80)) } 1 .. 65536);
  for (my $left = 32 * $n; $left > 0; $left -= 65000) { print $out substr($noise, int(rand(500)), $left < 65000 ? $left : 65000) }
' short.fil 20000
perl -e 'local $/; my $all = <>; my $at = index($all, "HEADER_END") + 10; print $all; print substr($all, $at) for 1 .. 14' short.fil >long.fil
expect_said search-transients --dm-range 0:50 -o out.csv short.fil
expect_said search-transients --dm-range 0:300 -o out.csv long.fil
expect_said fold-pulsar --period 0.7s --dm 20 -o out.csv short.fil
expect_said fold-pulsar --period 0.7s --dm 20 --plot out.png -o out.csv long.fil
for input in image-image.fits small.ms some.vis large.dada long.fil; do
  expect_said quicklook -o out.png "$input"
done
for tool in $(all_tools); do
  [[ " $held " = *" $tool "* ]] || fail "nothing holds what $tool says"
done

# What is said to be enough, is.
expect_least 2 idg-grid --size 256 --scale 60asec -o out large.ms
expect_least 2 clean --size 512 --scale 60asec --niter 300 -o out small.ms
expect_least 1 clean --niter 50 -o out image-dirty.fits image-psf.fits
expect_least 2 idg-degrid --column C --model little-model.fits large.ms
expect_least 2 calibrate --sky sky.txt --solve gain:interval=2s -o out.h5 large.ms
expect_least 2 measure-sources --sky sky.txt -o out image-image.fits
expect_least 2 simulate --array mwa-32t --sky sky.txt --channels 8 --duration 10ms -o out.dada
expect_least 2 simulate --array mwa-32t --sky sky.txt --channels 8 --duration 2s -o out.ms
expect_least 2 simulate --duration 10min -o out.fits
expect_least 2 correlate --channels 4 --integration 10ms -o out.vis large.dada
expect_least 2 transform -o out.ms --average-time 4s large.ms
expect_least 2 flag --edges 2 large.ms
expect_least 2 beamform --centre zenith --tile 1deg --product iquv --channels 4 -o 'out%d.fil' large.dada
expect_least 2 beamform --centre zenith --pattern out.fits --size 1500 small.dada
expect_least 2 epic-image --size 64 -o out.fits large.dada
expect_least 2 ingest --from dada -o out.dada large.dada
expect_least 2 ingest --from uvfits -o out.ms "$APSYN_SOURCE/tests/data/VLBA-M87-mojave.uvfits"
expect_least 1 search-transients --dm-range 0:300 -o out.csv long.fil
expect_least 2 fold-pulsar --period 0.7s --dm 20 -o out.csv long.fil
expect_least 1 quicklook -o out.png image-image.fits
exit 0
