// All runs, the newest first; a refit stands below the run that paid for it.
import * as calls from './calls.js';
import {empty, enforced, fill, groups, h, hasEnded, listing, moment, runCode, stateChip, stateName, upward} from './dom.js';
import {progress} from './draw.js';

function ordered(runs) {
  const ids = new Set(runs.map((run) => run.run_id));
  const children = groups(runs, (run) => ids.has(run.parent) ? run.parent : '');
  const below = (run) => [run, ...(children.get(run.run_id) || []).flatMap(below)];
  return (children.get('') || []).flatMap(below);
}

const spentOf = (run) => run.parent || run.added ? 'nothing' : [
  upward(enforced(run.spent, run.specification.parameters.conversion) || 0),
  h('span', {class: 'soft'}, ' of ' + upward(run.specification.parameters.epsilon))];

export async function runsView({holder, heading, signal, persist}) {
  let before = '';
  const list = listing({
    what: 'runs', caption: 'Runs, the newest first', order: 'the newest first, refits below the run that paid for them',
    filters: [{title: 'State', of: (run) => stateName(run.state)}, {title: 'Data set', of: (run) => run.specification.parameters.dataset}],
    columns: [
      {title: 'Run', of: (run) => [run.parent ? h('span', {class: 'soft nowrap'}, h('span', {'aria-hidden': 'true'}, '↳ '), 'refit ') : null,
        h('a', {href: '#/run/' + run.run_id}, runCode(run.run_id))]},
      {title: 'State', of: (run) => stateChip(run.state)},
      {title: 'Data set', of: (run) => run.specification.parameters.dataset},
      {title: 'Parts', number: true, of: (run) => run.specification.parameters.rank},
      {title: 'Rounds', of: (run) => [progress(run.rounds_done, run.specification.parameters.rounds, 'Rounds done'),
        h('span', {class: 'soft nowrap'}, ` ${run.rounds_done} of ${run.specification.parameters.rounds}`)]},
      {title: 'Mechanism', of: (run) => run.specification.parameters.mechanism},
      {title: 'Spent, epsilon', number: true, of: spentOf},
      {title: 'Started', of: (run) => moment(run.created_unix_seconds)},
    ]});
  await persist(async () => {
    const reply = await calls.get('/api/runs', {}, signal);
    const runs = reply.runs;
    const live = runs.some((run) => !hasEnded(run.state));
    const now = JSON.stringify(runs);
    // Not drawn again without a change: focus stays where it is.
    if (now !== before) {
      if (!list.node.isConnected || runs.length === 0)
        fill(holder, heading('Runs', h('a', {class: 'button main', href: '#/plan'}, 'Plan a run')),
          runs.length === 0
            ? empty('No run yet', 'A run asks the curator for noised releases and fits parts to them. Planning one is free.',
              h('a', {href: '#/plan'}, 'Plan a run'))
            : h('section', {class: 'card', 'aria-label': 'Runs'}, list.node),
          h('p', {class: 'note'}, 'Spent is what was charged so far. The guarantee is that of the cap.'));
      list.show(ordered(runs));
      before = now;
    }
    holder.dataset.runs = String(runs.length);
    return live ? 2000 : 15000;
  });
}
