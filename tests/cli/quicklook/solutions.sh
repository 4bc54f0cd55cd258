# SPDX-License-Identifier: GPL-3.0-or-later
# quicklook of solutions that DP3 wrote: pictures, and what --stats says; the figures are from the file by h5py.
source "$APSYN_SOURCE/tests/cli/lib.sh" || exit 1
source "$APSYN_SOURCE/tests/cli/quicklook/lib.sh" || exit 1
data=$APSYN_SOURCE/tests/data
cp "$data/DP3-ddecal-diagonal.h5" dd.h5
cp "$data/DP3-ddecal-tecandphase.h5" tec.h5

run quicklook dd.h5
is_png dd.png
run quicklook dd.h5 --against time --direction B -o b.svg
expect_file b.svg
grep -q RS307HBA b.svg || fail "the figure names no antenna"
grep -q 'direction B' b.svg || fail "the figure does not name its direction"
run quicklook tec.h5 -o tec.png
expect_stderr "choose others with --soltabs"
run quicklook tec.h5 --soltabs tec000 -o tec000.png
grep -q "choose others" "$(stderr_file)" && fail "speaks of tables that were not asked for"
run bash -c 'quicklook - -o - <dd.h5 >piped.png'
is_png piped.png
expect_exit 2 quicklook dd.h5 --direction C -o wrong.png
expect_exit 3 quicklook dd.h5 --soltabs amplitude007 -o wrong.png
expect_stderr "amplitude000, antenna, phase000, source"
head -c 9000 dd.h5 >torn.h5
expect_exit 3 quicklook torn.h5 -o wrong.png
expect_stderr torn.h5
expect_no_file wrong.png

need perl
member() {
  perl -MJSON::PP -0777 -ne 'BEGIN { @path = splice @ARGV } $v = decode_json($_);
    $v = ref $v eq "ARRAY" ? $v->[$_] : $v->{$_} for @path;
    print defined $v ? $v : "null"' "$@" <"$(stdout_file)"
}
run quicklook dd.h5 --stats
[ "$(member kind)" = solutions ] || fail "solutions are of kind $(member kind)"
[ "$(member directions 1 direction)" = B ] || fail "the second direction is $(member directions 1 direction)"
expect_near "$(member directions 1 ra_deg)" 24.922083 1e-5 "its right ascension"
[ "$(member tables 0 term)" = gain ] || fail "the table is $(member tables 0 term)"
expect_near "$(member tables 0 interval_s)" 40.0556 1e-3 "the interval"
expect_near "$(member tables 0 flagged_fraction)" 0.125 0 "what is flagged, 32 of 256"
[ "$(member gains 7 antenna)" = RS307HBA ] || fail "the last antenna is $(member gains 7 antenna)"
expect_near "$(member gains 7 flagged_fraction)" 1 0 "what of it is flagged"
[ "$(member gains 7 median_amplitude)" = null ] || fail "it has the amplitude $(member gains 7 median_amplitude)"
expect_near "$(member gains 0 flagged_fraction)" 0 0 "what is flagged of the first"
expect_near "$(member gains 0 median_amplitude)" 0.01165417178156941 1e-16 "its amplitude"
