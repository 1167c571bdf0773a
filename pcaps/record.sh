#!/bin/bash
# Records pcaps/recorded/*.pcap from real clients and servers in network namespaces. Needs root, and
# ping curl iperf3 dnsmasq dig udhcpc tcpdump ethtool python3. Usage: pcaps/record.sh [FOLDER]
#
#     office   192.168.1.20..39, DHCP 192.168.1.100..   --+
#     newcomer DHCP, then SLAAC                         --+-- bridge --- server 192.168.1.1, 198.51.100.80
#     guest    203.0.113.66, 2001:db8:bad::66           --+              2001:db8:1::1, 2001:db8:80::80
#     tagged   10.100.0.2  -- relay == trunk (recorded) == relay --- tagged server 10.100.0.1
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
out=${1:-$here/recorded}
id=weir$$
work=$(mktemp -d /tmp/weir-record.XXXXXX)
started=()

# Clients and servers speak into a log; it is shown when something fails.
exec 3>&1 4>&2 >>"$work/log" 2>&1

finish() {
  local status=$?
  [ $status = 0 ] || tail -n 20 "$work/log" >&4
  for pid in "${started[@]}"; do kill "$pid" 2>/dev/null || true; done
  wait 2>/dev/null || true
  for name in server office newcomer guest wire tagged tserver; do ip netns del "$id-$name" 2>/dev/null || true; done
  rm -rf "$work"
}
trap finish EXIT

in_ns() { local name=$1; shift; ip netns exec "$id-$name" "$@"; }
# background NS COMMAND...
background() { local name=$1; shift; (exec ip netns exec "$id-$name" "$@") & started+=($!); }
new_ns() { ip netns add "$id-$1"; in_ns "$1" ip link set lo up; }

# What a wire would carry: checksums filled in, no frame longer than the MTU.
plain_wire() { in_ns "$1" ethtool -K "$2" tx off tso off gso off gro off >/dev/null; }

# cable NS_A DEV_A NS_B DEV_B
cable() {
  ip link add "$2" netns "$id-$1" type veth peer name "$4" netns "$id-$3"
  plain_wire "$1" "$2"; plain_wire "$3" "$4"
}

# record NAME NS DEV SNAPLEN [ns|us] FILTER: runs until stop_record
record() {
  local precision=nano
  [ "$5" = us ] && precision=micro
  (exec ip netns exec "$id-$2" tcpdump -Z root -i "$3" -s "$4" --immediate-mode -U --time-stamp-precision=$precision \
    -w "$out/$1.pcap" "$6") 2>"$work/$1.log" &
  recorder=$!
  started+=("$recorder")
  until grep -q 'listening on' "$work/$1.log"; do sleep 0.05; done
}
stop_record() { sleep 0.3; kill "$recorder"; wait "$recorder" 2>/dev/null || true; }

# ---- the office --------------------------------------------------------------------------------
mkdir -p "$out"
for name in server office newcomer guest wire; do new_ns $name; done
in_ns wire ip link add bridge type bridge mcast_snooping 0
in_ns wire sysctl -qw net.ipv6.conf.bridge.disable_ipv6=1
in_ns wire ip link set bridge up
for name in server office newcomer guest; do
  cable $name eth0 wire $name
  in_ns wire sysctl -qw net.ipv6.conf.$name.disable_ipv6=1
  in_ns wire ip link set $name master bridge up
done

in_ns server ip addr add 198.51.100.80/32 dev lo
in_ns server ip -6 addr add 2001:db8:80::80/128 dev lo nodad
in_ns server ip link set eth0 up
for address in 192.168.1.1/24 203.0.113.1/24; do in_ns server ip addr add $address dev eth0; done
for address in 2001:db8:1::1/64 2001:db8:bad::1/64; do in_ns server ip -6 addr add $address dev eth0 nodad; done
in_ns server sysctl -qw net.ipv6.conf.all.forwarding=1

in_ns office sysctl -qw net.ipv6.conf.eth0.accept_ra=0
in_ns office ip link set eth0 up
for host in $(seq 20 39); do in_ns office ip addr add "192.168.1.$host/24" dev eth0; done
in_ns office ip route add default via 192.168.1.1
for host in $(seq 20 24); do in_ns office ip -6 addr add "2001:db8:1::$host/64" dev eth0 nodad; done
in_ns office ip -6 route add default via 2001:db8:1::1

in_ns guest sysctl -qw net.ipv6.conf.eth0.accept_ra=0
in_ns guest ip link set eth0 up
in_ns guest ip addr add 203.0.113.66/24 dev eth0
in_ns guest ip route add default via 203.0.113.1
in_ns guest ip -6 addr add 2001:db8:bad::66/64 dev eth0 nodad
in_ns guest ip -6 route add default via 2001:db8:bad::1

mkdir "$work/www"
head -c 4000 /dev/urandom | base64 >"$work/www/page.html"
cat >"$work/dhcp.sh" <<'SCRIPT'
#!/bin/sh
[ "$1" = bound ] || exit 0
ip addr add "$ip/24" dev "$interface"
ip route replace default via "$router"
SCRIPT
chmod +x "$work/dhcp.sh"

background server dnsmasq -k --conf-file=/dev/null --user=root --pid-file --no-resolv --no-hosts --interface=eth0 \
  --dhcp-range=192.168.1.100,192.168.1.120,1h --dhcp-leasefile="$work/leases" --dhcp-range=2001:db8:1::,ra-only --enable-ra \
  --address=/www.example.test/198.51.100.80 --address=/www.example.test/2001:db8:80::80 --txt-record=note.example.test,"$(printf 'x%.0s' {1..200})"
background server python3 -m http.server --directory "$work/www" --bind :: 80
background server iperf3 -s
sleep 2

record ping server eth0 256 ns 'icmp or arp'
in_ns office ping -q -c 12 -i 0.05 198.51.100.80
in_ns office ping -q -c 6 -i 0.05 -I 192.168.1.25 192.168.1.1
in_ns office ping -q -c 3 -i 0.05 -s 4000 198.51.100.80      # fragments
in_ns guest ping -q -c 8 -i 0.05 198.51.100.80
stop_record

record dhcp server eth0 512 us 'port 67 or port 68 or arp'
in_ns newcomer ip link set eth0 up
in_ns newcomer udhcpc -i eth0 -n -q -f -x hostname:newcomer -s "$work/dhcp.sh"
in_ns newcomer ping -q -c 2 -i 0.05 192.168.1.1
stop_record

# Router solicitation and advertisement, duplicate address detection, then echo requests.
record ndp server eth0 256 ns 'icmp6 or udp port 5353'
in_ns newcomer ip link set eth0 down
in_ns newcomer ip link set eth0 up
sleep 6
in_ns newcomer ping -6 -q -c 6 -i 0.05 2001:db8:80::80
in_ns office ping -6 -q -c 3 -i 0.05 -s 3000 2001:db8:80::80 # fragments
in_ns guest ping -6 -q -c 6 -i 0.05 2001:db8:80::80
stop_record

record dns server eth0 512 us 'port 53'
for host in 20 21 22; do
  in_ns office dig -b "192.168.1.$host" @192.168.1.1 +tries=1 +short www.example.test A
  in_ns office dig -b "192.168.1.$host" @192.168.1.1 +tries=1 +short www.example.test AAAA
done
in_ns office dig @192.168.1.1 +tries=1 +short note.example.test TXT
in_ns office dig @192.168.1.1 +tcp +short www.example.test A
in_ns office dig @2001:db8:1::1 +tries=1 +short www.example.test AAAA
in_ns guest dig @203.0.113.1 +tries=1 +short www.example.test A
in_ns guest dig @2001:db8:bad::1 +tries=1 +short www.example.test AAAA
stop_record

record http server eth0 192 ns 'tcp port 80'
for host in $(seq 20 39); do
  in_ns office curl -sS --interface "192.168.1.$host" -o /dev/null http://198.51.100.80/page.html
done
for host in $(seq 20 24); do
  in_ns office curl -sS --interface "2001:db8:1::$host" -o /dev/null 'http://[2001:db8:80::80]/page.html'
done
for _ in 1 2 3; do in_ns guest curl -sS -o /dev/null http://198.51.100.80/page.html; done
in_ns guest curl -sS -o /dev/null 'http://[2001:db8:80::80]/page.html'
stop_record

record iperf3 server eth0 96 ns 'port 5201'
in_ns office iperf3 -c 198.51.100.80 -B 192.168.1.30 -n 200K
in_ns office iperf3 -c 2001:db8:80::80 -n 100K
in_ns office iperf3 -c 192.168.1.1 -u -b 2M -l 1200 -n 60K
in_ns guest iperf3 -c 198.51.100.80 -n 60K -R
stop_record

# ---- tagged wires ------------------------------------------------------------------------------
# tagged_wire NAME NETWORK TAG...
tagged_wire() {
  local name=$1 net=$2; shift 2
  for ns in tagged tserver; do new_ns $ns; done
  cable tagged eth0 wire plain0
  cable wire trunk0 wire trunk1
  cable wire plain1 tserver eth0
  for dev in plain0 trunk0 trunk1 plain1; do
    in_ns wire sysctl -qw net.ipv6.conf.$dev.disable_ipv6=1
    in_ns wire ip link set $dev mtu 1508 up
  done
  local relays=${#started[@]}
  background wire python3 "$here/../tests/support/tag_relay.py" plain0 trunk0 "$@"
  background wire python3 "$here/../tests/support/tag_relay.py" plain1 trunk1 "$@"
  sleep 0.5
  for ns in tagged tserver; do
    local host=1; [ $ns = tagged ] && host=2
    in_ns $ns sysctl -qw net.ipv6.conf.eth0.router_solicitations=0
    in_ns $ns ip link set eth0 up
    in_ns $ns ip addr add "10.$net.0.$host/24" dev eth0
    in_ns $ns ip -6 addr add "fd00:$net::$host/64" dev eth0 nodad
  done
  in_ns tagged ip addr add "10.$net.0.66/24" dev eth0
  background tserver python3 -m http.server --directory "$work/www" --bind :: 80
  sleep 1

  record "$name" wire trunk1 200 ns 'inbound or outbound'
  in_ns tagged ping -q -c 8 -i 0.05 "10.$net.0.1"
  in_ns tagged ping -q -c 4 -i 0.05 -I "10.$net.0.66" "10.$net.0.1"
  in_ns tagged ping -6 -q -c 6 -i 0.05 "fd00:$net::1"
  for _ in 1 2 3; do in_ns tagged curl -sS -o /dev/null "http://10.$net.0.1/page.html"; done
  in_ns tagged curl -sS -o /dev/null "http://[fd00:$net::1]/page.html"
  stop_record
  for pid in "${started[@]:$relays}"; do kill "$pid" 2>/dev/null || true; done
  for ns in tagged tserver; do ip netns del "$id-$ns"; done
  in_ns wire ip link del trunk0
  until ! in_ns wire ip link show plain0 2>/dev/null && ! in_ns wire ip link show plain1 2>/dev/null; do sleep 0.1; done >/dev/null
}
tagged_wire vlan 100 8100:100
tagged_wire qinq 200 88a8:200 8100:100

exec >&3 2>&4
python3 "$here/merge.py" "$out/office.pcap" "$out"/{ping,dhcp,ndp,dns,http,iperf3,vlan,qinq}.pcap
for file in "$out"/*.pcap; do
  printf '%-12s %6d packets %7d bytes\n' "$(basename "$file")" "$(tcpdump -r "$file" 2>/dev/null | wc -l)" "$(stat -c %s "$file")"
done
