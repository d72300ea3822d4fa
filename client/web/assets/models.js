// W of a run, its standard errors, and what is known of its parts.
import {call, events} from './calls.js';
import {h, moment, shortId, upward} from './dom.js';

// {rows, columns, names, w, errors}: W by columns, as yet without its standard errors.
export async function model(run, signal) {
  const buffer = await (await call('/api/model', {run}, {signal})).arrayBuffer();
  const length = Number(new DataView(buffer).getBigUint64(0, true));
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 8, length)));
  return {...header, w: new Float32Array(buffer, 8 + length, header.rows * header.columns), errors: null};
}

// The standard errors of W, by columns.
export async function standardErrors(run, size, signal) {
  const errors = new Float32Array(size);
  for await (const {reply} of events('/api/errors', {run}, signal))
    if (reply) errors.set(reply.standard_errors.values, Number(reply.standard_errors.offset));
  return errors;
}

// Facts of each part; null if the analyst's server does not say.
export async function partFacts(run, signal) {
  let parts = null;
  for await (const {reply} of events('/api/parts', {run}, signal)) if (reply) parts = reply.parts.parts;
  return parts;
}

// W is asked for of mechanisms that this program does not know, too.
export const givesParts = (facts, run) =>
  facts.mechanisms.find((one) => one.name === run.specification.parameters.mechanism)?.gives_parts ?? true;

// Runs that have paid for second moments: others are fitted with their release, for nothing.
export const runsAsPriors = (runs) => runs.filter((run) => !run.parent && run.rounds_done > 0 &&
  run.plan?.stages?.some((stage) => stage.release === 'moments'));

export const priorOption = (run) => {
  const {dataset, epsilon} = run.specification.parameters;
  return h('option', {value: run.run_id},
    `${dataset}, epsilon ${upward(epsilon)}, ${moment(run.created_unix_seconds)}, run ${shortId(run.run_id)}`);
};
