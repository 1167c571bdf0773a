#!/usr/bin/env python3
"""Holds one thread of a process, as if something had taken its CPU, until this program ends or the process does.

usage: hold_thread.py PID NAME      the first thread whose name has NAME in it; says so when it is held
"""
import ctypes
import os
import sys

PTRACE_SEIZE, PTRACE_INTERRUPT = 0x4206, 0x4207
WALL = 0x40000000 # any thread may be waited for


def named(pid, name):
    for thread in sorted(os.listdir(f"/proc/{pid}/task"), key=int):
        with open(f"/proc/{pid}/task/{thread}/comm", encoding="utf-8") as comm:
            if name in comm.read():
                return int(thread)
    sys.exit(f"process {pid} has no thread {name}")


def ended(status):
    return os.WIFEXITED(status) or os.WIFSIGNALED(status)


def main():
    thread = named(sys.argv[1], sys.argv[2])
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    for request in (PTRACE_SEIZE, PTRACE_INTERRUPT):
        if libc.ptrace(request, thread, None, None) != 0:
            sys.exit(f"thread {thread} cannot be held: {os.strerror(ctypes.get_errno())}")
    os.waitpid(thread, WALL)
    print(f"held {thread}", flush=True)
    while not ended(os.waitpid(thread, WALL)[1]): # a signal to all threads: who waits for the process waits for this one
        pass


main()
