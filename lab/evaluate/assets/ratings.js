// Draws report.html of `evaluate --ratings`, with the functions of drawing.js.

const STYLES = stylesOf(data.summary, 'method', {
  'ratings': 'ratings (private)',
  'published': 'published, claimed epsilon',
  'bias': 'bias, no privacy',
  'popularity': 'popularity, no privacy',
  'als': 'ALS, no privacy',
  'ease': 'EASE, no privacy',
  'mean': 'mean of all ratings',
});

const epsilons = unique(data.summary.map((row) => row.epsilon).filter((e) => e !== null)).sort((a, b) => a - b);
const percent = (x) => x === null || x === undefined ? '–' : (100 * x).toFixed(1) + ' %';
const nameOf = (row) => STYLES[row.method].label;

const HELD_OUT = {
  rating: 'every rating by itself with probability ' + data.options.holdout,
  person: 'people with probability ' + data.options.holdout + ', whom the model never saw; a fifth of their ratings is ' +
    'measured, the others are known to their own solve',
  time: 'the latest ratings of each person, a share of ' + data.options.holdout,
};

function addHead() {
  add(root, 'h1', data.dataset);
  const o = data.options;
  add(root, 'p', count(data.ratings, 'ratings') + ' of ' + count(data.items, 'items (D)') + ' by ' +
    count(data.people, 'people') + ', N = ' + data.users.toLocaleString('en') + ', ' +
    count(data.item_features, 'public features of items') + ', range ' + o.rating_range + ', delta ' + short(o.delta) +
    ', ' + count(o.repeats, o.repeats === 1 ? 'repeat' : 'repeats') + ', seed ' + o.seed +
    (o.public ? ', declared public' : ', not declared public') + '.');
  add(root, 'p', 'Held out: ' + HELD_OUT[o.by] + '.');
  if (o.users_count === null)
    add(root, 'p', 'N is the number of people in the file. A release may not use that: import declares N.', 'note');
  if (!data.complete)
    add(root, 'p', 'Interrupted: ' + (data.results.length + data.study.length) + ' of ' + data.planned + ' trials were done.');
}

// A line for each method that has the figure.
function linesOf(figure) {
  return unique(data.summary.map((row) => row.method)).map((method) => {
    const rows = data.summary.filter((row) => row.method === method && row.median[figure] !== null);
    const line = {...STYLES[method], points: []};
    if (rows.length > 0 && rows[0].epsilon === null) return {...line, level: rows[0].median[figure]};
    line.points = rows.map((row) => ({x: row.epsilon, y: row.median[figure], low: row.least[figure],
      high: row.largest[figure]})).sort((a, b) => a.x - b.x);
    return line;
  }).filter((line) => line.level !== undefined || line.points.length > 0);
}

function addFigures() {
  add(root, 'h2', 'Against overall epsilon');
  const relation = {replace_one: 'one person’s ratings replaced by another’s', add_remove_one: 'one person more or fewer',
    one_rating: 'one rating of one person added, removed or changed'}[data.options.adjacency];
  add(root, 'p', 'Medians over repeats; bands are their range. Epsilon of “ratings” is that of all releases together at ' +
    'delta ' + short(data.options.delta) + ' (conversion ' + data.options.conversion + '); neighbours: ' + relation +
    '. “Published” is algorithm 1 of Mugdho and Imtiaz (arXiv 2304.09096), 300 rounds, n = 20, step 0.0005, delta a ' +
    'round 0.01; its epsilon is claimed for one rating’s value and does not hold: the items’ profiles are updated ' +
    'from exact ratings, which its proof leaves out.', 'note');
  const plots = add(root, 'div', null, 'plots');
  const options = {xLabel: 'overall epsilon (log scale)', xShort: 'epsilon', width: 510, height: 340,
    xTicks: epsilons.length <= 8 ? epsilons : null};
  addPlot(plots, {...options, title: 'RMSE of held-out ratings (lower is better)', yLabel: 'RMSE, clipped to the range'},
    linesOf('rmse'));
  addPlot(plots, {...options, title: 'Recall@20 (higher is better)', yLabel: 'recall over min(20, relevant)'},
    linesOf('recall20'));
  addPlot(plots, {...options, title: 'nDCG@20 (higher is better)', yLabel: 'nDCG'},
    linesOf('ndcg20'));
  addPlot(plots, {...options, title: 'Coverage: share of the catalogue in somebody’s list', yLabel: 'share of items'},
    linesOf('coverage'));
  addTable(root, 'Medians. Relevant: held-out ratings of at least three quarters of the range; own items are not listed', [
    {title: 'method', of: nameOf},
    {title: 'epsilon', number: true, of: (row) => short(row.epsilon)},
    {title: 'RMSE', number: true, of: (row) => four(row.median.rmse)},
    {title: 'least', number: true, of: (row) => four(row.least.rmse)},
    {title: 'largest', number: true, of: (row) => four(row.largest.rmse)},
    {title: 'MAE', number: true, of: (row) => four(row.median.mae)},
    {title: 'recall@20', number: true, of: (row) => four(row.median.recall20)},
    {title: 'nDCG@20', number: true, of: (row) => four(row.median.ndcg20)},
    {title: 'coverage', number: true, of: (row) => percent(row.median.coverage)},
    {title: 'repeats', number: true, of: (row) => row.repeats},
    {title: 'seconds', number: true, of: (row) => row.seconds.toFixed(2)},
  ], data.summary);
}

function addGroups() {
  const rows = data.summary.flatMap((row) => row.groups.map((group) => ({...group, row})));
  if (rows.length === 0) return;
  add(root, 'h2', 'What popular and rare items get');
  add(root, 'p', 'Items by their rank in the number of learned ratings. Places: share of all places in all lists of 20. ' +
    'Listed: share of the group’s items that stand in somebody’s list. Recall: held-out relevant ratings of the group ' +
    'that a list found.', 'note');
  addTable(root, null, [
    {title: 'method', of: (one) => nameOf(one.row)},
    {title: 'epsilon', number: true, of: (one) => short(one.row.epsilon)},
    {title: 'items by popularity', of: (one) => one.name},
    {title: 'items', number: true, of: (one) => one.items},
    {title: 'of learned ratings', number: true, of: (one) => percent(one.rating_share)},
    {title: 'of places', number: true, of: (one) => percent(one.list_share)},
    {title: 'listed', number: true, of: (one) => percent(one.listed_share)},
    {title: 'RMSE', number: true, of: (one) => four(one.rmse)},
    {title: 'recall', number: true, of: (one) => percent(one.recall)},
  ], rows);
}

function addPlans() {
  if (data.plans.length === 0) return;
  add(root, 'h2', 'Plans of “ratings”');
  add(root, 'p', 'What each epsilon is spent on: share of the cost (mu²) by release.', 'note');
  addTable(root, null, [
    {title: 'epsilon', number: true, of: (plan) => short(plan.epsilon)},
    {title: 'releases', className: 'words', of: (plan) => plan.releases.map((one) =>
      one.release + (one.rounds > 1 ? ' × ' + one.rounds : '') + ' ' + percent(one.share)).join(', ')},
    {title: 'rank q', number: true, of: (plan) => plan.rank},
    {title: 'rows M', number: true, of: (plan) => plan.moment_rows},
    {title: 'directions r', number: true, of: (plan) => plan.profile_directions},
  ], data.plans);
}

const epsilonLabel = (e) => e === 0 ? 'no noise' : 'epsilon ' + short(e) + ' a round';

// Lines of a study by the epsilon of a round; of(run): the point.
function studyLines(runs, of) {
  return unique(runs.map((run) => run.epsilon_per_round)).map((epsilon, i) => ({label: epsilonLabel(epsilon),
    color: RAMP[i % RAMP.length], dash: epsilon === 0 ? [6, 4] : [],
    points: runs.filter((run) => run.epsilon_per_round === epsilon).map(of).filter((p) => p.y !== null && p.y > 0)
      .sort((a, b) => a.x - b.x)}));
}

// The mechanism `ratings` on the split of the study, which is that of the first repeat.
const oursOnSplit = () => data.results.filter((one) => one.method === 'ratings' && one.repeat === 1);
const oursAsLevels = () => oursOnSplit().map((one, i) => ({label: 'ratings (private), epsilon ' + short(one.epsilon),
  color: 'g0', dash: [[1, 3], [6, 4], [10, 3, 2, 3], [2, 6]][i % 4], level: one.rmse}));

function addStudyOf(study, xOf, xLabel, xShort) {
  const runs = data.study.filter((run) => run.study === study && run.curve.length > 0);
  if (runs.length === 0) return;
  const last = (run) => run.curve[run.curve.length - 1];
  const plots = add(root, 'div', null, 'plots');
  const options = {xLabel, xShort, width: 510, height: 340};
  const plot = (title, yLabel, yOf, yLog, beside = []) => addPlot(plots, {...options, title, yLabel, yLog},
    [...studyLines(runs, (run) => ({x: xOf(run), y: yOf(run)})), ...beside]);
  plot('Held-out RMSE', 'RMSE', (run) => last(run).held_out_rmse, false, oursAsLevels());
  plot('Training RMSE', 'RMSE', (run) => last(run).train_rmse);
  plot('Claimed overall epsilon', 'epsilon (log scale)', (run) => last(run).claimed_epsilon, true);
  plot('Rounds until it stops', 'rounds (log scale)', (run) => run.rounds, true);
  plot('Time of a round', 'ms (log scale)', (run) => run.ms_per_round, true);
}

function addStudy() {
  if (data.study.length === 0) return;
  add(root, 'h2', 'The published algorithm: its figures on these data');
  add(root, 'p', 'Algorithm 1 as published (C = 1, delta a round 0.01, lambda 0.01, which it does not name), on the ' +
    'split of the first repeat. Its own figures show the RMSE of training entries; held-out entries are shown beside ' +
    'them. Epsilon is as claimed.', 'note');
  const ours = oursOnSplit();
  if (ours.length > 0) {
    add(root, 'p', 'Beside it, “ratings” on the same split, whose epsilon is guaranteed: ' +
      ours.map((one) => 'RMSE ' + four(one.rmse) + ' at epsilon ' + short(one.epsilon) + ', ' + one.seconds.toFixed(2) +
      ' s').join('; ') + '.');
  }
  add(root, 'h3', 'RMSE against rounds');
  const rounds = data.study.filter((run) => run.study === 'rounds');
  const plots = add(root, 'div', null, 'plots');
  for (const [figure, title] of [['train_rmse', 'Training RMSE'], ['held_out_rmse', 'Held-out RMSE']])
    addPlot(plots, {title, xLabel: 'round (log scale)', xShort: 'round', yLabel: 'RMSE', width: 510, height: 340,
      markers: false}, rounds.map((run, i) => ({label: epsilonLabel(run.epsilon_per_round), color: RAMP[i % RAMP.length],
      dash: run.epsilon_per_round === 0 ? [6, 4] : [], points: run.curve.filter((p) => p.round > 0 && p[figure] !== null)
        .map((p) => ({x: p.round, y: p[figure]}))})).concat(figure === 'held_out_rmse' ? oursAsLevels() : []));
  add(root, 'p', 'Below, a run ends when its training RMSE (not clipped) has not fallen by a thousandth within ten rounds, at most ' +
    'after 300 rounds; the publication says “converged” and names no rule.', 'note');
  add(root, 'h3', 'Against the epsilon of a round');
  const own = data.study.filter((run) => run.study === 'epsilon');
  addTable(root, null, [
    {title: 'epsilon a round', number: true, of: (run) => run.epsilon_per_round === 0 ? 'no noise' : short(run.epsilon_per_round)},
    {title: 'rounds', number: true, of: (run) => run.rounds},
    {title: 'ended', of: (run) => run.ended},
    {title: 'claimed epsilon', number: true, of: (run) => run.epsilon_per_round === 0 ? '–' : short(run.curve[run.curve.length - 1].claimed_epsilon)},
    {title: 'training RMSE', number: true, of: (run) => four(run.curve[run.curve.length - 1].train_rmse)},
    {title: 'held-out RMSE', number: true, of: (run) => four(run.curve[run.curve.length - 1].held_out_rmse)},
    {title: 'ms a round', number: true, of: (run) => run.ms_per_round.toFixed(1)},
  ], own.filter((run) => run.curve.length > 0));
  add(root, 'h3', 'Against the profiles’ length n');
  addStudyOf('n', (run) => run.n, 'n (log scale)', 'n');
  add(root, 'h3', 'Against the step');
  addStudyOf('step', (run) => run.step, 'step (log scale)', 'step');
}

addHead();
addFigures();
addGroups();
addPlans();
addStudy();
addOptions();
document.documentElement.dataset.drawn = 'yes';
