// What an answer is from, what a tool has drawn, and what a refusal has taught: as it comes,
// and after a reload.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { audit, say } from './browser.mjs';

const log = (page) => page.getByRole('log');
const turns = (page) => log(page).getByRole('article', { name: 'Agent' });

async function ask(page, agent, text) {
  await page.goto(`${page.url().split('#')[0]}#/?agent=${agent}`);
  await page.getByRole('heading', { name: `${agent} is ready` }).waitFor();
  await say(page, text);
}

// twice looks at a conversation as it came, and as it is read again.
async function twice(page, look) {
  await look('live');
  await page.waitForURL(/#\/t\/[0-9a-f-]+/);
  await page.reload();
  await look('read again');
}

export const cited = (on) => ({
  'sources and files are shown, and again after a reload': on(async (page) => {
    await ask(page, 'painter', 'draw');
    await twice(page, async (when) => {
      const sources = turns(page).last().getByRole('list', { name: 'Sources' });
      await sources.waitFor();
      assert.deepEqual(await sources.getByRole('listitem').allInnerTexts(), [
        'Almanac, pages 2 to 3', 'Weather <today> for Là-bas il pleut. and 1 more', 'A script for It never rains <b>here</b>.',
      ], when);
      const links = await sources.getByRole('link').evaluateAll((all) => all.map((a) => [a.textContent, a.getAttribute('href'), a.rel, a.target]));
      assert.deepEqual(links, [['Weather <today>', 'https://weather.example/today?a=1&b=2', 'noopener noreferrer', '_blank']], when);

      await turns(page).last().getByText('Là-bas il pleut. It never rains <b>here</b>.', { exact: true }).waitFor();
      const call = log(page).locator('details.call').filter({ hasText: 'draw' });
      if (!(await call.evaluate((e) => e.open))) await call.locator('summary').first().click();
      const image = call.locator('img.file');
      await image.waitFor();
      assert.deepEqual(await image.evaluate((e) => [e.alt, e.naturalWidth, e.src.slice(0, 22)]), ['image/png', 1, 'data:image/png;base64,'], when);
      await call.getByText('A dot.').last().waitFor();
      for (const [name, as, text] of [['application/pdf', 'file.pdf', '%PDF-1.4'], ['dots/of today.csv', 'dots_of today.csv', 'x,y\n0,0\n']]) {
        const saved = page.waitForEvent('download');
        await call.getByRole('link', { name: `Save ${name}` }).click();
        const file = await saved;
        assert.equal(file.suggestedFilename(), as, when);
        assert.equal(readFileSync(await file.path(), 'utf8'), text, when);
      }
      assert.deepEqual((await audit(page)).filter((line) => /^violation|[.]file|[.]sources/.test(line)), [], when); // the lists beside may just be drawn
    });
  }),
  'what a refusal has taught is said': on(async (page) => {
    const long = (n) => `entry ${n} ${'x'.repeat(4096)}`;
    const thread = await page.evaluate(async (texts) => {
      const thread = crypto.randomUUID();
      for (const content of texts) {
        const run = await fetch('v1/runs', { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ agentId: 'ledger', threadId: thread, messages: [{ role: 'user', content }] }) });
        await run.text();
      }
      return thread;
    }, [1, 2, 3].map(long));
    await page.evaluate((to) => (location.hash = to), `#/t/${thread}`);
    await log(page).getByText('Noted: entry 3.').waitFor();
    await say(page, long(4));
    await log(page).getByText('Noted: entry 4.').waitFor();
    const note = 'The model refused a longer request: it takes at most 4,096 tokens. It reads less of the conversation now.';
    await turns(page).last().getByText(note).waitFor();
    await page.reload();
    await turns(page).last().getByText(note).waitFor();
    await say(page, 'entry 5');
    await log(page).getByText('Noted: entry 5.').waitFor();
    assert.equal(await log(page).getByText('The model refused').count(), 1, 'the next request is short from the start');
  }),
});
