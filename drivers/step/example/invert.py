#!/usr/bin/python3
"""drivers/step/example/invert.py - a step in Python's standard library alone: each image inverted

    steps = ( { name = "invert"; on = "PROTOCOL"; budget_ms = 50.0;
                command = "/usr/bin/python3 /usr/local/bin/invert.py"; } );

ipc/step.h is the contract. Python has no futex: this one calls the kernel by ctypes.
"""
import array
import ctypes
import mmap
import os
import socket
import struct
import sys

MAGIC, VERSION = 0x3130305045545342, 1
READY, ASKED, ANSWERED, IN, OUT = 64, 128, 192, 256, 448
PIXELS = 1
SYS_FUTEX = {"x86_64": 202, "aarch64": 98}[os.uname().machine]
FUTEX_WAIT, FUTEX_WAKE = 0, 1


class Step:
    def __init__(self, path):
        self.life = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.life.connect(path)
        word, files, _, _ = socket.recv_fds(self.life, 8, 1)
        if struct.unpack("<Q", word) != (MAGIC,) or not files:
            sys.exit("invert.py: no service speaks here")
        self.m = mmap.mmap(files[0], os.fstat(files[0]).st_size)
        os.close(files[0])
        version, self.in_at, self.out_at = struct.unpack_from("<I20xQQ", self.m, 8)
        if version != VERSION:
            sys.exit("invert.py: another version of the layout")
        self.kernel = ctypes.CDLL(None, use_errno=True)
        self.asked = ctypes.c_uint32.from_buffer(self.m, ASKED)
        self.answered = ctypes.c_uint32.from_buffer(self.m, ANSWERED)

    def ready(self):
        struct.pack_into("<I", self.m, READY, 1)

    def wait(self):
        """True: an image has come. False: the service has closed the socket."""
        moment = struct.pack("qq", 0, 100000000)
        while self.asked.value == self.answered.value:
            try:
                if self.life.recv(1, socket.MSG_DONTWAIT) == b"":
                    return False
            except BlockingIOError:
                pass
            self.kernel.syscall(SYS_FUTEX, ctypes.byref(self.asked), FUTEX_WAIT,
                                ctypes.c_uint32(self.answered.value), moment, None, 0)
        return True

    def image(self):
        """x, y, z, channels, type, kind, and the pixels as bytes"""
        *head, size = struct.unpack_from("<6IQ", self.m, IN)
        return head, self.m[self.in_at:self.in_at + size]

    def answer(self, pixels, numbers):
        self.m[self.out_at:self.out_at + len(pixels)] = pixels
        struct.pack_into(f"<IIQ{len(numbers)}d", self.m, OUT, PIXELS, len(numbers), len(pixels),
                         *numbers)
        self.wake(0)  # a call by ctypes lets Python's lock go: what was written is seen first
        self.answered.value = self.asked.value
        self.wake(1)

    def wake(self, most):
        self.kernel.syscall(SYS_FUTEX, ctypes.byref(self.answered), FUTEX_WAKE, most, None, None, 0)


def main():
    step = Step(os.environ["BORESIDE_STEP"])
    step.ready()
    while step.wait():
        _, raw = step.image()
        pixels = array.array("f", raw)
        most = max(max(pixels), 0.0)
        inverted = array.array("f", [most - v for v in pixels])
        step.answer(inverted.tobytes(), [sum(pixels) / len(pixels), most])


main()
