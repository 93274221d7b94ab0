#!/bin/bash
# test/replay/step/onnx.sh - a network as a step, by ONNX Runtime: the image that leaves is what
# numpy makes of the one without, and 25 images a second keep a budget of 20 ms
# PYTHON: an interpreter with numpy, onnx, onnxruntime; else from PyPI.
# Holds: T6
set -u
. "$(dirname "$0")/../../support/scratch.bash"
. "$(dirname "$0")/../../support/step/venv.bash"
has_python "a network by ONNX Runtime" "numpy, onnx, onnxruntime" numpy onnx onnxruntime
cd "$dir" || exit 1
library=$("$python" -c 'import glob, os, onnxruntime as o
print(glob.glob(os.path.dirname(o.__file__) + "/capi/libonnxruntime.so*")[0])' 2>err.txt) || {
	echo "skip a network by ONNX Runtime: PyPI's onnxruntime has no libonnxruntime.so here"
	exit 0
}
ln -s "$library" libonnxruntime.so # a command has blanks between its words
cat >net.py <<'PY'
"""Three convolutions of 3 x 3, and the image added: model.onnx; apply does the same in float64."""
import numpy as np

draw = np.random.default_rng(34)
layers = [(draw.normal(0, 0.3, shape).astype(np.float32), draw.normal(0, 0.1, shape[0]).astype(
    np.float32)) for shape in ((8, 1, 3, 3), (8, 8, 3, 3), (1, 8, 3, 3))]

def apply(image):
    x = image.astype(np.float64)[None]
    for i, (weight, bias) in enumerate(layers):
        padded = np.pad(x, ((0, 0), (1, 1), (1, 1)))
        ny, nx = x.shape[1:]
        x = bias.astype(np.float64)[:, None, None] + sum(
            np.einsum("oc,cyx->oyx", weight[:, :, dy, dx].astype(np.float64),
                      padded[:, dy:dy + ny, dx:dx + nx]) for dy in range(3) for dx in range(3))
        x = np.maximum(x, 0) if i < 2 else x
    return x[0] + image

def write(name, size):
    import onnx
    from onnx import helper as h, numpy_helper as t
    nodes, last = [], "image"
    for i in range(3):
        nodes.append(h.make_node("Conv", [last, f"w{i}", f"b{i}"], [f"c{i}"], pads=[1, 1, 1, 1]))
        last = f"c{i}"
        if i < 2:
            nodes.append(h.make_node("Relu", [last], [f"r{i}"]))
            last = f"r{i}"
    nodes.append(h.make_node("Add", [last, "image"], ["out"]))
    io = [h.make_tensor_value_info(n, onnx.TensorProto.FLOAT, [1, 1, *size])
          for n in ("image", "out")]
    tensors = [t.from_array(a, f"{k}{i}") for i, pair in enumerate(layers)
               for k, a in zip("wb", pair)]
    graph = h.make_graph(nodes, "net", io[:1], io[1:], tensors)
    model = h.make_model(graph, opset_imports=[h.make_opsetid("", 13)], ir_version=8)
    onnx.save(model, name)

if __name__ == "__main__":
    write("model.onnx", ["y", "x"])
    write("other.onnx", [48, 32])
PY
check "a model is made" "$python" net.py
onnx="$BUILD/drivers/step/onnx/onnx $dir/libonnxruntime.so $dir"
cart='method = "cartesian"; matrix = [64, 48]; encoded = [128, 48, 1]; coils = 3; samples = 128;'
cart+=" readouts = 48; $quiet"
site() { # FILE MODEL BUDGET
	cat >"$1" <<CFG
node: { name = "test"; run_dir = "run"; cache_dir = "cache"; threads = 1; $patient };
sinks = ( { type = "cfl"; dir = "out"; } );
steps = ( { name = "net"; on = "net"; budget_ms = $3; command = "$onnx/$2"; } );
protocols = ( { name = "plain"; $cart }, { name = "net"; $cart } );
CFG
}
mkdir out
site site.cfg model.onnx 30000.0
site other.cfg other.onnx 30000.0
site none.cfg none.onnx 30000.0
check "a phantom recording" "$BORESIDE" phantom -c site.cfg -p plain --repetitions 2 --snr 20 \
	-o rec.h5
for p in plain net; do
	check "$p images" "$BORESIDE" recon -c site.cfg -p $p rec.h5 -o $p.cfl
done
check "the network's are numpy's to 1e-6 of the largest" "$python" - <<'PY'
import sys
import numpy as np
sys.path.insert(0, ".")
from net import apply
for n in ("", "-0002"):
    plain, net = (np.fromfile(f"{p}{n}.cfl", np.complex64).real.reshape(48, 64)
                  for p in ("plain", "net"))
    want = apply(plain)
    off = abs(net - want).max() / abs(want).max()
    print(f"# off by {off:.1e}")
    assert off < 1e-6 and abs(want - plain).max() > 0.1 * plain.max()
PY
grep '^# off' out.txt
fails() { # WORDS SITE WHAT
	"$BORESIDE" recon -c "$2" -p net rec.h5 -o fails.cfl >fails.txt 2>&1
	check "$1" grep -q "$3" fails.txt
}
fails "a model of another size is refused in words" other.cfg "axis 3: the model has 32"
fails "a model that is not there, too" none.cfg "none.onnx"
starts
ready() { "$BORESIDE" status -c site.cfg --json | grep -q '"there":1,"ready":1'; }
check "the service's step is ready" await ready
check "a scan" "$BORESIDE" replay -c site.cfg --asap $patience -p net rec.h5
written() { [ "$(ls out/*.cfl | wc -l)" -eq 2 ]; }
check "2 images" await written
check "the same to the byte" cmp out/*s001-i00002.cfl net-0002.cfl
ends
# 25 a second; test/bench/results has what a machine that does nothing else says
STEP="$onnx/model.onnx" EVERY_US=40000 IMAGES=25 "$BUILD/test/bench/bench" step >bench.txt 2>&1
sed 's/^/# /' bench.txt
check "25 of each size" [ "$(grep -c 'N 25$' bench.txt)" -eq 5 ]
# the service links nothing of it
check "the daemon has no word of ONNX" bash -c '! strings "$0" | grep -qi onnxruntime' "$BORESIDE"
