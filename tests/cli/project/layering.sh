# SPDX-License-Identifier: GPL-3.0-or-later
# Dependencies point one way: tools -> kernels -> the core's rooms, and tools -> cli, plot, the rooms of files -> the core's.
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
      foreign = "^(casacore/|fitsio|longnam|CLI/|erfa|nlohmann/)"
      drawing = "^(cairo|pango/|glib|fontconfig/|ft2build|freetype|png\\.h|zlib\\.h)"
      core = "^libcore/(base|system|files|header|array|sky|beams|solutions|voltage|visibility|image|powers)/"
      io = "^libcore/(formats|streams|measures|rfi|aterms|imaging)/"
      if ($1 ~ "^libcore/" && $1 !~ core && $1 !~ io && $1 !~ "^libcore/(cli|plot)/") print $1 ": in no room of libcore that is known here"
      if ($1 !~ "^libcore/rfi/") forbid(".", "^aoflagger", "libcore/rfi alone runs AOFlagger")
      if ($1 !~ "^(libcore/(formats/(h5parm|uvh5|beam_files)|rfi)|tests)/") forbid(".", "^(hdf5|H5)", "libcore/formats/h5parm, rfi, uvh5 and beam_files alone read HDF5")
      forbid(core, foreign, "the core knows no file format and no command line")
      if ($1 !~ "^(libcore/plot|tests)/") forbid(".", drawing, "libcore/plot alone draws")
      forbid("^libcore/plot/.*\\.h$", "^(pango/|glib|fontconfig/|zlib\\.h)", "what draws stays in .cpp files")
      forbid(core, io, "the core depends on nothing above it")
      forbid(core, "^(libcore/(cli|plot)|kernels|tools|tests)/", "the core depends on nothing above it")
      forbid("^libcore/base/", "^libcore/(system|files|header|array|sky|beams|solutions|voltage|visibility|image|powers)/", "base depends on nothing")
      forbid("^libcore/(system|files)/", "^libcore/(header|array|sky|beams|solutions|voltage|visibility|image|powers)/", "the nouns stand above system and files")
      forbid("^libcore/array/", "^libcore/(header|sky|beams|solutions|voltage|visibility|image|powers)/", "arrays depend on base, system and files")
      forbid("^libcore/(sky|solutions)/", "^libcore/(header|beams|voltage|visibility|powers)/", "the sky and solutions know no data")
      forbid("^libcore/beams/", "^libcore/(header|solutions|voltage|visibility|image|powers)/", "beams know no data")
      forbid("^libcore/(image|powers)/", "^libcore/(header|array|sky|beams|solutions|voltage|visibility)/", "images and powers depend on base, system and files")
      forbid(io, "^(libcore/(cli|plot)|kernels|tools|tests)/", "files depend on the core only")
      forbid(io, "^CLI/", "files know no command line")
      forbid("^libcore/cli/", io, "cli depends on the core only")
      forbid("^libcore/cli/", "^(kernels|tools|tests)/", "cli depends on the core only")
      forbid("^libcore/cli/", "^(casacore/|fitsio)", "cli knows no file format")
      forbid("^libcore/plot/", foreign, "figures know no file format of data and no command line")
      forbid("^libcore/plot/", io, "plot depends on the core only")
      forbid("^libcore/plot/", "^(libcore/cli|kernels|tools|tests)/", "plot depends on the core only")
      forbid("^libcore/(cli|base|system|files)/", "^libcore/plot/", "only tools draw")
      forbid("^kernels/", foreign, "kernels know no file format and no command line")
      forbid("^kernels/", io, "kernels depend on the core only")
      forbid("^kernels/", "^(libcore/(cli|plot)|tools|tests)/", "kernels depend on the core only")
      forbid("^tools/", "^tests/", "a tool depends on libraries only")
      forbid("^tools/", "^(casacore/|fitsio|fftw3|hwy/)", "a tool reaches formats and kernels through the libraries")
      forbid("^tests/reference/", "^(kernels|libcore/(cli|formats|streams|measures|rfi|aterms|imaging)|tools)/", "references share no code with what they test")
      # What is compiled with the toolkit only lies in folders cuda/ and the benchmarks of GPUs.
      cuda = "^(cuda|cufft|cub/|cooperative_groups|device_launch|nvtx|kernels/common/cuda/[^/]*$)"
      if ($1 !~ "/cuda/" && $1 !~ "^tests/bench/.*_cuda\\.cpp$") forbid("\\.(h|cpp)$", cuda, "CUDA belongs into folders cuda/")
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
breaks libcore/base/a.h '<fitsio.h>'
breaks libcore/voltage/a.h '"libcore/formats/fits/b.h"'
breaks libcore/solutions/a.cpp '"libcore/formats/h5parm/b.h"'
breaks libcore/solutions/a.cpp '"libcore/visibility/b.h"'
breaks libcore/formats/solution_files/a.cpp '<hdf5.h>'
keeps libcore/formats/h5parm/a.cpp '<hdf5.h>'
breaks libcore/beams/a.cpp '<hdf5.h>'
breaks libcore/beams/a.cpp '"libcore/visibility/b.h"'
keeps libcore/formats/beam_files/a.cpp '<hdf5.h>'
keeps libcore/formats/uvh5/a.cpp '<hdf5.h>'
breaks tools/flag/a.cpp '<aoflagger.h>'
keeps libcore/rfi/a.cpp '<aoflagger.h>'
keeps libcore/formats/solution_files/a.cpp '"libcore/formats/h5parm/h5parm.h"'
breaks libcore/sky/a.cpp '"kernels/idg/idg.h"'
breaks libcore/formats/fits/a.cpp '"libcore/cli/tool.h"'
breaks libcore/formats/capture/a.cpp '<CLI/CLI.hpp>'
breaks libcore/cli/a.cpp '"libcore/formats/fits/image.h"'
breaks libcore/base/a.cpp '<nlohmann/json.hpp>'
breaks libcore/formats/fits/a.cpp '<cairo.h>'
breaks libcore/base/a.cpp '<pango/pangocairo.h>'
breaks libcore/plot/a.h '<pango/pangocairo.h>'
breaks tools/quicklook/a.cpp '<cairo-svg.h>'
breaks kernels/idg/a.cpp '<zlib.h>'
breaks libcore/plot/a.cpp '<fitsio.h>'
breaks libcore/base/a.h '"libcore/array/b.h"'
breaks libcore/system/a.cpp '"libcore/voltage/b.h"'
breaks libcore/array/a.cpp '"libcore/header/b.h"'
breaks libcore/image/a.cpp '"libcore/sky/b.h"'
keeps libcore/plot/text.cpp '<pango/pangocairo.h>'
keeps libcore/voltage/a.cpp '"libcore/array/b.h"'
breaks libcore/plot/a.cpp '"libcore/formats/fits/image.h"'
breaks libcore/formats/fits/a.cpp '"libcore/plot/canvas.h"'
breaks kernels/idg/a.cpp '<casacore/ms/MeasurementSets.h>'
breaks kernels/idg/a.cpp '"libcore/formats/fits/image.h"'
breaks kernels/idg/a.cpp '"kernels/clean/clean.h"'
breaks kernels/idg/cpu/grid/gridder.cpp '<cuda_runtime.h>'
breaks kernels/idg/cpu/grid/gridder.cpp '"kernels/common/cuda/check.h"'
breaks kernels/idg/idg.h '"kernels/common/cuda/check.h"'
breaks tools/a/main.cpp '<fitsio.h>'
breaks tools/a/main.cpp '"tools/b/options.h"'
breaks tools/imaging/a.h '"tools/b/options.h"'
breaks tests/bench/bench_a.cpp '<cuda_runtime.h>'
breaks tests/reference/dft.cpp '"kernels/idg/idg.h"'
keeps libcore/formats/fits/a.cpp '<fitsio.h>'
keeps libcore/cli/a.h '<CLI/CLI.hpp>'
keeps kernels/idg/a.cpp '"kernels/idg/idg.h"'
keeps kernels/idg/a.cpp '"kernels/common/math/fft.h"'
keeps kernels/idg/cuda/a.cu '<cuda_runtime.h>'
keeps kernels/idg/a.cu '"kernels/common/cuda/check.h"'
keeps tests/bench/a/a_cuda.cpp '"kernels/common/cuda/fft.h"'
keeps tests/kernels/idg/cuda/a.cpp '"kernels/common/cuda/transfer.h"'
keeps kernels/common/cuda/check.h '<cuda_runtime.h>'
keeps tools/a/main.cpp '"tools/a/options.h"'
keeps tools/a/options.cpp '"tools/a/options.h"'
keeps tools/a/main.cpp '"libcore/formats/fits/image.h"'
keeps tools/a/a.h '"tools/imaging/imager.h"'

[ "$(includes "$APSYN_SOURCE" | wc -l)" -gt 20 ] || fail "finds hardly any include in $APSYN_SOURCE"
while read -r line; do fail "$line"; done < <(violations "$APSYN_SOURCE")

# Every source says its licence in the first line.
while read -r file; do
  head -1 "$file" | grep -q 'SPDX-License-Identifier: GPL-3.0-or-later' || fail "$file does not start with its licence"
done < <(find "$APSYN_SOURCE"/{libcore,kernels,tools,tests} -name '*.cpp' -o -name '*.h' -o -name '*.cu' -o -name '*.cuh')
