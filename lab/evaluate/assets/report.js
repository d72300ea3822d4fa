// Draws report.html of `evaluate --input`, with the functions of drawing.js.

const STYLES = stylesOf(data.summary, 'mechanism', {
  'none': 'no privacy',
  'mean': 'mean alone, no privacy',
  'prior': 'priors alone',
  'paper': 'published',
  'paper-nndsvd': 'published, W₀ = NNDSVD(V)',
  'nndsvd': 'W₀ = NNDSVD(V) alone',
});

function nameOf(setting, withRounds) {
  let name = STYLES[setting.mechanism].label;
  if (withRounds && setting.rounds) name += ', T = ' + setting.rounds;
  if (setting.outliers) name += ', outliers modelled';
  return name;
}

// --- what is shown

// Finds, of rows that differ in rounds alone, the one of least median.
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
const distorted = data.summary.filter((row) => row.data !== 'as given');
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
    'What does not learn in rounds is drawn as a level. The epsilon in the title is spent when the last round is done. ' +
    'These curves are exact functions of V: nobody who learns in private sees them.', 'note');
  const plots = add(root, 'div', null, 'plots');
  const largest = (mechanism) => Math.max(...rows.filter((row) => row.mechanism === mechanism).map((row) => row.rounds));
  for (const epsilon of epsilons) {
    const lines = [];
    for (const row of rows.filter((one) => one.epsilon === epsilon || one.epsilon === null)) {
      const style = {...STYLES[row.mechanism], label: nameOf(row, true)};
      const points = curveOf(row);
      if (row.rounds === null && points.length < 2) lines.push({...style, level: row.median});
      else if (row.rounds === null || row.rounds === largest(row.mechanism)) lines.push({...style, points});
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
  if (distorted.length === 0) return;
  add(root, 'h2', 'Outliers');
  add(root, 'p', 'Learned with 70 % of the entries of 10 % of the users distorted (uniform noise of [−1, 1] where the ' +
    'largest entry is 1, then max(0, ·) and columns scaled to length 1); measured on the data as given. ' +
    '“Outliers modelled”: V ≈ WH + R with lambda ' + short(data.lambda_used) + ', bound ' +
    short(data.outlier_bound_used) + '.', 'note');
  addPlot(root, {title: 'Median objective on the data as given', xLabel: 'overall epsilon (log scale)', xShort: 'epsilon',
    yLabel: OBJECTIVE, xTicks: epsilons.length <= 8 ? epsilons : null, width: 860, height: 420}, linesOverEpsilon(distorted));
  addSummaryTables(distorted, 'Objective; learned with outliers added, measured on the data as given');
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
  const runsDown = data.options.image_order === 'column';
  for (let k = 0; k < picture.columns; ++k) {
    const left = 4 + (k % across) * (width * scale + 4), top = 4 + Math.floor(k / across) * (height * scale + 4);
    for (let i = 0; i < data.features; ++i) {
      const grey = 255 - pixels[k * data.features + i];
      pen.fillStyle = 'rgb(' + grey + ',' + grey + ',' + grey + ')';
      const [x, y] = runsDown ? [Math.floor(i / height), i % height] : [i % width, Math.floor(i / width)];
      pen.fillRect(left + x * scale, top + y * scale, scale, scale);
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

addHead();
addOverEpsilon();
addLearningCurves();
addPublished();
addOutlierExperiment();
addPictures();
addTopics();
addOptions();
document.documentElement.dataset.drawn = 'yes';
