#!/usr/bin/env python3
"""archive.py URL NAME FOLDER [COUNT]: keeps each image exactly once, by ipc/WIRE.md alone

URL is endpoints.images of the site file, NAME what the service is to know this archive by. Each
image is FOLDER/NUMBER.image, the message as it came, and NUMBER.pgm to look at. Ends after COUNT
images; without, never. Kill it whenever you like: started again it goes on. SENDER.md explains it.
"""
import os
import random
import struct
import sys
import time

from wire import IMAGE, NEXT, NONE, REFUSE, REQ, STORED, Connection, seal, text_of, unseal

TYPES = {1: 'H', 2: 'h', 3: 'I', 4: 'i', 5: 'f', 6: 'd', 7: 'ff', 8: 'dd'}  # MRD's data_type


def keep(path, data):
    """On the disk, whole, under its name; or not there."""
    with open(path + '.part', 'wb') as f:
        f.write(data)
        f.flush()
        os.fsync(f.fileno())
    os.rename(path + '.part', path)
    folder = os.open(os.path.dirname(path), os.O_RDONLY)
    os.fsync(folder)
    os.close(folder)


def pixels_of(payload):
    """(columns, rows, attributes in XML, magnitudes) of an IMAGE's payload."""
    data_type = struct.unpack_from('<H', payload, 2)[0]
    x, y, z = struct.unpack_from('<3H', payload, 16)
    channels = struct.unpack_from('<H', payload, 34)[0]
    length = struct.unpack_from('<Q', payload, 198)[0]
    count = x * y * z * channels
    form = TYPES[data_type]
    values = struct.unpack_from(f'<{count * len(form)}{form[0]}', payload, 206 + length)
    if len(form) == 2:
        values = [abs(complex(*pair)) for pair in zip(values[::2], values[1::2])]
    return x, y * z * channels, payload[206:206 + length].decode(), values


def picture(payload):
    """A .pgm: 8 bits a pixel, the largest one white."""
    columns, rows, _, values = pixels_of(payload)
    most = max(max(values), 1e-30)
    grey = bytes(max(0, min(255, round(255 * v / most))) for v in values)
    return b'P5 %d %d 255\n' % (columns, rows) + grey


class Archive:
    def __init__(self, url, name, folder):
        self.url, self.name, self.folder = url, name, os.path.abspath(folder)
        self.line = None
        os.makedirs(self.folder, exist_ok=True)
        self.cursor = os.path.join(self.folder, 'cursor')
        self.last = 0  # number of the last image that is safe here
        if os.path.exists(self.cursor):
            with open(self.cursor, encoding='ascii') as f:
                self.last = int(f.read())

    def ask(self):
        """NEXT, and its answer; None where there was none within a second, and it is asked anew."""
        request = struct.pack('>I', random.getrandbits(31) | 1 << 31)  # REQ's own number
        try:
            if self.line is None:
                self.line = Connection(self.url, REQ)
            self.line.send(request + seal(NEXT, 0, self.last, time.monotonic_ns(),
                                          self.name.encode().ljust(64, b'\0')))
            until = time.monotonic() + 1
            while time.monotonic() < until:
                reply = self.line.receive(until - time.monotonic())
                if reply is not None and reply[:4] == request:
                    return unseal(reply[4:])
        except OSError:
            if self.line is not None:
                self.line.close()
            self.line = None
            time.sleep(0.1)
        return None

    def take(self):
        """True: one image more is safe here."""
        said = self.ask()
        if said is None:
            return False
        kind, _, seq, payload = said
        if kind == NONE:
            time.sleep(0.005)
        elif kind == REFUSE:
            print('refused:', text_of(payload, 8), file=sys.stderr)
            time.sleep(1)
        elif kind == STORED:
            return self.store(seq, payload)
        return False

    def store(self, number, payload):
        """The image first, then its number, then the next question: so each comes once."""
        before = struct.unpack_from('<Q', payload)[0]
        image = unseal(payload[8:])
        if image is None or image[0] != IMAGE:
            return False
        if before > self.last and self.last > 0:
            print(f'images between {self.last} and {before} are gone', file=sys.stderr)
        path = os.path.join(self.folder, str(number))
        keep(path + '.image', payload[8:])
        keep(path + '.pgm', picture(image[3]))
        keep(self.cursor, b'%d' % number)
        self.last = number
        print(f'{path}.pgm: image {image[2]} of scan {image[1]:016x}', flush=True)
        return True


def main():
    if len(sys.argv) not in (4, 5):
        sys.exit(__doc__)
    archive, taken = Archive(*sys.argv[1:4]), 0
    while len(sys.argv) == 4 or taken < int(sys.argv[4]):
        taken += archive.take()


if __name__ == '__main__':
    main()
