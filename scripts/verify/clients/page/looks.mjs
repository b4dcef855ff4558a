// What the views look like: pictures for a person, axe for those who need more than
// pictures, and nothing wider than a phone.
import assert from 'node:assert/strict';
import { audit, say, tooWide, watched } from './browser.mjs';

const themes = { light: { colorScheme: 'light' }, dark: { colorScheme: 'dark' }, narrow: { viewport: { width: 380, height: 760 }, hasTouch: true, isMobile: true } };

// looks returns a scenario for each theme. All of them show the same thread.
export function looks(browser, url, pictures) {
  let thread; // made once: others wait for it
  const scenarios = {};
  for (const [theme, options] of Object.entries(themes)) {
    scenarios[`every view, ${theme}`] = async () => {
      const { context, page, faults, quiet } = await watched(browser, options);
      const found = [];
      const look = async (name) => {
        await page.screenshot({ path: `${pictures}/${theme}-${name}.png` });
        found.push(...(await audit(page)).map((line) => `${name}: ${line}`));
        if (theme === 'narrow') found.push(...(await tooWide(page)).map((line) => `${name}: too wide: ${line}`));
      };
      await page.goto(url);
      await page.getByRole('heading', { name: 'New thread' }).first().waitFor();
      await look('empty');
      thread ??= talk(page);
      await page.goto(`${url}/#/t/${await thread}`);
      await page.getByText('May the agent use the tool danger?').waitFor();
      await look('chat');
      const ticket = page.getByRole('log').getByRole('group', { name: 'Waiting: danger' });
      await ticket.getByRole('button', { name: 'Deny…' }).click();
      await look('deny');
      await ticket.getByRole('button', { name: 'Back' }).click();
      await page.getByRole('log').locator('details.call summary').first().click();
      await look('call');
      await panes(page, theme, quiet, look);
      // Of the runs a few: axe cannot judge what scrolls when its middle is out of sight.
      for (const view of ['waiting', 'runs?status=failed', 'agents/demo']) {
        await page.goto(`${url}/#/${view}`);
        await page.getByRole('heading', { level: 1 }).waitFor();
        await quiet(); // its list
        await look(/^\w+/.exec(view)[0]);
      }
      await page.getByRole('main').getByText('Says a text back.').click();
      await look('tool');
      await page.keyboard.press('Escape');
      await page.evaluate(() => document.activeElement.blur());
      await page.keyboard.press('?');
      await page.getByRole('dialog', { name: 'Keys' }).waitFor();
      await look('keys');
      await page.keyboard.press('Escape');
      await page.keyboard.press('Control+k');
      await page.getByRole('dialog', { name: 'Go to' }).waitFor();
      await look('palette');
      await context.close();
      assert.deepEqual([...found, ...faults], []);
    };
  }
  return scenarios;
}

// talk makes a thread with something of everything, at whose end a call waits.
async function talk(page) {
  const log = page.getByRole('log');
  await say(page, 'parallel: a, b');
  await log.getByText('Echo: a, b', { exact: true }).waitFor();
  await say(page, '# Plan\n\n- **one**, [link](https://example.com)\n- two `x`\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```json\n{"a": [1, true]}\n```\n\n> said');
  await log.getByRole('article', { name: 'Agent' }).last().getByRole('table').waitFor();
  await say(page, 'think: hm');
  await log.getByText('I thought about it.').waitFor();
  await say(page, 'fail');
  await page.getByRole('alert').waitFor();
  await say(page, 'approve: ship it');
  await page.getByText('May the agent use the tool danger?').waitFor();
  await log.getByLabel('Remember').selectOption('this call, in this thread');
  await log.getByRole('button', { name: 'Approve' }).click();
  await log.getByText('Done: ship it').waitFor();
  await say(page, 'approve: release 4.2 of the billing service');
  await page.getByText('May the agent use the tool danger?').waitFor();
  return /#\/t\/([^/?]+)/.exec(await page.evaluate(() => location.hash))[1];
}

// panes looks at the five sides of a run.
async function panes(page, theme, quiet, look) {
  if (theme === 'narrow') await page.getByRole('navigation', { name: 'Panes' }).getByRole('button', { name: 'Run' }).click();
  for (const tab of ['Timeline', 'State', 'As sent', 'Events', 'Use it']) {
    await page.getByRole('tab', { name: tab }).click();
    await quiet();
    await look(`run-${tab.toLowerCase().replace(' ', '-')}`);
  }
  if (theme !== 'narrow') return;
  await page.getByRole('navigation', { name: 'Panes' }).getByRole('button', { name: /Threads/ }).click();
  await look('threads');
  await page.getByRole('navigation', { name: 'Panes' }).getByRole('button', { name: 'Chat' }).click();
}
