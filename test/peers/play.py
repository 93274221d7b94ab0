#!/usr/bin/env python3
"""play.py send URL PROTOCOL HEADER SESSION FRAMES LINES SAMPLES CHANNELS TR_US
play.py archive URL NAME BOOK

The sender and the archive of board/doc, which know ipc/WIRE.md alone, for the campaign of kills.
send plays the scan of play.h, prints the same line, and ends with 0 once its end has come; HEADER
is a file. archive writes a line of each image to the end of BOOK, goes on behind the last line, and
ends with its parent: number, scan, repetition, quality, CRC-32C of the pixels.
"""
import os
import struct
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../board/doc'))
from archive import Archive  # noqa: E402
from sender import Sender  # noqa: E402
from wire import ACK, IMAGE, OUTCOME, crc32c, unseal  # noqa: E402


class Player(Sender):
    """Sender, with the books that are judged."""

    def __init__(self, url, session):
        super().__init__(url)
        self.session = session
        self.sent = self.unprotected = self.undelivered = self.taken = 0
        self.most_held = self.held_back = self.durable_back = self.wrong = 0

    def send_waiting(self):
        super().send_waiting()
        self.sent = self.seq - 1

    def hear(self, message):
        said = unseal(message)
        if said is not None and said[1] == self.session:
            if said[0] == ACK and self.accepted is not None:
                self.note_ack(*struct.unpack_from('<QQQ', said[3]))
            elif said[0] == OUTCOME:
                self.undelivered, self.taken = struct.unpack_from('<IQ', said[3], 4)
        super().hear(message)

    def note_ack(self, held, durable, unprotected):
        self.wrong += durable > held or held > self.sent
        self.held_back += held < self.most_held
        self.durable_back += durable < self.durable
        self.most_held, self.unprotected = max(held, self.most_held), unprotected


def readout(line, repetition, samples, channels):
    """MRD's header of 340 bytes, and samples of which both parts are 0.5."""
    head = bytearray(340)
    put = lambda at, form, *values: struct.pack_into('<' + form, head, at, *values)
    put(0, 'H', 1)  # version
    put(14, 'I', line + 1)  # scan_counter
    put(34, 'HHH', samples, channels, channels)
    put(178, 'f', 5.0)  # sample_time_us
    put(242, 'H', line)
    put(254, 'H', repetition)
    return bytes(head) + struct.pack('<f', 0.5) * (2 * samples * channels)


def send(url, protocol, header, *numbers):
    session, frames, lines, samples, channels, tr_us = (int(n) for n in numbers)
    sender = Player(url, session)
    with open(header, encoding='utf-8') as f:
        sender.open(protocol, f.read())
    due = time.monotonic()
    for n in range(frames * lines if sender.accepted is not None else 0):
        while (left := due - time.monotonic()) > 0:
            sender.step(left)
        sender.put(readout(n % lines, n // lines, samples, channels))
        due += tr_us * 1e-6
    if sender.accepted is not None:
        sender.finish()
    print(f'peer: code {sender.outcome} acquisitions {sender.taken}',
          f'undelivered {sender.undelivered} held {sender.held} durable {sender.durable}',
          f'unprotected {sender.unprotected} back {sender.held_back} {sender.durable_back}',
          f'wrong {sender.wrong}')


class Book(Archive):
    """Archive, with a book in place of its folder."""

    def __init__(self, url, name, book):
        self.url, self.name, self.line, self.last = url, name, None, 0
        self.book = os.open(book, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        with open(book, encoding='ascii') as f:
            for line in f:
                self.last = int(line.split()[0])

    def store(self, number, payload):
        image = unseal(payload[8:])
        if image is None or image[0] != IMAGE:
            return False
        _, session, _, body = image
        attributes = struct.unpack_from('<Q', body, 198)[0]
        os.write(self.book, b'%d %d %d %d %08x\n' % (
            number, session, struct.unpack_from('<H', body, 104)[0],
            struct.unpack_from('<i', body, 158)[0], crc32c(body[206 + attributes:])))
        self.last = number
        return True


def main():
    if len(sys.argv) == 11 and sys.argv[1] == 'send':
        return send(*sys.argv[2:])
    if len(sys.argv) != 5 or sys.argv[1] != 'archive':
        sys.exit(__doc__)
    archive, parent = Book(*sys.argv[2:]), os.getppid()
    while os.getppid() == parent:
        archive.take()
    return 0


if __name__ == '__main__':
    sys.exit(main())
