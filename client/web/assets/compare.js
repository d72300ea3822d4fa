// Two runs: their parts in pairs.
import * as calls from './calls.js';
import * as models from './models.js';
import {command, empty, field, fill, h, problem, shortId, table} from './dom.js';
import {imageWidth, nameOf, largest, partOf, picture, runsDown} from './draw.js';

const label = (run) => {
  const {parameters} = run.specification;
  return `${shortId(run.run_id)} · ${parameters.dataset}, ${parameters.rank} parts`;
};

function partCell(model, k, width, down) {
  return h('div', {class: 'pair-part'}, width ? picture(model, k, width, down) : null,
    h('div', {}, h('strong', {}, `Part ${k + 1}`),
      h('p', {class: 'soft'}, largest(partOf(model, k), 3).map((row) => nameOf(model, row)).join(', '))));
}

function cosineCell(cosine) {
  return h('div', {class: 'cosine'}, h('progress', {max: 1, value: cosine, 'aria-hidden': 'true'}), h('strong', {}, cosine.toFixed(3)),
    h('span', {class: 'soft'}, cosine >= .8 ? 'both found it' : cosine >= .5 ? 'alike' : 'not the same'));
}

export async function compareView({holder, heading, words, signal, facts}) {
  const {runs} = await calls.get('/api/runs', {}, signal);
  const usable = runs.filter((run) => run.rounds_done > 0 && models.givesParts(facts, run));
  fill(holder, heading('Compare two runs'));
  if (usable.length < 2)
    return holder.append(empty('Two runs are needed', 'There are fewer than two runs with parts. A refit of a run is free and counts as one.',
      h('a', {href: '#/runs'}, 'See the runs')));
  const pick = (id, chosen, title) => h('select', {id, 'aria-label': title}, usable.map((run) =>
    h('option', {value: run.run_id, selected: run.run_id === chosen}, label(run))));
  const one = words[0] && usable.some((run) => run.run_id === words[0]) ? words[0] : usable[0].run_id;
  const same = (run) => run.specification.parameters.dataset === usable.find((other) => other.run_id === one).specification.parameters.dataset;
  const other = words[1] || (usable.find((run) => run.run_id !== one && same(run)) || usable.find((run) => run.run_id !== one)).run_id;
  const [first, second] = [pick('first', one, 'First run'), pick('second', other, 'Second run')];
  const result = h('div', {id: 'comparison', 'aria-live': 'polite'});

  let asked = 0;  // the last is shown, whichever comes last
  async function compare() {
    const mine = ++asked;
    const [a, b] = [first.value, second.value];
    fill(result, h('p', {class: 'note loading'}, 'Matching …'));
    try {
      const [report, left, right] = await Promise.all([
        calls.get('/api/compare', {run: a, other: b}, signal), models.model(a, signal), models.model(b, signal)]);
      if (mine !== asked) return;
      const width = imageWidth(left, facts.image_width);
      const down = [a, b].map((id) => runsDown(facts, usable.find((run) => run.run_id === id).specification.parameters.dataset));
      const alone = [['first', report.only_first], ['second', report.only_second]].filter(([, list]) => list.length > 0);
      fill(result, h('section', {class: 'card', 'aria-label': 'Pairs'},
        h('div', {class: 'readout figure'}, h('p', {class: 'big'}, report.mean_cosine.toFixed(3)), h('p', {}, 'mean cosine of the pairs')),
        h('p', {class: 'note'}, 'Parts that two runs with fresh noise both find, with a cosine above .8, can be relied on. Two fits of one release share its noise and prove less.'),
        table({text: 'The most alike first', seen: true}, [
          {title: 'First run', of: (pair) => partCell(left, pair.first - 1, width, down[0])},
          {title: 'Second run', of: (pair) => partCell(right, pair.second - 1, width, down[1])},
          {title: 'Cosine', of: (pair) => cosineCell(pair.cosine)},
        ], report.pairs),
        alone.map(([which, list]) => h('p', {}, `Without a partner, of the ${which} run: part ${list.join(', ')}.`)),
        command(`dpnmf compare ${shortId(a)} ${shortId(b)}`)));
    } catch (error) {
      if (mine !== asked) return;
      if (error.isUnreachable || error.kind === 'PAGE_ENDED') throw error;
      fill(result, problem(error));
    }
  }
  const again = () => compare().catch((error) => fill(result, problem(error)));
  first.addEventListener('change', again);
  second.addEventListener('change', again);
  holder.append(h('div', {class: 'card row'}, field('First run', first), field('Second run', second)), result);
  await compare();
}
