'use strict';
/* The viewer: pictures as they come, the last ones again, their window, slices of volumes. */
const view = (() => {
  const by = id => document.getElementById(id);
  const canvas = by('picture'), strip = by('strip');
  let list = [], values = new Map(), shown = null;
  let live = true, auto = true, montage = true, low = 0, high = 1, slice = 0, busy = false;
  let captionOf = () => '';

  /* Dark at 0, bright where all but 0.3 % of the values are darker: as the png files have it. */
  function autoWindow(v) {
    const counts = new Uint32Array(1024);
    let n = 0, seen = 0;
    for (const x of v) { counts[x >> 6]++; n++; }
    for (let i = 0; i < 1024; i++) {
      seen += counts[i];
      if (seen >= 0.997 * n) return [0, Math.max(i + 1, 1) / 1024];
    }
    return [0, 1];
  }

  /* Planes [from, to) of v side by side. */
  function paint(to, v, [nx, ny], from, end, lo, hi) {
    const n = end - from, columns = Math.ceil(Math.sqrt(n)), rows = Math.ceil(n / columns);
    const grey = new Uint8ClampedArray(65536 >> 4), scale = 255 / Math.max(hi - lo, 1e-4);
    for (let i = 0; i < grey.length; i++) grey[i] = ((i + 0.5) / grey.length - lo) * scale;
    to.width = columns * nx;
    to.height = rows * ny;
    const c = to.getContext('2d'), image = c.createImageData(to.width, to.height), d = image.data;
    for (let i = 3; i < d.length; i += 4) d[i] = 255;
    for (let p = 0; p < n; p++)
      for (let y = 0; y < ny; y++) {
        let at = 4 * ((Math.floor(p / columns) * ny + y) * to.width + (p % columns) * nx);
        let k = ((from + p) * ny + y) * nx;
        for (let x = 0; x < nx; x++, at += 4) d[at] = d[at + 1] = d[at + 2] = grey[v[k++] >> 4];
      }
    c.putImageData(image, 0, 0);
  }

  function draw() {
    const p = shown, v = p && values.get(p.number);
    if (!v) return;
    const planes = p.shown[2];
    if (auto) [low, high] = p.least < 0 ? [0, 1] : autoWindow(v);
    slice = Math.min(slice, planes - 1);
    if (planes === 1 || montage) paint(canvas, v, p.shown, 0, planes, low, high);
    else paint(canvas, v, p.shown, slice, slice + 1, low, high);
    by('none').hidden = true;
    by('low').value = Math.round(low * 1000);
    by('high').value = Math.round(high * 1000);
    by('slice').max = planes - 1;
    by('slice').value = slice;
    by('slice').disabled = by('montage').disabled = planes === 1;
    say();
    for (const b of strip.children)
      b.setAttribute('aria-pressed', String(Number(b.dataset.number) === p.number));
  }

  function inUnits(p, at) { return (p.least + at * (p.most - p.least)).toPrecision(3); }

  function say() {
    const p = shown;
    if (!p) return;
    by('caption').textContent = captionOf(p) +
      (p.shown[2] > 1 ? (montage ? `, ${p.shown[2]} slices` : `, slice ${slice + 1} of ${p.shown[2]}`) : '') +
      `; window ${inUnits(p, low)} to ${inUnits(p, high)}`;
  }

  function press(id, on) { by(id).setAttribute('aria-pressed', String(on)); }

  async function fetchValues(get, p) {
    if (values.has(p.number)) return true;
    const r = await get('picture/' + p.number);
    if (!r.ok) return false;
    const bytes = await r.arrayBuffer(), n = p.shown[0] * p.shown[1] * p.shown[2];
    if (bytes.byteLength !== 2 * n) return false;
    const view16 = new DataView(bytes), v = new Uint16Array(n);
    for (let i = 0; i < n; i++) v[i] = view16.getUint16(2 * i, true);
    values.set(p.number, v);
    return true;
  }

  /* The strip: those whose values are here, small; the newest last. */
  function showStrip() {
    const have = list.filter(p => values.has(p.number)).slice(-12);
    const wanted = have.map(p => p.number).join();
    if (strip.dataset.wanted === wanted) return;
    strip.dataset.wanted = wanted;
    const old = new Map([...strip.children].map(b => [Number(b.dataset.number), b]));
    strip.replaceChildren(...have.map(p => {
      if (old.has(p.number)) return old.get(p.number);
      const b = document.createElement('button'), c = document.createElement('canvas');
      const v = values.get(p.number), middle = p.shown[2] >> 1;
      const plane = v.subarray(middle * p.shown[0] * p.shown[1], (middle + 1) * p.shown[0] * p.shown[1]);
      paint(c, v, p.shown, middle, middle + 1, ...autoWindow(plane));
      b.type = 'button';
      b.dataset.number = p.number;
      b.setAttribute('aria-label', 'image ' + p.image);
      b.append(c);
      b.onclick = () => choose(p);
      return b;
    }));
    if (live) strip.scrollLeft = strip.scrollWidth;
  }

  function choose(p) {
    live = p === list[list.length - 1] && live;
    press('live', live);
    shown = p;
    draw();
  }

  function step(by_) {
    const have = list.filter(p => values.has(p.number));
    const at = have.findIndex(p => shown && p.number === shown.number);
    const to = have[Math.max(0, Math.min(have.length - 1, at + by_))];
    if (to) { live = false; press('live', false); shown = to; draw(); }
  }

  /* At each look: what there is now. The newest alone is fetched, so a slow page skips. */
  async function update(get) {
    if (busy) return;
    busy = true;
    try {
      const r = await get('pictures.json');
      if (!r.ok) return;
      const doc = await r.json();
      list = doc.pictures;
      by('none').textContent = doc.taken ? 'No image has come yet.' :
        'The site gives the page no images: endpoints.viewers is off.';
      const there = new Set(list.map(p => p.number));
      for (const n of values.keys()) if (!there.has(n) && !(shown && shown.number === n)) values.delete(n);
      const wanted = values.size < 2 ? list.slice(-12) : list.slice(-1);
      for (const p of wanted) await fetchValues(get, p);
      const newest = list[list.length - 1];
      if (newest && live && values.has(newest.number) && (!shown || shown.number !== newest.number)) {
        shown = newest;
        draw();
      }
      showStrip();
    } finally { busy = false; }
  }

  by('live').onclick = () => { live = !live; press('live', live); if (live && list.length) { shown = list[list.length - 1]; draw(); } };
  by('back').onclick = () => step(-1);
  by('on').onclick = () => step(1);
  by('auto').onclick = () => { auto = !auto; press('auto', auto); draw(); };
  by('montage').onclick = () => { montage = !montage; press('montage', montage); draw(); };
  by('slice').oninput = e => { slice = Number(e.target.value); montage = false; press('montage', false); draw(); };
  function setWindow(lo, hi) {
    low = Math.max(0, Math.min(lo, 0.999));
    high = Math.max(low + 0.001, Math.min(hi, 1));
    auto = false;
    press('auto', false);
    draw();
  }
  by('low').oninput = e => setWindow(Number(e.target.value) / 1000, high);
  by('high').oninput = e => setWindow(low, Number(e.target.value) / 1000);
  /* Mouse: right and left make the window wider and narrower, up and down darker and brighter. */
  let from = null;
  canvas.onpointerdown = e => { from = [e.clientX, e.clientY, low, high]; canvas.setPointerCapture(e.pointerId); };
  canvas.onpointermove = e => {
    if (!from) return;
    const wide = (from[3] - from[2]) * Math.exp((e.clientX - from[0]) / 200);
    const middle = (from[2] + from[3]) / 2 + (e.clientY - from[1]) / 800;
    setWindow(middle - wide / 2, middle + wide / 2);
  };
  canvas.onpointerup = canvas.onpointercancel = () => { from = null; };
  document.addEventListener('keydown', e => {
    if (e.ctrlKey || e.altKey || e.metaKey || /^(INPUT|SELECT|TEXTAREA)$/.test(e.target.tagName)) return;
    const key = e.key.length === 1 ? e.key.toLowerCase() : e.key;
    const act = { ArrowLeft: () => step(-1), ArrowRight: () => step(1), l: () => by('live').click(),
      a: () => by('auto').click(), m: () => by('montage').click(),
      ArrowUp: () => stepSlice(1), ArrowDown: () => stepSlice(-1) }[key];
    if (!act || (key.startsWith('Arrow') && key.length < 10 && e.target.tagName === 'SELECT')) return;
    if ((key === 'ArrowUp' || key === 'ArrowDown') && !(shown && shown.shown[2] > 1)) return;
    act();
    e.preventDefault();
  });
  function stepSlice(n) {
    slice = Math.max(0, Math.min(shown.shown[2] - 1, slice + n));
    montage = false;
    press('montage', false);
    draw();
  }
  return { update, say, caption: f => { captionOf = f; } };
})();
