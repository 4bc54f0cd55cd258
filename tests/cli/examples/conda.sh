# SPDX-License-Identifier: GPL-3.0-or-later
# The conda recipe, without building it (which needs a network): it has the parts of the format's first version, names the
# project's version, a package for each library that the build looks for, and runs the README's commands.
source "$APSYN_SOURCE/tests/cli/lib.sh" || exit 1
recipe=$APSYN_SOURCE/examples/conda/recipe.yaml
script=$APSYN_SOURCE/examples/conda/build.sh

# Top-level keys in the format's order; indented by spaces, by twos; nothing is given twice.
grep -oE '^[a-z_]+:' "$recipe" >keys.txt
printf '%s:\n' schema_version package source build requirements tests about >expected.txt
run diff expected.txt keys.txt
! grep -nP '\t' "$recipe" || fail "the recipe has tabs"
! grep -nE '^( {2})* [^ #]' "$recipe" || fail "the recipe is indented by an odd number of spaces"
version=$(sed -n 's/^project(apsyn VERSION \([0-9.]*\).*/\1/p' "$APSYN_SOURCE/CMakeLists.txt")
grep -qx "  version: \"$version\"" "$recipe" || fail "the recipe's version is not $version"
grep -qx "  license_file: LICENSE" "$recipe" && [ -s "$APSYN_SOURCE/LICENSE" ] || fail "the recipe names no licence that is there"
for line in 'schema_version: 1' '  path: ../..' '  script: build.sh'; do
  grep -qx -- "$line" "$recipe" || fail "the recipe lacks '$line'"
done

# What it builds against. Debian's packages on the left, conda-forge's on the right.
packages=(
  'g++ compiler' 'cmake cmake' 'ninja-build ninja' 'pkg-config pkg-config' 'git git' 'scdoc scdoc'
  'libfmt-dev fmt' 'libcli11-dev cli11' 'casacore-dev casacore' 'liberfa-dev liberfa' 'libcfitsio-dev cfitsio'
  'libhdf5-dev hdf5' 'libcairo2-dev cairo' 'libpango1.0-dev pango' 'zlib1g-dev zlib' 'nlohmann-json3-dev nlohmann_json'
  'fonts-dejavu-core fonts-conda-forge' 'libfftw3-dev fftw' 'libhwy-dev libhwy' 'libopenmpi-dev openmpi'
)
# Of tests and examples, or part of another package there.
others=' casacore-data-tai-utc openmpi-bin mandoc groff-base man-db libboost-test-dev libpng-dev zstd '
sed -nE 's/^    - (\$\{\{ )?([a-z][a-z0-9_-]*).*/\2/p' "$recipe" | sort -u >named.txt
for package in $("$APSYN_SOURCE/examples/install-dependencies" --list); do
  [[ $others != *" $package "* ]] || continue
  conda=$(printf '%s\n' "${packages[@]}" | awk -v debian="$package" '$1 == debian { print $2 }')
  [ -n "$conda" ] || { fail "$package has no counterpart of conda-forge" && continue; }
  grep -qx -- "$conda" named.txt || fail "the recipe does not name $conda, which $package is in Debian"
done

# How it is built: the README's commands, to which options may be added; the tools that it tries are tools.
run bash -n "$script"
! command -v shellcheck >/dev/null || run shellcheck "$script"
[ -x "$script" ] || fail "$script cannot be executed"
while read -r command; do
  grep -qF -- "$command" "$script" || fail "build.sh does not run '$command' as README.md does"
done < <(grep -E '^cmake --(preset|build --preset) dev' "$APSYN_SOURCE/README.md" | sed 's/ *#.*//')
sed -n 's/^      - \([a-z-]*\) --.*/\1/p' "$recipe" >tools.txt
[ -s tools.txt ] || fail "the recipe tries no tool"
while read -r tool; do all_tools | grep -qx -- "$tool" || fail "$tool is no tool"; done <tools.txt
