#!/bin/sh
# Prints the path of libarcher.so, which must belong to the libomp of $CLANG; fails with what to install.
set -u
here=$(dirname "$0")
clang=${CLANG:-clang}
hints="$(sh "$here/deps.sh" --hint clang); $(sh "$here/deps.sh" --hint sanitizers); $(sh "$here/deps.sh" --hint openmp)"
if ! echo 'int main(void) { return 0; }' | $clang -x c - -fopenmp -fsanitize=thread -o /dev/null 2>/dev/null; then
  echo "check-tsan: '$clang' cannot build with -fopenmp -fsanitize=thread: $hints, or make deps" >&2
  exit 1
fi
folder=$(dirname "$($clang -print-prog-name=clang)")
for path in "$($clang -print-file-name=libarcher.so)" "$folder/../lib/libarcher.so" \
  /usr/lib/llvm-*/lib/libarcher.so /usr/lib64/libarcher.so /usr/lib/libarcher.so; do
  case $path in
    /*)
      if [ -e "$path" ]; then
        readlink -f "$path"
        exit 0
      fi ;;
  esac
done
echo "check-tsan: no libarcher.so found, which comes with clang's OpenMP: $hints, or make deps" >&2
exit 1
