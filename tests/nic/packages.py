#!/usr/bin/env python3
"""The Debian package in a guest with systemd: installed, configured, enforcing on two PCI cards, upgraded, removed, purged.

usage: packages.py --deb FILE --build FOLDER

FOLDER of --build has the kernel in kernel/, and gets the guest (a minimal Debian with what the package depends on, since the
guest has no network) and its console. The last line is the sum.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import time

sys.dont_write_bytecode = True
import cards
import guest
import machine
from gate import BIND, CONFIG
from machine import CARDS_AT, GuestError, Machine
from run import lacks, netdev
from wire import Host

INCLUDED = ["systemd-sysv", "udev", "kmod", "dbus", "iproute2", "dpdk", "dpdk-dev", "libmicrohttpd12"]
CHANNEL = """#!/bin/bash
modprobe virtio_pci; modprobe virtio_console
until port=$(ls /dev/vport*p1 2>/dev/null); do sleep 0.1; done
exec 3<>$port
echo ready >&3
while read -r number script <&3; do # as in the small guest
  echo "$script" | base64 -d >/tmp/script
  bash /tmp/script >/tmp/output 2>&1 </dev/null 3>&-
  echo "$number $? $(wc -c </tmp/output)" >&3
  cat /tmp/output >&3
done
"""
UNIT = "[Unit]\nAfter=basic.target\n[Service]\nExecStart=/usr/local/bin/channel\n[Install]\nWantedBy=multi-user.target\n"
MEMORY_MIB, BOOT_SECONDS = 2200, 240
CONNECTED = """for i in $(seq 150); do weirctl status | grep -q 'dataplane connected' && break; sleep 0.2; done
weirctl status | grep 'dataplane connected'
"""
INSTALL = "DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends"


class Failed(Exception):
    pass


def shell(*words, **options):
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL, **options)


def depends(deb):
    """Names of what the package depends on: of alternatives the first."""
    text = subprocess.run(["dpkg-deb", "-f", deb, "Depends"], check=True, stdout=subprocess.PIPE, text=True).stdout
    return [re.split(r"[ (|]", part.strip())[0] for part in text.split(",")]


def newer(deb, build):
    """The same package under a higher version."""
    folder, file = os.path.join(build, "newer"), os.path.join(build, "newer.deb")
    shutil.rmtree(folder, ignore_errors=True)
    shell("dpkg-deb", "-R", deb, folder)
    control = os.path.join(folder, "DEBIAN/control")
    with open(control, encoding="utf-8") as lines:
        text = lines.read()
    with open(control, "w", encoding="utf-8") as out:
        out.write(re.sub(r"(?m)^(Version: \S+)$", r"\1+newer", text))
    shell("dpkg-deb", "--root-owner-group", "-b", folder, file)
    return file


def root_of(deb, build, kernel_modules):
    """The guest's root as an archive; a minimal Debian is fetched once (some minutes)."""
    tar, root, archive = (os.path.join(build, name) for name in ("debian.tar", "root", "root.cpio"))
    if not os.path.exists(tar):
        shell("mmdebstrap", "--quiet", "--variant=minbase", "--include=" + ",".join(INCLUDED + depends(deb)), "bookworm",
              tar + ".new")
        os.rename(tar + ".new", tar)
    shutil.rmtree(root, ignore_errors=True)
    os.makedirs(root)
    shell("tar", "-C", root, "--exclude=./dev/*", "-xf", tar)
    modules = os.path.join(root, "lib/modules", os.path.basename(kernel_modules))
    for path in guest.modules_needed(kernel_modules):
        os.makedirs(os.path.dirname(f"{modules}/{path}"), exist_ok=True)
        shutil.copy(f"{kernel_modules}/{path}", f"{modules}/{path}")
    for name in os.listdir(kernel_modules):
        if name.startswith("modules."):
            shutil.copy(f"{kernel_modules}/{name}", f"{modules}/{name}")
    shutil.copy(deb, f"{root}/srv/weir1.deb")
    shutil.copy(newer(deb, build), f"{root}/srv/weir2.deb")
    for path, text, mode in (("usr/local/bin/channel", CHANNEL, 0o755), ("etc/systemd/system/channel.service", UNIT, 0o644)):
        with open(f"{root}/{path}", "w", encoding="utf-8") as out:
            out.write(text)
        os.chmod(f"{root}/{path}", mode)
    shell("systemctl", "--root", os.path.abspath(root), "enable", "channel.service", stderr=subprocess.DEVNULL)
    os.symlink("sbin/init", f"{root}/init")
    with open(archive, "wb") as out:
        names = subprocess.Popen(["find", ".", "-print0"], cwd=root, stdout=subprocess.PIPE)
        subprocess.run(["cpio", "--quiet", "--null", "-o", "-H", "newc"], cwd=root, stdin=names.stdout, stdout=out, check=True)
    shutil.rmtree(root)
    return archive


class Guest:
    def __init__(self, m, left, right):
        self.machine, self.left, self.right = m, left, right

    def must(self, script, seconds=240):
        return self.machine.must("set -e\n" + script, seconds)

    def answers(self, wanted, what):
        got = self.left.ping(self.right, count=3, wait=1)
        if got != wanted:
            raise Failed(f"{what}: {got} of 3 pings were answered, and {wanted} were expected")


def installed(g):
    """apt install: control runs, the dataplane waits for a port, and enforces nothing"""
    g.must(f"{INSTALL} /srv/weir1.deb; systemctl is-active weir-control; ! systemctl is-enabled weir-dataplane")


def enforcing(g):
    """with ports in the configuration it enforces on two PCI cards, as a user of its own, and doctor is content"""
    text = CONFIG.format(*CARDS_AT, eal="", denied="203.0.113.0/24")
    g.must(f"cat >/etc/weir/weir.yaml <<'END'\n{text}END\n" + BIND.format(cards=" ".join(CARDS_AT)) +
           "systemctl restart weir-control; systemctl enable --now weir-dataplane\n" + CONNECTED +
           "test \"$(ps -o user= -C weir-dataplane)\" = weir-dataplane\n"
           "weirctl doctor >/tmp/doctor; ! grep WRONG /tmp/doctor\n")
    g.answers(3, "before anybody is denied")
    g.must(f"weirctl list add bans {g.left.address} --comment 'before the upgrade'")
    g.answers(0, "while denied")


def upgraded(g):
    """an upgrade loses no rule"""
    g.must(f"{INSTALL} /srv/weir2.deb\n" + CONNECTED + "dpkg-query -W weir | grep newer; systemctl is-active weir-control "
           f"weir-dataplane; weirctl explain {g.left.address} | grep 'before the upgrade'; weirctl log | grep 'list add bans'")
    g.answers(0, "while denied, after the upgrade")
    g.must(f"weirctl list del bans {g.left.address}")
    g.answers(3, "afterwards")


def removed(g):
    """apt remove stops both and keeps configuration and rules"""
    g.must("apt-get remove -qy weir; ! pgrep -x 'weir-control|weir-dataplane'; test -e /etc/weir/weir.yaml; test -d /var/lib/weir/store")
    g.answers(0, "without a dataplane")


def purged(g):
    """apt purge takes the configuration and leaves the rules to the operator"""
    g.must("apt-get purge -qy weir; ! test -e /etc/weir; test -d /var/lib/weir/store; ! systemctl cat weir-control 2>/dev/null")


CHECKS = [installed, enforcing, upgraded, removed, purged]


def tried(deb, build):
    kernel, modules = guest.kernel_of(os.path.join(build, "kernel"))
    archive = root_of(deb, build, modules)
    machine.BOOT_SECONDS, machine.MEMORY_MIB = BOOT_SECONDS, MEMORY_MIB
    hosts, m, failed = [], None, 0
    try:
        for number, name in enumerate(("left", "right"), 1):
            hosts.append(Host(f"weir-deb-{name}", f"10.9.0.{number}", f"02:00:00:00:00:0{number}", 1))
        hosts[0].knows(hosts[1])
        hosts[1].knows(hosts[0])
        m = Machine(kernel, archive, os.path.join(build, "packages.console"), [(netdev(h.fds), cards.VIRTIO) for h in hosts],
                    [fd for h in hosts for fd in h.fds])
        for check in CHECKS:
            started = time.monotonic()
            try:
                check(Guest(m, *hosts))
                print(f"  {check.__doc__}  {time.monotonic() - started:.1f} s", flush=True)
            except (Failed, GuestError) as error:
                print(f"FAILED   {check.__doc__}: {error}", flush=True)
                print(m.run("journalctl -b -o cat -u 'weir-*' | tail -n 20")[1])
                failed = len(CHECKS) - CHECKS.index(check) # the others build on it
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
    why = lacks() or next((f"there is no {tool}" for tool in ("mmdebstrap", "cpio") if shutil.which(tool) is None), None)
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
