"""The kinds of cards that QEMU has and DPDK drives."""
from dataclasses import dataclass, field

import checks


@dataclass
class Kind:
    name: str
    device: str
    queues: int = 1
    cpus: int = 2
    lcores: str | None = None  # of the workers; None: one that shares all CPUs
    bytes: int = 4 << 20       # of a transfer
    pings: int = 300
    iommu: bool = True
    more: list = field(default_factory=list)  # checks beside those of all kinds
    only: list | None = None                  # or in their place

    def checks(self):
        return checks.COMMON + self.more if self.only is None else self.only


VIRTIO = "virtio-net-pci,disable-legacy=on,iommu_platform=on"
KINDS = [
    Kind("virtio", VIRTIO, more=[checks.too_many_workers, checks.locked_memory]),
    Kind("virtio_mq", VIRTIO + ",mq=on,vectors=6", queues=2, cpus=3, lcores="1,2", more=[checks.both_queues]),
    Kind("vmxnet3", "vmxnet3"),
    Kind("e1000e", "e1000e", cpus=3, lcores="1,2"),
    Kind("e1000", "e1000", only=[checks.starts, checks.ping, checks.counted, checks.content, checks.too_many_workers]),
    Kind("no_iommu", "virtio-net-pci", iommu=False, only=[checks.no_iommu]),
]
