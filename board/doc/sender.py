#!/usr/bin/env python3
"""sender.py URL PROTOCOL: a scan of 64 x 64 in two channels, by the rules of ipc/WIRE.md alone

URL is endpoints.kspace of the site file. Python's own library is enough. class Sender has the rules
and is the part to take. What it sends here is two rectangles: a large dim one, and a small bright
one up and to the left of the middle. Ends with 0 if the outcome is 0. SENDER.md explains it.
"""
import cmath
import collections
import random
import struct
import sys
import time

from wire import (ACCEPT, ACK, ACQ, ANSWER, CLOSE, HEARTBEAT, OPEN, OUTCOME, PAIR, REFUSE,
                  Connection, answer_of, seal, text_of, unseal)

N, CHANNELS = 64, (1, 0.5j)  # lines and samples; what each coil sees the object times
ERR_STATE = -6
QUIET = 0.2  # rule 9: HEARTBEAT after so many seconds without another message
LONELY = 30.0  # seconds without a word from the service after which this sender gives up (rule 9)


class Sender:
    """One scan. open, then put for each readout, then finish; each calls step, which hears."""

    def __init__(self, url):
        self.url, self.line = url, None
        self.session = random.randrange(1, 1 << 64)  # rule 1
        self.kept = collections.deque()  # rule 6: (seq, message) that may have to be sent again
        self.seq = self.acqs = self.window = self.durable = self.held = 0
        self.cursor = 0  # of kept: how many have been sent on this connection
        self.accepted = self.outcome = None
        self.patience, self.progress = 1.0, time.monotonic()
        self.heard = self.said = time.monotonic()

    def connect(self):
        """Rule 6: on each new connection all that is kept is sent again, the oldest first."""
        try:
            self.line = Connection(self.url, PAIR)
            self.cursor, self.said = 0, 0.0
        except OSError:
            time.sleep(0.1)

    def keep(self, kind, payload):
        """Rule 2: each message has the next number, and keeps it when it is sent again."""
        message = seal(kind, self.session, self.seq, time.monotonic_ns(), payload)
        self.kept.append((self.seq, message))
        self.seq += 1

    def open(self, protocol, header):
        """Rule 3: nothing but HEARTBEAT follows OPEN until ACCEPT has come."""
        self.keep(OPEN, protocol.encode().ljust(64, b'\0') + header.encode())
        while self.accepted is None and self.outcome is None:
            self.step(QUIET)

    def put(self, payload):
        """Rule 4: at most a window of messages may be sent that are not durable."""
        while self.seq > self.durable + self.window and self.outcome is None:
            self.step(QUIET)
        self.keep(ACQ, payload)
        self.acqs += 1
        self.step(0)

    def finish(self):
        """Rule 10: CLOSE says how many readouts were sent; the end is OUTCOME. Returns its code."""
        while self.seq > self.durable + self.window and self.outcome is None:
            self.step(QUIET)
        self.keep(CLOSE, struct.pack('<Q', self.acqs))
        while self.outcome is None:
            self.step(QUIET)
        return self.outcome

    def step(self, seconds):
        """Sends what waits, then hears for so long. Everything that may break is in here."""
        if time.monotonic() - self.heard > LONELY:
            raise SystemExit(f'sender: nothing was heard at {self.url} for {LONELY:g} s')
        if self.line is None:
            return self.connect()
        try:
            self.send_waiting()
            message = self.line.receive(seconds)
        except OSError:
            self.line.close()
            self.line = None
            return None
        if message is not None:
            self.hear(message)
        self.watch()
        return None

    def send_waiting(self):
        while self.cursor < len(self.kept):
            self.line.send(self.kept[self.cursor][1])
            self.cursor += 1
            self.said = time.monotonic()
        if time.monotonic() - self.said >= QUIET:
            self.line.send(seal(HEARTBEAT, self.session, 0, time.monotonic_ns()))
            self.said = time.monotonic()

    def watch(self):
        """Rule 6: without progress for 1, 2, 4, 4, ... s what is kept is sent again."""
        now = time.monotonic()
        if self.accepted is not None and self.durable == self.seq - 1:
            self.moved()  # nothing is owed but OUTCOME, which may take its time
        elif now - self.progress >= self.patience:
            self.cursor, self.progress = 0, now
            self.patience = min(2 * self.patience, 4.0)

    def moved(self):
        self.patience, self.progress = 1.0, time.monotonic()

    def hear(self, message):
        said = unseal(message)
        if said is None:
            return
        self.heard = time.monotonic()
        kind, session, seq, payload = said
        if session != self.session:
            return  # of what could not be read, or of a scan before
        if kind == HEARTBEAT and self.accepted is None:
            self.moved()  # the service is still preparing
        elif kind == ACCEPT and self.accepted is None:
            self.window = struct.unpack_from('<I', payload, 4)[0]
            self.accepted = text_of(payload, 8)
            self.forget(0)
        elif kind == REFUSE:
            self.refused(struct.unpack_from('<i', payload)[0], seq, text_of(payload, 8))
        elif kind == ACK and self.accepted is not None:
            held, durable = struct.unpack_from('<QQ', payload)
            if held > self.held or durable > self.durable:
                self.moved()
            self.held, self.durable = held, max(durable, self.durable)
            self.forget(self.durable)
        elif kind == ANSWER:
            self.answered(answer_of(payload))
        elif kind == OUTCOME:
            self.outcome, undelivered, taken, images = struct.unpack_from('<iIQQ', payload)
            print(f'outcome {self.outcome}: {taken} readouts taken,',
                  f'{images} image{"s" * (images != 1)},',
                  f'{undelivered} undelivered. {text_of(payload, 56)}')

    def answered(self, answer):
        """Numbers, where the header asks for them (boreside_answers): a scanner reacts here."""

    def forget(self, upto):
        """Rule 6: what is durable need not be kept; CLOSE is kept until OUTCOME."""
        closed = self.kept and self.kept[-1][1][6] == CLOSE
        while len(self.kept) > (1 if closed else 0) and self.kept[0][0] <= upto:
            self.kept.popleft()
            self.cursor = max(self.cursor - 1, 0)

    def refused(self, code, seq, why):
        """Rule 3: before ACCEPT it ends the scan; afterwards BS_ERR_STATE alone does."""
        print(f'refused, code {code}, message {seq}: {why}', file=sys.stderr)
        if self.accepted is None or code == ERR_STATE:
            self.outcome = code


def header():
    space = f'''<matrixSize><x>{N}</x><y>{N}</y><z>1</z></matrixSize>
      <fieldOfView_mm><x>256</x><y>256</y><z>5</z></fieldOfView_mm>'''
    return f'''<?xml version="1.0"?>
<ismrmrdHeader xmlns="http://www.ismrm.org/ISMRMRD">
  <acquisitionSystemInformation><receiverChannels>{len(CHANNELS)}</receiverChannels>
  </acquisitionSystemInformation>
  <experimentalConditions><H1resonanceFrequency_Hz>123200000</H1resonanceFrequency_Hz>
  </experimentalConditions>
  <encoding>
    <encodedSpace>{space}</encodedSpace>
    <reconSpace>{space}</reconSpace>
    <encodingLimits>
      <kspace_encoding_step_1><minimum>0</minimum><maximum>{N - 1}</maximum>
        <center>{N // 2}</center></kspace_encoding_step_1>
    </encodingLimits>
    <trajectory>cartesian</trajectory>
  </encoding>
</ismrmrdHeader>'''


def edge(k, first, last):
    """The sum over voxels first to last - 1 of exp(-2 pi i k (x - N / 2)), k in cycles/voxel."""
    return sum(cmath.exp(-2j * cmath.pi * k * (x - N // 2)) for x in range(first, last))


def readout(line):
    """The payload of ACQ: MRD's header of 340 bytes, then [channel][sample] complex float."""
    head = bytearray(340)
    put = lambda at, form, *values: struct.pack_into('<' + form, head, at, *values)
    put(0, 'H', 1)  # version
    put(14, 'I', line + 1)  # scan_counter
    put(34, 'HHH', N, len(CHANNELS), len(CHANNELS))  # samples, channels: there are, in use
    put(172, 'H', N // 2)  # center_sample
    put(178, 'f', 5.0)  # sample_time_us
    put(194, 'fff', 1, 0, 0)  # read_dir
    put(206, 'fff', 0, 1, 0)  # phase_dir
    put(218, 'fff', 0, 0, 1)  # slice_dir
    put(242, 'H', line)  # kspace_encode_step_1
    ky, data = (line - N // 2) / N, []
    for channel in CHANNELS:
        for sample in range(N):
            kx = (sample - N // 2) / N
            value = channel * (edge(kx, 12, 52) * edge(ky, 8, 56) +
                               2 * edge(kx, 18, 28) * edge(ky, 14, 24)) / N
            data += [value.real, value.imag]
    return bytes(head) + struct.pack(f'<{len(data)}f', *data)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    sender = Sender(sys.argv[1])
    sender.open(sys.argv[2], header())
    if sender.accepted is None:
        return 1
    print('accepted:', sender.accepted)
    for line in range(N):
        sender.put(readout(line))
    return 1 if sender.finish() else 0


if __name__ == '__main__':
    sys.exit(main())
