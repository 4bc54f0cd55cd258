# SPDX-License-Identifier: GPL-3.0-or-later
# Recipes of containers, without building any (which needs a network): their commands are shell, those that build are the
# README's, what they install is what install-dependencies installs, and the tools that they name are there.
source "$APSYN_SOURCE/tests/cli/lib.sh" || exit 1
recipes=$APSYN_SOURCE/examples/containers

# Commands of the Dockerfile (RUN) and of the definition (its sections of shell).
docker_commands() { sed -n 's/^RUN //p' "$1"; }
apptainer_commands() {
  awk '/^%/ { shell = $1 == "%post" || $1 == "%test" || $1 == "%runscript"; next } shell { sub(/^ +/, ""); print }' "$1"
}
docker_commands "$recipes/Dockerfile" >docker.sh
apptainer_commands "$recipes/apsyn.def" >apptainer.sh
for commands in docker.sh apptainer.sh; do
  [ "$(wc -l <$commands)" -ge 3 ] || fail "$commands has hardly any commands: $(cat $commands)"
  run bash -n $commands
  ! command -v shellcheck >/dev/null || run shellcheck --shell=sh --exclude=SC2164 $commands  # %post ends at the first failure
  # The README's lines of building, to which options may be added.
  while read -r _ command; do
    grep -qF -- "$command" $commands || fail "$commands does not run '$command' as README.md does"
  done < <(grep -E '^cmake --(preset|build --preset) dev' "$APSYN_SOURCE/README.md" | sed 's/ *#.*//; s/^/- /')
  grep -q 'install-dependencies -y' $commands || fail "$commands does not use install-dependencies"
done
[ "$(grep -cE '^cmake --(preset|build --preset) dev' "$APSYN_SOURCE/README.md")" -eq 2 ] || fail "README.md no longer tells how to build"
# dpkg-dev and file find the libraries of the package; everything else comes from install-dependencies.
"$APSYN_SOURCE/examples/install-dependencies" --list >known.txt
printf "%s\n" dpkg-dev file >>known.txt
grep -ho 'apt-get install[^&|;]*' docker.sh apptainer.sh | tr ' ' '\n' | grep -vE '^(apt-get|install|-.*|/tmp/\*\.deb|)$' >named.txt
[ -s named.txt ] || fail "no package is named"
while read -r package; do
  grep -qx -- "$package" known.txt || fail "$package is no package of install-dependencies"
done <named.txt
# Paths that are copied exist, and the tools of the examples do.
while read -r _ path _; do
  [ -e "$APSYN_SOURCE/$path" ] || fail "the Dockerfile copies $path, which is not there"
done < <(grep -E '^COPY [^-]' "$recipes/Dockerfile")
grep -hoE '(run .*(apsyn|apsyn\.sif) |^CMD \["|^    )(simulate|search-transients)' "$recipes"/* | grep -oE '[a-z-]+$' | sort -u >tools.txt
[ -s tools.txt ] || fail "no tool is named"
while read -r tool; do all_tools | grep -qx -- "$tool" || fail "$tool is no tool"; done <tools.txt
