// What the views look like at four widths, light and dark: pictures for a person, axe for
// those who need more than pictures, and nothing wider than the screen. A picture is named
// by the width, the theme and the view.
import assert from 'node:assert/strict';
import { audit, say, tooWide, watched } from './browser.mjs';

const touch = { hasTouch: true, isMobile: true };
const sizes = {
  1440: { viewport: { width: 1440, height: 900 } },
  1024: { viewport: { width: 1024, height: 768 } },
  768: { viewport: { width: 768, height: 1024 }, ...touch },
  390: { viewport: { width: 390, height: 844 }, ...touch },
};

const tabs = ['Timeline', 'State', 'Request', 'Events', 'Use it'];

// looks returns a scenario for each width. All of them show the same thread.
export function looks(browser, url, pictures) {
  let thread; // made once: others wait for it
  const scenarios = {};
  for (const [width, options] of Object.entries(sizes)) {
    scenarios[`every view, ${width}`] = async () => {
      const { context, page, faults, quiet } = await watched(browser, options);
      const found = [];
      const look = async (name) => {
        for (const colorScheme of ['light', 'dark']) {
          await page.emulateMedia({ colorScheme });
          await page.screenshot({ path: `${pictures}/${width}-${colorScheme}-${name}.png` });
          found.push(...(await audit(page)).map((line) => `${name}, ${colorScheme}: ${line}`));
        }
        found.push(...(await tooWide(page)).map((line) => `${name}: too wide: ${line}`));
      };
      const visit = async (hash) => {
        await page.goto(`${url}/#/${hash}`);
        await page.getByRole('heading', { level: 1 }).waitFor();
        await quiet(); // its lists
      };
      await visit('');
      await look('empty');
      thread ??= talk(page);
      const { id, run } = await thread;
      await chat(page, visit, id, look);
      await sides(page, width, look, quiet);
      await visit(`runs/${run}`);
      await look('run');
      // Of the runs a few: axe cannot judge what scrolls when its middle is out of sight.
      for (const view of ['waiting', 'runs?status=failed', 'agents/demo', 'models', 'usage']) {
        await visit(view);
        await look(/^\w+/.exec(view)[0]);
      }
      await overlays(page, width, visit, look);
      await context.close();
      assert.deepEqual([...found, ...faults], []);
    };
  }
  return scenarios;
}

// chat looks at a thread with something of everything.
async function chat(page, visit, id, look) {
  await visit(`t/${id}`);
  await page.getByText('May demo call danger?').waitFor();
  await look('chat');
  const ticket = page.getByRole('log').getByRole('group', { name: 'Waiting: danger' });
  await ticket.getByRole('button', { name: 'Deny…' }).click();
  await look('deny');
  await ticket.getByRole('button', { name: 'Back' }).click();
  await page.getByRole('log').locator('details.call summary').first().click();
  await look('call');
}

// sides looks at the side pane of the chat, and at the drawers.
async function sides(page, width, look, quiet) {
  const drawer = width < 1280;
  const side = page.getByRole('button', { name: 'Run details' });
  if (drawer) await side.click();
  for (const tab of tabs) {
    await page.getByRole('tab', { name: tab }).click();
    await quiet();
    await look(`side-${tab.toLowerCase().replace(' ', '-')}`);
  }
  if (drawer) await page.getByRole('complementary', { name: 'Run' }).getByRole('button', { name: 'Close' }).click();
  if (width >= 1140) return;
  await page.getByRole('button', { name: 'Threads' }).click();
  await look('threads');
  await page.getByRole('complementary', { name: 'Threads' }).getByRole('button', { name: 'Close' }).click();
}

// overlays looks at what opens over a view.
async function overlays(page, width, visit, look) {
  await visit('agents/demo');
  await page.getByRole('main').getByText('Says a text back.').click();
  await look('tool');
  await page.evaluate(() => document.activeElement.blur());
  await page.keyboard.press('?');
  await page.getByRole('dialog', { name: 'Keys' }).waitFor();
  await look('keys');
  await page.keyboard.press('Escape');
  await page.keyboard.press('Control+k');
  await page.getByRole('dialog', { name: 'Go to' }).waitFor();
  await look('palette');
}

// talk makes a thread with something of everything, at whose end a call waits.
async function talk(page) {
  const log = page.getByRole('log');
  await say(page, 'parallel: a, b');
  await log.getByText('Echo: a, b', { exact: true }).waitFor();
  const run = await page.evaluate(async () => (await (await fetch('/v1/runs?limit=1')).json()).runs[0].run_id);
  await say(page, '# Plan\n\n- **one**, [link](https://example.com)\n- two `x`\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```json\n{"a": [1, true]}\n```\n\n> said');
  await log.getByRole('article', { name: 'Agent' }).last().getByRole('table').waitFor();
  await say(page, 'think: hm');
  await log.getByText('I thought about it.').waitFor();
  await say(page, 'fail');
  await page.getByRole('alert').waitFor();
  await say(page, 'approve: ship it');
  await page.getByText('May demo call danger?').waitFor();
  await log.getByLabel('not for this same call, in this thread').check();
  await log.getByRole('button', { name: 'Approve' }).click();
  await log.getByText('Done: ship it').waitFor();
  await say(page, 'approve: release 4.2 of the billing service');
  await page.getByText('May demo call danger?').waitFor();
  return { id: /#\/t\/([^/?]+)/.exec(await page.evaluate(() => location.hash))[1], run };
}
