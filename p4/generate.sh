#!/bin/bash
# Makes p4/generated/ from p4/acl.p4. Where the compiler is not there it says so and changes nothing.
#
#   p4/generate.sh [p4c-dpdk]
set -euo pipefail
cd "$(dirname "$0")"

version=1.2.4.2
compiler=${1:-p4c-dpdk}
options=(--arch pna --excludeMidendPasses P4::LocalCopyPropagation
  --p4runtime-files generated/acl.p4info.txt
  --bf-rt-schema generated/acl.bf-rt.json
  --tdi generated/acl.tdi.json
  --context generated/acl.context.json
  -o generated/acl.spec acl.p4)

if ! command -v "$compiler" >/dev/null; then
  echo "$compiler is not on the PATH: p4/generated stays as it is (made by p4c-dpdk $version)"
  exit 0
fi

mkdir -p generated
"$compiler" "${options[@]}"

# The day of the build is no part of what was built.
sed -i 's/"build_date" : "[^"]*"/"build_date" : ""/' generated/*.json

{
  echo "# p4c $version; it calls itself: $("$compiler" --version 2>&1 | tail -1 | tr '\n' ' ' | sed 's/ *$//')"
  echo "# in p4/: p4c-dpdk ${options[*]}"
  echo "# then the date taken out of the JSON files; p4/generate.sh does all of it"
  sha256sum acl.p4 generated/acl.*
} >generated/MANIFEST
