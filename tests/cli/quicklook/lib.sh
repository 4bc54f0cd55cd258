# SPDX-License-Identifier: GPL-3.0-or-later
# What the tests of quicklook share: sourced after lib.sh.

# cards TEXT...: 80-column header cards, padded to a FITS block of 2880 bytes.
cards() { { printf '%-80s' "$@" && printf '%2880s' ''; } | head -c 2880; }

# fits NAME NX NY [CARD...]: an 8-bit image whose pixels are the number of their column, modulo 200.
fits() {
  local name=$1 nx=$2 ny=$3
  shift 3
  {
    cards 'SIMPLE  =                    T' 'BITPIX  =                    8' 'NAXIS   =                    2' \
      "NAXIS1  = $(printf %20d "$nx")" "NAXIS2  = $(printf %20d "$ny")" "CTYPE1  = 'RA---SIN'" "CTYPE2  = 'DEC--SIN'" \
      "CRPIX1  = $(printf %20d $((nx / 2 + 1)))" "CRPIX2  = $(printf %20d $((ny / 2 + 1)))" \
      'CRVAL1  =                187.5' 'CRVAL2  =                -30.0' 'CDELT1  =                 -0.1' \
      'CDELT2  =                  0.1' "CUNIT1  = 'deg     '" "CUNIT2  = 'deg     '" "BUNIT   = 'JY/BEAM '" "$@" 'END'
    awk -v nx="$nx" -v ny="$ny" 'BEGIN {
      for (y = 0; y < ny; ++y) for (x = 0; x < nx; ++x) printf "%c", x % 200 + 33
      for (i = nx * ny; i % 2880; ++i) printf "%c", 32
    }' | head -c $(((nx * ny + 2879) / 2880 * 2880))
  } >"$name"
}

# is_png FILE WIDTH HEIGHT: signature, size in the header, and the closing chunk.
is_png() {
  expect_file "$1"
  [ "$(head -c 8 "$1" | od -An -tx1 | tr -d ' \n')" = 89504e470d0a1a0a ] || fail "$1 is no PNG"
  [ "$(tail -c 8 "$1" | head -c 4)" = IEND ] || fail "$1 does not end as a PNG"
  [ -z "${2:-}" ] || [ "$(od -An -tx1 -j16 -N8 "$1" | tr -d ' \n')" = "$(printf %08x%08x "$2" "$3")" ] ||
    fail "$1 has not $2 x $3 pixels"
}

# pixels FILE: what tells pictures apart, a sum over their compressed pixels from the first chunk of them on. The command in the text
# before them differs anyway, in length too.
pixels() { perl -0777 -ne '$at = index($_, "IDAT"); print substr($_, $at) if $at > 0' "$1" | cksum; }

# make_inputs: sky.fits, large.fits, a set (obs.ms), voltages (rec.dada) with a tenth missing and their visibilities
# (rec.vis), and a cube of two times, real and imaginary parts (cube.dada, cube.fits).
make_inputs() {
  fits sky.fits 64 48 "OBJECT  = 'Test field'"
  fits large.fits 1500 20
  cat >sky.txt <<'SKY'
Format = Name, Type, Ra, Dec, I
alpha, POINT, 12:30:00, -30.00.00, 10
elsewhere, POINT, 02:30:00, 30.00.00, 1
SKY
  simulate --array mwa-32t --sky sky.txt --freq 150MHz --bandwidth 1.28MHz --channels 4 --duration 3s -q -o obs.ms ||
    fail "no Measurement Set to look at"
  simulate --array mwa-32t --sky sky.txt --freq 150MHz --bandwidth 1.28MHz --channels 32 --duration 8ms --bits 4 \
    --noise 1000Jy --drop 0.1 -q -o rec.dada || fail "no voltages to look at"
  run correlate rec.dada --integration 2ms -q -o rec.vis
  printf 'Format = Name, Type, Ra, Dec, I\na, POINT, 02:28:00, -26.42.00, 100\n' >zenith.txt
  run simulate --array mwa-32t --sky zenith.txt --channels 1 --bandwidth 10kHz --duration 40ms -o cube.dada
  run epic-image -q cube.dada --size 32 --accumulate 20ms --pol XX,XY -o cube.fits
}
