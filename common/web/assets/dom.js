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
// As %g writes it: small numbers with an exponent.
const plain = (value) => value !== 0 && Math.abs(value) < 1e-4 ? value.toExponential() : String(value);
export const upward = (value) => cut(Number(value), true);
export const downward = (value) => cut(Number(value), false);
export const short = (value, digits = 3) => plain(Number(Number(value).toPrecision(digits)));
export const whole = (value) => Number(value).toLocaleString('en');
export const percent = (share) => {
  const value = 100 * share;
  return (value > 0 && value < 1 ? '< 1' : value < 100 && value > 99 ? '> 99' : Math.round(value)) + ' %';
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

export const facts = (pairs) => h('dl', {class: 'facts'}, pairs.filter(Boolean).map(([name, value]) =>
  h('div', {}, h('dt', {}, name), h('dd', {}, value))));

export const empty = (title, sentence, action) =>
  h('div', {class: 'empty'}, h('p', {class: 'empty-title'}, title), h('p', {}, sentence), action);

export const command = (line) => h('div', {class: 'command'},
  h('span', {class: 'command-label'}, 'The same in a terminal'), h('code', {tabindex: '0'}, line));

// What to say when a call was refused.
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
