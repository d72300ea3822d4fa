// The frame of all views. begin(page) shows the view that the address names:
//   name     of the page, in titles
//   views    by the word after "#/"; the first of them at any other address
//   under    of views that stand in no list: the view whose link is marked
//   server   what the program asks, in sentences; waiting: while it is out of reach
//   footer   text of the facts of the program
//   titles   of views that were refused, by the reason code
import * as calls from './calls.js';
import {fill, h, problem, say} from './dom.js';

const main = document.getElementById('main');
const banner = document.getElementById('banner');
let closing = null;  // ends what the view of now waits for
let facts = null;
let page = null;

// The page's own trouble, above all views; the view goes on trying.
function trouble(error) {
  if (!error) return fill(banner);
  const title = error.kind === 'PAGE_ENDED' ? 'This page has lost its program.'
    : error.kind === 'SESSION' ? 'This page is of an earlier session.'
    : error.kind === 'OTHER_TAB' ? 'This page is open in another tab.'
    : error.isBusy ? `${page.server} takes no further call now.`
    : error.isUnreachable ? `${page.server} cannot be reached.` : null;
  if (!title) return;
  if (banner.textContent !== title + ' ' + error.message) fill(banner, h('div', {class: 'banner'}, h('strong', {}, title), ' ', error.message));
}

// Runs `work`, again after a pause while the server is out of reach, and again
// after as many milliseconds as it returns, until the view is left. Resolves
// when it has succeeded once. Work that lasts calls its argument when it has heard
// from the server again.
function persist(work, signal) {
  return new Promise((resolve, reject) => {
    const turn = async (pause) => {
      let next = 0;
      try {
        next = await work(() => trouble(null));
        if (signal.aborted) return resolve();
        trouble(null);
        resolve();
        pause = 1000;
      } catch (error) {
        if (error.name === 'AbortError' || signal.aborted) return resolve();
        trouble(error);
        if (!error.isUnreachable) return reject(error);
        next = pause;
        pause = Math.min(10000, 2 * pause);
      }
      if (!next) return;
      const timer = setTimeout(() => turn(pause), next);
      signal.addEventListener('abort', () => { clearTimeout(timer); resolve(); }, {once: true});
    };
    turn(1000);
  });
}

async function show() {
  if (closing) closing.abort();
  closing = new AbortController();
  const {signal} = closing;
  const [name, query] = (location.hash.replace(/^#\//, '') || Object.keys(page.views)[0]).split('?');
  const [view, ...words] = name.split('/');
  const make = page.views[view] || Object.values(page.views)[0];
  for (const link of document.querySelectorAll('nav a')) {
    const here = link.getAttribute('href') === '#/' + (page.under[view] || view);
    if (here) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  }
  const holder = h('div', {class: 'view'});
  fill(main, holder);
  const heading = (title, ...rest) => {
    document.title = `${title} · ${page.name}`;
    return h('div', {class: 'heading'}, h('h1', {tabindex: '-1'}, title), rest);
  };
  fill(holder, h('p', {class: 'note loading'}, 'Loading …'));
  try {
    await calls.takeKey();
    facts = facts || await calls.get('/api/facts', {}, signal);
    fill(document.getElementById('facts'), page.footer(facts));
    await make({holder, heading, words, signal, facts, persist: (work) => persist(work, signal),
      query: new URLSearchParams(query)});
    if (!signal.aborted) trouble(null);
  } catch (error) {
    if (error.name === 'AbortError') return;
    trouble(error);
    // The banner says what is wrong with the page itself.
    fill(holder, heading(error.isUnreachable ? 'Waiting for ' + page.server.replace(/^The/, 'the') : page.titles?.[error.code] || 'That did not work'),
      error.isUnreachable ? h('p', {class: 'note'}, page.waiting) : banner.hasChildNodes() ? null : problem(error),
      h('button', {class: 'main', onclick: show}, 'Try again'));
    if (error.isUnreachable) {
      const timer = setTimeout(show, 4000);
      signal.addEventListener('abort', () => clearTimeout(timer), {once: true});
    }
  }
  if (signal.aborted) return;
  say(document.title);
  main.dataset.ready = location.hash;
}

export function begin(description) {
  page = description;
  document.getElementById('skip').addEventListener('click', (event) => {
    event.preventDefault();
    main.focus();
  });
  addEventListener('hashchange', () => {
    delete main.dataset.ready;
    main.focus({preventScroll: true});
    scrollTo(0, 0);
    show();
  });
  if (!location.hash) history.replaceState(null, '', '#/' + Object.keys(page.views)[0]);
  show();
}
