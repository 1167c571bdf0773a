#!/usr/bin/env python3
"""The Debian package in a guest with systemd, by the commands of README.md and of docs/operating.md: installed on a bare Debian,
enforcing on two PCI cards, upgraded under traffic, removed, purged. Every `sh server` block of the page runs here.

usage: packages.py --deb FILE --build FOLDER

FOLDER of --build has the kernel in kernel/, and gets the guest and its console. The last line is the sum.
"""
import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
TREE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
sys.path.append(os.path.join(TREE, "tests/support"))
import book
import cards
import debian
import guest
import machine
from machine import CARDS_AT, GuestError, Machine
from run import lacks, netdev
from wire import Host, ip

MEMORY_MIB, BOOT_SECONDS = 3072, 240
SECOND_ADDRESS = "10.9.0.7" # of the left host, denied all the time
CARDS_OF_THE_PAGE = ["0000:3b:00.0", "0000:3b:00.1"]
CONNECTED = """for i in $(seq 150); do weirctl status | grep -q 'dataplane connected' && break; sleep 0.2; done
weirctl status | grep 'dataplane connected'
"""


class Failed(Exception):
    pass


def for_this_guest(text):
    for of_the_page, here in zip(CARDS_OF_THE_PAGE, CARDS_AT):
        text = text.replace(of_the_page, here)
    return text


def of_readme(start):
    """The commands of its block with a line that begins so."""
    return next(block.lines for block in book.blocks(book.read("README.md")) if any(line.startswith(start) for line in block.lines))


class Watch:
    """Pings each 10 ms, and when they were answered."""

    def __init__(self, source, sender, receiver):
        self.out = tempfile.TemporaryFile("w+") # a pipe that nobody reads would stop them
        self.ping = subprocess.Popen(["ip", "netns", "exec", sender.name, "ping", "-n", "-D", "-i", "0.01", "-I", source, receiver.address],
                                     stdout=self.out, stderr=subprocess.STDOUT)

    def answers(self):
        self.ping.send_signal(signal.SIGINT)
        self.ping.wait()
        self.out.seek(0)
        return [float(time_of) for time_of in re.findall(r"(?m)^\[(\d+\.\d+)\] \d+ bytes", self.out.read())]


class Guest:
    def __init__(self, m, left, right):
        self.machine, self.left, self.right = m, left, right
        self.page = {block.name: block for block in book.of(book.read("docs/operating.md"), "server")}
        self.left_to_run = set(self.page)

    def must(self, script, seconds=600): # far beyond what it takes, for a busy machine
        return self.machine.must("set -e\n" + script, seconds)

    def book(self, name):
        """Runs a block of the page, in the folder of the configuration when it names that without one."""
        self.left_to_run.discard(name)
        script = for_this_guest(self.page[name].script())
        return self.must(("cd /etc/weir\n" if re.search(r" -c weir\.yaml", script) else "") + script)

    def status(self):
        return json.loads(self.must("weirctl -j status"))

    def answers(self, wanted, what):
        got = self.left.ping(self.right, count=3, wait=1)
        if got != wanted:
            raise Failed(f"{what}: {got} of 3 pings were answered, and {wanted} were expected")

    def configure(self, *lines):
        """Puts these in the place of the lines of weir.yaml that have their keys, or at its end."""
        text = self.must("cat /etc/weir/weir.yaml")
        for line in lines:
            text = re.sub(rf"(?m)^{line.split(':')[0]}:.*\n", "", text) + line + "\n"
        self.must(f"cat >/etc/weir/weir.yaml <<'END'\n{text}END")


def installed(g):
    """the README's command installs it on a bare Debian: control runs, the dataplane waits for a port"""
    commands = of_readme("make deb")
    if commands[0] != "make deb" or len(commands) != 2:
        raise Failed(f"the README installs by {commands}")
    g.must("! dpkg-query -W librte-eal23 dpdk 2>/dev/null; apt-get update -q")
    g.must(commands[1])
    g.book("install")
    g.must("systemctl is-active weir-control; ! systemctl is-enabled weir-dataplane; weirctl status; weirctl health || [ $? = 1 ]")


def enforcing(g):
    """by the README's next commands it enforces on two PCI cards"""
    g.must(f"cat >/etc/weir/weir.yaml <<'END'\n{for_this_guest(g.must('cat /etc/weir/weir.yaml'))}END")
    ports, *others = of_readme("dpdk-devbind.py")
    g.must(ports)
    said = g.must("systemctl start weir-dataplane && exit 1; systemctl stop weir-dataplane; journalctl -o cat -u weir-dataplane | tail -n 40")
    if CARDS_AT[0] not in said:
        raise Failed(f"a card that the kernel has was not refused by its address:\n{said}")
    g.must(for_this_guest("\n".join(others)) + "\n" + CONNECTED)
    g.answers(3, "before anybody is denied")
    g.must(f"weirctl list add bans {g.left.address}")
    g.answers(0, "while denied")
    g.must(f"weirctl list del bans {g.left.address}")


def lasting(g):
    """as the book has it, it does so as a user of its own, in hugepages, and doctor is content"""
    g.must("systemctl disable --now weir-dataplane")
    g.book("hugepages")
    g.book("cards")
    g.book("tree")
    g.must(CONNECTED + "test $(stat -c %U /proc/$(pidof weir-dataplane)) = weir-dataplane\n"
           "journalctl -o cat -u weir-dataplane | grep 'memory: hugepages'; weirctl doctor >/tmp/doctor || { cat /tmp/doctor; exit 1; }; ! grep WRONG /tmp/doctor\n")
    g.answers(3, "before anybody is denied")
    g.must(f"weirctl list add bans {g.left.address}")
    g.answers(0, "while denied")
    g.must(f"weirctl list del bans {g.left.address}; weirctl list add bans {SECOND_ADDRESS} --comment 'before the upgrade'")
    g.book("services")


def shared(g):
    """members of one group may change rules, those of another look, and others nothing"""
    g.must("useradd alice; useradd monitoring; useradd stranger")
    g.configure("paths: {read_group: weir-watch, write_group: weir-admin}")
    g.book("users")
    g.must("""for i in $(seq 100); do weirctl status >/dev/null 2>&1 && break; sleep 0.2; done
           runuser -u alice -- weirctl list add bans 192.0.2.9; runuser -u monitoring -- weirctl list show bans | grep 192.0.2.9
           ! runuser -u monitoring -- weirctl list del bans 192.0.2.9; ! runuser -u stranger -- weirctl status""")


def fed(g):
    """a timer takes over a feed, and what keepalived would ask answers"""
    fetch = next(block for block in book.of(book.read("docs/operating.md"), "pair") if any("/etc/weir/fetch" in line for line in block.lines))
    g.configure('metrics: {listen: "127.0.0.1:9273"}')
    g.must("""mkdir /srv/feed; echo '127.0.0.1 feeds.example.net' >>/etc/hosts
              echo '{"cidr":"198.51.100.0/24","sblid":"SBL1"}' | tee /srv/feed/drop_v4.json >/etc/weir/drop_v4.json
              sed -i 's|^lists:.*|&\\n- {name: drop, action: deny, file: drop_v4.json, format: spamhaus_json}|' /etc/weir/weir.yaml
              weirctl apply /etc/weir/weir.yaml; weirctl status | grep 'hugepages (2 MiB)' # of the image
              systemd-run -q python3 -m http.server --directory /srv/feed --bind 127.0.0.1 80
              for i in $(seq 100); do ! curl -fsS -o /dev/null http://feeds.example.net/drop_v4.json || break; sleep 0.2; done""")
    g.must(fetch.script())
    g.book("feeds")
    g.must("""echo '{"cidr":"203.0.113.0/24","sblid":"SBL2"}' >>/srv/feed/drop_v4.json
              systemctl is-active weir-fetch.timer; systemctl start weir-fetch; weirctl explain 203.0.113.9 | grep SBL2""")
    scripts = re.findall(r'script "(.+)"', "\n".join(line for block in book.of(book.read("docs/operating.md"), "conf") for line in block.lines))
    if len(scripts) < 2:
        raise Failed("the page shows keepalived fewer than two scripts")
    g.must("\n".join(scripts))


def watched(g):
    """a worker that stands makes health fail, and systemd start the dataplane anew"""
    g.must("""mkdir -p /run/systemd/system/weir-dataplane.service.d
              printf '[Service]\\nWatchdogSec=12\\n' >/run/systemd/system/weir-dataplane.service.d/soon.conf
              systemctl daemon-reload; systemctl restart weir-dataplane\n""" + CONNECTED + f"""
              cat >/tmp/hold.py <<'END'
{book.read("tests/support/hold_thread.py")}END
              python3 /tmp/hold.py $(systemctl show -P MainPID weir-dataplane) worker >/tmp/held 2>&1 &
              for i in $(seq 50); do ! weirctl health >/tmp/health && break; sleep 0.2; done
              grep 'WRONG: .*has not come round' /tmp/health || {{ cat /tmp/held /tmp/health; exit 1; }}
              for i in $(seq 100); do [ $(systemctl show -P NRestarts weir-dataplane) = 0 ] || break; sleep 0.3; done
              [ $(systemctl show -P NRestarts weir-dataplane) = 1 ]
              journalctl -o cat -u weir-dataplane | grep -i 'watchdog timeout'
              rm -r /run/systemd/system/weir-dataplane.service.d; systemctl daemon-reload
              """ + CONNECTED)
    g.answers(3, "after the watchdog's restart")


def upgraded(g):
    """an upgrade under traffic loses no rule and says for how long the link was cut"""
    allowed, denied = Watch(g.left.address, g.left, g.right), Watch(SECOND_ADDRESS, g.left, g.right)
    time.sleep(1)
    g.must("rm build/deb/*; mv /srv/newer/* build/deb/")
    g.book("upgrade")
    g.must(CONNECTED + "dpkg-query -W weir | grep newer; systemctl is-active weir-control weir-dataplane")
    time.sleep(3)
    answers, through = allowed.answers(), denied.answers()
    told = g.status()["dataplane"].get("not_forwarded_ms", 0) / 1e3
    longest = max(after - before for before, after in zip(answers, answers[1:]))
    if through:
        raise Failed(f"{len(through)} pings of a denied address were answered meanwhile")
    if told <= 0 or not told - 0.3 <= longest <= told + 5:
        raise Failed(f"the link was cut for {told:.1f} s as it says, and no ping was answered for {longest:.1f} s")
    g.must(f"weirctl status | grep 'not forwarded for'; weirctl explain {SECOND_ADDRESS} | grep 'before the upgrade'\n"
           "weirctl explain 203.0.113.9 | grep SBL2; weirctl log | grep 'list add bans'")
    g.answers(3, "after the upgrade")
    return f"cut for {told:.1f} s by its own word, {longest:.1f} s by pings"


def removed(g):
    """apt remove stops both and keeps configuration and rules"""
    g.must("apt remove weir; ! pgrep -x 'weir-control|weir-dataplane'; test -e /etc/weir/weir.yaml; test -d /var/lib/weir/store")
    g.answers(0, "without a dataplane")


def purged(g):
    """apt purge takes the configuration and leaves the rules, which an installation finds again"""
    g.must("apt purge weir; ! test -e /etc/weir/weir.yaml; test -d /var/lib/weir/store; ! systemctl cat weir-control 2>/dev/null\n"
           f"apt install ./build/deb/weir_*.deb; for i in $(seq 100); do weirctl status >/dev/null 2>&1 && break; sleep 0.2; done\n"
           "weirctl list show bans | grep 'before the upgrade'")


def complete(g):
    """every block of the page that wants a server was run"""
    if g.left_to_run:
        raise Failed(f"not run: {', '.join(sorted(g.left_to_run))}")


CHECKS = [installed, enforcing, lasting, shared, fed, watched, upgraded, removed, purged, complete]


def tried(deb, build):
    kernel, modules = guest.kernel_of(os.path.join(build, "kernel"))
    archive = debian.archive(deb, build, modules)
    machine.BOOT_SECONDS, machine.MEMORY_MIB = BOOT_SECONDS, MEMORY_MIB
    hosts, m, failed = [], None, 0
    try:
        for number, name in enumerate(("left", "right"), 1):
            hosts.append(Host(f"weir-deb-{name}", f"10.9.0.{number}", f"02:00:00:00:00:0{number}", 1))
        hosts[0].knows(hosts[1])
        hosts[1].knows(hosts[0])
        ip("-n", hosts[0].name, "address", "add", f"{SECOND_ADDRESS}/24", "dev", "eth0")
        ip("-n", hosts[1].name, "neigh", "replace", SECOND_ADDRESS, "lladdr", hosts[0].mac, "dev", "eth0", "nud", "permanent")
        m = Machine(kernel, archive, os.path.join(build, "packages.console"), [(netdev(h.fds), cards.VIRTIO) for h in hosts],
                    [fd for h in hosts for fd in h.fds])
        print(f"  booted in {m.boot_seconds:.1f} s", flush=True)
        g = Guest(m, *hosts)
        for check in CHECKS:
            started = time.monotonic()
            try:
                figures = check(g)
                print(f"  {check.__doc__}  {time.monotonic() - started:.1f} s" + (f"  ({figures})" if figures else ""), flush=True)
            except (Failed, GuestError) as error:
                print(f"FAILED   {check.__doc__}: {error}", flush=True)
                failed = len(CHECKS) - CHECKS.index(check) # the others build on it
                try:
                    print(m.run("journalctl -b -o cat -u 'weir-*' | tail -n 20", 120)[1])
                except GuestError as silent:
                    print(f"no logs: {silent}")
                break
    finally:
        if m is not None:
            m.stop()
        for host in hosts:
            host.close()
    return failed


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--deb", required=True)
    parser.add_argument("--build", required=True)
    args = parser.parse_args()
    tools = ("mmdebstrap", "cpio", "dpkg-scanpackages")
    why = lacks() or next((f"there is no {tool}" for tool in tools if shutil.which(tool) is None), None)
    if why is None:
        try:
            failed = tried(args.deb, args.build)
        except guest.Missing as missing:
            why = str(missing)
        except (GuestError, OSError, subprocess.CalledProcessError) as error:
            print(f"FAILED   the guest does not start: {error}")
            failed = len(CHECKS)
    if why is not None:
        print(f"skipped  the package in a guest: {why}")
        print(f"0 passed, 0 failed, {len(CHECKS)} skipped")
        return 0
    print(f"{len(CHECKS) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
