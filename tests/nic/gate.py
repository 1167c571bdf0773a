"""weir in the guest, on its two cards: started, asked, killed."""
import json

from machine import CARDS_AT, GuestError

CONFIG = """version: 1
{eal}ports:
- {{name: wan, device: "{0}", side: outside, peer: lan}}
- {{name: lan, device: "{1}", side: inside, peer: wan}}
policy: {{match: remote, default: pass, no_image: open}}
lists:
- {{name: bans, action: deny, dynamic: true, ttl: 1h}}
- {{name: drop, action: deny, entries: [{denied}]}}
guard: {{max_change: 30%}}
"""
BIND = """set -e
modprobe vfio-pci; modprobe vfio_iommu_type1 # which only a larger modprobe loads beside it
for card in {cards}; do
  device=/sys/bus/pci/devices/$card
  echo vfio-pci >$device/driver_override
  [ ! -e $device/driver ] || echo $card >$device/driver/unbind
  echo $card >/sys/bus/pci/drivers_probe
done
"""
START_SECONDS = 60
READY = {"weir-dataplane": "grep -q 'listening on' /tmp/weir-dataplane.log",
         "weir-control": "{ weirctl health >/dev/null 2>&1; [ $? != 3 ]; }"}


class Gate:
    def __init__(self, machine, lcores=None):
        self.machine = machine
        self.configure(lcores)
        machine.must("mkdir -p /etc/weir /var/lib /run/weir")

    def configure(self, lcores=None, denied="203.0.113.0/24"):
        eal = f'eal: {{lcores: "{lcores}"}}\n' if lcores else ""
        text = CONFIG.format(*CARDS_AT, eal=eal, denied=denied)
        self.machine.must(f"mkdir -p /etc/weir; cat >/etc/weir/weir.yaml <<'END'\n{text}END")

    def bind(self):
        self.machine.must(BIND.format(cards=" ".join(CARDS_AT)))

    @staticmethod
    def line(program, limit):
        """What starts a daemon; as a plain user who may lock `limit` KiB, if that is said."""
        line = f"exec {program} -c /etc/weir/weir.yaml"
        if limit is None:
            return line
        return f"ulimit -l {limit}; chmod 666 /dev/vfio/*; exec su plain -c '{line} --run-dir /tmp/r --state-dir /tmp/s'"

    def start(self, program, limit=None):
        """Returns when the daemon is ready: weir-dataplane says so, and weir-control answers."""
        self.machine.must(f"""
          echo >/tmp/{program}.log
          ({self.line(program, limit)}) >>/tmp/{program}.log 2>&1 & echo $! >/tmp/{program}.pid
          for i in $(seq {START_SECONDS * 10}); do
            {READY[program]} && exit 0
            kill -0 $(cat /tmp/{program}.pid) 2>/dev/null || break
            usleep 100000
          done
          cat /tmp/{program}.log; exit 1""", START_SECONDS + 10)

    def refusal(self, program="weir-dataplane", limit=None):
        """What a daemon says that has to end by itself."""
        code, output = self.machine.run(self.line(program, limit), START_SECONDS)
        if code != 1:
            raise GuestError(f"{program} ended with {code} and not with 1:\n{output}")
        return output

    def kill(self, program, signal="KILL"):
        self.machine.must(f"""
          kill -{signal} $(cat /tmp/{program}.pid)
          for i in $(seq 100); do kill -0 $(cat /tmp/{program}.pid) 2>/dev/null || exit 0; usleep 50000; done; exit 1""")

    def weirctl(self, arguments):
        return self.machine.must(f"timeout 30 weirctl {arguments}")

    def connected(self):
        self.machine.must("""for i in $(seq 200); do
          weirctl status 2>/dev/null | grep -q 'dataplane connected' && exit 0; usleep 100000; done
          weirctl status; exit 1""")

    def report(self, verb="stats"):
        return json.loads(self.weirctl(f"-j {verb}"))

    def ports(self):
        return {port["name"]: port for port in self.report()["ports"]}

    def warnings(self):
        return self.report("status")["dataplane"].get("warnings", [])

    def logs(self):
        """For people, after a failure."""
        return self.machine.run("tail -n 20 /tmp/weir-*.log; timeout 10 weirctl status; timeout 10 weirctl stats | head -30; "
                                "dmesg | tail -n 8")[1]
