"""test/support/step/door.py - the service's side of ipc/step.h, for a test that gives a step images

    door = Door(["/path/of/step", "argument"], most_bytes)
    numbers, pixels = door.give(floats [z][y][x], fov_mm=(1, 1, 1), scan=1, image=1, slice=0)
    door.close()
"""
import array
import ctypes
import mmap
import os
import socket
import struct
import subprocess
import tempfile
import time


class Door:
    def __init__(self, command, most):
        self.folder = tempfile.TemporaryDirectory()
        path = self.folder.name + "/step"
        listening = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        listening.bind(path)
        listening.listen()
        self.step = subprocess.Popen(command, env={**os.environ, "BORESIDE_STEP": path})
        self.peer, _ = listening.accept()
        listening.close()
        self.out_at = 4096 + most
        fd = os.memfd_create("step")
        os.ftruncate(fd, 4096 + 2 * most)
        self.m = mmap.mmap(fd, 4096 + 2 * most)
        struct.pack_into("<QI4xQQQQ", self.m, 0, 0x3130305045545342, 1, len(self.m), most, 4096,
                         self.out_at)
        socket.send_fds(self.peer, [struct.pack("<Q", 0x3130305045545342)], [fd])
        os.close(fd)
        self.asked = 0
        self.until(64, 1)

    def until(self, at, value):
        while struct.unpack_from("<I", self.m, at) != (value,):
            if self.step.poll() is not None:
                raise RuntimeError(f"the step ended: {self.step.returncode}")
            time.sleep(0.0005)

    def give(self, pixels, fov_mm, scan=1, image=1, slice=0):
        z, y, x = pixels.shape
        raw = pixels.astype("<f4").tobytes()
        self.m[4096:4096 + len(raw)] = raw
        struct.pack_into("<6IQ15f8I4xq6IQ", self.m, 256, x, y, z, 1, 5, 1, len(raw), *fov_mm,
                         *[0] * 3, 1, 0, 0, 0, 1, 0, 0, 0, 1, scan, image, slice, *[0] * 5,
                         (1 << 63) - 1, x, y, z, 1, 5, 0, len(raw))
        self.asked += 1
        struct.pack_into("<I", self.m, 128, self.asked)
        at = ctypes.c_uint32.from_buffer(self.m, 128)
        ctypes.CDLL(None).syscall(202, ctypes.byref(at), 1, 1, None, None, 0)
        self.until(192, self.asked)
        what, n, size = struct.unpack_from("<IIQ", self.m, 448)
        floats = array.array("f", self.m[self.out_at:self.out_at + size])
        return struct.unpack_from(f"<{n}d", self.m, 464), floats if what == 1 else None

    def close(self):
        self.peer.close()
        self.step.wait(10)
        self.folder.cleanup()
