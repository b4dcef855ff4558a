// A run seen as a whole: its waterfall, its figures, what it sent, and runs made of it.
import assert from 'node:assert/strict';
import { audit, say, tooWide, watched } from './browser.mjs';
import * as recorded from './recorded.mjs';

const log = (page) => page.getByRole('log');
const grid = (page) => page.getByRole('treegrid', { name: 'Timeline' });
const rows = (page) => grid(page).locator('[role=row]:not(.axis)');
const row = (page, name) => grid(page).getByRole('row', { name });
const side = (page) => page.getByRole('tabpanel');
const chip = (page, name) => page.getByRole('button', { name, exact: true });
const runOf = (page) => /#\/runs\/([0-9a-f-]+)/.exec(page.url())[1];
const ended = (page, id) => page.waitForFunction(async (id) => (await (await fetch(`v1/runs/${id}`)).json()).status === 'done', id, { polling: 100 });
const texts = (page) => rows(page).evaluateAll((all) => all.map((r) => [...r.querySelectorAll('.cut, .took')].map((e) => e.textContent).join(' ')));

// took is a time as the page writes it.
const took = (ms) => (ms < 1 ? '< 1 ms' : ms < 100 ? `${ms} ms` : ms < 60_000 ? `${(ms / 1000).toFixed(1)} s` : `${Math.floor(Math.round(ms / 1000) / 60)} min ${Math.round(ms / 1000) % 60} s`);

// figures waits until the page of a run shows those of the host's record.
async function figures(page, id) {
  await ended(page, id);
  const run = await page.evaluate(async (id) => (await fetch(`v1/runs/${id}`)).json(), id);
  const steps = (await page.evaluate(async (id) => (await fetch(`v1/runs/${id}/steps`)).json(), id)).steps;
  const whole = run.finished_at - (run.started_at ?? run.finished_at);
  const number = (n) => (n ?? 0).toLocaleString('en-GB');
  const calls = run.calls ?? steps.reduce((n, s) => n + (s.calls?.length ?? 0), 0);
  const want = [took(run.worked_ms ?? whole - (run.waited_ms ?? 0)), `${run.steps} step${run.steps === 1 ? '' : 's'}, ${calls} call${calls === 1 ? '' : 's'}`, `${number(run.usage?.input)} in, ${number(run.usage?.output)} out`];
  await page.waitForFunction((want) => want.every((t) => document.querySelector('.facts-line')?.textContent.includes(t)), want);
  return want;
}

// open shows the whole of the newest run of a thread that is open.
async function open(page) {
  await page.getByRole('link', { name: 'Open the whole run' }).click();
  await page.waitForURL(/#\/runs\/[0-9a-f-]+/);
  return runOf(page);
}

// show opens the page of the run that recorded.mjs has.
async function show(page, query = '', refused) {
  await recorded.route(page, refused);
  await page.evaluate((to) => (location.hash = to), `#/runs/${recorded.run}${query}`);
  await row(page, /refund_rules/).waitFor();
}

// sides are the tabs of a run's page, and the sizes at which each is looked at.
const sides = ['timeline', 'state', 'request', 'events', 'use'];
const sizes = [[1440, 900, ['light', 'dark']], [1024, 768, ['dark']], [768, 1024, ['light']], [390, 844, ['light']]];

// looksOfRun looks at the run that recorded.mjs has in every size.
export const looksOfRun = (browser, url, pictures) =>
  Object.fromEntries(sizes.map(([width, height, schemes]) => [`a run's page, ${width}`, async () => {
    const { context, page, faults, quiet } = await watched(browser, { viewport: { width, height }, ...(width < 800 && { hasTouch: true, isMobile: true }) });
    const found = [];
    await page.goto(url);
    await show(page);
    for (const tab of sides) {
      await page.evaluate((to) => (location.hash = to), `#/runs/${recorded.run}?step=3&call=call_3_0&tab=${tab}`);
      await quiet();
      for (const colorScheme of schemes) {
        await page.emulateMedia({ colorScheme });
        await page.screenshot({ path: `${pictures}/${width}-${colorScheme}-recorded-${tab}.png` });
        found.push(...(await audit(page)).map((line) => `${tab}, ${colorScheme}: ${line}`));
      }
      found.push(...(await tooWide(page)).map((line) => `${tab}: too wide: ${line}`));
    }
    await context.close();
    assert.deepEqual([...found, ...faults], []);
  }]));

export const ofRun = (on) => ({
  'a run is a waterfall of all that happened': on(async (page) => {
    await show(page);
    assert.deepEqual(await texts(page), [
      'desk 31.5 s', 'Step 1 3.9 s', 'desk-large 2.0 s', 'find_order 0.4 s', 'stock_level 0.7 s', 'search_help 1.9 s', 'Step 2 11.2 s', 'desk-large 4.8 s', 'refunds 6.4 s', 'desk-small 1.6 s',
      'refund_rules 0.7 s', 'desk-small 4.3 s', 'Step 3 3.9 s', 'desk-large 2.8 s', 'refund_order 1.1 s', 'Step 4 8.5 s', 'desk-large 2.5 s', 'scan_batch 6.0 s', 'notify_packers 1.2 s', 'Step 5 4.2 s',
      'desk-large 4.2 s',
    ]);
    const pieces = (name) => row(page, name).first().locator('.bars > i').evaluateAll((all) => all.map((e) => e.className.slice(2)).join(' '));
    assert.equal(await pieces(/2 tries/), 'queue failed asked said');
    assert.equal(await pieces(/resumed/), 'queue void queue asked said cut');
    assert.equal(await pieces(/refund_order/), 'wait tool');
    assert.equal(await pieces(/notify_packers/), 'failed');
    assert.equal(await pieces(/^desk done/), 'run wait run');
    const wait = () => row(page, /refund_order/).locator('.b-wait').evaluate((e) => Math.round(e.getBoundingClientRect().width));
    assert.equal(await wait(), 28);
    assert.ok(await rows(page).locator('.bars > i:not(.b-queue, .b-cut)').evaluateAll((all) => all.every((e) => e.getBoundingClientRect().width >= 3)), 'a bar is too thin');
    await row(page, /refund_order/).getByText('waited 5 min 40 s for a person').waitFor();
    await chip(page, 'waits folded').click();
    assert.ok((await wait()) > 200, 'the wait is not at true scale');
    await chip(page, 'failed only').click();
    assert.deepEqual((await texts(page)).map((t) => t.replace(/ [\d.]+ s$/, '')), ['desk', 'Step 2', 'desk-large', 'desk-small', 'Step 4', 'notify_packers']);
    await chip(page, 'hide steps').click();
    assert.deepEqual((await texts(page)).map((t) => t.replace(/ [\d.]+ s$/, '')), ['desk', 'desk-large', 'desk-small', 'notify_packers']);
  }),
  'a waterfall is used by keys': on(async (page) => {
    await show(page);
    const chosen = async (name) => grid(page).locator('[aria-selected=true]', { hasText: name }).waitFor();
    await page.evaluate(() => document.activeElement.blur());
    for (const [key, name] of [[']', 'Step 1'], [']', 'Step 2'], ['[', 'Step 1']]) {
      await page.keyboard.press(key);
      await chosen(name);
    }
    await grid(page).locator('[tabindex="0"]').focus();
    for (const [key, name] of [['ArrowDown', 'desk-large'], ['j', 'find_order'], ['k', 'desk-large'], ['ArrowLeft', 'Step 1'], ['ArrowLeft', 'desk'], ['End', 'desk-large'], ['Home', 'desk']]) {
      await page.keyboard.press(key);
      await chosen(name);
    }
    await row(page, /refund_rules/).click();
    await side(page).getByRole('heading', { name: 'refund_rules' }).waitFor();
    const link = page.url();
    await page.reload();
    await side(page).getByRole('heading', { name: 'refund_rules' }).waitFor();
    assert.equal(page.url(), link);
  }),
  'of a long run only what is in sight is drawn': on(async (page) => {
    await recorded.route(page);
    const [one] = recorded.steps;
    const steps = Array.from({ length: 200 }, (_, i) => ({ ...one, step: i + 1, calls: one.calls.map((c) => ({ ...c, id: `${c.id}_${i}`, name: `${c.name}_${i + 1}` })) }));
    await page.route(new RegExp(`/v1/runs/${recorded.run}/steps`), (r) => r.fulfill({ json: { steps, has_more: false, next_cursor: null } }));
    await page.evaluate((to) => (location.hash = to), `#/runs/${recorded.run}`);
    await row(page, /find_order_1\b/).waitFor();
    assert.equal(await grid(page).getAttribute('aria-rowcount'), '1002');
    await page.waitForFunction(() => document.querySelectorAll('.wf-row').length < 120);
    await grid(page).locator('[tabindex="0"]').focus();
    await page.keyboard.press('End');
    const last = row(page, /search_help_200/);
    await page.waitForFunction(() => document.activeElement?.textContent.includes('search_help_200'));
    assert.equal(await last.getAttribute('aria-rowindex'), '1002');
    assert.ok(await last.evaluate((e) => e.getBoundingClientRect().bottom <= innerHeight), 'the row is out of sight');
    await page.keyboard.press('ArrowUp');
    await page.waitForFunction(() => document.activeElement?.textContent.includes('stock_level_200'));
  }),
  'what a person changed is told': on(async (page) => {
    await show(page, '?step=3&call=call_3_0');
    const facts = await side(page).locator('.facts').innerText();
    assert.match(facts, /Approved\s+14:25:58, after 5 min 40 s/);
    assert.match(facts, /Changed\s+amount 64.9 44.9/);
    assert.equal(await side(page).locator('del').innerText(), '64.9');
    await side(page).getByRole('heading', { name: 'Arguments as run' }).waitFor();
    assert.match(await side(page).getByRole('group', { name: 'arguments of refund_order' }).innerText(), /44\.9/);
    await row(page, /2 tries/).click();
    assert.match(await side(page).locator('.tries').innerText(), /overloaded[^]*1\.0 s, then a wait of 0\.5 s/);
    await row(page, /resumed/).click();
    assert.match(await side(page).locator('.facts').innerText(), /host ended at 14:20:12, resumed after 0\.9 s/);
  }),
  'a request is shown as it was sent': on(async (page) => {
    await show(page, '?step=3&call=model&tab=request');
    await side(page).getByText('Never refund more than the order cost.', { exact: false }).waitFor();
    assert.match(await side(page).innerText(), /system 412\s+tools 1,108\s+messages 2,204\s+of 8,000[^]*not sent: 14 messages\s+6,930 saved[^]*2 large results were shortened/);
    await side(page).getByText('Tools: find_order, stock_level and 4 more').click();
    await side(page).getByText('The tool notify_packers.').waitFor();
    await side(page).getByRole('button', { name: 'Copy as JSON' }).click();
    assert.deepEqual(JSON.parse(await page.evaluate(() => navigator.clipboard.readText())), recorded.request);
    assert.match(await side(page).locator('.facts').innerText(), /tool_use, 118 out, first token 0\.7 s[^]*max_tokens 2048, temperature 0\.2[^]*1,520 of 3,724 in/);
  }),
  'the request of a step is what the host has stored': on(async (page) => {
    await say(page, 'echo: as sent');
    await log(page).getByText('Echo: as sent', { exact: true }).waitFor();
    const id = await open(page);
    await ended(page, id);
    await row(page, /Step 2/).click();
    await page.getByRole('tab', { name: 'Request' }).click();
    await side(page).getByText('tool: echo').waitFor();
    const stored = await page.evaluate(async (id) => (await fetch(`v1/runs/${id}/steps/2/request`)).json(), id);
    assert.ok((await side(page).innerText()).includes(stored.system.slice(0, 40)), 'the system prompt is not shown');
    await side(page).getByRole('button', { name: 'Copy as JSON' }).click();
    assert.deepEqual(JSON.parse(await page.evaluate(() => navigator.clipboard.readText())), stored);
  }),
  'a request that is not shown says why': on(async (page) => {
    await show(page, '?step=3&call=model&tab=request', { status: 403, json: { error: 'this deployment does not show requests', code: 'denied' } });
    await side(page).getByText('this deployment does not show requests').waitFor();
    await side(page).getByText('user: Order 88-1042 arrived with a broken lamp.').waitFor();
  }, {}, /status of 403/),
  'a stopped run’s figures equal the log’s before and after a reload': on(async (page) => {
    await say(page, 'slow: 300');
    await log(page).getByText('w9').waitFor();
    await page.getByRole('button', { name: 'Stop the run' }).click();
    await log(page).getByText('cancelled', { exact: true }).first().waitFor();
    const id = await open(page);
    const before = await figures(page, id);
    const seen = await texts(page);
    await page.reload();
    assert.deepEqual(await figures(page, id), before);
    await page.waitForFunction((n) => document.querySelectorAll('.wf-row').length === n + 1, seen.length);
    assert.deepEqual(await texts(page), seen);
  }),
  'a failed run’s figures equal the log’s, and it is run again': on(async (page) => {
    await say(page, 'fail');
    await page.getByRole('alert').getByText('scripted model failure').waitFor();
    const id = await open(page);
    const before = await figures(page, id);
    await page.reload();
    assert.deepEqual(await figures(page, id), before);
    await page.getByRole('button', { name: 'Run again' }).click();
    await page.waitForURL((u) => /#\/runs\//.test(u.hash) && !u.hash.includes(id));
    await page.getByRole('banner').or(page.locator('.head')).first().getByText('failed').waitFor();
  }),
  'a replayed run shows what a live one showed': on(async (page) => {
    await say(page, 'parallel: a, b, c');
    await log(page).getByText('Echo: a, b, c', { exact: true }).waitFor();
    const id = await open(page);
    const figure = await figures(page, id);
    const seen = await texts(page);
    assert.equal(seen.length, 8);
    await page.reload();
    assert.deepEqual(await figures(page, id), figure);
    await page.waitForFunction(() => document.querySelectorAll('.wf-row').length === 9);
    assert.deepEqual(await texts(page), seen);
  }),
  'a run is run again beside the first, and forked': on(async (page) => {
    await say(page, 'echo: twice');
    await log(page).getByText('Echo: twice', { exact: true }).waitFor();
    const id = await open(page);
    await page.getByRole('button', { name: 'Run again' }).click();
    await page.waitForURL((u) => /#\/runs\//.test(u.hash) && !u.hash.includes(id));
    const other = runOf(page);
    await ended(page, other);
    const [first, again] = await page.evaluate((ids) => Promise.all(ids.map(async (id) => (await fetch(`v1/runs/${id}`)).json())), [id, other]);
    assert.notEqual(again.thread_id, first.thread_id);
    assert.equal(again.response, 'Echo: twice');
    await row(page, /Step 2/).click();
    await side(page).getByRole('button', { name: 'Fork before this step' }).click();
    await page.waitForURL(/#\/t\//);
    await log(page).getByText('echo: twice', { exact: true }).waitFor();
    assert.equal(await log(page).getByText('Echo: twice', { exact: true }).count(), 0);
  }),
  'events are filtered, and opened': on(async (page) => {
    await say(page, 'echo: listed');
    await log(page).getByText('Echo: listed', { exact: true }).waitFor();
    await open(page);
    await page.getByRole('tab', { name: 'Events' }).click();
    const list = side(page).getByRole('list', { name: 'Events' });
    await list.getByText('run_finish').waitFor();
    await row(page, /Step 2/).click();
    await list.getByText('run_start').waitFor({ state: 'detached' });
    await chip(page, 'step 2 only').click();
    await list.getByText('run_start').waitFor();
    await side(page).getByRole('searchbox').fill('tool_call_done');
    await page.waitForFunction(() => document.querySelectorAll('.ev').length === 1);
    await list.getByRole('button').click();
    await side(page).getByRole('region', { name: /Event/ }).getByText('"listed"').waitFor();
  }),
});
