// Data sets and the budgets of their populations.
import * as calls from './calls.js';
import {empty, fill, h, problem, short, table, unbroken, voidMark, whole} from './dom.js';
import {gauge} from './draw.js';

const columnsOf = (dataset) => [
  dataset.ratings ? 'ratings' : dataset.normalisation === 'NORMALISATION_L2' ? 'length 1' : `length up to ${short(dataset.column_bound)}`,
  dataset.weighted_features ? 'weighted' : null, dataset.sparse ? 'sparse' : null, dataset.sums ? 'sums' : null,
  dataset.is_public ? 'public' : null,
  dataset.classes ? `${dataset.classes.names.length} classes` : null].filter(Boolean).join(', ');

function population(name, datasets, budget) {
  return h('section', {class: 'card', 'aria-label': 'Population ' + name},
    h('div', {class: 'card-head'}, h('h2', {}, 'Population ', name),
      budget.error ? null : h('p', {class: 'soft'}, unbroken('Guarantee: ' + budget.reading.guarantee))),
    budget.error ? problem({message: budget.error.message, code: budget.error.code}) : [
      voidMark(budget.reply.guarantee.void_since),
      gauge(budget.reply.record, budget.reading),
      budget.reply.agree ? null : h('p', {class: 'problem'}, h('span', {'aria-hidden': 'true'}, '⚠ '),
        'The ledgers differ. ', h('a', {href: '#/ledger?dataset=' + datasets[0].name}, 'See how')),
    ],
    table('Data sets of population ' + name, [
      {title: 'Data set', of: (one) => h('strong', {}, one.name)},
      {title: 'Features', number: true, of: (one) => whole(one.features)},
      {title: 'People', number: true, of: (one) => whole(one.users)},
      {title: 'Columns', of: columnsOf},
      {title: 'Most parts', number: true, of: (one) => whole(one.max_rank)},
      {title: 'Next', of: (one) => h('a', {href: '#/plan?dataset=' + one.name}, 'Plan a run',
        h('span', {class: 'unseen'}, ' on ' + one.name))},
    ], datasets));
}

export async function dataView({holder, heading, signal, persist}) {
  await persist(async () => {
    const {datasets: {datasets}, budgets} = await calls.get('/api/overview', {}, signal);
    const names = [...new Set(datasets.map((one) => one.population))];
    fill(holder, heading('Data sets'),
      h('p', {class: 'lead'}, 'The guarantee is that of the cap. It covers everything that is ever released about a population’s people.'),
      names.length === 0
        ? empty('No data set', 'The curator offers no data set to this analyst. Ask its operator to list the analyst for one.')
        : names.map((name) => population(name, datasets.filter((one) => one.population === name), budgets[name])),
      names.length === 0 ? null
        : h('p', {class: 'note'}, 'Widths are shares of the cap in mu², because costs add up in mu² and not in epsilon. What is spent is a reading of the ledger.'));
  });
}
