"""Two network namespaces on this machine, each with a tap whose other end is a card of the guest."""
import ctypes
import fcntl
import hashlib
import os
import socket
import struct
import subprocess
import threading
import time
from contextlib import contextmanager

TUNSETIFF = 0x400454CA
IFF_TAP, IFF_NO_PI, IFF_MULTI_QUEUE = 0x0002, 0x1000, 0x0100
CLONE_NEWNET = 0x40000000
ETH_P_ALL = 3
libc = ctypes.CDLL(None, use_errno=True)


def ip(*arguments):
    subprocess.run(["ip", *arguments], check=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


class Host:
    """One end of the wire: a namespace with one interface, `eth0`, which is a tap."""

    def __init__(self, name, address, mac, queues):
        self.name, self.address, self.mac = name, address, mac
        subprocess.run(["ip", "netns", "del", name], check=False, stderr=subprocess.DEVNULL)
        ip("netns", "add", name)
        self.fds = []
        try:
            with self.inside():
                for _ in range(queues):
                    self.fds.append(self.tap(queues > 1))
                for scope in ("all", "default", "eth0"): # no word that a test has not asked for
                    with open(f"/proc/sys/net/ipv6/conf/{scope}/disable_ipv6", "w", encoding="ascii") as file:
                        file.write("1")
            ip("-n", name, "link", "set", "eth0", "address", mac, "up")
            ip("-n", name, "address", "add", f"{address}/24", "dev", "eth0")
        except BaseException:
            self.close()
            raise

    @staticmethod
    def tap(many):
        fd = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        flags = IFF_TAP | IFF_NO_PI | (IFF_MULTI_QUEUE if many else 0)
        fcntl.ioctl(fd, TUNSETIFF, struct.pack("16sH22x", b"eth0", flags))
        return fd

    @contextmanager
    def inside(self):
        """This thread, and the sockets that it opens, are in the namespace."""
        with open("/proc/thread-self/ns/net", "rb") as before, open(f"/run/netns/{self.name}", "rb") as there:
            enter(there)
            try:
                yield
            finally:
                enter(before)

    def knows(self, other):
        ip("-n", self.name, "neigh", "replace", other.address, "lladdr", other.mac, "dev", "eth0", "nud", "permanent")

    def counts(self):
        """Packets that the interface sent and received."""
        with self.inside(), open("/proc/net/dev", encoding="ascii") as file:
            numbers = next(line for line in file if "eth0:" in line).split(":")[1].split()
        return int(numbers[9]), int(numbers[1])

    def ping(self, other, count=3, size=56, interval=0.05, wait=5):
        """How many answers came."""
        words = ["ip", "netns", "exec", self.name, "ping", "-q", "-c", str(count), "-i", str(interval), "-W", str(wait),
                 "-s", str(size), other.address]
        done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        words = done.stdout.split(" received")[0].split()
        if " received" not in done.stdout:
            raise OSError("ping: " + done.stdout)
        return int(words[-1])

    def raw_socket(self):
        with self.inside():
            raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
            raw.bind(("eth0", ETH_P_ALL))
        return raw

    def close(self):
        for fd in self.fds:
            os.close(fd)
        self.fds = []
        subprocess.run(["ip", "netns", "del", self.name], check=False, stderr=subprocess.DEVNULL)


def enter(namespace):
    if libc.setns(namespace.fileno(), CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "setns")


class Transfer:
    """Bytes over TCP from one host to the other, in the background: `size` of them, or as many as go until `enough`."""

    def __init__(self, sender, receiver, size=None, port=7000):
        self.failed, self.digests, self.enough = None, {}, threading.Event()
        with receiver.inside():
            self.listener = socket.create_server((receiver.address, port))
        with sender.inside():
            self.source = socket.socket()
        self.to, self.size = (receiver.address, port), size
        self.threads = [threading.Thread(target=self.guarded, args=[work]) for work in (self.send, self.receive)]
        for thread in self.threads:
            thread.start()

    def guarded(self, work):
        try:
            work()
        except OSError as error:
            self.failed = self.failed or f"{work.__name__}: {error}"

    def send(self):
        digest, sent, block = hashlib.sha256(), 0, os.urandom(1 << 16)
        with self.source as source:
            source.settimeout(30)
            source.connect(self.to)
            while not self.enough.is_set() and (self.size is None or sent < self.size):
                source.sendall(block)
                digest.update(block)
                sent += len(block)
                block = block[1:] + block[:1]
        self.digests["sent"] = digest.hexdigest()

    def receive(self):
        self.listener.settimeout(30)
        with self.listener as listener:
            peer, _ = listener.accept()
        digest = hashlib.sha256()
        with peer:
            peer.settimeout(30)
            while data := peer.recv(1 << 16):
                digest.update(data)
        self.digests["received"] = digest.hexdigest()

    def fault(self):
        """What went wrong, or None. One without a size ends here."""
        if self.size is None:
            self.enough.set()
        for thread in self.threads:
            thread.join()
        if self.failed is None and self.digests.get("sent") != self.digests.get("received"):
            return "what arrived is not what was sent"
        return self.failed


def tagged_echo(source, target, vlan):
    """An ICMP echo request in a VLAN, as a whole frame: this kernel may have no VLANs of its own."""
    def mac(text):
        return bytes.fromhex(text.replace(":", ""))

    def summed(header, at):
        total = sum(struct.unpack(f"!{len(header) // 2}H", header))
        total = (total & 0xFFFF) + (total >> 16)
        return header[:at] + struct.pack("!H", ~(total + (total >> 16)) & 0xFFFF) + header[at + 2:]

    echo = summed(struct.pack("!BBHHH", 8, 0, 0, 77, 1) + bytes(56), 2)
    header = summed(struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(echo), 1, 0, 64, 1, 0,
                                socket.inet_aton(source.address), socket.inet_aton(target.address)), 10)
    return mac(target.mac) + mac(source.mac) + struct.pack("!HHH", 0x8100, vlan, 0x0800) + header + echo


def arrives(frame, sender, receiver, vlan, seconds):
    """Whether the frame, sent again and again, comes out at the other end with its VLAN, which the kernel puts beside."""
    aux = 8  # PACKET_AUXDATA
    untagged = frame[:12] + frame[16:]
    with sender.raw_socket() as out, receiver.raw_socket() as into:
        into.setsockopt(263, aux, 1)
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            out.send(frame)
            into.settimeout(0.2)
            try:
                got, ancillary, _, _ = into.recvmsg(2048, 128)
            except TimeoutError:
                continue
            tags = [struct.unpack("IIIHHHH", data[:20])[5] for level, kind, data in ancillary
                    if level == 263 and kind == aux]
            if got == frame or (got[:len(untagged)] == untagged and tags == [vlan]):
                return True
    return False
