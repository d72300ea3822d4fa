// Both ledgers, whether they agree, and the curator's receipts.
import * as calls from './calls.js';
import {command, empty, field, fill, h, listing, plural, problem, runCode, save, shortId, table, unbroken, upward, voidMark, whole} from './dom.js';
import {gauge} from './draw.js';

const hex = (base64) => Array.from(atob(base64 || ''), (char) => char.charCodeAt(0).toString(16).padStart(2, '0')).join('');
const hash = (base64) => base64 ? h('code', {class: 'nowrap', title: hex(base64)}, hex(base64).slice(0, 12)) : '–';

function agreement(reply) {
  const waiting = [[reply.under_way, 'under way'], [reply.never_fetched, 'whose run ended before it had the release; spent all the same']]
    .filter(([list]) => list.length > 0);
  return [
    h('p', {class: reply.agree ? 'good-note' : 'problem', id: 'agreement'},
      h('span', {'aria-hidden': 'true'}, reply.agree ? '✓ ' : '⚠ '),
      reply.agree ? 'The curator’s ledger and our copy agree.' : 'The curator’s ledger and our copy differ: ' + reply.disagreement),
    waiting.map(([list, what]) => h('p', {}, `${plural(list.length, 'charge')} ${what}: `,
      list.map((one) => `run ${shortId(one.run_id)}, round ${one.round}`).join('; '))),
    table('Both ledgers', [
      {title: 'Ledger', of: (row) => row.name},
      {title: 'Our charges', number: true, of: (row) => whole(row.count)},
      {title: 'Our charges, mu²', number: true, of: (row) => upward(row.charged.value)},
      {title: 'Rows', number: true, of: (row) => whole(row.rows)},
      {title: 'Chain head', of: (row) => hash(row.head)},
    ], [
      {name: 'Curator’s ledger', count: reply.own_charge_count, charged: reply.own_charged, rows: reply.record.row_count, head: reply.record.head},
      {name: 'Our copy', count: reply.mirror.charge_count, charged: reply.mirror.charged, rows: reply.mirror.row_count, head: reply.mirror.head},
    ])];
}

const saveReceipts = async (name) =>
  save(`receipts-${name}.jsonl`, await calls.text('/api/receipts.jsonl', {dataset: name}), 'application/jsonl');

function receiptList(name, receipts) {
  if (receipts.length === 0) return empty('No receipt', 'Each charged release of a run on this data set has a receipt.');
  const bad = receipts.filter((one) => !one.signature_good).length;
  const keys = [...new Set(receipts.map((one) => one.key))];
  const list = listing({
    what: 'receipts', caption: 'Receipts, the latest first', order: 'the latest first',
    filters: [{title: 'Mechanism', of: ({receipt}) => receipt.mechanism}],
    columns: [
      {title: 'Ledger row', number: true, of: ({receipt}) => whole(receipt.sequence)},
      {title: 'Run', of: ({receipt}) => h('a', {href: '#/run/' + receipt.run_id}, runCode(receipt.run_id))},
      {title: 'Round', number: true, of: ({receipt}) => receipt.round},
      {title: 'Mechanism', of: ({receipt}) => receipt.mechanism},
      {title: 'Charged, mu²', number: true, of: ({receipt}) => upward(receipt.charged.value)},
      {title: 'Row hash', of: ({receipt}) => hash(receipt.row_hash)},
      {title: 'Signature', of: (one) => one.signature_good ? h('span', {class: 'nowrap'}, '✓ fits') : h('strong', {}, '✕ does not fit')},
    ]});
  list.show([...receipts].reverse());
  return [
    h('p', {class: bad ? 'problem' : 'good-note', id: 'signatures'}, h('span', {'aria-hidden': 'true'}, bad ? '⚠ ' : '✓ '),
      bad ? `${plural(bad, 'signature')} of ${receipts.length} do not fit their receipts.`
        : `${plural(receipts.length, 'receipt')}; each is signed by the key that it names.`),
    h('p', {class: 'note'}, keys.length === 1 ? 'Key ' : 'Keys ', keys.map((key) => h('code', {class: 'key'}, key)),
      '. Compare it with the key that the curator’s operator gave you.'),
    list.node,
    h('p', {}, h('button', {class: 'plain', id: 'save', onclick: () => saveReceipts(name)}, 'Save the receipts')),
    command(`dpnmf receipts export --dataset ${name} --output receipts.jsonl`)];
}

export async function ledgerView({holder, heading, signal, query, persist}) {
  const {datasets} = await calls.get('/api/datasets', {}, signal);
  fill(holder, heading('Ledger and receipts'));
  if (datasets.length === 0) return holder.append(empty('No data set', 'The curator offers no data set to this analyst.'));
  const wanted = query.get('dataset');
  const set = h('select', {id: 'ledger-dataset'}, datasets.map((one) =>
    h('option', {value: one.name, selected: one.name === wanted}, one.name)));
  const result = h('div', {class: 'stack', 'aria-live': 'polite'});
  let loads = 0;  // the last of them is shown, whichever comes last
  const load = () => {
    const mine = ++loads;
    return persist(() => mine === loads ? fetchAndShow(set.value, mine) : 0).catch((error) => {
      if (mine === loads) fill(result, problem(error));
    });
  };
  const fetchAndShow = async (name, mine) => {
    fill(result, h('p', {class: 'note loading'}, 'Comparing the ledgers …'));
    const [budget, {receipts}] = await Promise.all([
      calls.get('/api/budget', {dataset: name}, signal), calls.get('/api/receipts', {dataset: name}, signal)]);
    if (mine !== loads) return;
    const {reply, reading} = budget;
    fill(result,
      h('section', {class: 'card', 'aria-label': 'Ledgers'}, h('div', {class: 'card-head'}, h('h2', {}, 'Population ', reply.record.population),
        h('p', {class: 'soft'}, unbroken('Guarantee: ' + reading.guarantee))),
      voidMark(reply.guarantee.void_since), gauge(reply.record, reading), agreement(reply)),
      h('section', {class: 'card', 'aria-label': 'Receipts'}, h('h2', {}, 'Receipts of ', name), receiptList(name, receipts)));
  };
  set.addEventListener('change', load);
  holder.append(h('div', {class: 'row narrow'}, field('Data set', set)), result);
  await load();
}
