#!/usr/bin/python3
"""drivers/step/example/invert.py - a step in Python's standard library alone: each image inverted

    steps = ( { name = "invert"; on = "PROTOCOL"; budget_ms = 50.0;
                command = "/usr/bin/python3 /usr/local/bin/invert.py"; } );

boreside_step.py lies beside it.
"""
import array

import boreside_step

step = boreside_step.Step()
step.ready()  # what takes long, a network or tables, is loaded before this
for image in step:
    pixels = array.array("f", image.pixels)
    most = max(max(pixels), 0.0)
    inverted = array.array("f", [most - v for v in pixels])
    step.answer(inverted.tobytes(), [sum(pixels) / len(pixels), most])
