'use strict';
/* The rest of the page: what the service says of itself, in tables and plain words. */
(() => {
  const by = id => document.getElementById(id);
  let token = sessionStorage.getItem('token') || '', status = null, buckets = new Map();

  async function get(url) {
    const headers = token ? { Authorization: 'Bearer ' + token } : {};
    const r = await fetch(url, { headers, cache: 'no-store' });
    by('asks').hidden = r.status !== 401;
    return r;
  }
  by('asks').onsubmit = e => {
    e.preventDefault();
    token = by('token').value.trim();
    sessionStorage.setItem('token', token);
    look();
  };

  const ms = us => us >= 1e6 ? (us / 1e6).toFixed(2) + ' s' : us >= 1e3 ? (us / 1e3).toFixed(us < 1e4 ? 2 : 1) + ' ms' :
    us.toFixed(us < 100 ? 1 : 0) + ' us';
  const bytes = n => { let u = 0; while (n >= 1024 && u < 4) { n /= 1024; u++; }
    return n.toFixed(u && n < 10 ? 1 : 0) + ' ' + ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'][u]; };
  const count = (n, word) => `${n} ${word}${n === 1 ? '' : 's'}`;
  const span = s => s < 90 ? s.toFixed(s < 10 ? 1 : 0) + ' s' : s < 5400 ? (s / 60).toFixed(0) + ' min' :
    s < 172800 ? (s / 3600).toFixed(1) + ' h' : (s / 86400).toFixed(0) + ' days';

  /* rows: arrays of cells; a cell is text or [text, class]. Text alone ever becomes part of the page. */
  function fill(id, rows, columns) {
    const body = by(id).tBodies[0];
    body.replaceChildren(...rows.map(cells => {
      const tr = document.createElement('tr');
      for (const c of cells) {
        const td = document.createElement('td');
        td.textContent = td.title = Array.isArray(c) ? c[0] : c;
        if (Array.isArray(c)) td.className = c[1];
        tr.append(td);
      }
      return tr;
    }));
    if (!rows.length) {
      const td = body.insertRow().insertCell();
      td.colSpan = columns;
      td.textContent = 'none yet';
    }
  }

  /* The sentences of what is not as it should be, the worst first. */
  function troubles(doc, s) {
    const out = [];
    const bad = t => out.push([t, 'bad']), warn = t => out.push([t, 'warn']);
    if (!s) return [['The service does not answer. It may be starting, or have ended; its log says which.', 'bad']];
    for (const w of s.workers)
      if (w.phase !== 'ready') (s.uptime_s < 30 ? warn : bad)(`The process ${w.name} is ${w.phase}.`);
      else if (w.restarts) warn(`The process ${w.name} was started again ${w.restarts} times; the last one ended by: ${w.last_end}.`);
    for (const p of s.protocols) if (p.refused) bad(`Scans of ${p.name} are refused: ${p.refused}`);
    if (s.log && s.log.fault) bad(`The log of scans cannot be written: ${s.log.fault}`);
    else if (s.log && s.log.unprotected) warn('The log of scans lags behind: the scan goes on without it.');
    for (const c of s.consumers) {
      if (c.refusal) bad(`${c.consumer} refused an image: ${c.refusal}`);
      if (c.in_hand_ms > 10000) warn(`${c.consumer} has been at one image for ${span(c.in_hand_ms / 1000)}.`);
    }
    for (const r of (s.scans || []).slice(-5).reverse())
      if (r.code) bad(`${new Date(r.ended).toLocaleTimeString()}: scan ${r.number} (${r.protocol}) failed: ${r.text || r.name}.`);
    for (const p of s.protocols)
      if (p.budget.missed) warn(`${p.name}: ${p.budget.missed} of ${p.budget.handed} images were late` +
        (p.misses_explained ? `; a stall of the machine explains ${p.misses_explained}.` : '.'));
    for (const d of doc.disks)
      if (d.bytes && d.free < 0.05 * d.bytes) warn(`The disk of ${d.folder} has ${bytes(d.free)} left.`);
    if (s.site.reload.refused) warn(`The last reload was refused: ${s.site.reload.text}`);
    const lines = new Map(); /* the same words once: when last, and how often */
    for (const e of s.errors) {
      const [, at, words] = /^(\S+Z) (.*)$/s.exec(e) || [0, '', e], before = lines.get(words);
      lines.delete(words);
      lines.set(words, [at, before ? before[1] + 1 : 1]);
    }
    for (const [words, [at, n]] of [...lines].slice(-6).reverse())
      out.push([(at ? new Date(at).toLocaleTimeString() + ', log: ' : 'Log: ') + words + (n > 1 ? ` (${n} times)` : ''), '']);
    return out;
  }

  function showTrouble(doc, s) {
    const items = troubles(doc, s);
    by('trouble').replaceChildren(...(items.length ? items : [['Nothing.', 'good']]).map(([t, c]) => {
      const li = document.createElement('li');
      li.textContent = t;
      li.className = c;
      return li;
    }));
  }

  function showHead(s) {
    const words = { idle: 'ready for a scan', scanning: 'a scan runs', draining: 'last images are made',
      aborting: 'a scan is ended early', starting: 'starting', stopped: 'stopped' };
    const st = by('state');
    st.textContent = s ? words[s.state] || s.state : 'no answer';
    st.className = 'badge ' + (!s ? 'bad' : s.state === 'idle' || s.state === 'scanning' ? 'good' : 'warn');
    if (!s) { by('about').textContent = ''; return; }
    by('node').textContent = s.node;
    document.title = s.node + ' - Boreside';
    by('about').textContent = `Boreside ${s.boreside}, up ${span(s.uptime_s)}; ${count(s.totals.scans, 'scan')}, ` +
      `${count(s.totals.images, 'image')}; site file ${s.site.file}`;
  }

  function showProtocols(s) {
    fill('protocols', s.protocols.map(p => [p.name,
      p.refused ? ['refused', 'bad'] : p.armed ? ['armed', 'good'] : ['not armed', 'warn'],
      p.armed ? `${p.engine}, ${p.place}` : p.refused, p.budget_ms ? p.budget_ms + ' ms' : 'none',
      p.budget.missed ? [`${p.budget.missed} of ${p.budget.handed}`, 'warn'] : `0 of ${p.budget.handed}`,
      p.budget.on_miss === 'shed' ? p.budget.rung : '-']), 6);
    const names = s.protocols.map(p => p.name), select = by('which');
    if ([...select.options].map(o => o.value).join('\n') !== names.join('\n')) {
      const before = select.value;
      select.replaceChildren(...names.map(n => new Option(n, n)));
      select.value = names.includes(before) ? before : (s.scan.protocol || names[0] || '');
    }
  }

  /* boreside_stage_seconds of the metrics: protocol and stage to [[bound in us, count], ...]. */
  function readBuckets(text) {
    const found = new Map();
    for (const m of text.matchAll(/^boreside_stage_seconds_bucket\{protocol="((?:[^"\\]|\\.)*)",stage="(\w+)",le="([^"]+)"\} (\d+)$/gm)) {
      const key = m[1].replace(/\\(.)/g, '$1') + '\n' + m[2];
      if (!found.has(key)) found.set(key, []);
      found.get(key).push([m[3] === '+Inf' ? Infinity : Number(m[3]) * 1e6, Number(m[4])]);
    }
    return found;
  }

  const stages = { 'whole image': 'from the last readout received to the image handed to the first sink',
    send: 'from the sender\u2019s stamp to received, where its clock is this node\u2019s', receive: 'from received to handed on: checks, and the copy',
    queue: 'until the reconstruction takes it up', add: 'from taken up to accumulated', slot: 'until there is room for the image',
    finish: 'what is left to compute after the last readout', pass: 'from the image made to taken up by who hands it on',
    hand: 'attributes and checksum', sinks: 'from the first sink to done with all', taken: 'until an archive that asks has the image',
    upload: 'the last readouts to the GPU', accumulate: 'added to the frame on the GPU', solve: 'iterations of the solver',
    combine: 'coils to one image', download: 'the image from the GPU', calibration: 'maps and weights, after the last calibration line' };

  function showLatency(s) {
    const name = by('which').value, p = s.protocols.find(q => q.name === name);
    const limits = new Map(p ? p.budget.stages.map(x => [x.name, x.ms]) : []);
    const rows = s.latency.filter(l => l.protocol === name);
    fill('latency', rows.map(l => {
      const budget = l.stage === 'image' ? (p && p.budget_ms) : limits.get(l.stage);
      return [l.stage === 'image' ? 'whole image' : l.stage, l.n, ms(l.p50_us), ms(l.p99_us), ms(l.p999_us),
        budget && l.max_us > budget * 1000 ? [ms(l.max_us), 'n warn'] : ms(l.max_us), budget ? budget + ' ms' : ''];
    }), 7);
    for (const tr of by('latency').tBodies[0].rows) tr.cells[0].title = stages[tr.cells[0].textContent] || '';
    const h = buckets.get(name + '\n' + 'image') || [], bars = [];
    let before = 0;
    for (const [bound, count] of h) {
      bars.push([bound, count - before, bars.length ? bars[bars.length - 1][0] : 0]); /* the third: from where on */
      before = count;
    }
    while (bars.length && !bars[0][1]) bars.shift();
    while (bars.length && !bars[bars.length - 1][1]) bars.pop();
    const most = Math.max(1, ...bars.map(b => b[1])), budget = p && p.budget_ms ? p.budget_ms * 1000 : Infinity;
    by('hist').replaceChildren(...bars.map(([bound, n, from]) => {
      const d = document.createElement('div'), bar = document.createElement('i');
      bar.style.height = n ? Math.max(2, 100 * n / most) + '%' : '0';
      if (from >= budget) d.className = 'over';
      const words = bound === Infinity ? 'more' : '≤' + ms(bound).replace(/\.0+ /, ' ');
      d.append(String(n), bar, words);
      d.title = `${count(n, 'image')}, ${words}`;
      return d;
    }));
  }

  function showScans(s) {
    const open = s.scan.open;
    by('now').textContent = open ? `Scan ${s.scan.number} of ${s.scan.protocol} is open: ${s.scan.acquisitions} readouts, ` +
      `${s.scan.images_made} images` + (s.scan.gaps ? `, ${s.scan.gaps} readouts did not come` : '') + '.' : 'No scan is open.';
    /* the name of its log is the last part of an outcome's words */
    fill('scans', (s.scans || []).slice().reverse().map(r => {
      const words = r.text.split('; ').filter(w => !w.startsWith('log ')).join('; ');
      return [r.number, r.protocol, new Date(r.ended).toLocaleTimeString(), span(r.seconds), r.acquisitions, r.images,
        r.code ? [words || r.name, 'bad'] : [words || 'well', words ? 'warn' : 'good']];
    }), 7);
  }

  /* The logs of log.dir, of earlier services, too. How a scan ended the service knows of its own ones. */
  function showKept(k, s) {
    const ends = { whole: ['whole', 'good'], images: ['whole; its images are still to be made', 'warn'],
      open: ['left open: its service ended within it', 'warn'], unreadable: ['its log cannot be read here', 'bad'] };
    by('logs').textContent = k.why || `${k.logs} in ${k.dir}` + (k.logs > k.kept.length ? `, the last ${k.kept.length}:` : '');
    fill('kept', k.kept.map(l => {
      const own = (s.scans || []).find(r => r.session === l.session);
      const now = s.scan.open && s.scan.session === l.session;
      return [new Date(l.started).toLocaleString(), l.protocol, l.session, bytes(l.bytes),
        now ? 'it is being taken' : own && own.code ? [own.name, 'bad'] : ends[l.end]];
    }), 5);
  }

  function showTakers(s) {
    fill('takers', s.consumers.map(c => {
      const lost = c.failed + c.shed + c.lost;
      return [c.consumer, c.handed, c.waiting + c.behind, lost ? [lost, 'warn'] : 0, c.refusal ? [c.refusal, 'bad'] : ''];
    }).concat(s.images.askers.map(a => [`${a.asker} (asks)`, a.has >= s.images.last ? 'all' : 'not all', '',
      a.missed ? [a.missed, 'warn'] : 0, ''])), 5);
  }

  function showMachine(doc, s) {
    const rt = s.realtime, refused = ['priority', 'affinity', 'lock_memory', 'timer_slack', 'gpu', 'unthrottled']
      .filter(k => rt[k] === 'refused');
    const stalls = s.canary.processors.reduce((a, c) => a + c.stalls, 0);
    fill('machine', [['memory shared by the processes', bytes(s.shared_bytes)],
      ...s.pools.map(p => [`pool of ${p.name}`, `${p.in_use} of ${p.slots} slots in use, at most ${p.high_water}` +
        (p.refusals ? `, none free ${p.refusals} times` : '')]),
      ['log of scans', s.log.mode === 'off' ? 'none is kept' : `${s.log.mode}, ${s.log.dir}, ${bytes(s.log.bytes)} written`],
      ['stalls of the machine', String(stalls)],
      ['the machine refuses', refused.length ? [rt.remedies.join(' ') || refused.join(', '), 'warn'] : 'nothing'],
      ...doc.disks.map(d => [d.folder, `${bytes(d.free)} free of ${bytes(d.bytes)}`]),
      ['this page', `${doc.pictures} pictures made, ${doc.skipped} images left out`]], 2);
  }

  view.caption(p => {
    const scans = status ? [...(status.scans || []), status.scan] : [];
    const scan = scans.find(r => r.session === p.session);
    return (scan ? `${scan.protocol}, scan ${scan.number}, ` : '') + (p.preview ? 'preview ' : 'image ') + p.image +
      `, ${p.matrix[2] > 1 ? p.matrix.join(' x ') : p.matrix.slice(0, 2).join(' x ')}, ${ms(p.latency_us)} after its last readout` +
      (p.quality !== 'complete' ? ` (${p.quality}${p.missing ? `: ${p.missing} readouts missing` : ''})` : '') +
      (p.iterations ? `, ${p.iterations} iterations` : '');
  });

  let looks = 0, looking = false;
  async function look() {
    if (looking) return;
    looking = true;
    try {
      const r = await get('status.json');
      if (!r.ok) { if (r.status !== 401) throw new Error(r.status); return; }
      const doc = await r.json(), s = status = doc.service;
      if (s && looks++ % 4 === 0) {
        const m = await get('metrics'), k = await get('scans.json');
        if (m.ok) buckets = readBuckets(await m.text());
        if (k.ok) showKept(await k.json(), s);
      }
      showHead(s);
      showTrouble(doc, s);
      if (!s) return;
      showProtocols(s);
      showLatency(s);
      showScans(s);
      showTakers(s);
      showMachine(doc, s);
      view.say();
    } catch (e) {
      showHead(null);
      by('trouble').replaceChildren(Object.assign(document.createElement('li'),
        { textContent: 'This page does not reach its server: it is tried again.', className: 'bad' }));
    } finally { looking = false; }
  }
  by('which').onchange = () => status && showLatency(status);
  const watch = (f, every) => { const go = async () => { if (!document.hidden) await f().catch(() => {}); setTimeout(go, every); }; go(); };
  watch(look, 1000);
  watch(() => view.update(get), 200);
})();
