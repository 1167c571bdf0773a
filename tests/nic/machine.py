"""QEMU with two network cards, and a channel by which its guest runs lines of shell."""
import base64
import os
import socket
import subprocess
import time

MEMORY_MIB = 896
BOOT_SECONDS = 60  # a busy machine without KVM
CARDS_AT = ["0000:00:04.0", "0000:00:05.0"]


class GuestError(Exception):
    """The guest did not do what it was asked, or not in time."""


class Silent(GuestError):
    """The guest does not answer in time."""


def command(kernel, initrd, console, cards, cpus, iommu, channel):
    """`cards`: options of -netdev and -device for each, without id, address and netdev."""
    arguments = ["qemu-system-x86_64", "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
                 "-machine", "q35,accel=tcg" + (",kernel-irqchip=split" if iommu else ""), "-cpu", "max",
                 "-smp", str(cpus), "-m", str(MEMORY_MIB), "-kernel", kernel, "-initrd", initrd,
                 # On a busy machine no tick may come while the kernel looks whether ticks come.
                 "-append", "console=ttyS0 panic=-1 no_timer_check iommu=pt" + (" intel_iommu=on" if iommu else ""),
                 "-serial", f"file:{console}"]
    if iommu:
        arguments += ["-device", "intel-iommu,intremap=on,caching-mode=on"]
    arguments += ["-device", "virtio-serial-pci,addr=3", "-chardev", f"socket,id=channel,fd={channel}",
                  "-device", "virtserialport,chardev=channel,name=weir"]
    for i, (netdev, device) in enumerate(cards):
        arguments += ["-netdev", f"tap,id=net{i},{netdev}",
                      "-device", f"{device},netdev=net{i},addr={4 + i},mac=02:00:00:00:01:0{i}"]
    return arguments


def lines_of(name):
    with open(name, encoding="utf-8", errors="replace") as text:
        return text.read().splitlines()


class Machine:
    """A running guest. Its output goes to `console`."""

    def __init__(self, kernel, initrd, console, cards, fds, cpus=2, iommu=True):
        ours, theirs = socket.socketpair()
        self.channel, self.number, self.buffered = ours, 0, b""
        started = time.monotonic()
        self.console, self.log = console, console + ".qemu"
        with open(self.log, "wb") as log:
            self.qemu = subprocess.Popen(command(kernel, initrd, console, cards, cpus, iommu, theirs.fileno()),
                                         pass_fds=[theirs.fileno(), *fds], stdin=subprocess.DEVNULL, stdout=log,
                                         stderr=log)
        theirs.close()
        try:
            line = self.line(BOOT_SECONDS)
            if line != b"ready":
                raise GuestError(f"the guest began with {line!r}")
        except BaseException:
            self.stop()
            raise
        self.boot_seconds = time.monotonic() - started

    def stop(self):
        self.qemu.kill()
        self.qemu.wait()
        self.channel.close()

    def receive(self, deadline):
        self.channel.settimeout(max(deadline - time.monotonic(), 0.001))
        try:
            data = self.channel.recv(1 << 16)
        except TimeoutError:
            console = " | ".join(lines_of(self.console)[-5:])
            raise Silent(f"the guest does not answer in time; the end of its console: {console}") from None
        except ConnectionError:
            data = b""
        if not data:
            said = [line for name in (self.log, self.console) for line in lines_of(name)[-5:]]
            raise GuestError("QEMU ended: " + "\n".join(said))
        self.buffered += data

    def line(self, seconds):
        deadline = time.monotonic() + seconds
        while b"\n" not in self.buffered:
            self.receive(deadline)
        line, self.buffered = self.buffered.split(b"\n", 1)
        return line

    def run(self, script, seconds=40):
        """Exit code and output of lines of shell."""
        self.number += 1
        text = base64.b64encode(script.encode()).decode()
        self.channel.settimeout(seconds)
        self.channel.sendall(f"{self.number} {text}\n".encode())
        deadline = time.monotonic() + seconds
        number, code, size = (int(word) for word in self.line(seconds).split())
        if number != self.number:
            raise GuestError(f"the guest answers {number} when {self.number} was asked")
        while len(self.buffered) < size:
            self.receive(deadline)
        output, self.buffered = self.buffered[:size], self.buffered[size:]
        return code, output.decode(errors="replace")

    def must(self, script, seconds=40):
        """Output of lines of shell that have to succeed."""
        code, output = self.run(script, seconds)
        if code != 0:
            raise GuestError(f"{script!r} ended with {code}:\n{output}")
        return output
