"""test/replay/step/hazen.py QA ACR - the QA step's figures of public phantoms against hazen's

Slice 7 of each series of ACR's phantom. hazen finds the object by a circle, to whole voxels, the
step by its edges, to half of one: so their discs may lie a voxel apart.
"""
import logging
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "support/step"))
logging.disable(logging.CRITICAL)
from door import Door
from hazenlib.tasks.acr_ghosting import ACRGhosting
from hazenlib.tasks.acr_snr import ACRSNR
from hazenlib.tasks.acr_uniformity import ACRUniformity
from hazenlib.utils import get_dicom_files

qa, acr = sys.argv[1], pathlib.Path(sys.argv[2])
failed = 0


def compare(series, what, is_, want, off):
    global failed
    good = abs(is_ - want) <= off
    failed += not good
    print(f"{'ok' if good else 'not ok'} {series}: {what} {is_:.3f}, hazen's {want:.3f}, within "
          f"{off:.3f}", flush=True)


for series in ("Siemens", "SiemensSolaFit", "GE", "GE_Signa_Artist_1.5T_T1", "PhilipsAchieva"):
    files = get_dicom_files(acr / series)
    uniformity = ACRUniformity(input_data=files)
    dicom = uniformity.ACR_obj.slice_stack[6]
    size = uniformity.ACR_obj.dx, uniformity.ACR_obj.dy
    fov = [s * n for s, n in zip(size, reversed(dicom.pixel_array.shape))] + [5.0]
    with tempfile.TemporaryDirectory() as folder:
        door = Door([qa, folder], 4 << 20)
        if series == "Siemens":
            again = ACRSNR(input_data=get_dicom_files(acr / "Siemens2"))
            before = again.ACR_obj.slice_stack[6]
            door.give(before.pixel_array[None], fov, image=1)
        numbers, _ = door.give(dicom.pixel_array[None], fov, image=2)
        door.close()
    compare(series, "uniformity", numbers[1], uniformity.get_integral_uniformity(dicom), 0.6)
    ghosting = ACRGhosting(input_data=files).get_signal_ghosting(dicom)
    compare(series, "ghosting", numbers[2], float(ghosting), 0.05)
    if series == "Siemens":
        want = ACRSNR(input_data=files).snr_by_subtraction(dicom, before)[0]
        compare(series, "SNR", numbers[3], want, 0.02 * want)
sys.exit(failed != 0)
