// Uses the page as a person does. Arguments: the host's address, a folder for pictures.
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { chat } from './chat.mjs';
import { cited } from './cited.mjs';
import { launch, report, say, watched } from './browser.mjs';
import { looksOfRun, ofRun } from './run.mjs';
import { asks, decide } from './decide.mjs';
import { keyboard } from './keyboard.mjs';
import { looks } from './looks.mjs';
import { proxy } from './proxy.mjs';
import { shell } from './shell.mjs';
import { team } from './team.mjs';
import { timers } from './timers.mjs';

const [url, pictures] = process.argv.slice(2);
mkdirSync(pictures, { recursive: true });
const browser = await launch();

// on runs a scenario on a page of its own, and looks for faults at its end.
export const on = (f, options, allowed) => async () => {
  const { context, page, faults } = await watched(browser, options);
  try {
    await page.goto(url);
    await f(page);
    assert.deepEqual(faults.filter((line) => !allowed?.test(line)), []);
  } catch (e) {
    await page.screenshot({ path: `${pictures}/failed.png` }).catch(() => {});
    throw e;
  } finally {
    await page.unrouteAll({ behavior: 'ignoreErrors' }); // of requests that the end cuts off
    await context.close();
  }
};

const log = (page) => page.getByRole('log');
const bar = (page) => page.getByRole('group', { name: 'Run in short' });
const words = (n) => Array.from({ length: n }, (_, i) => `w${i + 1}`).join(' ');
const turn = (page) => log(page).getByRole('article', { name: 'Agent' }).last();

async function approving(page, text) {
  await say(page, `approve: ${text}`);
  const ticket = log(page).getByRole('group', { name: 'Waiting: danger' });
  await ticket.waitFor();
  assert.match(await ticket.innerText(), new RegExp(text));
  return ticket;
}

// idle waits until no run is open: the last words of an answer come before its end.
const idle = (page) => page.getByRole('button', { name: 'Stop the run' }).waitFor({ state: 'detached' });

// instead says something else in the place of what was said.
async function instead(page, said, text) {
  const row = log(page).locator('.row').filter({ has: page.getByRole('article', { name: 'You' }).filter({ hasText: said }) }).last();
  await row.hover();
  await row.getByRole('button', { name: 'Edit' }).click();
  await log(page).getByRole('textbox').fill(text);
  await log(page).getByRole('button', { name: 'Send instead' }).click();
}

// nowhere waits until none of some texts is in sight.
const nowhere = (page, ...texts) => page.waitForFunction((texts) => ![...document.querySelectorAll('[role=log] *')].some((e) => texts.includes(e.textContent)), texts);

// hold keeps the next response to what a pattern matches, whole, until it is released.
async function hold(page, pattern) {
  let came, release, given, kept;
  const there = new Promise((done, failed) => {
    came = done;
    setTimeout(() => failed(new Error(`nobody asked for ${pattern}`)), 20_000).unref();
  });
  there.catch(() => {}); // whoever waits for it says so
  const released = new Promise((done) => (release = done));
  const end = new Promise((done) => (given = done));
  const keep = async (route) => {
    if (kept) return route.fallback();
    kept = true;
    const response = await route.fetch();
    came();
    await released;
    await route.fulfill({ response });
    given();
  };
  await page.route(pattern, keep); // to the end: without any route left, those that are held go on by themselves
  return {
    there,
    async release() {
      release();
      await end;
      await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(drawn, 200)))));
    },
  };
}

const scenarios = {
  ...ofRun(on),
  ...looksOfRun(browser, url, pictures),
  'a tool is called': on(async (page) => {
    await say(page, 'parallel: a, b');
    await log(page).getByText('Echo: a, b', { exact: true }).waitFor();
    assert.equal(await log(page).locator('details.call').count(), 2);
    await page.waitForURL(/#\/t\/[0-9a-f-]+$/);
    await page.getByRole('treegrid').getByRole('row', { name: /Step 2/ }).waitFor();
    assert.equal(await page.getByRole('treegrid').getByRole('row').count(), 7, 'a run, two steps, two calls of the model and two of the tool');
  }),
  'the answer is seen as it is said': on(async (page) => {
    await say(page, 'slow: 50');
    await log(page).getByText('w3', { exact: false }).waitFor();
    assert.ok(!(await turn(page).innerText()).includes('w50'), 'it came all at once');
    await log(page).getByText(words(50)).waitFor();
  }),
  'a call is approved': on(async (page) => {
    const ticket = await approving(page, 'ship it');
    await ticket.getByRole('button', { name: 'Approve' }).click();
    await log(page).getByText('Done: ship it').waitFor();
    assert.match(await log(page).locator('details.call').innerText(), /"executions":1/);
  }),
  'a call is denied with a reason': on(async (page) => {
    const ticket = await approving(page, 'break it');
    await ticket.getByRole('button', { name: 'Deny…' }).click();
    await ticket.getByLabel('Reason').fill('not today');
    await ticket.getByRole('button', { name: 'Deny', exact: true }).click();
    await log(page).getByText('The call of danger was denied.').waitFor();
    const card = log(page).locator('details.call');
    assert.match(await card.innerText(), /denied/);
    await card.locator('summary').click();
    await card.getByText('not today').first().waitFor();
  }),
  'a reload in the middle loses nothing': on(async (page) => {
    await say(page, 'slow: 90');
    await log(page).getByText('w10').waitFor();
    await page.reload();
    await log(page).getByText('w10').waitFor();
    const shown = (await turn(page).innerText()).trim();
    assert.ok(!shown.includes('w90'), 'the whole answer came at once');
    await log(page).getByText(words(90)).waitFor();
    assert.equal(await log(page).getByText('slow: 90').count(), 1);
  }),
  'a lost connection is said and mended': async () => {
    const line = await proxy(url);
    const { context, page, faults } = await watched(browser);
    try {
      await page.goto(line.url);
      await say(page, 'slow: 60');
      await log(page).getByText('w5').waitFor();
      line.cut();
      await page.getByRole('alert').getByText('The host does not respond.').waitFor();
      assert.equal(await page.getByRole('alert').count(), 1, 'it is said once');
      line.mend();
      await log(page).getByText(words(60)).waitFor();
      await page.getByRole('alert').waitFor({ state: 'detached' });
      assert.deepEqual(faults.filter((f) => !/net::ERR_/.test(f)), []);
    } finally {
      await context.close();
      line.close();
    }
  },
  'a run is stopped': on(async (page) => {
    await say(page, 'slow: 300');
    await log(page).getByText('w3').waitFor();
    await page.getByRole('button', { name: 'Stop the run' }).click();
    await log(page).getByText('cancelled').waitFor();
  }),
  'a failure says what to do': on(async (page) => {
    await say(page, 'fail');
    const alert = page.getByRole('alert');
    await alert.getByText('scripted model failure').waitFor();
    await alert.getByRole('button', { name: 'Run again' }).click();
    await bar(page).getByText('failed').waitFor();
  }),
  'another answer, another question, a fork': on(async (page) => {
    await say(page, 'echo: one');
    await log(page).getByText('Echo: one', { exact: true }).waitFor();
    await log(page).getByRole('button', { name: 'Again' }).click();
    await page.waitForFunction(() => document.querySelectorAll('[role=log] article[aria-label=Agent]').length === 2);
    await log(page).getByText('Echo: one', { exact: true }).waitFor();
    await instead(page, 'echo: one', 'echo: two');
    await log(page).getByText('Echo: two', { exact: true }).waitFor();
    await nowhere(page, 'Echo: one');
    await instead(page, 'echo: two', 'slow: 40');
    await log(page).getByText('slow: 40', { exact: true }).waitFor();
    await nowhere(page, 'echo: two', 'Echo: two', words(40)); // though the host has both until the run has committed
    await log(page).getByText(words(40), { exact: true }).waitFor();
    await log(page).getByRole('button', { name: 'Again' }).click();
    await nowhere(page, words(40));
    await log(page).getByText(words(40), { exact: true }).waitFor();
    await nowhere(page, 'echo: two', 'Echo: two');
    assert.equal(await log(page).getByText('slow: 40', { exact: true }).count(), 1);
    await instead(page, 'slow: 40', 'echo: three');
    await log(page).getByText('Echo: three', { exact: true }).waitFor();
    await nowhere(page, words(40));
    const before = page.url();
    await log(page).getByRole('button', { name: 'Fork' }).click();
    await page.waitForFunction((u) => location.href !== u, before);
    await log(page).getByText('Echo: three', { exact: true }).waitFor();
  }),
  'what is taken back is hidden before a list says so': on(async (page) => {
    await say(page, 'echo: one');
    await log(page).getByText('Echo: one', { exact: true }).waitFor();
    await idle(page);
    await page.evaluate(() => {
      const look = () => (window.most = Math.max(window.most ?? 0, [...document.querySelectorAll('[role=log] p')].filter((e) => e.textContent === 'Echo: one').length));
      new MutationObserver(look).observe(document.body, { childList: true, subtree: true, characterData: true });
    });
    let free;
    const freed = new Promise((done) => (free = done));
    await page.route(/\/messages\?/, async (route) => {
      await freed;
      await route.fallback();
    });
    const begun = page.waitForResponse((r) => r.request().method() === 'POST' && /\/v1\/runs$/.test(r.url()));
    await log(page).getByRole('button', { name: 'Again' }).click();
    await (await begun).finished();
    await log(page).getByText('Echo: one', { exact: true }).waitFor();
    free();
    await idle(page);
    assert.equal(await page.evaluate(() => window.most), 1);
  }),
  'an answer that comes late changes nothing': on(async (page) => {
    for (const [late, text] of [[/\/messages\?/, 'one'], [/\/v1\/runs$/, 'two']]) {
      await say(page, `echo: ${text}`);
      await log(page).getByText(`Echo: ${text}`, { exact: true }).waitFor();
      const held = await hold(page, late);
      await log(page).getByRole('button', { name: 'Again' }).last().click();
      await held.there;
      await instead(page, `echo: ${text}`, `not ${text}`);
      await log(page).getByText(`You said: not ${text}`, { exact: true }).waitFor();
      await nowhere(page, `Echo: ${text}`);
      await log(page).getByRole('button', { name: 'Fork' }).last().waitFor();
      await page.evaluate((text) => {
        const look = () => (window.appeared ||= [...document.querySelectorAll('[role=log] *')].some((e) => e.textContent === text));
        new MutationObserver(look).observe(document.body, { childList: true, subtree: true, characterData: true });
      }, `Echo: ${text}`);
      await held.release();
      assert.ok(!(await page.evaluate(() => window.appeared)), `Echo: ${text} was shown again`);
      assert.match(await bar(page).innerText(), /1 step\b/, 'the newest run is the one that is shown');
    }
  }),
  'an answer that comes late leaves what a newer one took back': on(async (page) => {
    await say(page, 'echo: one');
    await log(page).getByText('Echo: one', { exact: true }).waitFor();
    await idle(page);
    const held = await hold(page, /\/v1\/runs$/);
    await log(page).getByRole('button', { name: 'Again' }).last().click();
    await held.there;
    await page.route(/\/messages\?/, () => {}); // no list says what the newer run took back
    await instead(page, 'echo: one', 'not one');
    await log(page).getByText('You said: not one', { exact: true }).waitFor();
    await nowhere(page, 'Echo: one');
    await held.release();
    assert.equal(await log(page).getByText('Echo: one', { exact: true }).count(), 0, 'Echo: one is shown again');
  }),
  'a run that is found before its request is answered is read once': on(async (page) => {
    await say(page, 'hello');
    await log(page).getByText('You said: hello', { exact: true }).waitFor();
    await idle(page);
    await page.getByRole('tab', { name: 'Events' }).click();
    const begun = await hold(page, /\/v1\/runs$/);
    const found = await hold(page, /\/events\/stream$/);
    await say(page, 'approve: ship it');
    await begun.there;
    await page.evaluate(() => document.dispatchEvent(new Event('visibilitychange')));
    await found.there;
    await begun.release();
    await found.release();
    await log(page).getByRole('group', { name: 'Waiting: danger' }).waitFor();
    assert.equal(await page.getByRole('tabpanel').getByText('run_start', { exact: true }).count(), 1);
  }),
  'what the runtime says to a model is no person’s': on(async (page) => {
    await say(page, 'hello');
    await log(page).getByText('You said: hello', { exact: true }).waitFor();
    await idle(page);
    await page.route(/\/messages\?/, async (route) => {
      const response = await route.fetch();
      const body = await response.json();
      body.messages.unshift({ ...body.messages[0], id: 'note', role: 'user', repair: true, content: [{ type: 'text', text: '[not JSON]' }] });
      await route.fulfill({ response, json: body });
    });
    await page.reload();
    await log(page).getByText('The answer goes back to the model: [not JSON]').waitFor();
    assert.equal(await log(page).getByRole('article', { name: 'You' }).count(), 1);
    assert.equal(await log(page).getByRole('button', { name: 'Edit' }).count(), 1);
  }),
  'a question that is said again is shown once': on(async (page) => {
    await say(page, 'hello');
    await log(page).getByText('You said: hello', { exact: true }).waitFor();
    await idle(page);
    let again = true;
    await page.route(/\/messages\?/, async (route) => {
      const response = await route.fetch();
      const body = await response.json();
      const asked = body.messages.find((m) => m.role === 'user');
      if (again) body.messages.unshift({ ...asked, pending: true });
      await route.fulfill({ response, json: body });
    });
    await page.reload();
    await log(page).getByText('You said: hello', { exact: true }).waitFor();
    assert.equal(await log(page).getByRole('article', { name: 'You' }).count(), 1);
    await log(page).getByRole('button', { name: 'Edit' }).click();
    await log(page).getByRole('textbox').fill('not hello');
    again = false;
    const read = page.waitForResponse(/\/messages\?/);
    const composer = page.getByRole('textbox', { name: 'Message', exact: true }).last();
    await composer.fill('more');
    await composer.press('Enter');
    await read;
    await log(page).getByText('You said: more', { exact: true }).waitFor();
    assert.equal(await log(page).getByRole('textbox').inputValue(), 'not hello');
  }),
  'what another tab has put in its place is not shown': on(async (page) => {
    await say(page, 'echo: one');
    await log(page).getByText('Echo: one', { exact: true }).waitFor();
    const other = await page.context().newPage();
    await other.goto(await page.evaluate(() => location.href));
    await instead(other, 'echo: one', 'parallel: a, b');
    await log(other).getByText('Echo: a, b', { exact: true }).waitFor();
    await page.bringToFront();
    await page.evaluate(() => document.dispatchEvent(new Event('visibilitychange')));
    await log(page).getByText('Echo: a, b', { exact: true }).waitFor();
    await nowhere(page, 'Echo: one');
  }),
  'what is said while a run is open waits': on(async (page) => {
    await say(page, 'slow: 50');
    await log(page).getByText('w3').waitFor();
    await say(page, 'echo: later');
    await log(page).getByText('queued: next after this run').waitFor();
    await log(page).getByText('Echo: later', { exact: true }).waitFor();
    assert.match(await log(page).innerText(), /slow: 50[^]*w50[^]*echo: later[^]*Echo: later/);
  }),
  'what waits and then fails at once is said': on(async (page) => {
    await say(page, 'slow: 10');
    await log(page).getByText('w3').waitFor();
    await say(page, 'fail');
    await page.getByRole('alert').getByText('scripted model failure').waitFor();
  }),
  'what waits can be changed and taken back': on(async (page) => {
    await say(page, 'slow: 300');
    await log(page).getByText('w3').waitFor();
    for (const text of ['echo: never', 'echo: first']) {
      await say(page, text);
      await log(page).locator('.row').filter({ hasText: text }).getByText(/^queued/).waitFor();
    }
    const row = (text) => log(page).locator('.row').filter({ hasText: text });
    await row('echo: never').getByRole('button', { name: 'Remove' }).click();
    await row('echo: never').waitFor({ state: 'detached' });
    await row('echo: first').getByRole('button', { name: 'Edit' }).click();
    await log(page).getByRole('textbox').fill('echo: second');
    await log(page).getByRole('button', { name: 'Change it' }).click();
    await row('echo: second').getByText(/^queued/).waitFor();
    await page.getByRole('button', { name: 'Stop the run' }).click();
    await log(page).getByText('Echo: second', { exact: true }).waitFor();
    assert.doesNotMatch(await log(page).innerText(), /never|first/);
  }),
  'calls that wait are answered in one place': on(async (page) => {
    await approving(page, 'from the list');
    await page.getByRole('link', { name: /^Waiting/ }).click();
    const row = page.locator('.item').filter({ hasText: 'from the list' });
    await row.getByRole('link').click();
    const ticket = page.getByRole('main').getByRole('group', { name: 'Waiting: danger' }).filter({ hasText: 'from the list' });
    await ticket.getByRole('button', { name: 'Approve' }).click();
    await row.waitFor({ state: 'detached' });
    await page.goBack();
    await log(page).getByText('Done: from the list').waitFor();
  }),
  'what is remembered is state': on(async (page) => {
    const ticket = await approving(page, 'for good');
    await ticket.getByLabel('not for danger, in this thread').check();
    await ticket.getByRole('button', { name: 'Approve' }).click();
    await log(page).getByText('Done: for good').waitFor();
    await say(page, 'approve: at once');
    await log(page).getByText('Done: at once').waitFor();
    await page.getByRole('tab', { name: 'State' }).click();
    const pane = page.getByRole('tabpanel');
    await pane.getByText(/permission/).first().waitFor();
    await pane.getByRole('slider').waitFor();
  }),
  'events and uses are shown': on(async (page) => {
    await say(page, 'echo: seen');
    await log(page).getByText('Echo: seen', { exact: true }).waitFor();
    await page.getByRole('tab', { name: 'Events' }).click();
    await page.getByRole('tabpanel').getByText('run_finish', { exact: true }).waitFor();
    await page.getByRole('tab', { name: 'Request' }).click();
    await page.getByRole('tabpanel').getByText('tool: echo').waitFor(); // step 2 was told the result
    await page.getByRole('tabpanel').getByLabel('Step').selectOption('1');
    await page.getByRole('tabpanel').getByText('tool: echo').waitFor({ state: 'detached' });
    await page.getByRole('tabpanel').getByText('user: echo: seen').waitFor();
    await page.getByRole('tab', { name: 'Use it' }).click();
    await page.getByRole('tabpanel').getByText('curl -N').first().waitFor();
  }),
  'what a model says is text': on(async (page) => {
    const hostile = '<img src=x onerror=alert(1)> <b>bold</b> [bad](javascript:alert(1)) [good](https://example.com/) ![seen](https://evil.example/x.png) &lt;&#33; `<i>`';
    await say(page, hostile);
    const said = turn(page).locator('.markdown');
    await said.getByRole('link', { name: 'good' }).waitFor();
    assert.equal((await said.innerText()).trim(), 'You said: <img src=x onerror=alert(1)> <b>bold</b> bad good seen <! <i>');
    assert.deepEqual(await said.evaluate((e) => [...e.querySelectorAll('a, img, b, i')].map((x) => `${x.tagName} ${x.getAttribute('href')} ${x.getAttribute('rel')}`)), [
      'A https://example.com/ noopener noreferrer',
      'A https://evil.example/x.png noopener noreferrer',
    ]);
  }),
  'files go with a message': on(async (page) => {
    const drop = (name, type, text) =>
      page.evaluate(([name, type, text]) => {
        const data = new DataTransfer();
        data.items.add(new File([Uint8Array.from(atob(text), (c) => c.charCodeAt(0))], name, { type }));
        document.querySelector('.composer').dispatchEvent(new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true }));
      }, [name, type, text]);
    await drop('note.txt', 'text/plain', btoa('a note'));
    await page.waitForFunction(() => document.querySelector('#composer').value.includes('a note'));
    await drop('dot.png', 'image/png', 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==');
    await page.getByRole('list', { name: 'Files' }).getByRole('img', { name: 'dot.png' }).waitFor();
    await page.getByRole('button', { name: 'Send' }).click();
    await log(page).getByRole('article', { name: 'You' }).getByRole('img', { name: 'dot.png' }).waitFor();
    await log(page).getByText(/dot\.png.*image\/png/).first().waitFor();
    await page.reload();
    await log(page).getByRole('article', { name: 'You' }).getByRole('img', { name: 'dot.png' }).waitFor();
  }),
  'threads are found, renamed and deleted': on(async (page) => {
    const name = `About ${Date.now()}`;
    await say(page, `echo: ${name}`);
    await log(page).getByText(`Echo: ${name}`, { exact: true }).waitFor();
    const list = page.getByRole('group', { name: 'Threads' });
    const row = list.getByRole('listitem').filter({ hasText: name });
    await row.getByRole('button', { name: /^Change/ }).click();
    await page.getByRole('textbox', { name: 'Name', exact: true }).fill('Renamed here');
    await page.getByRole('button', { name: 'Rename' }).click();
    const renamed = list.getByRole('listitem').filter({ hasText: 'Renamed here' });
    await renamed.waitFor();
    await page.getByRole('searchbox', { name: 'Search threads' }).fill('renamed HERE');
    await page.waitForFunction(() => document.querySelectorAll('.thread-list li').length === 1);
    await renamed.getByRole('button', { name: /^Change/ }).click();
    await page.getByRole('button', { name: 'Delete…' }).click();
    await page.getByRole('button', { name: 'Delete permanently' }).click();
    await page.getByText('No thread matches.').waitFor();
  }),
  'a tool is asked for by its form': on(async (page) => {
    await page.goto(`${url}/#/agents/demo`);
    await page.getByRole('main').getByText('Says a text back.').click();
    await page.getByRole('textbox', { name: 'text' }).fill('by form');
    await page.getByRole('button', { name: 'Ask for this call' }).first().click();
    await log(page).getByText('by form').last().waitFor();
    await page.getByRole('treegrid').getByRole('row', { name: /echo/ }).waitFor();
  }),
  'a host that wants a token is given one': on(async (page) => {
    await page.context().route('**/v1/**', (r) =>
      r.request().headers()['authorization'] === 'Bearer let-me-in' ? r.continue() : r.fulfill({ status: 401, json: { error: 'no token', code: 'unauthorized' } }));
    await page.reload();
    await page.getByLabel('The host requires a token').fill('wrong');
    await page.getByRole('button', { name: 'Use it' }).click();
    await page.getByLabel('The host refused the token').fill('let-me-in');
    await page.getByRole('button', { name: 'Use it' }).click();
    await page.getByLabel('The host').waitFor({ state: 'detached' });
    await say(page, 'echo: inside');
    await log(page).getByText('Echo: inside', { exact: true }).waitFor();
  }, {}, /status of 401/),
  'a thread that is left is found again': on(async (page) => {
    await say(page, 'slow: 60');
    await log(page).getByText('w5').waitFor();
    const at = await page.evaluate(() => location.href);
    await page.getByRole('link', { name: 'New thread' }).click();
    await page.getByRole('heading', { name: 'New thread' }).first().waitFor();
    await page.goto(at);
    await log(page).getByText(words(60)).waitFor();
    assert.equal(await log(page).getByText('slow: 60').count(), 1);
  }),
  'a thread that is not there is said so': on(async (page) => {
    await page.goto(`${url}/#/t/no-such-thread`);
    await page.getByRole('alert').getByText('Not here').waitFor();
    await page.getByRole('alert').getByRole('link', { name: 'New thread' }).click();
    await page.getByRole('heading', { name: 'New thread' }).first().waitFor();
  }, {}, /status of 404/),
  ...chat(on),
  ...cited(on),
  ...decide(on),
  ...keyboard(on),
  ...team(on),
  ...timers(on),
  ...shell(on, browser, url),
  ...asks(browser, url, pictures),
  ...looks(browser, url, pictures),
};

await report(scenarios);
await browser.close();
