// Draws report.html from the JSON in #data. Text of the data goes through
// textContent alone, never through markup.
'use strict';
(() => {
const data = JSON.parse(document.getElementById('data').textContent);
const root = document.getElementById('report');
root.textContent = '';

// Okabe and Ito's colours, told apart by most colour-blind readers and in grey
// by their dashes.
const STYLES = {
  'none': {label: 'no privacy', color: '#1b1b1b', dash: [6, 4]},
  'mean': {label: 'mean alone, no privacy', color: '#777777', dash: [1, 3]},
  'moments': {label: 'moments', color: '#0072b2', dash: []},
  'statistics': {label: 'statistics', color: '#009e73', dash: []},
  'gradient': {label: 'gradient', color: '#56b4e9', dash: [6, 2]},
  'paper': {label: 'published', color: '#d55e00', dash: []},
  'paper-nndsvd': {label: 'published, W₀ = NNDSVD(V)', color: '#b05a8c', dash: [10, 3]},
  'nndsvd': {label: 'W₀ = NNDSVD(V) alone', color: '#8a7500', dash: [2, 3]},
};
const RAMP = ['#0072b2', '#d55e00', '#009e73', '#b05a8c', '#8a7500', '#56b4e9', '#1b1b1b'];

// --- elements

function add(parent, tag, text, className) {
  const element = document.createElement(tag);
  if (text !== undefined && text !== null) element.textContent = text;
  if (className) element.className = className;
  parent.append(element);
  return element;
}

// columns: {title, number, of(row)}
function addTable(parent, caption, columns, rows, isBest) {
  const table = add(add(parent, 'div', null, 'scroll'), 'table');
  if (caption) add(table, 'caption', caption);
  const head = add(add(table, 'thead'), 'tr');
  for (const column of columns)
    add(head, 'th', column.title, column.number ? 'number' : '').scope = 'col';
  const body = add(table, 'tbody');
  for (const row of rows) {
    const line = add(body, 'tr', null, isBest && isBest(row) ? 'best' : '');
    for (const column of columns)
      add(line, 'td', column.of(row), column.className || (column.number ? 'number' : ''));
  }
}

const four = (x) => x === null || x === undefined ? '–' : x.toFixed(4);
const short = (x) => x === null || x === undefined ? '–'
  : x > 0 && x < 1e-3 ? x.toExponential().replace('.0', '') : String(Number(x.toPrecision(3)));
const count = (n, word) => n.toLocaleString('en') + ' ' + word;
const unique = (values) => [...new Set(values)];

function nameOf(setting, withRounds) {
  let name = STYLES[setting.mechanism].label;
  if (withRounds && setting.rounds) name += ', T = ' + setting.rounds;
  if (setting.outliers) name += ', outliers modelled';
  return name;
}

// --- plots

function swatch(line) {
  const space = 'http' + '://www.w3.org/2000/svg';  // a name, nothing is fetched
  const svg = document.createElementNS(space, 'svg');
  svg.setAttribute('width', '30');
  svg.setAttribute('height', '12');
  const stroke = document.createElementNS(space, 'line');
  const set = {x1: 0, x2: 30, y1: 6, y2: 6, stroke: line.color, 'stroke-width': 2.5,
    'stroke-dasharray': line.dash.join(' ')};
  for (const key in set) stroke.setAttribute(key, set[key]);
  svg.append(stroke);
  return svg;
}

// 1, 2, 5 and their powers of ten within [low, high]; powers alone over many.
function logSplits(low, high) {
  const wide = Math.log10(high / low) > 2.3;
  const splits = [];
  for (let e = Math.floor(Math.log10(low)); e <= Math.ceil(Math.log10(high)); ++e)
    for (const digit of wide ? [1] : [1, 2, 5]) {
      const at = digit * 10 ** e;
      if (at >= low * 0.999 && at <= high * 1.001) splits.push(Number(at.toPrecision(6)));
    }
  return splits;
}

// With as many decimals as the one that needs most.
function alike(splits) {
  const decimals = Math.max(...splits.map((y) => (String(Number(y.toFixed(4))).split('.')[1] || '').length));
  return splits.map((y) => y.toFixed(decimals));
}

function logRange(low, high) {
  const pad = low === high ? 2 : Math.pow(high / low, 0.04);
  return [low / pad, high * pad];
}

// lines: {label, color, dash, points: [{x, y, low, high}]}; a line with
// `level` instead is drawn over the whole width.
// options: {title, xLabel, yLabel, xTicks, yLog, width, height, markers}
function addPlot(parent, options, lines) {
  const drawn = lines.filter((line) => line.level !== undefined || line.points.length > 0);
  if (drawn.length === 0) return;
  const figure = add(parent, 'figure');
  figure.style.width = (options.width || 720) + 'px';
  add(figure, 'figcaption', options.title);
  const legend = add(figure, 'ul', null, 'legend');
  for (const line of drawn) {
    const item = add(legend, 'li');
    item.append(swatch(line));
    add(item, 'span', line.label);
  }
  let xs = unique(drawn.flatMap((line) => (line.points || []).map((p) => p.x))).sort((a, b) => a - b);
  if (xs.length === 0) return figure.remove();
  const [xLow, xHigh] = logRange(xs[0], xs[xs.length - 1]);
  if (drawn.some((line) => line.level !== undefined))
    xs = [xLow, ...xs, xHigh];  // levels reach both edges
  const columns = [xs];
  const series = [{}];
  const bands = [];
  for (const line of drawn) {
    const points = new Map((line.points || []).map((p) => [p.x, p]));
    const column = (of) => xs.map((x) => line.level !== undefined ? line.level
      : points.has(x) ? of(points.get(x)) : null);
    const isBand = line.points && line.points.some((p) => p.high > p.low);
    series.push({label: line.label, stroke: line.color, width: 2, dash: line.dash, spanGaps: true,
      points: {show: options.markers !== false && line.level === undefined, size: 7, fill: line.color}});
    columns.push(column((p) => p.y));
    if (isBand) {
      const edge = {stroke: 'transparent', width: 0, spanGaps: true, points: {show: false}, band: true};
      series.push({...edge}, {...edge});
      columns.push(column((p) => p.high), column((p) => p.low));
      bands.push({series: [series.length - 2, series.length - 1], fill: line.color + '30'});
    }
  }
  const ys = columns.slice(1).flat().filter((y) => y !== null);
  const [low, high] = [Math.min(...ys), Math.max(...ys)];
  const yRange = options.yLog ? logRange(low, high)
    : [Math.max(0, low - 0.08 * (high - low || low)), high + 0.08 * (high - low || high)];
  const ticks = options.xTicks || null;
  const grid = {stroke: '#e6e6e6', width: 1};
  const axis = {stroke: '#1b1b1b', grid, ticks: {stroke: '#999', width: 1}, font: '13px system-ui, sans-serif',
    labelFont: '600 13px system-ui, sans-serif'};
  const reading = add(figure, 'p', null, 'reading');
  new uPlot({
    width: options.width || 720, height: options.height || 380,
    legend: {show: false},
    scales: {
      x: {time: false, distr: 3, range: () => [xLow, xHigh]},
      y: {distr: options.yLog ? 3 : 1, range: () => yRange},
    },
    axes: [
      {...axis, label: options.xLabel, size: 42, labelSize: 26,
        splits: () => ticks || logSplits(xLow, xHigh), filter: (_, splits) => splits,
        values: (_, splits) => splits.map(short)},
      {...axis, label: options.yLabel, size: 72, labelSize: 26,
        ...(options.yLog ? {splits: () => logSplits(...yRange), filter: (_, splits) => splits} : {}),
        values: (_, splits) => options.yLog ? splits.map(short) : alike(splits)},
    ],
    series, bands,
    cursor: {drag: {x: false, y: false}, points: {show: false}, y: false},
    hooks: {setCursor: [(plot) => {
      const at = plot.cursor.idx;
      if (at === null || at === undefined) return reading.textContent = '';
      const parts = [];
      series.forEach((one, i) => {
        if (one.label && columns[i][at] !== null) parts.push(one.label + ' ' + short(columns[i][at]));
      });
      reading.textContent = options.xShort + ' ' + short(xs[at]) + ': ' + parts.join('; ');
    }]},
  }, columns, figure);
  figure.append(reading);
}

// --- what is shown

// Of rows that differ in rounds alone, the one of least median.
function bestOverRounds(rows) {
  const best = new Map();
  for (const row of rows) {
    const key = JSON.stringify([row.data, row.mechanism, row.outliers, row.epsilon]);
    if (!best.has(key) || row.median < best.get(key).median) best.set(key, row);
  }
  return [...best.values()];
}

function linesOverEpsilon(rows) {
  const best = bestOverRounds(rows);
  const keys = unique(best.map((row) => JSON.stringify([row.mechanism, row.outliers])));
  return keys.map((key) => {
    const own = best.filter((row) => JSON.stringify([row.mechanism, row.outliers]) === key);
    const style = STYLES[own[0].mechanism];
    const line = {label: nameOf(own[0]), color: style.color,
      dash: own[0].outliers ? [3, 3] : style.dash};
    if (own[0].epsilon === null) return {...line, level: own[0].median};
    line.points = own.map((row) => ({x: row.epsilon, y: row.median, low: row.least, high: row.largest}))
      .sort((a, b) => a.x - b.x);
    return line;
  });
}

const OBJECTIVE = 'objective  1/(2N) |V − WH|²';
const given = data.summary.filter((row) => row.data === 'as given');
const spoilt = data.summary.filter((row) => row.data !== 'as given');
const epsilons = unique(data.summary.map((row) => row.epsilon).filter((e) => e !== null)).sort((a, b) => a - b);

function addHead() {
  add(root, 'h1', data.dataset);
  const o = data.options;
  add(root, 'p', count(data.features, 'features (D)') + ' × ' + count(data.users, 'users (N)') + ', rank ' + o.rank +
    ', delta ' + short(o.delta) + ', ' + count(o.repeats, o.repeats === 1 ? 'repeat' : 'repeats') + ', seed ' + o.seed +
    (o.public ? ', declared public' : ', not declared public') + '.');
  if (!data.complete)
    add(root, 'p', 'Interrupted: ' + data.results.length + ' of ' + data.planned + ' trials were done.');
}

function addOverEpsilon() {
  add(root, 'h2', 'Objective against overall epsilon');
  add(root, 'p', 'Columns of V of length 1, the best H ≥ 0 for each W; lower is better. Points are medians over ' +
    'repeats, bands their range. Epsilon is that of all releases together at delta ' + short(data.options.delta) +
    ' (conversion ' + data.options.conversion + ', replace one); “published” is the algorithm of Saha and Imtiaz (arXiv 2211.01451) with its own ' +
    'sensitivities, calibration and accounting; what a W₀ made of V tells is in no epsilon. Where a mechanism ran with several numbers of rounds T, the best one is drawn: that choice ' +
    'is a favour, since in earnest it would cost budget or public data.', 'note');
  addPlot(root, {title: 'Median objective', xLabel: 'overall epsilon (log scale)', xShort: 'epsilon', yLabel: OBJECTIVE,
    xTicks: epsilons.length <= 8 ? epsilons : null, width: 860, height: 420}, linesOverEpsilon(given));
  addSummaryTables(given, 'Objective 1/(2N) |V − WH|², best H ≥ 0');
}

// The best T of each; all of them below, folded.
function addSummaryTables(rows, caption) {
  const best = bestOverRounds(rows);
  addSummaryTable(root, best, caption, best);
  if (best.length === rows.length) return;
  const folded = add(root, 'details');
  add(folded, 'summary', 'All numbers of rounds T');
  addSummaryTable(folded, rows, caption + '; bold: the best T', best);
}

function addSummaryTable(parent, rows, caption, best) {
  const text = data.summary.some((row) => row.npmi !== null);
  addTable(parent, caption, [
    {title: 'mechanism', of: (row) => nameOf(row)},
    {title: 'rounds T', number: true, of: (row) => row.rounds === null ? '–' : row.rounds},
    {title: 'epsilon', number: true, of: (row) => short(row.epsilon)},
    {title: 'epsilon a round', number: true, of: (row) => short(row.epsilon_per_round)},
    {title: 'median', number: true, of: (row) => four(row.median)},
    {title: 'least', number: true, of: (row) => four(row.least)},
    {title: 'largest', number: true, of: (row) => four(row.largest)},
    ...(text ? [{title: 'NPMI', number: true, of: (row) => short(row.npmi)},
      {title: 'UMass', number: true, of: (row) => short(row.umass)}] : []),
    {title: 'repeats', number: true, of: (row) => row.repeats},
    {title: 'seconds', number: true, of: (row) => row.seconds.toFixed(2)},
  ], rows, (row) => rows !== best && row.rounds !== null && best.includes(row));
}

const median = (values) => {
  const sorted = [...values].sort((a, b) => a - b), half = Math.floor(sorted.length / 2);
  return sorted.length % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
};

// Medians and ranges of the curves of a setting, round by round.
function curveOf(row) {
  const curves = data.results.filter((one) => one.data === row.data && one.mechanism === row.mechanism &&
    one.outliers === row.outliers && one.epsilon === row.epsilon && one.rounds === row.rounds).map((one) => one.curve);
  const at = new Map();
  for (const curve of curves)
    curve.rounds.forEach((round, i) => {
      if (round === 0) return;  // no place on a log scale
      if (!at.has(round)) at.set(round, []);
      at.get(round).push(curve.objectives[i]);
    });
  return [...at].filter(([, values]) => values.length === curves.length)
    .map(([x, values]) => ({x, y: median(values), low: Math.min(...values), high: Math.max(...values)}))
    .sort((a, b) => a.x - b.x);
}

function addLearningCurves() {
  const rows = given.filter((row) => !row.outliers);
  if (!rows.some((row) => row.rounds !== null)) return;
  add(root, 'h2', 'Learning curves');
  add(root, 'p', 'Objective after each round, for the largest T of each mechanism; medians and ranges over repeats. ' +
    'Moments need one release and are drawn as a level. The epsilon in the title is spent when the last round is done. ' +
    'These curves are exact functions of V: nobody who learns in private sees them.', 'note');
  const plots = add(root, 'div', null, 'plots');
  const largest = (mechanism) => Math.max(...rows.filter((row) => row.mechanism === mechanism).map((row) => row.rounds));
  for (const epsilon of epsilons) {
    const lines = [];
    for (const row of rows.filter((one) => one.epsilon === epsilon || one.epsilon === null)) {
      const style = {...STYLES[row.mechanism], label: nameOf(row, true)};
      if (['mean', 'moments', 'nndsvd'].includes(row.mechanism)) lines.push({...style, level: row.median});
      else if (row.rounds === null || row.rounds === largest(row.mechanism))
        lines.push({...style, points: curveOf(row)});
    }
    addPlot(plots, {title: 'Overall epsilon ' + short(epsilon), xLabel: 'round (log scale)', xShort: 'round',
      yLabel: OBJECTIVE, width: 510, height: 340, markers: false}, lines);
  }
}

function addPublished() {
  if (data.published.length === 0) return;
  add(root, 'h2', 'The published algorithm: epsilon a round');
  add(root, 'p', 'Its noise is calibrated to an epsilon for A and for B in every round, by ' +
    'sigma = sensitivity × √(2 log(1.25/delta)) / epsilon. Left, what T rounds of it cost together; ' +
    'right, what is reached. Points on the right belong to the overall epsilons of the first plot.', 'note');
  const plots = add(root, 'div', null, 'plots');
  const line = (i, rounds, points) => ({label: 'T = ' + rounds, color: RAMP[i % RAMP.length], dash: [], points});
  addPlot(plots, {title: 'Overall epsilon', xLabel: 'epsilon a round (log scale)', xShort: 'epsilon a round',
    yLabel: 'overall epsilon (log scale)', yLog: true, width: 510, height: 340, markers: false},
    data.published.map((one, i) => line(i, one.rounds,
      one.epsilon_per_round.map((x, at) => ({x, y: one.epsilon[at]})))));
  for (const mechanism of ['paper', 'paper-nndsvd']) {
    const lines = data.published.map((one, i) => line(i, one.rounds,
      given.filter((row) => row.mechanism === mechanism && !row.outliers && row.rounds === one.rounds)
        .map((row) => ({x: row.epsilon_per_round, y: row.median, low: row.least, high: row.largest}))
        .sort((a, b) => a.x - b.x)));
    addPlot(plots, {title: 'Objective, ' + STYLES[mechanism].label, xLabel: 'epsilon a round (log scale)',
      xShort: 'epsilon a round', yLabel: OBJECTIVE, width: 510, height: 340}, lines);
  }
}

function addOutlierExperiment() {
  if (spoilt.length === 0) return;
  add(root, 'h2', 'Outliers');
  add(root, 'p', 'Learnt with 70 % of the entries of 10 % of the users spoilt (uniform noise of [−1, 1] where the ' +
    'largest entry is 1, then max(0, ·) and columns scaled to length 1); measured on the data as given. ' +
    '“Outliers modelled”: V ≈ WH + R with lambda ' + short(data.lambda_used) + ', bound ' +
    short(data.outlier_bound_used) + '.', 'note');
  addPlot(root, {title: 'Median objective on the data as given', xLabel: 'overall epsilon (log scale)', xShort: 'epsilon',
    yLabel: OBJECTIVE, xTicks: epsilons.length <= 8 ? epsilons : null, width: 860, height: 420}, linesOverEpsilon(spoilt));
  addSummaryTables(spoilt, 'Objective; learnt with outliers added, measured on the data as given');
}

// Columns of W as grey pictures in one canvas: dark is large.
function drawParts(parent, picture) {
  const pixels = Uint8Array.from(atob(picture.pixels), (c) => c.charCodeAt(0));
  const width = data.options.image_width, height = data.features / width;
  const scale = Math.max(1, Math.floor(56 / Math.max(width, height)));
  const across = Math.min(picture.columns, Math.max(1, Math.min(10, Math.floor(520 / (width * scale + 4)))));
  const down = Math.ceil(picture.columns / across);
  const canvas = add(parent, 'canvas', null, 'parts');
  canvas.width = across * (width * scale + 4) + 4;
  canvas.height = down * (height * scale + 4) + 4;
  const pen = canvas.getContext('2d');
  pen.fillStyle = '#f4f4f4';
  pen.fillRect(0, 0, canvas.width, canvas.height);
  for (let k = 0; k < picture.columns; ++k) {
    const left = 4 + (k % across) * (width * scale + 4), top = 4 + Math.floor(k / across) * (height * scale + 4);
    for (let i = 0; i < data.features; ++i) {
      const grey = 255 - pixels[k * data.features + i];
      pen.fillStyle = 'rgb(' + grey + ',' + grey + ',' + grey + ')';
      pen.fillRect(left + (i % width) * scale, top + Math.floor(i / width) * scale, scale, scale);
    }
  }
}

// The pictures (or topics) of the best T of each mechanism alone.
function ofBest(all) {
  const best = bestOverRounds(data.summary);
  return all.filter((one) => best.some((row) => ['data', 'mechanism', 'outliers', 'epsilon', 'rounds']
    .every((key) => row[key] === one[key])));
}

function titleOf(one) {
  return nameOf(one, true) + (one.epsilon === null ? '' : ', epsilon ' + short(one.epsilon)) +
    (one.data === 'as given' ? '' : ', ' + one.data);
}

function addPictures() {
  const pictures = ofBest(data.pictures || []);
  if (pictures.length === 0) return;
  add(root, 'h2', 'Parts');
  add(root, 'p', 'Columns of W of the first repeat, each from white (0) to black (its largest entry).', 'note');
  const plots = add(root, 'div', null, 'plots');
  for (const picture of pictures) {
    const figure = add(plots, 'figure');
    add(figure, 'figcaption', titleOf(picture));
    drawParts(figure, picture);
  }
}

function addTopics() {
  const all = ofBest(data.topics);
  if (all.length === 0) return;
  add(root, 'h2', 'Topics');
  add(root, 'p', 'The ten largest words of each column of W of the first repeat. Coherence over pairs of words, ' +
    'counted in the data as given: NPMI from −1 to 1, UMass at most about 0; higher is better.', 'note');
  for (const one of all) {
    add(root, 'h3', titleOf(one));
    addTable(root, null, [
      {title: '#', number: true, of: (topic) => one.topics.indexOf(topic) + 1},
      {title: 'words', className: 'words', of: (topic) => topic.words.join(', ')},
      {title: 'NPMI', number: true, of: (topic) => topic.npmi.toFixed(3)},
      {title: 'UMass', number: true, of: (topic) => topic.umass.toFixed(2)},
    ], one.topics);
  }
}

function addOptions() {
  add(root, 'h2', 'Options');
  addTable(root, null, [{title: 'option', of: (pair) => pair[0]}, {title: 'value', of: (pair) => pair[1]}],
    Object.entries(data.options).map(([key, value]) =>
      [key, value === null ? 'default' : typeof value === 'object' ? JSON.stringify(value) : String(value)]));
}

addHead();
addOverEpsilon();
addLearningCurves();
addPublished();
addOutlierExperiment();
addPictures();
addTopics();
addOptions();
// Paper has nothing to unfold.
window.addEventListener('beforeprint', () => {
  for (const folded of document.querySelectorAll('details')) folded.open = true;
});
document.documentElement.dataset.drawn = 'yes';
})();
