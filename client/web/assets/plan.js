// A run as a form: its price and what can be expected of it move with the sliders.
import * as calls from './calls.js';
import {command, confirm, duration, empty, facts as factList, field, fill, h, percent, plural, problem, say,
  short, shortId, stateName, table, unbroken, upward, voidMark, whole} from './dom.js';
import {gauge, plot} from './draw.js';
import {priorOption, runsAsPriors} from './models.js';

const LEAST = 0.05;
const STEPS = 400;
const epsilonAt = (step, most) => Number((LEAST * (most / LEAST) ** (step / STEPS)).toPrecision(3));
const stepAt = (epsilon, most) => Math.round(STEPS * Math.log(epsilon / LEAST) / Math.log(most / LEAST));

function noise(plan) {
  return table('Noise of a round', [
    {title: 'Release', of: (row) => row.release},
    {title: 'Rounds', number: true, of: (row) => row.rounds},
    {title: 'Part', of: (row) => row.name},
    {title: 'Shape', of: (row) => `${row.shape.rows} × ${row.shape.columns}`},
    {title: 'Sigma of the mean', number: true, of: (row) => short(row.stddev)},
  ], plan.stages.flatMap((stage) => stage.parts.map((part) => ({...part, release: stage.release, rounds: stage.rounds}))));
}

function reliance(reply) {
  const {forecast} = reply;
  if (!forecast) return h('p', {class: 'note'}, 'There is no forecast for this kind of run.');
  const rank = reply.specification.parameters.rank;
  const sentences = forecast.sentence.split(/(?<=\.) /);
  if (!forecast.typical_directions && !forecast.most_directions && !forecast.reliable_parts)
    return h('p', {}, forecast.sentence);
  return [h('div', {class: 'readout' + (forecast.reliable_parts < rank ? ' short' : '')},
    h('p', {class: 'big', id: 'reliable'}, String(forecast.reliable_parts), h('span', {}, ` of ${rank}`)),
    h('p', {}, `${rank === 1 ? 'part' : 'parts'} to rely on`)),
  h('p', {class: 'lead'}, sentences[0]),
  sentences.length > 1 ? h('p', {class: 'note'}, sentences.slice(1).join(' ')) : null];
}

function cost({reply, reading}) {
  const accepted = !reply.would_be_refused;
  const {parameters} = reply.specification;
  return [
    gauge({...reply.position, cap: reply.position.cap}, {...reading}, accepted ? reply.plan.cost.value : 0),
    factList([
      ['Cost of this run, at most', `epsilon ${reading.price} at delta ${upward(parameters.delta)}`],
      ['Largest run now', `epsilon ${reading.largest_run}`],
      ['Spent after it, at most', `epsilon ${reading.total_after}`],
      ['Guarantee of the cap', unbroken(reading.guarantee)],
      Number(reply.learning?.memory_bytes) > 0 ? ['Learning at the analyst',
        `${duration(reply.learning.seconds)}, up to ${whole(Math.ceil(reply.learning.memory_bytes / 2 ** 20))} MiB`] : null,
      ['Mechanism', `${parameters.mechanism}, ${plural(parameters.rounds, 'round')}`],
    ])];
}

const commandOf = (form, verb) => `dpnmf ${verb} --dataset ${form.dataset}` + (form.rank ? ` --rank ${form.rank}` : '') +
  ` --epsilon ${form.epsilon}` + (form.mechanism !== 'auto' ? ` --mechanism ${form.mechanism}` : '') +
  (form.rounds ? ` --rounds ${form.rounds}` : '') + (form.outliers ? ' --outliers on' : '') +
  (form.seed ? ` --seed ${form.seed}` : '') + (form.prior && verb !== 'plan' ? ` --prior run:${form.prior}` : '') + (form.even_if_unreliable ? ' --even-if-unreliable' : '');

export async function planView({holder, heading, signal, query, facts, persist}) {
  const {datasets} = await calls.get('/api/datasets', {}, signal);
  if (datasets.length === 0)
    return fill(holder, heading('Plan a run'),
      empty('No data set', 'The curator offers no data set to this analyst, so there is nothing to plan.'));
  const {runs} = await calls.get('/api/runs', {}, signal);
  let dataset = datasets.find((one) => one.name === query.get('dataset')) || datasets[0];
  const mostEpsilon = () => Math.max(1, dataset.guarantee.epsilon);
  const mostRank = () => Math.max(1, Math.min(dataset.max_rank, Number(dataset.features), Number(dataset.users)));

  const set = h('select', {id: 'dataset', value: dataset.name}, datasets.map((one) =>
    h('option', {value: one.name, selected: one === dataset}, one.name)));
  const rank = h('input', {id: 'rank', type: 'number', min: 1, inputmode: 'numeric', required: true});
  const rankSlider = h('input', {type: 'range', min: 1, 'aria-label': 'Parts, as a slider'});
  const epsilon = h('input', {id: 'epsilon', type: 'number', min: 0, step: 'any', inputmode: 'decimal', required: true});
  const epsilonSlider = h('input', {id: 'epsilon-slider', type: 'range', min: 0, max: STEPS, 'aria-label': 'Epsilon, as a slider'});
  const mechanism = h('select', {id: 'mechanism'}, h('option', {value: 'auto'}, 'chosen for you'),
    facts.mechanisms.filter((one) => one.can_be_trained).map(({name, summary}) => h('option', {value: name}, `${name}: ${summary}`)));
  const rounds = h('input', {id: 'rounds', type: 'number', min: 1, inputmode: 'numeric', placeholder: 'by the mechanism'});
  const seed = h('input', {id: 'seed', type: 'number', min: 0, value: '0', inputmode: 'numeric'});
  const prior = h('select', {id: 'prior'});
  const outliers = h('input', {id: 'outliers', type: 'checkbox'});
  const unreliable = h('input', {id: 'even-if-unreliable', type: 'checkbox'});
  const start = h('button', {class: 'main', type: 'submit', id: 'start', disabled: true}, 'Start this run …');
  const verdict = h('div', {id: 'verdict', 'aria-live': 'polite'});
  const parts = h('div', {class: 'stack'});
  const curve = h('div', {class: 'curve'});
  const price = h('div', {class: 'stack'});
  const more = h('div', {class: 'stack'});
  let latest = null;   // of the last plan that was drawn
  let curveOf = null;  // what the curve was drawn for
  let chart = null;
  let planning = new AbortController();
  let request = null;  // of a start whose answer has not come: the same form is the same run

  const formOf = () => ({
    dataset: dataset.name,
    rank: rank.value === '' ? undefined : Number(rank.value),
    epsilon: Number(epsilon.value),
    mechanism: mechanism.value,
    rounds: rounds.value === '' ? undefined : Number(rounds.value),
    seed: Number(seed.value || 0),
    prior: prior.value || undefined,
    outliers: outliers.checked,
    even_if_unreliable: unreliable.checked,
  });

  function adopt() {
    rankSlider.max = Math.min(mostRank(), 100);
    rank.max = mostRank();
    if (rank.value === '' || Number(rank.value) > mostRank()) rank.value = Math.min(10, mostRank());
    rankSlider.value = rank.value;
    if (epsilon.value === '') epsilon.value = Math.min(1, mostEpsilon());
    epsilonSlider.value = stepAt(Number(epsilon.value), mostEpsilon());
    // Runs on data with as many features.
    const kept = prior.value;
    fill(prior, h('option', {value: ''}, 'none'), runsAsPriors(runs).filter((run) =>
      datasets.find((one) => one.name === run.specification.parameters.dataset)?.features === dataset.features).map(priorOption));
    if ([...prior.options].some((option) => option.value === kept)) prior.value = kept;
    for (const option of mechanism.options) {
      const of = facts.mechanisms.find((one) => one.name === option.value);
      option.hidden = option.disabled = Boolean(of) &&
        (of.for_classes && !dataset.classes || of.for_ratings !== Boolean(dataset.ratings));
      if (option.disabled && option.selected) mechanism.value = 'auto';
    }
  }

  function marks() {
    if (!latest) return [];
    return [{x: Number(latest.reading.largest_run), label: 'largest run', colour: 'free', dash: [5, 4], row: 2},
      {x: Number(epsilon.value), label: 'chosen', colour: 'accent'}];
  }

  async function drawCurve(form, own) {
    const key = JSON.stringify({...form, epsilon: 0, seed: 0, even_if_unreliable: 0});
    if (key === curveOf) return chart && chart.mark(marks());
    const most = mostEpsilon();
    const epsilons = Array.from({length: 15}, (_, i) => epsilonAt(i * STEPS / 14, most));
    const {points} = await calls.post('/api/forecast', {...form, even_if_unreliable: true, epsilons}, own);
    curveOf = key;
    const asked = latest.reply.specification.parameters.rank;
    if (points.length < 2 || !points.some((point) => point.reliable_parts > 0)) {
      chart = null;
      return fill(curve, points.length < 2 ? null
        : h('p', {class: 'note'}, `Up to the cap’s epsilon of ${upward(most)} no part is expected to be reliable.`));
    }
    chart = plot({
      title: 'Parts to rely on, by epsilon',
      summary: 'Parts to rely on by epsilon: ' + points.map((point) =>
        `${point.reliable_parts} at epsilon ${short(point.epsilon)}`).join(', ') + `; asked for ${asked}.`,
      x: 'epsilon of the run', y: 'parts', logX: true, yWhole: true, yMax: Math.max(asked, 1) * 1.35,
      lines: [{label: 'parts to rely on', colour: 'spent', points: points.map((point) => [point.epsilon, point.reliable_parts])},
        {label: `parts asked for, ${asked}`, colour: 'soft', dash: [6, 5], plain: true,
          points: [[points[0].epsilon, asked], [points.at(-1).epsilon, asked]]}],
      marks: marks(),
    });
    fill(curve, chart.figure);
  }

  // A run that has paid for a release to which the planned model is one more fit.
  function paidRun({specification: {parameters}, plan}) {
    const fits = facts.mechanisms.find((one) => one.name === parameters.mechanism)?.fits_moments;
    if (!fits || plan.stages.at(-1)?.release !== parameters.mechanism) return null;
    const epsilonOf = (run) => run.specification.parameters.epsilon;
    return runsAsPriors(runs).filter((run) => run.specification.parameters.dataset === parameters.dataset && !run.added &&
      !['cancelling', 'cancelled', 'failed'].includes(stateName(run.state))).sort((a, b) => epsilonOf(b) - epsilonOf(a))[0] || null;
  }

  async function replan() {
    planning.abort();
    planning = new AbortController();
    const own = planning.signal;
    const form = formOf();
    holder.setAttribute('aria-busy', 'true');
    try {
      const plan = await calls.post('/api/plan', form, own);
      const {reply, reading} = latest = plan;
      fill(parts, reliance(reply));
      fill(price, voidMark(reply.guarantee.void_since), cost(plan));
      fill(verdict, reply.would_be_refused
        ? h('div', {class: 'problem'}, h('p', {}, h('strong', {}, 'It would be refused. '), reply.refusal), h('p', {class: 'code'}, reply.refusal_code))
        : h('p', {class: 'good-note'}, h('span', {'aria-hidden': 'true'}, '✓ '), 'It would be accepted. Nothing was spent by asking.'));
      start.disabled = reply.would_be_refused;
      fill(more, h('details', {}, h('summary', {}, 'Why this mechanism, and its noise'),
        reply.reason ? h('p', {}, reply.reason) : null, noise(reply.plan)), command(commandOf(form, 'plan')));
      epsilonSlider.setAttribute('aria-valuetext', `epsilon ${form.epsilon}, ${reply.forecast ? plural(reply.forecast.reliable_parts, 'part') + ' to rely on' : 'no forecast'}`);
      rankSlider.setAttribute('aria-valuetext', plural(form.rank || reply.specification.parameters.rank, 'part'));
      await drawCurve(form, own);
    } catch (error) {
      if (error.name === 'AbortError') return;
      if (error.isUnreachable || error.kind === 'PAGE_ENDED') throw error;
      latest = null;
      start.disabled = true;
      fill(verdict, problem(error));
    } finally {
      if (!own.aborted) {
        holder.setAttribute('aria-busy', 'false');
        holder.dataset.planned = JSON.stringify(form);
      }
    }
  }
  let timer = null;
  const soon = () => {
    clearTimeout(timer);
    start.disabled = true;
    delete holder.dataset.planned;
    timer = setTimeout(() => persist(replan).catch((error) => fill(verdict, problem(error))), 160);
  };
  signal.addEventListener('abort', () => { clearTimeout(timer); planning.abort(); });

  rankSlider.addEventListener('input', () => { rank.value = rankSlider.value; });
  rank.addEventListener('input', () => { rankSlider.value = rank.value; });
  epsilonSlider.addEventListener('input', () => {
    epsilon.value = epsilonAt(Number(epsilonSlider.value), mostEpsilon());
    if (chart && latest) chart.mark(marks());
  });
  epsilon.addEventListener('input', () => { epsilonSlider.value = stepAt(Number(epsilon.value), mostEpsilon()); });
  set.addEventListener('change', () => {
    dataset = datasets.find((one) => one.name === set.value);
    adopt();
  });

  async function submit(event) {
    event.preventDefault();
    if (!latest || latest.reply.would_be_refused) return;
    const form = formOf();
    const {reply, reading} = latest;
    const paid = paidRun(reply);
    const agreed = await confirm({
      title: `Start a run on ${form.dataset}?`,
      body: [h('p', {}, `It may spend up to epsilon ${reading.price} of population ${reply.position.population}. ` +
          `Now the largest run is epsilon ${reading.largest_run}.`),
        h('p', {}, `It takes ${percent(reply.plan.cost.value / reply.position.cap.value)} of the cap. The whole cost is reserved at once. ` +
          'Each release is charged before it is drawn, and a charge is never returned. The part of the reservation that was not charged is returned when the run ends.'),
        paid ? h('p', {class: 'problem'}, 'Run ', h('a', {href: '#/run/' + paid.run_id}, shortId(paid.run_id)),
          ` has paid epsilon ${upward(paid.specification.parameters.epsilon)} for a release of data set '${form.dataset}': a refit of it gives a model for free.`) : null,
        reply.forecast?.too_small ? h('p', {class: 'problem'}, reply.forecast.sentence.split(/(?<=\.) /)[0]) : null],
      yes: 'Start and spend', no: 'Do not start'});
    if (!agreed) return start.focus();
    start.disabled = true;
    try {
      // The same request is the same run, however often it is sent.
      const key = JSON.stringify(form);
      if (request?.key !== key) request = {key, id: 'web-' + crypto.randomUUID()};
      const run = await calls.post('/api/start', {...form, request_id: request.id});
      request = null;
      say('The run has started.');
      location.hash = '#/run/' + run.run_id;
    } catch (error) {
      fill(verdict, problem(error));
      start.disabled = false;
    }
  }

  const check = (box, label) => h('label', {class: 'check'}, box, ' ', label);
  const form = h('form', {class: 'card plan-form', 'aria-label': 'The run', onsubmit: submit, oninput: soon},
    field('Data set', set),
    h('div', {class: 'field'}, h('label', {for: 'rank'}, 'Parts (rank K)'), h('div', {class: 'pair'}, rankSlider, rank)),
    h('div', {class: 'field'}, h('label', {for: 'epsilon'}, 'Epsilon of the whole run'),
      h('div', {class: 'pair'}, epsilonSlider, epsilon),
      h('p', {class: 'hint', id: 'epsilon-hint'}, 'Smaller is more private and noisier.')),
    field('Mechanism', mechanism),
    h('details', {}, h('summary', {}, 'More'),
      field('Rounds', rounds, 'Noised releases of the whole run.'),
      field('Seed of the first W', seed, 'It has no influence on the noise.'),
      field('Prior', prior, 'An earlier release that the fit of W also uses. It costs nothing and changes no charge.'),
      check(outliers, 'Separate sparse outliers'),
      check(unreliable, 'Start even if it is unreliable')),
    verdict, start,
    h('p', {class: 'hint'}, 'Planning is free. Before a run starts, the page shows its cost.'));
  epsilon.setAttribute('aria-describedby', 'epsilon-hint');
  fill(holder, heading('Plan a run'),
    h('div', {class: 'columns'}, form,
      h('div', {class: 'outlook'},
        h('section', {class: 'card', 'aria-label': 'What to expect'}, h('h2', {}, 'What to expect'), parts, curve),
        h('section', {class: 'card', 'aria-label': 'What it costs'}, h('h2', {}, 'What it costs'), price, more))));
  if (query.get('rank')) rank.value = query.get('rank');
  if (query.get('epsilon')) epsilon.value = query.get('epsilon');
  adopt();
  await persist(replan);
}
