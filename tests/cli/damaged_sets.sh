# SPDX-License-Identifier: GPL-3.0-or-later
# Measurement Sets with damaged table files: whatever casacore makes of them, a tool names the set and ends with status 3
# (or goes on, when the damage is in what it does not need), and takes no memory for it to speak of. Each of these seeds
# made casacore crash, end the process, or ask for up to 4 GB.
source "$APSYN_SOURCE/tests/cli/lib.sh" || exit 1
for set in LOFAR-3C48-8st.MS.tgz LWASV-4ant-infs.ms.tar.gz; do tar xzf "$APSYN_SOURCE/tests/data/$set" 2>/dev/null; done
mv ./*.MS big.ms
mv ./test_*.ms small.ms
mapfile -t files < <(find big.ms small.ms -name 'table.*' ! -name table.lock -size +0 | sort)

# roll N: sets $rolled to a number below N; the same ones after the same $state, whatever the shell.
roll() {
  state=$(((state * 1103515245 + 12345) % 2147483648))
  rolled=$(((state >> 8) % $1))
}
# put FILE AT HEX: bytes in place.
put() { printf '%b' "$(sed 's/../\\x&/g' <<<"$3")" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none; }
# damage SEED: leaves one of the sets as bad.ms, with a file cut short, or with some odd bytes near its start or anywhere.
damage() {
  local file size at i n hex odd=(ffffffff 7fffffff 00000000 ffffff7f 00010000)
  state=$1
  roll 1000 # the first numbers of small seeds are alike
  roll ${#files[@]} && file=${files[$rolled]}
  rm -rf bad.ms && cp -r "${file%%/*}" bad.ms
  file=bad.ms/${file#*/}
  size=$(stat -c %s "$file")
  roll 4
  case $rolled in
    0) roll "$size" && truncate -s "$rolled" "$file" ;;
    1)
      for i in 1 2 3; do
        roll $((size < 4096 ? size : 4096)) && at=$rolled
        roll 256 && put "$file" $at "$(printf %02x $rolled)"
      done
      ;;
    2)
      roll $((size < 512 ? size : 512)) && at=$rolled
      roll 5 && put "$file" $at "${odd[$rolled]}"
      ;;
    3)
      roll "$size" && at=$rolled
      for ((hex = 0, n = 0; n < 16; n++)); do roll 256 && hex=$hex$(printf %02x $rolled); done
      put "$file" $at "${hex:1}"
      ;;
  esac
}

grid="idg-grid -q --size 32 --scale 60asec --threads 1 --max-memory 200MB --overwrite"
limited=$grid # an address space of 1 GB, where that is enough for an undamaged set (it is not with sanitizers)
(ulimit -v 1000000 && exec idg-grid --version) >/dev/null 2>&1 && limited="ulimit -v 1000000 && exec $grid"
run bash -c "$limited -o whole small.ms"
for seed in 9 96 110 220 224 240 254 276 433 438 492 494 523 577 609 633 653 733 761 763 792 842; do
  damage $seed
  TIME_LIMIT=20 expect_exit "0|3" bash -c "$limited -o hurt bad.ms"
  grep -q 'bad\.ms' "$(stderr_file)" || [ -s hurt-dirty.fits ] || fail "seed $seed: neither an image nor a word about the set"
  rm -f hurt-*.fits
done

# A set that is only looked at stays as it is, and so does one that is refused.
printf 'Format = Name, Type, Ra, Dec, I\na, POINT, 01:37:41, 33.09.35, 1\n' >sky.txt
damage 220
cp -r bad.ms before.ms
expect_exit 3 idg-degrid -q --sky sky.txt bad.ms
diff -r --exclude table.lock before.ms bad.ms >&2 || fail "a damaged set was changed"
