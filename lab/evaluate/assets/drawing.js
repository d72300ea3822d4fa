// Functions that draw the reports of `evaluate`: elements, tables and plots of
// the JSON in #data. Text of the data goes through textContent alone, never
// through markup. A report's own script follows it within one function.
const data = JSON.parse(document.getElementById('data').textContent);
const root = document.getElementById('report');
root.textContent = '';

// Colours are the names of custom properties in report.css: those of the scheme of now.
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim();
const RAMP = ['c0', 'c1', 'c2', 'c3', 'c4', 'c5', 'c6'];

const DASHES = [[], [10, 3], [6, 2], [8, 3, 2, 3], [14, 4], [3, 2]];
const GREYS = ['g0', 'g1', 'g2', 'g3'];
const GREY_DASHES = [[6, 4], [1, 3], [2, 4, 6, 4], [12, 4]];

// A style for each name that the rows have under `key`, told apart by the colours of
// Okabe and Ito for most colour-blind readers, and in grey by the dashes. Rows without an
// epsilon are what the others are compared with: grey. `labels` has those of names that
// do not speak for themselves.
function stylesOf(rows, key, labels) {
  const styles = {};
  let compared = 0, noised = 0;
  for (const row of rows) {
    const name = row[key];
    if (styles[name]) continue;
    const [colors, dashes, i] = row.epsilon === null ? [GREYS, GREY_DASHES, compared++] : [RAMP, DASHES, noised++];
    styles[name] = {label: labels[name] || name, color: colors[i % colors.length], dash: dashes[i % dashes.length]};
  }
  return styles;
}

// --- elements

function add(parent, tag, text, className) {
  const element = document.createElement(tag);
  if (text !== undefined && text !== null) element.textContent = text;
  if (className) element.className = className;
  parent.append(element);
  return element;
}

// columns: {title, number, of(row)}. At a narrow screen a row is a card.
function addTable(parent, caption, columns, rows, isBest) {
  const scroll = add(parent, 'div', null, 'scroll');
  const table = add(scroll, 'table');
  const role = (element, name) => { element.setAttribute('role', name); return element; };
  role(table, 'table');
  scroll.setAttribute('role', 'group');
  scroll.setAttribute('aria-label', caption || 'Table');
  // Wider than the screen, it is moved by the keyboard.
  new ResizeObserver(() => {
    if (scroll.scrollWidth > scroll.clientWidth) scroll.tabIndex = 0;
    else scroll.removeAttribute('tabindex');
  }).observe(scroll);
  if (caption) add(table, 'caption', caption);
  const head = role(add(role(add(table, 'thead'), 'rowgroup'), 'tr'), 'row');
  for (const column of columns)
    role(add(head, 'th', column.title, column.number ? 'number' : ''), 'columnheader').scope = 'col';
  const body = role(add(table, 'tbody'), 'rowgroup');
  for (const row of rows) {
    const line = role(add(body, 'tr', null, isBest && isBest(row) ? 'best' : ''), 'row');
    for (const column of columns)
      role(add(line, 'td', column.of(row), column.className || (column.number ? 'number' : '')), 'cell').dataset.title = column.title;
  }
}

const four = (x) => x === null || x === undefined ? '–' : x.toFixed(4);
const short = (x) => x === null || x === undefined ? '–'
  : x > 0 && x < 1e-3 ? x.toExponential().replace(/-(\d)$/, '-0$1') : String(Number(x.toPrecision(3)));
const count = (n, word) => n.toLocaleString('en') + ' ' + word;
const unique = (values) => [...new Set(values)];

const median = (values) => {
  const sorted = [...values].sort((a, b) => a - b), half = Math.floor(sorted.length / 2);
  return sorted.length % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
};

// --- plots

function swatch(line) {
  const space = 'http' + '://www.w3.org/2000/svg';  // a name, nothing is fetched
  const svg = document.createElementNS(space, 'svg');
  svg.setAttribute('width', '30');
  svg.setAttribute('height', '12');
  const stroke = document.createElementNS(space, 'line');
  const set = {x1: 0, x2: 30, y1: 6, y2: 6, stroke: `var(--${line.color})`, 'stroke-width': 2.5,
    'stroke-dasharray': line.dash.join(' ')};
  for (const key in set) stroke.setAttribute(key, set[key]);
  svg.append(stroke);
  return svg;
}

// Canvases are drawn again when the scheme or the width changes, and for paper.
const drawings = [];
function keepDrawn(figure, wanted, draw) {
  const drawNow = () => {
    const width = widthFor(wanted);
    figure.style.width = width + 'px';
    return draw(width);
  };
  let plot = drawNow();
  drawings.push(() => {
    plot.destroy();
    plot = drawNow();
    const reading = figure.querySelector('.reading');
    if (reading) figure.append(reading);
  });
}
const drawAgain = () => drawings.forEach((draw) => draw());
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', drawAgain);
let shownWidth = innerWidth;
addEventListener('resize', () => {
  if (innerWidth === shownWidth) return;
  shownWidth = innerWidth;
  drawAgain();
});
const onPaper = (yes) => () => {
  document.documentElement.classList.toggle('paper', yes);
  drawAgain();
};
addEventListener('beforeprint', onPaper(true));
addEventListener('afterprint', onPaper(false));
const axisNow = () => ({stroke: colour('ink'), grid: {stroke: colour('grid'), width: 1}, ticks: {stroke: colour('rule'), width: 1},
  font: '13px system-ui, sans-serif', labelFont: '600 13px system-ui, sans-serif'});

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

// A plot is no wider than a narrow screen.
const widthFor = (wanted) => Math.min(wanted, Math.max(280, root.clientWidth));

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
    series.push({label: line.label, stroke: () => colour(line.color), width: 2, dash: line.dash, spanGaps: true,
      points: {show: options.markers !== false && line.level === undefined, size: 7, fill: () => colour(line.color)}});
    columns.push(column((p) => p.y));
    if (isBand) {
      const edge = {stroke: 'transparent', width: 0, spanGaps: true, points: {show: false}, band: true};
      series.push({...edge}, {...edge});
      columns.push(column((p) => p.high), column((p) => p.low));
      bands.push({series: [series.length - 2, series.length - 1], fill: () => colour(line.color) + '30'});
    }
  }
  const ys = columns.slice(1).flat().filter((y) => y !== null);
  const [low, high] = [Math.min(...ys), Math.max(...ys)];
  const yRange = options.yRange ? options.yRange : options.yLog ? logRange(low, high)
    : [Math.max(0, low - 0.08 * (high - low || low)), high + 0.08 * (high - low || high)];
  const ticks = options.xTicks || null;
  const reading = add(figure, 'p', null, 'reading');
  keepDrawn(figure, options.width || 720, (width) => new uPlot({
    width, height: options.height || 380,
    legend: {show: false},
    scales: {
      x: {time: false, distr: 3, range: () => [xLow, xHigh]},
      y: {distr: options.yLog ? 3 : 1, range: () => yRange},
    },
    axes: [
      {...axisNow(), label: options.xLabel, size: 42, labelSize: 26,
        splits: () => ticks || logSplits(xLow, xHigh), filter: (_, splits) => splits,
        values: (_, splits) => splits.map(short)},
      {...axisNow(), label: options.yLabel, size: 72, labelSize: 26,
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
  }, columns, figure));
  figure.append(reading);
}

function addOptions() {
  add(root, 'h2', 'Options');
  addTable(root, null, [{title: 'option', of: (pair) => pair[0]}, {title: 'value', of: (pair) => pair[1]}],
    Object.entries(data.options).map(([key, value]) =>
      [key, value === null ? 'default' : typeof value === 'object' ? JSON.stringify(value) : String(value)]));
}

// Paper has nothing to unfold.
window.addEventListener('beforeprint', () => {
  for (const folded of document.querySelectorAll('details')) folded.open = true;
});

