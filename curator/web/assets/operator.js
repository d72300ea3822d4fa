// The operator's views. All of them show one answer of the curator, read again while
// they are open; the checks are made when they are asked for.
import * as calls from './calls.js';
import {empty, facts, fill, h, listing, moment, paged, plural, problem, runCode, say, short, table, unbroken, upward, voidMark, whole} from './dom.js';
import {gauge, progress} from './draw.js';
import {begin} from './frame.js';

const REFRESH = 5000;
const code = (text) => h('code', {}, text);
const none = h.bind(null, 'span', {class: 'soft'}, '–');

// Shows `content(status, list)` under the title; again every few seconds, if it differs.
// `long` describes the list of the view, if it has one: as listing() or paged() take it,
// and rows(status).
function view(title, lead, content, long) {
  return async ({holder, heading, signal, persist}) => {
    const list = long && (long.columns ? listing(long) : paged(long));
    let before = '';
    // Refused here, the frame says what it waits for.
    let next = await calls.get('/api/status', {}, signal);
    await persist(async () => {
      const status = next || await calls.get('/api/status', {}, signal);
      next = null;
      const {now, ...rest} = status;
      const text = JSON.stringify(rest);
      if (text !== before) {
        if (list) list.show(long.rows(status));
        const focused = document.activeElement;
        fill(holder, heading(title), h('p', {class: 'lead'}, lead), content(status, list?.node));
        if (list && list.node.contains(focused)) focused.focus();
      }
      before = text;
      return REFRESH;
    });
  };
}

// ---- Budgets

const kindOf = (one) => [one.ratings ? 'ratings' : one.normalisation === 'l2' ? 'each person scaled to length 1' : `each person of length up to ${short(one.column_bound)}`,
  one.weighted ? 'weighted' : null, one.sparse ? 'sparse' : null, one.sums ? 'sums' : null, one.public ? 'public' : null, one.classes ? `${one.classes.length} classes` : null]
  .filter(Boolean).join(', ');

function population(one, status) {
  const own = status.datasets.filter((dataset) => dataset.population === one.name);
  const open = status.runs.open.filter((run) => run.population === one.name);
  return h('section', {class: 'card', 'aria-label': 'Population ' + one.name},
    h('div', {class: 'card-head'}, h('h2', {}, 'Population ', one.name),
      h('p', {class: 'soft'}, unbroken('Guarantee: ' + one.reading.guarantee))),
    voidMark(one.void_since),
    gauge(one, one.reading),
    open.length === 0 ? null : h('p', {class: 'note'}, `${plural(open.length, 'open run')}; if nothing is returned, ${one.reading.spent_and_reserved} will be spent. `,
      h('a', {href: '#/runs'}, 'See the runs')),
    !one.partitions ? null : table('Partitions of population ' + one.name + ', each with the whole cap', [
      {title: 'Partition', of: (part) => h('strong', {}, part.name)},
      {title: 'Spent so far, epsilon', number: true, of: (part) => part.reading.spent},
      {title: 'Spent and reserved', number: true, of: (part) => part.reading.spent_and_reserved},
      {title: 'Largest run', number: true, of: (part) => part.reading.largest_run},
    ], one.partitions),
    own.length === 0 ? empty('No data set', 'No data set of this population is served.') : table('Data sets of population ' + one.name, [
      {title: 'Data set', of: (dataset) => h('strong', {}, dataset.name)},
      {title: 'Features', number: true, of: (dataset) => whole(dataset.features)},
      {title: 'People, as declared', number: true, of: (dataset) => whole(dataset.users)},
      {title: 'Kind', of: kindOf},
      one.partitions ? {title: 'Partition', of: (dataset) => dataset.partition || 'all'} : null,
    ].filter(Boolean), own));
}

const budgets = view('Budgets',
  'The guarantees of this curator, and how much of each is used. The guarantee is that of the cap; spent is what was charged so far.',
  (status, list) => [
    status.anchored ? null : h('p', {class: 'problem'}, h('span', {'aria-hidden': 'true'}, '⚠ '), 'There is no anchor: a ledger that is rolled back would not be noticed.'),
    status.populations.length === 0 ? empty('No population', 'Import a data set first.') : list,
    h('p', {class: 'note'}, 'Widths are shares of the cap in mu², because costs add up in mu² and not in epsilon.')], {
    what: 'populations', order: 'by name',
    rows: (status) => status.populations.map((one) => ({one, status})).sort((a, b) => a.one.name < b.one.name ? -1 : 1),
    text: ({one, status}) => [one.name, ...status.datasets.filter((dataset) => dataset.population === one.name).map((dataset) => dataset.name)].join(' '),
    draw: (rows) => h('div', {class: 'stack'}, rows.map(({one, status}) => population(one, status)))});

// ---- Runs

const runs = view('Runs', 'Open runs at this curator. Each run keeps its reservation until it is closed.', (status, list) => [
  status.runs.open.length === 0 ? empty('No open run', 'Nothing is reserved.') : h('section', {class: 'card', 'aria-label': 'Open runs'}, list),
  h('p', {class: 'note'}, `${plural(status.runs.closed, 'run')} ${Number(status.runs.closed) === 1 ? 'was' : 'were'} closed. `,
    'If the analyst of a run will not come back, stop the server and close the run: ', code('dpnmf-curator close --run ID'), '.')], {
  what: 'open runs', caption: 'Open runs', order: 'the latest first',
  rows: (status) => [...status.runs.open].sort((one, other) => other.opened - one.opened),
  filters: [{title: 'Analyst', of: (run) => run.identity}, {title: 'Data set', of: (run) => run.dataset}],
  columns: [
    {title: 'Run', of: (run) => runCode(run.run_id)},
    {title: 'Analyst', of: (run) => run.identity},
    {title: 'Data set', of: (run) => run.dataset},
    {title: 'Mechanism', of: (run) => run.mechanism},
    {title: 'Rounds charged', of: (run) => [progress(run.charged_rounds, run.rounds, `${run.charged_rounds} of ${run.rounds} rounds`),
      h('span', {class: 'nowrap'}, ` ${whole(run.charged_rounds)} of ${whole(run.rounds)}`)]},
    {title: 'Charged, mu²', number: true, of: (run) => upward(run.charged.value)},
    {title: 'Reserved, mu²', number: true, of: (run) => upward(run.reserved.value)},
    {title: 'Opened', of: (run) => moment(run.opened)},
  ]});

// ---- Peers

const peerOf = (one) => h('section', {class: 'card', 'aria-label': one.identity},
  h('div', {class: 'card-head'}, h('h2', {}, one.identity), one.on_list ? null : h('p', {class: 'chip bad'}, '✕ not on the list')),
  facts([
    ['Roles', one.roles.length ? one.roles.join(', ') : none()],
    ['Data sets', one.all_datasets ? 'all, also future ones' : one.datasets.length ? one.datasets.join(', ') : none()]]),
  one.budgets.length === 0 ? null : table('Spent by ' + one.identity, [
    {title: 'Population', of: (budget) => budget.population},
    {title: 'Charges', number: true, of: (budget) => whole(budget.charges)},
    {title: 'Spent so far, epsilon', number: true, of: (budget) => budget.spent},
    {title: 'Reserved, mu²', number: true, of: (budget) => upward(budget.reserved.value)},
    {title: 'Own cap, epsilon', number: true, of: (budget) => budget.epsilon === undefined ? none() : upward(budget.epsilon)},
  ], one.budgets));

const peers = view('Peers', 'The identities on the current allow-list, and what each has spent.', ({identities}, list) => [
  identities.problem ? problem(identities.problem) : null,
  identities.problem ? h('p', {class: 'note'}, 'Until the list can be read, nobody has access.') : null,
  identities.list.length === 0 ? empty('Nobody', 'The allow-list names no one.') : list], {
  what: 'identities', order: 'as on the list', size: 10,
  rows: ({identities}) => identities.list,
  text: (one) => [one.identity, ...one.roles, ...one.datasets, ...one.budgets.map((budget) => budget.population)].join(' '),
  draw: (rows) => h('div', {class: 'stack'}, rows.map(peerOf))});

// ---- Ledger

// Words for the amount of a row: the cost of a population is its cap.
const AMOUNTS = {population: 'cap', open: 'reserved', charge: 'charged', close: 'returned'};
const amountOf = (row) => !row.cost.value ? none()
  : [h('span', {class: 'soft'}, (AMOUNTS[row.kind] || row.kind) + ' '), h('span', {class: 'nowrap'}, upward(row.cost.value) + ' mu²')];

const ledger = view('Ledger', 'The ledger of record. Rows are added and never changed.', ({ledger: {row_count: count, rows}}, list) => [
  h('section', {class: 'card', 'aria-label': 'Rows'}, list),
  h('p', {class: 'note'}, rows.length < count ? `The latest ${whole(rows.length)} of ${whole(count)} rows. ` : `All ${whole(count)} rows. `,
    code('dpnmf-curator ledger verify'), ' verifies each of them, and the anchor.')], {
  what: 'rows', caption: 'Rows, the latest first', order: 'the latest first',
  rows: (status) => status.ledger.rows,
  filters: [{title: 'Kind', of: (row) => row.kind}, {title: 'Population', of: (row) => row.population || 'none'}],
  columns: [
    {title: 'Row', number: true, of: (row) => whole(row.sequence)},
    {title: 'Time', of: (row) => moment(row.unix_seconds)},
    {title: 'Kind', of: (row) => row.kind === 'void' ? h('strong', {}, 'void') : row.kind},
    {title: 'Population', of: (row) => row.population || none()},
    {title: 'Identity', of: (row) => row.identity || none()},
    {title: 'Run', of: (row) => row.run_id ? runCode(row.run_id) : none()},
    {title: 'Round', number: true, of: (row) => row.round ? whole(row.round) : none()},
    {title: 'Amount', number: true, of: amountOf},
  ]});

// ---- Audit log

const KNOWN = ['time', 'event', 'request', 'identity'];
const MU_SQUARED_UNIT = 2 ** -60;  // of the log's whole numbers
const RUN_ID = /^[0-9a-f]{32}$/;
const HASH = /^[0-9a-f]{64}$/;
const valueOf = (name, value) => name.endsWith('mu_squared') ? h('span', {class: 'nowrap'}, upward(value * MU_SQUARED_UNIT) + ' mu²')
  : typeof value === 'object' ? JSON.stringify(value)
  : RUN_ID.test(value) ? runCode(value)
  : HASH.test(value) ? h('code', {class: 'nowrap', title: value}, value.slice(0, 12) + '…') : String(value);
const wordsOf = (name) => name.replace(/_?mu_squared$/, '').replaceAll('_', ' ') || 'charged';
const detailsOf = (entry) => Object.entries(entry).filter(([name]) => !KNOWN.includes(name))
  .flatMap(([name, value], i) => [i ? ', ' : null, h('span', {class: 'soft'}, wordsOf(name) + ' '), valueOf(name, value)]);

const audit = view('Audit log', 'The requests of each identity. Entries contain requests and facts of the ledger, and no data.', ({audit: entries}, list) =>
  entries.length === 0 ? empty('No entry', 'The audit log is empty, or cannot be read here.') : h('section', {class: 'card', 'aria-label': 'Entries'}, list), {
  what: 'entries', caption: 'Entries, the latest first', order: 'the latest first',
  rows: (status) => status.audit,
  filters: [{title: 'Event', of: (entry) => entry.event, quiet: 'call'}, {title: 'Identity', of: (entry) => entry.identity || 'none'}],
  columns: [
    {title: 'Time', of: (entry) => moment(Date.parse(entry.time) / 1000)},
    {title: 'Event', of: (entry) => h('strong', {class: 'nowrap'}, entry.event)},
    {title: 'Identity', of: (entry) => entry.identity || none()},
    {title: 'Details', of: detailsOf},
  ]});

// ---- Checks

const RESULT = {ok: ['✓ ok', 'good'], warning: ['! warning', 'waits'], failed: ['✕ failed', 'bad']};

async function checks({holder, heading, signal}) {
  const result = h('div', {class: 'stack', 'aria-live': 'polite', id: 'check-result'});
  const button = h('button', {class: 'main', id: 'check'}, 'Check now');
  button.addEventListener('click', async () => {
    button.disabled = true;
    fill(result, h('p', {class: 'note loading'}, 'Checking …'));
    try {
      const report = await calls.get('/api/doctor', {}, signal);
      const failed = report.checks.filter((one) => one.result === 'failed').length;
      const sentence = failed ? `${plural(failed, 'check')} failed.` : report.warnings ? `No check failed; ${plural(report.warnings, 'warning')}.` : 'All checks passed.';
      fill(result, h('p', {class: failed ? 'problem' : 'good-note', id: 'verdict'}, sentence),
        h('section', {class: 'card', 'aria-label': 'Checks'}, table('Checks', [
          {title: 'Check', of: (one) => h('strong', {}, one.name)},
          {title: 'Result', of: (one) => h('span', {class: 'chip ' + RESULT[one.result][1]}, RESULT[one.result][0])},
          {title: 'Finding', of: (one) => [one.finding, one.remedy ? h('p', {class: 'hint'}, one.remedy) : null]},
        ], report.checks)));
      say(sentence);
    } catch (error) {
      fill(result, problem(error));
    }
    button.disabled = false;
  });
  fill(holder, heading('Checks'), h('p', {class: 'lead'}, 'The checklist for production. It reads every row of the ledger, and changes nothing.'),
    h('p', {}, button), result);
}

begin({
  name: 'dpnmf curator',
  views: {budgets, runs, peers, ledger, audit, checks},
  under: {},
  server: 'The curator',
  waiting: 'Start dpnmf-curator serve for this data directory. The page tries again every few seconds.',
  footer: (known) => `dpnmf-curator-web ${known.version} · ${known.data_dir} · read-only, this machine only`,
});
