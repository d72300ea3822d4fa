// Gauges, plots and parts.
import {h, percent, short} from './dom.js';

const dark = matchMedia('(prefers-color-scheme: dark)');
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim();

// Canvases are drawn again when the scheme changes.
let drawings = [];
dark.addEventListener('change', () => {
  drawings = drawings.filter(([node]) => node.isConnected);
  for (const [, draw] of drawings) draw();
});
function drawn(node, draw) {
  drawings.push([node, draw]);
  draw();
  return node;
}

// ---- Budgets. Costs add up in mu^2: a width is a share of the cap.

// position: LedgerPosition; reading: texts of the program; run: mu^2 of a run
// that is planned.
export function gauge(position, reading, run = 0) {
  const cap = position.cap.value;
  const spent = position.charged.value / cap;
  const reserved = position.reserved.value / cap;
  const left = Math.max(0, 1 - spent - reserved);
  const own = position.own_limit;
  const room = !own ? left
    : Math.max(0, Math.min(left, (own.cap.value - own.charged.value - own.reserved.value) / cap));
  const planned = Math.min(run / cap, room);
  const segments = [
    ['spent', 'Spent', spent, reading.spent ? `epsilon ${reading.spent}` : ''],
    ['reserved', 'Reserved for open runs', reserved, ''],
    run ? ['planned', 'This run', planned, `epsilon ${reading.price}`] : null,
    ['free', 'Largest next run', room - planned, `epsilon ${reading.largest_run}`],
    ['others', 'Not for this analyst', left - room, ''],
  ].filter((segment) => segment && (segment[2] > 1e-9 || segment[0] === 'spent' || segment[0] === 'free'));
  const shown = (kind, share) => kind === 'free' && run ? room : share;
  const bar = h('div', {class: 'gauge-bar', role: 'img', 'aria-label':
    segments.map(([kind, name, share, epsilon]) =>
      `${name}: ${percent(shown(kind, share))} of the cap${epsilon && ', ' + epsilon}`).join('; ') + '.'},
  segments.map(([kind, , share]) => {
    const segment = h('span', {class: 'segment ' + kind});
    segment.style.flexGrow = String(Math.max(share, 0));
    if (share <= 0) segment.style.display = 'none';
    return segment;
  }));
  return h('div', {class: 'gauge'}, bar,
    h('ul', {class: 'gauge-legend'}, segments.map(([kind, name, share, epsilon]) => h('li', {},
      h('span', {class: 'swatch ' + kind, 'aria-hidden': 'true'}),
      h('span', {class: 'gauge-name'}, name),
      epsilon ? h('strong', {}, epsilon) : null,
      h('span', {class: 'soft'}, percent(shown(kind, share)) + ' of the cap')))));
}

export function progress(done, all, label) {
  return h('progress', {max: Math.max(1, all), value: done, 'aria-label': label});
}

// ---- Plots

// Between ticks: an axis without a log scale counts.
const WHOLE = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000];

// lines: {label, colour, dash, points: [[x, y]], steps}; marks: {x, label, colour}.
export function plot({title, summary, x, y, lines, marks = [], height = 260, logX, yWhole, yMax, yMin = 0}) {
  const holder = h('div', {class: 'plot', role: 'img', 'aria-label': summary});
  const figure = h('figure', {class: 'plot-figure'}, h('figcaption', {}, title),
    h('ul', {class: 'legend'}, lines.map((line) => h('li', {}, swatch(line), line.label))), holder);
  const xs = [...new Set(lines.flatMap((line) => line.points.map((point) => point[0])))].sort((a, b) => a - b);
  const columns = [xs, ...lines.map((line) => {
    const at = new Map(line.points);
    return xs.map((value) => at.has(value) ? at.get(value) : null);
  })];
  let chart = null;
  const draw = () => {
    if (chart) chart.destroy();
    const axis = {stroke: colour('ink'), grid: {stroke: colour('line'), width: 1},
      ticks: {stroke: colour('line'), width: 1}, font: '12px system-ui, sans-serif',
      labelFont: '600 12px system-ui, sans-serif'};
    chart = new uPlot({
      width: Math.max(240, holder.clientWidth), height,
      legend: {show: false},
      cursor: {show: false},
      scales: {
        x: {time: false, distr: logX ? 3 : 1, range: () => logX ? [xs[0] / 1.15, xs.at(-1) * 1.15] : xs.length === 1 ? [xs[0] - 1, xs[0] + 1] : [xs[0], xs.at(-1)]},
        y: {range: (_, low, high) => [Math.min(yMin, low), yMax || high * 1.08 || 1]},
      },
      axes: [
        {...axis, label: x, size: 34, labelSize: 22, values: (_, splits) => splits.map((at) => at === null ? '' : short(at)),
          ...(logX ? {splits: (_, __, low, high) => decades(low, high), filter: (_, splits) => splits} : {incrs: WHOLE})},
        {...axis, label: y, size: 46, labelSize: 22, ...(yWhole ? {incrs: WHOLE} : {}), values: (_, splits) => splits.map((at) => short(at))},
      ],
      series: [{}, ...lines.map((line) => ({stroke: colour(line.colour), width: 2.5, dash: line.dash, spanGaps: true,
        paths: line.steps && xs.length > 1 ? uPlot.paths.stepped({align: 1}) : undefined,
        points: {show: !line.plain, size: 7, fill: colour(line.colour)}}))],
      hooks: {draw: [(self) => marks.forEach((mark) => drawMark(self, mark))]},
    }, columns, holder);
  };
  new ResizeObserver(() => {
    if (chart && holder.clientWidth > 0 && holder.clientWidth !== chart.width)
      chart.setSize({width: Math.max(240, holder.clientWidth), height});
  }).observe(holder);
  requestAnimationFrame(() => drawn(holder, draw));
  return {figure, mark(next) {
    marks = next;
    if (chart) chart.redraw(false);
  }};
}

function drawMark(self, mark) {
  const at = self.valToPos(mark.x, 'x', true);
  const {left, top, width, height} = self.bbox;
  if (!(at >= left - 1 && at <= left + width + 1)) return;
  const {ctx} = self;
  const scale = devicePixelRatio;
  ctx.save();
  ctx.strokeStyle = ctx.fillStyle = colour(mark.colour);
  ctx.lineWidth = 2 * scale;
  ctx.setLineDash((mark.dash || []).map((length) => length * scale));
  ctx.beginPath();
  ctx.moveTo(at, top);
  ctx.lineTo(at, top + height);
  ctx.stroke();
  ctx.font = `600 ${12 * scale}px system-ui, sans-serif`;
  const right = at > left + width / 2;
  ctx.textAlign = right ? 'right' : 'left';
  const [x, y] = [at + (right ? -6 : 6) * scale, top + (mark.row || 1) * 15 * scale];
  const wide = ctx.measureText(mark.label).width;
  ctx.fillStyle = colour('card');
  ctx.fillRect(right ? x - wide : x, y - 11 * scale, wide, 14 * scale);
  ctx.fillStyle = colour(mark.colour);
  ctx.fillText(mark.label, x, y);
  ctx.restore();
}

function decades(low, high) {
  const splits = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); ++power)
    for (const digit of high / low > 200 ? [1] : [1, 2, 5]) {
      const at = Number((digit * 10 ** power).toPrecision(6));
      if (at >= low * .999 && at <= high * 1.001) splits.push(at);
    }
  return splits;
}

function swatch(line) {
  const name = 'http' + '://www.w3.org/2000/svg';  // a name, nothing is fetched
  const svg = document.createElementNS(name, 'svg');
  svg.setAttribute('viewBox', '0 0 28 10');
  svg.setAttribute('aria-hidden', 'true');
  svg.setAttribute('class', 'swatch-line stroke-' + line.colour);
  const stroke = document.createElementNS(name, 'line');
  for (const [key, value] of Object.entries({x1: 0, x2: 28, y1: 5, y2: 5, 'stroke-width': 2.5,
    'stroke-dasharray': (line.dash || []).join(' ')})) stroke.setAttribute(key, value);
  svg.append(stroke);
  return svg;
}

// ---- Parts

export const partOf = (model, k) => model.w.subarray(k * model.rows, (k + 1) * model.rows);
const errorsOf = (model, k) => model.errors && model.errors.subarray(k * model.rows, (k + 1) * model.rows);
export const nameOf = (model, row) => model.names.length ? model.names[row] : '#' + (row + 1);

const LEAST_SIDE = 8;  // 36 features without names are more often a table
// Pixels in a row of a part's picture; 0: it is none. Pixels have no names.
export function imageWidth(model, wanted) {
  if (wanted) return model.rows % wanted === 0 ? wanted : 0;
  if (model.names.length) return 0;
  const side = Math.round(Math.sqrt(model.rows));
  return side >= LEAST_SIDE && side * side === model.rows ? side : 0;
}

// Tells whether entries run down the columns of a picture, as in MATLAB, and not along
// its rows: as the program was told of the data set, else as declared.
export const runsDown = (facts, dataset) =>
  (Object.hasOwn(facts.image_orders, dataset) ? facts.image_orders[dataset] : facts.image_order) === 'column';

// Rows of the largest entries above 0, the largest first; of equal ones the first.
export function largest(part, most) {
  return Array.from(part.keys()).filter((row) => part[row] > 0)
    .sort((a, b) => part[b] - part[a] || a - b).slice(0, most);
}

const topText = (model, k) => {
  const rows = largest(partOf(model, k), 3);
  return rows.length ? 'largest at ' + rows.map((row) => nameOf(model, row)).join(', ') : 'all entries are 0';
};

const mix = (from, to, share) => from.map((one, i) => Math.round(one + share * (to[i] - one)));
const rgb = (name) => colour(name).match(/[0-9a-f]{2}/gi).map((pair) => parseInt(pair, 16));

// 0 is paper, the largest entry full ink. `down`: as runsDown.
export function picture(model, k, width, down) {
  const part = partOf(model, k);
  const height = model.rows / width;
  const place = (i) => down ? (i % height) * width + Math.floor(i / height) : i;
  const canvas = h('canvas', {class: 'picture', role: 'img', width, height,
    'aria-label': `Picture of part ${k + 1}: ${topText(model, k)}`});
  return drawn(canvas, () => {
    const high = part.reduce((a, b) => Math.max(a, b), 0) || 1;
    const [paper, ink] = [rgb('tile'), rgb('tile-ink')];
    const context = canvas.getContext('2d');
    const image = context.createImageData(width, height);
    part.forEach((value, i) => image.data.set([...mix(paper, ink, Math.max(0, value) / high), 255], 4 * place(i)));
    context.putImageData(image, 0, 0);
  });
}

// One picture of several, with their numbers: a PNG. Browsers draw none of more pixels.
const MOST_PIXELS = 2 ** 26;
export async function sheet(canvases) {
  const [gap, title, across] = [16, 24, Math.min(canvases.length, canvases[0].classList.contains('bars') ? 2 : 5)];
  const fit = Math.sqrt(MOST_PIXELS / (canvases.length * Math.max(160, canvases[0].width) * Math.max(160, canvases[0].height)));
  const wide = Math.floor(Math.max(160, canvases[0].width) * Math.min(1, fit));
  const high = Math.round(wide * canvases[0].height / canvases[0].width);
  const whole = h('canvas', {width: gap + across * (wide + gap), height: gap + Math.ceil(canvases.length / across) * (high + title + gap)});
  const context = whole.getContext('2d');
  context.fillStyle = colour('card');
  context.fillRect(0, 0, whole.width, whole.height);
  context.imageSmoothingEnabled = false;
  context.fillStyle = colour('ink');
  context.font = '16px system-ui, sans-serif';
  canvases.forEach((canvas, k) => {
    const [x, y] = [gap + (k % across) * (wide + gap), gap + Math.floor(k / across) * (high + title + gap)];
    context.fillText(`Part ${k + 1}`, x, y + 16);
    context.drawImage(canvas, x, y + title, wide, high);
  });
  const blob = await new Promise((resolve) => { whole.toBlob(resolve, 'image/png'); });
  if (!blob) throw new Error('The picture of all parts is too large for this browser: write it with `dpnmf model RUN --output parts.png`.');
  return blob;
}

// All entries in their order, with what the noise may have moved them by.
export function bars(model, k) {
  const part = partOf(model, k);
  const errors = errorsOf(model, k);
  const [width, height] = [Math.min(1200, Math.max(280, model.rows * 4)), 120];
  const canvas = h('canvas', {class: 'bars', role: 'img', width: 2 * width, height: 2 * height,
    'aria-label': `Entries of part ${k + 1} in the order of the features: ${topText(model, k)}`});
  return drawn(canvas, () => {
    const context = canvas.getContext('2d');
    context.setTransform(2, 0, 0, 2, 0, 0);
    context.clearRect(0, 0, width, height);
    let high = 0;
    part.forEach((value, i) => { high = Math.max(high, value + (errors ? errors[i] : 0)); });
    const step = width / model.rows;
    const up = (value) => height - 1 - (height - 4) * Math.max(0, value) / (high || 1);
    context.fillStyle = colour('spent');
    part.forEach((value, i) => context.fillRect(i * step, up(value), Math.max(.5, step * .8), height - 1 - up(value)));
    context.fillStyle = colour('soft');
    context.fillRect(0, height - 1, width, 1);
    if (!errors) return;
    context.strokeStyle = colour('ink');
    context.lineWidth = 1;
    context.beginPath();
    part.forEach((value, i) => {
      if (!(errors[i] > 0)) return;
      context.moveTo((i + .4) * step, up(value - errors[i]));
      context.lineTo((i + .4) * step, up(value + errors[i]));
    });
    context.stroke();
  });
}

// The features of the largest entries, relative to the largest.
export function top(model, k, most = 8) {
  const part = partOf(model, k);
  const errors = errorsOf(model, k);
  const rows = largest(part, most);
  if (!rows.length) return h('p', {class: 'note'}, 'The part is 0.');
  const high = part[rows[0]];
  const long = rows.some((row) => nameOf(model, row).length > 24);
  return h('ol', {class: long ? 'top-list long' : 'top-list'}, rows.map((row) => {
    const share = part[row] / high;
    const error = errors ? errors[row] / high : 0;
    const bar = h('span', {class: 'top-bar', 'aria-hidden': 'true'}, h('span', {class: 'top-fill'}),
      error ? h('span', {class: 'top-error'}) : null);
    bar.firstChild.style.width = 80 * share + '%';
    if (error) {
      const low = Math.max(0, share - error);
      bar.lastChild.style.left = 80 * low + '%';
      bar.lastChild.style.width = Math.min(100 - 80 * low, 80 * (share + error - low)) + '%';
    }
    return h('li', {}, h('span', {class: 'top-name'}, nameOf(model, row)), bar,
      h('span', {class: 'top-value'}, share.toFixed(2) + (error ? ' ± ' + error.toFixed(2) : '')));
  }));
}

