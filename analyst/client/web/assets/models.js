// W of a run, its standard errors, and what is known of its parts.
import {call, events} from './calls.js';

// {rows, columns, names, w, errors}: W by columns, as yet without its standard errors.
export async function model(run) {
  const buffer = await (await call('/api/model', {run})).arrayBuffer();
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

// What is known of each part; null if the analyst's server does not say.
export async function partFacts(run, signal) {
  let parts = null;
  for await (const {reply} of events('/api/parts', {run}, signal)) if (reply) parts = reply.parts.parts;
  return parts;
}
