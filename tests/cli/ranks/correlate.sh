# SPDX-License-Identifier: GPL-3.0-or-later
# Several processes correlate one recording: the bytes of one process, whatever reaches beyond their parts of it.
source "$APSYN_SOURCE/tests/cli/lib.sh" || exit 1
need_mpi

printf 'Format = Name, Type, Ra, Dec, I\na, POINT, 02:30:00, -26.42.00, 100\n' >sky.txt
run simulate -q --array mwa-32t --sky sky.txt --freq 150MHz --channels 2 --bandwidth 80kHz --duration 400ms --bits 4 \
  --noise 1000Jy -o rec.dada

# Delays, taps of a filterbank, a range, an incomplete last integration; scales of their own for each integration.
declare -A options=(
  [plain]="--channels 16 --integration 5ms"
  [taps]="--channels 8 --pfb-taps 8 --integration 17ms --requantise 8 --dither --average-channels 2"
  [range]="--channels 16 --integration 5ms --samples 1001:14011 --van-vleck"
  [short]="--channels 4 --integration 900ms --phase-centre none"
)
for what in plain taps range short; do
  run correlate -q ${options[$what]} rec.dada -o $what.vis && mv $what.vis $what-1.vis
  for n in 2 $([ $what = plain ] && echo 3 4); do
    run mpirun -n $n correlate -v ${options[$what]} rec.dada -o $what.vis --overwrite
    expect_no_stdout
    [ "$(grep -c 'info: times:' "$(stderr_file)")" = 1 ] || fail "$what on $n: not one process speaks"
    expect_same $what-1.vis $what.vis "$what: $n processes give other bytes than one"
  done
done
# Standard output of a launcher's processes, which may be a terminal in between, into a pipe.
correlate -q ${options[plain]} rec.dada -o - 2>/dev/null >one-piped.vis
mpirun -n 2 correlate -q ${options[plain]} rec.dada -o - 2>piped.err | cat >piped.vis
[ "${PIPESTATUS[0]}" = 0 ] || fail "cannot write to standard output: $(cat piped.err)"
expect_same one-piped.vis piped.vis
# What the samples were like is of all parts.
run correlate -q ${options[plain]} rec.dada -o one.ms
run mpirun -n 3 correlate -v ${options[plain]} rec.dada -o many.ms
for file in one.ms/table.f*; do expect_same "$file" many.ms/"${file##*/}"; done
grep 'samples of' "$(stderr_file)" >many
run correlate -v ${options[plain]} rec.dada -o again.vis
grep 'samples of' "$(stderr_file)" >one
[ -s one ] || fail "nothing is said of the samples"
expect_same one many

# A pipe reaches one process; damage ends all, told once, and leaves nothing.
mkdir elsewhere && mkfifo elsewhere/rec.dada
cat rec.dada >elsewhere/rec.dada &
(cd elsewhere && run mpirun -n 2 correlate -q ${options[plain]} rec.dada -o plain.vis)
expect_stderr "is not shared"
expect_same plain-1.vis elsewhere/plain.vis
expect_exit 2 mpirun -n 2 correlate -q - -o nothing.vis
expect_stderr "give a file"
head -c 1500000 rec.dada >cut.dada
expect_exit 3 mpirun -n 3 correlate -q ${options[plain]} cut.dada -o nothing.vis
[ "$(grep -c 'error:' "$(stderr_file)")" = 1 ] || fail "the error is told other than once"
expect_no_file nothing.vis
# A launcher of another MPI, whose processes do not find each other.
expect_exit 1 env PMI_SIZE=2 PMI_RANK=0 correlate -q ${options[plain]} rec.dada -o nothing.vis
expect_stderr "started as 2 processes, but MPI joins 1"
run env PMI_SIZE=2 PMI_RANK=0 APSYN_RANKS=off correlate -q ${options[plain]} rec.dada -o plain.vis --overwrite
expect_same plain-1.vis plain.vis
