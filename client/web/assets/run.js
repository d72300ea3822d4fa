// One run: live while it lasts, then its parts, other ranks, refits.
import * as calls from './calls.js';
import * as models from './models.js';
import {command, confirm, empty, enforced, facts as factList, field, fill, h, hasEnded, moment, percent, plural, problem, say,
  listing, save, short, shortId, stateChip, stateName, table, upward, voidMark} from './dom.js';
import {bars, imageWidth, largest, nameOf, partOf, picture, plot, progress, runsDown, sheet, top} from './draw.js';

const MOST_BARS = 1024;
// Changes of W from few rounds, each by another release, tell nothing.
const LEAST_ROUNDS = 4;

// ---- While it runs

function liveSection(run) {
  const rounds = run.specification.parameters.rounds;
  const bar = progress(run.rounds_done, rounds, 'Rounds done');
  const count = h('strong', {id: 'rounds'}, `${run.rounds_done} of ${rounds}`);
  const spent = h('strong', {id: 'spent'});
  const change = h('strong', {});
  const last = h('strong', {});
  const curved = rounds >= LEAST_ROUNDS;
  const chart = h('div', {class: curved ? 'chart' : ''});  // has its height before it is drawn
  const messages = h('ol', {class: 'events', 'aria-label': 'Messages'});
  const points = [];
  const showSpent = (epsilons) => {
    const epsilon = enforced(epsilons, run.specification.parameters.conversion);
    fill(spent, run.parent || run.added ? 'nothing: this release was paid for before' : epsilon === undefined ? '–' : 'epsilon ' + upward(epsilon));
  };
  showSpent(run.spent);
  const node = h('section', {class: 'card', 'aria-label': 'Progress'},
    h('div', {class: 'live'}, bar,
      h('p', {}, h('span', {class: 'soft'}, 'Rounds'), count),
      h('p', {}, h('span', {class: 'soft'}, 'Spent so far'), spent),
      curved ? h('p', {}, h('span', {class: 'soft'}, 'Change of W in the last round'), change) : null,
      h('p', {}, h('span', {class: 'soft'}, 'Last round'), last)),
    chart, messages);
  let drawn = 0;
  const drawChart = () => {
    if (points.length < LEAST_ROUNDS || drawn === points.length) return;
    drawn = points.length;
    fill(chart, plot({title: 'Change of W', height: 170, x: 'round', y: 'relative',
      summary: `Relative change of W from round to round: ${short(points[0][1])} in round ${points[0][0]}, ${short(points.at(-1)[1])} in round ${points.at(-1)[0]}.`,
      lines: [{label: 'relative change of W', colour: 'spent', plain: points.length > 60, points: [...points]}]}).figure);
  };
  fill(change, '–');
  fill(last, '–');
  let later = null;
  let passing = null;  // of an outage: until the next event
  return {node, learning(share) {
    bar.removeAttribute('value');
    fill(last, `fitting ${Math.floor(100 * share)} %`);
  }, event(event) {
    if (event.round > 0 && event.relative_change > 0 && points.at(-1)?.[0] !== event.round)
      points.push([event.round, event.relative_change]);
    bar.value = event.round;
    fill(count, `${event.round} of ${event.rounds}`);
    if (event.spent) showSpent(event.spent);
    if (event.relative_change > 0) fill(change, percentOf(event.relative_change));
    if (event.round_seconds > 0) fill(last, short(event.round_seconds) + ' s');
    if (passing) passing.remove();
    const line = event.message ? h('li', {}, event.message) : null;
    if (line) messages.append(line);
    passing = stateName(event.state) === 'waiting' ? line : null;
    later = later || setTimeout(() => { later = null; drawChart(); }, 250);
  }};
}
const percentOf = (share) => short(100 * share, 2) + ' %';

// ---- Parts

// `now` is the run as it stands by the server's last word; `persist` tries again
// what the server cannot take now.
function partsSection(now, facts, signal, persist) {
  const run = now();
  const holder = h('section', {class: 'card', 'aria-label': 'Parts', id: 'parts'});
  const grid = h('div', {class: 'parts'});
  const trouble = h('div', {});
  const sentence = h('p', {class: 'note'});
  const reliance = h('p', {class: 'note', id: 'reliance', role: 'status'});
  let model = null;
  let known = null;  // PartFacts by part
  let view = null;
  let loads = 0;  // the last of them is shown, whichever comes last

  const captionOf = (k) => {
    const part = known && known[k];
    return h('figcaption', {}, h('strong', {}, `Part ${k + 1}`),
      part ? h('span', {class: 'soft'}, `explains ${percent(part.explained)}, reliability ${part.reliability.toFixed(2)}`) : null,
      part && part.noise ? h('span', {class: 'noise-mark'}, 'probably noise') : null);
  };
  const {dataset} = run.specification.parameters;
  const features = listing({
    what: 'features', caption: 'Features', order: 'in the order of the data set',
    columns: [
      {title: 'Number', number: true, of: (row) => row + 1},
      {title: 'Feature', of: (row) => model.names.length ? nameOf(model, row) : 'without a name'},
      {title: 'Most in', of: (row) => mostOf(row) ? `Part ${mostOf(row)[0] + 1}` : 'no part'},
      {title: 'Entry', number: true, of: (row) => (mostOf(row)?.[1] ?? 0).toFixed(2)}]});
  let peaks = [];
  const mostOf = (row) => Array.from({length: model.columns}, (_, k) => [k, peaks[k] ? partOf(model, k)[row] / peaks[k] : 0])
    .reduce((best, one) => one[1] > (best?.[1] ?? 0) ? one : best, null);
  const of = {pictures: (k) => picture(model, k, imageWidth(model, facts.image_width), runsDown(facts, dataset)), bars: (k) => bars(model, k), top: (k) => top(model, k)};
  const draw = () => {
    grid.className = 'parts ' + view;
    turn.hidden = view !== 'pictures';
    savePicture.hidden = !['pictures', 'bars'].includes(view);
    saveParts.hidden = !known;
    turn.setAttribute('aria-pressed', String(runsDown(facts, dataset)));
    if (view === 'features') {
      fill(sentence, 'The part in which the entry of a feature is largest, relative to the largest entry of that part.');
      if (features.node.parentElement !== grid) fill(grid, features.node);  // else a search keeps the focus
      return features.show(Array.from({length: model.rows}, (_, row) => row));
    }
    fill(grid, Array.from({length: model.columns}, (_, k) =>
      h('figure', {class: known && known[k]?.noise ? 'part noise' : 'part', 'data-part': k + 1}, of[view](k), captionOf(k))));
    fill(sentence, view === 'pictures' ? 'Blank is 0; full ink is the largest entry of that part.'
      : view === 'bars' ? 'Entries in the order of the features' + (model.errors ? ', with one standard error of the known noise to both sides.' : '.')
      : 'Relative to the largest entry of the part' + (model.errors ? ', ± one standard error of the known noise.' : '.'));
  };
  const turn = h('button', {class: 'plain', id: 'transpose', title: 'Pixels follow one another down the columns of a picture; remembered for the data set',
    onclick: async () => {
      const order = runsDown(facts, dataset) ? 'row' : 'column';
      facts.image_orders[dataset] = order;
      draw();
      try {
        fill(trouble);
        await calls.post('/api/image-order', {dataset, order});
      } catch (error) {
        fill(trouble, problem(error));
      }
    }}, 'Transpose');
  const file = (kind, type) => `${kind}-${shortId(run.run_id)}.${type}`;
  const saving = (id, label, work) => h('button', {class: 'plain', id, onclick: async () => {
    fill(trouble);
    await Promise.resolve().then(work).catch((error) => fill(trouble, problem(error)));
  }}, label);
  const saveW = saving('save-w', 'Save W.csv', async () => {
    const reply = await calls.call('/api/model.csv', {run: run.run_id}, {signal});
    // W as it stands now: of a run that goes on, perhaps of a later round than is shown.
    const round = hasEnded(now().state) ? '' : '-round-' + reply.headers.get('X-Dpnmf-Round');
    save(`W-${shortId(run.run_id)}${round}.csv`, await reply.text());
  });
  const saveParts = saving('save-parts', 'Save parts.csv', () => save(file('parts', 'csv'), ['part,explained,reliability,noise',
    ...known.map((part, k) => [k + 1, part.explained, part.reliability, part.noise ? 1 : 0].join(','))].join('\n') + '\n'));
  const savePicture = saving('save-picture', 'Save picture.png', async () => save(file('parts', 'png'), await sheet([...grid.querySelectorAll('canvas')])));
  const choices = h('fieldset', {class: 'choice'}, h('legend', {class: 'unseen'}, 'Show parts as'));
  const errors = h('button', {class: 'plain', id: 'errors', onclick: async () => {
    const mine = model;
    errors.disabled = true;
    fill(errors, 'Fitting 16 draws of the noise …');
    try {
      mine.errors = await models.standardErrors(run.run_id, mine.w.length, signal);
      if (signal.aborted || mine !== model) return;
      fill(errors, 'Error bars are shown');
      if (view === 'pictures') choices.querySelector('[value=top]').click();
      else draw();
      say('Standard errors are shown.');
    } catch (error) {
      if (mine !== model) return;
      fill(errors, 'Add error bars');
      errors.disabled = false;
      fill(trouble, problem(error));
    }
  }}, 'Add error bars');

  const load = () => {
    const mine = ++loads;
    return persist(() => mine === loads ? fetchAndDraw(mine) : 0);
  };
  async function fetchAndDraw(mine) {
    fill(holder, h('h2', {}, 'Parts'), h('p', {class: 'note loading'}, 'Fetching W …'));
    let fetched = null;
    try {
      fetched = await models.model(run.run_id, signal);
      if (mine !== loads) return;
    } catch (error) {
      if (mine !== loads) return;
      if (error.isUnreachable || error.name === 'AbortError') throw error;
      const message = error.code === 'model-not-ready' && models.givesParts(facts, run) ? empty('No parts yet', 'W comes with the first release.')
        : ['model-not-ready', 'run-not-dictionary'].includes(error.code) ? h('p', {class: 'note'}, error.message) : problem(error);
      fill(holder, h('h2', {}, 'Parts'), message);
      return;
    }
    model = fetched;
    peaks = Array.from({length: model.columns}, (_, k) => partOf(model, k).reduce((a, b) => Math.max(a, b), 0));
    known = null;
    fill(reliance);
    fill(trouble);
    fill(errors, 'Add error bars');
    errors.disabled = false;
    const width = imageWidth(model, facts.image_width);
    const views = [width ? ['pictures', 'Pictures'] : null, model.rows <= MOST_BARS ? ['bars', 'Bars'] : null, ['top', 'Top features'], ['features', 'All features']].filter(Boolean);
    view = views.some(([name]) => name === view) ? view : model.names.length && !width ? 'top' : views[0][0];
    fill(choices, h('legend', {class: 'unseen'}, 'Show parts as'), views.map(([name, label]) => h('label', {},
      h('input', {type: 'radio', name: 'parts-view', value: name, checked: name === view, onchange: () => { view = name; draw(); }}),
      h('span', {}, label))));
    fill(holder, h('div', {class: 'card-head'}, h('h2', {}, `Parts after ${plural(model.rounds_done, 'round')}`),
      h('div', {class: 'actions'}, choices, turn, hasEnded(now().state) ? errors : null)),
    trouble, reliance, sentence, grid, h('div', {class: 'actions'}, saveW, saveParts, savePicture), command(`dpnmf model ${shortId(run.run_id)} --output W.npy`));
    draw();
    holder.dataset.columns = String(model.columns);
    if (!hasEnded(now().state)) return;
    fill(reliance, 'The server computes how reliable each part is' +
      (model.rows > MOST_BARS ? '; with so many features this takes a minute or more.' : ' …'));
    persist(async () => {
      const parts = await models.partFacts(run.run_id, signal);
      if (mine !== loads) return;
      known = parts;
      fill(reliance, known ? 'Reliability: the cosine to be expected with the part of another draw of the noise; from 0.80 on a part is reliable, below 0.60 it is probably noise.' : null);
      if (known) draw();
    }).catch((error) => {
      if (mine === loads) fill(reliance, error.name === 'AbortError' || error.isUnknownCall ? null
        : error.code === 'errors-unavailable' ? 'How reliable each part is, is known only of completed runs that released second moments.' : 'How reliable the parts are is not known: ' + error.message);
    });
  }
  return {node: holder, load};
}

// ---- What a paid release gives for nothing

// Measures of a rank by public text: key, title, whether it is a share of 1.
const MEASURES = [['npmi', 'NPMI', true], ['word2vec', 'TC-W2V', true], ['umass', 'UMass', false]];

function coherenceOf(coherences) {
  const measures = MEASURES.filter(([key]) => coherences.some((one) => one[key] !== undefined));
  const of = (rank) => coherences.find((one) => one.rank === rank) || {};
  const shares = measures.filter(([, , share]) => share);
  const points = (key) => coherences.filter((one) => one[key] !== undefined).map((one) => [one.rank, one[key]]);
  return {
    columns: measures.map(([key, title]) => ({title, number: true, of: (row) => of(row.rank)[key]?.toFixed(3) ?? '–'})),
    plot: shares.length === 0 ? null : plot({title: 'Coherence of the first words in public text', x: 'parts', y: 'mean', height: 200,
      summary: shares.map(([key, title]) => `${title} by the number of parts: ` +
        points(key).map(([rank, value]) => `${rank}: ${value.toFixed(2)}`).join(', ')).join('; ') + '.',
      lines: shares.map(([key, title], i) => ({label: title, colour: ['spent', 'reserved'][i], dash: i ? [7, 4] : undefined, points: points(key)}))}).figure,
  };
}

function choiceOf(rows, choice, coherences) {
  const coherence = coherenceOf(coherences);
  return [
    h('p', {class: 'lead', id: 'choice'}, choice.sentence),
    plot({title: 'Stability of each number of parts', x: 'parts', y: 'share', yMax: 1.05,
      summary: 'Stability and held-out fit by the number of parts: ' +
        rows.map((row) => `${row.rank}: ${row.stability.toFixed(2)} and ${row.held_out.toFixed(2)}`).join('; ') + '.',
      lines: [
        {label: 'stability', colour: 'spent', points: rows.map((row) => [row.rank, row.stability])},
        {label: 'explained, held out', colour: 'reserved', dash: [7, 4], points: rows.map((row) => [row.rank, row.held_out])},
        {label: 'explained', colour: 'free', dash: [2, 4], points: rows.map((row) => [row.rank, row.explained])}],
      marks: choice.rank ? [{x: choice.rank, label: `${choice.rank} advised`, colour: 'accent'}] : []}).figure,
    h('p', {class: 'note'}, 'The known noise is split in two, and each number of parts is fitted to both halves. A part is stable if both halves find it; held out is the share of the other half that the parts predict.'),
    coherence.plot,
    h('details', {}, h('summary', {}, 'The figures'), table('Ranks compared', [
      {title: 'Parts', number: true, of: (row) => row.rank},
      {title: 'Stability', number: true, of: (row) => row.stability.toFixed(2)},
      {title: 'Stable parts', number: true, of: (row) => row.stable_parts},
      {title: 'Explained, held out', number: true, of: (row) => row.held_out.toFixed(2)},
      {title: 'Explained', number: true, of: (row) => row.explained.toFixed(2)},
      ...coherence.columns,
    ], rows))];
}

function freeSection(run, signal, persist) {
  const id = run.run_id;
  const result = h('div', {id: 'choose-result', 'aria-live': 'polite'});
  const rank = h('input', {type: 'number', min: 1, max: 4096, required: true, id: 'refit-rank', value: String(run.specification.parameters.rank)});
  const seed = h('input', {type: 'number', min: 0, id: 'refit-seed', value: '0'});
  const prior = h('select', {id: 'refit-prior'}, h('option', {value: ''}, 'as this run'));
  const fillPriors = async () => {
    const {runs} = await calls.get('/api/runs', {}, signal);
    prior.append(h('option', {value: 'none'}, 'none'),
      ...models.runsAsPriors(runs).filter((one) => one.run_id !== id && one.run_id !== run.parent).map(models.priorOption));
  };
  persist(fillPriors).catch(() => {});  // the others remain
  const refitResult = h('div', {'aria-live': 'polite', id: 'refit-result'});
  const choose = h('button', {class: 'plain', id: 'choose', onclick: async () => {
    choose.disabled = true;
    const rows = [];
    const coherences = [];
    const bar = progress(0, 1, 'Share of the work that is done');
    fill(result, bar);
    try {
      for await (const {reply, coherence} of calls.events('/api/choose', {run: id}, signal)) {
        if (coherence) coherences.push(coherence);
        if (!reply) continue;
        if (reply.progress !== undefined) bar.value = reply.progress;
        if (reply.facts) rows.push(reply.facts);
        if (reply.choice) {
          fill(result, choiceOf(rows, reply.choice, coherences));
          if (reply.choice.rank) rank.value = reply.choice.rank;
        }
      }
    } catch (error) {
      fill(result, problem(error));
    }
    choose.disabled = false;
  }}, 'Compare numbers of parts');
  const refit = async (event) => {
    event.preventDefault();
    fill(refitResult, h('p', {class: 'note loading'}, 'Fitting …'));
    try {
      const child = await calls.post('/api/refit', {run: id, rank: Number(rank.value), seed: Number(seed.value || 0), prior: prior.value});
      location.hash = '#/run/' + child.run_id;
    } catch (error) {
      fill(refitResult, problem(error));
    }
  };
  return h('section', {class: 'card', 'aria-label': 'Free of charge'},
    h('h2', {}, 'Free of charge'),
    h('p', {class: 'note'}, 'The release is paid for. Further fits do not contact the curator and spend nothing.'),
    h('div', {class: 'offers'},
      h('div', {}, h('h3', {}, 'How many parts does it support?'), h('p', {}, choose), result),
      h('form', {onsubmit: refit}, h('h3', {}, 'Fit again'),
        h('div', {class: 'row'}, field('Parts', rank), field('Seed', seed), field('Prior', prior),
          h('button', {class: 'plain', id: 'refit'}, 'Refit, free')), refitResult)));
}

// ---- All of it

export async function runView({holder, heading, words, signal, facts, persist}) {
  let run = await calls.get('/api/run', {run: words[0]}, signal);
  const id = run.run_id;
  const {parameters} = run.specification;
  const head = h('div', {class: 'stack'});
  const below = h('div', {});
  const live = liveSection(run);
  const parts = partsSection(() => run, facts, signal, persist);

  const cancel = async () => {
    const epsilon = enforced(run.spent, parameters.conversion) || 0;
    const agreed = await confirm({
      title: `Cancel run ${shortId(id)}?`,
      body: [h('p', {}, `It has spent epsilon ${upward(epsilon)}, and that stays spent. A round that is under way may still be charged.`),
        h('p', {}, 'The part of the reservation that was not charged is returned to the budget. W of the rounds so far is kept.')],
      yes: 'Cancel the run', no: 'Let it go on', danger: true});
    if (!agreed) return;
    try {
      const answer = await calls.post('/api/cancel', {run: id});
      // The stream may have said by now how the run has ended.
      if (hasEnded(run.state)) return;
      run = answer;
      latest = run.state;
      drawHead();
      say('The run is being cancelled.');
    } catch (error) {
      head.append(problem(error) || '');
    }
  };

  // A new state leaves the heading and its button where they are: a button that is
  // made again loses the focus, and a press between two states is lost with it.
  const chip = h('span', {});
  const next = h('span', {}, h('button', {class: 'danger', id: 'cancel', onclick: cancel}, 'Cancel …'));
  const account = h('div', {class: 'stack'});
  fill(head, heading(`Run ${shortId(id)}`, h('div', {class: 'actions'}, chip, next)), account);
  function drawHead() {
    parts.node.dataset.state = holder.dataset.state = stateName(run.state);
    fill(chip, stateChip(run.state));
    if (hasEnded(run.state)) fill(next, models.givesParts(facts, run) && h('a', {class: 'button plain', href: '#/compare/' + id}, 'Compare with …'));
    fill(account,
      voidMark(run.void_since),
      run.error ? h('div', {class: 'problem'}, h('p', {}, run.error), h('p', {class: 'code'}, run.error_code)) : null,
      factList([
        ['Data set', h('a', {href: '#/plan?dataset=' + parameters.dataset}, parameters.dataset)],
        ['Parts', String(parameters.rank)],
        ['Mechanism', `${parameters.mechanism}, ${plural(parameters.rounds, 'round')}`],
        run.parent ? ['Fitted to the release of', h('a', {href: '#/run/' + run.parent}, shortId(run.parent))] : null,
        run.added ? ['Release', 'added; another analyst paid for it'] : null,
        run.specification.priors?.length ? ['Priors', run.specification.priors.map((one) => one.run_id ? `run ${shortId(one.run_id)}` : one.source).join(', ')] : null,
        run.parent || run.added ? ['Cost', 'nothing'] : ['Asked for', `epsilon ${upward(parameters.epsilon)} at delta ${upward(parameters.delta)}`],
        run.explained !== undefined ? ['Explains', `${percent(run.explained)} of people's squared length, estimated from the release`] : null,
        run.objective ? ['Objective', `${short(run.objective.value, 5)} ± ${short(run.objective.stddev)}`] : null,
        ['Started', [moment(run.created_unix_seconds), h('span', {class: 'soft'}, ' by ' + run.started_by)]],
      ]));
  }
  function drawBelow() {
    // The same as at the server: what is fitted again is a release of second moments.
    const paid = run.plan?.stages?.some((stage) => stage.release === 'moments');
    if (hasEnded(run.state) && run.rounds_done > 0 && paid) fill(below, freeSection(run, signal, persist));
  }

  drawHead();
  drawBelow();
  fill(holder, head, live.node, parts.node, below);
  // Events that have gone by are listed as those that come, and are not the state of now.
  let cursor = 0;
  let fetched = -1;
  const lasted = !hasEnded(run.state);  // when the view was opened
  let latest = run.state;
  let settling = null;
  const settle = () => {
    settling = null;
    if (signal.aborted || hasEnded(run.state) || latest === run.state) return;
    run = {...run, state: latest};
    drawHead();
  };
  const loading = run.rounds_done > 0 || hasEnded(run.state) ? parts.load() : fill(parts.node, h('h2', {}, 'Parts'), empty('No parts yet', 'W comes with the first release.'));
  const watching = persist(async (heard) => {
    for await (const message of calls.events('/api/watch', {run: id, after: cursor}, signal)) {
      heard();
      const {event, run: after} = message;
      if (event) {
        if (event.learning !== undefined) live.learning(event.learning);
        if (Number(event.cursor) <= cursor) continue;
        cursor = Number(event.cursor);
        live.event(event);
        // An end is the server's to say, with all that is known then.
        if (!hasEnded(event.state)) {
          latest = event.state;
          settling = settling || setTimeout(settle, 100);
        }
        if (event.spent && lasted) run.spent = event.spent;
        if (event.round > 0 && fetched < 0 && !hasEnded(run.state) && run.rounds_done === 0) {
          fetched = event.round;
          parts.load();
        }
      }
      if (after) {
        run = after;
        drawHead();
        if (hasEnded(run.state)) {
          say(`The run has ${stateName(run.state) === 'failed' ? 'failed' : 'ended: ' + stateName(run.state)}.`);
          if (lasted) drawBelow();
          if (lasted) await parts.load();
          return 0;
        }
        return 1000;
      }
    }
    return 1000;  // the stream ended without the run's end
  });
  watching.catch((error) => head.append(problem(error) || ''));
  await loading;
}
