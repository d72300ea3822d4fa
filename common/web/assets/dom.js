// Elements, numbers and dialogs. Text goes through text nodes alone.

// h('p', {class: 'note', onclick: f}, 'text', node, [more])
export function h(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else if (name === 'value') element.value = value;
    else element.setAttribute(name, value === true ? '' : value);
  }
  element.append(...children.flat(3).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

export const fill = (element, ...children) =>
  element.replaceChildren(...children.flat(3).filter((child) => child !== null && child !== undefined && child !== false));

// ---- Numbers. What is spent or promised is rounded up, what may still be
// asked for down.

function cut(value, up, digits = 4) {
  if (!Number.isFinite(value) || value === 0) return String(value);
  let near = Number(value.toPrecision(digits));
  if (up ? near < value : near > value) {
    const step = 10 ** (Math.floor(Math.log10(Math.abs(value))) - digits + 1);
    near = Number((near + (up ? step : -step)).toPrecision(digits));
  }
  return plain(near);
}
// Writes as %g: small numbers with an exponent.
const plain = (value) => value !== 0 && Math.abs(value) < 1e-4 ? value.toExponential().replace(/-(\d)$/, '-0$1') : String(value);
export const upward = (value) => cut(Number(value), true);
export const downward = (value) => cut(Number(value), false);
export const short = (value, digits = 3) => plain(Number(Number(value).toPrecision(digits)));
export const whole = (value) => Number(value).toLocaleString('en');
export const percent = (share) => {
  const value = 100 * share;
  return (value > 0 && value < 1 ? '< 1' : value < 100 && value > 99 ? '> 99' : Math.round(value)) + '\u00a0%';
};
export const plural = (count, word) => whole(count) + ' ' + word + (Number(count) === 1 ? '' : 's');

export function duration(seconds) {
  if (seconds < 1) return 'less than a second';
  if (seconds < 120) return `about ${Math.round(seconds)} s`;
  return seconds < 7200 ? `about ${Math.round(seconds / 60)} min` : `about ${Math.round(seconds / 3600)} h`;
}

export function moment(unixSeconds) {
  const time = new Date(1000 * Number(unixSeconds));
  return h('time', {datetime: time.toISOString()},
    time.toLocaleString('en-GB', {dateStyle: 'medium', timeStyle: 'short'}));
}

// No break within 1e-05.
export const unbroken = (sentence) => sentence.split(/(\S*\de-\d\S*)/).map((piece, i) =>
  i % 2 ? h('span', {class: 'nowrap'}, piece) : piece);

// ---- Names of the wire

export const shortId = (id) => id.slice(0, 12);
export const runCode = (id) => h('code', {class: 'nowrap', title: id}, shortId(id));

const STATES = {
  QUEUED: ['◌', 'queued', 'waits'], RUNNING: ['▶', 'running', 'live'], WAITING: ['‖', 'waiting', 'waits'],
  CANCELLING: ['▽', 'cancelling', 'waits'], COMPLETED: ['✓', 'completed', 'good'],
  CANCELLED: ['■', 'cancelled', 'ended'], FAILED: ['✕', 'failed', 'bad'],
};
const stateOf = (state) => STATES[String(state).replace('RUN_STATE_', '')] || ['?', 'unknown', 'ended'];
export const stateName = (state) => stateOf(state)[1];
export const hasEnded = (state) => ['completed', 'cancelled', 'failed'].includes(stateName(state));
export const stateChip = (state) => {
  const [icon, name, tone] = stateOf(state);
  return h('span', {class: 'chip ' + tone}, h('span', {'aria-hidden': 'true'}, icon), ' ' + name);
};

const ENFORCED = {CONVERSION_RDP: 'rdp', CONVERSION_RDP_OPTIMAL: 'rdp_optimal', CONVERSION_GAUSSIAN: 'gaussian'};
export const enforced = (epsilons, conversion) => epsilons ? epsilons[ENFORCED[conversion]] : undefined;

export const voidMark = (since) => since === undefined ? null : h('p', {class: 'void'},
  h('strong', {}, h('span', {'aria-hidden': 'true'}, '⚠ '), 'Guarantee void since ', moment(since), '. '),
  'The operator published a table about these people without privacy. What epsilon says no longer holds for them.');

// ---- Parts of views

// columns: {title, of(row), number, wide}. At a narrow screen a row is a card.
export function table(caption, columns, rows) {
  return h('div', {class: 'scroll'}, h('table', {role: 'table', class: 'list'},
    h('caption', {class: caption.seen ? '' : 'unseen'}, caption.text || caption),
    h('thead', {role: 'rowgroup'}, h('tr', {role: 'row'}, columns.map((column) =>
      h('th', {role: 'columnheader', scope: 'col', class: column.number ? 'number' : ''}, column.title)))),
    h('tbody', {role: 'rowgroup'}, rows.map((row) => h('tr', {role: 'row'}, columns.map((column) =>
      h('td', {role: 'cell', 'data-title': column.title, class: column.number ? 'number' : ''}, h('div', {}, column.of(row)))))))));
}

export function groups(rows, of) {
  const map = new Map();
  for (const row of rows) {
    const key = of(row);
    if (map.has(key)) map.get(key).push(row);
    else map.set(key, [row]);
  }
  return map;
}

// Rows of a long list, in pages; more than a few can be searched and filtered. What was
// asked for stays when rows come again and when the view is opened again.
//   what     the rows, in the plural
//   order    by what they are ordered, in words
//   draw     makes what is shown of the rows of a page
//   text     of a row: what a search looks in
//   filters  {title, of(row), quiet}; rows whose value is `quiet` are hidden until asked for
// {node, show(rows)}.
const FEW = 10;
const kept = new Map();  // by `what`
export function paged({what, order, draw, text, filters = [], size = 25}) {
  const state = kept.get(what) || {words: '', at: 0, chosen: filters.map(() => '')};
  kept.set(what, state);
  let rows = [];
  let texts = null;
  const change = (set) => (event) => { set(event.target.value); state.at = 0; show(); };
  const search = h('input', {type: 'search', value: state.words, autocomplete: 'off', spellcheck: 'false',
    oninput: change((value) => { state.words = value; })});
  const selects = filters.map((_, i) => h('select', {onchange: change((value) => { state.chosen[i] = value; })}));
  const controls = h('div', {class: 'row finder', role: 'search', 'aria-label': 'Find ' + what}, field('Search ' + what, search),
    filters.map(({title}, i) => field(title, selects[i])));
  const holder = h('div', {});
  const count = h('p', {class: 'note', role: 'status'});
  const turn = (by) => () => { state.at += by * size; show(); node.scrollIntoView({block: 'nearest'}); };
  const back = h('button', {class: 'plain', type: 'button', onclick: turn(-1)}, '← Previous');
  const on = h('button', {class: 'plain', type: 'button', onclick: turn(1)}, 'Next →');
  const pages = h('div', {class: 'actions', role: 'group', 'aria-label': 'Pages of ' + what}, back, on);
  const node = h('div', {class: 'stack'}, controls, holder, h('div', {class: 'card-head'}, count, pages));

  function offer() {
    filters.forEach(({of, quiet}, i) => {
      const values = groups(rows, of);
      const chosen = state.chosen[i].slice(1);  // stays on offer when none is left
      if (chosen && !values.has(chosen)) values.set(chosen, []);
      const option = (value, words) => h('option', {value, selected: state.chosen[i] === value}, words);
      fill(selects[i], quiet === undefined ? option('', 'all') : [option('', 'all but ' + quiet), option('*', 'all')],
        [...values.keys()].sort().map((value) => option('=' + value, `${value} (${values.get(value).length})`)));
      state.chosen[i] = selects[i].value;
    });
  }
  const passes = (row) => filters.every(({of, quiet}, i) => state.chosen[i] === '*' ||
    (state.chosen[i] ? of(row) === state.chosen[i].slice(1) : of(row) !== quiet));
  function show() {
    const few = rows.length <= FEW;
    controls.hidden = few;
    let found = rows;
    if (!few) {
      const words = state.words.toLowerCase().split(/\s+/).filter(Boolean);
      if (words.length) texts = texts || new Map(rows.map((row) => [row, text(row).toLowerCase()]));
      found = rows.filter((row) => passes(row) && words.every((word) => texts.get(row).includes(word)));
    }
    state.at = Math.max(0, Math.min(state.at, size * (Math.ceil(found.length / size) - 1)));
    const link = holder.contains(document.activeElement) && document.activeElement.getAttribute('href');
    fill(holder, found.length ? draw(found.slice(state.at, state.at + size)) : h('p', {class: 'note'}, 'Nothing fits the search.'));
    if (link) holder.querySelector(`a[href="${CSS.escape(link)}"]`)?.focus();
    const last = Math.min(found.length, state.at + size);
    count.textContent = [found.length > size ? `${whole(state.at + 1)} to ${whole(last)} of ${whole(found.length)} ${what}`
      : `${whole(found.length)} ${found.length === 1 ? what.replace(/ies$/, 'y').replace(/s$/, '') : what}`,
    found.length < rows.length ? `, of ${whole(rows.length)} in all` : '', `; ${order}.`].join('');
    pages.hidden = found.length <= size;
    back.disabled = state.at === 0;
    on.disabled = last === found.length;
  }
  return {node, show(next) {
    rows = next;
    texts = null;
    offer();
    show();
  }};
}

// A table of them; a search looks in all that a row shows, and in the titles: the whole
// of ids that are shown by their first digits.
export function listing({columns, caption, ...rest}) {
  const text = (row) => columns.map((column) => {
    const cell = h('p', {}, column.of(row));
    return [cell.textContent, ...Array.from(cell.querySelectorAll('[title]'), (one) => one.title)].join(' ');
  }).join(' ');
  return paged({text, ...rest, draw: (rows) => table(caption, columns, rows)});
}

// Gives the person a file. `content`: text or a Blob.
export function save(name, content, type = 'text/csv') {
  const url = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], {type}));
  h('a', {href: url, download: name}).click();
  URL.revokeObjectURL(url);
  say(name + ' is saved.');
}

export const facts = (pairs) => h('dl', {class: 'facts'}, pairs.filter(Boolean).map(([name, value]) =>
  h('div', {}, h('dt', {}, name), h('dd', {}, value))));

export const empty = (title, sentence, action) =>
  h('div', {class: 'empty'}, h('p', {class: 'empty-title'}, title), h('p', {}, sentence), action);

export const command = (line) => h('div', {class: 'command'},
  h('span', {class: 'command-label'}, 'The same in a terminal'), h('code', {tabindex: '0'}, line));

// The words for a call that was refused.
export function problem(error) {
  if (error.name === 'AbortError') return null;
  if (error.isUnknownCall)
    return h('p', {class: 'note'}, 'Not offered by this analyst: its server is of an earlier version.');
  return h('div', {class: 'problem', role: 'alert'},
    h('p', {}, h('span', {'aria-hidden': 'true'}, '⚠ '), error.message),
    error.code ? h('p', {class: 'code'}, error.code) : null);
}

let fieldCount = 0;
// A labelled control; `hint` is read with it.
export function field(label, control, hint) {
  const id = control.id || 'field-' + ++fieldCount;
  control.id = id;
  if (hint) control.setAttribute('aria-describedby', id + '-hint');
  return h('div', {class: 'field'}, h('label', {for: id}, label), control,
    hint ? h('p', {class: 'hint', id: id + '-hint'}, hint) : null);
}

// Said to screen readers, not shown.
export function say(sentence) {
  document.getElementById('status').textContent = sentence;
}

// True if the person confirmed.
export function confirm({title, body, yes, no = 'Go back', danger}) {
  return new Promise((resolve) => {
    const dialog = h('dialog', {'aria-labelledby': 'dialog-title'},
      h('form', {method: 'dialog'}, h('h2', {id: 'dialog-title'}, title), body,
        h('div', {class: 'actions'},
          h('button', {class: 'plain', value: 'no', autofocus: true}, no),
          h('button', {class: danger ? 'danger' : 'main', value: 'yes', id: 'dialog-yes'}, yes))));
    dialog.addEventListener('close', () => {
      dialog.remove();
      resolve(dialog.returnValue === 'yes');
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}
