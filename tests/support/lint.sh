#!/bin/bash
# clang reads one file for `make lint`, called as a compiler is, so that ccache keeps what it found nothing in:
#
#   lint.sh [compiler's flags] -MMD -MP -MT TARGET -MF DEPENDENCIES -c FILE -o STAMP
#
# Programs and headers are read by clang-tidy, which is the second compiler too; tests by the compiler alone, in half of
# the time.
# Writes STAMP and DEPENDENCIES where nothing was found. --version names what the answer hangs on beside the files.
set -u -o pipefail

clang=clang++-19 tidy=clang-tidy-19
if [ "${1-}" = --version ]; then
  "$tidy" --version && "$clang" --version && cat "$0"
  exit
fi

flags=() file='' stamp='' dependencies=()
while [ $# -gt 0 ]; do
  case $1 in
    -o) stamp=$2; shift ;;
    -MT | -MF) dependencies+=("$1" "$2"); shift ;;
    -MMD | -MP) dependencies+=("$1") ;;
    -c) ;;
    *.cpp | *.hpp) file=$1 ;;
    *) flags+=("$1") ;;
  esac
  shift
done
if [ -z "$file" ] || [ -z "$stamp" ]; then
  echo "lint.sh: no FILE of C++ or no -o STAMP; see the head of this script" >&2
  exit 2
fi

case $file in
  tests/*.cpp | */together/tests/*.cpp) "$clang" "${flags[@]}" "${dependencies[@]}" -fsyntax-only "$file" || exit ;;
  *)
    "$tidy" --quiet "$file" -- "${flags[@]}" 2> >(grep -vE '^[0-9]+ warnings? (and [0-9]+ errors? )?(generated|treated)' >&2) || exit
    "$clang" "${flags[@]}" "${dependencies[@]/#-MMD/-MM}" "$file" || exit
    ;;
esac
echo clean >"$stamp"
