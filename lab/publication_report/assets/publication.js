// Draws report.html of `distort`, `complete`, `attack` and `synthesise`, with the functions of
// drawing.js.

const KINDS = {
  original: {label: 'original', color: 'g0', dash: [2, 3]},
  distorted: {label: 'distorted', color: 'c1', dash: []},
  completed: {label: 'completed', color: 'c0', dash: [10, 3]},
  foreign: {label: 'another tool’s', color: 'c3', dash: [6, 4]},
  synthetic: {label: 'synthetic people', color: 'c2', dash: [3, 3]},
  private: {label: 'private model, no table', color: 'c4', dash: [6, 2, 2, 2]},
};
const kindOf = (row) => KINDS[row.kind] || KINDS.foreign;
const nameOf = (row) => row.method + (row.epsilon === null ? '' : ', epsilon ' + short(row.epsilon));
const percent = (x) => x === null || x === undefined ? '–' : (100 * x).toFixed(1) + ' %';
const range = (share) => share ? percent(share.low) + ' to ' + percent(share.high) : '–';
const valueOf = (share) => share ? share.value : null;
const isDrawn = Object.keys(data.drawn).length > 0;
const attacked = data.tables.filter((row) => row.attacks);
const strongestOf = (row) => row.attacks.linkage.reduce((best, one) =>
  best === null || one.linked.value > best.linked.value ? one : best, null);

function addHead() {
  add(root, 'h1', data.data);
  add(root, 'p', count(data.people, 'people') + ', ' + count(data.columns, data.command.startsWith('complete') ? 'items' : 'columns') +
    ', ' + count(data.tables.length, data.tables.length === 1 ? 'table' : 'tables') + ' ' +
    (isDrawn ? 'drawn' : 'judged') + ' by dpnmf-lab ' + data.command + '.');
  if (isDrawn) {
    add(root, 'h2', 'What was drawn, and from what');
    addTable(root, null, [{title: 'fact', of: (fact) => fact[0]}, {title: 'value', of: (fact) => fact[1]}],
      Object.entries(data.drawn));
    for (const row of data.tables) if (row.note) add(root, 'p', row.note, 'note');
  }
  if (isDrawn && attacked.length === 0) return;
  add(root, 'h2', 'What an attacker found');
  const list = add(root, 'ul');
  for (const sentence of data.findings) add(list, 'li', sentence);
  if (attacked.length === 1) for (const sentence of attacked[0].words.slice(1)) add(list, 'li', sentence);
  const once = attacked.some((row) => row.attacks.people && (row.attacks.people.attacked_are || '').includes('once'));
  add(root, 'p', 'Found: the published row nearest to what the attacker knows is the person’s own. In brackets: the ' +
    'interval of 95 % (Clopper and Pearson).' + (once ? ' Only people whose row occurs once in the original are attacked: ' +
    'the others cannot be told apart even there.' : ''), 'note');
}

// --- linkage against something, one point a table

// points: {x, y, row}; the axes are linear.
function addScatter(parent, options, points) {
  const shown = points.filter((point) => point.x !== null && point.y !== null && point.x !== undefined && point.y !== undefined);
  if (shown.length === 0) return;
  const figure = add(parent, 'figure');
  add(figure, 'figcaption', options.title);
  const legend = add(figure, 'ul', null, 'legend');
  const kinds = unique(shown.map((point) => point.row.kind));
  for (const kind of kinds) {
    const item = add(legend, 'li');
    item.append(dot((KINDS[kind] || KINDS.foreign).color));
    add(item, 'span', (KINDS[kind] || KINDS.foreign).label);
  }
  const span = (values, least) => {
    const low = Math.min(...values), high = Math.max(...values), pad = Math.max(0.1 * (high - low), least);
    return [low - pad, high + pad];
  };
  const xRange = options.xRange || span(shown.map((point) => point.x), 0.01);
  const yRange = options.yRange || span(shown.map((point) => point.y), 0.01);
  const xs = unique(shown.map((point) => point.x)).sort((a, b) => a - b);
  // uPlot takes one number a series and place: points at the same x are series of their own.
  const columns = [xs], series = [{}];
  for (const point of shown) {
    const paint = () => colour(kindOf(point.row).color);
    series.push({label: nameOf(point.row), stroke: paint, paths: () => null, points: {show: true, size: 9, fill: paint}});
    columns.push(xs.map((x) => x === point.x ? point.y : null));
  }
  const decimals = (splits) => alike(splits);
  keepDrawn(figure, options.width, (width) => new uPlot({
    width, height: options.height, legend: {show: false}, cursor: {show: false},
    scales: {x: {time: false, range: () => xRange}, y: {range: () => yRange}},
    axes: [{...axisNow(), label: options.xLabel, size: 42, labelSize: 26, values: (_, splits) => decimals(splits)},
      {...axisNow(), label: options.yLabel, size: 64, labelSize: 26, values: (_, splits) => decimals(splits)}],
    series,
    hooks: {draw: [(plot) => nameTogether(plot, shown)]},
  }, columns, figure));
}

function dot(color) {
  const space = 'http' + '://www.w3.org/2000/svg';  // a name, nothing is fetched
  const svg = document.createElementNS(space, 'svg');
  const circle = document.createElementNS(space, 'circle');
  for (const [key, value] of [['width', 12], ['height', 12]]) svg.setAttribute(key, value);
  for (const [key, value] of [['cx', 6], ['cy', 6], ['r', 5], ['fill', `var(--${color})`]]) circle.setAttribute(key, value);
  svg.append(circle);
  return svg;
}

// Writes the names beside the points: points that lie together share a label of
// several lines; a label that would cover another one, or a point, moves.
function nameTogether(plot, points) {
  const scale = devicePixelRatio || 1, groups = [], placed = [];
  for (const point of points) {
    const x = plot.valToPos(point.x, 'x', true), y = plot.valToPos(point.y, 'y', true);
    placed.push({from: x - 6 * scale, to: x + 6 * scale, top: y - 4 * scale, bottom: y + 4 * scale});
    const near = groups.find((group) => Math.abs(group.x - x) < 40 * scale && Math.abs(group.y - y) < 20 * scale);
    if (near) near.names.push(nameOf(point.row));
    else groups.push({x, y, names: [nameOf(point.row)]});
  }
  const context = plot.ctx, box = plot.bbox, height = 14 * scale;
  context.save();
  context.font = 12 * scale + 'px system-ui, sans-serif';
  context.fillStyle = colour('ink');
  context.textBaseline = 'middle';
  for (const group of groups) {
    const lines = [];
    for (const name of group.names) {
      const last = lines.length - 1;
      if (last >= 0 && lines[last].length + name.length < 24) lines[last] += ', ' + name;
      else lines.push(name);
    }
    const left = group.x > box.left + box.width / 2;
    const width = Math.max(...lines.map((line) => context.measureText(line).width));
    const from = left ? group.x - 9 * scale - width : group.x + 9 * scale;
    const least = box.top, most = box.top + box.height - lines.length * height;
    const wanted = group.y - lines.length * height / 2;
    const free = (top) => top >= least && top <= most && !placed.some((other) => from < other.to && from + width > other.from &&
      top < other.bottom && top + lines.length * height > other.top);
    let top = Math.min(Math.max(wanted, least), most);
    for (let step = 0; step < 60 && !free(top); ++step)
      top = Math.min(Math.max(wanted, least), most) + (step % 2 ? -1 : 1) * Math.ceil((step + 1) / 2) * height / 2;
    placed.push({from, to: from + width, top, bottom: top + lines.length * height});
    if (group.y < top || group.y > top + lines.length * height) {  // it moved: a line says where it belongs
      context.strokeStyle = colour('rule');
      context.lineWidth = scale;
      context.beginPath();
      context.moveTo(group.x + (left ? -4 : 4) * scale, group.y);
      context.lineTo(group.x + (left ? -8 : 8) * scale, top + lines.length * height / 2);
      context.stroke();
    }
    context.textAlign = left ? 'right' : 'left';
    lines.forEach((line, i) => context.fillText(line, group.x + (left ? -9 : 9) * scale, top + (i + 0.5) * height));
  }
  context.restore();
}

function addAgainstLinkage() {
  const size = {width: 510, height: 360};
  const linked = (row) => valueOf(row.attacks.linked_all_known), four = (row) => valueOf(row.attacks.linked_4_known);
  const plots = document.createElement('div');
  plots.className = 'plots';
  root.append(plots);
  const share = [-0.06, 1.06];
  const strongest = (row) => strongestOf(row) ? strongestOf(row).linked.value : null;
  const against = (title, xLabel, xOf, yLabel, yOf, ranges) => addScatter(plots, {...size, title, xLabel, yLabel, ...ranges},
    attacked.map((row) => ({x: xOf(row), y: yOf(row), row})));
  against('Accuracy against linkage: who is useful, who is found', 'share of people found, all values known', linked,
    'accuracy of the classifier', (row) => row.accuracy, {xRange: share});
  against('Accuracy on the original rows against linkage', 'share of people found, strongest attack', strongest,
    'accuracy on original rows', (row) => row.accuracy_on_original, {xRange: share});
  against('VD promises nothing: linkage against VD', 'VD = |A - published| / |A|', (row) => row.vd,
    'share of people found, strongest attack', strongest, {yRange: share});
  against('Linkage with four known values against VD', 'VD = |A - published| / |A|', (row) => row.vd,
    'share of people found', four, {yRange: share});
  // A private completion publishes no table in which somebody could be found.
  const completed = data.tables.filter((row) => row.mae !== null && (row.attacks || row.kind === 'private'));
  const unpublished = completed.some((row) => !row.attacks);
  addScatter(plots, {...size, title: 'MAE against linkage' + (unpublished ? ' (at 0: private, no table is published)' : ''),
    xLabel: 'share of people found, all ratings known', yLabel: 'MAE of held-out ratings', xRange: share},
  completed.map((row) => ({x: row.attacks ? linked(row) : 0, y: row.mae, row})));
  if (plots.childElementCount === 0) return plots.remove();
  const head = document.createElement('h2');
  head.textContent = 'Usefulness against linkage';
  root.insertBefore(head, plots);
}

function addLinkage() {
  if (attacked.length === 0) return;
  add(root, 'h2', 'Linkage');
  const plots = add(root, 'div', null, 'plots');
  const ways = [
    ['known exactly', (one) => /^\d+ (values?|ratings?)$/.test(one.knows)],
    ['each value on its column’s scale', (one) => one.knows.includes('scale') && one.error === 0],
    ['ratings less the items’ means', (one) => one.knows.includes('means') && one.error === 0 && one.known > 0],
    ['known within an error', (one) => one.error > 0 && one.known > 0 && !/means|dated/.test(one.knows)],
    ['known exactly, with dates', (one) => one.knows.includes('dated') && one.error === 0 && one.known > 0],
  ];
  for (const [title, isOf] of ways) {
    const lines = attacked.map((row, i) => ({label: nameOf(row), color: RAMP[i % RAMP.length],
      dash: attacked.length === 1 ? [] : i < RAMP.length ? kindOf(row).dash : [4, 2, 1, 2],
      points: row.attacks.linkage.filter(isOf).map((one) => ({x: one.known, y: one.linked.value, low: one.linked.low, high: one.linked.high}))}));
    if (lines.some((line) => line.points.length > 1))
      addPlot(plots, {title: 'People found: ' + title, xLabel: 'known (log scale)', xShort: 'known', yLabel: 'share of people',
        yRange: [-0.02, 1.04], width: 510, height: 340}, attacked.length > 1 ? lines.map((line) => ({...line, points: line.points.map((p) => ({x: p.x, y: p.y}))})) : lines);
  }
  if (attacked.length > 1) return addLinkageOfTables();
  const one = attacked[0], folded = add(root, 'details');
  add(folded, 'summary', 'All ' + one.attacks.linkage.length + ' linkage attacks');
  addTable(folded, null, [
    {title: 'the attacker knows', of: (linkage) => linkage.knows},
    {title: 'found', number: true, of: (linkage) => percent(linkage.linked.value)},
    {title: '95 %', number: true, of: (linkage) => range(linkage.linked)},
    {title: 'by guessing', number: true, of: (linkage) => percent(linkage.chance)},
    {title: 'attacked', number: true, of: (linkage) => linkage.linked.of},
  ], one.attacks.linkage);
}

// A row a table, a column for what the attacker knows.
function addLinkageOfTables() {
  const all = data.columns;
  const shown = (one) => one.knows.includes('pairs') || one.known === all || one.knows.startsWith('all') ||
    (one.error === 0 && (one.knows === '4 values' || one.knows === '4 ratings' || one.knows === '16 ratings'));
  const ways = unique(attacked.flatMap((row) => row.attacks.linkage.filter(shown).map((one) => one.knows)));
  const cell = (row, way) => row.attacks.linkage.find((one) => one.knows === way);
  addTable(root, 'People found, by what the attacker knows', [
    {title: 'table', of: nameOf},
    ...ways.map((way) => ({title: way, number: true,
      of: (row) => cell(row, way) ? percent(cell(row, way).linked.value) : '–'})),
    {title: 'largest, upper end', number: true, of: (row) => percent(row.attacks.largest_linkage)},
  ], attacked);
}

function addOtherAttacks() {
  const rows = attacked.filter((row) => row.attacks.attributes || valueOf(row.attacks.membership.auc) !== null);
  if (rows.length === 0) return;
  const ofTables = rows.some((row) => row.attacks.attributes);  // ratings have no cells to restore
  add(root, 'h2', ofTables ? 'Membership, attributes, reconstruction, singling out' : 'Membership');
  add(root, 'p', 'Membership: how well an attacker tells people of the table from others by the distance to the nearest row ' +
    '(AUC 0.5 is chance; interval of DeLong). ' + (!ofTables ? '' : 'Attribute: one value of a person is unknown and read from the row nearest by ' +
    'all others; “without” leaves the person’s own row out. Restored: cells that the attacker gets back exactly (a ' +
    'number that is not whole: within a tenth of its column’s standard deviation). Singled out: published rows that, read ' +
    'in all columns, fit exactly one person; “margins” takes each number from another row.'), 'note');
  const restored = (row, way) => row.attacks.reconstruction && row.attacks.reconstruction[way]
    ? row.attacks.reconstruction[way].cells : null;
  const single = (row, which) => row.attacks.singling_out && row.attacks.singling_out.length
    ? valueOf(row.attacks.singling_out[row.attacks.singling_out.length - 1][which]) : null;
  const auc = (row) => row.attacks.membership.auc;
  addTable(root, null, [
    {title: 'table', of: nameOf},
    {title: 'AUC', number: true, of: (row) => auc(row) ? auc(row).value.toFixed(2) : '–'},
    {title: '95 %', number: true, of: (row) => auc(row) ? auc(row).low.toFixed(2) + ' to ' + auc(row).high.toFixed(2) : '–'},
    {title: 'members at 1 %', number: true, of: (row) => percent(valueOf(row.attacks.membership.found_at_1_percent))},
    ...!ofTables ? [] : [
      {title: 'attribute', number: true, of: (row) => percent(valueOf(row.attacks.attributes && row.attacks.attributes.with_table))},
      {title: 'without', number: true, of: (row) => percent(valueOf(row.attacks.attributes && row.attacks.attributes.without_own_row))},
      {title: 'singled out', number: true, of: (row) => percent(single(row, 'isolated'))},
      {title: 'margins', number: true, of: (row) => percent(single(row, 'margins'))}],
  ], rows);
  if (!ofTables) return;
  const ways = ['floor', 'rounding', 'shifted', 'denoised', 'regression'];
  addTable(root, 'Cells restored, by the way of reading', [
    {title: 'table', of: nameOf},
    ...ways.map((way) => ({title: way, number: true, of: (row) => percent(restored(row, way))})),
  ], rows);
}

const FIGURES = [['vd', 'VD', four], ['rp', 'RP', (x) => x === null ? '–' : x.toFixed(2)], ['rk', 'RK', four], ['cp', 'CP', four],
  ['ck', 'CK', four], ['accuracy', 'accuracy', four], ['accuracy_on_original', 'on original rows', four], ['mae', 'MAE', four],
  ['pi_all', 'Pi, all cells', four], ['pi_rated', 'Pi, rated cells', four]];

// How far a table was changed. A table from a differentially private release has a
// guarantee in their place, and is not judged by them.
const OF_CHANGE = ['vd', 'rp', 'rk', 'cp', 'ck', 'pi_all', 'pi_rated'];
const isGuaranteed = (row) => row.kind === 'synthetic' && typeof row.epsilon === 'number' && typeof row.delta === 'number';
const figureOf = (row, key) => isGuaranteed(row) && OF_CHANGE.includes(key) ? null : row[key];

function addMeasures() {
  const shown = FIGURES.filter(([key]) => data.tables.some((row) => figureOf(row, key) !== null));
  if (shown.length === 0) return;
  const isChange = shown.some(([key]) => OF_CHANGE.includes(key));
  add(root, 'h2', isDrawn ? 'Figures on real people (uncharged: stays in your draft)' : isChange ? 'Measures of the publications' : 'Figures on real people');
  if (isChange) add(root, 'p', 'VD, RP, RK, CP and CK measure how much numbers and places changed, Pi how uncertain the original is given the ' +
    'table. None of them says whether a person is found, and none is shown for a table from a differentially private release: its guarantee is its epsilon and delta.', 'note');
  addTable(root, null, [
    {title: 'table', of: nameOf},
    {title: 'guarantee', of: (row) => isGuaranteed(row) ? `epsilon ${short(row.epsilon)} at delta ${row.delta}`
      : ['original', 'private', 'synthetic'].includes(row.kind) ? '–' : 'none'},
    ...shown.map(([key, title, form]) => ({title, number: true, of: (row) => form(figureOf(row, key))})),
    ...attacked.length === 0 ? [] : [
      {title: 'found, all known', number: true, of: (row) => row.attacks ? percent(valueOf(row.attacks.linked_all_known)) : '–'},
      {title: 'found, 4 known', number: true, of: (row) => row.attacks ? percent(valueOf(row.attacks.linked_4_known)) : '–'}],
  ], data.tables);
  if (!isDrawn) {
    for (const note of unique(data.tables.map((row) => row.note)).filter((one) => one)) {
      const names = data.tables.filter((row) => row.note === note).map(nameOf);
      add(root, 'p', names.join('; ') + ': ' + note, 'note');
    }
  }
  if (data.published.length === 0) return;
  add(root, 'h3', 'The publication’s figures beside ours');
  const both = data.published.map((theirs) => ({theirs, ours: data.tables.find((row) => row.method === theirs.method)}));
  const keys = FIGURES.filter(([key]) => both.some((one) => one.theirs[key] !== null && one.theirs[key] !== undefined));
  addTable(root, null, [
    {title: 'method', of: (one) => one.theirs.method},
    ...keys.flatMap(([key, title, form]) => [
      {title: title + ', published', number: true, of: (one) => form(one.theirs[key] === undefined ? null : one.theirs[key])},
      {title: 'ours', number: true, of: (one) => one.ours ? form(one.ours[key]) : '–'}]),
  ], both);
  for (const {theirs, ours} of both)
    if (ours && theirs.reason) add(root, 'p', theirs.method + ': ' + theirs.reason, 'note');
}

addHead();
if (attacked.length > 1) addAgainstLinkage();
addLinkage();
addOtherAttacks();
addMeasures();
addOptions();
document.documentElement.dataset.drawn = 'yes';
