// The chat and the first screen: what is tried, calls, their progress and children, code,
// and what the bar below says.
import assert from 'node:assert/strict';
import { say } from './browser.mjs';

const log = (page) => page.getByRole('log');
const bar = (page) => page.getByRole('group', { name: 'Run in short' });
const card = (page, text) => log(page).locator('details.call').filter({ hasText: text });

// desk opens a new thread with the agent whose calls take their time.
async function desk(page, text) {
  await page.goto(`${page.url().split('#')[0]}#/?agent=desk`);
  await page.getByRole('heading', { name: 'desk is ready' }).waitFor();
  await say(page, text);
}

export const chat = (on) => ({
  'the first screen shows what to try': on(async (page) => {
    await page.getByRole('heading', { name: 'demo is ready on your machine' }).waitFor();
    await page.getByText('scripted model: follows your first word').waitFor();
    await page.getByText('ANTHROPIC_API_KEY=... make run').waitFor();
    const cards = page.getByRole('region', { name: 'Try it' });
    assert.equal(await cards.locator('.try').count(), 6);
    assert.equal(await cards.locator('svg text, svg:not([aria-hidden])').count(), 0);
    await page.getByRole('region', { name: 'Next' }).getByText('find_order').first().waitFor();
    await cards.getByRole('button', { name: 'echo: hello' }).click();
    await log(page).getByText('Echo: hello', { exact: true }).waitFor();
    assert.equal(await page.getByRole('region', { name: 'Try it' }).count(), 0);
  }),
  'the large card starts a long answer': on(async (page) => {
    await page.getByRole('button', { name: 'slow: 60', exact: true }).click();
    await log(page).getByText('w3', { exact: false }).waitFor();
    await log(page).getByText('w58 w59 w60', { exact: false }).waitFor();
  }),
  'another agent shows its own tools': on(async (page) => {
    const tools = async (scripted) => {
      await page.route(/\/v1\/agents$/, async (route) => {
        const response = await route.fetch();
        const body = await response.json();
        for (const a of body.agents) a.answers = [{ model: a.model, provider: 'acme', name: 'large', scripted }];
        await route.fulfill({ response, json: body });
      });
      await page.goto(`${page.url().split('#')[0]}#/?agent=desk`);
      await page.reload();
      await page.getByRole('heading', { name: 'desk is ready' }).waitFor();
      await page.getByRole('region', { name: 'Try it' }).getByRole('button', { name: /^look/ }).click();
      return page.locator('#composer').inputValue();
    };
    assert.equal(await tools(true), 'call: look {"at":"…","ms":1}');
    assert.equal(await tools(false), 'Use the tool look: Looks something up.');
    await page.locator('.chip').getByText('acme large').waitFor();
    assert.equal(await page.getByText('first word').count(), 0);
    const cards = page.getByRole('region', { name: 'Try it' });
    assert.equal(await cards.getByText('Pull the plug').count(), 0);
  }),
  'calls side by side are one group': on(async (page) => {
    await desk(page, 'check');
    const group = log(page).getByRole('group', { name: '3 calls' });
    await group.getByText('3 calls side by side').waitFor();
    await log(page).getByText('Replacement or refund?').first().waitFor();
    assert.equal(await group.locator('.lane').count(), 3);
    const wide = await group.locator('.lane > span').evaluateAll((all) => all.map((e) => e.getBoundingClientRect().width));
    assert.ok(wide[0] < wide[2] && wide[1] < wide[2], `one scale: ${wide}`);
    await page.reload();
    await group.getByText('3 calls side by side').waitFor();
    const again = await group.locator('.lane > span').evaluateAll((all) => all.map((e) => e.getBoundingClientRect().width));
    assert.ok(again[0] < again[2] && again[1] < again[2], `after a reload: ${again}`);
  }),
  'code is told apart by its language': on(async (page) => {
    await desk(page, 'check');
    const code = (name) => log(page).getByRole('group', { name: `${name} code` });
    await code('json').waitFor();
    const kinds = (name) => code(name).locator('span').evaluateAll((all) => all.map((e) => `${e.className.replace('code-', '')} ${e.textContent.trim()}`));
    assert.deepEqual(await kinds('sql'), ['key select', 'key from', 'key where', "text 'B-311'", 'key and', 'number 0', 'note -- 6 rows', 'key order', 'key by']);
    assert.deepEqual(await kinds('go'), ['key func', 'key int', 'key string', 'key return', 'text "n"', 'note // sum']);
    assert.deepEqual(await kinds('diff'), ['out -old', 'in +new']);
    assert.deepEqual(await kinds('sh'), ['text "x"', 'note # look']);
    assert.deepEqual(await kinds('json'), ['key "a"', 'number 1', 'number true']);
    assert.deepEqual(await kinds('text'), []);
    await log(page).getByRole('button', { name: 'Copy sql code' }).click();
    assert.match(await page.evaluate(() => navigator.clipboard.readText()), /^select order_no/);
  }),
  'a call that runs shows its progress': on(async (page) => {
    await desk(page, 'scan for long');
    const scan = card(page, 'scan');
    await scan.getByText('parcel 15 of 24', { exact: true }).waitFor();
    assert.equal(await scan.evaluate((e) => e.open || !e.classList.contains('live')), false, 'it is closed, and runs');
    assert.equal(await scan.locator('.progress strong').innerText(), '58 %');
    await scan.locator('summary').click();
    await scan.getByText('+ 3 earlier lines').waitFor();
    assert.match(await scan.getByRole('group', { name: 'output' }).innerText(), /88-1033 {2}guards 0\n[^]*88-1044 {2}guards 0$/);
    await page.getByRole('button', { name: 'Stop the run' }).click();
    await log(page).getByText('cancelled').last().waitFor();
    assert.equal(await scan.locator('.progress').count(), 0);
  }),
  'a child run is inside of its call': on(async (page) => {
    await desk(page, 'refund');
    await log(page).getByText('The refund is made.').waitFor();
    const call = card(page, 'refund').first();
    await call.locator('> summary').click();
    await call.getByText(/Agent refunds, 2 steps/).waitFor();
    await call.getByText('the rules of refunds').first().waitFor();
    await call.locator('.nest').getByText('Allowed, up to 80.00.').waitFor();
    assert.match(await call.getByRole('link', { name: 'Open run' }).getAttribute('href'), /^#\/runs\/[0-9a-f-]+$/);
  }),
  'what a person decided is said in the line': on(async (page) => {
    await say(page, 'approve: ship it');
    const ticket = log(page).getByRole('group', { name: 'Waiting: danger' });
    await ticket.getByRole('button', { name: 'Approve' }).click();
    await log(page).getByText('Done: ship it').waitFor();
    await page.route(/\/steps\?/, async (route) => {
      const response = await route.fetch();
      const body = await response.json();
      const [step] = body.steps;
      const ended = step.calls[0].ended_at;
      Object.assign(step.calls[0], { asked_at: ended - 65_000, answered_at: ended - 5000, action: 'resume', edited: { text: 'ship that' }, reason: 'it is ready' });
      step.attempts = [{ began_at: ended - 90_000, ended_at: ended - 88_000, model: 'large', reason: 'overloaded', wait_ms: 4000 }, { began_at: ended - 84_000, model: 'large' }];
      step.takeovers = [{ lost_at: ended - 80_900, began_at: ended - 80_000 }];
      await route.fulfill({ response, json: body });
    });
    await page.reload();
    const call = card(page, 'danger');
    await call.getByText('approved with 1 change', { exact: true }).waitFor();
    await log(page).getByText('Attempt 1 of large failed (overloaded) after 2.00 s; the next one waited 4.00 s.').waitFor();
    await log(page).getByText('The host ended in this step. Another took over after 900 ms.').waitFor();
    await call.locator('summary').click();
    assert.match(await call.locator('.decided').innerText(), /^Approved at .* after 1 min: .*it is ready[^]*text: the model said ship it, it ran with ship that$/);
  }),
  'the end of a long answer stays in sight': on(async (page) => {
    await say(page, 'slow: 300');
    const end = () => log(page).evaluate((e) => e.scrollHeight - e.scrollTop - e.clientHeight);
    await page.setViewportSize({ width: 800, height: 320 });
    await page.waitForFunction(() => document.querySelector('[role=log]').scrollHeight > document.querySelector('[role=log]').clientHeight + 60);
    assert.ok((await end()) < 8, 'it scrolls along');
    await log(page).evaluate((e) => e.scrollTo(0, 0));
    await page.getByRole('button', { name: 'New below' }).waitFor();
    assert.ok((await end()) > 8, 'who has scrolled up stays there');
    await page.getByRole('button', { name: 'New below' }).click();
    await page.waitForFunction(() => { const e = document.querySelector('[role=log]'); return e.scrollHeight - e.scrollTop - e.clientHeight < 8; });
    await page.keyboard.press('Control+.');
  }, {}, /status of 404/), // it may have ended
  'a failure keeps what is stored': on(async (page) => {
    await say(page, 'fail');
    const alert = page.getByRole('alert');
    await alert.getByText('The model failed').waitFor();
    await page.reload();
    await alert.getByText('scripted model failure').waitFor();
    await say(page, 'hello');
    await log(page).getByText('You said: hello', { exact: true }).waitFor();
    await page.reload();
    await log(page).locator('.end').getByText('scripted model failure').waitFor(); // it is said where it was
  }),
  'what is queued can be said now': on(async (page) => {
    await desk(page, 'scan for long');
    await card(page, 'scan').getByText('parcel 15 of 24', { exact: true }).waitFor();
    await say(page, 'echo: soon');
    const row = log(page).locator('.row').filter({ hasText: 'echo: soon' });
    await row.getByText('queued: next after this run').waitFor();
    await row.getByRole('button', { name: 'Send it now' }).click();
    await row.getByText('queued: read before the next step').waitFor();
    await page.getByRole('button', { name: 'Stop the run' }).click();
  }),
  'the bar says the same before and after a reload': on(async (page) => {
    await desk(page, 'scan');
    await log(page).getByText('All parcels are scanned.').waitFor();
    await bar(page).getByText('2 steps').waitFor();
    const before = await bar(page).innerText();
    await page.reload();
    await bar(page).getByText('2 steps').waitFor();
    assert.equal(await bar(page).innerText(), before);
    const id = /[0-9a-f-]{36}$/.exec(await bar(page).getByRole('link', { name: 'Run' }).getAttribute('href'))[0];
    const run = await page.evaluate((id) => fetch(`v1/runs/${id}`).then((r) => r.json()), id);
    assert.match(before, new RegExp(`${run.usage.input.toLocaleString()} in[^]*${run.usage.output.toLocaleString()} out`));
  }),
  'a picture of the thread is shown, any other is a link': on(async (page) => {
    await page.evaluate(() => {
      const data = new DataTransfer();
      const bytes = Uint8Array.from(atob('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='), (c) => c.charCodeAt(0));
      data.items.add(new File([bytes], 'dot.png', { type: 'image/png' }));
      document.querySelector('.composer').dispatchEvent(new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true }));
    });
    await page.getByRole('list', { name: 'Files' }).getByRole('img', { name: 'dot.png' }).waitFor();
    await say(page, '![mine](dot.png) ![theirs](https://example.com/dot.png)');
    const said = log(page).getByRole('article', { name: 'Agent' }).last();
    await said.getByRole('img', { name: 'mine' }).waitFor();
    await said.getByRole('link', { name: 'theirs' }).waitFor();
    assert.equal(await said.locator('img').count(), 1);
  }),
  'texts go in their own direction': on(async (page) => {
    await say(page, 'שלום');
    await log(page).getByText('You said: שלום', { exact: true }).waitFor();
    const directions = await log(page).locator('p[dir=auto]').evaluateAll((all) => all.map((e) => getComputedStyle(e).direction));
    assert.deepEqual(directions, ['rtl', 'ltr']);
  }),
});
