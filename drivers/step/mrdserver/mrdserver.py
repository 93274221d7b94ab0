#!/usr/bin/env python3
"""drivers/step/mrdserver/mrdserver.py - an image module of python-ismrmrd-server as a step

    mrdserver.py FOLDER MODULE [CONFIG.json]

    steps = ( { name = "filter"; on = "PROTOCOL"; budget_ms = 200.0;
                command = "/opt/mrd/bin/python3 /opt/mrd/mrdserver.py /opt/mrd filter"; } );

FOLDER has MODULE.py, mrdhelper.py and constants.py as they are; boreside_step.py lies beside this
file. Each image is a session of its own for the module's process(connection, config, header): it
gets the one image, and what it sends last is the answer, as floats of the image's own size. What
the module logs as an error ends this process: the image leaves without it, and says `died`.
The module needs ismrmrd, numpy, matplotlib, and scipy for filter, as upstream says. Its debug files
go to a folder in memory, which this process empties. Of the header it sees the geometry alone.
"""
import importlib
import json
import os
import shutil
import signal
import sys
import tempfile

folder, name = sys.argv[1:3]
sys.path.insert(0, folder)
os.environ.setdefault("MPLBACKEND", "Agg")
os.environ.setdefault("MPLCONFIGDIR", tempfile.gettempdir())

import ismrmrd
import numpy as np

import boreside_step


class Connection:
    """What the module sees of the server: one image, then the end."""

    def __init__(self, image):
        self.left = [image]
        self.sent = []

    def __iter__(self):
        return self

    def __next__(self):
        if not self.left:
            raise StopIteration
        return self.left.pop()

    def send_image(self, images):
        self.sent += images if isinstance(images, list) else [images]

    def send_logging(self, level, contents):
        print(f"mrdserver.py: {name}: {level}: {contents}", file=sys.stderr)
        if level in ("ERROR", "CRITICAL"):
            sys.exit(1)

    def send_text(self, contents):
        print(f"mrdserver.py: {name}: {contents}", file=sys.stderr)

    def send_close(self):
        pass


def header_of(image):
    """The scan's header, as far as a step knows it."""
    axes = [f"<{a}>{{}}</{a}>" for a in "xyz"]
    matrix = "".join(axes).format(*image.matrix)
    fov = "".join(axes).format(*image.fov_mm)
    space = f"<matrixSize>{matrix}</matrixSize><fieldOfView_mm>{fov}</fieldOfView_mm>"
    return ismrmrd.xsd.CreateFromDocument(
        '<?xml version="1.0"?><ismrmrdHeader xmlns="http://www.ismrm.org/ISMRMRD">'
        "<experimentalConditions><H1resonanceFrequency_Hz>0</H1resonanceFrequency_Hz>"
        f"</experimentalConditions><encoding><encodedSpace>{space}</encodedSpace>"
        f"<reconSpace>{space}</reconSpace><encodingLimits/><trajectory>other</trajectory>"
        "</encoding></ismrmrdHeader>")


def image_of(image):
    """The image as the module knows images: [channel][z][y][x]."""
    kind = np.complex64 if image.type == 7 else np.float32
    shape = (image.channels, *reversed(image.matrix))
    pixels = np.frombuffer(image.pixels, kind).reshape(shape)
    out = ismrmrd.Image.from_array(pixels, transpose=False)
    head = out.getHead()
    head.image_type = image.kind
    head.image_index = image.image & 0xffff
    head.image_series_index = image.scan & 0xffff
    head.field_of_view, head.position = image.fov_mm, image.position_mm
    head.read_dir, head.phase_dir, head.slice_dir = image.read_dir, image.phase_dir, image.slice_dir
    for counter in ("slice", "contrast", "phase", "repetition", "set", "average"):
        setattr(head, counter, getattr(image, counter))
    out.setHead(head)
    out.attribute_string = ismrmrd.Meta().serialize()
    return out


def run(module, config, image):
    """Returns the bytes of what the module sent last."""
    one = Connection(image_of(image))
    module.process(one, config, header_of(image))
    kind = np.complex64 if image.type == 7 else np.float32
    made = one.sent[-1].data if one.sent else None
    if made is None or made.shape != (image.channels, *reversed(image.matrix)):
        sys.exit(f"mrdserver.py: {name}: no image of the same size came back")
    return np.ascontiguousarray(made, kind).tobytes()


def debug_folder():
    """Makes a folder in memory, and removes those that earlier processes were killed in."""
    where = "/dev/shm" if os.access("/dev/shm", os.W_OK) else tempfile.gettempdir()
    prefix = f"boreside-{name}-"
    for entry in os.scandir(where):
        own = entry.stat(follow_symlinks=False).st_uid == os.getuid()
        if own and entry.name.startswith(prefix):
            shutil.rmtree(entry.path, ignore_errors=True)
    return tempfile.mkdtemp(prefix=prefix, dir=where)


def main():
    step = boreside_step.Step()
    module = importlib.import_module(name)
    config = name
    if len(sys.argv) > 3:
        with open(sys.argv[3], encoding="utf-8") as f:
            config = json.load(f)
    memory = debug_folder()
    module.debugFolder = memory
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        step.ready()
        for image in step:
            step.answer(run(module, config, image))
            for file in os.scandir(memory):
                os.unlink(file)
    finally:
        shutil.rmtree(memory, ignore_errors=True)


main()
