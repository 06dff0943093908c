// A flash sale against a running service, for k6 1.x (https://k6.io): orders that trickle in before, the spike, and after it a
// storm of those who send the same order again. It imports nothing from elsewhere and works offline.
//
//   BASE_URL=http://127.0.0.1:8080 API_KEY=inv_… ADMIN_KEY=inv_… k6 run loadtest/k6/flash-sale.js
//
// The environment, with what is taken without it:
//
//   BASE_URL     http://127.0.0.1:8080   the service; several of one database behind a balancer are one
//   API_KEY      none                    key of the scope buyer
//   ADMIN_KEY    API_KEY                 key of the scope admin, which creates the SKU
//   SKU          a fresh one             what is sold; one that is there already is sold as it is, and needs no ADMIN_KEY
//   STOCK        10000                   units of a fresh SKU
//   SEGMENTS     10                      its segments
//   QUANTITY     1                       units of an order; 1-5 is any number from 1 to 5
//   TRICKLE      20        TRICKLE_FOR  2s     orders a second before the spike, and for how long
//   RATE         2000      DURATION    10s     orders a second in the spike, and for how long
//   RAMP         500ms                         how long the rate takes to get there
//   STORM        500       STORM_FOR    5s     repeated orders a second afterwards, and for how long
//   VUS          200                     requests of a phase that may be under way at once, see below
//   SEED         1                       decides order ids and quantities: the same seed sends the same orders. With a SKU
//                                        that is there already it has to be another each time, or all is sold already
//   P99_MS       none                    the run fails when the p99 of orders is above it
//   SUMMARY      none                    file for the counts, as JSON
//
// The exit status is 99 when an answer was not one that the service promises, or P99_MS was missed.
//
// The load is an open loop: orders come at their rate, however slow the service is. But each needs a virtual user of its own
// for as long as it is under way, and when all VUS are waiting, k6 does not send the next order later: it never sends it,
// and counts it in dropped_iterations. Dropped orders are those that would have waited longest, so with any of them the
// latencies that are left look better than buyers would have found them: raise VUS (rate times the longest latency, in
// seconds, is enough), or lower RATE, until there are none. Latencies are k6's own, from the moment when a request goes out.

import http from 'k6/http';
import exec from 'k6/execution';
import { check } from 'k6';
import { Counter, Gauge, Trend } from 'k6/metrics';

const base = env('BASE_URL', 'http://127.0.0.1:8080').replace(/\/+$/, '');
const seed = Number(env('SEED', '1'));
const [least, most] = span(env('QUANTITY', '1'));
const phases = { trickle: env('TRICKLE_FOR', '2s'), ramp: env('RAMP', '500ms'), spike: env('DURATION', '10s'), storm: env('STORM_FOR', '5s') };
const rates = { trickle: Number(env('TRICKLE', '20')), spike: Number(env('RATE', '2000')), storm: Number(env('STORM', '500')) };

// How long the service is waited for. Later requests are not carried out.
const PATIENCE_MS = 20000;

// What a service may say to an order that it does not take, by code, with the status of each. Everything else is unexpected.
const REFUSALS = {
  sold_out: 409,
  insufficient_stock: 409,
  buyer_limit: 409,
  sale_closed: 409,
  rate_limited: 429,
  overloaded: 503,
  unavailable: 503,
};

const counters = {
  accepted: new Counter('accepted'), // 201: taken now
  replayed: new Counter('replayed'), // 200: was taken before
  sold_out: new Counter('sold_out'),
  other: new Counter('other'), // the other refusals
  unknown: new Counter('unknown'), // no answer, or unavailable: the order may have been taken
  unexpected: new Counter('unexpected'),
};
const units = new Counter('units'); // of what was accepted
const left = new Gauge('units_left');
const latency = new Trend('order_duration', true);

http.setResponseCallback(http.expectedStatuses(200, 201, 409, 429, 503)); // the others are http_req_failed

export const options = {
  scenarios: {
    trickle: constantRate('trickle', rates.trickle, '0s', phases.trickle),
    spike: {
      executor: 'ramping-arrival-rate',
      exec: 'spike',
      startTime: phases.trickle,
      startRate: rates.trickle,
      stages: [{ target: rates.spike, duration: phases.ramp }, { target: rates.spike, duration: phases.spike }],
      ...users(),
    },
    storm: constantRate('storm', rates.storm, `${milliseconds(phases.trickle) + milliseconds(phases.ramp) + milliseconds(phases.spike)}ms`, phases.storm),
  },
  thresholds: {
    unexpected: ['count==0'],
    unknown: ['count==0'],
    checks: ['rate==1'],
    ...(env('P99_MS', '') && { order_duration: [`p(99)<=${Number(env('P99_MS', ''))}`] }),
  },
  summaryTrendStats: ['p(50)', 'p(90)', 'p(99)', 'p(99.9)', 'max'],
};

function constantRate(phase, rate, startTime, duration) {
  return { executor: 'constant-arrival-rate', exec: phase, rate, timeUnit: '1s', startTime, duration, ...users() };
}

// users are all made beforehand: making them in mid-run would take the processor from those who send. At the end of a phase
// they wait for their answers, so that whatever was sent is counted.
function users() {
  const n = Number(env('VUS', '200'));
  return { preAllocatedVUs: n, maxVUs: n, gracefulStop: '30s' };
}

export function setup() {
  const sku = env('SKU', `flash-sale-${seed}-${Date.now().toString(36)}`);
  let answer = read(sku);
  if (answer.status === 404 && code(answer) === 'unknown_sku') {
    const body = JSON.stringify({ stock: Number(env('STOCK', '10000')), segments: Number(env('SEGMENTS', '10')) });
    answer = http.put(`${base}/v1/skus/${sku}`, body, as(env('ADMIN_KEY', env('API_KEY', ''))));
  }
  if (answer.status !== 200 && answer.status !== 201) {
    exec.test.abort(`put ${sku} up for sale at ${base}: ${answer.status} ${answer.body || answer.error}`);
  }
  return { sku, stock: answer.json('available'), segments: answer.json('segments').length };
}

export function trickle(sale) {
  order(sale.sku, 'trickle', exec.scenario.iterationInTest);
}

export function spike(sale) {
  order(sale.sku, 'spike', exec.scenario.iterationInTest);
}

// storm sends an order of the spike again. A winner's is replayed, and a loser may be lucky now.
export function storm(sale) {
  const sent = Math.max(1, Math.floor(rates.spike * milliseconds(phases.spike) / 1000));
  order(sale.sku, 'spike', random('storm', exec.scenario.iterationInTest) % sent);
}

// order sends the order of a phase that has this number, and counts what becomes of it.
function order(sku, phase, number) {
  const id = `${random(phase, number).toString(16).padStart(8, '0')}-${seed}-${phase}-${number}`;
  const quantity = least + (random('quantity', number) % (most - least + 1));
  const body = JSON.stringify({ order_id: id, buyer_id: `buyer-${phase}-${number}`, quantity });
  const answer = http.post(`${base}/v1/skus/${sku}/deductions`, body, as(env('API_KEY', '')));
  latency.add(answer.timings.duration);
  const outcome = outcomeOf(answer);
  counters[outcome].add(1);
  if (outcome === 'accepted') {
    units.add(quantity);
  }
  if (outcome === 'accepted' || outcome === 'replayed') {
    check(answer, { 'who is served gets the order that was sent': (a) => a.body.includes(`"order_id":"${id}"`) });
  } else if (outcome !== 'unknown') {
    check(answer, { 'a refusal is problem+json with a code that is documented': () => outcome !== 'unexpected' });
  }
  if (outcome === 'unexpected') {
    console.error(`unexpected: ${answer.status} ${answer.body}`);
  }
}

// outcomeOf tells which counter an answer belongs to.
function outcomeOf(answer) {
  switch (answer.status) {
    case 201: return 'accepted';
    case 200: return 'replayed';
    case 0: return 'unknown';
  }
  const said = code(answer);
  const media = answer.headers['Content-Type'] || '';
  if (answer.status !== REFUSALS[said] || !media.startsWith('application/problem+json')) {
    return 'unexpected';
  }
  return { sold_out: 'sold_out', unavailable: 'unknown' }[said] || 'other';
}

function code(answer) {
  try {
    return answer.json('code');
  } catch (_) {
    return undefined; // it is no JSON
  }
}

export function teardown(sale) {
  const answer = read(sale.sku);
  if (answer.status !== 200) {
    console.error(`read ${sale.sku}: ${answer.status} ${answer.body}`);
    return;
  }
  const now = answer.json();
  left.add(now.available);
  console.log(`${now.sku}: ${now.available} of ${now.stock} units are left, ${now.reserved} reserved, ${now.committed} sold`);
}

export function handleSummary(data) {
  if (!data.setup_data) {
    return { stdout: '' }; // nothing was sent, and setup has said why
  }
  const value = (metric, name) => (data.metrics[metric] ? data.metrics[metric].values[name] : undefined);
  const count = (metric) => value(metric, 'count') || 0;
  const counts = { ...data.setup_data, seed, units: count('units'), units_left: value('units_left', 'value') };
  for (const name of Object.keys(counters)) {
    counts[name] = count(name);
  }
  counts.dropped_iterations = count('dropped_iterations');
  counts.latency_ms = data.metrics.order_duration ? data.metrics.order_duration.values : {};
  counts.missed = missed(data.metrics);
  const out = { stdout: text(counts) };
  if (env('SUMMARY', '')) {
    out[env('SUMMARY', '')] = `${JSON.stringify(counts)}\n`;
  }
  return out;
}

// missed are the thresholds that the run has not kept.
function missed(metrics) {
  return Object.entries(metrics).flatMap(([name, metric]) =>
    Object.entries(metric.thresholds || {}).filter(([, t]) => !t.ok).map(([bound]) => `${name}: ${bound}`));
}

function text(counts) {
  const lines = [`\nFlash sale of ${counts.sku}: ${counts.stock} units in ${counts.segments} segments, seed ${counts.seed}\n`];
  for (const name of ['accepted', 'units', 'replayed', 'sold_out', 'other', 'unknown', 'unexpected', 'dropped_iterations', 'units_left']) {
    lines.push(`  ${name.replace('_', ' ').padEnd(20)}${String(counts[name]).padStart(10)}`);
  }
  const ms = Object.entries(counts.latency_ms).map(([name, value]) => `${name} ${value.toFixed(1)}`).join(', ');
  lines.push(`\n  latency in ms       ${ms}`);
  if (counts.dropped_iterations > 0) {
    lines.push('  Orders were dropped, not sent late: latencies are better than buyers would have found them. Raise VUS.');
  }
  counts.missed.forEach((bound) => lines.push(`  MISSED ${bound}`));
  return `${lines.join('\n')}\n\n`;
}

function read(sku) {
  return http.get(`${base}/v1/skus/${sku}`, as(env('API_KEY', '')));
}

// as are the headers of whoever has a key. Each request has the same name, or else every SKU would be a metric of its own.
function as(key) {
  const headers = { 'Content-Type': 'application/json', 'Request-Deadline': new Date(Date.now() + PATIENCE_MS).toISOString() };
  if (key) {
    headers.Authorization = `Bearer ${key}`;
  }
  return { headers, timeout: `${PATIENCE_MS}ms`, tags: { name: 'flash-sale' } };
}

// random is a number below 2^32 that the seed, a purpose and an index decide (FNV-1a, and the last steps of murmur3).
function random(purpose, index) {
  let h = 0x811c9dc5;
  for (const c of `${seed}/${purpose}/${index}`) {
    h = Math.imul(h ^ c.charCodeAt(0), 0x01000193);
  }
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}

function env(name, otherwise) {
  return __ENV[name] || otherwise;
}

// span reads 3 as 3 to 3, and 1-5 as 1 to 5.
function span(text) {
  const [from, to] = text.split('-').map(Number);
  return [from, to === undefined ? from : to];
}

// milliseconds reads a duration as k6 has it: 500ms, 10s, 1m30s.
function milliseconds(text) {
  const unit = { ms: 1, s: 1000, m: 60000, h: 3600000 };
  return [...text.matchAll(/([\d.]+)(ms|s|m|h)/g)].reduce((sum, [, n, u]) => sum + Number(n) * unit[u], 0);
}
