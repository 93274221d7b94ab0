"""drivers/step/example/boreside_step.py - ipc/step.h in Python's standard library alone

    step = boreside_step.Step()
    step.ready()
    for image in step:
        step.answer(pixels, numbers)    # pixels: bytes of the same size; None: numbers alone

Python has no futex: this one calls the kernel by ctypes.
"""
import collections
import ctypes
import mmap
import os
import socket
import struct
import sys

MAGIC, VERSION = 0x3130305045545342, 1
READY, ASKED, ANSWERED, IN, OUT = 64, 128, 192, 256, 448
PIXELS, NUMBERS_ALONE = 1, 2
SYS_FUTEX = {"x86_64": 202, "aarch64": 98}[os.uname().machine]
FUTEX_WAIT, FUTEX_WAKE = 0, 1

# struct bs_step_image, and the pixels as bytes, [channel][z][y][x]
Image = collections.namedtuple("Image", """matrix channels type kind bytes fov_mm position_mm
    read_dir phase_dir slice_dir scan image slice contrast phase repetition set average by_ns
    image_matrix image_channels image_type image_bytes pixels""")


class Step:
    def __init__(self):
        path = os.environ.get("BORESIDE_STEP") or sys.exit("BORESIDE_STEP: no service")
        self.life = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.life.connect(path)
        word, files, _, _ = socket.recv_fds(self.life, 8, 1)
        if struct.unpack("<Q", word) != (MAGIC,) or not files:
            sys.exit(f"{path}: no service speaks here")
        self.m = mmap.mmap(files[0], os.fstat(files[0]).st_size)
        os.close(files[0])
        version, self.in_at, self.out_at = struct.unpack_from("<I20xQQ", self.m, 8)
        if version != VERSION:
            sys.exit("another version of the layout")
        self.kernel = ctypes.CDLL(None, use_errno=True)
        self.asked = ctypes.c_uint32.from_buffer(self.m, ASKED)
        self.answered = ctypes.c_uint32.from_buffer(self.m, ANSWERED)

    def ready(self):
        """What takes long is loaded: images may come."""
        struct.pack_into("<I", self.m, READY, 1)

    def __iter__(self):
        """Gives image after image, until the service closes the socket."""
        moment = struct.pack("qq", 0, 100000000)
        while True:
            while self.asked.value == self.answered.value:
                try:
                    if self.life.recv(1, socket.MSG_DONTWAIT) == b"":
                        return
                except BlockingIOError:
                    pass
                self.kernel.syscall(SYS_FUTEX, ctypes.byref(self.asked), FUTEX_WAIT,
                                    ctypes.c_uint32(self.answered.value), moment, None, 0)
            yield self.image()

    def image(self):
        v = struct.unpack_from("<6IQ15f8I4xq6IQ", self.m, IN)
        return Image(v[0:3], *v[3:7], v[7:10], v[10:13], v[13:16], v[16:19], v[19:22], *v[22:31],
                     v[31:34], v[34], v[35], v[37], self.m[self.in_at:self.in_at + v[6]])

    def answer(self, pixels=None, numbers=()):
        if pixels is not None:
            self.m[self.out_at:self.out_at + len(pixels)] = pixels
        struct.pack_into(f"<IIQ{len(numbers)}d", self.m, OUT,
                         NUMBERS_ALONE if pixels is None else PIXELS, len(numbers),
                         0 if pixels is None else len(pixels), *numbers)
        self.wake(0)  # a call by ctypes lets Python's lock go: what was written is seen first
        self.answered.value = self.asked.value
        self.wake(1)

    def wake(self, most):
        self.kernel.syscall(SYS_FUTEX, ctypes.byref(self.answered), FUTEX_WAKE, most, None, None, 0)
