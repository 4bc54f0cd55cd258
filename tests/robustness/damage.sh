# SPDX-License-Identifier: GPL-3.0-or-later
# Damaged Measurement Sets: sourced after lib.sh. damage SEED leaves one of two real sets as bad.ms.
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
