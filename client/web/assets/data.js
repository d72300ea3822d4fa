// Data sets and the budgets of their populations.
import * as calls from './calls.js';
import {empty, fill, groups, h, paged, problem, short, table, unbroken, voidMark, whole} from './dom.js';
import {gauge} from './draw.js';

const kindOf = (dataset) => [
  dataset.ratings ? 'ratings' : dataset.normalisation === 'NORMALISATION_L2' ? 'each person scaled to length 1' : `each person of length up to ${short(dataset.column_bound)}`,
  dataset.weighted_features ? 'weighted' : null, dataset.sparse ? 'sparse' : null, dataset.sums ? 'sums' : null,
  dataset.is_public ? 'public' : null,
  dataset.classes ? `${dataset.classes.names.length} classes` : null].filter(Boolean).join(', ');

const FIRST_PAUSE = 1000;  // milliseconds
// {node, first}: a population, and its budget's first answer. Without one it is asked for
// again: the other populations have theirs.
function population(name, datasets, ask, signal) {
  const guarantee = h('p', {class: 'soft'});
  const state = h('div', {class: 'stack'}, h('p', {class: 'note loading'}, 'Asking for its budget …'));
  const show = async (pause) => {
    try {
      const {reply, reading} = await ask();
      fill(guarantee, unbroken('Guarantee: ' + reading.guarantee));
      fill(state, voidMark(reply.guarantee.void_since), gauge(reply.record, reading),
        reply.agree ? null : h('p', {class: 'problem'}, h('span', {'aria-hidden': 'true'}, '⚠ '),
          'The ledgers differ. ', h('a', {href: '#/ledger?dataset=' + datasets[0].name}, 'See how')));
    } catch (error) {
      if (signal.aborted) return;
      if (pause === FIRST_PAUSE) fill(state, problem(error));
      if (!error.isUnreachable) return;
      const timer = setTimeout(() => state.isConnected && show(Math.min(10000, 2 * pause)), pause);
      signal.addEventListener('abort', () => clearTimeout(timer), {once: true});
    }
  };
  const first = show(FIRST_PAUSE);
  const node = h('section', {class: 'card', 'aria-label': 'Population ' + name},
    h('div', {class: 'card-head'}, h('h2', {}, 'Population ', name), guarantee), state,
    table('Data sets of population ' + name, [
      {title: 'Data set', of: (one) => h('strong', {}, one.name)},
      {title: 'Features', number: true, of: (one) => whole(one.features)},
      {title: 'People', number: true, of: (one) => whole(one.users)},
      {title: 'Kind', of: kindOf},
      {title: 'Most parts', number: true, of: (one) => whole(one.max_rank)},
      {title: 'Next', of: (one) => h('a', {class: 'nowrap', href: '#/plan?dataset=' + one.name}, 'Plan a run',
        h('span', {class: 'unseen'}, ' on ' + one.name))},
    ], datasets));
  return {node, first};
}

export async function dataView({holder, heading, signal, persist}) {
  await persist(async () => {
    const {datasets} = await calls.get('/api/datasets', {}, signal);
    const budgets = new Map();  // of the populations that were shown
    const budgetOf = (name, dataset) => {
      if (!budgets.has(name)) {
        budgets.set(name, calls.get('/api/budget', {dataset}, signal));
        budgets.get(name).catch(() => budgets.delete(name));
      }
      return budgets.get(name);
    };
    const firsts = [];
    const draw = ([name, own]) => {
      const {node, first} = population(name, own, () => budgetOf(name, own[0].name), signal);
      firsts.push(first);
      return node;
    };
    const list = paged({what: 'data sets', order: 'by population and name', text: (one) => `${one.name} ${one.population} ${kindOf(one)}`,
      draw: (rows) => h('div', {class: 'stack'}, [...groups(rows, (one) => one.population)].map(draw))});
    fill(holder, heading('Data sets'),
      h('p', {class: 'lead'}, 'The guarantee is that of the cap. It covers everything that is ever released about a population’s people.'),
      datasets.length === 0
        ? empty('No data set', 'The curator offers no data set to this analyst. Ask its operator to list the analyst for one.')
        : [list.node, h('p', {class: 'note'}, 'Widths are shares of the cap in mu², because costs add up in mu² and not in epsilon. Spent is what was charged so far.')]);
    const key = (one) => one.population + '\n' + one.name;
    list.show([...datasets].sort((one, other) => key(one) < key(other) ? -1 : 1));
    await Promise.all(firsts);
  });
}
