# SPDX-License-Identifier: GPL-3.0-or-later
# Names that libraries take for something else are names: brackets and parentheses (CFITSIO's filters and copies), what looks
# like an address, a plus, a blank, a leading exclamation mark, a percent sign.
source "$APSYN_SOURCE/tests/cli/lib.sh" || exit 1
source "$APSYN_SOURCE/tests/robustness/jobs.sh" || exit 1
make_inputs
for name in 'a(b)' 'x[1]' 'obs+1' 'http://host/x' '!50% é' 'in.fits(copy.fits)'; do
  rm -rf named && mkdir -p named/http:/host && cd named || exit 1
  n=./$name
  cp ../in.vis "$n.vis" && cp ../in.dada "$n.dada" && cp ../in.fil "$n.fil" && cp -r ../in.ms "$n.ms"
  run idg-grid -q --size 64 --scale 12amin "$n.ms" -o "$n"
  expect_file "$n-dirty.fits" "$n-psf.fits"
  run clean -q "$n-dirty.fits" "$n-psf.fits" --niter 10 -o "$n"
  expect_file "$n-image.fits" "$n-model.fits" "$n-residual.fits"
  run idg-degrid -q --model "$n-model.fits" "$n.ms"
  run quicklook -q "$n-image.fits" -o "$n.png"
  run measure-sources -q "$n-image.fits" --sky ../sky.txt -o "$n.txt"
  run correlate -q --channels 16 --integration 5ms "$n.dada" -o "$n-new.ms"
  run correlate -q --channels 16 --integration 5ms "$n.dada" -o "$n-new.vis"
  run search-transients -q "$n.fil" --dm-range 0:20 -o "$n.csv" --plot "$n-plot.png"
  expect_file "$n.png" "$n.txt" "$n-new.ms" "$n-new.vis" "$n.csv" "$n-plot.png"
  case $name in *%*) ;; *)
    run beamform -q --channels 16 --centre zenith "$n.dada" -o "$n-new.fil"
    run epic-image -q --channels 4 --size 16 --accumulate 100ms "$n.dada" -o "$n-epic.fits"
    expect_file "$n-new.fil" "$n-epic.fits"
    ;;
  esac
  # nothing beside these: no copy, no file of a part of the name
  others=$(find . -mindepth 1 -maxdepth 3 ! -path '*.ms/*' ! -name http: ! -name host | grep -vF -- "${name##*/}")
  [ -z "$others" ] || fail "$name: there is also $others"
  cd ..
done
