#!/usr/bin/env python3
"""weir on network cards: a guest in QEMU whose cards are bound to vfio-pci, between two hosts on this machine.

usage: run.py --programs FOLDER --build FOLDER [--only KIND,...] [--keep]

FOLDER of --build has the kernel in kernel/, and gets the guest and its logs. The last line is the sum.
"""
import argparse
import os
import shutil
import sys
import time

sys.dont_write_bytecode = True
import cards
import checks
import guest
from machine import GuestError, Machine, Silent
from wire import Host


def lacks():
    """Why nothing can be tried here, or None."""
    if os.geteuid() != 0:
        return "not root, which network namespaces need"
    if not os.path.exists("/dev/net/tun"):
        return "there is no /dev/net/tun"
    for program, package in (("qemu-system-x86_64", "qemu-system-x86"), ("ip", "iproute2"), ("ping", "iputils-ping")):
        if shutil.which(program) is None:
            return f"there is no {program} (package {package})"
    return None


class Sum:
    def __init__(self):
        self.passed = self.failed = 0

    def add(self, kind, name, seconds, fault, logs=""):
        if fault is None:
            self.passed += 1
            print(f"  {kind:<10} {name}  {seconds:.1f} s", flush=True)
            return
        self.failed += 1
        print(f"FAILED   {kind}: {name}: {fault}", flush=True)
        for line in logs.splitlines():
            print("         | " + line)


def fault_of(check, bench):
    try:
        check(bench)
    except (checks.Failed, GuestError, OSError, KeyError, ValueError) as error:
        return f"{error}" if isinstance(error, (checks.Failed, GuestError)) else f"{type(error).__name__}: {error}"
    return None


def name_of(check):
    return check.__doc__.splitlines()[0]


def netdev(fds):
    return f"fd={fds[0]}" if len(fds) == 1 else "fds=" + ":".join(map(str, fds))


def boot(kind, kernel, archive, console, hosts):
    def machine():
        return Machine(kernel, archive, console, [(netdev(host.fds), kind.device) for host in hosts],
                       [fd for host in hosts for fd in host.fds], kind.cpus, kind.iommu)
    try:
        return machine()
    except Silent as error: # seen once: the kernel hung, before anything of weir ran
        print(f"  {kind.name:<10} started again: {error}", flush=True)
        return machine()


def try_kind(kind, kernel, archive, build, total):
    wanted = kind.checks()
    console = os.path.join(build, f"{kind.name}.console")
    hosts, machine = [], None
    try:
        for number, name in enumerate(("left", "right"), 1):
            hosts.append(Host(f"weir-nic-{name}", f"10.9.0.{number}", f"02:00:00:00:00:0{number}", kind.queues))
        hosts[0].knows(hosts[1])
        hosts[1].knows(hosts[0])
        machine = boot(kind, kernel, archive, console, hosts)
        bench = checks.Bench(kind, machine, *hosts)
    except (GuestError, OSError) as error:
        for check in wanted:
            total.add(kind.name, name_of(check), 0, f"the guest does not start: {error}")
        return
    else:
        for check in wanted:
            started = time.monotonic()
            fault = fault_of(check, bench)
            logs = "" if fault is None else logs_of(bench)
            total.add(kind.name, name_of(check), time.monotonic() - started, fault, logs)
        print(f"  {kind.name:<10} booted in {machine.boot_seconds:.1f} s", flush=True)
    finally:
        if machine is not None:
            machine.stop()
        for host in hosts:
            host.close()


def logs_of(bench):
    try:
        return bench.gate.logs()
    except (GuestError, OSError, ValueError) as error:
        return f"no logs: {error}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--programs", required=True)
    parser.add_argument("--build", required=True)
    parser.add_argument("--only", type=lambda names: names.split(","), help=", ".join(kind.name for kind in cards.KINDS))
    args = parser.parse_args()
    kinds = [kind for kind in cards.KINDS if args.only is None or kind.name in args.only]
    total, skipped, why = Sum(), 0, lacks()
    os.makedirs(args.build, exist_ok=True)
    if why is None:
        try:
            kernel, modules = guest.kernel_of(os.path.join(args.build, "kernel"))
            archive = guest.make(args.programs, args.build, modules)
        except guest.Missing as missing:
            why = str(missing)
    if why is not None:
        skipped = sum(len(kind.checks()) for kind in kinds)
        print(f"skipped  weir on cards of QEMU: {why}")
    else:
        for kind in kinds:
            started = time.monotonic()
            try_kind(kind, kernel, archive, args.build, total)
            print(f"  {kind.name:<10} {time.monotonic() - started:.1f} s altogether", flush=True)
    if total.passed + total.failed + skipped == 0:
        total.add("nic", "nothing ran", 0, "no kind is named so")
    print(f"{total.passed} passed, {total.failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return 1 if total.failed else 0


if __name__ == "__main__":
    sys.exit(main())
