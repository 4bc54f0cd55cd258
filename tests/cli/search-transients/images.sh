# SPDX-License-Identifier: GPL-3.0-or-later
# search-transients on images in time: streams of epic-image and of a writer here, FITS cubes and lists, cut-outs,
# memory, and what it refuses.
source "$APSYN_SOURCE/tests/cli/lib.sh" || exit 1
need perl

# images NAME N [PULSES] [HOW]: a stream of N images of 20 ms, 24 x 20 pixels of 0.1 degrees about 4h -27d, 8 channels of
# 160 kHz about 150 MHz, noise of 1, and pulses "frame:dm:frames:x:y:height" that are as wide as a beam of 3 pixels.
# HOW: nan blanks a corner, two writes XX and YY, dead a sky without noise, gap blanks the images 60 to 62.
images() {
  perl -e '
    my ($name, $n, $pulses, $how) = (@ARGV, "", "");
    my ($nx, $ny, $nchan, $step) = (24, 20, 8, 0.02);
    my $products = $how eq "two" ? "XX,YY" : "I";
    my $bytes = $n * $nx * $ny * $nchan * 4 * ($how eq "two" ? 2 : 1);
    my $header = join("", map { "$_\n" } "HDR_SIZE 4096", "INSTRUMENT apsyn-image", "TELESCOPE MWA", "SOURCE field",
      "UTC_START 2024-01-01-00:00:00", "PICOSECONDS 0", "OBS_OFFSET 0", "FILE_SIZE $bytes", "TRAILER 0", "FREQ 150", "BW 1.28",
      "TSAMP " . $step * 1e6, "NBIT 32", "NDIM 1", "NCHAN $nchan", "NX $nx", "NY $ny", "CELL 0.1", "PRODUCTS $products",
      "ORDER TDPFYX", "ENCODING FLOAT", "ENDIAN LITTLE", "PHASE_RA 60", "PHASE_DEC -27", "FLUX_UNIT Jy");
    open(my $out, ">:raw", $name);
    print $out pack("a4096", $header);
    srand(11);
    my @noise = map { my $s = 0; $s += rand() for 1 .. 12; $s - 6 } 1 .. 65536;
    my @pulses = map { [split /:/] } split /,/, $pulses;
    my $top = 150 + 1.28 / 2 - 0.08;
    for my $t (0 .. $n - 1) {
      my $all = "";
      for my $c (0 .. $nchan - 1) {
        my $f = 150 - 1.28 / 2 + 0.16 * ($c + 0.5);
        my @image = map { $how eq "dead" ? 1 : $noise[int(rand(65536))] } 1 .. $nx * $ny;
        for (@pulses) {
          my ($first, $dm, $w, $px, $py, $h) = @$_;
          my $begin = $first + int($dm / 2.41e-4 * ($f ** -2 - $top ** -2) / $step + 0.5);
          next if $t < $begin || $t >= $begin + $w;
          for my $i (0 .. $nx * $ny - 1) {
            my ($dx, $dy) = ($i % $nx - $px, int($i / $nx) - $py);
            $image[$i] += $h * exp(-($dx ** 2 + $dy ** 2) * 2.77 / 9);
          }
        }
        if ($how eq "nan") { $image[$_] = "nan" for 0 .. 5, 24 .. 29 }
        if ($how eq "gap" && $t >= 60 && $t <= 62) { @image = ("nan") x ($nx * $ny) }
        $all .= pack("f<*", @image);
      }
      print $out $all;
      print $out $all if $how eq "two";
    }' "$@"
}
header=time_s,mjd,dm,sn,width_s,n_hits,dm_low,dm_high,begin_s,end_s,ra_deg,dec_deg,x,y,n_pixels,flux
# the columns of candidate N, from 1
candidate() {
  IFS=, read -r time_s mjd dm sn width_s n_hits dm_low dm_high begin_s end_s ra dec x y n_pixels flux \
    < <(sed -n "$((${2:-1} + 1))p" "$1")
}
expect_candidates() { [ "$(($(wc -l <"$2") - 1))" -eq "$1" ] || fail "$2 has not $1 candidates: $(cat "$2")"; }

# two pulses: S/N of 4 sqrt(8 3) = 19.6, and of 5 sqrt(8) = 14.1
images two.images 200 50:100:3:9.3:12.6:4,120:0:1:18:5:5
run search-transients two.images --dm-range 0:250 -o two.csv --plot two.png --cutouts cut%d
expect_no_stdout
expect_stderr "2 candidates above 8 in 4 s of data" "left out: 0 % of images are missing, 0 % bright all over"
expect_file two.csv two.png cut0.fits cut0.png cut1.fits cut1.png
expect_no_file cut2.fits cut2.png
[ "$(head -1 two.csv)" = "$header" ] || fail "the header line is $(head -1 two.csv)"
expect_candidates 2 two.csv
candidate two.csv
expect_near "$time_s" 1.03 0.025 "the time"
expect_near "$dm" 100 17 "the DM"
expect_near "$sn" 19 2.5 "S/N"
expect_near "$width_s" 0.06 0.021 "the width"
expect_near "$x" 9.3 0.3 "x"
expect_near "$y" 12.6 0.3 "y"
# the middle, x = 12 and y = 10, is 60, -27 degrees; east is towards smaller x
expect_near "$ra" 60.305 0.035 "the right ascension"
expect_near "$dec" -26.74 0.03 "the declination"
expect_near "$flux" 4 0.8 "the flux"
expect_near "${mjd#60310.}" "$(awk -v t="$time_s" 'BEGIN { printf "%.0f", t / 86400 * 1e12 }')" 2 "the fraction of a day"
candidate two.csv 2
expect_near "$dm" 0 0 "the DM of the second"
expect_near "$time_s" 2.41 1e-6 "the time of the second"
# a cut-out shows the pulse at its place
run quicklook cut0.fits --stats
expect_stdout '"kind": "image"'
head -c 8 cut0.png | cmp -s - <(printf '\x89PNG\r\n\x1a\n') || fail "cut0.png is no PNG"

# the same whatever the threads, through a pipe, of two polarisations, of a cube, and of files one by one
for threads in 1 3; do
  run search-transients two.images --dm-range 0:250 --threads $threads --overwrite -o same.csv
  expect_same two.csv same.csv "--threads $threads gives other candidates"
done
run bash -c 'cat two.images | search-transients -q --dm-range 0:250 - >pipe.csv'
expect_same two.csv pipe.csv
images both.images 200 50:100:3:9.3:12.6:4,120:0:1:18:5:5 two
run search-transients both.images --dm-range 0:250 -o both.csv
expect_same two.csv both.csv "the mean of XX and YY gives other candidates"
run search-transients both.images --dm-range 0:250 --intensity first --overwrite -o both.csv
expect_same two.csv both.csv
expect_exit 2 search-transients two.images --intensity sum

# memory: what is told is kept, and too little is refused with what suffices
run search-transients two.images --dm-range 0:250 --dry-run
expect_stdout "images of I, 24 x 20 pixels of 6 amin, 8 channels from 149.44 to 150.56 MHz, one each 20 ms, 200 of them: 4 s" \
  "filters: 6 widths from 20 ms to 160 ms" "baseline: means of 640 ms" "memory:"
expect_exit 1 search-transients two.images --dm-range 0:250 --max-memory 5MB -o none.csv
expect_stderr "--max-memory 5 MB: searching --dm-range 0:250 in images of 24 x 20 pixels needs at least"
least=$(sed -n 's/.*needs at least \([0-9]*\).*/\1/p' "$(stderr_file)")
run search-transients two.images --dm-range 0:250 --max-memory "${least}MB" --threads 1 --overwrite -o same.csv -v
expect_peak "$least"
expect_same two.csv same.csv

# a GPU where one is asked for, and with the same table; else, and for a few small images, the CPU
run search-transients two.images --dm-range 0:250 --device auto -v --overwrite -o same.csv
expect_stderr "device: cpu (" "search " "images" "levels" "trials"
if command -v nvidia-smi >/dev/null && search-transients --version | grep -q 'architectures: [0-9]'; then
  run search-transients two.images --dm-range 0:250 --device cuda --overwrite -o same.csv
  expect_stderr "device: cuda:0 (" "device memory: "
  expect_same two.csv same.csv "--device cuda gives other candidates"
else
  expect_exit 4 search-transients two.images --device cuda -o none.csv
  expect_stderr "search-transients: error: --device cuda: "
fi

# blank pixels and images, noise alone, no noise at all, few images
images nan.images 100 50:100:3:9.3:12.6:4 nan
run search-transients nan.images --dm-range 0:250 -o nan.csv
expect_candidates 1 nan.csv
images gap.images 160 120:0:1:18:5:5 gap
run search-transients gap.images --dm-range 0:250 -o gap.csv
expect_stderr "left out: 1.88 % of images are missing"
expect_candidates 1 gap.csv
images noise.images 200
run search-transients noise.images --dm-range 0:250 -o noise.csv --plot noise.png
expect_candidates 0 noise.csv
images dead.images 40 "" dead
expect_exit 1 search-transients dead.images -o none.csv
expect_stderr "dead.images: no usable data: every image is blank, constant or taken out"
images one.images 1
expect_exit 1 search-transients one.images -o none.csv
expect_stderr "one.images: no usable data: 1 images, at least 16 are needed"
# a file that is cut inside an image; a pipe that is
head -c 1000000 two.images >cut.images
expect_exit 3 search-transients cut.images -o none.csv
expect_exit 3 bash -c 'head -c 1000000 two.images | search-transients - -o none.csv --cutouts none%d'
expect_no_file none.csv none0.fits none0.png
sed 's/^NX 24/NX 00/' two.images >zero.images
expect_exit 3 search-transients zero.images -o none.csv

# options that have no place here, or not with these inputs
expect_exit 2 search-transients two.images --zero-dm
expect_exit 2 search-transients two.images --format presto
expect_exit 2 search-transients two.images --cutouts cut
expect_exit 2 search-transients two.images --cutouts cut%d -o again.csv
expect_stderr "cut0.fits"
expect_exit 2 search-transients two.images --baseline 100ms
expect_stderr "--baseline 100ms: levels need 16 images and twice the longest filter, 320 ms here"
expect_exit 2 search-transients two.images noise.images
expect_stderr "a stream of images is searched by itself"
expect_exit 3 search-transients "$APSYN_SOURCE/README.md" -o none.csv

# an array of 24 antennas: a pulsar of 400 ms and a dispersion measure of 10, from its voltages to its place. Of its
# period of 800 samples of 0.5 ms one pulse is seen.
perl -e 'srand(5); printf "name,east_m,north_m,up_m\n"; printf "a%d,%.3f,%.3f,0\n", $_, 60 * rand, 60 * rand for 1 .. 24' >antennas.csv
cat >sky.txt <<'END'
Format = Name, Type, Ra, Dec, I
pulsar, POINT, 12:30:00, 30.00.00, 1
steady, POINT, 10:30:00, 40.00.00, 200
END
run simulate --array antennas.csv --site 34.35,-106.88,1500 --sky sky.txt --pulsar 400ms,10,0.01 --freq 60MHz --bandwidth 400kHz \
  --channels 8 --duration 480ms --bits 8 --noise 3000Jy -o obs.dada
run bash -c 'epic-image -q --channels 2 --size 32 --accumulate 5ms --no-autos obs.dada -o - |
  search-transients -q --dm-range 0:20 - -o pulsar.csv --cutouts pulsar%d'
expect_candidates 1 pulsar.csv
candidate pulsar.csv
expect_near "$dm" 10 1.5 "the DM of the pulsar"
expect_near "$ra" 187.5 1 "the right ascension of the pulsar"
expect_near "$dec" 30 1 "the declination of the pulsar"
expect_file pulsar0.fits pulsar0.png
# the same images as a cube in time, whose centre is the same, and its half at the same place
run epic-image -q --channels 2 --size 32 --accumulate 5ms --no-autos obs.dada -o cube.fits
run search-transients -q --dm-range 0:20 cube.fits -o cube.csv
expect_same pulsar.csv cube.csv "a cube gives other candidates than the stream"
expect_exit 2 bash -c 'cat cube.fits | search-transients - -o none.csv'
# files one by one, of which some are missing; each has the zenith of its own time as its centre
run epic-image -q --channels 2 --size 32 --accumulate 5ms --no-autos obs.dada -o img-%03d.fits
run search-transients -q --dm-range 0:20 img-*.fits -o list.csv
expect_same <(cut -d, -f1-3,5 pulsar.csv) <(cut -d, -f1-3,5 list.csv) "files one by one give other candidates"
rm img-007.fits
run search-transients --dm-range 0:20 img-*.fits -o gone.csv
expect_candidates 1 gone.csv
expect_exit 3 search-transients img-003.fits img-002.fits img-004.fits -o none.csv
expect_stderr "img-002.fits: does not begin after img-003.fits: give files in the order of their times"
expect_exit 1 search-transients img-000.fits -o none.csv

# images of intervals and channels from visibilities
run simulate -q --array mwa-32t --sky <(sed 's/12:30:00/02:30:00/; s/30.00.00/-26.00.00/' sky.txt) --noise 2000Jy --channels 2 \
  --duration 2s --integration 100ms --phase-centre '02h28m00s -26d42m00s' -o set.ms
run idg-grid -q set.ms --size 32 --scale 10amin --intervals-out 20 --channels-out 2 --no-psf -o grid
run search-transients grid-t*-00*-dirty.fits --dry-run
expect_stdout "images of I, 32 x 32 pixels of 10 amin, 2 channels from 149.68 to 150.32 MHz, one each 100 ms, 20 of them: 2 s"
run search-transients grid-t*-00*-dirty.fits -o grid.csv
expect_candidates 0 grid.csv
