"""The root file system of the guest: busybox, modules of the kernel, weir and the libraries that it needs.

One cpio archive that the kernel unpacks into memory, made anew when one of its files has changed.
"""
import glob
import hashlib
import os
import re
import shutil
import stat
import subprocess

# What EAL loads by itself: two buses, the pool of the packets, and the drivers of the cards that QEMU has.
DRIVERS = ["bus_pci", "bus_vdev", "mempool_ring", "net_virtio", "net_vmxnet3", "net_e1000"]
MODULES = ["virtio_pci", "virtio_console", "vfio_pci", "vfio_iommu_type1"]
PROGRAMS = ["weir-dataplane", "weir-control", "weirctl"]
FOLDERS = ["dev", "etc", "proc", "sys", "tmp", "run", "root", "usr", "usr/bin", "usr/lib", "usr/lib64", "var/lib"]
LINKS = {"bin": "usr/bin", "sbin": "usr/bin", "lib": "usr/lib", "lib64": "usr/lib64", "usr/sbin": "bin", "var/run": "../run"}
INIT = """#!/bin/busybox sh
/bin/busybox --install -s /bin
chmod 755 / # or EAL takes no drivers from below it
mount -t devtmpfs dev /dev; mount -t proc proc /proc; mount -t sysfs sys /sys
mount -t tmpfs tmp /tmp; mount -t tmpfs run /run
export HOME=/root PATH=/bin
modprobe virtio_pci; modprobe virtio_console
until port=$(ls /dev/vport*p1 2>/dev/null); do usleep 20000; done
exec 3<>$port
echo ready >&3
while read -r number script <&3; do # a number, and a script in base64; back go number, exit code, size, output
  echo "$script" | base64 -d >/tmp/script
  sh /tmp/script >/tmp/output 2>&1 </dev/null 3>&-
  echo "$number $? $(wc -c </tmp/output)" >&3
  cat /tmp/output >&3
done
poweroff -f
"""
TEXTS = {"init": (INIT, 0o755),
         "etc/passwd": ("root:x:0:0::/root:/bin/sh\nplain:x:1000:1000::/tmp:/bin/sh\n", 0o644),
         "etc/group": ("root:x:0:\nplain:x:1000:\n", 0o644)}


class Missing(Exception):
    """Something that the machine does not have; the text says what."""


def kernel_of(folder):
    """The kernel below `folder`, its version and the folder of its modules."""
    images = glob.glob(f"{folder}/boot/vmlinuz-*")
    if not images:
        raise Missing(f"there is no kernel in {folder}; `apt-get update` may help")
    version = os.path.basename(images[-1]).removeprefix("vmlinuz-")
    modules = f"{folder}/lib/modules/{version}"
    if not os.path.exists(f"{modules}/modules.dep.bin"):
        subprocess.run(["depmod", "-b", folder, version], check=True, env=with_sbin())
    return images[-1], modules


def with_sbin():
    return {**os.environ, "PATH": os.environ.get("PATH", "") + ":/usr/sbin:/sbin"}


def modules_needed(folder):
    """Files of MODULES and of what they depend on, by modules.dep."""
    needs = {}
    with open(f"{folder}/modules.dep", encoding="utf-8") as lines:
        for line in lines:
            module, _, others = line.partition(":")
            needs[module] = others.split()
    names = {re.sub(r"\.ko.*", "", os.path.basename(path)).replace("-", "_"): path for path in needs}
    found = set()
    for module in MODULES:
        if module in names: # else it is built in
            found |= {names[module], *needs[names[module]]}
    return sorted(found)


def libraries(program):
    done = subprocess.run(["ldd", program], stdout=subprocess.PIPE, text=True, check=True)
    if "not found" in done.stdout:
        raise Missing(f"{program} lacks libraries:\n{done.stdout}")
    return re.findall(r"(/\S+) \(0x", done.stdout)


class Archive:
    """Files of the guest by their path there. A library keeps its links: EAL opens each driver by two names, and
    would take a copy for a second driver."""

    def __init__(self):
        self.files = {}  # path in the guest: (mode, bytes)

    def add_file(self, path, source, mode=0o755):
        with open(source, "rb") as file:
            self.files[path] = (stat.S_IFREG | mode, file.read())

    def add_with_links(self, source):
        while True:
            source = os.path.join(os.path.realpath(os.path.dirname(source)), os.path.basename(source))
            path = source.lstrip("/")
            if path in self.files:
                return
            if not os.path.islink(source):
                return self.add_file(path, source)
            target = os.readlink(source)
            self.files[path] = (stat.S_IFLNK | 0o777, target.encode())
            source = os.path.join(os.path.dirname(source), target)

    def add_with_libraries(self, source):
        for library in libraries(source):
            self.add_with_links(library)

    def bytes(self):
        """As the kernel reads it: cpio, the "new" format."""
        files = dict(self.files)
        for path in self.files:
            while path := os.path.dirname(path):
                files.setdefault(path, (stat.S_IFDIR | 0o755, b""))
        out = bytearray()
        entries = sorted(files.items()) + [("TRAILER!!!", (0, b""))]
        for number, (path, (mode, data)) in enumerate(entries):
            name = path.encode() + b"\0"
            fields = [number + 1, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name), 0]
            out += b"070701" + b"".join(b"%08X" % field for field in fields) + name
            out += bytes(-len(out) % 4) + data
            out += bytes(-len(out) % 4)
        return bytes(out)


def stripped(program, folder):
    """A copy without what only a debugger reads: half of the size."""
    copy = os.path.join(folder, os.path.basename(program))
    shutil.copy(program, copy)
    subprocess.run(["strip", copy], check=True)
    return copy


def make(programs, build, modules):
    """The archive of the guest, in `build`; its file's name follows from its content."""
    archive = Archive()
    for folder in FOLDERS:
        archive.files[folder] = (stat.S_IFDIR | 0o755, b"")
    for path, target in LINKS.items():
        archive.files[path] = (stat.S_IFLNK | 0o777, target.encode())
    for path, (text, mode) in TEXTS.items():
        archive.files[path] = (stat.S_IFREG | mode, text.encode())
    busybox = os.path.join(build, "busybox/bin/busybox")
    if not os.path.exists(busybox):
        raise Missing(f"there is no {busybox}; `apt-get update` may help")
    archive.add_file("usr/bin/busybox", busybox)
    for name in PROGRAMS:
        source = os.path.join(programs, name)
        archive.add_file(f"usr/bin/{name}", stripped(source, build))
        archive.add_with_libraries(source)
    for driver in DRIVERS:
        found = glob.glob(f"/usr/lib/*/dpdk/pmds-*/librte_{driver}.so*")
        if not found:
            raise Missing(f"DPDK has no driver {driver} here")
        for name in found:
            archive.add_with_links(name)
        archive.add_with_libraries(found[0])
    inside = f"usr/lib/modules/{os.path.basename(modules)}"
    for path in modules_needed(modules):
        archive.add_file(f"{inside}/{path}", f"{modules}/{path}", 0o644)
    for name in ("modules.dep", "modules.alias", "modules.symbols", "modules.builtin"):
        archive.add_file(f"{inside}/{name}", f"{modules}/{name}", 0o644)
    return written(archive, build)


def written(archive, build):
    digest = hashlib.sha256()
    for path, (mode, data) in sorted(archive.files.items()):
        digest.update(b"%s %o %d\n" % (path.encode(), mode, len(data)) + data)
    file = os.path.join(build, f"guest-{digest.hexdigest()[:16]}.cpio")
    if not os.path.exists(file):
        for old in glob.glob(os.path.join(build, "guest-*.cpio*")):
            os.remove(old)
        with open(file + ".new", "wb") as out:
            out.write(archive.bytes())
        os.rename(file + ".new", file)
    return file
