#!/usr/bin/python3
"""test/support/step/dft.py - a step that takes frames on a grid: root sum of squares of their DFTs

The image may be smaller than the grid: it is the middle.
"""
import array
import cmath
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../../drivers/step/example"))
import boreside_step


def line(k, n):
    """The middle n of k's inverse DFT, both about their middle."""
    size = len(k)
    turn = [cmath.exp(2j * cmath.pi * i / size) for i in range(size)]
    return [sum(v * turn[(i - size // 2) * (x - n // 2) % size] for i, v in enumerate(k))
            for x in range(n)]


step = boreside_step.Step()
step.ready()
for image in step:
    nx, ny, _ = image.image_matrix
    samples, rows, _ = image.matrix
    assert (image.kind, image.type) == (0, 7)
    assert image.bytes == image.channels * samples * rows * 8
    floats = array.array("f", image.pixels)
    power = [0.0] * (nx * ny)
    for c in range(image.channels if image.scan != 0 else 0):
        at = 2 * c * rows * samples
        k = [complex(floats[at + 2 * i], floats[at + 2 * i + 1]) for i in range(rows * samples)]
        part = [line(k[r * samples:(r + 1) * samples], nx) for r in range(rows)]
        for x in range(nx):
            for y, v in enumerate(line([p[x] for p in part], ny)):
                power[y * nx + x] += abs(v) ** 2
    pixels = array.array("f", [p ** 0.5 for p in power])
    if image.image_type == 7:
        pixels = array.array("f", [v for p in pixels for v in (p, 0.0)])
    step.answer(pixels.tobytes())
