// The list of what waits.
import assert from 'node:assert/strict';

// made begins a run whose calls wait, and returns when they do.
const made = (page, agentId, text) =>
  page.evaluate(async ([agentId, text]) => {
    const response = await fetch('v1/runs', { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ agentId, messages: [{ role: 'user', content: [{ type: 'text', text }] }] }) });
    return /"run_id":"([^"]+)"/.exec(await response.text())[1];
  }, [agentId, text]);

const row = (page, text) => page.locator('.item').filter({ hasText: text });
const calls = (...list) => `calls: ${JSON.stringify(list.map(([name, args]) => ({ name, arguments: args })))}`;
const focused = (page, text) => page.waitForFunction((text) => document.activeElement?.textContent?.includes(text), text);
const open = (page) => page.goto(`${page.url().replace(/#.*/, '')}#/waiting`);
const statusOf = (page, run) => page.evaluate(async (run) => (await (await fetch(`v1/runs/${run}`)).json()).response, run);

// until waits for the response of a run.
async function until(page, run, pattern) {
  for (let i = 0; i < 100; i++) {
    const said = await statusOf(page, run);
    if (pattern.test(said ?? '')) return;
    await page.waitForTimeout(100);
  }
  assert.match((await statusOf(page, run)) ?? '', pattern);
}

export const inbox = (on) => ({
  'calls of one tool are approved together': on(async (page) => {
    const runs = [await made(page, 'demo', 'approve: together one'), await made(page, 'demo', 'approve: together two')];
    await made(page, 'clerk', calls(['refund_order', { order: 'apart', amount: 1 }]));
    await made(page, 'demo', 'approve: together\u202e three');
    await open(page);
    await row(page, 'together one').locator('[data-row]').click();
    await page.keyboard.press('x');
    await row(page, 'apart').getByText('A batch has calls of one tool: danger.').waitFor();
    assert.ok(await row(page, 'apart').getByRole('checkbox').isDisabled());
    await row(page, 'U+202E right-to-left').first().getByText('It has hidden characters: decide it by itself.').waitFor();
    assert.ok(await row(page, 'U+202E right-to-left').first().getByRole('checkbox').isDisabled());
    await row(page, 'together two').getByRole('checkbox').check();
    await page.getByRole('button', { name: 'Approve 2' }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Approve 2' }).waitFor({ state: 'detached' });
    for (const text of ['together one', 'together two']) await row(page, text).getByRole('checkbox').check();
    let refused = false;
    await page.route(/\/decision$/, (route) => {
      if (refused) return route.continue();
      refused = true;
      return route.fulfill({ status: 503, json: { error: 'not now', code: 'unavailable' } });
    });
    await page.keyboard.press('Shift+A');
    await page.getByRole('button', { name: 'Approve 1' }).waitFor();
    await page.locator('.item').getByRole('alert').getByText('not now').waitFor();
    await page.getByRole('button', { name: 'Approve 1' }).click();
    for (const text of ['together one', 'together two']) await row(page, text).waitFor({ state: 'detached' });
    for (const [i, run] of runs.entries()) await until(page, run, new RegExp(`Done: together ${['one', 'two'][i]}`));
  }, {}, /status of 503/),
  'calls are denied together with a reason': on(async (page) => {
    const runs = [await made(page, 'demo', 'approve: refuse one'), await made(page, 'demo', 'approve: refuse two')];
    await open(page);
    for (const text of ['refuse one', 'refuse two']) await row(page, text).getByRole('checkbox').check();
    await page.keyboard.press('Shift+D');
    await page.getByLabel('Reason').fill('not both');
    await page.keyboard.press('Enter');
    for (const text of ['refuse one', 'refuse two']) await row(page, text).waitFor({ state: 'detached' });
    for (const run of runs) await until(page, run, /The call of danger was denied/);
  }),
  'the list is used by keys': on(async (page) => {
    const runs = [await made(page, 'demo', 'approve: keys one'), await made(page, 'demo', 'approve: keys two')];
    await open(page);
    await row(page, 'keys one').locator('[data-row]').focus();
    await page.waitForURL(/call=/);
    await page.locator('.look').getByText('keys one', { exact: true }).waitFor();
    await page.keyboard.press('e');
    await page.waitForFunction(() => document.activeElement?.tagName === 'TEXTAREA' && document.activeElement.value === 'keys one');
    await page.keyboard.press('Escape');
    await row(page, 'keys one').locator('[data-row]').focus();
    await page.keyboard.press('d');
    await page.getByLabel('Reason').fill('by keys');
    await page.keyboard.press('Enter');
    await row(page, 'keys one').waitFor({ state: 'detached' });
    await page.waitForFunction(() => document.activeElement?.dataset.row);
    await row(page, 'keys two').locator('[data-row]').focus();
    await page.keyboard.press('a');
    await row(page, 'keys two').waitFor({ state: 'detached' });
    await until(page, runs[0], /denied/);
    await until(page, runs[1], /Done: keys two/);
    await page.keyboard.press('j');
    await page.waitForFunction(() => document.activeElement?.dataset.row);
    await page.keyboard.press('o');
    await page.getByRole('log').waitFor();
  }),
  'a question is answered in the list': on(async (page) => {
    const run = await made(page, 'clerk', calls(['pick', { question: 'Which box in the list?', options: ['left', 'right'] }]));
    await open(page);
    await page.getByRole('button', { name: 'Questions', exact: true }).click();
    await page.waitForURL(/status=questions/);
    assert.equal(await page.locator('.item').filter({ hasText: 'approval,' }).count(), 0);
    await row(page, 'Which box in the list?').locator('[data-row]').focus();
    await page.keyboard.press('a');
    await page.waitForFunction(() => document.activeElement?.getAttribute('aria-label') === 'Your answer');
    await page.keyboard.type('the left one');
    await page.keyboard.press('Enter');
    await row(page, 'Which box in the list?').waitFor({ state: 'detached' });
    await until(page, run, /Results: "the left one"/);
  }),
  'what ends soon is first': on(async (page) => {
    await made(page, 'clerk', calls(['ship', { to: 'soonest', boxes: 2 }]));
    await open(page);
    const soon = page.getByRole('region', { name: 'Ends soon' });
    await soon.locator('.item').filter({ hasText: 'soonest' }).getByText(/2\d min left|30 min left/).waitFor();
    await page.getByRole('button', { name: 'Approvals', exact: true }).click();
    await page.getByRole('combobox', { name: 'Agent' }).selectOption('clerk');
    await page.waitForURL(/agent=clerk/);
    assert.equal(await page.locator('.item').filter({ hasText: ', demo' }).count(), 0);
    const item = soon.locator('.item').filter({ hasText: 'soonest' });
    await item.locator('[data-row]').click();
    await page.locator('.look').getByRole('button', { name: 'Edit boxes' }).click();
    await page.locator('.look').getByRole('textbox', { name: 'boxes' }).fill('3');
    await item.getByText('It has changes: decide it by itself.').waitFor({ state: 'attached' });
    await page.locator('.look').getByText('the model said 2, your change 3').waitFor();
  }),
  'the list of a narrow screen opens a call over it': on(async (page) => {
    await made(page, 'demo', 'approve: narrow one');
    await open(page);
    await row(page, 'narrow one').locator('[data-row]').click();
    await page.getByRole('button', { name: 'Back to the list' }).click();
    await focused(page, 'narrow one');
    await row(page, 'narrow one').locator('[data-row]').click();
    await page.locator('.look').getByRole('button', { name: 'Approve' }).click();
    await row(page, 'narrow one').waitFor({ state: 'detached' });
    await page.locator('.inbox-list').waitFor();
  }, { viewport: { width: 390, height: 800 } }),
});
