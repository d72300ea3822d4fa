// Which views there are.
import {compareView} from './compare.js';
import {dataView} from './data.js';
import {begin} from './frame.js';
import {ledgerView} from './ledger.js';
import {planView} from './plan.js';
import {runView} from './run.js';
import {runsView} from './runs.js';

begin({
  name: 'dpnmf',
  views: {data: dataView, plan: planView, runs: runsView, run: runView, compare: compareView, ledger: ledgerView},
  under: {run: 'runs'},
  server: 'The analyst’s server',
  titles: {'run-unknown': 'No such run', 'run-id-malformed': 'No such run'},
  waiting: 'The page tries again every few seconds. Runs go on without it.',
  footer: (facts) => `dpnmf ${facts.version} · analyst ${facts.server} · this machine only`,
});
