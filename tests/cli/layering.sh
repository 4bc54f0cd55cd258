# SPDX-License-Identifier: GPL-3.0-or-later
# Dependencies point one way: tools -> kernels -> libcore/core, and tools -> libcore/cli, io, plot -> libcore/core.
# Looks at every #include of the sources, and first at small trees that break each rule, to see that it would notice.
source "$APSYN_SOURCE/tests/cli/lib.sh" || exit 1

# includes ROOT: "file<TAB>included name" of every source below ROOT.
includes() {
  (cd "$1" && find libcore kernels tools tests -name '*.cpp' -o -name '*.h' -o -name '*.cu' -o -name '*.cuh' 2>/dev/null |
    LC_ALL=C sort | xargs -r awk '
      /^[ \t]*#[ \t]*include[ \t]*[<"]/ { name = $0; sub(/^[^<"]*[<"]/, "", name); sub(/[>"].*/, "", name)
                                          print FILENAME "\t" name }')
}

# violations ROOT: one line per include that its place forbids.
violations() {
  includes "$1" | awk -F'\t' '
    function forbid(places, names, why) {
      if ($1 ~ places && $2 ~ names) print $1 " includes " $2 ": " why
    }
    {
      foreign = "^(casacore/|fitsio|longnam|CLI/|png\\.h|erfa)"
      forbid("^libcore/core/", foreign, "the core knows no file format and no command line")
      forbid("^libcore/core/", "^(libcore/(io|cli|plot)|kernels|tools|tests)/", "the core depends on nothing above it")
      forbid("^libcore/io/", "^(libcore/cli|kernels|tools|tests)/", "io depends on the core only")
      forbid("^libcore/io/", "^CLI/", "io knows no command line")
      forbid("^libcore/cli/", "^(libcore/io|kernels|tools|tests)/", "cli depends on the core only")
      forbid("^libcore/cli/", "^(casacore/|fitsio|png\\.h)", "cli knows no file format")
      forbid("^libcore/plot/", foreign, "plots are pixels in memory: they know no file format and no command line")
      forbid("^libcore/plot/", "^(libcore/(io|cli)|kernels|tools|tests)/", "plot depends on the core only")
      forbid("^libcore/(core|io|cli)/", "^libcore/plot/", "only tools draw")
      forbid("^kernels/", foreign, "kernels know no file format and no command line")
      forbid("^kernels/", "^(libcore/(io|cli|plot)|tools|tests)/", "kernels depend on the core only")
      forbid("^tools/", "^tests/", "a tool depends on libraries only")
      forbid("^tools/", "^(casacore/|fitsio|png\\.h|fftw3|hwy/)", "a tool reaches formats and kernels through the libraries")
      forbid("^tests/reference/", "^(kernels|libcore/(io|cli)|tools)/", "references share no code with what they test")
      # kernels/common/cuda_* and device_* are for .cu files, their host side in *_cuda.cpp, GPU tests, and each other.
      cuda = "^(cuda|cufft|cub/|cooperative_groups|device_launch|nvtx|kernels/common/(cuda|device)_)"
      if ($1 !~ "^((kernels|tests/bench)/(common/(cuda|device)_|.*_cuda\\.cpp$)|tests/gpu/)") forbid("\\.(h|cpp)$", cuda, "CUDA belongs into .cu files")
      if ($1 ~ "^tools/" && $2 ~ "^tools/") {
        split($1, from, "[/.]"); split($2, to, "[/.]")
        if (to[2] != from[2] && to[2] != "imaging")
          print $1 " includes " $2 ": a tool shares code with others through libraries and tools/imaging only"
      }
      if ($1 ~ "^kernels/" && $2 ~ "^kernels/") {
        split($1, from, "/"); split($2, to, "/")
        if (to[2] != from[2] && to[2] != "common") print $1 " includes " $2 ": operations stand apart but for common/"
      }
    }'
}

# breaks FILE INCLUDE: a tree of this one include must be found out; keeps FILE INCLUDE must not.
tree() {
  rm -rf tree && mkdir -p tree/libcore tree/kernels tree/tools tree/tests "tree/${1%/*}"
  printf '#include <vector>\n  # include %s\n' "$2" >"tree/$1"
}
breaks() {
  tree "$@"
  [ "$(violations tree | wc -l)" -eq 1 ] || fail "does not notice $2 in $1"
}
keeps() {
  tree "$@"
  [ -z "$(violations tree)" ] || fail "wrongly refuses $2 in $1"
}
breaks libcore/core/a.h '<fitsio.h>'
breaks libcore/core/a.h '"libcore/io/b.h"'
breaks libcore/core/a.cpp '"kernels/idg/idg.h"'
breaks libcore/io/a.cpp '"libcore/cli/tool.h"'
breaks libcore/io/a.cpp '<CLI/CLI.hpp>'
breaks libcore/cli/a.cpp '"libcore/io/fits_image.h"'
breaks libcore/plot/a.cpp '<png.h>'
breaks libcore/plot/a.cpp '"libcore/io/fits_image.h"'
breaks libcore/io/a.cpp '"libcore/plot/canvas.h"'
breaks kernels/idg/a.cpp '<casacore/ms/MeasurementSets.h>'
breaks kernels/idg/a.cpp '"libcore/io/fits_image.h"'
breaks kernels/idg/a.cpp '"kernels/clean/clean.h"'
breaks kernels/idg/idg_cpu.cpp '<cuda_runtime.h>'
breaks kernels/idg/idg_cpu.cpp '"kernels/common/cuda_check.h"'
breaks kernels/idg/idg.h '"kernels/common/cuda_check.h"'
breaks tools/a.cpp '<fitsio.h>'
breaks tools/a.cpp '"tools/b/options.h"'
breaks tools/imaging/a.h '"tools/b/options.h"'
breaks tests/bench/bench_a.cpp '<cuda_runtime.h>'
breaks tests/reference/dft.cpp '"kernels/idg/idg.h"'
keeps libcore/io/a.cpp '<fitsio.h>'
keeps libcore/cli/a.h '<CLI/CLI.hpp>'
keeps kernels/idg/a.cpp '"kernels/idg/idg.h"'
keeps kernels/idg/a.cpp '"kernels/common/fft.h"'
keeps kernels/idg/a.cu '<cuda_runtime.h>'
keeps kernels/idg/a.cu '"kernels/common/cuda_check.h"'
keeps tests/bench/a/a_cuda.cpp '"kernels/common/cuda_fft.h"'
keeps tests/gpu/a.cpp '"kernels/common/device_transfer.h"'
keeps kernels/common/cuda_check.h '<cuda_runtime.h>'
keeps tools/a.cpp '"tools/a/options.h"'
keeps tools/a/options.cpp '"tools/a/options.h"'
keeps tools/a.cpp '"libcore/io/fits_image.h"'
keeps tools/a/a.h '"tools/imaging/imager.h"'

[ "$(includes "$APSYN_SOURCE" | wc -l)" -gt 20 ] || fail "finds hardly any include in $APSYN_SOURCE"
while read -r line; do fail "$line"; done < <(violations "$APSYN_SOURCE")

# Every source says its licence in the first line.
while read -r file; do
  head -1 "$file" | grep -q 'SPDX-License-Identifier: GPL-3.0-or-later' || fail "$file does not start with its licence"
done < <(find "$APSYN_SOURCE"/{libcore,kernels,tools,tests} -name '*.cpp' -o -name '*.h' -o -name '*.cu' -o -name '*.cuh')
