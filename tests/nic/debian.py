"""The guest with systemd: a bare Debian in memory, with a repository of what weir's package depends on, as the guest has no network."""
import hashlib
import os
import re
import shutil
import subprocess

import guest

# As little as a server has that an operator can log in to.
INCLUDED = ["systemd-sysv", "udev", "kmod", "dbus", "iproute2", "procps", "python3", "curl"]
# What the package recommends, or operating.md has installed, and the cards of the guest need. Of the drivers that come along
# with DPDK's package on a server (librte-meta-net) the others would take minutes.
RECOMMENDED = ["dpdk", "libmicrohttpd12", "librte-net-virtio23", "driverctl"]
CHANNEL = """#!/bin/bash
modprobe virtio_pci; modprobe virtio_console
until port=$(ls /dev/vport*p1 2>/dev/null); do sleep 0.1; done
exec 3<>$port
export HOME=/root DEBIAN_FRONTEND=noninteractive
cd
echo ready >&3
while read -r number script <&3; do # as in the small guest
  echo "$script" | base64 -d >/tmp/script
  bash /tmp/script >/tmp/output 2>&1 </dev/null 3>&-
  echo "$number $? $(wc -c </tmp/output)" >&3
  cat /tmp/output >&3
done
"""
UNIT = "[Unit]\nAfter=basic.target\n[Service]\nExecStart=/usr/local/bin/channel\n[Install]\nWantedBy=multi-user.target\n"
FILES = {"usr/local/bin/channel": (CHANNEL, 0o755),
         "etc/systemd/system/channel.service": (UNIT, 0o644),
         "etc/apt/sources.list": ("deb [trusted=yes] file:/srv/repository ./\n", 0o644),
         "etc/apt/apt.conf.d/90answer": ('APT::Get::Assume-Yes "true";\n', 0o644)} # nobody is there to be asked


def shell(*words, **options):
    subprocess.run(words, check=True, **{"stdout": subprocess.DEVNULL, **options})


def newer(deb, folder):
    """The same package under a higher version, in `folder`."""
    tree = os.path.join(folder, "tree")
    shell("dpkg-deb", "-R", deb, tree)
    control = os.path.join(tree, "DEBIAN/control")
    with open(control, encoding="utf-8") as lines:
        text = lines.read()
    with open(control, "w", encoding="utf-8") as out:
        out.write(re.sub(r"(?m)^(Version: \S+)$", r"\1+newer", text))
    shell("dpkg-deb", "--root-owner-group", "-Zgzip", "-z1", "-b", tree, folder)
    shutil.rmtree(tree)


def bare(build):
    """A minimal Debian as an archive, fetched once (some minutes)."""
    tar = os.path.join(build, f"debian-{hashlib.sha256(' '.join(INCLUDED).encode()).hexdigest()[:8]}.tar")
    if not os.path.exists(tar):
        shell("mmdebstrap", "--quiet", "--format=tar", "--variant=minbase", "--include=" + ",".join(INCLUDED), "bookworm", tar + ".new")
        os.rename(tar + ".new", tar)
    return tar


def repository(deb, root, build):
    """Puts into the guest what apt would fetch for the package there. What was fetched before is not fetched again."""
    archives, place = os.path.abspath(os.path.join(build, "archives")), os.path.join(root, "srv/repository")
    os.makedirs(archives + "/partial", exist_ok=True)
    os.makedirs(place)
    apt = ["apt-get", "-o", f"Dir::State::status={os.path.abspath(root)}/var/lib/dpkg/status", "-o", f"Dir::Cache::archives={archives}"]
    wanted = ["--no-install-recommends", os.path.abspath(deb), *RECOMMENDED]
    shell(*apt, "-qy", "install", "--download-only", *wanted)
    for name in os.listdir(archives):
        if name.endswith(".deb"):
            shutil.copy(os.path.join(archives, name), place)
    with open(os.path.join(place, "Packages"), "wb") as out:
        shell("dpkg-scanpackages", "--multiversion", ".", cwd=place, stdout=out, stderr=subprocess.DEVNULL)


def archive(deb, build, kernel_modules):
    """The guest's root as the kernel unpacks it. In build/deb of its home folder lies the package, in /srv/newer the same one with a higher version."""
    root, file = os.path.join(build, "root"), os.path.join(build, "root.cpio")
    shutil.rmtree(root, ignore_errors=True)
    os.makedirs(root)
    shell("tar", "-C", root, "--exclude=./dev/*", "-xf", bare(build))
    modules = os.path.join(root, "lib/modules", os.path.basename(kernel_modules))
    for path in guest.modules_needed(kernel_modules):
        os.makedirs(os.path.dirname(f"{modules}/{path}"), exist_ok=True)
        shutil.copy(f"{kernel_modules}/{path}", f"{modules}/{path}")
    for name in os.listdir(kernel_modules):
        if name.startswith("modules."):
            shutil.copy(f"{kernel_modules}/{name}", f"{modules}/{name}")
    repository(deb, root, build)
    home = os.path.join(root, "root")
    for folder in (f"{home}/build/deb", f"{root}/srv/newer"):
        os.makedirs(folder)
    shutil.copy(deb, f"{home}/build/deb")
    newer(deb, f"{root}/srv/newer")
    for path, (text, mode) in FILES.items():
        with open(f"{root}/{path}", "w", encoding="utf-8") as out:
            out.write(text)
        os.chmod(f"{root}/{path}", mode)
    shell("systemctl", "--root", os.path.abspath(root), "enable", "channel.service", stderr=subprocess.DEVNULL)
    os.symlink("sbin/init", f"{root}/init")
    with open(file, "wb") as out:
        names = subprocess.Popen(["find", ".", "-print0"], cwd=root, stdout=subprocess.PIPE)
        shell("cpio", "--quiet", "--null", "-o", "-H", "newc", cwd=root, stdin=names.stdout, stdout=out)
    shutil.rmtree(root)
    return file
