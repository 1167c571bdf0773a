"""What has to hold of weir on cards. A check is a function of a bench whose first line of text is its name; it raises
Failed, or one of the errors of guest and wire."""
import re

from gate import BIND, Gate
from machine import CARDS_AT
from wire import Transfer, arrives, tagged_echo

VLAN = 7
SWAPS = 3


class Failed(Exception):
    pass


class Bench:
    """One guest between two hosts."""

    def __init__(self, kind, machine, left, right):
        self.kind, self.machine, self.left, self.right = kind, machine, left, right
        self.gate = Gate(machine, kind.lcores)


def expect(true, text):
    if not true:
        raise Failed(text)


def equal(got, wanted, what):
    expect(got == wanted, f"{what}: {got}, and {wanted} were expected")


def starts(bench):
    """starts on two cards that are named by their addresses"""
    bench.gate.bind()
    bench.gate.start("weir-control")
    bench.gate.start("weir-dataplane")
    bench.gate.connected()


def ping(bench):
    """ping goes through in both directions"""
    equal(bench.left.ping(bench.right), 3, "answers to left")
    equal(bench.right.ping(bench.left), 3, "answers to right")


def tcp(bench):
    """a transfer over TCP arrives as it was sent"""
    equal(Transfer(bench.left, bench.right, bench.kind.bytes).fault(), None, "fault")


def fragments(bench):
    """IPv4 fragments go through"""
    equal(bench.left.ping(bench.right, size=4000), 3, "answers")


def denial(bench):
    """an address that is added to a list is stopped, and let through when it is deleted"""
    bench.gate.weirctl(f"list add bans {bench.left.address}")
    equal(bench.left.ping(bench.right, count=5, wait=1), 0, "answers while denied")
    equal(bench.left.ping(bench.right, count=2, size=4000, wait=1), 0, "answers in fragments while denied")
    bench.gate.weirctl(f"list del bans {bench.left.address}")
    equal(bench.left.ping(bench.right), 3, "answers afterwards")


def vlan(bench):
    """a frame in a VLAN arrives with its tag, and not while its address is denied"""
    there, back = (bench.left, bench.right), (bench.right, bench.left)
    for sender, receiver in (there, back):
        expect(arrives(tagged_echo(sender, receiver, VLAN), sender, receiver, VLAN, 10), f"{sender.name}: did not arrive")
    bench.gate.weirctl(f"list add bans {bench.left.address}")
    frame = tagged_echo(*there, VLAN)
    passed = arrives(frame, *there, VLAN, 1)
    bench.gate.weirctl(f"list del bans {bench.left.address}")
    expect(not passed, "arrived although its address is denied")


def swaps(bench):
    """new generations come into force beneath a transfer, which arrives"""
    first = bench.gate.report("status")["generation"]
    transfer = Transfer(bench.left, bench.right)
    for net in range(SWAPS):
        bench.gate.configure(bench.kind.lcores, f"198.51.{net}.0/24")
        bench.gate.weirctl("apply /etc/weir/weir.yaml --force")
    equal(transfer.fault(), None, "fault")
    equal(bench.gate.report("status")["generation"], first + SWAPS, "generation")


def counted(bench):
    """every packet that a host sent is counted in, and out, and received by the other"""
    hosts = {"wan": bench.left, "lan": bench.right}
    before, ports = {name: host.counts() for name, host in hosts.items()}, bench.gate.ports()
    many = bench.kind.pings
    equal(bench.left.ping(bench.right, count=many, interval=0.002), many, "answers")
    def grown():
        after, now = {name: host.counts() for name, host in hosts.items()}, bench.gate.ports()
        return {name: [after[name][0] - before[name][0], now[name]["rx_packets"] - ports[name]["rx_packets"],
                       now[name]["tx_packets"] - ports[name]["tx_packets"], after[name][1] - before[name][1],
                       now[name]["rx_missed"], now[name]["tx_refused"]] for name in hosts}
    figures = grown()
    for name, (sent, came, went, received, _, _) in figures.items():
        equal(came, sent, f"{name}: packets that weir counts as received, of those that the host sent")
        equal(received, went, f"{name}: packets that the host received, of those that weir counts as sent")
        expect(sent >= many, f"{name}: the host sent {sent} packets, and {many} pings were asked for")
    equal(figures["wan"][2], figures["lan"][1], "packets out by wan, of those in by lan")
    equal(bench.gate.report()["lost"], 0, "lost")


def killed(bench):
    """a dataplane that was killed enforces again as soon as it is started, and control tells it the rest"""
    bench.gate.weirctl(f"list add bans {bench.left.address}")
    bench.gate.kill("weir-dataplane")
    equal(bench.left.ping(bench.right, count=2, wait=1), 0, "answers while no dataplane runs")
    bench.gate.start("weir-dataplane")
    equal(bench.left.ping(bench.right, count=5, wait=1), 0, "answers while denied, after the restart")
    bench.gate.connected()
    bench.gate.weirctl(f"list del bans {bench.left.address}")
    equal(bench.left.ping(bench.right), 3, "answers afterwards")


def content(bench):
    """neither status nor doctor has anything to complain of"""
    equal(bench.gate.warnings(), [], "warnings")
    code, text = bench.machine.run("weirctl doctor")
    expect(code == 0 and "WRONG" not in text, f"doctor ended with {code}:\n{text}")


def both_queues(bench):
    """both queues of a card are read, although the configuration says nothing of queues"""
    equal(len(bench.gate.report()["workers"]), 2, "workers")
    received = []
    for port in range(7100, 7124): # the host deals flows out to queues by a hash that both directions share
        fault = Transfer(bench.left, bench.right, 1 << 16, port).fault()
        equal(fault, None, f"transfer over port {port}")
    received = [worker["packets"] for worker in bench.gate.report()["workers"]]
    expect(min(received) > 0, f"packets by worker: {received}")


def too_many_workers(bench):
    """more workers than the card has queues are refused by name, with a remedy"""
    bench.gate.kill("weir-dataplane", "TERM")
    bench.gate.configure("0,1")
    said = bench.gate.refusal()
    bench.gate.configure(bench.kind.lcores)
    for part in ("port wan", "2 workers", "eal.lcores"):
        expect(part in said, f"{part!r} is not in the refusal:\n{said}")


def locked_memory(bench):
    """a limit of locked memory that is too small for the cards is refused at the start, and what is asked is enough"""
    said = bench.gate.refusal(limit=64)
    for part in ("locked memory", "may lock 64"):
        expect(part in said, f"{part!r} is not in the refusal:\n{said}")
    asked = re.search(r"ulimit -l (\d+)", said)
    expect(asked, f"no limit is named in the refusal:\n{said}")
    bench.gate.start("weir-dataplane", limit=asked[1])
    equal(bench.left.ping(bench.right), 3, "answers under the limit that was asked for")
    bench.gate.kill("weir-dataplane", "TERM")


def no_iommu(bench):
    """without an IOMMU doctor says so, and vfio-pci does refuse the card"""
    bench.machine.must("modprobe vfio-pci")
    bench.machine.run(BIND.format(cards=CARDS_AT[0]))
    _, driver = bench.machine.run(f"readlink /sys/bus/pci/devices/{CARDS_AT[0]}/driver")
    expect("vfio" not in driver, "vfio-pci took a card without an IOMMU")
    code, text = bench.machine.run("weirctl doctor")
    equal(code, 1, "exit code of doctor")
    for part in (f"{CARDS_AT[0]} stands behind no IOMMU", "intel_iommu=on"):
        expect(part in text, f"{part!r} is not in what doctor says:\n{text}")
    expect("devbind" not in text, f"doctor advises to bind the card to a driver that refuses it:\n{text}")


# The last is killed: QEMU's e1000 counts packets that came meanwhile as missed again at each look.
COMMON = [starts, ping, tcp, fragments, vlan, denial, swaps, counted, content, killed]
