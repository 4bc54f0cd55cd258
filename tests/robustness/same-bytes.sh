# SPDX-License-Identifier: GPL-3.0-or-later
# tests/robustness/run.sh same-bytes.sh BIN_A BIN_B [DEVICE]: runs jobs of every tool with the programs of two folders, and compares all
# that they write, byte by byte, but for the programs' git hashes and the checksums of headers that hold these. For changes
# that are to change no result. Pictures are left out. The device is the CPU unless it is given; inputs are made by
# the CPU, as is what other tools do.
source "$APSYN_SOURCE/tests/cli/lib.sh" || exit 1
source "$APSYN_SOURCE/tests/robustness/jobs.sh"
[ $# = 2 ] || [ $# = 3 ] || { echo "usage: same-bytes.sh BIN_A BIN_B [DEVICE]" >&2 && exit 2; }
export APSYN_DEVICE=cpu
device=${3:-cpu}

# device_of JOB: the device if the job's tool has a way through a GPU.
device_of() {
  case ${job[$1]%% *} in
    correlate | beamform | epic-image | idg-grid | idg-degrid | clean | search-transients) echo "$device" ;;
    *) echo cpu ;;
  esac
}

more_jobs() {
  job+=(
    [correlate-van-vleck]="correlate -q --channels 4 --integration 5ms --van-vleck --gains ../gains.csv ../in.dada -o out.vis"
    [correlate-8-bits]="correlate -q --channels 16 --integration 5ms --requantise 8 ../in.dada -o out.vis"
    [correlate-samples]="correlate -q --integration 5ms --phase-centre none ../in.dada -o out.vis"
    [beamform-tile]="beamform -q --channels 4 --centre zenith --tile 20deg --product iquv --bits 8 ../in.dada -o out%d.fil"
    [beamform-incoherent]="beamform -q --channels 4 --incoherent --integrate 4 ../in.dada -o out.fil"
    [epic-fft]="epic-image -q --method fft --pol IQUV --channels 4 --size 32 ../in.dada -o out.fits"
    [epic-dft]="epic-image -q --method dft --pol IQUV --size 32 ../in.dada -o out.fits"
    [epic-corr]="epic-image -q --method corr --pol IQUV --channels 4 --size 48 ../in.dada -o out.fits"
    [epic-field]="epic-image -q --electric-field --channels 4 --size 16 --samples 0:64 --pol X,Y ../in.dada -o out.fits"
    [simulate-32]="simulate -q --array array.csv --sky sky.txt --bits 32 --duration 20ms -o out.dada"
    [simulate-4]="simulate -q --array array.csv --sky sky.txt --noise 20kJy --bits 4 --duration 20ms -o out.dada"
    [idg-grid-ms]="idg-grid -q ../in.ms --size 150 --scale 10amin --pol IQUV --weight briggs:0 --channels-out 2 -o out"
    [idg-grid-double]="idg-grid -q ../in.ms --size 100 --scale 10amin --precision double --shift 02h20m,-25d -o out"
    [idg-grid-aterms]="idg-grid -q ../in.ms --size 96 --scale 12amin --aterms ../beam.conf -o out"
    [idg-degrid-sky]="idg-degrid -q --sky sky.txt --column OTHER out.ms"
    [clean-multiscale]="clean -q ../in.ms --size 128 --scale 12amin --niter 300 --algorithm multiscale --pol IQUV --join-polarizations -o out"
    [clean-channels]="clean -q ../in.ms --size 128 --scale 12amin --niter 300 --channels-out 4 --join-channels --fit-spectral-pol 2 -o out"
    [quicklook-ms]="quicklook -q ../in.ms --stats"
  )
}

# begin_job FOLDER NAME: as begin, with what these jobs change.
begin_job() {
  begin "$1" "$2"
  [[ $2 != idg-degrid-* ]] || cp -r in.ms "$1/out.ms"
}

# made_by BIN FOLDER: runs all jobs there, each with its standard output in a file, and masks what names the program.
made_by() {
  local hash
  mkdir -p "$2" && cd "$2" || exit 1
  PATH=$1:$PATH
  hash=$(simulate --version | sed 's/.*(\([0-9a-z+-]*\);.*/\1/')
  make_inputs
  printf 'aterms = [ beam ]\nbeam.model = airy\nbeam.diameter = 25m\n' >beam.conf
  more_jobs
  for name in $(printf '%s\n' "${!job[@]}" | LC_ALL=C sort); do
    begin_job "whole-$name" "$name"
    (cd "whole-$name" && APSYN_DEVICE=$(device_of "$name") ${job[$name]} >out.stdout 2>out.stderr)
    echo "status $?" >>"whole-$name/out.stdout"
  done
  find . \( -name table.lock -o -name '*.png' -o -name out.stderr \) -delete
  find . -type f -print0 | HASH=$hash xargs -0 perl -0777 -pi -e 's/\Q$ENV{HASH}\E/"#" x length($ENV{HASH})/ge; s/(CHECKSUM= .)[0-9A-Za-z]{16}/$1 . "#" x 16/ge'
  cd - >/dev/null || exit 1
}

(made_by "$(realpath "$1")" a)
(made_by "$(realpath "$2")" b)
n=0
while read -r file; do
  n=$((n + 1))
  cmp "a/$file" "b/$file" || fail "$file differs"
done < <(cd a && find . -type f | LC_ALL=C sort)
diff <(cd a && find . | LC_ALL=C sort) <(cd b && find . | LC_ALL=C sort) >&2 || fail "other files were made"
while read -r file; do fail "a job ended badly: $file"; done < <(grep -L '^status 0$' a/whole-*/out.stdout)
echo "$n files compared"
exit 0
