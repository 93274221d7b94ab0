"""wire.py - what sender.py and archive.py share: connection, envelope, checksum (ipc/WIRE.md)

A nanomsg peer without a library: a stream socket, eight bytes of greeting, and each message behind
its length. Public domain, as far as the law lets it be: take it.
"""
import os
import socket
import struct

OPEN, ACQ, CLOSE, HEARTBEAT = 1, 2, 4, 5
ACCEPT, REFUSE, ACK, OUTCOME, ANSWER = 16, 17, 18, 19, 20
IMAGE, NEXT, STORED, NONE = 32, 33, 34, 35
PAIR, REQ = 16, 48  # numbers of the scalability protocols

ENVELOPE = struct.Struct('<IHHQQQqI20x')  # magic version kind length session seq time_ns crc
MAGIC, VERSION = 0x31445342, 2
TEXT = 384  # bytes of the reason in ACCEPT, REFUSE and OUTCOME

TABLE = []
for n in range(256):
    for _ in range(8):
        n = n >> 1 ^ (0x82F63B78 if n & 1 else 0)
    TABLE.append(n)


def crc32c(*parts):
    """CRC-32C (Castagnoli) of bytes. A library's is much faster; zlib's is another CRC."""
    crc = 0xFFFFFFFF
    for part in parts:
        for byte in part:
            crc = crc >> 8 ^ TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


assert crc32c(b'123456789') == 0xE3069283


def seal(kind, session, seq, time_ns, payload=b''):
    """A whole message: the envelope, with the checksum over itself (crc 0) and the payload."""
    head = [MAGIC, VERSION, kind, len(payload), session, seq, time_ns, 0]
    head[7] = crc32c(ENVELOPE.pack(*head), payload)
    return ENVELOPE.pack(*head) + payload


def unseal(message):
    """(kind, session, seq, payload), or None where it is no whole message of this version."""
    if len(message) < ENVELOPE.size:
        return None
    magic, version, kind, length, session, seq, time_ns, crc = ENVELOPE.unpack_from(message)
    bare = message[:40] + bytes(4) + message[44:64]
    payload = message[64:]
    if (magic, version, length) != (MAGIC, VERSION, len(payload)) or crc != crc32c(bare, payload):
        return None
    return kind, session, seq, payload


WHATS = ('frequency', 'phase', 'shift', 'motion', 'gate', 'step')


def answer_of(payload):
    """ANSWER: (what, scan counter, image, deviation, numbers), or None where it is none we know."""
    if len(payload) < 64:
        return None
    what, n, _, counter, image = struct.unpack_from('<IIQII', payload)
    if not 1 <= what <= len(WHATS) or n > 64 or len(payload) != 64 + 8 * n:
        return None
    deviation = struct.unpack_from('<d', payload, 48)[0]
    return WHATS[what - 1], counter, image, deviation, struct.unpack_from(f'<{n}d', payload, 64)


def text_of(payload, at):
    """The reason in words, which ends in a zero."""
    return payload[at:at + TEXT].split(b'\0')[0].decode('utf-8', 'replace')


class Connection:
    """ipc://PATH or tcp://HOST:PORT. Raises OSError where it is refused or breaks."""

    def __init__(self, url, protocol):
        kind, where = url.split('://', 1)
        self.lead = b'\1' if kind == 'ipc' else b''
        if kind == 'ipc':
            self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            address = os.path.abspath(where)
        else:
            self.socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            host, port = where.rsplit(':', 1)
            address = host, int(port)
        self.came = b''
        self.socket.settimeout(5)
        self.socket.connect(address)
        self.socket.sendall(b'\0SP\0' + struct.pack('>HH', protocol, 0))
        while len(self.came) < 8:
            self.read()
        self.came = self.came[8:]

    def read(self):
        piece = self.socket.recv(1 << 20)
        if not piece:
            raise ConnectionError('the service has closed the connection')
        self.came += piece

    def send(self, message):
        """Waits while the service does not read; after 5 s that is an OSError."""
        self.socket.settimeout(5)
        self.socket.sendall(self.lead + struct.pack('>Q', len(message)) + message)

    def receive(self, seconds):
        """The next message, or None after so many seconds without a whole one."""
        skip = len(self.lead) + 8
        while True:
            if len(self.came) >= skip:
                end = skip + struct.unpack_from('>Q', self.came, skip - 8)[0]
                if len(self.came) >= end:
                    message, self.came = self.came[skip:end], self.came[end:]
                    return message
            self.socket.settimeout(max(seconds, 1e-4))
            try:
                self.read()
            except socket.timeout:
                return None

    def close(self):
        self.socket.close()
