// Calls to the program that serves this page; <html data-program> is what a person
// starts. Each carries the key of the session, which the program tells until a call
// carries it: so one tab gets it, and keeps it when the page is loaded again.
const STORE = 'dpnmf-key';
export const program = document.documentElement.dataset.program;

// `kind` is the status of the analyst's service, or PAGE_ENDED, SESSION, OTHER_TAB.
export class Refusal extends Error {
  constructor(error) {
    super(error.message);
    this.code = error.code;
    this.kind = error.kind;
  }
  // The analyst's server is of a version without the call.
  get isUnknownCall() { return this.kind === 'UNIMPLEMENTED'; }
  // A limit on calls or messages, which others of the session use up now.
  get isBusy() { return this.code === 'too-many-calls' || this.code === 'too-many-messages'; }
  get isUnreachable() { return ['UNAVAILABLE', 'DEADLINE_EXCEEDED', 'UNAUTHENTICATED'].includes(this.kind); }
}

export async function call(path, query, options = {}) {
  const search = new URLSearchParams(Object.entries(query || {}).filter(([, value]) => value !== undefined));
  let reply;
  try {
    reply = await fetch(path + (search.size ? '?' + search : ''), {
      ...options,
      headers: {'X-Dpnmf-Key': sessionStorage.getItem(STORE) || '', ...options.headers},
    });
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    throw new Refusal({kind: 'PAGE_ENDED', code: 'web-ended',
      message: program + ' has ended. Start it again and open the address that it prints.'});
  }
  if (reply.ok) return reply;
  const body = await reply.json().catch(() => ({}));
  const error = body.error || {code: 'web-reply', message: 'The reply cannot be read; load the page again.'};
  if (error.code === 'web-session' || error.code === 'web-host') error.kind = 'SESSION';
  if (error.code === 'web-key') error.kind = 'OTHER_TAB';
  throw new Refusal(error);
}

export const get = async (path, query, signal) => (await call(path, query, {signal})).json();
export const text = async (path, query) => (await call(path, query)).text();
export const post = async (path, body, signal) => (await call(path, {}, {
  method: 'POST', signal, body: JSON.stringify(body), headers: {'Content-Type': 'application/json'}})).json();

// Asks for the key, unless this tab has it. Refused where another tab has it.
let taking = null;
export async function takeKey() {
  if (sessionStorage.getItem(STORE)) return;
  taking = taking || post('/api/key', {}).then(({key}) => {
    if (!key) throw new Refusal({code: 'web-reply', message: 'The reply has no key; load the page again.'});
    sessionStorage.setItem(STORE, key);
  }).finally(() => { taking = null; });
  await taking;
}

// Each event of a stream, as it comes. An {error} ends it with a Refusal.
export async function* events(path, query, signal) {
  const reply = await call(path, query, {signal});
  const reader = reply.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    let piece;
    try {
      piece = await reader.read();
    } catch (error) {
      if (error.name === 'AbortError') throw error;
      throw new Refusal({kind: 'UNAVAILABLE', code: 'web-ended', message: 'The stream of events was cut.'});
    }
    if (piece.done) return;
    const lines = (rest + piece.value).split('\n\n');
    rest = lines.pop();
    for (const line of lines) {
      if (!line.startsWith('data: ')) continue;
      const event = JSON.parse(line.slice(6));
      if (event.error) throw new Refusal(event.error);
      yield event;
    }
  }
}
