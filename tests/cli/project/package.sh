# SPDX-License-Identifier: GPL-3.0-or-later
# The Debian package holds every tool with its man page and completions, names the packages that it needs, and its tools
# run from where it puts them.
source "$APSYN_SOURCE/tests/cli/lib.sh" || exit 1
need cpack dpkg-deb dpkg-shlibdeps
run cpack --config "$APSYN_BUILD/CPackConfig.cmake" -B package
package=$(echo package/apsyn_*.deb)
expect_file "$package"
run dpkg-deb --extract "$package" root
for tool in $(all_tools); do
  expect_file root/usr/bin/$tool root/usr/share/man/man1/$tool.1 root/usr/share/bash-completion/completions/$tool
  run env PATH="$PWD/root/usr/bin:/usr/bin:/bin" $tool --version
  expect_stdout "$tool "
  [ ! -e /bin/$tool ] || dpkg-query -S /bin/$tool /usr/bin/$tool 2>/dev/null | grep -qE '^apsyn:' ||
    fail "$tool is also a program of another package"
done
# The version is that of the commit, as the tools tell it.
hash=$(root/usr/bin/simulate --version | sed -n 's/.*(\([0-9a-f]*\).*/\1/p')
[[ $(dpkg-deb --field "$package" Version) = *"+"*".g$hash"* ]] || [ -z "$hash" ] ||
  fail "version $(dpkg-deb --field "$package" Version) of commit $hash"
run dpkg-deb --field "$package" Depends
expect_stdout libcasa libcfitsio libhdf5 libfftw3 casacore-data-tai-utc
