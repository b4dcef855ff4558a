// The frame of the page and its lists: drawers, links, two tabs, and a host that is gone.
import assert from 'node:assert/strict';
import { say, tooWide, watched } from './browser.mjs';
import { proxy } from './proxy.mjs';

const log = (page) => page.getByRole('log');
const list = (page) => page.getByRole('group', { name: 'Threads' });
const row = (page, text) => list(page).getByRole('listitem').filter({ hasText: text });
const side = (page) => page.getByRole('complementary', { name: 'Run' });
const idle = (page) => page.getByRole('button', { name: 'Stop the run' }).waitFor({ state: 'detached' });
const address = (page) => page.evaluate(() => location.href);

// talk says something on a new thread and waits for its end. It returns the address.
async function talk(page, text, answer) {
  await say(page, text);
  await log(page).getByText(answer, { exact: true }).first().waitFor();
  await idle(page);
  return address(page);
}

// runOf is the newest run of the host with a text.
const runOf = (page, thread) => page.evaluate(async (t) => (await (await fetch(`/v1/threads/${t}/runs/latest`)).json()).run_id, thread);

const threadOf = (url) => /#\/t\/([^/?]+)/.exec(url)[1];

export const shell = (on, browser, url) => ({
  'two tabs agree': on(async (page) => {
    const other = await page.context().newPage();
    await other.addInitScript(() => (window.setInterval = () => 0)); // it agrees because it hears, not since it asks again
    await other.goto(page.url());
    await list(other).waitFor();
    const name = `Agreed ${Date.now()}`;
    await say(page, `approve: ${name}`);
    await log(page).getByRole('group', { name: 'Waiting: danger' }).waitFor();
    await row(other, name).waitFor();
    await other.getByRole('region', { name: 'Waiting for you' }).getByRole('listitem').filter({ hasText: name }).waitFor();
    await other.goto(await address(page));
    const ticket = log(other).getByRole('group', { name: 'Waiting: danger' });
    await ticket.waitFor();
    await log(page).getByRole('button', { name: 'Approve' }).click();
    await ticket.waitFor({ state: 'detached' });
    await log(other).getByText(`Done: ${name}`).waitFor();
    await row(page, name).getByRole('button', { name: /^Change/ }).click();
    await page.getByRole('textbox', { name: 'Name', exact: true }).fill(`${name} again`);
    await page.getByRole('button', { name: 'Rename' }).click();
    await other.getByRole('heading', { level: 1, name: `${name} again` }).waitFor();
    await row(page, name).getByRole('button', { name: /^Change/ }).click();
    await page.getByRole('button', { name: 'Delete…' }).click();
    await page.getByRole('button', { name: 'Delete permanently' }).click();
    await row(other, name).waitFor({ state: 'detached' });
    await other.getByRole('alert').getByText('Not here').waitFor();
  }, {}, /status of 4(04|10)/),
  'a host that is gone is said once': async () => {
    const line = await proxy(url);
    const { context, page, faults } = await watched(browser);
    try {
      await page.goto(line.url);
      const thread = threadOf(await talk(page, 'echo: kept', 'Echo: kept'));
      await page.goto(`${line.url}/#/runs`);
      await page.getByRole('list', { name: 'Runs' }).getByRole('listitem').first().waitFor();
      line.cut();
      const alert = page.getByRole('alert');
      await alert.getByText('The host does not respond.').waitFor();
      await alert.getByText('make run').waitFor();
      for (const view of ['waiting', 'agents', 'usage', 'models', 'runs']) {
        await page.goto(`${line.url}/#/${view}`);
        await page.getByRole('heading', { level: 1 }).waitFor();
        assert.equal(await alert.count(), 1, `${view}: it is said once`);
      }
      await page.goto(`${line.url}/#/t/${thread}`);
      await page.getByRole('heading', { level: 1, name: 'echo: kept' }).waitFor();
      assert.equal(await alert.count(), 1, 'a thread: it is said once');
      assert.ok((await list(page).getByRole('listitem').count()) > 0, 'the threads stay');
      line.mend();
      await alert.waitFor({ state: 'detached' });
      await log(page).getByText('Echo: kept', { exact: true }).waitFor();
      await page.goto(`${line.url}/#/runs`);
      await page.getByRole('list', { name: 'Runs' }).getByRole('listitem').first().waitFor();
      assert.deepEqual(faults.filter((f) => !/net::ERR_/.test(f)), []);
    } finally {
      await context.close();
      line.close();
    }
  },
  'a link opens its run': on(async (page) => {
    const first = threadOf(await talk(page, 'echo: linked', 'Echo: linked'));
    const run = await runOf(page, first);
    await talk(page, 'hello', 'You said: hello');
    await page.route(/\/threads\/summaries/, (r) => r.fulfill({ json: { threads: [], has_more: false, next_cursor: null } })); // no list has it
    for (const again of [false, true]) {
      if (again) await page.reload();
      else await page.goto(`${url}/#/t/${first}/r/${run}?step=1&call=model`);
      await page.getByRole('heading', { level: 1, name: 'echo: linked' }).waitFor();
      await side(page).getByRole('row', { selected: true }).getByText('scripted').waitFor();
    }
    await page.setViewportSize({ width: 1024, height: 768 });
    await page.reload();
    await side(page).getByRole('row', { selected: true }).getByText('scripted').waitFor();
    await page.keyboard.press('Escape');
    await side(page).waitFor({ state: 'hidden' });
    assert.match(page.url(), /step=1/, 'Escape closes the drawer and nothing else');
    await page.goto(`${url}/#/runs/${run}`);
    await page.getByRole('treegrid').getByRole('row', { name: /echo/ }).first().waitFor();
    await page.reload();
    await page.getByRole('treegrid').getByRole('row', { name: /echo/ }).first().waitFor();
    await page.getByRole('link', { name: 'Chat' }).last().click();
    await page.waitForURL(new RegExp(`#/t/${first}`));
  }),
  'threads and a run are in drawers': on(async (page) => {
    const at = threadOf(await talk(page, 'echo: drawn', 'Echo: drawn'));
    assert.equal(await list(page).count(), 0, 'the threads are out of sight');
    const open = page.getByRole('button', { name: 'Threads' });
    await open.click();
    await row(page, 'echo: drawn').first().waitFor();
    await page.keyboard.press('Escape');
    await list(page).waitFor({ state: 'detached' });
    assert.equal(await page.evaluate(() => document.activeElement.getAttribute('aria-label')), 'Threads', 'the focus goes back');
    await open.click();
    await page.getByRole('complementary', { name: 'Threads' }).getByRole('link', { name: 'New thread' }).click();
    await page.getByRole('heading', { level: 1, name: 'New thread' }).waitFor();
    await list(page).waitFor({ state: 'detached' });
    await page.goto(`${url}/#/t/${at}`);
    await page.getByRole('button', { name: 'Run details' }).click();
    await side(page).getByRole('treegrid').waitFor();
    await side(page).getByRole('button', { name: 'Close' }).click();
    await side(page).waitFor({ state: 'hidden' });
    assert.deepEqual(await tooWide(page), []);
    const nav = page.getByRole('navigation', { name: 'Main' });
    for (const link of await nav.getByRole('link').all()) assert.ok((await link.boundingBox()).height >= 44);
    assert.deepEqual((await nav.getByRole('link').allInnerTexts()).map((text) => text.split(/\s/)[0]), ['Chat', 'Waiting', 'Runs', 'Agents']);
    await open.click();
    await page.getByRole('link', { name: 'Usage' }).click();
    await page.getByRole('heading', { level: 1, name: 'Usage' }).waitFor();
  }, { viewport: { width: 390, height: 844 } }),
  'runs are found by what was asked': on(async (page) => {
    const name = `Lost lamp ${Date.now()}`;
    await talk(page, name, `You said: ${name}`);
    await say(page, 'fail');
    await page.getByRole('alert').waitFor();
    await page.evaluate(() => document.activeElement.blur());
    await page.keyboard.press('g');
    await page.keyboard.press('r');
    const runs = page.getByRole('list', { name: 'Runs' }).getByRole('listitem');
    const search = page.getByRole('searchbox', { name: 'Search runs' });
    await search.fill(name.toLowerCase());
    await page.waitForURL(/q=lost/);
    await page.waitForFunction(() => document.querySelectorAll('.runs li').length === 1);
    await runs.filter({ hasText: name }).getByText('done').waitFor();
    const failed = page.getByRole('button', { name: 'Failed' });
    await failed.click();
    await page.getByText('No run matches.').waitFor();
    await search.fill('');
    await page.waitForURL(/runs\?status=failed$/);
    await runs.filter({ hasText: 'scripted model failure' }).first().getByText('failed', { exact: true }).waitFor();
    assert.equal(await failed.getAttribute('aria-pressed'), 'true');
    await page.evaluate(() => document.activeElement.blur());
    await page.keyboard.press('f');
    assert.equal(await page.evaluate(() => document.activeElement.getAttribute('aria-label')), 'Time');
    await page.evaluate(() => document.activeElement.blur());
    await runs.first().waitFor();
    await page.keyboard.press('j');
    await page.keyboard.press('j');
    await page.keyboard.press('k');
    await page.keyboard.press('Enter');
    await page.waitForURL(/#\/runs\/[0-9a-f-]+/);
    await page.goBack();
    await runs.first().waitFor();
    assert.match(page.url(), /status=failed/, 'the filter stays');
  }, {}),
  'the runs of a day are drawn': on(async (page) => {
    await talk(page, 'hello', 'You said: hello');
    await page.goto(`${url}/#/runs`);
    const stats = page.getByRole('group', { name: 'Runs, tokens and cost' });
    const { totals } = await page.evaluate(async () => (await fetch('/v1/runs/summary')).json());
    assert.ok(totals.runs > 0);
    await stats.getByRole('img', { name: /^Runs: / }).waitFor();
    assert.ok((await stats.locator('rect').count()) >= 2, 'an hour has a bar');
  }),
  'usage and models are shown': on(async (page) => {
    await talk(page, 'echo: used', 'Echo: used');
    await page.goto(`${url}/#/usage`);
    const table = page.getByRole('group', { name: 'Usage' }).getByRole('table');
    await table.getByRole('row', { name: /Today demo/ }).waitFor();
    await page.getByRole('link', { name: 'Model', exact: true }).click();
    await table.getByRole('row', { name: /Today scripted/ }).waitFor();
    await page.getByRole('link', { name: 'Day', exact: true }).click();
    await page.waitForURL(/since=day/);
    const file = page.waitForEvent('download');
    await page.getByRole('button', { name: 'CSV' }).click();
    assert.match((await file).suggestedFilename(), /^usage-.*\.csv$/);
    await page.goto(`${url}/#/models`);
    await page.getByRole('region', { name: 'Models' }).getByRole('row', { name: /default/ }).waitFor();
    await page.getByRole('region', { name: 'Providers' }).getByText('scripted', { exact: true }).waitFor();
  }),
});
