# SPDX-License-Identifier: GPL-3.0-or-later
# What the tests of the command line share: source "$APSYN_SOURCE/tests/cli/lib.sh" first. It enters an empty scratch
# folder that is removed at the end, puts the built tools first on the PATH and closes standard input. An expectation
# that fails is reported with its line and the test goes on; the script ends with status 1 if there was any, also when
# it happened in a subshell or a pipe. A command that does not end in $TIME_LIMIT seconds counts as hung.
set -uo pipefail
: "${APSYN_BIN:?the folder of the built tools}" "${APSYN_SOURCE:?the source folder}" "${APSYN_BUILD:?the build folder}"
export PATH="$APSYN_BIN:$PATH" LC_ALL=C
export APSYN_DEVICE=cpu  # the tests of GPUs are programs of their own
TIME_LIMIT=${TIME_LIMIT:-120}
SCRATCH=$(mktemp -d "${TMPDIR:-/tmp}/apsyn-test.XXXXXX")
STATE=$(mktemp -d "${TMPDIR:-/tmp}/apsyn-test.XXXXXX") # stdout and stderr of the last command, list of failures
cd "$SCRATCH" || exit 1
exec </dev/null

owner=$BASHPID
finish() {
  local status=$?
  # A signal may meet a child of bash before it has forgotten the trap: the folder is not the child's.
  [ "$BASHPID" = "$owner" ] || return
  cd / && chmod -R u+rwX "$SCRATCH" && rm -rf "$SCRATCH"
  if [ -s "$STATE/failures" ]; then
    status=1
  elif [ $status -ne 0 ] && [ $status -ne 77 ]; then
    echo "$0: its last command ended with status $status" >&2
  fi
  rm -rf "$STATE"
  exit $status
}
trap finish EXIT

# fail TEXT: notes a failure at the line of the test script that called.
fail() {
  local depth=1
  while [ "${BASH_SOURCE[$depth]}" = "${BASH_SOURCE[0]}" ] && [ $depth -lt $((${#BASH_SOURCE[@]} - 1)) ]; do
    depth=$((depth + 1))
  done
  echo "${BASH_SOURCE[$depth]##*/}:${BASH_LINENO[$((depth - 1))]}: $*" | tee -a "$STATE/failures" >&2
}

# skip TEXT: ends the test as skipped, with the reason. A failure before it still counts.
skip() {
  echo "skipped: $*"
  exit 77
}

# expect_peak MB: the last command, run with -v, took no more memory than that and 5 %. Sanitizers take more.
expect_peak() {
  (ulimit -v 1000000 && exec idg-grid --version) >/dev/null 2>&1 || return 0
  local peak
  peak=$(sed -n 's/.*peak memory \([0-9.]*\) MB.*/\1/p' "$(stderr_file)")
  awk -v peak="${peak:-1e9}" -v most="$1" 'BEGIN { exit !(peak <= 1.05 * most) }' || fail "took $peak MB of memory, not $1 MB: ${2:-}"
}

# need COMMAND...: skips the test unless these programs are installed.
need() {
  local program
  for program in "$@"; do command -v "$program" >/dev/null || skip "$program is not installed"; done
}

# two_sources JY JY: a sky of two points, one of them where the tests of calibrate point.
two_sources() {
  printf '%s\n' 'Format = Name, Type, Ra, Dec, I' "a, POINT, 02:28:00, -26.42.00, $1" "b, POINT, 02:10:00, -24.00.00, $2"
}

# all_tools: the name of every tool, one per line.
all_tools() { (cd "$APSYN_SOURCE/tools" && printf '%s\n' */main.cpp | sed 's:/main\.cpp$::'); }

# expect_exit CODE COMMAND...: runs it and keeps what it says for expect_stdout and expect_stderr; standard input is the
# caller's. CODE may be a list: "1|3".
expect_exit() {
  local expected=$1 status
  shift
  timeout "$TIME_LIMIT" "$@" >"$STATE/stdout" 2>"$STATE/stderr"
  status=$?
  [ $status -eq 124 ] && fail "hung for $TIME_LIMIT s: $*"
  case "|$expected|" in
    *"|$status|"*) ;;
    *)
      fail "exit status $status instead of $expected: $*"
      sed 's/^/    stderr: /' "$STATE/stderr" | tail -5 >&2
      ;;
  esac
}

# run COMMAND...: must succeed.
run() { expect_exit 0 "$@"; }

# expect_stderr TEXT..., expect_stdout TEXT...: the last command wrote each text (fixed strings).
expect_stderr() { expect_in stderr "$@"; }
expect_stdout() { expect_in stdout "$@"; }
expect_in() {
  local where=$1 text
  shift
  for text in "$@"; do
    grep -aqF -- "$text" "$STATE/$where" && continue
    fail "no '$text' on $where"
    head -c 2000 "$STATE/$where" | sed "s/^/    $where: /" >&2
  done
}

# expect_no_stdout: the last command wrote nothing there.
expect_no_stdout() { [ ! -s "$STATE/stdout" ] || fail "unexpected $(stat -c %s "$STATE/stdout") bytes on stdout"; }
# stdout_file, stderr_file: what the last command wrote, for closer looks.
stdout_file() { echo "$STATE/stdout"; }
stderr_file() { echo "$STATE/stderr"; }

# expect_file NAME...: each is there and not empty (a file or a folder), with no NAME.part left.
expect_file() {
  local name
  for name in "$@"; do
    [ -s "$name" ] || fail "$name is missing or empty"
    [ ! -e "$name.part" ] || fail "$name.part was left behind"
  done
}

# expect_no_file NAME...: neither NAME nor NAME.part is there.
expect_no_file() {
  local name
  for name in "$@"; do
    [ ! -e "$name" ] || fail "$name should not be there"
    [ ! -e "$name.part" ] || fail "$name.part was left behind"
  done
}

# compared A B: sets `first` and `second` to what cmp is to read. Pipes are copied, so that it can be seen whether they hold
# anything: nothing is equal to nothing, and a file that is missing differs from all others.
compared() {
  first=$1 second=$2
  [ -f "$1" ] || { first=$STATE/first && cat "$1" >"$first"; }
  [ -f "$2" ] || { second=$STATE/second && cat "$2" >"$second"; }
  [ -s "$first" ] && [ -s "$second" ] && return
  fail "there is nothing in $1 or $2"
  return 1
}
# expect_same A B [TEXT]: identical bytes, of files or pipes that hold some.
expect_same() {
  local first second
  compared "$1" "$2" || return 0
  cmp "$first" "$second" >&2 || fail "${3:-$1 and $2 differ}"
}
# expect_different A B TEXT: both hold something, and not the same.
expect_different() {
  local first second
  compared "$1" "$2" || return 0
  cmp -s "$first" "$second"
  [ $? -eq 1 ] || fail "$1 and $2 are the same, or cannot be read: $3"
}

# expect_near VALUE EXPECTED TOLERANCE WHAT: |VALUE - EXPECTED| <= TOLERANCE; anything that is no number fails.
expect_near() {
  awk -v x="$1" -v y="$2" -v t="$3" 'BEGIN {
    number = "^[-+]?([0-9]+\\.?[0-9]*|\\.[0-9]+)([eE][-+]?[0-9]+)?$"
    if (x !~ number || y !~ number || t !~ number) exit 1
    d = x - y; if (d < 0) d = -d
    exit !(d <= t + 0)
  }' || fail "$4 is $1, not $2 within $3"
}

# make_fits FILE N 'FORMULA of x, y from the centre' [MHZ]: a square image with cells of 10 arcsec.
make_fits() {
  awk -v n="$2" -v mhz="${4:-0}" '
    function card(text) { printf "%-80s", text; cards++ }
    BEGIN {
      card("SIMPLE  = T"); card("BITPIX  = 16"); card("NAXIS   = " (mhz > 0 ? 3 : 2)); card("NAXIS1  = " n); card("NAXIS2  = " n)
      if (mhz > 0) { card("NAXIS3  = 1"); card("CTYPE3  = '\''FREQ'\''"); card("CRVAL3  = " mhz "E6"); card("CDELT3  = 1E6") }
      card("BSCALE  = 0.0001"); card("BLANK   = -32768"); card("BUNIT   = '\''JY/BEAM'\''")
      card("CTYPE1  = '\''RA---SIN'\''"); card("CRVAL1  = 10"); card("CDELT1  = -2.777777777777778E-3")
      card("CTYPE2  = '\''DEC--SIN'\''"); card("CRVAL2  = -30"); card("CDELT2  = 2.777777777777778E-3")
      card("CRPIX1  = " int(n / 2) + 1); card("CRPIX2  = " int(n / 2) + 1); card("OBJECT  = '\''made up'\''")
      card("END")
      while (cards % 36) card("")
    }' </dev/null >"$1"
  awk -v n="$2" '
    function gauss(x, y) { return exp(-(x * x + y * y) / 8) * (1 + 0.1 * cos(x) * cos(y)) / 1.1 }
    BEGIN {
      for (j = 0; j < n; j++)
        for (i = 0; i < n; i++) {
          x = i - int(n / 2); y = j - int(n / 2)
          v = '"$3"'
          v = v == "blank" ? -32768 : sprintf("%.0f", v * 10000)
          if (v < 0) v += 65536
          printf "\\x%02x\\x%02x", int(v / 256), v % 256
        }
    }' </dev/null >bytes.txt
  printf '%b' "$(cat bytes.txt)" >>"$1"
  local size
  size=$(stat -c %s "$1")
  head -c $(((2880 - size % 2880) % 2880)) /dev/zero >>"$1"
}

# psrfits_of IN.fil OUT.sf BITS [SCALE OFFSET [ROW]]: a filterbank of 8 bits and one IF as PSRFITS of 8 or 16 bits, whose
# codes are (value - OFFSET) / SCALE, in rows of 500 samples. ROW is left out, when it is named.
psrfits_of() {
  perl -e '
    my ($in, $out, $bits, $scale, $offset, $left_out) = (@ARGV, 1, 0, -1);
    ($scale, $offset, $left_out) = (1, 0, -1) if @ARGV == 3;
    $left_out = -1 if @ARGV == 5;
    open(my $f, "<:raw", $in);
    my $all = do { local $/; <$f> };
    my $data = index($all, "HEADER_END") + 10;
    my $head = substr($all, 0, $data);
    sub value { my ($key, $form, $n) = @_; unpack($form, substr($head, index($head, $key) + length($key), $n)) }
    my ($nchan, $tsamp) = (value("nchans", "l<", 4), value("tsamp", "d<", 8));
    my ($fch1, $foff, $tstart) = map { value($_, "d<", 8) } "fch1", "foff", "tstart";
    my $nsblk = 500;
    my $rows = int((length($all) - $data) / $nchan / $nsblk);
    open(my $o, ">:raw", $out);
    sub cards {
      my $text = "";
      while (my ($key, $value) = splice(@_, 0, 2)) { $text .= sprintf("%-80s", sprintf("%-8s= %s", $key, $value)) }
      $text .= sprintf("%-80s", "END");
      $text .= " " x ((2880 - length($text) % 2880) % 2880);
      print $o $text;
    }
    my $day = int($tstart);
    my $seconds = ($tstart - $day) * 86400;
    cards("SIMPLE", "T", "BITPIX", 8, "NAXIS", 0, "EXTEND", "T", "FITSTYPE", "\x27PSRFITS\x27", "OBS_MODE", "\x27SEARCH\x27",
      "SRC_NAME", "\x27fake\x27", "TELESCOP", "\x27Parkes\x27", "STT_IMJD", $day, "STT_SMJD", int($seconds), "STT_OFFS", $seconds - int($seconds));
    my @form = ("1D", "${nchan}D", "${nchan}E", "${nchan}E", "${nchan}E", $nchan * $nsblk . ($bits == 16 ? "I" : "B"));
    my @name = qw(OFFS_SUB DAT_FREQ DAT_WTS DAT_OFFS DAT_SCL DATA);
    my $width = 8 + $nchan * 20 + $nchan * $nsblk * $bits / 8;
    cards("XTENSION", "\x27BINTABLE\x27", "BITPIX", 8, "NAXIS", 2, "NAXIS1", $width, "NAXIS2", $rows - ($left_out >= 0), "PCOUNT", 0, "GCOUNT", 1,
      "TFIELDS", 6, (map { ("TTYPE$_", "\x27$name[$_ - 1]\x27", "TFORM$_", "\x27$form[$_ - 1]\x27") } 1 .. 6),
      "EXTNAME", "\x27SUBINT\x27", "NBITS", $bits, "NPOL", 1, "POL_TYPE", "\x27AA+BB\x27", "NCHAN", $nchan, "NSBLK", $nsblk, "TBIN", $tsamp);
    for my $row (0 .. $rows - 1) {
      next if $row == $left_out;
      my @codes = map { int(($_ - $offset) / $scale) } unpack("C*", substr($all, $data + $row * $nsblk * $nchan, $nsblk * $nchan));
      print $o pack("d>*", ($row + 0.5) * $nsblk * $tsamp, map { $fch1 + $_ * $foff } 0 .. $nchan - 1);
      print $o pack("f>*", (1) x $nchan, ($offset) x $nchan, ($scale) x $nchan), pack($bits == 16 ? "s>*" : "C*", @codes);
    }
    print $o "\0" x ((2880 - tell($o) % 2880) % 2880);' "$@"
}

# stderr_matches REGEX: the last command said so.
stderr_matches() {
  grep -qE -- "$1" "$(stderr_file)" && return
  fail "nothing like '$1' on stderr"
  sed 's/^/    /' "$(stderr_file)" >&2
}

# need_mpi: skips the test unless tools can be started by mpirun; machines with fewer cores, and root, are fine then.
need_mpi() {
  need mpirun
  [[ $(ldd "$APSYN_BIN/idg-grid") = *libmpi* ]] || skip "built without MPI"
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 \
    OMPI_MCA_btl_base_warn_component_unused=0 OMPI_MCA_mpi_yield_when_idle=1
}

# make_shared_sets: what processes share. Far from the zenith (far.ms) w is large: many layers, which they share; in obs.ms
# a single one, whose rows are shared. Source b is at no equal distance from two pixels, which rounding would choose
# between. dish.conf: A-terms.
make_shared_sets() {
  printf 'Format = Name, Type, Ra, Dec, I\na, POINT, 02:30:00, -26.42.00, 100\nb, POINT, 02:20:01, -24.42.00, 50\n' >sky.txt
  run simulate -q --array mwa-32t --sky sky.txt --channels 4 --duration 16s --phase-centre '02h28m00s -26d42m00s' -o obs.ms
  run simulate -q --array mwa-128t --sky sky.txt --channels 2 --duration 4s --integration 4s --start 2024-01-01T16:00:00 \
    --phase-centre '02h28m00s -26d42m00s' -o far.ms
  printf 'aterms = [ beam ]\nbeam.model = airy\nbeam.diameter = 4m\n' >dish.conf
}

# float_pixels FILE: those of a float32 FITS image, one per line.
float_pixels() {
  local cards
  cards=$(head -c 57600 "$1" | fold -w 80 | grep -an '^END ' | head -1 | cut -d: -f1)
  tail -c +$(((cards + 35) / 36 * 2880 + 1)) "$1" | od -An -v -t f4 --endian=big -w4
}
# expect_near_numbers A B TOLERANCE WHAT: files of as many numbers, everywhere within TOLERANCE of A's highest |number|; NaN
# at the same places.
expect_near_numbers() {
  local difference
  difference=$(paste "$1" "$2" | awk -v t="$3" '
    function size(x) { return x < 0 ? -x : x }
    { if (NF != 2 || ($1 ~ /nan/) != ($2 ~ /nan/)) bad = 1
      if ($1 ~ /nan/) next
      if (size($1) > peak) peak = size($1)
      if (size($1 - $2) > worst) worst = size($1 - $2) }
    END { printf "%g of the peak", (peak > 0 ? worst / peak : -1); exit bad || !(peak > 0) || worst > t * peak }')
  [ $? -eq 0 ] || fail "$4 differs: $difference"
}
# expect_near_image A B TOLERANCE: the same for FITS images.
expect_near_image() { expect_near_numbers <(float_pixels "$1") <(float_pixels "$2") "$3" "$2 from $1"; }
