#!/usr/bin/env python3
"""Records a capture of normal and of misbehaving sources, with labels, in network namespaces of its own.

usage: record_traffic.py OUT [--sources N] [--packets-max N] [--seconds-max N] [--seed N]

Writes OUT.pcap (what arrives at the servers, at most --packets-max packets) and OUT.labels (lines of a source and 1 if it
misbehaves, 0 if not) for `weir-lab slbf --data OUT.pcap --labels OUT.labels`. Half of --sources are normal: pages, names, mail, logins
that succeed or stop after a slip. The others scan ports, flood with connections or datagrams, or guess passwords one after the other.
Servers and clients are this script's own, in two namespaces joined by a veth pair without a way out; both are removed at the end.
Needs root and iproute2; without them it says so and ends with 77. Who does what follows from --seed, when packets come does not."""
import argparse
import asyncio
import contextlib
import os
import random
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time

SKIPPED = 77
SERVER, GATEWAY = "203.0.113.80", "203.0.113.1"
SOURCES = "198.18.0.0/15"  # for tests of devices [RFC 2544]; the clients' namespace has all of it
TCP_PORTS, UDP_PORTS = (22, 25, 80, 443, 8080), (53, 123)
BYTES_MAX = 128  # of a packet that is kept
PASSWORD = b"correct horse\n"


# ---- who does what ----------------------------------------------------------------------------------

class Source:
    """A source: its address, TTL, behaviour and label follow from the seed."""
    NORMAL = ("page", "page", "page", "name", "name", "mail", "login")
    BAD = ("scan", "scan", "flood", "datagrams", "guess", "guess")

    def __init__(self, dice, is_bad, taken):
        self.is_bad = is_bad
        self.what = dice.choice(self.BAD if is_bad else self.NORMAL)
        crowded = is_bad and dice.random() < 0.6  # most misbehave from a few nets
        while True:
            net = dice.choice((0x123, 0x087, 0x1E5)) if crowded else dice.getrandbits(9)
            number = 198 << 24 | 18 << 16 | net << 8 | dice.getrandbits(8)
            if number not in taken and number & 255 not in (0, 255):
                break
        taken.add(number)
        self.address = socket.inet_ntoa(struct.pack("!I", number))
        start = dice.choice((64, 64, 64, 255) if is_bad else (64, 128, 128))
        self.ttl = start - dice.randrange(3, 25)
        self.dice = random.Random(dice.getrandbits(64))


def sources_of(seed, count):
    dice, taken = random.Random(seed), set()
    sources = [Source(dice, i % 2 == 1, taken) for i in range(count)]
    dice.shuffle(sources)
    return sources


# ---- servers ---------------------------------------------------------------------------------------

async def serve_page(reader, writer):
    with contextlib.suppress(asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.0 200 OK\r\n\r\n" + bytes(random.Random(0).randrange(200, 4000)))


async def serve_login(reader, writer):
    writer.write(b"password:\n")
    while line := await reader.readline():
        writer.write(b"welcome\n" if line == PASSWORD else b"denied\n")
        await writer.drain()


async def serve():
    async def closing(handler, reader, writer):
        with contextlib.suppress(ConnectionError, asyncio.TimeoutError):
            await asyncio.wait_for(handler(reader, writer), 5)
        with contextlib.suppress(ConnectionError):
            writer.close()
    for port in TCP_PORTS:
        handler = serve_login if port in (22, 25) else serve_page
        await asyncio.start_server(lambda r, w, h=handler: closing(h, r, w), SERVER, port, backlog=512)

    class Echo(asyncio.DatagramProtocol):
        def connection_made(self, transport):
            self.transport = transport

        def datagram_received(self, data, addr):
            self.transport.sendto(data[:64], addr)
    for port in UDP_PORTS:
        await asyncio.get_running_loop().create_datagram_endpoint(Echo, local_addr=(SERVER, port))
    print("ready", flush=True)
    await asyncio.Event().wait()  # until it is ended


# ---- clients ---------------------------------------------------------------------------------------

def opened(source, kind):
    sock = socket.socket(socket.AF_INET, kind)
    sock.setblocking(False)
    sock.setsockopt(socket.IPPROTO_IP, socket.IP_TTL, source.ttl)
    sock.bind((source.address, 0))
    return sock


async def talk(source, port, lines, abort=False):
    """One connection: lines said one after the other, each when an answer has come."""
    loop = asyncio.get_running_loop()
    with opened(source, socket.SOCK_STREAM) as sock:
        if abort:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        with contextlib.suppress(OSError, asyncio.TimeoutError):
            await asyncio.wait_for(loop.sock_connect(sock, (SERVER, port)), 2)
            for line in lines:
                await loop.sock_sendall(sock, line)
                await asyncio.wait_for(loop.sock_recv(sock, 65536), 2)


async def behave(source):
    dice, loop = source.dice, asyncio.get_running_loop()
    if source.what == "page":
        for _ in range(dice.randrange(1, 3)):
            path = "a" * dice.randrange(1, 400)
            await talk(source, dice.choice((80, 80, 443, 8080)), [f"GET /{path} HTTP/1.0\r\n\r\n".encode()])
    elif source.what in ("name", "datagrams"):
        with opened(source, socket.SOCK_DGRAM) as sock:
            few = source.what == "name"
            for _ in range(dice.randrange(1, 4) if few else dice.randrange(15, 25)):
                bytes_ = dice.randrange(20, 60) if few or dice.random() < 0.3 else dice.randrange(300, 1000)
                await loop.sock_sendto(sock, bytes(bytes_), (SERVER, dice.choice(UDP_PORTS)))
                await asyncio.sleep(0.001)
    elif source.what in ("mail", "login"):
        lines = [b"slip\n"] * dice.randrange(0, 2) + [PASSWORD] + [b"x" * dice.randrange(10, 900) + b"\n"] * dice.randrange(1, 4)
        await talk(source, 25 if source.what == "mail" else 22, lines)
    elif source.what == "scan":
        for port in dice.sample(range(1, 9000), 8) + dice.sample((21, 22, 23, 80, 443, 445, 1433, 3306, 3389, 5060), 4):
            await talk(source, port, [], abort=True)
    elif source.what == "flood":
        for _ in range(dice.randrange(5, 12)):
            await talk(source, dice.choice((80, 443)), [], abort=True)
    elif source.what == "guess":
        for _ in range(dice.randrange(2, 4)):
            await talk(source, 22, [b"guess%d\n" % dice.getrandbits(20)] * 2)


async def visit(seed, count):
    gate = asyncio.Semaphore(24)

    async def one(source):
        async with gate:
            await behave(source)
    await asyncio.gather(*(one(source) for source in sources_of(seed, count)))


# ---- recording --------------------------------------------------------------------------------------

def record(path, packets_max):
    """What arrives at the device, IPv4 alone, until there are enough packets or the signal to end."""
    wanted = [True]
    signal.signal(signal.SIGTERM, lambda *_: wanted.clear())
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3)) as port, open(path, "wb") as file:
        port.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 24)
        port.bind(("s0", 3))
        port.settimeout(0.2)
        file.write(struct.pack("=IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, BYTES_MAX, 1))
        print("ready", flush=True)
        kept = 0
        while kept < packets_max:
            try:
                frame, (_, ethertype, kind, *_) = port.recvfrom(65536)
            except TimeoutError:
                if not wanted:
                    break
                continue
            if kind == socket.PACKET_OUTGOING or ethertype != 0x0800:
                continue
            now = time.time_ns()
            bytes_ = frame[:BYTES_MAX]
            file.write(struct.pack("=IIII", now // 10**9, now % 10**9 // 1000, len(bytes_), len(frame)) + bytes_)
            kept += 1


# ---- namespaces --------------------------------------------------------------------------------------

class Namespaces:
    """Two namespaces with a wire between them, and the processes started in them."""

    def __init__(self):
        self.names = {role: f"weir-traffic-{role}-{os.getpid()}" for role in ("server", "client")}
        self.made, self.children = [], []

    def __enter__(self):
        try:
            for name in self.names.values():
                self.ip("netns", "add", name)
                self.made.append(name)
            server, client = self.names["server"], self.names["client"]
            self.ip("-n", server, "link", "add", "s0", "type", "veth", "peer", "name", "c0", "netns", client)
            for name, device, address in ((server, "s0", SERVER), (client, "c0", GATEWAY)):
                self.ip("-n", name, "link", "set", "lo", "up")
                self.ip("-n", name, "addr", "add", address + "/24", "dev", device)
                self.ip("-n", name, "link", "set", device, "up")
            self.ip("-n", server, "route", "add", SOURCES, "via", GATEWAY)
            self.ip("-n", client, "route", "add", "local", SOURCES, "dev", "lo")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for child in self.children:
            self.end(child)
        for name in self.made:
            subprocess.run(["ip", "netns", "del", name], check=False)

    @staticmethod
    def ip(*arguments):
        subprocess.run(["ip", *arguments], check=True)

    def start(self, role, *arguments):
        child = subprocess.Popen(["ip", "netns", "exec", self.names[role], sys.executable, __file__, *map(str, arguments)],
                                 stdout=subprocess.PIPE, text=True)
        self.children.append(child)
        return child

    @staticmethod
    def end(child):
        if child.poll() is None:
            child.terminate()
            try:
                child.wait(5)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()


def missing():
    if os.geteuid() != 0:
        return "not root"
    if shutil.which("ip") is None:
        return "no ip of iproute2"
    return "" if os.path.isdir("/proc/self/ns") else "no network namespaces"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out")
    parser.add_argument("--sources", type=int, default=800)
    parser.add_argument("--packets-max", type=int, default=10_000)
    parser.add_argument("--seconds-max", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    task = parser.parse_args()
    if not 2 <= task.sources <= 2000 or not 1 <= task.packets_max <= 50_000 or not 1 <= task.seconds_max <= 600:
        parser.error("--sources must be 2 to 2000, --packets-max 1 to 50,000, --seconds-max 1 to 600")
    if why := missing():
        print(f"skipped: {why}", file=sys.stderr)
        return SKIPPED
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that namespaces are removed
    with open(task.out + ".labels", "w", encoding="utf-8") as labels:
        for source in sources_of(task.seed, task.sources):
            print(source.address, int(source.is_bad), file=labels)
    with Namespaces() as spaces:
        servers = spaces.start("server", "as-servers")
        recorder = spaces.start("server", "as-recorder", task.out + ".pcap", task.packets_max)
        if any(child.stdout.readline() != "ready\n" for child in (servers, recorder)):
            sys.exit("servers or recorder do not start")
        clients = spaces.start("client", "as-clients", task.seed, task.sources)
        try:
            clients.wait(task.seconds_max)
        except subprocess.TimeoutExpired:
            print(f"ended after {task.seconds_max} seconds, before all sources had their turn", file=sys.stderr)
        spaces.end(recorder)
        if clients.poll() not in (0, None) or recorder.returncode != 0:
            sys.exit("clients or recorder failed")
    return 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["as-servers"]:
        asyncio.run(serve())
    elif sys.argv[1:2] == ["as-clients"]:
        asyncio.run(visit(int(sys.argv[2]), int(sys.argv[3])))
    elif sys.argv[1:2] == ["as-recorder"]:
        record(sys.argv[2], int(sys.argv[3]))
    else:
        sys.exit(main())
