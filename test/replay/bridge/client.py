"""test/replay/bridge/client.py PORT CONFIG RECORDING.h5 REFERENCE.cfl...: streams a recording
with PyPI's ismrmrd as it is; each image that comes back is that of its reference. Exit status 0:
all are; 77: this Python has no ismrmrd with ProtocolSerializer."""

import socket
import sys

try:
    import ismrmrd
    import numpy as np

    ismrmrd.ProtocolSerializer
    ismrmrd.ConfigFile
except (ImportError, AttributeError) as missing:
    print(missing)
    sys.exit(77)


def reference(name):
    """Of a BART file: [z][y][x], the real part."""
    with open(name[:-4] + ".hdr") as header:
        sizes = [int(n) for n in header.read().split("\n")[1].split()]
    values = np.fromfile(name, dtype=np.complex64)
    return values.real.reshape([n for n in sizes if n > 1][::-1])


def main(port, config, recording, names):
    wanted = [reference(name) for name in names]
    line = socket.create_connection(("127.0.0.1", port), timeout=60)
    stream = line.makefile("rwb")
    data = ismrmrd.Dataset(recording, "dataset", create_if_needed=False)
    send = ismrmrd.ProtocolSerializer(stream)
    send.serialize(ismrmrd.ConfigFile(config))
    send.serialize(ismrmrd.xsd.CreateFromDocument(data.read_xml_header()))
    for i in range(data.number_of_acquisitions()):
        send.serialize(data.read_acquisition(i))
    send.close()
    images = 0
    for item in ismrmrd.ProtocolDeserializer(stream).deserialize():
        if isinstance(item, str):
            print(item)
            continue
        scale = float(item.meta["boreside_scale"])
        worst = np.abs(np.squeeze(item.data) - scale * wanted[images]).max()
        window = float(item.meta["WindowWidth"])
        print("image", images + 1, item.data.dtype, item.data.shape, "off by", worst, "of", window)
        if item.data.dtype != np.uint16 and item.data.dtype != np.int16:
            return 1
        if worst > 0.51 or not 0 < window <= 4095 or len(item.meta["ImageRowDir"]) != 3:
            return 1
        images += 1
    return 0 if images == len(wanted) and stream.read() == b"" else 1


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4:]))
