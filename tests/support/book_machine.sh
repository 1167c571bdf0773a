#!/bin/bash
# A machine of its own for commands of a page: /etc, /run, /tmp and /var/lib of its own, a network without anybody, and processes
# that end with it. In /etc/weir lie the files of FOLDER/etc, in the path the commands of FOLDER/bin and PROGRAMS.
#
#   unshare --mount --net --pid --fork --kill-child --mount-proc book_machine.sh FOLDER PROGRAMS pair|alone SCRIPT...
#
# Runs the scripts one after the other, beside a running pair of daemons for `pair`. Prints what those that fail said, and
# ends with 1 when there are some.
set -eu
folder=$1 programs=$2 beside=$3
shift 3

mkdir -p "$folder"/{own,programs,run,state,tmp}
mount --make-rprivate /
mount --bind "$programs" "$folder/programs"
cp -a /etc "$folder/own/etc"
rm -rf "$folder/own/etc/weir"
cp -a "$folder/etc" "$folder/own/etc/weir"
mount --rbind "$folder" /mnt
mount --bind /mnt/own/etc /etc
mount --bind /mnt/state /var/lib
mount --bind /mnt/run /run
mount --bind /mnt/tmp /tmp
mkdir /run/weir /run/netns
ip link set lo up
export PATH=/mnt/bin:/mnt/programs:$PATH
cd /etc/weir

waits_for() { # COMMAND...: that it succeeds
  for _ in $(seq 150); do
    "$@" >/mnt/waiting 2>&1 && return
    sleep 0.2
  done
  echo "waited in vain for: $*"
  cat /mnt/waiting
  return 1
}

if [ "$beside" = pair ]; then
  weir-dataplane -c weir.yaml >/mnt/dataplane.log 2>&1 &
  weir-control -c weir.yaml >/mnt/control.log 2>&1 &
  waits_for weirctl health
  bash -e before.sh
fi

failed=0
for script in "$@"; do
  prepared=${script#*.} # LINE.sh, or LINE.NAME.sh
  if [ "$prepared" != sh ]; then bash -e "prepare-${prepared%.sh}.sh"; fi
  if ! PS4='  $ ' timeout -k 5 90 bash -e -u -x -o pipefail "/mnt/scripts/$script" >/mnt/output 2>&1 </dev/null; then
    echo "---- the block of line ${script%.*}, whose last command failed:"
    tail -n 25 /mnt/output
    failed=1
  fi
done
if [ $failed = 1 ] && [ "$beside" = pair ]; then tail -n 5 /mnt/dataplane.log /mnt/control.log; fi
exit $failed
